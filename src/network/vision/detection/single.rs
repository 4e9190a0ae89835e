//! Detectors of one stage: every place of every level says what is there.

use super::super::Pictures;
use super::{Heads, absolute_loss, assign, relu, shared};
use crate::network::Dtype;
use crate::network::builder::{Keep, Tensor};
use crate::network::layers::Layers;
use crate::network::maps::Map;

/// The loss terms of `RetinaNet` or FCOS on these levels. mmdetection's focal loss is one kernel.
pub(super) fn losses(n: &mut Layers, kind: Heads, levels: &[Map], classes: u64, pictures: Pictures) -> Vec<Tensor> {
    let mut losses = Vec::new();
    let (anchors, norm) = if kind == Heads::Fcos { (1, true) } else { (9, false) };
    let shape = (norm, relu(n, pictures.evaluated));
    let outputs = shared(n, levels, 4, &[anchors * classes], shape);
    let scores: Vec<Tensor> = outputs.iter().flatten().map(|map| map.t).collect();
    let places: u64 = levels.iter().map(|m| m.pixels()).sum();
    assign(n, anchors * places, pictures.objects);
    if pictures.evaluated {
        for &level in &scores {
            losses.push(fused_focal(n, level));
        }
    } else {
        losses.push(written_focal(n, &scores));
    }
    let beside: &[u64] = if kind == Heads::Fcos { &[4, 1] } else { &[36] };
    for outputs in shared(n, levels, 4, beside, shape) {
        for boxes in outputs {
            losses.push(absolute_loss(n, boxes.t));
        }
    }
    losses
}

/// mmcv's `sigmoid_focal_loss`, level by level: keeps the scores, laid out by place.
fn fused_focal(n: &mut Layers, scores: Tensor) -> Tensor {
    let wide = if n.b.autocast.is_some() { n.b.cast(scores, Dtype::F32) } else { scores };
    let laid = n.b.copy(wide, wide.rows, wide.cols);
    let terms = n.b.unary(laid, Keep::Input, 0);
    let weighted = n.b.scale(terms);
    let loss = n.b.reduce(weighted, 1, 1);
    // The list of scores outlives the loss.
    n.b.touch(scores);
    loss
}

/// The focal loss as torchvision (`ops/focal_loss.py`) and fvcore write it, over the scores of all levels side by side:
/// each step of the formula keeps what its gradient needs.
fn written_focal(n: &mut Layers, scores: &[Tensor]) -> Tensor {
    let laid: Vec<Tensor> = scores.iter().map(|&t| n.b.copy(t, t.numel(), 1)).collect();
    let all = n.join_all(&laid);
    let joined = if n.b.autocast.is_some() { n.b.cast(all, Dtype::F32) } else { all };
    // Places that are neither object nor background are left out: a copy of the others, and one of their targets.
    let all = n.b.copy(joined, joined.rows, joined.cols);
    let constant = |n: &mut Layers| n.constant(all.rows, all.cols, Dtype::F32);
    let (targets, target, rest) = (constant(n), constant(n), constant(n));
    let probability = n.b.unary(all, Keep::Output, 0);
    let entropy = n.b.unary(all, Keep::Input, 1);
    let found = n.b.mul(probability, target);
    let missed = n.b.shift(probability);
    let missed = n.b.mul(missed, rest);
    let sure = n.b.add(found, missed);
    let unsure = n.b.shift(sure);
    let factor = n.b.unary(unsure, Keep::Input, 1);
    let terms = n.b.mul(entropy, factor);
    let weight = constant(n);
    let terms = n.b.mul(terms, weight);
    let loss = n.b.reduce(terms, 1, 1);
    for held in [joined, targets].into_iter().chain(scores.iter().copied()) {
        n.b.touch(held);
    }
    loss
}
