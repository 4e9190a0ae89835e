//! The answer for what the person owns, and what `PyTorch` would print where it runs out.

use super::engine::Need;
use super::{OutOfMemory, Verdict};
use crate::catalog::Catalog;
use crate::estimate::{MemoryEstimate, Moment, Part};
use crate::project::{LossKernel, Project};
use crate::units::Bytes;

/// Longest run on a processor that a person would wait for.
pub(super) const PATIENCE_H: f64 = 3.0;

/// Largest model that makes sense on a processor at all.
pub(super) const LARGEST_ON_CPU: f64 = 1e8;

/// Main memory that an ordinary computer has left for a training.
pub(super) const ORDINARY_RAM: Bytes = Bytes(12 << 30);

/// Compares a need with a card.
pub(super) fn verdict(memory: &MemoryEstimate, usable: Bytes) -> Verdict {
    let need = Need::of(memory);
    let (spare, missing) = (usable - need.card, need.card - usable);
    if need.fits(usable) {
        Verdict::Fits { spare }
    } else if need.is_tight(usable) {
        Verdict::Tight { spare, missing }
    } else {
        Verdict::RunsOut { missing }
    }
}

/// The numbers of `PyTorch`'s message. An allocation fails when it no longer fits beside what is live: at the peak if
/// all before it fits, else on the way there, in pieces of the usual size.
pub(super) fn out_of_memory(
    project: &Project,
    memory: &MemoryEstimate,
    usable: Bytes,
    catalog: &Catalog,
) -> OutOfMemory {
    // What other than PyTorch's tensors needs: context, libraries, screen.
    let outside = memory.card - memory.reserved;
    let budget = usable - outside;
    let tried = largest_piece(project, memory, catalog).max(Bytes(512));
    let before_peak = memory.allocated - tried;
    let allocated = if before_peak <= budget { before_peak } else { budget - Bytes(tried.0 / 2) };
    let slack = (memory.reserved - memory.allocated).scale(allocated.0 as f64 / memory.allocated.0.max(1) as f64);
    let reserved_unused = slack.min(Bytes((budget - allocated).0 / 2));
    let free = budget - allocated - reserved_unused;
    // By definition less was free than was asked for.
    let free = if free >= tried { Bytes(tried.0.saturating_sub(1)) } else { free };
    OutOfMemory { tried, capacity: usable, free, allocated, reserved_unused }
}

/// The allocation that is made last before the peak.
fn largest_piece(project: &Project, memory: &MemoryEstimate, catalog: &Catalog) -> Bytes {
    let tokens = project.micro_batch.saturating_mul(project.sequence);
    let (vocab, mlp, layers) = match (&project.custom, catalog.model(&project.model).and_then(|m| m.language())) {
        (Some(c), _) => (c.vocab, c.intermediate, c.layers),
        (None, Some(l)) => (u64::from(l.vocab), u64::from(l.intermediate), u64::from(l.layers)),
        (None, None) => (0, 0, 24),
    };
    let piece = match memory.moment {
        // One copy of the logits, in fp32 unless the loss leaves them in 16 bit.
        Moment::Loss if vocab > 0 => {
            let width = if memory.resolved.loss == LossKernel::NoUpcast { 2 } else { 4 };
            Bytes(tokens.saturating_mul(vocab).saturating_mul(width))
        }
        Moment::Loss => memory.part(Part::Logits),
        // Foreach kernels allocate their temporaries as large as the trained weights.
        Moment::Optimizer => memory.part(Part::Temporaries).max(memory.part(Part::Optimizer).scale(0.01)),
        Moment::Loading | Moment::Encoding => memory.part(Part::Weights).scale(0.02),
        Moment::Forward | Moment::Backward if mlp > 0 => Bytes(tokens.saturating_mul(mlp).saturating_mul(2)),
        Moment::Forward | Moment::Backward => memory.part(Part::Activations).scale(1.0 / (2.0 * layers as f64)),
    };
    piece.min(memory.allocated).round_up(512)
}
