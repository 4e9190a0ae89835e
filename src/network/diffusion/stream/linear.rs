//! Sana's parts: attention without a softmax, and convolutions for a feed-forward part.

use super::{Stream, Tokens};
use crate::network::Dtype;
use crate::network::builder::{Keep, Tensor};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// `SanaLinearAttnProcessor`: products of values and keys, then with queries, in fp32 unless autocast is on; divided by
/// what a row of ones (or the unrotated queries and keys) gives.
pub(super) fn linear_attention(n: &mut Layers, [q, k, v]: [Tensor; 3], unrotated: Option<(Tensor, Tensor)>) -> Tensor {
    let [q, k, v] = [q, k, v].map(|t| n.b.cast(t, Dtype::F32));
    let flops = 2.0 * q.numel() as f64 * 112.0;
    if let Some((plain, _)) = unrotated {
        let sums = n.b.matmul(plain, plain, plain.rows, 1, flops / 112.0);
        let z = n.b.unary(sums, Keep::Output, 0);
        let scores = n.b.matmul(v, k, 1, q.cols * 112, flops);
        let out = n.b.matmul(scores, q, q.rows, q.cols, flops);
        let out = n.b.mul(out, z);
        return n.b.copy(out, out.rows, out.cols);
    }
    let padded = n.b.copy(v, v.rows, v.cols);
    let scores = n.b.matmul(padded, k, 1, q.cols * 112, flops);
    let out = n.b.matmul(scores, q, q.rows, q.cols, flops);
    let weight = n.b.slice(out, 1);
    let out = n.b.mul(out, weight);
    n.b.copy(out, out.rows, out.cols)
}

/// `GLUMBConv`, and through the frames `GLUMBTempConv`: convolutions keep their inputs whatever is trained.
pub(super) fn gated_convolutions(n: &mut Layers, net: &Stream, x: Tensor, tokens: Tokens) -> Tensor {
    let wide = 2 * net.inner;
    let map = Map { t: x, channels: net.width, height: tokens.picture, width: 1, depth: 1 };
    let y = n.conv(map, Conv::new(wide, 1).bias());
    let y = n.act(y, Act::Silu);
    let y = n.conv(y, Conv::new(wide, 3).groups(wide).bias());
    let inner = match n.b.split(y.t, &[net.inner, net.inner]).as_slice() {
        &[hidden, gate] => {
            let gate = n.act_tensor(gate, Act::Silu);
            n.b.mul(hidden, gate)
        }
        _ => y.t,
    };
    let y = n.conv(Map { t: inner, channels: net.inner, ..y }, Conv::new(net.width, 1));
    if net.cell.1 == 1 {
        return y.t;
    }
    let moved = n.b.copy(y.t, y.t.rows, y.t.cols);
    let through = n.conv(Map { t: moved, ..y }, Conv::new(net.width, 3).rectangle(3, 1));
    n.b.add(y.t, through.t)
}
