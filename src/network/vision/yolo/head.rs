//! The head on three levels and its loss.

use super::conv;
use crate::network::builder::{Keep, Tensor, bytes};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// What is to be found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    pub(super) classes: u64,
    /// Objects in the fullest picture.
    pub(super) objects: u64,
}

/// Places matched to objects in a picture for each object of the fullest: ten for each of the 29 of a mosaic of COCO's, less
/// those that two objects claim, where the fullest has 80.
const fn matched(objects: u64) -> u64 {
    5 * objects / 2
}
/// Bytes of a pair of a place and an object while they are matched (`TaskAlignedAssigner` in `ultralytics/utils/tal.py`):
/// 14.9 bytes, traced on real tensors with 80 and 400 objects (overlap and measure in fp32, masks of a byte).
const PAIR: u64 = 15;
/// The same up to 2024: `select_candidates_in_gts` wrote out four distances of each pair, and once more to put them together.
const WIDE_PAIR: u64 = 32;
/// Prototypes of masks.
const MASKS: u64 = 32;

/// A head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(super) kind: Kind,
    /// Steps of a box side's distribution; 1: the side itself.
    pub(super) bins: u64,
    /// A second copy of the branches that matches one place to an object.
    pub(super) twice: bool,
    /// Width of the convolutions that make masks' prototypes.
    pub(super) masks: Option<u64>,
}

/// How the branches are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `YOLOv5`: one pointwise convolution for three anchors.
    Anchors,
    /// Two 3 x 3 convolutions in each branch.
    Plain,
    /// Depthwise and pointwise ones in the branch of classes.
    Light,
}

/// What one set of branches says: boxes, classes, masks' coefficients.
type Said = (Tensor, Tensor, Option<Tensor>);

pub(super) fn write(n: &mut Layers, levels: &[Map; 3], head: &Head, labels: Labels) {
    if head.kind == Kind::Anchors {
        anchors(n, levels, head, labels);
        return;
    }
    let mut said = vec![branches(n, levels, head, labels)];
    if head.twice {
        // The second copy does not send gradients into the network.
        let cut = levels.map(|m| Map { t: n.b.detach(m.t), ..m });
        said.push(branches(n, &cut, head, labels));
    }
    if head.bins > 1 {
        // The bins' numbers, a frozen convolution.
        n.frozen_weights(head.bins, Dtype::F32);
    }
    let prototypes = head.masks.map(|width| prototypes(n, levels, width, head.twice.then_some(labels.classes)));
    let mut slot = 0;
    let mut keep = |n: &mut Layers, t: Tensor| {
        n.b.put(Slot(slot), t);
        slot += 1;
        Slot(slot - 1)
    };
    let slots: Vec<_> = said
        .iter()
        .map(|&(boxes, classes, masks)| (keep(n, boxes), keep(n, classes), masks.map(|m| keep(n, m))))
        .collect();
    let prototypes = prototypes.map(|(p, semantic)| (keep(n, p), semantic.map(|s| keep(n, s))));
    n.b.end_segment(false, false);
    n.b.end_group();
    let mut losses = Vec::new();
    let mut alive = Vec::new();
    let prototypes = prototypes.map(|(p, s)| (n.b.take(p), s.map(|s| n.b.take(s))));
    for (boxes, classes, masks) in slots {
        let (boxes, classes, masks) = (n.b.take(boxes), n.b.take(classes), masks.map(|m| n.b.take(m)));
        losses.push(loss(n, boxes, classes, head.bins, labels));
        alive.extend([boxes, classes]);
        if let (Some(masks), Some((p, _))) = (masks, prototypes) {
            losses.push(mask_loss(n, masks, p, labels));
            alive.push(masks);
        }
    }
    if let Some((_, Some(semantic))) = prototypes {
        losses.push(entropy(n, semantic));
    }
    // The dictionary of results lives until the loss is there.
    for t in alive {
        n.b.touch(t);
    }
    let total = losses.into_iter().reduce(|a, b| n.b.add(a, b));
    if let Some(total) = total {
        n.b.scale(total);
    }
    n.b.end_segment(false, true);
    n.b.end_group();
}

/// The same branch on every level, one row for each place.
fn joined(n: &mut Layers, parts: Vec<Map>) -> Tensor {
    let tensors: Vec<Tensor> = parts.into_iter().map(|p| p.t).collect();
    n.b.join(&tensors)
}

fn branches(n: &mut Layers, levels: &[Map; 3], head: &Head, labels: Labels) -> Said {
    let finest = levels[0].channels;
    let box_width = 16.max(finest / 4).max(4 * head.bins);
    let class_width = finest.max(labels.classes.min(100));
    let double = |n: &mut Layers, x: Map, width: u64, out: u64| {
        let y = conv(n, x, width, 3, 1);
        let y = conv(n, y, width, 3, 1);
        n.conv(y, Conv::new(out, 1).bias())
    };
    let boxes = levels.map(|x| double(n, x, box_width, 4 * head.bins));
    let boxes = joined(n, boxes.to_vec());
    let classes = levels.map(|x| {
        if head.kind == Kind::Plain {
            return double(n, x, class_width, labels.classes);
        }
        let mut y = x;
        for _ in 0..2 {
            y = n.conv_norm(y, Conv::new(y.channels, 3).groups(y.channels), Act::Silu);
            y = conv(n, y, class_width, 1, 1);
        }
        n.conv(y, Conv::new(labels.classes, 1).bias())
    });
    let classes = joined(n, classes.to_vec());
    let masks = head.masks.map(|_| {
        let parts = levels.map(|x| double(n, x, (finest / 4).max(MASKS), MASKS));
        joined(n, parts.to_vec())
    });
    (boxes, classes, masks)
}

/// `Proto`, and `Proto26` with the semantic branch that is trained beside it.
fn prototypes(n: &mut Layers, levels: &[Map; 3], width: u64, refined: Option<u64>) -> (Tensor, Option<Tensor>) {
    let mut x = levels[0];
    let mut semantic = None;
    if let Some(classes) = refined {
        for (k, &level) in levels.iter().enumerate().skip(1) {
            let y = conv(n, level, levels[0].channels, 1, 1);
            let y = n.enlarge(y, 1 << k);
            x = n.add_maps(x, y);
        }
        let y = conv(n, x, width, 3, 1);
        let s = conv(n, x, width, 3, 1);
        let s = conv(n, s, width, 3, 1);
        semantic = Some(n.conv(s, Conv::new(classes, 1).bias()).t);
        x = y;
    }
    let y = conv(n, x, width, 3, 1);
    let y = n.conv_transpose(y, width, 2, 2, true);
    let y = conv(n, y, width, 3, 1);
    (conv(n, y, MASKS, 1, 1).t, semantic)
}

/// Binary cross-entropy with logits: keeps logits and target, in fp32 under autocast.
fn entropy(n: &mut Layers, logits: Tensor) -> Tensor {
    let target = n.constant(logits.rows, logits.cols, Dtype::F32);
    binary(n, logits, target)
}

fn binary(n: &mut Layers, logits: Tensor, target: Tensor) -> Tensor {
    let narrow = n.b.cast(target, logits.dtype);
    let wide = n.b.autocast.map_or(logits, |_| n.b.cast(logits, Dtype::F32));
    let target = n.b.cast(narrow, wide.dtype);
    // Its gradient is the logits' own size; both inputs are kept.
    let kernel = crate::network::builder::Kernel { saves: 0b11, ..Default::default() };
    let terms = n.b.fused(&[wide, target], wide.rows, wide.cols, wide.dtype, kernel);
    let sum = n.b.reduce(terms, 1, 1);
    n.b.cast(sum, Dtype::F32)
}

/// `v8DetectionLoss`: boxes from their distributions, the assigner's measures of every place and object, entropy of the
/// classes.
fn loss(n: &mut Layers, boxes: Tensor, classes: Tensor, bins: u64, labels: Labels) -> Tensor {
    let boxes = n.b.copy(boxes, boxes.rows, boxes.cols);
    let classes = n.b.copy(classes, classes.rows, classes.cols);
    let decoded = if bins > 1 {
        let spread = n.b.view(boxes, boxes.rows * 4, bins);
        let shares = n.b.softmax(spread, false);
        let narrow = n.b.autocast_input(shares);
        n.b.mean(narrow)
    } else {
        boxes
    };
    let decoded = n.b.unary(decoded, Keep::Nothing, 0);
    // The assigner: probabilities, overlap and measure of every place with every object.
    let places = classes.rows;
    let probabilities = n.constant(places, labels.classes, classes.dtype);
    let pairs = places.saturating_mul(labels.objects);
    n.aside(pairs.saturating_mul(if n.config.code.wide_assigner { WIDE_PAIR } else { PAIR }));
    let measures = [0; 2].map(|_| n.constant(places, labels.objects, Dtype::F32));
    n.b.touch(probabilities);
    for measure in measures {
        n.b.touch(measure);
    }
    let hot = n.constant(places, labels.classes, Dtype::U8);
    let target = n.b.converted(hot, Dtype::F32);
    let class_loss = binary(n, classes, target);
    // The few matched places are gathered; their gradient fills tensors of the full size.
    let matched = n.batch * matched(labels.objects);
    let near = n.b.gather(boxes, matched);
    let side = n.b.gather(decoded, matched);
    let near = n.b.reduce(near, 1, 1);
    let side = n.b.reduce(side, 1, 1);
    let box_loss = n.b.add(near, side);
    n.b.touch(target);
    n.b.add(class_loss, box_loss)
}

/// `single_mask_loss` of every picture: masks of the matched places, the target and the crop are kept.
fn mask_loss(n: &mut Layers, coefficients: Tensor, prototypes: Tensor, labels: Labels) -> Tensor {
    let rows = n.batch * matched(labels.objects);
    let pixels = prototypes.rows / n.batch.max(1);
    let chosen = n.b.gather(coefficients, rows);
    let masks = n.b.matmul(chosen, prototypes, rows, pixels, 2.0 * (rows * pixels * MASKS) as f64);
    let wide = n.b.cast(masks, Dtype::F32);
    let target = n.constant(rows, pixels, Dtype::F32);
    let kernel = crate::network::builder::Kernel {
        saves: 0b11 | crate::network::SAVE_AUX,
        aux: bytes(rows * pixels, Dtype::F32),
        ..Default::default()
    };
    let terms = n.b.fused(&[wide, target], rows, pixels, Dtype::F32, kernel);
    n.b.reduce(terms, 1, 1)
}

/// `YOLOv5`'s: boxes, confidence and classes for three anchors at a place, in one convolution.
fn anchors(n: &mut Layers, levels: &[Map; 3], head: &Head, labels: Labels) {
    let masks = head.masks.map_or(0, |_| MASKS);
    let parts = levels.map(|x| n.conv(x, Conv::new(3 * (labels.classes + 5 + masks), 1).bias()).t);
    let prototypes = head.masks.map(|width| prototypes(n, levels, width, None).0);
    for (k, t) in (0..).zip(parts) {
        // Anchors come before places in the loss.
        let laid = n.b.copy(t, t.rows, t.cols);
        n.b.put(Slot(k), laid);
    }
    if let Some(p) = prototypes {
        n.b.put(Slot(3), p);
    }
    n.b.end_segment(false, false);
    n.b.end_group();
    let mut losses = Vec::new();
    let said = [0, 1, 2].map(|k| n.b.take(Slot(k)));
    let prototypes = prototypes.map(|_| n.b.take(Slot(3)));
    for t in said {
        let matched = n.b.gather(t, n.batch * matched(labels.objects));
        let confidence = n.b.slice(t, 3);
        losses.push(entropy(n, confidence));
        losses.push(entropy(n, matched));
        if let Some(p) = prototypes.filter(|_| t.id == said[0].id) {
            losses.push(mask_loss(n, matched, p, labels));
        }
    }
    for t in said {
        n.b.touch(t);
    }
    if let Some(total) = losses.into_iter().reduce(|a, b| n.b.add(a, b)) {
        n.b.scale(total);
    }
    n.b.end_segment(false, true);
    n.b.end_group();
}
