//! Whose code a model runs: from the `model_type` of its configuration to a model of the catalog.

use super::Shape;
use crate::catalog::{Catalog, Model};

/// What a `model_type` (of transformers), an architecture (of GGUF) or a class begins with, in small letters without
/// separators, and what the ids of the catalog's models of that code begin with. The first that fits counts.
const FAMILIES: &[(&str, &str)] = &[
    ("qwen35", "qwen3.5-"),
    ("qwen3next", "qwen3-next"),
    ("qwen3", "qwen3-"),
    ("qwen25", "qwen2.5-"),
    ("qwen2", "qwen2.5-"),
    ("qwen", "qwen-"),
    ("llama4", "llama-4-"),
    ("mllama", "llama-3.1-"),
    ("llama", "llama-3"),
    ("codellama", "llama-2-"),
    ("mixtral", "mixtral-"),
    ("ministral3", "ministral-3-"),
    ("ministral", "ministral-8b"),
    ("mistral3", "mistral-small"),
    ("mistral4", "mistral-small-4"),
    ("mistral", "mistral-7b-v0.3"),
    ("gemma3n", "gemma-3n"),
    ("gemma4", "gemma-4-"),
    ("gemma3", "gemma-3-"),
    ("gemma2", "gemma-2-"),
    ("gemma", "gemma-"),
    ("phi4", "phi-4"),
    ("phi3", "phi-3"),
    ("phi", "phi-2"),
    ("deepseekv4", "deepseek-v4"),
    ("deepseekv32", "deepseek-v3.2"),
    ("deepseekv3", "deepseek-v3"),
    ("kimik25", "kimi-k2.5"),
    ("kimik2", "kimi-k2"),
    ("kimilinear", "kimi-linear"),
    ("deepseekv2", "deepseek-v2"),
    ("deepseek2", "deepseek-v2"),
    ("deepseek", "deepseek-moe"),
    ("glmmoedsa", "glm-5"),
    ("glm4moelite", "glm-4.7-flash"),
    ("glm4moe", "glm-4.5"),
    ("glm4", "glm-4-"),
    ("glm", "glm-4-9b"),
    ("chatglm", "chatglm"),
    ("baichuan", "baichuan2-"),
    ("internlm3", "internlm3-"),
    ("internlm2", "internlm2"),
    ("internlm", "internlm-"),
    ("minicpm3", "minicpm3-"),
    ("minicpm", "minicpm"),
    ("falconh1", ""),
    ("falcon", "falcon-"),
    ("rwfalcon", "falcon-"),
    ("refinedweb", "falcon-"),
    ("mpt", "mpt-"),
    ("gptneox", "pythia-"),
    ("gptneo", "gpt-neo-"),
    ("gptj", "gpt-j"),
    ("gptoss", "gpt-oss"),
    ("gptbigcode", "starcoder-15b"),
    ("starcoder2", "starcoder2-"),
    ("gpt2", "gpt2"),
    ("opt", "opt-"),
    ("bloom", "bloom-"),
    ("stablelmepoch", "stablelm-3b-4e1t"),
    ("stablelm", "stablelm-2"),
    ("smollm3", "smollm3"),
    ("olmoe", "olmoe"),
    ("olmo2", "olmo-2-"),
    ("olmo3", "olmo-3-"),
    ("olmo", "olmo-"),
    ("granitemoehybrid", "granite-4"),
    ("granitemoe", "granite-3.1-3b-a800m"),
    ("granite", "granite-3"),
    ("cohere", "aya-"),
    ("commandr", "command-r"),
    ("seedoss", "seed-oss"),
    ("minimax", "minimax"),
    ("mimo", "mimo-"),
    ("ernie45moe", "ernie-4.5-21b"),
    ("ernie45", "ernie-4.5-0.3b"),
    ("orion", "orion"),
    ("yi", "yi-"),
    ("minimind", "minimind"),
    ("bert", "bert-"),
    ("electra", "bert-"),
    ("xlmroberta", "xlm-roberta-"),
    ("camembert", "roberta-"),
    ("roberta", "roberta-"),
    ("distilbert", "distilbert"),
    ("debertav2", "deberta-v3-"),
    ("deberta", "deberta-v3-"),
    ("modernbert", "modernbert-"),
    ("ernie", "ernie-3.0"),
    ("mt5", "mt5-"),
    ("umt5", "mt5-"),
    ("longt5", "t5-"),
    ("t5", "t5-"),
    ("bart", "bart-"),
    ("mbart", "bart-"),
    ("xlnet", "xlnet-"),
    ("transfoxl", "transformer-xl-"),
];

/// Configurations in which a missing `tie_word_embeddings` means that the head shares the embedding: classes of
/// transformers that leave the default of `PretrainedConfig` as it is.
const TIED_UNLESS_SAID: &[&str] = &[
    "gemma",
    "gpt2",
    "gptneo",
    "gptbigcode",
    "opt",
    "bloom",
    "mpt",
    "cohere",
    "falcon",
    "bert",
    "roberta",
    "xlmroberta",
    "distilbert",
    "deberta",
    "electra",
    "ernie",
    "bart",
    "mbart",
    "starcoder2",
    "granite",
    "smollm3",
];

/// Kinds of networks that remember by a state instead of attention, in whole or in part: their layers are none that
/// numbers of a transformer describe.
const RECURRENT: &[&str] = &[
    "mamba",
    "falconmamba",
    "rwkv",
    "zamba",
    "jamba",
    "bamba",
    "nemotronh",
    "recurrentgemma",
    "retnet",
    "xlstm",
    "falconh1",
    "lfm2",
    "hyena",
];

pub(super) fn is_recurrent(kind: &str) -> bool {
    let kind = plain(kind);
    RECURRENT.iter().any(|known| kind.starts_with(known))
}

/// Letters and digits in small.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether the head shares the embedding where a configuration of this kind does not say.
pub(super) fn tied_unless_said(kind: &str) -> Option<bool> {
    let kind = plain(kind);
    if kind.is_empty() {
        return None;
    }
    // GPT-NeoX and GPT-J say no in their classes though their names begin so.
    let says_no = kind.starts_with("gptneox") || kind.starts_with("gptj");
    Some(!says_no && TIED_UNLESS_SAID.iter().any(|known| kind.starts_with(known)))
}

/// Beginning of the ids of the family; `None` where it is not known.
fn family(kind: &str) -> Option<&'static str> {
    let kind = plain(kind);
    // The longest beginning that fits: `qwen2_5_vl` is no `qwen`.
    let fits = FAMILIES.iter().filter(|(begins, ids)| kind.starts_with(begins) && !ids.is_empty());
    fits.max_by_key(|(begins, _)| begins.len()).map(|(_, ids)| *ids)
}

/// The catalog's model whose code a model of this kind runs: of the family the nearest in width, and with experts where
/// it has any.
pub(super) fn like<'a>(kind: &str, shape: &Shape, catalog: &'a Catalog) -> Option<&'a Model> {
    let ids = family(kind)?;
    let wide = shape.hidden.unwrap_or(4096).max(1) as f64;
    let far = |model: &Model| {
        let Some(language) = model.language() else { return f64::INFINITY };
        let experts = (language.moe_experts > 0) != shape.experts.is_some_and(|n| n > 0);
        (f64::from(language.hidden.max(1)) / wide).ln().abs() + if experts { 100.0 } else { 0.0 }
    };
    let of_family = catalog.models.iter().filter(|m| m.id.starts_with(ids) && m.language().is_some());
    of_family.min_by(|a, b| far(a).total_cmp(&far(b)))
}
