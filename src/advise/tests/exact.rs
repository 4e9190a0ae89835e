//! The two searches against trying everything: every combination of all knobs, every micro-batch.

use super::super::engine::{Estimates, Memo, Need, settle};
use super::super::fixes::Bench;
use super::super::knobs::{Course, Knob, LEVELS, apply, knobs, risk};
use super::super::subject::Subject;
use super::super::{FitPlan, FixKind, QualityRisk};
use crate::catalog::{Catalog, Gpu};
use crate::project::{Framework, Method, Optimizer, Precision, Project};
use crate::units::Bytes;
use std::collections::HashMap;

/// Projects with more combinations than this are left out: they would take minutes.
const MOST_COMBINATIONS: usize = 6000;

struct Bed<'a> {
    catalog: &'a Catalog,
    project: Project,
    subject: Subject,
}

impl<'a> Bed<'a> {
    fn of(project: &Project, catalog: &'a Catalog) -> Self {
        Self { catalog, project: project.clone(), subject: Subject::of(project, catalog) }
    }

    fn knobs(&self, gpu: &Gpu) -> Vec<Knob> {
        knobs(&self.project, self.subject, gpu)
    }

    /// Every combination: by level, what is set.
    fn every_set(&self, gpu: &Gpu) -> Vec<Sets> {
        let mut all = vec![Sets::default()];
        for knob in self.knobs(gpu) {
            let mut more = Vec::new();
            for set in &all {
                for (strength, kind) in knob.settings.iter().enumerate() {
                    let mut longer = set.clone();
                    longer.kinds[knob.level].push(*kind);
                    longer.steps[knob.level] += strength + 1;
                    more.push(longer);
                }
            }
            all.extend(more);
        }
        all
    }

    fn combinations(&self, gpu: &Gpu) -> usize {
        self.knobs(gpu).iter().map(|k| k.settings.len() + 1).product()
    }

    fn with(&self, kinds: &[Vec<FixKind>], gpu: &Gpu) -> Project {
        let mut changed = self.project.clone();
        for kind in kinds.iter().rev().flatten() {
            apply(*kind, &mut changed, gpu);
        }
        changed
    }

    /// What a set costs a person, from the highest level to the lowest: risk, then slowdown on the level of speed, then
    /// steps.
    fn pain(&self, sets: &Sets, memo: &Memo<'_>, gpu: &Gpu) -> [(QualityRisk, f64, usize); LEVELS] {
        let mut pain = [(QualityRisk::None, 0.0, 0); LEVELS];
        for level in 0..LEVELS {
            let kinds = &sets.kinds[level];
            let risk =
                kinds.iter().map(|k| risk(*k, &self.project, self.subject.domain)).max().unwrap_or(QualityRisk::None);
            let mut above = sets.kinds.clone();
            above[..level].iter_mut().for_each(Vec::clear);
            let slow = if level == 1 {
                memo.time_if_paged(&self.with(&above, gpu), gpu).map_or(1.0, |t| t.run.0)
            } else {
                0.0
            };
            pain[LEVELS - 1 - level] = (risk, slow, sets.steps[level]);
        }
        pain
    }

    fn sets_of(&self, plan: &FitPlan, gpu: &Gpu) -> Sets {
        let mut sets = Sets::default();
        for kind in &plan.fixes {
            let knobs = self.knobs(gpu);
            let (knob, strength) =
                knobs.iter().find_map(|k| Some((k, k.settings.iter().position(|s| s == kind)?))).unwrap();
            sets.kinds[knob.level].push(*kind);
            sets.steps[knob.level] += strength + 1;
        }
        sets
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Sets {
    kinds: [Vec<FixKind>; LEVELS],
    steps: [usize; LEVELS],
}

type Pain = [(QualityRisk, f64, usize); LEVELS];

/// Less painful by more than the last digits of a time.
fn less(a: &Pain, b: &Pain) -> bool {
    for (a, b) in a.iter().zip(b) {
        if a.0 != b.0 {
            return a.0 < b.0;
        }
        if (a.1 - b.1).abs() > 1e-9 * a.1.abs().max(b.1.abs()) {
            return a.1 < b.1;
        }
        if a.2 != b.2 {
            return a.2 < b.2;
        }
    }
    false
}

/// Presets and variations of them that have few enough combinations to try all.
fn projects(catalog: &Catalog, gpu: &Gpu, most: usize) -> Vec<Project> {
    let mut found = Vec::new();
    for preset in catalog.presets.iter() {
        let plain = Project { preset: String::new(), ..Project::from_preset(preset, catalog) };
        let mut variants = vec![plain.clone()];
        let vary = |change: &dyn Fn(&mut Project)| {
            let mut p = plain.clone();
            change(&mut p);
            p
        };
        variants.push(vary(&|p| (p.precision, p.micro_batch) = (Precision::Fp32, 4)));
        variants.push(vary(&|p| (p.micro_batch, p.accumulation) = (2, 1)));
        variants.push(vary(&|p| (p.micro_batch, p.optimizer) = (6, Optimizer::Adafactor)));
        variants.push(vary(&|p| (p.method, p.framework) = (Method::Lora, Framework::Transformers)));
        for mut p in variants {
            gpu.id.clone_into(&mut p.hardware.gpu);
            if catalog.model(&p.model).is_some()
                && Bed::of(&p, catalog).combinations(gpu) <= most
                && !found.contains(&p)
            {
                found.push(p);
            }
        }
    }
    found
}

#[test]
fn make_it_fit_is_the_least_painful_of_all_combinations() {
    let catalog = Catalog::bundled();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for id in ["rtx-4090", "t4"] {
        let gpu = catalog.gpu(id).unwrap();
        for project in projects(&catalog, gpu, MOST_COMBINATIONS) {
            let engine = Estimates::of(&catalog);
            let Ok((project, memory)) = settle(&engine, &project, gpu) else { continue };
            let bed = Bed::of(&project, &catalog);
            let memo = Memo::new(&engine, &project);
            let tried: Vec<(Sets, Option<Need>, Pain)> = bed
                .every_set(gpu)
                .into_iter()
                .map(|sets| {
                    let need = memo.need_of(&bed.with(&sets.kinds, gpu), gpu);
                    let pain = bed.pain(&sets, &memo, gpu);
                    (sets, need, pain)
                })
                .collect();
            for share in [1.05, 0.95, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1] {
                let card = Gpu { usable: memory.card.scale(share), ..gpu.clone() };
                let best = tried
                    .iter()
                    .filter(|(_, need, _)| need.is_some_and(|n| n.fits(card.usable)))
                    .reduce(|best, other| if less(&other.2, &best.2) { other } else { best });
                let memo = Memo::new(&engine, &project);
                let plan = Bench::new(&memo, &card, &project, bed.catalog).by_settings(&project);
                compared += 1;
                let told = || {
                    format!(
                        "{} {:?} {:?} on {id} with {:.2} GiB",
                        project.model,
                        project.method,
                        project.precision,
                        card.usable.gib()
                    )
                };
                match (best, plan) {
                    (None, None) => {}
                    (Some(best), Some(plan)) => {
                        let found = bed.sets_of(&plan, gpu);
                        assert!(plan.card <= card.usable, "{}", told());
                        if less(&best.2, &bed.pain(&found, &memo, gpu)) {
                            wrong.push(format!("{}: {:?}, but {:?} is enough", told(), found.kinds, best.0.kinds));
                        }
                    }
                    (best, plan) => wrong.push(format!("{}: {plan:?}, by trying all {:?}", told(), best.map(|b| &b.0))),
                }
            }
        }
    }
    println!("{compared} compared, {} wrong", wrong.len());
    assert!(compared > 3000, "{compared}");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_largest_micro_batch_is_the_largest_of_all() {
    let catalog = Catalog::bundled();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for id in ["rtx-4090", "t4"] {
        let gpu = catalog.gpu(id).unwrap();
        for mut project in projects(&catalog, gpu, usize::MAX) {
            const MOST: u64 = 96;
            project.samples = project.samples.min(MOST);
            let engine = Estimates::of(&catalog);
            let Ok((project, _)) = settle(&engine, &project, gpu) else { continue };
            let memo = Memo::new(&engine, &project);
            let needs: Vec<Option<Need>> = (1..=project.samples)
                .map(|micro_batch| memo.need_of(&Project { micro_batch, ..project.clone() }, gpu))
                .collect();
            for gib in [4.0, 8.0, 16.0, 24.0, 48.0, 80.0] {
                let card = Gpu { usable: Bytes::from_gib(gib), ..gpu.clone() };
                let counted =
                    needs.iter().rposition(|need| need.is_some_and(|n| n.fits(card.usable))).map(|i| i as u64 + 1);
                let memo = Memo::new(&engine, &project);
                let found = Bench::new(&memo, &card, &project, &catalog).largest_micro_batch(&project);
                compared += 1;
                if found != counted {
                    wrong.push(format!(
                        "{} {:?} on {id} {gib} GiB: {found:?}, counted {counted:?}",
                        project.model, project.method
                    ));
                }
            }
        }
    }
    println!("{compared} compared, {} wrong", wrong.len());
    assert!(compared > 3000, "{compared}");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What the search takes for granted about each knob holds over whole tables of estimates.
#[test]
fn needs_go_along_the_knobs_as_the_search_takes_them_to() {
    let catalog = Catalog::bundled();
    let mut compared = 0;
    for id in ["rtx-4090", "t4"] {
        let gpu = catalog.gpu(id).unwrap();
        for project in projects(&catalog, gpu, MOST_COMBINATIONS / 4) {
            let engine = Estimates::of(&catalog);
            let Ok((project, _)) = settle(&engine, &project, gpu) else { continue };
            let bed = Bed::of(&project, &catalog);
            let memo = Memo::new(&engine, &project);
            let knobs = bed.knobs(gpu);
            let tried: Vec<([usize; 12], f64)> = bed
                .every_set(gpu)
                .into_iter()
                .filter_map(|sets| {
                    let need = memo.need_of(&bed.with(&sets.kinds, gpu), gpu)?;
                    let mut at = [0; 12];
                    for (slot, knob) in at.iter_mut().zip(&knobs) {
                        let chosen = |k: &FixKind| sets.kinds[knob.level].contains(k);
                        *slot = knob.settings.iter().position(chosen).map_or(0, |i| i + 1);
                    }
                    Some((at, need.card.scale(1.0 + need.band).0 as f64))
                })
                .collect();
            let needs: HashMap<[usize; 12], f64> = tried.iter().copied().collect();
            for (at, need) in &tried {
                for (i, knob) in knobs.iter().enumerate() {
                    let mut next = *at;
                    next[i] += 1;
                    let falls = match knob.course {
                        Course::Falls => true,
                        Course::FallsOnceSet => at[i] > 0,
                        Course::Any => false,
                    };
                    let Some(after) = needs.get(&next).filter(|_| falls) else { continue };
                    compared += 1;
                    let told = || format!("{} {:?}: {:?} at {at:?}", project.model, project.method, knob.settings);
                    assert!(after <= need, "{}: {need} to {after}", told());
                }
            }
        }
    }
    println!("{compared} steps");
    assert!(compared > 100_000, "{compared}");
}
