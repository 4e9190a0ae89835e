//! What the optimizer remembers and what its step takes.

use crate::network::{Dtype, StepConfig, StepImpl, Weight, round};
use crate::project::Optimizer;

/// An optimizer's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Update {
    /// State between steps, fp32 master weights included.
    pub state: u64,
    /// Of it the fp32 master weights.
    pub masters: u64,
    /// Most that the step itself takes beside weights, gradients and state.
    pub temporary: u64,
    /// Largest single piece of that.
    pub largest: u64,
}

const fn sized(numel: u64, dtype: Dtype) -> u64 {
    round(numel.saturating_mul(dtype.bytes()))
}

/// State and step of the configured optimizer over the trained weights.
pub(super) fn update(weights: &[Weight], config: &StepConfig) -> Update {
    let mut total = Update::default();
    let mut master = 0;
    let mut copies = 0;
    let mut half = 0;
    for w in weights.iter().filter(|w| w.trained) {
        let dtype = if config.master_weights { Dtype::F32 } else { config.shards.kept(w) };
        let (state, all_at_once, one) = per_weight(w, dtype, config);
        total.state = total.state.saturating_add(state.saturating_mul(w.times));
        total.temporary = match config.optimizer_impl {
            StepImpl::Foreach if all_at_once => total.temporary.saturating_add(one.saturating_mul(w.times)),
            _ => total.temporary.max(one),
        };
        total.largest = total.largest.max(one);
        if config.master_weights {
            master += sized(w.numel, Dtype::F32) * w.times;
            copies += sized(w.numel, Dtype::F32) * w.times;
            half += w.stored * w.times;
        }
    }
    if config.optimizer == Optimizer::AdamW8bit || config.optimizer == Optimizer::PagedAdamW8bit {
        // Two quantization maps of 256 fp32 values.
        total.state += 2 * sized(256, Dtype::F32);
    }
    if config.master_weights {
        total.state = total.state.saturating_add(master);
        total.masters = master;
        // First the 16-bit gradients with their fp32 copies; then the copies alone, with the step's own temporaries.
        let during = copies.saturating_add(total.temporary);
        total.temporary = copies.max(during.saturating_sub(half));
    }
    total
}

/// State bytes of one weight; whether foreach takes the temporary for all weights at once; the temporary for one.
fn per_weight(w: &Weight, dtype: Dtype, config: &StepConfig) -> (u64, bool, u64) {
    let own = sized(w.numel, dtype);
    let foreach = config.optimizer_impl == StepImpl::Foreach;
    let fused = config.optimizer_impl == StepImpl::Fused;
    match config.optimizer {
        // exp_avg and exp_avg_sq. The step's denominator: one state (foreach), root and quotient (loop), none (fused).
        Optimizer::AdamW | Optimizer::PagedAdamW => {
            let temporary = if config.optimizer_impl == StepImpl::Renewing {
                // The new weight and states, and the update.
                4 * own
            } else if fused {
                0
            } else if foreach {
                own
            } else {
                2 * own
            };
            (2 * own, true, temporary)
        }
        // bitsandbytes: two one-byte states with an fp32 scale per 256 values; small tensors stay fp32.
        Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit => {
            let state = if w.numel < 4096 {
                2 * sized(w.numel, Dtype::F32)
            } else {
                2 * (sized(w.numel, Dtype::U8) + sized(w.numel.div_ceil(256), Dtype::F32))
            };
            (state, false, 0)
        }
        Optimizer::Sgd => (0, false, 0),
        Optimizer::SgdMomentum => (own, false, 0),
        // One moment; the sign update is a clone and a sum.
        Optimizer::Lion => (own, false, 2 * own),
        Optimizer::Adafactor => adafactor(w, dtype),
        // One moment for matrices; Newton-Schulz works in bf16 on the matrix and two products of it.
        Optimizer::Muon => {
            if w.rows > 1 {
                (own, false, 3 * sized(w.numel, Dtype::Bf16))
            } else {
                (2 * own, true, if fused { 0 } else { own })
            }
        }
        // Moments in a projection of rank 128 or so of the smaller side (GaLore, arXiv 2403.03507).
        Optimizer::Galore => {
            if w.rows > 1 {
                let cols = w.numel / w.rows.max(1);
                let (small, large) = (w.rows.min(cols), w.rows.max(cols));
                let rank = small.min(128);
                (2 * sized(rank * large, dtype) + sized(rank * small, dtype), false, own)
            } else {
                (2 * own, true, own)
            }
        }
    }
}

/// transformers' Adafactor: row and column sums (or the full second moment of a vector) in fp32. The step squares the
/// gradient and makes the update at full size; 16-bit gradients and weights are copied to fp32 for it.
fn adafactor(w: &Weight, dtype: Dtype) -> (u64, bool, u64) {
    let full = sized(w.numel, Dtype::F32);
    let temporary = if dtype.is_half() { 4 * full } else { 2 * full };
    let (row, column) = w.factors;
    (sized(row, Dtype::F32) + sized(column, Dtype::F32), false, temporary)
}
