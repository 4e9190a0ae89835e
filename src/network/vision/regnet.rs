//! `RegNetY` as timm and torchvision write it: residual blocks of grouped convolutions with squeeze and excitation.

use super::repeated;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// A network of four stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegNet {
    widths: [u64; 4],
    depths: [u64; 4],
    /// Channels of a group.
    group: u64,
}

/// The network with this id (`timm/models/regnet.py`).
pub(super) fn network(id: &str) -> Option<RegNet> {
    let net = |widths, depths, group| RegNet { widths, depths, group };
    Some(match id {
        "regnety-004" => net([48, 104, 208, 440], [1, 3, 6, 6], 8),
        "regnety-008" => net([64, 128, 320, 768], [1, 3, 8, 2], 16),
        "regnety-016" => net([48, 120, 336, 888], [2, 6, 17, 2], 24),
        "regnety-032" => net([72, 216, 576, 1512], [2, 5, 13, 1], 24),
        "regnety-080" => net([168, 448, 896, 2016], [2, 4, 10, 1], 56),
        "regnety-160" => net([224, 448, 1232, 3024], [2, 4, 11, 1], 112),
        "regnety-320" => net([232, 696, 1392, 3712], [2, 5, 12, 1], 232),
        _ => return None,
    })
}

/// Stem and stages.
pub(super) fn features(n: &mut Layers, x: Map, net: &RegNet) -> Map {
    let x = n.conv_norm(x, Conv::new(32, 3).stride(2), Act::Relu);
    let mut x = n.cut(x, false);
    for (&width, &depth) in net.widths.iter().zip(&net.depths) {
        x = repeated(n, x, 1, |n, x| block(n, x, width, net.group, 2));
        x = repeated(n, x, depth - 1, |n, x| block(n, x, width, net.group, 1));
    }
    x
}

fn block(n: &mut Layers, x: Map, width: u64, group: u64, stride: u64) -> Map {
    let squeezed = (x.channels as f64 / 4.0).round() as u64;
    let y = n.conv_norm(x, Conv::new(width, 1), Act::Relu);
    let y = n.conv_norm(y, Conv::new(width, 3).stride(stride).groups(width / group), Act::Relu);
    let y = n.squeeze_excite(y, squeezed, Act::Relu, Act::Sigmoid);
    let y = n.conv_norm(y, Conv::new(width, 1), Act::None);
    let identity = if stride != 1 || x.channels != width {
        n.conv_norm(x, Conv::new(width, 1).stride(stride), Act::None)
    } else {
        x
    };
    let sum = n.add_maps(y, identity);
    n.act(sum, Act::Relu)
}
