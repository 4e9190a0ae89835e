//! Divided weights and gradients, as they are put together and taken apart during the step.

use super::{Category, Frame, Machine, NOTHING, Observer};
use crate::network::{Backward, Dtype, Program, SAVE_AUX, Segment, Way};
use crate::step::resident;

/// What comes and goes on one of several cards.
#[derive(Default)]
pub(super) struct Parts {
    /// Whole weights of the segment at work and of the next.
    gathered: u64,
    /// The most that those have been.
    pub(super) gathered_peak: u64,
    /// Whole weights that stay: what lies outside the blocks in PyTorch's FSDP, or all of them.
    root: u64,
    /// Whole weights of the largest block.
    block: u64,
    /// Whole weights of the model.
    whole: u64,
    /// Gradients that the segment under way has left: the cells that hold them.
    pub(super) fresh: Vec<u32>,
    /// Gradients that were added to those of earlier micro-batches: storages that go when the unit is reduced.
    pub(super) added: Vec<u32>,
    /// Gradients of the unit around the blocks.
    root_gradients: Vec<u32>,
    /// The input of the last reduce-scatter, kept until the next.
    pending: Option<u32>,
}

/// Whole weights while a segment with so many works, and the next ones come, where nothing else is known.
pub(in crate::step) const fn two_at_a_time(own: u64) -> u64 {
    own.saturating_mul(2)
}

impl<'p, O: Observer> Machine<'p, O> {
    /// Before the first forward.
    pub(super) fn bring_root(&mut self, program: &Program) {
        if self.shards.way == Way::Whole {
            return;
        }
        if self.shards.weights <= 1 && !self.shards.keeps_whole {
            return;
        }
        let count = program.groups.len();
        let bytes = |s: &Segment| s.weight_bytes;
        for (k, group) in program.groups.iter().enumerate() {
            let one = group.members.iter().map(bytes).fold(0, u64::saturating_add);
            let all = one.saturating_mul(group.repeat);
            self.parts.whole = self.parts.whole.saturating_add(all);
            let outside = k == 0 || k + 1 == count;
            if outside && self.shards.way == Way::Flat {
                self.parts.root = self.parts.root.saturating_add(all);
            } else if !outside {
                let largest = group.members.iter().map(bytes).max().unwrap_or(0);
                self.parts.block = self.parts.block.max(largest);
            }
        }
        if self.shards.keeps_whole {
            self.parts.root = self.parts.whole;
        }
        self.whole_weights(self.parts.root);
        self.parts.gathered_peak = self.parts.root;
    }

    /// After the last backward.
    pub(super) fn leave_root(&mut self) {
        let root = std::mem::take(&mut self.parts.root_gradients);
        self.divide(&root);
        if let Some(storage) = self.parts.pending.take() {
            self.release(storage);
        }
        let root = std::mem::take(&mut self.parts.root);
        self.lose_weights(root);
    }

    fn whole_weights(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        let copies = &mut self.live[Category::WeightCopies as usize];
        *copies = copies.saturating_add(bytes);
    }

    fn lose_weights(&mut self, bytes: u64) {
        self.total = self.total.saturating_sub(bytes);
        let copies = &mut self.live[Category::WeightCopies as usize];
        *copies = copies.saturating_sub(bytes);
    }

    /// Divided weights are put together for the segment at work, and for the next one ahead of time.
    pub(super) fn gather(&mut self, segment: &Segment) {
        self.all_peaks(|peaks| peaks.enter(segment.weight_bytes));
        let divided = if self.shards.way == Way::Whole {
            self.divided.0
        } else {
            // From main memory they come layer by layer as well, on one card too.
            self.shards.weights > 1 || resident::away(self.config).0
        };
        if !divided || self.shards.keeps_whole {
            return;
        }
        let own = segment.weight_bytes;
        let bytes = match self.shards.way {
            Way::Whole => two_at_a_time(own),
            // Two at a time (`limit_all_gathers` of FSDP; the all-gather's output beside the weights in `fully_shard`).
            Way::Flat if self.is_root(segment) => self.parts.block,
            Way::Flat | Way::PerParameter => own.saturating_add(self.parts.block),
            Way::Zero if segment.is_loss => own.max(self.shards.live.min(self.parts.whole)),
            _ => own.saturating_add(own.min(self.shards.buffers)),
        };
        self.parts.gathered = bytes;
        self.parts.gathered_peak = self.parts.gathered_peak.max(bytes.saturating_add(self.parts.root));
        self.whole_weights(bytes);
    }

    pub(super) fn scatter(&mut self) {
        let bytes = std::mem::take(&mut self.parts.gathered);
        self.lose_weights(bytes);
    }

    /// Whether a segment belongs to the unit around the blocks.
    fn is_root(&self, segment: &Segment) -> bool {
        segment.is_loss || self.first.is_some_and(|first| std::ptr::eq(first, segment))
    }

    /// The segment's gradients are reduced and scattered: each card keeps its part.
    pub(super) fn divide_gradients(&mut self, segment: &Segment) {
        let added = std::mem::take(&mut self.parts.added);
        let mut cells = std::mem::take(&mut self.parts.fresh);
        if self.shards.way == Way::Whole {
            self.set_aside(&cells);
        } else if self.shards.gradients > 1 || resident::away(self.config).1 {
            let storages: Vec<u32> = cells.iter().map(|&c| self.cells[c as usize].grad).collect();
            if self.shards.way == Way::Flat && self.is_root(segment) {
                // The root's flat gradient is whole when the embedding's has come.
                self.parts.root_gradients.extend(storages);
            } else {
                let parts = self.divide(&storages);
                for (&cell, part) in cells.iter().zip(parts) {
                    self.cells[cell as usize].grad = part;
                }
            }
        }
        for storage in added {
            self.release(storage);
        }
        // Its room is used again.
        cells.clear();
        self.parts.fresh = cells;
    }

    /// Divided gradients are counted apart, so that one walk serves any number of cards.
    fn set_aside(&mut self, cells: &[u32]) {
        let fresh: u64 = cells.iter().map(|&c| self.bytes_of(self.cells[c as usize].grad)).fold(0, u64::saturating_add);
        if self.divided.1 && fresh > 0 {
            self.peaks.close();
            self.fresh = self.fresh.saturating_sub(fresh);
            self.total = self.total.saturating_sub(fresh);
            self.live[Category::Gradients as usize] = self.live[Category::Gradients as usize].saturating_sub(fresh);
            self.reduced = self.reduced.saturating_add(fresh);
        }
    }

    fn bytes_of(&self, storage: u32) -> u64 {
        self.storages.get(storage as usize).map_or(0, |s| s.bytes)
    }

    /// Whole gradients become this card's parts of them.
    fn divide(&mut self, storages: &[u32]) -> Vec<u32> {
        let unit: u64 = storages.iter().map(|&s| self.bytes_of(s)).fold(0, u64::saturating_add);
        if unit == 0 {
            return vec![NOTHING; storages.len()];
        }
        let half = self.config.weights.is_half();
        let (widens, keeps_wide) =
            (half && self.shards.reduced == Some(Dtype::F32), half && self.shards.stored == Some(Dtype::F32));
        let wide = |b: u64| if widens { b.saturating_mul(2) } else { b };
        let kept = |b: u64| if keeps_wide { b.saturating_mul(2) } else { b };
        match self.shards.way {
            Way::Flat => {
                // Backward of the views into the flat weight makes one gradient of all; `_post_backward_hook` casts it.
                let flat = if self.shards.frozen_gradients { unit.max(self.parts.block) } else { unit };
                let scratch = if wide(flat) > flat { flat.saturating_add(wide(flat)) } else { flat };
                self.note(scratch);
            }
            Way::PerParameter => {
                // `foreach_reduce` copies into one buffer, which `reduce_scatter_state` keeps until the next.
                if let Some(storage) = self.parts.pending.take() {
                    self.release(storage);
                }
                let input = self.alloc(wide(unit), Category::Temporaries);
                self.note(0);
                self.parts.pending = Some(input);
            }
            _ => {}
        }
        let away = resident::away(self.config).1;
        let mut parts = Vec::with_capacity(storages.len());
        for &whole in storages {
            let part = kept(self.bytes_of(whole)) / self.shards.gradients.max(1);
            self.release(whole);
            parts.push(if away { NOTHING } else { self.alloc(part, Category::Gradients) });
        }
        parts
    }

    /// Activations of the other micro-batches that a stage of a pipeline has run forward and not yet backward.
    pub(super) fn other_micro_batches(&self) -> u64 {
        let (count, of) = self.shards.in_flight;
        let own = self.live[Category::Activations as usize].saturating_add(self.live[Category::Logits as usize]);
        (own.saturating_mul(count) / of.max(1)).saturating_sub(own)
    }

    /// Selective checkpointing keeps what an operator made.
    pub(super) fn keep_result(&mut self, frame: &Frame<'p>, k: usize, aux: u32) {
        let op = &frame.segment.ops[k];
        let storage = self.cells[frame.cells as usize + op.out as usize].storage;
        self.hold(storage);
        self.recategorize(storage, Category::Activations);
        if aux != NOTHING {
            self.hold(aux);
            self.recategorize(aux, Category::Activations);
            self.aux[frame.aux as usize + k] = aux;
        }
    }

    /// What was kept takes the place of running the operator again.
    pub(super) fn take_result(&mut self, first: &Frame<'p>, again: &Frame<'p>, k: usize) {
        let op = &again.segment.ops[k];
        let storage = self.cells[first.cells as usize + op.out as usize].storage;
        self.cells[again.cells as usize + op.out as usize].storage = storage;
        let aux = std::mem::replace(&mut self.aux[first.aux as usize + k], NOTHING);
        if op.backward != Backward::None {
            self.save(again, op);
        }
        if op.saves & SAVE_AUX != 0 {
            self.aux[again.aux as usize + k] = aux;
        } else {
            self.release(aux);
        }
        self.drop_after(again, k);
    }
}
