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

use super::peaks::Peak;
use super::resident::{Resident, alike};
use crate::network::{Code, Program, Shards, StepConfig, StepImpl, Way, Weight};
use crate::project::Optimizer;
use crate::units::Bytes;

mod machine;
use machine::{two_at_a_time, walk_both, walk_observed};

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

/// Where a count arrives after `times` more changes like the one from `before` to `now`.
pub(super) const fn further(now: u64, before: u64, times: u64) -> u64 {
    if now >= before {
        now.saturating_add((now - before).saturating_mul(times))
    } else {
        now.saturating_sub((before - now).saturating_mul(times))
    }
}

/// Runs one optimizer step of `program` and returns its memory.
pub fn run(program: &Program, config: &StepConfig, walk: Walk) -> StepResult {
    walk_observed(program, config, walk, &mut ()).step(program, config)
}

/// The same, with an observer.
pub fn run_observed<O: Observer>(program: &Program, config: &StepConfig, walk: Walk, observer: &mut O) -> StepResult {
    let walked = walk_observed(program, config, walk, observer);
    let last = walked.last(config, &Resident::of(program, config));
    observer.tick(Phase::Optimizer, &last.live, 0);
    walked.step(program, config)
}

/// What a program depends on: all but the optimizer, the micro-batches of a step, and what several cards divide between
/// them without cutting the model.
pub fn written(config: &StepConfig) -> StepConfig {
    let Shards { tensor, sequence_parallel, expert, context, pipeline, stage, in_flight, .. } = config.shards;
    let cut = Shards { tensor, sequence_parallel, expert, context, pipeline, stage, in_flight, ..Shards::default() };
    StepConfig {
        accumulation: 1,
        optimizer_impl: StepImpl::Loop,
        shards: Shards { gradients: 2, ..cut },
        ..plain(config)
    }
}

/// Without what only adds to a walk.
fn plain(config: &StepConfig) -> StepConfig {
    let code = Code { zeroes_gradients: false, ..config.code };
    StepConfig { code, optimizer: Optimizer::AdamW, ..*config }
}

/// What forward and backward depend on. Steps that agree in it share a [`walk`]: those of other optimizers, of more or fewer
/// micro-batches, and, where no library of sharding is at work, on any number of cards.
pub fn course(config: &StepConfig) -> StepConfig {
    if config.shards.way == Way::Whole {
        return written(config);
    }
    let takes = config.optimizer_impl == StepImpl::InBackward;
    StepConfig {
        accumulation: 1 + u64::from(accumulates(config)),
        optimizer_impl: if takes { StepImpl::InBackward } else { StepImpl::Loop },
        shards: Shards { optimizer: 1, ..config.shards },
        ..plain(config)
    }
}

/// Forward and backward of a step: everything but weights, optimizer, and over how many cards they are divided. It serves
/// all steps of the same [`course`].
pub fn walk(program: &Program, config: &StepConfig) -> Walked {
    let course = course(config);
    let alone = |config: &StepConfig| walk_observed(program, config, Walk::Ends, &mut ());
    let weights = alike(&program.weights);
    if config.shards.way != Way::Whole {
        return Walked { weights, ..alone(&course) };
    }
    let both = walk_both(program, &course).unwrap_or_else(|| {
        let later = StepConfig { accumulation: 2, ..course };
        Walked { later: alone(&later).peaks, ..alone(&course) }
    });
    Walked { shared: true, weights, ..both }
}

/// What forward and backward came to: see [`walk`].
#[derive(Clone, Debug, PartialEq)]
pub struct Walked {
    peaks: Vec<Peak>,
    /// The program's weights, those alike together, where many steps are to be told; else none.
    weights: Vec<Weight>,
    /// Those of a micro-batch whose gradients are not kept: they are added to earlier ones, or the optimizer takes each.
    later: Vec<Peak>,
    forward_end: u64,
    held: u64,
    /// Most whole weights at a time.
    gathered: u64,
    /// Activations of other micro-batches.
    waiting: u64,
    /// Steps of many kinds share it: whole weights that come and go are not in the peaks.
    shared: bool,
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
        Peak { total, live, phase: Phase::Optimizer, largest: resident.largest, reduced: 0, own: 0 }
    }

    /// The whole step: with what is resident, and with the optimizer. `config` is of the walk's [`course`].
    pub fn step(&self, program: &Program, config: &StepConfig) -> StepResult {
        let shards = config.shards;
        let weights = if self.weights.is_empty() { &program.weights } else { &self.weights };
        let resident = Resident::with(weights, program.buffers, config);
        let steady = resident.weights.saturating_add(resident.state).saturating_add(program.batch_bytes);
        let (earlier, kept) = if accumulates(config) { (resident.earlier, resident.gradients) } else { (0, 0) };
        let last = self.last(config, &resident);
        let mut highest = Peak::default();
        let mut top = 0;
        let comes = self.shared && shards.weights > 1;
        let mut gathered = self.gathered;
        let mut peaks = [steady.saturating_add(earlier); 3];
        let passes = accumulates(config) || config.optimizer_impl == StepImpl::InBackward;
        let course = if self.shared && passes { &self.later } else { &self.peaks };
        for peak in course.iter().chain([&last]) {
            let divided = peak.reduced / shards.gradients.max(1);
            let mut peak = *peak;
            add(&mut peak.live[Category::Gradients as usize], divided);
            if comes {
                let whole = two_at_a_time(peak.own);
                gathered = gathered.max(whole);
                add(&mut peak.total, whole);
                add(&mut peak.live[Category::WeightCopies as usize], whole);
            }
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
            gathered: Bytes(gathered),
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
