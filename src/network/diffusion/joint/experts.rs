//! Routed experts of a denoiser (`MOEFeedForwardSwiGLU` of `transformer_hidream_image.py`).

use crate::network::builder::Tensor;
use crate::network::layers::{Layers, Role};
use crate::network::maps::Act;

/// Experts, and those each token goes to.
const EXPERTS: u64 = 4;
const ACTIVE: u64 = 2;

/// Each token twice, every expert those that are sent to it (here: an equal share), and the shared expert beside them.
pub(super) fn routed(n: &mut Layers, x: Tensor, inner: u64, shared: u64) -> Tensor {
    let gate = n.weight(EXPERTS, x.cols);
    let scores = n.b.linear(x, gate, None);
    let scores = n.b.softmax(scores, false);
    let weights = n.b.slice(scores, ACTIVE);
    let twice = n.b.copy(x, ACTIVE * x.rows, x.cols);
    let share = ACTIVE * x.rows / EXPERTS;
    let mut outs = Vec::new();
    for _ in 0..EXPERTS {
        let own = n.b.gather(twice, share);
        let out = gated(n, own, inner, false);
        outs.push(n.b.cast(out, x.dtype));
    }
    let all = n.b.join(&outs);
    let weighed = n.b.mul(all, weights);
    let sum = n.b.reduce(weighed, x.rows, x.cols);
    let sum = n.b.cast(sum, x.dtype);
    let own = gated(n, x, shared, false);
    n.b.add(sum, own)
}

/// `w2(silu(w1(x)) * w3(x))`.
pub(super) fn gated(n: &mut Layers, x: Tensor, inner: u64, bias: bool) -> Tensor {
    let gate = n.linear(x, inner, bias, Role::Mlp);
    let gate = n.act_tensor(gate, Act::Silu);
    let up = n.linear(x, inner, bias, Role::Mlp);
    let product = n.b.mul(gate, up);
    n.linear(product, x.cols, bias, Role::Mlp)
}
