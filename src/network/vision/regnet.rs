//! `RegNet` as timm and torchvision write it: residual blocks of grouped convolutions, with squeeze and excitation or not.

use super::repeated;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// A network of four stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegNet {
    /// Widths, then depths, then channels of a group.
    sizes: [u16; 9],
    /// Squeeze and excitation (`RegNetY`).
    squeeze: bool,
}

/// Sizes by what follows `regnetx-` and `regnety-` (`timm/models/regnet.py`).
const X: [(&str, [u16; 9]); 12] = [
    ("002", [24, 56, 152, 368, 1, 1, 4, 7, 8]),
    ("004", [32, 64, 160, 384, 1, 2, 7, 12, 16]),
    ("006", [48, 96, 240, 528, 1, 3, 5, 7, 24]),
    ("008", [64, 128, 288, 672, 1, 3, 7, 5, 16]),
    ("016", [72, 168, 408, 912, 2, 4, 10, 2, 24]),
    ("032", [96, 192, 432, 1008, 2, 6, 15, 2, 48]),
    ("040", [80, 240, 560, 1360, 2, 5, 14, 2, 40]),
    ("064", [168, 392, 784, 1624, 2, 4, 10, 1, 56]),
    ("080", [80, 240, 720, 1920, 2, 5, 15, 1, 120]),
    ("120", [224, 448, 896, 2240, 2, 5, 11, 1, 112]),
    ("160", [256, 512, 896, 2048, 2, 6, 13, 1, 128]),
    ("320", [336, 672, 1344, 2520, 2, 7, 13, 1, 168]),
];
const Y: [(&str, [u16; 9]); 12] = [
    ("002", [24, 56, 152, 368, 1, 1, 4, 7, 8]),
    ("004", [48, 104, 208, 440, 1, 3, 6, 6, 8]),
    ("006", [48, 112, 256, 608, 1, 3, 7, 4, 16]),
    ("008", [64, 128, 320, 768, 1, 3, 8, 2, 16]),
    ("016", [48, 120, 336, 888, 2, 6, 17, 2, 24]),
    ("032", [72, 216, 576, 1512, 2, 5, 13, 1, 24]),
    ("040", [128, 192, 512, 1088, 2, 6, 12, 2, 64]),
    ("064", [144, 288, 576, 1296, 2, 7, 14, 2, 72]),
    ("080", [168, 448, 896, 2016, 2, 4, 10, 1, 56]),
    ("120", [224, 448, 896, 2240, 2, 5, 11, 1, 112]),
    ("160", [224, 448, 1232, 3024, 2, 4, 11, 1, 112]),
    ("320", [232, 696, 1392, 3712, 2, 5, 12, 1, 232]),
];

/// The network with this id.
pub(super) fn network(id: &str) -> Option<RegNet> {
    let (size, table, squeeze) = match id.strip_prefix("regnety-") {
        Some(size) => (size, &Y, true),
        None => (id.strip_prefix("regnetx-")?, &X, false),
    };
    table.iter().find(|(name, _)| *name == size).map(|&(_, sizes)| RegNet { sizes, squeeze })
}

/// Stem and stages.
pub(super) fn features(n: &mut Layers, x: Map, net: &RegNet) -> Map {
    let x = n.conv_norm(x, Conv::new(32, 3).stride(2), Act::Relu);
    let mut x = n.cut(x, false);
    let group = u64::from(net.sizes[8]);
    for (&width, &depth) in net.sizes.iter().zip(&net.sizes[4..8]) {
        let (width, depth) = (u64::from(width), u64::from(depth));
        x = repeated(n, x, 1, |n, x| block(n, x, (width, group), net.squeeze, 2));
        x = repeated(n, x, depth - 1, |n, x| block(n, x, (width, group), net.squeeze, 1));
    }
    x
}

fn block(n: &mut Layers, x: Map, (width, group): (u64, u64), squeeze: bool, stride: u64) -> Map {
    let squeezed = (x.channels as f64 / 4.0).round() as u64;
    let y = n.conv_norm(x, Conv::new(width, 1), Act::Relu);
    let y = n.conv_norm(y, Conv::new(width, 3).stride(stride).groups(width / group.min(width)), Act::Relu);
    let y = if squeeze { n.squeeze_excite(y, squeezed, Act::Relu, Act::Sigmoid) } else { y };
    let y = n.conv_norm(y, Conv::new(width, 1), Act::None);
    let identity = if stride != 1 || x.channels != width {
        n.conv_norm(x, Conv::new(width, 1).stride(stride), Act::None)
    } else {
        x
    };
    let sum = n.add_maps(y, identity);
    n.act(sum, Act::Relu)
}
