//! Fixes one by one, and the least painful set of them that fits: every figure from estimating the changed project.

use super::engine::{Engine, Need, settle};
use super::knobs::{Knob, LEVELS, apply, knobs, risk};
use super::{FitPlan, Fix, FixKind, QualityRisk};
use crate::catalog::{Architecture, Catalog, Domain, Gpu, GpuFamily};
use crate::estimate::time::{Workload, has_flash};
use crate::project::Project;

/// A change that saves less than this share of the need is not worth a line.
const WORTHWHILE: f64 = 0.015;

/// Largest micro-batch that is looked for.
const LARGEST_BATCH: u64 = 1 << 20;

/// The card, the domain and the numbers that the search for fixes works on.
pub(super) struct Bench<'a> {
    engine: &'a dyn Engine,
    gpu: &'a Gpu,
    domain: Domain,
    swaps_blocks: bool,
}

impl<'a> Bench<'a> {
    pub(super) fn new(engine: &'a dyn Engine, gpu: &'a Gpu, project: &Project, catalog: &Catalog) -> Self {
        let model = if project.custom.is_some() { None } else { catalog.model(&project.model) };
        let swaps_blocks =
            matches!(model.map(|m| &m.architecture), Some(Architecture::Diffusion(d)) if !d.denoiser.contains("UNet"));
        Self { engine, gpu, domain: model.map_or(Domain::Language, |m| m.domain), swaps_blocks }
    }

    fn need(&self, project: &Project) -> Option<Need> {
        settle(self.engine, project, self.gpu).ok().map(|(_, memory)| Need::of(&memory))
    }

    fn fits(&self, project: &Project) -> bool {
        self.need(project).is_some_and(|n| n.fits(self.gpu.usable))
    }

    /// Hours of the run.
    fn time(&self, project: &Project) -> Option<f64> {
        let load: Workload = self.engine.workload(project, has_flash(self.gpu)).ok()?;
        let time = load.on(self.gpu, project.hardware.count, project.hardware.sharding).ok()?;
        Some(time.run.0)
    }

    fn slower(&self, before: &Project, after: &Project) -> Option<f64> {
        let (before, after) = (self.time(before)?, self.time(after)?);
        (before > 0.0).then_some(after / before)
    }

    /// Every single change that helps, the least painful first.
    pub(super) fn fixes(&self, project: &Project) -> Vec<Fix> {
        let Some(before) = self.need(project) else { return Vec::new() };
        let mut fixes: Vec<(usize, Fix)> = knobs(project, self.domain, self.swaps_blocks, self.gpu)
            .into_iter()
            .chain(self.more_cards(project))
            .filter_map(|knob| Some((knob.level, self.best(project, before, &knob.settings)?)))
            .collect();
        fixes.sort_by(|(a_level, a), (b_level, b)| {
            let speed = |f: &Fix| f.slower.unwrap_or(1.0);
            (a_level, a.risk, !a.fits)
                .cmp(&(b_level, b.risk, !b.fits))
                .then(speed(a).total_cmp(&speed(b)))
                .then(b.saves.cmp(&a.saves))
        });
        fixes.into_iter().map(|(_, fix)| fix).collect()
    }

    /// Of settings that exclude each other, the mildest that fits, or the one that saves most.
    fn best(&self, project: &Project, before: Need, settings: &[FixKind]) -> Option<Fix> {
        let mut best: Option<Fix> = None;
        for kind in settings {
            let mut changed = project.clone();
            apply(*kind, &mut changed, self.gpu);
            let Some(after) = self.need(&changed) else { continue };
            let saves = before.card - after.card;
            let fits = after.fits(self.gpu.usable);
            // A second card that does not make it fit is money for nothing.
            let pointless = matches!(kind, FixKind::MoreCards { .. }) && !fits;
            if saves < before.card.scale(WORTHWHILE) || pointless {
                continue;
            }
            if best.as_ref().is_none_or(|b| saves > b.saves) {
                best = Some(Fix {
                    kind: *kind,
                    slower: self.slower(project, &changed),
                    project: changed,
                    card: after.card,
                    saves,
                    fits,
                    risk: risk(*kind, project, self.domain),
                });
            }
            if fits {
                break;
            }
        }
        best
    }

    fn risk(&self, project: &Project, fixes: &[FixKind]) -> QualityRisk {
        fixes.iter().map(|k| risk(*k, project, self.domain)).max().unwrap_or(QualityRisk::None)
    }

    /// More of the same cards: beyond all levels of pain, since it costs money.
    fn more_cards(&self, project: &Project) -> Option<Knob> {
        let several = !matches!(self.gpu.family, GpuFamily::Laptop | GpuFamily::Apple);
        let counts = [2, 4, 8].into_iter().filter(|c| *c > project.hardware.count.max(1));
        let settings: Vec<FixKind> = counts.map(|count| FixKind::MoreCards { count }).collect();
        (several && !settings.is_empty()).then_some(Knob { level: LEVELS, settings })
    }

    /// The least painful set of changes that fits: the lowest level of pain that can do it, on that level the least
    /// slowdown (or the fewest and mildest changes), and below it no more than is needed.
    pub(super) fn make_it_fit(&self, project: &Project) -> Option<FitPlan> {
        let knobs = knobs(project, self.domain, self.swaps_blocks, self.gpu);
        let levels: Vec<Vec<&Knob>> =
            (0..LEVELS).map(|level| knobs.iter().filter(|k| k.level == level).collect()).collect();
        let strongest: Vec<Vec<FixKind>> =
            levels.iter().map(|knobs| knobs.iter().filter_map(|k| k.settings.last().copied()).collect()).collect();
        let with = |sets: &[Vec<FixKind>]| {
            let mut changed = project.clone();
            // What is trained first: the other settings may depend on it.
            for kind in sets.iter().rev().flatten() {
                apply(*kind, &mut changed, self.gpu);
            }
            changed
        };
        let highest = (0..LEVELS).find(|level| self.fits(&with(strongest.get(..=*level).unwrap_or_default())))?;
        let mut chosen = strongest.get(..=highest)?.to_vec();
        for level in (0..=highest).rev() {
            let mut options = combinations(levels.get(level)?);
            let pain = |set: &[FixKind]| {
                let mut sets = chosen.clone();
                if let Some(slot) = sets.get_mut(level) {
                    *slot = set.to_vec();
                }
                // Nothing on lower levels, so that only this level's slowdown counts.
                for slot in sets.iter_mut().take(level) {
                    slot.clear();
                }
                self.time(&with(&sets)).unwrap_or(1.0)
            };
            let mut weighed: Vec<Setting> = options
                .drain(..)
                .map(|(set, steps)| Setting { time: pain(&set), risk: self.risk(project, &set), steps, set })
                .collect();
            // Level 1 is about speed; elsewhere the number and strength of changes counts.
            let by_speed = level == 1;
            weighed.sort_by(|a, b| {
                let speed = a.time.total_cmp(&b.time);
                let steps = a.steps.cmp(&b.steps);
                a.risk.cmp(&b.risk).then(if by_speed { speed.then(steps) } else { steps.then(speed) })
            });
            let found = weighed.into_iter().map(|o| o.set).find(|set| {
                let mut sets = chosen.clone();
                if let Some(slot) = sets.get_mut(level) {
                    set.clone_into(slot);
                }
                self.fits(&with(&sets))
            });
            if let (Some(set), Some(slot)) = (found, chosen.get_mut(level)) {
                *slot = set;
            }
        }
        let fixes: Vec<FixKind> = chosen.iter().flatten().copied().collect();
        let changed = with(&chosen);
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

    /// The largest micro-batch that fits, found by doubling and halving; `None` where not even one sample fits.
    pub(super) fn largest_micro_batch(&self, project: &Project) -> Option<u64> {
        let fits = |micro_batch: u64| {
            let mut changed = project.clone();
            changed.micro_batch = micro_batch;
            self.fits(&changed)
        };
        let limit = project.samples.clamp(1, LARGEST_BATCH);
        if !fits(1) {
            return None;
        }
        let mut low = if fits(project.micro_batch.min(limit)) { project.micro_batch.clamp(1, limit) } else { 1 };
        let mut high = low.saturating_mul(2);
        while high <= limit && fits(high) {
            low = high;
            high = high.saturating_mul(2);
        }
        high = high.min(limit.saturating_add(1));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}

/// One way to set the knobs of a level.
struct Setting {
    set: Vec<FixKind>,
    /// How many changes, the stronger ones counting more.
    steps: usize,
    /// Time of the run with them.
    time: f64,
    risk: QualityRisk,
}

/// Every way to set these knobs, each with how many steps of pain it takes.
fn combinations(knobs: &[&Knob]) -> Vec<(Vec<FixKind>, usize)> {
    let mut all = vec![(Vec::new(), 0)];
    for knob in knobs {
        let mut more = Vec::new();
        for (set, steps) in &all {
            for (strength, kind) in knob.settings.iter().enumerate() {
                let mut longer: Vec<FixKind> = set.clone();
                longer.push(*kind);
                more.push((longer, steps + strength + 1));
            }
        }
        all.extend(more);
    }
    all
}
