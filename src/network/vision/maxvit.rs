//! `MaxViT` as timm writes it (`maxxvit.py`, the variants that follow the original): each block is an inverted residual,
//! attention inside windows, and attention over a grid that reaches the whole map.

use super::{checkpointed, finish, trains_head};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};

/// Places a side of a window, and of the grid.
const SIDE: u64 = 7;
/// Width of a head.
const HEAD: u64 = 32;

/// Widths and depths of the stages, channels of the stem.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxVit {
    widths: [u64; 4],
    depths: [u64; 4],
    stem: u64,
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<MaxVit> {
    let net = |first: u64, depths, stem| MaxVit { widths: [first, 2 * first, 4 * first, 8 * first], depths, stem };
    Some(match id {
        "maxvit-t" => net(64, [2, 2, 5, 2], 64),
        "maxvit-s" => net(96, [2, 2, 5, 2], 64),
        "maxvit-b" => net(96, [2, 6, 14, 2], 64),
        "maxvit-l" => net(128, [2, 6, 14, 2], 128),
        _ => return None,
    })
}

/// Stem, stages, head, loss.
pub(super) fn write(n: &mut Layers, x: Map, net: &MaxVit, classes: u64) {
    let x = halved(n, x, Conv::new(net.stem, 3).bias());
    let x = n.batch_norm(x);
    let x = n.act(x, Act::Gelu);
    let x = n.conv(x, Conv::new(net.stem, 3).bias());
    let mut x = n.cut(x, false);
    for (&width, &depth) in net.widths.iter().zip(&net.depths) {
        for index in 0..depth {
            x = inverted(n, x, width, index == 0);
            for windowed in [true, false] {
                x = attend(n, x, windowed);
            }
            x = n.cut(x, checkpointed(n));
        }
    }
    let pooled = n.global_pool(x);
    let normed = n.layer_norm(pooled.t, true, true);
    let hidden = n.fully_connected(normed, x.channels);
    let hidden = n.act_tensor(hidden, Act::Sigmoid);
    n.trained = trains_head(n);
    let logits = n.fully_connected(hidden, classes);
    finish(n, logits);
}

/// A convolution with stride 2 padded as TensorFlow does: at two sides, which is a copy.
fn halved(n: &mut Layers, x: Map, conv: Conv) -> Map {
    let t = n.b.copy(x.t, n.batch * (x.height + 1) * (x.width + 1), x.channels);
    n.conv(Map { t, height: x.height + 1, width: x.width + 1, ..x }, conv.stride(2).padding(0))
}

fn inverted(n: &mut Layers, x: Map, out: u64, halves: bool) -> Map {
    let inside = 4 * out;
    let mut shortcut = x;
    if halves {
        shortcut = n.avg_pool(x, 2, 2, 0);
        if x.channels != out {
            shortcut = n.conv(shortcut, Conv::new(out, 1).bias());
        }
    }
    let y = n.batch_norm(x);
    let y = n.conv_norm(y, Conv::new(inside, 1), Act::Gelu);
    let each = Conv::new(inside, 3).groups(inside);
    let y = if halves { halved(n, y, each) } else { n.conv(y, each) };
    let y = n.batch_norm(y);
    let y = n.act(y, Act::Gelu);
    let y = n.squeeze_excite(y, out / 4, Act::Silu, Act::Sigmoid);
    let y = n.conv(y, Conv::new(out, 1).bias());
    n.add_maps(y, shortcut)
}

/// Attention in windows or on a grid, and a feed-forward part, each after a norm.
fn attend(n: &mut Layers, x: Map, windowed: bool) -> Map {
    let heads = (x.channels / HEAD).max(1);
    let cells = SIDE * SIDE;
    let normed = n.layer_norm(x.t, true, true);
    let laid = n.b.copy(normed, x.t.rows, x.channels);
    let table = n.weight(heads * (2 * SIDE - 1), 2 * SIDE - 1);
    let bias = n.b.gather(table, heads * cells * cells / (2 * SIDE - 1));
    let joint = n.linear(laid, 3 * x.channels, true, Role::Qkv);
    let parts = n.b.split(joint, &[x.channels; 3]);
    let &[q, k, v] = parts.as_slice() else { return x };
    let shape = Heads::dense(heads, HEAD, x.pixels(), cells);
    let out = n.attention(q, k, v, shape, Some(bias));
    let out = n.linear(out, x.channels, true, Role::AttentionOut);
    // Windows lie one after another; the grid's cells have to be put back.
    let out = if windowed && x.width == SIDE { out } else { n.b.copy(out, out.rows, out.cols) };
    let t = n.b.add(x.t, out);
    let normed = n.layer_norm(t, true, true);
    let inner = n.linear(normed, 4 * x.channels, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::Gelu);
    let out = n.linear(inner, x.channels, true, Role::Mlp);
    Map { t: n.b.add(t, out), ..x }
}
