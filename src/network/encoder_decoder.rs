//! Encoder-decoders: T5 with its relative position bias, BART.

use super::builder::{Tensor, bytes};
use super::language::{HIDDEN, TABLE, activate, norm};
use super::layers::{Heads, Layers, Role};
use super::loss::{Head, cross_entropy};
use super::style::Style;
use super::{AttentionKernel, Dtype, Program, Slot, StepConfig, Trained};
use crate::catalog::LanguageModel;

/// Position bias of the self-attention of the stack under way: first layer makes it, all use it.
const BIAS: Slot = Slot(6);
/// The encoder's output.
const MEMORY: Slot = Slot(7);
/// Position bias of cross-attention (zeros).
const CROSS_BIAS: Slot = Slot(8);
/// Causal mask of eager code.
const CAUSAL: Slot = Slot(9);

/// T5 and BART as transformers writes them.
pub(crate) fn encoder_decoder(model: &LanguageModel, style: &Style, config: &StepConfig) -> Program {
    let mut n = Layers::new(config);
    n.plain_loss = true;
    let source = config.sequence;
    let target = config.decoder_sequence.unwrap_or(config.sequence);
    n.trained = matches!(config.trained, Trained::All);
    let relative = model.positional == "relative";

    let table = n.weight(u64::from(model.vocab), u64::from(model.hidden));
    n.b.put(TABLE, table);
    start(&mut n, model, style, table, source);
    stack(&mut n, model, style, Side { relative, decoder: false, queries: source, memory: source });

    let x = n.b.take(HIDDEN);
    let x = if relative { norm(&mut n, style, x) } else { x };
    let memory = if relative { n.b.dropout(x, style.dropout) } else { x };
    n.b.put(MEMORY, memory);
    n.b.end_segment(false, false);
    n.b.end_group();

    n.sequence = target;
    let table = n.b.take(TABLE);
    start(&mut n, model, style, table, target);
    stack(&mut n, model, style, Side { relative, decoder: true, queries: target, memory: source });

    n.trained = !matches!(config.trained, Trained::Adapters(_)) && matches!(config.trained, Trained::All);
    let x = n.b.take(HIDDEN);
    let mut x = if relative { norm(&mut n, style, x) } else { x };
    if relative {
        x = n.b.dropout(x, style.dropout);
    }
    if model.tied_embeddings && relative {
        x = n.b.scale(x);
    }
    let head = n.b.take(TABLE);
    let w = if model.tied_embeddings { head } else { n.weight(u64::from(model.vocab), u64::from(model.hidden)) };
    cross_entropy(&mut n, x, Head::plain(w, u64::from(model.vocab), false));
    n.b.end_segment(false, true);
    n.b.end_group();
    n.b.program.batch_bytes += bytes(config.batch * source, Dtype::I64) + bytes(config.batch * target, Dtype::I64);
    n.b.program
}

/// Which stack.
#[derive(Clone, Copy)]
struct Side {
    relative: bool,
    decoder: bool,
    queries: u64,
    memory: u64,
}

fn start(n: &mut Layers, model: &LanguageModel, style: &Style, table: Tensor, sequence: u64) {
    n.sequence = sequence;
    let tokens = n.tokens();
    let mut x = n.b.embedding(table, tokens);
    if n.config.checkpointing.recomputes() && matches!(n.config.trained, Trained::Adapters(_)) {
        x = n.b.require_grad(x);
    }
    if style.learned_positions {
        let w = n.weight(u64::from(model.max_context.max(1)) + 2, u64::from(model.hidden));
        let p = n.b.embedding(w, sequence);
        x = n.b.add(x, p);
        x = norm(n, style, x);
    }
    let x = n.b.dropout(x, style.dropout);
    n.b.put(HIDDEN, x);
    n.b.end_segment(false, false);
    n.b.end_group();
}

fn stack(n: &mut Layers, model: &LanguageModel, style: &Style, side: Side) {
    let layers = u64::from(model.layers);
    let checkpointed = n.config.checkpointing.recomputes();
    let heads = u64::from(model.heads);
    if side.decoder && n.config.attention == AttentionKernel::Eager {
        let dtype = n.config.weights;
        n.b.global(CAUSAL, n.batch * side.queries, side.queries, dtype);
    }
    for (first, times) in [(true, 1.min(layers)), (false, layers.saturating_sub(1))] {
        if times == 0 {
            continue;
        }
        n.b.repeat(times);
        let x = n.b.take(HIDDEN);
        let (bias, cross) = biases(n, heads, side, first);
        let mut x = attend(n, model, style, x, None, bias, side, heads);
        if side.decoder {
            let memory = n.b.take(MEMORY);
            x = attend(n, model, style, x, Some(memory), cross, side, heads);
        }
        let out = feed(n, model, style, x, side.relative);
        if first && side.relative {
            if let Some(b) = bias {
                n.b.put(BIAS, b);
            }
            if let Some(c) = cross {
                n.b.put(CROSS_BIAS, c);
            }
        }
        n.b.put(HIDDEN, out);
        n.b.end_segment(checkpointed, false);
        n.b.end_group();
    }
}

/// T5's position biases: made in the first layer, handed on to the others.
fn biases(n: &mut Layers, heads: u64, side: Side, first: bool) -> (Option<Tensor>, Option<Tensor>) {
    if !side.relative {
        return (None, None);
    }
    if !first {
        let bias = n.b.take(BIAS);
        let cross = side.decoder.then(|| n.b.take(CROSS_BIAS));
        return (Some(bias), cross);
    }
    // 32 buckets a head (`relative_attention_num_buckets`).
    let w = n.weight(32, heads);
    let bias = n.b.embedding(w, side.queries * side.queries);
    let bias = n.b.view(bias, heads * side.queries, side.queries);
    let cross = side.decoder.then(|| {
        let dtype = n.b.autocast.unwrap_or(n.config.weights);
        let zeros = n.b.zeros(heads * side.queries, side.memory, dtype);
        // With checkpointing the zeros are told to want a gradient, or the first block would get none.
        if n.config.checkpointing.recomputes() { n.b.require_grad(zeros) } else { zeros }
    });
    (Some(bias), cross)
}

#[allow(clippy::too_many_arguments)]
fn attend(
    n: &mut Layers,
    model: &LanguageModel,
    style: &Style,
    x: Tensor,
    memory: Option<Tensor>,
    bias: Option<Tensor>,
    side: Side,
    heads: u64,
) -> Tensor {
    let (hidden, head) = (u64::from(model.hidden), u64::from(model.head_dim));
    let normed = if side.relative { norm(n, style, x) } else { x };
    let from = memory.unwrap_or(normed);
    let q = n.linear(normed, heads * head, style.qkv_bias, Role::Query);
    let k = n.linear(from, heads * head, style.qkv_bias, Role::Key);
    let v = n.linear(from, heads * head, style.qkv_bias, Role::Value);
    let causal = side.decoder && memory.is_none();
    let shape = Heads {
        count: heads,
        key_count: heads,
        head,
        value_head: head,
        queries: side.queries,
        keys: if memory.is_some() { side.memory } else { side.queries },
        by_head: false,
        value_by_head: false,
        causal,
        dropout: style.attention_dropout,
        softcap: false,
        upcast_softmax: false,
    };
    let context = match bias {
        Some(bias) if n.config.attention == AttentionKernel::Eager => {
            let mask = causal.then(|| n.b.take(CAUSAL));
            n.eager_with_bias(q, k, v, shape, bias, mask)
        }
        Some(bias) => {
            // The bias becomes the mask: with the causal one put in (decoder), or copied to be contiguous.
            let mask = if causal { n.b.masked(bias) } else { n.b.copy(bias, bias.rows, bias.cols) };
            n.attention(q, k, v, shape, Some(mask))
        }
        None => {
            let mask = (causal && n.config.attention == AttentionKernel::Eager).then(|| n.b.take(CAUSAL));
            n.attention(q, k, v, shape, mask)
        }
    };
    let out = n.linear(context, hidden, style.out_bias, Role::AttentionOut);
    let dropped = n.b.dropout(out, style.dropout);
    let sum = n.b.add(x, dropped);
    if side.relative { sum } else { norm(n, style, sum) }
}

fn feed(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor, relative: bool) -> Tensor {
    let (hidden, width) = (u64::from(model.hidden), u64::from(model.intermediate));
    let normed = if relative { norm(n, style, x) } else { x };
    let wide = n.linear(normed, width, style.mlp_bias, Role::Mlp);
    let mut active = activate(n, style, wide);
    if model.gated {
        let linear = n.linear(normed, width, style.mlp_bias, Role::Mlp);
        active = n.b.mul(active, linear);
    }
    let mut active = if relative { n.b.dropout(active, style.dropout) } else { active };
    if relative && n.config.quantization.is_none() {
        // `hidden_states.to(self.wo.weight.dtype)`
        active = n.b.cast(active, n.plain());
    }
    let out = n.linear(active, hidden, style.mlp_bias, Role::Mlp);
    let dropped = n.b.dropout(out, style.dropout);
    let sum = n.b.add(x, dropped);
    if relative { sum } else { norm(n, style, sum) }
}
