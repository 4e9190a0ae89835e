//! Diffusion transformers with a joint stream of picture and text: Stable Diffusion 3, FLUX, Qwen-Image and their kin, as
//! diffusers writes them.

mod block;
mod experts;
mod networks;
mod text;

use super::parts::{alike, embed};
use super::{Latents, checkpointed, input_format, resident, squared_error};
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Layers, Role};
use crate::network::maps::Act;
use crate::network::{Dtype, Slot};
use block::{adapt, double, single};
pub(super) use networks::{ids, network};

const HIDDEN: Slot = Slot(0);
const TEXT: Slot = Slot(1);
const TIME: Slot = Slot(2);
const COS: Slot = Slot(3);
const SIN: Slot = Slot(4);
/// Modulations that all blocks share: of the picture, of the text, of the joined stream.
const SHARED: [Slot; 3] = [Slot(5), Slot(6), Slot(7)];
/// States of the text encoder's layers, of which each block sees one.
const STATES: Slot = Slot(8);
const MASK: Slot = Slot(9);

/// Where a block's shifts, scales and gates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Modulation {
    /// A linear layer in each block, for each stream.
    Linear,
    /// One linear layer in each block for both streams (`HiDream`).
    Joint,
    /// One for all blocks (FLUX.2).
    Shared,
    /// Rows of a table that a network of its own makes of the time (Chroma's `distilled_guidance_layer`).
    Approximated,
}

/// Norm of query and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueryNorm {
    None,
    /// RMS norm of each head.
    Head,
    /// The same as diffusers writes it out.
    Written,
    /// RMS norm over the whole width.
    Width,
    /// `FP32LayerNorm` of each head, without weights.
    Layer,
}

/// The feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mlp {
    /// Two layers with a GELU between, four times as wide.
    Gelu,
    /// Gate and up in layers of their own.
    Gated(u64),
    /// Gate and up in one layer.
    Halves(u64),
    /// Routed experts of this width and a shared one of half of it for the picture, gated for the text.
    Experts(u64),
}

/// The blocks after the double ones, in which both streams run as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Single {
    /// Attention beside MLP.
    Parallel,
    /// The same with query, key, value and MLP out of one layer (FLUX.2).
    Fused,
    /// Attention, then MLP.
    Serial,
}

/// How text becomes tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextIn {
    /// A linear layer.
    Linear,
    /// RMS norm and a linear layer (Qwen-Image).
    Normed,
    /// Two refining blocks after a linear layer, further encoders' tokens beside them (`HunyuanVideo`).
    Refined { glyphs: u64, picture: u64 },
    /// A linear layer for each of the encoder's layers (`HiDream`).
    States,
}

/// A joint transformer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint {
    width: u64,
    heads: u64,
    /// Blocks with weights of their own for picture and text.
    double: u64,
    /// Blocks in which both run as one sequence.
    single: u64,
    single_kind: Single,
    /// Values of a token of latents, and of what is predicted for it.
    patch: (u64, u64),
    /// Pixels of a side of a token; frames of one.
    cell: (u64, u64),
    /// Width and tokens of the text embeddings.
    text: (u64, u64),
    text_in: TextIn,
    /// Tokens that are learned and stand before the text's.
    registers: u64,
    /// Width of the pooled text embedding, 0 = none.
    pooled: u64,
    /// Embeds a guidance scale.
    guidance: bool,
    /// Rotary positions; else a table added to the patches.
    rotary: bool,
    query_norm: QueryNorm,
    /// Norms work on fp32 copies and give back the format they were given (`FP32LayerNorm`).
    wide_norms: bool,
    modulation: Modulation,
    mlp: Mlp,
    bias: bool,
    /// First blocks with a second attention over the picture alone.
    dual: u64,
    /// The last double block does without the text's half.
    drops_text: bool,
    /// Rows of the table of positions, 0 = none.
    table: u64,
    /// That table is trained and in the weights' format.
    learned_table: bool,
    /// What comes after attention is added to the block's input (`AuraFlow`).
    skips_attention: bool,
    /// Tokens are masked in pairs.
    masked: bool,
    /// The tokens of a picture to go by stand beside the noisy ones.
    reference: bool,
}

/// Tokens of the two streams.
#[derive(Clone, Copy)]
struct Streams {
    picture: u64,
    text: u64,
}

/// Writes the denoiser and its loss.
pub(super) fn write(n: &mut Layers, net: &Joint, latents: Latents) {
    let (side, frames) = net.cell;
    // A causal video VAE makes one latent of the first frame and one of every so many after it.
    let slices = if frames > 1 { 1 + (latents.frames.max(1) - 1) / frames } else { latents.frames };
    let picture = (latents.height / side).max(1) * (latents.width / side).max(1) * slices;
    let picture = if net.reference { 2 * picture } else { picture };
    let streams = Streams { picture, text: text::tokens(net) };
    let dtype = input_format(n);
    let rows = n.batch * streams.picture;
    let patches = resident(n, rows, net.patch.0, dtype);
    let words = resident(n, n.batch * net.text.1, net.text.0, dtype);
    // Patches are cut out by a linear layer or by a convolution with stride: the same sizes.
    let x = n.linear(patches, net.width, net.bias || net.table > 0, Role::Outside);
    let x = if net.table > 0 { positions(n, net, x, streams.picture) } else { x };
    let time = if net.modulation == Modulation::Approximated { approximate(n, net) } else { time(n, net, dtype) };
    if net.modulation == Modulation::Shared {
        for (slot, parts) in SHARED.into_iter().zip([6, 6, 3]) {
            let bent = n.act_tensor(time, Act::Silu);
            let all = n.linear(bent, parts * net.width, net.bias, Role::Outside);
            n.b.put(slot, all);
        }
    }
    let words = text::embed_text(n, net, words, time);
    n.b.put(HIDDEN, x);
    n.b.put(TEXT, words);
    n.b.put(TIME, time);
    if net.rotary {
        let head = net.width / net.heads;
        n.b.global(COS, streams.picture + streams.text, head, Dtype::F32);
        n.b.global(SIN, streams.picture + streams.text, head, Dtype::F32);
    }
    if net.masked {
        n.b.global(MASK, n.batch, streams.text, Dtype::U8);
    }
    n.b.close(false);
    let last = u64::from(net.drops_text);
    let checked = checkpointed(n);
    alike(n, net.dual, true, checked, &mut |n| double(n, net, streams, true, false));
    alike(n, net.double - net.dual - last, true, checked, &mut |n| double(n, net, streams, false, false));
    if last > 0 {
        double(n, net, streams, false, true);
        n.b.close(checked);
    }
    alike(n, net.single, true, checked, &mut |n| single(n, net, streams));
    let x = n.b.take(HIDDEN);
    let time = n.b.take(TIME);
    let x = if net.modulation == Modulation::Approximated {
        let two = n.b.part(time, 2 * n.batch);
        let two = n.b.view(two, n.batch, 2 * net.width);
        bend(n, net, x, two)
    } else {
        let bent = n.act_tensor(time, Act::Silu);
        let two = n.linear(bent, 2 * net.width, net.bias, Role::Outside);
        bend(n, net, x, two)
    };
    let mut out = n.linear(x, net.patch.1, net.bias, Role::Outside);
    if net.table > 0 {
        // Put back together from patches.
        out = n.b.copy(out, out.rows, out.cols);
    }
    squared_error(n, out);
}

/// The last norm.
fn bend(n: &mut Layers, net: &Joint, x: Tensor, two: Tensor) -> Tensor {
    match *n.b.split(two, &[net.width; 2]) {
        [scale, shift] if net.skips_attention => {
            // AuraFlow's has no norm.
            let one_plus = n.b.shift(scale);
            let scaled = n.b.mul(x, one_plus);
            n.b.add(scaled, shift)
        }
        [scale, shift] => adapt(n, net, x, scale, shift),
        _ => x,
    }
}

/// A table of positions, added to the patches.
fn positions(n: &mut Layers, net: &Joint, x: Tensor, picture: u64) -> Tensor {
    if net.learned_table {
        let table = n.weight(net.table, net.width);
        let looked_up = n.b.gather(table, picture);
        return n.b.add(x, looked_up);
    }
    // The table is an fp32 buffer whatever the weights are.
    n.b.program.buffers += bytes(net.table * net.width, Dtype::F32);
    let positions = n.constant(picture, net.width, Dtype::F32);
    let moved = n.b.add(x, positions);
    let narrow = n.b.cast(moved, x.dtype);
    n.b.copy(narrow, narrow.rows, narrow.cols)
}

/// Embeddings of the time, of the guidance scale and of the pooled text.
fn time(n: &mut Layers, net: &Joint, dtype: Dtype) -> Tensor {
    let biased = net.modulation != Modulation::Shared;
    let embedded = |n: &mut Layers, width: u64| {
        let given = n.constant(n.batch, width, dtype);
        if biased { embed(n, given, net.width) } else { unbiased(n, given, net.width) }
    };
    let mut time = embedded(n, 256);
    if net.guidance {
        let scale = embedded(n, 256);
        time = n.b.add(time, scale);
    }
    if net.pooled > 0 {
        let pooled = embedded(n, net.pooled);
        time = n.b.add(time, pooled);
    }
    time
}

fn unbiased(n: &mut Layers, x: Tensor, width: u64) -> Tensor {
    let y = n.linear(x, width, false, Role::Outside);
    let y = n.act_tensor(y, Act::Silu);
    n.linear(y, width, false, Role::Outside)
}

/// Chroma's network that makes all modulations of the time: `approximator_hidden_dim` 5120, five layers, 64 channels.
fn approximate(n: &mut Layers, net: &Joint) -> Tensor {
    const WIDTH: u64 = 5120;
    let rows = 3 * net.single + 12 * net.double + 2;
    let dtype = input_format(n);
    let given = n.constant(n.batch * rows, 64, dtype);
    let mut x = n.linear(given, WIDTH, true, Role::Outside);
    for _ in 0..5 {
        let normed = n.head_norm(x, WIDTH);
        let y = embed(n, normed, WIDTH);
        x = n.b.add(x, y);
    }
    n.linear(x, net.width, true, Role::Outside)
}
