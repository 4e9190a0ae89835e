//! Pairs of a generator and a discriminator: DCGAN (`dcgan/main.py` of pytorch/examples), pix2pix and `CycleGAN`
//! (`models/networks.py` of pytorch-CycleGAN-and-pix2pix). Their step has two halves; at its fullest moment everything of
//! the generators is there for their own turn while discriminators look at the pictures, and the other half's gradients
//! have not gone yet.

use super::Pictures;
use crate::network::builder::{BLANK, Keep};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Backward, Dtype, Kind, Op, Slot};

/// Weights of `CycleGAN`'s discriminator: its gradients are left from its last turn.
const JUDGE: u64 = 2_764_737;
/// The largest weight of DCGAN's: its gradient is made beside the one that the real pictures left.
const LARGEST: u64 = 512 * 256 * 4 * 4;

/// Writes the whole step; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let batch = n.batch;
    let judged = match id {
        "dcgan" => {
            n.b.program.batch_bytes += batch * 3 * pictures.height * pictures.width * 4;
            let fake = convolutional(n, pictures);
            let fake = held(n, fake, generated(n) + LARGEST);
            dcgan_judge(n, fake).t
        }
        "pix2pix" => {
            let real = n.pictures(3, pictures);
            // Its pair comes with the batch.
            n.b.program.batch_bytes += batch * 3 * real.pixels() * 4;
            let fake = u_net(n, real);
            let fake = held(n, fake, generated(n));
            // Both pairs are judged before the first is let go.
            let seen = n.constant(fake.t.rows, 3, fake.t.dtype);
            let seen = n.cat_maps(&[Map { t: seen, ..fake }, fake]);
            let first = n.b.here();
            let judged = patches(n, seen, true).t;
            n.b.share(first..n.b.here());
            let pair = n.constant(fake.t.rows, 6, Dtype::F32);
            let other = patches(n, Map { t: pair, channels: 6, ..fake }, true);
            n.b.join(&[judged, other.t])
        }
        "cyclegan" => {
            // Each of two generators makes a picture, makes one back, and is shown what it should leave alone.
            let real = n.pictures(3, pictures);
            n.b.program.batch_bytes += batch * 3 * real.pixels() * 4;
            let (mut made, mut judged) = (Vec::new(), Vec::new());
            for _ in 0..2 {
                let first = n.b.here();
                made.push(residual(n, real));
                let passed = first..n.b.here();
                for _ in 0..2 {
                    n.b.share(passed.clone());
                    let again = residual(n, real);
                    judged.push(n.b.reduce(again.t, 1, 1));
                }
            }
            for fake in made {
                let fake = held(n, fake, JUDGE);
                let seen = patches(n, fake, false);
                judged.push(n.b.reduce(seen.t, 1, 1));
            }
            n.join_all(&judged)
        }
        _ => return None,
    };
    n.b.put(Slot(0), judged);
    n.b.close(false);
    let judged = n.b.take(Slot(0));
    let wide = n.b.cast(judged, Dtype::F32);
    let gap = n.b.unary(wide, Keep::Input, 0);
    n.b.reduce(gap, 1, 1);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

/// Weights so far.
fn generated(n: &Layers) -> u64 {
    n.b.program.weights.iter().map(|w| w.numel).sum()
}

/// Gradients of so many weights that lie there from the turn before until backward is through with what comes next.
fn held(n: &mut Layers, fake: Map, numel: u64) -> Map {
    let before = n.constant(numel, 1, Dtype::F32);
    let out = Some((fake.t.rows, fake.t.cols, fake.t.dtype, Kind::Activation, true));
    let op = Op { backward: Backward::Pass, saves: 0b10, ..BLANK };
    let t = n.b.push(&[fake.t, before], out, op).unwrap_or(fake.t);
    Map { t, ..fake }
}

/// Noise becomes a picture in five transposed convolutions.
fn convolutional(n: &mut Layers, pictures: Pictures) -> Map {
    let (height, width) = ((pictures.height / 64).max(1), (pictures.width / 64).max(1));
    let t = n.constant(n.batch * height * width, 100, Dtype::F32);
    let mut x = Map { t, channels: 100, height, width, depth: 1 };
    for (out, stride) in [(512, 4), (256, 2), (128, 2), (64, 2)] {
        x = n.conv_transpose(x, out, 4, stride, false);
        x = n.batch_norm(x);
        x = n.act(x, Act::Relu);
    }
    let x = n.conv_transpose(x, 3, 4, 2, false);
    n.act(x, Act::Sigmoid)
}

fn dcgan_judge(n: &mut Layers, x: Map) -> Map {
    let halves = |out| Conv::new(out, 4).stride(2).padding(1);
    let x = n.conv(x, halves(64));
    let x = n.act(x, Act::Relu);
    let x = [128, 256, 512].into_iter().fold(x, |x, out| n.conv_norm(x, halves(out), Act::Relu));
    let x = n.conv(x, Conv::new(1, 4).padding(0));
    n.act(x, Act::Sigmoid)
}

/// pix2pix's U-Net: eight times down, eight times up, every activation in place.
fn u_net(n: &mut Layers, x: Map) -> Map {
    const WIDTHS: [u64; 8] = [64, 128, 256, 512, 512, 512, 512, 512];
    let mut kept = Vec::new();
    let mut x = x;
    for (level, &out) in WIDTHS.iter().enumerate() {
        if level > 0 {
            x = n.act(x, Act::Relu);
            kept.push(x);
        }
        x = n.conv(x, Conv::new(out, 4).stride(2).padding(1));
        if level > 0 && level < 7 {
            x = n.batch_norm(x);
        }
    }
    for (level, &out) in WIDTHS.iter().enumerate().take(7).rev() {
        x = n.act(x, Act::Relu);
        x = n.conv_transpose(x, out, 4, 2, false);
        x = n.batch_norm(x);
        if (3..6).contains(&level) {
            x = Map { t: n.b.dropout(x.t, 0.5), ..x };
        }
        let beside = kept.pop().unwrap_or(x);
        x = n.cat_maps(&[beside, x]);
    }
    let x = n.act(x, Act::Relu);
    let x = n.conv_transpose(x, 3, 4, 2, true);
    n.act(x, Act::Sigmoid)
}

/// The discriminator of both: whether patches of 70 pixels are real.
fn patches(n: &mut Layers, x: Map, batch_norm: bool) -> Map {
    let x = n.conv(x, Conv::new(64, 4).stride(2).padding(1).bias());
    let mut x = n.act(x, Act::Relu);
    for (out, stride) in [(128, 2), (256, 2), (512, 1)] {
        let conv = Conv::new(out, 4).stride(stride).padding(1);
        x = if batch_norm {
            n.conv_norm(x, conv, Act::Relu)
        } else {
            let y = n.conv(x, conv.bias());
            normed(n, y, true)
        };
    }
    n.conv(x, Conv::new(1, 4).padding(1).bias())
}

fn normed(n: &mut Layers, x: Map, acts: bool) -> Map {
    let y = n.instance_norm(x, false);
    if acts { n.act_on_view(y) } else { y }
}

/// Mirrored at the edges, which is a copy, and a convolution.
fn mirrored(n: &mut Layers, x: Map, out: u64, kernel: u64) -> Map {
    let (height, width) = (x.height + kernel - 1, x.width + kernel - 1);
    let op = Op { backward: Backward::Fresh, saves: 1, ..BLANK };
    let t = n.b.emit(&[x.t], n.batch * height * width, x.channels, x.t.dtype, op);
    n.conv(Map { t, height, width, ..x }, Conv::new(out, kernel).padding(0).bias())
}

/// `CycleGAN`'s generator of nine residual blocks.
fn residual(n: &mut Layers, x: Map) -> Map {
    let y = mirrored(n, x, 64, 7);
    let mut x = normed(n, y, true);
    for out in [128, 256] {
        let y = n.conv(x, Conv::new(out, 3).stride(2).bias());
        x = normed(n, y, true);
    }
    for _ in 0..9 {
        let y = mirrored(n, x, 256, 3);
        let y = normed(n, y, true);
        let y = mirrored(n, y, 256, 3);
        let y = normed(n, y, false);
        x = n.add_maps(x, y);
    }
    for out in [128, 64] {
        let y = n.conv_transpose(x, out, 3, 2, true);
        x = normed(n, y, true);
    }
    let y = mirrored(n, x, 3, 7);
    n.act(y, Act::Sigmoid)
}
