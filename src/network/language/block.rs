//! One layer: norms, attention, MLP or experts.

use super::embed::{add_own_embedding, rotary_columns};
use super::{COS, HIDDEN, LOCAL_MASK, MASK, SIN};
use crate::catalog::LanguageModel;
use crate::catalog::grammar::AttentionCore;
use crate::network::builder::{Keep, Kernel, Tensor};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::style::{Activation, Norm, Residual, Style};
use crate::network::{delta, mla, moe};

/// A layer whose norms stand before attention and MLP, or beside them.
pub(crate) fn block(n: &mut Layers, model: &LanguageModel, style: &Style, experts: bool, local: bool) {
    let x = n.b.take(HIDDEN);
    let out = match style.residual {
        Residual::Sequential => {
            let normed = norm(n, style, x);
            let mut attended = divided_attention(n, model, style, normed, local);
            // A module's argument lives until it returns.
            n.b.touch(normed);
            if style.post_norms {
                attended = norm(n, style, attended);
            }
            let middle = n.b.add(x, attended);
            // Compiled, the sum is made again from its parts.
            let normed = if n.b.compiled { compiled_norm(n, style, middle, attended) } else { norm(n, style, middle) };
            let normed = if experts { n.all_tokens(normed) } else { n.tokens_for_matrix(normed) };
            let mut out = if experts {
                moe::experts(n, model, style, normed)
            } else {
                mlp(n, model, style, normed, u64::from(model.intermediate))
            };
            n.b.touch(normed);
            out = n.own_tokens(out);
            if style.post_norms {
                out = norm(n, style, out);
            }
            n.b.add(middle, out)
        }
        Residual::PostNorm => {
            let attended = divided_attention(n, model, style, x, local);
            let attended = norm(n, style, attended);
            let middle = n.b.add(x, attended);
            let whole = n.tokens_for_matrix(middle);
            let out = mlp(n, model, style, whole, u64::from(model.intermediate));
            let out = n.own_tokens(out);
            let out = norm(n, style, out);
            n.b.add(middle, out)
        }
        Residual::Parallel { shared_norm } => {
            let first = norm(n, style, x);
            let attended = divided_attention(n, model, style, first, local);
            n.b.touch(first);
            let second = if shared_norm { first } else { norm(n, style, x) };
            let whole = n.tokens_for_matrix(second);
            let fed = mlp(n, model, style, whole, u64::from(model.intermediate));
            n.b.touch(whole);
            let fed = n.own_tokens(fed);
            let sum = n.b.add(fed, attended);
            n.b.add(sum, x)
        }
    };
    let out = add_own_embedding(n, model, style, out);
    n.b.put(HIDDEN, out);
}

fn compiled_norm(n: &mut Layers, style: &Style, x: Tensor, kept: Tensor) -> Tensor {
    match style.norm {
        Norm::Layer { weight, bias } => n.compiled_norm(x, kept, weight, bias),
        _ => n.compiled_norm(x, kept, true, false),
    }
}

pub(crate) fn norm(n: &mut Layers, style: &Style, x: Tensor) -> Tensor {
    match style.norm {
        _ if n.b.compiled => compiled_norm(n, style, x, x),
        Norm::Rms | Norm::Gemma if n.is_fused() || n.config.code.fused_layers => n.fused_rms_norm(x),
        Norm::Rms => n.rms_norm(x),
        Norm::Gemma => n.gemma_norm(x),
        Norm::T5 => n.t5_norm(x),
        Norm::Layer { weight, bias } => n.layer_norm(x, weight, bias),
    }
}

/// Attention with its heads, and the tokens around it, divided over the cards of tensor parallelism.
fn divided_attention(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor, local: bool) -> Tensor {
    let x = n.tokens_for_matrix(x);
    let attended = attention(n, model, style, x, local);
    n.own_tokens(attended)
}

fn attention(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor, local: bool) -> Tensor {
    let mut gated = false;
    match model.attention_plan().map(|plan| plan.core) {
        Ok(AttentionCore::Latent(latent)) => return mla::attention(n, model, style, latent, x),
        Ok(AttentionCore::GatedDelta(delta)) if local => return delta::attention(n, model, &delta, x),
        Ok(AttentionCore::GatedDelta(_)) => gated = true,
        _ => {}
    }
    let (heads, kv, head) = (u64::from(model.heads), u64::from(model.kv_heads), u64::from(model.head_dim));
    let (q_width, kv_width) = (heads * head, kv * head);
    let joint = n.config.code.joint_qkv;
    let (q, k, v) = if style.fused_qkv || joint {
        let all = n.joint_qkv(x, q_width, kv_width, style.qkv_bias);
        if style.qkv_by_slices {
            (n.b.slice(all, q_width), n.b.slice(all, kv_width), n.b.slice(all, kv_width))
        } else {
            let parts = n.b.split(all, &[q_width, kv_width, kv_width]);
            (parts[0], parts[1], parts[2])
        }
    } else {
        let q = n.linear(x, if gated { 2 * q_width } else { q_width }, style.qkv_bias, Role::Query);
        let k = n.linear(x, kv_width, style.qkv_bias, Role::Key);
        let v = n.linear(x, kv_width, style.qkv_bias, Role::Value);
        (q, k, v)
    };
    // A gate comes with the queries, head by head, and is laid out by itself.
    let halves = if gated { n.b.split(q, &[q_width, q_width]) } else { Vec::new() };
    let (q, gate) = match halves[..] {
        [q, gate] => (q, Some(n.b.copy(gate, gate.rows, gate.cols))),
        _ => (q, None),
    };
    let (q, k) = if style.qk_norm {
        (head_norm(n, style, q, head), head_norm(n, style, k, head))
    } else if style.qk_full_norm {
        (norm(n, style, q), norm(n, style, k))
    } else {
        (q, k)
    };
    let (q, k) = if style.rotary_share > 0.0 && (n.b.compiled || n.config.code.fused_layers) {
        (n.b.copy(q, q.rows, q.cols), n.b.copy(k, k.rows, k.cols))
    } else if style.rotary_share > 0.0 && !n.is_fused() {
        let (cos, sin) = (n.b.take(COS), n.b.take(SIN));
        let rotary = rotary_columns(model, style);
        let cat = style.cat_rotary || joint;
        (n.rotary(q, cos, sin, head, rotary, cat), n.rotary(k, cos, sin, head, rotary, cat))
    } else {
        (q, k)
    };
    let slot = if local { LOCAL_MASK } else { MASK };
    let mask = n.b.peek(slot).is_some().then(|| n.b.take(slot));
    let (k, v, kv) = if joint && kv != heads {
        let shape = (k.cols / kv.max(1) * heads, v.cols / kv.max(1) * heads);
        (n.b.copy(k, k.rows, shape.0), n.b.copy(v, v.rows, shape.1), heads)
    } else {
        (k, v, kv)
    };
    let shape = Heads {
        count: heads,
        key_count: kv,
        head,
        value_head: head,
        queries: n.sequence,
        keys: n.sequence,
        by_head: style.cat_rotary || joint,
        value_by_head: false,
        causal: true,
        dropout: style.attention_dropout,
        softcap: style.attention_softcap,
        upcast_softmax: style.upcast_softmax,
    };
    let mut context = n.attention(q, k, v, shape, mask);
    if n.prompted {
        context = n.prompted(q, context, u64::from(model.hidden), heads);
    }
    if let Some(gate) = gate {
        let open = n.b.unary(gate, Keep::Output, 0);
        context = n.b.mul(context, open);
    }
    let out = n.linear(context, u64::from(model.hidden), style.out_bias, Role::AttentionOut);
    n.b.dropout(out, style.dropout)
}

/// A norm over each head's columns.
pub(super) fn head_norm(n: &mut Layers, style: &Style, t: Tensor, head: u64) -> Tensor {
    let heads = t.cols / head.max(1);
    let seen = n.b.view(t, t.rows * heads, head);
    let normed = norm(n, style, seen);
    n.b.view(normed, t.rows, t.cols)
}

pub(crate) fn mlp(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor, width: u64) -> Tensor {
    let hidden = u64::from(model.hidden);
    if n.is_fused()
        && model.gated
        && !style.mlp_bias
        && let Some(rank) = n.mlp_rank()
    {
        return n.fused_mlp(x, width, rank);
    }
    let inner = if model.gated && n.config.code.fused_layers {
        let both = n.linear(x, 2 * width, style.mlp_bias, Role::Mlp);
        n.b.fused(&[both], both.rows, width, both.dtype, Kernel { saves: 1, ..Kernel::default() })
    } else if model.gated && n.b.compiled {
        let gate = n.linear(x, width, style.mlp_bias, Role::Mlp);
        let up = n.linear(x, width, style.mlp_bias, Role::Mlp);
        n.b.fused(&[gate, up], gate.rows, width, gate.dtype, Kernel { saves: 0b11, ..Kernel::default() })
    } else if model.gated {
        let (gate, up) = if style.fused_gate_up {
            let both = n.linear(x, 2 * width, style.mlp_bias, Role::Mlp);
            let parts = n.b.split(both, &[width, width]);
            (parts[0], parts[1])
        } else {
            (n.linear(x, width, style.mlp_bias, Role::Mlp), Tensor { cols: 0, ..x })
        };
        if style.fused_gate_up {
            let active = activate(n, style, gate);
            n.b.mul(up, active)
        } else {
            let active = activate(n, style, gate);
            let up = n.linear(x, width, style.mlp_bias, Role::Mlp);
            n.b.mul(active, up)
        }
    } else {
        let wide = n.linear(x, width, style.mlp_bias, Role::Mlp);
        activate(n, style, wide)
    };
    let out = n.linear(inner, hidden, style.mlp_bias, Role::Mlp);
    n.b.touch(x);
    n.b.dropout(out, style.dropout)
}

pub(crate) fn activate(n: &mut Layers, style: &Style, x: Tensor) -> Tensor {
    match style.activation {
        _ if n.b.compiled => n.b.unary(x, Keep::Input, 0),
        // x * 0.5 * (1.0 + erf(x / 1.41421))
        Activation::Gelu if n.config.code.written_gelu => {
            // The bias comes inside of the function, a script.
            let x = if n.config.code.scripts_hold_inputs { n.b.unary(x, Keep::Input, 0) } else { x };
            let half = n.b.scale(x);
            let divided = n.b.scale(x);
            let erf = n.b.unary(divided, Keep::Input, 1);
            let shifted = n.b.shift(erf);
            n.b.mul(half, shifted)
        }
        Activation::Silu | Activation::Gelu => n.b.unary(x, Keep::Input, 0),
        Activation::Relu => n.b.unary(x, Keep::Output, 0),
        // transformers' `gelu_new`, written out: 0.5 * x * (1 + tanh(c * (x + 0.044715 * x^3)))
        Activation::GeluNew => {
            let half = n.b.scale(x);
            let cube = n.b.pow(x);
            let small = n.b.scale(cube);
            let sum = n.b.add(x, small);
            let inner = n.b.scale(sum);
            let squashed = n.b.unary(inner, Keep::Output, 0);
            let shifted = n.b.shift(squashed);
            n.b.mul(half, shifted)
        }
        Activation::ReluSquared => {
            let positive = n.b.unary(x, Keep::Output, 0);
            n.b.pow(positive)
        }
    }
}
