//! Output head and cross-entropy: logits written out, a chunk at a time, or never whole.

use super::builder::{Keep, Kernel, Tensor, bytes};
use super::language::HELD;
use super::layers::Layers;
use super::{Dtype, Kind, Loss, SAVE_AUX, SAVE_OUT};

/// The output head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) weight: Tensor,
    /// Bytes that making the weight takes, where it is quantized.
    pub(crate) scratch: Option<u64>,
    pub(crate) vocab: u64,
    /// Logits squashed by tanh.
    pub(crate) softcap: bool,
    pub(crate) bias: bool,
}

impl Head {
    /// A matrix as it is, on logits as they are.
    pub(crate) fn plain(weight: Tensor, vocab: u64, bias: bool) -> Self {
        Self { weight, scratch: None, vocab, softcap: false, bias }
    }
}

/// Output head and cross-entropy.
pub(crate) fn cross_entropy(n: &mut Layers, x: Tensor, head: Head) {
    let Head { weight: w, scratch, vocab, softcap, bias } = head;
    let upcast = n.config.loss == Loss::Upcast && !n.plain_loss;
    let tokens = x.rows;
    if n.config.loss == Loss::FusedChunked {
        return fused_loss(n, x, w, vocab, scratch.unwrap_or(0));
    }
    if let Loss::ChunkedLoss { chunk } = n.config.loss {
        return chunked_loss(n, x, head, chunk);
    }
    let b = bias.then(|| n.weight(vocab, 1));
    let logits = match scratch {
        Some(scratch) => n.b.dequantized_linear(x, w, vocab, scratch, n.config.code.quantized_saves_input),
        None => n.b.linear(x, w, b),
    };
    let logits = n.head(x, logits);
    let mut logits = n.b.as_logits(logits);
    if softcap {
        let divided = n.b.scale(logits);
        let divided = n.b.as_logits(divided);
        let squashed = n.b.unary(divided, Keep::Output, 0);
        let squashed = n.b.as_logits(squashed);
        let scaled = n.b.scale(squashed);
        logits = n.b.as_logits(scaled);
    }
    if n.config.code.fused_cross_entropy {
        let temp = if n.config.code.converts_outputs { bytes(tokens * vocab, Dtype::F32) } else { 0 };
        let kernel = Kernel { saves: 1 | SAVE_AUX, aux: bytes(2 * tokens, Dtype::F32), temp, ..Kernel::default() };
        let loss = n.b.fused(&[logits], 1, 1, Dtype::F32, kernel);
        n.b.touch(logits);
        n.b.touch(loss);
        return;
    }
    if n.config.code.fused_layers {
        // `_VocabParallelCrossEntropy` of megatron/core/tensor_parallel/cross_entropy.py: one fp32 copy of the logits, in which
        // exponentials, then probabilities and at last gradients are made in place.
        let loss = n.b.early_gradient_loss(&[logits], Dtype::F32, 0, 0.0);
        n.b.logits_aux();
        n.b.touch(logits);
        n.b.touch(loss);
        return;
    }
    let mut wide = if upcast { n.b.cast(logits, Dtype::F32) } else { logits };
    wide = n.b.as_logits(wide);
    // The 16-bit logits have no name any more once they are fp32, and the loss works on a copy without the last token.
    let shifts = upcast && n.config.code.shifts_logits;
    if shifts {
        logits = wide;
        let shifted = n.b.copy(wide, wide.rows, wide.cols);
        wide = n.b.as_logits(shifted);
    }
    let divided = n.config.shards.tensor > 1;
    let mut log_probabilities = if divided {
        let t = n.b.divided_log_softmax(wide);
        n.b.as_logits(t)
    } else {
        let saves = SAVE_OUT | u8::from(n.b.keeps_softmax_input);
        n.b.fused(&[wide], tokens, vocab, wide.dtype, Kernel { saves, kind: Kind::Logits, ..Kernel::default() })
    };
    if n.config.autocast.is_some() && wide.dtype.is_half() {
        // `cross_entropy` runs log-softmax as it comes; autocast then wants `nll_loss` in fp32.
        let cast = n.b.cast(log_probabilities, Dtype::F32);
        log_probabilities = n.b.as_logits(cast);
    }
    let nll = Kernel { saves: 1, ..Kernel::default() };
    let loss = n.b.fused(&[log_probabilities], 1, 1, wide.dtype, nll);
    // `logits` and its fp32 copy are local variables until the loss is there.
    n.b.touch(logits);
    n.b.touch(wide);
    n.b.touch(x);
    n.b.touch(loss);
    if n.config.hold_outputs {
        n.b.put(HELD, logits);
    }
}

/// Output head and cross-entropy a chunk of tokens at a time (torchtune: eight chunks; `LitGPT`: 128 tokens): logits and
/// log-probabilities stay, the gradient is only ever one chunk.
fn chunked_loss(n: &mut Layers, x: Tensor, head: Head, chunk: u64) {
    let Head { weight: w, vocab, softcap, .. } = head;
    let scratch = head.scratch.unwrap_or(0);
    let tokens = x.rows;
    let chunk = if chunk == 0 { tokens.div_ceil(8) } else { chunk.min(tokens) };
    let x = n.b.autocast_input(x);
    let w = n.b.autocast_weight(w);
    // torchtune casts each chunk to fp32 for the loss, and so its log-probabilities; LitGPT's logits are fp32 already.
    let widens = n.config.code.widens_logits;
    let own = bytes(tokens * vocab, x.dtype);
    let wide = if widens || n.config.loss == (Loss::ChunkedLoss { chunk: 0 }) { Dtype::F32 } else { x.dtype };
    let saved = bytes(tokens * vocab, wide);
    let kept = if widens { saved } else { own };
    let part = bytes(chunk * vocab, wide);
    // The losses of all chunks come after all of their logits, so backward has every chunk's gradient before the first
    // product of the head. Where logits were cast, a chunk's log-probabilities go as its gradient comes, and all
    // gradients are cast back before the first product.
    let (temp, back_temp) = if widens {
        // Until the model returns, `logits` are the last step's, and until the loss is there `loss` holds what outlasts it.
        let (before, graph) = if n.config.code.holds_last_loss { (saved, n.b.program.outlasting) } else { (0, 0) };
        let product = own + scratch + before + graph;
        let cast = own + saved + before + graph;
        let losses = 2 * saved + part + graph;
        let most = product.max(cast).max(losses);
        (most.saturating_sub(2 * saved), (2 * part).max(scratch.saturating_sub(saved - own)))
    } else {
        (part.max(scratch), own + part.max(scratch))
    };
    let kernel = Kernel {
        saves: u8::from(w.grad) | u8::from(x.grad) << 1 | SAVE_AUX,
        // The tanh of each chunk stays (`do_softcapping` of litgpt/model.py), and what a trained scale is for.
        aux: kept + saved + if softcap || n.scales_head() { own } else { 0 },
        temp,
        back_temp,
        flops: 2.0 * x.numel() as f64 * vocab as f64,
        kind: Kind::Activation,
    };
    let loss = n.b.fused(&[x, w], 1, 1, Dtype::F32, kernel);
    n.b.logits_aux();
    n.b.touch(loss);
}

/// Liger's fused linear cross-entropy: logits a chunk of tokens at a time, gradients made at once.
fn fused_loss(n: &mut Layers, x: Tensor, w: Tensor, vocab: u64, scratch: u64) {
    let dtype = n.config.autocast.unwrap_or(x.dtype);
    let x16 = n.b.cast(x, dtype);
    // Inside the function the weight is cast once more, and goes when it returns.
    let copy = if w.dtype == dtype { 0 } else { bytes(w.numel(), dtype) };
    let tokens = x.rows;
    let inc = vocab.div_ceil(x.cols.max(1));
    let chunk = tokens.div_ceil(inc.max(1)).max(1).next_power_of_two();
    let mut temp = copy + scratch + bytes(chunk * vocab, dtype);
    if !w.grad {
        temp += bytes(chunk * x.cols, dtype);
    } else if !n.config.code.adds_head_gradient {
        // A chunk's part of the weight's gradient, and the same in fp32.
        let wide = if dtype == Dtype::F32 { 0 } else { bytes(w.numel(), Dtype::F32) };
        temp += bytes(w.numel(), dtype) + wide;
    }
    let flops = 3.0 * 2.0 * x.numel() as f64 * vocab as f64;
    // Two results of one function: each gradient is a tensor of its own.
    for (input, temp, flops) in [(x16, 0, 0.0), (w, temp, flops)] {
        let loss = n.b.early_gradient_loss(&[input], dtype, temp, flops);
        n.b.touch(loss);
    }
    if n.config.hold_outputs {
        n.b.put(HELD, x);
    }
    n.b.touch(x);
}
