//! A model as one card of several holds it: tensor, pipeline, expert and context parallelism.

use super::builder::Tensor;
use super::layers::Layers;
use super::{Shards, StepConfig};
use crate::catalog::LanguageModel;

/// Rounded up; a part is never empty.
fn part(whole: u32, cards: u64) -> u32 {
    if whole == 0 {
        return 0;
    }
    let cards = u32::try_from(cards.max(1)).unwrap_or(u32::MAX);
    whole.div_ceil(cards).max(1)
}

/// The model with the heads, columns, vocabulary, experts and layers of one card. Keys and values are copied where there
/// are fewer of their heads than cards.
pub(crate) fn model_on_card(model: &LanguageModel, shards: &Shards) -> LanguageModel {
    let t = shards.tensor;
    LanguageModel {
        heads: part(model.heads, t),
        kv_heads: part(model.kv_heads, t),
        intermediate: part(model.intermediate, t),
        vocab: part(model.vocab, t),
        layers: part(model.layers, shards.pipeline),
        moe_experts: part(model.moe_experts, shards.expert).max(if model.moe_experts > 0 { 2 } else { 0 }),
        moe_intermediate: part(model.moe_intermediate, if shards.expert > 1 { 1 } else { t }),
        ..model.clone()
    }
}

/// The step with the tokens of one card.
pub(crate) fn step_on_card(config: &StepConfig) -> StepConfig {
    let cards = config.shards.context.max(1);
    StepConfig { sequence: config.sequence.div_ceil(cards).max(1), ..*config }
}

impl Layers<'_> {
    /// Cards that the tokens between matrices are divided over.
    pub(crate) fn token_cards(&self) -> u64 {
        let shards = &self.config.shards;
        if shards.sequence_parallel { shards.tensor.max(1) } else { 1 }
    }

    /// All tokens before a divided matrix: an all-gather, whose backward is a reduce-scatter.
    pub(crate) fn all_tokens(&mut self, x: Tensor) -> Tensor {
        match self.token_cards() {
            1 => x,
            cards => self.b.copy(x, x.rows.saturating_mul(cards), x.cols),
        }
    }

    /// The same before a plain matrix. Megatron's linear layers gather by themselves, keep the part alone and gather again
    /// in backward (`LinearWithGradAccumulationAndAsyncCommunication` of `tensor_parallel/layers.py`).
    pub(crate) fn tokens_for_matrix(&mut self, x: Tensor) -> Tensor {
        if self.config.code.fused_layers { x } else { self.all_tokens(x) }
    }

    /// Cards whose tokens a linear layer gathers by itself.
    pub(crate) fn gathers(&self, x: Tensor) -> u64 {
        let cards = self.token_cards();
        if self.config.code.fused_layers && x.rows.saturating_mul(cards) <= self.tokens() { cards } else { 1 }
    }

    /// This card's tokens after a divided matrix: a reduce-scatter, whose backward is an all-gather.
    pub(crate) fn own_tokens(&mut self, x: Tensor) -> Tensor {
        match self.token_cards() {
            1 => x,
            cards => self.b.copy(x, x.rows.div_ceil(cards), x.cols),
        }
    }
}
