//! Every way to get the run done (own, free, rented, bought; every card and count), and which of them are worth a look:
//! the front of time against money, three picks, what a budget buys.

use super::beside::{AtHome, nearly, purchases, rentals};
use super::cards::{LONGEST_H, Ranked};
use super::engine::step_on;
use super::picks::{AS_CHEAP_AS, at_home, front, picks};
use super::terms::{SET_UP_H, Terms};
use super::ways::{elsewhere, own_card, without_rent};
use super::{Billed, CardChoice, FreeChoice, FreeInstead, Pick};
use crate::catalog::{Catalog, Domain, Gpu};
use crate::project::{Method, Project};
use crate::units::Money;

/// Waits within this factor are the same to a person.
pub(super) const AS_GOOD_AS: f64 = 1.1;
/// Amounts this near are the same to a person.
const A_DOLLAR: Money = Money::usd(1.0);
/// A step up that saves less of the wait is none.
const A_STEP: f64 = 0.95;

/// How one gets at the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// The computer's processor.
    Processor,
    /// The person's own card.
    Own,
    /// A free notebook.
    Free,
    /// Rented by the hour.
    Rent,
    /// Rented, and may be taken away at any moment.
    Spot,
    /// Bought new.
    New,
    /// Bought second hand.
    Used,
}

impl Way {
    /// Whether the card is bought for it.
    pub const fn is_bought(self) -> bool {
        matches!(self, Self::New | Self::Used)
    }
}

/// One way to get the run done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Id of the card; empty for the processor.
    pub gpu: &'static str,
    /// How many.
    pub count: u32,
    /// How one gets at it.
    pub way: Way,
    /// Who rents or lends it, or empty.
    pub who: &'static str,
    /// Hours that the run takes.
    pub hours: f64,
    /// Hours from now to the result: set-up, delivery, free hours of further weeks.
    pub wait: f64,
    /// What it costs in the end: for a bought card less what it still is worth.
    pub cost: Money,
    /// What has to be at hand: for a bought card all of its price.
    pub outlay: Money,
    /// What a bought card still is worth afterwards.
    pub worth: Option<Money>,
    /// What it costs at the shop, without a larger power supply and the power of the run.
    pub price: Option<Money>,
    /// Month of the price.
    pub as_of: &'static str,
    /// Nobody saw the price written down.
    pub rough: bool,
    /// Sold in another currency, to an account from there.
    pub abroad: bool,
    /// Disk that is rented with it, GB.
    pub disk_gb: f64,
    /// By what the rent is billed.
    pub billed: Billed,
}

/// A step up from one plan to a faster one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepUp {
    /// Where one stands.
    pub from: Plan,
    /// The next faster.
    pub to: Plan,
    /// Cost over cost, less one (2.0 = 200 % dearer); `None` from nothing, or from what takes power alone.
    pub dearer: Option<f64>,
    /// Share of the wait that is saved.
    pub quicker: f64,
}

impl StepUp {
    /// A wait that shrinks about as much as the price grows is worth a thought.
    pub fn is_worth_it(&self) -> bool {
        self.dearer.is_none_or(|dearer| (1.0 + dearer) * (1.0 - self.quicker) <= AS_GOOD_AS)
    }
}

/// What a budget buys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Afford {
    /// The soonest end that the money is enough for.
    Soonest(Plan),
    /// Not enough for anything but the person's own card, on which the run fits once it is changed as advised.
    OnOwnCard(Plan),
    /// Not enough for anything: the least that is needed.
    TooLittle(Plan),
}

impl Afford {
    /// Whether something would have to be rented or bought for which there is no money.
    pub const fn is_too_little(&self) -> bool {
        matches!(self, Self::TooLittle(plan) if !matches!(plan.way, Way::Own | Way::Processor))
    }
}

/// A rental that is no plan for everybody.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// Which.
    pub plan: Plan,
    /// It is sold in another currency; else its software or its seller asks for patience.
    pub abroad: bool,
}

/// The plans worth a look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plans {
    /// Plans that no other beats in both time and money, the cheapest first.
    pub front: Vec<Plan>,
    /// The cheapest plan of every card, for the picture.
    pub others: Vec<Plan>,
    /// Cheapest, balanced, fastest; where the money is limited, of what it is enough for.
    pub picks: Vec<(Pick, Plan)>,
    /// The person's own cards, where the run fits there and no pick names them, or else the processor that does it.
    pub at_home: Option<AtHome>,
    /// The picks among what is rented by the hour and not taken away: those above where they are such, else the best of
    /// the kind.
    pub rentals: Vec<(Pick, Plan)>,
    /// What costs less than the pick that is called the cheapest: about as much, but more trouble or a longer wait.
    pub cheaper: Option<Plan>,
    /// A rental that costs less than the pick that is called the cheapest, and why it is not counted.
    pub left_out: Option<LeftOut>,
    /// What the budget buys, where one is given.
    pub afford: Option<Afford>,
    /// Where the money is not enough: the free way out.
    pub free_instead: Option<FreeInstead>,
    /// A pick that is done hardly later than the soonest that the budget buys, and costs less.
    pub nearly: Option<Plan>,
    /// The person's own card is among the plans changed as the next step says.
    pub changed: bool,
    /// The card to buy for the budget, of one that is enough for it alone where there is: the most memory, and of that for
    /// the least money.
    pub purchase: Option<Plan>,
    /// The one on which the run is soonest done, where that is another.
    pub quicker_purchase: Option<Plan>,
    /// Whatever the budget buys is neither quicker nor larger than what the person has.
    pub keep_own: bool,
    /// The next faster plan after the balanced one.
    pub step_up: Option<StepUp>,
}

/// What the plans are made of.
pub(super) struct Given<'a> {
    pub(super) cards: &'a [Ranked],
    pub(super) free: &'a [FreeChoice],
    /// The person's own card, if the run fits: how many, and hours.
    pub(super) own: Option<(&'a Gpu, u32, f64)>,
    /// The person's own card, if the run fits once it is changed as advised.
    pub(super) own_changed: Option<(&'a Gpu, u32, f64)>,
    /// The change leaves what is trained as it is: such a run is one way among all.
    pub(super) same_training: bool,
    pub(super) hours_on_cpu: Option<f64>,
}

/// All plans, and those worth a look.
pub(super) fn plans(project: &Project, catalog: &Catalog, given: &Given<'_>) -> Plans {
    let terms = Terms::of(project);
    let mut all = without_rent(&terms, catalog, given);
    let changed = given.own_changed.map(|own| own_card(&terms, own));
    let compared = changed.filter(|_| given.same_training);
    all.extend(compared);
    // Offers in another currency only where there is nothing else that ends in time.
    let ends = |c: &CardChoice| c.time.is_some_and(|t| t.run.hours() + SET_UP_H <= LONGEST_H);
    let mut cards = given.cards.iter().map(|ranked| &ranked.choice);
    let foreign = !cards.any(|c| c.fits && ends(c) && c.rent.is_some_and(|r| !r.converted));
    let mut others: Vec<Plan> = Vec::new();
    // Every card takes a sample of a step at the least: more cards than samples make another training of it, which is no
    // way to end sooner where fewer cards will do. Steps of a pre-training are made for the cards.
    let language = catalog.model(&project.model).is_some_and(|m| m.domain == Domain::Language);
    let step = step_on(project, project.hardware.count.max(1));
    let usual = |r: &&Ranked| r.choice.fits && r.mainstream;
    let shares = |r: &&Ranked| u64::from(r.choice.count) <= step;
    let enough = !(language && project.method == Method::Scratch)
        && given.cards.iter().filter(usual).any(|r| shares(&r) && ends(&r.choice) && r.choice.rent.is_some());
    for ranked in given.cards.iter().filter(usual).filter(|r| !enough || shares(r)) {
        let choice = &ranked.choice;
        let Some(gpu) = catalog.gpu(choice.gpu) else { continue };
        let start = all.len();
        elsewhere(&terms, gpu, choice, foreign, &mut all);
        let cheapest = all.iter().skip(start).min_by(|a, b| a.cost.amount.total_cmp(&b.cost.amount));
        let Some(cheapest) = cheapest.copied() else { continue };
        match others.iter_mut().find(|p| p.gpu == choice.gpu) {
            Some(known) if known.cost.amount > cheapest.cost.amount => *known = cheapest,
            Some(_) => {}
            None => others.push(cheapest),
        }
    }
    all.retain(|p| p.wait.is_finite() && p.wait <= LONGEST_H);
    others.retain(|p: &Plan| p.wait.is_finite() && p.wait <= LONGEST_H);
    let dollar = terms.convert(A_DOLLAR);
    let limit = project.budget.limit;
    let front = front(&all);
    let afford = limit.and_then(|limit| afford(&all, limit)).map(|found| match (found, changed) {
        (Afford::TooLittle(_), Some(plan)) => Afford::OnOwnCard(plan),
        _ => found,
    });
    let own = given.own.map(|(gpu, _, hours)| (gpu.memory, hours));
    let bought = limit.map(|limit| purchases(&all, limit, own, catalog)).unwrap_or_default();
    if let (Some(Afford::Soonest(_)), Some(limit)) = (afford, limit) {
        all.retain(|p| p.outlay.amount <= limit);
    }
    let picks = picks(&all, dollar, catalog);
    let least = all.iter().min_by(|a, b| a.cost.amount.total_cmp(&b.cost.amount)).copied();
    let cheapest = picks.iter().find(|(pick, _)| *pick == Pick::Cheapest);
    let cheaper = least.zip(cheapest).filter(|(l, (_, p))| l.cost.amount < p.cost.amount).map(|(least, _)| least);
    let left_out = cheapest.and_then(|(_, p)| left_out(&terms, catalog, given.cards, (foreign, p.cost.amount)));
    let balanced = picks.iter().find(|(pick, _)| *pick == Pick::Balanced).or(picks.first()).map(|(_, plan)| *plan);
    // A card that is shown as a pick already is no news.
    let soonest = afford.and_then(|a| if let Afford::Soonest(plan) = a { Some(plan) } else { None });
    let shown = picks.iter().map(|(_, pick)| *pick).chain(soonest);
    let shown = |p: &Plan| shown.clone().any(|pick| (pick.gpu, pick.count) == (p.gpu, p.count));
    let within = |p: &Plan| limit.is_none_or(|limit| p.outlay.amount <= limit);
    let step_up = balanced.and_then(|from| step_up(from, &front)).filter(|step| !shown(&step.to) && within(&step.to));
    let nearly = soonest.and_then(|soonest| nearly(&soonest, &picks));
    let own = [(given.own, false), (given.own_changed, true)];
    let mut own = own.into_iter().filter_map(|(own, changed)| Some(AtHome { plan: own_card(&terms, own?), changed }));
    let processor =
        all.iter().find(|plan| plan.way == Way::Processor).map(|plan| AtHome { plan: *plan, changed: false });
    let at_home = own.next().or(processor).filter(|own| !picks.iter().any(|(_, plan)| plan.way == own.plan.way));
    let rentals = rentals(&picks, &all, dollar, catalog);
    Plans {
        front,
        others,
        picks,
        at_home,
        rentals,
        cheaper,
        left_out,
        afford,
        free_instead: None,
        nearly,
        changed: compared.is_some(),
        purchase: bought.first,
        quicker_purchase: bought.quicker,
        keep_own: bought.keep_own,
        step_up,
    }
}

/// The cheapest rental below `cost` among those that are no plans.
fn left_out(terms: &Terms<'_>, catalog: &Catalog, cards: &[Ranked], (foreign, cost): (bool, f64)) -> Option<LeftOut> {
    let mut found: Vec<LeftOut> = Vec::new();
    for ranked in cards.iter().filter(|ranked| ranked.choice.fits) {
        let choice = &ranked.choice;
        let Some(rent) = choice.rent else { continue };
        let abroad = rent.converted && !foreign;
        if !abroad && ranked.mainstream {
            continue;
        }
        let Some(gpu) = catalog.gpu(choice.gpu) else { continue };
        let mut ways = Vec::new();
        elsewhere(terms, gpu, choice, true, &mut ways);
        found.extend(ways.into_iter().filter(|p| p.way == Way::Rent).map(|plan| LeftOut { plan, abroad }));
    }
    found.retain(|l| l.plan.wait <= LONGEST_H && l.plan.cost.amount < cost);
    found.into_iter().min_by(|a, b| a.plan.cost.amount.total_cmp(&b.plan.cost.amount))
}

/// The soonest end for the money; of several about as soon, the one that takes the least of it, and no machine that may be
/// taken away where the money is enough for a steady one that is as soon. Counted is what has to be at hand: by what is left
/// of a card in the end, a larger budget would choose a longer wait than a smaller one.
pub(super) fn afford(all: &[Plan], limit: f64) -> Option<Afford> {
    let within = || all.iter().filter(|p| p.outlay.amount <= limit);
    let shortest = within().map(|p| p.wait).fold(f64::INFINITY, f64::min);
    let amount = |a: &&Plan, b: &&Plan| a.outlay.amount.total_cmp(&b.outlay.amount).then(a.wait.total_cmp(&b.wait));
    let soonest = within().filter(|p| p.wait <= shortest * AS_GOOD_AS).min_by(amount);
    let steady = |spot: &Plan| within().filter(|p| p.way != Way::Spot && p.wait <= spot.wait).min_by(amount);
    let soonest = soonest.map(|p| if p.way == Way::Spot { steady(p).unwrap_or(p) } else { p });
    let home = || all.iter().filter(|p| at_home(p)).min_by(amount);
    let least = || home().or_else(|| all.iter().min_by(amount));
    soonest.map(|p| Afford::Soonest(*p)).or_else(|| least().map(|p| Afford::TooLittle(*p)))
}

/// The next faster plan of the front, and what it costs more. A bill for power is no price that a rent could be so many
/// per cent above.
pub(super) fn step_up(from: Plan, front: &[Plan]) -> Option<StepUp> {
    // As cheap and sooner, but more trouble: that is no price for the time.
    let dearer = |p: &Plan| p.cost.amount > from.cost.amount * AS_CHEAP_AS;
    let to = *front.iter().find(|p| p.wait < from.wait * A_STEP && dearer(p))?;
    Some(StepUp {
        from,
        to,
        dearer: (from.cost.amount > 0.0 && !at_home(&from)).then(|| to.cost.amount / from.cost.amount - 1.0),
        quicker: 1.0 - to.wait / from.wait,
    })
}
