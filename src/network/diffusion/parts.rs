//! Pieces that several denoisers share.

use crate::network::Dtype;
use crate::network::builder::{Keep, Tensor};
use crate::network::layers::{Layers, Role};
use crate::network::maps::Act;
use crate::project::Checkpointing;

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

/// Blocks alike: checkpointed one by one, in pairs, or every other one ("selective" leaves every other stretch alone: in
/// what order makes no difference to their sum). Where no gradient flows to the first it is written `apart`.
pub(super) fn alike(n: &mut Layers, count: u64, apart: bool, checked: bool, block: &mut dyn FnMut(&mut Layers)) {
    let first = if apart { count.min(1) } else { 0 };
    for times in [first, count - first] {
        let alone = if n.config.checkpointing == Checkpointing::Selective { times / 2 } else { 0 };
        let together = if n.config.checkpointing == Checkpointing::Pairs { 2 } else { 1 };
        let rest = times - alone;
        for (times, checked, together) in
            [(alone, false, 1), (rest / together, checked, together), (rest % together, checked, 1)]
        {
            if times > 0 {
                n.b.repeat(times);
                for _ in 0..together {
                    block(n);
                }
                n.b.close(checked);
            }
        }
    }
}
