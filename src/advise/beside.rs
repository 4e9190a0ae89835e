//! What stands beside the picks: the person's own cards, the picks among rentals, what else a budget is good for.

use super::Pick;
use super::picks::picks;
use super::plans::{AS_GOOD_AS, Plan, Way};
use crate::catalog::Catalog;

/// The person's own cards, where no pick names them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtHome {
    /// The run on them.
    pub plan: Plan,
    /// It fits once it is changed as the next step says.
    pub changed: bool,
}

/// The picks among rentals: where a pick of all plans is one, the same.
pub(super) fn rentals(all_picks: &[(Pick, Plan)], all: &[Plan], dollar: f64, catalog: &Catalog) -> Vec<(Pick, Plan)> {
    let rented: Vec<Plan> = all.iter().filter(|p| p.way == Way::Rent).copied().collect();
    let among = picks(&rented, dollar, catalog);
    let of = |picks: &[(Pick, Plan)], pick: Pick| picks.iter().find(|(p, _)| *p == pick).map(|(_, plan)| *plan);
    let named = |pick: Pick| of(all_picks, pick).filter(|p| p.way == Way::Rent);
    let cheapest = named(Pick::Cheapest).or_else(|| of(&among, Pick::Cheapest));
    let others = [Pick::Balanced, Pick::Fastest];
    // What has a name among all plans is given no other here.
    let first = others.into_iter().map(|pick| (pick, named(pick)));
    let then = others.into_iter().map(|pick| (pick, of(&among, pick)));
    let mut found: Vec<(Pick, Plan)> = Vec::new();
    for (pick, plan) in std::iter::once((Pick::Cheapest, cheapest)).chain(first).chain(then) {
        let Some(plan) = plan else { continue };
        if !found.iter().any(|(p, f)| *p == pick || (f.gpu, f.count) == (plan.gpu, plan.count)) {
            found.push((pick, plan));
        }
    }
    found
}

/// The pick that is as good as the soonest plan for less money, the cheapest of several.
pub(super) fn nearly(soonest: &Plan, picks: &[(Pick, Plan)]) -> Option<Plan> {
    let as_soon = |p: &&Plan| p.wait <= soonest.wait * AS_GOOD_AS && p.outlay.amount < soonest.outlay.amount;
    let cheaper = |a: &&Plan, b: &&Plan| a.outlay.amount.total_cmp(&b.outlay.amount);
    picks.iter().map(|(_, plan)| plan).filter(as_soon).min_by(cheaper).copied()
}

/// The best card for the money: one that is enough alone, or else several; the soonest done, then the cheapest.
pub(super) fn purchase(all: &[Plan], limit: f64) -> Option<Plan> {
    let bought = all.iter().filter(|p| p.way.is_bought() && p.outlay.amount <= limit);
    let best = bought.min_by(|a, b| {
        let alone = (a.count > 1).cmp(&(b.count > 1));
        alone.then(a.hours.total_cmp(&b.hours)).then(a.outlay.amount.total_cmp(&b.outlay.amount))
    });
    best.copied()
}
