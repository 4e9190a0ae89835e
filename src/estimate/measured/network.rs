//! A network of which only a printed summary is known: its parameters and the sizes of its layers' outputs.

use super::{TOO_LARGE, is_half, phases::Pieces, total, weights};
use crate::catalog::Gpu;
use crate::estimate::{CannotEstimate, EstimateMethod, MemoryEstimate};
use crate::project::{CustomNetwork, Field, Project};

/// Bytes of a kept number: fp32, and under autocast, where norms of transformers and losses stay fp32 (2 for convolutions,
/// batch norm and ReLU, which is most of what summaries are printed of).
const BYTES: [f64; 2] = [4.0, 2.2];

/// The gradient of the largest output and of what went into it are there at the same time.
const GRADIENTS_AT_ONCE: f64 = 2.0;

/// Workspace of convolution kernels over what is kept, as for the vision models of this kind, and its upper end.
const WORKSPACE: (f64, f64) = (0.06, 2e9);

/// Memory of one training step of a network that is known by its summary.
pub fn network(
    project: &Project,
    network: &CustomNetwork,
    gpu: Option<&Gpu>,
) -> Result<MemoryEstimate, CannotEstimate> {
    if project.method.is_adapter() {
        return Err(CannotEstimate::MethodDoesNotApply);
    }
    let wrong = [
        (project.micro_batch == 0, Field::MicroBatch),
        (project.accumulation == 0, Field::Accumulation),
        (network.params == 0, Field::NetworkParams),
    ];
    if let Some((_, field)) = wrong.into_iter().find(|(bad, _)| *bad) {
        return Err(CannotEstimate::OutOfRange(field));
    }
    let batch = project.micro_batch as f64;
    let bytes = BYTES[usize::from(is_half(project))];
    // Nothing is computed again: which layers make a block is not known.
    let plain = Project { checkpointing: crate::project::Checkpointing::Off, ..project.clone() };
    let mut pieces: Pieces = weights(&plain, network.params as f64, network.trained_params() as f64, 0.98, 0.6);
    pieces.saved = batch * network.outputs as f64 * bytes;
    let widest = if network.widest > 0 { network.widest } else { network.outputs / 8 };
    pieces.transient = batch * widest as f64 * bytes * GRADIENTS_AT_ONCE;
    pieces.workspace = (pieces.saved * WORKSPACE.0).min(WORKSPACE.1);
    pieces.early_gradients = 0.05;
    if !total(&pieces).is_finite() || total(&pieces) > TOO_LARGE {
        return Err(CannotEstimate::TooLarge);
    }
    Ok(pieces.estimate(project, gpu, EstimateMethod::Rough))
}
