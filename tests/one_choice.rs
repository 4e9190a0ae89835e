//! Cards, prices and picks agree with each other: a row of the list keeps its promise, a card has one name on the whole
//! page, the person's own is among the ways, and what is said of buying is about cards on which the run goes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod desk;

use desk::in_yuan as on;
use enough_gpu::advise::{Pick, Verdict, Way, advise, on_choice, owned_count, rent_or_buy, usual_purchase};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::{Project, Sharding};
use enough_gpu::text::{Lang, beside_afford, step_up};

const CASES: [(&str, &str, u32); 12] = [
    ("llm-7b-full", "rtx-4090", 1),
    ("llm-7b-lora", "rtx-4090", 4),
    ("joke-chat-qlora", "rtx-4060", 1),
    ("joke-chat-qlora", "rtx-4060", 4),
    ("gongbi-lora-sdxl", "rtx-3060-12gb", 1),
    ("whisper-ft", "rtx-3060-12gb", 1),
    ("llm-70b-full", "h20", 16),
    ("llm-7b-lora", "", 1),
    ("flux-lora", "rtx-4060", 1),
    ("wan-lora", "rtx-4090", 1),
    ("mnist", "rtx-3060-12gb", 1),
    ("sdxl-full", "rtx-4090", 2),
];

fn cases(catalog: &Catalog) -> Vec<Project> {
    let known = CASES.into_iter().filter(|(preset, ..)| catalog.preset(preset).is_some());
    let found: Vec<Project> = known.map(|(preset, gpu, count)| on(preset, gpu, count, catalog)).collect();
    assert!(found.len() >= 10, "{}", found.len());
    found
}

/// Cards in such a number that a step would take more samples than there are do another training.
#[test]
fn no_row_has_more_cards_than_the_data_fills() {
    let catalog = Catalog::bundled();
    let mut project = on("llm-7b-full", "a100-sxm-80gb", 8, &catalog);
    // So long that cards of 40 GB take more than one machine.
    (project.samples, project.accumulation, project.sequence) = (1000, 1, 16_384);
    let advice = advise(&project, &catalog).unwrap();
    assert!(advice.cards.iter().any(|c| c.count > 8));
    for row in &advice.cards {
        let step = project.micro_batch * row.accumulation * u64::from(row.count);
        assert!(step <= project.samples, "{} x {}: {step}", row.count, row.gpu);
    }
}

#[test]
fn a_row_keeps_its_promise() {
    let catalog = Catalog::bundled();
    let mut all = cases(&catalog);
    // With a screen on the card, and shared as the person says.
    all.push(on("joke-chat-qlora", "rtx-4060", 1, &catalog));
    all.last_mut().unwrap().hardware.desktop = true;
    all.push(on("llm-7b-full", "rtx-4090", 8, &catalog));
    all.last_mut().unwrap().hardware.sharding = Sharding::Zero3Offload;
    for project in all {
        let advice = advise(&project, &catalog).unwrap();
        let own = |gpu: &str| gpu == project.hardware.gpu;
        for row in advice.cards.iter().filter(|c| c.short_list || own(c.gpu)) {
            let chosen = on_choice(&project, row, &catalog).unwrap();
            let after = advise(&chosen, &catalog).unwrap();
            let what = format!("{} from {}: {} x {}", project.preset, project.hardware.gpu, row.count, row.gpu);
            assert_eq!(after.memory.card, row.card, "{what}");
            assert_eq!(matches!(after.verdict, Verdict::Fits { .. }), row.fits, "{what}");
            assert_eq!(matches!(after.verdict, Verdict::Tight { .. }), row.tight, "{what}");
            assert_eq!(after.time, row.time, "{what}");
        }
        // The row of the cards that are there is the answer itself.
        let there = advice.cards.iter().find(|c| own(c.gpu) && c.count == project.hardware.count);
        if let Some(row) = there.filter(|_| advice.capacity.is_some()) {
            assert_eq!((row.card, row.time), (advice.memory.card, advice.time), "{}", project.preset);
        }
    }
}

#[test]
fn a_card_has_one_name_on_the_whole_page() {
    let catalog = Catalog::bundled();
    let mut rented = 0;
    for project in cases(&catalog) {
        let advice = advise(&project, &catalog).unwrap();
        for (pick, plan) in advice.plans.picks.iter().filter(|(_, plan)| plan.way == Way::Rent) {
            let row = advice.cards.iter().find(|c| (c.gpu, c.count) == (plan.gpu, plan.count)).unwrap();
            let said = row.pick.unwrap_or_else(|| panic!("{}: {plan:?} has no mark", project.preset));
            // One mark a row: of several the one that stands first.
            assert!(said == *pick || said == Pick::Cheapest, "{}: {said:?}", project.preset);
            let others = advice.cards.iter().filter(|c| c.pick == Some(*pick)).filter(|c| c.gpu != row.gpu);
            assert_eq!(others.count(), 0, "{}: {pick:?}", project.preset);
            rented += 1;
        }
    }
    assert!(rented > 8, "{rented}");
}

#[test]
fn ones_own_cards_are_always_among_the_ways() {
    let catalog = Catalog::bundled();
    let (mut beside, mut changed) = (0, 0);
    for project in cases(&catalog).iter().filter(|p| !p.hardware.no_gpu) {
        let advice = advise(project, &catalog).unwrap();
        let runs = matches!(advice.verdict, Verdict::Fits { .. }) || advice.make_it_fit.is_some();
        let picked = advice.plans.picks.iter().any(|(_, plan)| plan.way == Way::Own);
        assert_eq!(picked || advice.plans.at_home.is_some(), runs, "{}", project.preset);
        // A card that the run first has to be made to fit is a pick where that is what is best.
        changed += usize::from(picked && advice.plans.changed);
        beside += usize::from(picked);
        let Some(own) = advice.plans.at_home else { continue };
        assert!(own.plan.gpu == project.hardware.gpu && own.plan.way == Way::Own, "{own:?}");
        beside += 1;
        changed += usize::from(own.changed);
    }
    assert!(beside > 2 && changed > 0, "{beside} {changed}");
}

#[test]
fn rent_or_buy_is_about_cards_on_which_it_runs() {
    let catalog = Catalog::bundled();
    for (preset, gpu, count) in [
        ("llm-7b-full", "rtx-4090", 1),
        ("llm-70b-full", "h20", 16),
        ("llm-70b-full", "h100-sxm", 8),
        ("llm-7b-lora", "", 1),
    ] {
        let project = on(preset, gpu, count, &catalog);
        let advice = advise(&project, &catalog).unwrap();
        let usual = usual_purchase(&project, &advice, &catalog);
        println!("{preset} on {gpu}: {usual:?}");
        if let Some((id, count)) = usual {
            let row = advice.cards.iter().find(|c| c.gpu == id && c.count == count).unwrap();
            assert!(row.fits || row.tight, "{preset}: {row:?}");
            let gpu = catalog.gpu(id).unwrap();
            assert!(rent_or_buy(&project, gpu, count, None, &catalog).is_some(), "{preset}: {id} x {count}");
            assert!(owned_count(gpu, &advice) >= 1);
        }
    }
    let first = on("joke-chat-qlora", "rtx-4090", 1, &catalog);
    let advice = advise(&first, &catalog).unwrap();
    assert_eq!(usual_purchase(&first, &advice, &catalog), Some(("rtx-4090", 1)));
}

#[test]
fn a_budget_says_what_it_buys() {
    let catalog = Catalog::bundled();
    for (preset, limit) in [("gongbi-lora-sdxl", 3000.0), ("llm-7b-lora", 20_000.0)] {
        let mut project = on(preset, "", 1, &catalog);
        project.budget.limit = Some(limit);
        let plans = advise(&project, &catalog).unwrap().plans;
        let bought = plans.purchase.unwrap_or_else(|| panic!("{preset}: nothing to buy for {limit}"));
        assert!(bought.way.is_bought() && bought.outlay.amount <= limit, "{bought:?}");
        for lang in Lang::ALL {
            println!("{}", beside_afford(lang, &plans, &catalog));
        }
    }
    // Without money no step up that costs some.
    for project in cases(&catalog) {
        let mut project = project.clone();
        project.budget.limit = Some(0.0);
        let plans = advise(&project, &catalog).unwrap().plans;
        assert!(plans.step_up.is_none_or(|step| step.to.outlay.amount <= 0.0), "{}", project.preset);
    }
}

/// A rental is not so many per cent dearer than a bill for power.
#[test]
fn power_is_no_price() {
    let catalog = Catalog::bundled();
    let mut steps = 0;
    for project in cases(&catalog) {
        let plans = advise(&project, &catalog).unwrap().plans;
        let Some(step) = plans.step_up.filter(|step| step.from.way == Way::Own) else { continue };
        for lang in Lang::ALL {
            let said = step_up(lang, &step, &catalog);
            println!("{said}");
            assert!(!said.contains("% dearer") && !said.contains("贵"), "{said}");
        }
        steps += 1;
    }
    assert!(steps > 0);
}
