//! Which of many plans are worth a name: the front of time against money, and three picks of it.

use super::Pick;
use super::plans::{AS_GOOD_AS, Plan, Way};
use crate::catalog::{Catalog, Vendor};
use crate::units::sort;

/// Amounts within this factor, or within a dollar, are the same to a person.
pub(super) const AS_CHEAP_AS: f64 = 1.05;

/// The plans that no other beats in both time and money, the cheapest first.
pub(super) fn front(all: &[Plan]) -> Vec<Plan> {
    let mut sorted: Vec<&Plan> = all.iter().collect();
    sort(&mut sorted, |a, b| a.cost.amount.total_cmp(&b.cost.amount).then(a.wait.total_cmp(&b.wait)));
    let mut soonest = f64::INFINITY;
    let mut front = Vec::new();
    for plan in sorted {
        if plan.wait < soonest {
            soonest = plan.wait;
            front.push(*plan);
        }
    }
    front
}

/// The cheapest, the balanced and the fastest of the plans, each named once.
pub(super) fn picks(all: &[Plan], dollar: f64, catalog: &Catalog) -> Vec<(Pick, Plan)> {
    // Weighed once: three picks are made of them.
    let weighed: Vec<(&Plan, f64)> = all.iter().map(|plan| (plan, trouble(plan, catalog))).collect();
    let pick = |key: &dyn Fn(&Plan, f64) -> Option<f64>| {
        let keyed = weighed.iter().filter_map(|(plan, trouble)| Some((*plan, key(plan, *trouble)?)));
        keyed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(plan, _)| *plan)
    };
    let least = all.iter().map(|p| p.cost.amount).fold(f64::INFINITY, f64::min);
    let shortest = all.iter().map(|p| p.wait).fold(f64::INFINITY, f64::min);
    // Of all that cost about the least, the one that is done soonest with the least trouble. Nobody signs up anywhere
    // to save a dollar's worth of electricity.
    let cheap = |p: &Plan| p.cost.amount <= least * AS_CHEAP_AS || (at_home(p) && p.cost.amount <= least + dollar);
    let cheapest = pick(&|p, trouble| cheap(p).then_some(p.wait * trouble));
    // Less trouble is worth something, but no pick stands beside another that is both cheaper and sooner.
    let stands = |p: &Plan, beside: Option<Plan>| beside.is_none_or(|other| !beats(&other, p));
    // Nobody pays double to wait three minutes less: of all that are as good as the fastest, the cheapest.
    let soon = |p: &Plan| p.wait <= shortest * AS_GOOD_AS && stands(p, cheapest);
    // What is called the cheapest costs less than what stands beside it.
    let dearer = |p: &Plan| cheapest.is_none_or(|cheapest| p.cost.amount >= cheapest.cost.amount);
    let worth = |p: &Plan, trouble: f64| (p.cost.amount + dollar) * trouble;
    let fastest = pick(&|p, trouble| (soon(p) && dearer(p)).then(|| worth(p, trouble)));
    let fastest = fastest.or_else(|| pick(&|p, trouble| soon(p).then(|| worth(p, trouble))));
    let balanced = pick(&|p, trouble| {
        (stands(p, cheapest) && stands(p, fastest) && dearer(p)).then(|| worth(p, trouble) * p.wait)
    });
    let mut found: Vec<(Pick, Plan)> = Vec::new();
    for (pick, plan) in [(Pick::Cheapest, cheapest), (Pick::Balanced, balanced), (Pick::Fastest, fastest)] {
        // Whoever is cheapest and fastest at once is named once.
        let named = |p: &Plan| found.iter().any(|(_, f)| f == p || beats(f, p));
        let new = plan.filter(|p| !named(p));
        found.extend(new.map(|plan| (pick, plan)));
    }
    found
}

/// What stands at home takes nothing but power.
pub(super) fn at_home(plan: &Plan) -> bool {
    matches!(plan.way, Way::Processor | Way::Own)
}

/// Costs no more, takes no longer, and is better in one of the two.
fn beats(a: &Plan, b: &Plan) -> bool {
    let (cost, wait) = (a.cost.amount.total_cmp(&b.cost.amount), a.wait.total_cmp(&b.wait));
    cost.is_le() && wait.is_le() && (cost.is_lt() || wait.is_lt())
}

/// More to set up and more to go wrong: several cards, no CUDA, machines that may be taken away, used cards, a card to
/// build in and to sell again.
fn trouble(plan: &Plan, catalog: &Catalog) -> f64 {
    let cuda = catalog.gpu(plan.gpu).is_none_or(|g| g.vendor == Vendor::Nvidia);
    let way = match plan.way {
        Way::Processor | Way::Own => 0.0,
        Way::Free | Way::Rent => 0.1,
        Way::Spot => 1.0,
        Way::New => 0.5,
        Way::Used => 0.8,
    };
    1.0 + 0.2 * f64::from(plan.count.max(1)).log2() + if cuda { 0.0 } else { 0.4 } + way
}
