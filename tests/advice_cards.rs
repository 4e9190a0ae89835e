//! What is said to somebody whose cards hold the run in one way and do it faster, or hold it at all, in another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::{Advice, FixKind, Verdict, advise};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::link::Link;
use enough_gpu::project::{Framework, Project, Sharding};
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
