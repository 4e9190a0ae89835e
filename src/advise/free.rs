//! Free notebooks on which the run fits.

use super::engine::{Engine, Memo, on};
use super::fixes::Bench;
use super::warnings::{OLDEST_CURRENT, bar, without_bf16};
use super::{FitPlan, FreeChoice, FreeInstead, QualityRisk, Restriction};
use crate::catalog::{Catalog, FreeTier, Gpu, Vendor};
use crate::estimate::TimeEstimate;
use crate::project::{Project, Sharding};
use crate::units::{Bytes, Currency, decimal, sort};

/// More sittings than this are no plan.
const MOST_SESSIONS: f64 = 8.0;

/// A person would wait four weeks for something free.
const PATIENCE_H: f64 = 24.0 * 28.0;

/// Words in an offer's limits that say it is for some people only, or for another library.
const RESTRICTIONS: [(&str, Restriction); 5] = [
    ("unofficial", Restriction::OtherLibrary),
    ("competition", Restriction::Competition),
    ("course", Restriction::Course),
    ("out of stock", Restriction::OutOfStock),
    ("wait list", Restriction::WaitList),
];

/// Free notebooks that do the run: those open to everybody where the person is, in one sitting, first.
pub(super) fn free(memo: &Memo<'_>, project: &Project, catalog: &Catalog) -> Vec<FreeChoice> {
    let mut found: Vec<FreeChoice> =
        catalog.free.iter().filter_map(|tier| choice(memo, project, catalog, tier)).collect();
    sort(&mut found, |a, b| {
        let key = |c: &FreeChoice| (c.tight, c.restriction.is_some(), c.away, c.limit_unknown(), c.sessions, c.rough);
        key(a).cmp(&key(b)).then(a.hours.unwrap_or(0.0).total_cmp(&b.hours.unwrap_or(0.0)))
    });
    found
}

fn choice(memo: &Memo<'_>, project: &Project, catalog: &Catalog, tier: &FreeTier) -> Option<FreeChoice> {
    let (gpu, usable) = offered(project, catalog, tier)?;
    // One card is simplest; all of them are faster.
    let fitting = [tier.gpus, 1].into_iter().find_map(|count| {
        let (sharding, need) = memo.share(gpu, count)?;
        let fits = need.fits(usable);
        (fits || need.is_tight(usable)).then(|| (count, !fits, memo.time(gpu, count, sharding)))
    });
    let (count, tight, time) = fitting?;
    let there = FreeChoice { count, tight, ..taken(project, gpu, tier, catalog) };
    within_limits(there, time.map(|t| hours_there(&t, tier)))
}

/// The card of a free notebook and what PyTorch gets of it; nothing where it is no notebook or cannot train this at all.
fn offered<'a>(project: &Project, catalog: &'a Catalog, tier: &FreeTier) -> Option<(&'a Gpu, Bytes)> {
    // Credits and hourly prices are not free notebooks.
    if tier.usd_h != Some(0.0) || tier.gpus == 0 || tier.limits.contains("not for training") {
        return None;
    }
    let gpu = catalog.gpu(tier.gpu)?;
    if bar(project, gpu).is_some() {
        return None;
    }
    // A slice of a card has less than the card.
    let each = tier.memory_gib.map_or(f64::INFINITY, |gib| gib / f64::from(tier.gpus));
    Some((gpu, gpu.usable.min(Bytes::from_gib(each.min(1e6)))))
}

/// A free notebook before anything is known of the run's time there.
fn taken(project: &Project, gpu: &Gpu, tier: &FreeTier, catalog: &Catalog) -> FreeChoice {
    FreeChoice {
        platform: tier.platform,
        offer: tier.offer,
        gpu: tier.gpu,
        count: 1,
        hours: None,
        session_limit_h: tier.session_limit_h,
        free_hours: Quota::of(tier, catalog).map(|quota| (quota.hours, quota.every_h)),
        wait_h: None,
        sessions: 1,
        tight: false,
        instead_of_bf16: without_bf16(project, gpu),
        china: tier.china,
        restriction: restriction(gpu, tier),
        away: tier.china != (project.budget.currency == Currency::Cny),
        as_of: tier.source.as_of,
        rough: tier.source.place.starts_with("memory"),
    }
}

/// Hours of a run there: its few processor threads prepare the data.
fn hours_there(time: &TimeEstimate, tier: &FreeTier) -> f64 {
    time.run.hours().max(tier.threads.map_or(0.0, |threads| time.reading.hours() / threads))
}

/// The same with the run's hours, where they are within what it gives.
fn within_limits(choice: FreeChoice, hours: Option<f64>) -> Option<FreeChoice> {
    let session = choice.session_limit_h.unwrap_or(f64::INFINITY);
    let sessions = hours.map_or(1.0, |h| (h / session).ceil().max(1.0));
    let quota = choice.free_hours.map(|(hours, every_h)| Quota { hours, every_h });
    if sessions > MOST_SESSIONS || hours.zip(quota).is_some_and(|(h, q)| h > q.in_all()) {
        return None;
    }
    let wait_h = hours.map(|h| quota.map_or(h, |q| q.wait(h)));
    Some(FreeChoice { hours, wait_h, sessions: sessions as u32, ..choice })
}

/// The free way out for somebody whose money is not enough: the least painful variant of the run that fits a notebook which
/// everybody can have; before one that is other training, a notebook whose software asks for patience; at last one that is
/// for some people only.
pub(super) fn instead(
    engine: &dyn Engine,
    project: &Project,
    catalog: &Catalog,
    known: &[FreeChoice],
) -> Option<FreeInstead> {
    let as_it_is = |c: &FreeChoice| FreeInstead { choice: *c, fixes: Vec::new() };
    let mut found: Vec<(FitPlan, FreeChoice)> = Vec::new();
    let mut tried: Vec<(&str, Bytes)> = Vec::new();
    for tier in catalog.free.iter() {
        let Some((gpu, usable)) = offered(project, catalog, tier) else { continue };
        let there = taken(project, gpu, tier, catalog);
        if !there.is_open() || tried.contains(&(gpu.id, usable)) {
            continue;
        }
        tried.push((gpu.id, usable));
        let card = Gpu { usable, ..gpu.clone() };
        let mut start = on(project, gpu, 1, Sharding::Ddp);
        start.precision = there.instead_of_bf16.unwrap_or(start.precision);
        let memo = Memo::new(engine, &start);
        let Some(plan) = Bench::new(&memo, &card, &start, catalog).make_it_fit(&start) else { continue };
        let hours = memo.time_of(&plan.project, gpu).map(|t| hours_there(&t, tier));
        found.extend(within_limits(there, hours).map(|choice| (plan, choice)));
    }
    let milder = |(a, _): &(FitPlan, FreeChoice), (b, _): &(FitPlan, FreeChoice)| {
        (a.risk, a.fixes.len()).cmp(&(b.risk, b.fixes.len()))
    };
    let least = found.into_iter().min_by(milder);
    let mild = least.as_ref().is_some_and(|(plan, _)| plan.risk < QualityRisk::Real);
    let changed = least.map(|(plan, choice)| FreeInstead { choice, fixes: plan.fixes });
    let mut here = known.iter().filter(|c| !c.away && !c.tight);
    let patience = |c: &&FreeChoice| matches!(c.restriction, Some(Restriction::OtherCard | Restriction::OtherLibrary));
    let patient = here.clone().find(patience).map(as_it_is);
    if mild { changed } else { patient.or(changed).or_else(|| here.next().map(as_it_is)) }
}

fn restriction(gpu: &Gpu, tier: &FreeTier) -> Option<Restriction> {
    let said = RESTRICTIONS.iter().find(|(word, _)| tier.limits.contains(word)).map(|(_, restriction)| *restriction);
    let other = gpu.vendor != Vendor::Nvidia || gpu.compute_capability.is_some_and(|c| c < OLDEST_CURRENT);
    said.or(other.then_some(Restriction::OtherCard))
}

/// Free hours, and after how many hours they come back.
#[derive(Clone, Copy)]
struct Quota {
    hours: f64,
    /// `None`: they come once.
    every_h: Option<f64>,
}

impl Quota {
    /// The free amount of an offer, where it is given in hours, or that of the platform's other one.
    fn of(tier: &FreeTier, catalog: &Catalog) -> Option<Self> {
        let words = tier.amount;
        if words.contains("shares the same") {
            let mut same =
                catalog.free.iter().filter(|other| other.platform == tier.platform && other.offer != tier.offer);
            return same.find_map(|other| Self::of(other, catalog));
        }
        if !words.contains("hour") {
            return None;
        }
        let digits = words.find(|c: char| c.is_ascii_digit())?;
        let hours = decimal::read(&words[digits..].chars().take_while(char::is_ascii_digit).collect::<String>())?;
        let every_h = match tier.period {
            "day" => Some(24.0),
            "week" => Some(24.0 * 7.0),
            _ => None,
        };
        Some(Self { hours, every_h })
    }

    /// What it gives in the time a person would wait: itself where it comes once, four weeks' worth where it comes back.
    fn in_all(self) -> f64 {
        self.every_h.map_or(self.hours, |every| self.hours * (PATIENCE_H / every).floor())
    }

    /// From the start of a run to its end.
    fn wait(self, run: f64) -> f64 {
        match self.every_h {
            Some(every) if run > self.hours && self.hours > 0.0 => {
                let full = (run / self.hours).ceil() - 1.0;
                full * every + (run - full * self.hours)
            }
            _ => run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_hours_come_back_every_week() {
        let week = Quota { hours: 30.0, every_h: Some(168.0) };
        assert_eq!((week.wait(29.0), week.wait(30.0), week.wait(45.0)), (29.0, 30.0, 183.0));
        assert_eq!(week.in_all(), 120.0);
        let once = Quota { hours: 36.0, every_h: None };
        assert_eq!((once.wait(40.0), once.in_all()), (40.0, 36.0));
    }
}
