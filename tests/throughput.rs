//! Our time beside measured training speeds: the errors, and the goals they are held to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../examples/time/rows.rs"]
mod rows;

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::time::{Workload, has_flash};
use enough_gpu::project::{Method, Precision, Project, Sharding};

#[test]
fn time_agrees_with_measured_training() {
    let (training, compared) = rows::compare(&Catalog::bundled());
    for c in &compared {
        let row = c.row;
        println!(
            "{:+6.2}  {:<28} {} x{} {} s{:?}",
            c.error(),
            row.gpu,
            row.workload,
            row.gpus,
            row.precision,
            row.sequence
        );
    }
    let mut errors: Vec<f64> = compared.iter().map(|c| c.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| 100.0 * rows::at(&errors, share);
    println!(
        "time: {training} rows, {} estimated, median |error| {:.1} %, p90 {:.1} %",
        errors.len(),
        at(0.5),
        at(0.9)
    );
    assert!(errors.len() > 130);
    assert!(at(0.5) <= 20.0, "median {:.1} %", at(0.5));
    assert!(at(0.9) <= 45.0, "p90 {:.1} %", at(0.9));
}

/// Whole runs whose time was published: preset, card, cards, hours.
const RUNS: [(&str, &str, u32, f64, &str); 8] = [
    ("nanogpt-shakespeare", "a100-sxm-80gb", 1, 0.05, "karpathy/nanoGPT README: 3 minutes"),
    ("gpt2-repro", "a100-sxm-40gb", 8, 96.0, "karpathy/nanoGPT README: 4 days"),
    ("tinystories", "a100-sxm-40gb", 4, 24.0, "karpathy/llama2.c README: about a day"),
    ("minimind", "rtx-3090", 1, 2.3, "jingyaogong/minimind README"),
    ("llm-10b-scratch", "a100-sxm-80gb", 1024, 368_640.0 / 1024.0, "Llama 2 model card: 368,640 card hours"),
    ("llm-70b-scratch", "h100-sxm", 1024, 7.0e6 / 1024.0, "Llama 3.1 model card: 7.0 M card hours"),
    ("llm-405b-scratch", "h100-sxm", 16384, 30.84e6 / 16384.0, "Llama 3.1 model card: 30.84 M card hours"),
    ("llm-671b-scratch", "h800-sxm", 2048, 2.664e6 / 2048.0, "DeepSeek-V3 README: 2.664 M card hours, in fp8"),
];

#[test]
fn runs_take_as_long_as_published() {
    let catalog = Catalog::bundled();
    for (preset, card, count, published, source) in RUNS {
        let mut project = Project::from_preset(catalog.preset(preset).unwrap(), &catalog);
        project.hardware.sharding = if count > 8 { Sharding::Zero3 } else { Sharding::Ddp };
        let gpu = catalog.gpu(card).unwrap();
        let time = enough_gpu::estimate::time(&project, gpu, count, &catalog).unwrap();
        let ours = time.run.hours();
        println!(
            "{preset}: {ours:.2} h, published {published:.2} h ({source}); step {:.3} s, steps {:.0}, mfu {:.2}, {:?}",
            time.step.0, time.steps, time.mfu, time.bottleneck
        );
        // Published runs hold evaluation (nanoGPT: 8,000 batches beside 5,000 steps), compilation and pauses; a project
        // in bf16 takes longer than one in fp8.
        let longest = if source.contains("fp8") { 1.8 } else { 1.3 };
        assert!((0.3..longest).contains(&(ours / published)), "{preset}: {ours:.2} h, published {published:.2} h");
    }
}

/// Hours of nnU-Net's 1,000 epochs of 250 steps and 50 validations on an A100 of 40 GB (MIC-DKFZ/nnUNet
/// `documentation/resenc_presets.md`): model, side of the patch, hours.
const VOLUMES: [(&str, u64, f64); 4] = [
    ("nnunet-3d", 128, 9.0),
    ("nnunet-resenc-m", 128, 12.0),
    ("nnunet-resenc-l", 192, 35.0),
    ("nnunet-resenc-xl", 224, 66.0),
];

#[test]
fn volumes_take_as_long_as_published() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("a100-sxm-40gb").unwrap();
    for (model, side, published) in VOLUMES {
        let project = Project {
            model: model.to_owned(),
            method: Method::Scratch,
            precision: Precision::AmpFp16,
            micro_batch: 2,
            accumulation: 1,
            samples: 500,
            epochs: 1000.0,
            image_side: side,
            frames: side,
            ..Project::default()
        };
        // A validation is a forward pass: a third of a step.
        let ours = enough_gpu::estimate::time(&project, gpu, 1, &catalog).unwrap().run.hours() * (1.0 + 50.0 / 750.0);
        println!("{model}: {ours:.1} h, published {published:.1} h");
        assert!((0.75..1.25).contains(&(ours / published)), "{model}: {ours:.1} h, published {published:.1} h");
    }
}

/// Measured speed of several cards over one card times their number (lambdal/deeplearning-benchmark): card, cards,
/// half precision, share. BERT-large shows the links, its gradients being large; ResNet-50 shows the rest.
const SCALING: [(&str, &str, u32, bool, f64); 19] = [
    ("bert-large-uncased", "rtx-4090", 2, true, 0.743),
    ("bert-large-uncased", "rtx-4090", 2, false, 0.617),
    ("bert-large-uncased", "rtx-3090", 2, true, 0.848),
    ("bert-large-uncased", "rtx-3090", 2, false, 0.774),
    ("bert-large-uncased", "rtx-6000-ada", 2, true, 0.973),
    ("bert-large-uncased", "rtx-6000-ada", 2, false, 0.86),
    ("bert-large-uncased", "rtx-6000-ada", 8, false, 0.875),
    ("bert-large-uncased", "a40", 2, true, 0.957),
    ("bert-large-uncased", "a40", 8, true, 0.874),
    ("bert-large-uncased", "a40", 8, false, 0.871),
    ("bert-large-uncased", "rtx-a4000", 2, true, 0.869),
    ("bert-large-uncased", "rtx-a5000", 4, true, 0.935),
    ("bert-large-uncased", "a100-sxm-80gb", 8, true, 0.958),
    ("resnet50", "rtx-3090", 8, true, 0.958),
    ("resnet50", "rtx-2080-ti", 8, true, 0.881),
    ("resnet50", "rtx-a6000", 8, true, 0.97),
    ("resnet50", "rtx-4090", 2, true, 0.949),
    ("resnet50", "a100-sxm-80gb", 8, true, 0.904),
    ("resnet50", "h100-sxm", 8, true, 0.99),
];

#[test]
fn several_cards_scale_as_measured() {
    let catalog = Catalog::bundled();
    let mut errors = Vec::new();
    for (model, card, count, half, measured) in SCALING {
        let gpu = catalog.gpu(card).unwrap();
        let language = model.starts_with("bert");
        let precision = if half { Precision::AmpFp16 } else { Precision::Fp32 };
        let each = if language { 0.8 } else { 0.09 } * if half { 1.0 } else { 1.7 };
        let micro_batch = ((gpu.memory.gib() - 6.0) / each).clamp(1.0, 512.0) as u64;
        let project = Project {
            model: model.into(),
            precision,
            micro_batch,
            sequence: 384,
            image_side: 224,
            samples: 1 << 20,
            epochs: 1.0,
            ..Project::default()
        };
        let mut load = Workload::new(&project, has_flash(gpu), &catalog).unwrap().with_tf32();
        load.input = 0.0;
        // NVIDIA's recipes of the time (apex O2) reduce 16-bit gradients.
        load.gradient_bytes = if half { 2.0 } else { 4.0 };
        let step = |n| load.on(gpu, n, Sharding::Ddp).unwrap().step.0;
        let ours = step(1) / step(count);
        println!("{:+.2} {model} on {count} x {card} half {half}: {ours:.3}, measured {measured:.3}", ours - measured);
        errors.push((ours / measured - 1.0).abs());
    }
    errors.sort_by(f64::total_cmp);
    let median = errors[errors.len() / 2];
    println!("scaling: median |error| {:.1} %, largest {:.1} %", median * 100.0, errors.last().unwrap() * 100.0);
    assert!(median < 0.06 && *errors.last().unwrap() < 0.25);
}

/// Trees are bound by their histograms, on a card and on a processor: `XGBoost`'s documentation, page on GPUs.
#[test]
fn boosted_trees_take_as_long_as_published() {
    let catalog = Catalog::bundled();
    let preset = Project::from_preset(catalog.preset("tabular").unwrap(), &catalog);
    let documented = Project { samples: 750_000, micro_batch: 750_000, epochs: 500.0, ..preset.clone() };
    let card = catalog.gpu("gtx-1080-ti").unwrap();
    let seconds = enough_gpu::estimate::time(&documented, card, 1, &catalog).unwrap().run.0;
    assert!((seconds / 12.57 - 1.0).abs() < 0.1, "{seconds:.1} s on a GTX 1080 Ti");
    let seconds = Workload::new(&documented, false, &catalog).unwrap().on_cpu().0;
    assert!((seconds / 36.01 - 1.0).abs() < 0.1, "{seconds:.1} s on eight cores");
    // Seconds to minutes on any card.
    for gpu in catalog.gpus.iter() {
        if let Ok(time) = enough_gpu::estimate::time(&preset, gpu, 1, &catalog) {
            assert!((3.0..120.0).contains(&time.run.0), "{}: {:.1} s", gpu.id, time.run.0);
        }
    }
    // A smaller batch is no smaller table.
    let batched = Project { micro_batch: 64, ..documented };
    assert!((Workload::new(&batched, false, &catalog).unwrap().on_cpu().0 / seconds - 1.0).abs() < 1e-9);
}
