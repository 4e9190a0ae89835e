//! What is said of a run that does not fit, waits, or is cut over a cluster: messages that PyTorch could print, reasons that
//! agree with their numbers, files that leave a result behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::plan::{plan, safe_plan, samples_per_step};
use enough_gpu::advise::pretraining::published_batch;
use enough_gpu::advise::recipe::recipes;
use enough_gpu::advise::{Advice, FixKind, advise};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::Project;
use enough_gpu::project::link::Link;
use enough_gpu::text::{Lang, fix_detail, next, why};
use enough_gpu::units::{Bytes, Currency};

fn project(link: &str, catalog: &Catalog) -> Project {
    let (project, unread) = Link::new("", link).project(Currency::Usd, catalog).unwrap();
    assert_eq!(unread, [], "{link}");
    project
}

fn asked(link: &str, catalog: &Catalog) -> (Project, Advice) {
    let project = project(link, catalog);
    let advice = advise(&project, catalog).unwrap();
    (project, advice)
}

/// The allocator asks the driver for whole segments, and prints what it asked for.
#[test]
fn pytorch_could_print_it() {
    let catalog = Catalog::bundled();
    for link in [
        "model=llama-3.1-70b&method=qlora&seq=512&have=rtx-6000-ada&checkpointing=on",
        "model=llama-3.1-8b&method=full&seq=2048&have=rtx-4090",
        "model=resnet50&have=rtx-4060&batch=1024",
        "preset=gongbi-lora-flux&have=rtx-4060",
    ] {
        let oom = asked(link, &catalog).1.out_of_memory.unwrap_or_else(|| panic!("{link}"));
        let piece = 2 << 20;
        assert!(oom.tried >= Bytes(piece) && oom.tried.0.is_multiple_of(piece), "{link}: {oom:?}");
        assert!(oom.free < oom.tried && oom.free.0 != oom.tried.0 / 4, "{link}: {oom:?}");
        assert!(oom.allocated + oom.free + oom.reserved_unused <= oom.capacity, "{link}: {oom:?}");
    }
}

#[test]
fn a_base_in_fp32_is_not_called_16_bit() {
    let catalog = Catalog::bundled();
    for (link, wide) in [
        ("model=mixtral-8x7b&method=qlora&seq=2048&have=a100-sxm-80gb", true),
        ("model=mixtral-8x7b&method=qlora&seq=2048&have=a100-sxm-80gb&count=2&sharding=zero3", false),
    ] {
        let (project, advice) = asked(link, &catalog);
        let said = why(Lang::En, &project, &advice.memory, &catalog);
        assert_eq!(said.contains("32 bit"), wide, "{link}: {said}");
        assert_eq!(said.contains("stays in 16 bit"), !wide, "{link}: {said}");
    }
}

/// Batch norm sees the micro-batch: that is said wherever one is made smaller.
#[test]
fn a_smaller_batch_names_batch_norm() {
    let catalog = Catalog::bundled();
    let (_, advice) = asked("model=resnet50&have=rtx-4060&batch=1024", &catalog);
    let smaller = |kind: FixKind| matches!(kind, FixKind::SmallerMicroBatch { .. });
    let fix = advice.fixes.iter().find(|fix| smaller(fix.kind)).unwrap();
    assert!(fix_detail(fix.kind).text(Lang::En).contains("Batch norm"));
}

/// A model that saves itself under ZeRO-3 writes empty tensors.
#[test]
fn divided_weights_are_gathered_before_they_are_saved() {
    let catalog = Catalog::bundled();
    for sharding in ["zero3", "fsdp2"] {
        let link =
            format!("model=llama-3.1-8b&method=lora&have=rtx-4090&count=2&framework=transformers&sharding={sharding}");
        let files = recipes(&project(&link, &catalog), &catalog);
        let script = files.iter().map(|f| f.text.as_str()).find(|text| text.contains("Trainer(")).unwrap();
        assert!(script.contains("trainer.save_model(\"out\")") && !script.contains("save_pretrained"), "{script}");
        assert_eq!(script.contains("FULL_STATE_DICT"), sharding == "fsdp2", "{script}");
    }
}

const DEEPSEEK: &str = "model=deepseek-v3&method=scratch&seq=4096&have=h800-sxm&count=2048&samples=3600000000\
                        &checkpointing=on&epochs=1&accumulation=8";

/// What is set says years, the plan months: the plan is what to do first.
#[test]
fn a_cluster_that_waits_is_sent_to_its_plan() {
    let catalog = Catalog::bundled();
    let (project, advice) = asked(DEEPSEEK, &catalog);
    let step = next(Lang::En, &project, &advice, &catalog).sentence;
    assert!(step.contains("The fastest plan") && !step.contains('$'), "{step}");
    // DeepSeek-V3 itself was trained with 15,360 samples of 4,096.
    assert!(published_batch(&project, &catalog) >= 15_360.0 * 4096.0 * 0.999);
}

/// Only when peak plus band fits do we say that it fits.
#[test]
fn a_plan_within_the_band_is_called_tight() {
    let catalog = Catalog::bundled();
    let project = project("model=llama-3.1-8b&method=full&seq=4096&have=a100-sxm-80gb&count=8", &catalog);
    for card in ["a100-sxm-80gb", "a100-sxm-40gb", "rtx-4090"] {
        let gpu = catalog.gpu(card).unwrap();
        for count in [2, 4, 8] {
            let step = samples_per_step(&project);
            for found in [plan(&project, gpu, count, step, &catalog), safe_plan(&project, gpu, count, step, &catalog)] {
                let Some(found) = found else { continue };
                let most = found.memory.card.scale(1.0 + found.memory.band);
                assert_eq!(found.tight, most > gpu.usable, "{card} x {count}");
                let said = enough_gpu::text::several::plan_figures(Lang::En, &found);
                assert_eq!(said.contains("tight"), found.tight, "{said}");
            }
        }
    }
}
