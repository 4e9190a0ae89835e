//! How libraries lay a step out over cards, row by row from their own documentation.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::catalog::Catalog;
use crate::estimate::stack;
use crate::project::{Method, Objective, Parallel, Precision};
use crate::step::Task;

/// A project of an 8 B model (Llama 3.1: 32 layers of 4,096) on so many cards.
fn project(framework: Framework, sharding: Sharding, count: u32) -> Project {
    let mut p = Project {
        model: "llama-3.1-8b".to_owned(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        framework,
        ..Project::default()
    };
    (p.hardware.count, p.hardware.sharding) = (count, sharding);
    p
}

/// Its configuration, laid out.
fn laid(p: &Project, stage: Stage) -> (Shards, StepConfig) {
    let catalog = Catalog::bundled();
    let model = catalog.model("llama-3.1-8b").unwrap().language().unwrap();
    let mut config = stack::configure(p, 32, Task::LanguageModel, None);
    config.shards = Shards::default();
    lay_out(p, model, stage, &mut config);
    (config.shards, config)
}

#[test]
fn automatic_sharding_is_what_the_library_does() {
    let of = |framework, given, count| sharding(&project(framework, given, count));
    assert_eq!(of(Framework::Transformers, Sharding::Auto, 1), Sharding::Ddp);
    assert_eq!(of(Framework::Transformers, Sharding::Zero2, 1), Sharding::Ddp);
    assert_eq!(of(Framework::Transformers, Sharding::Zero3Offload, 1), Sharding::Zero3Offload);
    assert_eq!(of(Framework::Transformers, Sharding::Auto, 2), Sharding::Zero3);
    assert_eq!(of(Framework::Megatron, Sharding::Auto, 2), Sharding::Zero1);
    assert_eq!(of(Framework::Megatron, Sharding::Zero2, 2), Sharding::Zero2);
}

#[test]
fn each_library_has_its_way() {
    use Framework as F;
    use Sharding as S;
    for (given, framework, expected) in [
        (S::Ddp, F::Megatron, Way::Whole),
        (S::DeviceMap, F::Transformers, Way::Whole),
        (S::Fsdp2, F::Transformers, Way::PerParameter),
        (S::Zero3, F::Torchtitan, Way::PerParameter),
        (S::Zero3, F::Torchtune, Way::PerParameter),
        (S::Fsdp, F::Transformers, Way::Flat),
        (S::FsdpGrad, F::Transformers, Way::Flat),
        (S::FsdpHybrid, F::Pytorch, Way::Flat),
        (S::Zero3, F::Litgpt, Way::Flat),
        (S::Zero3, F::LlmFoundry, Way::Flat),
        (S::Zero1, F::Megatron, Way::Megatron),
        (S::Zero1, F::Transformers, Way::Zero),
        (S::Zero3Offload, F::Axolotl, Way::Zero),
    ] {
        assert_eq!(way(given, framework), expected, "{given:?} {framework:?}");
    }
}

#[test]
fn parts_are_divided_as_the_sharding_says() {
    use Sharding as S;
    for (given, weights, gradients, optimizer) in
        [(S::Ddp, 1, 1, 1), (S::Zero1, 1, 1, 4), (S::Zero2, 1, 4, 4), (S::Zero3, 4, 4, 4), (S::Fsdp2, 4, 4, 4)]
    {
        let (s, _) = laid(&project(Framework::Transformers, given, 4), Stage::Only);
        assert_eq!((s.weights, s.gradients, s.optimizer), (weights, gradients, optimizer), "{given:?}");
        assert!(!s.keeps_whole && s.tensor == 1 && !s.sequence_parallel && s.stage == Stage::Only);
    }
    // Sixteen cards of two machines: hybrid within one; a group of one's own, never of more than there are.
    let hybrid = laid(&project(Framework::Pytorch, S::FsdpHybrid, 16), Stage::Only).0;
    assert_eq!((hybrid.weights, hybrid.optimizer), (8, 8));
    for (group, expected) in [(0, 16), (4, 4), (64, 16)] {
        let mut p = project(Framework::Pytorch, S::Fsdp, 16);
        p.hardware.parallel.group = group;
        assert_eq!(laid(&p, Stage::Only).0.weights, expected, "{group}");
    }
    assert!(laid(&project(Framework::Pytorch, S::FsdpGrad, 4), Stage::Only).0.keeps_whole);
    // Matrices over two cards and two stages leave four of sixteen that see other data.
    let mut cut = project(Framework::Megatron, S::Zero1, 16);
    cut.hardware.parallel = Parallel { tensor: 2, pipeline: 2, ..Parallel::default() };
    let s = laid(&cut, Stage::Last).0;
    assert_eq!((s.tensor, s.pipeline, s.optimizer, s.stage), (2, 2, 4, Stage::Last));
    assert!(s.sequence_parallel && s.way == Way::Megatron);
}

#[test]
fn formats_are_the_librarys() {
    let four = |framework, given| laid(&project(framework, given, 4), Stage::Only);
    // FSDP: fp32 parts, 16-bit whole weights; torchtitan sums in fp32.
    let (s, c) = four(Framework::Transformers, Sharding::Fsdp);
    assert_eq!((s.stored, s.reduced, c.weights, c.autocast), (Some(Dtype::F32), None, Dtype::Bf16, None));
    assert!(!c.master_weights && !s.frozen_gradients && !s.unsynced);
    assert_eq!(four(Framework::Torchtitan, Sharding::Fsdp2).0.reduced, Some(Dtype::F32));
    assert!(four(Framework::Litgpt, Sharding::Fsdp).0.frozen_gradients);
    // DeepSpeed: 16-bit weights with fp32 masters.
    let (s, c) = four(Framework::Transformers, Sharding::Zero3);
    assert_eq!((s.stored, c.weights, c.autocast, c.master_weights), (None, Dtype::Bf16, None, true));
    // In fp32 there is nothing to master.
    let wide = Project { precision: Precision::Fp32, ..project(Framework::Transformers, Sharding::Zero3, 4) };
    let (_, c) = laid(&wide, Stage::Only);
    assert_eq!((c.weights, c.master_weights), (Dtype::F32, false));
    assert_eq!(four(Framework::Megatron, Sharding::Zero1).1.optimizer_impl, StepImpl::Fused);
    // Preferences are compared on logits as they are.
    let dpo = Project { objective: Objective::Preference, ..project(Framework::Transformers, Sharding::Zero3, 4) };
    let (_, c) = laid(&dpo, Stage::Only);
    assert!(c.loss != Loss::Upcast);
    // Whole copies stay as they are.
    let (s, c) = four(Framework::Transformers, Sharding::Ddp);
    assert_eq!((s.stored, c.weights, c.autocast), (None, Dtype::F32, Some(Dtype::Bf16)));
}

#[test]
fn gradients_wait_where_nothing_is_summed_between() {
    let of = |framework, given, count, accumulation| {
        let p = Project { accumulation, ..project(framework, given, count) };
        (gathers_whole_gradients(&p), laid(&p, Stage::Only).0.unsynced)
    };
    assert_eq!(of(Framework::Transformers, Sharding::Fsdp, 4, 2), (true, true));
    assert_eq!(of(Framework::Transformers, Sharding::Fsdp, 4, 1), (false, false));
    assert_eq!(of(Framework::Transformers, Sharding::Fsdp, 1, 2), (false, false));
    assert_eq!(of(Framework::Transformers, Sharding::Zero3, 4, 2), (false, false));
    assert_eq!(of(Framework::Torchtitan, Sharding::Fsdp2, 4, 2), (false, false));
    assert_eq!(of(Framework::LlmFoundry, Sharding::Fsdp, 4, 2), (false, false));
}

#[test]
fn buckets_are_those_of_the_examples() {
    let of = |framework, given| laid(&project(framework, given, 4), Stage::Only).0;
    // Stage 3: the hidden size squared, and 1e9 numbers that stay, in 16 bit.
    let three = of(Framework::Transformers, Sharding::Zero3);
    assert_eq!((three.buffers, three.live), (2 * 4096 * 4096, 2_000_000_000));
    for (framework, bytes) in [
        (Framework::Transformers, 400_000_000),
        (Framework::MsSwift, 400_000_000),
        (Framework::Axolotl, 2 * 4096 * 4096),
        (Framework::LlamaFactory, 2_000_000_000),
        (Framework::Pytorch, 1_000_000_000),
    ] {
        let two = of(framework, Sharding::Zero2);
        assert_eq!((two.buffers, two.live), (bytes, 0), "{framework:?}");
    }
    assert_eq!(of(Framework::Transformers, Sharding::Fsdp).buffers, 0);
    assert_eq!(of(Framework::Megatron, Sharding::Zero1).buffers, 0);
}

#[test]
fn what_waits_in_main_memory_is_the_engines() {
    let of = |given, offload, count| {
        laid(&Project { offload, ..project(Framework::Transformers, given, count) }, Stage::Only).0
    };
    assert_eq!(of(Sharding::Zero3Offload, Offload::None, 4).away, Offload::All);
    assert_eq!(of(Sharding::Zero3Offload, Offload::Nvme, 4).away, Offload::Nvme);
    assert_eq!(of(Sharding::Zero3Offload, Offload::None, 1).away, Offload::All);
    assert_eq!(of(Sharding::Zero2, Offload::Optimizer, 4).away, Offload::Optimizer);
    assert_eq!(of(Sharding::Ddp, Offload::Optimizer, 4).away, Offload::None);
    // On one card DeepSpeed's engine alone; not over weights in few bits, nor in a library that does not take it.
    let alone = of(Sharding::Auto, Offload::Optimizer, 1);
    assert_eq!((alone.way, alone.away, alone.weights), (Way::Zero, Offload::Optimizer, 1));
    assert_eq!(of(Sharding::Auto, Offload::None, 1).way, Way::Whole);
    let offload = Offload::Optimizer;
    let few = Project { offload, method: Method::QLora, ..project(Framework::Transformers, Sharding::Auto, 1) };
    assert_eq!(laid(&few, Stage::Only).0.way, Way::Whole);
    let other = Project { offload, ..project(Framework::Ultralytics, Sharding::Auto, 1) };
    assert_eq!(laid(&other, Stage::Only).0.way, Way::Whole);
}

/// Micro-batches under way, in pieces of a card's layers: (pieces, of how many).
#[test]
fn a_pipeline_has_as_many_under_way_as_narayanan_counts() {
    let of = |stage: Stage, number: u64, chunks: u32, accumulation: u64| {
        let mut p = Project { accumulation, ..project(Framework::Megatron, Sharding::Zero1, 4) };
        p.hardware.parallel = Parallel { pipeline: 4, chunks, ..Parallel::default() };
        let mut config = stack::configure(&p, 32, Task::LanguageModel, None);
        let mut shards = Shards { pipeline: 4, stage, ..Shards::default() };
        pipeline(&p, Way::Megatron, number, &mut config, &mut shards);
        assert!(!shards.keeps_whole && !shards.unsynced);
        (shards.in_flight, config.accumulation)
    };
    // Four stages, sixteen micro-batches: 4 on the first, 3 on the second, 1 on the last.
    assert_eq!(of(Stage::First, 0, 1, 16), ((4, 1), 16));
    assert_eq!(of(Stage::Inner, 1, 1, 16), ((3, 1), 16));
    assert_eq!(of(Stage::Inner, 2, 1, 16), ((2, 1), 16));
    assert_eq!(of(Stage::Last, 3, 1, 16), ((1, 1), 16));
    // Two pieces on each card: 4 (2 - 1) + 2 * 3 + 1 = 11 on the first, two fewer on each further one.
    assert_eq!(of(Stage::First, 0, 2, 16), ((11, 2), 16));
    assert_eq!(of(Stage::Inner, 1, 2, 16), ((9, 2), 16));
    assert_eq!(of(Stage::Inner, 2, 3, 16), ((11, 3), 16));
    // A pipeline is filled at the least: fewer micro-batches than stages are none.
    assert_eq!(of(Stage::First, 0, 1, 2), ((4, 1), 4));
    // There are no more pieces than micro-batches have: four of two pieces.
    assert_eq!(of(Stage::First, 0, 2, 1), ((8, 2), 4));
    let mut p = project(Framework::Torchtitan, Sharding::Fsdp2, 8);
    p.hardware.parallel = Parallel { pipeline: 2, ..Parallel::default() };
    let s = laid(&p, Stage::First).0;
    assert!(s.keeps_whole && s.unsynced && s.in_flight == (2, 1));
}
