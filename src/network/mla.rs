//! Multi-head latent attention (`DeepSeek`): keys and values come out of a compressed latent.

use super::builder::{Kernel, Tensor, bytes};
use super::language::norm;
use super::layers::{Heads, Layers, Role};
use super::style::Style;
use super::{Dtype, SAVE_AUX};
use crate::catalog::LanguageModel;

/// Ranks and head sizes out of `mla:q=0,kv=512,nope=128,rope=64,v=128`.
#[derive(Clone, Copy, Debug, Default)]
struct Latent {
    query: u64,
    kv: u64,
    nope: u64,
    rope: u64,
    value: u64,
}

impl Latent {
    fn of(model: &LanguageModel) -> Self {
        let mut latent = Self::default();
        for part in model.attention.trim_start_matches("mla:").split(',') {
            if let Some((key, value)) = part.split_once('=') {
                let value = value.trim().parse().unwrap_or(0);
                match key.trim() {
                    "q" => latent.query = value,
                    "kv" => latent.kv = value,
                    "nope" => latent.nope = value,
                    "rope" => latent.rope = value,
                    "v" => latent.value = value,
                    _ => {}
                }
            }
        }
        latent
    }
}

/// Attention of `DeepSeek-V2` and its successors as transformers writes it.
pub(crate) fn attention(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor) -> Tensor {
    let l = Latent::of(model);
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
    let compressed = n.linear(x, l.kv + l.rope, false, Role::Key);
    let kv_parts = n.b.split(compressed, &[l.kv, l.rope]);
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
        heads,
        kv_heads: heads,
        head,
        value_head: l.value,
        queries: n.sequence,
        keys: n.sequence,
        contiguous_heads: true,
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
    let _ = (SAVE_AUX, bytes(0, Dtype::F32));
    n.b.cast(turned, t.dtype)
}
