//! A vision tower that is trained before a language model: patches, blocks of an encoder, a projection into tokens.

use super::block::block;
use super::embed::rotary_tables;
use super::{HIDDEN, VISION};
use crate::catalog::LanguageModel;
use crate::network::builder::{Keep, bytes};
use crate::network::layers::{Layers, Role};
use crate::network::style::{Activation, Style};
use crate::network::{Dtype, Trained};

/// A tower and what one sample gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tower {
    /// Blocks.
    pub layers: u32,
    /// Columns.
    pub width: u32,
    /// Columns inside the MLP.
    pub intermediate: u32,
    /// Columns of a head.
    pub head: u32,
    /// Of the kind of language models (Qwen2.5-VL): gated MLP, `RMSNorm`, turned queries and keys.
    pub modern: bool,
    /// Patches of one sample.
    pub patches: u64,
    /// Patches that become one token.
    pub merged: u64,
    /// Its blocks are computed again in backward.
    pub recomputed: bool,
}

impl Tower {
    fn blocks(&self) -> LanguageModel {
        let heads = self.width / self.head.max(1);
        LanguageModel {
            family: "",
            layers: self.layers,
            hidden: self.width,
            intermediate: self.intermediate,
            heads,
            kv_heads: heads,
            head_dim: self.head,
            gated: self.modern,
            norm: if self.modern { "rmsnorm" } else { "layernorm" },
            bias: "all",
            positional: if self.modern { "rope" } else { "" },
            ..LanguageModel::BLANK
        }
    }

    /// Tokens of one sample.
    pub(super) const fn tokens(&self) -> u64 {
        let merged = if self.merged == 0 { 1 } else { self.merged };
        self.patches.div_ceil(merged)
    }
}

/// Writes the tower and leaves its tokens, as wide as the language model.
pub(super) fn write(n: &mut Layers, tower: &Tower, hidden: u64) {
    /// Two frames of three colours and 14 x 14 pixels.
    const PATCH: u64 = 2 * 3 * 14 * 14;
    let model = tower.blocks();
    let style = Style { fused_qkv: tower.modern, activation: Activation::Gelu, ..Style::of(&model) };
    let style = if tower.modern { Style { activation: Activation::Silu, ..style } } else { style };
    let text = n.sequence;
    n.sequence = tower.patches;
    n.trained = matches!(n.config.trained, Trained::All);
    let width = u64::from(tower.width);
    let rows = n.batch.saturating_mul(tower.patches);
    let seen = n.b.zeros(rows, if tower.modern { PATCH } else { PATCH / 2 }, n.config.autocast.unwrap_or(n.plain()));
    n.b.program.batch_bytes += bytes(seen.numel(), Dtype::F32);
    let mut x = n.linear(seen, width, false, Role::Outside);
    if tower.recomputed && !n.trained {
        x = n.b.require_grad(x);
    }
    rotary_tables(n, &model, &style, Dtype::F32);
    n.b.put(HIDDEN, x);
    n.b.end_segment(false, false);
    n.b.end_group();
    // The first block starts the flow of gradients where adapters are all that is trained.
    let layers = u64::from(tower.layers);
    let first = u64::from(!n.trained).min(layers);
    for times in [first, layers - first] {
        n.b.repeat(times);
        block(n, &model, &style, false, false);
        n.b.end_segment(tower.recomputed, false);
        n.b.end_group();
    }
    let x = n.b.take(HIDDEN);
    let tokens = n.batch.saturating_mul(tower.tokens());
    let merged = tower.merged.max(1);
    let x = n.layer_norm(x, true, true);
    let wide = n.b.view(x, tokens, width.saturating_mul(merged));
    let inner = n.linear(wide, if merged > 1 { wide.cols.min(4 * width) } else { hidden }, true, Role::Outside);
    let active = n.b.unary(inner, Keep::Input, 0);
    let out = n.linear(active, hidden, true, Role::Outside);
    n.b.put(VISION, out);
    n.b.end_segment(false, false);
    n.b.end_group();
    n.sequence = text;
}
