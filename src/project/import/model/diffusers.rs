//! `model_index.json` of diffusers and the `config.json` of a denoiser.

use super::{Json, named};
use crate::catalog::{Architecture, Catalog, Model};
use crate::project::Field;
use crate::project::import::{Basis, Hints, Note, Reading, Text};

/// Pipelines that stand for one model, and what their class begins with.
const PIPELINES: &[(&str, &str)] = &[
    ("StableDiffusionXL", "sdxl"),
    ("StableDiffusion3", "sd3-medium"),
    ("StableDiffusion", "sd1.5"),
    ("Flux2Klein", "flux.2-klein-4b"),
    ("Flux2", "flux.2-dev"),
    ("Flux", "flux.1-dev"),
    ("Chroma", "chroma"),
    ("PixArtSigma", "pixart-sigma"),
    ("PixArtAlpha", "pixart-alpha"),
    ("HunyuanDiT", "hunyuandit-1.2"),
    ("Kolors", "kolors"),
    ("QwenImage", "qwen-image"),
    ("ZImage", "z-image"),
    ("SanaVideo", "sana-video-2b"),
    ("Sana", "sana-1.6b"),
    ("Lumina2", "lumina-image-2"),
    ("AuraFlow", "auraflow"),
    ("HiDreamImage", "hidream-i1"),
    ("Wan", "wan2.1-t2v-1.3b"),
    ("HunyuanVideo", "hunyuanvideo"),
    ("CogVideoX", "cogvideox-5b"),
    ("LTX2", "ltx-2"),
    ("LTX", "ltx-video-2b"),
    ("StableCascade", "stable-cascade-c"),
    ("Amused", "amused-512"),
    ("DDPM", "ddpm-cifar10"),
    ("DiT", "dit-xl-2"),
];

/// Reads a pipeline or a denoiser; false where it is none.
pub(super) fn read(json: &Json, text: &Text, hints: Hints<'_>, reading: &mut Reading) -> bool {
    let Some((class, at)) = json.entry("_class_name").and_then(|(value, at)| Some((value.text()?, at))) else {
        return false;
    };
    let from = text.piece_at(at);
    let remembered = json.get("_name_or_path").and_then(Json::text).unwrap_or_default();
    let catalog = hints.catalog;
    let diffusion = |m: &&Model| matches!(m.architecture, Architecture::Diffusion(_));
    let model = denoiser(class, json, catalog).or_else(|| named(catalog, remembered).filter(diffusion)).or_else(|| {
        let (_, id) = PIPELINES.iter().find(|(begins, _)| class.starts_with(begins))?;
        catalog.model(id)
    });
    let Some(model) = model else {
        reading.notes.push(Note::UnknownKind(class.to_owned()));
        return true;
    };
    // A pipeline is named by its class alone: which size of it the folder holds, it does not say.
    let basis = if class.ends_with("Pipeline") { Basis::Implied } else { Basis::Stated };
    reading.add(Field::Model, model.id, basis, from);
    true
}

/// The catalog's model with the blocks and the width of a denoiser's configuration.
fn denoiser<'a>(class: &str, json: &Json, catalog: &'a Catalog) -> Option<&'a Model> {
    let size = |key: &str| json.get(key).and_then(Json::size);
    match class {
        "UNet2DConditionModel" => {
            // The width of the text encoder: CLIP-L, OpenCLIP-H, both; Kolors projects ChatGLM's 4,096.
            let id = match (size("cross_attention_dim")?, size("encoder_hid_dim")) {
                (768, _) => "sd1.5",
                (1024, _) => "sd2.1",
                (2048, Some(4096)) => "kolors",
                (2048, _) => "sdxl",
                _ => return None,
            };
            return catalog.model(id);
        }
        "ControlNetModel" => {
            let id = if size("cross_attention_dim") == Some(2048) { "controlnet-sdxl" } else { "controlnet-sd15" };
            return catalog.model(id);
        }
        _ => {}
    }
    let begins: &[&str] = match class.split(['2', '3']).next().unwrap_or_default() {
        "SD" => &["sd3"],
        name if name.starts_with("FluxTransformer") => &["flux.1", "chroma"],
        name if name.starts_with("Flux") => &["flux"],
        name if name.starts_with("PixArt") => &["pixart"],
        name if name.starts_with("Wan") => &["wan"],
        name if name.starts_with("HunyuanVideo") => &["hunyuanvideo"],
        name if name.starts_with("HunyuanDiT") => &["hunyuandit"],
        name if name.starts_with("CogVideoX") => &["cogvideox"],
        name if name.starts_with("LTX") => &["ltx"],
        name if name.starts_with("QwenImage") => &["qwen-image"],
        name if name.starts_with("Sana") => &["sana"],
        name if name.starts_with("ZImage") => &["z-image"],
        name if name.starts_with("Lumina") => &["lumina"],
        name if name.starts_with("AuraFlow") => &["auraflow"],
        name if name.starts_with("Chroma") => &["chroma"],
        name if name.starts_with("DiT") => &["dit-xl-2"],
        _ => return None,
    };
    let layers = size("num_layers").or_else(|| size("depth")).or_else(|| size("n_layers"));
    let single = size("num_single_layers");
    let heads = size("num_attention_heads").zip(size("attention_head_dim")).map(|(n, d)| n.saturating_mul(d));
    let width = heads.or_else(|| size("hidden_size"));
    let numbers =
        |text: &str| -> Vec<u64> { text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect() };
    // Image-to-video models take more channels in than text-to-video ones.
    let from_picture =
        size("in_channels").is_some_and(|n| n == 36) || json.get("image_dim").is_some_and(|d| *d != Json::Null);
    let score = |model: &Model| {
        let Architecture::Diffusion(d) = &model.architecture else { return 0 };
        let (blocks, hidden) = (numbers(d.blocks), numbers(d.hidden));
        let same_blocks = layers.is_some_and(|n| blocks.first() == Some(&n))
            && single.is_none_or(|n| blocks.get(1).is_none_or(|b| *b == n));
        let same_width = width.is_some_and(|n| hidden.first() == Some(&n));
        let same_start = model.id.contains("i2v") == from_picture;
        4 * u32::from(same_blocks) + 2 * u32::from(same_width) + u32::from(same_start)
    };
    let family = catalog.models.iter().filter(|m| begins.iter().any(|b| m.id.starts_with(b)));
    // Of equals the first, which is the oldest.
    let mut best: Option<(u32, &Model)> = None;
    for model in family {
        let score = score(model);
        if best.is_none_or(|(found, _)| score > found) {
            best = Some((score, model));
        }
    }
    best.map(|(_, model)| model)
}
