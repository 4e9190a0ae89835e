//! One computation behind everything: what the headline says, the next step, the tables and the picks agree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod desk;

use desk::on;
use enough_gpu::advise::moves::moves;
use enough_gpu::advise::{Advice, FixKind, Verdict, advise};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::{Framework, LossKernel, Project};
use enough_gpu::text::{Action, Lang, answer, out_of_memory_intro};
use enough_gpu::units::Bytes;

fn is_short(advice: &Advice) -> bool {
    matches!(advice.verdict, Verdict::RunsOut { .. } | Verdict::Tight { .. })
}

/// Projects on one and several cards, those among them that fit in another way than the simplest.
fn several(catalog: &Catalog) -> Vec<Project> {
    let cases = [
        ("llm-7b-lora", "rtx-4090", 4),
        ("llm-7b-lora", "rtx-4090", 2),
        ("joke-chat-qlora", "rtx-4060", 1),
        ("joke-chat-qlora", "rtx-4060", 4),
        ("joke-chat-qlora", "rtx-4090", 2),
        ("llm-7b-full", "rtx-4090", 8),
        ("gongbi-lora-sdxl", "rtx-3060-12gb", 1),
        ("whisper-ft", "rtx-3060-12gb", 1),
        ("joke-chat-qlora", "ascend-910b3", 1),
        ("joke-chat-qlora", "", 1),
    ];
    cases.into_iter().map(|(preset, gpu, count)| on(preset, gpu, count, catalog)).collect()
}

#[test]
fn the_value_of_the_moment_is_the_answer() {
    let catalog = Catalog::bundled();
    for project in several(&catalog) {
        let advice = advise(&project, &catalog).unwrap();
        for row in moves(&project, &catalog) {
            let now = row.values.iter().find(|value| value.now).unwrap();
            let what = format!("{} on {} x {}: {now:?}", project.preset, project.hardware.count, project.hardware.gpu);
            assert_eq!(now.card, Some(advice.memory.card), "{what}");
            assert_eq!(now.run, advice.time.map(|time| time.run), "{what}");
            assert_eq!(now.verdict, advice.capacity.map(|_| advice.verdict), "{what}");
            assert_eq!(now.way, None, "{what}");
        }
    }
}

/// Every other value says what the answer says once it is chosen.
#[test]
fn a_moved_value_keeps_its_promise() {
    let catalog = Catalog::bundled();
    let project = on("llm-7b-lora", "rtx-4090", 4, &catalog);
    let mut elsewise = 0;
    for row in moves(&project, &catalog) {
        for value in row.values.iter().filter(|value| !value.now) {
            let mut chosen = project.clone();
            enough_gpu::project::fields::set(&mut chosen, row.field, &value.value, &catalog).unwrap();
            let after = advise(&chosen, &catalog).unwrap();
            assert_eq!((value.card, value.verdict), (Some(after.memory.card), Some(after.verdict)), "{row:?}");
            assert_eq!(value.run, after.time.map(|time| time.run), "{row:?}");
            elsewise += usize::from(value.way.is_some());
        }
    }
    assert!(elsewise > 0, "no value takes another way to share");
}

/// What is asked of somebody first are settings of what they have: all of them together, then a smaller model, and never
/// more cards, which cost money.
#[test]
fn the_next_step_is_no_purchase_where_settings_do_it() {
    let catalog = Catalog::bundled();
    let (mut several, mut plans) = (0, 0);
    for preset in catalog.presets.iter().filter(|preset| !preset.model.is_empty()) {
        for gpu in ["rtx-4060", "rtx-4060-laptop", "rtx-3060-12gb", "rtx-4090"] {
            let project = on(preset.id, gpu, 1, &catalog);
            let Ok(advice) = advise(&project, &catalog) else { continue };
            if !is_short(&advice) {
                continue;
            }
            let next = answer(Lang::En, &project, &Ok(advice.clone()), &catalog).next;
            let Some(plan) = &advice.make_it_fit else {
                // Whatever single change does it, more cards apart, is a plan too.
                let other = |kind: FixKind| !matches!(kind, FixKind::MoreCards { .. });
                assert!(!advice.fixes.iter().any(|fix| fix.fits && other(fix.kind)), "{}: {next:?}", preset.id);
                continue;
            };
            assert_eq!(next.action, Action::MakeItFit, "{} on {gpu}: {next:?}", preset.id);
            assert!(!next.sentence.contains("cards"), "{} on {gpu}: {next:?}", preset.id);
            plans += 1;
            several += usize::from(plan.fixes.len() > 1);
        }
    }
    assert!(plans > 20 && several > 5, "{plans} {several}");
}

/// Eight billion parameters on 8 GB: what a fused loss, another library and samples of a sensible length do not do, the
/// model a size down does; the number is named.
#[test]
fn a_smaller_sibling_comes_before_more_cards() {
    let catalog = Catalog::bundled();
    for (gpu, desktop) in [("rtx-4060", false), ("rtx-4060", true), ("rtx-4060-laptop", false)] {
        let mut project = on("joke-chat-qlora", gpu, 1, &catalog);
        project.model = "qwen3-8b".to_string();
        project.hardware.desktop = desktop;
        let advice = advise(&project, &catalog).unwrap();
        let next = answer(Lang::Zh, &project, &Ok(advice.clone()), &catalog).next;
        println!("{gpu} {desktop}: {}", next.sentence);
        assert_eq!(next.action, Action::MakeItFit, "{next:?}");
        let kinds: Vec<FixKind> = advice.fixes.iter().map(|fix| fix.kind).collect();
        let smaller = kinds.iter().position(|k| matches!(k, FixKind::SmallerModel { model: "qwen3-4b", .. }));
        let more = kinds.iter().position(|k| matches!(k, FixKind::MoreCards { .. }));
        assert!(smaller.is_some() && more.is_none_or(|more| smaller < Some(more)), "{kinds:?}");
    }
    // Everything else is done already.
    let mut project = on("joke-chat-qlora", "rtx-4060", 1, &catalog);
    (project.model, project.loss, project.sequence) = ("qwen3-8b".to_string(), LossKernel::Fused, 256);
    (project.framework, project.hardware.desktop) = (Framework::Unsloth, true);
    for sequence in [1024, 512, 256] {
        project.sequence = sequence;
        let advice = advise(&project, &catalog).unwrap();
        println!("{sequence}: {:?} {:?}", advice.verdict, advice.make_it_fit.as_ref().map(|plan| &plan.fixes));
        let Some(plan) = &advice.make_it_fit else { continue };
        assert!(plan.project.sequence >= 256, "{plan:?}");
    }
}

/// Where it may fit nothing says that it does not.
#[test]
fn what_is_tight_is_called_tight() {
    let catalog = Catalog::bundled();
    let project = on("joke-chat-qlora", "rtx-4060", 1, &catalog);
    let advice = advise(&project, &catalog).unwrap();
    assert!(matches!(advice.verdict, Verdict::Tight { missing, .. } if missing > Bytes::ZERO), "{:?}", advice.verdict);
    for row in moves(&project, &catalog) {
        let now = row.values.iter().find(|value| value.now).unwrap();
        assert!(matches!(now.verdict, Some(Verdict::Tight { .. })), "{now:?}");
    }
    assert!(!out_of_memory_intro(Lang::Zh, &advice.verdict).contains("还差"));
    assert!(out_of_memory_intro(Lang::Zh, &Verdict::RunsOut { missing: Bytes::from_gib(1.0) }).contains("还差"));
    // A fix that saves what is missing and is not enough for sure is tight as well.
    let mut saved = 0;
    for (preset, gpu) in [("joke-chat-qlora", "rtx-4060"), ("sd15-full", "rtx-3060-12gb"), ("llm-7b-lora", "rtx-4090")]
    {
        let mut project = on(preset, gpu, 1, &catalog);
        if preset == "joke-chat-qlora" {
            project.model = "qwen3-8b".to_string();
        }
        let advice = advise(&project, &catalog).unwrap();
        let (Verdict::RunsOut { missing } | Verdict::Tight { missing, .. }) = advice.verdict else { continue };
        for fix in advice.fixes.iter().filter(|fix| fix.saves >= missing && !fix.fits) {
            assert!(fix.tight, "{preset}: {fix:?}");
            saved += 1;
        }
    }
    assert!(saved > 0);
}
