//! What makes a run that fits much faster on the same cards, where they mostly wait for each other.

use super::engine::{Memo, Need, accumulation, divides};
use super::knobs::{Knob, apply};
use super::{FitPlan, FixKind, QualityRisk};
use crate::catalog::Gpu;
use crate::estimate::{Bottleneck, TimeEstimate};
use crate::project::{Checkpointing, Method, Parallel, Project, Sharding};

/// A change has to leave less than this part of the time.
const WORTH_A_CHANGE: f64 = 0.7;
/// A change that is hardly measurable has to be so many times as fast as one with the same result.
const FAR_FASTER: f64 = 1.5;

/// Nobody changes a run of seconds that is over within a cup of tea (judgement).
pub const A_BREAK: f64 = 600.0;

/// The fastest of a few changes with the same result: what is computed again leaves room for whole copies on each card, and
/// more samples at a time need weights and gradients sent fewer times.
pub(super) fn sooner(
    memo: &Memo<'_>,
    gpu: &Gpu,
    project: &Project,
    time: Option<&TimeEstimate>,
    known: &[Knob],
) -> Option<FitPlan> {
    let waits = |t: &&TimeEstimate| {
        t.bottleneck == Bottleneck::Communication && project.hardware.count > 1 && t.run.0 > A_BREAK
    };
    let now = time.filter(waits)?.run.0;
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
    let tried = |fixes: Vec<FixKind>| {
        let mut changed = project.clone();
        for kind in &fixes {
            apply(*kind, &mut changed, gpu);
            if *kind == LAYERS {
                // One micro-batch goes through all cards.
                (changed.accumulation, changed.hardware.parallel) = (accumulation(project, 1), Parallel::default());
            }
        }
        let need = memo.need_of(&changed, gpu).filter(|need: &Need| need.fits(gpu.usable))?;
        let share = memo.time_of(&changed, gpu)?.run.0 / now;
        let risk = if fixes.contains(&FixKind::QLora) { QualityRisk::Slight } else { QualityRisk::None };
        let (card, spare) = (need.card, gpu.usable - need.card);
        Some((share, FitPlan { card, spare, slower: Some(share), risk, project: changed, fixes }))
    };
    let (mut best, mut least): (Option<FitPlan>, f64) = (None, WORTH_A_CHANGE);
    for (share, plan) in all.into_iter().filter_map(tried) {
        // Of two that take about as long the smaller change.
        let fewer = best.as_ref().is_some_and(|b| plan.fixes.len() < b.fixes.len());
        if share < if fewer { least * 1.1 } else { least } {
            (best, least) = (Some(plan), share);
        }
    }
    // A packed base leaves room for a whole copy on each card; layers one behind the other send next to nothing.
    let base = best.as_ref().map_or(1.0, |_| least);
    for (share, plan) in others(project, known).into_iter().filter_map(tried) {
        // What leaves the result as it is comes first, unless another is far faster.
        let worth = if plan.risk == QualityRisk::None { least } else { least.min(base / FAR_FASTER) };
        if share < worth {
            (best, least) = (Some(plan), share);
        }
    }
    best
}

/// Layers one behind the other on the cards.
const LAYERS: FixKind = FixKind::Way { sharding: Sharding::DeviceMap };

/// What is tried beside, where the cards share as we see fit: by which knobs the project has.
fn others(project: &Project, known: &[Knob]) -> Vec<Vec<FixKind>> {
    let has = |kind| known.iter().any(|knob| knob.settings.contains(&kind));
    let hardware = &project.hardware;
    if hardware.sharding != Sharding::Auto || !has(FixKind::QLora) {
        return Vec::new();
    }
    let layers = (hardware.count <= hardware.per_machine() && divides(project)).then(|| vec![LAYERS]);
    let both = has(FixKind::Checkpointing).then(|| vec![FixKind::QLora, FixKind::Checkpointing]);
    // Adapters on a packed base are nearly those on a plain one; they are not a full fine-tune.
    let packed = [vec![FixKind::QLora]].into_iter().chain(both).filter(|_| project.method.is_adapter());
    layers.into_iter().chain(packed).collect()
}
