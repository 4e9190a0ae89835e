//! Fixes one by one, and the least painful set of them that fits: every figure from estimating the changed project.

use super::engine::{Memo, Need, divides};
use super::fit::Fit;
use super::knobs::{Course, Knob, LEVELS, apply, knobs, risk};
use super::search::{largest, mildest};
use super::smaller::siblings;
use super::subject::Subject;
use super::warnings::is_dropped;
use super::{FitPlan, Fix, FixKind, QualityRisk};
use crate::catalog::{Catalog, Domain, Gpu, GpuFamily};
use crate::project::Project;
use crate::units::sort;

/// A change that saves less than this share of the need is not worth a line.
const WORTHWHILE: f64 = 0.015;
/// A change of what is trained that does not even make it fit has to save this much.
const WORTHWHILE_AT_A_PRICE: f64 = 0.25;

/// Largest micro-batch that is looked for.
const LARGEST_BATCH: u64 = 1 << 20;

/// Where the search for the largest micro-batch ends, whatever the card holds.
pub(super) fn batch_limit(project: &Project) -> u64 {
    project.samples.clamp(1, LARGEST_BATCH)
}

/// The order in which trainers of diffusion models reach for what saves memory (the guides of sd-scripts for FLUX.1, its
/// notes on block swap, quick starts of `SimpleTuner`): what costs nothing, a base in few bits, then time, then the
/// optimizer, then what is trained, and the pictures at last.
const fn habit(kind: FixKind) -> u8 {
    match kind {
        FixKind::QuantizedBase | FixKind::Base4bit => 1,
        FixKind::SmallerMicroBatch { .. } | FixKind::Checkpointing => 2,
        FixKind::BlockSwap { .. } => 3,
        FixKind::Optimizer8bit | FixKind::PagedOptimizer | FixKind::PureBf16 => 4,
        FixKind::Offload => 5,
        FixKind::LoraRank { .. } => 6,
        FixKind::Lora => 7,
        FixKind::FewerFrames { .. } => 8,
        FixKind::SmallerImage { .. } => 9,
        FixKind::SmallerModel { .. } | FixKind::MoreCards { .. } => 10,
        _ => 0,
    }
}

/// The card and the numbers that the search for fixes works on.
pub(super) struct Bench<'a> {
    memo: &'a Memo<'a>,
    gpu: &'a Gpu,
    subject: Subject,
    catalog: &'a Catalog,
}

impl<'a> Bench<'a> {
    pub(super) fn new(memo: &'a Memo<'a>, gpu: &'a Gpu, project: &Project, catalog: &'a Catalog) -> Self {
        Self { memo, gpu, subject: Subject::of(project, catalog), catalog }
    }

    fn need(&self, project: &Project) -> Option<Need> {
        self.memo.need_of(project, self.gpu)
    }

    fn fits(&self, project: &Project) -> bool {
        self.need(project).is_some_and(|n| n.fits(self.gpu.usable))
    }

    /// Seconds of the run.
    fn time(&self, project: &Project) -> Option<f64> {
        self.memo.time_of(project, self.gpu).map(|t| t.run.0)
    }

    fn slower(&self, before: &Project, after: &Project) -> Option<f64> {
        let (before, after) = (self.time(before)?, self.time(after)?);
        (before > 0.0).then_some(after / before)
    }

    fn with(&self, project: &Project, kind: FixKind) -> Project {
        let mut changed = project.clone();
        apply(kind, &mut changed, self.gpu);
        changed
    }

    fn risk(&self, project: &Project, fixes: &[FixKind]) -> QualityRisk {
        fixes.iter().map(|k| risk(*k, project, self.subject.domain)).max().unwrap_or(QualityRisk::None)
    }

    /// Every single change that helps, the least painful first. What the project needs as it is may be known better than
    /// from the quick figure.
    pub(super) fn fixes(&self, project: &Project, known: Option<Need>) -> Vec<Fix> {
        let Some(before) = known.or_else(|| self.need(project)) else { return Vec::new() };
        let mut fixes: Vec<(usize, Fix)> = knobs(project, self.subject, self.gpu)
            .into_iter()
            .chain(self.smaller_model(project))
            .chain(self.more_cards(project))
            .filter_map(|knob| Some((knob.level, self.best(project, before, &knob)?)))
            .collect();
        sort(&mut fixes, |(a_level, a), (b_level, b)| {
            let speed = |f: &Fix| f.slower.unwrap_or(1.0);
            let habit = |fix: &Fix| if self.subject.domain == Domain::Diffusion { habit(fix.kind) } else { 0 };
            (habit(a), a_level, a.risk, !a.fits)
                .cmp(&(habit(b), b_level, b.risk, !b.fits))
                .then(speed(a).total_cmp(&speed(b)))
                .then(b.saves.cmp(&a.saves))
        });
        fixes.into_iter().map(|(_, fix)| fix).collect()
    }

    /// The mildest setting of a knob that fits, or its strongest.
    fn best(&self, project: &Project, before: Need, knob: &Knob) -> Option<Fix> {
        let takes = |kind: &FixKind| !self.subject.refuses(&self.with(project, *kind)) || self.subject.refuses(project);
        let fits = |kind: &FixKind| takes(kind) && self.fits(&self.with(project, *kind));
        let fitting = match knob.course {
            Course::Any if knob.level < LEVELS => knob.settings.iter().position(fits),
            _ => mildest(&knob.settings, fits),
        };
        let need = |kind: &&FixKind| self.need(&self.with(project, **kind)).map(|need| need.card);
        let kind = match fitting {
            Some(index) => *knob.settings.get(index)?,
            // Another model or a second card that does not make it fit is trouble or money for nothing.
            None if knob.level >= LEVELS => return None,
            None if knob.course == Course::Any => {
                *knob.settings.iter().filter(|k| need(k).is_some()).min_by_key(need)?
            }
            None => *knob.settings.last().filter(|kind| takes(kind))?,
        };
        let changed = self.with(project, kind);
        let after = self.need(&changed)?;
        let saves = before.card - after.card;
        let risk = risk(kind, project, self.subject.domain);
        let at_a_price = risk == QualityRisk::Real && fitting.is_none();
        let least = if at_a_price { WORTHWHILE_AT_A_PRICE } else { WORTHWHILE };
        (saves > before.card.scale(least)).then(|| Fix {
            kind,
            slower: self.slower(project, &changed),
            project: changed,
            card: after.card,
            saves,
            fits: fitting.is_some(),
            tight: after.is_tight(self.gpu.usable),
            risk,
        })
    }

    /// A smaller model of the same family: beyond all levels of pain, since it is another model.
    fn smaller_model(&self, project: &Project) -> Option<Knob> {
        let settings = siblings(project, self.catalog);
        (!settings.is_empty()).then(|| Knob::new(LEVELS, settings, project, self.subject))
    }

    /// More of the same cards: last of all, since they cost money.
    fn more_cards(&self, project: &Project) -> Option<Knob> {
        // Where every card holds a full copy, more of them save nothing on each.
        let several = !matches!(self.gpu.family, GpuFamily::Laptop | GpuFamily::Apple) && divides(project);
        // Nobody builds a machine of eight game cards, or buys more of one that PyTorch has left behind.
        let desk = self.gpu.family == GpuFamily::Consumer;
        let rented = || self.catalog.offers.iter().any(|offer| offer.gpu == self.gpu.id);
        let most = if desk && is_dropped(self.gpu) {
            0
        } else if desk && !rented() {
            4
        } else {
            8
        };
        let counts = [2, 4, 8].into_iter().filter(|c| *c > project.hardware.count.max(1) && *c <= most);
        let settings: Vec<FixKind> = counts.map(|count| FixKind::MoreCards { count }).collect();
        (several && !settings.is_empty()).then(|| Knob::new(LEVELS + 1, settings, project, self.subject))
    }

    /// The least painful set of changes that fits; where there is none, the same with a smaller model of the family, as
    /// large as can be.
    pub(super) fn make_it_fit(&self, project: &Project) -> Option<FitPlan> {
        let smaller = || self.plan(project, self.least_painful_smaller(project)?);
        match self.by_settings(project) {
            // The smaller model draws what it was made for; a stamp is nothing that this one was.
            Some(plan) if self.is_stamp(&plan.project) => {
                smaller().filter(|s| !self.is_stamp(&s.project)).or(Some(plan))
            }
            Some(plan) => Some(plan),
            None => smaller(),
        }
    }

    /// Pictures are smaller than the model that draws them was made for.
    fn is_stamp(&self, project: &Project) -> bool {
        self.subject.domain == Domain::Diffusion && project.image_side < self.subject.made_for
    }

    /// The least painful set of changes that fits with the model as it is.
    pub(super) fn by_settings(&self, project: &Project) -> Option<FitPlan> {
        self.plan(project, self.least_painful(project)?)
    }

    fn plan(&self, project: &Project, (fixes, changed): (Vec<FixKind>, Project)) -> Option<FitPlan> {
        let need = self.need(&changed)?;
        Some(FitPlan {
            risk: self.risk(project, &fixes),
            slower: self.slower(project, &changed),
            card: need.card,
            spare: self.gpu.usable - need.card,
            project: changed,
            fixes,
        })
    }

    fn least_painful(&self, project: &Project) -> Option<(Vec<FixKind>, Project)> {
        let knobs = knobs(project, self.subject, self.gpu);
        Fit::new(self.memo, self.gpu, self.subject, project, knobs).least_painful()
    }

    fn least_painful_smaller(&self, project: &Project) -> Option<(Vec<FixKind>, Project)> {
        siblings(project, self.catalog).into_iter().find_map(|sibling| {
            let smaller = self.with(project, sibling);
            if self.fits(&smaller) {
                return Some((vec![sibling], smaller));
            }
            let (fixes, changed) = self.least_painful(&smaller)?;
            Some((std::iter::once(sibling).chain(fixes).collect(), changed))
        })
    }

    /// The largest micro-batch that fits; `None` where not even one sample does.
    pub(super) fn largest_micro_batch(&self, project: &Project) -> Option<u64> {
        let limit = batch_limit(project);
        let have = self.gpu.usable.0 as f64;
        largest(limit, have, |micro_batch| {
            let need = self.need(&Project { micro_batch, ..project.clone() })?;
            Some(need.card.scale(1.0 + need.band).0 as f64)
        })
    }
}
