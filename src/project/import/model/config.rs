//! `config.json` of transformers and of what follows it: the numbers of a language model, or the model that has them.

use super::{Json, Shape, families, named};
use crate::catalog::{Architecture, Catalog, Domain, Model};
use crate::project::Field;
use crate::project::import::{Basis, Hints, Note, Piece, Reading, Text};

/// Parts of a configuration that hold the language model of one that also sees or hears.
const TEXT_PARTS: &[&str] =
    &["text_config", "llm_config", "language_config", "thinker_config", "decoder", "text_model", "talker_config"];

/// Parts that show that a model sees or hears.
const OTHER_PARTS: &[&str] = &["vision_config", "visual", "vision_tower", "mm_vision_tower", "audio_config"];

/// Names of one number in the configurations of different code.
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "depth"];
const HIDDEN: &[&str] = &["hidden_size", "n_embd", "d_model", "dim", "model_dim", "embed_dim"];
const INTERMEDIATE: &[&str] =
    &["intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim", "encoder_ffn_dim", "d_inner"];
const HEADS: &[&str] =
    &["num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "attention_heads"];
const KV_HEADS: &[&str] =
    &["num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv", "multi_query_group_num", "num_query_groups"];
const HEAD_DIM: &[&str] = &["head_dim", "kv_channels", "attention_head_dim", "d_kv"];
const VOCAB: &[&str] = &["padded_vocab_size", "vocab_size", "n_vocab"];
const EXPERTS: &[&str] = &["num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"];
const EXPERTS_PER_TOKEN: &[&str] =
    &["num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts", "moe_k"];
const EXPERT_WIDTH: &[&str] = &["moe_intermediate_size", "expert_intermediate_size"];

/// Reads a configuration; false where it is none.
pub(super) fn read(json: &Json, text: &Text, hints: Hints<'_>, reading: &mut Reading) -> bool {
    let kind = kind_of(json);
    let at = |key: &str| json.entry(key).map(|(_, at)| text.piece_at(at));
    let from = at("model_type").or_else(|| at("architectures")).or_else(|| {
        let first = [LAYERS, HIDDEN].concat().into_iter().find_map(at);
        first.or_else(|| TEXT_PARTS.iter().find_map(|part| at(part)))
    });
    let Some(from) = from else { return false };
    let catalog = hints.catalog;
    quantized(json, text, reading);
    if let Some(model) = sees_or_hears(&kind, json, catalog) {
        reading.add(Field::Model, model.id, Basis::Stated, from);
        return true;
    }
    let part = TEXT_PARTS.iter().find_map(|part| json.get(part).filter(|p| !p.entries().is_empty()));
    let inner = part.map(|p| p.get("text_config").filter(|p| !p.entries().is_empty()).unwrap_or(p));
    let shape = shape(inner.unwrap_or(json), &kind);
    // The part of a model that has eyes may leave out what its class knows by itself.
    let inner_kind = inner.map(kind_of).filter(|k| !k.is_empty());
    if OTHER_PARTS.iter().any(|part| json.get(part).is_some()) {
        if let Some(model) = with_eyes(&kind, &shape, json, catalog) {
            reading.add(Field::Model, model.id, Basis::Stated, from);
            return true;
        }
        reading.notes.push(Note::LanguagePartOnly);
    }
    if shape.tell(inner_kind.as_deref().unwrap_or(&kind), &from, hints, reading) {
        return true;
    }
    by_name(json, &from, hints, reading)
}

/// `qwen2`, or the class of the architecture where no type is given.
fn kind_of(json: &Json) -> String {
    let class = || json.get("architectures").and_then(|a| a.list().first()).and_then(Json::text);
    let kind = json.get("model_type").and_then(Json::text).filter(|kind| !kind.is_empty());
    kind.or_else(class).or_else(|| json.get("architecture").and_then(Json::text)).unwrap_or_default().to_owned()
}

/// The model by the name that its configuration remembers.
fn by_name(json: &Json, from: &Piece, hints: Hints<'_>, reading: &mut Reading) -> bool {
    let name = json.get("_name_or_path").and_then(Json::text).unwrap_or_default();
    let Some(model) = named(hints.catalog, name) else { return false };
    reading.add(Field::Model, model.id, Basis::Implied, from.clone());
    true
}

fn shape(json: &Json, kind: &str) -> Shape {
    let size = |names: &[&str]| names.iter().find_map(|name| json.get(name)?.size());
    let hidden = size(HIDDEN);
    let kind = families::plain(&[kind_of(json).as_str(), kind].concat());
    // What these classes call `intermediate_size` or leave out.
    let ratio = json.get("expansion_ratio").and_then(Json::size);
    let times_four = ["gpt2", "gptneo", "gptj", "bloom", "falcon", "gptbigcode"].iter().any(|k| kind.starts_with(k));
    let intermediate = size(INTERMEDIATE)
        .or_else(|| Some(ratio?.saturating_mul(hidden?)))
        .or_else(|| if times_four { hidden.map(|h| h.saturating_mul(4)) } else { None });
    // The first Qwen's MLP is two matrices of half its `intermediate_size` each.
    let intermediate = if kind.starts_with("qwen") && !kind.starts_with("qwen2") && !kind.starts_with("qwen3") {
        intermediate.map(|n| n / 2)
    } else {
        intermediate
    };
    let multi_query = json.get("multi_query").and_then(Json::flag) == Some(true)
        && json.get("new_decoder_architecture").and_then(Json::flag) != Some(true);
    let grouped = json.get("attn_config").and_then(|a| a.get("kv_n_heads")).and_then(Json::size);
    Shape {
        name: json.get("_name_or_path").and_then(Json::text).unwrap_or_default().to_owned(),
        layers: size(LAYERS),
        hidden,
        intermediate,
        heads: size(HEADS),
        kv_heads: if multi_query { size(&["multi_query_group_num"]).or(Some(1)) } else { size(KV_HEADS).or(grouped) },
        head_dim: size(HEAD_DIM),
        vocab: size(VOCAB),
        tied: json
            .get("tie_word_embeddings")
            .and_then(Json::flag)
            .or_else(|| families::tied_unless_said(&kind).filter(|_| json.get("model_type").is_some())),
        experts: size(EXPERTS).filter(|n| *n > 1),
        experts_per_token: size(EXPERTS_PER_TOKEN),
        expert_width: size(EXPERT_WIDTH),
    }
}

/// A base that is stored in few bits says how it is loaded.
fn quantized(json: &Json, text: &Text, reading: &mut Reading) {
    let Some((config, at)) = json.entry("quantization_config") else { return };
    let bits = config.get("bits").and_then(Json::size);
    let on = |key: &str| config.get(key).and_then(Json::flag) == Some(true);
    let double = if on("bnb_4bit_use_double_quant") { "nf4-dq" } else { "nf4" };
    let base = match config.get("quant_method").and_then(Json::text) {
        Some("gptq" | "awq") if bits.is_none_or(|bits| bits == 4) => "int4",
        Some("gptq") if bits == Some(8) => "int8",
        Some("fp8" | "compressed-tensors" | "fbgemm_fp8") => "fp8",
        _ if on("load_in_4bit") || on("_load_in_4bit") => double,
        _ if on("load_in_8bit") || on("_load_in_8bit") => "int8",
        _ => return,
    };
    reading.add(Field::Base, base, Basis::Stated, text.piece_at(at));
}

/// Beginnings of a `model_type` and of the ids of models that are no language models.
const OTHERS: &[(&str, &str)] = &[
    ("vitmae", "mae-"),
    ("vit", "vit-"),
    ("deit", "deit-"),
    ("beit", "beit-"),
    ("dinov3", "dinov3-"),
    ("dinov2", "dinov2-"),
    ("swinv2", "swinv2-"),
    ("swin", "swin-"),
    ("segformer", "segformer-"),
    ("siglip", "siglip-"),
    ("clip", "clip-"),
    ("sam", "sam-"),
    ("videomae", "videomae-"),
    ("depthanything", "depth-anything"),
    ("layoutlmv3", "layoutlmv3"),
    ("detr", "detr-"),
    ("resnet", "resnet"),
    ("convnextv2", "convnextv2-"),
    ("convnext", "convnext-"),
    ("whisper", "whisper-"),
    ("whisper", "distil-whisper"),
    ("wav2vec2bert", "w2v-bert"),
    ("wav2vec2", "wav2vec2-"),
    ("wav2vec2", "xls-r"),
    ("hubert", "hubert-"),
    ("wavlm", "wavlm-"),
    ("musicgen", "musicgen-"),
    ("speecht5", "speecht5"),
    ("audiospectrogramtransformer", "ast"),
    ("clap", "clap-"),
    ("bark", "bark"),
];

/// Depths of the stages of networks whose row has none (the papers of ResNet, ConvNeXt and ConvNeXt V2), with the width
/// of the first stage or the kind of block.
const STAGES: &[(&str, &str, &str)] = &[
    ("resnet18", "2-2-2-2", "basic"),
    ("resnet34", "3-4-6-3", "basic"),
    ("resnet50", "3-4-6-3", "bottleneck"),
    ("resnet101", "3-4-23-3", "bottleneck"),
    ("resnet152", "3-8-36-3", "bottleneck"),
    ("convnext-tiny", "3-3-9-3", "96"),
    ("convnext-small", "3-3-27-3", "96"),
    ("convnext-base", "3-3-27-3", "128"),
    ("convnext-large", "3-3-27-3", "192"),
    ("convnext-xlarge", "3-3-27-3", "256"),
    ("convnextv2-tiny", "3-3-9-3", "96"),
    ("convnextv2-base", "3-3-27-3", "128"),
    ("convnextv2-large", "3-3-27-3", "192"),
    ("convnextv2-huge", "3-3-27-3", "352"),
];

/// A vision or audio model whose row has the numbers of the configuration.
fn sees_or_hears<'a>(kind: &str, json: &Json, catalog: &'a Catalog) -> Option<&'a Model> {
    let kind = families::plain(kind);
    let longest = OTHERS.iter().filter(|(begins, _)| kind.starts_with(begins)).map(|(begins, _)| begins.len()).max()?;
    let begins = |id: &str| {
        OTHERS.iter().any(|(begins, ids)| begins.len() == longest && kind.starts_with(begins) && id.starts_with(ids))
    };
    let vision = json.get("vision_config").filter(|v| !v.entries().is_empty()).unwrap_or(json);
    let vision = vision.get("decoder").filter(|_| kind == "musicgen").unwrap_or(vision);
    let size = |names: &[&str]| names.iter().find_map(|name| vision.get(name)?.size());
    let joined = |name: &str| {
        let stages: Vec<String> =
            vision.get(name)?.list().iter().filter_map(Json::size).map(|n| n.to_string()).collect();
        (!stages.is_empty()).then(|| stages.join("-"))
    };
    let depths = joined("depths");
    let sides = size(&["encoder_layers"]).zip(size(&["decoder_layers"])).map(|(e, d)| format!("{e}+{d}"));
    let layers = depths.or(sides).or_else(|| size(LAYERS).map(|n| n.to_string()));
    let width =
        size(&["embed_dim"]).or_else(|| size(HIDDEN)).or_else(|| vision.get("hidden_sizes")?.list().first()?.size());
    let first_width = |text: &str| text.split('-').next().and_then(|n| n.parse::<u64>().ok());
    let patch = size(&["patch_size"]);
    let side = size(&["image_size"]);
    let vocab = size(&["num_mel_bins"]);
    let fits = |model: &Model| match &model.architecture {
        Architecture::Vision(_) if STAGES.iter().any(|(id, ..)| *id == model.id) => {
            STAGES.iter().any(|(id, stages, what)| {
                let block = vision.get("layer_type").and_then(Json::text).unwrap_or("bottleneck");
                let first = width.map(|n| n.to_string()).unwrap_or_default();
                *id == model.id && layers.as_deref() == Some(*stages) && (*what == block || *what == first)
            })
        }
        Architecture::Vision(v) => {
            let same_patch = patch.is_none()
                || v.patch.is_empty()
                || v.patch.split('x').next() == patch.map(|p| p.to_string()).as_deref();
            layers.as_deref() == Some(v.layers) && first_width(v.dim) == width && same_patch
        }
        Architecture::Other(o) => layers.as_deref() == Some(o.layers) && first_width(o.hidden) == width,
        _ => false,
    };
    let near = |model: &Model| match &model.architecture {
        Architecture::Vision(v) => side.map_or(0, |s| (v.resolution as u64).abs_diff(s)),
        // 128 mel bands are large-v3's, 80 are all others'.
        _ => u64::from((vocab == Some(128)) != model.id.contains("v3")),
    };
    catalog.models.iter().filter(|m| begins(m.id) && fits(m)).min_by_key(|m| near(m))
}

/// A vision-language model with a language part of these numbers.
fn with_eyes<'a>(kind: &str, shape: &Shape, json: &Json, catalog: &'a Catalog) -> Option<&'a Model> {
    let name = json.get("_name_or_path").and_then(Json::text).unwrap_or_default();
    if let Some(model) = named(catalog, name).filter(|m| m.domain == Domain::VisionLanguage) {
        return Some(model);
    }
    let (layers, hidden) = (shape.layers?.to_string(), shape.hidden?.to_string());
    let kind = families::plain(kind);
    let shared = |id: &str| families::plain(id).bytes().zip(kind.bytes()).take_while(|(a, b)| a == b).count();
    let rows = catalog.models.iter().filter(|m| match &m.architecture {
        Architecture::Other(o) => m.domain == Domain::VisionLanguage && o.layers == layers && o.hidden == hidden,
        _ => false,
    });
    rows.map(|m| (shared(m.id), m))
        .filter(|(letters, _)| *letters >= 4)
        .max_by_key(|(letters, m)| (*letters, std::cmp::Reverse(m.id)))
        .map(|(_, m)| m)
}
