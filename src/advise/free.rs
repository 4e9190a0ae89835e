//! Free notebooks on which the run fits.

use super::FreeChoice;
use super::engine::Memo;
use super::warnings::{OLDEST_CURRENT, bar};
use crate::catalog::{Catalog, FreeTier, Vendor};
use crate::project::Project;
use crate::units::{Bytes, Currency};

/// More sittings than this are no plan.
const MOST_SESSIONS: f64 = 8.0;

/// Words in an offer's limits that say it is for some people only, or for another library.
const RESTRICTIONS: [&str; 5] = ["unofficial", "course", "competition", "out of stock", "wait list"];

/// Free notebooks that do the run: those open to everybody where the person is, in one sitting, first.
pub(super) fn free(memo: &Memo<'_>, project: &Project, catalog: &Catalog) -> Vec<FreeChoice> {
    let mut found: Vec<FreeChoice> =
        catalog.free.iter().filter_map(|tier| choice(memo, project, catalog, tier)).collect();
    found.sort_by(|a, b| {
        let away = |c: &FreeChoice| c.china != (project.budget.currency == Currency::Cny);
        let key = |c: &FreeChoice| (c.tight, c.restricted, away(c), c.sessions, c.rough);
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
    if sessions > MOST_SESSIONS || hours.zip(allowance(tier)).is_some_and(|(h, all)| h > all) {
        return None;
    }
    Some(FreeChoice {
        platform: tier.platform,
        offer: tier.offer,
        gpu: gpu.id,
        count,
        hours,
        session_limit_h: tier.session_limit_h,
        sessions: sessions as u32,
        tight,
        china: tier.china,
        restricted: gpu.vendor != Vendor::Nvidia
            || gpu.compute_capability.is_some_and(|c| c < OLDEST_CURRENT)
            || RESTRICTIONS.iter().any(|word| tier.limits.contains(word)),
        as_of: tier.source.as_of,
        rough: tier.source.place.starts_with("memory"),
    })
}

/// Hours that the free amount gives in the time a person would wait: the amount itself where it comes once, four times
/// where it comes back every week, thirty where every day.
fn allowance(tier: &FreeTier) -> Option<f64> {
    let words = tier.amount;
    if !words.contains("hour") {
        return None;
    }
    let digits = words.find(|c: char| c.is_ascii_digit())?;
    let hours: f64 = words[digits..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()?;
    Some(match tier.period {
        "day" => hours * 30.0,
        "week" => hours * 4.0,
        _ => hours,
    })
}
