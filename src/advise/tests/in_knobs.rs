//! What a change may do to the result, and when a change is offered at all: one table each.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::catalog::Catalog;
use crate::project::Wires;

#[test]
fn risks_are_those_of_the_literature() {
    use FixKind as F;
    let sharding = Sharding::Zero3;
    let none = [
        F::MixedPrecision,
        F::Fp16,
        F::LargerMicroBatch { micro_batch: 2, accumulation: 1 },
        F::Checkpointing,
        F::FlashAttention,
        F::FusedLoss,
        F::FusedOptimizer,
        F::CacheLatents,
        F::FreeDisplay,
        F::Unquantized,
        F::MoreCards { count: 2 },
        F::Sharding,
        F::Way { sharding },
        F::Offload,
        F::BlockSwap { share: 0.5 },
        F::Library { framework: Framework::Unsloth },
    ];
    let slight = [
        F::Library { framework: Framework::Torchtune },
        F::LessAccumulation { accumulation: 1 },
        F::PureBf16,
        F::Optimizer8bit,
        F::PagedOptimizer,
        F::QuantizedBase,
        F::Base4bit,
        F::LoraRank { rank: 4 },
    ];
    let real = [
        F::QLora,
        F::Lora,
        F::Freeze { share: 0.5 },
        F::ShorterSequence { sequence: 1 },
        F::SmallerImage { side: 1 },
        F::FewerFrames { frames: 1 },
        F::ShorterAudio { seconds: 1.0 },
    ];
    let full = Project { method: Method::Full, ..Project::default() };
    let lora = Project { method: Method::Lora, ..Project::default() };
    for domain in [Domain::Language, Domain::Vision, Domain::Diffusion] {
        for (kinds, expected) in
            [(&none[..], QualityRisk::None), (&slight, QualityRisk::Slight), (&real, QualityRisk::Real)]
        {
            for kind in kinds {
                assert_eq!(risk(*kind, &full, domain), expected, "{kind:?} {domain:?}");
            }
        }
        // To who trains adapters anyway a quantized base does little (Dettmers et al., QLoRA, 2023).
        assert_eq!(risk(F::QLora, &lora, domain), QualityRisk::Slight);
        // Batch norm's statistics get noisy below 16 samples (Wu and He, 2018).
        for micro_batch in [15, 16, 17] {
            let noisy = domain == Domain::Vision && micro_batch < 16;
            let expected = if noisy { QualityRisk::Slight } else { QualityRisk::None };
            assert_eq!(risk(F::SmallerMicroBatch { micro_batch, accumulation: 2 }, &full, domain), expected);
        }
    }
}

#[test]
fn micro_batches_that_keep_the_batch() {
    for (n, expected) in [
        (0, vec![]),
        (1, vec![]),
        (2, vec![1]),
        (7, vec![1]),
        (12, vec![6, 4, 3, 2, 1]),
        (256, vec![128, 64, 32, 16, 8, 4, 2, 1]),
        (257, vec![1]),
        // Of large ones halves and thirds alone: 300/2, 300/3, 300/4, and one.
        (300, vec![150, 100, 75, 1]),
        (1024, vec![512, 256, 128, 64, 32, 16, 8, 4, 2, 1]),
    ] {
        assert_eq!(divisors_below(n), expected, "{n}");
    }
    // Twelve, and one at a time.
    let many = divisors_below(1 << 40);
    assert_eq!((many.len(), many[0], many[11], many[12]), (13, 1 << 39, 1 << 28, 1));
}

#[test]
fn formats_of_a_base() {
    use BaseFormat as B;
    for (base, four, quantized) in [
        (B::AsPrecision, false, false),
        (B::Fp32, false, false),
        (B::Bf16, false, false),
        (B::Fp8, false, true),
        (B::Fp8Dynamic, false, true),
        (B::Int8, false, true),
        (B::Nf4, true, true),
        (B::Nf4Double, true, true),
        (B::Int4, true, true),
    ] {
        assert_eq!((is_4bit(base), is_quantized(base)), (four, quantized), "{base:?}");
    }
}

/// The project with one thing changed.
fn with(project: &Project, change: impl FnOnce(&mut Project)) -> Project {
    let mut changed = project.clone();
    change(&mut changed);
    changed
}

#[test]
fn unsloth_runs_language_models_on_one_card_from_volta_on() {
    let catalog = Catalog::bundled();
    let on = |project: &Project, domain, gpu: &str| runs_unsloth(project, domain, catalog.gpu(gpu).unwrap());
    let p = Project { offload: Offload::None, ..Project::default() };
    assert!(on(&p, Domain::Language, "rtx-4090") && on(&p, Domain::Language, "v100-sxm2-32gb"));
    assert!(!on(&p, Domain::Vision, "rtx-4090") && !on(&p, Domain::Language, "p100-pcie-16gb"));
    assert!(!on(&p, Domain::Language, "rx-7900-xtx"));
    assert!(!on(&with(&p, |p| p.hardware.count = 2), Domain::Language, "rtx-4090"));
    assert!(!on(&with(&p, |p| p.offload = Offload::Optimizer), Domain::Language, "rtx-4090"));
}

#[test]
fn an_update_in_backward_wants_all_weights_on_one_card_with_bf16() {
    let catalog = Catalog::bundled();
    let on = |project: &Project, gpu: &str| runs_in_backward(project, catalog.gpu(gpu).unwrap());
    let p = Project { method: Method::Full, offload: Offload::None, ..Project::default() };
    assert!(on(&p, "rtx-4090") && !on(&p, "t4") && !on(&p, "rx-7900-xtx"));
    let not: [fn(&mut Project); 6] = [
        |p| p.method = Method::Lora,
        |p| p.task = LanguageTask::Classification,
        |p| p.objective = Objective::Preference,
        |p| p.hardware.count = 2,
        |p| p.offload = Offload::Optimizer,
        |p| p.optimizer_impl = OptimizerImpl::InBackward,
    ];
    for (n, change) in not.into_iter().enumerate() {
        assert!(!on(&with(&p, change), "rtx-4090"), "{n}");
    }
}

#[test]
fn cards_of_one_machine_share_its_memory() {
    let of = |count, wires: Wires| {
        let mut p = Project { framework: Framework::Transformers, ..Project::default() };
        (p.hardware.count, p.hardware.wires) = (count, wires);
        p
    };
    let usual = Wires::default();
    for (count, expected) in [(1, false), (2, true), (8, true), (9, false), (16, false)] {
        assert_eq!(shares_main_memory(&of(count, usual)), expected, "{count}");
    }
    let two = of(2, usual);
    assert!(!shares_main_memory(&with(&two, |p| p.hardware.sharding = Sharding::Zero3Offload)));
    assert!(!shares_main_memory(&with(&two, |p| p.hardware.parallel.tensor = 2)));
    assert!(!shares_main_memory(&with(&two, |p| p.framework = Framework::Ultralytics)));
}
