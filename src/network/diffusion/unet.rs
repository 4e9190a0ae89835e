//! The conditional U-Net of Stable Diffusion, as diffusers writes it.

use super::parts::embed;
use super::{Latents, checkpointed, encoders, given, input_format, resident, squared_error};
use crate::network::Slot;
use crate::network::builder::Tensor;
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};

const RESIDUAL: Slot = Slot(1);
const TIME: Slot = Slot(2);
const TEXT: Slot = Slot(3);
/// What a `ControlNet` leaves for the middle.
const MIDDLE: Slot = Slot(20);
/// What a level of the way up was called with.
const ENTERED: Slot = Slot(19);
/// The first of the slots in which the way down leaves its maps for the way up.
const SKIPS: u8 = 4;

/// A conditional U-Net.
#[derive(Clone, Debug)]
pub(super) struct UNet {
    id: &'static str,
    channels: Vec<u64>,
    /// Transformer blocks after each residual block of a level, 0 = none.
    transformers: Vec<u64>,
    middle: u64,
    heads: Vec<u64>,
    /// Width and tokens of the text embeddings.
    text: (u64, u64),
    /// Projections around transformer blocks are linear layers rather than 1 x 1 convolutions.
    linear: bool,
    /// Width of the embeddings beside the time (size and pooled text), 0 = none.
    added: u64,
    latent: u64,
    /// A trained `ControlNet` stands before it, itself frozen (diffusers' examples/controlnet).
    controlled: bool,
}

/// Ids of [`network`].
pub(super) const IDS: [&str; 6] = ["sd1.5", "sd2.1", "sdxl", "kolors", "controlnet-sd15", "controlnet-sdxl"];

/// The U-Net with this id.
pub(super) fn network(id: &str) -> Option<UNet> {
    let small = UNet {
        id: "sd1.5",
        channels: vec![320, 640, 1280, 1280],
        transformers: vec![1, 1, 1, 0],
        middle: 1,
        heads: vec![8; 4],
        text: (768, 77),
        linear: false,
        added: 0,
        latent: 4,
        controlled: false,
    };
    let large = UNet {
        id: "sdxl",
        channels: vec![320, 640, 1280],
        transformers: vec![0, 2, 10],
        middle: 10,
        heads: vec![5, 10, 20],
        text: (2048, 77),
        linear: true,
        added: 2816,
        latent: 4,
        controlled: false,
    };
    Some(match id {
        "sd1.5" => small,
        "sd2.1" => UNet { id: "sd2.1", heads: vec![5, 10, 20, 20], text: (1024, 77), linear: true, ..small },
        "sdxl" => large,
        "controlnet-sd15" => UNet { id: "controlnet-sd15", controlled: true, ..small },
        "controlnet-sdxl" => UNet { id: "controlnet-sdxl", controlled: true, ..large },
        "kolors" => UNet { id: "kolors", text: (2048, 256), added: 5632, ..large },
        _ => return None,
    })
}

/// Writes the denoiser and its loss.
pub(super) fn write(n: &mut Layers, net: &UNet, latents: Latents) {
    let (height, width) = (latents.height / 8, latents.width / 8);
    let rows = n.batch * height * width * latents.frames;
    let text_rows = n.batch * latents.frames * net.text.1;
    match latents.trains_text.then(|| encoders::trained_text(n, net.id)).flatten() {
        Some(text) => n.b.put(TEXT, text),
        None => given(n, TEXT, text_rows, net.text.0),
    }
    let dtype = input_format(n);
    let sample = resident(n, rows, net.latent, dtype);
    let x = Map { t: sample, channels: net.latent, height, width, depth: latents.frames };
    if net.controlled {
        let trained = n.trained;
        way_down(n, net, x, Way::Control(latents));
        n.trained = false;
        n.frozen = n.config.autocast;
        let (x, skips) = way_down(n, net, x, Way::Controlled);
        way_up(n, net, x, skips);
        n.trained = trained;
        n.frozen = None;
    } else {
        let (x, skips) = way_down(n, net, x, Way::Plain);
        way_up(n, net, x, skips);
    }
}

/// Whose way down it is.
#[derive(Clone, Copy)]
enum Way {
    Plain,
    /// A `ControlNet`'s: what it leaves goes through convolutions of its own.
    Control(Latents),
    /// That of a denoiser to whose maps a `ControlNet`'s are added.
    Controlled,
}

/// Embeddings of the time and of sizes, the levels and the middle.
fn way_down(n: &mut Layers, net: &UNet, sample: Map, way: Way) -> (Map, Vec<Map>) {
    let dtype = input_format(n);
    let first = net.channels[0];
    let inner = 4 * first;
    let steps = n.constant(n.batch, first, dtype);
    let mut time = embed(n, steps, inner);
    if net.added > 0 {
        let added = n.constant(n.batch, net.added, dtype);
        let added = embed(n, added, inner);
        time = n.b.add(time, added);
    }
    n.b.put(TIME, time);
    let mut x = n.conv(sample, Conv::new(first, 3).bias());
    if let Way::Control(latents) = way {
        let hint = hint(n, latents, first);
        x = n.add_maps(x, hint);
    }
    let mut skips = Vec::new();
    x = remember(n, x, &mut skips, way);
    let levels = net.channels.len();
    for level in 0..levels {
        for _ in 0..2 {
            x = residual(n, x, net.channels[level]);
            x = transformer(n, x, net, net.transformers[level], net.heads[level]);
            x = remember(n, x, &mut skips, way);
        }
        if level + 1 < levels {
            x = n.conv(x, Conv::new(net.channels[level], 3).stride(2).bias());
            x = remember(n, x, &mut skips, way);
        }
    }
    let deepest = net.channels[levels - 1];
    x = plain_residual(n, x, deepest);
    x = n.cut(x, false);
    x = transformer(n, x, net, net.middle, net.heads[levels - 1]);
    x = residual(n, x, deepest);
    match way {
        Way::Plain => {}
        Way::Control(_) => {
            let left = n.conv(x, Conv::new(deepest, 1).bias());
            n.b.put(MIDDLE, left.t);
            x = n.cut(left, false);
        }
        Way::Controlled => {
            let left = n.b.take(MIDDLE);
            let t = n.b.add(x.t, left);
            n.clear(MIDDLE);
            x = n.cut(Map { t, ..x }, false);
        }
    }
    (x, skips)
}

/// The levels in reverse, and the loss.
fn way_up(n: &mut Layers, net: &UNet, mut x: Map, mut skips: Vec<Map>) {
    for level in (0..net.channels.len()).rev() {
        // What a level is called with lives until it returns.
        n.b.put(ENTERED, x.t);
        let mut held = vec![ENTERED];
        for _ in 0..3 {
            let Some(skip) = skips.pop() else { continue };
            let slot = Slot(SKIPS + skips.len() as u8);
            held.push(slot);
            let t = n.b.take(slot);
            x = n.cat_maps(&[x, Map { t, ..skip }]);
            x = n.cut(x, false);
            x = residual(n, x, net.channels[level]);
            x = transformer(n, x, net, net.transformers[level], net.heads[level]);
        }
        if level > 0 {
            x = n.resize(x, 2 * x.height, 2 * x.width);
            x = n.conv(x, Conv::new(net.channels[level], 3).bias());
        }
        // The maps of the last level have a name to the end.
        for slot in held.into_iter().take(if level > 0 { 4 } else { 1 }) {
            n.clear(slot);
        }
        x = n.cut(x, false);
    }
    let y = n.group_norm(x, 32, true);
    let y = n.act(y, Act::Silu);
    let y = n.conv(y, Conv::new(net.latent, 3).bias());
    squared_error(n, y.t);
}

/// `ControlNetConditioningEmbedding`: the picture that controls, brought down to the latents' size.
fn hint(n: &mut Layers, latents: Latents, out: u64) -> Map {
    let rows = n.batch * latents.height * latents.width;
    let dtype = input_format(n);
    let t = resident(n, rows, 3, dtype);
    let x = Map { t, channels: 3, height: latents.height, width: latents.width, depth: 1 };
    let mut x = n.conv(x, Conv::new(16, 3).bias());
    x = n.act(x, Act::Silu);
    for (channels, wider) in [(16, 32), (32, 96), (96, 256)] {
        x = n.conv(x, Conv::new(channels, 3).bias());
        x = n.act(x, Act::Silu);
        x = n.conv(x, Conv::new(wider, 3).stride(2).bias());
        x = n.act(x, Act::Silu);
    }
    n.conv(x, Conv::new(out, 3).bias())
}

/// Leaves the newest map for the way up.
fn remember(n: &mut Layers, x: Map, skips: &mut Vec<Map>, way: Way) -> Map {
    let slot = Slot(SKIPS + skips.len() as u8);
    skips.push(x);
    let left = match way {
        Way::Plain => x.t,
        Way::Control(_) => n.conv(x, Conv::new(x.channels, 1).bias()).t,
        Way::Controlled => {
            let left = n.b.take(slot);
            n.b.add(x.t, left)
        }
    };
    n.b.put(slot, left);
    n.cut(x, false)
}

/// A residual block as its own, checkpointable segment.
fn residual(n: &mut Layers, x: Map, out: u64) -> Map {
    let x = n.cut(x, false);
    let y = plain_residual(n, x, out);
    n.cut(y, checkpointed(n))
}

fn plain_residual(n: &mut Layers, x: Map, out: u64) -> Map {
    let time = n.b.take(TIME);
    let y = n.group_norm(x, 32, true);
    let y = n.act(y, Act::Silu);
    let y = n.conv(y, Conv::new(out, 3).bias());
    let time = n.act_tensor(time, Act::Silu);
    let time = n.linear(time, out, true, Role::Outside);
    let t = n.b.add(y.t, time);
    let y = n.group_norm(Map { t, ..y }, 32, true);
    let y = n.act(y, Act::Silu);
    let y = n.conv(y, Conv::new(out, 3).bias());
    let shortcut = if x.channels == out { x } else { n.conv(x, Conv::new(out, 1).bias()) };
    let sum = n.add_maps(shortcut, y);
    // Divided by the output scale of 1.
    let t = n.b.scale(sum.t);
    for local in [y, shortcut, x] {
        n.b.touch(local.t);
    }
    Map { t, ..sum }
}

/// Norm, projection, blocks, projection, residual.
fn transformer(n: &mut Layers, x: Map, net: &UNet, blocks: u64, heads: u64) -> Map {
    if blocks == 0 {
        return x;
    }
    n.b.put(RESIDUAL, x.t);
    let y = n.group_norm(x, 32, true);
    let y = project(n, y, net.linear);
    let mut y = n.cut(y, false);
    // Where no gradient flows to the first block it is written apart.
    let runs = if y.t.grad { [blocks, 0] } else { [1, blocks - 1] };
    for times in runs {
        if times > 0 {
            n.b.repeat(times);
            y = block(n, y, net, heads);
            y = n.cut(y, checkpointed(n));
        }
    }
    let y = if net.linear {
        let y = project(n, y, true);
        Map { t: n.b.copy(y.t, y.t.rows, y.t.cols), ..y }
    } else {
        let y = Map { t: n.b.copy(y.t, y.t.rows, y.t.cols), ..y };
        project(n, y, false)
    };
    let residual = n.b.take(RESIDUAL);
    let t = n.b.add(y.t, residual);
    n.clear(RESIDUAL);
    Map { t, ..x }
}

fn project(n: &mut Layers, x: Map, linear: bool) -> Map {
    if linear {
        let t = n.linear(x.t, x.channels, true, Role::Outside);
        Map { t, ..x }
    } else {
        n.conv(x, Conv::new(x.channels, 1).bias())
    }
}

/// Self-attention, cross-attention, gated feed-forward, each after a norm.
fn block(n: &mut Layers, x: Map, net: &UNet, heads: u64) -> Map {
    let tokens = x.pixels() / x.depth;
    let normed = n.layer_norm(x.t, true, true);
    let attended = attention(n, normed, None, tokens, tokens, heads);
    let t = n.b.add(attended, x.t);
    // The block's variables live until they are assigned anew.
    let (old_norm, old_attended) = (normed, attended);
    let normed = n.layer_norm(t, true, true);
    n.b.touch(old_norm);
    let text = n.b.take(TEXT);
    let attended = attention(n, normed, Some(text), tokens, net.text.1, heads);
    n.b.touch(old_attended);
    let t = n.b.add(attended, t);
    let old_norm = normed;
    let normed = n.layer_norm(t, true, true);
    n.b.touch(old_norm);
    let joint = n.linear(normed, 8 * x.channels, true, Role::Mlp);
    let inner = match n.b.split(joint, &[4 * x.channels, 4 * x.channels]).as_slice() {
        &[hidden, gate] => {
            let gate = n.act_tensor(gate, Act::Gelu);
            n.b.mul(hidden, gate)
        }
        _ => joint,
    };
    let out = n.linear(inner, x.channels, true, Role::Mlp);
    let t = n.b.add(out, t);
    n.b.touch(normed);
    n.b.touch(attended);
    n.b.touch(x.t);
    Map { t, ..x }
}

fn attention(n: &mut Layers, x: Tensor, text: Option<Tensor>, queries: u64, keys: u64, heads: u64) -> Tensor {
    let width = x.cols;
    let source = text.unwrap_or(x);
    let q = n.linear(x, width, false, Role::Query);
    let k = n.linear(source, width, false, Role::Key);
    let v = n.linear(source, width, false, Role::Value);
    let head = width / heads.max(1);
    let shape = Heads::dense(heads, head, queries, keys);
    n.sequence = queries;
    let out = n.attention(q, k, v, shape, None);
    let out = n.linear(out, width, true, Role::AttentionOut);
    // Divided by the rescaling factor of 1.
    n.b.scale(out)
}
