//! Runs a program: forward, loss, backward, optimizer step, with every storage counted from birth to death.
//!
//! It does what PyTorch's autograd engine does: saved tensors hold their storage until their operator's backward has
//! run, a gradient that arrives second is added in place where the engine alone owns the first, checkpointed segments
//! keep their inputs and run forward again inside backward (stopping early once everything that was saved is there),
//! and autocast's copies of trained weights live until autocast is left.
//!
//! Repeated groups need not be walked one by one: between the second and the last but one repetition every live total
//! is affine in the repetition, so its highest point lies at one of the ends, which are walked.

use super::optimizer;
use crate::network::{
    Backward, Group, Id, Kind, NONE, Op, Program, SAVE_AUX, SAVE_OUT, SLOTS, Segment, StepConfig, Value,
};
use crate::network::{Shards, StepImpl};
use crate::project::Checkpointing;
use crate::units::Bytes;

/// What a live byte is, during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// 16-bit copies of weights.
    WeightCopies,
    /// Gradients of weights.
    Gradients,
    /// Saved for backward.
    Activations,
    /// Logits and their kin.
    Logits,
    /// Everything short-lived.
    Temporaries,
}

/// Number of categories.
pub const CATEGORIES: usize = 5;

/// Live bytes by category.
pub type Live = [u64; CATEGORIES];

/// Phase of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Forward through the layers.
    Forward,
    /// Logits and loss, forward or backward.
    Loss,
    /// Backward through the layers.
    Backward,
    /// Optimizer step.
    Optimizer,
}

/// How repeated groups are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The ends only: the same result, much faster.
    Ends,
    /// Every repetition.
    Full,
}

/// Sees the run go by: the allocator's simulation and the timeline are observers.
pub trait Observer {
    /// A storage is born.
    fn alloc(&mut self, _storage: u32, _bytes: u64) {}
    /// A storage dies.
    fn free(&mut self, _storage: u32) {}
    /// A kernel takes scratch and gives it back.
    fn scratch(&mut self, _bytes: u64) {}
    /// An operator has run; `stride` repetitions are skipped after it.
    fn tick(&mut self, _phase: Phase, _live: &Live, _scratch: u64) {}
}

impl Observer for () {}

/// What a step came to. Bytes as the allocator rounds them; resident weights, states and the batch are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// Highest live total: `torch.cuda.max_memory_allocated`.
    pub peak: Bytes,
    /// Phase of the peak.
    pub phase: Phase,
    /// Live bytes at the peak by category.
    pub at_peak: Live,
    /// The largest single piece asked for at the peak.
    pub largest_at_peak: Bytes,
    /// Weights as stored, with buffers.
    pub weights: Bytes,
    /// Optimizer state and fp32 master weights.
    pub optimizer: Bytes,
    /// The batch.
    pub batch: Bytes,
    /// Live between steps.
    pub steady: Bytes,
    /// Live at the end of forward.
    pub forward_end: Bytes,
    /// Gradients of all trained weights.
    pub gradients: Bytes,
    /// Highest total by phase: forward, backward, optimizer.
    pub peaks: [Bytes; 3],
}

const NOTHING: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Storage {
    bytes: u64,
    refs: u32,
    category: Category,
    view: bool,
}

/// A value of a segment that has been run.
#[derive(Clone, Copy)]
struct Cell {
    storage: u32,
    grad: u32,
    /// The cell that its gradient goes to: itself, or the one it came from through a slot.
    source: u32,
    /// The local variable still holds it.
    held: bool,
}

struct Frame<'p> {
    segment: &'p Segment,
    cells: u32,
    aux: u32,
}

enum Played<'p> {
    Frame(Frame<'p>),
    /// `count` repetitions not walked, each taking this much in forward.
    Skipped {
        count: u64,
    },
    /// End of a repetition, for measuring in backward.
    Mark,
}

struct Machine<'p, O: Observer> {
    storages: Vec<Storage>,
    cells: Vec<Cell>,
    aux: Vec<u32>,
    slots: [u32; SLOTS],
    played: Vec<Played<'p>>,
    /// Autocast's cache: storages, and how many skipped repetitions hold one alike.
    cache: Vec<(u32, u64)>,
    cache_multiple: u64,
    live: Live,
    total: u64,
    base: u64,
    phase: Phase,
    peak: u64,
    peak_phase: Phase,
    at_peak: Live,
    largest: u64,
    largest_at_peak: u64,
    peaks: [u64; 3],
    accumulating: bool,
    early_stop: bool,
    /// Inputs of checkpointed segments wait in main memory.
    offloads: bool,
    /// The optimizer takes each gradient as it comes.
    in_backward: bool,
    shards: Shards,
    /// Whole weights of the segment at work and of the next, where weights are divided.
    gathered: u64,
    /// Gradients that the segment under way has left.
    fresh_gradients: u64,
    observer: &'p mut O,
}

/// Runs one optimizer step of `program` and returns its memory.
pub fn run(program: &Program, config: &StepConfig, walk: Walk) -> StepResult {
    run_observed(program, config, walk, &mut ())
}

/// The same, with an observer.
pub fn run_observed<O: Observer>(program: &Program, config: &StepConfig, walk: Walk, observer: &mut O) -> StepResult {
    let shards = config.shards;
    let whole = program.weights.iter().map(crate::network::Weight::bytes).fold(program.buffers, u64::saturating_add);
    let weights = whole / shards.weights.max(1);
    let mut update = optimizer::update(&program.weights, config);
    update.state /= shards.optimizer.max(1);
    update.temporary /= shards.optimizer.max(1);
    let gradients = optimizer::gradient_bytes(&program.weights) / shards.gradients.max(1);
    let accumulating = config.accumulation > 1 || config.code.zeroes_gradients;
    let steady = weights.saturating_add(update.state).saturating_add(program.batch_bytes);
    let base = steady.saturating_add(if accumulating { gradients } else { 0 });
    let mut m = Machine {
        storages: Vec::with_capacity(256),
        cells: Vec::with_capacity(512),
        aux: Vec::with_capacity(256),
        slots: [NOTHING; SLOTS],
        played: Vec::new(),
        cache: Vec::new(),
        cache_multiple: 0,
        live: [0; CATEGORIES],
        total: base,
        base,
        phase: Phase::Forward,
        peak: base,
        peak_phase: Phase::Forward,
        at_peak: [0; CATEGORIES],
        largest: 0,
        largest_at_peak: 0,
        peaks: [base; 3],
        accumulating,
        early_stop: !config.reentrant,
        offloads: config.checkpointing == Checkpointing::Offloaded,
        in_backward: config.optimizer_impl == StepImpl::InBackward,
        shards,
        gathered: 0,
        fresh_gradients: 0,
        observer,
    };
    for &(slot, bytes) in &program.globals {
        let storage = m.alloc(bytes, Category::Temporaries);
        let cell = m.cell(storage);
        m.slots[slot.0 as usize] = cell;
    }
    for group in &program.groups {
        m.forward_group(group, walk);
    }
    m.leave_autocast();
    m.drop_slots();
    let forward_end = m.total;
    m.backward_all();
    debug_assert!(m.total >= m.base);
    // Whatever a held output still takes goes with the optimizer step.
    m.phase = Phase::Optimizer;
    let gradients_now = if accumulating || m.in_backward { 0 } else { gradients };
    let held = m.live[Category::Logits as usize];
    let before = m.base.saturating_add(gradients_now).saturating_add(held);
    m.live = [0; CATEGORIES];
    m.live[Category::Logits as usize] = held;
    m.live[Category::Gradients as usize] = gradients_now;
    m.total = before;
    m.largest = update.largest;
    // What the step takes may come instead of the gradients (they are dropped once copied to fp32).
    m.live[Category::Temporaries as usize] = update.temporary;
    m.note(0);
    m.drop_held();
    StepResult {
        peak: Bytes(m.peak),
        phase: m.peak_phase,
        at_peak: {
            let mut at = m.at_peak;
            if accumulating {
                at[Category::Gradients as usize] += gradients;
            }
            at
        },
        largest_at_peak: Bytes(m.largest_at_peak),
        weights: Bytes(weights),
        optimizer: Bytes(update.state),
        batch: Bytes(program.batch_bytes),
        steady: Bytes(steady),
        forward_end: Bytes(forward_end),
        gradients: Bytes(gradients),
        peaks: m.peaks.map(Bytes),
    }
}

impl<'p, O: Observer> Machine<'p, O> {
    fn alloc(&mut self, bytes: u64, category: Category) -> u32 {
        let id = self.storages.len() as u32;
        self.storages.push(Storage { bytes, refs: 1, category, view: false });
        self.live[category as usize] += bytes;
        self.total += bytes;
        self.largest = self.largest.max(bytes);
        self.observer.alloc(id, bytes);
        id
    }

    fn hold(&mut self, storage: u32) {
        if let Some(s) = self.storages.get_mut(storage as usize) {
            s.refs += 1;
        }
    }

    fn release(&mut self, storage: u32) {
        self.release_times(storage, 1);
    }

    /// Drops a reference; where the storage dies, `multiple` of it die (its like in skipped repetitions).
    fn release_times(&mut self, storage: u32, multiple: u64) {
        let Some(s) = self.storages.get_mut(storage as usize) else { return };
        s.refs = s.refs.saturating_sub(1);
        if s.refs == 0 {
            let (bytes, category) = (s.bytes * multiple, s.category as usize);
            self.live[category] = self.live[category].saturating_sub(bytes);
            self.total = self.total.saturating_sub(bytes);
            self.observer.free(storage);
        }
    }

    fn recategorize(&mut self, storage: u32, category: Category) {
        let Some(s) = self.storages.get_mut(storage as usize) else { return };
        let keep = matches!(s.category, Category::Logits | Category::WeightCopies);
        if s.category != category && (!keep || category == Category::Gradients) {
            self.live[s.category as usize] = self.live[s.category as usize].saturating_sub(s.bytes);
            self.live[category as usize] += s.bytes;
            s.category = category;
        }
    }

    /// The highest point so far?
    fn note(&mut self, scratch: u64) {
        let mut total = self.total + scratch;
        if self.phase == Phase::Optimizer {
            total += self.live[Category::Temporaries as usize];
        }
        let part = match self.phase {
            Phase::Forward => 0,
            Phase::Loss | Phase::Backward => 1,
            Phase::Optimizer => 2,
        };
        self.peaks[part] = self.peaks[part].max(total);
        if total > self.peak {
            self.peak = total;
            self.peak_phase = self.phase;
            self.at_peak = self.live;
            self.at_peak[Category::Temporaries as usize] += scratch;
            self.largest_at_peak = self.largest.max(scratch);
        }
        if scratch > 0 {
            self.observer.scratch(scratch);
        }
        self.observer.tick(self.phase, &self.live, scratch);
        self.largest = 0;
    }

    fn cell(&mut self, storage: u32) -> u32 {
        let id = self.cells.len() as u32;
        self.cells.push(Cell { storage, grad: NOTHING, source: id, held: true });
        id
    }

    fn forward_group(&mut self, group: &'p Group, walk: Walk) {
        let n = group.repeat;
        if walk == Walk::Full || n <= 4 {
            for _ in 0..n {
                self.played.push(Played::Mark);
                self.forward_members(group);
            }
            return;
        }
        self.played.push(Played::Mark);
        self.forward_members(group);
        let before = self.live;
        self.cache_multiple = n - 4;
        self.played.push(Played::Mark);
        self.forward_members(group);
        self.cache_multiple = 0;
        self.skip(before, n - 4);
        self.played.push(Played::Skipped { count: n - 4 });
        for _ in 0..2 {
            self.played.push(Played::Mark);
            self.forward_members(group);
        }
    }

    /// Adds what `count` more repetitions like the one since `before` take.
    fn skip(&mut self, before: Live, count: u64) {
        for (now, before) in self.live.iter_mut().zip(before) {
            let (delta, grew) = if *now >= before { (*now - before, true) } else { (before - *now, false) };
            let change = delta.saturating_mul(count);
            if grew {
                *now = now.saturating_add(change);
                self.total = self.total.saturating_add(change);
            } else {
                *now = now.saturating_sub(change);
                self.total = self.total.saturating_sub(change);
            }
        }
    }

    fn forward_members(&mut self, group: &'p Group) {
        for segment in &group.members {
            self.phase = if segment.is_loss { Phase::Loss } else { Phase::Forward };
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
    fn enter(&mut self, segment: &'p Segment) -> Frame<'p> {
        let frame = Frame { segment, cells: self.cells.len() as u32, aux: self.aux.len() as u32 };
        for value in &segment.values {
            let id = self.cell(NOTHING);
            if let Kind::Input(slot) = value.kind {
                let from = self.slots[slot.0 as usize];
                if let Some(&origin) = self.cells.get(from as usize) {
                    self.hold(origin.storage);
                    let cell = &mut self.cells[id as usize];
                    cell.storage = origin.storage;
                    cell.source = origin.source;
                }
            }
        }
        self.aux.resize(self.aux.len() + segment.ops.len(), NOTHING);
        frame
    }

    /// Hands outputs to their slots. A checkpointed segment keeps its inputs until its backward.
    fn leave(&mut self, frame: &Frame<'p>, keep_inputs: bool) {
        if keep_inputs && !self.offloads {
            for (i, value) in frame.segment.values.iter().enumerate() {
                if matches!(value.kind, Kind::Input(_)) {
                    let storage = self.cells[frame.cells as usize + i].storage;
                    self.hold(storage);
                    self.recategorize(storage, Category::Activations);
                }
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

    fn category_of(value: &Value) -> Category {
        match value.kind {
            Kind::Logits => Category::Logits,
            Kind::WeightCopy => Category::WeightCopies,
            Kind::EarlyGradient => Category::Gradients,
            _ => Category::Temporaries,
        }
    }

    fn forward_op(&mut self, frame: &Frame<'p>, k: usize, saving: bool) {
        let segment = frame.segment;
        let op = &segment.ops[k];
        let base = frame.cells as usize;
        for i in 0..u16::from(op.outs) {
            let id = (op.out + i) as usize;
            let value = &segment.values[id];
            let storage = if value.alias_of == NONE {
                self.alloc(value.bytes, Self::category_of(value))
            } else {
                let shared = self.cells[base + value.alias_of as usize].storage;
                self.hold(shared);
                shared
            };
            self.cells[base + id].storage = storage;
        }
        let category = if op.logits_aux { Category::Logits } else { Category::Temporaries };
        let aux = if op.aux > 0 { self.alloc(op.aux, category) } else { NOTHING };
        self.note(op.temp);
        if saving && op.backward != Backward::None {
            self.save(frame, op);
            if op.saves & SAVE_AUX != 0 {
                self.recategorize(
                    aux,
                    if op.backward == Backward::Saved { Category::Gradients } else { Category::Activations },
                );
                self.aux[frame.aux as usize + k] = aux;
            } else {
                self.release(aux);
            }
        } else {
            self.release(aux);
        }
        if op.cached {
            let storage = self.cells[base + op.out as usize].storage;
            self.hold(storage);
            self.cache.push((storage, 1 + self.cache_multiple));
        }
        self.drop_after(frame, k);
    }

    fn save(&mut self, frame: &Frame<'p>, op: &Op) {
        let base = frame.cells as usize;
        for (i, &id) in op.inputs.iter().enumerate() {
            if op.saves & (1 << i) != 0 && id != NONE {
                let storage = self.cells[base + id as usize].storage;
                self.hold(storage);
                self.recategorize(storage, Category::Activations);
            }
        }
        if op.saves & SAVE_OUT != 0 {
            let storage = self.cells[base + op.out as usize].storage;
            self.hold(storage);
            self.recategorize(storage, Category::Activations);
        }
    }

    fn drop_after(&mut self, frame: &Frame<'p>, k: usize) {
        let drops = &frame.segment.drops;
        let start = drops.partition_point(|&(at, _)| (at as usize) < k);
        for &(at, id) in &drops[start..] {
            if at as usize != k {
                break;
            }
            let cell = &mut self.cells[frame.cells as usize + id as usize];
            if std::mem::take(&mut cell.held) {
                let storage = cell.storage;
                self.release(storage);
            }
        }
    }

    fn leave_autocast(&mut self) {
        for (storage, multiple) in std::mem::take(&mut self.cache) {
            self.release_times(storage, multiple);
        }
    }

    /// Forward's locals go; what the caller holds (the last slot) stays.
    fn drop_slots(&mut self) {
        for slot in 0..SLOTS - 1 {
            let cell = std::mem::replace(&mut self.slots[slot], NOTHING);
            if let Some(&cell) = self.cells.get(cell as usize) {
                self.release(cell.storage);
            }
        }
    }

    /// The next step's outputs take the place of what the caller held.
    fn drop_held(&mut self) {
        let cell = std::mem::replace(&mut self.slots[SLOTS - 1], NOTHING);
        if let Some(&cell) = self.cells.get(cell as usize) {
            self.release(cell.storage);
        }
    }

    fn backward_all(&mut self) {
        let mut at_mark = self.live;
        let mut delta_from = self.live;
        while let Some(played) = self.played.pop() {
            match played {
                Played::Frame(frame) => {
                    self.phase = if frame.segment.is_loss { Phase::Loss } else { Phase::Backward };
                    self.backward_frame(&frame);
                }
                Played::Mark => {
                    delta_from = at_mark;
                    at_mark = self.live;
                }
                Played::Skipped { count } => self.skip(delta_from, count),
            }
        }
    }

    /// Divided weights are put together for the segment at work, and for the next one ahead of time.
    fn gather(&mut self, segment: &Segment) {
        if self.shards.weights > 1 {
            self.gathered = segment.weight_bytes.saturating_mul(2);
            self.total += self.gathered;
            self.live[Category::WeightCopies as usize] += self.gathered;
        }
    }

    fn scatter(&mut self) {
        self.total -= self.gathered;
        self.live[Category::WeightCopies as usize] -= self.gathered;
        self.gathered = 0;
    }

    fn backward_frame(&mut self, frame: &Frame<'p>) {
        let segment = frame.segment;
        self.gather(segment);
        if segment.checkpointed {
            if self.offloads {
                self.bring_back(frame);
            }
            let again = self.recompute(frame);
            self.backward_ops(&again);
            // The closure that kept the inputs goes with the graph.
            for i in 0..segment.values.len() {
                self.release_input(frame, i);
            }
        } else {
            self.backward_ops(frame);
        }
        self.scatter();
        self.divide_gradients();
    }

    fn release_input(&mut self, frame: &Frame<'p>, i: usize) {
        if matches!(frame.segment.values[i].kind, Kind::Input(_)) {
            let storage = self.cells[frame.cells as usize + i].storage;
            self.release(storage);
        }
    }

    /// Kept inputs come back from main memory.
    fn bring_back(&mut self, frame: &Frame<'p>) {
        for (i, value) in frame.segment.values.iter().enumerate() {
            let at = frame.cells as usize + i;
            let dead = self.storages.get(self.cells[at].storage as usize).is_some_and(|s| s.refs == 0);
            if matches!(value.kind, Kind::Input(_)) && dead {
                self.cells[at].storage = self.alloc(value.bytes, Category::Activations);
            }
        }
    }

    /// The segment's gradients are reduced and scattered: each card keeps its part.
    fn divide_gradients(&mut self) {
        let n = self.shards.gradients.max(1);
        let fresh = std::mem::take(&mut self.fresh_gradients);
        if n > 1 {
            let gone = fresh - fresh / n;
            self.total -= gone;
            self.live[Category::Gradients as usize] = self.live[Category::Gradients as usize].saturating_sub(gone);
        }
    }

    fn recompute(&mut self, frame: &Frame<'p>) -> Frame<'p> {
        let segment = frame.segment;
        let again = Frame { segment, cells: self.cells.len() as u32, aux: self.aux.len() as u32 };
        for i in 0..segment.values.len() {
            let first = self.cells[frame.cells as usize + i];
            let is_input = matches!(segment.values[i].kind, Kind::Input(_));
            let id = self.cell(if is_input { first.storage } else { NOTHING });
            let cell = &mut self.cells[id as usize];
            cell.grad = first.grad;
            if is_input {
                cell.source = first.source;
                self.hold(first.storage);
            } else if matches!(segment.values[i].kind, Kind::Weight { .. }) {
                cell.source = first.source;
            }
        }
        self.aux.resize(self.aux.len() + segment.ops.len(), NOTHING);
        let last_saver = segment.ops.iter().rposition(|op| op.saves != 0);
        let stop = if self.early_stop { last_saver } else { segment.ops.len().checked_sub(1) };
        if let Some(stop) = stop {
            for k in 0..stop {
                self.forward_op(&again, k, true);
            }
            let op = &segment.ops[stop];
            // Saving its inputs ends the recomputation before the kernel runs.
            if self.early_stop && op.saves & (SAVE_OUT | SAVE_AUX) == 0 {
                self.save(&again, op);
            } else {
                self.forward_op(&again, stop, true);
            }
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
        again
    }

    fn backward_ops(&mut self, frame: &Frame<'p>) {
        let segment = frame.segment;
        let base = frame.cells as usize;
        for k in (0..segment.ops.len()).rev() {
            let op = &segment.ops[k];
            if op.backward == Backward::None {
                continue;
            }
            let is_loss_end = segment.is_loss && op.out != NONE && segment.values[op.out as usize].numel == 1;
            let mut arrived = NOTHING;
            let mut any = is_loss_end;
            for i in 0..u16::from(op.outs) {
                let grad = self.cells[base + (op.out + i) as usize].grad;
                if grad != NOTHING {
                    any = true;
                    arrived = grad;
                }
            }
            if any {
                self.backward_op(frame, k, op, arrived);
            } else {
                self.release_saved(frame, k, op);
            }
        }
    }

    fn backward_op(&mut self, frame: &Frame<'p>, k: usize, op: &Op, arrived: u32) {
        let segment = frame.segment;
        let base = frame.cells as usize;
        let out_bytes = if op.out == NONE { 0 } else { segment.values[op.out as usize].bytes };
        let mut fresh = [NOTHING; 4];
        let aux = self.aux[frame.aux as usize + k];
        for (i, &id) in op.inputs.iter().enumerate() {
            if id == NONE || !segment.values[id as usize].grad {
                continue;
            }
            let value = &segment.values[id as usize];
            let shares = match op.backward {
                Backward::Pass => arrived != NOTHING && value.bytes == out_bytes,
                Backward::Views => arrived != NOTHING,
                Backward::Saved => true,
                _ => false,
            };
            fresh[i] = if shares {
                let from = if op.backward == Backward::Saved { aux } else { arrived };
                self.hold(from);
                from
            } else {
                let category = if value.kind == Kind::Logits { Category::Logits } else { Category::Temporaries };
                let id = self.alloc(value.bytes, category);
                if i == 1
                    && op.weight_view
                    && let Some(s) = self.storages.last_mut()
                {
                    s.view = true;
                }
                id
            };
        }
        self.note(op.back_temp);
        self.release_saved(frame, k, op);
        for i in 0..u16::from(op.outs) {
            let grad = std::mem::replace(&mut self.cells[base + (op.out + i) as usize].grad, NOTHING);
            self.release(grad);
        }
        for (i, &grad) in fresh.iter().enumerate() {
            if grad != NOTHING {
                self.deliver(frame, op.inputs[i], grad);
            }
        }
    }

    fn release_saved(&mut self, frame: &Frame<'p>, k: usize, op: &Op) {
        let base = frame.cells as usize;
        for (i, &id) in op.inputs.iter().enumerate() {
            if op.saves & (1 << i) != 0 && id != NONE {
                let storage = self.cells[base + id as usize].storage;
                self.release(storage);
            }
        }
        if op.saves & SAVE_OUT != 0 {
            let storage = self.cells[base + op.out as usize].storage;
            self.release(storage);
        }
        let aux = std::mem::replace(&mut self.aux[frame.aux as usize + k], NOTHING);
        self.release(aux);
    }

    /// A gradient reaches a value: the engine's input buffer, or a weight's `.grad`.
    fn deliver(&mut self, frame: &Frame<'p>, id: Id, grad: u32) {
        let local = frame.cells + u32::from(id);
        let target = self.cells[local as usize].source;
        let is_weight = matches!(frame.segment.values[id as usize].kind, Kind::Weight { .. });
        let old = self.cells[target as usize].grad;
        let merged = if old == NOTHING {
            grad
        } else if self.storages[old as usize].refs == 1 && !self.storages[old as usize].view {
            self.release(grad);
            old
        } else {
            let s = self.storages[old as usize];
            let sum = self.alloc(s.bytes, s.category);
            self.note(0);
            self.release(old);
            self.release(grad);
            sum
        };
        if is_weight {
            // AccumulateGrad: kept as it is, or added to what earlier micro-batches left. A weight that several operators
            // use finds its earlier gradient here, and the two are added in place.
            self.cells[target as usize].grad = NOTHING;
            if self.accumulating || self.in_backward {
                self.release(merged);
            } else {
                if old == NOTHING {
                    self.fresh_gradients += self.storages.get(merged as usize).map_or(0, |s| s.bytes);
                }
                self.recategorize(merged, Category::Gradients);
                self.cells[target as usize].grad = merged;
            }
        } else {
            self.cells[target as usize].grad = merged;
        }
    }
}
