//! What can be changed about a project, from the least painful to the most.
//!
//! Pain has levels. Anything on a lower level is tried in full before anything on a higher one is touched:
//!
//! 0. the same result at the same speed or better: kernels, fused loss, mixed precision, cached latents;
//! 1. the same result, slower: smaller micro-batches with accumulation, checkpointing, blocks in main memory;
//! 2. hardly measurable: another library, 8-bit optimizer states, a quantized frozen base, pure bf16;
//! 3. the same result, much slower: optimizer state and step in main memory;
//! 4. other or less training: adapters instead of all weights, shorter samples, smaller pictures.

use super::engine::{accumulation, divides};
use super::subject::Subject;
use super::warnings::{quantizes, runs_triton};
use super::{FixKind, QualityRisk, smaller};
use crate::catalog::{Domain, Gpu, GpuFamily, Vendor};
use crate::estimate::gathers_whole_gradients;
use crate::estimate::time::has_flash;
use crate::project::{
    Attention, BaseFormat, Checkpointing, Field, Framework, Kind, LanguageTask, LossKernel, Method, Objective, Offload,
    Optimizer, OptimizerImpl, Precision, Project, Sharding, fields,
};

/// Levels of pain.
pub(super) const LEVELS: usize = 5;

/// Below this many samples batch norm's statistics get noisy (Wu and He, Group Normalization, 2018).
const BATCH_NORM_LEAST: u64 = 16;

/// Settings of one kind that exclude each other, the least painful first.
pub(super) struct Knob {
    pub(super) level: usize,
    pub(super) settings: Vec<FixKind>,
    /// How the need goes along them.
    pub(super) course: Course,
}

/// How the need of a run goes along a knob's settings, all else as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// Every setting needs no more than the one before it, the first no more than none.
    Falls,
    /// The first may need more than none; from there on it falls.
    FallsOnceSet,
    /// Any setting may need more than another, or than none.
    Any,
}

impl Knob {
    /// How the need of this project goes along settings of this kind: `tests` hold it over whole tables of estimates.
    pub(super) fn new(level: usize, settings: Vec<FixKind>, project: &Project, subject: Subject) -> Self {
        use FixKind as F;
        let course = match settings.first() {
            Some(
                F::FusedOptimizer
                | F::CacheLatents
                | F::BlockSwap { .. }
                | F::Optimizer8bit
                | F::ShorterSequence { .. }
                | F::SmallerImage { .. }
                | F::FewerFrames { .. }
                | F::ShorterAudio { .. }
                | F::LoraRank { .. },
            ) => Course::Falls,
            Some(F::SmallerMicroBatch { .. }) if project.accumulation > 1 => Course::Falls,
            // With a first accumulation gradients stay during forward; a frozen part is estimated in another way.
            Some(F::SmallerMicroBatch { .. } | F::Freeze { .. }) => Course::FallsOnceSet,
            // Of a trained head a fused loss keeps the whole gradient from the forward on.
            Some(F::FusedLoss) if project.method.is_adapter() => Course::Falls,
            // The same 16-bit weights and gradients without their fp32 masters.
            Some(F::PureBf16) if project.precision == Precision::MasterBf16 => Course::Falls,
            // What waits in main memory is brought through buffers, which a small model has no use for.
            Some(F::Offload) if !subject.half_engine => Course::Falls,
            // Autocast and k-bit preparation keep copies, and recomputing brings whole blocks back.
            _ => Course::Any,
        };
        Self { level, settings, course }
    }

    /// The settings of which one needs least, counted from 1 (0 is none), the most promising first.
    pub(super) fn least(&self) -> Vec<usize> {
        let strongest = self.settings.len();
        match self.course {
            Course::Falls => vec![strongest],
            Course::FallsOnceSet => vec![strongest, 0],
            Course::Any => (0..=strongest).rev().collect(),
        }
    }
}

/// Every knob that this project has. A knob may turn out not to help: that is for the estimate to say.
pub(super) fn knobs(project: &Project, subject: Subject, gpu: &Gpu) -> Vec<Knob> {
    let Subject { domain, swaps_blocks, made_for, .. } = subject;
    let several = |level: usize, settings: Vec<FixKind>| Knob::new(level, settings, project, subject);
    let one = |level: usize, kind: FixKind| several(level, vec![kind]);
    let mut knobs = Vec::new();
    let language = matches!(domain, Domain::Language | Domain::VisionLanguage);
    let full = matches!(project.method, Method::Full | Method::Scratch | Method::Freeze);
    // A checkpoint that is published in 4 bit is refused by bitsandbytes; Unsloth has copies of its own.
    let in_unsloth = runs_unsloth(project, domain, gpu);
    let four_bit = quantizes(gpu) && (!subject.in_four_bit || project.framework == Framework::Unsloth || in_unsloth);
    let bitsandbytes = quantizes(gpu);
    let units = gpu.rates.bf16.is_some() || gpu.rates.fp16.is_some();

    if matches!(project.attention, Attention::Eager | Attention::Math) {
        knobs.push(one(0, FixKind::FlashAttention));
    }
    if language && !matches!(project.loss, LossKernel::Fused) && runs_triton(gpu) {
        knobs.push(one(0, FixKind::FusedLoss));
    }
    if full && project.optimizer == Optimizer::AdamW && project.optimizer_impl != OptimizerImpl::Fused {
        knobs.push(one(0, FixKind::FusedOptimizer));
    }
    if domain == Domain::Diffusion && !project.cached_latents {
        knobs.push(one(0, FixKind::CacheLatents));
    }
    // A notebook's card draws its screen or not by itself.
    if project.hardware.desktop && gpu.family != GpuFamily::Laptop {
        knobs.push(one(0, FixKind::FreeDisplay));
    }
    if project.precision == Precision::Fp32 && units {
        knobs.push(one(0, FixKind::MixedPrecision));
    }
    if project.hardware.count > 1
        && divides(project)
        && (project.hardware.sharding == Sharding::Ddp
            || (project.hardware.sharding == Sharding::Zero1 && project.framework != Framework::Megatron))
    {
        knobs.push(one(0, FixKind::Sharding));
    }

    // No more than the field takes.
    let most = match fields::kind(Field::Accumulation) {
        Kind::Number(range) => range.max as u64,
        _ => u64::MAX,
    };
    let divisors = divisors_below(project.micro_batch);
    if !divisors.is_empty() {
        let settings = divisors
            .into_iter()
            .map(|micro_batch| FixKind::SmallerMicroBatch {
                micro_batch,
                accumulation: project.accumulation.saturating_mul(project.micro_batch / micro_batch),
            })
            .filter(|kind| matches!(kind, FixKind::SmallerMicroBatch { accumulation, .. } if *accumulation <= most))
            .collect::<Vec<_>>();
        if !settings.is_empty() {
            knobs.push(several(1, settings));
        }
    }
    // After the micro-batch, whose change asks for more accumulation.
    if gathers_whole_gradients(project) {
        knobs.push(one(1, FixKind::LessAccumulation { accumulation: 1 }));
    }
    if matches!(project.checkpointing, Checkpointing::Off | Checkpointing::Selective) && project.method != Method::Head
    {
        knobs.push(one(1, FixKind::Checkpointing));
    }

    if swaps_blocks && project.block_swap < 0.7 {
        let settings = [0.25, 0.5, 0.75].into_iter().filter(|s| *s > project.block_swap);
        knobs.push(several(1, settings.map(|share| FixKind::BlockSwap { share }).collect()));
    }

    // Adapters of a language model have next to no states; those of a denoiser may be wide.
    let states = full || (domain == Domain::Diffusion && project.method == Method::Lora);
    if states && bitsandbytes && matches!(project.optimizer, Optimizer::AdamW | Optimizer::PagedAdamW) {
        knobs.push(several(2, vec![FixKind::Optimizer8bit, FixKind::PagedOptimizer]));
    }
    if project.method == Method::Lora && language && four_bit && !is_quantized(project.base) {
        knobs.push(one(2, FixKind::QLora));
    }
    if domain == Domain::Diffusion && project.method == Method::Lora {
        let four_bit = swaps_blocks && bitsandbytes && project.framework.has_4bit_bases() && !is_4bit(project.base);
        let settings = [(!is_quantized(project.base), FixKind::QuantizedBase), (four_bit, FixKind::Base4bit)];
        let settings: Vec<FixKind> = settings.into_iter().filter(|(has, _)| *has).map(|(_, kind)| kind).collect();
        if !settings.is_empty() {
            knobs.push(several(2, settings));
        }
    }
    if project.method.is_adapter() && project.framework != Framework::Unsloth && in_unsloth {
        knobs.push(one(2, FixKind::Library { framework: Framework::Unsloth }));
    }
    if subject.tunes && runs_in_backward(project, gpu) {
        knobs.push(one(2, FixKind::Library { framework: Framework::Torchtune }));
    }
    let denoiser_or_language = language || domain == Domain::Diffusion;
    if full
        && denoiser_or_language
        && gpu.rates.bf16.is_some()
        && project.method != Method::Scratch
        && project.precision != Precision::PureBf16
    {
        knobs.push(one(2, FixKind::PureBf16));
    }

    if full && project.offload == Offload::None && denoiser_or_language {
        knobs.push(one(3, FixKind::Offload));
    }
    // Adapters have no states worth moving: the weights themselves wait in main memory, divided over the cards.
    if project.method.is_adapter() && language && shares_main_memory(project) {
        knobs.push(one(3, FixKind::Way { sharding: Sharding::Zero3Offload }));
    }

    let takes_adapters = denoiser_or_language || domain == Domain::Audio;
    if matches!(project.method, Method::Full | Method::Freeze) && takes_adapters {
        let mut settings = vec![FixKind::Lora];
        if language && four_bit {
            settings.push(FixKind::QLora);
        }
        knobs.push(several(4, settings));
    }
    if project.method == Method::Full && domain == Domain::Vision {
        knobs.push(several(4, vec![FixKind::Freeze { share: 0.5 }, FixKind::Freeze { share: 0.8 }]));
    }
    if domain == Domain::Diffusion && project.method == Method::Lora {
        // Below this an adapter hardly learns a style; a judgement.
        const LEAST_RANK: u64 = 8;
        let ranks = [project.lora.rank / 2, project.lora.rank / 4].into_iter().filter(|rank| *rank >= LEAST_RANK);
        let settings: Vec<FixKind> = ranks.map(|rank| FixKind::LoraRank { rank }).collect();
        if !settings.is_empty() {
            knobs.push(several(4, settings));
        }
    }
    knobs.extend(smaller::samples(project, domain, made_for).map(|settings| several(4, settings)));
    knobs.extend(smaller::clips(project, domain, made_for).map(|settings| several(4, settings)));
    knobs
}

/// The project with one setting changed.
pub(super) fn apply(kind: FixKind, project: &mut Project, gpu: &Gpu) {
    match kind {
        // Pure bf16 goes further already.
        FixKind::MixedPrecision if project.precision == Precision::PureBf16 => {}
        FixKind::MixedPrecision => {
            project.precision = if gpu.rates.bf16.is_some() { Precision::AmpBf16 } else { Precision::AmpFp16 };
        }
        FixKind::Fp16 => project.precision = Precision::AmpFp16,
        FixKind::PureBf16 => project.precision = Precision::PureBf16,
        FixKind::Checkpointing => project.checkpointing = Checkpointing::PerBlock,
        FixKind::FlashAttention => {
            project.attention = if has_flash(gpu) { Attention::Flash } else { Attention::Efficient };
        }
        FixKind::FusedLoss => project.loss = LossKernel::Fused,
        // An update inside backward has no temporaries left.
        FixKind::FusedOptimizer if project.optimizer_impl == OptimizerImpl::InBackward => {}
        FixKind::FusedOptimizer => project.optimizer_impl = OptimizerImpl::Fused,
        FixKind::SmallerMicroBatch { micro_batch, accumulation }
        | FixKind::LargerMicroBatch { micro_batch, accumulation } => {
            project.micro_batch = micro_batch;
            // An update inside backward leaves no gradients to add to.
            let gathers = project.optimizer_impl != OptimizerImpl::InBackward;
            project.accumulation = if gathers { accumulation } else { 1 };
        }
        FixKind::Optimizer8bit => project.optimizer = Optimizer::AdamW8bit,
        FixKind::PagedOptimizer => project.optimizer = Optimizer::PagedAdamW8bit,
        FixKind::Freeze { share } => {
            project.method = Method::Freeze;
            project.frozen_share = share;
        }
        FixKind::Lora | FixKind::QLora => {
            project.method = if kind == FixKind::Lora { Method::Lora } else { Method::QLora };
            project.base = BaseFormat::AsPrecision;
            // Adapters need no master copy of the weights beside them.
            if project.precision == Precision::MasterBf16 {
                project.precision = Precision::AmpBf16;
            }
        }
        FixKind::QuantizedBase => project.base = BaseFormat::Fp8,
        FixKind::Library { framework: Framework::Torchtune } => {
            if matches!(project.method, Method::Full) && project.offload == Offload::None {
                project.framework = Framework::Torchtune;
                project.precision = Precision::PureBf16;
                project.optimizer_impl = OptimizerImpl::InBackward;
                project.accumulation = 1;
            }
        }
        FixKind::Base4bit => project.base = BaseFormat::Nf4,
        FixKind::LoraRank { rank } => project.lora.rank = rank,
        FixKind::Unquantized => {
            if project.method == Method::QLora {
                project.method = Method::Lora;
            }
            if matches!(project.base, BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int8) {
                project.base = BaseFormat::AsPrecision;
            }
            if matches!(project.optimizer, Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit) {
                project.optimizer = Optimizer::AdamW;
            }
        }
        FixKind::Library { framework } => project.framework = framework,
        FixKind::ShorterSequence { sequence } => project.sequence = sequence,
        FixKind::SmallerImage { side } => project.image_side = side,
        FixKind::FewerFrames { frames } => project.frames = frames,
        FixKind::ShorterAudio { seconds } => project.audio_seconds = seconds,
        FixKind::CacheLatents => project.cached_latents = true,
        FixKind::FreeDisplay => project.hardware.desktop = false,
        FixKind::MoreCards { count } => {
            project.accumulation = accumulation(project, count);
            if project.hardware.count <= 1 {
                project.hardware.sharding = Sharding::Auto;
            }
            project.hardware.count = count;
            project.hardware.parallel = project.hardware.parallel.on(count);
        }
        FixKind::LessAccumulation { accumulation } => project.accumulation = accumulation,
        FixKind::Way { sharding } => project.hardware.sharding = sharding,
        FixKind::SmallerModel { model, .. } => project.model = model.to_string(),
        // Megatron's distributed optimizer divides states alone.
        FixKind::Sharding if project.framework == Framework::Megatron => project.hardware.sharding = Sharding::Zero1,
        FixKind::Sharding => project.hardware.sharding = Sharding::Zero3,
        FixKind::Offload => project.offload = Offload::Optimizer,
        FixKind::BlockSwap { share } => project.block_swap = share,
    }
}

/// What a change may do to the result.
pub(super) fn risk(kind: FixKind, project: &Project, domain: Domain) -> QualityRisk {
    match kind {
        // Batch norm sees the micro-batch, not the effective batch.
        FixKind::SmallerMicroBatch { micro_batch, .. }
            if domain == Domain::Vision && micro_batch < BATCH_NORM_LEAST =>
        {
            QualityRisk::Slight
        }
        FixKind::MixedPrecision
        | FixKind::Fp16
        | FixKind::SmallerMicroBatch { .. }
        | FixKind::LargerMicroBatch { .. }
        | FixKind::Checkpointing
        | FixKind::FlashAttention
        | FixKind::FusedLoss
        | FixKind::FusedOptimizer
        | FixKind::CacheLatents
        | FixKind::FreeDisplay
        | FixKind::Unquantized
        | FixKind::MoreCards { .. }
        | FixKind::Sharding
        | FixKind::Way { .. }
        | FixKind::Offload
        | FixKind::BlockSwap { .. } => QualityRisk::None,
        FixKind::Library { framework } if framework != Framework::Torchtune => QualityRisk::None,
        // torchtune's way is pure bf16, and nothing accumulates.
        FixKind::Library { .. }
        | FixKind::LessAccumulation { .. }
        | FixKind::PureBf16
        | FixKind::Optimizer8bit
        | FixKind::PagedOptimizer
        | FixKind::QuantizedBase
        | FixKind::Base4bit
        | FixKind::LoraRank { .. } => QualityRisk::Slight,
        FixKind::QLora if project.method == Method::Lora => QualityRisk::Slight,
        FixKind::QLora
        | FixKind::Lora
        | FixKind::SmallerModel { .. }
        | FixKind::Freeze { .. }
        | FixKind::ShorterSequence { .. }
        | FixKind::SmallerImage { .. }
        | FixKind::FewerFrames { .. }
        | FixKind::ShorterAudio { .. } => QualityRisk::Real,
    }
}

/// Whether Unsloth trains this on this card: language models, on one card of `NVIDIA`'s from Volta on (unsloth.ai,
/// "Unsloth Requirements": CUDA capability 7.0 at the least).
fn runs_unsloth(project: &Project, domain: Domain, gpu: &Gpu) -> bool {
    const LEAST_CAPABILITY: f64 = 7.0;
    domain == Domain::Language
        && project.hardware.count <= 1
        && project.offload == Offload::None
        && gpu.compute_capability.is_some_and(|capability| capability >= LEAST_CAPABILITY)
}

/// Whether the cards can divide everything and leave it in the main memory of one machine.
fn shares_main_memory(project: &Project) -> bool {
    let hardware = &project.hardware;
    (2..=hardware.per_machine()).contains(&hardware.count)
        && divides(project)
        && hardware.sharding != Sharding::Zero3Offload
        && !hardware.parallel.cuts()
}

/// Whether the optimizer's step can be part of backward here: one card with bf16, all weights trained.
fn runs_in_backward(project: &Project, gpu: &Gpu) -> bool {
    project.method == Method::Full
        && matches!(project.task, LanguageTask::Auto | LanguageTask::NextToken)
        && project.objective == Objective::Likelihood
        && project.hardware.count <= 1
        && project.offload == Offload::None
        && project.optimizer_impl != OptimizerImpl::InBackward
        && gpu.vendor == Vendor::Nvidia
        && gpu.rates.bf16.is_some()
}

fn is_4bit(base: BaseFormat) -> bool {
    matches!(base, BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int4)
}

fn is_quantized(base: BaseFormat) -> bool {
    !matches!(base, BaseFormat::AsPrecision | BaseFormat::Fp32 | BaseFormat::Bf16)
}

/// Divisors of `n` below it, the largest first: micro-batches that keep the effective batch.
fn divisors_below(n: u64) -> Vec<u64> {
    /// More steps than this make no better choice.
    const MOST: usize = 12;
    let mut found = Vec::new();
    let mut parts = 2;
    while parts <= n && found.len() < MOST {
        if n.is_multiple_of(parts) {
            found.push(n / parts);
        }
        // Halves and thirds of large numbers; every divisor of small ones.
        parts = if n > 256 && parts >= 4 { parts.saturating_mul(2) } else { parts + 1 };
    }
    if n > 1 && found.last() != Some(&1) {
        found.push(1);
    }
    found
}

#[cfg(test)]
#[path = "tests/in_knobs.rs"]
mod tests;
