//! What stays on one of several cards, and what waits in main memory.

use super::{M, config, matrix};
use crate::network::{Dtype, Shards, StepConfig, StepImpl, Way, Weight};
use crate::project::{Offload, Optimizer};
use crate::step::resident::{Resident, alike};

/// Four trained and two frozen bf16 matrices of 2 MiB.
fn weights() -> [Weight; 2] {
    let trained = matrix(1024, 1024, Dtype::Bf16, 4);
    [trained, Weight { trained: false, times: 2, ..trained }]
}

fn with(shards: Shards, accumulation: u64) -> Resident {
    let config = StepConfig { accumulation, shards, ..config(Optimizer::AdamW, StepImpl::Foreach) };
    Resident::with(&weights(), 512, &config)
}

#[test]
fn one_card_has_it_all() {
    let expected = Resident {
        weights: 12 * M + 512,
        state: 16 * M,
        gradients: 8 * M,
        earlier: 8 * M,
        temporary: 8 * M,
        largest: 2 * M,
        ..Resident::default()
    };
    assert_eq!(with(Shards::default(), 1), expected);
}

#[test]
fn each_part_is_divided_by_its_own_number() {
    let divided = Shards { weights: 4, gradients: 2, optimizer: 8, ..Shards::default() };
    let expected = Resident {
        weights: (12 * M + 512) / 4,
        state: 2 * M,
        gradients: 4 * M,
        earlier: 4 * M,
        temporary: M,
        largest: M / 4,
        ..Resident::default()
    };
    assert_eq!(with(divided, 1), expected);
    // Parts in fp32.
    let wide = with(Shards { stored: Some(Dtype::F32), ..divided }, 1);
    assert_eq!((wide.weights, wide.state, wide.gradients), ((24 * M + 512) / 4, 4 * M, 8 * M));
    // Gradients that wait for the last micro-batch are whole, and in the format that they come or are summed in.
    let flat = Shards { unsynced: true, reduced: Some(Dtype::F32), way: Way::Flat, ..divided };
    assert_eq!((with(flat, 1).earlier, with(flat, 1).gradients), (8 * M, 4 * M));
    assert_eq!(with(Shards { way: Way::PerParameter, ..flat }, 1).earlier, 16 * M);
    // FSDP's flat weight has gradients for what is frozen in it.
    assert_eq!(with(Shards { frozen_gradients: true, ..divided }, 1).gradients, 6 * M);
    // Megatron's are fp32, and its step takes nothing more.
    let megatron = with(Shards { way: Way::Megatron, ..divided }, 1);
    assert_eq!((megatron.gradients, megatron.temporary), (8 * M, 0));
    // ZeRO-1 and -2 flatten the gradients beside the step's own temporaries; stage 3 goes by sub-groups.
    let zero = |weights| with(Shards { way: Way::Zero, weights, ..divided }, 1).temporary;
    assert_eq!((zero(1), zero(4)), (M + 4 * M, M));
}

#[test]
fn stage_three_steps_a_billion_numbers_at_a_time() {
    // 16 GiB of bf16: the denominator of all would be as much.
    let large = [matrix(1 << 16, 1 << 17, Dtype::Bf16, 1)];
    let shards = Shards { way: Way::Zero, weights: 2, gradients: 2, ..Shards::default() };
    let config = StepConfig { shards, ..config(Optimizer::AdamW, StepImpl::Foreach) };
    assert_eq!(Resident::with(&large, 0, &config).temporary, 8_000_000_000);
    // From a disk come a sub-group of states, 16 bytes a number, and five buffers of 1e8 numbers of two bytes.
    let away = Shards { away: Offload::Nvme, ..shards };
    assert_eq!(Resident::with(&large, 0, &StepConfig { shards: away, ..config }).host, 16_000_000_000 + 1_000_000_000);
    assert_eq!(with(away, 1).host, 16 * M + 1_000_000_000);
}

#[test]
fn what_waits_in_main_memory() {
    let shards = Shards { way: Way::Zero, optimizer: 8, away: Offload::Optimizer, ..Shards::default() };
    // One micro-batch: gradients go to the processor as they come. Of several they wait on the card (stage 1).
    let one = Resident { weights: 12 * M + 512, host: 2 * M + 8 * M, ..Resident::default() };
    assert_eq!(with(shards, 1), one);
    let waits = Resident { gradients: 8 * M, earlier: 8 * M, ..one };
    assert_eq!(with(shards, 2), waits);
    // Stage 2 sends them away each time, unless a pipeline holds it to stage 1.
    let second = Shards { gradients: 8, ..shards };
    assert_eq!(with(second, 2), Resident { host: 2 * M + M, ..one });
    assert_eq!(
        with(Shards { pipeline: 2, ..second }, 2),
        Resident { gradients: M, earlier: M, host: 2 * M + M, ..one }
    );
    // On one card alone nothing is divided, and nothing waits.
    assert_eq!(with(Shards { optimizer: 1, ..shards }, 2), Resident { host: 16 * M + 8 * M, ..one });
    // Megatron's buffer stays, in fp32.
    let megatron = with(Shards { way: Way::Megatron, ..shards }, 1);
    assert_eq!(megatron, Resident { gradients: 16 * M, earlier: 16 * M, host: 2 * M, ..one });
    // Of FSDP, whose gradients are not summed until the last micro-batch, the earlier ones stay.
    let flat = with(Shards { way: Way::Flat, unsynced: true, ..shards }, 2);
    assert_eq!((flat.gradients, flat.earlier), (0, 8 * M));
}

#[test]
fn weights_alike_are_counted_together() {
    let [trained, frozen] = weights();
    let found = alike(&[trained, frozen, Weight { times: 3, ..trained }, frozen]);
    assert_eq!(found, [Weight { times: 7, ..trained }, Weight { times: 4, ..frozen }]);
    assert!(alike(&[]).is_empty());
}
