//! Attention of a block: over its own tokens, or of those to the text's.

use super::linear::linear_attention;
use super::{COS, SIN, Stream};
use crate::network::builder::{Keep, Tensor};
use crate::network::diffusion::parts::written_rms;
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::Act;

pub(super) fn attention(n: &mut Layers, net: &Stream, x: Tensor, text: Option<(Tensor, bool)>, queries: u64) -> Tensor {
    let head = net.width / net.heads;
    let key_width = if text.is_some() { net.width } else { net.key_heads * head };
    let source = text.map_or(x, |(t, _)| t);
    let [q, k, v] = if net.joint_in_simpletuner && n.config.code.joint_projections && text.is_none() {
        joint(n, net, x, key_width)
    } else {
        [
            n.linear(x, net.width, net.bias, Role::Query),
            n.linear(source, key_width, net.bias, Role::Key),
            n.linear(source, key_width, net.bias, Role::Value),
        ]
    };
    let gate = (net.attention_gate && text.is_none()).then(|| n.linear(x, net.width, net.bias, Role::Outside));
    let wanted = q.dtype;
    let (q, k) = match net.query_norm {
        None => (q, k),
        Some(by_head) => {
            let over = |t: Tensor| if by_head { head } else { t.cols };
            if net.written_query_norm {
                (written_rms(n, q, over(q), true), written_rms(n, k, over(k), true))
            } else {
                (n.head_norm(q, over(q)), n.head_norm(k, over(k)))
            }
        }
    };
    let (q, k) = if net.linear && text.is_none() {
        (n.act_tensor(q, Act::ReluCopy), n.act_tensor(k, Act::ReluCopy))
    } else {
        (q, k)
    };
    let plain = (q, k);
    let (q, k) = if net.rotary && text.is_none() {
        let cos = n.b.take(COS);
        let sin = n.b.take(SIN);
        (n.rotate_pairs(q, cos, sin), n.rotate_pairs(k, cos, sin))
    } else {
        (q, k)
    };
    let repeats = net.heads / (key_width / head).max(1);
    let (k, v) = if repeats > 1 {
        (n.b.copy(k, k.rows, k.cols * repeats), n.b.copy(v, v.rows, v.cols * repeats))
    } else {
        (k, v)
    };
    if net.linear && text.is_none() {
        let out = linear_attention(n, [q, k, v], net.rotary.then_some(plain));
        let out = n.b.cast(out, wanted);
        return n.linear(out, net.width, true, Role::AttentionOut);
    }
    let keys = if text.is_some() { net.text.1 } else { queries };
    let shape = Heads {
        by_head: net.by_head && text.is_none_or(|(_, masked)| !masked),
        ..Heads::dense(net.heads, head, queries, keys)
    };
    n.sequence = queries;
    let mask = text.filter(|(_, masked)| *masked).map(|_| n.constant(n.batch, keys, wanted));
    let out = n.attention(q, k, v, shape, mask);
    let out = n.b.cast(out, wanted);
    let out = match gate {
        Some(gate) => {
            let open = n.b.unary(gate, Keep::Output, 0);
            n.b.mul(out, open)
        }
        None => out,
    };
    n.linear(out, net.width, net.bias, Role::AttentionOut)
}

/// Query, key and value out of one matrix, beside which the three stay that it was put together from.
fn joint(n: &mut Layers, net: &Stream, x: Tensor, key_width: u64) -> [Tensor; 3] {
    for width in [net.width, key_width, key_width] {
        n.idle_weight(x, width, Role::Qkv);
    }
    let all = n.linear(x, net.width + 2 * key_width, net.bias, Role::Qkv);
    match n.b.split(all, &[net.width, key_width, key_width]).as_slice() {
        &[q, k, v] => [q, k, v],
        _ => [all; 3],
    }
}
