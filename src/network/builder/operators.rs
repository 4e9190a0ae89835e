//! The operators: one method each.

use super::{BLANK, Builder, Keep, Kernel, Tensor, bytes, promote};
use crate::network::{Backward, Dtype, Kind, Op, SAVE_AUX, SAVE_OUT, round};

impl Builder {
    // ---- views and casts ---------------------------------------------------------------------------------------

    /// `to(dtype)`: a copy unless it has that format.
    pub(crate) fn cast(&mut self, t: Tensor, dtype: Dtype) -> Tensor {
        if t.dtype == dtype {
            return t;
        }
        self.emit(&[t], t.rows, t.cols, dtype, Op { backward: Backward::Fresh, ..BLANK })
    }

    /// A new tensor of another format that takes no part in autograd (a mask made additive).
    pub(crate) fn converted(&mut self, t: Tensor, dtype: Dtype) -> Tensor {
        self.emit(&[t], t.rows, t.cols, dtype, BLANK)
    }

    /// `torch.zeros`.
    pub(crate) fn zeros(&mut self, rows: u64, cols: u64, dtype: Dtype) -> Tensor {
        self.emit(&[], rows, cols, dtype, BLANK)
    }

    /// `torch.where(causal, x, min)`: keeps the condition.
    pub(crate) fn masked(&mut self, t: Tensor) -> Tensor {
        let op = Op { backward: Backward::Fresh, aux: bytes(t.cols * t.cols, Dtype::U8), saves: SAVE_AUX, ..BLANK };
        self.emit(&[t], t.rows, t.cols, t.dtype, op)
    }

    /// What a matrix product makes of an activation under autocast.
    pub(crate) fn autocast_input(&mut self, t: Tensor) -> Tensor {
        match self.autocast {
            Some(dtype) => self.cast(t, dtype),
            None => t,
        }
    }

    /// `view`, `reshape` without a copy, `transpose`: the same storage seen in another shape.
    pub(crate) fn view(&mut self, t: Tensor, rows: u64, cols: u64) -> Tensor {
        let op = Op { backward: Backward::Pass, ..BLANK };
        self.push(&[t], Some((rows, cols, t.dtype, Kind::Activation, true)), op).unwrap_or(t)
    }

    /// `detach`: the same storage, through which no gradient goes.
    pub(crate) fn detach(&mut self, t: Tensor) -> Tensor {
        self.push(&[t], Some((t.rows, t.cols, t.dtype, Kind::Activation, true)), BLANK).unwrap_or(t)
    }

    /// A part of the last dimension: a view whose backward fills a tensor of the full size.
    pub(crate) fn slice(&mut self, t: Tensor, cols: u64) -> Tensor {
        let op = Op { backward: Backward::Fresh, ..BLANK };
        self.push(&[t], Some((t.rows, cols, t.dtype, Kind::Activation, true)), op).unwrap_or(t)
    }

    /// `split` / `chunk` of the last dimension: views whose gradients are concatenated when all have come.
    pub(crate) fn split(&mut self, t: Tensor, widths: &[u64]) -> Vec<Tensor> {
        let op = Op { backward: Backward::Fresh, ..BLANK };
        let mut parts = Vec::with_capacity(widths.len());
        let Some((&first, rest)) = widths.split_first() else { return parts };
        if let Some(part) = self.push(&[t], Some((t.rows, first, t.dtype, Kind::Activation, true)), op) {
            parts.push(part);
            for &width in rest {
                parts.push(self.value(t.rows, width, t.dtype, Kind::Activation, t.id, part.grad));
            }
            if let Some(op) = self.segment.ops.last_mut() {
                op.outs = parts.len() as u8;
            }
        }
        parts
    }

    /// A copy in another layout or shape (`contiguous`, `clone`, `repeat_interleave`, `expand` then `reshape`).
    pub(crate) fn copy(&mut self, t: Tensor, rows: u64, cols: u64) -> Tensor {
        self.emit(&[t], rows, cols, t.dtype, Op { backward: Backward::Fresh, ..BLANK })
    }

    /// A copy of the same shape in another layout, whose gradient goes on as it is (`reshape` that could not be a view).
    pub(crate) fn laid_out(&mut self, t: Tensor) -> Tensor {
        self.emit(&[t], t.rows, t.cols, t.dtype, Op { backward: Backward::Pass, ..BLANK })
    }

    /// `cat` along the last dimension; its backward are views.
    pub(crate) fn cat(&mut self, parts: &[Tensor]) -> Tensor {
        let rows = parts.first().map_or(0, |t| t.rows);
        let cols = parts.iter().map(|t| t.cols).sum();
        let dtype = parts.iter().map(|t| t.dtype).reduce(promote).unwrap_or(Dtype::F32);
        self.emit(parts, rows, cols, dtype, Op { backward: Backward::Views, ..BLANK })
    }

    /// `cat` along the tokens; its backward are views.
    pub(crate) fn join(&mut self, parts: &[Tensor]) -> Tensor {
        let rows = parts.iter().map(|t| t.rows).sum();
        let cols = parts.first().map_or(0, |t| t.cols);
        let dtype = parts.iter().map(|t| t.dtype).reduce(promote).unwrap_or(Dtype::F32);
        self.emit(parts, rows, cols, dtype, Op { backward: Backward::Views, ..BLANK })
    }

    /// Some of the tokens: a view whose backward fills a tensor of the full size.
    pub(crate) fn part(&mut self, t: Tensor, rows: u64) -> Tensor {
        let op = Op { backward: Backward::Fresh, ..BLANK };
        self.push(&[t], Some((rows, t.cols, t.dtype, Kind::Activation, true)), op).unwrap_or(t)
    }

    // ---- pointwise ---------------------------------------------------------------------------------------------

    /// An operator on one tensor; `back_copies` more tensors of the output's size live while backward computes.
    pub(crate) fn unary(&mut self, t: Tensor, keep: Keep, back_copies: u64) -> Tensor {
        let saves = match keep {
            Keep::Nothing => 0,
            Keep::Input => 1,
            Keep::Output => SAVE_OUT,
        };
        let op = Op { backward: Backward::Fresh, saves, back_temp: t.bytes() * back_copies, ..BLANK };
        self.emit(&[t], t.rows, t.cols, t.dtype, op)
    }

    /// Times a Python number, negation: keeps nothing.
    pub(crate) fn scale(&mut self, t: Tensor) -> Tensor {
        self.unary(t, Keep::Nothing, 0)
    }

    /// Plus a Python number: the gradient goes through.
    pub(crate) fn shift(&mut self, t: Tensor) -> Tensor {
        self.emit(&[t], t.rows, t.cols, t.dtype, Op { backward: Backward::Pass, ..BLANK })
    }

    /// `x.pow(2)` or `pow(x, 3)`: backward needs `x.pow(n-1)`, `n` times that, and the product.
    /// Autocast runs it in fp32.
    pub(crate) fn pow(&mut self, t: Tensor) -> Tensor {
        let t = if self.autocast.is_some() { self.cast(t, Dtype::F32) } else { t };
        self.unary(t, Keep::Input, 2)
    }

    /// `mean(-1, keepdim)`.
    pub(crate) fn mean(&mut self, t: Tensor) -> Tensor {
        self.emit(&[t], t.rows, 1, t.dtype, Op { backward: Backward::Fresh, ..BLANK })
    }

    /// `sum(-1)`-like reduction whose gradient is an expanded view.
    pub(crate) fn reduce(&mut self, t: Tensor, rows: u64, cols: u64) -> Tensor {
        self.emit(&[t], rows, cols, t.dtype, Op { backward: Backward::Views, ..BLANK })
    }

    /// Product, with broadcasting: each factor is kept for the other's gradient.
    pub(crate) fn mul(&mut self, a: Tensor, b: Tensor) -> Tensor {
        let (rows, cols) = if a.numel() >= b.numel() { (a.rows, a.cols) } else { (b.rows, b.cols) };
        let dtype = promote(a.dtype, b.dtype);
        let full = bytes(rows * cols, dtype);
        // A gradient is first made in the output's size and format, then summed or cast to its input's.
        let odd = |t: Tensor| t.grad && (t.bytes() != full || t.dtype != dtype);
        let back_temp = match (odd(a), odd(b)) {
            // Both are made before the first is summed or cast.
            (true, true) => 2 * full - a.bytes().max(b.bytes()).min(full),
            (false, false) => 0,
            _ => full,
        };
        let saves = u8::from(b.grad) | u8::from(a.grad) << 1;
        self.emit(&[a, b], rows, cols, dtype, Op { backward: Backward::Fresh, saves, back_temp, ..BLANK })
    }

    /// Sum, with broadcasting.
    pub(crate) fn add(&mut self, a: Tensor, b: Tensor) -> Tensor {
        let (rows, cols) = if a.numel() >= b.numel() { (a.rows, a.cols) } else { (b.rows, b.cols) };
        let dtype = promote(a.dtype, b.dtype);
        self.emit(&[a, b], rows, cols, dtype, Op { backward: Backward::Pass, ..BLANK })
    }

    /// `native_dropout`: a mask of one byte an element. Nothing at all for `p = 0`.
    pub(crate) fn dropout(&mut self, t: Tensor, p: f64) -> Tensor {
        if p <= 0.0 {
            return t;
        }
        let op = Op { backward: Backward::Fresh, aux: bytes(t.numel(), Dtype::U8), saves: SAVE_AUX, ..BLANK };
        self.emit(&[t], t.rows, t.cols, t.dtype, op)
    }

    /// `softmax(dim=-1, dtype=float32)` and plain softmax (which autocast runs in fp32 too).
    pub(crate) fn softmax(&mut self, t: Tensor, upcast: bool) -> Tensor {
        let input = u8::from(self.keeps_softmax_input);
        let kept = Op { backward: Backward::Fresh, saves: SAVE_OUT | input, ..BLANK };
        if self.autocast.is_some() {
            let t = self.cast(t, Dtype::F32);
            return self.emit(&[t], t.rows, t.cols, Dtype::F32, kept);
        }
        if upcast && t.dtype != Dtype::F32 {
            // What is kept is the input as it came.
            let half = Op { backward: Backward::Fresh, saves: input, ..BLANK };
            let wide = self.emit(&[t], t.rows, t.cols, Dtype::F32, half);
            return self.unary(wide, Keep::Output, 0);
        }
        self.emit(&[t], t.rows, t.cols, t.dtype, kept)
    }

    /// `native_layer_norm`: keeps its input and, per row, mean and deviation. Autocast runs it in fp32.
    pub(crate) fn layer_norm(&mut self, x: Tensor, w: Option<Tensor>, b: Option<Tensor>) -> Tensor {
        let fp32 = self.autocast.is_some();
        let x = if fp32 { self.cast(x, Dtype::F32) } else { x };
        let mut inputs = vec![x];
        for t in [w, b].into_iter().flatten() {
            inputs.push(if fp32 { self.cast(t, Dtype::F32) } else { t });
        }
        let aux = 2 * bytes(x.rows, Dtype::F32);
        let mut op = Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux, ..BLANK };
        // Partial sums of the weight's gradient (`layer_norm_backward` with its two-stage reduction).
        op.back_temp = round(8 * x.cols * (x.rows / 64).clamp(1, 64));
        self.emit(&inputs, x.rows, x.cols, x.dtype, op)
    }

    // ---- products ----------------------------------------------------------------------------------------------

    /// `linear(x, w, b)` with `w` of `out` rows: keeps `x` for the weight's gradient, `w` for the input's.
    pub(crate) fn linear(&mut self, x: Tensor, w: Tensor, b: Option<Tensor>) -> Tensor {
        let x = self.autocast_input(x);
        let w = self.autocast_weight(w);
        let b = b.map(|b| self.autocast_weight(b));
        let out = w.rows;
        let saves = u8::from(w.grad) | u8::from(x.grad) << 1;
        let flops = 2.0 * x.numel() as f64 * out as f64;
        let op = Op { backward: Backward::Fresh, saves, flops, weight_view: true, ..BLANK };
        match b {
            Some(b) => self.emit(&[x, w, b], x.rows, out, x.dtype, op),
            None => self.emit(&[x, w], x.rows, out, x.dtype, op),
        }
    }

    /// A linear layer over the tokens of several cards, of which this card's part `x` is kept.
    pub(crate) fn gathered_linear(&mut self, x: Tensor, w: Tensor, b: Option<Tensor>, cards: u64) -> Tensor {
        let (out, rows) = (w.rows, x.rows.saturating_mul(cards));
        let saves = u8::from(w.grad) | u8::from(x.grad) << 1;
        let flops = 2.0 * x.numel() as f64 * cards as f64 * out as f64;
        let whole = bytes(rows.saturating_mul(x.cols), x.dtype);
        // Backward gathers the input and makes the whole input's gradient before it is scattered.
        let op = Op {
            backward: Backward::Fresh,
            saves,
            flops,
            temp: whole,
            back_temp: 2 * whole,
            weight_view: true,
            ..BLANK
        };
        match b {
            Some(b) => self.emit(&[x, w, b], rows, out, x.dtype, op),
            None => self.emit(&[x, w], rows, out, x.dtype, op),
        }
    }

    /// Batched product of activations; `flops` in all.
    pub(crate) fn matmul(&mut self, a: Tensor, b: Tensor, rows: u64, cols: u64, flops: f64) -> Tensor {
        let a = self.autocast_input(a);
        let b = self.autocast_input(b);
        let saves = u8::from(b.grad) | u8::from(a.grad) << 1;
        self.emit(&[a, b], rows, cols, a.dtype, Op { backward: Backward::Fresh, saves, flops, ..BLANK })
    }

    /// A linear layer whose frozen weight is made from a compact form for each product: `scratch` bytes while it runs.
    pub(crate) fn dequantized_linear(
        &mut self,
        x: Tensor,
        w: Tensor,
        out: u64,
        scratch: u64,
        keep_input: bool,
    ) -> Tensor {
        let flops = 2.0 * x.numel() as f64 * out as f64;
        if keep_input && x.grad && self.outlasting != x.id {
            self.outlasting = x.id;
            let kept = x.bytes().saturating_mul(self.times);
            self.program.outlasting = self.program.outlasting.saturating_add(kept);
        }
        let op = Op {
            backward: Backward::Fresh,
            saves: u8::from(keep_input),
            temp: scratch,
            back_temp: scratch,
            flops,
            ..BLANK
        };
        self.emit(&[x, w], x.rows, out, x.dtype, op)
    }

    /// Embedding lookup: backward makes a dense gradient of the whole table.
    pub(crate) fn embedding(&mut self, table: Tensor, tokens: u64) -> Tensor {
        self.emit(&[table], tokens, table.cols, table.dtype, Op { backward: Backward::Fresh, ..BLANK })
    }

    /// Gathers rows (`x[index]`): backward adds them up again in a tensor of the full size.
    pub(crate) fn gather(&mut self, x: Tensor, rows: u64) -> Tensor {
        let index = bytes(rows, Dtype::I64);
        self.emit(&[x], rows, x.cols, x.dtype, Op { backward: Backward::Fresh, aux: index, saves: SAVE_AUX, ..BLANK })
    }

    /// A fused kernel with up to four inputs.
    pub(crate) fn fused(&mut self, inputs: &[Tensor], rows: u64, cols: u64, dtype: Dtype, kernel: Kernel) -> Tensor {
        let op = Op {
            backward: Backward::Fresh,
            saves: kernel.saves,
            aux: round(kernel.aux),
            temp: kernel.temp,
            back_temp: kernel.back_temp,
            flops: kernel.flops,
            ..BLANK
        };
        self.emit_kind(inputs, rows, cols, dtype, kernel.kind, op)
    }

    /// Log-softmax over logits that are divided over cards, written out: their shifted copy, and its exponentials for a while.
    /// Backward, the loss fills zeros with minus one at the labels; their sum with the exponentials, and its product with
    /// the loss's gradient, are the logits' (torch/distributed/tensor/parallel/loss.py).
    pub(crate) fn divided_log_softmax(&mut self, t: Tensor) -> Tensor {
        let one = t.bytes();
        let shifted = Op { backward: Backward::Pass, temp: one, ..BLANK };
        let out = self.emit_kind(&[t], t.rows, t.cols, t.dtype, Kind::Logits, shifted);
        let op = Op { backward: Backward::Fresh, saves: 1, back_temp: one, ..BLANK };
        self.push(&[out], Some((t.rows, t.cols, t.dtype, Kind::Activation, true)), op).unwrap_or(out)
    }

    /// Selective checkpointing keeps the last operator's result.
    pub(crate) fn keep_last(&mut self) {
        if let Some(op) = self.segment.ops.last_mut() {
            op.kept = true;
        }
    }

    /// What the last operator keeps beside its output are logits.
    pub(crate) fn logits_aux(&mut self) {
        if let Some(op) = self.segment.ops.last_mut() {
            op.logits_aux = true;
        }
    }

    /// Marks a value as logits, to be shown apart.
    pub(crate) fn as_logits(&mut self, t: Tensor) -> Tensor {
        if let Some(v) = self.segment.values.get_mut(t.id as usize)
            && v.kind == Kind::Activation
        {
            v.kind = Kind::Logits;
        }
        t
    }

    /// A loss that makes its gradients in forward, in `dtype`, and keeps them.
    pub(crate) fn early_gradient_loss(&mut self, inputs: &[Tensor], dtype: Dtype, temp: u64, flops: f64) -> Tensor {
        let aux = inputs.iter().filter(|t| t.grad).map(|t| bytes(t.numel(), dtype)).sum();
        let op = Op { backward: Backward::Saved, saves: SAVE_AUX, aux, temp, flops, ..BLANK };
        self.emit(inputs, 1, 1, Dtype::F32, op)
    }
}
