//! Mixture of experts, as transformers runs it: tokens sorted by expert, grouped products, weighted and summed.

use super::builder::{Keep, Kernel, Tensor, bytes};
use super::language::{activate, mlp};
use super::layers::Layers;
use super::style::Style;
use super::{Dtype, Quantization};
use crate::catalog::LanguageModel;

/// Router, routed experts, shared experts.
pub(crate) fn experts(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor) -> Tensor {
    let (count, active) = (u64::from(model.moe_experts), u64::from(model.moe_active.max(1)));
    let (hidden, width) = (u64::from(model.hidden), u64::from(model.moe_intermediate));
    let weights = route(n, style, x, count, active);

    let picked = x.rows.saturating_mul(active);
    let selected = n.b.gather(x, picked);
    let scale = n.b.gather(weights, picked);
    let (gates, matrices) = if model.gated { (2, 2 * width) } else { (1, width) };
    let up = grouped(n, selected, count, matrices);
    let inner = if gates == 2 {
        let parts = n.b.split(up, &[width, width]);
        match parts[..] {
            [gate, linear] => {
                let active = activate(n, style, gate);
                n.b.mul(active, linear)
            }
            _ => up,
        }
    } else {
        activate(n, style, up)
    };
    let down = grouped(n, inner, count, hidden);
    let weighted = n.b.mul(down, scale);
    // Back to the tokens' order, then the sum over each token's experts.
    let ordered = n.b.gather(weighted, picked);
    let summed = n.b.reduce(ordered, x.rows, hidden);
    let out = n.b.cast(summed, x.dtype);
    if model.moe_shared > 0 {
        let mut shared = mlp(n, model, style, x, u64::from(model.moe_shared) * width);
        if model.extras.contains("shared-expert-gate") {
            // `sigmoid(shared_expert_gate(x)) * shared` of Qwen2 MoE and its successors.
            let w = n.weight(1, x.cols);
            let gate = n.b.linear(x, w, None);
            let open = n.b.unary(gate, Keep::Output, 0);
            shared = n.b.mul(open, shared);
        }
        return n.b.add(out, shared);
    }
    out
}

/// Scores of all experts, the best few and their weights.
fn route(n: &mut Layers, style: &Style, x: Tensor, count: u64, active: u64) -> Tensor {
    let x = if style.wide_router { n.b.cast(x, Dtype::F32) } else { x };
    let w = n.weight(count, x.cols);
    let logits = if style.wide_router {
        let w = n.b.cast(w, Dtype::F32);
        n.b.linear(x, w, None)
    } else {
        n.b.linear(x, w, None)
    };
    let probabilities = n.b.softmax(logits, true);
    // `topk` keeps the indices; its backward scatters into a tensor of all scores.
    let index = Kernel { saves: super::SAVE_AUX, aux: bytes(x.rows * active, Dtype::I64), ..Kernel::default() };
    let top = n.b.fused(&[probabilities], x.rows, active, Dtype::F32, index);
    let total = n.b.reduce(top, x.rows, 1);
    let normal = n.b.mul(top, total);
    let flat = n.b.cast(normal, if style.wide_router { Dtype::F32 } else { logits.dtype });
    n.b.view(flat, x.rows * active, 1)
}

/// `grouped_mm`: all experts' matrices in one weight; it knows nothing of autocast, so the input takes the weight's
/// format.
fn grouped(n: &mut Layers, x: Tensor, experts: u64, out: u64) -> Tensor {
    let numel = experts.saturating_mul(out);
    let flops = 2.0 * x.numel() as f64 * out as f64;
    let quantization = n.config.quantization.filter(|_| !n.config.code.plain_experts);
    let w = match quantization {
        Some(q) => {
            let whole = numel.saturating_mul(x.cols);
            let stored = match q {
                Quantization::Nf4 { .. } | Quantization::Int4 => bytes(whole.div_ceil(2) + whole / 64, Dtype::U8),
                _ => bytes(whole, Dtype::U8),
            };
            n.b.stored_weight(numel, x.cols, n.config.autocast.unwrap_or(Dtype::Bf16), false, stored)
        }
        None => n.weight(numel, x.cols),
    };
    let x = n.b.cast(x, w.dtype);
    // One expert's matrix at a time is made 16-bit again.
    let scratch = if quantization.is_some() { bytes(out.saturating_mul(x.cols), w.dtype) } else { 0 };
    let saves = u8::from(w.grad) | u8::from(x.grad) << 1;
    let kernel = Kernel { saves, temp: scratch, back_temp: scratch, flops, ..Kernel::default() };
    n.b.fused(&[x, w], x.rows, out, x.dtype, kernel)
}
