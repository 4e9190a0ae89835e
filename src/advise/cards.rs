//! Every card and count on which the run could go, ranked by what a person wants: that it fits, that it costs little,
//! that it can be had, that it is soon done.

use super::engine::{Memo, accumulation, on, step_on};
use super::money::{Offers, buy};
use super::plans::Plan;
use super::terms::{SET_UP_H, Terms};
use super::warnings::{bar, warnings, without_bf16};
use super::{CardChoice, CardWarning, Pick};
use crate::catalog::{Catalog, Gpu, GpuFamily, Vendor};
use crate::estimate::CARDS_PER_MACHINE;
use crate::estimate::time::{has_fast_link, has_flash};
use crate::project::{Precision, Project, Sharding};
use crate::units::sort;
use std::cmp::{Ordering, Reverse};

/// Most cards that a plan may have.
const MOST_CARDS: u32 = 16_384;
/// A run shorter than this needs no second card.
const SOON_H: f64 = 2.0;
/// A run longer than this asks for more machines.
const LONG_H: f64 = 24.0 * 45.0;
/// Longest run that is a plan: three months.
pub(super) const LONGEST_H: f64 = 24.0 * 90.0;
/// Entries of the short list beside the picks.
const SHORT_LIST: usize = 5;

/// The project on a choice of cards, set as the choice was worked out.
pub fn on_choice(project: &Project, choice: &CardChoice, catalog: &Catalog) -> Option<Project> {
    let gpu = catalog.gpu(choice.gpu)?;
    // On one machine "automatic" comes to the way of the choice; over several fewer ways are worth a look.
    let sharding = if choice.count <= CARDS_PER_MACHINE { Sharding::Auto } else { choice.sharding };
    let same = project.hardware.gpu == gpu.id && project.hardware.count == choice.count;
    Some(on(project, gpu, choice.count, if same { project.hardware.sharding } else { sharding }))
}

/// All choices, the best first. `own` is the project settled on the person's own cards.
pub(super) fn ranked(
    memo: &Memo<'_>,
    project: &Project,
    catalog: &Catalog,
    own_cards: Option<(&Gpu, &Project)>,
) -> Vec<Ranked> {
    let terms = Terms::of(project).for_run(project, catalog);
    let offers = Offers::new(catalog, &terms);
    let own = project.accumulation as f64 * f64::from(project.hardware.count.max(1));
    // A step of the person's own that is larger than the data is told elsewhere.
    let most_samples = project.samples.max(step_on(project, project.hardware.count));
    let mut choices = Vec::with_capacity(catalog.gpus.len() * 2);
    for gpu in catalog.gpus.iter().filter(|g| bar(project, g).is_none()) {
        let mainstream = is_mainstream(project, gpu);
        let cuda = gpu.vendor == Vendor::Nvidia;
        let lasting = has_flash(gpu);
        // Nobody puts cards without bf16 together for a run that is held in it, and where fp16 is no use either, takes one.
        let held = matches!(project.precision, Precision::PureBf16 | Precision::MasterBf16);
        let instead = without_bf16(project, gpu).filter(|_| held);
        if instead == Some(Precision::Fp32) && own_cards.is_none_or(|(own, _)| own.id != gpu.id) {
            continue;
        }
        let most = if instead.is_some() { 1 } else { most(gpu) };
        let mut count = 1;
        let mut half: Option<CardChoice> = None;
        let mut enough = false;
        loop {
            // More cards would take more samples for a step than there are.
            if enough && step_on(project, count) > most_samples {
                break;
            }
            let there = own_cards.filter(|(own, there)| own.id == gpu.id && there.hardware.count == count);
            let choice = choice(memo, project, gpu, count, there.map(|(_, there)| there), (&offers, &terms));
            let hopeless = half.as_ref().zip(choice.as_ref()).is_some_and(|(half, choice)| is_hopeless(half, choice));
            let more = !hopeless && count * 2 <= most && choice.as_ref().is_none_or(wants_more);
            enough |= choice.as_ref().is_some_and(|c| c.fits);
            half = choice.clone().filter(|c| !c.fits);
            // Clusters that are too small say nothing.
            if let Some(choice) = choice.filter(|c| c.fits || c.tight || count <= CARDS_PER_MACHINE) {
                let cards = choice.accumulation as f64 * f64::from(count);
                let growth = (cards / own.max(1.0)).max(1.0);
                choices.push(Ranked { rank: Rank::of(&choice, mainstream), choice, mainstream, cuda, lasting, growth });
            } else if count == 1 {
                break;
            }
            if !more {
                break;
            }
            count *= 2;
        }
    }
    without_crowds(&mut choices, own_cards.map(|(own, there)| (own.id, there.hardware.count)));
    sort(&mut choices, Ranked::order);
    choices
}

/// Leaves out clusters of cards that are too small for the job: nobody rents out thousands of them where some dozens of
/// larger ones do it.
fn without_crowds(choices: &mut Vec<Ranked>, own: Option<(&str, u32)>) {
    /// So many times as many as of the cards of which it takes the least.
    const A_CROWD: u32 = 8;
    let ends = |r: &&Ranked| r.choice.fits && r.mainstream && wait(&r.choice) <= LONGEST_H && r.choice.rent.is_some();
    let rented = choices.iter().filter(ends);
    let Some(least) = rented.map(|r| r.choice.count).min() else { return };
    let most = least.max(CARDS_PER_MACHINE).saturating_mul(A_CROWD);
    choices.retain(|r| r.choice.count <= most || own == Some((r.choice.gpu, r.choice.count)));
}

/// The list as it is shown: picks first. They are those of the plans, so that a card has one name on the whole page.
pub(super) fn cards(mut ranked: Vec<Ranked>, rentals: &[(Pick, Plan)]) -> Vec<CardChoice> {
    for (pick, plan) in rentals {
        let same = ranked.iter_mut().find(|r| (r.choice.gpu, r.choice.count) == (plan.gpu, plan.count));
        if let Some(r) = same.filter(|r| r.choice.pick.is_none()) {
            r.choice.pick = Some(*pick);
        }
    }
    mark_overpriced(&mut ranked);
    short_list(&mut ranked);
    sort(&mut ranked, |a, b| place(&a.choice).cmp(&place(&b.choice)).then_with(|| a.order(b)));
    ranked.into_iter().map(|r| r.choice).collect()
}

fn choice(
    memo: &Memo<'_>,
    project: &Project,
    gpu: &Gpu,
    count: u32,
    own: Option<&Project>,
    (offers, terms): (&Offers<'_>, &Terms<'_>),
) -> Option<CardChoice> {
    let (sharding, need) = match own {
        // As the person set it: what the answer says of it.
        Some(there) => (there.hardware.sharding, memo.need_of(there, gpu)?),
        None => memo.share(gpu, count)?,
    };
    let time = memo.time(gpu, count, sharding);
    let hours = time.map(|t| t.run.hours());
    Some(CardChoice {
        gpu: gpu.id,
        count,
        sharding,
        accumulation: accumulation(project, count),
        card: need.card,
        usable: gpu.usable,
        band: need.band,
        spare: gpu.usable - need.card,
        fits: need.fits(gpu.usable),
        tight: need.is_tight(gpu.usable),
        time,
        rent: offers.rent(gpu, count, hours),
        buy: buy(gpu, count, terms),
        instead_of_bf16: without_bf16(project, gpu),
        overpriced: false,
        pick: None,
        short_list: false,
    })
}

/// Most cards of this kind that work together.
pub(super) fn most(gpu: &Gpu) -> u32 {
    match gpu.family {
        GpuFamily::Laptop | GpuFamily::Apple => 1,
        _ if gpu.memory_type.contains("LPDDR") => 1,
        GpuFamily::Datacenter | GpuFamily::Accelerator if has_fast_link(gpu, CARDS_PER_MACHINE) => MOST_CARDS,
        _ => CARDS_PER_MACHINE,
    }
}

/// Whether twice as many are worth a look: it does not fit yet, or takes long.
pub(super) fn wants_more(choice: &CardChoice) -> bool {
    let hours = choice.time.map_or(0.0, |t| t.run.hours());
    let slow = hours > if choice.count < CARDS_PER_MACHINE { SOON_H } else { LONG_H };
    !choice.fits || slow
}

/// Whether no number of cards can hold it: what is divided halves with each doubling, so that all further ones together
/// save no more than the last, and what is not divided is too much. Twice that is looked at, since less accumulation may
/// save gradients besides.
pub(super) fn is_hopeless(half: &CardChoice, choice: &CardChoice) -> bool {
    let saved = half.card - choice.card;
    let least = choice.card - saved - saved;
    let alike = half.sharding == choice.sharding && choice.count > CARDS_PER_MACHINE;
    alike && least.scale(1.0 - choice.band) > choice.usable
}

/// Price of the run, with the hour it takes to set a rented machine up.
fn cost(choice: &CardChoice) -> Option<f64> {
    Some(choice.rent?.run?.amount)
}

/// Wait for the run with the time it takes to set up.
fn wait(choice: &CardChoice) -> f64 {
    choice.time.map_or(f64::INFINITY, |t| t.run.hours() + SET_UP_H)
}

/// What to buy it costs, new where that is known.
fn buy_price(choice: &CardChoice) -> f64 {
    choice.buy.and_then(|b| b.new.or(b.used)).map_or(f64::INFINITY, |m| m.amount)
}

/// A choice with what its rank depends on.
pub(super) struct Ranked {
    pub(super) choice: CardChoice,
    pub(super) rank: Rank,
    /// Current software runs on it, and somebody stands behind it.
    pub(super) mainstream: bool,
    /// It runs CUDA, for which recipes are written first.
    pub(super) cuda: bool,
    /// Kernels of today's recipes run on it: worth buying for years.
    pub(super) lasting: bool,
    /// Effective batch over the project's own, 1 where accumulation could be lowered instead.
    pub(super) growth: f64,
}

impl Ranked {
    /// Good advice for somebody who does not know.
    fn is_candidate(&self) -> bool {
        self.rank.candidate.0
    }

    /// Several cards are more to set up and more to go wrong than one, and so are cards off CUDA; a larger effective
    /// batch wants other settings.
    pub(super) fn trouble(&self) -> f64 {
        let cards = f64::from(self.choice.count.max(1)).log2();
        1.0 + 0.2 * cards + 0.2 * self.growth.log2() + if self.cuda { 0.0 } else { 0.4 }
    }

    pub(super) fn order(&self, other: &Self) -> Ordering {
        let (a, b) = (&self.choice, &other.choice);
        self.rank.cmp(&other.rank).then_with(|| a.gpu.cmp(b.gpu)).then_with(|| a.count.cmp(&b.count))
    }
}

/// What decides the place of a choice, worked out once, since it is compared a thousand times: the first part that differs
/// decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// Does not fit, not even nearly.
    short: u8,
    /// Good advice for somebody who does not know: it fits, can be rented with the person's money, runs current software,
    /// and ends in this life.
    candidate: Reverse<bool>,
    /// Takes too long, is off the beaten track.
    odd: u8,
    price: i64,
    buy: i64,
    wait: i64,
}

impl Rank {
    pub(super) fn of(choice: &CardChoice, mainstream: bool) -> Self {
        let wait = wait(choice);
        let sensible = wait <= LONGEST_H;
        let flags = |first: bool, second: bool| u8::from(first) * 2 + u8::from(second);
        Self {
            short: flags(!choice.fits, !choice.tight),
            candidate: Reverse(choice.fits && sensible && mainstream && choice.rent.is_some_and(|r| !r.converted)),
            odd: flags(!sensible, !mainstream),
            price: in_order(cost(choice).unwrap_or(f64::INFINITY)),
            buy: in_order(buy_price(choice)),
            wait: in_order(wait),
        }
    }
}

/// A whole number that is larger where this one is: quicker to compare. Nothing here is below zero.
const fn in_order(amount: f64) -> i64 {
    amount.to_bits().cast_signed()
}

/// Current `PyTorch` runs on it, on CUDA or `ROCm`, and somebody stands behind it.
pub(super) fn is_mainstream(project: &Project, gpu: &Gpu) -> bool {
    let stops = [
        CardWarning::Dropped,
        CardWarning::OtherStack,
        CardWarning::Modded,
        CardWarning::RocmOverride,
        CardWarning::NoTriton,
        CardWarning::NoBf16,
    ];
    warnings(project, gpu, 1, None).iter().all(|w| !stops.contains(w))
}

/// Marks rentals that no one should take: for no more an hour another does the run in half the time. A lone old offer is
/// often one.
pub(super) fn mark_overpriced(ranked: &mut [Ranked]) {
    const HALF: f64 = 0.5;
    let offer = |r: &Ranked| Some((r.choice.rent?.per_hour.amount, r.choice.time?.run.hours()));
    let mut offers: Vec<(f64, f64)> = ranked.iter().filter(|r| r.is_candidate()).filter_map(offer).collect();
    sort(&mut offers, |a, b| a.0.total_cmp(&b.0));
    let mut shortest = f64::INFINITY;
    for (_, hours) in &mut offers {
        shortest = shortest.min(*hours);
        *hours = shortest;
    }
    for r in ranked.iter_mut().filter(|r| r.choice.fits || r.choice.tight) {
        let Some((price, hours)) = offer(r) else { continue };
        let dearer = offers.partition_point(|(other, _)| *other <= price);
        let best = dearer.checked_sub(1).and_then(|i| offers.get(i)).map_or(f64::INFINITY, |(_, hours)| *hours);
        // A pick was weighed with more than the hour's price.
        r.choice.overpriced = r.choice.pick.is_none() && best <= hours * HALF;
    }
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

/// What a beginner sees first: the picks, the cheapest to buy, and the best few of the rest, each card once.
pub(super) fn short_list(ranked: &mut [Ranked]) {
    let mut seen: Vec<&str> = Vec::new();
    for r in ranked.iter_mut().filter(|r| r.choice.pick.is_some()) {
        r.choice.short_list = true;
        seen.push(r.choice.gpu);
    }
    let to_buy = ranked
        .iter()
        .enumerate()
        .filter(|(_, r)| r.choice.fits && r.mainstream && r.lasting && buy_price(&r.choice).is_finite())
        .min_by(|a, b| {
            let price = |r: &Ranked| buy_price(&r.choice) * r.trouble();
            price(a.1).total_cmp(&price(b.1))
        })
        .map(|(i, _)| i);
    if let Some(r) = to_buy.and_then(|i| ranked.get_mut(i)) {
        r.choice.short_list = true;
        seen.push(r.choice.gpu);
    }
    let mut left = SHORT_LIST;
    for r in ranked.iter_mut() {
        if left == 0 {
            break;
        }
        let choice = &mut r.choice;
        if !r.mainstream || choice.overpriced || !(choice.fits || choice.tight) || seen.contains(&choice.gpu) {
            continue;
        }
        choice.short_list = true;
        seen.push(choice.gpu);
        left -= 1;
    }
}
