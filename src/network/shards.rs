//! How a step is laid out over several cards.

use super::{Dtype, Weight, round};
use crate::project::Offload;

/// The way in which a library brings divided memory together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Way {
    /// Nothing is brought together: one card, DDP, stages of a pipeline.
    #[default]
    Whole,
    /// PyTorch's `FullyShardedDataParallel`: one flat weight a block, and one flat gradient.
    Flat,
    /// PyTorch's `fully_shard`: each weight divided by its rows.
    PerParameter,
    /// DeepSpeed's `ZeRO`.
    Zero,
    /// Megatron's distributed optimizer: whole weights and whole fp32 gradients in one buffer, divided states.
    Megatron,
}

/// Which part of a pipeline a card holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The whole model.
    #[default]
    Only,
    /// Embedding and the first layers.
    First,
    /// The first layers above those without experts.
    Inner,
    /// The last layers, head and loss.
    Last,
}

/// Division of a step over cards; 1 = not divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shards {
    /// Weights: gathered layer by layer, the next one while this one works.
    pub weights: u64,
    /// Gradients: reduced and scattered as each layer's come.
    pub gradients: u64,
    /// Optimizer state and master weights.
    pub optimizer: u64,
    /// How whole weights and gradients come and go.
    pub way: Way,
    /// Format of the divided weights between steps, with their gradients and states, where it is not the one that they
    /// work in (`MixedPrecision` of FSDP: fp32 shards, 16-bit whole weights).
    pub stored: Option<Dtype>,
    /// Format in which gradients are summed over the cards, where it is not their own.
    pub reduced: Option<Dtype>,
    /// Whole weights stay from the first forward to the last backward.
    pub keeps_whole: bool,
    /// Only the last micro-batch's gradients are summed over the cards (`no_sync`): the others leave whole ones.
    pub unsynced: bool,
    /// Frozen weights share a flat weight with trained ones and so have gradients, of zeros.
    pub frozen_gradients: bool,
    /// Communication buffers that stay, bytes.
    pub buffers: u64,
    /// Whole weights that `DeepSpeed` keeps around the turn from forward to backward, bytes.
    pub live: u64,
    /// What waits in main memory.
    pub away: Offload,
    /// Cards that a layer's matrices are divided over.
    pub tensor: u64,
    /// Between the matrices the tokens are divided over the same cards.
    pub sequence_parallel: bool,
    /// Cards that the experts of a layer are divided over.
    pub expert: u64,
    /// Cards that the tokens of a sample are divided over (ring attention, Ulysses).
    pub context: u64,
    /// Cards that the layers are divided over.
    pub pipeline: u64,
    /// The part of the pipeline that is looked at.
    pub stage: Stage,
    /// Micro-batches whose activations wait for their backward, in parts of a stage's layers: counter and denominator.
    pub in_flight: (u64, u64),
}

impl Default for Shards {
    fn default() -> Self {
        Self {
            weights: 1,
            gradients: 1,
            optimizer: 1,
            way: Way::Whole,
            stored: None,
            reduced: None,
            keeps_whole: false,
            unsynced: false,
            frozen_gradients: false,
            buffers: 0,
            live: 0,
            away: Offload::None,
            tensor: 1,
            sequence_parallel: false,
            expert: 1,
            context: 1,
            pipeline: 1,
            stage: Stage::Only,
            in_flight: (1, 1),
        }
    }
}

impl Shards {
    /// Layers of a model of so many that lie on the stages before this card's, and the number of such stages. `dense` of
    /// the model's first layers have no experts.
    pub(crate) fn before(&self, layers: u64, dense: u64) -> (u64, u64) {
        let stages = self.pipeline.max(1);
        let each = layers.div_ceil(stages).max(1);
        let stage = match self.stage {
            Stage::Only | Stage::First => return (0, 0),
            Stage::Inner => dense.div_ceil(each).min(stages - 1),
            // Where the layers do not divide evenly the last stage has fewer; it is looked at with as many as any.
            Stage::Last => return (layers.saturating_sub(each), stages - 1),
        };
        ((each * stage).min(layers.saturating_sub(each)), stage)
    }

    /// Whether a weight is kept in another format between steps: those in few bits are not.
    fn widens(&self, w: &Weight) -> Option<Dtype> {
        let plain = || w.stored == round(w.numel.saturating_mul(w.dtype.bytes()));
        self.stored.filter(|_| w.dtype != Dtype::U8 && plain())
    }

    /// Format of a weight between steps.
    pub fn kept(&self, w: &Weight) -> Dtype {
        self.widens(w).unwrap_or(w.dtype)
    }

    /// Bytes of all weights like this one between steps, on all cards together.
    pub fn stored_bytes(&self, w: &Weight) -> u64 {
        match self.widens(w) {
            Some(dtype) => round(w.numel.saturating_mul(dtype.bytes())).saturating_mul(w.times),
            None => w.bytes(),
        }
    }
}
