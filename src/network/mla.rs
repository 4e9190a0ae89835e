//! Multi-head latent attention (`DeepSeek`): keys and values come out of a compressed latent.

use super::Dtype;
use super::builder::{Kernel, Tensor};
use super::language::norm;
use super::layers::{Heads, Layers, Role};
use super::style::Style;
use crate::catalog::LanguageModel;
use crate::catalog::grammar::Latent;

/// Attention of `DeepSeek-V2` and its successors as transformers writes it.
pub(crate) fn attention(n: &mut Layers, model: &LanguageModel, style: &Style, l: Latent, x: Tensor) -> Tensor {
    let heads = u64::from(model.heads);
    let head = l.nope + l.rope;
    let q = if l.query > 0 {
        let low = n.linear(x, l.query, false, Role::Query);
        let low = norm(n, style, low);
        n.linear(low, heads * head, false, Role::Query)
    } else {
        n.linear(x, heads * head, false, Role::Query)
    };
    let q_parts = n.b.split(q, &[heads * l.nope, heads * l.rope]);
    let compressed = n.linear(x, l.key_value + l.rope, false, Role::Key);
    let kv_parts = n.b.split(compressed, &[l.key_value, l.rope]);
    let ([q_nope, q_rope], [kv_low, k_rope]) = (&q_parts[..], &kv_parts[..]) else { return x };
    let kv_low = norm(n, style, *kv_low);
    let q_rope = rotate(n, *q_rope);
    let k_rope = rotate(n, *k_rope);
    let query = n.b.cat(&[*q_nope, q_rope]);
    let expanded = n.linear(kv_low, heads * (l.nope + l.value), false, Role::Value);
    let parts = n.b.split(expanded, &[heads * l.nope, heads * l.value]);
    let [k_nope, value] = parts[..] else { return x };
    // A new tensor that both parts are copied into.
    let key = n.b.fused(&[k_nope, k_rope], x.rows, heads * head, k_nope.dtype, Kernel::default());
    let shape = Heads {
        count: heads,
        key_count: heads,
        head,
        value_head: l.value,
        queries: n.sequence,
        keys: n.sequence,
        by_head: true,
        value_by_head: false,
        causal: true,
        dropout: 0.0,
        softcap: false,
        upcast_softmax: true,
    };
    let slot = super::language::MASK;
    let mask = n.b.peek(slot).is_some().then(|| n.b.take(slot));
    let context = n.attention(query, key, value, shape, mask);
    n.linear(context, u64::from(model.hidden), false, Role::AttentionOut)
}

/// Rotation in complex numbers: to fp32, times the frequencies, back.
fn rotate(n: &mut Layers, t: Tensor) -> Tensor {
    let wide = n.b.cast(t, Dtype::F32);
    let turned = n.b.scale(wide);
    n.b.cast(turned, t.dtype)
}
