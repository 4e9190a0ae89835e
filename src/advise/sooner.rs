//! What makes a run that fits much faster on the same cards, where they mostly wait for each other.

use super::engine::{Memo, Need};
use super::knobs::apply;
use super::{FitPlan, FixKind, QualityRisk};
use crate::catalog::Gpu;
use crate::estimate::{Bottleneck, TimeEstimate};
use crate::project::{Checkpointing, Method, Project, Sharding};

/// A change has to leave less than this part of the time.
const WORTH_A_CHANGE: f64 = 0.7;

/// The fastest of a few changes with the same result: what is computed again leaves room for whole copies on each card, and
/// more samples at a time need weights and gradients sent fewer times.
pub(super) fn sooner(memo: &Memo<'_>, gpu: &Gpu, project: &Project, time: Option<&TimeEstimate>) -> Option<FitPlan> {
    let now = time.filter(|t| t.bottleneck == Bottleneck::Communication && project.hardware.count > 1)?.run.0;
    let checkpointing = matches!(project.checkpointing, Checkpointing::Off | Checkpointing::Selective)
        .then_some(FixKind::Checkpointing)
        .filter(|_| project.method != Method::Head);
    let larger = [8, 4, 2].into_iter().filter(|times| project.accumulation.is_multiple_of(*times)).map(|times| {
        FixKind::LargerMicroBatch {
            micro_batch: project.micro_batch.saturating_mul(times),
            accumulation: project.accumulation / times,
        }
    });
    let way = (project.hardware.sharding != Sharding::Auto).then_some(FixKind::Way { sharding: Sharding::Auto });
    let mut sets: Vec<Vec<FixKind>> = vec![Vec::new()];
    for kind in checkpointing.into_iter().chain(way) {
        sets.extend(sets.clone().into_iter().map(|mut set| {
            set.push(kind);
            set
        }));
    }
    let all: Vec<Vec<FixKind>> = larger
        .flat_map(|kind| sets.iter().map(move |set| set.iter().copied().chain([kind]).collect()))
        .chain(sets.iter().filter(|set| !set.is_empty()).cloned())
        .collect();
    let (mut best, mut least): (Option<FitPlan>, f64) = (None, WORTH_A_CHANGE);
    for fixes in all {
        let mut changed = project.clone();
        fixes.iter().for_each(|kind| apply(*kind, &mut changed, gpu));
        let Some(need) = memo.need_of(&changed, gpu).filter(|need: &Need| need.fits(gpu.usable)) else { continue };
        let Some(share) = memo.time_of(&changed, gpu).map(|time| time.run.0 / now) else { continue };
        // Of two that take about as long the smaller change.
        let fewer = best.as_ref().is_some_and(|b| fixes.len() < b.fixes.len());
        if share < if fewer { least * 1.1 } else { least } {
            least = share;
            best = Some(FitPlan {
                card: need.card,
                spare: gpu.usable - need.card,
                slower: Some(share),
                risk: QualityRisk::None,
                project: changed,
                fixes,
            });
        }
    }
    best
}
