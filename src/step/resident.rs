//! What lies on the card between the kernels of a step, on one of several cards.

use super::optimizer;
use crate::network::{Dtype, Program, StepConfig, Way, Weight, round};
use crate::project::Offload;

/// Elements that `DeepSpeed` steps at a time (`sub_group_size` of its `ZeRO` configuration, 1e9 by default).
const SUB_GROUP: u64 = 1_000_000_000;

/// Resident memory of one card, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Resident {
    /// Weights between steps.
    pub(super) weights: u64,
    /// Optimizer state, fp32 master weights.
    pub(super) state: u64,
    /// Of them the fp32 master weights.
    pub(super) masters: u64,
    /// Gradients when all have come.
    pub(super) gradients: u64,
    /// Gradients that earlier micro-batches left.
    pub(super) earlier: u64,
    /// What the optimizer's step takes beside them.
    pub(super) temporary: u64,
    /// Largest single piece of that.
    pub(super) largest: u64,
    /// What waits in main memory instead, for this card.
    pub(super) host: u64,
}

impl Resident {
    pub(super) fn of(program: &Program, config: &StepConfig) -> Self {
        Self::with(&program.weights, program.buffers, config)
    }

    /// The same for weights of which those alike may stand together (see [`alike`]).
    pub(super) fn with(weights: &[Weight], buffers: u64, config: &StepConfig) -> Self {
        let shards = &config.shards;
        let sum = |bytes: &dyn Fn(&Weight) -> u64| weights.iter().map(bytes).fold(0, u64::saturating_add);
        let (away_weights, away_state) = away(config);
        let whole = sum(&|w| shards.stored_bytes(w)).saturating_add(buffers);
        let update = optimizer::update(weights, config);
        // `main_grad` of Megatron's contiguous buffer is fp32.
        let gradient_format = |w: &Weight| if shards.way == Way::Megatron { Dtype::F32 } else { shards.kept(w) };
        let counts = |w: &Weight| w.trained || shards.frozen_gradients;
        let gradients =
            sum(&|w| if counts(w) { sized(w, gradient_format(w).bytes()) } else { 0 }) / shards.gradients.max(1);
        let earlier = if shards.unsynced {
            // Flat gradients wait as they come, others in the format that they are summed in
            // (`to_accumulated_grad_if_needed` of `_fsdp_param.py`).
            let wide = if shards.way == Way::PerParameter { shards.reduced } else { None };
            sum(&|w| if counts(w) { sized(w, wide.unwrap_or(w.dtype).bytes()) } else { 0 })
        } else {
            gradients
        };
        let mut temporary = update.temporary / shards.optimizer.max(1);
        if shards.way == Way::Zero && shards.weights > 1 {
            temporary = temporary.min(SUB_GROUP * 8);
        } else if shards.way == Way::Zero {
            // `self.flatten(self.averaged_gradients[i]).to(...)` in stage_1_and_2.py: the flat 16-bit copy first.
            temporary = temporary.saturating_add(gradients);
        }
        if shards.way == Way::Megatron {
            // Gradients are fp32 already.
            temporary = 0;
        }
        let stored = whole / shards.weights.max(1);
        let state = update.state / shards.optimizer.max(1);
        let (weights, waiting) = if away_weights { (0, stored) } else { (stored, 0) };
        if away_state {
            // Megatron's gradient buffer stays on the card (`HybridDeviceOptimizer` copies from it).
            let buffered = shards.way == Way::Megatron;
            // `reduce_ready_partitions_and_remove_grads` of DeepSpeed's stage_1_and_2.py: without divided gradients (stage
            // 1, all that a pipeline allows) they wait whole on the card for the last micro-batch.
            let first_stage = shards.pipeline > 1 || (shards.gradients <= 1 && shards.optimizer > 1);
            let waits = shards.way == Way::Zero && first_stage && config.accumulation > 1;
            // ZeRO-Offload (Ren et al. 2021), section 4.1: states, master weights and gradients are on the CPU's side.
            let moved = if buffered { 0 } else { gradients };
            return Self {
                weights,
                gradients: if buffered || waits { gradients } else { 0 },
                earlier: if shards.unsynced || buffered || waits { earlier } else { 0 },
                host: match config.shards.away {
                    Offload::Nvme => on_disk(state),
                    _ => waiting.saturating_add(state).saturating_add(moved),
                },
                ..Self::default()
            };
        }
        Self {
            weights,
            state,
            masters: update.masters / shards.optimizer.max(1),
            host: waiting,
            gradients,
            earlier,
            temporary,
            largest: update.largest / shards.optimizer.max(1),
        }
    }
}

/// Main memory for what is on a disk: `DeepSpeed` brings states in and out a sub-group at a time (weight, gradient and two
/// moments in fp32), and weights through `buffer_count` 5 buffers of `buffer_size` 1e8 elements (`offload_param`).
fn on_disk(state: u64) -> u64 {
    state.min(SUB_GROUP * 16).saturating_add(5 * 100_000_000 * 2)
}

/// Whether weights, and whether gradients and states, wait in main memory.
pub(super) fn away(config: &StepConfig) -> (bool, bool) {
    config.shards.away.parts()
}

fn sized(w: &Weight, element: u64) -> u64 {
    round(w.numel.saturating_mul(element)).saturating_mul(w.times)
}

/// The weights with those alike counted together: blocks of a network repeat, and a table of hundreds of rows becomes one
/// of dozens.
pub(super) fn alike(weights: &[Weight]) -> Vec<Weight> {
    /// How far back one like it is looked for: blocks that repeat stand near each other.
    const BACK: usize = 40;
    let mut rows: Vec<Weight> = Vec::new();
    for w in weights {
        let first = rows.len().saturating_sub(BACK);
        let same = |row: &&mut Weight| Weight { times: w.times, ..**row } == *w;
        match rows.iter_mut().skip(first).find(same) {
            Some(row) => row.times = row.times.saturating_add(w.times),
            None => rows.push(*w),
        }
    }
    rows
}
