//! What stands beside the answer: measured runs, several cards, runs of weeks. Each figure from the others.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numbers;

use enough_gpu::advise::nearest::{NearRun, nearest};
use enough_gpu::advise::plan::{MOST_CARDS, plan, safe_plan, samples_per_step};
use enough_gpu::advise::pretraining::{
    INTERRUPTIONS_PER_CARD_DAY, gpu_hour, pretraining, published_batch, usual_batch,
};
use enough_gpu::advise::several::{Smaller, laid_out, several};
use enough_gpu::advise::{FixKind, Verdict, advise};
use enough_gpu::catalog::{Catalog, measured_runs};
use enough_gpu::estimate::{Part, memory, time};
use enough_gpu::project::{
    Checkpointing, Choice, Framework, Meter, Method, Offload, Optimizer, Precision, Project, Sharding,
};
use enough_gpu::units::Currency;
use numbers::near;
use std::collections::BTreeSet;

/// A project that a measured run is the run of.
fn of_run() -> (Project, NearRun) {
    let catalog = Catalog::bundled();
    for run in measured_runs().iter().filter(|run| run.size > 0 && run.offload.is_empty() && run.cards == 1) {
        let Some(model) = catalog.model(run.model).filter(|m| m.language().is_some()) else { continue };
        let (Some(method), Some(precision)) = (Method::from_id(run.method), Precision::from_id(run.precision)) else {
            continue;
        };
        let Some(checkpointing) = Checkpointing::from_id(run.checkpointing) else { continue };
        let Some(framework) = Framework::from_id(run.framework) else { continue };
        if method != Method::Lora || run.batch < 2 {
            continue;
        }
        let project = Project {
            model: model.id.into(),
            method,
            precision,
            checkpointing,
            framework,
            micro_batch: run.batch,
            sequence: run.size,
            ..Project::default()
        };
        let Some(first) = nearest(&project, &catalog, 1).into_iter().next() else { continue };
        if first.distance < 1e-9 {
            return (project, first);
        }
    }
    panic!("no run is the run of any project");
}

/// How far a run is: a tenth for the library, half for what is computed again, and so on; batches and lengths by their ratio.
#[test]
fn runs_are_as_far_as_they_differ() {
    let catalog = Catalog::bundled();
    let (base, run) = of_run();
    assert!(run.same_model && run.same_method && run.same_precision && run.same_offload && run.same_framework);
    assert!(run.same_batch && run.same_size && run.same_checkpointing && run.same_sharding);
    let far = |change: &dyn Fn(&mut Project)| {
        let mut project = base.clone();
        change(&mut project);
        let all = nearest(&project, &catalog, 10_000);
        assert!(all.windows(2).all(|pair| pair[0].distance <= pair[1].distance));
        assert!(all.iter().all(|n| n.distance <= 1.6));
        all.into_iter().find(|n| std::ptr::eq(n.run, run.run))
    };
    let two = std::f64::consts::LN_2;
    let told = far(&|p| p.micro_batch *= 2).unwrap();
    near(told.distance, 0.35 * two, 1e-9);
    assert!(!told.same_batch && told.same_size);
    near(far(&|p| p.micro_batch *= 4).unwrap().distance, 0.7 * two, 1e-9);
    let told = far(&|p| p.sequence *= 2).unwrap();
    near(told.distance, 0.4 * two, 1e-9);
    assert!(!told.same_size && told.same_batch);
    let told = far(&|p| p.hardware.count = 2).unwrap();
    near(told.distance, 0.25 * two, 1e-9);
    let other = if base.framework == Framework::Unsloth { Framework::Axolotl } else { Framework::Unsloth };
    let told = far(&|p| p.framework = other).unwrap();
    near(told.distance, 0.1, 1e-9);
    assert!(!told.same_framework);
    let again = if base.checkpointing.recomputes() { Checkpointing::Off } else { Checkpointing::PerBlock };
    let told = far(&|p| p.checkpointing = again).unwrap();
    near(told.distance, 0.5, 1e-9);
    assert!(!told.same_checkpointing);
    let told = far(&|p| p.offload = Offload::All).unwrap();
    near(told.distance, 0.5, 1e-9);
    assert!(!told.same_offload);
    let told = far(&|p| p.precision = Precision::Fp32).unwrap();
    near(told.distance, 0.3, 1e-9);
    assert!(!told.same_precision);
    // Beside frozen weights in 16 bit it is the same whether those that are trained are held in 16 or in 32.
    for precision in [Precision::AmpBf16, Precision::PureBf16, Precision::MasterBf16, Precision::AmpFp16] {
        near(far(&|p| p.precision = precision).unwrap().distance, 0.0, 1.0);
    }
    // From adapters to adapters is half as far as from adapters to all weights is more than twice.
    let told = far(&|p| p.method = Method::QLora).unwrap();
    near(told.distance, 0.5, 1e-9);
    assert!(!told.same_method);
    near(far(&|p| p.method = Method::Full).unwrap().distance, 1.2, 1e-9);
    // Nothing is learned from what is far.
    assert!(far(&|p| (p.method, p.checkpointing) = (Method::Full, again)).is_none());
    // Of rows that say the same of a project one is told, and no more than are asked for.
    let keys: Vec<_> = nearest(&base, &catalog, 1000).into_iter().map(|n| n.run).collect();
    let unique: BTreeSet<_> =
        keys.iter().map(|r| (r.model, r.method, r.batch, r.size, r.checkpointing, r.cards)).collect();
    assert_eq!(unique.len(), keys.len());
    assert_eq!(nearest(&base, &catalog, 3).len(), 3);
    assert!(nearest(&Project { model: "no such".into(), ..base }, &catalog, 3).is_empty());
    assert!(run.meter == Meter::from_id(run.run.meter).unwrap());
}

/// Several cards: what each way needs and how fast it is, as an estimate for it says.
#[test]
fn ways_to_share_are_told_as_they_are_estimated() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    let project = Project {
        model: "llama-3.1-8b".into(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        optimizer: Optimizer::AdamW,
        framework: Framework::Transformers,
        micro_batch: 1,
        accumulation: 16,
        sequence: 512,
        checkpointing: Checkpointing::PerBlock,
        ..Project::default()
    };
    for count in [2, 8, 16] {
        let told = several(&project, gpu, count, &catalog).unwrap();
        assert_eq!((told.count, told.machines, told.idle), (count, count.div_ceil(8), 0));
        assert!(!told.copies_only && told.sharings.len() >= 5);
        let mut alone = project.clone();
        (alone.hardware.count, alone.hardware.sharding) = (1, Sharding::Ddp);
        gpu.id.clone_into(&mut alone.hardware.gpu);
        assert_eq!(told.alone, memory(&alone, Some(gpu), &catalog).unwrap().card);
        let single = time(&alone, gpu, 1, &catalog).unwrap();
        let rate = samples_per_step(&alone) as f64 / single.step.0;
        for way in &told.sharings {
            let m = memory(&way.project, Some(gpu), &catalog).unwrap();
            assert_eq!((way.card, way.host), (m.card, m.host), "{:?}", way.sharding);
            assert_eq!(way.fits, m.card.scale(1.0 + m.band) <= gpu.usable, "{:?}", way.sharding);
            assert!(!(way.fits && way.tight));
            let t = time(&way.project, gpu, count, &catalog).unwrap();
            assert_eq!(way.time.as_ref().map(|t| t.step), Some(t.step));
            let samples = samples_per_step(&way.project);
            assert_eq!(samples, 16, "{:?}", way.sharding);
            let efficiency = samples as f64 / t.step.0 / rate / f64::from(count);
            near(way.efficiency.unwrap(), efficiency.min(1.0), 1e-9);
            // One program lays layers out, inside its machine.
            assert!(way.sharding != Sharding::DeviceMap || count <= 8);
        }
        // The smallest number on which it fits, by counting; main memory is no way to need fewer cards.
        let fits = |n: u32| {
            let ways = several(&project, gpu, n, &catalog).unwrap().sharings;
            ways.iter()
                .any(|way| way.fits && way.sharding != Sharding::Zero3Offload && way.sharding != Sharding::DeviceMap)
        };
        let counted = [2, 4, 8].into_iter().find(|n| fits(*n));
        assert_eq!(told.as_it_is, counted, "{count}");
        assert!(told.smallest.is_none_or(|n| told.as_it_is.is_none_or(|all| n <= all)));
    }
    // Adapters' states are too small for dividing them alone.
    let adapters = Project { method: Method::Lora, ..project.clone() };
    let ways: Vec<Sharding> =
        several(&adapters, gpu, 4, &catalog).unwrap().sharings.iter().map(|w| w.sharding).collect();
    assert!(!ways.contains(&Sharding::Zero1) && !ways.contains(&Sharding::Zero2) && ways.contains(&Sharding::Zero3));
    // YOLO's trainer knows copies only.
    let yolo = Project { model: "yolov8m".into(), framework: Framework::Ultralytics, ..project.clone() };
    let told = several(&yolo, gpu, 4, &catalog).unwrap();
    assert!(told.copies_only && told.sharings.iter().all(|way| way.sharding == Sharding::Ddp));
    // What makes it small enough for one card.
    let one = Project { model: "qwen2.5-7b".into(), method: Method::Lora, sequence: 2048, ..project.clone() };
    let with = |micro_batch, checkpointing| {
        let p = Project { micro_batch, checkpointing, accumulation: 1, ..one.clone() };
        let told = several(&p, gpu, 2, &catalog).unwrap();
        assert_eq!(told.alone_with.is_some(), told.smallest == Some(1) && told.as_it_is != Some(1));
        told.alone_with
    };
    let found: BTreeSet<String> = [1, 2, 4, 8, 16, 32, 64]
        .into_iter()
        .flat_map(|batch| [with(batch, Checkpointing::Off), with(batch, Checkpointing::PerBlock)])
        .flatten()
        .map(|with| format!("{with:?}"))
        .collect();
    assert!(found.contains("Checkpointing") && found.contains("OneSample"), "{found:?}");
    let _ = Smaller::Both;
    // What a layout changes: the number of cards, and how they share.
    let mut after = project.clone();
    (after.hardware.count, after.hardware.sharding) = (4, Sharding::Zero3);
    let mut before = project;
    (before.hardware.count, before.hardware.sharding) = (4, Sharding::Ddp);
    assert_eq!(laid_out(&before, &after), [FixKind::Way { sharding: Sharding::Zero3 }]);
    before.hardware.count = 2;
    assert_eq!(
        laid_out(&before, &after),
        [FixKind::MoreCards { count: 4 }, FixKind::Way { sharding: Sharding::Zero3 }]
    );
    before.hardware.sharding = Sharding::Zero3;
    assert_eq!(laid_out(&before, &after), [FixKind::MoreCards { count: 4 }]);
    before.hardware.count = 4;
    assert_eq!(laid_out(&before, &after), [FixKind::Way { sharding: Sharding::Zero3 }]);
}

/// Days, hours, interruptions and money of a run over so many tokens, each from the plan.
#[test]
fn a_run_of_weeks_is_worked_out() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("h100-sxm").unwrap();
    let project = Project {
        model: "llama-3.1-8b".into(),
        method: Method::Scratch,
        precision: Precision::MasterBf16,
        framework: Framework::Megatron,
        sequence: 8192,
        samples: 1 << 30,
        ..Project::default()
    };
    for cards in [64_u32, 1024] {
        let found = plan(&project, gpu, cards, 2048, &catalog).unwrap();
        assert_eq!(samples_per_step(&found.project), 2048);
        let run = pretraining(&found, 1e12, 2.5);
        let p = &found.project;
        near(run.tokens_per_step, 2048.0 * 8192.0, 1e-12);
        near(run.tokens_per_second, run.tokens_per_step / found.time.step.0, 1e-12);
        near(run.gpu_hours, run.days * 24.0 * f64::from(cards), 1e-12);
        near(run.cost, run.gpu_hours * 2.5, 1e-12);
        near(run.days * run.effective, 1e12 / run.tokens_per_second / 86_400.0, 1e-12);
        // Llama 3: 466 interruptions of 16,384 cards in 54 days, and more than 90 % of the time effective.
        near(run.interruptions, 466.0 / 54.0 / 16_384.0 * f64::from(cards) * run.days, 1e-9);
        near(1.0 - run.effective, 0.1 * f64::from(cards) / 16_384.0, 1e-9);
        near(run.per_card.0, found.time.flops.0 / found.time.step.0 / f64::from(cards), 1e-12);
        assert_eq!(p.hardware.count, cards);
    }
    near(INTERRUPTIONS_PER_CARD_DAY * 16_384.0 * 54.0, 466.0, 1e-12);
    // Batches: half a million tokens up to a billion weights, two around ten, four around seventy, sixteen beyond.
    for (model, tokens) in [
        ("gpt2", 0.5e6),
        ("llama-3.1-8b", 2e6),
        ("llama-3.1-70b", 4e6),
        ("llama-3.1-405b", 16e6),
        ("qwen2.5-1.5b", 0.5e6),
    ] {
        assert_eq!(published_batch(&Project { model: model.into(), ..project.clone() }, &catalog), tokens, "{model}");
    }
    let large = Project { micro_batch: 64, accumulation: 64, ..project.clone() };
    near(usual_batch(&large, &catalog), 64.0 * 64.0 * 8192.0, 1e-12);
    assert_eq!(usual_batch(&Project { micro_batch: 1, accumulation: 1, ..project.clone() }, &catalog), 2e6);
    // An hour of one card is the eighth part of a machine of eight.
    let (hour, offer) = gpu_hour(&project, gpu, &catalog).unwrap();
    assert_eq!(hour.currency, Currency::Usd);
    near(hour.amount * f64::from(offer.cards.max(8)), offer.per_hour.amount, 1e-12);
    assert_eq!(MOST_CARDS, 100_000);
}

/// A plan that is safe fits at the upper end of its band; none is slower than another that was tried for nothing.
#[test]
fn plans_fit_where_they_say() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("a100-sxm-80gb").unwrap();
    let project = Project {
        model: "llama-3.1-8b".into(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        framework: Framework::Transformers,
        sequence: 4096,
        ..Project::default()
    };
    for count in [2, 4, 8] {
        let fast = plan(&project, gpu, count, 64, &catalog).unwrap();
        let safe = safe_plan(&project, gpu, count, 64, &catalog).unwrap();
        assert!(fast.memory.card <= gpu.usable);
        assert!(safe.memory.card.scale(1.0 + safe.memory.band) <= gpu.usable, "{count}");
        assert!(fast.time.step.0 <= safe.time.step.0 * 1.011);
        for found in [&fast, &safe] {
            assert_eq!(samples_per_step(&found.project), 64);
            let again = memory(&found.project, Some(gpu), &catalog).unwrap();
            assert_eq!(again.card, found.memory.card);
            // What was chosen can be told why: without it nothing fits, or it takes longer.
            let cut = found.project.hardware.parallel;
            let parts = usize::from(found.project.hardware.sharding.divides() != (false, false, false))
                + usize::from(cut.tensor > 1)
                + usize::from(cut.pipeline > 1)
                + usize::from(found.project.hardware.sharding == Sharding::Zero3Offload)
                + usize::from(found.project.checkpointing != Checkpointing::Off);
            assert!(found.reasons.len() <= parts, "{:?}", found.reasons);
        }
    }
    assert!(plan(&Project { model: "llama-3.1-405b".into(), ..project }, gpu, 1, 8, &catalog).is_none());
}

/// What `PyTorch` would print: less is free than was asked for, and all of it is the card.
#[test]
fn a_message_of_running_out_adds_up() {
    let catalog = Catalog::bundled();
    let mut seen = 0;
    for model in ["qwen2.5-7b", "llama-3.1-8b", "sdxl", "flux.1-dev", "resnet50", "whisper-large-v3", "mlp-tabular"] {
        for (batch, method) in [(1, Method::Full), (64, Method::Full), (512, Method::Full), (64, Method::Lora)] {
            let mut project = Project { model: model.into(), method, micro_batch: batch, ..Project::default() };
            project.hardware.gpu = "rtx-3060-12gb".into();
            let Ok(told) = advise(&project, &catalog) else { continue };
            let Some(oom) = told.out_of_memory else { continue };
            assert!(matches!(told.verdict, Verdict::RunsOut { .. } | Verdict::Tight { .. }), "{model}");
            seen += 1;
            let outside = told.memory.card - told.memory.reserved;
            let sum = oom.free + oom.allocated + oom.reserved_unused + outside;
            assert_eq!(oom.capacity, told.capacity.unwrap());
            assert!(oom.free < oom.tried, "{model} {batch}: {oom:?}");
            assert!(sum <= oom.capacity, "{model} {batch}: {oom:?}");
            assert!(oom.tried.0 % 512 == 0 && oom.tried.0 > 0, "{oom:?}");
            assert!(oom.allocated <= told.memory.allocated);
            // What does not fit even as weights fails in loading, a matrix at a time.
            if told.memory.part(Part::Weights) + outside > oom.capacity {
                assert!(oom.tried.0 < told.memory.part(Part::Weights).0 / 20, "{model}: {oom:?}");
            }
        }
    }
    assert!(seen >= 12, "{seen}");
}
