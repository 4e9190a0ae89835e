//! What stands beside the picks: the person's own cards, the picks among rentals, what else a budget is good for.

use super::Pick;
use super::picks::picks;
use super::plans::{AS_GOOD_AS, Plan, Way};
use crate::catalog::{Catalog, Vendor};
use crate::units::Bytes;

/// The person's own cards or processor, where no pick names them.
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

/// What a budget buys to keep.
#[derive(Default)]
pub(super) struct Bought {
    /// The most memory, and of that for the least money.
    pub(super) first: Option<Plan>,
    /// The soonest done, where that is another.
    pub(super) quicker: Option<Plan>,
    /// Nothing that the money buys is sooner done than what is there, or as soon with more memory.
    pub(super) keep_own: bool,
}

/// The cards for the money: one that is enough alone, or else several. Memory decides what can be trained at all, and
/// speed only for how long, so that both are told. `own` is the memory of a card that is there, and the hours of the run
/// on what is there.
pub(super) fn purchases(all: &[Plan], limit: f64, own: Option<(Bytes, f64)>, catalog: &Catalog) -> Bought {
    /// A card with more memory on which the run takes so many times as long is no choice.
    const TOO_SLOW: f64 = 3.0;
    let memory = |p: &Plan| catalog.gpu(p.gpu).map_or(Bytes::ZERO, |gpu| gpu.memory);
    let cuda = |p: &Plan| catalog.gpu(p.gpu).is_some_and(|gpu| gpu.vendor == Vendor::Nvidia);
    let within: Vec<&Plan> = all.iter().filter(|p| p.way.is_bought() && p.outlay.amount <= limit).collect();
    // Sooner, or as soon with more memory.
    let gains = |p: &Plan, (mine, hours): (Bytes, f64)| {
        p.hours < hours / AS_GOOD_AS || (memory(p) > mine && p.hours <= hours * AS_GOOD_AS)
    };
    let better = |p: &&&Plan| own.is_none_or(|own| gains(p, own));
    let better: Vec<&Plan> = within.iter().filter(better).copied().collect();
    let price = |a: &&Plan, b: &&Plan| a.outlay.amount.total_cmp(&b.outlay.amount);
    let several = |p: &Plan| p.count > 1;
    let soonest =
        |a: &&Plan, b: &&Plan| several(a).cmp(&several(b)).then(a.hours.total_cmp(&b.hours)).then(price(a, b));
    let quicker = better.iter().copied().min_by(soonest);
    let fair = |p: &&Plan| quicker.is_none_or(|q| several(p) == several(q) && p.hours <= q.hours * TOO_SLOW);
    let roomy = |a: &&Plan, b: &&Plan| cuda(b).cmp(&cuda(a)).then(memory(b).cmp(&memory(a))).then(price(a, b));
    let first = better.iter().copied().filter(fair).min_by(roomy);
    Bought {
        first: first.copied(),
        quicker: quicker.filter(|q| first.is_some_and(|f| q.hours < f.hours / AS_GOOD_AS)).copied(),
        keep_own: better.is_empty() && !within.is_empty(),
    }
}
