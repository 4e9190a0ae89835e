//! ConvNeXt.

use super::{finish, repeated, trains_head};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// Blocks and channels of the four stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    blocks: [u64; 4],
    channels: [u64; 4],
    /// The second version: response normalisation in the block instead of a scale on the branch.
    second: bool,
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<Next> {
    let (name, second) = match id.strip_prefix("convnextv2-") {
        Some(name) => (name, true),
        None => (id.strip_prefix("convnext-")?, false),
    };
    let (blocks, width) = match name {
        "atto" => ([2, 2, 6, 2], 40),
        "femto" => ([2, 2, 6, 2], 48),
        "pico" => ([2, 2, 6, 2], 64),
        "nano" => ([2, 2, 8, 2], 80),
        "tiny" => ([3, 3, 9, 3], 96),
        "small" => ([3, 3, 27, 3], 96),
        "base" => ([3, 3, 27, 3], 128),
        "large" => ([3, 3, 27, 3], 192),
        "xlarge" => ([3, 3, 27, 3], 256),
        "huge" => ([3, 3, 27, 3], 352),
        _ => return None,
    };
    Some(Next { blocks, channels: [width, 2 * width, 4 * width, 8 * width], second })
}

/// The four stages.
pub(super) fn features(n: &mut Layers, x: Map, net: &Next) -> Map {
    let mut x = n.conv(x, Conv::new(net.channels[0], 4).stride(4).padding(0).bias());
    x = n.channel_norm(x);
    x = n.cut(x, false);
    for (stage, (&blocks, &channels)) in net.blocks.iter().zip(&net.channels).enumerate() {
        if stage > 0 {
            x = n.channel_norm(x);
            x = n.conv(x, Conv::new(channels, 2).stride(2).padding(0).bias());
            x = n.cut(x, false);
        }
        x = repeated(n, x, blocks, |n, x| block(n, x, net.second));
    }
    x
}

/// As a backbone of detection and segmentation: the normed maps of all four stages.
pub(super) fn stages(n: &mut Layers, x: Map, net: &Next) -> [Map; 4] {
    let x = n.conv(x, Conv::new(net.channels[0], 4).stride(4).padding(0).bias());
    let mut x = n.channel_norm(x);
    let mut stages = [x; 4];
    for ((stage, (&blocks, &channels)), kept) in net.blocks.iter().zip(&net.channels).enumerate().zip(&mut stages) {
        if stage > 0 {
            x = n.channel_norm(x);
            x = n.conv(x, Conv::new(channels, 2).stride(2).padding(0).bias());
        }
        for _ in 0..blocks {
            x = block(n, x, net.second);
        }
        *kept = n.channel_norm(x);
    }
    stages
}

fn block(n: &mut Layers, x: Map, second: bool) -> Map {
    let channels = x.channels;
    let y = n.conv(x, Conv::new(channels, 7).groups(channels).bias());
    let y = n.channel_norm(y);
    let y = n.fully_connected(y.t, 4 * channels);
    let mut y = n.act_tensor(y, Act::Gelu);
    if second {
        y = n.response_norm(y);
    }
    let mut y = n.fully_connected(y, channels);
    if !second {
        let scale = n.weight(channels, 1);
        y = n.b.mul(scale, y);
    }
    let y = Map { t: y, ..x };
    // torchvision and timm leave the drop of branches off unless asked.
    n.add_in_place(y, x)
}

/// Pooling, norm, classifier, loss.
pub(super) fn head(n: &mut Layers, features: Map, classes: u64) {
    let pooled = n.global_pool(features);
    let x = n.channel_norm(pooled);
    n.trained = trains_head(n);
    let logits = n.fully_connected(x.t, classes);
    finish(n, logits);
}
