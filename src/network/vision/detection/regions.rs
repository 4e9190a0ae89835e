//! Detectors of two stages: proposals, and what is in the boxes sampled from them.

use super::super::{Norms, residual};
use super::{Heads, absolute_loss, assign, binary_loss, relu, shared};
use crate::network::Dtype;
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// Boxes of a picture on which the second stage is trained (`box_batch_size_per_image`).
const BOXES: u64 = 512;
/// A quarter of them are objects at most (`box_positive_fraction`): those get masks and keypoints.
const OBJECTS: u64 = 128;
/// The same in the mean of a large batch, whose pictures are not all full: NVIDIA's runs of 4 to 48 pictures
/// (lambdal/deeplearning-benchmark), beside detectron2's table of 2.
const USUAL: u64 = 64;
/// Anchors of a picture whose proposals are judged (`rpn_batch_size_per_image`).
const JUDGED: u64 = 256;
/// Classes of Panoptic FPN's pixels (`SEM_SEG_HEAD.NUM_CLASSES`).
const STUFF: u64 = 54;

/// What the heads of two stages look like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regions {
    pub(super) kind: Heads,
    pub(super) classes: u64,
    /// Objects in the fullest picture.
    pub(super) objects: u64,
    /// A cascade has a mask head at each of its three stages (mmdetection), not at the last only (detectron2).
    pub(super) masks_at_each: bool,
    /// Box heads are four convolutions with norms and a linear layer, not two linear layers.
    pub(super) convolved: bool,
}

/// Boxes with objects of a picture: two are full at a time.
fn holding(n: &Layers) -> u64 {
    const FULL: u64 = 2;
    let batch = n.batch.max(1);
    let full = batch.min(FULL);
    (OBJECTS.saturating_mul(full).saturating_add(USUAL.saturating_mul(batch - full))).div_ceil(batch)
}

/// The loss terms of these heads on a pyramid's levels, or on one map.
pub(super) fn losses(n: &mut Layers, heads: Regions, levels: &[Map]) -> Vec<Tensor> {
    let Regions { kind, classes, objects, masks_at_each, convolved } = heads;
    let mut losses = Vec::new();
    let act = relu(n, masks_at_each);
    let Some(&finest) = levels.first() else { return losses };
    if kind != Heads::GivenBoxes {
        // A pyramid has one size of anchor a level, in three shapes; a single map has five.
        proposals(n, levels, if levels.len() > 1 { 3 } else { 15 }, (objects, act), &mut losses);
    }
    if kind == Heads::Proposals {
        return losses;
    }
    let stages = if kind == Heads::Cascade { 3 } else { 1 };
    for stage in 1..=stages {
        let mut pooled = align(n, finest, BOXES, 7);
        for _ in 0..if convolved { 4 } else { 0 } {
            pooled = n.conv_norm(pooled, Conv::new(256, 3), Act::Relu);
        }
        let flat = n.b.view(pooled.t, n.batch * BOXES, pooled.channels * 49);
        let mut x = n.fully_connected(flat, 1024);
        x = n.act_tensor(x, Act::ReluCopy);
        if !convolved {
            x = n.fully_connected(x, 1024);
            x = n.act_tensor(x, Act::ReluCopy);
        }
        // A cascade's boxes are the same for all classes.
        boxes(n, x, classes, if kind == Heads::Cascade { 1 } else { classes }, &mut losses);
        let masked = matches!(kind, Heads::BoxesAndMasks | Heads::Cascade | Heads::Panoptic);
        if masked && (stage == stages || masks_at_each) {
            let objects = holding(n);
            let mut x = align(n, finest, objects, 14);
            for _ in 0..4 {
                x = n.conv(x, Conv::new(256, 3).bias());
                x = n.act(x, act);
            }
            masks(n, x, (classes, act), &mut losses);
        }
    }
    match kind {
        Heads::BoxesAndKeypoints => {
            let objects = holding(n);
            let mut x = align(n, finest, objects, 14);
            for _ in 0..8 {
                x = n.conv(x, Conv::new(512, 3).bias());
                x = n.act(x, act);
            }
            let x = n.conv_transpose(x, 17, 4, 2, true);
            let points = n.resize(x, 2 * x.height, 2 * x.width);
            losses.push(n.cross_entropy(points.t));
        }
        Heads::Panoptic => stuff(n, levels, &mut losses),
        _ => {}
    }
    losses
}

/// The loss terms where the backbone's fourth stage runs on every box, as detectron's "C4" has it.
pub(super) fn losses_with_stage(
    n: &mut Layers,
    Regions { kind, classes, objects, masks_at_each, .. }: Regions,
    map: Map,
    net: &residual::Residual,
    norms: Norms,
) -> Vec<Tensor> {
    let mut losses = Vec::new();
    let act = relu(n, masks_at_each);
    proposals(n, &[map], 15, (objects, act), &mut losses);
    if kind == Heads::Proposals {
        return losses;
    }
    let pooled = align(n, map, BOXES, 14);
    let features = residual::fourth(n, pooled, net, norms);
    let mean = n.b.reduce(features.t, n.batch * BOXES, features.channels);
    boxes(n, mean, classes, classes, &mut losses);
    if kind == Heads::BoxesAndMasks {
        // The boxes that hold objects, out of those that have been through the stage.
        let objects = holding(n);
        let t = n.b.gather(features.t, n.batch * objects * 49);
        masks(n, Map { t, height: objects * 7, ..features }, (classes, act), &mut losses);
    }
    losses
}

/// The proposal network on all levels; its loss looks at some of the anchors.
fn proposals(n: &mut Layers, levels: &[Map], anchors: u64, (objects, act): (u64, Act), losses: &mut Vec<Tensor>) {
    let outputs = shared(n, levels, 1, &[anchors, 4 * anchors], (false, act));
    let places: u64 = levels.iter().map(|m| m.pixels()).sum();
    assign(n, anchors * places, objects);
    for (place, width) in [(0, 1), (1, 4)] {
        let parts: Vec<Tensor> = outputs
            .iter()
            .filter_map(|maps| maps.get(place))
            .map(|map| n.b.view(map.t, map.t.numel() / width, width))
            .collect();
        let all = n.join_all(&parts);
        let judged = n.b.gather(all, n.batch * JUDGED);
        losses.push(if width == 1 { binary_loss(n, judged) } else { absolute_loss(n, judged) });
    }
}

/// What a box holds and where it really lies.
fn boxes(n: &mut Layers, x: Tensor, classes: u64, places: u64, losses: &mut Vec<Tensor>) {
    let labels = n.fully_connected(x, classes);
    let corners = n.fully_connected(x, 4 * places);
    losses.push(n.cross_entropy(labels));
    losses.push(absolute_loss(n, corners));
    n.b.program.batch_bytes += bytes(n.batch * BOXES, Dtype::I64);
}

/// Twice as large, a map for each class, of which the loss takes the right one.
fn masks(n: &mut Layers, x: Map, (classes, act): (u64, Act), losses: &mut Vec<Tensor>) {
    let x = n.conv_transpose(x, 256, 2, 2, true);
    let x = n.act(x, act);
    let masks = n.conv(x, Conv::new(classes, 1).bias());
    let right = n.b.slice(masks.t, 1);
    losses.push(binary_loss(n, right));
}

/// Panoptic FPN's second branch: each level convolved and enlarged to the size of the finest, summed, classified.
fn stuff(n: &mut Layers, levels: &[Map], losses: &mut Vec<Tensor>) {
    const WIDTH: u64 = 128;
    let Some(&finest) = levels.first() else { return };
    let mut sum: Option<Map> = None;
    // The pooled last level takes no part.
    for (steps, &level) in levels.iter().take(4).enumerate() {
        let mut x = level;
        for step in 0..steps.max(1) {
            x = n.conv(x, Conv::new(WIDTH, 3));
            x = n.group_norm(x, 32, true);
            x = n.act(x, Act::ReluCopy);
            if step < steps {
                let (height, width) =
                    if step + 1 == steps { (finest.height, finest.width) } else { (2 * x.height, 2 * x.width) };
                x = n.resize(x, height, width);
            }
        }
        sum = Some(match sum {
            Some(sum) => n.add_maps(sum, x),
            None => x,
        });
    }
    let Some(sum) = sum else { return };
    let logits = n.conv(sum, Conv::new(STUFF, 1).bias());
    let logits = n.resize(logits, 4 * logits.height, 4 * logits.width);
    losses.push(n.cross_entropy(logits.t));
    n.b.program.batch_bytes += bytes(logits.t.rows, Dtype::I64);
}

/// `roi_align` of `boxes` boxes of each picture to `side` by `side`; autocast runs it in fp32.
fn align(n: &mut Layers, x: Map, boxes: u64, side: u64) -> Map {
    let narrow = x.t.dtype;
    let wide = if n.b.autocast.is_some() { n.b.cast(x.t, Dtype::F32) } else { x.t };
    let t = n.sample(wide, n.batch * boxes * side * side);
    let t = n.b.cast(t, narrow);
    // The boxes of a picture lie one below the other.
    Map { t, channels: x.channels, height: boxes * side, width: side, depth: 1 }
}
