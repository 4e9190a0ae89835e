//! Denoisers of one stream of tokens, as diffusers writes them: text comes in by cross-attention, or joined to the
//! picture's tokens.

use super::{Latents, checkpointed, input_format, resident, squared_error};
use crate::network::builder::Tensor;
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};
use crate::project::Checkpointing;

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

/// A denoiser of one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    width: u64,
    heads: u64,
    key_heads: u64,
    blocks: u64,
    /// Blocks before the others over the picture's tokens, and over the text's.
    refiners: (u64, u64),
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
    /// Norm of query and key by head, or (false) over the whole width; `None` = none.
    query_norm: Option<bool>,
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

const BASE: Stream = Stream {
    width: 2048,
    heads: 32,
    key_heads: 32,
    blocks: 28,
    refiners: (0, 0),
    patch: (64, 64),
    cell: (16, 1),
    text: (4096, 256),
    text_in: Text::Cross { masked: true },
    norm: Norm::Layer,
    modulation: Modulation::Table,
    inner: 8192,
    gated: false,
    bias: true,
    query_norm: None,
    rotary: true,
    attention_gate: false,
    by_head: false,
    cross_norm: false,
    time: 0,
    linear: false,
    fusion: None,
};

/// diffusers' defaults of each class, or the arguments of its conversion script.
const NETWORKS: &[(&str, Stream)] = &[
    ("pixart-sigma", PIXART),
    ("pixart-alpha", Stream { text: (4096, 120), ..PIXART }),
    // transformer_ltx.py; 0.9.5's VAE: 32 x 32 pixels and 8 frames a token.
    (
        "ltx-video-2b",
        Stream {
            patch: (128, 128),
            cell: (32, 8),
            text: (4096, 128),
            norm: Norm::Rms,
            query_norm: Some(false),
            ..BASE
        },
    ),
    (
        "ltx-video-13b",
        Stream {
            width: 4096,
            blocks: 48,
            inner: 16_384,
            patch: (128, 128),
            cell: (32, 8),
            text: (4096, 256),
            norm: Norm::Rms,
            query_norm: Some(false),
            ..BASE
        },
    ),
    ("wan2.1-t2v-1.3b", Stream { width: 1536, heads: 12, key_heads: 12, blocks: 30, inner: 8960, ..WAN }),
    ("wan2.1-t2v-14b", WAN),
    ("wan2.2-t2v-a14b", WAN),
    ("wan2.2-i2v-a14b", Stream { patch: (144, 64), ..WAN }),
    (
        "wan2.2-ti2v-5b",
        Stream {
            width: 3072,
            heads: 24,
            key_heads: 24,
            blocks: 30,
            inner: 14_336,
            patch: (192, 192),
            cell: (32, 4),
            ..WAN
        },
    ),
    // transformer_lumina2.py.
    (
        "lumina-image-2",
        Stream {
            width: 2304,
            heads: 24,
            key_heads: 8,
            blocks: 26,
            refiners: (2, 2),
            text: (2304, 256),
            text_in: Text::Joined,
            norm: Norm::Rms,
            modulation: Modulation::Sandwich,
            inner: 9216,
            gated: true,
            bias: false,
            query_norm: Some(true),
            by_head: true,
            time: 1024,
            ..BASE
        },
    ),
    // transformer_krea2.py.
    (
        "krea-2",
        Stream {
            width: 6144,
            heads: 48,
            key_heads: 12,
            blocks: 28,
            text: (2560, 512),
            text_in: Text::Joined,
            norm: Norm::FusedRms,
            inner: 16_384,
            gated: true,
            bias: false,
            query_norm: Some(true),
            attention_gate: true,
            fusion: Some(Fusion { layers: 12, heads: 20, inner: 6912, across: 2, along: 2 }),
            ..BASE
        },
    ),
    // transformer_cosmos.py with the sizes of Cosmos-Predict2-2B-Text2Image, which Anima starts from.
    ("anima", COSMOS),
    ("cosmos-predict2-2b", COSMOS),
    // transformer_ernie_image.py with the sizes of baidu/ERNIE-Image.
    (
        "ernie-image",
        Stream {
            width: 4096,
            blocks: 36,
            patch: (128, 128),
            text: (3072, 256),
            text_in: Text::Joined,
            norm: Norm::Rms,
            modulation: Modulation::Shared,
            inner: 12_288,
            gated: true,
            bias: false,
            query_norm: Some(true),
            ..BASE
        },
    ),
    // sana_transformer.py; its DC-AE makes one token of 32 x 32 pixels.
    ("sana-1.6b", Stream { patch: (32, 32), cell: (32, 1), rotary: false, ..SANA }),
    // transformer_sana_video.py.
    ("sana-video-2b", Stream { cell: (16, 4), query_norm: Some(false), ..SANA }),
    // `LongCatVideoTransformer3DModel` of meituan-longcat/LongCat-Video.
    (
        "longcat-video",
        Stream {
            width: 4096,
            heads: 32,
            key_heads: 32,
            blocks: 48,
            inner: 11_008,
            gated: true,
            modulation: Modulation::Linear,
            time: 512,
            query_norm: Some(true),
            ..WAN
        },
    ),
    ("cogvideox-2b", Stream { rotary: false, ..COGVIDEO }),
    ("cogvideox-5b", Stream { width: 3072, heads: 48, key_heads: 48, blocks: 42, inner: 12_288, ..COGVIDEO }),
    // `patch_size_t` of 2: a token spans two latent frames.
    (
        "cogvideox1.5-5b",
        Stream {
            width: 3072,
            heads: 48,
            key_heads: 48,
            blocks: 42,
            inner: 12_288,
            patch: (128, 128),
            cell: (16, 8),
            ..COGVIDEO
        },
    ),
];

const COSMOS: Stream = Stream {
    heads: 16,
    key_heads: 16,
    patch: (68, 64),
    text: (1024, 512),
    text_in: Text::Cross { masked: false },
    modulation: Modulation::LowRank(256),
    bias: false,
    query_norm: Some(true),
    ..BASE
};

const PIXART: Stream = Stream {
    width: 1152,
    heads: 16,
    key_heads: 16,
    patch: (16, 32),
    text: (4096, 300),
    inner: 4608,
    rotary: false,
    by_head: true,
    ..BASE
};

const SANA: Stream = Stream {
    width: 2240,
    heads: 20,
    key_heads: 20,
    blocks: 20,
    text: (2304, 300),
    inner: 5600,
    bias: false,
    linear: true,
    ..BASE
};

/// `transformer_wan.py`.
const WAN: Stream = Stream {
    width: 5120,
    heads: 40,
    key_heads: 40,
    blocks: 40,
    cell: (16, 4),
    text: (4096, 512),
    text_in: Text::Cross { masked: false },
    norm: Norm::Wide,
    inner: 13_824,
    query_norm: Some(false),
    cross_norm: true,
    ..BASE
};

/// `cogvideox_transformer_3d.py`.
const COGVIDEO: Stream = Stream {
    width: 1920,
    heads: 30,
    key_heads: 30,
    blocks: 30,
    cell: (16, 4),
    text: (4096, 226),
    text_in: Text::Joined,
    modulation: Modulation::Linear,
    inner: 7680,
    query_norm: Some(true),
    by_head: true,
    time: 512,
    ..BASE
};

/// Ids of [`network`].
pub(super) fn ids() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|(id, _)| *id)
}

/// The denoiser with this id.
pub(super) fn network(id: &str) -> Option<Stream> {
    NETWORKS.iter().find(|(known, _)| *known == id).map(|(_, net)| *net)
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

/// Shifts, scales and gates of one half of a block.
#[derive(Clone, Copy)]
struct Half {
    shift: Option<Tensor>,
    scale: Tensor,
    gate: Tensor,
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
    let steps = n.constant(n.batch, 256, dtype);
    let time = embed(n, steps, if net.time > 0 { net.time } else { net.width });
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
        Modulation::Linear | Modulation::Sandwich => {}
    }
    n.b.put(TIME, time);
    let text = match net.fusion {
        Some(fusion) => fuse(n, net, fusion, text),
        None => text,
    };
    let text = embed(n, text, net.width);
    n.b.put(HIDDEN, x);
    n.b.put(TEXT, text);
    if net.rotary {
        let head = net.width / net.heads;
        n.b.global(COS, tokens.all(net), head, Dtype::F32);
        n.b.global(SIN, tokens.all(net), head, Dtype::F32);
    }
    end(n, false);
    let apart = Stream { text_in: Text::Joined, ..*net };
    blocks(n, &apart, net.refiners.0, Tokens { text: 0, ..tokens }, false);
    if net.refiners.1 > 0 {
        swap(n);
        blocks(n, &apart, net.refiners.1, Tokens { picture: 0, ..tokens }, true);
        swap(n);
    }
    if net.text_in == Text::Joined {
        let text = n.b.take(TEXT);
        let x = n.b.take(HIDDEN);
        let both = n.b.join(&[text, x]);
        n.b.put(HIDDEN, both);
        n.b.put(TEXT, text);
        end(n, false);
    }
    blocks(n, net, net.blocks, tokens, false);
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

/// A block without modulation.
fn plain_block(n: &mut Layers, net: &Stream, x: Tensor, tokens: u64) -> Tensor {
    let normed = norm(n, net, x);
    let attended = attention(n, net, normed, None, tokens);
    let x = n.b.add(x, attended);
    let normed = norm(n, net, x);
    let out = feed_forward(n, net, normed);
    n.b.add(x, out)
}

/// Exchanges the two streams.
fn swap(n: &mut Layers) {
    let (x, text) = (n.b.take(HIDDEN), n.b.take(TEXT));
    n.b.put(HIDDEN, text);
    n.b.put(TEXT, x);
    end(n, false);
}

fn end(n: &mut Layers, checkpointed: bool) {
    n.b.end_segment(checkpointed, false);
    n.b.end_group();
}

fn embed(n: &mut Layers, x: Tensor, width: u64) -> Tensor {
    let y = n.linear(x, width, true, Role::Outside);
    let y = n.act_tensor(y, Act::Silu);
    n.linear(y, width, true, Role::Outside)
}

fn blocks(n: &mut Layers, net: &Stream, count: u64, tokens: Tokens, plain: bool) {
    // Where no gradient flows to the first block it is written apart.
    let runs =
        if n.b.peek(HIDDEN).is_some_and(|x| x.grad) { [count, 0] } else { [count.min(1), count.saturating_sub(1)] };
    let checked = checkpointed(n) && !(net.linear && n.config.code.unchecked_linear_attention);
    for times in runs {
        // "Selective" leaves every other stretch of blocks alone: in what order makes no difference to their sum.
        let alone = if n.config.checkpointing == Checkpointing::Selective { times / 2 } else { 0 };
        for (times, checked) in [(alone, false), (times - alone, checked)] {
            if times > 0 {
                n.b.repeat(times);
                block(n, net, tokens, plain);
                end(n, checked);
            }
        }
    }
}

fn modulate(n: &mut Layers, x: Tensor, scale: Tensor, shift: Option<Tensor>) -> Tensor {
    let one_plus = n.b.shift(scale);
    let scaled = n.b.mul(x, one_plus);
    match shift {
        Some(shift) => n.b.add(scaled, shift),
        None => scaled,
    }
}

fn norm(n: &mut Layers, net: &Stream, x: Tensor) -> Tensor {
    match net.norm {
        Norm::Layer => n.layer_norm(x, false, false),
        Norm::Wide => {
            let wide = n.b.cast(x, Dtype::F32);
            n.layer_norm(wide, false, false)
        }
        Norm::Rms => {
            let weighted = net.modulation == Modulation::Sandwich;
            let w = weighted.then(|| n.weight(x.cols, 1));
            let wide = n.b.cast(x, Dtype::F32);
            let square = n.b.pow(wide);
            let variance = n.b.mean(square);
            let deviation = n.b.unary(variance, crate::network::builder::Keep::Output, 1);
            let normed = n.b.mul(x, deviation);
            let narrow = n.b.cast(normed, x.dtype);
            match w {
                Some(w) => n.b.mul(narrow, w),
                None => narrow,
            }
        }
        Norm::FusedRms => {
            let wide = n.b.cast(x, Dtype::F32);
            let normed = n.head_norm(wide, x.cols);
            n.b.cast(normed, x.dtype)
        }
    }
}

/// The two halves' modulation, and one more for cross-attention where each norm has its own.
fn halves(n: &mut Layers, net: &Stream) -> [Half; 2] {
    let width = net.width;
    let six = match net.modulation {
        Modulation::Table => {
            let shared = n.b.take(BENT);
            let table = n.weight(6, width);
            let table = n.b.view(table, 1, 6 * width);
            let wide = if net.norm == Norm::Wide { n.b.cast(shared, Dtype::F32) } else { shared };
            n.b.add(wide, table)
        }
        Modulation::Shared => n.b.take(BENT),
        Modulation::Sandwich => {
            let time = n.b.take(TIME);
            let bent = n.act_tensor(time, Act::Silu);
            n.linear(bent, 4 * width, true, Role::Outside)
        }
        Modulation::Linear | Modulation::LowRank(_) => {
            let time = n.b.take(TIME);
            let bent = n.act_tensor(time, Act::Silu);
            if net.text_in == Text::Joined {
                // As many again for the text's tokens (`CogVideoXLayerNormZero`).
                n.linear(bent, 6 * width, true, Role::Outside);
            }
            n.linear(bent, 6 * width, true, Role::Outside)
        }
    };
    let sandwich = net.modulation == Modulation::Sandwich;
    let parts = n.b.split(six, &vec![width; if sandwich { 4 } else { 6 }]);
    match *parts.as_slice() {
        [scale, gate, scale2, gate2] => {
            [Half { shift: None, scale, gate }, Half { shift: None, scale: scale2, gate: gate2 }]
        }
        [shift, scale, gate, shift2, scale2, gate2] => {
            [Half { shift: Some(shift), scale, gate }, Half { shift: Some(shift2), scale: scale2, gate: gate2 }]
        }
        _ => [Half { shift: None, scale: six, gate: six }; 2],
    }
}

/// Modulation of low rank before one norm.
fn low_rank(n: &mut Layers, width: u64, rank: u64) -> Half {
    let time = n.b.take(TIME);
    let bent = n.act_tensor(time, Act::Silu);
    let low = n.linear(bent, rank, false, Role::Outside);
    let three = n.linear(low, 3 * width, false, Role::Outside);
    let shared = n.b.take(BENT);
    let three = n.b.add(three, shared);
    match n.b.split(three, &[width; 3]).as_slice() {
        &[shift, scale, gate] => Half { shift: Some(shift), scale, gate },
        _ => Half { shift: None, scale: three, gate: three },
    }
}

fn block(n: &mut Layers, net: &Stream, tokens: Tokens, plain: bool) {
    let x = n.b.take(HIDDEN);
    let rank = match net.modulation {
        Modulation::LowRank(rank) => Some(rank),
        _ => None,
    };
    let pair = if plain || rank.is_some() { None } else { Some(halves(n, net)) };
    let half = |n: &mut Layers, which: usize| match (rank, pair) {
        (Some(rank), _) => Some(low_rank(n, net.width, rank)),
        (None, Some(pair)) => Some(pair[which]),
        (None, None) => None,
    };
    let first = half(n, 0);
    let adapted = adapt(n, net, x, first);
    let attended = attention(n, net, adapted, None, tokens.all(net));
    let mut x = join(n, net, x, attended, first);
    if let Text::Cross { masked } = net.text_in {
        let source = n.b.take(TEXT);
        let own = rank.map(|rank| low_rank(n, net.width, rank));
        let query = match own {
            Some(_) => adapt(n, net, x, own),
            None if net.cross_norm => {
                let wide = n.b.cast(x, Dtype::F32);
                let normed = n.layer_norm(wide, true, true);
                n.b.cast(normed, x.dtype)
            }
            None => x,
        };
        let attended = attention(n, net, query, Some((source, masked)), tokens.picture);
        x = match own {
            Some(_) => join(n, net, x, attended, own),
            None => n.b.add(x, attended),
        };
    }
    let second = half(n, 1);
    let adapted = adapt(n, net, x, second);
    let out = if net.linear { gated_convolutions(n, net, adapted, tokens) } else { feed_forward(n, net, adapted) };
    let x = join(n, net, x, out, second);
    n.b.put(HIDDEN, x);
}

/// Norm and modulation.
fn adapt(n: &mut Layers, net: &Stream, x: Tensor, half: Option<Half>) -> Tensor {
    let normed = norm(n, net, x);
    let adapted = match half {
        Some(half) => modulate(n, normed, half.scale, half.shift),
        None => normed,
    };
    if net.norm == Norm::Wide { n.b.cast(adapted, x.dtype) } else { adapted }
}

/// `x + gate * y`.
fn join(n: &mut Layers, net: &Stream, x: Tensor, y: Tensor, half: Option<Half>) -> Tensor {
    let y = if net.modulation == Modulation::Sandwich { norm(n, net, y) } else { y };
    let y = match half {
        Some(half) => {
            let gate = half.gate;
            n.b.mul(gate, y)
        }
        None => y,
    };
    if net.norm == Norm::Wide {
        let wide = n.b.cast(x, Dtype::F32);
        let sum = n.b.add(wide, y);
        return n.b.cast(sum, x.dtype);
    }
    n.b.add(x, y)
}

fn attention(n: &mut Layers, net: &Stream, x: Tensor, text: Option<(Tensor, bool)>, queries: u64) -> Tensor {
    let head = net.width / net.heads;
    let key_width = if text.is_some() { net.width } else { net.key_heads * head };
    let source = text.map_or(x, |(t, _)| t);
    let q = n.linear(x, net.width, net.bias, Role::Query);
    let k = n.linear(source, key_width, net.bias, Role::Key);
    let v = n.linear(source, key_width, net.bias, Role::Value);
    let gate = (net.attention_gate && text.is_none()).then(|| n.linear(x, net.width, net.bias, Role::Outside));
    let wanted = q.dtype;
    let (q, k) = match net.query_norm {
        None => (q, k),
        Some(by_head) => {
            let over = |t: Tensor| if by_head { head } else { t.cols };
            (n.head_norm(q, over(q)), n.head_norm(k, over(k)))
        }
    };
    let (q, k) = if net.linear && text.is_none() {
        (n.act_tensor(q, Act::ReluCopy), n.act_tensor(k, Act::ReluCopy))
    } else {
        (q, k)
    };
    let plain = (q, k);
    let (q, k) = if net.rotary && text.is_none() {
        let cos = n.b.take(COS);
        let sin = n.b.take(SIN);
        (n.rotate_pairs(q, cos, sin), n.rotate_pairs(k, cos, sin))
    } else {
        (q, k)
    };
    let repeats = net.heads / (key_width / head).max(1);
    let (k, v) = if repeats > 1 {
        (n.b.copy(k, k.rows, k.cols * repeats), n.b.copy(v, v.rows, v.cols * repeats))
    } else {
        (k, v)
    };
    if net.linear && text.is_none() {
        let out = linear_attention(n, [q, k, v], net.rotary.then_some(plain));
        let out = n.b.cast(out, wanted);
        return n.linear(out, net.width, true, Role::AttentionOut);
    }
    let keys = if text.is_some() { net.text.1 } else { queries };
    let shape = Heads {
        count: net.heads,
        key_count: net.heads,
        head,
        value_head: head,
        queries,
        keys,
        by_head: net.by_head && text.is_none_or(|(_, masked)| !masked),
        causal: false,
        dropout: 0.0,
        softcap: false,
        upcast_softmax: false,
    };
    n.sequence = queries;
    let mask = text.filter(|(_, masked)| *masked).map(|_| n.constant(n.batch, keys, wanted));
    let out = n.attention(q, k, v, shape, mask);
    let out = n.b.cast(out, wanted);
    let out = match gate {
        Some(gate) => {
            let open = n.b.unary(gate, crate::network::builder::Keep::Output, 0);
            n.b.mul(out, open)
        }
        None => out,
    };
    n.linear(out, net.width, net.bias, Role::AttentionOut)
}

/// `SanaLinearAttnProcessor`: products of values and keys, then with queries, in fp32 unless autocast is on; divided by
/// what a row of ones (or the unrotated queries and keys) gives.
fn linear_attention(n: &mut Layers, [q, k, v]: [Tensor; 3], unrotated: Option<(Tensor, Tensor)>) -> Tensor {
    let [q, k, v] = [q, k, v].map(|t| n.b.cast(t, Dtype::F32));
    let flops = 2.0 * q.numel() as f64 * 112.0;
    if let Some((plain, _)) = unrotated {
        let sums = n.b.matmul(plain, plain, plain.rows, 1, flops / 112.0);
        let z = n.b.unary(sums, crate::network::builder::Keep::Output, 0);
        let scores = n.b.matmul(v, k, 1, q.cols * 112, flops);
        let out = n.b.matmul(scores, q, q.rows, q.cols, flops);
        let out = n.b.mul(out, z);
        return n.b.copy(out, out.rows, out.cols);
    }
    let padded = n.b.copy(v, v.rows, v.cols);
    let scores = n.b.matmul(padded, k, 1, q.cols * 112, flops);
    let out = n.b.matmul(scores, q, q.rows, q.cols, flops);
    let weight = n.b.slice(out, 1);
    let out = n.b.mul(out, weight);
    n.b.copy(out, out.rows, out.cols)
}

/// `GLUMBConv`, and through the frames `GLUMBTempConv`: convolutions keep their inputs whatever is trained.
fn gated_convolutions(n: &mut Layers, net: &Stream, x: Tensor, tokens: Tokens) -> Tensor {
    let wide = 2 * net.inner;
    let map = Map { t: x, channels: net.width, height: tokens.picture, width: 1, depth: 1 };
    let y = n.conv(map, Conv::new(wide, 1).bias());
    let y = n.act(y, Act::Silu);
    let y = n.conv(y, Conv::new(wide, 3).groups(wide).bias());
    let inner = match n.b.split(y.t, &[net.inner, net.inner]).as_slice() {
        &[hidden, gate] => {
            let gate = n.act_tensor(gate, Act::Silu);
            n.b.mul(hidden, gate)
        }
        _ => y.t,
    };
    let y = n.conv(Map { t: inner, channels: net.inner, ..y }, Conv::new(net.width, 1));
    if net.cell.1 == 1 {
        return y.t;
    }
    let moved = n.b.copy(y.t, y.t.rows, y.t.cols);
    let through = n.conv(Map { t: moved, ..y }, Conv::new(net.width, 3).rectangle(3, 1));
    n.b.add(y.t, through.t)
}

fn feed_forward(n: &mut Layers, net: &Stream, x: Tensor) -> Tensor {
    let inner = if net.gated {
        let gate = n.linear(x, net.inner, net.bias, Role::Mlp);
        let up = n.linear(x, net.inner, net.bias, Role::Mlp);
        let gate = n.act_tensor(gate, Act::Silu);
        n.b.mul(gate, up)
    } else {
        let inner = n.linear(x, net.inner, net.bias, Role::Mlp);
        n.act_tensor(inner, Act::Gelu)
    };
    n.linear(inner, net.width, net.bias, Role::Mlp)
}
