//! A language model from the architecture columns of a row, for names that the catalog does not know.
//!
//! The columns give the sizes; what they do not give (norms, biases, positions, which layers see a window) follows from
//! the family that the name begins with, or else from the shape.

use super::table::Row;
use enough_gpu::catalog::{LanguageKind, LanguageModel};

/// What the models of a family share beyond their sizes.
struct Family {
    /// What names begin with, in lower case without separators.
    prefix: &'static str,
    /// Name of the family in the catalog.
    name: &'static str,
    kind: LanguageKind,
    gated: bool,
    norm: &'static str,
    bias: &'static str,
    positional: &'static str,
    /// Local layers for each full one, where the family mixes them.
    pattern: &'static str,
    context: u32,
}

const fn family(
    prefix: &'static str,
    name: &'static str,
    kind: LanguageKind,
    gated: bool,
    norm: &'static str,
    bias: &'static str,
    positional: &'static str,
) -> Family {
    Family { prefix, name, kind, gated, norm, bias, positional, pattern: "", context: 0 }
}

impl Family {
    const fn local(self, pattern: &'static str) -> Self {
        Self { pattern, ..self }
    }
    const fn context(self, context: u32) -> Self {
        Self { context, ..self }
    }
}

use LanguageKind::{Decoder, Encoder, EncoderDecoder};

/// As in the catalog's table of language models; longer prefixes first.
const FAMILIES: &[Family] = &[
    family("gptneox", "GPT-NeoX", Decoder, false, "layernorm", "all", "rope").context(2048),
    family("gptneo", "GPT-Neo", Decoder, false, "layernorm", "mlp", "learned").context(2048),
    family("gpt", "GPT-2", Decoder, false, "layernorm", "all", "learned").context(1024),
    family("pythia", "Pythia", Decoder, false, "layernorm", "all", "rope").context(2048),
    family("opt", "OPT", Decoder, false, "layernorm", "all", "learned").context(2048),
    family("bloom", "BLOOM", Decoder, false, "layernorm", "all", "alibi").context(2048),
    family("mpt", "MPT", Decoder, false, "layernorm-nobias", "no", "alibi").context(2048),
    family("falcon", "Falcon", Decoder, false, "layernorm;1/layer", "no", "rope").context(2048),
    family("tinyllama", "TinyLlama", Decoder, true, "rmsnorm", "no", "rope"),
    family("qwen25", "Qwen2.5", Decoder, true, "rmsnorm", "qkv", "rope"),
    family("qwen3", "Qwen3", Decoder, true, "rmsnorm;qk-head", "no", "rope"),
    family("qwen", "Qwen2", Decoder, true, "rmsnorm", "qkv", "rope"),
    family("llama32", "Llama 3.2", Decoder, true, "rmsnorm", "no", "rope"),
    family("llama31", "Llama 3.1", Decoder, true, "rmsnorm", "no", "rope"),
    family("llama2", "Llama 2", Decoder, true, "rmsnorm", "no", "rope"),
    family("llama", "Llama 3", Decoder, true, "rmsnorm", "no", "rope"),
    family("mistral", "Mistral", Decoder, true, "rmsnorm", "no", "rope"),
    family("mixtral", "Mixtral", Decoder, true, "rmsnorm", "no", "rope"),
    family("gemma2", "Gemma 2", Decoder, true, "rmsnorm;4/layer", "no", "rope").local("/1:1"),
    family("gemma3", "Gemma 3", Decoder, true, "rmsnorm;4/layer;qk-head", "no", "rope").local("/5:1"),
    family("gemma", "Gemma", Decoder, true, "rmsnorm", "no", "rope"),
    family("phi3", "Phi", Decoder, true, "rmsnorm", "no", "rope"),
    family("phi4", "Phi", Decoder, true, "rmsnorm", "no", "rope"),
    family("phi", "Phi", Decoder, false, "layernorm;1/layer", "all", "rope").context(2048),
    family("glm4", "GLM-4", Decoder, true, "rmsnorm", "qkv", "rope"),
    family("deepseek", "DeepSeek", Decoder, true, "rmsnorm", "no", "rope"),
    family("bert", "BERT", Encoder, false, "layernorm", "all", "learned").context(512),
    family("roberta", "RoBERTa", Encoder, false, "layernorm", "all", "learned").context(512),
    family("t5", "T5", EncoderDecoder, false, "rmsnorm", "no", "relative").context(512),
];

/// For names of no known family: the shape of today's decoders, and of yesterday's.
const MODERN: Family = family("", "Llama 3", Decoder, true, "rmsnorm", "no", "rope");
const CLASSIC: Family = family("", "GPT-2", Decoder, false, "layernorm", "all", "learned").context(2048);

/// The model whose sizes the row gives, if it gives enough of them; what no column says is taken from the model of that
/// name in the catalog (`known`), or from the family.
pub(crate) fn from_row(row: &Row<'_>, known: Option<&LanguageModel>) -> Option<LanguageModel> {
    match (known, by_family(row)) {
        (Some(known), Some(sizes)) => {
            // Attention of its own kind has sizes that no column gives, and the columns then mean something else.
            let special = known.attention.starts_with("mla") || known.attention.starts_with("hybrid");
            Some(LanguageModel {
                layers: sizes.layers,
                hidden: sizes.hidden,
                intermediate: sizes.intermediate,
                heads: sizes.heads,
                kv_heads: sizes.kv_heads,
                head_dim: if special { known.head_dim } else { sizes.head_dim },
                vocab: sizes.vocab,
                tied_embeddings: sizes.tied_embeddings,
                attention: if special { known.attention } else { sizes.attention },
                ..known.clone()
            })
        }
        (known, sizes) => sizes.or_else(|| known.cloned()),
    }
}

fn by_family(row: &Row<'_>) -> Option<LanguageModel> {
    let size = |column| row.count(column).map(|v| u32::try_from(v).unwrap_or(u32::MAX)).filter(|v| *v > 0);
    let (layers, hidden, vocab) = (size("layers")?, size("hidden")?, size("vocab")?);
    let heads = size("heads")?;
    let intermediate = size("intermediate").unwrap_or(hidden.saturating_mul(4));
    let plain = intermediate == hidden.saturating_mul(4);
    let name: String = row.text("model").to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let family = FAMILIES.iter().find(|f| name.starts_with(f.prefix)).unwrap_or(if plain { &CLASSIC } else { &MODERN });

    let experts = size("experts").unwrap_or(0);
    // DeepSeek's latent attention: its ranks stand in no column; these are the ones of V2-Lite
    // (transformers, configuration_deepseek_v2.py).
    let latent = name.starts_with("deepseekv2");
    let attention = if latent {
        "mla:q=0,kv=512,nope=128,rope=64,v=128"
    } else {
        match size("sliding_window") {
            Some(window) => String::leak(format!("sliding:{window}{}", family.pattern)),
            None => "full",
        }
    };
    Some(LanguageModel {
        kind: family.kind,
        family: family.name,
        params_active: row.count("params_total").unwrap_or(0),
        layers,
        hidden,
        intermediate,
        heads,
        kv_heads: size("kv_heads").unwrap_or(heads),
        head_dim: if latent { 192 } else { size("head_dim").unwrap_or(hidden / heads) },
        vocab,
        tied_embeddings: row.flag("tied").unwrap_or(false),
        gated: family.gated,
        norm: family.norm,
        attention,
        moe_experts: experts,
        moe_active: size("experts_per_token").unwrap_or(0),
        moe_shared: if latent { 2 } else { 0 },
        moe_intermediate: if experts > 0 { size("moe_intermediate").unwrap_or(intermediate) } else { 0 },
        dense_layers_first: if latent { "1" } else { "" },
        max_context: family.context.max(if family.positional == "learned" { size("seq").unwrap_or(0) } else { 0 }),
        bias: family.bias,
        positional: family.positional,
        // The encoders among the traced cases are BERT.
        extras: if family.kind == LanguageKind::Encoder { "token-types=2,pooler" } else { "" },
    })
}
