//! Frozen parts that run before the denoiser: the VAE's encoder; text encoders count by their weights only.

use super::{Latents, input_format};
use crate::network::builder::Tensor;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Quantization, Slot};

/// The text encoders' weights, unless they are written out to be trained. Trainers that store the denoiser in 8-bit floats do
/// the same to them (`--fp8_base` of sd-scripts: "CLIP-L and T5-XXL").
pub(super) fn text(n: &mut Layers, id: &str, latents: Latents) {
    if latents.trains_text && !towers(id).is_empty() {
        return;
    }
    let eight = matches!(n.config.quantization, Some(Quantization::Fp8 | Quantization::Fp8Dynamic));
    let dtype = if eight { Dtype::U8 } else { input_format(n) };
    n.frozen_weights(latents.text_parameters, dtype);
}

/// Encodes the pictures of the batch.
pub(super) fn encode(n: &mut Layers, id: &str, latents: Latents) {
    // The VAE of SDXL breaks in 16 bit and is run in fp32 by diffusers' scripts, aMUSEd's VQ-VAE as it is loaded.
    let wide =
        id == "sdxl" || id.starts_with("amused") || n.config.autocast.is_none() && n.config.weights == Dtype::F32;
    let dtype = if wide { Dtype::F32 } else { input_format(n) };
    n.untrained(|n| vae(n, latents, dtype));
}

/// Columns, layers and heads of the CLIP towers that a U-Net's text comes from, and whether their GELU is the quick one.
pub(super) fn towers(id: &str) -> &'static [(u64, u64, u64, bool)] {
    match id {
        "sd1.5" => &[(768, 12, 12, true)],
        // The last of 24 layers is left out.
        "sd2.1" => &[(1024, 23, 16, false)],
        "sdxl" => &[(768, 12, 12, true), (1280, 32, 20, false)],
        _ => &[],
    }
}

/// The text as its encoders, which are trained too, make it; `None` where they are not written out.
pub(super) fn trained_text(n: &mut Layers, id: &str) -> Option<Tensor> {
    let mut parts = Vec::new();
    for (slot, &(width, layers, heads, quick)) in (0..).zip(towers(id)) {
        let text = crate::network::vision::text_tower(n, width, layers, heads, quick);
        n.b.put(Slot(KEPT + slot), text);
        n.b.close(false);
        parts.push(Slot(KEPT + slot));
    }
    let parts: Vec<Tensor> = parts.into_iter().map(|slot| n.b.take(slot)).collect();
    match *parts.as_slice() {
        [] => None,
        [one] => Some(one),
        _ => Some(n.b.cat(&parts)),
    }
}

/// The first of the slots that towers leave their texts in.
const KEPT: u8 = 21;

/// The encoder of `AutoencoderKL` with 128, 256, 512 and 512 channels.
fn vae(n: &mut Layers, latents: Latents, dtype: Dtype) {
    const PARAMETERS: u64 = 83_653_863;
    n.frozen_weights(PARAMETERS, dtype);
    let rows = n.batch * latents.height * latents.width * latents.frames;
    let t = super::resident(n, rows, 3, dtype);
    let x = Map { t, channels: 3, height: latents.height, width: latents.width, depth: latents.frames };
    let mut x = n.conv(x, Conv::new(128, 3).bias());
    for (level, channels) in [128, 256, 512, 512].into_iter().enumerate() {
        let sample = x;
        for _ in 0..2 {
            x = residual(n, x, channels);
        }
        if level < 3 {
            // Padded at two sides, which is a copy.
            let t = n.b.copy(x.t, n.batch * (x.height + 1) * (x.width + 1) * x.depth, channels);
            let padded = Map { t, height: x.height + 1, width: x.width + 1, ..x };
            let held = padded.t;
            x = n.conv(padded, Conv::new(channels, 3).stride(2).padding(0).bias());
            n.b.touch(held);
        }
        // The encoder's frame holds what went into the level.
        n.b.touch(sample.t);
    }
    x = residual(n, x, 512);
    let t = attention(n, x);
    x = residual(n, Map { t, ..x }, 512);
    let x = n.group_norm(x, 32, true);
    let x = n.act(x, Act::Silu);
    let x = n.conv(x, Conv::new(8, 3).bias());
    let x = n.conv(x, Conv::new(8, 1).bias());
    n.b.put(Slot(0), x.t);
    n.b.close(false);
}

fn residual(n: &mut Layers, x: Map, out: u64) -> Map {
    let y = n.group_norm(x, 32, true);
    let y = n.act(y, Act::Silu);
    let y = n.conv(y, Conv::new(out, 3).bias());
    let y = n.group_norm(y, 32, true);
    let y = n.act(y, Act::Silu);
    let y = n.conv(y, Conv::new(out, 3).bias());
    let shortcut = if x.channels == out { x } else { n.conv(x, Conv::new(out, 1).bias()) };
    let sum = n.add_maps(shortcut, y);
    let scaled = n.b.scale(sum.t);
    n.b.touch(x.t);
    n.b.touch(y.t);
    Map { t: scaled, ..sum }
}

/// One head over all pixels.
fn attention(n: &mut Layers, x: Map) -> Tensor {
    let y = n.group_norm(x, 32, true);
    let q = n.fully_connected(y.t, 512);
    let k = n.fully_connected(y.t, 512);
    let v = n.fully_connected(y.t, 512);
    let _ = (k, v);
    let out = n.b.copy(q, q.rows, q.cols);
    let out = n.fully_connected(out, 512);
    n.b.add(out, x.t)
}
