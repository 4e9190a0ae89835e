//! Linear attention by the gated delta rule (Qwen3-Next, Qwen3.5), as transformers writes it around the kernels of
//! flash-linear-attention and causal-conv1d.

use super::builder::{Keep, Kernel, Tensor, bytes};
use super::layers::{Layers, Role};
use super::{Dtype, SAVE_AUX};
use crate::catalog::LanguageModel;
use crate::catalog::grammar::GatedDelta;

/// Tokens that the rule takes at a time (`chunk_size` of `chunk_gated_delta_rule`).
const CHUNK: u64 = 64;

/// `Qwen3NextGatedDeltaNet.forward`, `Qwen3_5GatedDeltaNet.forward`.
pub(crate) fn attention(n: &mut Layers, model: &LanguageModel, d: &GatedDelta, x: Tensor) -> Tensor {
    let (keys, values) = (d.key_heads * d.key_dim, d.value_heads * d.value_dim);
    let mixed_width = 2 * keys + values;
    let (mixed, z, b, a) = if model.family == "Qwen3-Next" {
        // Queries, keys, values and gate come out of one matrix, group by group, and are laid out anew.
        let all = n.linear(x, mixed_width + values, false, Role::Mlp);
        let scalars = n.linear(x, 2 * d.value_heads, false, Role::Mlp);
        let parts = n.b.split(all, &[mixed_width, values]);
        let halves = n.b.split(scalars, &[d.value_heads, d.value_heads]);
        let ([mixed, z], [b, a]) = (&parts[..], &halves[..]) else { return x };
        let mixed = n.b.copy(*mixed, mixed.rows, mixed.cols);
        (mixed, n.b.copy(*z, z.rows, z.cols), n.b.copy(*b, b.rows, b.cols), n.b.copy(*a, a.rows, a.cols))
    } else {
        let mixed = n.linear(x, mixed_width, false, Role::Mlp);
        let z = n.linear(x, values, false, Role::Mlp);
        let b = n.linear(x, d.value_heads, false, Role::Mlp);
        (mixed, z, b, n.linear(x, d.value_heads, false, Role::Mlp))
    };
    // `causal_conv1d_fn` keeps its input alone and makes the activation again.
    let taps = n.weight(mixed_width, d.conv.max(1));
    let kernel = Kernel { saves: 1, ..Kernel::default() };
    let mixed = n.b.fused(&[mixed, taps], mixed.rows, mixed_width, mixed.dtype, kernel);
    let beta = n.b.unary(b, Keep::Output, 0);
    let decay = decay(n, d, a);
    let out = rule(n, d, mixed, decay, beta);
    let normed = gated_norm(n, d, out, z);
    n.linear(normed, u64::from(model.hidden), false, Role::Mlp)
}

/// `-A_log.float().exp() * softplus(a.float() + dt_bias)`.
fn decay(n: &mut Layers, d: &GatedDelta, a: Tensor) -> Tensor {
    let log = n.weight(d.value_heads, 1);
    let bias = n.weight(d.value_heads, 1);
    let log = n.b.cast(log, Dtype::F32);
    let rate = n.b.unary(log, Keep::Output, 0);
    let rate = n.b.scale(rate);
    let wide = n.b.cast(a, Dtype::F32);
    let shifted = n.b.add(wide, bias);
    let soft = n.b.unary(shifted, Keep::Input, 0);
    n.b.mul(soft, rate)
}

/// `ChunkGatedDeltaRuleFunction` of `fla/ops/gated_delta_rule/chunk.py`: keeps normed queries and keys, values, cumulated
/// decay, the inverted triangles of each chunk; the states between the chunks are made again in backward.
fn rule(n: &mut Layers, d: &GatedDelta, mixed: Tensor, decay: Tensor, beta: Tensor) -> Tensor {
    let rows = mixed.rows;
    let per = |elements: u64, dtype: Dtype| bytes(rows.saturating_mul(elements), dtype);
    let half = mixed.dtype;
    let (keys, heads) = (d.key_heads * d.key_dim, d.value_heads);
    let (wide_keys, values) = (heads * d.key_dim, heads * d.value_dim);
    let states = heads * d.key_dim * d.value_dim / CHUNK;
    let kept = 2 * per(keys, half)
        + 2 * per(d.key_heads, Dtype::F32)
        + per(values, half)
        + per(heads, Dtype::F32)
        + per(heads * CHUNK, half);
    // w, u, the states and the corrected values.
    let pieces = per(wide_keys, half) + 2 * per(values, half) + per(states, half);
    let kernel = Kernel {
        saves: 0b100 | SAVE_AUX,
        aux: kept,
        temp: pieces,
        // The same again, the gradients of values and states, and those of queries and keys.
        back_temp: pieces + per(values, half) + per(states, half) + 2 * per(wide_keys, half),
        flops: 2.0 * rows as f64 * (3 * states + heads * CHUNK * 2) as f64 * CHUNK as f64,
        ..Kernel::default()
    };
    n.b.fused(&[mixed, decay, beta], rows, values, half, kernel)
}

/// `Qwen3NextRMSNormGated`: the norm of each head times the gate's activation in fp32.
fn gated_norm(n: &mut Layers, d: &GatedDelta, x: Tensor, gate: Tensor) -> Tensor {
    let heads = x.cols / d.value_dim.max(1);
    let seen = n.b.view(x, x.rows * heads, d.value_dim);
    let normed = n.rms_norm(seen);
    let gate = n.b.view(gate, x.rows * heads, d.value_dim);
    let wide = n.b.cast(gate, Dtype::F32);
    let active = n.b.unary(wide, Keep::Input, 0);
    let product = n.b.mul(normed, active);
    let narrow = n.b.cast(product, x.dtype);
    n.b.view(narrow, x.rows, x.cols)
}
