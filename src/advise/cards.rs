//! Every card and count on which the run could go, ranked by what a person wants: that it fits, that it costs little,
//! that it can be had, that it is soon done.

use super::engine::Memo;
use super::money::{Offers, buy};
use super::warnings::bar;
use super::{CardChoice, Pick};
use crate::catalog::{Catalog, Gpu, GpuFamily};
use crate::project::Project;
use crate::units::Bytes;
use std::cmp::Ordering;

/// Most cards in one machine.
const MACHINE: u32 = 8;
/// Most cards that a plan may have.
const MOST_CARDS: u32 = 16_384;
/// A run shorter than this needs no second card.
const SOON_H: f64 = 2.0;
/// A run longer than this asks for more machines.
const LONG_H: f64 = 24.0 * 45.0;
/// Renting takes this long to set up and to put away, whatever the run.
const SET_UP_H: f64 = 1.0;
/// Entries of the short list beside the picks.
const SHORT_LIST: usize = 5;

/// All choices, ranked.
pub(super) fn cards(memo: &Memo<'_>, project: &Project, catalog: &Catalog) -> Vec<CardChoice> {
    let currency = project.budget.currency;
    let offers = Offers::new(catalog, currency);
    let mut choices = Vec::with_capacity(catalog.gpus.len() * 2);
    for gpu in catalog.gpus.iter().filter(|g| bar(project, g).is_none()) {
        let mut count = 1;
        while let Some(choice) = choice(memo, project, gpu, count, &offers) {
            let more = wants_more(gpu, &choice);
            // Clusters that are too small say nothing.
            if choice.fits || choice.tight || count <= MACHINE {
                choices.push(choice);
            }
            if !more {
                break;
            }
            count *= 2;
        }
    }
    rank(&mut choices);
    choices
}

fn choice(memo: &Memo<'_>, project: &Project, gpu: &Gpu, count: u32, offers: &Offers<'_>) -> Option<CardChoice> {
    let (sharding, need) = memo.share(gpu, count)?;
    let time = memo.time(gpu, count, sharding);
    let hours = time.map(|t| t.run.hours());
    Some(CardChoice {
        gpu: gpu.id,
        count,
        sharding,
        card: need.card,
        usable: gpu.usable,
        band: need.band,
        spare: gpu.usable - need.card,
        fits: need.fits(gpu.usable),
        tight: need.is_tight(gpu.usable),
        time,
        rent: offers.rent(gpu, count, hours),
        buy: buy(gpu, count, project.budget.currency),
        pick: None,
        short_list: false,
    })
}

/// Whether twice as many are worth a look: it does not fit yet, or takes long.
fn wants_more(gpu: &Gpu, choice: &CardChoice) -> bool {
    let most = match gpu.family {
        GpuFamily::Laptop | GpuFamily::Apple => 1,
        _ if gpu.memory_type.contains("LPDDR") => 1,
        GpuFamily::Datacenter | GpuFamily::Accelerator if gpu.nvlink_gb_s.is_some_and(|g| g >= 240.0) => MOST_CARDS,
        _ => MACHINE,
    };
    let hours = choice.time.map_or(0.0, |t| t.run.hours());
    let slow = hours > if choice.count < MACHINE { SOON_H } else { LONG_H };
    choice.count * 2 <= most && (!choice.fits || slow)
}

/// Price of the run with the time it takes to set a rented machine up.
fn cost(choice: &CardChoice) -> Option<f64> {
    let rent = choice.rent?;
    Some(rent.per_hour.amount * (choice.time?.run.hours() + SET_UP_H))
}

fn hours(choice: &CardChoice) -> f64 {
    choice.time.map_or(f64::INFINITY, |t| t.run.hours())
}

fn order(a: &CardChoice, b: &CardChoice) -> Ordering {
    let class = |c: &CardChoice| (!c.fits, !c.tight);
    let price = |c: &CardChoice| cost(c).unwrap_or(f64::INFINITY);
    class(a)
        .cmp(&class(b))
        .then_with(|| price(a).total_cmp(&price(b)))
        .then_with(|| buy_price(a).total_cmp(&buy_price(b)))
        .then_with(|| hours(a).total_cmp(&hours(b)))
        .then_with(|| a.gpu.cmp(b.gpu))
        .then_with(|| a.count.cmp(&b.count))
}

fn buy_price(choice: &CardChoice) -> f64 {
    choice.buy.and_then(|b| b.new.or(b.used)).map_or(f64::INFINITY, |m| m.amount)
}

fn rank(choices: &mut [CardChoice]) {
    choices.sort_by(order);
    let candidates = || choices.iter().enumerate().filter(|(_, c)| c.fits && cost(c).is_some());
    let least =
        |key: &dyn Fn(&CardChoice) -> f64| candidates().min_by(|a, b| key(a.1).total_cmp(&key(b.1))).map(|(i, _)| i);
    let cheapest = least(&|c| cost(c).unwrap_or(f64::INFINITY));
    let balanced = least(&|c| cost(c).unwrap_or(f64::INFINITY) * (hours(c) + SET_UP_H));
    let fastest = least(&hours);
    let picks = [(cheapest, Pick::Cheapest), (balanced, Pick::Balanced), (fastest, Pick::Fastest)];
    for (index, pick) in picks {
        if let Some(choice) = index.and_then(|i| choices.get_mut(i))
            && choice.pick.is_none()
        {
            choice.pick = Some(pick);
        }
    }
    short_list(choices);
    choices.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| order(a, b)));
}

/// Picks first, then the short list, then the rest.
fn place(choice: &CardChoice) -> u8 {
    match choice.pick {
        Some(Pick::Cheapest) => 0,
        Some(Pick::Balanced) => 1,
        Some(Pick::Fastest) => 2,
        None if choice.short_list => 3,
        None => 4,
    }
}

/// What a beginner sees first: the picks, and the best few of the rest, each card once; among them the cheapest to buy.
fn short_list(choices: &mut [CardChoice]) {
    let mut seen: Vec<(&str, Bytes)> = Vec::new();
    for choice in choices.iter_mut().filter(|c| c.pick.is_some()) {
        choice.short_list = true;
        seen.push((choice.gpu, choice.usable));
    }
    let cheapest_to_buy = choices
        .iter()
        .enumerate()
        .filter(|(_, c)| c.fits && buy_price(c).is_finite())
        .min_by(|a, b| buy_price(a.1).total_cmp(&buy_price(b.1)))
        .map(|(i, _)| i);
    if let Some(choice) = cheapest_to_buy.and_then(|i| choices.get_mut(i)) {
        choice.short_list = true;
        seen.push((choice.gpu, choice.usable));
    }
    let mut left = SHORT_LIST;
    for choice in choices.iter_mut() {
        if left == 0 || !(choice.fits || choice.tight) {
            break;
        }
        if choice.short_list || seen.iter().any(|(gpu, _)| *gpu == choice.gpu) {
            continue;
        }
        choice.short_list = true;
        seen.push((choice.gpu, choice.usable));
        left -= 1;
    }
}
