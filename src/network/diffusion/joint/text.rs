//! How the text's embeddings become tokens.

use super::{Joint, Mlp, STATES, TextIn};
use crate::network::builder::Tensor;
use crate::network::diffusion::parts::{embed, written_rms};
use crate::network::diffusion::{input_format, resident};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::Act;

/// Width of `ByT5`'s states and of the picture encoder's (`HunyuanVideo15Transformer3DModel`).
const GLYPHS: u64 = 1472;
const PICTURE: u64 = 1152;

/// Tokens of the text's stream.
pub(super) fn tokens(net: &Joint) -> u64 {
    match net.text_in {
        TextIn::Linear | TextIn::Normed => net.text.1 + net.registers,
        TextIn::Refined { glyphs, picture } => net.text.1 + glyphs + picture,
        // T5's, those of the last state, and those of the block's own.
        TextIn::States => 3 * net.text.1,
    }
}

/// The stream of text before the first block.
pub(super) fn embed_text(n: &mut Layers, net: &Joint, words: Tensor, time: Tensor) -> Tensor {
    match net.text_in {
        TextIn::Linear => {
            let text = n.linear(words, net.width, net.bias, Role::Outside);
            if net.registers == 0 {
                return text;
            }
            let learned = n.weight(net.registers, net.width);
            n.join_tokens(learned, text, n.batch * (net.text.1 + net.registers))
        }
        TextIn::Normed => {
            let normed = written_rms(n, words, words.cols, true);
            n.linear(normed, net.width, net.bias, Role::Outside)
        }
        TextIn::Refined { glyphs, picture } => {
            let text = refine(n, net, words);
            if glyphs + picture == 0 {
                return text;
            }
            let dtype = input_format(n);
            let glyphs = resident(n, n.batch * glyphs, GLYPHS, dtype);
            let glyphs = project(n, glyphs, 2048, net.width);
            if picture == 0 {
                return n.b.join(&[glyphs, text]);
            }
            let picture = resident(n, n.batch * picture, PICTURE, dtype);
            let normed = n.layer_norm(picture, true, true);
            let y = n.linear(normed, PICTURE, true, Role::Outside);
            let y = n.act_tensor(y, Act::Gelu);
            let y = n.linear(y, net.width, true, Role::Outside);
            let picture = n.layer_norm(y, true, true);
            n.weight(3, net.width);
            let _ = time;
            n.b.join(&[picture, glyphs, text])
        }
        TextIn::States => {
            let dtype = input_format(n);
            // Those of Llama's layers, one for each block, which are projected where they are used.
            n.b.global(STATES, n.batch * net.text.1, net.text.0, dtype);
            let t5 = n.linear(words, net.width, false, Role::Outside);
            let last = n.b.take(STATES);
            let last = project_state(n, net, last);
            n.b.join(&[t5, last])
        }
    }
}

/// A state of the text encoder in the width of the blocks: the weights are those of one block.
pub(super) fn project_state(n: &mut Layers, net: &Joint, state: Tensor) -> Tensor {
    n.linear(state, net.width, false, Role::Outside)
}

/// `HunyuanVideo15ByT5TextProjection`.
fn project(n: &mut Layers, x: Tensor, inner: u64, width: u64) -> Tensor {
    let y = n.layer_norm(x, true, true);
    let y = n.linear(y, inner, true, Role::Outside);
    let y = n.act_tensor(y, Act::Gelu);
    let y = n.linear(y, inner, true, Role::Outside);
    let y = n.act_tensor(y, Act::Gelu);
    n.linear(y, width, true, Role::Outside)
}

/// `HunyuanVideoTokenRefiner`: two blocks of self-attention and an MLP, gated by the time and the mean of the text; they
/// are not checkpointed.
fn refine(n: &mut Layers, net: &Joint, words: Tensor) -> Tensor {
    let dtype = input_format(n);
    let width = net.width;
    let steps = n.constant(n.batch, 256, dtype);
    let time = embed(n, steps, width);
    let pooled = n.constant(n.batch, net.text.0, dtype);
    let pooled = embed(n, pooled, width);
    let time = n.b.add(time, pooled);
    let mut x = n.linear(words, width, true, Role::Outside);
    let mask = n.b.zeros(n.batch * net.text.1, net.text.1, crate::network::Dtype::U8);
    for _ in 0..2 {
        let normed = n.layer_norm(x, true, true);
        let q = n.linear(normed, width, true, Role::Query);
        let k = n.linear(normed, width, true, Role::Key);
        let v = n.linear(normed, width, true, Role::Value);
        let shape = Heads::dense(net.heads, width / net.heads, net.text.1, net.text.1);
        n.sequence = net.text.1;
        let out = n.attention(q, k, v, shape, Some(mask));
        let out = n.b.cast(out, q.dtype);
        let attended = n.linear(out, width, true, Role::AttentionOut);
        let bent = n.act_tensor(time, Act::Silu);
        let gates = n.linear(bent, 2 * width, true, Role::Outside);
        let (first, second) = match n.b.split(gates, &[width; 2]).as_slice() {
            &[first, second] => (first, second),
            _ => (gates, gates),
        };
        let gated = n.b.mul(attended, first);
        x = n.b.add(x, gated);
        let normed = n.layer_norm(x, true, true);
        let y = n.linear(normed, 4 * width, true, Role::Mlp);
        let y = n.act_tensor(y, Act::Silu);
        let y = n.linear(y, width, true, Role::Mlp);
        let gated = n.b.mul(y, second);
        x = n.b.add(x, gated);
    }
    debug_assert!(!matches!(net.mlp, Mlp::Experts(_)));
    x
}
