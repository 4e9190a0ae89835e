//! Swin Transformer, as torchvision writes it: windows are copied together, scores are materialised.

use super::repeated;
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// Depths, width and heads of the first stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swin {
    depths: [u64; 4],
    width: u64,
    heads: u64,
    window: u64,
    drop_branch: f64,
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<Swin> {
    let plain = Swin { depths: [2, 2, 6, 2], width: 96, heads: 3, window: 7, drop_branch: 0.2 };
    Some(match id {
        "swin-t" => plain,
        "swin-s" => Swin { depths: [2, 2, 18, 2], drop_branch: 0.3, ..plain },
        "swin-b" => Swin { depths: [2, 2, 18, 2], width: 128, heads: 4, drop_branch: 0.5, ..plain },
        "swin-l" => Swin { depths: [2, 2, 18, 2], width: 192, heads: 6, drop_branch: 0.5, ..plain },
        _ => return None,
    })
}

/// Patches, four stages, the last norm.
pub(super) fn features(n: &mut Layers, x: Map, net: &Swin) -> Map {
    let x = n.conv(x, Conv::new(net.width, 4).stride(4).padding(0).bias());
    let mut x = n.channel_norm(x);
    x = n.cut(x, false);
    let mut first = true;
    for (stage, &depth) in net.depths.iter().enumerate() {
        if stage > 0 {
            x = merge(n, x);
            x = n.cut(x, false);
        }
        let heads = net.heads << stage;
        // A stage holds its input until it returns.
        n.b.put(Slot(1), x.t);
        // Plain and shifted windows take turns; the very first block never drops its branch.
        for pair in 0..depth / 2 {
            let drops = [!(first && pair == 0), true];
            if pair == 0 {
                for (shifted, drop) in [(false, drops[0]), (true, drops[1])] {
                    x = repeated(n, x, 1, |n, x| block(n, x, net, heads, shifted, drop));
                }
            } else if pair == 1 {
                n.b.repeat(depth / 2 - 1);
                x = block(n, x, net, heads, false, true);
                x = n.cut_member(x);
                x = block(n, x, net, heads, true, true);
                x = n.cut(x, super::checkpointed(n));
            }
        }
        first = false;
        n.clear(Slot(1));
    }
    n.channel_norm(x)
}

/// As a backbone of detection and segmentation: the normed maps of all four stages.
pub(super) fn stages(n: &mut Layers, x: Map, net: &Swin) -> [Map; 4] {
    let x = n.conv(x, Conv::new(net.width, 4).stride(4).padding(0).bias());
    let mut x = n.channel_norm(x);
    let mut stages = [x; 4];
    for ((stage, &depth), kept) in net.depths.iter().enumerate().zip(&mut stages) {
        if stage > 0 {
            x = merge(n, x);
        }
        for index in 0..depth {
            x = block(n, x, net, net.heads << stage, index % 2 == 1, stage + index as usize > 0);
        }
        *kept = n.channel_norm(x);
    }
    stages
}

/// Neighbours of two by two side by side, norm, half the channels.
fn merge(n: &mut Layers, x: Map) -> Map {
    let padded = n.b.copy(x.t, x.t.rows, x.t.cols);
    let (height, width) = (x.height.div_ceil(2), x.width.div_ceil(2));
    let rows = n.batch * height * width;
    let joined = n.b.copy(padded, rows, 4 * x.channels);
    let normed = n.layer_norm(joined, true, true);
    let t = n.linear(normed, 2 * x.channels, false, Role::Outside);
    Map { t, channels: 2 * x.channels, height, width, depth: 1 }
}

fn block(n: &mut Layers, x: Map, net: &Swin, heads: u64, shifted: bool, drop: bool) -> Map {
    let probability = if drop { net.drop_branch } else { 0.0 };
    let normed = n.layer_norm(x.t, true, true);
    let attended = attention(n, Map { t: normed, ..x }, net, heads, shifted);
    // A module holds its input until it returns.
    n.b.touch(normed);
    let attended = n.stochastic_depth(Map { t: attended, ..x }, probability);
    let t = n.b.add(x.t, attended.t);
    let normed = n.layer_norm(t, true, true);
    let inner = n.linear(normed, 4 * x.channels, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::Gelu);
    let out = n.linear(inner, x.channels, true, Role::Mlp);
    n.b.touch(normed);
    let out = n.stochastic_depth(Map { t: out, ..x }, probability);
    let t = n.b.add(t, out.t);
    Map { t, ..x }
}

fn attention(n: &mut Layers, x: Map, net: &Swin, heads: u64, shifted: bool) -> Tensor {
    let window = net.window;
    let (height, width) = (x.height.next_multiple_of(window), x.width.next_multiple_of(window));
    let channels = x.channels;
    let cells = window * window;
    let table = n.weight((2 * window - 1) * (2 * window - 1), heads);
    n.b.program.buffers += bytes(cells * cells, Dtype::I64);
    let looked_up = n.b.gather(table, cells * cells);
    let bias = n.b.copy(looked_up, heads * cells, cells);
    let rows = n.batch * height * width;
    let mut t = n.b.copy(x.t, rows, channels);
    // A map no larger than its window is not shifted.
    let shifted = shifted && (height > window || width > window);
    if shifted {
        t = n.b.copy(t, rows, channels);
    }
    t = n.b.copy(t, rows, channels);
    let before = t;
    let joint = n.linear(t, 3 * channels, true, Role::Qkv);
    let q = n.b.slice(joint, channels);
    let k = n.b.slice(joint, channels);
    let v = n.b.slice(joint, channels);
    let scaled = n.b.scale(q);
    let q = n.b.copy(scaled, rows, channels);
    let k = n.b.copy(k, rows, channels);
    let score_rows = rows * heads;
    let flops = 2.0 * rows as f64 * cells as f64 * channels as f64;
    let scores = n.b.matmul(q, k, score_rows, cells, flops);
    let mut scores = n.b.add(scores, bias);
    if shifted {
        let mask = n.constant(height * width, cells, before.dtype);
        scores = n.b.add(scores, mask);
    }
    let probabilities = n.b.softmax(scores, false);
    let v = n.b.copy(v, rows, channels);
    let context = n.b.matmul(probabilities, v, rows, channels, flops);
    let context = n.b.copy(context, rows, channels);
    n.b.touch(before);
    let out = n.linear(context, channels, true, Role::AttentionOut);
    let mut out = n.b.copy(out, rows, channels);
    if shifted {
        out = n.b.copy(out, rows, channels);
    }
    if (height, width) != (x.height, x.width) {
        let cut = n.b.slice(out, channels);
        out = n.b.copy(cut, x.t.rows, channels);
    }
    // Local variables of the function.
    for local in [joint, scaled, probabilities] {
        n.b.touch(local);
    }
    out
}
