//! How a large model is cut over cards, beside the data.

use serde::{Deserialize, Serialize};

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
    /// Cards of `count` that see other data: the data-parallel degree.
    pub fn data(&self, count: u32) -> u32 {
        let model = u64::from(self.tensor.max(1)) * u64::from(self.pipeline.max(1)) * u64::from(self.context.max(1));
        u32::try_from(u64::from(count.max(1)) / model.max(1)).unwrap_or(1).max(1)
    }

    /// True where the model itself is cut.
    pub const fn cuts(&self) -> bool {
        self.tensor > 1 || self.pipeline > 1 || self.context > 1 || self.expert > 1
    }
}
