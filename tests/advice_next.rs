//! The next step in words: it names what the picks beside it name, and a free place where the money is not enough.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::{Afford, FixKind, Plan, Way, advise};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::{Framework, Project, Sharding};
use enough_gpu::text::numbers::money;
use enough_gpu::text::{self, Lang, afford, answer, plan_card};
use enough_gpu::units::Currency;

fn projects(catalog: &Catalog) -> Vec<Project> {
    let presets = catalog.presets.iter().map(|preset| Project::from_preset(preset, catalog));
    presets.filter(|p| enough_gpu::estimate::memory(p, None, catalog).is_ok()).collect()
}

/// The next step and the picks beside it name the same cards, in the same number.
#[test]
fn the_next_step_rents_what_a_pick_rents() {
    let catalog = Catalog::bundled();
    let (mut clusters, mut spots) = (0, 0);
    for currency in [Currency::Usd, Currency::Cny] {
        for mut project in projects(&catalog) {
            project.budget.currency = currency;
            project.hardware.no_gpu = true;
            let advice = advise(&project, &catalog);
            let said = answer(Lang::En, &project, &advice, &catalog).next.sentence;
            let plans = advice.unwrap().plans;
            let Some((_, plan)) = plans.picks.iter().find(|(_, p)| matches!(p.way, Way::Rent | Way::Spot)) else {
                continue;
            };
            if !said.contains("two rented hours") && !said.contains("cluster") {
                continue;
            }
            clusters += usize::from(said.contains("cluster"));
            let name = plan_card(Lang::En, plan, &catalog);
            assert!(said.contains(&name), "{}: {said}, but the pick is {name}", project.preset);
            // At the price of the same offer.
            let spot = plan.way == Way::Spot;
            assert_eq!(spot, said.contains("spot"), "{}: {said}", project.preset);
            spots += usize::from(spot);
            let whole = money(Lang::En, plan.cost, plan.rough);
            assert!(said.contains(&whole), "{}: {said}, but the pick is {whole}", project.preset);
        }
    }
    assert!(clusters > 0 && spots > 0, "{clusters} {spots}");
}

/// Somebody whose money is not enough is told where it goes for nothing, changed as far as needed, and what the limits
/// are; only where no free place takes any variant of it is there nothing to say.
#[test]
fn a_small_budget_is_sent_to_a_free_place() {
    let catalog = Catalog::bundled();
    let (mut changed, mut without) = (0, Vec::new());
    for currency in [Currency::Usd, Currency::Cny] {
        for mut project in projects(&catalog) {
            (project.budget.currency, project.budget.limit) = (currency, Some(0.0));
            project.hardware.no_gpu = true;
            let advice = advise(&project, &catalog);
            let next = answer(Lang::En, &project, &advice, &catalog).next.sentence;
            let plans = advice.unwrap().plans;
            let said = afford(Lang::En, &project, &plans, &catalog).unwrap();
            println!("{currency:?} {}: {said}", project.preset);
            if !plans.afford.unwrap().is_too_little() {
                continue;
            }
            let Some(free) = &plans.free_instead else {
                without.push(project.preset.clone());
                continue;
            };
            assert!(
                said.contains(&free.choice.platform.to_string()) && next.contains("Spend nothing"),
                "{said} {next}"
            );
            assert!(said.contains("sitting") || said.contains("free"), "{said}");
            changed += usize::from(!free.fixes.is_empty());
        }
    }
    println!("{changed} changed; nowhere free: {without:?}");
    assert!(changed >= 10, "{changed}");
}

/// What a budget buys soonest is called so only where nothing else is sooner, and may be taken away only where the money
/// is not enough for a steady machine as soon.
#[test]
fn the_soonest_is_what_it_is_called() {
    let catalog = Catalog::bundled();
    let mut told = 0;
    for preset in catalog.presets.iter() {
        for limit in [2.0, 10.0, 60.0, 500.0] {
            let mut project = Project::from_preset(preset, &catalog);
            project.budget.limit = Some(limit);
            let Ok(advice) = advise(&project, &catalog) else { continue };
            let plans = &advice.plans;
            let Some(Afford::Soonest(plan)) = plans.afford else { continue };
            let steady = |p: &&Plan| p.way != Way::Spot && p.wait <= plan.wait && p.outlay.amount <= limit;
            assert!(plan.way != Way::Spot || !plans.front.iter().any(|p| steady(&p)), "{}: {plan:?}", preset.id);
            let en = afford(Lang::En, &project, plans, &catalog).unwrap();
            let sooner = plans.front.iter().any(|p| p.wait < plan.wait && p.outlay.amount <= limit);
            if plan.cost.amount > 0.0 {
                assert_eq!(en.contains("about the soonest"), sooner, "{}: {en}", preset.id);
            }
            told += 1;
        }
    }
    assert!(told > 100, "{told}");
}

/// More cards are a purchase: the fix names what they cost.
#[test]
fn more_cards_have_a_price() {
    let catalog = Catalog::bundled();
    let mut project = Project::from_preset(catalog.preset("llm-7b-full").unwrap(), &catalog);
    project.hardware.gpu = "rtx-4090".into();
    let advice = advise(&project, &catalog).unwrap();
    let fix = advice.fixes.iter().find(|f| matches!(f.kind, FixKind::MoreCards { .. })).expect("cards help");
    let said = |lang| text::more_cards(lang, fix, 1, &advice).unwrap();
    assert!(said(Lang::En).contains("an hour") && said(Lang::En).contains("more to buy"), "{}", said(Lang::En));
    assert!(said(Lang::Zh).contains("每小时") && said(Lang::Zh).contains("再买"), "{}", said(Lang::Zh));
    let other = advice.fixes.iter().find(|f| !matches!(f.kind, FixKind::MoreCards { .. })).unwrap();
    assert_eq!(text::more_cards(Lang::En, other, 1, &advice), None);
}

/// Megatron's distributed optimizer is offered where states are whole, and never where they are divided by it already.
#[test]
fn megatron_is_offered_its_own_division_once() {
    let catalog = Catalog::bundled();
    let mut project = Project::from_preset(catalog.preset("llm-7b-full").unwrap(), &catalog);
    project.framework = Framework::Megatron;
    project.hardware.gpu = "a100-sxm-40gb".into();
    project.hardware.count = 8;
    let offered = |p: &Project| {
        let fixes = advise(p, &catalog).unwrap().fixes;
        fixes.into_iter().find(|f| f.kind == FixKind::Sharding).map(|f| f.project.hardware.sharding)
    };
    project.hardware.sharding = Sharding::Ddp;
    assert_eq!(offered(&project), Some(Sharding::Zero1));
    project.hardware.sharding = Sharding::Zero1;
    assert_eq!(offered(&project), None);
}

/// Where answers are sampled, every next step says that this is not counted.
#[test]
fn sampling_is_never_forgotten() {
    let catalog = Catalog::bundled();
    let mut project = Project::from_preset(catalog.preset("grpo").unwrap(), &catalog);
    for gpu in ["", "rtx-3060-12gb", "rtx-4090", "a100-sxm-80gb"] {
        project.hardware.gpu = gpu.into();
        let advice = advise(&project, &catalog).unwrap();
        let said = text::next(Lang::En, &project, &advice, &catalog).sentence;
        assert!(said.to_lowercase().contains("sampling"), "{gpu}: {said}");
    }
}

/// Somebody whose own card takes days is told of the place that takes hours; nobody whose run is short is.
#[test]
fn who_waits_for_days_is_told_of_hours() {
    let catalog = Catalog::bundled();
    let said = |preset: &str, gpu: &str| {
        let mut project = Project::from_preset(catalog.preset(preset).unwrap(), &catalog);
        project.hardware.gpu = gpu.to_owned();
        let advice = advise(&project, &catalog);
        answer(Lang::En, &project, &advice, &catalog).next.sentence
    };
    for (preset, gpu) in [("llm-7b-lora", "m40-24gb"), ("llm-7b-full", "rtx-4060-laptop"), ("gongbi-lora-flux", "p40")]
    {
        let sentence = said(preset, gpu);
        assert!(sentence.contains("have it sooner"), "{preset} on {gpu}: {sentence}");
    }
    for (preset, gpu) in [("joke-chat-qlora", "rtx-4060"), ("llm-7b-lora", "rtx-4090"), ("cat-dog", "rtx-3060-12gb")] {
        let sentence = said(preset, gpu);
        assert!(!sentence.contains("have it sooner"), "{preset} on {gpu}: {sentence}");
    }
    // Old cards have two things in their way, and are told of both.
    let sentence = said("gongbi-lora-sdxl", "m40-24gb");
    assert!(sentence.contains("fp16") && sentence.contains("PyTorch"), "{sentence}");
    // fp16 that makes nonsense comes first.
    let sentence = said("cat-dog", "gtx-1660-super");
    assert!(sentence.contains("fp32") && sentence.contains("NaN"), "{sentence}");
}

/// More cards are offered with the option that divides the model, and never a machine of eight game cards.
#[test]
fn more_cards_come_with_their_division() {
    let catalog = Catalog::bundled();
    let mut offered = 0;
    for (preset, gpu) in [
        ("joke-chat-qlora", "gtx-1060-6gb"),
        ("llm-7b-lora", "arc-a770-16gb"),
        ("joke-chat-qlora", "rtx-4060"),
        ("llm-7b-lora", "m40-24gb"),
    ] {
        let mut project = Project::from_preset(catalog.preset(preset).unwrap(), &catalog);
        project.hardware.gpu = gpu.to_owned();
        for fix in advise(&project, &catalog).unwrap().fixes {
            if let FixKind::MoreCards { count } = fix.kind {
                offered += 1;
                assert!(gpu != "gtx-1060-6gb" && count <= 4, "{gpu} × {count}");
                let option = enough_gpu::advise::option(fix.kind, &fix.project).unwrap();
                assert!(option.contains("deepspeed"), "{option}");
            }
        }
    }
    assert!(offered > 1);
}

/// The card of today is never said to be too small and then the one to take.
#[test]
fn what_grows_does_not_contradict_itself() {
    let catalog = Catalog::bundled();
    let mut seen = 0;
    for (preset, gpu, count) in
        [("grpo", "rtx-4090", 1), ("llm-70b-full", "h20", 16), ("voice-gptsovits", "rtx-4060", 1)]
    {
        let mut project = Project::from_preset(catalog.preset(preset).unwrap(), &catalog);
        (project.hardware.gpu, project.hardware.count) = (gpu.to_owned(), count);
        for times in [2, 10] {
            let growth = enough_gpu::advise::growth(&project, times, &catalog).unwrap();
            let said = text::growth(Lang::En, &growth, &catalog);
            assert!(!said.contains("(your own)"), "{said}");
            seen += usize::from(said.contains("With settings changed"));
        }
    }
    assert!(seen > 0);
    let mut tabular = Project::from_preset(catalog.preset("tabular").unwrap(), &catalog);
    tabular.hardware.gpu = "k80".to_owned();
    let growth = enough_gpu::advise::growth(&tabular, 10, &catalog).unwrap();
    assert!(!growth.batch && growth.still_fits.is_none());
}

/// A step of two samples is not spread over eight cards; one of sixteen may be.
#[test]
fn no_plan_has_more_cards_than_samples() {
    let catalog = Catalog::bundled();
    let mut several = 0;
    for mut project in projects(&catalog) {
        project.budget.currency = Currency::Cny;
        let step = project.micro_batch * project.accumulation;
        let picks = advise(&project, &catalog).unwrap().plans.picks;
        several += usize::from(picks.iter().any(|(_, plan)| plan.count > 1));
        // Where no fewer cards hold it, more of them are no choice.
        if picks.iter().any(|(_, plan)| u64::from(plan.count) <= step && plan.way == Way::Rent) {
            let rented = |plan: &Plan| matches!(plan.way, Way::Rent | Way::Spot);
            let within = |plan: &Plan| !rented(plan) || u64::from(plan.count) <= step;
            assert!(picks.iter().all(|(_, plan)| within(plan)), "{}: {picks:?}", project.preset);
        }
    }
    assert!(several > 5, "{several}");
}

/// Whoever trains on the card that shows the screen is first told to hang the screen elsewhere, which costs nothing.
#[test]
fn the_screen_goes_before_the_model() {
    let catalog = Catalog::bundled();
    let mut project = Project::from_preset(catalog.preset("joke-chat-qlora").unwrap(), &catalog);
    (project.hardware.gpu, project.hardware.desktop) = ("rtx-4060".into(), true);
    let plan = advise(&project, &catalog).unwrap().make_it_fit.unwrap();
    assert!(plan.fixes.contains(&FixKind::FreeDisplay) && plan.project.model == project.model, "{:?}", plan.fixes);
    project.hardware.desktop = false;
    let fixes = advise(&project, &catalog).unwrap().fixes;
    assert!(fixes.iter().all(|fix| fix.kind != FixKind::FreeDisplay));
}

/// A shorter side of clips is set where musubi-tuner reads it, of pictures where sd-scripts does.
#[test]
fn sizes_are_set_where_they_are_read() {
    let catalog = Catalog::bundled();
    for (preset, wanted) in [("wan-lora", "resolution = [256, 256]"), ("gongbi-lora-flux", "--resolution 256")] {
        let mut project = Project::from_preset(catalog.preset(preset).unwrap(), &catalog);
        (project.framework, project.image_side) = (Framework::Kohya, 256);
        let option = enough_gpu::advise::option(FixKind::SmallerImage { side: 256 }, &project);
        assert_eq!(option.as_deref(), Some(wanted), "{preset}");
    }
}
