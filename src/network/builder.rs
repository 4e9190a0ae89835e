//! Writes a [`Program`] operator by operator, in PyTorch's words.
//!
//! Each method is one `ATen` operator (or one Python expression of two or three): what it allocates, what autograd keeps
//! and what backward allocates follow `derivatives.yaml`, the autocast lists and the kernels of PyTorch 2.

use super::{BLOCK, Backward, Dtype, Group, Id, Kind, NONE, Op, Program, Segment, Slot, Value, Weight, round};

mod operators;

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
    /// Weights that the layers under way share with earlier ones, last first.
    shared: Vec<Tensor>,
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
            shared: Vec::new(),
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
        // What is written on is kept for the next one.
        let mut segment = self.segment.clone();
        let written = &mut self.segment;
        written.values.clear();
        written.ops.clear();
        written.inputs.clear();
        written.outputs.clear();
        written.weight_bytes = 0;
        // A region that saves nothing (all of it frozen) leaves no node in the graph that would keep its inputs.
        segment.checkpointed = checkpointed && segment.ops.iter().any(|op| op.saves != 0);
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
        if let Some(shared) = self.shared.pop() {
            return shared;
        }
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

    /// The place behind the last value of this segment.
    pub(crate) fn here(&self) -> usize {
        self.segment.values.len()
    }

    /// The layers written next take the weights that were made in this segment between these places.
    pub(crate) fn share(&mut self, made: std::ops::Range<usize>) {
        let weights = made.rev().filter_map(|id| {
            let v = self.segment.values.get(id)?;
            let Kind::Weight { trained } = v.kind else { return None };
            Some(Tensor { id: id as Id, rows: v.numel, cols: 1, dtype: v.dtype, grad: trained })
        });
        self.shared = weights.collect();
    }

    /// Marks a tensor as wanting a gradient, as PEFT's `enable_input_require_grads` does with what the embedding leaves.
    pub(crate) fn require_grad(&mut self, t: Tensor) -> Tensor {
        if let Some(v) = self.segment.values.get_mut(t.id as usize) {
            v.grad = true;
        }
        let t = Tensor { grad: true, ..t };
        // The graph holds the tensor where its gradient is to be put.
        let op = Op { backward: Backward::Pass, saves: 1, ..BLANK };
        self.push(&[t], Some((t.rows, t.cols, t.dtype, Kind::Activation, true)), op).unwrap_or(t)
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
        let mut read = |id: Id| {
            if let Some(l) = last.get_mut(id as usize) {
                *l = k as u16;
            }
        };
        op.inputs.into_iter().for_each(&mut read);
        (op.out..op.out.saturating_add(Id::from(op.outs))).for_each(read);
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
