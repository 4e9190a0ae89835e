//! Changes that help, with their effect: facts that the page puts into words.

use crate::project::{Framework, Project, Sharding};
use crate::units::Bytes;

/// A change that helps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FixKind {
    /// 16-bit arithmetic where it is safe.
    MixedPrecision,
    /// Mixed precision in fp16, where a card has no bf16.
    Fp16,
    /// Weights, gradients and optimizer state in bf16.
    PureBf16,
    /// Gradient checkpointing on.
    Checkpointing,
    /// A kernel that never writes the scores out.
    FlashAttention,
    /// Linear and loss fused: no full logits.
    FusedLoss,
    /// Optimizer step in one kernel, without temporaries.
    FusedOptimizer,
    /// Fewer samples at a time, more accumulation, same effective batch.
    SmallerMicroBatch {
        /// Samples per card and forward pass.
        micro_batch: u64,
        /// Micro-batches per optimizer step.
        accumulation: u64,
    },
    /// Fewer micro-batches in a step, and so a smaller effective batch.
    LessAccumulation {
        /// Micro-batches per optimizer step.
        accumulation: u64,
    },
    /// Optimizer moments in 8 bit.
    Optimizer8bit,
    /// Optimizer moments in 8 bit that may move to main memory.
    PagedOptimizer,
    /// Lower layers frozen.
    Freeze {
        /// Share of the layers that stay fixed.
        share: f64,
    },
    /// Adapters beside frozen weights.
    Lora,
    /// Adapters beside a 4-bit base.
    QLora,
    /// 16-bit weights and 32-bit optimizer states, where a card has no kernels for fewer bits.
    Unquantized,
    /// Another training library, whose kernels need less for the same training.
    Library {
        /// Which.
        framework: Framework,
    },
    /// Frozen base of a diffusion model in 8 bit.
    QuantizedBase,
    /// Frozen base of a diffusion model in 4 bit.
    Base4bit,
    /// Thinner adapters.
    LoraRank {
        /// Their rank.
        rank: u64,
    },
    /// Shorter samples.
    ShorterSequence {
        /// Tokens per sample.
        sequence: u64,
    },
    /// Smaller images.
    SmallerImage {
        /// Side in pixels.
        side: u64,
    },
    /// Shorter clips.
    FewerFrames {
        /// Frames per clip.
        frames: u64,
    },
    /// Shorter sound clips.
    ShorterAudio {
        /// Seconds per sample.
        seconds: f64,
    },
    /// Latents and text embeddings computed beforehand.
    CacheLatents,
    /// The screen hangs on the processor's graphics, and the card is free of the desktop.
    FreeDisplay,
    /// As many samples at a time as fit, with as much less accumulation.
    LargerMicroBatch {
        /// Samples per card and forward pass.
        micro_batch: u64,
        /// Micro-batches per optimizer step.
        accumulation: u64,
    },
    /// A smaller model of the same family.
    SmallerModel {
        /// Its id.
        model: &'static str,
        /// Its name.
        name: &'static str,
        /// Its parameters.
        params: u64,
    },
    /// More of the same cards: to be rented or bought.
    MoreCards {
        /// How many in all.
        count: u32,
    },
    /// Weights, gradients and state divided over the cards that are there.
    Sharding,
    /// The cards share the work in another way.
    Way {
        /// Which.
        sharding: Sharding,
    },
    /// Optimizer state and its step in main memory.
    Offload,
    /// Blocks of a denoiser wait in main memory.
    BlockSwap {
        /// Share of the blocks.
        share: f64,
    },
}

/// What a fix may do to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QualityRisk {
    /// The same numbers, up to rounding.
    None,
    /// Hardly measurable.
    Slight,
    /// Trains something else or less.
    Real,
}

/// A fix with its effect, computed by running the estimate again.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// Which.
    pub kind: FixKind,
    /// The project with the fix applied.
    pub project: Project,
    /// What the card then needs.
    pub card: Bytes,
    /// Memory saved on the card.
    pub saves: Bytes,
    /// Whether it then fits, also at the upper end of the band.
    pub fits: bool,
    /// Whether it then may fit: inside the band.
    pub tight: bool,
    /// Run time with it over run time without (1.25 = 25 % slower), where a time can be given.
    pub slower: Option<f64>,
    /// What it may do to the result.
    pub risk: QualityRisk,
}

/// The least painful set of fixes that makes a project fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FitPlan {
    /// What is changed, the least painful first.
    pub fixes: Vec<FixKind>,
    /// The project with all of them applied.
    pub project: Project,
    /// What the card then needs.
    pub card: Bytes,
    /// Free memory beside the peak.
    pub spare: Bytes,
    /// Run time with them over run time without, where a time can be given.
    pub slower: Option<f64>,
    /// The greatest risk among them.
    pub risk: QualityRisk,
}
