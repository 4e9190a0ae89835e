//! "Make it fit": the least painful set of changes, of all there are.
//!
//! Pain is compared from the highest level to the lowest (see [`super::knobs`]): first the risk to the result, then, on
//! the level that is about speed, the slowdown, then the number and strength of changes. The search settles one level
//! after the other, from the top: the gentlest setting with which the levels below can still make it fit. What they can do
//! at best is known from few estimates, since most knobs only ever lower the need ([`Course`]). `tests` hold it against
//! trying every combination.

use super::engine::{Memo, Need};
use super::knobs::{Course, Knob, LEVELS, apply, risk};
use super::search::mildest;
use super::subject::Subject;
use super::{FixKind, QualityRisk};
use crate::catalog::Gpu;
use crate::project::Project;
use crate::units::sort;
use std::cell::RefCell;
use std::cmp::Ordering;

/// The level that is about speed.
const SPEED: usize = 1;

/// For each knob which of its settings is chosen, counted from 1; 0 leaves the project as it is.
type Chosen = Vec<usize>;

/// The search for one project on one card.
pub(super) struct Fit<'a> {
    memo: &'a Memo<'a>,
    gpu: &'a Gpu,
    subject: Subject,
    project: &'a Project,
    knobs: Vec<Knob>,
    /// The knob of pure bf16 and the one of offloading, where the engine that offloads works in 16 bit anyway.
    idle: Option<(usize, usize)>,
    /// What has been found to fit or not.
    tried: RefCell<Vec<(Chosen, bool)>>,
    /// What has made it fit, for the next question of the kind.
    winners: RefCell<Vec<Chosen>>,
}

impl<'a> Fit<'a> {
    pub(super) fn new(
        memo: &'a Memo<'a>,
        gpu: &'a Gpu,
        subject: Subject,
        project: &'a Project,
        knobs: Vec<Knob>,
    ) -> Self {
        let of = |kind| knobs.iter().position(|k| subject.half_engine && k.settings.contains(&kind));
        let idle = of(FixKind::PureBf16).zip(of(FixKind::Offload));
        Self { memo, gpu, subject, project, knobs, idle, tried: RefCell::default(), winners: RefCell::default() }
    }

    /// The least painful set that fits, the mildest level first, and the project with it.
    pub(super) fn least_painful(&self) -> Option<(Vec<FixKind>, Project)> {
        let mut equal: Vec<Chosen> = vec![vec![0; self.knobs.len()]];
        for level in (0..LEVELS).rev() {
            equal = self.gentlest(&equal, level);
        }
        let chosen = equal.first()?;
        let fixes = (0..LEVELS).flat_map(|level| self.set(chosen, level)).collect();
        Some((fixes, self.with(chosen)))
    }

    /// What is chosen on one level.
    fn set(&self, chosen: &[usize], level: usize) -> Vec<FixKind> {
        let of = |(knob, at): (&Knob, &usize)| knob.settings.get(at.checked_sub(1)?).copied();
        self.knobs.iter().zip(chosen).filter(|(knob, _)| knob.level == level).filter_map(of).collect()
    }

    /// The changed project. What is trained comes first: the other settings may depend on it.
    fn with(&self, chosen: &[usize]) -> Project {
        let mut changed = self.project.clone();
        for kind in (0..LEVELS).rev().flat_map(|level| self.set(chosen, level)) {
            apply(kind, &mut changed, self.gpu);
        }
        changed
    }

    fn fits(&self, chosen: &[usize]) -> bool {
        if let Some((pure, offload)) = self.idle
            && [pure, offload].iter().all(|knob| chosen.get(*knob).is_some_and(|at| *at > 0))
        {
            return self.fits(&set(chosen, pure, 0));
        }
        let known = self.tried.borrow().iter().find_map(|(tried, fits)| {
            let tells = if *fits { self.needs_no_more(chosen, tried) } else { self.needs_no_more(tried, chosen) };
            tells.then_some(*fits)
        });
        if let Some(fits) = known {
            return fits;
        }
        let changed = self.with(chosen);
        let need: Option<Need> = self.memo.need_of(&changed, self.gpu).filter(|_| !self.subject.refuses(&changed));
        let fits = need.is_some_and(|n| n.fits(self.gpu.usable));
        self.tried.borrow_mut().push((chosen.to_vec(), fits));
        fits
    }

    /// Whether it is clear without an estimate that the first set needs no more than the second.
    fn needs_no_more(&self, one: &[usize], other: &[usize]) -> bool {
        self.knobs.iter().zip(one.iter().zip(other)).all(|(knob, (one, other))| {
            one == other
                || match knob.course {
                    Course::Falls => one > other,
                    Course::FallsOnceSet => one > other && *other > 0,
                    Course::Any => false,
                }
        })
    }

    /// Knobs of one level, or of all below it.
    fn at(&self, of: impl Fn(usize) -> bool) -> Vec<usize> {
        self.knobs.iter().enumerate().filter(|(_, k)| of(k.level)).map(|(i, _)| i).collect()
    }

    /// Whether the levels below can make it fit.
    fn reaches(&self, chosen: &[usize], level: usize) -> bool {
        let below = self.at(|l| l < level);
        let with = |lower: &[usize]| {
            let mut all = chosen.to_vec();
            for i in &below {
                if let (Some(slot), Some(choice)) = (all.get_mut(*i), lower.get(*i)) {
                    *slot = *choice;
                }
            }
            all
        };
        // What did it last time does it most often again.
        let known = self.winners.borrow().iter().rev().map(|w| with(w)).find(|all| self.fits(all));
        if known.is_some() {
            return true;
        }
        let mut all = vec![chosen.to_vec()];
        for i in &below {
            let Some(knob) = self.knobs.get(*i) else { continue };
            let least = knob.least();
            all = all.iter().flat_map(|all| least.iter().map(move |choice| set(all, *i, *choice))).collect();
        }
        let found = all.into_iter().find(|all| self.fits(all));
        let reaches = found.is_some();
        self.winners.borrow_mut().extend(found);
        reaches
    }

    /// The gentlest settings of one level's knobs with which the levels below can make it fit, the levels above being
    /// settled in one of several ways: all that are equally gentle, since the levels below may tell them apart.
    fn gentlest(&self, settled: &[Chosen], level: usize) -> Vec<Chosen> {
        let knobs = self.at(|l| l == level);
        // The knob with the most settings is searched by halving, the others by trying all.
        let longest = knobs.iter().copied().filter(|i| self.knobs.get(*i).is_some_and(|k| k.course != Course::Any));
        let longest = longest.max_by_key(|i| self.knobs.get(*i).map_or(0, |k| k.settings.len()));
        let mut ways = settled.to_vec();
        for i in knobs.iter().filter(|i| Some(**i) != longest) {
            let settings = self.knobs.get(*i).map_or(0, |k| k.settings.len());
            ways = ways.iter().flat_map(|way| (0..=settings).map(move |choice| set(way, *i, choice))).collect();
        }
        let steps = |chosen: &[usize]| knobs.iter().filter_map(|i| chosen.get(*i)).sum::<usize>();
        sort(&mut ways, |a, b| (self.risk(a, level), steps(a)).cmp(&(self.risk(b, level), steps(b))));
        let by_speed = level == SPEED;
        let mut best: Vec<Way> = Vec::new();
        let mut add = |chosen: Chosen| {
            let way = Way {
                risk: self.risk(&chosen, level),
                // Nothing below is chosen yet, so that only this level's slowdown counts.
                time: if by_speed { self.time(&chosen) } else { 0.0 },
                steps: steps(&chosen),
                chosen,
            };
            match best.first().map_or(Ordering::Less, |b| way.order(b)) {
                Ordering::Less => best = vec![way],
                Ordering::Equal => best.push(way),
                Ordering::Greater => {}
            }
            best.first().map(|b| (b.risk, b.steps))
        };
        // First without that knob, since what is found bounds how far it needs to be looked at.
        let mut bound = None;
        let mut left = Vec::new();
        for way in ways {
            let beyond = !by_speed && bound.is_some_and(|b| b < (self.risk(&way, level), steps(&way)));
            if beyond {
                break;
            }
            if self.reaches(&way, level) {
                bound = add(way);
            } else {
                left.push(way);
            }
        }
        let settings = longest.and_then(|i| Some((i, self.knobs.get(i)?.settings.len())));
        let Some((knob, settings)) = settings else { return chosen_of(best) };
        for way in left {
            let may = |choice: &usize| {
                let with = set(&way, knob, *choice);
                by_speed || bound.is_none_or(|b| (self.risk(&with, level), steps(&with)) <= b)
            };
            let choices: Vec<Chosen> = (1..=settings).take_while(may).map(|choice| set(&way, knob, choice)).collect();
            // Where not even the last does it there is no need to look at the others.
            let found = choices.last().filter(|last| self.reaches(last, level));
            let found = found.and_then(|_| mildest(&choices, |with| self.reaches(with, level)));
            if let Some(with) = found.and_then(|at| choices.into_iter().nth(at)) {
                bound = add(with);
            }
        }
        chosen_of(best)
    }

    fn risk(&self, chosen: &[usize], level: usize) -> QualityRisk {
        let risks = self.set(chosen, level).into_iter().map(|kind| risk(kind, self.project, self.subject.domain));
        risks.max().unwrap_or(QualityRisk::None)
    }

    fn time(&self, chosen: &[usize]) -> f64 {
        self.memo.time_if_paged(&self.with(chosen), self.gpu).map_or(1.0, |t| t.run.0)
    }
}

fn set(chosen: &[usize], knob: usize, choice: usize) -> Chosen {
    let mut other = chosen.to_vec();
    if let Some(slot) = other.get_mut(knob) {
        *slot = choice;
    }
    other
}

fn chosen_of(ways: Vec<Way>) -> Vec<Chosen> {
    ways.into_iter().map(|way| way.chosen).collect()
}

/// One way to set the knobs of a level.
struct Way {
    risk: QualityRisk,
    /// Seconds of the run; nothing where the level is not about speed.
    time: f64,
    /// How many changes, the stronger ones counting more.
    steps: usize,
    chosen: Chosen,
}

impl Way {
    fn order(&self, other: &Self) -> Ordering {
        let steps = || self.steps.cmp(&other.steps);
        self.risk.cmp(&other.risk).then_with(|| self.time.total_cmp(&other.time)).then_with(steps)
    }
}
