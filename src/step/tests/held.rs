//! What the allocator comes to hold over weights and states alone: a program without operators.

use super::{M, config};
use crate::network::{Dtype, Program, Shards, StepConfig, StepImpl, Way, Weight};
use crate::project::{Offload, Optimizer};
use crate::step::{Held, divided_step, first_steps, least, short_of, steady_step};
use crate::units::Bytes;

/// Four trained bf16 matrices of 11 MiB and one block of 512 bytes: each gets a segment of 12 MiB, and so small a rest of
/// it is in use with it.
fn program() -> Program {
    let numel = 11 * M / 2 + 256;
    let weight = Weight {
        numel,
        stored: 2 * numel,
        dtype: Dtype::Bf16,
        trained: true,
        times: 4,
        rows: 2,
        factors: (2, numel / 2),
    };
    Program { weights: vec![weight], ..Program::default() }
}

fn held(reserved: u64, allocated: u64) -> Held {
    Held { reserved: Bytes(reserved), allocated: Bytes(allocated) }
}

#[test]
fn first_steps_hold_weights_states_and_what_the_step_takes() {
    let with = |how| first_steps(&program(), &config(Optimizer::AdamW, how));
    // Four weights and eight moments; an empty batch is a block of the first small segment.
    let small = 2 * M;
    assert_eq!(with(StepImpl::Fused), held(12 * 12 * M + small, 12 * 12 * M + 512));
    // All four denominators at once.
    assert_eq!(with(StepImpl::Foreach), held(16 * 12 * M + small, 16 * 12 * M + 512));
    // Root and quotient, 22 MiB and two blocks of a segment of 24: what is left of that is free.
    assert_eq!(with(StepImpl::Loop), held((144 + 24) * M + small, (144 + 22) * M + 1024 + 512));
    // Weight and moments made anew before the old ones go: of the first weight, seven tensors and three weights are there;
    // of the last, seven and three times three.
    assert_eq!(with(StepImpl::Renewing), held((7 + 9) * 12 * M + small, (7 + 9) * 12 * M + 512));
    // Paged moments are no matter of the allocator.
    let paged = first_steps(&program(), &config(Optimizer::PagedAdamW, StepImpl::Fused));
    assert_eq!(paged, held(48 * M + small, 48 * M + 512));
}

#[test]
fn masters_are_held_one_by_one() {
    let with = StepConfig { master_weights: true, ..config(Optimizer::AdamW, StepImpl::Loop) };
    // Weights of 12; masters, two moments, copies of gradients, and root and quotient of bf16 size: 24 each, four times.
    assert_eq!(first_steps(&program(), &with).reserved, Bytes(4 * (12 + 24 + 2 * 24 + 24 + 24) * M + 2 * M));
}

#[test]
fn a_step_that_finds_everything_there() {
    assert_eq!(steady_step(&program(), &config(Optimizer::AdamW, StepImpl::Foreach)), Bytes((48 + 96 + 2) * M));
    assert_eq!(steady_step(&program(), &config(Optimizer::Sgd, StepImpl::Foreach)), Bytes((48 + 2) * M));
}

#[test]
fn a_card_is_short_of_what_is_in_use_at_once() {
    let config = config(Optimizer::AdamW, StepImpl::Foreach);
    let all = held(194 * M, 192 * M + 512);
    assert_eq!(least(&program(), &config), all);
    assert_eq!(short_of(&program(), &config, |_| Bytes(193 * M)), Some(all));
    assert_eq!(short_of(&program(), &config, |_| Bytes(194 * M)), None);
    // What is asked is the room beside what is in use.
    let asked = |live| {
        assert_eq!(live, all.allocated);
        Bytes::ZERO
    };
    assert_eq!(short_of(&program(), &config, asked), Some(all));
    // Weights that are made anew are not followed while somebody waits.
    let renewing = StepConfig { optimizer_impl: StepImpl::Renewing, ..config };
    assert_eq!(short_of(&program(), &renewing, |_| Bytes::ZERO), None);
}

#[test]
fn parts_of_weights_and_states_share_segments() {
    // Over so many cards that nothing is left of the gradients but 44 bytes.
    let shards = Shards { weights: 2, optimizer: 2, gradients: M, ..Shards::default() };
    let with = |shards| divided_step(&program(), &StepConfig { shards, ..config(Optimizer::AdamW, StepImpl::Fused) });
    // Halves of 5.5 MiB, three in a segment of 20: of four weights and eight moments. In use are halves of 12 tensors.
    let in_use = 6 * (11 * M + 512) + 44;
    assert_eq!(with(shards), Bytes((4 * 20 + 2) * M - in_use));
    // Gradients of earlier micro-batches, whole: 44 MiB in a segment of 46.
    assert_eq!(with(Shards { unsynced: true, ..shards }), Bytes((4 * 20 + 46 + 2) * M - in_use));
    // States in main memory: four halves in two segments. The gradients go there too.
    let away = Shards { away: Offload::Optimizer, ..shards };
    assert_eq!(with(away), Bytes((2 * 20 + 2) * M - 2 * (11 * M + 512)));
    // Megatron's gradients are fp32, in a buffer that is there from the start.
    let megatron = Shards { way: Way::Megatron, gradients: 1, ..shards };
    let (buffer, halves) = (88 * M + 4096, 6 * (11 * M + 512));
    assert_eq!(with(megatron), Bytes((4 * 20 + 90 + 2) * M - (halves + buffer)));
}
