//! Language models: the step run symbolically.

use super::course::{self, moment};
use super::tower::Beside;
use super::walks::{Input, Walks};
use super::{CannotEstimate, EstimateMethod, MemoryEstimate, Part, Resolved, TimelinePoint, layout, overhead, stack};
use crate::catalog::{Gpu, LanguageKind, LanguageModel};
use crate::network::{self, Program};
use crate::project::{Attention, Field, Framework, LanguageTask, Objective, Offload, Project, Runtime, Sharding};
use crate::step::{self, Category, Live, Stage, StepConfig, StepResult, Task, Walk};
use crate::units::{Bytes, GIB};

mod held;
pub use held::{reserved_for, wasted};

/// One training step of a language model, every switch given.
pub fn step(model: &LanguageModel, config: &StepConfig, walk: Walk) -> Result<StepResult, CannotEstimate> {
    bounded(model, config, config.shards.pipeline)?;
    Ok(step::run(&network::language(model, config), config, walk))
}

/// Reserved memory of a step by simulating the caching allocator over the full walk.
pub fn reserved(model: &LanguageModel, config: &StepConfig) -> Result<Bytes, CannotEstimate> {
    bounded(model, config, config.shards.pipeline)?;
    let program = network::language(model, config);
    if program.groups.iter().map(|g| g.repeat).sum::<u64>() > DEEPEST {
        return Ok(step::run(&program, config, Walk::Ends).peak);
    }
    Ok(step::steady_step(&program, config))
}

/// Largest number of bytes that the sums are trusted with: a thousand petabytes.
const TOO_LARGE: f64 = 1e18;

/// Most layers that are walked one by one.
const DEEPEST: u64 = 1000;

/// Slack of the caching allocator beside live tensors when the card is nearly full: what is cached but does not fit the
/// next request. The middle of what the simulated allocator wastes ([`wasted`]) with the settings of the measured runs on
/// one card in tests/data/measured.csv: 2.9 % over 325, a tenth above 12 %. Where lengths vary the middle is 6 %.
const SLACK: f64 = 0.03;

/// Main memory for what waits on a disk: a sub-group of a billion weights with its states (`sub_group_size` of
/// `DeepSpeed`).
const NVME_BUFFERS: Bytes = Bytes(16_000_000_000);

/// Memory of one training step on one of the project's cards.
/// `beside` is a vision tower.
pub fn memory(
    project: &Project,
    model: &LanguageModel,
    beside: Beside,
    gpu: Option<&Gpu>,
) -> Result<MemoryEstimate, CannotEstimate> {
    memory_among(project, ("", model, beside), gpu, &Walks::default())
}

/// The same for one of several variants of a project. The model has an id where it is not a person's own.
pub(super) fn memory_among(
    project: &Project,
    (id, model, beside): (&'static str, &LanguageModel, Beside),
    gpu: Option<&Gpu>,
    walks: &Walks,
) -> Result<MemoryEstimate, CannotEstimate> {
    check(project, model)?;
    let model = &as_written(project, model);
    let step = |plan: &Plan| {
        let input = Input::Tokens(beside, model.family, model.tied_embeddings);
        let written = walks.find(id, input, &plan.config, &|config| Some(program(model, config, beside)))?;
        Some(written.step(&plan.config))
    };
    let plan = Plan::of(project, model, gpu, &|plan| step(plan).map_or(Bytes::ZERO, |result| result.peak));
    let result = step(&plan).ok_or(CannotEstimate::NoModel)?;
    Ok(plan.estimate(project, gpu, &result))
}

/// The course of one step, for the picture: at most `points` points.
pub fn timeline(
    project: &Project,
    model: &LanguageModel,
    beside: Beside,
    gpu: Option<&Gpu>,
    points: usize,
) -> Vec<TimelinePoint> {
    if check(project, model).is_err() {
        return Vec::new();
    }
    let model = &as_written(project, model);
    let plan = Plan::alone(project, model, gpu);
    let program = program(model, &plan.config, beside);
    let mut course = step::Course::default();
    let deep = program.groups.iter().map(|g| g.repeat).sum::<u64>() > DEEPEST;
    let walk = if deep { Walk::Ends } else { Walk::Full };
    let result = step::run_observed(&program, &plan.config, walk, &mut course);
    course::points(&course, points, |live| plan.on_card(project, &result, live).parts)
}

/// The model as the project's library writes it.
fn as_written<'m>(project: &Project, model: &'m LanguageModel) -> std::borrow::Cow<'m, LanguageModel> {
    use std::borrow::Cow;
    let stack = stack::Stack::of(project.framework).at(project.runtime);
    if stack.unties_head && model.tied_embeddings || stack.fused_gelu {
        let tied_embeddings = model.tied_embeddings && !stack.unties_head;
        // A family of its own that says nothing keeps what the columns say, a fused GELU among them.
        let family =
            if stack.fused_gelu && matches!(model.family, "Phi" | "GPT-2" | "GPT-J" | "GPT-Neo") && !model.gated {
                "Pythia"
            } else {
                model.family
            };
        return Cow::Owned(LanguageModel { family, tied_embeddings, ..model.clone() });
    }
    Cow::Borrowed(model)
}

fn check(project: &Project, model: &LanguageModel) -> Result<(), CannotEstimate> {
    let wrong = [
        (project.micro_batch == 0, Field::MicroBatch),
        (project.accumulation == 0, Field::Accumulation),
        (project.sequence == 0, Field::Sequence),
        (model.layers == 0, Field::CustomLayers),
        (model.hidden == 0, Field::CustomHidden),
        (model.heads == 0 || model.head_dim == 0, Field::CustomHeads),
        (model.kv_heads == 0, Field::CustomKvHeads),
        (model.vocab == 0, Field::CustomVocab),
        (project.method.is_adapter() && project.lora.rank == 0, Field::LoraRank),
    ];
    if let Some((_, field)) = wrong.into_iter().find(|(bad, _)| *bad) {
        return Err(CannotEstimate::OutOfRange(field));
    }
    let config = stack::configure(project, u64::from(model.layers), Task::LanguageModel, None);
    bounded(model, &config, u64::from(project.hardware.parallel.pipeline))
}

/// Everything that is multiplied later stays far inside 64 bits, or the step is refused. The first stage of a pipeline keeps
/// as many micro-batches as there are stages.
fn bounded(model: &LanguageModel, config: &StepConfig, stages: u64) -> Result<(), CannotEstimate> {
    let sequence = config.sequence.max(config.decoder_sequence.unwrap_or(0)) as f64;
    let tokens = config.batch as f64 * sequence;
    let widest = [model.hidden, model.intermediate, model.vocab, model.moe_intermediate, model.max_context, 4096];
    let widest = widest.into_iter().map(f64::from).fold(0.0, f64::max)
        + f64::from(model.heads.max(model.kv_heads)) * f64::from(model.head_dim) * 3.0;
    let experts = f64::from(model.moe_experts.max(1));
    let layer = f64::from(model.hidden) * widest * experts * 16.0;
    let active = tokens * widest * f64::from(model.moe_active.max(1)) * f64::from(model.moe_shared.max(1)) * 64.0;
    // Additive attention writes out a width for each pair, not a score for each head.
    let each_pair = if model.attention.starts_with("lstm") { model.hidden } else { model.heads };
    // Encoder, decoder, and the one looking at the other.
    let looks = if model.kind == LanguageKind::EncoderDecoder { 3.0 } else { 1.0 };
    let scores = tokens * sequence * f64::from(each_pair) * looks * 16.0;
    let rank = match config.trained {
        crate::step::Trained::Adapters(lora) => (widest + tokens) * lora.rank as f64 * 16.0,
        _ => 0.0,
    };
    let worst = (layer + active + scores + rank) * f64::from(model.layers.max(1)) * stages.max(1) as f64;
    if worst.is_finite() && worst < TOO_LARGE { Ok(()) } else { Err(CannotEstimate::TooLarge) }
}

/// Where everything is at one moment of a step.
struct OnCard {
    /// Live bytes on the card, by part.
    parts: [Bytes; 7],
    /// Of them the weights, and what the optimizer remembers.
    weights: Bytes,
    optimizer: Bytes,
    /// What waits in main memory.
    host: Bytes,
}

/// The model's program with what lies beside it.
fn program(model: &LanguageModel, config: &StepConfig, beside: Beside) -> Program {
    let Some(tower) = beside.tower.filter(|_| model.kind == LanguageKind::Decoder) else {
        let mut program = network::language(model, config);
        Beside { tower: None, ..beside }.add(&mut program, config, 0);
        return program;
    };
    let mut program = network::seeing(model, &tower, config);
    let without = network::language(model, config).parameters();
    let own = program.parameters().saturating_sub(without);
    beside.add(&mut program, config, own);
    program
}

/// A step on one of several cards.
struct Plan {
    config: StepConfig,
    sharding: Sharding,
    count: u64,
    /// Parts of the layers on this card under a device map.
    share: f64,
}

impl Plan {
    /// The same for a step that shares its program with no other.
    fn alone(project: &Project, model: &LanguageModel, gpu: Option<&Gpu>) -> Self {
        let peak = |plan: &Self| step::run(&network::language(model, &plan.config), &plan.config, Walk::Ends).peak;
        Self::of(project, model, gpu, &peak)
    }

    /// The stage of the pipeline that needs most, each as `peak` says.
    fn of(project: &Project, model: &LanguageModel, gpu: Option<&Gpu>, peak: &dyn Fn(&Self) -> Bytes) -> Self {
        let first = Self::at(project, model, gpu, Stage::First);
        if project.hardware.parallel.pipeline <= 1 {
            return first;
        }
        let mut most = (peak(&first), first);
        // Where the first layers have no experts a stage above them holds much more.
        let others = if network::dense_layers(model).0 > 0 { &[Stage::Inner, Stage::Last][..] } else { &[Stage::Last] };
        for stage in others {
            let plan = Self::at(project, model, gpu, *stage);
            let needs = peak(&plan);
            if needs > most.0 {
                most = (needs, plan);
            }
        }
        most.1
    }

    fn at(project: &Project, model: &LanguageModel, gpu: Option<&Gpu>, stage: Stage) -> Self {
        let task = match project.task {
            LanguageTask::Auto if model.kind == LanguageKind::Encoder => Task::SequenceClassification,
            LanguageTask::Auto | LanguageTask::NextToken => Task::LanguageModel,
            LanguageTask::Masked => Task::MaskedLanguageModel,
            LanguageTask::Classification => Task::SequenceClassification,
            LanguageTask::Embedding => Task::Embedding,
        };
        let mut config = stack::configure(project, u64::from(model.layers), task, gpu);
        if project.attention == Attention::Auto && stack::writes_scores(project, model) {
            config.attention = step::AttentionKernel::Eager;
        }
        let count = u64::from(project.hardware.count.max(1));
        let sharding = layout::sharding(project);
        layout::lay_out(project, model, stage, &mut config);
        let share = if sharding == Sharding::DeviceMap { 1.0 / count as f64 } else { 1.0 };
        Self { config, sharding, count, share }
    }

    /// What is on the card when `live` is, and what waits in main memory instead.
    fn on_card(&self, project: &Project, r: &StepResult, live: &Live) -> OnCard {
        // The cards of one machine share its main memory.
        let programs = if self.sharding == Sharding::DeviceMap { 1 } else { self.count };
        let programs = programs.min(u64::from(project.hardware.per_machine()));
        let mut host = r.host * programs;
        let mut weights = r.weights;
        let mut optimizer = r.optimizer;
        let full = self.sharding == Sharding::Zero3Offload;
        // Paged states are in unified memory and leave the card when it is full; fp32 master weights are not the
        // optimizer's (bitsandbytes `get_paged` is asked for its own two states alone) and stay.
        let paged = matches!(
            project.optimizer,
            crate::project::Optimizer::PagedAdamW | crate::project::Optimizer::PagedAdamW8bit
        );
        let here = self.config.shards.away == Offload::None;
        let (weights_away, states_away) = project.offload.parts();
        let on_disk = project.offload == Offload::Nvme;
        if here && (full || states_away || paged) {
            let stays = if full || states_away { Bytes::ZERO } else { r.masters };
            let moved = optimizer - stays;
            host += (if on_disk { moved.min(NVME_BUFFERS) } else { moved }) * programs;
            optimizer = stays;
        }
        if here && (full || weights_away) {
            host += (if on_disk { weights.min(NVME_BUFFERS) } else { weights }) * programs;
            weights = Bytes::ZERO;
        }
        let mut parts = [Bytes::ZERO; 7];
        let at = |c: Category| Bytes(live[c as usize]);
        parts[Part::Weights as usize] = (weights + at(Category::WeightCopies)).scale(self.share);
        parts[Part::Gradients as usize] = at(Category::Gradients).scale(self.share);
        parts[Part::Optimizer as usize] = optimizer.scale(self.share);
        parts[Part::Activations as usize] = at(Category::Activations).scale(self.share) + r.batch;
        parts[Part::Logits as usize] = at(Category::Logits);
        parts[Part::Temporaries as usize] = at(Category::Temporaries);
        if project.ema {
            parts[Part::Optimizer as usize] += r.weights;
        }
        if project.objective == Objective::Preference && !project.method.is_adapter() {
            // The frozen reference model.
            parts[Part::Weights as usize] += weights;
        }
        if self.count > 1 && self.sharding == Sharding::Ddp {
            // DDP's reducer keeps the gradients a second time, in its buckets.
            parts[Part::Temporaries as usize] += r.gradients;
        }
        OnCard { parts, weights, optimizer, host }
    }

    fn estimate(&self, project: &Project, gpu: Option<&Gpu>, r: &StepResult) -> MemoryEstimate {
        let OnCard { mut parts, weights, optimizer, host } = self.on_card(project, r, &r.at_peak);
        let step: Bytes = parts.into_iter().sum();
        // Between steps a checkpoint is saved.
        let orders = stack::Stack::of(project.framework).at(project.runtime).orders_tiles_to_save;
        let saving = if orders && self.config.quantization == Some(step::Quantization::Int8) {
            weights + optimizer + weights
        } else {
            Bytes::ZERO
        };
        parts[Part::Temporaries as usize] += saving - step;
        let allocated: Bytes = parts.into_iter().sum();
        let slack = allocated.scale(SLACK);
        let reserved = allocated + slack;
        let outside = overhead::context(gpu)
            + overhead::eager_modules(project.runtime, gpu)
            + overhead::workspaces(gpu)
            + overhead::communication(project.hardware.count)
            + overhead::desktop(project);
        parts[Part::Overhead as usize] = slack + outside;
        let (attention, loss, optimizer_impl) = stack::resolved(&self.config);
        MemoryEstimate {
            parts,
            allocated,
            reserved,
            card: reserved + outside,
            band: band(project, self.count),
            moment: moment(r.phase),
            largest: r.largest_at_peak,
            host: host + self.programs(project, r.weights),
            timeline: Vec::new(),
            method: EstimateMethod::Symbolic,
            resolved: Resolved { attention, loss, optimizer_impl, sharding: self.sharding },
        }
    }
}

impl Plan {
    /// Main memory of the programs of one machine, one for each card, and of the model as they read it.
    fn programs(&self, project: &Project, weights: Bytes) -> Bytes {
        let shards = self.config.shards.weights.max(1);
        let programs = match self.sharding {
            Sharding::DeviceMap => 1,
            _ => self.count.min(u64::from(project.hardware.per_machine())),
        };
        // Where weights are divided one program reads the model, and the others wait for their part (accelerate's
        // `cpu_ram_efficient_loading`, `zero.Init`); else each reads all of it.
        let read = if shards > 1 { weights * shards } else { weights * programs };
        Bytes(2 * GIB) * programs + read
    }
}

/// Half-width of the band for several cards (judgement: too few runs on several cards are estimated well).
const SEVERAL_CARDS: f64 = 0.14;

/// Four of five measured runs on one card lie within this of their estimate: rows of quality A and B in
/// tests/data/measured.csv that were trained, as `examples/score` prints them.
const fn band(project: &Project, cards: u64) -> f64 {
    match (project.runtime, project.framework) {
        _ if cards > 1 => SEVERAL_CARDS,
        // 80 rows.
        (_, Framework::Litgpt) => 0.06,
        // 34 rows, most of them rounded to whole gigabytes.
        (_, Framework::MsSwift) => 0.21,
        // 67 rows with PyTorch 1, most of them batches tuned to fill a card.
        (Runtime::One | Runtime::LateOne | Runtime::LastOne, _) => 0.08,
        // 20 rows.
        (_, Framework::Torchtune) => 0.15,
        // Fewer than ten rows each, and those further off than the 208 rows of all libraries together (9 %).
        _ => 0.14,
    }
}
