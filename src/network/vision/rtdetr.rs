//! RT-DETR as transformers (`modeling_rt_detr.py`) and, on `HGNetV2`, ultralytics write it: a backbone, attention on its
//! coarsest maps, a pyramid down and up, a decoder that looks at a few places of each level, and questions made from the
//! boxes with noise.

use super::{Pictures, hgnet, residual};
use crate::network::builder::{Keep, Tensor};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// Columns of the decoder, width of its feed-forward parts, heads, places that a head looks at on each of three levels.
const WIDTH: u64 = 256;
const INNER: u64 = 1024;
const HEADS: u64 = 8;
const POINTS: u64 = 4;
const LEVELS: u64 = 3;
/// Questions, and about as many boxes with noise, each once near and once far.
const QUERIES: u64 = 300;
const NOISY: u64 = 100;

/// A network.
struct Net {
    backbone: &'static str,
    /// Columns of the pyramid, and of the feed-forward part in it.
    width: u64,
    inner: u64,
    /// Channels inside the pyramid's blocks over their columns, in halves.
    halves: u64,
    layers: usize,
    /// As ultralytics has it: attention by `nn.MultiheadAttention` with its weights, and the levels side by side in one
    /// copy of the values.
    module: bool,
}

fn network(id: &str) -> Option<Net> {
    let plain = Net { backbone: "resnet50", width: WIDTH, inner: INNER, halves: 2, layers: 6, module: false };
    Some(match id.strip_prefix("rt-detr-")? {
        "r18" => Net { backbone: "resnet18", halves: 1, layers: 3, ..plain },
        "r34" => Net { backbone: "resnet34", halves: 1, layers: 4, ..plain },
        "r50-m" => Net { halves: 1, ..plain },
        "r50" => plain,
        "r101" => Net { backbone: "resnet101", width: 384, inner: 2048, ..plain },
        "hgnetv2-l" => Net { backbone: "", module: true, ..plain },
        "hgnetv2-x" => Net { backbone: "large", width: 384, inner: 2048, module: true, ..plain },
        _ => return None,
    })
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let net = network(id)?;
    let classes = pictures.classes_or(80);
    let x = n.pictures(3, pictures);
    // Which pixels are padding.
    let padding = n.constant(if net.module { 0 } else { n.batch * x.pixels() }, 1, Dtype::F32);
    let [_, fine, middle, coarse] = if net.module {
        hgnet::stages(n, x, &hgnet::network(!net.backbone.is_empty()))
    } else {
        residual::pooled_stages(n, x, &residual::network(net.backbone)?, pictures.norms())
    };
    let maps = [fine, middle, coarse].map(|map| n.conv_norm(map, Conv::new(net.width, 1), Act::None));
    let levels = pyramid(n, maps, &net);
    let sources = levels.map(|map| n.conv_norm(map, Conv::new(WIDTH, 1), Act::None));
    let objects = pictures.objects.clamp(1, 1000);
    let noisy = 2 * objects * (NOISY / objects).max(1);
    let judged = decoder(n, sources, &net, noisy, classes);
    // The model's frame holds what it made on the way.
    for map in maps.iter().chain(&sources).filter(|_| !net.module) {
        n.b.touch(map.t);
    }
    n.b.touch(padding);
    for (slot, t) in judged.iter().enumerate() {
        n.b.put(Slot(slot as u8), *t);
    }
    n.b.close(false);
    let [all, chosen, corners, places] = [0, 1, 2, 3].map(|slot| n.b.take(Slot(slot)));
    for logits in [all, chosen] {
        let wide = n.b.cast(logits, Dtype::F32);
        let judged = n.b.unary(wide, Keep::Input, 0);
        n.b.reduce(judged, 1, 1);
    }
    for boxes in [corners, places] {
        n.b.reduce(boxes, 1, 1);
    }
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

/// Attention on the coarsest of three maps, then down and up again.
fn pyramid(n: &mut Layers, maps: [Map; 3], net: &Net) -> [Map; 3] {
    let [fine, middle, coarse] = maps;
    let positions = n.constant(coarse.pixels(), net.width, coarse.t.dtype);
    let placed = n.b.add(coarse.t, positions);
    let seen = attention(n, [placed, placed, coarse.t], coarse.pixels(), None, net.module);
    let sum = n.b.add(coarse.t, seen);
    let normed = n.layer_norm(sum, true, true);
    let fed = feed(n, normed, net.inner, Act::Gelu);
    let laid = n.b.copy(fed, fed.rows, fed.cols);
    let mut x = Map { t: laid, ..coarse };
    let mut kept = Vec::new();
    for map in [middle, fine] {
        x = n.conv_norm(x, Conv::new(net.width, 1), Act::Silu);
        kept.push(x);
        let enlarged = n.resize(x, 2 * x.height, 2 * x.width);
        let joined = n.cat_maps(&[enlarged, map]);
        x = block(n, joined, net);
    }
    let mut levels = [x; 3];
    for level in &mut levels[1..] {
        x = n.conv_norm(x, Conv::new(net.width, 3).stride(2), Act::Silu);
        let joined = n.cat_maps(&[x, kept.pop().unwrap_or(x)]);
        x = block(n, joined, net);
        *level = x;
    }
    levels
}

/// Three pairs of a 3 x 3 and a 1 x 1 convolution beside a 1 x 1.
fn block(n: &mut Layers, x: Map, net: &Net) -> Map {
    let inside = net.width * net.halves / 2;
    let mut y = n.conv_norm(x, Conv::new(inside, 1), Act::Silu);
    for _ in 0..3 {
        let [wide, point] = [3, 1].map(|kernel| n.conv_norm(y, Conv::new(inside, kernel), Act::None));
        let sum = n.add_maps(wide, point);
        y = n.act(sum, Act::Silu);
    }
    let beside = n.conv_norm(x, Conv::new(inside, 1), Act::Silu);
    let sum = n.add_maps(y, beside);
    if inside == net.width { sum } else { n.conv_norm(sum, Conv::new(net.width, 1), Act::Silu) }
}

/// Logits of all layers, of the chosen places, corners of all layers, of the chosen places.
fn decoder(n: &mut Layers, sources: [Map; 3], net: &Net, noisy: u64, classes: u64) -> [Tensor; 4] {
    let batch = n.batch;
    let queries = QUERIES + noisy;
    let memory = n.b.join(&sources.map(|map| map.t));
    let places = memory.rows / batch.max(1);
    let mask = n.constant(places, 1, memory.dtype);
    let valid = n.b.mul(memory, mask);
    let hidden = n.linear(valid, WIDTH, true, Role::Outside);
    let hidden = n.layer_norm(hidden, true, true);
    let logits = n.fully_connected(hidden, classes);
    let corners = mlp(n, hidden, WIDTH, 4, 3);
    let corners = n.b.shift(corners);
    let chosen = n.pick(corners, batch * QUERIES);
    let first = n.act_tensor(chosen, Act::Sigmoid);
    let scores = n.pick(logits, batch * QUERIES);
    let told = n.weight(classes + u64::from(!net.module), WIDTH);
    let told = n.b.embedding(told, batch * noisy);
    let asked = n.constant(batch * QUERIES, WIDTH, hidden.dtype);
    let mut x = n.b.join(&[told, asked]);
    let mask = n.constant(queries, queries, Dtype::F32);
    let reference = n.constant(batch * queries, 4, Dtype::F32);
    let head = [(2 * WIDTH, 4), (2 * WIDTH, 1), (WIDTH, 2 * WIDTH), (WIDTH, 1)].map(|(r, c)| n.weight(r, c));
    let (mut boxes, mut judged) = (Vec::new(), Vec::new());
    let mut held = vec![logits, hidden, mask];
    for _ in 0..net.layers {
        let inner = n.b.linear(reference, head[0], Some(head[1]));
        let inner = n.act_tensor(inner, Act::ReluCopy);
        let placed = n.b.linear(inner, head[2], Some(head[3]));
        let query = n.b.add(x, placed);
        let seen = attention(n, [query, query, x], queries, Some(mask), net.module);
        let sum = n.b.add(x, seen);
        let normed = n.layer_norm(sum, true, true);
        let query = n.b.add(normed, placed);
        let seen = look(n, query, memory, sources, net.module);
        let sum = n.b.add(normed, seen);
        let normed = n.layer_norm(sum, true, true);
        x = feed(n, normed, INNER, Act::ReluCopy);
        n.b.touch(placed);
        held.push(x);
        let moved = mlp(n, x, WIDTH, 4, 3);
        let moved = n.b.add(moved, reference);
        boxes.push(n.act_tensor(moved, Act::Sigmoid));
        judged.push(n.fully_connected(x, classes));
    }
    for t in held {
        n.b.touch(t);
    }
    [n.join_all(&judged), scores, n.join_all(&boxes), first]
}

/// Attention of a sample's places to each other.
fn attention(
    n: &mut Layers,
    [query, key, value]: [Tensor; 3],
    places: u64,
    mask: Option<Tensor>,
    module: bool,
) -> Tensor {
    let width = query.cols;
    // The module takes places before samples, and products lay that out anew.
    let [q, k, v] = [(query, Role::Query), (key, Role::Key), (value, Role::Value)].map(|(t, role)| {
        let t = n.b.autocast_input(t);
        let t = if module && n.batch > 1 { n.b.laid_out(t) } else { t };
        n.linear(t, width, true, role)
    });
    let shape = Heads { by_head: module, value_by_head: module, ..Heads::dense(HEADS, width / HEADS, places, places) };
    let out = if module {
        let q = n.b.scale(q);
        n.weighed(q, k, v, shape, mask)
    } else {
        n.attention(q, k, v, shape, mask)
    };
    n.linear(out, width, true, Role::AttentionOut)
}

/// The feed-forward part with its sum and norm.
fn feed(n: &mut Layers, x: Tensor, inner: u64, act: Act) -> Tensor {
    let y = n.linear(x, inner, true, Role::Mlp);
    let y = n.act_tensor(y, act);
    let out = n.linear(y, x.cols, true, Role::Mlp);
    let sum = n.b.add(x, out);
    n.layer_norm(sum, true, true)
}

fn mlp(n: &mut Layers, mut x: Tensor, width: u64, out: u64, layers: u64) -> Tensor {
    for _ in 1..layers {
        x = n.fully_connected(x, width);
        x = n.act_tensor(x, Act::ReluCopy);
    }
    n.fully_connected(x, out)
}

/// Deformable attention written out: every head takes its places from each level by `grid_sample`, which autocast runs in
/// fp32, and the samples are laid side by side.
fn look(n: &mut Layers, query: Tensor, memory: Tensor, sources: [Map; 3], module: bool) -> Tensor {
    let rows = query.rows;
    let samples = HEADS * LEVELS * POINTS;
    let value = n.linear(memory, WIDTH, true, Role::Value);
    let offsets = n.linear(query, 2 * samples, true, Role::Outside);
    let weights = n.linear(query, samples, true, Role::Outside);
    let weights = n.b.softmax(weights, false);
    let divided = n.b.scale(offsets);
    let size = n.constant(rows, 2, Dtype::F32);
    let stretched = n.b.mul(divided, size);
    let half = n.b.scale(stretched);
    let moved = n.b.shift(half);
    let doubled = n.b.scale(moved);
    let mut grid = n.b.shift(doubled);
    let mut values = value;
    if module {
        values = n.b.copy(value, value.rows, value.cols);
        grid = n.b.copy(grid, grid.rows, grid.cols);
    }
    let parts = sources.map(|source| {
        let part = n.b.part(values, n.batch * source.pixels());
        let laid = if n.batch > 1 && !module { n.b.copy(part, part.rows, part.cols) } else { part };
        let at = n.b.slice(grid, grid.cols / LEVELS);
        let at = if module { at } else { n.b.copy(at, at.rows, at.cols) };
        n.grid_sample(laid, at, rows, POINTS * WIDTH)
    });
    let stacked = n.b.cat(&parts);
    let weights = n.b.copy(weights, weights.rows, weights.cols);
    let weighted = n.b.mul(stacked, weights);
    let summed = n.b.reduce(weighted, rows, WIDTH);
    // Local variables of the function.
    for local in [value, moved, grid, parts[0], parts[1], parts[2]] {
        n.b.touch(local);
    }
    let laid = n.b.copy(summed, rows, WIDTH);
    n.linear(laid, WIDTH, true, Role::AttentionOut)
}
