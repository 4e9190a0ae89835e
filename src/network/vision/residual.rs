//! Residual networks: ResNet, Wide ResNet, `ResNeXt`, SE-ResNet.

use super::{Norms, checkpointed, repeated};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// A residual network of four stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residual {
    blocks: [u64; 4],
    /// 1 x 1, 3 x 3, 1 x 1 with four times the channels out, rather than two 3 x 3.
    bottleneck: bool,
    groups: u64,
    /// Channels of a group's 3 x 3 convolution, for 64 planes.
    width: u64,
    squeeze: bool,
    /// Three small convolutions begin it, and shortcuts are pooled before they are widened (`resnet50d` of timm).
    deep: bool,
    /// For pictures of 32 pixels: a first convolution of 3 x 3 that keeps the size, and no pooling.
    small: bool,
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<Residual> {
    if let Some(net) = id.strip_suffix("-d").and_then(network) {
        return Some(Residual { deep: true, ..net });
    }
    if let Some(net) = id.strip_suffix("-cifar").and_then(network) {
        return Some(Residual { small: true, ..net });
    }
    let plain = Residual {
        blocks: [3, 4, 6, 3],
        bottleneck: true,
        groups: 1,
        width: 64,
        squeeze: false,
        deep: false,
        small: false,
    };
    Some(match id {
        "resnet26" => Residual { blocks: [2, 2, 2, 2], ..plain },
        "resnet18" => Residual { blocks: [2, 2, 2, 2], bottleneck: false, ..plain },
        "resnet34" => Residual { bottleneck: false, ..plain },
        "resnet50" => plain,
        "resnet101" => Residual { blocks: [3, 4, 23, 3], ..plain },
        "resnet152" => Residual { blocks: [3, 8, 36, 3], ..plain },
        "wide-resnet50-2" => Residual { width: 128, ..plain },
        "wide-resnet101-2" => Residual { blocks: [3, 4, 23, 3], width: 128, ..plain },
        "resnext50-32x4d" => Residual { groups: 32, width: 4, ..plain },
        "resnext101-32x4d" => Residual { blocks: [3, 4, 23, 3], groups: 32, width: 4, ..plain },
        "resnext101-32x8d" => Residual { blocks: [3, 4, 23, 3], groups: 32, width: 8, ..plain },
        "resnext101-64x4d" => Residual { blocks: [3, 4, 23, 3], groups: 64, width: 4, ..plain },
        "seresnext101-32x4d" => Residual { blocks: [3, 4, 23, 3], groups: 32, width: 4, squeeze: true, ..plain },
        "seresnext50-32x4d" => Residual { groups: 32, width: 4, squeeze: true, ..plain },
        "seresnet101" => Residual { blocks: [3, 4, 23, 3], squeeze: true, ..plain },
        "seresnet50" => Residual { squeeze: true, ..plain },
        _ => return None,
    })
}

/// Stem and four stages.
pub(super) fn features(n: &mut Layers, x: Map, net: &Residual) -> Map {
    let x = if net.small {
        n.conv_norm(x, Conv::new(64, 3), Act::Relu)
    } else if net.deep {
        let x = deep_stem(n, x, Act::Relu, false);
        n.max_pool(x, 3, 2, 1)
    } else {
        let x = n.conv_norm(x, Conv::new(64, 7).stride(2), Act::Relu);
        n.max_pool(x, 3, 2, 1)
    };
    let mut x = n.cut(x, false);
    for (stage, &blocks) in net.blocks.iter().enumerate() {
        let planes = 64 << stage;
        let stride = if stage == 0 { 1 } else { 2 };
        x = block(n, x, net, planes, stride);
        x = n.cut(x, checkpointed(n));
        x = repeated(n, x, blocks - 1, |n, x| block(n, x, net, planes, 1));
    }
    x
}

/// Three small convolutions with their norms.
fn deep_stem(n: &mut Layers, x: Map, act: Act, fixed: bool) -> Map {
    [(32, 2), (32, 1), (64, 1)]
        .into_iter()
        .fold(x, |x, (out, stride)| normed(n, x, Conv::new(out, 3).stride(stride), act, fixed))
}

/// The maps of all four stages as RT-DETR has them (`modeling_rt_detr_resnet.py`): three small convolutions begin, shortcuts
/// are pooled before they are widened, ReLU is not in place, and everything is trained but fixed batch norms.
pub(super) fn pooled_stages(n: &mut Layers, x: Map, net: &Residual, norms: Norms) -> [Map; 4] {
    let fixed = norms == Norms::Constant;
    let x = deep_stem(n, x, Act::ReluCopy, fixed);
    let mut x = n.max_pool(x, 3, 2, 1);
    let mut stages = [x; 4];
    for (index, (kept, &blocks)) in stages.iter_mut().zip(&net.blocks).enumerate() {
        for block in 0..blocks {
            let stride = if index > 0 && block == 0 { 2 } else { 1 };
            let shape = Shape {
                planes: 64 << index,
                stride,
                dilation: 1,
                fixed,
                copies: true,
                pooled: true,
                first: block == 0,
            };
            x = block_with(n, x, net, shape);
        }
        *kept = x;
    }
    stages
}

/// As a backbone of detection: the maps of all four stages. From pretrained weights torchvision, detectron2 and
/// mmdetection fix the batch norms and freeze stem and first stage.
pub(super) fn stages(n: &mut Layers, x: Map, net: &Residual, norms: Norms) -> [Map; 4] {
    let mut x = stem(n, x, norms);
    let mut stages = [x; 4];
    for (index, kept) in stages.iter_mut().enumerate() {
        x = stage(n, x, net, index, false, norms);
        *kept = x;
    }
    stages
}

/// The first three stages alone.
pub(super) fn three(n: &mut Layers, x: Map, net: &Residual, norms: Norms) -> Map {
    let x = stem(n, x, norms);
    (0..3).fold(x, |x, index| stage(n, x, net, index, false, norms))
}

/// The fourth stage on maps of the third.
pub(super) fn fourth(n: &mut Layers, x: Map, net: &Residual, norms: Norms) -> Map {
    stage(n, x, net, 3, false, norms)
}

/// All stages, the fourth dilated to the size of the third.
pub(super) fn last_dilated(n: &mut Layers, x: Map, net: &Residual, norms: Norms) -> Map {
    let x = three(n, x, net, norms);
    stage(n, x, net, 3, true, norms)
}

fn stem(n: &mut Layers, x: Map, norms: Norms) -> Map {
    let trained = n.trained;
    n.trained = trained && norms == Norms::Trained;
    let x = normed(n, x, Conv::new(64, 7).stride(2), Act::Relu, norms == Norms::Constant);
    n.trained = trained;
    n.max_pool(x, 3, 2, 1)
}

/// One stage of a detection backbone; the first is frozen where norms are fixed.
fn stage(n: &mut Layers, mut x: Map, net: &Residual, index: usize, dilated: bool, norms: Norms) -> Map {
    let trained = n.trained;
    n.trained = trained && (index > 0 || norms == Norms::Trained);
    let fixed = norms == Norms::Constant;
    for block in 0..net.blocks.get(index).copied().unwrap_or_default() {
        let stride = if index > 0 && block == 0 && !dilated { 2 } else { 1 };
        x = block_with(n, x, net, Shape { dilation: 1 + u64::from(dilated), fixed, ..Shape::new(64 << index, stride) });
    }
    n.trained = trained;
    x
}

/// The first three stages, the third at the size of the second (SSD).
pub(super) fn three_stages(n: &mut Layers, x: Map, net: &Residual) -> Map {
    let x = n.conv_norm(x, Conv::new(64, 7).stride(2), Act::Relu);
    let mut x = n.max_pool(x, 3, 2, 1);
    for (stage, &blocks) in net.blocks.iter().take(3).enumerate() {
        for index in 0..blocks {
            let stride = if stage == 1 && index == 0 { 2 } else { 1 };
            x = block(n, x, net, 64 << stage, stride);
        }
    }
    x
}

/// The maps of the first convolution and of all four stages, everything trained.
pub(super) fn encoder(n: &mut Layers, x: Map, net: &Residual) -> [Map; 5] {
    let first = n.conv_norm(x, Conv::new(64, 7).stride(2), Act::Relu);
    let mut x = n.max_pool(first, 3, 2, 1);
    let mut maps = [first; 5];
    for (index, kept) in maps.iter_mut().skip(1).enumerate() {
        x = stage(n, x, net, index, false, Norms::Trained);
        *kept = x;
    }
    maps
}

/// As a backbone of segmentation: the last two stages keep their size and are dilated instead. Leaves the maps of the first
/// stage and of those two.
/// `deep`: three small convolutions begin it (`ResNetV1c` of mmsegmentation).
pub(super) fn dilated(n: &mut Layers, x: Map, net: &Residual, deep: bool) -> [Map; 3] {
    let x =
        if deep { deep_stem(n, x, Act::Relu, false) } else { n.conv_norm(x, Conv::new(64, 7).stride(2), Act::Relu) };
    let mut x = n.max_pool(x, 3, 2, 1);
    let (mut fine, mut third) = (x, x);
    for (stage, &blocks) in net.blocks.iter().enumerate() {
        let planes = 64 << stage;
        // The first block of a dilated stage still has the dilation of the stage before.
        let (stride, first, rest) = match stage {
            0 => (1, 1, 1),
            1 => (2, 1, 1),
            2 => (1, 1, 2),
            _ => (1, 2, 4),
        };
        for index in 0..blocks {
            let dilation = if index == 0 { first } else { rest };
            let stride = if index == 0 { stride } else { 1 };
            x = block_with(n, x, net, Shape { dilation, ..Shape::new(planes, stride) });
        }
        match stage {
            0 => fine = x,
            2 => third = x,
            _ => {}
        }
    }
    [fine, third, x]
}

/// The maps of the first stage, and of the last at a sixteenth of the pictures' size, dilated.
pub(super) fn sixteenth(n: &mut Layers, x: Map, net: &Residual) -> (Map, Map) {
    let x = stem(n, x, Norms::Trained);
    let fine = stage(n, x, net, 0, false, Norms::Trained);
    let x = (1..3).fold(fine, |x, index| stage(n, x, net, index, false, Norms::Trained));
    (fine, stage(n, x, net, 3, true, Norms::Trained))
}

/// A residual block.
#[derive(Clone, Copy, Debug)]
struct Shape {
    planes: u64,
    stride: u64,
    dilation: u64,
    /// Batch norms are fixed.
    fixed: bool,
    /// ReLU is not in place.
    copies: bool,
    /// Shortcuts are pooled before they are widened.
    pooled: bool,
    /// The first of its stage.
    first: bool,
}

impl Shape {
    const fn new(planes: u64, stride: u64) -> Self {
        Self { planes, stride, dilation: 1, fixed: false, copies: false, pooled: false, first: false }
    }
}

/// Convolution, batch norm (fixed or not), activation.
fn normed(n: &mut Layers, x: Map, conv: Conv, act: Act, fixed: bool) -> Map {
    if fixed {
        let y = n.conv(x, conv);
        let y = n.frozen_batch_norm(y);
        n.act(y, act)
    } else {
        n.conv_norm(x, conv, act)
    }
}

fn block_with(n: &mut Layers, x: Map, net: &Residual, shape: Shape) -> Map {
    let Shape { planes, stride, dilation, fixed, copies, pooled, first } = shape;
    let relu = if copies { Act::ReluCopy } else { Act::Relu };
    let norm = |n: &mut Layers, x: Map, conv: Conv, act: Act| normed(n, x, conv, act, fixed);
    let out = if net.bottleneck { planes * 4 } else { planes };
    let mut y = if net.bottleneck {
        let inner = planes * net.width / 64 * net.groups;
        let y = norm(n, x, Conv::new(inner, 1), relu);
        let middle = Conv::new(inner, 3).stride(stride).groups(net.groups).dilation(dilation);
        let y = norm(n, y, middle, relu);
        norm(n, y, Conv::new(out, 1), Act::None)
    } else {
        let y = norm(n, x, Conv::new(out, 3).stride(stride).dilation(dilation), relu);
        norm(n, y, Conv::new(out, 3), Act::None)
    };
    if net.squeeze {
        y = n.squeeze_excite(y, out / 16, Act::Relu, Act::Sigmoid);
    }
    let identity = if pooled && stride != 1 {
        let halved = n.avg_pool(x, 2, 2, 0);
        norm(n, halved, Conv::new(out, 1), Act::None)
    } else if stride != 1 || x.channels != out || first {
        norm(n, x, Conv::new(out, 1).stride(stride), Act::None)
    } else {
        x
    };
    let sum = n.add_in_place(y, identity);
    n.act(sum, Act::Relu)
}

fn block(n: &mut Layers, x: Map, net: &Residual, planes: u64, stride: u64) -> Map {
    block_with(n, x, net, Shape { pooled: net.deep, ..Shape::new(planes, stride) })
}
