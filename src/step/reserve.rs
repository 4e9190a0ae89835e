//! What the caching allocator holds over the first steps of a run.
//!
//! Optimizer states are made by the first step, after its activations have come and gone: they are cut out of the large
//! blocks that the allocator has kept, and the next step finds those blocks too small. Gradients that are kept from step
//! to step do the same.

use super::allocator::Allocator;
use super::course::Course;
use super::optimizer;
use super::run::{Walk, run_observed};
use crate::network::{Dtype, Program, StepConfig, StepImpl, Weight, round};
use crate::project::Optimizer;
use crate::units::Bytes;

/// What is held and what of it is in use, each at its most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// `torch.cuda.max_memory_reserved`.
    pub reserved: Bytes,
    /// `torch.cuda.max_memory_allocated`.
    pub allocated: Bytes,
}

/// Steps until the allocator needs nothing new: the first makes states and gradients, the second finds them there.
const STEPS: usize = 2;

/// The two kinds of micro-batches: the first of a step and those after it.
struct Courses {
    first: Course,
    later: Option<Course>,
}

impl Courses {
    fn of(program: &Program, config: &StepConfig) -> Self {
        let first = StepConfig {
            accumulation: 1,
            code: crate::network::Code { zeroes_gradients: false, ..config.code },
            ..*config
        };
        let later = StepConfig { accumulation: 2, ..*config };
        let several = config.accumulation > 1 || config.code.zeroes_gradients;
        let of = |config: &StepConfig| {
            let mut course = Course::of_requests();
            run_observed(program, config, Walk::Full, &mut course);
            course
        };
        Self { first: of(&first), later: several.then(|| of(&later)) }
    }
}

/// Loads the model and runs the first steps of training it, with all the memory in the world.
pub fn first_steps(program: &Program, config: &StepConfig) -> Held {
    let allocator = walk::<true>(program, config, &[&Courses::of(program, config); STEPS], Allocator::default());
    Held { reserved: Bytes(allocator.peak()), allocated: Bytes(allocator.live_peak()) }
}

/// The least that the allocator gets through the first steps with, to a part in [`STEPS_OF_SEARCH`] powers of two between
/// what is in use and what it would like to hold.
pub fn least(program: &Program, config: &StepConfig) -> Held {
    search(program, config, &[&Courses::of(program, config); STEPS])
}

/// The same for a run whose batches are as long as their longest sample: one program for each length, and the `order` in
/// which they come.
pub fn least_among(lengths: &[(Program, StepConfig)], order: &[usize]) -> Option<Held> {
    let courses: Vec<Courses> = lengths.iter().map(|(program, config)| Courses::of(program, config)).collect();
    let steps: Vec<&Courses> = order.iter().filter_map(|&length| courses.get(length)).collect();
    lengths.first().map(|(program, config)| search(program, config, &steps))
}

fn search(program: &Program, config: &StepConfig, steps: &[&Courses]) -> Held {
    let all = walk::<true>(program, config, steps, Allocator::default());
    let held = Held { reserved: Bytes(all.peak()), allocated: Bytes(all.live_peak()) };
    Held { reserved: least_between::<true>(program, config, steps, &held, (STEPS_OF_SEARCH, Bytes::ZERO)), ..held }
}

/// What the allocator wants where it does not get through the first steps with the `room` that it has beside a given amount
/// in use; `None` where it does, which is told sooner, and for optimizers that make weights and states anew.
pub fn short_of(program: &Program, config: &StepConfig, room: impl Fn(Bytes) -> Bytes) -> Option<Held> {
    if renews(config) {
        return None;
    }
    let courses = Courses::of(program, config);
    let steps = &[&courses; STEPS];
    let all = walk::<false>(program, config, steps, Allocator::default());
    let held = Held { reserved: Bytes(all.peak()), allocated: Bytes(all.live_peak()) };
    let room = room(held.allocated);
    let reserved = least_between::<false>(program, config, steps, &held, (STEPS_WHILE_WAITED_FOR, room));
    (reserved > room).then_some(Held { reserved, ..held })
}

/// Halvings of the span between memory in use and memory held.
const STEPS_OF_SEARCH: u32 = 5;
/// The same while somebody waits.
const STEPS_WHILE_WAITED_FOR: u32 = 3;

/// Halves the span between memory in use and memory held, until what is found is within `room`. The span is that of the
/// program, whatever the card: blocks come to lie otherwise in a little more room, and may fail where they did not in less,
/// but a larger card can do all that a smaller one does.
fn least_between<const RENEWS: bool>(
    program: &Program,
    config: &StepConfig,
    steps: &[&Courses],
    held: &Held,
    (halvings, room): (u32, Bytes),
) -> Bytes {
    let (mut below, mut enough) = (held.allocated.0, held.reserved.0);
    for _ in 0..halvings {
        if enough <= room.0 {
            break;
        }
        let middle = below + (enough - below) / 2;
        if walk::<RENEWS>(program, config, steps, Allocator::of(middle)).failed() {
            below = middle;
        } else {
            enough = middle;
        }
    }
    Bytes(enough)
}

/// `RENEWS`: whether optimizers may come by that make weights and states anew.
fn walk<const RENEWS: bool>(
    program: &Program,
    config: &StepConfig,
    steps: &[&Courses],
    mut allocator: Allocator,
) -> Allocator {
    // Weights and states that each step makes anew, tensor by tensor.
    let mut renewed = Vec::new();
    for w in &program.weights {
        for _ in 0..w.times {
            let weight = allocator.hold(w.stored);
            let master = (config.master_weights && w.trained).then(|| allocator.hold(full(w)));
            if RENEWS && renews(config) && w.trained {
                renewed.push(vec![master.unwrap_or(weight)]);
            }
        }
    }
    allocator.resident(program.batch_bytes);
    let mut gradients = Vec::new();
    for (step, courses) in steps.iter().enumerate() {
        let mut fresh = gradients.is_empty();
        // Two micro-batches show what more would.
        for _ in 0..config.accumulation.clamp(1, 2) {
            let course = if fresh { &courses.first } else { courses.later.as_ref().unwrap_or(&courses.first) };
            course.replay(&mut allocator);
            if allocator.failed() {
                return allocator;
            }
            let left = allocator.left();
            if fresh {
                gradients = left;
                fresh = false;
            } else {
                allocator.drop_left(left);
            }
        }
        if RENEWS && renews(config) {
            renew(program, config, &mut renewed, &mut allocator);
        } else {
            update(program, config, step == 0, &mut allocator);
        }
        if !config.code.zeroes_gradients {
            allocator.drop_left(std::mem::take(&mut gradients));
        }
    }
    allocator
}

/// One step as it goes when everything that stays is there already and nothing else is cached.
pub fn steady_step(program: &Program, config: &StepConfig) -> Bytes {
    let mut allocator = Allocator::default();
    for w in &program.weights {
        let state = optimizer::update(std::slice::from_ref(w), config).state / w.times.max(1);
        for _ in 0..w.times {
            allocator.resident(w.stored);
            if w.trained && state > 0 {
                allocator.resident(state / 2);
                allocator.resident(state - state / 2);
            }
        }
    }
    allocator.resident(program.batch_bytes);
    run_observed(program, config, Walk::Full, &mut allocator);
    Bytes(allocator.peak())
}

const fn full(w: &Weight) -> u64 {
    round(w.numel.saturating_mul(Dtype::F32.bytes()))
}

const fn renews(config: &StepConfig) -> bool {
    matches!(config.optimizer_impl, StepImpl::Renewing)
}

/// A step that makes weight and states of each tensor anew and then lets the old ones go. What it is given are copies of
/// zeros at first.
fn renew(program: &Program, config: &StepConfig, held: &mut [Vec<u32>], allocator: &mut Allocator) {
    let mut held = held.iter_mut();
    let trained = || program.weights.iter().filter(|w| w.trained);
    // 16-bit gradients are copied to fp32, all of them before the step.
    let mut gradients = Vec::new();
    for w in trained().filter(|_| config.master_weights) {
        gradients.extend((0..w.times).map(|_| allocator.hold(full(w))));
    }
    for w in trained() {
        let bytes = if config.master_weights { full(w) } else { w.stored };
        for _ in 0..w.times {
            let Some(held) = held.next() else { return };
            if held.len() == 1 {
                held.extend([allocator.hold(bytes), allocator.hold(bytes)]);
            }
            let fresh = vec![allocator.hold(bytes), allocator.hold(bytes)];
            let update = allocator.hold(bytes);
            let weight = allocator.hold(bytes);
            allocator.drop_left(vec![update]);
            let old = std::mem::replace(held, [vec![weight], fresh].concat());
            allocator.drop_left(old);
        }
    }
    allocator.drop_left(gradients);
}

/// The optimizer's step; the first makes the states.
fn update(program: &Program, config: &StepConfig, first: bool, allocator: &mut Allocator) {
    let trained = program.weights.iter().filter(|w| w.trained);
    // Paged states are in unified memory, outside the allocator (bitsandbytes `get_paged`).
    let paged = matches!(config.optimizer, Optimizer::PagedAdamW | Optimizer::PagedAdamW8bit);
    if first && !paged {
        for w in trained.clone() {
            let masters = if config.master_weights { full(w) } else { 0 };
            let state =
                (optimizer::update(std::slice::from_ref(w), config).state / w.times.max(1)).saturating_sub(masters);
            for _ in 0..w.times {
                if state > 0 {
                    allocator.resident(state / 2);
                    allocator.resident(state - state / 2);
                }
            }
        }
    }
    let alone = StepConfig { master_weights: false, ..*config };
    let mut pieces = Vec::new();
    for w in trained {
        let one = optimizer::update(std::slice::from_ref(&Weight { times: 1, ..*w }), &alone).temporary;
        for _ in 0..w.times {
            if config.master_weights {
                pieces.push(full(w));
            }
            if one > 0 {
                pieces.push(one);
            }
        }
    }
    if config.optimizer_impl == StepImpl::Foreach || config.master_weights {
        allocator.together(&pieces);
    } else {
        for piece in pieces {
            allocator.together(&[piece]);
        }
    }
}
