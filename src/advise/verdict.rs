//! The answer for what the person owns, and what `PyTorch` would print where it runs out.

use super::engine::Need;
use super::{OutOfMemory, Verdict};
use crate::catalog::Catalog;
use crate::estimate::{MemoryEstimate, Moment, Part};
use crate::project::{LossKernel, Project};
use crate::step::allocation;
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
    let sizes = Sizes::of(project, catalog);
    let loading = memory.part(Part::Weights) > budget;
    let tried = if loading { sizes.matrix(memory) } else { sizes.largest(project, memory) };
    // The message names the segment that the allocator asks the driver for.
    let tried = Bytes(allocation(tried.min(memory.allocated).0));
    let before_peak = memory.allocated - tried;
    // On the way there, pieces of this size have filled what they can.
    let filled = Bytes(budget.0 - budget.0 % tried.0);
    let allocated = if before_peak <= budget && !loading { before_peak } else { filled };
    let slack = (memory.reserved - memory.allocated).scale(allocated.0 as f64 / memory.allocated.0.max(1) as f64);
    let reserved_unused = slack.min(Bytes((budget - allocated).0 / 2));
    let free = budget - allocated - reserved_unused;
    // By definition less was free than was asked for.
    let free = if free >= tried { Bytes(tried.0.saturating_sub(1)) } else { free };
    OutOfMemory { tried, capacity: usable, free, allocated, reserved_unused }
}

/// Sizes that decide what a single allocation is.
struct Sizes {
    hidden: u64,
    mlp: u64,
    vocab: u64,
    layers: u64,
    weights: u64,
}

impl Sizes {
    fn of(project: &Project, catalog: &Catalog) -> Self {
        if let Some(c) = &project.custom {
            let layer =
                c.hidden.saturating_mul(c.hidden.saturating_mul(4).saturating_add(c.intermediate.saturating_mul(3)));
            let weights = c.layers.saturating_mul(layer).saturating_add(c.vocab.saturating_mul(c.hidden));
            return Self { hidden: c.hidden, mlp: c.intermediate, vocab: c.vocab, layers: c.layers.max(1), weights };
        }
        let model = catalog.model(&project.model);
        let weights = model.map_or(project.network.as_ref().map_or(0, |n| n.params), |m| m.params);
        match model.and_then(|m| m.language()) {
            Some(l) => Self {
                hidden: u64::from(l.hidden),
                mlp: u64::from(l.intermediate.max(l.moe_intermediate)),
                vocab: u64::from(l.vocab),
                layers: u64::from(l.layers.max(1)),
                weights,
            },
            None => Self { hidden: 0, mlp: 0, vocab: 0, layers: 24, weights },
        }
    }

    /// One weight matrix of a layer, as it is stored.
    fn matrix(&self, memory: &MemoryEstimate) -> Bytes {
        let weights = memory.part(Part::Weights);
        if self.hidden > 0 && self.weights > 0 {
            let bytes = weights.0 as f64 / self.weights as f64;
            Bytes((self.hidden.saturating_mul(self.mlp) as f64 * bytes) as u64)
        } else {
            // A layer has some seven matrices.
            weights.scale(1.0 / (7.0 * self.layers as f64))
        }
    }

    /// The allocation that is made last before the peak.
    fn largest(&self, project: &Project, memory: &MemoryEstimate) -> Bytes {
        let tokens = project.micro_batch.saturating_mul(project.sequence);
        let piece = |width: u64, bytes: u64| Bytes(tokens.saturating_mul(width).saturating_mul(bytes));
        match memory.moment {
            // Known from the walk; the optimizer's temporaries are made tensor by tensor, though.
            Moment::Loss | Moment::Forward | Moment::Backward if memory.largest > Bytes::ZERO => memory.largest,
            // One copy of the logits, in fp32 unless the loss leaves them in 16 bit.
            Moment::Loss if self.vocab > 0 => {
                piece(self.vocab, if memory.resolved.loss == LossKernel::NoUpcast { 2 } else { 4 })
            }
            Moment::Loss => memory.part(Part::Logits),
            // States and temporaries are made tensor by tensor, mostly in fp32.
            Moment::Optimizer => Bytes(self.hidden.saturating_mul(self.mlp).saturating_mul(4)).max(Bytes(1 << 21)),
            Moment::Loading | Moment::Encoding => self.matrix(memory),
            Moment::Forward | Moment::Backward if self.mlp > 0 => piece(self.mlp, 2),
            Moment::Forward | Moment::Backward => memory.part(Part::Activations).scale(0.5 / self.layers as f64),
        }
    }
}
