//! Rotary embeddings and the attention kernels.

use super::Layers;
use crate::network::builder::{Keep, Kernel, Tensor};
use crate::network::{AttentionKernel, Dtype, SAVE_AUX, SAVE_OUT, round};

impl Layers<'_> {
    /// Rotary embedding of one tensor: `x * cos + rotate_half(x) * sin` on `rotary` of its `head` columns.
    pub(crate) fn rotary(&mut self, x: Tensor, cos: Tensor, sin: Tensor, head: u64, rotary: u64, cat: bool) -> Tensor {
        let share = |cols: u64| cols.saturating_mul(rotary) / head.max(1);
        let partial = rotary < head || cat;
        let (rot, pass) = if partial {
            let r = self.b.slice(x, share(x.cols));
            let p = self.b.slice(x, x.cols - share(x.cols));
            (r, Some(p))
        } else {
            (x, None)
        };
        let a = self.b.mul(rot, cos);
        let x1 = self.b.slice(rot, rot.cols / 2);
        let x2 = self.b.slice(rot, rot.cols / 2);
        let negated = self.b.scale(x2);
        let rotated = self.b.cat(&[negated, x1]);
        let c = self.b.mul(rotated, sin);
        let sum = self.b.add(a, c);
        match pass {
            Some(p) => self.b.cat(&[sum, p]),
            None => sum,
        }
    }

    /// The attention core: query, key, value to context.
    pub(crate) fn attention(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let kernel = self.choose(q, k, v, shape, mask.is_some());
        match kernel {
            AttentionKernel::Eager => self.eager(q, k, v, shape, mask),
            AttentionKernel::Math | AttentionKernel::Sdpa => self.math(q, k, v, shape, mask),
            AttentionKernel::Efficient => self.efficient(q, k, v, shape, mask),
            AttentionKernel::Flash => self.flash(q, k, v, shape),
        }
    }

    /// The kernel that `scaled_dot_product_attention` takes on a card of Ampere or newer.
    fn choose(&self, q: Tensor, _k: Tensor, _v: Tensor, shape: Heads, mask: bool) -> AttentionKernel {
        let dtype = self.b.autocast.unwrap_or(q.dtype);
        let grouped = shape.key_count != shape.count;
        let fits = shape.head <= 256;
        match self.config.attention {
            AttentionKernel::Eager => AttentionKernel::Eager,
            AttentionKernel::Math => AttentionKernel::Math,
            AttentionKernel::Efficient if grouped && !mask => AttentionKernel::Math,
            AttentionKernel::Efficient => AttentionKernel::Efficient,
            AttentionKernel::Flash if dtype.is_half() && fits => AttentionKernel::Flash,
            // With a mask transformers repeats keys and values itself, so heads are no longer grouped.
            _ if dtype.is_half() && !mask && fits && shape.value_head == shape.head => AttentionKernel::Flash,
            _ if !grouped || mask => AttentionKernel::Efficient,
            _ => AttentionKernel::Math,
        }
    }

    fn flops(&self, shape: Heads, causal: bool) -> f64 {
        let pairs = self.batch as f64 * shape.count as f64 * shape.queries as f64 * shape.keys as f64;
        2.0 * pairs * (shape.head + shape.value_head) as f64 * if causal && shape.causal { 0.5 } else { 1.0 }
    }

    fn flash(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads) -> Tensor {
        let (q, k, v) = (self.b.autocast_input(q), self.b.autocast_input(k), self.b.autocast_input(v));
        // The kernel wants one head size for all three (and a multiple of eight).
        let v = if shape.value_head < shape.head { self.b.copy(v, v.rows, shape.key_count * shape.head) } else { v };
        let head = shape.head.next_multiple_of(8);
        let [q, k, v] =
            [q, k, v].map(|t| if head == shape.head { t } else { self.b.copy(t, t.rows, t.cols / shape.head * head) });
        let (queries, keys) = (q.rows, k.rows);
        let padded = self.batch * shape.queries.next_multiple_of(128);
        let head_r = if head <= 192 { head.next_multiple_of(32) } else { 256 };
        // Backward: fp32 accumulator of the query's gradient and one fp32 a row; for grouped heads, gradients of keys and
        // values for every query head before they are summed (`flash_api.cpp`).
        let mut back_temp = padded * shape.count * (head_r + 1) * 4;
        if shape.key_count != shape.count {
            back_temp += 2 * keys * shape.count * head * q.dtype.bytes();
        }
        let kernel = Kernel {
            saves: 0b111 | SAVE_OUT | SAVE_AUX,
            // log-sum-exp, and the two words of the random state.
            aux: round(4 * queries * shape.count) + 2 * 512,
            back_temp,
            flops: self.flops(shape, true),
            ..Kernel::default()
        };
        let out = self.b.fused(&[q, k, v], queries, shape.count * head, q.dtype, kernel);
        if self.keeps_products() {
            self.b.keep_last();
        }
        let out = if head == shape.head { out } else { self.b.slice(out, shape.count * shape.head) };
        if shape.value_head < shape.head {
            let cut = self.b.slice(out, shape.count * shape.value_head);
            return self.b.copy(cut, cut.rows, cut.cols);
        }
        if shape.by_head { self.b.copy(out, out.rows, out.cols) } else { out }
    }

    fn efficient(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let (q, k, v) = (self.b.autocast_input(q), self.b.autocast_input(k), self.b.autocast_input(v));
        let (k, v) = if shape.key_count == shape.count { (k, v) } else { self.repeat_kv(k, v, shape) };
        let rows = self.batch * shape.count * shape.queries;
        let mut back_temp = 4 * rows;
        if q.dtype.is_half() {
            back_temp +=
                self.batch * shape.count * shape.queries.next_multiple_of(64) * shape.head.next_multiple_of(64) * 4;
        }
        let kernel = Kernel {
            saves: 0b111 | SAVE_OUT | SAVE_AUX,
            aux: round(4 * self.batch * shape.count * shape.queries.next_multiple_of(32)) + 2 * 512,
            back_temp,
            flops: self.flops(shape, false),
            ..Kernel::default()
        };
        let columns = shape.count * shape.value_head;
        match mask {
            Some(m) => {
                // A boolean mask becomes an additive one in the query's format, anew in every layer.
                let m = if m.dtype == Dtype::U8 { self.b.converted(m, q.dtype) } else { self.b.cast(m, q.dtype) };
                // Its lines are brought to a multiple of 16 (`pad_bias` in PyTorch's `attention.cpp`).
                let line = shape.keys.next_multiple_of(16);
                let m = if line == shape.keys {
                    m
                } else {
                    let lines = m.numel() / shape.keys.max(1);
                    let padded = self.b.copy(m, lines, line);
                    self.b.slice(padded, shape.keys)
                };
                let kernel = Kernel { saves: kernel.saves | 0b1000, ..kernel };
                self.b.fused(&[q, k, v, m], q.rows, columns, q.dtype, kernel)
            }
            None => self.b.fused(&[q, k, v], q.rows, columns, q.dtype, kernel),
        }
    }

    /// A batched product wants one matrix after another: what is laid out token by token is copied head by head, unless
    /// there is but one sample (`at::matmul` folds batch and heads by a view where strides allow it).
    fn folded(&mut self, t: Tensor, shape: Heads, by_head: bool) -> Tensor {
        if by_head || self.batch < 2 || shape.count < 2 {
            return t;
        }
        let t = self.b.autocast_input(t);
        self.b.laid_out(t)
    }

    fn folded_queries(&mut self, q: Tensor, k: Tensor, shape: Heads) -> [Tensor; 2] {
        let repeated = shape.key_count != shape.count;
        [self.folded(q, shape, shape.by_head), self.folded(k, shape, shape.by_head || repeated)]
    }

    fn folded_values(&mut self, v: Tensor, shape: Heads) -> Tensor {
        self.folded(v, shape, shape.value_by_head || shape.key_count != shape.count)
    }

    fn repeat_kv(&mut self, k: Tensor, v: Tensor, shape: Heads) -> (Tensor, Tensor) {
        let times = shape.count / shape.key_count.max(1);
        (self.b.copy(k, k.rows, k.cols * times), self.b.copy(v, v.rows, v.cols * times))
    }

    /// `eager_attention_forward`.
    fn eager(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let values = v.dtype;
        let (k, v) = if shape.key_count == shape.count { (k, v) } else { self.repeat_kv(k, v, shape) };
        let rows = self.batch * shape.count * shape.queries;
        let half = self.flops(shape, false) / 2.0;
        let [q, k] = self.folded_queries(q, k, shape);
        let scores = self.b.matmul(q, k, rows, shape.keys, half);
        let scaled = self.b.scale(scores);
        let scaled = if shape.softcap {
            let divided = self.b.scale(scaled);
            let squashed = self.b.unary(divided, Keep::Output, 0);
            self.b.scale(squashed)
        } else {
            scaled
        };
        let masked = match mask {
            Some(m) => self.b.add(scaled, m),
            None => scaled,
        };
        let probabilities = self.b.softmax(masked, shape.upcast_softmax);
        let narrow = self.b.cast(probabilities, values);
        let dropped = self.b.dropout(narrow, shape.dropout);
        let v = self.folded_values(v, shape);
        let context = self.b.matmul(dropped, v, q.rows, shape.count * shape.value_head, half);
        self.b.copy(context, context.rows, context.cols)
    }

    /// `nn.MultiheadAttention` that is asked for its weights too: `baddbmm` with the mask, softmax, product.
    pub(crate) fn weighed(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let rows = self.batch * shape.count * shape.queries;
        let half = self.flops(shape, false) / 2.0;
        if let Some(mask) = mask {
            self.b.touch(mask);
        }
        let scores = self.b.matmul(q, k, rows, shape.keys, half);
        let probabilities = self.b.softmax(scores, false);
        let context = self.b.matmul(probabilities, v, q.rows, shape.count * shape.value_head, half);
        let laid = self.b.copy(context, context.rows, context.cols);
        self.b.touch(probabilities);
        laid
    }

    /// T5's eager attention: scores, bias, mask, softmax.
    pub(crate) fn eager_with_bias(
        &mut self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        shape: Heads,
        bias: Tensor,
        mask: Option<Tensor>,
    ) -> Tensor {
        let rows = self.batch * shape.count * shape.queries;
        let half = self.flops(shape, false) / 2.0;
        let [q, k] = self.folded_queries(q, k, shape);
        let scores = self.b.matmul(q, k, rows, shape.keys, half);
        let scaled = self.b.scale(scores);
        let biased = self.b.add(scaled, bias);
        let masked = match mask {
            Some(m) => self.b.add(biased, m),
            None => biased,
        };
        let probabilities = self.b.softmax(masked, false);
        let dropped = self.b.dropout(probabilities, shape.dropout);
        let v = self.folded_values(v, shape);
        let context = self.b.matmul(dropped, v, q.rows, shape.count * shape.value_head, half);
        self.b.copy(context, context.rows, context.cols)
    }

    /// `_scaled_dot_product_attention_math`: in fp32 inside, whatever comes in, and outside autocast.
    fn math(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let (q, k, v) = (self.b.autocast_input(q), self.b.autocast_input(k), self.b.autocast_input(v));
        let narrow = q.dtype;
        let autocast = self.b.autocast.take();
        let wide = if self.config.code.narrow_math { narrow } else { Dtype::F32 };
        let [q, k, v] = [q, k, v].map(|t| self.b.cast(t, wide));
        let (k, v) = if shape.key_count == shape.count { (k, v) } else { self.repeat_kv(k, v, shape) };
        let q = self.b.scale(q);
        let k = self.b.scale(k);
        let rows = self.batch * shape.count * shape.queries;
        let half = self.flops(shape, false) / 2.0;
        let [q, k] = self.folded_queries(q, k, shape);
        let scores = self.b.matmul(q, k, rows, shape.keys, half);
        let masked = match mask {
            Some(m) => self.b.add(scores, m),
            None => scores,
        };
        let probabilities = self.b.unary(masked, Keep::Output, 0);
        let dropped = self.b.dropout(probabilities, shape.dropout);
        let v = self.folded_values(v, shape);
        let out = self.b.matmul(dropped, v, q.rows, shape.count * shape.value_head, half);
        let out = self.b.cast(out, narrow);
        self.b.autocast = autocast;
        if shape.by_head { self.b.copy(out, out.rows, out.cols) } else { out }
    }
}

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) count: u64,
    pub(crate) key_count: u64,
    pub(crate) head: u64,
    pub(crate) value_head: u64,
    /// Queries of a sample.
    pub(crate) queries: u64,
    /// Keys a query sees (sequence of the other side in cross-attention).
    pub(crate) keys: u64,
    /// Query and key are laid out head by head (after a `cat`), so the context has to be copied back token by token.
    pub(crate) by_head: bool,
    /// So is the value.
    pub(crate) value_by_head: bool,
    pub(crate) causal: bool,
    pub(crate) dropout: f64,
    /// Scores squashed by tanh (Gemma 2), in eager code.
    pub(crate) softcap: bool,
    /// `softmax(..., dtype=float32)`.
    pub(crate) upcast_softmax: bool,
}

impl Heads {
    /// As many keys as queries have heads, laid out token by token, nothing masked, dropped or capped.
    pub(crate) const fn dense(count: u64, head: u64, queries: u64, keys: u64) -> Self {
        Self {
            count,
            key_count: count,
            head,
            value_head: head,
            queries,
            keys,
            by_head: false,
            value_by_head: false,
            causal: false,
            dropout: 0.0,
            softcap: false,
            upcast_softmax: false,
        }
    }
}
