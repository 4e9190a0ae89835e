//! Semantic segmentation: U-Net, DeepLab, FCN, `PSPNet`, `UPerNet`, `SegFormer`, nnU-Net.

mod former;
mod scenes;
mod volume;

use super::{Pictures, residual};
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    match id {
        _ if scenes::write(n, id, pictures).is_some() => {}
        _ if volume::write(n, id, pictures).is_some() => {}
        _ if former::write(n, id, pictures).is_some() => {}
        "unet-classic" => unet(n, pictures, 64),
        "unet-half" => unet(n, pictures, 32),
        "deeplabv3-r50" => atrous(n, pictures, "resnet50", true),
        "deeplabv3-r101" => atrous(n, pictures, "resnet101", true),
        "fcn-r50" => atrous(n, pictures, "resnet50", false),
        "fcn-r101" => atrous(n, pictures, "resnet101", false),
        _ => return None,
    }
    Some(())
}

/// Cross-entropy of every pixel; several heads are weighted and added.
fn pixel_loss(n: &mut Layers, heads: &[(Map, bool)], pictures: Pictures) {
    for (slot, (logits, _)) in (0..).zip(heads) {
        n.b.put(Slot(slot), logits.t);
    }
    n.b.end_segment(false, false);
    n.b.end_group();
    let mut losses: Vec<Tensor> = Vec::new();
    for (slot, &(_, scaled)) in (0..).zip(heads) {
        let logits = n.b.take(Slot(slot));
        let loss = n.cross_entropy(logits);
        losses.push(if scaled { n.b.scale(loss) } else { loss });
    }
    let total = losses.iter().copied().reduce(|a, b| n.b.add(a, b));
    debug_assert!(total.is_some());
    let pixels = n.batch * pictures.height * pictures.width * pictures.depth;
    n.b.program.batch_bytes += bytes(pixels, Dtype::I64);
    n.b.end_segment(false, true);
    n.b.end_group();
}

/// The classic U-Net with batch norm, padding kept, ReLU in place.
fn unet(n: &mut Layers, pictures: Pictures, width: u64) {
    let double = |n: &mut Layers, x: Map, out: u64| {
        let x = n.conv_norm(x, Conv::new(out, 3), Act::Relu);
        n.conv_norm(x, Conv::new(out, 3), Act::Relu)
    };
    let mut x = n.pictures(3, pictures);
    let mut skips = Vec::new();
    for level in 0..5 {
        if level > 0 {
            x = n.max_pool(x, 2, 2, 0);
        }
        x = double(n, x, width << level);
        skips.push(x);
    }
    skips.pop();
    for level in (0..4).rev() {
        let up = n.conv_transpose(x, width << level, 2, 2, true);
        let Some(skip) = skips.pop() else { continue };
        x = n.cat_maps(&[skip, up]);
        x = double(n, x, width << level);
    }
    let logits = n.conv(x, Conv::new(pictures.classes_or(2), 1).bias());
    pixel_loss(n, &[(logits, false)], pictures);
}

/// torchvision's FCN and DeepLabV3: a residual backbone whose last stages are dilated, a head, and an auxiliary head.
fn atrous(n: &mut Layers, pictures: Pictures, backbone: &str, pyramid: bool) {
    let classes = pictures.classes_or(21);
    let Some(net) = residual::network(backbone) else { return };
    let x = n.pictures(3, pictures);
    let [_, third, last] = residual::dilated(n, x, &net, pictures.evaluated);
    if pictures.evaluated {
        // mmsegmentation's heads are as wide as a quarter of the backbone; its FCN has two convolutions and sees their
        // input once more.
        let width = last.channels / 4;
        let x = if pyramid {
            scenes::wide_pyramid(n, last, false)
        } else {
            let y = n.conv_norm(last, Conv::new(width, 3), Act::Relu);
            let y = n.conv_norm(y, Conv::new(width, 3), Act::Relu);
            let y = n.cat_maps(&[last, y]);
            n.conv_norm(y, Conv::new(width, 3), Act::Relu)
        };
        scenes::finish(n, x, third, pictures);
        return;
    }
    let out = if pyramid { pyramid_pooling(n, last, classes) } else { fcn_head(n, last, classes) };
    let out = n.resize(out, pictures.height, pictures.width);
    let aux = fcn_head(n, third, classes);
    let aux = n.resize(aux, pictures.height, pictures.width);
    pixel_loss(n, &[(out, false), (aux, true)], pictures);
}

fn fcn_head(n: &mut Layers, x: Map, classes: u64) -> Map {
    let y = n.conv_norm(x, Conv::new(x.channels / 4, 3), Act::ReluCopy);
    let y = Map { t: n.b.dropout(y.t, 0.1), ..y };
    n.conv(y, Conv::new(classes, 1).bias())
}

/// Atrous spatial pyramid pooling and the classifier.
fn pyramid_pooling(n: &mut Layers, x: Map, classes: u64) -> Map {
    let mut parts = vec![n.conv_norm(x, Conv::new(256, 1), Act::ReluCopy)];
    for rate in [12, 24, 36] {
        parts.push(n.conv_norm(x, Conv::new(256, 3).dilation(rate), Act::ReluCopy));
    }
    let pooled = n.global_pool(x);
    let pooled = n.conv_norm(pooled, Conv::new(256, 1), Act::ReluCopy);
    parts.push(n.resize(pooled, x.height, x.width));
    let y = n.cat_maps(&parts);
    let y = n.conv_norm(y, Conv::new(256, 1), Act::ReluCopy);
    let y = Map { t: n.b.dropout(y.t, 0.5), ..y };
    let y = n.conv_norm(y, Conv::new(256, 3), Act::ReluCopy);
    n.conv(y, Conv::new(classes, 1).bias())
}

/// A depthwise convolution, dilated or not, and a pointwise one with norm and ReLU.
fn separable(n: &mut Layers, x: Map, out: u64, dilation: u64) -> Map {
    let y = n.conv(x, Conv::new(x.channels, 3).groups(x.channels).dilation(dilation));
    n.conv_norm(y, Conv::new(out, 1), Act::Relu)
}

/// The same pyramid of separable convolutions (`segmentation_models_pytorch`, `decoders/deeplabv3`).
fn separable_pyramid(n: &mut Layers, x: Map) -> Map {
    let mut parts = vec![n.conv_norm(x, Conv::new(256, 1), Act::Relu)];
    for rate in [12, 24, 36] {
        parts.push(separable(n, x, 256, rate));
    }
    let pooled = n.global_pool(x);
    let pooled = n.conv_norm(pooled, Conv::new(256, 1), Act::Relu);
    parts.push(n.resize(pooled, x.height, x.width));
    let y = n.cat_maps(&parts);
    let y = n.conv_norm(y, Conv::new(256, 1), Act::Relu);
    let y = Map { t: n.b.dropout(y.t, 0.5), ..y };
    separable(n, y, 256, 1)
}
