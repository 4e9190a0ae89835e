//! Inverted residuals: `MobileNet` V2 and V3, `EfficientNet` and its second version.

use super::{checkpointed, finish, trains_head};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// A run of inverted residuals.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Channels inside over channels in, in 1/64.
    expand: f64,
    kernel: u64,
    stride: u64,
    out: u64,
    times: u64,
    /// Squeeze and excitation: channels of the squeeze over channels in (`EfficientNet`) or inside (`MobileNet` V3), 0 = none.
    squeeze: Squeeze,
    act: Act,
    /// Expansion and depthwise convolution in one 3 x 3.
    fused: bool,
    /// An activation at the end of a block, to which nothing is added.
    acts: bool,
}

/// Without what some have.
const PLAIN: Stage = Stage {
    expand: 1.0,
    kernel: 3,
    stride: 1,
    out: 0,
    times: 1,
    squeeze: Squeeze::None,
    act: Act::Relu6,
    fused: false,
    acts: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Squeeze {
    None,
    /// A quarter of the block's input.
    OfInput,
    /// A quarter of the channels inside, rounded to eights.
    OfInside,
}

/// A network of inverted residuals.
#[derive(Clone, Debug)]
pub(super) struct Mobile {
    stem: u64,
    stages: Vec<Stage>,
    /// Channels of the last 1 x 1 convolution, 0 = none.
    last: u64,
    /// Width of a further linear layer before the classifier, 0 = none.
    hidden: u64,
    act: Act,
    stem_act: Act,
    /// Highest probability of dropping a branch.
    drop_branch: f64,
    dropout: f64,
}

/// `_make_divisible` of the reference code: to the nearest multiple of 8, but not more than a tenth below.
fn divisible(value: f64) -> u64 {
    let rounded = (((value + 4.0) / 8.0).floor() * 8.0).max(8.0);
    if rounded < 0.9 * value { rounded as u64 + 8 } else { rounded as u64 }
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<Mobile> {
    if let Some(version) = id.strip_prefix("efficientnet-b") {
        // Width, depth, dropout (Tan and Le's scaling; torchvision).
        let (width, depth, dropout) = match version {
            "0" => (1.0, 1.0, 0.2),
            "1" => (1.0, 1.1, 0.2),
            "2" => (1.1, 1.2, 0.3),
            "3" => (1.2, 1.4, 0.3),
            "4" => (1.4, 1.8, 0.4),
            "5" => (1.6, 2.2, 0.4),
            "6" => (1.8, 2.6, 0.5),
            "7" => (2.0, 3.1, 0.5),
            "8" => (2.2, 3.6, 0.5),
            _ => return None,
        };
        return Some(efficient(width, depth, dropout));
    }
    if let Some(version) = id.strip_prefix("efficientnet-lite") {
        return Some(lite(version.parse().ok().filter(|v| *v < 5)?));
    }
    Some(match id {
        "mobilenet-v1" => version_one(),
        "mnasnet-0.5" => mnas(0.5),
        "mnasnet-1.0" => mnas(1.0),
        "mnasnet-1.3" => mnas(1.3),
        "mobilenet-v2" => version_two(),
        "mobilenet-v3-large" => version_three(true),
        "mobilenet-v3-small" => version_three(false),
        "efficientnetv2-s" => efficient_two(24, &V2_S, 0.2),
        "efficientnetv2-m" => efficient_two(24, &V2_M, 0.3),
        "efficientnetv2-l" => efficient_two(32, &V2_L, 0.4),
        _ => return None,
    })
}

fn efficient(width: f64, depth: f64, dropout: f64) -> Mobile {
    // Expansion, kernel, stride, channels, layers.
    const TABLE: [(f64, u64, u64, u64, u64); 7] = [
        (1.0, 3, 1, 16, 1),
        (6.0, 3, 2, 24, 2),
        (6.0, 5, 2, 40, 2),
        (6.0, 3, 2, 80, 3),
        (6.0, 5, 1, 112, 3),
        (6.0, 5, 2, 192, 4),
        (6.0, 3, 1, 320, 1),
    ];
    let stages: Vec<Stage> = TABLE
        .iter()
        .map(|&(expand, kernel, stride, out, times)| Stage {
            expand,
            kernel,
            stride,
            out: divisible(out as f64 * width),
            times: (times as f64 * depth).ceil() as u64,
            squeeze: Squeeze::OfInput,
            act: Act::Silu,
            ..PLAIN
        })
        .collect();
    let last = 4 * stages.last().map_or(320, |s| s.out);
    let stem = divisible(32.0 * width);
    Mobile { stem, stages, last, hidden: 0, act: Act::Silu, stem_act: Act::Silu, drop_branch: 0.2, dropout }
}

/// `EfficientNet-Lite`: no squeeze, `ReLU6`, and first and last parts that do not grow (`gen_efficientnet_lite` of timm).
fn lite(version: usize) -> Mobile {
    const SCALES: [(f64, f64); 5] = [(1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8)];
    let (width, depth) = SCALES.get(version).copied().unwrap_or((1.0, 1.0));
    let mut net = efficient(width, depth, 0.0);
    for stage in &mut net.stages {
        stage.squeeze = Squeeze::None;
        stage.act = Act::Relu6;
    }
    for end in [0, 6] {
        if let Some(stage) = net.stages.get_mut(end) {
            stage.times = 1;
        }
    }
    Mobile { stem: 32, last: 1280, act: Act::Relu6, stem_act: Act::Relu6, drop_branch: 0.0, ..net }
}

/// `MNASNet` of torchvision, by its multiplier of width.
fn mnas(width: f64) -> Mobile {
    const TABLE: [(f64, u64, u64, u64, u64); 7] = [
        (1.0, 3, 1, 16, 1),
        (3.0, 3, 2, 24, 3),
        (3.0, 5, 2, 40, 3),
        (6.0, 5, 2, 80, 3),
        (6.0, 3, 1, 96, 2),
        (6.0, 5, 2, 192, 4),
        (6.0, 3, 1, 320, 1),
    ];
    let scaled = |channels: u64| (channels as f64 * width / 8.0).round() as u64 * 8;
    let stages = TABLE
        .iter()
        .map(|&(expand, kernel, stride, out, times)| Stage {
            expand,
            kernel,
            stride,
            out: scaled(out),
            times,
            act: Act::Relu,
            ..PLAIN
        })
        .collect();
    Mobile { stem: scaled(32), stages, act: Act::Relu, stem_act: Act::Relu, ..version_two() }
}

/// The first `MobileNet` (`mobilenetv1_100` of timm): a convolution for each channel and one of 1 x 1, both with norm and
/// `ReLU6`.
fn version_one() -> Mobile {
    const TABLE: [(u64, u64, u64); 5] = [(64, 1, 1), (128, 2, 2), (256, 2, 2), (512, 6, 2), (1024, 2, 2)];
    let stages = TABLE.iter().map(|&(out, times, stride)| Stage { stride, out, times, acts: true, ..PLAIN }).collect();
    Mobile { stages, last: 0, dropout: 0.0, ..version_two() }
}

/// Fused or not, expansion, stride, channels, layers.
type Row = (bool, f64, u64, u64, u64);

const V2_S: [Row; 6] = [
    (true, 1.0, 1, 24, 2),
    (true, 4.0, 2, 48, 4),
    (true, 4.0, 2, 64, 4),
    (false, 4.0, 2, 128, 6),
    (false, 6.0, 1, 160, 9),
    (false, 6.0, 2, 256, 15),
];
const V2_M: [Row; 7] = [
    (true, 1.0, 1, 24, 3),
    (true, 4.0, 2, 48, 5),
    (true, 4.0, 2, 80, 5),
    (false, 4.0, 2, 160, 7),
    (false, 6.0, 1, 176, 14),
    (false, 6.0, 2, 304, 18),
    (false, 6.0, 1, 512, 5),
];
const V2_L: [Row; 7] = [
    (true, 1.0, 1, 32, 4),
    (true, 4.0, 2, 64, 7),
    (true, 4.0, 2, 96, 7),
    (false, 4.0, 2, 192, 10),
    (false, 6.0, 1, 224, 19),
    (false, 6.0, 2, 384, 25),
    (false, 6.0, 1, 640, 7),
];

fn efficient_two(stem: u64, table: &[Row], dropout: f64) -> Mobile {
    let stages = table
        .iter()
        .map(|&(fused, expand, stride, out, times)| Stage {
            expand,
            kernel: 3,
            stride,
            out,
            times,
            squeeze: if fused { Squeeze::None } else { Squeeze::OfInput },
            act: Act::Silu,
            fused,
            ..PLAIN
        })
        .collect();
    Mobile { stem, stages, last: 1280, hidden: 0, act: Act::Silu, stem_act: Act::Silu, drop_branch: 0.2, dropout }
}

fn version_two() -> Mobile {
    const TABLE: [(f64, u64, u64, u64); 7] = [
        (1.0, 16, 1, 1),
        (6.0, 24, 2, 2),
        (6.0, 32, 3, 2),
        (6.0, 64, 4, 2),
        (6.0, 96, 3, 1),
        (6.0, 160, 3, 2),
        (6.0, 320, 1, 1),
    ];
    let stages = TABLE
        .iter()
        .map(|&(expand, out, times, stride)| Stage { expand, kernel: 3, stride, out, times, ..PLAIN })
        .collect();
    Mobile {
        stem: 32,
        stages,
        last: 1280,
        hidden: 0,
        act: Act::Relu6,
        stem_act: Act::Relu6,
        drop_branch: 0.0,
        dropout: 0.2,
    }
}

fn version_three(large: bool) -> Mobile {
    // Input, kernel, inside, out, squeeze, hard swish, stride.
    type Line = (u64, u64, u64, u64, bool, bool, u64);
    const LARGE: [Line; 15] = [
        (16, 3, 16, 16, false, false, 1),
        (16, 3, 64, 24, false, false, 2),
        (24, 3, 72, 24, false, false, 1),
        (24, 5, 72, 40, true, false, 2),
        (40, 5, 120, 40, true, false, 1),
        (40, 5, 120, 40, true, false, 1),
        (40, 3, 240, 80, false, true, 2),
        (80, 3, 200, 80, false, true, 1),
        (80, 3, 184, 80, false, true, 1),
        (80, 3, 184, 80, false, true, 1),
        (80, 3, 480, 112, true, true, 1),
        (112, 3, 672, 112, true, true, 1),
        (112, 5, 672, 160, true, true, 2),
        (160, 5, 960, 160, true, true, 1),
        (160, 5, 960, 160, true, true, 1),
    ];
    const SMALL: [Line; 11] = [
        (16, 3, 16, 16, true, false, 2),
        (16, 3, 72, 24, false, false, 2),
        (24, 3, 88, 24, false, false, 1),
        (24, 5, 96, 40, true, true, 2),
        (40, 5, 240, 40, true, true, 1),
        (40, 5, 240, 40, true, true, 1),
        (40, 5, 120, 48, true, true, 1),
        (48, 5, 144, 48, true, true, 1),
        (48, 5, 288, 96, true, true, 2),
        (96, 5, 576, 96, true, true, 1),
        (96, 5, 576, 96, true, true, 1),
    ];
    let lines: &[Line] = if large { &LARGE } else { &SMALL };
    let stages: Vec<Stage> = lines
        .iter()
        .map(|&(input, kernel, inside, out, squeeze, swish, stride)| Stage {
            expand: inside as f64 / input as f64,
            kernel,
            stride,
            out,
            times: 1,
            squeeze: if squeeze { Squeeze::OfInside } else { Squeeze::None },
            act: if swish { Act::Hardswish } else { Act::Relu },
            ..PLAIN
        })
        .collect();
    let last = if large { 960 } else { 576 };
    Mobile {
        stem: 16,
        stages,
        last,
        hidden: if large { 1280 } else { 1024 },
        act: Act::Hardswish,
        stem_act: Act::Hardswish,
        drop_branch: 0.0,
        dropout: 0.2,
    }
}

/// Everything up to the last 1 x 1 convolution.
pub(super) fn features(n: &mut Layers, x: Map, net: &Mobile) -> Map {
    let mut x = n.conv_norm(x, Conv::new(net.stem, 3).stride(2), net.stem_act);
    x = n.cut(x, false);
    let blocks: u64 = net.stages.iter().map(|s| s.times).sum();
    let mut index = 0u64;
    for stage in &net.stages {
        for first in (0..stage.times).map(|i| i == 0) {
            let drop = net.drop_branch * index as f64 / blocks as f64;
            x = block(n, x, stage, if first { stage.stride } else { 1 }, drop);
            x = n.cut(x, checkpointed(n));
            index += 1;
        }
    }
    if net.last > 0 { n.conv_norm(x, Conv::new(net.last, 1), net.act) } else { x }
}

fn block(n: &mut Layers, x: Map, stage: &Stage, stride: u64, drop: f64) -> Map {
    let inside = divisible(x.channels as f64 * stage.expand);
    let mut y = x;
    if stage.fused {
        let first = if inside == x.channels { stage.out } else { inside };
        y = n.conv_norm(y, Conv::new(first, stage.kernel).stride(stride), stage.act);
        if inside != x.channels {
            y = n.conv_norm(y, Conv::new(stage.out, 1), Act::None);
        }
    } else {
        if inside != x.channels {
            y = n.conv_norm(y, Conv::new(inside, 1), stage.act);
        }
        y = n.conv_norm(y, Conv::new(inside, stage.kernel).stride(stride).groups(inside), stage.act);
        y = match stage.squeeze {
            Squeeze::None => y,
            Squeeze::OfInput => n.squeeze_excite(y, (x.channels / 4).max(1), Act::Silu, Act::Sigmoid),
            Squeeze::OfInside => n.squeeze_excite(y, divisible(inside as f64 / 4.0), Act::ReluCopy, Act::Hardsigmoid),
        };
        y = n.conv_norm(y, Conv::new(stage.out, 1), if stage.acts { stage.act } else { Act::None });
    }
    if stride == 1 && x.channels == stage.out && !stage.acts {
        y = n.stochastic_depth(y, drop);
        y = n.add_in_place(y, x);
    }
    y
}

/// Pooling, the classifier, the loss.
pub(super) fn head(n: &mut Layers, features: Map, net: &Mobile, classes: u64) {
    let pooled = n.global_pool(features);
    let mut x = pooled.t;
    if net.hidden > 0 {
        x = n.fully_connected(x, net.hidden);
        x = n.act_tensor(x, Act::Hardswish);
    }
    x = n.b.dropout(x, net.dropout);
    n.trained = trains_head(n);
    let logits = n.fully_connected(x, classes);
    finish(n, logits);
}
