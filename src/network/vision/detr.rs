//! DETR, as transformers writes it (`modeling_detr.py`): a residual network, an encoder over its last maps, a decoder with a
//! hundred questions, each layer of which is judged.

use super::{Norms, Pictures, residual};
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv};
use crate::network::{Dtype, Slot};

/// Columns, width inside the feed-forward parts, heads, layers of either side, questions, dropout.
const WIDTH: u64 = 256;
const INNER: u64 = 2048;
const HEADS: u64 = 8;
const LAYERS: usize = 6;
const QUERIES: u64 = 100;
const DROPOUT: f64 = 0.1;
/// Classes of COCO by their numbers, and none.
const CLASSES: u64 = 91;

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let net = residual::network(if id == "detr-r50" { "resnet50" } else { return None })?;
    let batch = n.batch;
    let x = n.pictures(3, pictures);
    // Which pixels are padding.
    n.b.program.batch_bytes += bytes(batch * x.pixels(), Dtype::F32);
    let norms = if pictures.pretrained { Norms::Constant } else { Norms::Trained };
    let [.., last] = residual::stages(n, x, &net, norms);
    let map = n.conv(last, Conv::new(WIDTH, 1).bias());
    let places = map.pixels();
    let positions = n.constant(batch * places, WIDTH, Dtype::F32);
    let mut memory = map.t;
    for _ in 0..LAYERS {
        let placed = n.b.add(memory, positions);
        let seen = attention(n, placed, placed, memory, places);
        let seen = n.b.dropout(seen, DROPOUT);
        let sum = n.b.add(memory, seen);
        let normed = n.layer_norm(sum, true, true);
        memory = feed(n, normed);
    }
    let table = n.weight(QUERIES, WIDTH);
    let asked = n.b.gather(table, batch * QUERIES);
    let mut x = n.constant(batch * QUERIES, WIDTH, Dtype::F32);
    let mut judged = Vec::new();
    let finals = [n.weight(WIDTH, 1), n.weight(WIDTH, 1)];
    for _ in 0..LAYERS {
        let query = n.b.add(x, asked);
        let seen = attention(n, query, query, x, QUERIES);
        let seen = n.b.dropout(seen, DROPOUT);
        let sum = n.b.add(x, seen);
        let normed = n.layer_norm(sum, true, true);
        let query = n.b.add(normed, asked);
        let key = n.b.add(memory, positions);
        let seen = attention(n, query, key, memory, places);
        let seen = n.b.dropout(seen, DROPOUT);
        let sum = n.b.add(normed, seen);
        let normed = n.layer_norm(sum, true, true);
        let out = feed(n, normed);
        // The decoder's last norm goes over every layer's result, which the next layer goes on with.
        x = n.b.layer_norm(out, Some(finals[0]), Some(finals[1]));
        judged.push(x);
    }
    let all = n.join_all(&judged);
    let classes = if pictures.classes > 0 { pictures.classes } else { CLASSES };
    let labels = n.fully_connected(all, classes + 1);
    let mut corners = all;
    for _ in 0..2 {
        corners = n.fully_connected(corners, WIDTH);
        corners = n.act_tensor(corners, Act::ReluCopy);
    }
    let corners = n.fully_connected(corners, 4);
    let corners = n.act_tensor(corners, Act::Sigmoid);
    n.b.put(Slot(0), labels);
    n.b.put(Slot(1), corners);
    n.b.end_segment(false, false);
    n.b.end_group();
    let (labels, corners) = (n.b.take(Slot(0)), n.b.take(Slot(1)));
    let entropy = n.cross_entropy(labels);
    let distance = n.b.reduce(corners, 1, 1);
    n.b.add(entropy, distance);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

/// Attention of queries to keys and values of so many places, and its output layer.
fn attention(n: &mut Layers, query: Tensor, key: Tensor, value: Tensor, places: u64) -> Tensor {
    let queries = query.rows / n.batch.max(1);
    let q = n.linear(query, WIDTH, true, Role::Query);
    let k = n.linear(key, WIDTH, true, Role::Key);
    let v = n.linear(value, WIDTH, true, Role::Value);
    let out = n.attention(q, k, v, Heads::dense(HEADS, WIDTH / HEADS, queries, places), None);
    n.linear(out, WIDTH, true, Role::AttentionOut)
}

/// The feed-forward part with its dropout, sum and norm.
fn feed(n: &mut Layers, x: Tensor) -> Tensor {
    let inner = n.linear(x, INNER, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::ReluCopy);
    let out = n.linear(inner, WIDTH, true, Role::Mlp);
    let out = n.b.dropout(out, DROPOUT);
    let sum = n.b.add(x, out);
    n.layer_norm(sum, true, true)
}
