//! Transformer-XL: segments one after another, keys and values also of the segment before, relative positions.
//!
//! As in NVIDIA's `DeepLearningExamples` (`mem_transformer.py`), which follows the authors' code: scores are written out,
//! one fused product makes queries, keys and values of both segments, and what a layer saw is kept for the next segment.

use super::builder::{Kernel, Tensor, bytes};
use super::language::{HIDDEN, TABLE, activate, norm};
use super::layers::{Layers, Role};
use super::loss::{Head, cross_entropy};
use super::style::Style;
use super::{Dtype, Program, Slot, StepConfig, Trained};
use crate::catalog::LanguageModel;
use crate::project::Checkpointing;

/// What the layers saw of the segment before; the one kept for the next is as large.
const BEFORE: Slot = Slot(6);
const NEXT: Slot = Slot(7);
/// Tokens of WikiText-103 (Merity et al. 2016, table 1): training, validation and test.
const WIKITEXT_103: u64 = 103_227_021 + 217_646 + 245_569;
/// Sinusoids of the relative positions.
const POSITIONS: Slot = Slot(8);

pub(crate) fn transformer_xl(model: &LanguageModel, style: &Style, config: &StepConfig) -> Program {
    let mut n = Layers::new(config);
    n.plain_loss = true;
    n.trained = matches!(config.trained, Trained::All);
    let (layers, hidden) = (u64::from(model.layers), u64::from(model.hidden));
    let tokens = n.tokens();
    let table = n.weight(u64::from(model.vocab), hidden);
    let x = n.b.embedding(table, tokens);
    let x = n.b.scale(x);
    let x = n.b.dropout(x, style.dropout);
    // One layer's share; the rest of both stacks beside it.
    n.b.global(BEFORE, tokens, hidden, x.dtype);
    n.b.global(NEXT, tokens.saturating_mul(2 * layers.max(1) - 1), hidden, x.dtype);
    n.b.global(POSITIONS, 2 * n.sequence, hidden, x.dtype);
    n.b.put(TABLE, table);
    n.b.put(HIDDEN, x);
    n.b.end_segment(false, false);
    n.b.end_group();

    n.b.repeat(layers);
    block(&mut n, model, style);
    n.b.end_segment(config.checkpointing == Checkpointing::PerBlock, false);
    n.b.end_group();

    n.trained = !matches!(config.trained, Trained::Adapters(_) | Trained::Nothing);
    let x = n.b.take(HIDDEN);
    let x = n.b.dropout(x, style.dropout);
    let w = n.b.take(TABLE);
    cross_entropy(&mut n, x, Head::plain(w, u64::from(model.vocab), true));
    n.b.end_segment(false, true);
    n.b.end_group();
    n.b.program.batch_bytes += 2 * bytes(tokens, Dtype::I64);
    if config.code.data_on_card {
        n.b.program.batch_bytes += bytes(WIKITEXT_103, Dtype::I64);
    }
    n.b.program
}

fn block(n: &mut Layers, model: &LanguageModel, style: &Style) {
    let hidden = u64::from(model.hidden);
    let x = n.b.take(HIDDEN);
    let attended = attention(n, model, style, x);
    let middle = after(n, style, attended, x);
    let wide = n.linear(middle, u64::from(model.intermediate), style.mlp_bias, Role::Mlp);
    let active = activate(n, style, wide);
    let active = n.b.dropout(active, style.dropout);
    let fed = n.linear(active, hidden, style.mlp_bias, Role::Mlp);
    let out = after(n, style, fed, middle);
    n.b.put(HIDDEN, out);
}

fn after(n: &mut Layers, style: &Style, out: Tensor, residual: Tensor) -> Tensor {
    let dropped = n.b.dropout(out, style.dropout);
    let sum = n.b.add(dropped, residual);
    norm(n, style, sum)
}

fn attention(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor) -> Tensor {
    let (heads, head) = (u64::from(model.heads), u64::from(model.head_dim));
    let (width, tokens, keys) = (heads * head, x.rows, 2 * n.sequence);
    let before = n.b.take(BEFORE);
    let both = n.b.cat(&[before, x]);
    let both = n.b.view(both, 2 * tokens, x.cols);
    let all = n.linear(both, 3 * width, false, Role::Qkv);
    let parts = n.b.split(all, &[width, width, width]);
    let [q, k, v] = parts.as_slice() else { return x };
    // Queries of this segment only; heads are gathered from the fused product by copying.
    let q = n.b.view(*q, tokens, 2 * width);
    let q = n.b.slice(q, width);
    let (k, v) = (n.b.copy(*k, 2 * tokens, width), n.b.copy(*v, 2 * tokens, width));

    let rows = tokens * heads;
    let flops = 2.0 * rows as f64 * keys as f64 * head as f64;
    let content = biased(n, q);
    let content = n.b.matmul(content, k, rows, keys, flops);
    let by_position = biased(n, q);
    let by_position = n.b.copy(by_position, tokens, width);
    let positions = n.b.take(POSITIONS);
    let positions = n.linear(positions, width, false, Role::Outside);
    let by_position = n.b.matmul(by_position, positions, rows, keys, flops);
    // The relative shift: one column of zeros more, seen in another shape.
    let padded = n.b.copy(by_position, rows, keys + 1);
    let shifted = n.b.slice(padded, keys);
    // Sum and scale in one kernel (`add_and_scale`, a TorchScript function).
    let saves = if n.config.code.scripts_hold_inputs { 0b11 } else { 0 };
    let scores = n.b.fused(&[content, shifted], rows, keys, content.dtype, Kernel { saves, ..Kernel::default() });
    let probabilities = n.b.softmax(scores, false);
    let dropped = n.b.dropout(probabilities, style.attention_dropout);
    let context = n.b.matmul(dropped, v, tokens, width, flops);
    let context = n.b.copy(context, tokens, width);
    let out = n.linear(context, u64::from(model.hidden), false, Role::AttentionOut);
    // Local variables live until the method returns.
    for t in [content, padded, scores, probabilities, all] {
        n.b.touch(t);
    }
    out
}

/// Queries plus a learned vector.
fn biased(n: &mut Layers, q: Tensor) -> Tensor {
    let bias = n.weight(q.cols, 1);
    n.b.add(q, bias)
}
