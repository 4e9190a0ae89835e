//! Detection on feature pyramids: Faster, Mask and Keypoint R-CNN, RetinaNet, FCOS, as torchvision writes them.
//!
//! Parts whose size depends on the picture are given the size that training settles at: every anchor level goes through
//! the proposal head, 512 sampled boxes of a picture are pooled from the finest level.

use super::{Pictures, residual};
use crate::network::builder::{Keep, Tensor, bytes};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// COCO's 91 category numbers.
const CLASSES: u64 = 91;
/// Boxes of a picture on which the second stage is trained (`box_batch_size_per_image`).
const BOXES: u64 = 512;
/// A quarter of them are objects at most (`box_positive_fraction`): those get masks and keypoints.
const OBJECTS: u64 = 128;

/// What sits on the pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heads {
    Boxes,
    BoxesAndMasks,
    BoxesAndKeypoints,
    RetinaNet,
    Fcos,
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (kind, rest) = [
        ("faster-rcnn-", Heads::Boxes),
        ("mask-rcnn-", Heads::BoxesAndMasks),
        ("keypoint-rcnn-", Heads::BoxesAndKeypoints),
        ("retinanet-", Heads::RetinaNet),
        ("fcos-", Heads::Fcos),
    ]
    .iter()
    .find_map(|(prefix, kind)| id.strip_prefix(prefix).map(|rest| (*kind, rest)))?;
    let backbone = match rest.strip_suffix("-fpn")? {
        "r18" => "resnet18",
        "r34" => "resnet34",
        "r50" => "resnet50",
        "r101" => "resnet101",
        "x101-32x4d" => "resnext101-32x4d",
        "x101-32x8d" => "resnext101-32x8d",
        "x101-64x4d" => "resnext101-64x4d",
        _ => return None,
    };
    let net = residual::network(backbone)?;
    let x = n.pictures(3, pictures);
    let stages = residual::stages(n, x, &net, pictures.pretrained);
    let two_stage = !matches!(kind, Heads::RetinaNet | Heads::Fcos);
    let levels = pyramid(n, if two_stage { &stages } else { &stages[1..] }, two_stage);
    let losses = if two_stage { two_stages(n, kind, &levels) } else { one_stage(n, kind, &levels) };
    close(n, losses);
    Some(())
}

/// Loss terms end in the loss segment.
fn close(n: &mut Layers, losses: Vec<Tensor>) {
    let total = losses.into_iter().reduce(|a, b| n.b.add(a, b));
    if let Some(total) = total {
        n.b.put(Slot(0), total);
    }
    n.b.end_segment(false, false);
    n.b.end_group();
    let total = n.b.take(Slot(0));
    n.b.scale(total);
    n.b.end_segment(false, true);
    n.b.end_group();
}

/// Lateral 1 x 1 convolutions, the way down, a 3 x 3 convolution on each level; then coarser levels.
fn pyramid(n: &mut Layers, stages: &[Map], pooled: bool) -> Vec<Map> {
    const WIDTH: u64 = 256;
    let mut levels = Vec::new();
    let mut above: Option<Map> = None;
    for &stage in stages.iter().rev() {
        let mut lateral = n.conv(stage, Conv::new(WIDTH, 1).bias());
        if let Some(coarse) = above {
            let enlarged = n.resize(coarse, lateral.height, lateral.width);
            lateral = n.add_maps(lateral, enlarged);
        }
        levels.insert(0, n.conv(lateral, Conv::new(WIDTH, 3).bias()));
        above = Some(lateral);
    }
    if let Some(&last) = levels.last() {
        if pooled {
            levels.push(n.max_pool(last, 1, 2, 0));
        } else {
            let p6 = n.conv(last, Conv::new(WIDTH, 3).stride(2).bias());
            let bent = n.act(p6, Act::ReluCopy);
            let p7 = n.conv(bent, Conv::new(WIDTH, 3).stride(2).bias());
            levels.extend([p6, p7]);
        }
    }
    levels
}

/// A head that goes over all levels with the same weights.
fn shared(n: &mut Layers, levels: &[Map], convolutions: usize, outputs: &[u64], group_norm: bool) -> Vec<Vec<Map>> {
    let Some(&Map { channels, .. }) = levels.first() else { return Vec::new() };
    let tower = Conv::new(channels, 3).bias();
    // Heads of one convolution are 1 x 1 (the proposal network), of four 3 x 3.
    let kernel = if convolutions == 1 { 1 } else { 3 };
    let towers: Vec<_> = (0..convolutions).map(|_| n.conv_weights(channels, tower)).collect();
    let last = |out: u64| Conv::new(out, kernel).bias();
    let heads: Vec<_> = outputs.iter().map(|&out| (last(out), n.conv_weights(channels, last(out)))).collect();
    levels
        .iter()
        .map(|&level| {
            let mut x = level;
            for &weights in &towers {
                x = n.conv_with(x, tower, weights);
                if group_norm {
                    x = n.group_norm(x, 32, true);
                }
                x = n.act(x, Act::Relu);
            }
            heads.iter().map(|&(conv, weights)| n.conv_with(x, conv, weights)).collect()
        })
        .collect()
}

/// Binary cross-entropy with logits on every output.
fn binary_loss(n: &mut Layers, x: Map) -> Tensor {
    let wide = if n.b.autocast.is_some() { n.b.cast(x.t, Dtype::F32) } else { x.t };
    let target = n.constant(wide.rows, wide.cols, wide.dtype);
    let terms = n.b.mul(wide, target);
    let terms = n.b.unary(terms, Keep::Nothing, 0);
    n.b.reduce(terms, 1, 1)
}

/// Mean of absolute values.
fn absolute_loss(n: &mut Layers, t: Tensor) -> Tensor {
    let size = n.b.unary(t, Keep::Input, 0);
    let mean = n.b.reduce(size, 1, 1);
    n.b.cast(mean, Dtype::F32)
}

fn two_stages(n: &mut Layers, kind: Heads, levels: &[Map]) -> Vec<Tensor> {
    let mut losses = Vec::new();
    for outputs in shared(n, levels, 1, &[3, 12], false) {
        if let [objects, boxes] = outputs.as_slice() {
            losses.push(binary_loss(n, *objects));
            losses.push(absolute_loss(n, boxes.t));
        }
    }
    let Some(&finest) = levels.first() else { return losses };
    let pooled = align(n, finest, BOXES, 7);
    let flat = n.b.view(pooled.t, n.batch * BOXES, pooled.channels * 49);
    let x = n.fully_connected(flat, 1024);
    let x = n.act_tensor(x, Act::ReluCopy);
    let x = n.fully_connected(x, 1024);
    let x = n.act_tensor(x, Act::ReluCopy);
    let classes = n.fully_connected(x, CLASSES);
    let boxes = n.fully_connected(x, 4 * CLASSES);
    losses.push(n.cross_entropy(classes));
    losses.push(absolute_loss(n, boxes));
    n.b.program.batch_bytes += bytes(n.batch * BOXES, Dtype::I64);
    match kind {
        Heads::BoxesAndMasks => {
            let mut x = align(n, finest, OBJECTS, 14);
            for _ in 0..4 {
                x = n.conv(x, Conv::new(256, 3).bias());
                x = n.act(x, Act::Relu);
            }
            let x = n.conv_transpose(x, 256, 2, 2, true);
            let x = n.act(x, Act::Relu);
            let masks = n.conv(x, Conv::new(CLASSES, 1).bias());
            losses.push(binary_loss(n, masks));
        }
        Heads::BoxesAndKeypoints => {
            let mut x = align(n, finest, OBJECTS, 14);
            for _ in 0..8 {
                x = n.conv(x, Conv::new(512, 3).bias());
                x = n.act(x, Act::Relu);
            }
            let x = n.conv_transpose(x, 17, 4, 2, true);
            let points = n.resize(x, 56, 56);
            losses.push(n.cross_entropy(points.t));
        }
        _ => {}
    }
    losses
}

fn one_stage(n: &mut Layers, kind: Heads, levels: &[Map]) -> Vec<Tensor> {
    let mut losses = Vec::new();
    let (anchors, norm) = if kind == Heads::Fcos { (1, true) } else { (9, false) };
    for outputs in shared(n, levels, 4, &[anchors * CLASSES], norm) {
        for classes in outputs {
            // The focal loss keeps the probabilities, the cross-entropy and the modulating factor beside the logits.
            let wide = if n.b.autocast.is_some() { n.b.cast(classes.t, Dtype::F32) } else { classes.t };
            let probability = n.b.unary(wide, Keep::Output, 0);
            let entropy = n.b.unary(wide, Keep::Input, 1);
            let factor = n.b.pow(probability);
            let terms = n.b.mul(entropy, factor);
            losses.push(n.b.reduce(terms, 1, 1));
        }
    }
    let beside: &[u64] = if kind == Heads::Fcos { &[4, 1] } else { &[36] };
    for outputs in shared(n, levels, 4, beside, norm) {
        for boxes in outputs {
            losses.push(absolute_loss(n, boxes.t));
        }
    }
    losses
}

/// `roi_align` of `boxes` boxes of each picture to `side` by `side`; runs in fp32, also under autocast.
fn align(n: &mut Layers, x: Map, boxes: u64, side: u64) -> Map {
    let narrow = x.t.dtype;
    let wide = n.b.cast(x.t, Dtype::F32);
    let t = n.sample(wide, n.batch * boxes * side * side);
    let t = n.b.cast(t, narrow);
    // The boxes of a picture lie one below the other.
    Map { t, channels: x.channels, height: boxes * side, width: side, depth: 1 }
}
