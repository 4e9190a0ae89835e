//! Detection: Faster, Mask, Keypoint and Cascade R-CNN, proposal networks, Panoptic FPN, RetinaNet, FCOS, as torchvision,
//! detectron2 and mmdetection write them.
//!
//! Parts whose size depends on the picture are given the size that training settles at: every anchor level goes through
//! the proposal head, 512 sampled boxes of a picture are pooled from the finest level.

mod regions;
mod single;

use super::{Norms, Pictures, next, residual, swin};
use crate::network::builder::{Keep, Tensor};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};
use regions::Regions;

/// Classes of COCO as torchvision counts them (category numbers up to 90, and the background) and of LVIS 0.5.
const COCO: u64 = 91;
const LVIS: u64 = 1231;

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heads {
    /// Proposals alone.
    Proposals,
    /// Boxes on proposals that were made before.
    GivenBoxes,
    Boxes,
    BoxesAndMasks,
    BoxesAndKeypoints,
    /// Three box heads, each on what the one before made of the boxes, and masks.
    Cascade,
    /// Boxes and masks, and a class for every pixel.
    Panoptic,
    RetinaNet,
    Fcos,
}

/// Which maps of the backbone the heads see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neck {
    Pyramid,
    /// The third stage; the fourth runs on every box.
    Third,
    /// The fourth stage, dilated to the size of the third.
    Dilated,
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (id, usual) = match id.strip_suffix("-lvis") {
        Some(id) => (id, LVIS),
        None => (id, COCO),
    };
    // And the background.
    let classes = if pictures.classes > 0 { pictures.classes.saturating_add(1) } else { usual };
    let (kind, rest) = [
        ("rpn-", Heads::Proposals),
        ("fast-rcnn-", Heads::GivenBoxes),
        ("faster-rcnn-", Heads::Boxes),
        ("mask-rcnn-", Heads::BoxesAndMasks),
        ("keypoint-rcnn-", Heads::BoxesAndKeypoints),
        ("cascade-mask-rcnn-", Heads::Cascade),
        ("panoptic-fpn-", Heads::Panoptic),
        ("retinanet-", Heads::RetinaNet),
        ("fcos-", Heads::Fcos),
    ]
    .iter()
    .find_map(|(prefix, kind)| id.strip_prefix(prefix).map(|rest| (*kind, rest)))?;
    let (backbone, neck) =
        [("-c4", Neck::Third), ("-dc5", Neck::Dilated), ("-fpn", Neck::Pyramid), ("", Neck::Pyramid)]
            .iter()
            .find_map(|(suffix, neck)| rest.strip_suffix(suffix).map(|backbone| (backbone, *neck)))?;
    let x = n.pictures(3, pictures);
    let norms = pictures.norms();
    let two_stage = !matches!(kind, Heads::RetinaNet | Heads::Fcos);
    let heads = Regions {
        kind,
        classes,
        objects: pictures.objects,
        masks_at_each: pictures.evaluated,
        // As their authors train them (mmdetection's configs/convnext; detectron2's configs with norms that are trained:
        // Misc/*_gn.yaml, *_syncbn.yaml, new_baselines).
        convolved: match kind {
            Heads::Cascade => residual_network(backbone).is_none() || norms == Norms::Trained,
            Heads::BoxesAndMasks => norms == Norms::Trained,
            _ => false,
        },
    };
    // Where the heads' norms are trained, the pyramid has some too.
    let normed = heads.convolved && norms == Norms::Trained && kind == Heads::BoxesAndMasks;
    let losses = match (neck, residual_network(backbone)) {
        (Neck::Pyramid, net) => {
            let stages = match net {
                Some(net) => residual::stages(n, x, &net, norms),
                None => backbone_of_blocks(n, x, backbone)?,
            };
            let levels = pyramid(n, if two_stage { &stages } else { &stages[1..] }, two_stage, normed);
            if two_stage {
                regions::losses(n, heads, &levels)
            } else {
                single::losses(n, kind, &levels, classes, pictures)
            }
        }
        (Neck::Third, Some(net)) => {
            let third = residual::three(n, x, &net, norms);
            regions::losses_with_stage(n, heads, third, &net, norms)
        }
        (Neck::Dilated, Some(net)) => {
            let last = residual::last_dilated(n, x, &net, norms);
            regions::losses(n, heads, &[last])
        }
        _ => return None,
    };
    close(n, losses);
    Some(())
}

fn residual_network(backbone: &str) -> Option<residual::Residual> {
    residual::network(match backbone {
        "r18" => "resnet18",
        "r34" => "resnet34",
        "r50" => "resnet50",
        "r101" => "resnet101",
        "x101-32x4d" => "resnext101-32x4d",
        "x101-32x8d" => "resnext101-32x8d",
        "x101-64x4d" => "resnext101-64x4d",
        _ => return None,
    })
}

/// The maps of the four stages of a network of attention or of `ConvNeXt`'s blocks, which nothing is frozen in.
fn backbone_of_blocks(n: &mut Layers, x: Map, backbone: &str) -> Option<[Map; 4]> {
    if let Some(net) = swin::network(backbone) {
        return Some(swin::stages(n, x, &net));
    }
    let net = next::network(&backbone.replace("-t", "-tiny").replace("-s", "-small").replace("-b", "-base"))?;
    Some(next::stages(n, x, &net))
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
fn pyramid(n: &mut Layers, stages: &[Map], pooled: bool, normed: bool) -> Vec<Map> {
    const WIDTH: u64 = 256;
    let level = |n: &mut Layers, x: Map, kernel: u64| {
        if normed {
            n.conv_norm(x, Conv::new(WIDTH, kernel), Act::None)
        } else {
            n.conv(x, Conv::new(WIDTH, kernel).bias())
        }
    };
    let mut levels = Vec::new();
    let mut above: Option<Map> = None;
    for &stage in stages.iter().rev() {
        let mut lateral = level(n, stage, 1);
        if let Some(coarse) = above {
            let enlarged = n.resize(coarse, lateral.height, lateral.width);
            lateral = n.add_maps(lateral, enlarged);
        }
        levels.insert(0, level(n, lateral, 3));
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
fn shared(
    n: &mut Layers,
    levels: &[Map],
    convolutions: usize,
    outputs: &[u64],
    (group_norm, act): (bool, Act),
) -> Vec<Vec<Map>> {
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
                x = n.act(x, act);
            }
            heads.iter().map(|&(conv, weights)| n.conv_with(x, conv, weights)).collect()
        })
        .collect()
}

/// The ReLU of heads: mmdetection's write over their input. detectron2's and its forebears' make a new tensor (`F.relu`), and
/// so did torchvision's in the days when that kept both; today it comes to the same.
const fn relu(n: &Layers, evaluated: bool) -> Act {
    if n.config.code.keeps_relu_input && !evaluated { Act::ReluCopy } else { Act::Relu }
}

/// Each object is compared with every anchor, picture by picture: corners of the overlaps, their sides and those cut at
/// zero, two numbers each, are alive at once (`box_iou` of torchvision, `bbox_overlaps` of mmdetection).
fn assign(n: &mut Layers, anchors: u64, objects: u64) {
    n.aside((8 * Dtype::F32.bytes() * objects).saturating_mul(anchors));
}

/// Binary cross-entropy with logits on every output.
fn binary_loss(n: &mut Layers, t: Tensor) -> Tensor {
    let wide = if n.b.autocast.is_some() { n.b.cast(t, Dtype::F32) } else { t };
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
