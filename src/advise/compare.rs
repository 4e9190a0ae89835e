//! Why not this card, what another step of the project would take, and cards side by side.

use super::cards::{LONGEST_H, is_mainstream};
use super::engine::Estimates;
use super::plans::{Plan, Way};
use super::terms::wall_watts;
use super::verdict::verdict;
use super::warnings::{bar, warnings};
use super::ways::card_plans;
use super::{Advice, CardBar, CardChoice, CardWarning, Pick, advise, settled_on};
use crate::catalog::{Architecture, Catalog, Domain, Gpu, GpuFamily, Model, is_boosting};
use crate::project::{Project, Sharding};
use crate::units::{Bytes, Money};
use std::mem::discriminant;

/// What speaks against a card (or for it).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// It cannot run this training at all.
    CannotRun(CardBar),
    /// Too small, and how many of it would do.
    TooSmall {
        /// Missing on one.
        missing: Bytes,
        /// So many together hold it.
        enough: Option<u32>,
    },
    /// Inside the error band.
    Tight,
    /// Something about its software or its making.
    Warning(CardWarning),
    /// It takes longer than a person would wait.
    TooSlow {
        /// How long.
        hours: f64,
    },
    /// Nobody in the catalog rents it out or sells it for the person's money.
    NotOffered,
    /// Another plan is sooner done and costs less.
    Beaten {
        /// This card at its best.
        plan: Plan,
        /// The better one.
        by: Plan,
    },
    /// Neither better nor worse than the balanced pick: money against time.
    Trade {
        /// This card at its best.
        plan: Plan,
        /// The balanced pick.
        than: Plan,
    },
    /// It is a pick.
    Picked(Pick, Plan),
    /// Nothing: as good as any.
    Nothing,
}

/// What to know of a card before anything is weighed: each a reason for most people to take another.
const HINDRANCES: [CardWarning; 6] = [
    CardWarning::Dropped,
    CardWarning::NoBf16,
    CardWarning::NoTriton,
    CardWarning::RocmOverride,
    CardWarning::OtherStack,
    CardWarning::Modded,
];

/// Why not this card: the strongest reason first.
pub fn why_not(project: &Project, gpu: &Gpu, advice: &Advice) -> Vec<Against> {
    if let Some(bar) = bar(project, gpu) {
        return vec![Against::CannotRun(bar)];
    }
    let mut reasons = Vec::new();
    let choices = || advice.cards.iter().filter(|c| c.gpu == gpu.id);
    let fitting = choices().filter(|c| c.fits).min_by_key(|c| c.count);
    if let Some(one) = choices().min_by_key(|c| c.count).filter(|c| !c.fits) {
        let enough = fitting.map(|c| c.count);
        reasons.push(if one.tight {
            Against::Tight
        } else {
            Against::TooSmall { missing: one.card - one.usable, enough }
        });
    }
    let software = warnings(project, gpu, 1, None);
    reasons.extend(HINDRANCES.into_iter().filter(|h| software.contains(h)).map(Against::Warning));
    let plans: Vec<Plan> = choices().filter(|c| c.fits).flat_map(|c| card_plans(project, gpu, c)).collect();
    let picked = advice.plans.picks.iter().find(|(_, p)| p.gpu == gpu.id);
    if let Some((pick, plan)) = picked {
        reasons.push(Against::Picked(*pick, *plan));
    } else if let Some(slow) = fitting.and_then(|c| c.time).map(|t| t.run.hours()).filter(|h| *h > LONGEST_H) {
        reasons.push(Against::TooSlow { hours: slow });
    } else if let Some(plan) = plans.iter().min_by(|a, b| a.cost.amount.total_cmp(&b.cost.amount)).copied() {
        reasons.extend(weighed(plan, advice));
    } else if fitting.is_some() {
        reasons.push(Against::NotOffered);
    }
    if reasons.is_empty() {
        reasons.push(Against::Nothing);
    }
    reasons
}

/// A card at its cheapest against what else there is.
fn weighed(plan: Plan, advice: &Advice) -> Option<Against> {
    let better = |p: &&Plan| p.gpu != plan.gpu && p.cost.amount <= plan.cost.amount && p.wait <= plan.wait;
    // The pick that is better in both, else whatever is.
    let picks = advice.plans.picks.iter().map(|(_, p)| p);
    let by = picks.clone().find(better).or_else(|| advice.plans.front.iter().rev().find(better));
    if let Some(by) = by {
        return Some(Against::Beaten { plan, by: *by });
    }
    let balanced = advice.plans.picks.iter().find(|(pick, _)| *pick == Pick::Balanced);
    balanced.or(advice.plans.picks.first()).map(|(_, than)| Against::Trade { plan, than: *than })
}

/// The project some time later.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// How many times as large.
    pub times: u32,
    /// Id of the larger model that stands for it; `None` where only data and batch grow.
    pub model: Option<&'static str>,
    /// The batch grows with the data.
    pub batch: bool,
    /// What it then needs on each card.
    pub need: Bytes,
    /// The card of today still holds it; `None` where there is none.
    pub still_fits: Option<bool>,
    /// The card of today holds the project of today.
    pub fits_today: bool,
    /// How many cards there are.
    pub count: u32,
    /// How they then share it, where there are several.
    pub way: Option<Sharding>,
    /// The run on the cards of today, where they still hold it.
    pub own: Option<Plan>,
    /// The balanced way to run it.
    pub plan: Option<Plan>,
}

/// The project `times` as large: the nearest model of its line with as many times the parameters, and as many times the
/// samples; where there is no such model, a batch as many times as large.
pub fn growth(project: &Project, times: u32, catalog: &Catalog) -> Option<Growth> {
    let factor = u64::from(times.max(1));
    let mut grown = Project { samples: project.samples.saturating_mul(factor), ..project.clone() };
    let larger = catalog.model(&project.model).and_then(|m| larger(m, factor as f64, catalog));
    match larger {
        Some(model) => grown.model = model.id.to_string(),
        None if is_boosting(&project.model) => {}
        None => grown.micro_batch = grown.micro_batch.saturating_mul(factor).min(1_000_000),
    }
    let advice = advise(&grown, catalog).ok()?;
    let picks = &advice.plans.picks;
    let plan = picks.iter().find(|(pick, _)| *pick == Pick::Balanced).or(picks.first()).map(|(_, plan)| *plan);
    let there = catalog.gpu(&grown.hardware.gpu).filter(|_| !grown.hardware.no_gpu);
    let settled = there.and_then(|gpu| settled_on(&Estimates::of(catalog), &grown, gpu));
    let beside = advice.plans.at_home.filter(|own| !own.changed).map(|own| own.plan);
    let own = picks.iter().map(|(_, plan)| *plan).filter(|_| !advice.plans.changed);
    let own = own.clone().find(|plan| plan.way == Way::Own).or(beside);
    Some(Growth {
        times,
        model: larger.map(|m| m.id),
        need: advice.memory.card,
        count: grown.hardware.count.max(1),
        way: settled.map(|(settled, _)| settled.hardware.sharding).filter(|_| grown.hardware.count > 1),
        own: own.filter(|_| there.is_some()),
        batch: grown.micro_batch > project.micro_batch,
        still_fits: there.filter(|gpu| bar(&grown, gpu).is_none()).map(|_| advice.verdict.is_good()),
        fits_today: there.is_some_and(|gpu| {
            let settled = settled_on(&Estimates::of(catalog), project, gpu);
            settled.is_some_and(|(_, memory)| verdict(&memory, gpu.usable).is_good())
        }),
        plan,
    })
}

/// A distance as a whole number, so that it can stand in a key.
fn ordered(distance: f64) -> u64 {
    (distance * 1e6) as u64
}

/// The model of the same line that is about as many times as large: what somebody with this one moves on to. Models that
/// draw come one by one rather than in sizes, and there a newer one of the kind will do.
fn larger<'a>(model: &Model, times: f64, catalog: &'a Catalog) -> Option<&'a Model> {
    // A step that is half as large or twice as large as asked for is another step.
    const NEAR: f64 = 0.6;
    let target = model.params as f64 * times;
    let kin = |m: &&Model| {
        let kind = match (&m.architecture, &model.architecture) {
            (Architecture::Language(a), Architecture::Language(b)) => {
                a.kind == b.kind && (a.moe_experts > 0) == (b.moe_experts > 0)
            }
            (Architecture::Vision(a), Architecture::Vision(b)) => a.kind == b.kind,
            (Architecture::Diffusion(a), Architecture::Diffusion(b)) => a.kind == b.kind,
            (Architecture::Other(a), Architecture::Other(b)) => a.kind == b.kind,
            _ => false,
        };
        m.domain == model.domain && discriminant(&m.architecture) == discriminant(&model.architecture) && kind
    };
    let same = line(model.id);
    let family = |m: &Model| m.id.split(['-', '.']).next() == model.id.split(['-', '.']).next();
    let off = |m: &Model| (m.params as f64 / target).ln().abs();
    catalog
        .models
        .iter()
        .filter(kin)
        .filter(|m| model.domain == Domain::Diffusion || line(m.id) == same)
        .filter(|m| m.id != model.id && m.params > model.params && off(m) < NEAR)
        // Nobody grows into a model of years ago.
        .min_by_key(|m| (m.release < model.release, !family(m), ordered(off(m))))
}

/// What is left of an id without its size: `yolo11s` and `yolo11m` are of one line, `qwen3-4b` and `qwen3-embedding-4b`
/// are not.
fn line(id: &str) -> String {
    let parts = id.split('-').filter(|part| !is_size(part)).map(|part| {
        let letter = part.strip_suffix(|c: char| LETTERS.contains(c));
        let sized = letter.filter(|rest| rest.len() > 1 && rest.ends_with(|c: char| c.is_ascii_digit()));
        let bare = part.trim_end_matches(|c: char| c.is_ascii_digit());
        // Layers are told by two digits or more, versions by one.
        let layers = (!bare.is_empty() && !bare.contains('.') && part.len() > bare.len() + 1).then_some(bare);
        sized.or(layers).unwrap_or(part)
    });
    parts.collect::<Vec<_>>().join("-")
}

/// Letters that stand for a size.
const LETTERS: &str = "tnsmblxhgce";
/// Words that do.
const WORDS: [&str; 17] = [
    "nano", "tiny", "mini", "xsmall", "small", "medium", "base", "large", "xlarge", "huge", "lite", "xl", "xxl", "ti",
    "bp", "gg", "bigg",
];

/// Whether a part of an id tells a size: `7b`, `a3b`, `1b1`, `large`, `s`, `b4`, `r50`, `004`.
fn is_size(part: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let counted = part.strip_prefix(['a', 'e']).unwrap_or(part).split_once(['b', 'm']);
    WORDS.contains(&part)
        || (part.len() == 1 && LETTERS.contains(part))
        || counted.is_some_and(|(number, rest)| digits(number) && (rest.is_empty() || digits(rest)))
        || part.strip_prefix(['b', 'r', 'x', 'w']).is_some_and(digits)
        || (part.len() > 2 && digits(part) && !part.contains('.'))
}

/// How a card is kept cool, which decides where it can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cooling {
    /// Fans that blow into the case: loud under load, wants room.
    Fans,
    /// A blower or two slots of its own: cards may stand side by side.
    Blower,
    /// None of its own: a server's fans blow through it.
    Server,
    /// Whatever the whole machine has.
    Machine,
}

/// One card of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Id of the card.
    pub gpu: &'static str,
    /// How many of it are looked at: as many as the person has, where that was worked out, else as few as do it, or one.
    pub count: u32,
    /// What the project does on them, where that can be said.
    pub choice: Option<CardChoice>,
    /// What the run costs there: rented, and electricity where it is one's own.
    pub rent_run: Option<Money>,
    /// Power from the wall in training, watts.
    pub wall_w: Option<f64>,
    /// How it is cooled.
    pub cooling: Cooling,
    /// Made and warranted for work around the clock.
    pub around_the_clock: bool,
    /// Current software runs on it without detours.
    pub mainstream: bool,
}

/// Cards side by side on this project.
pub fn side_by_side(project: &Project, gpus: &[&str], advice: &Advice, catalog: &Catalog) -> Vec<Side> {
    gpus.iter()
        .filter_map(|id| catalog.gpu(id))
        .map(|gpu| {
            let choices = || advice.cards.iter().filter(|c| c.gpu == gpu.id);
            let own = project.hardware.count.max(1);
            let fits = || choices().filter(|c| own > 1 && c.fits).min_by_key(|c| c.count);
            let choice = choices().find(|c| c.count == own).or_else(fits).or_else(|| choices().min_by_key(|c| c.count));
            let (choice, count) = (choice.cloned(), choice.map_or(1, |c| c.count));
            Side {
                gpu: gpu.id,
                count,
                rent_run: choice.as_ref().filter(|c| c.fits || c.tight).and_then(|c| c.rent?.run),
                choice,
                wall_w: wall_watts(gpu, count),
                cooling: cooling(gpu),
                around_the_clock: matches!(
                    gpu.family,
                    GpuFamily::Workstation | GpuFamily::Datacenter | GpuFamily::Accelerator
                ),
                mainstream: is_mainstream(project, gpu),
            }
        })
        .collect()
}

/// The usual cooling of a family: workstation cards blow out at the back, data-center cards have no fan.
fn cooling(gpu: &Gpu) -> Cooling {
    match gpu.family {
        GpuFamily::Consumer => Cooling::Fans,
        GpuFamily::Workstation if gpu.id.ends_with("-server") => Cooling::Server,
        GpuFamily::Workstation => Cooling::Blower,
        GpuFamily::Datacenter | GpuFamily::Accelerator => Cooling::Server,
        GpuFamily::Laptop | GpuFamily::Apple => Cooling::Machine,
    }
}

/// The cards that most people weigh against each other: their own (or the balanced pick's), the next game card and a
/// data-center card.
pub fn usual_sides(project: &Project, advice: &Advice, catalog: &Catalog) -> Vec<&'static str> {
    let own = catalog.gpu(&project.hardware.gpu).map(|g| g.id);
    let picked = advice.plans.picks.iter().map(|(_, p)| p.gpu).filter(|id| !id.is_empty());
    let mut found: Vec<&'static str> = Vec::new();
    for id in own.into_iter().chain(["rtx-4090", "a100-sxm-80gb"]).chain(picked).chain(["rtx-5090"]) {
        if found.len() < 3 && !found.contains(&id) && catalog.gpu(id).is_some() {
            found.push(id);
        }
    }
    found
}

#[cfg(test)]
#[path = "tests/in_compare.rs"]
mod tests;
