//! What comes before the first layer, and the embeddings that layers have of their own.

use super::block::{activate, head_norm, norm};
use super::{COS, HIDDEN, LOCAL_MASK, MASK, PER_LAYER, Pattern, SIN, TABLE, VISION};
use crate::catalog::LanguageModel;
use crate::network::builder::Tensor;
use crate::network::layers::{Layers, Role};
use crate::network::style::Style;
use crate::network::{AttentionKernel, Dtype, Stage, Trained};
use crate::project::Adapter;

/// Columns of the embedding: those of the model, but for OPT-350M's, which has projections in and out.
pub(super) fn embedding_width(model: &LanguageModel) -> u64 {
    match model.extra_parts().map(|parts| parts.embedding_width) {
        Ok(width) if width > 0 => width,
        _ => u64::from(model.hidden),
    }
}

pub(super) fn embed(n: &mut Layers, model: &LanguageModel, style: &Style, frozen: bool) {
    let hidden = u64::from(model.hidden);
    n.trained = matches!(n.config.trained, Trained::All) && !frozen;
    let tokens = n.tokens().div_ceil(n.token_cards());
    let (mut x, table) = if matches!(n.config.shards.stage, Stage::Inner | Stage::Last) {
        // What the stage before sends.
        let dtype = n.config.autocast.unwrap_or(n.plain());
        let x = n.b.zeros(tokens, hidden, dtype);
        (n.b.require_grad(x), None)
    } else {
        let width = embedding_width(model);
        let mut table = n.weight(u64::from(model.vocab), width);
        if n.trains_ends() {
            // `ModulesToSaveWrapper`: the original stays beside the copy that is trained.
            table = n.b.weight(table.rows, width, table.dtype, true);
        }
        let mut x = n.b.embedding(table, tokens);
        if let Some(lora) = n.adapter().filter(|lora| lora.kind == Adapter::Tokens) {
            // `torch.cat((prompts, inputs_embeds), dim=1)`; the program's sequence is with them.
            let prompt = n.b.weight(lora.rank, width, n.config.adapter, true);
            let prompts = n.b.embedding(prompt, lora.rank.saturating_mul(n.batch));
            let prompts = n.b.cast(prompts, x.dtype);
            let rest = n.b.part(x, tokens.saturating_sub(prompts.rows).max(1));
            x = n.b.join(&[prompts, rest]);
        }
        if style.scaled_embedding {
            x = n.b.scale(x);
        }
        if n.b.peek(VISION).is_some() {
            // `inputs_embeds.masked_scatter(...)`.
            let pictures = n.b.take(VISION);
            let pictures = n.b.cast(pictures, x.dtype);
            let rest = n.b.part(x, tokens.saturating_sub(pictures.rows).max(1));
            x = n.b.join(&[pictures, rest]);
            x = Tensor { rows: tokens, ..x };
        }
        if n.config.checkpointing.recomputes() && matches!(n.config.trained, Trained::Adapters(_)) && !x.grad {
            x = n.b.require_grad(x);
        }
        (if width == hidden { x } else { n.linear(x, hidden, false, Role::Outside) }, Some(table))
    };
    if style.learned_positions {
        let positions = n.weight(u64::from(model.max_context.max(1)), hidden);
        let p = n.b.embedding(positions, n.sequence.div_ceil(n.token_cards()));
        x = n.b.add(x, p);
        x = n.b.dropout(x, style.dropout);
    }
    rotary_tables(n, model, style, x.dtype);
    per_layer_embeddings(n, model, style, x);
    let rows = n.batch * n.sequence;
    if n.config.attention == AttentionKernel::Eager {
        n.b.global(MASK, rows, n.sequence, x.dtype);
    }
    if Pattern::of(model, n.config).masked {
        let dtype = if n.config.attention == AttentionKernel::Eager { x.dtype } else { Dtype::U8 };
        n.b.global(LOCAL_MASK, rows, n.sequence, dtype);
    }
    n.b.put(HIDDEN, x);
    if let Some(table) = table
        && model.tied_embeddings
        && !n.trains_ends()
    {
        n.b.put(TABLE, table);
    }
    n.b.end_segment(false, false);
    n.b.end_group();
}

/// `project_per_layer_inputs` of Gemma 3n and 4: a second embedding, as wide as all layers' parts together, and a projection
/// of the first.
fn per_layer_embeddings(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor) {
    let (Ok(plan), Ok(extras)) = (model.attention_plan(), model.extra_parts()) else { return };
    let (width, layers) = (plan.per_layer_embedding, u64::from(model.layers));
    if width == 0 {
        return;
    }
    let table = n.weight(extras.per_layer_vocab.max(1), layers * width);
    let own = n.b.embedding(table, x.rows);
    let own = n.b.scale(own);
    let projected = n.linear(x, layers * width, false, Role::Outside);
    let projected = n.b.scale(projected);
    let normed = head_norm(n, style, projected, width);
    let sum = n.b.add(normed, own);
    let sum = n.b.scale(sum);
    n.b.put(PER_LAYER, sum);
}

/// What a layer adds of its own embedding (`per_layer_input_gate` and what follows it in Gemma 3n and 4).
pub(super) fn add_own_embedding(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor) -> Tensor {
    let Some(all) = n.b.peek(PER_LAYER) else { return x };
    let width = all.cols / u64::from(model.layers.max(1));
    let all = n.b.take(PER_LAYER);
    let own = n.b.slice(all, width);
    let gate = n.linear(x, width, false, Role::Mlp);
    let active = activate(n, style, gate);
    let product = n.b.mul(active, own);
    let out = n.linear(product, x.cols, false, Role::Mlp);
    let out = norm(n, style, out);
    n.b.add(x, out)
}

/// Cosines and sines of the positions, for all layers.
pub(crate) fn rotary_tables(n: &mut Layers, model: &LanguageModel, style: &Style, dtype: Dtype) {
    if style.rotary_share > 0.0 {
        let head = rotary_columns(model, style);
        n.b.global(COS, n.sequence, head, dtype);
        n.b.global(SIN, n.sequence, head, dtype);
    }
}

pub(super) fn rotary_columns(model: &LanguageModel, style: &Style) -> u64 {
    (f64::from(model.head_dim) * style.rotary_share) as u64
}
