//! Ways to get a run done, weighed: by counting, on plans thrown with dice.

use super::super::beside::{nearly, purchases};
use super::super::picks::{front, picks};
use super::super::plans::{Afford, Plan, Way, afford, step_up};
use super::super::{Billed, Pick};
use crate::catalog::Catalog;
use crate::units::{Bytes, Money};

pub(in crate::advise) fn plan(way: Way, gpu: &'static str, count: u32, cost: f64, wait: f64) -> Plan {
    Plan {
        gpu,
        count,
        way,
        who: "",
        hours: wait,
        wait,
        cost: Money::usd(cost),
        outlay: Money::usd(cost),
        worth: None,
        as_of: "",
        rough: false,
        abroad: false,
        disk_gb: 0.0,
        billed: Billed::AsSaid,
        price: None,
    }
}

/// Plans by dice: small whole numbers, so that some are alike.
fn thrown(seed: u64) -> Vec<Plan> {
    let mut state = seed;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let ways = [Way::Processor, Way::Own, Way::Free, Way::Rent, Way::Spot, Way::New, Way::Used];
    (0..2 + below(20))
        .map(|_| {
            let way = ways[below(7) as usize];
            let gpu = ["rtx-4090", "a100-sxm-80gb", "rx-7900-xtx"][below(3) as usize];
            let (cost, wait) = (below(40) as f64, 1.0 + below(40) as f64);
            Plan { outlay: Money::usd(cost + below(20) as f64), ..plan(way, gpu, 1 << below(4), cost, wait) }
        })
        .collect()
}

fn beats(a: &Plan, b: &Plan) -> bool {
    let no_worse = a.cost.amount <= b.cost.amount && a.wait <= b.wait;
    no_worse && (a.cost.amount < b.cost.amount || a.wait < b.wait)
}

#[test]
fn the_front_is_what_nothing_beats() {
    for seed in 0..300 {
        let all = thrown(seed);
        let found: Vec<(f64, f64)> = front(&all).iter().map(|p| (p.cost.amount, p.wait)).collect();
        let unbeaten = all.iter().filter(|p| !all.iter().any(|q| beats(q, p)));
        let mut counted: Vec<(f64, f64)> = unbeaten.map(|p| (p.cost.amount, p.wait)).collect();
        counted.sort_by(|a, b| a.partial_cmp(b).unwrap());
        counted.dedup();
        assert_eq!(found, counted, "{seed}");
    }
}

/// What a budget buys: the soonest, or what is as good as it for less at hand; where it buys nothing, what is missing to the
/// least. More money never waits longer.
#[test]
fn a_budget_buys_the_soonest_of_what_it_reaches() {
    for seed in 0..300 {
        let all = thrown(seed);
        let mut last = f64::INFINITY;
        for limit in [0.0, 5.0, 12.0, 17.0, 25.0, 33.0, 41.0, 50.0, 100.0] {
            let within: Vec<&Plan> = all.iter().filter(|p| p.outlay.amount <= limit).collect();
            let Some(found) = afford(&all, limit) else { panic!("{seed}: nothing is told") };
            match found {
                Afford::Soonest(plan) => {
                    assert!(within.contains(&&plan));
                    let shortest = within.iter().map(|p| p.wait).fold(f64::INFINITY, f64::min);
                    assert!(plan.wait <= shortest * 1.1);
                    let as_good = within.iter().filter(|p| p.wait <= shortest * 1.1);
                    let best = as_good
                        .min_by(|a, b| (a.outlay.amount, a.wait).partial_cmp(&(b.outlay.amount, b.wait)).unwrap());
                    let best = best.unwrap();
                    // In the place of a machine that may be taken away stands the cheapest steady one that is as soon.
                    let steady = within.iter().filter(|p| p.way != Way::Spot && p.wait <= best.wait);
                    let steady = steady.map(|p| p.outlay.amount).fold(f64::INFINITY, f64::min);
                    if best.way == Way::Spot && steady.is_finite() {
                        assert!(plan.way != Way::Spot && plan.wait <= best.wait, "{seed}");
                        assert_eq!(plan.outlay.amount, steady, "{seed}");
                    } else {
                        assert_eq!((plan.outlay, plan.wait), (best.outlay, best.wait), "{seed}");
                    }
                    assert!(plan.wait <= last, "{seed}: {limit}: {} after {last}", plan.wait);
                    last = plan.wait;
                    assert!(!found.is_too_little());
                }
                Afford::TooLittle(plan) => {
                    assert!(within.is_empty(), "{seed}");
                    let own = |p: &&Plan| matches!(p.way, Way::Own | Way::Processor);
                    let home = all.iter().any(|p| own(&p));
                    let among = all.iter().filter(|p| !home || own(p)).map(|p| p.outlay.amount);
                    assert_eq!(plan.outlay.amount, among.fold(f64::INFINITY, f64::min), "{seed}");
                    // Electricity at home is no matter of the budget.
                    assert_eq!(found.is_too_little(), !home);
                }
                Afford::OnOwnCard(_) => panic!("no card is owned"),
            }
        }
        assert!(afford(&[], 5.0).is_none());
    }
}

/// No pick stands beside another that is both cheaper and sooner; the cheapest costs about the least, the fastest waits
/// about the least.
#[test]
fn picks_are_what_they_are_called() {
    let catalog = Catalog::bundled();
    for seed in 0..300 {
        let all = thrown(seed);
        let found = picks(&all, 1.0, &catalog);
        let least = all.iter().map(|p| p.cost.amount).fold(f64::INFINITY, f64::min);
        let shortest = all.iter().map(|p| p.wait).fold(f64::INFINITY, f64::min);
        assert_eq!(found[0].0, Pick::Cheapest);
        for (n, (pick, plan)) in found.iter().enumerate() {
            assert!(all.contains(plan));
            // Nobody signs up anywhere to save a dollar at home.
            let dollar =
                *pick == Pick::Cheapest && matches!(plan.way, Way::Own | Way::Processor) && plan.cost.amount > least;
            assert!(dollar || !found.iter().any(|(_, other)| beats(other, plan)), "{seed}: {found:?}");
            assert!(!found.iter().take(n).any(|(other, p)| other == pick || p == plan), "{seed}: {found:?}");
            // What is called the cheapest costs no more than what is weighed beside it.
            assert!(*pick != Pick::Balanced || plan.cost.amount >= found[0].1.cost.amount, "{seed}: {found:?}");
            let home = matches!(plan.way, Way::Own | Way::Processor);
            match pick {
                Pick::Cheapest => {
                    let cheap = plan.cost.amount <= least * 1.05 || (home && plan.cost.amount <= least + 1.0);
                    assert!(cheap, "{seed}: {plan:?}");
                }
                Pick::Fastest => assert!(plan.wait <= shortest * 1.1, "{seed}: {plan:?}"),
                Pick::Balanced => {}
            }
        }
    }
}

/// Of two plans that cost as much and take as long, the one that is less trouble.
#[test]
fn less_trouble_is_better() {
    let catalog = Catalog::bundled();
    let least_first = [
        plan(Way::Own, "rtx-4090", 1, 10.0, 10.0),
        plan(Way::Rent, "rtx-4090", 1, 10.0, 10.0),
        plan(Way::Rent, "rtx-4090", 2, 10.0, 10.0),
        plan(Way::Rent, "rtx-4090", 4, 10.0, 10.0),
        plan(Way::New, "rtx-4090", 2, 10.0, 10.0),
        plan(Way::Used, "rtx-4090", 1, 10.0, 10.0),
        plan(Way::Spot, "rtx-4090", 1, 10.0, 10.0),
        plan(Way::Spot, "rtx-4090", 8, 10.0, 10.0),
        plan(Way::Spot, "rx-7900-xtx", 8, 10.0, 10.0),
    ];
    let first = |plans: &[Plan]| picks(plans, 1.0, &catalog)[0].1;
    for pair in least_first.windows(2) {
        assert_eq!(first(&[pair[1], pair[0]]), pair[0]);
    }
    let of = |way, gpu| plan(way, gpu, 1, 10.0, 10.0);
    assert_eq!(first(&[of(Way::Rent, "rx-7900-xtx"), of(Way::Rent, "rtx-4090")]).gpu, "rtx-4090");
    assert_eq!(first(&[of(Way::Rent, "rtx-4090"), of(Way::Processor, "")]).way, Way::Processor);
    // Free hours ask for signing up, as renting does.
    assert_eq!(first(&[of(Way::Used, "rtx-4090"), of(Way::Free, "rtx-4090")]).way, Way::Free);
    // Trouble is worth time: a machine that may be taken away at any moment is no better than one half as fast.
    let spot = plan(Way::Spot, "rtx-4090", 1, 10.0, 10.0);
    assert_eq!(first(&[spot, plan(Way::Rent, "rtx-4090", 1, 10.4, 15.0)]).way, Way::Rent);
    assert_eq!(first(&[spot, plan(Way::Rent, "rtx-4090", 1, 10.4, 25.0)]).way, Way::Spot);
    assert_eq!(first(&[spot, plan(Way::Rent, "rtx-4090", 1, 10.6, 15.0)]).way, Way::Spot);
    // Nobody signs up anywhere to save a dollar's worth of electricity, but to save two.
    let free = plan(Way::Free, "rtx-4090", 1, 0.0, 10.0);
    assert_eq!(first(&[free, plan(Way::Own, "rtx-4090", 1, 0.9, 10.0)]).way, Way::Own);
    assert_eq!(first(&[free, plan(Way::Own, "rtx-4090", 1, 1.1, 10.0)]).way, Way::Free);
    assert_eq!(first(&[free, plan(Way::Rent, "rtx-4090", 1, 0.9, 1.0)]).way, Way::Free);
}

/// Nobody pays double to wait three minutes less.
#[test]
fn the_fastest_is_the_cheapest_of_those_as_fast() {
    let catalog = Catalog::bundled();
    let rent = |cost, wait| plan(Way::Rent, "rtx-4090", 1, cost, wait);
    let all = [rent(1.0, 100.0), rent(50.0, 10.0), rent(25.0, 10.9), rent(24.0, 11.1)];
    let found = picks(&all, 1.0, &catalog);
    assert!(found.contains(&(Pick::Fastest, all[2])), "{found:?}");
    assert!(found.contains(&(Pick::Cheapest, all[0])), "{found:?}");
    // The balanced one is where money times time is least: 24 at 11.1 is behind 4 at 40.
    let all = [rent(1.0, 1000.0), rent(4.0, 40.0), rent(24.0, 11.1), rent(50.0, 10.0)];
    let found = picks(&all, 1.0, &catalog);
    assert_eq!(found, [(Pick::Cheapest, all[0]), (Pick::Balanced, all[1]), (Pick::Fastest, all[3])]);
}

/// A step up is the next plan that is dearer and clearly sooner.
#[test]
fn a_step_up_is_dearer_and_sooner() {
    let rent = |cost, wait| plan(Way::Rent, "rtx-4090", 1, cost, wait);
    let from = rent(10.0, 10.0);
    let up = |plans: &[Plan]| step_up(from, plans);
    assert!(up(&[from, rent(20.0, 9.6), rent(10.4, 2.0)]).is_none());
    let found = up(&[from, rent(20.0, 9.6), rent(10.6, 9.4), rent(40.0, 5.0)]).unwrap();
    assert_eq!((found.from, found.to.cost.amount), (from, 10.6));
    let found = up(&[from, rent(15.0, 5.0)]).unwrap();
    assert!((found.dearer.unwrap() - 0.5).abs() < 1e-9 && (found.quicker - 0.5).abs() < 1e-9);
    // What costs nothing, or only electricity, is no measure of a price.
    let free = plan(Way::Free, "t4", 1, 0.0, 10.0);
    assert_eq!(step_up(free, &[rent(15.0, 5.0)]).unwrap().dearer, None);
    let own = plan(Way::Own, "rtx-4090", 1, 2.0, 10.0);
    assert_eq!(step_up(own, &[rent(15.0, 5.0)]).unwrap().dearer, None);
    // Half as dear again for half the time is worth it, twice as dear for a twentieth is not.
    assert!(found.is_worth_it());
    assert!(!up(&[from, rent(20.0, 9.4)]).unwrap().is_worth_it());
}

/// One card that is enough before several, the soonest before the cheapest; and what is nearly as soon for less.
#[test]
fn what_to_buy_and_what_is_nearly_as_good() {
    let new = |count, cost, hours| Plan { hours, ..plan(Way::New, "rtx-4090", count, cost, hours + 48.0) };
    let all = [new(2, 20.0, 1.0), new(1, 30.0, 5.0), new(1, 10.0, 5.0), new(1, 1.0, 9.0), new(1, 60.0, 2.0)];
    let rented = plan(Way::Rent, "rtx-4090", 1, 1.0, 1.0);
    let among: Vec<Plan> = all.iter().copied().chain([rented]).collect();
    let catalog = Catalog::bundled();
    let bought = |all: &[Plan], limit: f64, own: Option<f64>| {
        let found = purchases(all, limit, own.map(|hours| (Bytes::from_gib(24.0), hours)), &catalog);
        (found.first, found.quicker, found.keep_own)
    };
    // As much memory for the least, and the soonest beside it; what takes three times as long is no choice.
    assert_eq!(bought(&among, 50.0, None), (Some(all[3]), Some(all[2]), false));
    assert_eq!(bought(&among, 60.0, None), (Some(all[2]), Some(all[4]), false));
    assert_eq!(bought(&all[..1], 50.0, None), (Some(all[0]), None, false));
    assert_eq!(bought(&all, 0.5, None), (None, None, false));
    assert_eq!(bought(&[rented], 50.0, None), (None, None, false));
    let used = bought(&[Plan { way: Way::Used, ..all[1] }], 50.0, None);
    assert_eq!(used.0.map(|p| p.way), Some(Way::Used));
    // More memory comes before speed.
    let roomy = Plan { gpu: "rtx-5090", hours: 6.0, ..new(1, 40.0, 6.0) };
    assert_eq!(bought(&[roomy, all[2]], 50.0, None), (Some(roomy), Some(all[2]), false));
    // Nobody buys what is slower than what is there, unless it holds more.
    assert_eq!(bought(&all, 60.0, Some(0.5)), (None, None, true));
    assert_eq!(bought(&[roomy, all[2]], 60.0, Some(0.5)), (None, None, true));
    assert_eq!(bought(&[roomy, all[1]], 60.0, Some(5.5)), (Some(roomy), None, false));

    let rent = |cost, wait| plan(Way::Rent, "rtx-4090", 1, cost, wait);
    let soonest = rent(20.0, 10.0);
    let named = |plans: &[Plan]| plans.iter().map(|p| (Pick::Balanced, *p)).collect::<Vec<_>>();
    assert_eq!(
        nearly(&soonest, &named(&[rent(15.0, 10.9), rent(12.0, 11.0), rent(5.0, 11.1)])),
        Some(rent(12.0, 11.0))
    );
    assert_eq!(nearly(&soonest, &named(&[rent(20.0, 10.0), rent(25.0, 9.0)])), None);
}
