//! The ways to get at one machine: what stands at home, what is lent, rented and bought, each as a plan with its price.

use super::money::second_hand;
use super::plans::{Given, Plan, Way};
use super::terms::{SET_UP_H, Terms, can_own, resale_share};
use super::{Billed, CardChoice};
use crate::catalog::{Catalog, Gpu};
use crate::estimate::CARDS_PER_MACHINE;
use crate::project::Project;
use crate::units::Money;

/// A card that is bought comes by post: two days. A judgement.
const DELIVERY_H: f64 = 48.0;
/// A computer without a card takes about this much from the wall: processor and rest (memory).
const PROCESSOR_KW: f64 = 0.2;

/// A plan of which nothing is known but hours and cost: it takes no rent and nothing from a shop.
fn plain(terms: &Terms<'_>, way: Way, gpu: &'static str, count: u32, hours: f64, cost: f64) -> Plan {
    Plan {
        gpu,
        count,
        way,
        who: "",
        hours,
        wait: hours,
        cost: terms.money(cost),
        outlay: terms.money(cost),
        worth: None,
        price: None,
        as_of: "",
        rough: false,
        abroad: false,
        disk_gb: 0.0,
        billed: Billed::AsSaid,
    }
}

/// The person's own card: electricity.
pub(super) fn own_card(terms: &Terms<'_>, (gpu, count, hours): (&Gpu, u32, f64)) -> Plan {
    plain(terms, Way::Own, gpu.id, count, hours, terms.power(gpu, count).unwrap_or(0.0) * hours)
}

/// What costs no rent: processor, own card, free notebooks.
pub(super) fn without_rent(terms: &Terms<'_>, catalog: &Catalog, given: &Given<'_>) -> Vec<Plan> {
    let plain = |way, gpu, count, hours, cost| plain(terms, way, gpu, count, hours, cost);
    let mut found = Vec::new();
    if let Some(hours) = given.hours_on_cpu {
        found.push(plain(Way::Processor, "", 1, hours, PROCESSOR_KW * terms.electricity * hours));
    }
    found.extend(given.own.map(|own| own_card(terms, own)));
    for free in given.free.iter().filter(|f| f.is_open()) {
        let (Some(hours), Some(wait), Some(gpu)) = (free.hours, free.wait_h, catalog.gpu(free.gpu)) else { continue };
        found.push(Plan {
            who: free.platform,
            wait: wait + SET_UP_H,
            as_of: free.as_of,
            rough: free.rough,
            ..plain(Way::Free, gpu.id, free.count, hours, 0.0)
        });
    }
    found
}

/// What is paid for: rented, rented as long as it lasts, bought new, bought second hand.
pub(super) fn elsewhere(terms: &Terms<'_>, gpu: &Gpu, choice: &CardChoice, foreign: bool, all: &mut Vec<Plan>) {
    let Some(hours) = choice.time.map(|t| t.run.hours()) else { return };
    let plan = |way: Way, who: &'static str, wait: f64, cost: Money, outlay: Money| Plan {
        who,
        wait,
        cost,
        outlay,
        ..plain(terms, way, gpu.id, choice.count, hours, 0.0)
    };
    if let Some(rent) = choice.rent.filter(|r| foreign || !r.converted) {
        let dated =
            |p: Plan| Plan { as_of: rent.as_of, rough: rent.rough, abroad: rent.converted, disk_gb: rent.disk_gb, ..p };
        let billed = rent.billed;
        let wait = hours + SET_UP_H;
        all.extend(rent.run.map(|run| Plan { billed, ..dated(plan(Way::Rent, rent.provider, wait, run, run)) }));
        // Nobody has many machines to spare at once.
        let spot = rent.spot_run.filter(|_| choice.count <= CARDS_PER_MACHINE);
        all.extend(spot.map(|run| dated(plan(Way::Spot, rent.spot_provider, wait, run, run))));
    }
    let Some(price) = choice.buy.filter(|_| can_own(gpu, choice.count)) else { return };
    let power = terms.power(gpu, choice.count).unwrap_or(0.0) * hours;
    let supply = terms.supply(gpu, choice.count).map_or(0.0, |(_, price)| price);
    let wait = hours + DELIVERY_H;
    let used = price.used.map(|m| m.amount);
    for (way, paid) in [(Way::New, price.new), (Way::Used, price.used)] {
        let Some(paid) = paid else { continue };
        let base = if way == Way::Used { paid.amount } else { second_hand(paid.amount, used) };
        let worth = base * resale_share(gpu, hours / (24.0 * 7.0));
        let outlay = paid.amount + supply + power;
        all.push(Plan {
            worth: Some(terms.money(worth)),
            price: Some(paid),
            as_of: price.as_of,
            rough: price.rough,
            ..plan(way, "", wait, terms.money(outlay - worth), terms.money(outlay))
        });
    }
}

/// All ways to get at one choice of cards.
pub(super) fn card_plans(project: &Project, gpu: &Gpu, choice: &CardChoice) -> Vec<Plan> {
    let mut found = Vec::new();
    elsewhere(&Terms::of(project), gpu, choice, false, &mut found);
    found.retain(|p| p.wait.is_finite());
    found
}
