//! Words that libraries have for the same thing: optimizers, layers, switches, checkpoints.

use crate::catalog::{Catalog, Model};

/// Whether the place of a batch size names the one of a card.
pub(super) fn is_exact(text: &str) -> bool {
    text.contains("per_") || text.contains("micro")
}

/// A whole number from 1 on.
pub(super) fn whole(value: &str) -> Option<u64> {
    value.trim().parse().ok().filter(|n| (1..=1_000_000_000).contains(n))
}

/// What the frozen base of a diffusion model is held in: SimpleTuner's `base_model_precision`.
pub(super) fn base(small: &str) -> Option<&'static str> {
    match small {
        "fp8-torchao" => Some("fp8-dynamic"),
        _ if small.starts_with("int8") => Some("int8"),
        _ if small.starts_with("fp8") => Some("fp8"),
        _ if small.starts_with("nf4") => Some("nf4"),
        _ if small.starts_with("int4") => Some("int4"),
        _ => None,
    }
}

pub(super) fn switch(small: &str) -> Option<bool> {
    match small {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" | "none" | "null" => Some(false),
        _ => None,
    }
}

/// Which layers carry adapters, by the names of some of them.
pub(super) fn targets(small: &str) -> &'static str {
    let has = |word: &str| small.contains(word);
    if has("all")
        || ["up_proj", "gate_proj", "down_proj", "fc1", "fc2", "mlp", "ff.", "w1", "dense_h_to_4h"]
            .iter()
            .any(|w| has(w))
    {
        "all-linear"
    } else if has("o_proj") || has("k_proj") || has("out_proj") || has("to_k") || has("key") || has("wo") {
        "attn"
    } else {
        "qv"
    }
}

/// The optimizer by the name that a library gives it, and how it steps.
pub(super) fn optimizer(small: &str) -> Option<(&'static str, Option<&'static str>)> {
    let has = |word: &str| small.contains(word);
    let how = if has("fused") { Some("fused") } else { None };
    let eight = has("8bit") || has("8-bit") || has("bnb");
    let id = match () {
        () if has("galore") => "galore",
        () if has("muon") => "muon",
        () if has("lion") => "lion",
        () if has("adafactor") => "adafactor",
        () if has("paged") && eight && !has("32bit") => "paged-adamw8bit",
        () if has("paged") => "paged-adamw",
        () if has("adam") && eight => "adamw8bit",
        () if has("adam") || has("prodigy") => "adamw",
        // Ultralytics' own has momentum.
        () if has("sgd") => "sgd-momentum",
        () => return None,
    };
    Some((id, how))
}

/// File names of checkpoints that everybody has, and the catalog's ids.
const FILES: &[(&str, &str)] = &[
    ("sd_xl_base", "sdxl"),
    ("sdxl", "sdxl"),
    ("stable-diffusion-xl", "sdxl"),
    ("v1-5-pruned", "sd1.5"),
    ("stable-diffusion-v1-5", "sd1.5"),
    ("v2-1_", "sd2.1"),
    ("flux1-dev", "flux.1-dev"),
    ("flux1-schnell", "flux.1-schnell"),
    ("sd3.5_large", "sd3.5-large"),
    ("sd3.5_medium", "sd3.5-medium"),
    ("sd3_medium", "sd3-medium"),
];

/// The model that a name, a repository or a path means.
pub(super) fn model<'a>(name: &str, catalog: &'a Catalog) -> Option<&'a Model> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = [".safetensors", ".ckpt", ".pth", ".pt", ".yaml", ".bin", ".gguf"]
        .iter()
        .fold(last, |n, end| n.trim_end_matches(end));
    if stem.len() < 3 || stem.len() > 120 {
        return None;
    }
    let small = stem.to_ascii_lowercase();
    catalog
        .resolve_model(name)
        .or_else(|| catalog.model(&small))
        .or_else(|| catalog.resolve_model(stem))
        // timm's names have their training behind a point: `resnet50.a1_in1k`.
        .or_else(|| {
            stem.split_once('.').filter(|(_, tag)| tag.contains("_in")).and_then(|(n, _)| catalog.resolve_model(n))
        })
        .or_else(|| FILES.iter().find(|(file, _)| small.contains(file)).and_then(|(_, id)| catalog.model(id)))
}
