//! Pictures and text in, text out: a language decoder with image tokens, and a vision tower.

use super::transformer::{DECODER, Stack, VIT};
use super::{is_half, numbers, phases::Pieces, weights};
use crate::catalog::{Model, OtherModel};
use crate::estimate::EstimateMethod;
use crate::project::{LossKernel, Method, Project};

/// Vocabulary of the language part: Qwen's where the name says so, else that of Llama 3.
fn vocabulary(o: &OtherModel) -> f64 {
    match o.main.name {
        name if name.contains("Qwen") => 151_936.0,
        name if name.contains("Gemma") => 257_000.0,
        name if name.contains("Vicuna") => 32_000.0,
        _ => 128_256.0,
    }
}

fn decoder(project: &Project, o: &OtherModel) -> Stack {
    Stack {
        block: DECODER,
        layers: numbers(o.layers).first().copied().unwrap_or(32.0),
        width: numbers(o.hidden).first().copied().unwrap_or(4096.0),
        tokens: project.sequence as f64,
    }
}

/// The tower, from what its name says (`ViT 32 x 1280`, `SigLIP-SO400M`); patches of 14 pixels.
fn tower(project: &Project, o: &OtherModel) -> Stack {
    let parameters = o.second.params as f64;
    let (layers, width) = match o.second.name.split_once("ViT ").map(|(_, shape)| numbers(shape)) {
        Some(shape) if shape.len() >= 2 => (shape[0], shape[1]),
        // EVA-CLIP's "g" (BLIP-2).
        _ if o.second.name.contains("EVA-g") => (39.0, 1408.0),
        _ if parameters > 2e9 => (45.0, 3200.0),
        _ if parameters > 4e8 => (27.0, 1152.0),
        _ => (24.0, 1024.0),
    };
    let side = (project.image_side as f64 / 14.0).max(1.0);
    Stack { block: VIT, layers, width, tokens: side * side }
}

/// Whether the model's own recipes never train the language part, as its row says (BLIP-2).
fn language_frozen(o: &OtherModel) -> bool {
    o.main.name.ends_with("(frozen)")
}

/// Weights where a language part of 16 bit stands frozen behind what is trained: the tower and the bridge between them, or
/// the bridge alone, with the tower in 16 bit too (`opt_model` and `vit_precision` of LAVIS's `blip2_opt.py`).
fn beside_frozen(project: &Project, total: f64, language: f64, tower: &Stack) -> Pieces {
    let sees = total - language;
    let bridge = (sees - 12.0 * tower.layers * tower.width * tower.width).max(sees * 0.05);
    let trained = if matches!(project.method, Method::Full | Method::Scratch) { sees } else { bridge };
    let mut pieces = weights(project, trained, trained, 0.95, 0.95);
    pieces.weights += 2.0 * (total - trained);
    pieces
}

pub(super) fn pieces(project: &Project, model: &Model, o: &OtherModel) -> (Pieces, EstimateMethod) {
    let batch = project.micro_batch as f64;
    let decoder = decoder(project, o);
    let tower = tower(project, o);
    let total = model.params as f64;
    let language = if o.main.params > 0 { o.main.params as f64 } else { total * 0.9 };
    let trained = match project.method {
        Method::Lora | Method::QLora => {
            // Seven matrices of a gated block, about 22 widths of rows and columns together.
            decoder.layers * decoder.width * project.lora.rank as f64 * 22.0
        }
        Method::Freeze => language * (1.0 - project.frozen_share),
        Method::Head => language * 0.01,
        // The tower stays frozen in the usual recipes.
        Method::Full | Method::Scratch => language,
    };
    let mut pieces = if language_frozen(o) && !project.method.is_adapter() {
        beside_frozen(project, total, language, &tower)
    } else {
        weights(project, total + trained.min(total * 0.05), trained, 0.95, 0.95)
    };
    let (kept, transient) = decoder.kept(project);
    pieces.saved = kept * batch;
    pieces.transient = transient * batch;
    let logits = batch * project.sequence as f64 * vocabulary(o);
    match project.loss {
        LossKernel::Fused | LossKernel::Chunked => pieces.loss_temporaries = logits * 0.5,
        LossKernel::NoUpcast => {
            pieces.logits = logits * 2.0;
            pieces.loss_temporaries = logits * 4.0;
        }
        LossKernel::Auto | LossKernel::Upcast => {
            // Logits in fp32, log-probabilities and their gradient: 12 bytes (traced with transformers).
            pieces.logits = logits * 8.0;
            pieces.loss_temporaries = logits * 4.0;
        }
    }
    if language_frozen(o) && matches!(project.method, Method::Full | Method::Scratch) {
        let (kept, transient) = tower.kept(project);
        pieces.saved += kept * batch;
        pieces.transient = pieces.transient.max(transient * batch);
    }
    // A frozen tower holds a few layers' worth at a time.
    pieces.encoding = batch * tower.tokens * tower.width * if is_half(project) { 24.0 } else { 48.0 };
    (pieces, EstimateMethod::Rough)
}

pub(super) fn forward_flops(project: &Project, o: &OtherModel) -> f64 {
    let decoder = decoder(project, o);
    let tower = tower(project, o);
    let weights = o.main.params as f64 / decoder.layers.max(1.0);
    decoder.forward_flops(weights) + tower.forward_flops(12.0 * tower.width * tower.width)
}
