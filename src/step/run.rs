//! Runs a program: forward, loss, backward, optimizer step, with every storage counted from birth to death.
//!
//! It does what PyTorch's autograd engine does: saved tensors hold their storage until their operator's backward has
//! run, a gradient that arrives second is added in place where the engine alone owns the first, checkpointed segments
//! keep their inputs and run forward again inside backward (stopping early once everything that was saved is there),
//! and autocast's copies of trained weights live until autocast is left.
//!
//! Repeated groups need not be walked one by one: from the second repetition to the last but one (in backward) every
//! live total is affine in the repetition, so its highest point lies at one of the two. One of them is walked, and its
//! highest points are taken over to the other.
//!
//! What a step costs beside its walk (weights, optimizer, division over cards) is added by [`Walked::step`], so one walk
//! serves all of these.

use super::peaks::{Peak, Peaks};
use super::resident::Resident;
use crate::network::{
    Backward, Group, Id, Kind, NONE, Op, Program, SAVE_AUX, SAVE_OUT, SLOTS, Segment, Shards, StepConfig, StepImpl,
    Value, Way,
};
use crate::project::Checkpointing;
use crate::units::Bytes;

mod sharding;
use sharding::Parts;

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
    /// Of them the fp32 master weights, which the library keeps and not the optimizer.
    pub masters: Bytes,
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
    /// Most whole weights at a time, where weights are divided.
    pub gathered: Bytes,
    /// Activations of other micro-batches under way in a pipeline.
    pub waiting: Bytes,
    /// Weights, states and gradients of this card's share that wait in main memory.
    pub host: Bytes,
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
    /// The cell that its gradient goes to: the one it came from through a slot, or itself (`NOTHING`).
    source: u32,
    /// The local variable still holds it.
    held: bool,
}

/// A local variable that holds nothing yet.
const CELL: Cell = Cell { storage: NOTHING, grad: NOTHING, source: NOTHING, held: true };

/// Where a count arrives after `times` more changes like the one from `before` to `now`.
pub(super) const fn further(now: u64, before: u64, times: u64) -> u64 {
    if now >= before {
        now.saturating_add((now - before).saturating_mul(times))
    } else {
        now.saturating_sub((before - now).saturating_mul(times))
    }
}

struct Frame<'p> {
    segment: &'p Segment,
    cells: u32,
    aux: u32,
}

enum Played<'p> {
    Frame(Frame<'p>),
    /// The repetition after this stands for `count` more that are not walked.
    Skipped {
        count: u64,
    },
    /// Where in backward the repetition begins that stands for others.
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
    phase: Phase,
    largest: u64,
    peaks: Peaks,
    accumulating: bool,
    early_stop: bool,
    /// Gradients that meet are added into a new tensor.
    sums_anew: bool,
    /// Inputs of checkpointed segments wait in main memory.
    offloads: bool,
    /// The optimizer takes each gradient as it comes.
    in_backward: bool,
    /// Weights are divided over cards; gradients are.
    divided: (bool, bool),
    shards: Shards,
    config: &'p StepConfig,
    /// The program's first segment.
    first: Option<&'p Segment>,
    /// What comes and goes on one of several cards.
    parts: Parts,
    /// Gradients that have been divided, in all; they are not in `live`.
    reduced: u64,
    /// Storages that have died: their places are used again.
    dead: Vec<u32>,
    observer: &'p mut O,
}

/// Runs one optimizer step of `program` and returns its memory.
pub fn run(program: &Program, config: &StepConfig, walk: Walk) -> StepResult {
    run_observed(program, config, walk, &mut ())
}

/// The same, with an observer.
pub fn run_observed<O: Observer>(program: &Program, config: &StepConfig, walk: Walk, observer: &mut O) -> StepResult {
    let walked = walk_observed(program, config, walk, observer);
    let last = walked.last(config, &Resident::of(program, config));
    observer.tick(Phase::Optimizer, &last.live, 0);
    walked.step(program, config)
}

/// Forward and backward of a step: everything but weights, optimizer, and over how many cards they are divided.
pub fn walk(program: &Program, config: &StepConfig) -> Walked {
    walk_observed(program, config, Walk::Ends, &mut ())
}

fn walk_observed<O: Observer>(program: &Program, config: &StepConfig, walk: Walk, observer: &mut O) -> Walked {
    let accumulating = accumulates(config);
    let mut m = Machine {
        storages: Vec::with_capacity(1024),
        cells: Vec::with_capacity(4096),
        aux: Vec::with_capacity(4096),
        slots: [NOTHING; SLOTS],
        played: Vec::with_capacity(256),
        cache: Vec::new(),
        cache_multiple: 0,
        live: [0; CATEGORIES],
        total: 0,
        phase: Phase::Forward,
        largest: 0,
        peaks: Peaks::default(),
        accumulating,
        early_stop: !config.reentrant,
        sums_anew: config.code.sums_gradients_anew,
        offloads: config.checkpointing == Checkpointing::Offloaded,
        in_backward: config.optimizer_impl == StepImpl::InBackward,
        divided: (config.shards.weights > 1, config.shards.gradients > 1),
        shards: config.shards,
        config,
        first: program.groups.first().and_then(|g| g.members.first()),
        parts: Parts::default(),
        reduced: 0,
        dead: Vec::new(),
        observer,
    };
    for &(slot, bytes) in &program.globals {
        let storage = m.alloc(bytes, Category::Temporaries);
        let cell = m.cell(storage);
        m.slots[slot.0 as usize] = cell;
    }
    m.bring_root(program);
    for group in &program.groups {
        m.forward_group(group, walk);
    }
    m.leave_autocast();
    m.drop_slots();
    let forward_end = m.total;
    let waiting = m.other_micro_batches();
    let output = m.held_output();
    m.backward_all();
    m.leave_root();
    // Whatever a held output still takes goes with the optimizer step; the next step's output takes its place.
    let held = m.live[Category::Logits as usize];
    m.release(output);
    Walked { gathered: m.parts.gathered_peak, peaks: m.peaks.all(), forward_end, held, waiting }
}

/// What forward and backward came to: see [`walk`].
#[derive(Clone, Debug, PartialEq)]
pub struct Walked {
    peaks: Vec<Peak>,
    forward_end: u64,
    held: u64,
    /// Most whole weights at a time.
    gathered: u64,
    /// Activations of other micro-batches.
    waiting: u64,
}

impl Walked {
    /// The optimizer's step.
    fn last(&self, config: &StepConfig, resident: &Resident) -> Peak {
        let gone = accumulates(config) || config.optimizer_impl == StepImpl::InBackward;
        let gradients = if gone { 0 } else { resident.gradients };
        let mut live = [0; CATEGORIES];
        live[Category::Logits as usize] = self.held;
        live[Category::Gradients as usize] = gradients;
        // What the step takes may come instead of the gradients (they are dropped once copied to fp32).
        live[Category::Temporaries as usize] = resident.temporary;
        let total = gradients.saturating_add(self.held).saturating_add(resident.temporary);
        Peak { total, live, phase: Phase::Optimizer, largest: resident.largest, reduced: 0 }
    }

    /// The whole step: with what is resident, and with the optimizer. `config` may differ from the walk's in optimizer,
    /// in micro-batches beyond the second and, where no library of sharding is at work, in the cards that divide.
    pub fn step(&self, program: &Program, config: &StepConfig) -> StepResult {
        let shards = config.shards;
        let resident = Resident::of(program, config);
        let steady = resident.weights.saturating_add(resident.state).saturating_add(program.batch_bytes);
        let (earlier, kept) = if accumulates(config) { (resident.earlier, resident.gradients) } else { (0, 0) };
        let last = self.last(config, &resident);
        let mut highest = Peak::default();
        let mut top = 0;
        let mut peaks = [steady.saturating_add(earlier); 3];
        for peak in self.peaks.iter().chain([&last]) {
            let divided = peak.reduced / shards.gradients.max(1);
            let mut peak = *peak;
            add(&mut peak.live[Category::Gradients as usize], divided);
            let part = match peak.phase {
                Phase::Forward => 0,
                Phase::Loss | Phase::Backward => 1,
                Phase::Optimizer => 2,
            };
            let before = if part == 2 { kept } else { earlier.saturating_add(shards.buffers) };
            let waiting = if part == 2 { 0 } else { self.waiting };
            peak.total = [divided, before, waiting].into_iter().fold(peak.total, u64::saturating_add);
            add(&mut peak.live[Category::Gradients as usize], if part == 2 { kept } else { earlier });
            add(&mut peak.live[Category::Temporaries as usize], if part == 2 { 0 } else { shards.buffers });
            add(&mut peak.live[Category::Activations as usize], waiting);
            let total = steady.saturating_add(peak.total);
            peaks[part] = peaks[part].max(total);
            if total > top {
                top = total;
                highest = peak;
            }
        }
        StepResult {
            peak: Bytes(top),
            phase: highest.phase,
            at_peak: highest.live,
            largest_at_peak: Bytes(highest.largest),
            weights: Bytes(resident.weights),
            optimizer: Bytes(resident.state),
            masters: Bytes(resident.masters),
            host: Bytes(resident.host),
            batch: Bytes(program.batch_bytes),
            steady: Bytes(steady),
            forward_end: Bytes(steady.saturating_add(earlier).saturating_add(self.forward_end)),
            gradients: Bytes(resident.gradients),
            peaks: peaks.map(Bytes),
            gathered: Bytes(self.gathered),
            waiting: Bytes(self.waiting),
        }
    }
}

/// Whether gradients of earlier micro-batches are there.
const fn accumulates(config: &StepConfig) -> bool {
    config.accumulation > 1 || config.code.zeroes_gradients || matches!(config.shards.way, Way::Megatron)
}

/// Absurd sizes stop at the largest number there is.
fn add(bytes: &mut u64, more: u64) {
    *bytes = bytes.saturating_add(more);
}

impl<'p, O: Observer> Machine<'p, O> {
    fn alloc(&mut self, bytes: u64, category: Category) -> u32 {
        let storage = Storage { bytes, refs: 1, category, view: false };
        let id = if let Some(id) = self.dead.pop() {
            self.storages[id as usize] = storage;
            id
        } else {
            self.storages.push(storage);
            self.storages.len() as u32 - 1
        };
        add(&mut self.live[category as usize], bytes);
        add(&mut self.total, bytes);
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
            let (bytes, category) = (s.bytes.saturating_mul(multiple), s.category as usize);
            self.live[category] = self.live[category].saturating_sub(bytes);
            self.total = self.total.saturating_sub(bytes);
            self.observer.free(storage);
            // What went to main memory is looked for by its place later.
            if !self.offloads {
                self.dead.push(storage);
            }
        }
    }

    fn recategorize(&mut self, storage: u32, category: Category) {
        let Some(s) = self.storages.get_mut(storage as usize) else { return };
        let keep = matches!(s.category, Category::Logits | Category::WeightCopies);
        if s.category != category && (!keep || category == Category::Gradients) {
            self.live[s.category as usize] = self.live[s.category as usize].saturating_sub(s.bytes);
            add(&mut self.live[category as usize], s.bytes);
            s.category = category;
        }
    }

    /// The highest point so far?
    fn note(&mut self, scratch: u64) {
        self.peaks.note(self.total.saturating_add(scratch), || {
            let mut live = self.live;
            add(&mut live[Category::Temporaries as usize], scratch);
            (live, self.phase, self.largest.max(scratch), self.reduced)
        });
        if scratch > 0 {
            self.observer.scratch(scratch);
        }
        self.observer.tick(self.phase, &self.live, scratch);
        self.largest = 0;
    }

    fn cell(&mut self, storage: u32) -> u32 {
        let id = self.cells.len() as u32;
        self.cells.push(Cell { storage, ..CELL });
        id
    }

    fn forward_group(&mut self, group: &'p Group, walk: Walk) {
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
    fn skip(&mut self, before: Live, reduced: u64, count: u64) {
        for (now, before) in self.live.iter_mut().zip(before) {
            let (next, total) = (further(*now, before, count), self.total);
            self.total =
                if next >= *now { total.saturating_add(next - *now) } else { total.saturating_sub(*now - next) };
            *now = next;
        }
        self.reduced = further(self.reduced, reduced, count);
    }

    fn enter_phase(&mut self, phase: Phase) {
        if phase != self.phase {
            self.phase = phase;
            self.peaks.close();
        }
    }

    fn forward_members(&mut self, group: &'p Group) {
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
    fn enter(&mut self, segment: &'p Segment) -> Frame<'p> {
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
    fn leave(&mut self, frame: &Frame<'p>, keep_inputs: bool) {
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
        if op.kept && !saving {
            self.keep_result(frame, k, aux);
        }
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
        let segment = frame.segment;
        let from = segment.ops[k].drops_from as usize;
        let to = segment.ops.get(k + 1).map_or(segment.drops.len(), |next| next.drops_from as usize);
        for &id in segment.drops.get(from..to).unwrap_or_default() {
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

    /// What the caller holds through backward.
    fn held_output(&mut self) -> u32 {
        let cell = std::mem::replace(&mut self.slots[SLOTS - 1], NOTHING);
        self.cells.get(cell as usize).map_or(NOTHING, |cell| cell.storage)
    }

    fn backward_all(&mut self) {
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
                    self.peaks.close();
                    began = (self.live, self.reduced);
                    self.peaks.mark();
                }
                // The repetition that stands for those not walked is over: it was walked as the last of them.
                Played::Skipped { count } => {
                    self.peaks.close();
                    let (live, reduced) = began;
                    self.peaks.repeat(&live, &self.live, (reduced, self.reduced), count);
                    self.skip(live, reduced, count);
                }
            }
        }
        self.peaks.close();
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
            for &(id, _) in &segment.inputs {
                let storage = self.cells[frame.cells as usize + id as usize].storage;
                self.release(storage);
            }
        } else {
            self.backward_ops(frame);
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

    fn recompute(&mut self, frame: &Frame<'p>) -> Frame<'p> {
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
        let last_saver = segment.ops.iter().rposition(|op| op.saves != 0);
        let stop = if self.early_stop { last_saver } else { segment.ops.len().checked_sub(1) };
        if let Some(stop) = stop {
            for k in 0..stop {
                if segment.ops[k].kept {
                    self.take_result(frame, &again, k);
                } else {
                    self.forward_op(&again, k, true);
                }
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
                    && let Some(s) = self.storages.get_mut(id as usize)
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
        let source = self.cells[local as usize].source;
        let target = if source == NOTHING { local } else { source };
        let is_weight = matches!(frame.segment.values[id as usize].kind, Kind::Weight { .. });
        let old = self.cells[target as usize].grad;
        let merged = if old == NOTHING {
            grad
        } else if self.storages[old as usize].refs == 1 && !self.storages[old as usize].view && !self.sums_anew {
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
            if self.in_backward {
                self.release(merged);
            } else if self.accumulating {
                // Added to what earlier micro-batches left: at once, or when the unit's gradients are summed over cards.
                if self.shards.way != Way::Whole && self.shards.gradients > 1 && !self.shards.unsynced {
                    self.parts.added.push(merged);
                } else {
                    self.release(merged);
                }
            } else {
                if old == NOTHING {
                    self.parts.fresh.push(target);
                }
                self.recategorize(merged, Category::Gradients);
                self.cells[target as usize].grad = merged;
            }
        } else {
            self.cells[target as usize].grad = merged;
        }
    }
}
