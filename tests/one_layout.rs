//! Several cards: a knob where gradients gather whole, changes that name what changed, a plan that says what its reasons
//! compare with, growth that stays with cards that still hold it, and a first try that is possible.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod desk;

use desk::in_yuan as on;
use enough_gpu::advise::plan::{Choice, Reason, safe_plan, samples_per_step};
use enough_gpu::advise::several::{laid_out, several};
use enough_gpu::advise::{FixKind, Verdict, advise, growth};
use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::gathers_whole_gradients;
use enough_gpu::project::{Checkpointing, Sharding};
use enough_gpu::text::{self, Lang, answer, several as say};

/// FSDP keeps whole gradients on every card while it accumulates: that is said, and one click ends it.
#[test]
fn whole_gradients_are_explained_and_can_be_divided() {
    let catalog = Catalog::bundled();
    let mut project = on("llm-70b-full", "h20", 16, &catalog);
    project.hardware.sharding = Sharding::Fsdp2;
    project.accumulation = 8;
    assert!(gathers_whole_gradients(&project));
    let advice = advise(&project, &catalog).unwrap();
    assert!(matches!(advice.verdict, Verdict::RunsOut { .. }), "{:?}", advice.verdict);
    let less = |kind: &FixKind| *kind == FixKind::LessAccumulation { accumulation: 1 };
    let fix = advice.fixes.iter().find(|fix| less(&fix.kind)).expect("less accumulation");
    assert!((fix.fits || fix.tight) && fix.project.accumulation == 1, "{fix:?}");
    let plan = advice.make_it_fit.clone().unwrap();
    println!("{:?} {:?}", plan.fixes, plan.risk);
    assert!(plan.fixes.iter().any(less), "{:?}", plan.fixes);
    let said = answer(Lang::Zh, &project, &Ok(advice), &catalog);
    println!("{}\n{}", said.why.clone().unwrap(), said.next.sentence);
    assert!(said.why.unwrap().contains("累积改成 1") && said.next.sentence.contains("累积"), "{:?}", said.next);
    // Nothing of the kind where gradients are divided, or nothing gathers.
    for (sharding, accumulation) in [(Sharding::Zero3, 8), (Sharding::Fsdp2, 1), (Sharding::Ddp, 8)] {
        let mut other = project.clone();
        (other.hardware.sharding, other.accumulation) = (sharding, accumulation);
        assert!(!gathers_whole_gradients(&other), "{sharding:?}");
        let advice = advise(&other, &catalog).unwrap();
        assert!(!advice.fixes.iter().any(|fix| less(&fix.kind)), "{sharding:?}");
    }
}

#[test]
fn the_list_of_changes_names_what_changed() {
    let catalog = Catalog::bundled();
    let project = on("llm-70b-full", "h20", 16, &catalog);
    let gpu = catalog.gpu("h20").unwrap();
    let found = several(&project, gpu, 16, &catalog).unwrap();
    let way = found.sharings.iter().find(|way| way.sharding == Sharding::Fsdp2).unwrap();
    assert_eq!(laid_out(&project, &way.project), [FixKind::Way { sharding: Sharding::Fsdp2 }]);
    let name = text::fix(Lang::Zh, FixKind::Way { sharding: Sharding::Fsdp2 });
    assert!(name.contains("FSDP2"), "{name}");
    let mut more = way.project.clone();
    more.hardware.count = 32;
    assert_eq!(laid_out(&way.project, &more), [FixKind::MoreCards { count: 32 }]);
}

/// "Without checkpointing so much slower" says what the cards would then have to do.
#[test]
fn a_reason_says_what_it_compares_with() {
    let catalog = Catalog::bundled();
    let mut said = Vec::new();
    for (preset, gpu, count) in [("llm-7b-lora", "rtx-4090", 4), ("llm-70b-full", "h20", 16)] {
        let project = on(preset, gpu, count, &catalog);
        let gpu = catalog.gpu(gpu).unwrap();
        let samples = samples_per_step(&project).max(u64::from(count));
        let found = safe_plan(&project, gpu, count, samples, &catalog).unwrap();
        for reason in &found.reasons {
            let (choice, instead) = match reason {
                Reason::WouldNotFit { choice, instead, .. }
                | Reason::Tight { choice, instead, .. }
                | Reason::Slower { choice, instead, .. } => (*choice, *instead),
            };
            let words = Lang::ALL.map(|lang| say::reason(lang, reason));
            println!("{preset}: {} {}", words[0], words[1]);
            if let Some(way) = instead.sharding {
                assert!(way != found.project.hardware.sharding, "{reason:?}");
                assert!(words[0].contains("就得换成") && words[1].contains("it then takes"), "{words:?}");
            }
            assert!(choice != Choice::Checkpointing || instead.checkpointing.is_none(), "{reason:?}");
            said.push(instead);
        }
        assert!(found.project.checkpointing == Checkpointing::Off || !found.reasons.is_empty());
    }
    assert!(said.iter().any(|instead| instead.sharding.is_some() || instead.micro_batch.is_some()), "{said:?}");
}

/// Cards that still hold the larger project are kept, and how they then share it is said.
#[test]
fn growth_stays_with_cards_that_hold_it() {
    let catalog = Catalog::bundled();
    let project = on("llm-7b-lora", "rtx-4090", 4, &catalog);
    let today = advise(&project, &catalog).unwrap();
    let grown = growth(&project, 2, &catalog).unwrap();
    assert_eq!(grown.still_fits, Some(true), "{grown:?}");
    assert!(grown.own.is_some() && grown.way.is_some() && grown.count == 4, "{grown:?}");
    let said = Lang::ALL.map(|lang| text::growth(lang, &grown, &catalog));
    println!("{}\n{}", said[0], said[1]);
    assert!(said[0].contains("继续用自己的") && !said[0].contains("一张卡要"), "{}", said[0]);
    assert!(said[1].contains("stay with your own") && said[1].contains("each of 4 cards"), "{}", said[1]);
    assert!(today.memory.card > grown.need, "it is divided further");
    // One card says what it needs; cards that no longer hold it are left.
    let one = growth(&on("llm-7b-lora", "rtx-4090", 1, &catalog), 10, &catalog).unwrap();
    let said = text::growth(Lang::Zh, &one, &catalog);
    assert!(said.contains("一张卡要") && !said.contains("继续用自己的"), "{said}");
}

/// A model that takes hundreds of cards is not tried whole on eight.
#[test]
fn a_first_try_of_a_cluster_is_possible() {
    let catalog = Catalog::bundled();
    let project = on("llm-671b-scratch", "", 1, &catalog);
    let advice = advise(&project, &catalog);
    let least = advice.as_ref().unwrap().cards.iter().filter(|c| c.fits).map(|c| c.count).min();
    assert!(least.is_some_and(|count| count > 8), "{least:?}");
    for (lang, layers) in [(Lang::Zh, "层数减到"), (Lang::En, "of the layers")] {
        let said = answer(lang, &project, &advice, &catalog).next.sentence;
        println!("{said}");
        assert!(said.contains(layers), "{said}");
    }
}
