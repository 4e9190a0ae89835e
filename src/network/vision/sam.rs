//! The image encoder of SAM, as segment-anything writes it (`modeling/image_encoder.py`): most blocks look inside windows,
//! four at the whole picture, with relative positions and scores written out. Of the mask decoder what it keeps for one object
//! is counted.

use super::Pictures;
use crate::network::builder::{Kernel, Tensor};
use crate::network::layers::{Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{SAVE_AUX, Slot};

/// Places a side of a window.
const WINDOW: u64 = 14;
/// Maps of the embedding's size that the decoder keeps for one object of a picture: keys, values, queries, their norms and
/// products in two layers and a last attention, and the same again four and sixteen times as large with fewer channels.
const KEPT: u64 = 21;
/// Prompt encoder and mask decoder.
const DECODER: u64 = 4_064_560;
const PATCH: u64 = 16;
/// Any crop is brought to this size before it goes in (`ResizeLongestSide`).
const SIDE: u64 = 1024;

/// Width, layers, heads; every so many blocks one looks at the whole picture.
fn network(id: &str) -> Option<(u64, u64, u64)> {
    Some(match id {
        "sam-b" => (768, 12, 12),
        "sam-l" => (1024, 24, 16),
        "sam-h" => (1280, 32, 16),
        _ => return None,
    })
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (width, layers, heads) = network(id)?;
    let x = n.pictures(3, Pictures { height: SIDE, width: SIDE, ..pictures });
    let mut x = n.conv(x, Conv::new(width, PATCH).stride(PATCH).padding(0).bias());
    let positions = n.weight(x.pixels(), width);
    let t = n.b.add(x.t, positions);
    x = Map { t, ..x };
    // The last of each quarter is global.
    let quarter = layers / 4;
    for _ in 0..4 {
        x = super::repeated(n, x, quarter - 1, |n, x| block(n, x, heads, Some(WINDOW)));
        x = super::repeated(n, x, 1, |n, x| block(n, x, heads, None));
    }
    let y = n.conv(x, Conv::new(256, 1));
    let y = n.channel_norm(y);
    let y = n.conv(y, Conv::new(256, 3));
    let y = n.channel_norm(y);
    n.weight(DECODER, 1);
    let kept = KEPT * y.t.bytes();
    let y = Map {
        t: n.b.fused(&[y.t], y.t.rows, y.t.cols, y.t.dtype, Kernel { saves: SAVE_AUX, aux: kept, ..Kernel::default() }),
        ..y
    };
    n.b.put(Slot(0), y.t);
    n.b.end_segment(false, false);
    n.b.end_group();
    let y = n.b.take(Slot(0));
    let loss = n.b.reduce(y, 1, 1);
    n.b.scale(loss);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

fn block(n: &mut Layers, x: Map, heads: u64, window: Option<u64>) -> Map {
    let normed = n.layer_norm(x.t, true, true);
    let places = Map { t: normed, ..x };
    let attended = match window {
        Some(side) => {
            let (height, width) = (x.height.next_multiple_of(side), x.width.next_multiple_of(side));
            let rows = n.batch * height * width;
            let padded = n.b.copy(normed, rows, x.channels);
            let windows = n.b.copy(padded, rows, x.channels);
            let out = attention(n, Map { t: windows, height, width, ..x }, heads, side);
            let laid = n.b.copy(out, rows, x.channels);
            let cut = n.b.part(laid, x.t.rows);
            n.b.copy(cut, x.t.rows, x.channels)
        }
        None => attention(n, places, heads, x.height),
    };
    let sum = n.b.add(x.t, attended);
    let normed = n.layer_norm(sum, true, true);
    let inner = n.linear(normed, 4 * x.channels, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::Gelu);
    let out = n.linear(inner, x.channels, true, Role::Mlp);
    let t = n.b.add(sum, out);
    Map { t, ..x }
}

/// Attention among `side` x `side` places.
fn attention(n: &mut Layers, x: Map, heads: u64, side: u64) -> Tensor {
    let (width, rows, keys) = (x.channels, x.t.rows, side * side);
    let head = width / heads.max(1);
    let joint = n.linear(x.t, 3 * width, true, Role::Qkv);
    let apart = n.b.copy(joint, joint.rows, joint.cols);
    let parts = n.b.split(apart, &[width, width, width]);
    let &[query, key, value] = parts.as_slice() else { return joint };
    let flops = 2.0 * rows as f64 * keys as f64 * width as f64;
    let scaled = n.b.scale(query);
    let scores = n.b.matmul(scaled, key, rows * heads, keys, flops);
    // Positions along each side: a product of the query, laid out by its row or column, with a table.
    let along = [0; 2].map(|_| {
        let table = n.weight(2 * side - 1, head);
        let looked_up = n.b.gather(table, keys);
        let laid = n.b.copy(query, rows * heads, head);
        n.b.matmul(laid, looked_up, rows * heads, side, 2.0 * (rows * heads * head * side) as f64)
    });
    let grid = n.b.fused(&along, rows * heads, keys, along[0].dtype, Kernel::default());
    let placed = n.b.add(scores, grid);
    let shares = n.b.softmax(placed, true);
    let narrow = n.b.cast(shares, query.dtype);
    let context = n.b.matmul(narrow, value, rows, width, flops);
    let context = n.b.copy(context, rows, width);
    n.linear(context, width, true, Role::AttentionOut)
}
