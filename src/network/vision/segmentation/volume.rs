//! nnU-Net in two and three dimensions, plain and with residual encoders (MIC-DKFZ/nnUNet,
//! `dynamic_network_architectures`): instance norms, leaky ReLU in place, a prediction at each size.

use super::super::Pictures;
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::Layers;
use crate::network::maps::{Conv, Map};
use crate::network::{Dtype, Slot};

/// Background, organ, tumour.
const CLASSES: u64 = 3;

/// A network of the planner's.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// Channels of the stages.
    channels: &'static [u64],
    /// Residual blocks of the encoder's stages; none: two convolutions each, there and in the decoder.
    blocks: &'static [u64],
    volume: bool,
}

/// Channels as the planner doubles them from 32: up to 320 in volumes, up to 512 in pictures.
const IN_VOLUMES: &[u64] = &[32, 64, 128, 256, 320, 320];
const IN_PICTURES: &[u64] = &[32, 64, 128, 256, 512, 512, 512, 512];

fn network(id: &str) -> Option<Planned> {
    Some(match id {
        "nnunet-2d" => Planned { channels: IN_PICTURES, blocks: &[], volume: false },
        "nnunet-3d" => Planned { channels: IN_VOLUMES, blocks: &[], volume: true },
        "nnunet-resenc-m" | "nnunet-resenc-l" | "nnunet-resenc-xl" => {
            Planned { channels: IN_VOLUMES, blocks: &[1, 3, 4, 6, 6, 6], volume: true }
        }
        _ => return None,
    })
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let net = network(id)?;
    let mut x = n.pictures(1, Pictures { depth: if net.volume { pictures.depth } else { 1 }, ..pictures });
    let mut skips = Vec::new();
    if let Some(&first) = net.channels.first().filter(|_| !net.blocks.is_empty()) {
        x = conv(n, x, net, first, 1);
    }
    for (stage, &out) in net.channels.iter().enumerate() {
        let stride = if stage == 0 { 1 } else { 2 };
        if let Some(&blocks) = net.blocks.get(stage) {
            for block in 0..blocks {
                x = residual(n, x, net, out, if block == 0 { stride } else { 1 });
            }
        } else {
            x = conv(n, x, net, out, stride);
            x = conv(n, x, net, out, 1);
        }
        skips.push(x);
    }
    skips.pop();
    let classes = pictures.classes_or(CLASSES);
    let mut predictions = Vec::new();
    while let Some(skip) = skips.pop() {
        let up = n.conv_transpose(x, skip.channels, 2, 2, true);
        x = n.cat_maps(&[up, skip]);
        for _ in 0..if net.blocks.is_empty() { 2 } else { 1 } {
            x = conv(n, x, net, skip.channels, 1);
        }
        let last = Conv::new(classes, 1).bias();
        predictions.push(n.conv(x, if net.volume { last.volume() } else { last }));
    }
    losses(n, &predictions);
    Some(())
}

/// Convolution with bias, instance norm, leaky ReLU.
fn conv(n: &mut Layers, x: Map, net: Planned, out: u64, stride: u64) -> Map {
    let y = normed(n, x, net, Conv::new(out, 3).stride(stride).bias());
    n.act_on_view(y)
}

fn normed(n: &mut Layers, x: Map, net: Planned, conv: Conv) -> Map {
    let y = n.conv(x, if net.volume { conv.volume() } else { conv });
    n.instance_norm(y, true)
}

/// `BasicBlockD`: the way past it is pooled to its size and brought to its channels.
fn residual(n: &mut Layers, x: Map, net: Planned, out: u64, stride: u64) -> Map {
    let mut past = x;
    if stride > 1 {
        past = n.avg_pool(past, 2, 2, 0);
    }
    if past.channels != out {
        let conv = Conv::new(out, 1);
        past = normed(n, past, net, conv);
    }
    let y = conv(n, x, net, out, stride);
    let y = normed(n, y, net, Conv::new(out, 3).bias());
    let sum = n.add_in_place(y, past);
    n.act_on_view(sum)
}

/// Cross-entropy and Dice of the predictions at each size; the coarsest counts nothing but is computed.
fn losses(n: &mut Layers, predictions: &[Map]) {
    for (slot, prediction) in (0..).zip(predictions) {
        n.b.put(Slot(slot), prediction.t);
    }
    n.b.end_segment(false, false);
    n.b.end_group();
    let mut terms: Vec<Tensor> = Vec::new();
    for slot in 0..predictions.len() as u8 {
        let logits = n.b.take(Slot(slot));
        n.b.program.batch_bytes += bytes(logits.rows, Dtype::F32);
        let shares = n.b.softmax(logits, false);
        let right = n.constant(shares.rows, shares.cols, Dtype::U8);
        let met = n.b.mul(shares, right);
        terms.push(n.b.reduce(met, 1, 1));
        terms.push(n.b.reduce(shares, 1, 1));
        terms.push(n.cross_entropy(logits));
    }
    if let Some(total) = terms.into_iter().reduce(|a, b| n.b.add(a, b)) {
        n.b.scale(total);
    }
    n.b.end_segment(false, true);
    n.b.end_group();
}
