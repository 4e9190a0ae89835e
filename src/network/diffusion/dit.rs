//! Diffusion transformers with a joint stream of picture and text: Stable Diffusion 3, FLUX and their kin, as diffusers
//! writes them.

use super::parts::embed;
use super::{Latents, checkpointed, input_format, resident, squared_error};
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::Act;
use crate::network::{Dtype, Slot};

const HIDDEN: Slot = Slot(0);
const TEXT: Slot = Slot(1);
const TIME: Slot = Slot(2);
const COS: Slot = Slot(3);
const SIN: Slot = Slot(4);

/// A joint transformer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint {
    width: u64,
    heads: u64,
    /// Blocks with weights of their own for picture and text.
    double: u64,
    /// Blocks in which both run as one sequence, attention beside MLP.
    single: u64,
    /// Values of a patch of latents.
    patch: u64,
    /// Width and tokens of the text embeddings.
    text: (u64, u64),
    /// Width of the pooled text embedding, 0 = none.
    pooled: u64,
    /// Embeds a guidance scale.
    guidance: bool,
    /// Rotary positions; else a table added to the patches.
    rotary: bool,
    /// RMS norm of query and key.
    qk_norm: bool,
    /// First blocks with a second attention over the picture alone.
    dual: u64,
    /// Side of the table of positions, 0 = none.
    table: u64,
}

/// Ids of [`network`].
pub(super) const IDS: [&str; 5] = ["sd3-medium", "sd3.5-medium", "sd3.5-large", "flux.1-dev", "flux.1-schnell"];

/// The denoiser with this id.
pub(super) fn network(id: &str) -> Option<Joint> {
    let sd3 = Joint {
        width: 1536,
        heads: 24,
        double: 24,
        single: 0,
        patch: 64,
        text: (4096, 154),
        pooled: 2048,
        guidance: false,
        rotary: false,
        qk_norm: false,
        dual: 0,
        table: 192,
    };
    let flux = Joint {
        width: 3072,
        heads: 24,
        double: 19,
        single: 38,
        patch: 64,
        text: (4096, 512),
        pooled: 768,
        guidance: true,
        rotary: true,
        qk_norm: true,
        dual: 0,
        table: 0,
    };
    Some(match id {
        "sd3-medium" => sd3,
        "sd3.5-medium" => Joint { qk_norm: true, dual: 13, table: 384, ..sd3 },
        "sd3.5-large" => Joint { width: 2432, heads: 38, double: 38, qk_norm: true, ..sd3 },
        "flux.1-dev" => flux,
        "flux.1-schnell" => Joint { guidance: false, text: (4096, 256), ..flux },
        _ => return None,
    })
}

/// Tokens of the two streams.
#[derive(Clone, Copy)]
struct Streams {
    picture: u64,
    text: u64,
}

/// Writes the denoiser and its loss.
pub(super) fn write(n: &mut Layers, net: &Joint, latents: Latents) {
    let (height, width) = (latents.height / 16, latents.width / 16);
    let streams = Streams { picture: height * width * latents.frames, text: net.text.1 };
    let dtype = input_format(n);
    let rows = n.batch * streams.picture;
    let patches = resident(n, rows, net.patch, dtype);
    let text = resident(n, n.batch * net.text.1, net.text.0, dtype);
    // Patches are cut out by a linear layer or by a convolution with stride: the same sizes.
    let mut x = n.linear(patches, net.width, true, Role::Outside);
    if net.table > 0 {
        // The table is an fp32 buffer whatever the weights are.
        n.b.program.buffers += bytes(net.table * net.table * net.width, Dtype::F32);
        let positions = n.constant(streams.picture, net.width, Dtype::F32);
        let moved = n.b.add(x, positions);
        let narrow = n.b.cast(moved, x.dtype);
        x = n.b.copy(narrow, narrow.rows, narrow.cols);
    }
    let steps = n.constant(n.batch, 256, dtype);
    let mut time = embed(n, steps, net.width);
    if net.guidance {
        let scale = n.constant(n.batch, 256, dtype);
        let scale = embed(n, scale, net.width);
        time = n.b.add(time, scale);
    }
    if net.pooled > 0 {
        let pooled = n.constant(n.batch, net.pooled, dtype);
        let pooled = embed(n, pooled, net.width);
        time = n.b.add(time, pooled);
    }
    let text = n.linear(text, net.width, true, Role::Outside);
    n.b.put(HIDDEN, x);
    n.b.put(TEXT, text);
    n.b.put(TIME, time);
    if net.rotary {
        let head = net.width / net.heads;
        n.b.global(COS, streams.picture + streams.text, head, Dtype::F32);
        n.b.global(SIN, streams.picture + streams.text, head, Dtype::F32);
    }
    n.b.close(false);
    // SD3's last block does without the text's half.
    let last = u64::from(net.single == 0);
    for (times, dual) in [(net.dual, true), (net.double - net.dual - last, false)] {
        for times in [times.min(1), times.saturating_sub(1)] {
            if times > 0 {
                n.b.repeat(times);
                double(n, net, streams, dual, false);
                n.b.close(checkpointed(n));
            }
        }
    }
    if last > 0 {
        double(n, net, streams, false, true);
        n.b.close(checkpointed(n));
    }
    for times in [net.single.min(1), net.single.saturating_sub(1)] {
        if times > 0 {
            n.b.repeat(times);
            single(n, net, streams);
            n.b.close(checkpointed(n));
        }
    }
    let x = n.b.take(HIDDEN);
    let time = n.b.take(TIME);
    let (scale, shift) = two(n, time, net.width);
    let x = adapt(n, x, scale, shift);
    let mut out = n.linear(x, net.patch, true, Role::Outside);
    if net.table > 0 {
        // Put back together from patches.
        out = n.b.copy(out, out.rows, out.cols);
    }
    squared_error(n, out);
}

/// Scale and shift of the last norm.
fn two(n: &mut Layers, time: Tensor, width: u64) -> (Tensor, Tensor) {
    match modulation(n, time, width, 2).as_slice() {
        &[scale, shift] => (scale, shift),
        _ => (time, time),
    }
}

/// Shifts, scales and gates from the time: one linear layer after `SiLU`.
fn modulation(n: &mut Layers, time: Tensor, width: u64, parts: u64) -> Vec<Tensor> {
    let bent = n.act_tensor(time, Act::Silu);
    let all = n.linear(bent, parts * width, true, Role::Outside);
    n.b.split(all, &vec![width; parts as usize])
}

/// `norm(x) * (1 + scale) + shift`.
fn adapt(n: &mut Layers, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor {
    let normed = n.layer_norm(x, false, false);
    let one_plus = n.b.shift(scale);
    let scaled = n.b.mul(normed, one_plus);
    n.b.add(scaled, shift)
}

fn feed_forward(n: &mut Layers, x: Tensor, width: u64) -> Tensor {
    let inner = n.linear(x, 4 * width, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::Gelu);
    n.linear(inner, width, true, Role::Mlp)
}

/// `x + gate * y`.
fn gated(n: &mut Layers, x: Tensor, gate: Tensor, y: Tensor) -> Tensor {
    let y = n.b.mul(gate, y);
    n.b.add(x, y)
}

/// Query, key and value of one stream; of the text's, adapters keep off.
fn projections(n: &mut Layers, net: &Joint, x: Tensor, adapted: bool) -> [Tensor; 3] {
    let roles = if adapted { [Role::Query, Role::Key, Role::Value] } else { [Role::Outside; 3] };
    let [q, k, v] = roles.map(|role| n.linear(x, net.width, true, role));
    if net.qk_norm {
        let head = net.width / net.heads;
        [n.head_norm(q, head), n.head_norm(k, head), v]
    } else {
        [q, k, v]
    }
}

fn attention(n: &mut Layers, net: &Joint, [q, k, v]: [Tensor; 3], tokens: u64) -> Tensor {
    let (q, k) = if net.rotary {
        let cos = n.b.take(COS);
        let sin = n.b.take(SIN);
        (n.rotate_pairs(q, cos, sin), n.rotate_pairs(k, cos, sin))
    } else {
        (q, k)
    };
    let head = net.width / net.heads;
    n.sequence = tokens;
    let shape = Heads {
        count: net.heads,
        key_count: net.heads,
        head,
        value_head: head,
        queries: tokens,
        keys: tokens,
        // SD3 joins the streams after its heads are apart.
        by_head: !net.rotary,
        causal: false,
        dropout: 0.0,
        softcap: false,
        upcast_softmax: false,
    };
    let wanted = q.dtype;
    let out = n.attention(q, k, v, shape, None);
    n.b.cast(out, wanted)
}

/// A block with weights of its own for each stream.
fn double(n: &mut Layers, net: &Joint, streams: Streams, dual: bool, picture_only: bool) {
    let width = net.width;
    let x = n.b.take(HIDDEN);
    let text = n.b.take(TEXT);
    let time = n.b.take(TIME);
    let own = modulation(n, time, width, if dual { 9 } else { 6 });
    let normed = adapt(n, x, own[1], own[0]);
    let second = dual.then(|| adapt(n, x, own[7], own[6]));
    let theirs = modulation(n, time, width, if picture_only { 2 } else { 6 });
    let text_normed = adapt(n, text, theirs[usize::from(!picture_only)], theirs[usize::from(picture_only)]);
    let mine = projections(n, net, normed, true);
    let other = projections(n, net, text_normed, false);
    let joined = [0, 1, 2].map(|i| n.b.join(&[mine[i], other[i]]));
    let total = streams.picture + streams.text;
    let out = attention(n, net, joined, total);
    let several = n.batch > 1;
    let part = |n: &mut Layers, tokens: u64| {
        let rows = n.batch * tokens;
        let view = n.b.part(out, rows);
        // A part of every sample does not lie in one piece.
        if several { n.b.copy(view, rows, width) } else { view }
    };
    let attended = part(n, streams.picture);
    let attended = n.linear(attended, width, true, Role::AttentionOut);
    let text_attended = (!picture_only).then(|| {
        let attended = part(n, streams.text);
        n.linear(attended, width, true, Role::Outside)
    });
    n.b.touch(out);
    // The block's variables live until they are assigned anew.
    let (first_norm, first_text_norm) = (normed, text_normed);
    let x = gated(n, x, own[2], attended);
    let x = match second {
        Some(normed) => {
            let again = projections(n, net, normed, true);
            let out = attention(n, &Joint { rotary: false, ..*net }, again, streams.picture);
            let out = n.linear(out, width, true, Role::AttentionOut);
            gated(n, x, own[8], out)
        }
        None => x,
    };
    let normed = adapt(n, x, own[4], own[3]);
    n.b.touch(first_norm);
    let ff = feed_forward(n, normed, width);
    let x = gated(n, x, own[5], ff);
    n.b.put(HIDDEN, x);
    n.b.touch(attended);
    if let Some(attended) = text_attended {
        let text = gated(n, text, theirs[2], attended);
        let text_normed = adapt(n, text, theirs[4], theirs[3]);
        n.b.touch(first_text_norm);
        let ff = feed_forward(n, text_normed, width);
        let text = gated(n, text, theirs[5], ff);
        n.b.put(TEXT, text);
    }
    n.b.touch(first_text_norm);
    n.b.touch(normed);
}

/// Both streams as one sequence, attention beside MLP.
fn single(n: &mut Layers, net: &Joint, streams: Streams) {
    let width = net.width;
    let x = n.b.take(HIDDEN);
    let text = n.b.take(TEXT);
    let time = n.b.take(TIME);
    let joined = n.b.join(&[text, x]);
    let own = modulation(n, time, width, 3);
    let normed = adapt(n, joined, own[1], own[0]);
    let inner = n.linear(normed, 4 * width, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::Gelu);
    let projected = projections(n, net, normed, true);
    let attended = attention(n, net, projected, streams.picture + streams.text);
    let both = n.b.cat(&[attended, inner]);
    let out = n.linear(both, width, true, Role::Outside);
    n.b.touch(normed);
    let sum = gated(n, joined, own[2], out);
    n.b.touch(attended);
    n.b.touch(inner);
    let text = n.b.part(sum, n.batch * streams.text);
    let x = n.b.part(sum, n.batch * streams.picture);
    n.b.put(TEXT, text);
    n.b.put(HIDDEN, x);
}
