//! Encoders: BERT and its kin, with the masked-language head.

use super::builder::{Keep, Tensor, bytes};
use super::language::{HIDDEN, TABLE, activate, norm};
use super::layers::{Heads, Layers, Role};
use super::loss::{Head, cross_entropy};
use super::style::Style;
use super::{Dtype, Program, Slot, StepConfig, Task, Trained};
use crate::catalog::LanguageModel;

/// Sinusoids of `XLNet`'s relative positions, for each sample.
const POSITIONS: Slot = Slot(6);

/// Whether layers are a decoder's without the causal mask: norms before, rotary positions, a gate in the MLP (`ModernBERT`).
fn is_modern(model: &LanguageModel) -> bool {
    model.gated && model.positional == "rope"
}

/// Whether scores have a part that goes by the distance (`XLNet`).
fn is_relative(model: &LanguageModel) -> bool {
    model.extras.contains("relative-projection")
}

/// BERT as transformers writes it: norms after the sums, dropout before them.
pub(crate) fn encoder(model: &LanguageModel, style: &Style, config: &StepConfig) -> Program {
    let mut n = Layers::new(config);
    n.plain_loss = true;
    n.adapts_attention_out = false;
    let layers = u64::from(model.layers);
    let frozen = match config.trained {
        Trained::AboveLayer(k) => k.min(layers),
        Trained::Head => layers,
        _ => 0,
    };
    embed(&mut n, model, style, frozen > 0);
    let checkpointed = config.checkpointing.recomputes();
    for (from, to) in [(0, frozen), (frozen, layers)] {
        let mut left = to - from;
        n.trained = matches!(config.trained, Trained::All | Trained::AboveLayer(_)) && from >= frozen;
        while left > 0 {
            let flows = n.b.peek(HIDDEN).is_some_and(|t| t.grad);
            let times = if flows || !n.trains() { left } else { 1 };
            n.b.repeat(times);
            if is_modern(model) {
                super::language::block(&mut n, model, style, false, false);
            } else {
                block(&mut n, model, style);
            }
            n.b.end_segment(checkpointed, false);
            n.b.end_group();
            left -= times;
        }
    }
    n.trained = !matches!(config.trained, Trained::Adapters(_));
    head(&mut n, model, style);
    n.b.end_segment(false, true);
    n.b.end_group();
    n.b.program.batch_bytes += 2 * bytes(n.tokens(), Dtype::I64);
    n.b.program
}

fn embed(n: &mut Layers, model: &LanguageModel, style: &Style, frozen: bool) {
    n.trained = matches!(n.config.trained, Trained::All) && !frozen;
    let hidden = u64::from(model.hidden);
    let tokens = n.tokens();
    let table = n.weight(u64::from(model.vocab), hidden);
    let mut x = n.b.embedding(table, tokens);
    if n.config.checkpointing.recomputes() && matches!(n.config.trained, Trained::Adapters(_)) {
        x = n.b.require_grad(x);
    }
    let types =
        model.extras.split(',').find_map(|e| e.strip_prefix("token-types=")).and_then(|t| t.parse().ok()).unwrap_or(0);
    if types > 0 {
        let w = n.weight(types, hidden);
        let t = n.b.embedding(w, tokens);
        x = n.b.add(x, t);
    }
    if style.learned_positions {
        let w = n.weight(u64::from(model.max_context.max(1)), hidden);
        let p = n.b.embedding(w, n.sequence);
        x = n.b.add(x, p);
    }
    let x = if is_relative(model) { x } else { norm(n, style, x) };
    let x = n.b.dropout(x, style.dropout);
    if is_modern(model) {
        super::language::rotary_tables(n, model, style, x.dtype);
    }
    if is_relative(model) {
        n.b.global(POSITIONS, 2 * tokens, hidden, x.dtype);
    }
    n.b.put(HIDDEN, x);
    n.b.put(TABLE, table);
    n.b.end_segment(false, false);
    n.b.end_group();
}

fn block(n: &mut Layers, model: &LanguageModel, style: &Style) {
    let x = n.b.take(HIDDEN);
    let (hidden, heads) = (u64::from(model.hidden), u64::from(model.heads));
    let head = u64::from(model.head_dim);
    let q = n.linear(x, heads * head, style.qkv_bias, Role::Query);
    let k = n.linear(x, heads * head, style.qkv_bias, Role::Key);
    let v = n.linear(x, heads * head, style.qkv_bias, Role::Value);
    let shape = Heads {
        count: heads,
        key_count: heads,
        head,
        value_head: head,
        queries: n.sequence,
        keys: n.sequence,
        by_head: false,
        value_by_head: false,
        causal: false,
        dropout: style.attention_dropout,
        softcap: false,
        upcast_softmax: false,
    };
    let context = if is_relative(model) { by_distance(n, q, k, v, shape) } else { n.attention(q, k, v, shape, None) };
    let out = n.linear(context, hidden, style.out_bias, Role::AttentionOut);
    let middle = after(n, style, out, x);
    n.b.touch(context);
    let wide = n.linear(middle, u64::from(model.intermediate), style.mlp_bias, Role::Mlp);
    let active = activate(n, style, wide);
    let active = if is_relative(model) { n.b.dropout(active, style.dropout) } else { active };
    let fed = n.linear(active, hidden, style.mlp_bias, Role::Mlp);
    let out = after(n, style, fed, middle);
    n.b.touch(active);
    n.b.put(HIDDEN, out);
}

/// `rel_attn_core` of `XLNet`: scores by content and by distance, each with a vector added to the queries; the second are
/// twice as wide and shifted into place.
fn by_distance(n: &mut Layers, q: Tensor, k: Tensor, v: Tensor, shape: Heads) -> Tensor {
    let width = shape.count * shape.head;
    let rows = n.batch * shape.count * shape.queries;
    let flops = 2.0 * rows as f64 * shape.keys as f64 * shape.head as f64;
    let [content, distance] = [(); 2].map(|()| {
        let bias = n.weight(width, 1);
        n.b.add(q, bias)
    });
    let positions = n.b.take(POSITIONS);
    let positions = n.linear(positions, width, false, Role::Outside);
    let content = n.b.matmul(content, k, rows, shape.keys, flops);
    let distance = n.b.matmul(distance, positions, rows, 2 * shape.keys, 2.0 * flops);
    let shifted = n.b.copy(distance, rows, shape.keys);
    let sum = n.b.add(content, shifted);
    let scores = n.b.scale(sum);
    let probabilities = n.b.softmax(scores, false);
    let dropped = n.b.dropout(probabilities, shape.dropout);
    let context = n.b.matmul(dropped, v, q.rows, width, flops);
    n.b.copy(context, context.rows, context.cols)
}

fn after(n: &mut Layers, style: &Style, out: Tensor, residual: Tensor) -> Tensor {
    let dropped = n.b.dropout(out, style.dropout);
    let sum = n.b.add(dropped, residual);
    let normed = norm(n, style, sum);
    // A local variable of the module until it returns.
    n.b.touch(dropped);
    normed
}

fn head(n: &mut Layers, model: &LanguageModel, style: &Style) {
    let x = n.b.take(HIDDEN);
    let x = if is_modern(model) { norm(n, style, x) } else { x };
    let table = n.b.take(TABLE);
    let hidden = u64::from(model.hidden);
    match n.config.task {
        Task::LanguageModel | Task::MaskedLanguageModel => {
            let w = n.weight(hidden, hidden);
            let b = n.weight(hidden, 1);
            let t = n.b.linear(x, w, Some(b));
            let t = activate(n, style, t);
            let t = norm(n, style, t);
            cross_entropy(n, t, Head::plain(table, u64::from(model.vocab), true));
        }
        Task::SequenceClassification => {
            // Pooler on the first token, dropout, classifier.
            let first = n.b.slice(x, x.cols / n.sequence.max(1));
            let first = n.b.view(first, n.batch, hidden);
            let w = n.weight(hidden, hidden);
            let b = n.weight(hidden, 1);
            let pooled = n.b.linear(first, w, Some(b));
            let pooled = n.b.unary(pooled, Keep::Output, 0);
            let pooled = n.b.dropout(pooled, style.dropout);
            let w = n.weight(2, hidden);
            let b = n.weight(2, 1);
            let logits = n.b.linear(pooled, w, Some(b));
            let loss = n.b.reduce(logits, 1, 1);
            n.b.touch(loss);
            n.b.touch(table);
        }
        Task::Embedding => {
            let loss = n.b.reduce(x, 1, 1);
            n.b.touch(loss);
            n.b.touch(table);
        }
    }
}
