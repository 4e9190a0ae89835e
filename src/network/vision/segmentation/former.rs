//! `SegFormer`, as transformers writes it (`models/segformer/modeling_segformer.py`).

use super::super::{Pictures, checkpointed};
use super::pixel_loss;
use crate::network::Slot;
use crate::network::builder::Tensor;
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};

/// Keys and values of a stage are pooled by this factor a side.
const POOLED: [u64; 4] = [8, 4, 2, 1];
const HEADS: [u64; 4] = [1, 2, 5, 8];
/// The mean of rates that rise from 0 to 0.1: a branch is dropped in all blocks but the first.
const DROP_BRANCH: f64 = 0.05;

/// Blocks, widths of the stages and of the decoder.
fn network(id: &str) -> Option<([u64; 4], [u64; 4], u64)> {
    const NARROW: [u64; 4] = [32, 64, 160, 256];
    const WIDE: [u64; 4] = [64, 128, 320, 512];
    Some(match id {
        "segformer-b0" => ([2, 2, 2, 2], NARROW, 256),
        "segformer-b1" => ([2, 2, 2, 2], WIDE, 256),
        "segformer-b2" => ([3, 4, 6, 3], WIDE, 768),
        "segformer-b3" => ([3, 4, 18, 3], WIDE, 768),
        "segformer-b4" => ([3, 8, 27, 3], WIDE, 768),
        "segformer-b5" => ([3, 6, 40, 3], WIDE, 768),
        _ => return None,
    })
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (blocks, widths, decoder) = network(id)?;
    let mut x = n.pictures(3, pictures);
    let mut stages = Vec::new();
    for stage in 0..4 {
        let patches =
            if stage == 0 { Conv::new(widths[0], 7).stride(4) } else { Conv::new(widths[stage], 3).stride(2) };
        x = n.conv(x, patches.bias());
        x = copied(n, x);
        x = n.channel_norm(x);
        x = n.cut(x, false);
        for index in 0..blocks[stage] {
            let drop = if stage + index as usize > 0 { DROP_BRANCH } else { 0.0 };
            x = block(n, x, (HEADS[stage], POOLED[stage]), drop, pictures.evaluated);
            // `with_cp` of OpenMMLab's layers.
            x = n.cut(x, checkpointed(n));
        }
        x = n.channel_norm(x);
        x = copied(n, x);
        n.b.put(slot(stage), x.t);
        stages.push(x);
        x = n.cut(x, false);
    }
    let taken = |n: &mut Layers, stage: usize, map: Map| Map { t: n.b.take(slot(stage)), ..map };
    let stages: Vec<Map> = stages.into_iter().enumerate().map(|(stage, map)| taken(n, stage, map)).collect();
    let &Map { height, width, .. } = stages.first()?;
    let mut parts = Vec::new();
    for stage in stages {
        let t = n.linear(stage.t, decoder, true, Role::Outside);
        let map = Map { t, channels: decoder, ..stage };
        parts.push(n.resize(map, height, width));
    }
    parts.reverse();
    (0..parts.len()).for_each(|stage| n.clear(slot(stage)));
    let joined = n.cat_maps(&parts);
    let x = n.conv(joined, Conv::new(decoder, 1));
    let x = n.batch_norm(x);
    let x = n.act(x, Act::ReluCopy);
    let x = Map { t: n.b.dropout(x.t, 0.1), ..x };
    let logits = n.conv(x, Conv::new(pictures.classes_or(150), 1).bias());
    let logits = n.resize(logits, pictures.height, pictures.width);
    pixel_loss(n, &[(logits, false)], pictures);
    Some(())
}

/// Where the maps of a stage wait for the decoder.
const fn slot(stage: usize) -> Slot {
    Slot(1 + stage as u8)
}

/// Laid out anew, from channels first to channels last or back.
fn copied(n: &mut Layers, x: Map) -> Map {
    Map { t: n.b.copy(x.t, x.t.rows, x.t.cols), ..x }
}

fn block(n: &mut Layers, x: Map, sizes: (u64, u64), drop: f64, module: bool) -> Map {
    let normed = n.layer_norm(x.t, true, true);
    let attended = attention(n, Map { t: normed, ..x }, sizes, module);
    let attended = n.stochastic_depth(Map { t: attended, ..x }, drop);
    let sum = n.b.add(attended.t, x.t);
    let normed = n.layer_norm(sum, true, true);
    let inner = n.linear(normed, 4 * x.channels, true, Role::Mlp);
    let wide = Map { t: inner, channels: 4 * x.channels, ..x };
    let mixed = n.conv(wide, Conv::new(wide.channels, 3).groups(wide.channels).bias());
    let bent = n.act_tensor(mixed.t, Act::Gelu);
    let out = n.linear(bent, x.channels, true, Role::Mlp);
    let out = n.stochastic_depth(Map { t: out, ..x }, drop);
    let t = n.b.add(out.t, sum);
    Map { t, ..x }
}

/// Every place looks at the pooled ones. `module`: `nn.MultiheadAttention` as mmcv calls it, which writes the scores out.
fn attention(n: &mut Layers, x: Map, (heads, pooled): (u64, u64), module: bool) -> Tensor {
    let query = n.linear(x.t, x.channels, true, Role::Query);
    let mut keyed = x;
    if pooled > 1 {
        let small = n.conv(x, Conv::new(x.channels, pooled).stride(pooled).padding(0).bias());
        keyed = copied(n, small);
        keyed = n.channel_norm(keyed);
    }
    let key = n.linear(keyed.t, x.channels, true, Role::Key);
    let value = n.linear(keyed.t, x.channels, true, Role::Value);
    let places = keyed.pixels();
    if !module {
        let head = x.channels / heads.max(1);
        let shape = Heads {
            count: heads,
            key_count: heads,
            head,
            value_head: head,
            queries: x.pixels(),
            keys: places,
            by_head: false,
            value_by_head: false,
            causal: false,
            dropout: 0.0,
            softcap: false,
            upcast_softmax: false,
        };
        let context = n.attention(query, key, value, shape, None);
        return n.linear(context, x.channels, true, Role::AttentionOut);
    }
    let query = n.b.copy(query, query.rows, query.cols);
    let flops = 2.0 * x.t.rows as f64 * places as f64 * x.channels as f64;
    let scores = n.b.matmul(query, key, x.t.rows * heads, places, flops);
    let scores = n.b.scale(scores);
    let shares = n.b.softmax(scores, false);
    let context = n.b.matmul(shares, value, x.t.rows, x.channels, flops);
    let context = n.b.copy(context, context.rows, context.cols);
    n.linear(context, x.channels, true, Role::AttentionOut)
}
