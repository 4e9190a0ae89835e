//! Free notebooks on which the run fits.

use super::engine::Memo;
use super::warnings::{OLDEST_CURRENT, bar, lacks_bf16};
use super::{FreeChoice, Restriction};
use crate::catalog::{Catalog, FreeTier, Gpu, Vendor};
use crate::project::Project;
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
    let usable = gpu.usable.min(Bytes::from_gib(each.min(1e6)));
    // One card is simplest; all of them are faster.
    let fitting = [tier.gpus, 1].into_iter().find_map(|count| {
        let (sharding, need) = memo.share(gpu, count)?;
        let fits = need.fits(usable);
        (fits || need.is_tight(usable)).then(|| (count, !fits, memo.time(gpu, count, sharding)))
    });
    let (count, tight, time) = fitting?;
    let hours = time.map(|t| t.run.hours());
    let session = tier.session_limit_h.unwrap_or(f64::INFINITY);
    let sessions = hours.map_or(1.0, |h| (h / session).ceil().max(1.0));
    let quota = Quota::of(tier);
    if sessions > MOST_SESSIONS || hours.zip(quota).is_some_and(|(h, q)| h > q.in_all()) {
        return None;
    }
    Some(FreeChoice {
        platform: tier.platform,
        offer: tier.offer,
        gpu: gpu.id,
        count,
        hours,
        session_limit_h: tier.session_limit_h,
        wait_h: hours.map(|h| quota.map_or(h, |q| q.wait(h))),
        sessions: sessions as u32,
        tight,
        fp16_instead: lacks_bf16(project, gpu),
        china: tier.china,
        restriction: restriction(gpu, tier),
        away: tier.china != (project.budget.currency == Currency::Cny),
        as_of: tier.source.as_of,
        rough: tier.source.place.starts_with("memory"),
    })
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
    /// The free amount of an offer, where it is given in hours.
    fn of(tier: &FreeTier) -> Option<Self> {
        let words = tier.amount;
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
