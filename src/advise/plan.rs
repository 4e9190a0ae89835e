//! The best way to lay one training job out over a number of cards, searched, with the reason for each part of it.

use crate::catalog::{Catalog, Gpu, LanguageModel};
use crate::estimate::time::{CHECKPOINTINGS, Cut, Workload, cut, has_fast_link};
use crate::estimate::{self, CARDS_PER_MACHINE, MemoryEstimate, TimeEstimate, Walks};
use crate::project::{Checkpointing, Framework, Parallel, Precision, Project, Sharding};
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
    /// Activations computed again.
    Checkpointing,
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
    },
    /// Without it the run takes this many times as long.
    Slower {
        /// Which part.
        choice: Choice,
        /// Times as long.
        times: f64,
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
    /// Why.
    pub reasons: Vec<Reason>,
}

/// The fastest plan on `count` of these cards that keeps the samples of an optimizer step; `None` where nothing fits.
pub fn plan(project: &Project, gpu: &Gpu, count: u32, samples_per_step: u64, catalog: &Catalog) -> Option<Plan> {
    let tried = candidates(project, gpu, count.clamp(1, MOST_CARDS), samples_per_step, catalog);
    let fits = |p: &&Plan| p.memory.card <= gpu.usable;
    let faster = |a: &&Plan, b: &&Plan| per_sample(a).total_cmp(&per_sample(b));
    let best = tried.iter().filter(fits).min_by(faster)?;
    let mut reasons = Vec::new();
    for choice in [Choice::Sharding, Choice::Tensor, Choice::Pipeline, Choice::Checkpointing] {
        if !uses(&best.project, choice) {
            continue;
        }
        let without = || tried.iter().filter(|p| !uses(&p.project, choice));
        match without().filter(fits).min_by(faster) {
            Some(other) => reasons.push(Reason::Slower { choice, times: per_sample(other) / per_sample(best) }),
            None => {
                if let Some(needs) = without().map(|p| p.memory.card).min() {
                    reasons.push(Reason::WouldNotFit { choice, needs });
                }
            }
        }
    }
    Some(Plan { reasons, ..best.clone() })
}

/// The smallest number of these cards, a power of two or whole machines, on which the job fits.
pub fn smallest_count(project: &Project, gpu: &Gpu, catalog: &Catalog) -> Option<u32> {
    let mut count = 1;
    while count <= 4096 {
        let tried = candidates(project, gpu, count, u64::from(count), catalog);
        if tried.iter().any(|p| p.memory.card <= gpu.usable) {
            return Some(count);
        }
        count *= 2;
    }
    None
}

fn per_sample(plan: &Plan) -> f64 {
    let p = &plan.project;
    let data = f64::from(p.hardware.parallel.data(p.hardware.count));
    plan.time.step.0 / (p.micro_batch as f64 * p.accumulation as f64 * data)
}

fn uses(project: &Project, choice: Choice) -> bool {
    let (parallel, sharding) = (project.hardware.parallel, project.hardware.sharding);
    match choice {
        Choice::Sharding => sharding.divides() != (false, false, false),
        Choice::Tensor => parallel.tensor > 1,
        Choice::Pipeline => parallel.pipeline > 1,
        Choice::Checkpointing => project.checkpointing != Checkpointing::Off,
    }
}

/// Everything that is worth trying, estimated.
fn candidates(project: &Project, gpu: &Gpu, count: u32, samples: u64, catalog: &Catalog) -> Vec<Plan> {
    let walks = Walks::default();
    let language = catalog.model(&project.model).and_then(|m| m.language());
    let mut tried = Vec::new();
    for variant in layouts(project, language, gpu, count) {
        let data = u64::from(variant.hardware.parallel.data(count));
        for checkpointing in checkpointings(&variant, language.is_some()) {
            // A larger micro-batch makes larger products and a longer pipeline's bubble: all are tried.
            for micro_batch in MICRO_BATCHES {
                if micro_batch.saturating_mul(data) > samples.max(1) {
                    continue;
                }
                let accumulation = samples.div_ceil(micro_batch.saturating_mul(data)).max(1);
                let there = Project { checkpointing, micro_batch, accumulation, ..variant.clone() };
                tried.extend(estimated(there, language, gpu, catalog, &walks));
            }
        }
    }
    tried
}

fn checkpointings(project: &Project, language: bool) -> Vec<Checkpointing> {
    let selective = matches!(project.framework, Framework::Megatron | Framework::Torchtitan);
    let keep = |c: &Checkpointing| language && (*c != Checkpointing::Selective || selective);
    let mut tried: Vec<Checkpointing> = CHECKPOINTINGS.into_iter().filter(keep).collect();
    if tried.is_empty() {
        tried = vec![Checkpointing::Off, Checkpointing::PerBlock];
    }
    tried
}

/// Degrees and shardings: the library's own without cutting the model, Megatron's where it is cut.
fn layouts(project: &Project, language: Option<&LanguageModel>, gpu: &Gpu, count: u32) -> Vec<Project> {
    let there = |sharding, parallel| {
        let mut p = project.clone();
        gpu.id.clone_into(&mut p.hardware.gpu);
        (p.hardware.count, p.hardware.sharding, p.hardware.parallel) = (count, sharding, parallel);
        p
    };
    let mut all = Vec::new();
    let ways: &[Sharding] =
        if count > 1 { &[Sharding::Ddp, Sharding::Zero1, Sharding::Zero2, Sharding::Zero3] } else { &[Sharding::Ddp] };
    for &sharding in ways {
        all.push(there(sharding, Parallel::default()));
    }
    let Some(model) = language.filter(|_| !project.method.is_adapter() && count > 1) else { return all };
    for tensor in [1, 2, 4, 8] {
        let whole = count.is_multiple_of(tensor) && model.heads.is_multiple_of(tensor) && tensor <= CARDS_PER_MACHINE;
        if !whole || (tensor > 1 && !has_fast_link(gpu, tensor)) {
            continue;
        }
        for pipeline in PIPELINES {
            if (tensor == 1 && pipeline == 1) || !count.is_multiple_of(tensor * pipeline) || pipeline > model.layers {
                continue;
            }
            for chunks in CHUNKS {
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

fn estimated(
    project: Project,
    language: Option<&LanguageModel>,
    gpu: &Gpu,
    catalog: &Catalog,
    walks: &Walks,
) -> Option<Plan> {
    let memory = estimate::memory_among(&project, Some(gpu), catalog, walks).ok()?;
    let (count, parallel) = (project.hardware.count, project.hardware.parallel);
    let time = match language {
        Some(model) if parallel.cuts() => {
            let load = Workload::new(&project, estimate::time::has_flash(gpu), catalog).ok()?;
            cut(&load, &Cut::of(&project, model), gpu, count, project.hardware.sharding, parallel).ok()?
        }
        _ => estimate::time(&project, gpu, count, catalog).ok()?,
    };
    Some(Plan { project, memory, time, reasons: Vec::new() })
}
