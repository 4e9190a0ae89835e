//! Blocks: with weights for each stream, and over both as one.

use super::experts::{gated, routed};
use super::text::project_state;
use super::{
    COS, HIDDEN, Joint, MASK, Mlp, Modulation, QueryNorm, SHARED, SIN, STATES, Single, Streams, TEXT, TIME, TextIn,
};
use crate::network::Dtype;
use crate::network::builder::Tensor;
use crate::network::diffusion::parts::written_rms;
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::Act;

/// Shifts, scales and gates from the time: one linear layer after `SiLU`.
fn modulation(n: &mut Layers, net: &Joint, time: Tensor, parts: u64) -> Vec<Tensor> {
    let bent = n.act_tensor(time, Act::Silu);
    let all = n.linear(bent, parts * net.width, net.bias, Role::Outside);
    n.b.split(all, &vec![net.width; parts as usize])
}

/// Rows of the table that stands for the time.
fn rows(n: &mut Layers, net: &Joint, time: Tensor, parts: u64) -> Vec<Tensor> {
    let own = n.b.part(time, parts * n.batch);
    let own = n.b.view(own, n.batch, parts * net.width);
    n.b.split(own, &vec![net.width; parts as usize])
}

/// `norm(x) * (1 + scale) + shift`.
pub(super) fn adapt(n: &mut Layers, net: &Joint, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor {
    let normed = norm(n, net, x);
    let one_plus = n.b.shift(scale);
    let scaled = n.b.mul(normed, one_plus);
    n.b.add(scaled, shift)
}

fn norm(n: &mut Layers, net: &Joint, x: Tensor) -> Tensor {
    let back = net.wide_norms || net.modulation == Modulation::Joint;
    let wide = if net.wide_norms { n.b.cast(x, Dtype::F32) } else { x };
    let normed = n.layer_norm(wide, false, false);
    if back { n.b.cast(normed, x.dtype) } else { normed }
}

fn feed_forward(n: &mut Layers, net: &Joint, x: Tensor, picture: bool) -> Tensor {
    match net.mlp {
        Mlp::Gelu => {
            let inner = n.linear(x, 4 * net.width, net.bias, Role::Mlp);
            let inner = n.act_tensor(inner, Act::Gelu);
            n.linear(inner, net.width, net.bias, Role::Mlp)
        }
        Mlp::Gated(inner) => gated(n, x, inner, net.bias),
        Mlp::Halves(inner) => {
            let both = n.linear(x, 2 * inner, net.bias, Role::Mlp);
            let inner = halves(n, both, inner);
            n.linear(inner, net.width, net.bias, Role::Mlp)
        }
        // The shared expert is half as wide, rounded up to 256: 3,584 for 6,912.
        Mlp::Experts(inner) if picture => routed(n, x, inner, (inner / 2).next_multiple_of(256)),
        Mlp::Experts(inner) => gated(n, x, inner, false),
    }
}

/// `silu(x1) * x2`.
fn halves(n: &mut Layers, both: Tensor, inner: u64) -> Tensor {
    match n.b.split(both, &[inner, inner]).as_slice() {
        &[gate, up] => {
            let gate = n.act_tensor(gate, Act::Silu);
            n.b.mul(gate, up)
        }
        _ => both,
    }
}

/// `x + gate * y`.
fn add_gated(n: &mut Layers, x: Tensor, gate: Tensor, y: Tensor) -> Tensor {
    let y = n.b.mul(gate, y);
    n.b.add(x, y)
}

fn query_norm(n: &mut Layers, net: &Joint, t: Tensor) -> Tensor {
    let head = net.width / net.heads;
    match net.query_norm {
        QueryNorm::None => t,
        QueryNorm::Head => n.head_norm(t, head),
        QueryNorm::Written => written_rms(n, t, head, true),
        QueryNorm::Width => {
            let normed = n.head_norm(t, t.cols);
            n.b.cast(normed, t.dtype)
        }
        QueryNorm::Layer => {
            let wide = n.b.cast(t, Dtype::F32);
            let heads = n.b.view(wide, t.rows * net.heads, head);
            let normed = n.layer_norm(heads, false, false);
            let normed = n.b.view(normed, t.rows, t.cols);
            n.b.cast(normed, t.dtype)
        }
    }
}

/// Query, key and value of one stream; of the text's, adapters keep off.
fn projections(n: &mut Layers, net: &Joint, x: Tensor, adapted: bool) -> [Tensor; 3] {
    let roles = if adapted { [Role::Query, Role::Key, Role::Value] } else { [Role::Outside; 3] };
    let bias = net.bias;
    let [q, k, v] = roles.map(|role| n.linear(x, net.width, bias, role));
    [query_norm(n, net, q), query_norm(n, net, k), v]
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
        // SD3 joins the streams after its heads are apart.
        by_head: !net.rotary && !net.skips_attention,
        ..Heads::dense(net.heads, head, tokens, tokens)
    };
    let mask = net.masked.then(|| {
        n.b.take(MASK);
        // Which tokens see which: the mask of the keys times that of the queries.
        let keys = n.b.zeros(n.batch * tokens, tokens, Dtype::U8);
        let pairs = n.b.zeros(n.batch * tokens, tokens, Dtype::U8);
        n.b.touch(keys);
        pairs
    });
    let wanted = q.dtype;
    let out = n.attention(q, k, v, shape, mask);
    n.b.cast(out, wanted)
}

/// The modulations of the two streams.
fn modulations(n: &mut Layers, net: &Joint, dual: bool, picture_only: bool) -> (Vec<Tensor>, Vec<Tensor>) {
    let time = n.b.take(TIME);
    match net.modulation {
        Modulation::Linear => {
            let own = modulation(n, net, time, if dual { 9 } else { 6 });
            let theirs = modulation(n, net, time, if picture_only { 2 } else { 6 });
            (own, theirs)
        }
        Modulation::Joint => {
            let mut own = modulation(n, net, time, 12);
            let theirs = own.split_off(6);
            (own, theirs)
        }
        Modulation::Shared => {
            let [own, theirs] = [SHARED[0], SHARED[1]].map(|slot| n.b.take(slot));
            (n.b.split(own, &[net.width; 6]), n.b.split(theirs, &[net.width; 6]))
        }
        Modulation::Approximated => {
            let mut own = rows(n, net, time, 12);
            let theirs = own.split_off(6);
            (own, theirs)
        }
    }
}

/// A block with weights of its own for each stream.
pub(super) fn double(n: &mut Layers, net: &Joint, streams: Streams, dual: bool, picture_only: bool) {
    let width = net.width;
    let x = n.b.take(HIDDEN);
    let carried = n.b.take(TEXT);
    let (own, theirs) = modulations(n, net, dual, picture_only);
    let (residual, text) = match net.text_in {
        TextIn::States => {
            let state = n.b.take(STATES);
            let state = project_state(n, net, state);
            let all = n.b.join(&[carried, state]);
            (x, all)
        }
        _ => (x, carried),
    };
    let normed = adapt(n, net, x, own[1], own[0]);
    let second = dual.then(|| adapt(n, net, x, own[7], own[6]));
    let text_normed = adapt(n, net, text, theirs[usize::from(!picture_only)], theirs[usize::from(picture_only)]);
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
    let attended = n.linear(attended, width, net.bias, Role::AttentionOut);
    let text_attended = (!picture_only).then(|| {
        let attended = part(n, streams.text);
        n.linear(attended, width, net.bias, Role::Outside)
    });
    n.b.touch(out);
    // The block's variables live until they are assigned anew.
    let (first_norm, first_text_norm) = (normed, text_normed);
    let x = add_gated(n, x, own[2], attended);
    let x = match second {
        Some(normed) => {
            let again = projections(n, net, normed, true);
            let out = attention(n, &Joint { rotary: false, ..*net }, again, streams.picture);
            let out = n.linear(out, width, net.bias, Role::AttentionOut);
            add_gated(n, x, own[8], out)
        }
        None => x,
    };
    let normed = adapt(n, net, x, own[4], own[3]);
    n.b.touch(first_norm);
    let ff = feed_forward(n, net, normed, true);
    let x = add_gated(n, if net.skips_attention { residual } else { x }, own[5], ff);
    n.b.put(HIDDEN, x);
    n.b.touch(attended);
    if let Some(attended) = text_attended {
        let moved = add_gated(n, text, theirs[2], attended);
        let text_normed = adapt(n, net, moved, theirs[4], theirs[3]);
        n.b.touch(first_text_norm);
        let ff = feed_forward(n, net, text_normed, false);
        let moved = add_gated(n, if net.skips_attention { text } else { moved }, theirs[5], ff);
        let moved = if net.text_in == TextIn::States { n.b.part(moved, carried.rows) } else { moved };
        n.b.put(TEXT, moved);
    }
    n.b.touch(first_text_norm);
    n.b.touch(normed);
}

/// Both streams as one sequence.
pub(super) fn single(n: &mut Layers, net: &Joint, streams: Streams) {
    let x = n.b.take(HIDDEN);
    let text = n.b.take(TEXT);
    let joined = match net.text_in {
        TextIn::States => {
            let state = n.b.take(STATES);
            let state = project_state(n, net, state);
            n.b.join(&[x, text, state])
        }
        _ => n.b.join(&[text, x]),
    };
    let tokens = streams.picture + streams.text;
    let sum = match net.single_kind {
        Single::Parallel | Single::Fused => parallel(n, net, joined, tokens),
        Single::Serial => serial(n, net, joined, tokens),
    };
    let text = n.b.part(sum, text.rows);
    let x = n.b.part(sum, n.batch * streams.picture);
    n.b.put(TEXT, text);
    n.b.put(HIDDEN, x);
}

/// Attention beside MLP.
fn parallel(n: &mut Layers, net: &Joint, joined: Tensor, tokens: u64) -> Tensor {
    let width = net.width;
    let time = n.b.take(TIME);
    let own = match net.modulation {
        Modulation::Shared => {
            let shared = n.b.take(SHARED[2]);
            n.b.split(shared, &[width; 3])
        }
        Modulation::Approximated => rows(n, net, time, 3),
        Modulation::Linear | Modulation::Joint => modulation(n, net, time, 3),
    };
    let normed = adapt(n, net, joined, own[1], own[0]);
    let (attended, inner) = if let (Single::Fused, Mlp::Halves(inner)) = (net.single_kind, net.mlp) {
        let all = n.linear(normed, 3 * width + 2 * inner, net.bias, Role::Outside);
        match n.b.split(all, &[width, width, width, 2 * inner]).as_slice() {
            &[q, k, v, both] => {
                let projected = [query_norm(n, net, q), query_norm(n, net, k), v];
                let attended = attention(n, net, projected, tokens);
                (attended, halves(n, both, inner))
            }
            _ => (all, all),
        }
    } else {
        let inner = n.linear(normed, 4 * width, net.bias, Role::Mlp);
        let inner = n.act_tensor(inner, Act::Gelu);
        let projected = projections(n, net, normed, true);
        (attention(n, net, projected, tokens), inner)
    };
    let both = n.b.cat(&[attended, inner]);
    let out = n.linear(both, width, net.bias, Role::Outside);
    n.b.touch(normed);
    let sum = add_gated(n, joined, own[2], out);
    n.b.touch(attended);
    n.b.touch(inner);
    sum
}

/// Attention, then MLP.
fn serial(n: &mut Layers, net: &Joint, joined: Tensor, tokens: u64) -> Tensor {
    let time = n.b.take(TIME);
    let own = modulation(n, net, time, 6);
    let normed = adapt(n, net, joined, own[1], own[0]);
    let projected = projections(n, net, normed, true);
    let out = attention(n, net, projected, tokens);
    let attended = n.linear(out, net.width, net.bias, Role::AttentionOut);
    let x = add_gated(n, joined, own[2], attended);
    let again = adapt(n, net, x, own[4], own[3]);
    n.b.touch(normed);
    let ff = feed_forward(n, net, again, true);
    let sum = add_gated(n, if net.skips_attention { joined } else { x }, own[5], ff);
    n.b.touch(attended);
    n.b.touch(again);
    sum
}
