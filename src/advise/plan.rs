//! The best way to lay one training job out over a number of cards, searched, with the reason for each part of it.

use crate::catalog::{Catalog, Gpu, LanguageModel};
use crate::estimate::time::{CHECKPOINTINGS, is_fast};
use crate::estimate::{self, MemoryEstimate, TimeEstimate, Walks};
use crate::project::{Checkpointing, Framework, Parallel, Precision, Project, Sharding, Wires};
use crate::units::Bytes;

/// Largest number of cards that is planned for.
pub const MOST_CARDS: u32 = 100_000;
/// Micro-batches that are tried.
const MICRO_BATCHES: [u64; 4] = [8, 4, 2, 1];
/// Depths of the pipeline that are tried.
const PIPELINES: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Pieces of the layers on each card of a pipeline.
const CHUNKS: [u32; 4] = [1, 2, 4, 8];

/// A part of a plan that there was a choice about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Weights, gradients or states divided over the cards that see other data.
    Sharding,
    /// Matrices divided.
    Tensor,
    /// Layers divided.
    Pipeline,
    /// Weights and states in main memory.
    Offload,
    /// Activations computed again.
    Checkpointing,
}

impl Choice {
    const ALL: [Self; 5] = [Self::Sharding, Self::Tensor, Self::Pipeline, Self::Offload, Self::Checkpointing];
}

/// What the best plan without a part of this one changes besides; nothing where it is as in this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instead {
    /// How the cards share.
    pub sharding: Option<Sharding>,
    /// Degrees of the tensor and the pipeline parallelism.
    pub cut: Option<(u32, u32)>,
    /// Samples at a time.
    pub micro_batch: Option<u64>,
    /// What is computed again.
    pub checkpointing: Option<Checkpointing>,
}

impl Instead {
    pub(super) fn of(choice: Choice, best: &Project, other: &Project) -> Self {
        let (ours, theirs) = (&best.hardware, &other.hardware);
        let cut = |p: &Parallel| (p.tensor, p.pipeline);
        let free = choice != Choice::Checkpointing;
        Self {
            // Undivided states say so themselves.
            sharding: Some(theirs.sharding).filter(|way| *way != ours.sharding && *way != Sharding::Ddp),
            cut: (cut(&ours.parallel) != cut(&theirs.parallel)).then(|| cut(&theirs.parallel)),
            micro_batch: (best.micro_batch != other.micro_batch).then_some(other.micro_batch),
            checkpointing: (free && best.checkpointing != other.checkpointing).then_some(other.checkpointing),
        }
    }

    pub(super) fn changes(&self) -> usize {
        [self.sharding.is_some(), self.cut.is_some(), self.micro_batch.is_some(), self.checkpointing.is_some()]
            .into_iter()
            .filter(|changed| *changed)
            .count()
    }
}

/// Why a part of the plan is as it is: what the best plan without it comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// Without it no plan fits: the least that a card would need.
    WouldNotFit {
        /// Which part.
        choice: Choice,
        /// What a card would need at the least.
        needs: Bytes,
        /// In which way.
        instead: Instead,
    },
    /// Without it a plan fits in the middle of its error band, but not at the upper end.
    Tight {
        /// Which part.
        choice: Choice,
        /// What a card would need at the least.
        needs: Bytes,
        /// In which way.
        instead: Instead,
    },
    /// Without it the run takes this many times as long.
    Slower {
        /// Which part.
        choice: Choice,
        /// Times as long.
        times: f64,
        /// In which way.
        instead: Instead,
    },
}

/// A way to lay a job out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The project with sharding, degrees, micro-batch, accumulation and checkpointing as planned.
    pub project: Project,
    /// Memory of the card that needs most.
    pub memory: MemoryEstimate,
    /// Time on all cards.
    pub time: TimeEstimate,
    /// It fits in the middle of the error band, but not at the upper end.
    pub tight: bool,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// The fastest plan on `count` of these cards that keeps the samples of an optimizer step; `None` where nothing fits.
/// Large runs are tuned to fill their cards: it fits in the middle of the error band.
pub fn plan(project: &Project, gpu: &Gpu, count: u32, samples_per_step: u64, catalog: &Catalog) -> Option<Plan> {
    best(project, gpu, count, samples_per_step, catalog, false)
}

/// The same for someone who wants to start it without trying: it fits also at the upper end of the error band, where any
/// plan does.
pub fn safe_plan(project: &Project, gpu: &Gpu, count: u32, samples_per_step: u64, catalog: &Catalog) -> Option<Plan> {
    best(project, gpu, count, samples_per_step, catalog, true)
}

fn best(
    project: &Project,
    gpu: &Gpu,
    count: u32,
    samples_per_step: u64,
    catalog: &Catalog,
    safe: bool,
) -> Option<Plan> {
    let count = count.clamp(1, MOST_CARDS);
    let tried_in = |ways| candidates(project, gpu, count, samples_per_step, catalog, ways);
    let mut tried = tried_in(&ALL);
    if tried.iter().all(|p| p.memory.card > gpu.usable) {
        tried.extend(tried_in(&LAST));
    }
    let faster = |a: &&Plan, b: &&Plan| per_sample(a).total_cmp(&per_sample(b));
    let within = |p: &Plan, band: f64| p.memory.card.scale(1.0 + band) <= gpu.usable;
    let safe = safe && tried.iter().any(|p| within(p, p.memory.band));
    let fits = |p: &&Plan| within(p, if safe { p.memory.band } else { 0.0 });
    let fastest = per_sample(tried.iter().filter(fits).min_by(faster)?);
    // What gains next to nothing is not worth its trouble.
    let worthy = tried.iter().filter(fits).filter(|p| per_sample(p) <= fastest * (1.0 + NOTHING_GAINED));
    let best = worthy.min_by(|a, b| trouble(a).cmp(&trouble(b)).then(faster(a, b)))?;
    let mut reasons = Vec::new();
    for choice in Choice::ALL {
        if !uses(&best.project, choice) {
            continue;
        }
        let without = || tried.iter().filter(|p| !uses(&p.project, choice));
        // Of plans that need as much the one most like the best.
        let least = |p: &&Plan| (p.memory.card, Instead::of(choice, &best.project, &p.project).changes());
        let Some(other) = without().filter(fits).min_by(faster).or_else(|| without().min_by_key(least)) else {
            continue;
        };
        let instead = Instead::of(choice, &best.project, &other.project);
        let needs = other.memory.card;
        reasons.push(if fits(&other) {
            Reason::Slower { choice, times: per_sample(other) / per_sample(best), instead }
        } else if needs <= gpu.usable {
            Reason::Tight { choice, needs, instead }
        } else {
            Reason::WouldNotFit { choice, needs, instead }
        });
    }
    Some(Plan { reasons, ..best.clone() })
}

/// The smallest number of these cards, a power of two or whole machines, on which the job fits also at the upper end of
/// the error band.
pub fn smallest_count(project: &Project, gpu: &Gpu, catalog: &Catalog) -> Option<u32> {
    let mut count = 1;
    while count <= 4096 {
        let tried = candidates(project, gpu, count, u64::from(count), catalog, &LEAN);
        // What waits in main memory is no way to need fewer cards that anybody would choose first.
        let kept = tried.iter().filter(|p| !uses(&p.project, Choice::Offload));
        if kept.map(|p| p.memory.card.scale(1.0 + p.memory.band)).min().is_some_and(|least| least <= gpu.usable) {
            return Some(count);
        }
        count *= 2;
    }
    None
}

/// Gain in time below which the simpler of two plans is the better.
const NOTHING_GAINED: f64 = 0.01;

/// How much there is to set up: ways in which the model is cut, then parts that are divided.
fn trouble(plan: &Plan) -> (bool, bool, [bool; 3]) {
    let hardware = &plan.project.hardware;
    let (weights, gradients, states) = hardware.sharding.divides();
    (hardware.parallel.tensor > 1, hardware.parallel.pipeline > 1, [weights, gradients, states])
}

fn per_sample(plan: &Plan) -> f64 {
    plan.time.step.0 / samples_per_step(&plan.project) as f64
}

/// Samples that an optimizer step sees over all cards.
pub fn samples_per_step(project: &Project) -> u64 {
    let hardware = &project.hardware;
    let data = data(project, hardware.count);
    project.micro_batch.saturating_mul(project.accumulation).saturating_mul(data).max(1)
}

/// Cards of `count` that see other data; layers one behind the other on all of them see the same.
fn data(project: &Project, count: u32) -> u64 {
    let hardware = &project.hardware;
    if hardware.sharding == Sharding::DeviceMap { 1 } else { u64::from(hardware.parallel.data(count)) }
}

fn uses(project: &Project, choice: Choice) -> bool {
    let (parallel, sharding) = (project.hardware.parallel, project.hardware.sharding);
    match choice {
        Choice::Sharding => sharding.divides() != (false, false, false),
        Choice::Tensor => parallel.tensor > 1,
        Choice::Pipeline => parallel.pipeline > 1,
        Choice::Offload => sharding == Sharding::Zero3Offload,
        Choice::Checkpointing => project.checkpointing != Checkpointing::Off,
    }
}

/// What is tried.
struct Tried {
    micro_batches: &'static [u64],
    chunks: &'static [u32],
    /// Also with less than full checkpointing.
    faster: bool,
    /// Only what waits in the main memory of many machines.
    last: bool,
}

/// Everything.
const ALL: Tried = Tried { micro_batches: &MICRO_BATCHES, chunks: &CHUNKS, faster: true, last: false };
/// What takes the least memory.
const LEAN: Tried = Tried { micro_batches: &[1], chunks: &[1], faster: false, last: false };
/// What nobody would do who had another way.
const LAST: Tried = Tried { micro_batches: &MICRO_BATCHES, chunks: &[], faster: true, last: true };

/// Everything that is worth trying, estimated.
fn candidates(
    project: &Project,
    gpu: &Gpu,
    count: u32,
    samples: u64,
    catalog: &Catalog,
    tried_ways: &Tried,
) -> Vec<Plan> {
    let walks = Walks::default();
    let language = project.language(catalog);
    let mut tried = Vec::new();
    // The person's own micro-batch is tried as well: images come by the hundred.
    let own = Some(project.micro_batch).filter(|own| tried_ways.faster && !tried_ways.micro_batches.contains(own));
    for variant in layouts(project, language.as_ref(), gpu, count, tried_ways) {
        let data = data(&variant, count);
        for checkpointing in checkpointings(&variant, language.is_some(), tried_ways.faster) {
            // A larger micro-batch makes larger products and a longer pipeline's bubble: all are tried.
            for micro_batch in own.into_iter().chain(tried_ways.micro_batches.iter().copied()) {
                if micro_batch.saturating_mul(data) > samples.max(1) {
                    continue;
                }
                let accumulation = samples.div_ceil(micro_batch.saturating_mul(data)).max(1);
                let there = Project { checkpointing, micro_batch, accumulation, ..variant.clone() };
                tried.extend(estimated(there, gpu, catalog, &walks));
            }
        }
    }
    tried
}

fn checkpointings(project: &Project, language: bool, faster: bool) -> Vec<Checkpointing> {
    if !faster {
        return vec![Checkpointing::PerBlock];
    }
    let selective = matches!(project.framework, Framework::Megatron | Framework::Torchtitan);
    let keep = |c: &Checkpointing| language && (*c != Checkpointing::Selective || selective);
    let mut tried: Vec<Checkpointing> = CHECKPOINTINGS.into_iter().filter(keep).collect();
    if tried.is_empty() {
        tried = vec![Checkpointing::Off, Checkpointing::PerBlock];
    }
    // What the person set is never left out: a plan is no slower than what they have.
    if !tried.contains(&project.checkpointing) {
        tried.push(project.checkpointing);
    }
    tried
}

/// Degrees and shardings: the library's own without cutting the model, Megatron's where it is cut.
fn layouts(project: &Project, language: Option<&LanguageModel>, gpu: &Gpu, count: u32, tried: &Tried) -> Vec<Project> {
    let there = |sharding, parallel| {
        let mut p = project.clone();
        p.hardware.desktop &= p.hardware.gpu == gpu.id;
        gpu.id.clone_into(&mut p.hardware.gpu);
        p.hardware.no_gpu = false;
        (p.hardware.count, p.hardware.sharding, p.hardware.parallel) = (count, sharding, parallel);
        p
    };
    // What the person said joins their cards holds for those alone.
    let wires = if project.hardware.gpu == gpu.id { project.hardware.wires } else { Wires::default() };
    let per_machine = wires.per_machine(count);
    if tried.last {
        let waits = count > per_machine && super::engine::divides(project);
        return if waits { vec![there(Sharding::Zero3Offload, Parallel::default())] } else { Vec::new() };
    }
    let mut all = Vec::new();
    let mut ways = vec![Sharding::Ddp];
    if count > 1 && super::engine::divides(project) {
        // States of adapters are too small for dividing them alone to gain anything.
        if !project.method.is_adapter() {
            ways.extend([Sharding::Zero1, Sharding::Zero2]);
        }
        ways.extend([Sharding::Zero3, Sharding::Fsdp2]);
        // The processors of many machines are no way to train: nobody does who has another.
        if count <= per_machine {
            ways.push(Sharding::Zero3Offload);
            if language.is_some() {
                ways.push(Sharding::DeviceMap);
            }
        }
    }
    for sharding in ways {
        all.push(there(sharding, Parallel::default()));
    }
    let Some(model) = language.filter(|_| !project.method.is_adapter() && count > 1) else { return all };
    for tensor in [1, 2, 4, 8] {
        let whole = count.is_multiple_of(tensor) && model.heads.is_multiple_of(tensor) && tensor <= per_machine;
        if !whole || (tensor > 1 && !is_fast(gpu, tensor, wires)) {
            continue;
        }
        for pipeline in PIPELINES {
            if (tensor == 1 && pipeline == 1) || !count.is_multiple_of(tensor * pipeline) || pipeline > model.layers {
                continue;
            }
            for &chunks in tried.chunks {
                if (pipeline == 1 && chunks > 1) || pipeline * chunks > model.layers {
                    continue;
                }
                let parallel = Parallel { tensor, pipeline, chunks, ..Parallel::default() };
                // Llama 3 divides states and gradients under its pipeline and keeps weights whole.
                for sharding in [Sharding::Zero1, Sharding::Zero2] {
                    let mut p = there(sharding, parallel);
                    p.framework = Framework::Megatron;
                    if p.precision != Precision::Fp32 {
                        p.precision = Precision::MasterBf16;
                    }
                    all.push(p);
                }
            }
        }
    }
    all
}

fn estimated(project: Project, gpu: &Gpu, catalog: &Catalog, walks: &Walks) -> Option<Plan> {
    let memory = estimate::memory_among(&project, Some(gpu), catalog, walks).ok()?;
    let time = estimate::time(&project, gpu, project.hardware.count, catalog).ok()?;
    let tight = memory.card.scale(1.0 + memory.band) > gpu.usable;
    Some(Plan { project, memory, time, tight, reasons: Vec::new() })
}
