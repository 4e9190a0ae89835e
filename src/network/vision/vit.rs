//! Vision transformers.

use super::{Pictures, finish, repeated, trains_head};
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// How the attention is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attention {
    /// `nn.MultiheadAttention` (torchvision): the joint projection is copied apart and the result copied together.
    Module,
    /// Views of one projection (timm, OpenCLIP, transformers with fused projections).
    Views,
    /// Three projections (transformers): autocast makes a copy of the input for each.
    Apart,
}

/// A stack of encoder blocks on patches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vit {
    pub(super) patch: u64,
    pub(super) width: u64,
    pub(super) layers: u64,
    pub(super) heads: u64,
    pub(super) mlp: u64,
    pub(super) attention: Attention,
    /// Tokens beside the patches: class, distillation, registers.
    pub(super) extra: u64,
    /// A scale on each branch (`LayerScale`).
    pub(super) branch_scale: bool,
    /// Biases of the joint projection.
    pub(super) qkv_bias: bool,
    /// Tokens are averaged rather than the class token taken.
    pub(super) averaged: bool,
    /// Queries and keys of the patches are turned by their places, in fp32, and put together with the other tokens' anew
    /// (`DINOv3`).
    pub(super) turned: bool,
    /// Norm before the blocks (CLIP).
    pub(super) first_norm: bool,
    /// Position embeddings.
    pub(super) positions: bool,
    /// A learned number for each distance of two places, added to the scores of every head (`BEiT`).
    pub(super) relative: bool,
    /// `x * sigmoid(1.702 x)` written out (CLIP).
    pub(super) quick_gelu: bool,
    /// A token sees those before it (CLIP's text).
    pub(super) causal: bool,
    /// The feed-forward part has a gate (`EVA-02`): in one matrix with what it opens, or apart and with a norm behind.
    pub(super) gated: bool,
}

pub(super) const fn plain(patch: u64, width: u64, layers: u64, heads: u64) -> Vit {
    Vit {
        patch,
        width,
        layers,
        heads,
        mlp: 4 * width,
        attention: Attention::Views,
        extra: 1,
        branch_scale: false,
        qkv_bias: true,
        averaged: false,
        turned: false,
        first_norm: false,
        positions: true,
        relative: false,
        quick_gelu: false,
        causal: false,
        gated: false,
    }
}

/// The classifier or backbone with this id.
pub(super) fn network(id: &str) -> Option<Vit> {
    const TINY: Vit = plain(16, 192, 12, 3);
    const SMALL: Vit = plain(16, 384, 12, 6);
    const BASE: Vit = plain(16, 768, 12, 12);
    const LARGE: Vit = plain(16, 1024, 24, 16);
    const HUGE: Vit = plain(14, 1280, 32, 16);
    let module = |v: Vit| Vit { attention: Attention::Module, ..v };
    let third = |v: Vit| Vit { branch_scale: true, extra: 5, positions: false, turned: true, ..v };
    let scaled = |v: Vit| Vit { branch_scale: true, ..v };
    let dino = |v: Vit| Vit { patch: 14, branch_scale: true, ..v };
    let eva = |v: Vit, mlp| Vit { patch: 14, mlp, gated: true, turned: true, averaged: true, qkv_bias: false, ..v };
    let beit =
        |v: Vit| Vit { branch_scale: true, positions: false, relative: true, averaged: true, qkv_bias: false, ..v };
    Some(match id {
        "vit-ti-16" | "deit-ti-16" => TINY,
        "vit-s-16" | "deit-s-16" => SMALL,
        "vit-s-8" => Vit { patch: 8, ..SMALL },
        "vit-b-8" => Vit { patch: 8, ..BASE },
        "vit-s-32" => Vit { patch: 32, ..SMALL },
        "vit-b-16" | "vit-b-16-384" => module(BASE),
        "vit-b-32" => module(Vit { patch: 32, ..BASE }),
        "vit-l-16" => module(LARGE),
        "vit-l-32" => module(Vit { patch: 32, ..LARGE }),
        "vit-l-14" => Vit { patch: 14, ..LARGE },
        "vit-h-14" => module(HUGE),
        "vit-g-14" => Vit { mlp: 6144, ..plain(14, 1408, 40, 16) },
        "vit-gg-14" => Vit { mlp: 8192, ..plain(14, 1664, 48, 16) },
        "vit-so400m-14" => Vit { mlp: 4304, extra: 0, averaged: true, ..plain(14, 1152, 27, 16) },
        "deit-b-16" => BASE,
        "eva02-ti-14" => eva(TINY, 512),
        "eva02-s-14" => eva(SMALL, 1024),
        "eva02-b-14" => Vit { attention: Attention::Apart, ..eva(BASE, 2048) },
        "eva02-l-14" => Vit { attention: Attention::Apart, ..eva(LARGE, 2730) },
        "beit-b-16" => beit(BASE),
        "beit-l-16" => beit(LARGE),
        "deit3-s-16" => scaled(SMALL),
        "deit3-b-16" => scaled(BASE),
        "deit3-l-16" => scaled(LARGE),
        "deit3-h-14" => scaled(HUGE),
        "dinov2-s-14" | "dinov2-s-14-518" => dino(SMALL),
        "dinov2-b-14" | "dinov2-b-14-518" => dino(BASE),
        "dinov2-l-14" | "dinov2-l-14-518" => dino(LARGE),
        "dinov3-s-16" => third(SMALL),
        "dinov3-b-16" => third(BASE),
        "dinov3-l-16" => third(LARGE),
        _ => return None,
    })
}

/// Patches and all blocks; leaves the tokens after the last norm.
pub(super) fn tokens(n: &mut Layers, x: Map, net: &Vit) -> Tensor {
    let patches = n.conv(x, Conv::new(net.width, net.patch).stride(net.patch).padding(0).bias());
    let count = patches.pixels() + net.extra;
    let mut t = patches.t;
    if net.extra > 0 {
        let class = n.weight(net.extra, net.width);
        t = n.join_tokens(class, t, n.batch * count);
        // The model's and the encoder's frames hold these until the blocks are through.
        n.b.put(Slot(1), t);
    }
    if net.positions {
        let positions = n.weight(count, net.width);
        t = n.b.add(t, positions);
        n.b.put(Slot(2), t);
    }
    let mut x = Map { t, channels: net.width, height: count, width: 1, depth: 1 };
    if net.first_norm {
        x = n.channel_norm(x);
    }
    x = n.cut(x, false);
    x = blocks(n, x, net);
    n.clear(Slot(1));
    n.clear(Slot(2));
    if net.gated {
        // The norm comes after the mean.
        return x.t;
    }
    n.channel_norm(x).t
}

/// All blocks.
pub(super) fn blocks(n: &mut Layers, x: Map, net: &Vit) -> Map {
    let tokens = x.height;
    repeated(n, x, net.layers, |n, x| {
        n.sequence = tokens;
        Map { t: block(n, x.t, net), ..x }
    })
}

/// One encoder block: norm, attention, norm, MLP.
pub(super) fn block(n: &mut Layers, x: Tensor, net: &Vit) -> Tensor {
    let normed = n.layer_norm(x, true, true);
    let attended = attention(n, normed, net);
    // A module holds its input until it returns.
    n.b.touch(normed);
    let attended = branch(n, attended, net);
    let input = x;
    let x = n.b.add(x, attended);
    let normed = n.layer_norm(x, true, true);
    let inner = if net.gated { gate(n, normed, net) } else { n.linear(normed, net.mlp, true, Role::Mlp) };
    let inner = if net.gated {
        inner
    } else if net.quick_gelu {
        let scaled = n.b.scale(inner);
        let gate = n.act_tensor(scaled, Act::Sigmoid);
        n.b.mul(inner, gate)
    } else {
        n.act_tensor(inner, Act::Gelu)
    };
    let out = n.linear(inner, net.width, true, Role::Mlp);
    n.b.touch(normed);
    let out = branch(n, out, net);
    let sum = n.b.add(x, out);
    n.b.touch(input);
    sum
}

/// What a gate leaves of the inner columns (`GluMlp` and `SwiGLU` of timm's `mlp.py`).
fn gate(n: &mut Layers, x: Tensor, net: &Vit) -> Tensor {
    if net.attention == Attention::Apart {
        let [gate, inner] = [(); 2].map(|()| n.linear(x, net.mlp, true, Role::Mlp));
        let open = n.act_tensor(gate, Act::Silu);
        let inner = n.b.mul(open, inner);
        return n.layer_norm(inner, true, true);
    }
    let both = n.linear(x, 2 * net.mlp, true, Role::Mlp);
    let parts = n.b.split(both, &[net.mlp; 2]);
    let &[gate, inner] = parts.as_slice() else { return both };
    let open = n.act_tensor(gate, Act::Silu);
    n.b.mul(open, inner)
}

fn branch(n: &mut Layers, t: Tensor, net: &Vit) -> Tensor {
    if net.branch_scale {
        let scale = n.weight(net.width, 1);
        n.b.mul(t, scale)
    } else {
        t
    }
}

fn attention(n: &mut Layers, x: Tensor, net: &Vit) -> Tensor {
    let width = net.width;
    let joint = |n: &mut Layers| n.linear(x, 3 * width, net.qkv_bias, Role::Qkv);
    let (q, k, v) = match net.attention {
        Attention::Apart => {
            let [q, k, v] = [Role::Query, Role::Key, Role::Value].map(|role| {
                let bias = net.qkv_bias || net.gated && role != Role::Key;
                n.linear(x, width, bias, role)
            });
            (q, k, v)
        }
        Attention::Module => {
            let joint = joint(n);
            let apart = n.b.copy(joint, joint.rows, joint.cols);
            (n.b.slice(apart, width), n.b.slice(apart, width), n.b.slice(apart, width))
        }
        Attention::Views => {
            if net.gated {
                // Biases of queries and values are weights of their own, put together with a constant.
                n.weight(2 * width, 1);
            }
            let joint = joint(n);
            match n.b.split(joint, &[width, width, width]).as_slice() {
                &[q, k, v] => (q, k, v),
                _ => (joint, joint, joint),
            }
        }
    };
    let (q, k) = if net.turned { (turn(n, q), turn(n, k)) } else { (q, k) };
    let head = width / net.heads.max(1);
    let shape = Heads {
        count: net.heads,
        key_count: net.heads,
        head,
        value_head: head,
        queries: n.sequence,
        keys: n.sequence,
        // What was put together anew lies head by head.
        by_head: net.turned,
        value_by_head: false,
        causal: net.causal,
        dropout: 0.0,
        softcap: false,
        upcast_softmax: false,
    };
    let bias = net.relative.then(|| relative_bias(n, net));
    let mut out = n.attention(q, k, v, shape, bias);
    // Flash attention lays its result out like the query, which is what the module wants; the others do not.
    let flash = n.b.autocast.map_or(x.dtype.is_half(), Dtype::is_half);
    if net.attention == Attention::Module && !flash {
        out = n.b.copy(out, out.rows, out.cols);
    }
    n.linear(out, width, true, Role::AttentionOut)
}

/// `torch.cat([q[:, :, :prefix], rotated], dim=2).type_as(v)` of timm's `eva.py`.
fn turn(n: &mut Layers, t: Tensor) -> Tensor {
    let narrow = t.dtype;
    let wide = n.b.cast(t, Dtype::F32);
    let turned = n.b.scale(wide);
    let joined = n.b.copy(turned, turned.rows, turned.cols);
    n.b.cast(joined, narrow)
}

/// The numbers of a table for all pairs of places (`_get_rel_pos_bias` of timm's `beit.py`), heads first; and the biases of
/// queries and values, which are weights of their own there.
fn relative_bias(n: &mut Layers, net: &Vit) -> Tensor {
    let places = n.sequence.saturating_sub(net.extra);
    let side = (places as f64).sqrt() as u64;
    n.weight(2 * net.width, 1);
    // Every distance, and three for the class token.
    let table = n.weight((2 * side).saturating_sub(1).pow(2) + 3, net.heads);
    let pairs = n.sequence.saturating_mul(n.sequence);
    n.b.program.buffers += bytes(pairs, Dtype::I64);
    let looked_up = n.b.gather(table, pairs);
    n.b.copy(looked_up, net.heads.saturating_mul(n.sequence), n.sequence)
}

/// One vector for each sample, the classifier, the loss.
pub(super) fn head(n: &mut Layers, tokens: Tensor, net: &Vit, pictures: Pictures) {
    let mut t = if net.averaged { n.average_rows(tokens) } else { n.first_rows(tokens) };
    if net.gated {
        t = n.layer_norm(t, true, true);
    }
    n.trained = trains_head(n);
    let logits = n.fully_connected(t, pictures.classes_or(1000));
    finish(n, logits);
}
