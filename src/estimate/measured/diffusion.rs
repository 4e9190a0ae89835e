//! Diffusion models: U-Nets by activations per pixel, transformers by tokens, layers and width.

use super::transformer::{CROSS_DIT, DIT, Stack};
use super::{is_half, numbers, phases::Pieces, recomputes, weights};
use crate::catalog::DiffusionModel;
use crate::estimate::EstimateMethod;
use crate::project::{BaseFormat, Method, Project};

/// Bytes a U-Net keeps per activation of its catalog row: traced SD 1.5 and SDXL denoisers.
struct UNet {
    full: [f64; 2],
    adapters: f64,
    checkpointed: f64,
    block: f64,
}

const UNET: UNet = UNet { full: [8.9, 5.05], adapters: 4.5, checkpointed: 0.6, block: 0.3 };

/// Bytes that encoding one pixel takes in the VAE of SD (channels 128-256-512-512), per byte of an element: the two
/// widest feature maps at full size and the norm's fp32 copy. Traced with SD 1.5 and SDXL.
const VAE_ELEMENTS_PER_PIXEL: f64 = 640.0;

pub(super) fn pieces(project: &Project, d: &DiffusionModel) -> (Pieces, EstimateMethod) {
    let batch = project.micro_batch as f64;
    let denoiser = d.denoiser_params as f64;
    let rank = project.lora.rank as f64;
    let stack = stack(project, d);
    // A ControlNet or motion module is trained beside a frozen denoiser through which the gradient flows.
    let adapter_of = if d.kind.contains("adapter") { frozen_denoiser(d) } else { 0.0 };
    let trained = match project.method {
        Method::Lora | Method::QLora => stack.map_or_else(
            || denoiser * 0.00023 * rank * (860e6 / denoiser).sqrt().max(0.5),
            |s| s.layers * s.width * rank * 16.0,
        ),
        Method::Freeze => denoiser * (1.0 - project.frozen_share),
        Method::Head => denoiser * 0.01,
        Method::Full | Method::Scratch => denoiser,
    };
    let mut pieces = weights(project, denoiser + trained.min(denoiser * 0.05), trained, 1.0, 0.5);
    pieces.weights += adapter_of * if is_half(project) { 2.0 } else { 4.0 };
    if project.block_swap > 0.0 {
        let swapped = pieces.weights * project.block_swap.min(0.95);
        pieces.weights -= swapped;
        pieces.host += swapped;
    }
    let pixels = (project.image_side as f64).powi(2);
    let (kept, transient, method) = if let Some(stack) = stack {
        let (kept, transient) = stack.kept(project);
        let traced = d.denoiser.starts_with("MMDiT") && d.kind == "image";
        (kept, transient, if traced { EstimateMethod::Measured } else { EstimateMethod::Extrapolated })
    } else {
        let (activations, known) = activations(project, d);
        let half = usize::from(is_half(project));
        let (kept, transient) = if recomputes(project) {
            (UNET.checkpointed * if half == 1 { 1.0 } else { 2.0 }, UNET.block)
        } else if project.method.is_adapter() && half == 1 {
            (UNET.adapters, 0.1)
        } else {
            (UNET.full[half], 0.1)
        };
        let method = if known { EstimateMethod::Measured } else { EstimateMethod::Extrapolated };
        (kept * activations, transient * activations, method)
    };
    pieces.saved = kept * batch;
    pieces.transient = transient * batch;
    let bytes = if is_half(project) { 2.0 } else { 4.0 };
    pieces.weights += text_on_card(project, d) as f64 * bytes;
    if !project.cached_latents {
        pieces.weights += d.vae_params as f64 * bytes;
        pieces.encoding = batch * pixels * project.frames as f64 * VAE_ELEMENTS_PER_PIXEL * bytes;
    }
    pieces.batch = batch * pixels * 0.5;
    let method = match project.base {
        BaseFormat::AsPrecision => method,
        _ => EstimateMethod::Extrapolated,
    };
    (pieces, method)
}

/// Parameters of the text encoders that are on the card.
pub(in crate::estimate) fn text_on_card(project: &Project, d: &DiffusionModel) -> u64 {
    if project.text_on_card() { d.text_encoders.iter().map(|t| t.params).sum() } else { 0 }
}

fn frozen_denoiser(d: &DiffusionModel) -> f64 {
    // The base's size stands in no column of the row: four such copies make up about 2.4 of the copied encoder.
    d.denoiser_params as f64 * 2.2
}

/// Activations of one sample and whether the row states them.
fn activations(project: &Project, d: &DiffusionModel) -> (f64, bool) {
    let native = numbers(d.native_resolution).first().copied().unwrap_or(512.0).max(1.0);
    let pixels = (project.image_side as f64).powi(2) * project.frames as f64;
    match d.activations_m {
        Some(m) => (m * 1e6 * pixels / (native * native), true),
        // SD 1.5's activations per pixel, and half as many again for a trained copy of the encoder.
        None => (903.0 * pixels * if d.kind.contains("adapter") { 1.45 } else { 1.0 }, false),
    }
}

/// The transformer stack of a denoiser; `None` for U-Nets.
fn stack(project: &Project, d: &DiffusionModel) -> Option<Stack> {
    if d.denoiser.contains("UNet") || d.denoiser.contains("temporal") {
        return None;
    }
    let width = *numbers(d.hidden).first()?;
    let layers: f64 = numbers(d.blocks).iter().sum();
    let down = d.downscale_spatial.unwrap_or(8.0);
    let patch = patch_side(d.patch);
    let side = (project.image_side as f64 / down / patch).max(1.0);
    let frames = match d.downscale_temporal {
        Some(t) if project.frames > 1 && t > 0.0 => ((project.frames as f64 - 1.0) / t).floor() + 1.0,
        _ => 1.0,
    };
    let joint = d.denoiser.contains("MMDiT") || d.denoiser.contains("single") || d.denoiser.contains("FLUX");
    let text = if joint { text_tokens(d) } else { 0.0 };
    let block = if joint || d.denoiser == "DiT" && d.kind == "image" { DIT } else { CROSS_DIT };
    Some(Stack { block, layers, width, tokens: side * side * frames + text })
}

fn text_tokens(d: &DiffusionModel) -> f64 {
    d.text_length.unwrap_or(256.0).min(512.0)
}

/// Spatial side of a patch printed as `2`, `2 (packed 2 x 2)` or `1x2x2`.
fn patch_side(printed: &str) -> f64 {
    let plain = printed.split('(').next().unwrap_or("");
    numbers(plain).last().copied().unwrap_or(2.0).max(1.0)
}
