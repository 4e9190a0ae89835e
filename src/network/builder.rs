//! Writes a [`Program`] operator by operator, in PyTorch's words.
//!
//! Each method is one `ATen` operator (or one Python expression of two or three): what it allocates, what autograd keeps
//! and what backward allocates follow `derivatives.yaml`, the autocast lists and the kernels of PyTorch 2.

use super::{
    BLOCK, Backward, Dtype, Group, Id, Kind, NONE, Op, Program, SAVE_AUX, SAVE_OUT, Segment, Slot, Value, Weight, round,
};

/// A handle on a value while a program is written: which, how large, which format, gradient or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor {
    pub(crate) id: Id,
    /// Leading elements (tokens, or tokens times heads).
    pub(crate) rows: u64,
    /// Elements of the last dimension.
    pub(crate) cols: u64,
    pub(crate) dtype: Dtype,
    pub(crate) grad: bool,
}

impl Tensor {
    pub(crate) const fn numel(self) -> u64 {
        self.rows.saturating_mul(self.cols)
    }

    pub(crate) const fn bytes(self) -> u64 {
        round(self.numel().saturating_mul(self.dtype.bytes()))
    }
}

/// Bytes of `numel` elements, rounded.
pub(crate) const fn bytes(numel: u64, dtype: Dtype) -> u64 {
    round(numel.saturating_mul(dtype.bytes()))
}

/// The wider of two formats, as type promotion has it.
pub(crate) const fn promote(a: Dtype, b: Dtype) -> Dtype {
    match (a, b) {
        (Dtype::F32, _) | (_, Dtype::F32) | (Dtype::Bf16, Dtype::F16) | (Dtype::F16, Dtype::Bf16) => Dtype::F32,
        (Dtype::U8 | Dtype::I64, other) => other,
        (one, _) => one,
    }
}

/// What a pointwise operator keeps for backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    Input,
    Output,
}

/// Writes the program.
pub(crate) struct Builder {
    pub(crate) program: Program,
    segment: Segment,
    /// Copies of trained weights that autocast made in this segment: weight, copy.
    copies: Vec<(Id, Tensor)>,
    members: Vec<Segment>,
    /// The value last counted as outlasting backward: layers after one another share an input.
    outlasting: Id,
    /// How often the group under way repeats: multiplies its weights.
    times: u64,
    /// Autocast format.
    pub(crate) autocast: Option<Dtype>,
    /// Softmax keeps its input too.
    pub(crate) keeps_softmax_input: bool,
    /// A compiler fuses what stands between the products.
    pub(crate) compiled: bool,
    slots: [Option<Tensor>; super::SLOTS],
}

impl Builder {
    pub(crate) fn new(autocast: Option<Dtype>) -> Self {
        Self {
            program: Program::default(),
            segment: Segment::default(),
            copies: Vec::new(),
            members: Vec::new(),
            outlasting: NONE,
            times: 1,
            autocast,
            keeps_softmax_input: false,
            compiled: false,
            slots: [None; super::SLOTS],
        }
    }

    // ---- structure ---------------------------------------------------------------------------------------------

    /// Starts a group that repeats; weights written inside count as often.
    pub(crate) fn repeat(&mut self, times: u64) {
        self.times = times;
    }

    /// Closes the segment under way.
    pub(crate) fn end_segment(&mut self, checkpointed: bool, is_loss: bool) {
        let mut segment = std::mem::take(&mut self.segment);
        segment.checkpointed = checkpointed;
        segment.is_loss = is_loss;
        self.outlasting = NONE;
        last_uses(&mut segment);
        self.copies.clear();
        self.members.push(segment);
    }

    /// Closes the group under way.
    pub(crate) fn end_group(&mut self) {
        let members = std::mem::take(&mut self.members);
        if self.times > 0 && !members.is_empty() {
            self.program.groups.push(Group { members, repeat: self.times });
        }
        self.times = 1;
    }

    /// Ends a segment that is a group of its own.
    pub(crate) fn close(&mut self, checkpointed: bool) {
        self.end_segment(checkpointed, false);
        self.end_group();
    }

    /// A tensor that lies in a slot before the first segment runs.
    pub(crate) fn global(&mut self, slot: Slot, rows: u64, cols: u64, dtype: Dtype) {
        let t = Tensor { id: NONE, rows, cols, dtype, grad: false };
        self.slots[slot.0 as usize] = Some(t);
        self.program.globals.push((slot, t.bytes()));
    }

    /// Takes what lies in a slot.
    pub(crate) fn take(&mut self, slot: Slot) -> Tensor {
        let t = self.slots[slot.0 as usize].unwrap_or(Tensor {
            id: NONE,
            rows: 0,
            cols: 0,
            dtype: Dtype::F32,
            grad: false,
        });
        self.value(t.rows, t.cols, t.dtype, Kind::Input(slot), NONE, t.grad)
    }

    /// What lies in a slot, if anything.
    pub(crate) fn peek(&self, slot: Slot) -> Option<Tensor> {
        self.slots[slot.0 as usize]
    }

    /// Leaves a value in a slot for later segments.
    pub(crate) fn put(&mut self, slot: Slot, t: Tensor) {
        self.segment.outputs.push((slot, t.id));
        self.slots[slot.0 as usize] = Some(t);
    }

    /// Keeps a value alive in forward up to here, as a Python variable in an outer frame does.
    pub(crate) fn touch(&mut self, t: Tensor) {
        self.push(&[t], None, Op { outs: 0, ..BLANK });
    }

    pub(super) fn value(&mut self, rows: u64, cols: u64, dtype: Dtype, kind: Kind, alias_of: Id, grad: bool) -> Tensor {
        let id = self.segment.values.len() as Id;
        if let Kind::Input(slot) = kind {
            self.segment.inputs.push((id, slot));
        }
        let numel = rows.saturating_mul(cols);
        self.segment.values.push(Value { bytes: bytes(numel, dtype), numel, dtype, kind, alias_of, grad });
        Tensor { id, rows, cols, dtype, grad }
    }

    /// The general operator. `out` gives shape, format and kind of the output; it aliases the first input when `view`.
    pub(super) fn push(
        &mut self,
        inputs: &[Tensor],
        out: Option<(u64, u64, Dtype, Kind, bool)>,
        mut op: Op,
    ) -> Option<Tensor> {
        op.inputs = [NONE; 4];
        let mut grad = false;
        for (slot, t) in op.inputs.iter_mut().zip(inputs) {
            *slot = t.id;
            grad |= t.grad;
        }
        if op.backward == Backward::None {
            grad = false;
        }
        if !grad {
            op.saves = 0;
            op.backward = Backward::None;
        }
        let result = out.map(|(rows, cols, dtype, kind, view)| {
            let alias = if view { op.inputs[0] } else { NONE };
            self.value(rows, cols, dtype, kind, alias, grad)
        });
        if let Some(t) = result {
            op.out = t.id;
            op.outs = 1;
        }
        self.segment.ops.push(op);
        result
    }

    pub(super) fn emit(&mut self, inputs: &[Tensor], rows: u64, cols: u64, dtype: Dtype, op: Op) -> Tensor {
        self.emit_kind(inputs, rows, cols, dtype, Kind::Activation, op)
    }

    pub(super) fn emit_kind(
        &mut self,
        inputs: &[Tensor],
        rows: u64,
        cols: u64,
        dtype: Dtype,
        kind: Kind,
        op: Op,
    ) -> Tensor {
        let out = self.push(inputs, Some((rows, cols, dtype, kind, false)), op);
        out.unwrap_or(Tensor { id: NONE, rows, cols, dtype, grad: false })
    }

    // ---- weights -----------------------------------------------------------------------------------------------

    /// A weight matrix or vector of this segment.
    pub(crate) fn weight(&mut self, rows: u64, cols: u64, dtype: Dtype, trained: bool) -> Tensor {
        let stored = bytes(rows.saturating_mul(cols), dtype);
        self.stored_weight(rows, cols, dtype, trained, stored)
    }

    /// A weight that is stored in other than its own format.
    pub(crate) fn stored_weight(&mut self, rows: u64, cols: u64, dtype: Dtype, trained: bool, stored: u64) -> Tensor {
        let numel = rows.saturating_mul(cols);
        self.segment.weight_bytes = self.segment.weight_bytes.saturating_add(stored);
        self.program.weights.push(Weight {
            numel,
            stored,
            dtype,
            trained,
            times: self.times,
            rows: if cols > 1 && rows > 1 { rows } else { 1 },
            factors: if cols > 1 && rows > 1 { (rows, cols) } else { (numel, 0) },
        });
        self.value(rows, cols, dtype, Kind::Weight { trained }, NONE, trained)
    }

    /// Marks everything the next segment starts from as wanting a gradient (PEFT's `enable_input_require_grads`).
    pub(crate) fn require_grad(&mut self, t: Tensor) -> Tensor {
        if let Some(v) = self.segment.values.get_mut(t.id as usize) {
            v.grad = true;
        }
        Tensor { grad: true, ..t }
    }

    /// The weight as a matrix product sees it under autocast: a 16-bit copy, made once where the weight is trained.
    pub(crate) fn autocast_weight(&mut self, w: Tensor) -> Tensor {
        let Some(dtype) = self.autocast else { return w };
        if w.dtype == dtype {
            return w;
        }
        if let Some((_, copy)) = self.copies.iter().find(|(id, _)| *id == w.id) {
            return *copy;
        }
        let op = Op { backward: Backward::Fresh, cached: w.grad, ..BLANK };
        let copy = self.emit_kind(&[w], w.rows, w.cols, dtype, Kind::WeightCopy, op);
        if w.grad {
            self.copies.push((w.id, copy));
        }
        copy
    }

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

/// What a fused kernel keeps and needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    pub(crate) saves: u8,
    pub(crate) aux: u64,
    pub(crate) temp: u64,
    pub(crate) back_temp: u64,
    pub(crate) flops: f64,
    pub(crate) kind: Kind,
}

impl Default for Kernel {
    fn default() -> Self {
        Self { saves: 0, aux: 0, temp: 0, back_temp: 0, flops: 0.0, kind: Kind::Activation }
    }
}

pub(super) const BLANK: Op = Op {
    inputs: [NONE; 4],
    out: NONE,
    outs: 0,
    aux: 0,
    temp: 0,
    saves: 0,
    backward: Backward::None,
    back_temp: 0,
    cached: false,
    logits_aux: false,
    weight_view: false,
    drops_from: 0,
    kept: false,
    flops: 0.0,
};

const _: () = assert!(BLOCK == 512);

/// For each operator the values that nobody reads after it; what goes to a slot stays.
fn last_uses(segment: &mut Segment) {
    const NEVER: u16 = u16::MAX;
    let mut last = vec![NEVER; segment.values.len()];
    for (k, op) in segment.ops.iter().enumerate() {
        let outs = op.out..op.out.saturating_add(Id::from(op.outs));
        for id in op.inputs.into_iter().chain(outs) {
            if let Some(l) = last.get_mut(id as usize) {
                *l = k as u16;
            }
        }
    }
    for (_, id) in &segment.outputs {
        if let Some(l) = last.get_mut(*id as usize) {
            *l = NEVER;
        }
    }
    // Sorted by counting: how many each operator drops, where its part begins, and then each value into its place.
    let mut count = 0;
    for op in &mut segment.ops {
        op.drops_from = 0;
    }
    for &k in &last {
        if let Some(op) = segment.ops.get_mut(k as usize) {
            op.drops_from += 1;
            count += 1;
        }
    }
    let mut next = count;
    for op in segment.ops.iter_mut().rev() {
        next -= op.drops_from;
        op.drops_from = next;
    }
    let mut places: Vec<u16> = segment.ops.iter().map(|op| op.drops_from).collect();
    segment.drops = vec![NONE; count as usize];
    for (id, &k) in last.iter().enumerate() {
        if let Some(place) = places.get_mut(k as usize) {
            if let Some(slot) = segment.drops.get_mut(*place as usize) {
                *slot = id as Id;
            }
            *place += 1;
        }
    }
}
