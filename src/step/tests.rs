//! Sizes of a step worked out by hand, from the formulas that the sources give.
#![allow(clippy::unwrap_used)]

mod held;
mod stays;

use super::optimizer::{Update, update};
use super::peaks::Peaks;
use super::{
    Allocator, AttentionKernel, Code, Course, Dtype, Loss, Observer, Phase, Shards, StepConfig, StepImpl, Task,
    Trained, Way, course,
};
use crate::network::{Stage, Weight, round};
use crate::project::{Checkpointing, Optimizer};

/// A mebibyte: of numbers, too, so that nothing is rounded.
const M: u64 = 1 << 20;

fn config(optimizer: Optimizer, optimizer_impl: StepImpl) -> StepConfig {
    StepConfig {
        batch: 1,
        sequence: 1,
        decoder_sequence: None,
        task: Task::LanguageModel,
        trained: Trained::All,
        weights: Dtype::F32,
        autocast: None,
        master_weights: false,
        quantization: None,
        kbit_prepare: false,
        code: Code::default(),
        adapter: Dtype::F32,
        optimizer,
        optimizer_impl,
        checkpointing: Checkpointing::Off,
        reentrant: false,
        attention: AttentionKernel::Flash,
        loss: Loss::Upcast,
        hold_outputs: false,
        accumulation: 1,
        shards: Shards::default(),
    }
}

/// A trained matrix of so many rows and columns, so many times.
fn matrix(rows: u64, columns: u64, dtype: Dtype, times: u64) -> Weight {
    let numel = rows * columns;
    let factors = (rows, columns);
    Weight { numel, stored: round(numel * dtype.bytes()), dtype, trained: true, times, rows, factors }
}

/// State, temporary, and the largest piece of it, for these weights.
fn of(weights: &[Weight], config: &StepConfig) -> (u64, u64, u64) {
    let Update { state, temporary, largest, .. } = update(weights, config);
    (state, temporary, largest)
}

#[test]
fn optimizers_remember_what_their_papers_say() {
    use Optimizer as O;
    use StepImpl as I;
    // Three fp32 matrices of a mebi numbers, 4 MiB each, and a frozen one that does not count.
    let frozen = Weight { trained: false, ..matrix(1024, 1024, Dtype::F32, 9) };
    let three = [matrix(1024, 1024, Dtype::F32, 3), frozen];
    for (optimizer, how, expected) in [
        // Two moments. A denominator for all at once; root and quotient of one; nothing; new weight, states and update.
        (O::AdamW, I::Foreach, (24 * M, 12 * M, 4 * M)),
        (O::AdamW, I::Loop, (24 * M, 8 * M, 8 * M)),
        (O::AdamW, I::InBackward, (24 * M, 8 * M, 8 * M)),
        (O::AdamW, I::Fused, (24 * M, 0, 0)),
        (O::AdamW, I::Renewing, (24 * M, 16 * M, 16 * M)),
        (O::PagedAdamW, I::Foreach, (24 * M, 12 * M, 4 * M)),
        // Two bytes and two fp32 scales per 256 numbers, and two maps of 256 fp32 numbers for all.
        (O::AdamW8bit, I::Foreach, (3 * 2 * (M + 4 * M / 256) + 2048, 0, 0)),
        (O::PagedAdamW8bit, I::Loop, (3 * 2 * (M + 4 * M / 256) + 2048, 0, 0)),
        (O::Sgd, I::Foreach, (0, 0, 0)),
        (O::SgdMomentum, I::Loop, (12 * M, 0, 0)),
        // One moment; the sign of the update is a clone and a sum.
        (O::Lion, I::Loop, (12 * M, 8 * M, 8 * M)),
        // Sums of rows and of columns; the square of the gradient and the update.
        (O::Adafactor, I::Loop, (3 * 2 * 4096, 8 * M, 8 * M)),
        // One moment; the matrix and two products of it in bf16.
        (O::Muon, I::Foreach, (12 * M, 6 * M, 6 * M)),
    ] {
        assert_eq!(of(&three, &config(optimizer, how)), expected, "{optimizer:?} {how:?}");
    }
    // 16-bit gradients and weights are copied to fp32 for Adafactor's step.
    let half = [matrix(1024, 1024, Dtype::Bf16, 1)];
    assert_eq!(of(&half, &config(O::Adafactor, I::Loop)), (2 * 4096, 16 * M, 16 * M));
    // Vectors: AdamW in Muon's and GaLore's place.
    let vector = [matrix(1, 1024 * 1024, Dtype::F32, 2)];
    assert_eq!(of(&vector, &config(O::Muon, I::Foreach)), (16 * M, 8 * M, 4 * M));
    assert_eq!(of(&vector, &config(O::Muon, I::Fused)), (16 * M, 0, 0));
    assert_eq!(of(&vector, &config(O::Galore, I::Loop)), (16 * M, 4 * M, 4 * M));
    // GaLore: two moments of 128 by the larger side, and the projection of 128 by the smaller.
    for (rows, columns) in [(1024, 4096), (4096, 1024)] {
        let expected = (4 * (2 * 128 * 4096 + 128 * 1024), 16 * M, 16 * M);
        assert_eq!(of(&[matrix(rows, columns, Dtype::F32, 1)], &config(O::Galore, I::Loop)), expected);
    }
    let narrow = [matrix(64, 1024, Dtype::F32, 1)];
    let expected = (4 * (2 * 64 * 1024 + 64 * 64), 4 * 64 * 1024, 4 * 64 * 1024);
    assert_eq!(of(&narrow, &config(O::Galore, I::Loop)), expected);
    // bitsandbytes leaves tensors below 4096 numbers in fp32: 4095 take 16,384 bytes each, twice; 4096 a byte each and 16
    // scales in a block of 512.
    for (numel, state) in [(4095, 2 * 16_384), (4096, 2 * (4096 + 512))] {
        assert_eq!(of(&[matrix(1, numel, Dtype::F32, 1)], &config(O::AdamW8bit, I::Loop)).0, state + 2048, "{numel}");
    }
}

#[test]
fn masters_are_fp32_beside_16_bit() {
    let three = [matrix(1024, 1024, Dtype::Bf16, 3)];
    let of = |how, master_weights| update(&three, &StepConfig { master_weights, ..config(Optimizer::AdamW, how) });
    // In bf16 alone moments and denominators are bf16.
    let alone = of(StepImpl::Foreach, false);
    assert_eq!((alone.state, alone.masters, alone.temporary), (12 * M, 0, 6 * M));
    // Moments and masters in fp32. Copies of gradients in fp32 come while 16-bit ones are there; the step's own
    // temporaries, 12 MiB, when these 6 MiB are gone.
    let foreach = of(StepImpl::Foreach, true);
    let (state, masters, temporary) = (36 * M, 12 * M, (12 + 12 - 6) * M);
    assert_eq!((foreach.state, foreach.masters, foreach.temporary), (state, masters, temporary));
    // A fused step has no temporaries: the copies are the most.
    assert_eq!(of(StepImpl::Fused, true).temporary, 12 * M);
}

#[test]
fn walks_are_shared_by_what_they_depend_on() {
    let cut = Shards {
        tensor: 2,
        sequence_parallel: true,
        expert: 3,
        context: 4,
        pipeline: 5,
        stage: Stage::Last,
        in_flight: (6, 7),
        ..Shards::default()
    };
    let shards = Shards { weights: 8, gradients: 8, optimizer: 8, buffers: 9, live: 10, ..cut };
    let code = Code { zeroes_gradients: true, written_gelu: true, ..Code::default() };
    let given = StepConfig { code, accumulation: 11, shards, ..config(Optimizer::Lion, StepImpl::Fused) };
    let expected = StepConfig {
        code: Code { zeroes_gradients: false, ..code },
        shards: Shards { gradients: 2, ..cut },
        ..config(Optimizer::AdamW, StepImpl::Loop)
    };
    assert_eq!(course(&given), expected);
    // What a library divides decides the walk itself; how many cards divide the states does not, nor does how many earlier
    // micro-batches there are, nor the optimizer, unless it takes each gradient as it comes.
    let flat = StepConfig { shards: Shards { way: Way::Flat, ..shards }, ..given };
    let parts = Shards { way: Way::Flat, optimizer: 1, ..shards };
    let walked = StepConfig { accumulation: 2, shards: parts, ..expected };
    assert_eq!(course(&flat), walked);
    let taken = StepConfig { accumulation: 1, optimizer_impl: StepImpl::InBackward, code: expected.code, ..flat };
    let once = StepConfig { accumulation: 1, optimizer_impl: StepImpl::InBackward, ..walked };
    assert_eq!(course(&taken), once);
}

#[test]
fn a_course_is_written_down() {
    let mut asked = Course::of_requests();
    asked.alloc(0, 12 * M);
    asked.scratch(30 * M);
    asked.free(0);
    asked.alloc(1, 12 * M);
    asked.tick(Phase::Forward, &[1; 5], 1);
    assert!(asked.ticks.is_empty());
    let mut allocator = Allocator::default();
    asked.replay(&mut allocator);
    // Twelve and thirty; the second twelve take the place of the first.
    assert_eq!((allocator.peak(), allocator.live_peak()), (42 * M, 42 * M));
    let mut ticked = Course::default();
    ticked.alloc(0, M);
    ticked.tick(Phase::Loss, &[1, 2, 3, 4, 5], 6);
    assert_eq!(ticked.ticks, [(Phase::Loss, [1, 2, 3, 4, 11])]);
}

#[test]
fn the_highest_point_of_each_stretch_is_kept() {
    let mut peaks = Peaks::default();
    peaks.enter(7);
    peaks.note(10, || ([1, 2, 3, 4, 0], Phase::Forward, 5, 6));
    // As high, and lower.
    peaks.note(10, || ([9; 5], Phase::Loss, 9, 9));
    peaks.note(9, || ([9; 5], Phase::Loss, 9, 9));
    // Nothing happens in a stretch.
    peaks.enter(1);
    peaks.enter(8);
    peaks.mark();
    peaks.note(20, || ([4; 5], Phase::Backward, 2, 1));
    // A repetition that added two to the first, took four of the last, and divided three; three more of the kind.
    peaks.repeat(&[0, 0, 0, 0, 8], &[2, 0, 0, 0, 4], (1, 4), 3);
    let found: Vec<_> = peaks.all().iter().map(|p| (p.total, p.live, p.phase, p.largest, p.reduced, p.own)).collect();
    let first = (10, [1, 2, 3, 4, 0], Phase::Forward, 5, 6, 7);
    let walked = (20, [4; 5], Phase::Backward, 2, 1, 8);
    let last = (22, [10, 4, 4, 4, 0], Phase::Backward, 2, 1 + 3 * 3, 8);
    assert_eq!(found, [first, walked, last]);
}
