//! What is said to somebody whose cards hold the run in one way and do it faster, or hold it at all, in another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::{Advice, FixKind, Verdict, advise};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::link::Link;
use enough_gpu::project::{Field, Framework, Precision, Project, Sharding, choices, fields};
use enough_gpu::text::{Action, Lang, next};
use enough_gpu::units::Currency;

fn asked(link: &str, catalog: &Catalog) -> (Project, Advice) {
    let (project, unread) = Link::new("", link).project(Currency::Usd, catalog).unwrap();
    assert_eq!(unread, [], "{link}");
    let advice = advise(&project, catalog).unwrap();
    (project, advice)
}

/// Cards without a link take ZeRO-3 where nothing simpler fits, and wait nine tenths of the time.
#[test]
fn a_run_that_waits_is_told_what_spares_the_wait() {
    let catalog = Catalog::bundled();
    for link in [
        "model=llama-3.1-8b&method=lora&have=rtx-4090&count=2",
        "preset=llm-7b-lora&model=qwen2.5-14b&have=rtx-4090&count=4",
        "model=llama-3.1-8b&method=lora&have=rtx-4090&count=2&checkpointing=on&sharding=zero3",
    ] {
        let (project, advice) = asked(link, &catalog);
        assert!(matches!(advice.verdict, Verdict::Fits { .. }), "{link}");
        let plan = advice.sooner.clone().unwrap_or_else(|| panic!("{link}: nothing is faster"));
        let step = next(Lang::En, &project, &advice, &catalog);
        assert_eq!(step.action, Action::Sooner, "{link}: {}", step.sentence);
        // As said: the changed project fits, is that much faster, and sees as many samples in a step.
        let after = advise(&plan.project, &catalog).unwrap();
        assert!(matches!(after.verdict, Verdict::Fits { .. }), "{link}: {:?}", plan.fixes);
        let share = after.time.unwrap().run.0 / advice.time.unwrap().run.0;
        assert!(share < 0.7 && (share - plan.slower.unwrap()).abs() < 1e-6, "{link}: {share}");
        let samples = |p: &Project| p.micro_batch * p.accumulation;
        assert_eq!(samples(&plan.project), samples(&project), "{link}");
    }
    let (_, two) = asked("model=llama-3.1-8b&method=lora&have=rtx-4090&count=2", &catalog);
    assert_eq!(two.sooner.map(|plan| plan.fixes), Some(vec![FixKind::Checkpointing]));
    // One card waits for nobody.
    let (_, one) = asked("model=llama-3.1-8b&method=lora&have=rtx-4090&count=1&checkpointing=on", &catalog);
    assert_eq!(one.sooner, None);
}

/// Answer.AI's 70B on two game cards: the base waits in main memory.
#[test]
fn main_memory_is_among_the_changes_on_several_cards() {
    let catalog = Catalog::bundled();
    let (_, advice) = asked("model=llama-3.1-70b&method=qlora&seq=2048&have=rtx-4090&count=2", &catalog);
    let way = FixKind::Way { sharding: Sharding::Zero3Offload };
    assert!(advice.fixes.iter().any(|fix| fix.kind == way && fix.fits));
    let plan = advice.make_it_fit.unwrap();
    assert_eq!(plan.fixes, [way]);
    assert!(matches!(advise(&plan.project, &catalog).unwrap().verdict, Verdict::Fits { .. }));
}

/// A model published in 4 bit trains on a 4-bit base in Unsloth alone: method and library change together.
#[test]
fn method_and_library_change_together() {
    let catalog = Catalog::bundled();
    for card in ["rtx-4090", "rtx-5090", "rtx-3090", "rtx-5070-ti"] {
        let (_, advice) = asked(&format!("model=gpt-oss-20b&method=lora&have={card}"), &catalog);
        let plan = advice.make_it_fit.unwrap_or_else(|| panic!("{card}"));
        assert!(plan.fixes.contains(&FixKind::QLora), "{card}: {:?}", plan.fixes);
        assert_eq!(plan.project.framework, Framework::Unsloth, "{card}");
        // Alone it would be refused.
        assert!(advice.fixes.iter().all(|fix| fix.kind != FixKind::QLora), "{card}");
    }
}

/// A card without bf16 is judged by the run that it is told to make of it.
#[test]
fn without_bf16_the_figure_is_of_the_run_as_changed() {
    let catalog = Catalog::bundled();
    let pure = "model=qwen2.5-1.5b&method=full&precision=bf16&optimizer=adamw8bit&checkpointing=on";
    let (_, asked_for) = asked(pure, &catalog);
    let (_, changed) = asked(&pure.replace("=bf16", "=amp-fp16"), &catalog);
    let t4 = |advice: &Advice| advice.cards.iter().find(|c| c.gpu == "t4" && c.count == 1).map(|c| (c.fits, c.card));
    assert_eq!(t4(&asked_for), t4(&changed));
    assert!(!asked_for.free.iter().any(|free| free.gpu == "t4" && free.count == 1 && free.is_enough()));
    // torchtune knows no fp16: no such card, and none is free.
    let tune = "model=llama-3.2-3b&method=full&precision=bf16&optimizer=paged-adamw8bit&checkpointing=on&batch=4\
                &framework=torchtune";
    let (_, tuned) = asked(tune, &catalog);
    assert!(tuned.free.iter().all(|free| free.gpu != "t4") && tuned.cards.iter().all(|card| card.gpu != "t4"));
    let (_, there) = asked(&format!("{}&have=t4&count=2", tune.replace("=bf16", "=amp-fp16")), &catalog);
    assert!(matches!(there.verdict, Verdict::CannotRun(_)), "{:?}", there.verdict);
    // Turing without matrix units is told to take fp32, and not to start.
    let (project, gtx) = asked("model=sd1.5&method=lora&have=gtx-1660-super", &catalog);
    let step = next(Lang::En, &project, &gtx, &catalog).sentence;
    assert!(step.contains("fp32") && !step.contains("Start it"), "{step}");
    let card = gtx.cards.iter().find(|c| c.gpu == "gtx-1650" && c.count == 1).unwrap();
    assert_eq!(card.instead_of_bf16, Some(enough_gpu::project::Precision::Fp32));
}

/// Reading decides for small networks, and a free notebook has two to four processor threads: it reads no faster than a
/// home computer, and a better card in the same computer reads no slower.
#[test]
fn a_free_notebook_reads_no_faster_than_a_game_machine() {
    let catalog = Catalog::bundled();
    for link in [
        "model=mobilenet-v3-small&method=scratch&batch=128&samples=1281167&epochs=20",
        "model=resnet18&method=scratch&batch=128&samples=1281167&epochs=20",
        "model=yolo11n&method=scratch&batch=16&samples=118287&epochs=50",
    ] {
        let hours = |have: &str| {
            let (_, advice) = asked(&format!("{link}&have={have}"), &catalog);
            (advice.time.unwrap().run.hours(), advice.free)
        };
        let (own, free) = hours("rtx-4090");
        let (small, _) = hours("t4");
        assert!(own <= small, "{link}: {own} h, and {small} h on a T4");
        for there in free.iter().filter(|free| free.gpu == "t4") {
            assert!(there.hours.is_some_and(|hours| hours >= own), "{link}: {own} h, {there:?}");
        }
        assert!(!free.is_empty(), "{link}");
    }
}

/// Nobody stops to change a run that is over in minutes, a full fine-tune is no adapter on a packed base, and a pipeline
/// that is filled with one piece is told of.
#[test]
fn only_waits_that_matter_are_told() {
    let catalog = Catalog::bundled();
    let (_, short) = asked("model=olmoe-1b-7b&method=full&have=h100-sxm&count=8", &catalog);
    assert_eq!(short.sooner, None);
    let (_, full) = asked("model=olmoe-1b-7b&method=full&have=h100-sxm&count=8&samples=1000000", &catalog);
    assert!(full.sooner.is_none_or(|plan| !plan.fixes.contains(&FixKind::QLora)));
    let pipeline = "model=gpt3-175b&method=scratch&have=a100-sxm-80gb&count=1024&tensor=8&pipeline=8&checkpointing=on\
                    &seq=2048&samples=1000000";
    let sentence = |link: &str| {
        let (project, advice) = asked(link, &catalog);
        next(Lang::En, &project, &advice, &catalog).sentence
    };
    assert!(sentence(pipeline).contains("fastest plan"), "{}", sentence(pipeline));
    assert!(!sentence(&format!("{pipeline}&accumulation=64")).contains("fastest plan"));
    let minutes = "model=llama-2-13b&method=full&have=a100-sxm-40gb&count=16&sharding=zero3";
    assert!(!sentence(minutes).contains("fastest plan"), "{}", sentence(minutes));
}

/// As it is set: "a paged optimizer has zero overhead if all the memory fits onto the device" (bitsandbytes, 8-bit optimizers).
#[test]
fn what_has_room_is_not_paged() {
    let catalog = Catalog::bundled();
    let hours = |link: &str| asked(link, &catalog).1.time.unwrap().run.hours();
    for (resident, paged) in [("adamw", "paged-adamw"), ("adamw8bit", "paged-adamw8bit")] {
        let of = |optimizer: &str, have: &str| {
            hours(&format!("model=llama-3.2-1b&method=full&optimizer={optimizer}&have={have}"))
        };
        assert!(of(paged, "rtx-6000-ada") < of(resident, "rtx-6000-ada") * 1.01, "{paged}");
    }
    // A 4B model in fp32 with its gradients leaves no room on 48 GB for all of the state.
    let of = |optimizer: &str, have: &str| {
        hours(&format!("model=qwen3-4b&method=full&checkpointing=on&optimizer={optimizer}&have={have}"))
    };
    assert!(of("paged-adamw", "l40s") > 1.5 * of("paged-adamw", "rtx-pro-6000-blackwell"));
}

/// "Full fp16 training is not supported with this recipe. Please use bf16 or fp32 instead" (torchtune's recipes).
#[test]
fn torchtune_is_not_worked_out_in_fp16() {
    let catalog = Catalog::bundled();
    let (project, _) =
        asked("model=llama-3.2-3b&method=full&precision=amp-fp16&have=rtx-4090&framework=torchtune", &catalog);
    assert_eq!(project.precision, Precision::AmpBf16);
    assert!(!choices(Field::Precision, &project, &catalog).contains(&"amp-fp16"));
    // Nor where a model comes after the library that is mostly trained in fp16: found by dice over a million links.
    let (mut project, _) = asked("model=llama-3.2-3b&framework=torchtune", &catalog);
    fields::set(&mut project, Field::Model, "bert-base-cased", &catalog).unwrap();
    assert_ne!((project.framework, project.precision), (Framework::Torchtune, Precision::AmpFp16));
}
