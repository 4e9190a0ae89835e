//! The next step in words: it names what the picks beside it name, and a free place where the money is not enough.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::{Way, advise};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::Project;
use enough_gpu::text::numbers::money;
use enough_gpu::text::{Lang, afford, answer, plan_card};
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
