//! The machine that a program runs on: storages that are held and let go, and the forward pass over them.

use super::{CATEGORIES, Category, Live, Observer, Phase, Walk, Walked, accumulates, add};
use crate::network::{Program, SLOTS, Segment, Shards, StepConfig, StepImpl};
use crate::project::Checkpointing;
use crate::step::peaks::Peaks;

mod backward;
mod forward;
mod sharding;
use sharding::Parts;
pub(super) use sharding::two_at_a_time;

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
    /// The same for micro-batches whose gradients are added to those of earlier ones, where one walk serves both.
    later: Option<Peaks>,
    /// Gradients that such a micro-batch would not have kept.
    fresh: u64,
    /// It would have gone another way.
    parted: bool,
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
    /// The storage that died last, whose place is used again; where those are that died before stands in their bytes.
    dead: u32,
    observer: &'p mut O,
}

/// Forward and backward with an observer.
pub(super) fn walk_observed<O: Observer>(
    program: &Program,
    config: &StepConfig,
    walk: Walk,
    observer: &mut O,
) -> Walked {
    go(program, config, walk, observer, None).0
}

/// Forward and backward of the first micro-batch and of a later one at once; nothing where the two part ways.
pub(super) fn walk_both(program: &Program, config: &StepConfig) -> Option<Walked> {
    let (walked, parted) = go(program, config, Walk::Ends, &mut (), Some(Peaks::default()));
    (!parted).then_some(walked)
}

fn go<O: Observer>(
    program: &Program,
    config: &StepConfig,
    walk: Walk,
    observer: &mut O,
    later: Option<Peaks>,
) -> (Walked, bool) {
    let accumulating = accumulates(config);
    // Three times a group that repeats, and once more what is run again.
    let walked = program.groups.iter().flat_map(|group| &group.members).map(|segment| segment.values.len());
    let room = 3 * walked.sum::<usize>();
    let mut m = Machine {
        storages: Vec::with_capacity(1024),
        cells: Vec::with_capacity(room),
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
        later,
        fresh: 0,
        parted: false,
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
        dead: NOTHING,
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
    let later = m.later.map_or_else(Vec::new, Peaks::all);
    let gathered = m.parts.gathered_peak;
    (
        Walked {
            gathered,
            peaks: m.peaks.all(),
            later,
            weights: Vec::new(),
            forward_end,
            held,
            waiting,
            shared: false,
        },
        m.parted,
    )
}

impl<O: Observer> Machine<'_, O> {
    fn alloc(&mut self, bytes: u64, category: Category) -> u32 {
        let storage = Storage { bytes, refs: 1, category, view: false };
        let mut id = self.dead;
        if let Some(place) = self.storages.get_mut(id as usize) {
            self.dead = place.bytes as u32;
            *place = storage;
        } else {
            id = self.storages.len() as u32;
            self.storages.push(storage);
        }
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
        if storage != NOTHING {
            self.release_times(storage, 1);
        }
    }

    /// Drops a reference; where the storage dies, `multiple` of it die (its like in skipped repetitions).
    fn release_times(&mut self, storage: u32, multiple: u64) {
        let Some(s) = self.storages.get_mut(storage as usize) else { return };
        s.refs = s.refs.saturating_sub(1);
        if s.refs == 0 {
            let (bytes, category) = (s.bytes.saturating_mul(multiple), s.category as usize);
            // What went to main memory is looked for by its place later.
            if !self.offloads {
                s.bytes = u64::from(self.dead);
                self.dead = storage;
            }
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
        if let Some(later) = &mut self.later {
            later.note(self.total.saturating_sub(self.fresh).saturating_add(scratch), || {
                let mut live = self.live;
                add(&mut live[Category::Temporaries as usize], scratch);
                let gradients = &mut live[Category::Gradients as usize];
                *gradients = gradients.saturating_sub(self.fresh);
                (live, self.phase, self.largest.max(scratch), 0)
            });
        }
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
}
