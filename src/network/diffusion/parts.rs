//! Pieces that several denoisers share.

use crate::network::builder::Tensor;
use crate::network::layers::{Layers, Role};
use crate::network::maps::Act;

/// Embedding of a time, a scale or a text: two linear layers with `SiLU` between.
pub(super) fn embed(n: &mut Layers, x: Tensor, width: u64) -> Tensor {
    let y = n.linear(x, width, true, Role::Outside);
    let y = n.act_tensor(y, Act::Silu);
    n.linear(y, width, true, Role::Outside)
}
