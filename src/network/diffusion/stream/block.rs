//! A block: norms, modulation, attention and feed-forward part.

use super::attention::attention;
use super::linear::gated_convolutions;
use super::{BENT, HIDDEN, Modulation, Norm, Stream, TEXT, TIME, Text, Tokens};
use crate::network::Dtype;
use crate::network::builder::Tensor;
use crate::network::diffusion::parts::written_rms;
use crate::network::layers::{Layers, Role};
use crate::network::maps::Act;

/// Shifts, scales and gates of one half of a block.
#[derive(Clone, Copy)]
struct Half {
    shift: Option<Tensor>,
    scale: Tensor,
    gate: Tensor,
}

pub(super) fn block(n: &mut Layers, net: &Stream, tokens: Tokens, plain: bool) {
    let x = n.b.take(HIDDEN);
    let rank = match net.modulation {
        Modulation::LowRank(rank) => Some(rank),
        _ => None,
    };
    let pair = if plain || rank.is_some() { None } else { Some(halves(n, net)) };
    let half = |n: &mut Layers, which: usize| match (rank, pair) {
        (Some(rank), _) => Some(low_rank(n, net.width, rank)),
        (None, Some((pair, _))) => Some(pair[which]),
        (None, None) => None,
    };
    let first = half(n, 0);
    let adapted = adapt(n, net, x, first);
    let attended = attention(n, net, adapted, None, tokens.all(net));
    let mut x = join(n, net, x, attended, first);
    if let Text::Cross { masked } = net.text_in {
        let source = n.b.take(TEXT);
        let own = match rank {
            Some(rank) => Some(low_rank(n, net.width, rank)),
            None => pair.and_then(|(_, own)| own),
        };
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

/// A block without modulation.
pub(super) fn plain_block(n: &mut Layers, net: &Stream, x: Tensor, tokens: u64) -> Tensor {
    let normed = norm(n, net, x);
    let attended = attention(n, net, normed, None, tokens);
    let x = n.b.add(x, attended);
    let normed = norm(n, net, x);
    let out = feed_forward(n, net, normed);
    n.b.add(x, out)
}

pub(super) fn modulate(n: &mut Layers, x: Tensor, scale: Tensor, shift: Option<Tensor>) -> Tensor {
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
            let weighted = matches!(net.modulation, Modulation::Sandwich | Modulation::Shared);
            written_rms(n, x, x.cols, weighted)
        }
        Norm::FusedRms => {
            let wide = n.b.cast(x, Dtype::F32);
            let normed = n.head_norm(wide, x.cols);
            n.b.cast(normed, x.dtype)
        }
    }
}

/// The two halves' modulation, and that of cross-attention where it has its own.
fn halves(n: &mut Layers, net: &Stream) -> ([Half; 2], Option<Half>) {
    let width = net.width;
    let mut count = 6;
    let all = match net.modulation {
        Modulation::Table => {
            let shared = n.b.take(BENT);
            let table = n.weight(6, width);
            let table = n.b.view(table, 1, 6 * width);
            let wide = if net.norm == Norm::Wide { n.b.cast(shared, Dtype::F32) } else { shared };
            n.b.add(wide, table)
        }
        Modulation::Shared => n.b.take(BENT),
        Modulation::Sandwich => {
            count = 4;
            let time = n.b.take(TIME);
            let bent = if net.bends_time { n.act_tensor(time, Act::Silu) } else { time };
            n.linear(bent, count * width, true, Role::Outside)
        }
        Modulation::Linear | Modulation::Ninefold | Modulation::Twin | Modulation::LowRank(_) => {
            let crosses = matches!(net.text_in, Text::Cross { .. });
            count = if net.modulation == Modulation::Ninefold && crosses { 9 } else { 6 };
            let time = n.b.take(TIME);
            let bent = n.act_tensor(time, Act::Silu);
            if net.modulation == Modulation::Twin {
                n.linear(bent, count * width, true, Role::Outside);
            }
            n.linear(bent, count * width, true, Role::Outside)
        }
    };
    let parts = n.b.split(all, &vec![width; count as usize]);
    let half = |p: &[Tensor]| match *p {
        [shift, scale, gate] => Half { shift: Some(shift), scale, gate },
        [scale, gate] => Half { shift: None, scale, gate },
        _ => Half { shift: None, scale: all, gate: all },
    };
    let each = if count == 4 { 2 } else { 3 };
    let mut found = parts.chunks(each).map(half);
    let first = found.next();
    let own = if count == 9 { found.next() } else { None };
    let second = found.next();
    let plain = Half { shift: None, scale: all, gate: all };
    ([first.unwrap_or(plain), second.unwrap_or(plain)], own)
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

fn feed_forward(n: &mut Layers, net: &Stream, x: Tensor) -> Tensor {
    let bias = net.bias && net.inner_bias;
    let outside = n.b.autocast;
    if net.wide_inner {
        n.b.autocast = Some(Dtype::F32);
    }
    let inner = if net.gated {
        let gate = n.linear(x, net.inner, bias, Role::Mlp);
        let up = n.linear(x, net.inner, bias, Role::Mlp);
        let gate = n.act_tensor(gate, Act::Silu);
        n.b.mul(gate, up)
    } else {
        let inner = n.linear(x, net.inner, bias, Role::Mlp);
        n.act_tensor(inner, Act::Gelu)
    };
    let out = n.linear(inner, net.width, bias, Role::Mlp);
    n.b.autocast = outside;
    out
}
