//! Segmentation of scenes: `PSPNet` and `UPerNet` as mmsegmentation writes them, U-Net, U-Net++, FPN and `DeepLabV3+` as
//! `segmentation_models_pytorch` does.

use super::super::{Pictures, next, residual, swin};
use super::{fcn_head, pixel_loss, separable_pyramid};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// Classes of ADE20K, which these are mostly trained on.
const SCENES: u64 = 150;

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (kind, backbone) = id.split_once('-')?;
    match kind {
        "pspnet" => pspnet(n, &resnet(backbone)?, pictures),
        "upernet" => upernet(n, backbone, pictures)?,
        "unet" => unet(n, &resnet(backbone)?, pictures),
        "fpn" => fpn(n, &resnet(backbone)?, pictures),
        "deeplabv3plus" => plus(n, &resnet(backbone)?, pictures),
        _ => return None,
    }
    Some(())
}

fn resnet(backbone: &str) -> Option<residual::Residual> {
    residual::network(&backbone.strip_prefix('r').map(|depth| format!("resnet{depth}"))?)
}

/// Pooled to 1, 2, 3 and 6 places a side, brought to a quarter of the channels, enlarged again and put side by side.
fn pooled(n: &mut Layers, x: Map, out: u64) -> Map {
    let mut parts = vec![x];
    for side in [1, 2, 3, 6] {
        let y = n.adaptive_pool(x, side);
        let y = n.conv_norm(y, Conv::new(out, 1), Act::Relu);
        parts.push(n.resize(y, x.height, x.width));
    }
    let joined = n.cat_maps(&parts);
    n.conv_norm(joined, Conv::new(out, 3), Act::Relu)
}

/// Classes of every pixel at the pictures' size, and beside them those of an auxiliary head on earlier maps.
pub(super) fn finish(n: &mut Layers, x: Map, aux: Map, pictures: Pictures) {
    let classes = pictures.classes_or(SCENES);
    let dropped = Map { t: n.b.dropout(x.t, 0.1), ..x };
    let logits = n.conv(dropped, Conv::new(classes, 1).bias());
    let logits = n.resize(logits, pictures.height, pictures.width);
    let aux = fcn_head(n, aux, classes);
    let aux = n.resize(aux, pictures.height, pictures.width);
    pixel_loss(n, &[(logits, false), (aux, true)], pictures);
}

fn pspnet(n: &mut Layers, net: &residual::Residual, pictures: Pictures) {
    let x = n.pictures(3, pictures);
    let [_, third, last] = residual::dilated(n, x, net, true);
    let x = pooled(n, last, last.channels / 4);
    finish(n, x, third, pictures);
}

/// A pyramid whose coarsest level is pooled first; all levels at the finest's size side by side.
fn upernet(n: &mut Layers, backbone: &str, pictures: Pictures) -> Option<()> {
    let x = n.pictures(3, pictures);
    let maps = if let Some(net) = resnet(backbone) {
        let [_, stages @ ..] = residual::encoder(n, x, &net);
        stages
    } else if let Some(net) = swin::network(backbone) {
        swin::stages(n, x, &net)
    } else {
        next::stages(n, x, &next::network(backbone)?)
    };
    let [first, second, third, last] = maps;
    let mut levels = vec![pooled(n, last, 512)];
    for map in [third, second, first] {
        let lateral = n.conv_norm(map, Conv::new(512, 1), Act::Relu);
        let above = levels[levels.len() - 1];
        let enlarged = n.resize(above, lateral.height, lateral.width);
        levels.push(n.add_maps(lateral, enlarged));
    }
    let mut parts = Vec::new();
    for (index, level) in levels.into_iter().enumerate().rev() {
        let y = if index > 0 { n.conv_norm(level, Conv::new(512, 3), Act::Relu) } else { level };
        parts.push(if y.height == first.height { y } else { n.resize(y, first.height, first.width) });
    }
    let joined = n.cat_maps(&parts);
    let x = n.conv_norm(joined, Conv::new(512, 3), Act::Relu);
    finish(n, x, third, pictures);
    Some(())
}

/// Encoder maps from coarse to fine, each twice as large as the one before and joined with what the encoder had there.
fn unet(n: &mut Layers, net: &residual::Residual, pictures: Pictures) {
    let x = n.pictures(3, pictures);
    let [first, second, third, fourth, last] = residual::encoder(n, x, net);
    let mut x = last;
    let skips = [Some(fourth), Some(third), Some(second), Some(first), None];
    for (skip, out) in skips.into_iter().zip([256, 128, 64, 32, 16]) {
        x = n.enlarge(x, 2);
        if let Some(skip) = skip {
            x = n.cat_maps(&[x, skip]);
        }
        x = n.conv_norm(x, Conv::new(out, 3), Act::Relu);
        x = n.conv_norm(x, Conv::new(out, 3), Act::Relu);
    }
    let logits = n.conv(x, Conv::new(pictures.classes_or(1), 3).bias());
    pixel_loss(n, &[(logits, false)], pictures);
}

/// A pyramid of 256 channels, each level brought to a quarter of the picture's size at 128 channels; their sum is classified.
fn fpn(n: &mut Layers, net: &residual::Residual, pictures: Pictures) {
    let x = n.pictures(3, pictures);
    let [_, stages @ ..] = residual::encoder(n, x, net);
    let mut levels: Vec<Map> = Vec::new();
    for &stage in stages.iter().rev() {
        let mut lateral = n.conv(stage, Conv::new(256, 1).bias());
        if let Some(&above) = levels.last() {
            let enlarged = n.enlarge(above, 2);
            lateral = n.add_maps(enlarged, lateral);
        }
        levels.push(lateral);
    }
    let mut sum: Option<Map> = None;
    for (level, steps) in levels.into_iter().zip([3, 2, 1, 0]) {
        let mut x = level;
        for step in 0..u64::max(steps, 1) {
            x = n.conv(x, Conv::new(128, 3));
            x = n.group_norm(x, 32, true);
            x = n.act(x, Act::Relu);
            if step < steps {
                x = n.resize(x, 2 * x.height, 2 * x.width);
            }
        }
        sum = Some(match sum {
            Some(sum) => n.add_maps(sum, x),
            None => x,
        });
    }
    let Some(sum) = sum else { return };
    let dropped = Map { t: n.b.dropout(sum.t, 0.2), ..sum };
    let logits = n.conv(dropped, Conv::new(pictures.classes_or(1), 1).bias());
    let logits = n.resize(logits, 4 * logits.height, 4 * logits.width);
    pixel_loss(n, &[(logits, false)], pictures);
}

/// mmsegmentation's atrous pyramid, as wide as a quarter of the backbone, its convolutions separable in `DeepLabV3+`.
pub(super) fn wide_pyramid(n: &mut Layers, last: Map, separable: bool) -> Map {
    let width = last.channels / 4;
    let mut parts = vec![n.conv_norm(last, Conv::new(width, 1), Act::Relu)];
    for rate in [12, 24, 36] {
        parts.push(if separable {
            super::separable(n, last, width, rate)
        } else {
            n.conv_norm(last, Conv::new(width, 3).dilation(rate), Act::Relu)
        });
    }
    let mean = n.global_pool(last);
    let mean = n.conv_norm(mean, Conv::new(width, 1), Act::Relu);
    parts.push(n.resize(mean, last.height, last.width));
    let joined = n.cat_maps(&parts);
    n.conv_norm(joined, Conv::new(width, 3), Act::Relu)
}

/// `DeepLabV3+`: separable atrous pyramid, joined with the first stage at a quarter of the size; the pyramid at a sixteenth,
/// or at an eighth and with an auxiliary head where `OpenMMLab` trains it.
fn plus(n: &mut Layers, net: &residual::Residual, pictures: Pictures) {
    let x = n.pictures(3, pictures);
    if pictures.evaluated {
        let [first, third, last] = residual::dilated(n, x, net, true);
        let width = last.channels / 4;
        let x = wide_pyramid(n, last, true);
        let x = n.resize(x, first.height, first.width);
        let fine = n.conv_norm(first, Conv::new(48, 1), Act::Relu);
        let x = n.cat_maps(&[x, fine]);
        let x = super::separable(n, x, width, 1);
        let x = super::separable(n, x, width, 1);
        finish(n, x, third, pictures);
        return;
    }
    let (fine, last) = residual::sixteenth(n, x, net);
    let x = separable_pyramid(n, last);
    let x = n.resize(x, 4 * x.height, 4 * x.width);
    let skip = n.conv_norm(fine, Conv::new(48, 1), Act::Relu);
    let x = n.cat_maps(&[x, skip]);
    let x = super::separable(n, x, 256, 1);
    let logits = n.conv(x, Conv::new(pictures.classes_or(1), 1).bias());
    let logits = n.resize(logits, 4 * logits.height, 4 * logits.width);
    pixel_loss(n, &[(logits, false)], pictures);
}
