//! Pieces that several denoisers share.

use crate::network::Dtype;
use crate::network::builder::{Keep, Tensor};
use crate::network::layers::{Layers, Role};
use crate::network::maps::Act;

/// Embedding of a time, a scale or a text: two linear layers with `SiLU` between.
pub(super) fn embed(n: &mut Layers, x: Tensor, width: u64) -> Tensor {
    let y = n.linear(x, width, true, Role::Outside);
    let y = n.act_tensor(y, Act::Silu);
    n.linear(y, width, true, Role::Outside)
}

/// diffusers' own `RMSNorm` (models/normalization.py), written out in fp32, over `group` values at a time: keeps an fp32
/// copy of its input and the input itself.
pub(super) fn written_rms(n: &mut Layers, x: Tensor, group: u64, weighted: bool) -> Tensor {
    let w = weighted.then(|| n.weight(group, 1));
    let grouped = if group == x.cols { x } else { n.b.view(x, x.rows * x.cols / group.max(1), group) };
    let wide = n.b.cast(grouped, Dtype::F32);
    let square = n.b.pow(wide);
    let variance = n.b.mean(square);
    let deviation = n.b.unary(variance, Keep::Output, 1);
    let normed = n.b.mul(grouped, deviation);
    let out = match w {
        Some(w) => {
            let normed = if w.dtype.is_half() { n.b.cast(normed, w.dtype) } else { normed };
            n.b.mul(normed, w)
        }
        None => n.b.cast(normed, x.dtype),
    };
    if group == x.cols { out } else { n.b.view(out, x.rows, x.cols) }
}
