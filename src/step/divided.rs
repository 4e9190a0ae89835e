//! What the caching allocator holds on one of several cards that divide weights, gradients or states.

use super::allocator::Allocator;
use super::optimizer;
use super::resident::{self, Resident};
use super::run::{Walk, run_observed};
use crate::network::{Program, StepConfig, Way};
use crate::units::Bytes;

/// Reserved memory beyond the live peak: one step as it goes when everything that stays is there already.
pub fn divided_step(program: &Program, config: &StepConfig) -> Bytes {
    let mut allocator = Allocator::default();
    lay_out(program, config, &mut allocator);
    let result = run_observed(program, config, Walk::Full, &mut allocator);
    // Whole weights and pipelines' waiting activations have streams and pools of their own.
    (Bytes(allocator.peak()) + result.gathered + result.waiting) - result.peak
}

/// Puts weights, states and buffers into a simulated allocator, tensor by tensor, as they lie there between steps.
fn lay_out(program: &Program, config: &StepConfig, allocator: &mut Allocator) {
    let shards = &config.shards;
    let (away_weights, away_state) = resident::away(config);
    for w in &program.weights {
        let times = w.times.max(1);
        let state = optimizer::update(std::slice::from_ref(w), config).state / times / shards.optimizer.max(1);
        for _ in 0..w.times {
            if !away_weights {
                allocator.resident(shards.stored_bytes(w) / times / shards.weights.max(1));
            }
            if w.trained && state > 0 && !away_state {
                allocator.resident(state / 2);
                allocator.resident(state - state / 2);
            }
        }
    }
    allocator.resident(program.batch_bytes);
    allocator.resident(shards.buffers);
    if shards.way == Way::Megatron || shards.unsynced {
        allocator.resident(Resident::of(program, config).earlier);
    }
}
