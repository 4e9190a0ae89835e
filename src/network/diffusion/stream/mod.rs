//! Denoisers of one stream of tokens, as diffusers writes them: text comes in by cross-attention, or joined to the
//! picture's tokens.

mod attention;
mod block;
mod linear;
mod networks;

use super::parts::{alike, embed, written_rms};
use super::{Latents, checkpointed, input_format, resident, squared_error};
use crate::network::builder::Tensor;
use crate::network::layers::{Layers, Role};
use crate::network::maps::Act;
use crate::network::{Dtype, Slot};
use crate::project::Checkpointing;
use block::{block, modulate, plain_block};
pub(super) use networks::{ids, network};

const HIDDEN: Slot = Slot(0);
const TEXT: Slot = Slot(1);
const TIME: Slot = Slot(2);
const COS: Slot = Slot(3);
const SIN: Slot = Slot(4);
const BENT: Slot = Slot(5);

/// How a block's norms are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Norm {
    /// `nn.LayerNorm` without weights.
    Layer,
    /// `FP32LayerNorm` on a cast input, everything up to the next layer in fp32.
    Wide,
    /// diffusers' `RMSNorm`, written out in fp32.
    Rms,
    /// `F.rms_norm` of an fp32 copy.
    FusedRms,
}

/// Where shifts, scales and gates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Modulation {
    /// One for all blocks, with a table in each (PixArt's `adaLN-single`).
    Table,
    /// One for all blocks as it is.
    Shared,
    /// A linear layer in each block.
    Linear,
    /// The same, for cross-attention too (Kandinsky 5).
    Ninefold,
    /// A linear layer in each block for either kind of token (`CogVideoXLayerNormZero`).
    Twin,
    /// A linear layer of low rank before each norm.
    LowRank(u64),
    /// Scales and gates alone, gates through tanh, a second norm behind each part.
    Sandwich,
}

/// How text gets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// Cross-attention, with a mask (the memory-efficient kernel) or without.
    Cross { masked: bool },
    /// Tokens of the sequence.
    Joined,
}

/// How the text's embeddings reach the width of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextLayers {
    /// None: blocks take them as they are.
    None,
    /// One linear layer without a bias.
    One,
    /// Two linear layers with an activation between.
    Two,
    /// RMS norm and one linear layer.
    Normed,
    /// One linear layer and a norm (Kandinsky 5).
    ThenNormed,
}

/// A denoiser of one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    width: u64,
    heads: u64,
    key_heads: u64,
    blocks: u64,
    /// Blocks before the others over the picture's tokens, and over the text's.
    refiners: (u64, u64),
    /// Those are checkpointed with the others.
    checked_refiners: bool,
    /// Values of a token of latents, and of what is predicted for it.
    patch: (u64, u64),
    /// Pixels of a side of a token; frames of one.
    cell: (u64, u64),
    /// Width and tokens of the text's embeddings.
    text: (u64, u64),
    text_in: Text,
    norm: Norm,
    modulation: Modulation,
    /// Width inside the feed-forward part; gated or not.
    inner: u64,
    gated: bool,
    bias: bool,
    /// Biases of the feed-forward part, where the others have them.
    inner_bias: bool,
    /// Feed-forward parts run in fp32 under `torch.autocast(dtype=torch.float32)`.
    wide_inner: bool,
    /// Norm of query and key by head, or (false) over the whole width; `None` = none.
    query_norm: Option<bool>,
    /// That norm is diffusers' own, written out.
    written_query_norm: bool,
    /// The time goes through `SiLU` before a block's modulation.
    bends_time: bool,
    /// Layers that embed the text: a norm and one linear layer, or two linear layers.
    text_layers: TextLayers,
    rotary: bool,
    /// Attention's result times the sigmoid of a further projection.
    attention_gate: bool,
    /// Heads come before tokens in memory, and the context is copied back.
    by_head: bool,
    /// A norm with weights before cross-attention.
    cross_norm: bool,
    /// Width of the time's embedding, 0 = the blocks'.
    time: u64,
    /// Attention by products of keys and values, without a softmax, and a feed-forward part of convolutions (Sana).
    linear: bool,
    /// `SimpleTuner` trains one projection for query, key and value, beside which the three it was made of stay
    /// (documentation/quickstart/KREA2.md; `fuse_projections` in diffusers' attention.py).
    joint_in_simpletuner: bool,
    /// States of several layers of the text encoder are fused by blocks of their own.
    fusion: Option<Fusion>,
}

/// Blocks that see each token's states of several layers as a sequence, and blocks that see the tokens.
#[derive(Clone, Copy, Debug)]
struct Fusion {
    layers: u64,
    heads: u64,
    inner: u64,
    across: u64,
    along: u64,
}

/// Tokens of a sample.
#[derive(Clone, Copy)]
struct Tokens {
    picture: u64,
    text: u64,
}

impl Tokens {
    fn all(self, net: &Stream) -> u64 {
        self.picture + if net.text_in == Text::Joined { self.text } else { 0 }
    }
}

/// Writes the denoiser and its loss.
pub(super) fn write(n: &mut Layers, net: &Stream, latents: Latents) {
    let (side, frames) = net.cell;
    // A causal video VAE makes one latent of the first frame and one of every so many after it.
    let slices = 1 + (latents.frames.max(1) - 1) / frames;
    let picture = (latents.height / side).max(1) * (latents.width / side).max(1) * slices;
    let tokens = Tokens { picture, text: net.text.1 };
    let dtype = input_format(n);
    let patches = resident(n, n.batch * picture, net.patch.0, dtype);
    let states = net.fusion.map_or(1, |f| f.layers);
    let text = resident(n, n.batch * net.text.1 * states, net.text.0, dtype);
    let x = n.linear(patches, net.width, true, Role::Outside);
    let ninefold = net.modulation == Modulation::Ninefold;
    let steps = n.constant(n.batch, if ninefold { net.width } else { 256 }, dtype);
    let mut time = embed(n, steps, if net.time > 0 { net.time } else { net.width });
    if ninefold {
        // The pooled text of CLIP-L.
        let pooled = n.constant(n.batch, 768, dtype);
        let pooled = n.linear(pooled, net.time, true, Role::Outside);
        let pooled = n.layer_norm(pooled, true, true);
        time = n.b.add(time, pooled);
    }
    match net.modulation {
        Modulation::Table | Modulation::Shared => {
            let bent = n.act_tensor(time, Act::Silu);
            let six = n.linear(bent, 6 * net.width, true, Role::Outside);
            n.b.put(BENT, six);
        }
        Modulation::LowRank(_) => {
            let three = n.linear(time, 3 * net.width, false, Role::Outside);
            n.b.put(BENT, three);
        }
        Modulation::Linear | Modulation::Ninefold | Modulation::Twin | Modulation::Sandwich => {}
    }
    n.b.put(TIME, time);
    let text = match net.fusion {
        Some(fusion) => fuse(n, net, fusion, text),
        None => text,
    };
    let text = match net.text_layers {
        TextLayers::None => text,
        TextLayers::One => n.linear(text, net.width, false, Role::Outside),
        TextLayers::Two => embed(n, text, net.width),
        TextLayers::ThenNormed => {
            let y = n.linear(text, net.width, true, Role::Outside);
            let normed = n.layer_norm(y, true, true);
            n.b.cast(normed, y.dtype)
        }
        TextLayers::Normed => {
            let normed = written_rms(n, text, text.cols, true);
            n.linear(normed, net.width, true, Role::Outside)
        }
    };
    n.b.put(HIDDEN, x);
    n.b.put(TEXT, text);
    if net.rotary {
        let head = net.width / net.heads;
        n.b.global(COS, tokens.all(net), head, Dtype::F32);
        n.b.global(SIN, tokens.all(net), head, Dtype::F32);
    }
    n.b.close(false);
    let apart = Stream { text_in: Text::Joined, ..*net };
    let checked = checkpointed(n) && !(net.linear && n.config.code.unchecked_linear_attention);
    // No library keeps their inputs in main memory and leaves the refiners alone.
    let refined = checked && (net.checked_refiners || n.config.checkpointing == Checkpointing::Offloaded);
    blocks(n, &apart, net.refiners.0, Tokens { text: 0, ..tokens }, (false, refined));
    if net.refiners.1 > 0 {
        swap(n);
        blocks(n, &apart, net.refiners.1, Tokens { picture: 0, ..tokens }, (!ninefold, refined));
        swap(n);
    }
    if net.text_in == Text::Joined {
        let text = n.b.take(TEXT);
        let x = n.b.take(HIDDEN);
        let both = n.b.join(&[text, x]);
        n.b.put(HIDDEN, both);
        n.b.put(TEXT, text);
        n.b.close(false);
    }
    blocks(n, net, net.blocks, tokens, (false, checked));
    let x = n.b.take(HIDDEN);
    let time = n.b.take(TIME);
    let bent = n.act_tensor(time, Act::Silu);
    let both = n.linear(bent, 2 * net.width, true, Role::Outside);
    let parts = n.b.split(both, &[net.width, net.width]);
    let x = n.b.part(x, n.batch * picture);
    let normed = n.layer_norm(x, false, false);
    let x = match parts.as_slice() {
        &[shift, scale] => modulate(n, normed, scale, Some(shift)),
        _ => normed,
    };
    let out = n.linear(x, net.patch.1, true, Role::Outside);
    squared_error(n, out);
}

/// The text's states of several layers become one (`Krea2TextFusion`); these blocks are not checkpointed.
fn fuse(n: &mut Layers, net: &Stream, fusion: Fusion, states: Tensor) -> Tensor {
    let blocks = Stream {
        width: net.text.0,
        heads: fusion.heads,
        key_heads: fusion.heads,
        inner: fusion.inner,
        rotary: false,
        fusion: None,
        ..*net
    };
    let mut x = states;
    for _ in 0..fusion.across {
        x = plain_block(n, &blocks, x, fusion.layers);
    }
    // One linear layer over the states of a token, which lie apart.
    let mut x = n.b.copy(x, x.rows / fusion.layers, x.cols);
    for _ in 0..fusion.along {
        x = plain_block(n, &blocks, x, net.text.1);
    }
    x
}

/// Exchanges the two streams.
fn swap(n: &mut Layers) {
    let (x, text) = (n.b.take(HIDDEN), n.b.take(TEXT));
    n.b.put(HIDDEN, text);
    n.b.put(TEXT, x);
    n.b.close(false);
}

fn blocks(n: &mut Layers, net: &Stream, count: u64, tokens: Tokens, (plain, checked): (bool, bool)) {
    let apart = !n.b.peek(HIDDEN).is_some_and(|x| x.grad);
    alike(n, count, apart, checked, &mut |n| block(n, net, tokens, plain));
}
