//! The forward pass: groups, segments and operators in order, with what each leaves for backward.

use super::{CELL, Frame, Machine, NOTHING, Played};
use crate::network::{Backward, Group, Id, Kind, NONE, Op, SAVE_AUX, SAVE_OUT, Segment, Value};
use crate::step::peaks::Peaks;
use crate::step::run::{Category, Live, Observer, Phase, Walk, further};

impl<'p, O: Observer> Machine<'p, O> {
    pub(super) fn forward_group(&mut self, group: &'p Group, walk: Walk) {
        let n = group.repeat;
        if walk == Walk::Full || n <= 3 {
            for _ in 0..n {
                self.forward_members(group);
            }
            return;
        }
        self.forward_members(group);
        let before = self.live;
        self.cache_multiple = n - 3;
        self.played.push(Played::Skipped { count: n - 3 });
        self.forward_members(group);
        self.cache_multiple = 0;
        self.skip(before, self.reduced, n - 3);
        self.played.push(Played::Mark);
        self.forward_members(group);
    }

    /// Adds what `count` more repetitions like the one since `before` take.
    pub(super) fn skip(&mut self, before: Live, reduced: u64, count: u64) {
        for (now, before) in self.live.iter_mut().zip(before) {
            let (next, total) = (further(*now, before, count), self.total);
            self.total =
                if next >= *now { total.saturating_add(next - *now) } else { total.saturating_sub(*now - next) };
            *now = next;
        }
        self.reduced = further(self.reduced, reduced, count);
    }

    pub(super) fn enter_phase(&mut self, phase: Phase) {
        if phase != self.phase {
            self.phase = phase;
            self.all_peaks(Peaks::close);
        }
    }

    /// The highest points of one kind of micro-batch, and of the other.
    pub(super) fn all_peaks(&mut self, mut on: impl FnMut(&mut Peaks)) {
        on(&mut self.peaks);
        self.later.iter_mut().for_each(on);
    }

    pub(super) fn forward_members(&mut self, group: &'p Group) {
        for segment in &group.members {
            self.enter_phase(if segment.is_loss { Phase::Loss } else { Phase::Forward });
            let frame = self.enter(segment);
            self.gather(segment);
            let saving = !segment.checkpointed;
            for k in 0..segment.ops.len() {
                self.forward_op(&frame, k, saving);
            }
            self.leave(&frame, segment.checkpointed);
            self.scatter();
            self.played.push(Played::Frame(frame));
        }
    }

    /// Fresh cells for a segment; inputs are taken from their slots.
    pub(super) fn enter(&mut self, segment: &'p Segment) -> Frame<'p> {
        let frame = Frame { segment, cells: self.cells.len() as u32, aux: self.aux.len() as u32 };
        self.cells.resize(self.cells.len() + segment.values.len(), CELL);
        for &(id, slot) in &segment.inputs {
            let from = self.slots[slot.0 as usize];
            if let Some(&origin) = self.cells.get(from as usize) {
                self.hold(origin.storage);
                let source = if origin.source == NOTHING { from } else { origin.source };
                let cell = &mut self.cells[frame.cells as usize + id as usize];
                cell.storage = origin.storage;
                cell.source = source;
            }
        }
        self.aux.resize(self.aux.len() + segment.ops.len(), NOTHING);
        frame
    }

    /// Hands outputs to their slots. A checkpointed segment keeps its inputs until its backward.
    pub(super) fn leave(&mut self, frame: &Frame<'p>, keep_inputs: bool) {
        if keep_inputs && !self.offloads {
            for &(id, _) in &frame.segment.inputs {
                let storage = self.cells[frame.cells as usize + id as usize].storage;
                self.hold(storage);
                self.recategorize(storage, Category::Activations);
            }
        }
        for &(slot, id) in &frame.segment.outputs {
            let cell = frame.cells + u32::from(id);
            let old = std::mem::replace(&mut self.slots[slot.0 as usize], cell);
            if let Some(&old) = self.cells.get(old as usize) {
                self.release(old.storage);
            }
            // The local variable's hold goes over to the slot; a second slot holds for itself.
            let cell = &mut self.cells[cell as usize];
            let storage = cell.storage;
            if !std::mem::take(&mut cell.held) {
                self.hold(storage);
            }
        }
    }

    pub(super) fn category_of(value: &Value) -> Category {
        match value.kind {
            Kind::Logits => Category::Logits,
            Kind::WeightCopy => Category::WeightCopies,
            Kind::EarlyGradient => Category::Gradients,
            _ => Category::Temporaries,
        }
    }

    pub(super) fn forward_op(&mut self, frame: &Frame<'p>, k: usize, saving: bool) {
        let segment = frame.segment;
        let values = segment.values.as_slice();
        let Some(op) = segment.ops.get(k) else { return };
        for id in op.out..op.out.saturating_add(u16::from(op.outs)) {
            let Some(value) = values.get(id as usize) else { break };
            let storage = if value.alias_of == NONE {
                self.alloc(value.bytes, Self::category_of(value))
            } else {
                let shared = self.storage_of(frame, value.alias_of);
                self.hold(shared);
                shared
            };
            if let Some(cell) = self.cells.get_mut(frame.cells as usize + id as usize) {
                cell.storage = storage;
            }
        }
        let category = if op.logits_aux { Category::Logits } else { Category::Temporaries };
        let aux = if op.aux > 0 { self.alloc(op.aux, category) } else { NOTHING };
        self.note(op.temp);
        if op.kept && !saving {
            self.keep_result(frame, k, aux);
        }
        if saving && op.backward != Backward::None {
            self.save(frame, op);
            if op.saves & SAVE_AUX != 0 {
                match values.get(op.inputs[0] as usize).map(|v| v.kind) {
                    // A fused loss makes its gradients early: a weight's, and its input's.
                    Some(Kind::Weight { .. }) if op.backward == Backward::Saved => {
                        self.recategorize(aux, Category::Gradients);
                    }
                    _ if op.backward == Backward::Saved => {}
                    _ => self.recategorize(aux, Category::Activations),
                }
                self.aux[frame.aux as usize + k] = aux;
            } else {
                self.release(aux);
            }
        } else {
            self.release(aux);
        }
        if op.cached {
            let storage = self.storage_of(frame, op.out);
            self.hold(storage);
            self.cache.push((storage, 1 + self.cache_multiple));
        }
        self.drop_after(frame, k);
    }

    /// The storage of a value of a segment.
    pub(super) fn storage_of(&self, frame: &Frame<'p>, id: Id) -> u32 {
        self.cells.get(frame.cells as usize + id as usize).map_or(NOTHING, |cell| cell.storage)
    }

    /// One more holds it, for backward.
    fn keep(&mut self, storage: u32) {
        self.hold(storage);
        self.recategorize(storage, Category::Activations);
    }

    pub(super) fn save(&mut self, frame: &Frame<'p>, op: &Op) {
        if op.saves & !SAVE_AUX == 0 {
            return;
        }
        for (i, &id) in op.inputs.iter().enumerate() {
            if op.saves & (1 << i) != 0 && id != NONE {
                self.keep(self.storage_of(frame, id));
            }
        }
        if op.saves & SAVE_OUT != 0 {
            self.keep(self.storage_of(frame, op.out));
        }
    }

    pub(super) fn drop_after(&mut self, frame: &Frame<'p>, k: usize) {
        let segment = frame.segment;
        let ops = segment.ops.as_slice();
        let from = ops.get(k).map_or(0, |op| op.drops_from) as usize;
        let to = ops.get(k + 1).map_or(segment.drops.len(), |next| next.drops_from as usize);
        for &id in segment.drops.get(from..to).unwrap_or_default() {
            if let Some(cell) = self.cells.get_mut(frame.cells as usize + id as usize)
                && std::mem::take(&mut cell.held)
            {
                let storage = cell.storage;
                self.release(storage);
            }
        }
    }
}
