//! The blocks of the YOLO versions.

use super::conv;
use crate::network::builder::Tensor;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// A stage's block, with how often its inner part repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// `YOLOv5`'s: two branches, one through bottlenecks.
    C3 { times: u64, add: bool },
    /// `YOLOv8`'s: every bottleneck's result is joined.
    C2f { times: u64, add: bool },
    /// `YOLOv10`'s: depthwise and pointwise convolutions by turns, with large kernels or not.
    Cib { times: u64, add: bool, large: bool },
    /// YOLO11's: `C2f` around bottlenecks of half width or around `C3k`; a quarter of the width inside or half; with
    /// attention in place of the second convolution.
    C3k2 { times: u64, deep: bool, quarter: bool, attention: bool },
    /// YOLO12's: attention within areas of the picture (0: `C3k` instead), plus its input.
    Area { times: u64, areas: u64, residual: bool },
    /// `YOLOv9`'s plain one, of these inner widths.
    Elan1 { wide: u64, narrow: u64 },
    /// `YOLOv9`'s with reparameterised convolutions.
    Elan { wide: u64, narrow: u64, times: u64 },
}

/// How maps are halved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halve {
    Conv,
    /// `YOLOv10`: pointwise, then depthwise.
    Split,
    /// `YOLOv9`'s small ones: average pooling, then a convolution.
    Average,
    /// `YOLOv9`'s large ones: half through a convolution, half through max pooling.
    Both,
}

fn like(x: Map, t: Tensor) -> Map {
    Map { t, channels: t.cols, ..x }
}

/// `chunk(2, 1)`.
fn halves(n: &mut Layers, x: Map) -> [Map; 2] {
    let half = x.channels / 2;
    match n.b.split(x.t, &[half, half]).as_slice() {
        &[a, b] => [like(x, a), like(x, b)],
        _ => [x, x],
    }
}

pub(super) fn halve(n: &mut Layers, x: Map, kind: Halve, out: u64) -> Map {
    match kind {
        Halve::Conv => conv(n, x, out, 3, 2),
        Halve::Split => {
            let y = conv(n, x, out, 1, 1);
            n.conv_norm(y, Conv::new(out, 3).stride(2).groups(out), Act::None)
        }
        Halve::Average => {
            let y = n.avg_pool(x, 2, 1, 0);
            conv(n, y, out, 3, 2)
        }
        Halve::Both => {
            let y = n.avg_pool(x, 2, 1, 0);
            let [a, b] = halves(n, y);
            let a = conv(n, a, out / 2, 3, 2);
            let b = n.max_pool(b, 3, 2, 1);
            let b = conv(n, b, out / 2, 1, 1);
            n.cat_maps(&[a, b])
        }
    }
}

/// Two convolutions, plus the input.
fn bottleneck(n: &mut Layers, x: Map, inner: u64, kernels: [u64; 2], add: bool) -> Map {
    let y = conv(n, x, inner, kernels[0], 1);
    let y = conv(n, y, x.channels, kernels[1], 1);
    if add { n.add_maps(x, y) } else { y }
}

/// `C3` and `C3k`, which differ by the kernels of their bottlenecks.
fn three(n: &mut Layers, x: Map, out: u64, inside: (u64, [u64; 2], bool)) -> Map {
    let (times, kernels, add) = inside;
    let inner = out / 2;
    let mut a = conv(n, x, inner, 1, 1);
    for _ in 0..times {
        a = bottleneck(n, a, inner, kernels, add);
    }
    let b = conv(n, x, inner, 1, 1);
    let joined = n.cat_maps(&[a, b]);
    conv(n, joined, out, 1, 1)
}

/// `C2f` around an inner part.
fn two(n: &mut Layers, x: Map, widths: (u64, u64), times: u64, mut inside: impl FnMut(&mut Layers, Map) -> Map) -> Map {
    let (out, inner) = widths;
    let y = conv(n, x, 2 * inner, 1, 1);
    let mut parts: Vec<Map> = halves(n, y).to_vec();
    for _ in 0..times {
        if let Some(&last) = parts.last() {
            parts.push(inside(n, last));
        }
    }
    let joined = n.cat_maps(&parts);
    conv(n, joined, out, 1, 1)
}

pub(super) fn write(n: &mut Layers, x: Map, block: Block, out: u64) -> Map {
    let half = out / 2;
    match block {
        Block::C3 { times, add } => three(n, x, out, (times, [1, 3], add)),
        Block::C2f { times, add } => two(n, x, (out, half), times, |n, x| bottleneck(n, x, half, [3, 3], add)),
        Block::Cib { times, add, large } => two(n, x, (out, half), times, |n, x| cib(n, x, add, large)),
        Block::C3k2 { times, deep, quarter, attention } => {
            let inner = if quarter { out / 4 } else { half };
            two(n, x, (out, inner), times, |n, x| {
                if attention {
                    let y = bottleneck(n, x, inner / 2, [3, 3], true);
                    attention_block(n, y)
                } else if deep {
                    three(n, x, inner, (2, [3, 3], true))
                } else {
                    bottleneck(n, x, inner / 2, [3, 3], true)
                }
            })
        }
        Block::Area { times, areas, residual } => area(n, x, out, (times, areas, residual)),
        Block::Elan1 { wide, narrow } => elan(n, x, (out, wide, narrow), |n, x| conv(n, x, narrow, 3, 1)),
        Block::Elan { wide, narrow, times } => elan(n, x, (out, wide, narrow), |n, x| {
            let y = reparameterised(n, x, narrow, times);
            conv(n, y, narrow, 3, 1)
        }),
    }
}

fn elan(n: &mut Layers, x: Map, widths: (u64, u64, u64), mut inside: impl FnMut(&mut Layers, Map) -> Map) -> Map {
    let (out, wide, _) = widths;
    let y = conv(n, x, wide, 1, 1);
    let [a, b] = halves(n, y);
    let c = inside(n, b);
    let d = inside(n, c);
    let joined = n.cat_maps(&[a, b, c, d]);
    conv(n, joined, out, 1, 1)
}

/// `RepCSP`: a 3 x 3 and a 1 x 1 convolution side by side in the bottleneck's first place.
fn reparameterised(n: &mut Layers, x: Map, out: u64, times: u64) -> Map {
    let inner = out / 2;
    let mut a = conv(n, x, inner, 1, 1);
    for _ in 0..times {
        let wide = n.conv_norm(a, Conv::new(inner, 3), Act::None);
        let narrow = n.conv_norm(a, Conv::new(inner, 1), Act::None);
        let sum = n.add_maps(wide, narrow);
        let shifted = like(sum, n.b.shift(sum.t));
        let y = n.act(shifted, Act::Silu);
        let y = conv(n, y, inner, 3, 1);
        a = n.add_maps(a, y);
    }
    let b = conv(n, x, inner, 1, 1);
    let joined = n.cat_maps(&[a, b]);
    conv(n, joined, out, 1, 1)
}

fn depthwise(n: &mut Layers, x: Map, kernel: u64, act: Act) -> Map {
    n.conv_norm(x, Conv::new(x.channels, kernel).groups(x.channels), act)
}

fn cib(n: &mut Layers, x: Map, add: bool, large: bool) -> Map {
    let y = depthwise(n, x, 3, Act::Silu);
    let y = conv(n, y, 2 * x.channels, 1, 1);
    let y = if large {
        let wide = depthwise(n, y, 7, Act::None);
        let narrow = depthwise(n, y, 3, Act::None);
        let sum = n.add_maps(wide, narrow);
        n.act(sum, Act::Silu)
    } else {
        depthwise(n, y, 3, Act::Silu)
    };
    let y = conv(n, y, x.channels, 1, 1);
    let y = depthwise(n, y, 3, Act::Silu);
    if add { n.add_maps(x, y) } else { y }
}

/// Channels of a head in attention.
const HEAD: u64 = 64;

/// `C2PSA`, and `PSA` with one block.
pub(super) fn partial_attention(n: &mut Layers, x: Map, times: u64) -> Map {
    let half = x.channels / 2;
    let y = conv(n, x, 2 * half, 1, 1);
    let [a, mut b] = halves(n, y);
    for _ in 0..times {
        b = attention_block(n, b);
    }
    let joined = n.cat_maps(&[a, b]);
    conv(n, joined, x.channels, 1, 1)
}

/// `PSABlock`: attention with keys of half a head, then two pointwise convolutions.
fn attention_block(n: &mut Layers, x: Map) -> Map {
    let heads = (x.channels / HEAD).max(1);
    let key = x.channels / heads / 2;
    let pixels = x.pixels();
    let mixed = n.conv_norm(x, Conv::new(x.channels + 2 * heads * key, 1), Act::None);
    let parts = n.b.split(mixed.t, &[heads * key, heads * key, x.channels]);
    let &[q, k, v] = parts.as_slice() else { return x };
    let q = n.b.scale(q);
    let pairs = n.batch * heads * pixels;
    let flops = 2.0 * (pairs * pixels * key) as f64;
    let scores = n.b.matmul(q, k, pairs, pixels, flops);
    let weights = n.b.softmax(scores, false);
    let seen = n.b.matmul(v, weights, x.t.rows, x.channels, 2.0 * flops);
    let values = n.b.copy(v, x.t.rows, x.channels);
    let places = depthwise(n, like(x, values), 3, Act::None);
    let sum = n.add_maps(like(x, seen), places);
    let out = n.conv_norm(sum, Conv::new(x.channels, 1), Act::None);
    let x = n.add_maps(x, out);
    let y = conv(n, x, 2 * x.channels, 1, 1);
    let y = n.conv_norm(y, Conv::new(x.channels, 1), Act::None);
    n.add_maps(x, y)
}

/// `A2C2f`.
fn area(n: &mut Layers, x: Map, out: u64, (times, areas, residual): (u64, u64, bool)) -> Map {
    let inner = out / 2;
    let mut parts = vec![conv(n, x, inner, 1, 1)];
    for _ in 0..times {
        let Some(&last) = parts.last() else { break };
        parts.push(if areas == 0 {
            three(n, last, inner, (2, [3, 3], true))
        } else {
            let y = area_block(n, last, areas, residual);
            area_block(n, y, areas, residual)
        });
    }
    let joined = n.cat_maps(&parts);
    let y = conv(n, joined, out, 1, 1);
    if residual && areas > 0 {
        let gamma = n.weight(out, 1);
        let scaled = n.b.mul(y.t, gamma);
        return n.add_maps(x, like(x, scaled));
    }
    y
}

/// `ABlock`: attention among the pixels of an area, heads of 32, and two pointwise convolutions.
fn area_block(n: &mut Layers, x: Map, areas: u64, narrow: bool) -> Map {
    let heads = (x.channels / 32).max(1);
    let seen_pixels = x.pixels() / areas;
    let mixed = n.conv_norm(x, Conv::new(3 * x.channels, 1), Act::None);
    // Cut into areas and heads: copies.
    let mixed = if areas > 1 { n.b.copy(mixed.t, mixed.t.rows, mixed.t.cols) } else { mixed.t };
    let parts = n.b.split(mixed, &[x.channels, x.channels, x.channels]);
    let &[q, k, v] = parts.as_slice() else { return x };
    let q = n.b.scale(q);
    let [q, k] = [q, k].map(|t| n.b.copy(t, t.rows, t.cols));
    let pairs = x.t.rows * heads;
    let flops = 2.0 * (x.t.rows * seen_pixels * x.channels) as f64;
    let scores = n.b.matmul(q, k, pairs, seen_pixels, flops);
    let weights = n.b.softmax(scores, false);
    let values = n.b.copy(v, v.rows, v.cols);
    let seen = n.b.matmul(values, weights, x.t.rows, x.channels, flops);
    let seen = n.b.copy(seen, seen.rows, seen.cols);
    let laid = n.b.copy(v, v.rows, v.cols);
    let places = depthwise(n, like(x, laid), 7, Act::None);
    let sum = n.add_maps(like(x, seen), places);
    let out = n.conv_norm(sum, Conv::new(x.channels, 1), Act::None);
    let x = n.add_maps(x, out);
    let wide = if narrow { x.channels * 6 / 5 } else { 2 * x.channels };
    let y = conv(n, x, wide, 1, 1);
    let y = n.conv_norm(y, Conv::new(x.channels, 1), Act::None);
    n.add_maps(x, y)
}
