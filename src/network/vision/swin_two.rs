//! The second version of Swin, as timm writes it (`swin_transformer_v2.py`): norms behind the branches, the cosine of query
//! and key for scores, positions from a small network.

use super::repeated;
use crate::network::builder::{Kernel, Tensor, bytes};
use crate::network::layers::{Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, SAVE_OUT};

/// Width inside the network that makes the positions' biases.
const POSITIONS: u64 = 512;

/// Depths, width and heads of the first stage, side of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct SwinTwo {
    depths: [u64; 4],
    width: u64,
    heads: u64,
    window: u64,
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<SwinTwo> {
    let plain = SwinTwo { depths: [2, 2, 6, 2], width: 96, heads: 3, window: 8 };
    Some(match id {
        "swinv2-t" => plain,
        "swinv2-s" => SwinTwo { depths: [2, 2, 18, 2], ..plain },
        "swinv2-b" => SwinTwo { depths: [2, 2, 18, 2], width: 128, heads: 4, ..plain },
        _ => return None,
    })
}

/// Patches, four stages, the last norm.
pub(super) fn features(n: &mut Layers, x: Map, net: &SwinTwo) -> Map {
    let x = n.conv(x, Conv::new(net.width, 4).stride(4).padding(0).bias());
    let mut x = n.channel_norm(x);
    x = n.cut(x, false);
    for (stage, &depth) in net.depths.iter().enumerate() {
        if stage > 0 {
            x = merge(n, x);
            x = n.cut(x, false);
        }
        let heads = net.heads << stage;
        for index in 0..depth {
            let shifted = index % 2 == 1;
            x = repeated(n, x, 1, |n, x| block(n, x, net, heads, shifted));
        }
    }
    n.channel_norm(x)
}

/// Neighbours of two by two side by side, half the channels, norm.
fn merge(n: &mut Layers, x: Map) -> Map {
    let (height, width) = (x.height.div_ceil(2), x.width.div_ceil(2));
    let joined = n.b.copy(x.t, n.batch * height * width, 4 * x.channels);
    let t = n.linear(joined, 2 * x.channels, false, Role::Outside);
    let t = n.layer_norm(t, true, true);
    Map { t, channels: 2 * x.channels, height, width, depth: 1 }
}

fn block(n: &mut Layers, x: Map, net: &SwinTwo, heads: u64, shifted: bool) -> Map {
    let attended = attention(n, x, net, heads, shifted);
    let normed = n.layer_norm(attended, true, true);
    let t = n.b.add(x.t, normed);
    let inner = n.linear(t, 4 * x.channels, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::Gelu);
    let out = n.linear(inner, x.channels, true, Role::Mlp);
    let normed = n.layer_norm(out, true, true);
    Map { t: n.b.add(t, normed), ..x }
}

fn attention(n: &mut Layers, x: Map, net: &SwinTwo, heads: u64, shifted: bool) -> Tensor {
    let channels = x.channels;
    // A window is no larger than its map, and a map no larger than its window is not shifted.
    let window = net.window.min(x.height).min(x.width);
    let shifted = shifted && (x.height > window || x.width > window);
    let (height, width) = (x.height.next_multiple_of(window), x.width.next_multiple_of(window));
    let cells = window * window;
    let rows = n.batch * height * width;
    let mut t = x.t;
    if shifted {
        t = n.b.copy(t, t.rows, channels);
    }
    t = n.b.copy(t, rows, channels);
    // Query and value have biases, the key zeros in their place.
    n.weight(2 * channels, 1);
    let joint = n.linear(t, 3 * channels, false, Role::Qkv);
    let parts = n.b.split(joint, &[channels; 3]);
    let &[q, k, v] = parts.as_slice() else { return t };
    let [q, k] = [q, k].map(|t| directed(n, t, heads));
    let flops = 2.0 * rows as f64 * cells as f64 * channels as f64;
    let scores = n.b.matmul(q, k, rows * heads, cells, flops);
    let scale = n.weight(heads, 1);
    let scaled = n.b.mul(scores, scale);
    let bias = positions(n, window, heads);
    let mut scores = n.b.add(scaled, bias);
    if shifted {
        // The mask of the shifted windows is a buffer.
        n.b.program.buffers += bytes(height * width * cells, n.config.weights);
        scores = n.b.shift(scores);
    }
    let shares = n.b.softmax(scores, false);
    let v = n.b.copy(v, rows, channels);
    let context = n.b.matmul(shares, v, rows, channels, flops);
    let context = n.b.copy(context, rows, channels);
    let out = n.linear(context, channels, true, Role::AttentionOut);
    let mut out = n.b.copy(out, rows, channels);
    if (height, width) != (x.height, x.width) {
        out = n.b.copy(out, x.t.rows, channels);
    }
    if shifted {
        out = n.b.copy(out, out.rows, channels);
    }
    out
}

/// Vectors of every head over their lengths (`F.normalize`), which autocast asks for in fp32 without casting the vectors.
fn directed(n: &mut Layers, t: Tensor, heads: u64) -> Tensor {
    let kernel = Kernel { saves: 1 | SAVE_OUT, ..Kernel::default() };
    let dtype = if n.b.autocast.is_some() { Dtype::F32 } else { t.dtype };
    let length = n.b.fused(&[t], t.rows, heads, dtype, kernel);
    n.b.mul(t, length)
}

/// A bias for each distance from a network of two layers, looked up for every pair of places.
fn positions(n: &mut Layers, window: u64, heads: u64) -> Tensor {
    let (cells, distances) = (window * window, (2 * window - 1) * (2 * window - 1));
    let dtype = n.config.weights;
    n.b.program.buffers += bytes(2 * distances, dtype) + bytes(cells * cells, Dtype::I64);
    let given = n.constant(distances, 2, dtype);
    let inner = n.linear(given, POSITIONS, true, Role::Outside);
    let inner = n.act_tensor(inner, Act::Relu);
    let table = n.linear(inner, heads, false, Role::Outside);
    let looked_up = n.b.gather(table, cells * cells);
    let laid = n.b.copy(looked_up, heads * cells, cells);
    let bent = n.act_tensor(laid, Act::Sigmoid);
    n.b.scale(bent)
}
