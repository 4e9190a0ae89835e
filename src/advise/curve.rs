//! Rent or buy: what a card costs over hours of use either way, and from which hour on buying pays.

use super::money::{Offers, buy, second_hand};
use super::plans::{Plan, Way};
use super::terms::{Terms, can_own, resale_share};
use super::{Advice, Pick};
use crate::catalog::{Catalog, Gpu};
use crate::project::Project;
use crate::units::Money;

/// Weeks of the longer question: "every week for two years".
const TWO_YEARS_WEEKS: f64 = 104.0;
/// Nobody plans further than this.
const LONGEST_WEEKS: f64 = 6.0 * 52.0;
/// Points of the curve.
const POINTS: usize = 49;

/// What a card costs after some hours of use, in the person's currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostPoint {
    /// Hours of use; of a rented machine those to set it up count as use.
    pub hours: f64,
    /// Rented, with the disk kept in between.
    pub rent: f64,
    /// Bought new, less what it still is worth.
    pub new: Option<f64>,
    /// Bought second hand, less what it still is worth.
    pub used: Option<f64>,
}

/// Buying a card for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Purchase {
    /// What is paid at the counter: cards and power supply.
    pub outlay: Money,
    /// From so many hours of use on it costs less than renting; `None` where it does not within six years.
    pub pays_from_h: Option<f64>,
    /// What is left of it after two years.
    pub worth_after: Money,
}

/// Rent or buy, for one card (or several of it).
#[derive(Clone, Debug, PartialEq)]
pub struct RentOrBuy {
    /// Id of the card.
    pub gpu: &'static str,
    /// How many.
    pub count: u32,
    /// Who rents it out for the least, and since when that is known.
    pub provider: &'static str,
    /// Month of the rental price.
    pub as_of: &'static str,
    /// Month of the prices to buy.
    pub buy_as_of: &'static str,
    /// Nobody saw one of the prices written down.
    pub rough: bool,
    /// For an hour.
    pub rent_hour: Money,
    /// Disk of a rented machine for a week, kept between rentals.
    pub disk_week: Money,
    /// Electricity for an hour of a card of one's own.
    pub power_hour: Option<Money>,
    /// Disk that a rented machine keeps, GB.
    pub disk_gb: f64,
    /// The larger power supply that it takes: watts and price.
    pub supply: Option<(f64, Money)>,
    /// Bought new.
    pub new: Option<Purchase>,
    /// Bought second hand.
    pub used: Option<Purchase>,
    /// Hours of use a week.
    pub hours_a_week: f64,
    /// This project once.
    pub project: Option<CostPoint>,
    /// So many hours every week for two years.
    pub two_years: CostPoint,
    /// The curves.
    pub points: Vec<CostPoint>,
}

impl RentOrBuy {
    /// The better of the two ways to buy: the one that pays off first, else the one that costs less at the counter.
    pub fn best(&self) -> Option<(bool, Purchase)> {
        let both = [self.new.map(|p| (false, p)), self.used.map(|p| (true, p))];
        let key = |p: &Purchase| (p.pays_from_h.unwrap_or(f64::INFINITY), p.outlay.amount);
        both.into_iter().flatten().min_by(|a, b| {
            let (a, b) = (key(&a.1), key(&b.1));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }
}

/// The cards of which most people would ask whether to rent or buy them: the person's own if the run goes there, else
/// what the picks speak of, else the first of the list that can be had either way. `None` where the run fits nothing that
/// a person can own.
pub fn usual_purchase(project: &Project, advice: &Advice, catalog: &Catalog) -> Option<(&'static str, u32)> {
    let own = advice.cards.iter().filter(|c| c.gpu == project.hardware.gpu && c.count == project.hardware.count);
    // A rent that nobody should pay says nothing about buying.
    let own = own.filter(|c| (c.fits || c.tight) && advice.capacity.is_some() && !c.overpriced);
    let own = own.map(|c| (c.gpu, c.count));
    let pick = |which| advice.plans.picks.iter().find(move |(pick, _)| *pick == which);
    let picks = [Pick::Balanced, Pick::Cheapest, Pick::Fastest].into_iter().filter_map(pick);
    // On a card that the run first has to be made to fit, it does not go as it is.
    let paid = |plan: &Plan| match plan.way {
        Way::Free | Way::Processor => false,
        Way::Own => !advice.plans.changed,
        _ => true,
    };
    let picks = picks.filter(|(_, plan)| paid(plan)).map(|(_, plan)| (plan.gpu, plan.count));
    let fitting = advice.cards.iter().filter(|c| c.fits && !c.overpriced).map(|c| (c.gpu, c.count));
    let terms = Terms::of(project);
    let offers = Offers::new(catalog, &terms);
    own.chain(picks).chain(fitting).find(|(id, count)| {
        let sold = |gpu: &&Gpu| can_own(gpu, *count) && buy(gpu, *count, &terms).is_some();
        catalog.gpu(id).filter(sold).is_some_and(|gpu| offers.rent(gpu, *count, None).is_some())
    })
}

/// As many of a card as the run takes, where a person can own so many; else one.
pub fn owned_count(gpu: &Gpu, advice: &Advice) -> u32 {
    let fitting = advice.cards.iter().filter(|c| c.gpu == gpu.id && c.fits).map(|c| c.count);
    fitting.min().filter(|count| can_own(gpu, *count)).unwrap_or(1)
}

/// What `count` of a card cost by the hour and by the piece; `None` where they are not both rented out and sold.
/// `hours` is how long the project takes there.
pub fn rent_or_buy(
    project: &Project,
    gpu: &Gpu,
    count: u32,
    hours: Option<f64>,
    catalog: &Catalog,
) -> Option<RentOrBuy> {
    let terms = Terms::of(project).for_run(project, catalog);
    if !can_own(gpu, count) {
        return None;
    }
    let rent = Offers::new(catalog, &terms).rent(gpu, count, hours)?;
    let price = buy(gpu, count, &terms)?;
    let case = Case {
        terms: &terms,
        gpu,
        rent_hour: rent.per_hour.amount,
        power: terms.power(gpu, count),
        supply: terms.supply(gpu, count).map_or(0.0, |(_, price)| price),
        new: price.new.map(|m| m.amount),
        used: price.used.map(|m| m.amount),
        a_week: project.prices.hours_a_week.max(0.1),
    };
    let longest = case.a_week * LONGEST_WEEKS;
    let purchase = |price: Option<f64>, used: bool| {
        let price = price?;
        Some(Purchase {
            outlay: terms.money(price + case.supply),
            pays_from_h: case.pays_from(used, longest),
            worth_after: terms.money(case.worth(used, TWO_YEARS_WEEKS)?),
        })
    };
    let (new, used) = (purchase(case.new, false), purchase(case.used, true));
    // As far as two years, and beyond the crossing where there is one.
    let two_years = case.a_week * TWO_YEARS_WEEKS;
    let crossing = [new, used].into_iter().flatten().filter_map(|p| p.pays_from_h).fold(0.0, f64::max);
    let end = two_years.max(crossing * 1.25).min(longest);
    let points = (0..POINTS).map(|i| case.at(end * i as f64 / (POINTS - 1) as f64)).collect();
    Some(RentOrBuy {
        gpu: gpu.id,
        count,
        provider: rent.provider,
        as_of: rent.as_of,
        buy_as_of: price.as_of,
        rough: rent.rough || price.rough,
        rent_hour: rent.per_hour,
        disk_week: terms.money(terms.kept_disk(1.0)),
        disk_gb: terms.disk_gb,
        power_hour: case.power.map(|p| terms.money(p)),
        supply: terms.supply(gpu, count).map(|(watts, price)| (watts, terms.money(price))),
        new,
        used,
        hours_a_week: case.a_week,
        // What its plan says: the hour to set up, the disk, and no less than a provider sells.
        project: hours.map(|h| CostPoint { rent: rent.run.map_or(case.rented(h), |m| m.amount), ..case.at(h) }),
        two_years: case.at(two_years),
        points,
    })
}

/// One card with its prices.
struct Case<'a> {
    terms: &'a Terms<'a>,
    gpu: &'a Gpu,
    rent_hour: f64,
    power: Option<f64>,
    supply: f64,
    new: Option<f64>,
    used: Option<f64>,
    a_week: f64,
}

impl Case<'_> {
    /// What a bought card still is worth after some weeks. What was bought new is second hand from then on.
    fn worth(&self, used: bool, weeks: f64) -> Option<f64> {
        let base = if used { self.used? } else { second_hand(self.new?, self.used) };
        Some(base * resale_share(self.gpu, weeks))
    }

    fn own(&self, used: bool, hours: f64) -> Option<f64> {
        let price = if used { self.used? } else { self.new? };
        let worth = self.worth(used, hours / self.a_week)?;
        Some(price + self.supply - worth + self.power.unwrap_or(0.0) * hours)
    }

    fn rented(&self, hours: f64) -> f64 {
        self.rent_hour * hours + self.terms.kept_disk(hours / self.a_week)
    }

    fn at(&self, hours: f64) -> CostPoint {
        CostPoint { hours, rent: self.rented(hours), new: self.own(false, hours), used: self.own(true, hours) }
    }

    /// The hour from which on owning costs less: the first crossing, found by halving between two steps.
    fn pays_from(&self, used: bool, longest: f64) -> Option<f64> {
        const STEPS: usize = 400;
        let pays = |hours: f64| self.own(used, hours).is_some_and(|own| own < self.rented(hours));
        let step = longest / STEPS as f64;
        let first = (1..=STEPS).find(|i| pays(step * *i as f64))?;
        let (mut low, mut high) = (step * (first - 1) as f64, step * first as f64);
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if pays(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}
