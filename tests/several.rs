//! Several cards: what each holds, what main memory it takes, what joins them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::plan::{safe_plan, samples_per_step};
use enough_gpu::advise::several::several;
use enough_gpu::advise::{FixKind, advise};
use enough_gpu::catalog::{Catalog, LanguageKind};
use enough_gpu::estimate::{self, Part};
use enough_gpu::project::{
    Attention, Checkpointing, Framework, Hardware, Interconnect, Method, Network, Offload, Optimizer, Parallel,
    Precision, Project, Sharding, Wires,
};
use enough_gpu::units::Bytes;

fn on(gpu: &str, count: u32, method: Method) -> Project {
    Project {
        model: "llama-3.1-8b".to_owned(),
        method,
        checkpointing: Checkpointing::PerBlock,
        sequence: 2048,
        hardware: Hardware { gpu: gpu.to_owned(), count, ..Hardware::default() },
        ..Project::default()
    }
}

#[test]
fn copies_do_not_pool_memory() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    for method in [Method::Full, Method::Lora, Method::QLora] {
        let project = on("rtx-4090", 1, method);
        let mut before = Bytes(u64::MAX);
        for count in [2, 4, 8] {
            let found = several(&project, gpu, count, &catalog).unwrap();
            let of = |way| found.sharings.iter().find(|s| s.sharding == way).unwrap();
            assert!(of(Sharding::Ddp).card >= found.alone, "{method:?} on {count}");
            let divided = of(Sharding::Zero3);
            assert!(divided.card < of(Sharding::Ddp).card && divided.card <= before, "{method:?} on {count}");
            before = divided.card;
            // Main memory is an answer of its own: a program for each card, and all that waits there.
            assert!(of(Sharding::Zero3Offload).host > of(Sharding::Zero3).host);
            assert!(of(Sharding::Ddp).host > of(Sharding::Zero3).host);
        }
    }
}

#[test]
fn what_joins_the_cards_decides_the_time() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-3090").unwrap();
    let step = |count, wires| {
        let mut project = on("rtx-3090", count, Method::Full);
        (project.hardware.wires, project.hardware.sharding) = (wires, Sharding::Zero3);
        estimate::time(&project, gpu, count, &catalog).unwrap().step.0
    };
    let wired = |link| Wires { link, ..Wires::default() };
    let times = [Interconnect::NvLink, Interconnect::Pcie16, Interconnect::Pcie8, Interconnect::Pcie4]
        .map(|link| step(2, wired(link)));
    assert!(times.is_sorted() && times[3] > 2.0 * times[1], "{times:?}");
    // A bridge joins two cards, and no more.
    assert_eq!(step(4, wired(Interconnect::NvLink)), step(4, wired(Interconnect::Pcie16)));
    // The same eight cards in one machine, in two, and in two over a slow network.
    let machines = |machines, network| step(8, Wires { machines, network, ..Wires::default() });
    let times = [machines(0, Network::Auto), machines(2, Network::Ethernet25), machines(2, Network::Ethernet1)];
    assert!(times.is_sorted() && times[2] > 5.0 * times[1], "{times:?}");
    // What the person said joins their cards holds for those alone.
    let other = catalog.gpu("rtx-4090").unwrap();
    let mut project = on("rtx-3090", 2, Method::Full);
    let usual = estimate::time(&project, other, 2, &catalog).unwrap();
    project.hardware.wires = wired(Interconnect::Pcie4);
    assert_eq!(estimate::time(&project, other, 2, &catalog).unwrap(), usual);
}

#[test]
fn a_disk_takes_the_place_of_main_memory() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    let with = |offload| {
        let mut project = on("rtx-4090", 2, Method::Full);
        (project.hardware.sharding, project.offload) = (Sharding::Zero3Offload, offload);
        let time = estimate::time(&project, gpu, 2, &catalog).unwrap();
        (estimate::memory(&project, Some(gpu), &catalog).unwrap(), time)
    };
    let ((memory, time), (disk, slower)) = (with(Offload::All), with(Offload::Nvme));
    assert_eq!(memory.card, disk.card);
    assert!(disk.host < memory.host && slower.step.0 > time.step.0, "{} {}", memory.host, disk.host);
}

#[test]
fn a_cut_is_timed_as_such_and_void_where_it_does_not_come_out_even() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("a100-sxm-80gb").unwrap();
    let mut project = on("a100-sxm-80gb", 8, Method::Full);
    (project.framework, project.precision) = (Framework::Megatron, Precision::MasterBf16);
    let whole = estimate::time(&project, gpu, 8, &catalog).unwrap();
    project.hardware.parallel = Parallel { tensor: 4, ..Parallel::default() };
    let cut = estimate::time(&project, gpu, 8, &catalog).unwrap();
    assert_ne!(whole.step, cut.step);
    // One card and three: no such cut.
    for count in [1, 3] {
        let found = several(&project, gpu, count, &catalog).unwrap();
        assert!(found.sharings.iter().all(|s| s.project.hardware.parallel == Parallel::default()), "{count}");
    }
    project.hardware.count = 6;
    assert_eq!(several(&project, gpu, 6, &catalog).unwrap().idle, 2);
}

#[test]
fn a_safe_plan_is_safe_and_keeps_the_batch() {
    let catalog = Catalog::bundled();
    for (gpu, count, method) in
        [("rtx-4090", 16, Method::Full), ("rtx-4090", 2, Method::QLora), ("h100-sxm", 8, Method::Full)]
    {
        let card = catalog.gpu(gpu).unwrap();
        let project = Project { accumulation: 16, ..on(gpu, 1, method) };
        let found = safe_plan(&project, card, count, 16, &catalog).unwrap();
        assert!(found.memory.card.scale(1.0 + found.memory.band) <= card.usable, "{gpu} {count} {method:?}");
        assert_eq!(samples_per_step(&found.project), 16, "{gpu} {count} {method:?}");
        assert_eq!(found.project.hardware.count, count);
    }
    // Adapters are divided for nothing on two cards that hold them.
    let card = catalog.gpu("rtx-4090").unwrap();
    let found = safe_plan(&on("rtx-4090", 2, Method::QLora), card, 2, 4, &catalog).unwrap();
    assert_eq!(found.project.hardware.sharding, Sharding::Ddp);
}

#[test]
fn paging_leaves_master_weights_on_the_card() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("h100-sxm").unwrap();
    let with = |optimizer| {
        let mut project = on("h100-sxm", 8, Method::Full);
        "llama-3.1-70b".clone_into(&mut project.model);
        (project.sequence, project.optimizer, project.hardware.sharding) = (4096, optimizer, Sharding::Zero3);
        estimate::memory(&project, Some(gpu), &catalog).unwrap()
    };
    let (eight, paged) = (with(Optimizer::AdamW8bit), with(Optimizer::PagedAdamW8bit));
    // 70.55 G weights in fp32 over eight cards.
    let masters = Bytes(70_550_000_000 / 8 * 4);
    let left = paged.part(Part::Optimizer);
    assert!((left.0 as f64 / masters.0 as f64 - 1.0).abs() < 0.01, "{left} of {masters}");
    // What is paged is in main memory, and nothing is lost on the way.
    let states = eight.part(Part::Optimizer) - left;
    assert!(((paged.host - eight.host).0 as f64 / (states.0 * 8) as f64 - 1.0).abs() < 0.01);
}

#[test]
fn main_memory_under_a_pipeline_takes_its_time_and_leaves_gradients() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    let with = |offload| {
        let mut project = Project { offload, accumulation: 8, ..on("rtx-4090", 2, Method::Full) };
        project.hardware.sharding = Sharding::Zero1;
        project.hardware.parallel = Parallel { pipeline: 2, ..Parallel::default() };
        let memory = estimate::memory(&project, Some(gpu), &catalog).unwrap();
        (memory, estimate::time(&project, gpu, 2, &catalog).unwrap().step.0)
    };
    let ((kept, quick), (away, slow)) = (with(Offload::None), with(Offload::All));
    // 8.03 G weights with 16-bit gradients, half of them on each card.
    assert!(kept.part(Part::Gradients).gib() > 7.0 && away.part(Part::Gradients).gib() > 7.0, "{:?}", away.parts);
    // The processors read and write 32 bytes a weight at 50 GB/s: 5 s at the least.
    assert!(slow > quick + 5.0, "{slow} {quick}");
}

/// Cards that a model is cut over see the same samples: on others the effective batch stays what it is.
#[test]
fn a_cut_model_keeps_its_batch_on_other_cards() {
    let catalog = Catalog::bundled();
    let mut project = Project { accumulation: 128, framework: Framework::Megatron, ..on("l40s", 16, Method::Full) };
    (project.hardware.sharding, project.optimizer) = (Sharding::Zero1, Optimizer::AdamW);
    project.hardware.parallel = Parallel { tensor: 4, pipeline: 2, ..Parallel::default() };
    let advice = advise(&project, &catalog).unwrap();
    for card in &advice.cards {
        let cut = project.hardware.parallel.on(card.count);
        let samples = card.accumulation * u64::from(cut.data(card.count));
        assert!(
            (256 - 128..=256).contains(&samples) || card.accumulation == 1,
            "{} x {}: {samples}",
            card.count,
            card.gpu
        );
    }
}

/// The fullest stage of a pipeline cannot hold less than the stages do on average: of models whose first layers have no
/// experts the first stage is a light one.
#[test]
fn the_fullest_stage_holds_no_less_than_the_average() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("h800-sxm").unwrap();
    let mut looked = 0;
    for model in catalog.models.iter().filter(|m| m.language().is_some_and(|l| l.kind == LanguageKind::Decoder)) {
        let layers = model.language().unwrap().layers;
        for pipeline in [2, 4, 16, 32, layers].into_iter().filter(|p| *p > 1 && *p <= layers) {
            let mut project = Project {
                model: model.id.to_owned(),
                precision: Precision::MasterBf16,
                framework: Framework::Megatron,
                accumulation: u64::from(pipeline),
                ..on("h800-sxm", pipeline, Method::Full)
            };
            project.hardware.sharding = Sharding::Zero1;
            let whole = |p: &Project| estimate::memory(p, Some(gpu), &catalog).map(|m| m.part(Part::Weights).gib());
            let Ok(alone) = whole(&project) else { continue };
            project.hardware.parallel = Parallel { pipeline, ..Parallel::default() };
            let stage = whole(&project).unwrap();
            looked += 1;
            assert!(stage * f64::from(pipeline) > 0.99 * alone, "{} in {pipeline}: {stage} of {alone}", model.id);
        }
    }
    assert!(looked > 200, "{looked}");
}

#[test]
fn a_plan_is_no_slower_than_what_the_table_shows() {
    let catalog = Catalog::bundled();
    let scratch = Project {
        model: "resnet50".to_owned(),
        method: Method::Scratch,
        micro_batch: 256,
        hardware: Hardware { gpu: "rtx-3090".to_owned(), ..Hardware::default() },
        ..Project::default()
    };
    for (gpu, project) in [("h100-sxm", on("h100-sxm", 1, Method::Full)), ("rtx-3090", scratch)] {
        let card = catalog.gpu(gpu).unwrap();
        let samples = samples_per_step(&project).max(2);
        let found = safe_plan(&project, card, 2, samples, &catalog).unwrap();
        let a_sample = |p: &Project, step: f64| step / samples_per_step(p) as f64;
        let plan = a_sample(&found.project, found.time.step.0);
        for row in several(&project, card, 2, &catalog).unwrap().sharings {
            // Only rows that keep the samples of a step are asked of the plan.
            let Some(time) = row.time.filter(|_| row.fits && samples_per_step(&row.project) == samples) else {
                continue;
            };
            let row_takes = a_sample(&row.project, time.step.0);
            assert!(plan <= row_takes * 1.011, "{gpu} {:?}: {plan} {row_takes}", row.sharding);
        }
    }
}

/// `DeepSpeed` on one card: 16-bit weights pass through it, gradients and states wait in main memory with the step.
#[test]
fn an_eight_billion_model_is_trained_whole_on_24_gb_from_main_memory() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    for precision in [Precision::AmpBf16, Precision::PureBf16, Precision::MasterBf16] {
        let mut project = on("rtx-4090", 1, Method::Full);
        (project.precision, project.micro_batch, project.sequence) = (precision, 1, 1024);
        let memory = |offload, project: &Project| {
            estimate::memory(&Project { offload, ..project.clone() }, Some(gpu), &catalog).unwrap()
        };
        let all = memory(Offload::All, &project);
        assert!(all.card.scale(1.0 + all.band) <= gpu.usable, "{precision:?}: {}", all.card);
        assert!(all.part(Part::Gradients) < Bytes::from_gib(4.0), "{precision:?}: {}", all.part(Part::Gradients));
        // Sixteen bytes a parameter of master weights, moments and gradients, and the 16-bit weights.
        assert!(all.host > Bytes::from_gib(8.0 * 14.0), "{precision:?}: {}", all.host);
        // The optimizer alone away: weights stay, gradients do not.
        let states = memory(Offload::Optimizer, &project);
        assert!(states.card > all.card && states.card < memory(Offload::None, &project).card, "{precision:?}");
        assert!(states.part(Part::Gradients) < Bytes::from_gib(4.0), "{precision:?}");
        // Without the engine they stay.
        project.framework = Framework::Pytorch;
        assert!(memory(Offload::Optimizer, &project).card > states.card, "{precision:?}");
    }
}

/// The fix of more cards and the sentence about several name one count.
#[test]
fn one_count_wherever_it_is_named() {
    let catalog = Catalog::bundled();
    let mut named = 0;
    for preset in catalog.presets.iter() {
        for card in ["rtx-3060-12gb", "rtx-4090", "a100-sxm-80gb"] {
            let mut project = Project::from_preset(preset, &catalog);
            project.hardware = Hardware { gpu: card.to_owned(), ..Hardware::default() };
            let Ok(advice) = advise(&project, &catalog) else { continue };
            let fix = advice.fixes.iter().find_map(|f| match f.kind {
                FixKind::MoreCards { count } => Some(count),
                _ => None,
            });
            let gpu = catalog.gpu(card).unwrap();
            let Some(fix) = fix else { continue };
            let found = several(&project, gpu, fix, &catalog).unwrap();
            assert_eq!(found.as_it_is, Some(fix), "{} on {card}", preset.id);
            assert!(found.smallest <= found.as_it_is, "{} on {card}", preset.id);
            let listed = advice.cards.iter().filter(|c| c.gpu == card && c.fits).map(|c| c.count).min();
            assert_eq!(listed, Some(fix), "{} on {card}", preset.id);
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
}

/// The loss over logits that are divided over cards: 16 bytes a logit at its highest, all fp32 (log-probabilities, zeros,
/// exponentials, sum or product), read from torch/distributed/tensor/parallel/loss.py; Megatron's, in place of one fp32 copy
/// of 16-bit logits, 6 bytes (Korthikanti et al. 2022 count 4 for the copy).
#[test]
fn divided_logits_take_so_many_bytes() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("h100-sxm");
    for (framework, bytes) in [(Framework::Torchtitan, 16.0), (Framework::Megatron, 6.0)] {
        let mut project = on("h100-sxm", 8, Method::Scratch);
        project.framework = framework;
        project.precision = Precision::MasterBf16;
        project.micro_batch = 4;
        project.sequence = 8192;
        project.hardware.parallel = Parallel { tensor: 8, ..Parallel::default() };
        let memory = estimate::memory(&project, gpu, &catalog).unwrap();
        assert_eq!(memory.moment, estimate::Moment::Loss, "{framework:?}");
        let logits = 4.0 * 8192.0 * 128_256.0 / 8.0;
        let held = memory.part(Part::Logits) + memory.part(Part::Temporaries);
        let each = held.0 as f64 / logits;
        assert!((each - bytes).abs() < 0.6, "{framework:?}: {each} bytes a logit");
    }
}

/// transformers writes the scores of some families out where no kernel is named: their memory goes with the square of the
/// length.
#[test]
fn families_without_a_fused_kernel_write_their_scores() {
    let catalog = Catalog::bundled();
    let memory = |model: &str, framework, sequence| {
        let mut project = Project { model: model.to_owned(), framework, sequence, ..on("h100-sxm", 1, Method::Lora) };
        project.micro_batch = 1;
        estimate::memory(&project, catalog.gpu("h100-sxm"), &catalog).unwrap()
    };
    for (model, writes) in [("gpt-oss-20b", true), ("bloom-7b1", true), ("gpt-neo-125m", true), ("llama-3.1-8b", false)]
    {
        let resolved = memory(model, Framework::Transformers, 1024).resolved.attention;
        assert_eq!(resolved == Attention::Eager, writes, "{model}");
        assert_ne!(memory(model, Framework::Unsloth, 1024).resolved.attention, Attention::Eager, "{model}");
    }
    let [short, middle, long] =
        [1024, 2048, 4096].map(|n| memory("gpt-oss-20b", Framework::Transformers, n).allocated.0 as f64);
    assert!(long - middle > 2.3 * (middle - short), "{short} {middle} {long}");
}
