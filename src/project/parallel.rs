//! How a large model is cut over cards, beside the data, and what joins the cards.

use super::settings::{Framework, Interconnect, Network};
use serde::{Deserialize, Serialize};

/// Cards of one machine: the most that stand on one board, share its main memory and its fast links.
pub const CARDS_PER_MACHINE: u32 = 8;

/// Cards along each way of cutting a step; what is left of the count repeats the model on other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parallel {
    /// Tensor parallelism: cards that each matrix is divided over.
    pub tensor: u32,
    /// Pipeline parallelism: cards that the layers are divided over.
    pub pipeline: u32,
    /// Pieces of the layers on each card of an interleaved pipeline.
    pub chunks: u32,
    /// Context parallelism: cards that the tokens of a sample are divided over.
    pub context: u32,
    /// Expert parallelism: cards that the experts of a layer are divided over, taken out of the data-parallel ones.
    pub expert: u32,
    /// Cards that share one copy of divided weights where it is not all of them (hybrid sharding); 0 = all.
    pub group: u32,
}

impl Default for Parallel {
    fn default() -> Self {
        Self { tensor: 1, pipeline: 1, chunks: 1, context: 1, expert: 1, group: 0 }
    }
}

impl Parallel {
    /// Cards that one copy of the model is cut over.
    pub fn model(&self) -> u64 {
        u64::from(self.tensor.max(1)) * u64::from(self.pipeline.max(1)) * u64::from(self.context.max(1))
    }

    /// Cards of `count` that see other data: the data-parallel degree.
    pub fn data(&self, count: u32) -> u32 {
        u32::try_from(u64::from(count.max(1)) / self.model()).unwrap_or(1).max(1)
    }

    /// The same cut on another number of cards; none where it does not come out even there.
    #[must_use]
    pub fn on(self, count: u32) -> Self {
        if u64::from(count.max(1)).is_multiple_of(self.model()) { self } else { Self::default() }
    }

    /// True where the model itself is cut.
    pub const fn cuts(&self) -> bool {
        self.tensor > 1 || self.pipeline > 1 || self.context > 1 || self.expert > 1
    }
}

/// What joins the person's cards, where they know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wires {
    /// Between the cards of a machine.
    pub link: Interconnect,
    /// Between machines.
    pub network: Network,
    /// Machines that the cards stand in; 0 = as few as hold them.
    pub machines: u32,
}

impl Wires {
    /// Cards in each machine where there are `count` in all.
    pub fn per_machine(&self, count: u32) -> u32 {
        if self.machines == 0 { CARDS_PER_MACHINE } else { count.max(1).div_ceil(self.machines).min(CARDS_PER_MACHINE) }
    }
}

impl Framework {
    /// Libraries that put a full copy of everything on every card and know no other way: kohya's scripts divide nothing
    /// of a frozen base, Unsloth, Ultralytics, OneTrainer and ai-toolkit start plain data parallel or one process.
    pub const fn only_copies(self) -> bool {
        matches!(self, Self::Kohya | Self::Unsloth | Self::Ultralytics | Self::OneTrainer | Self::AiToolkit)
    }

    /// Trainers of diffusion models that hold a frozen base in 4 bit: diffusers ("Quantization", bitsandbytes), SimpleTuner
    /// (OPTIONS.md, `nf4-bnb`), OneTrainer (NF4 as weight data type). sd-scripts knows fp8 alone (`--fp8_base`).
    pub const fn has_4bit_bases(self) -> bool {
        matches!(self, Self::Diffusers | Self::SimpleTuner | Self::OneTrainer)
    }

    /// Libraries for language models that hand what waits in main memory to `DeepSpeed`: they take its configuration file.
    pub const fn takes_deepspeed(self) -> bool {
        matches!(self, Self::Transformers | Self::LlamaFactory | Self::Axolotl | Self::MsSwift)
    }
}
