//! Denoisers of diffusion pipelines as programs, by their ids in the catalog.

mod encoders;
mod joint;
mod masked;
mod parts;
mod stream;
mod unet;

use super::builder::{Tensor, bytes};
use super::layers::Layers;
use super::{Dtype, Kind, NONE, Program, Slot, StepConfig, Trained};
use crate::project::Checkpointing;

/// What a denoiser is trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latents {
    /// Height of the pictures in pixels.
    pub height: u64,
    /// Width of the pictures in pixels.
    pub width: u64,
    /// Frames of a clip, 1 for pictures.
    pub frames: u64,
    /// Pictures are encoded in the step: the VAE is on the card.
    pub encoders: bool,
    /// Parameters of the text encoders that are on the card.
    pub text_parameters: u64,
    /// The text encoders are trained with the denoiser, where that is a U-Net.
    pub trains_text: bool,
}

/// The training program of a denoiser of the catalog, or `None` where there is no program for it.
pub fn diffusion(id: &str, latents: Latents, config: &StepConfig) -> Option<Program> {
    let mut n = Layers::new(config);
    n.trained = !matches!(config.trained, Trained::Adapters(_) | Trained::Head);
    n.adapts_attention_out = true;
    n.quantizes_all = true;
    let net = Net::of(id)?;
    encoders::text(&mut n, id, latents);
    if latents.encoders {
        encoders::encode(&mut n, id, latents);
    }
    match net {
        Net::U(net) => unet::write(&mut n, &net, latents),
        Net::Joint(net) => joint::write(&mut n, &net, latents),
        Net::Stream(net) => stream::write(&mut n, &net, latents),
        Net::Masked(halved) => masked::write(&mut n, halved, latents),
    }
    Some(n.b.program)
}

/// A denoiser that has a program.
enum Net {
    U(unet::UNet),
    Joint(joint::Joint),
    Stream(stream::Stream),
    Masked(bool),
}

impl Net {
    fn of(id: &str) -> Option<Self> {
        unet::network(id)
            .map(Self::U)
            .or_else(|| joint::network(id).map(Self::Joint))
            .or_else(|| stream::network(id).map(Self::Stream))
            .or_else(|| masked::network(id).map(Self::Masked))
    }
}

/// Denoisers that have a program.
pub fn ids() -> impl Iterator<Item = &'static str> {
    unet::IDS.into_iter().chain(joint::ids()).chain(stream::ids()).chain(masked::ids())
}

fn checkpointed(n: &Layers) -> bool {
    n.config.checkpointing != Checkpointing::Off
}

/// Format of latents and embeddings: 16 bit unless the whole run is fp32.
fn input_format(n: &Layers) -> Dtype {
    n.config.autocast.unwrap_or(n.config.weights)
}

/// Something of the batch that lies in a slot: latents, text embeddings.
fn given(n: &mut Layers, slot: Slot, rows: u64, cols: u64) {
    let dtype = input_format(n);
    n.b.global(slot, rows, cols, dtype);
}

/// Something of the batch that only the first segment sees.
fn resident(n: &mut Layers, rows: u64, cols: u64, dtype: Dtype) -> Tensor {
    n.b.program.batch_bytes += bytes(rows.saturating_mul(cols), dtype);
    n.b.value(rows, cols, dtype, Kind::Weight { trained: false }, NONE, false)
}

/// Mean squared error in fp32 against a target of the same size.
fn squared_error(n: &mut Layers, out: Tensor) {
    n.b.put(Slot(0), out);
    n.b.close(false);
    let dtype = input_format(n);
    let target = resident(n, out.rows, out.cols, dtype);
    let out = n.b.take(Slot(0));
    let wide = n.b.cast(out, Dtype::F32);
    let target = n.b.cast(target, Dtype::F32);
    n.mean_squared_error(wide, target);
    n.b.end_segment(false, true);
    n.b.end_group();
}
