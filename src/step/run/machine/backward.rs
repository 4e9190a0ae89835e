//! The backward pass: gradients in reverse, with checkpointed segments run forward again.

use super::{CELL, Cell, Frame, Machine, NOTHING, Played};
use crate::network::{Backward, Id, Kind, NONE, Op, SAVE_AUX, SAVE_OUT, Way};
use crate::step::peaks::Peaks;
use crate::step::run::{Category, Observer, Phase};

impl<'p, O: Observer> Machine<'p, O> {
    pub(super) fn backward_all(&mut self) {
        // Live bytes and divided gradients where the repetition under way began.
        let mut began = (self.live, self.reduced);
        while let Some(played) = self.played.pop() {
            match played {
                Played::Frame(frame) => {
                    self.enter_phase(if frame.segment.is_loss { Phase::Loss } else { Phase::Backward });
                    self.backward_frame(&frame);
                    // Nothing of it is looked at again.
                    self.cells.truncate(frame.cells as usize);
                    self.aux.truncate(frame.aux as usize);
                }
                Played::Mark => {
                    self.all_peaks(Peaks::mark);
                    began = (self.live, self.reduced);
                }
                // The repetition that stands for those not walked is over: it was walked as the last of them.
                Played::Skipped { count } => {
                    let (live, reduced) = began;
                    let (now, since) = (self.live, (reduced, self.reduced));
                    self.peaks.repeat(&live, &now, since, count);
                    self.later.iter_mut().for_each(|later| later.repeat(&live, &now, (0, 0), count));
                    self.skip(live, reduced, count);
                }
            }
        }
        self.all_peaks(Peaks::close);
    }

    fn backward_frame(&mut self, frame: &Frame<'p>) {
        let segment = frame.segment;
        self.gather(segment);
        if segment.checkpointed {
            if self.offloads {
                self.bring_back(frame);
            }
            let again = self.again(frame);
            // What asks for nothing that was saved runs before: the first to ask has the region run forward.
            let ops = segment.ops.len();
            let asks =
                if self.early_stop { segment.ops.iter().rposition(|op| op.saves != 0) } else { ops.checked_sub(1) };
            let before = asks.map_or(0, |k| k + 1);
            self.backward_ops(&again, before..ops);
            if let Some(stop) = asks {
                self.recompute(frame, &again, stop);
            }
            self.backward_ops(&again, 0..before);
            // The closure that kept the inputs goes with the graph.
            for &(id, _) in &segment.inputs {
                let storage = self.cells[frame.cells as usize + id as usize].storage;
                self.release(storage);
            }
        } else {
            self.backward_ops(frame, 0..segment.ops.len());
        }
        self.scatter();
        self.divide_gradients(segment);
    }

    /// Kept inputs come back from main memory.
    fn bring_back(&mut self, frame: &Frame<'p>) {
        for &(id, _) in &frame.segment.inputs {
            let at = frame.cells as usize + id as usize;
            let dead = self.storages.get(self.cells[at].storage as usize).is_some_and(|s| s.refs == 0);
            if dead {
                let bytes = frame.segment.values[id as usize].bytes;
                self.cells[at].storage = self.alloc(bytes, Category::Activations);
            }
        }
    }

    /// Fresh cells for running a checkpointed segment once more.
    fn again(&mut self, frame: &Frame<'p>) -> Frame<'p> {
        let segment = frame.segment;
        let again = Frame { segment, cells: self.cells.len() as u32, aux: self.aux.len() as u32 };
        self.cells.resize(self.cells.len() + segment.values.len(), CELL);
        let (old, new) = (frame.cells as usize, again.cells as usize);
        for &(id, _) in &segment.inputs {
            let first = self.cells[old + id as usize];
            self.hold(first.storage);
            let cell = &mut self.cells[new + id as usize];
            cell.storage = first.storage;
            cell.source = first.source;
        }
        for &(_, id) in &segment.outputs {
            self.cells[new + id as usize].grad = self.cells[old + id as usize].grad;
        }
        self.aux.resize(self.aux.len() + segment.ops.len(), NOTHING);
        again
    }

    /// Runs the segment forward again, up to and with this operator.
    fn recompute(&mut self, frame: &Frame<'p>, again: &Frame<'p>, stop: usize) {
        let segment = frame.segment;
        for k in 0..stop {
            if segment.ops[k].kept {
                self.take_result(frame, again, k);
            } else {
                self.forward_op(again, k, true);
            }
        }
        let op = &segment.ops[stop];
        // Saving its inputs ends the recomputation before the kernel runs.
        if self.early_stop && op.saves & (SAVE_OUT | SAVE_AUX) == 0 {
            self.save(again, op);
        } else {
            self.forward_op(again, stop, true);
        }
        // Python's locals go.
        for cell in again.cells..self.cells.len() as u32 {
            let c = &mut self.cells[cell as usize];
            if std::mem::take(&mut c.held) {
                let storage = c.storage;
                self.release(storage);
            }
        }
        self.leave_autocast();
    }

    /// Backward of these operators, the last first.
    fn backward_ops(&mut self, frame: &Frame<'p>, ops: std::ops::Range<usize>) {
        let segment = frame.segment;
        let values = segment.values.as_slice();
        for k in ops.rev() {
            let Some(op) = segment.ops.get(k) else { continue };
            if op.backward == Backward::None {
                continue;
            }
            let out = values.get(op.out as usize);
            let mut arrived = NOTHING;
            for cell in self.outputs(frame, op) {
                if cell.grad != NOTHING {
                    arrived = cell.grad;
                }
            }
            if arrived != NOTHING || segment.is_loss && out.is_some_and(|out| out.numel == 1) {
                self.backward_op(frame, k, op, arrived);
            } else {
                self.release_saved(frame, k, op);
            }
        }
    }

    /// The cells of what an operator made.
    fn outputs(&mut self, frame: &Frame<'p>, op: &Op) -> &mut [Cell] {
        let first = frame.cells as usize + op.out as usize;
        self.cells.get_mut(first..first + op.outs as usize).unwrap_or_default()
    }

    fn backward_op(&mut self, frame: &Frame<'p>, k: usize, op: &Op, arrived: u32) {
        let values = frame.segment.values.as_slice();
        let out_bytes = values.get(op.out as usize).map_or(0, |out| out.bytes);
        let mut fresh = [NOTHING; 4];
        let aux = self.aux.get(frame.aux as usize + k).copied().unwrap_or(NOTHING);
        for (i, fresh) in fresh.iter_mut().enumerate() {
            let Some(value) = values.get(op.inputs[i] as usize) else { continue };
            if !value.grad {
                continue;
            }
            let shares = match op.backward {
                Backward::Pass => arrived != NOTHING && value.bytes == out_bytes,
                Backward::Views => arrived != NOTHING,
                // In another format than its input it is cast as soon as it comes (`validate_outputs`).
                Backward::Saved => op.aux == value.bytes,
                _ => false,
            };
            *fresh = if shares {
                let from = if op.backward == Backward::Saved { aux } else { arrived };
                self.hold(from);
                from
            } else {
                let category = if value.kind == Kind::Logits { Category::Logits } else { Category::Temporaries };
                let id = self.alloc(value.bytes, category);
                if i == 1
                    && op.weight_view
                    && let Some(s) = self.storages.get_mut(id as usize)
                {
                    s.view = true;
                }
                id
            };
        }
        self.note(op.back_temp);
        self.release_saved(frame, k, op);
        for i in 0..op.outs as usize {
            if let Some(cell) = self.outputs(frame, op).get_mut(i) {
                let grad = std::mem::replace(&mut cell.grad, NOTHING);
                self.release(grad);
            }
        }
        for (i, grad) in fresh.into_iter().enumerate() {
            if grad != NOTHING {
                self.deliver(frame, op.inputs[i], grad);
            }
        }
    }

    fn release_saved(&mut self, frame: &Frame<'p>, k: usize, op: &Op) {
        if op.saves & !SAVE_AUX != 0 {
            for (i, &id) in op.inputs.iter().enumerate() {
                if op.saves & (1 << i) != 0 && id != NONE {
                    self.release(self.storage_of(frame, id));
                }
            }
            if op.saves & SAVE_OUT != 0 {
                self.release(self.storage_of(frame, op.out));
            }
        }
        if let Some(aux) = self.aux.get_mut(frame.aux as usize + k) {
            let aux = std::mem::replace(aux, NOTHING);
            self.release(aux);
        }
    }

    /// A gradient reaches a value: the engine's input buffer, or a weight's `.grad`.
    fn deliver(&mut self, frame: &Frame<'p>, id: Id, grad: u32) {
        let local = frame.cells + u32::from(id);
        let source = self.cells.get(local as usize).map_or(NOTHING, |cell| cell.source);
        let target = if source == NOTHING { local } else { source };
        let is_weight = frame.segment.values.get(id as usize).is_some_and(|v| matches!(v.kind, Kind::Weight { .. }));
        let old = self.cells.get(target as usize).map_or(NOTHING, |cell| cell.grad);
        let mut merged = grad;
        if let Some(&s) = self.storages.get(old as usize) {
            if s.refs == 1 && !s.view && !self.sums_anew {
                merged = old;
            } else {
                merged = self.alloc(s.bytes, s.category);
                self.note(0);
                self.release(old);
            }
            self.release(grad);
        }
        if is_weight {
            // AccumulateGrad: kept as it is, or added to what earlier micro-batches left. A weight that several operators
            // use finds its earlier gradient here, and the two are added in place.
            if self.in_backward || self.accumulating {
                // Added to what earlier micro-batches left: at once, or when the unit's gradients are summed over cards.
                let summed = self.shards.way != Way::Whole && self.shards.gradients > 1 && !self.shards.unsynced;
                if summed && !self.in_backward {
                    self.parts.added.push(merged);
                } else {
                    self.release(merged);
                }
                merged = NOTHING;
            } else {
                if let Some(s) = self.storages.get(merged as usize) {
                    // Alone it would be gone by now, and one that was kept before as well.
                    self.fresh = self.fresh.saturating_add(s.bytes);
                    self.parted |= s.refs > 1 || s.category == Category::Gradients;
                }
                if old == NOTHING {
                    self.parts.fresh.push(target);
                }
                self.recategorize(merged, Category::Gradients);
            }
        }
        if let Some(cell) = self.cells.get_mut(target as usize) {
            cell.grad = merged;
        }
    }
}
