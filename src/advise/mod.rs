//! From the estimate to what the person should do: verdict, first fixes, cards to take.
//!
//! [`advise`] is a pure function of the project and the catalog. Everything it says about a changed project was found by
//! estimating the changed project.

mod beside;
mod cards;
mod changes;
mod compare;
mod curve;
mod data;
mod engine;
mod facts;
mod fit;
mod fixes;
mod free;
mod helps;
mod knobs;
pub mod measured;
mod money;
pub mod moves;
pub mod nearest;
pub mod oom;
mod options;
mod picks;
mod plain;
pub mod plan;
mod plans;
pub mod pretraining;
pub mod recipe;
pub mod rig;
mod search;
pub mod several;
mod smaller;
mod sooner;
mod subject;
mod terms;
mod verdict;
mod warnings;
mod ways;

#[cfg(test)]
mod tests;

pub use beside::AtHome;
pub use cards::on_choice;
pub use changes::Changes;
pub use compare::{Against, Cooling, Growth, Side, growth, side_by_side, usual_sides, why_not};
pub use curve::{CostPoint, Purchase, RentOrBuy, owned_count, rent_or_buy, usual_purchase};
pub use data::{OverData, over_data};
pub use facts::*;
pub use helps::{FitPlan, Fix, FixKind, QualityRisk};
pub use money::usual_price;
pub use options::option;
pub use plans::{Afford, LeftOut, Plan, Plans, StepUp, Way};
pub use sooner::A_BREAK;
pub use terms::{SET_UP_H, electricity, wall_watts, yearly_loss};
pub use warnings::{bar as card_bar, warnings as card_warnings, without_bf16};

use crate::catalog::{Catalog, Domain, Gpu};
use crate::estimate::{CannotEstimate, MemoryEstimate};
use crate::project::Project;
use engine::{Engine, Estimates, Memo, Need, settle};
use fixes::Bench;

/// Card that stands in where none is chosen: what most hobbyists rent first.
const TYPICAL_CARD: &str = "rtx-4090";

/// The advice for a project: a pure function of it and the catalog.
pub fn advise(project: &Project, catalog: &Catalog) -> Result<Advice, CannotEstimate> {
    advise_with(&Estimates::of(catalog), project, catalog)
}

/// The least painful set of fixes that makes the project fit `gpu`; `None` where nothing does.
pub fn make_it_fit(project: &Project, gpu: &Gpu, catalog: &Catalog) -> Option<FitPlan> {
    let engine = Estimates::of(catalog);
    let (project, _) = settled_on(&engine, project, gpu)?;
    Bench::new(&Memo::new(&engine, &project), gpu, &project, catalog).make_it_fit(&project)
}

/// The largest micro-batch with which the project fits `gpu`; `None` where not even one sample does.
pub fn largest_micro_batch(project: &Project, gpu: &Gpu, catalog: &Catalog) -> Option<u64> {
    let engine = Estimates::of(catalog);
    let (project, _) = settled_on(&engine, project, gpu)?;
    Bench::new(&Memo::new(&engine, &project), gpu, &project, catalog).largest_micro_batch(&project)
}

fn settled_on(engine: &dyn Engine, project: &Project, gpu: &Gpu) -> Option<(Project, MemoryEstimate)> {
    let there = engine::on(project, gpu, project.hardware.count, project.hardware.sharding);
    settle(engine, &there, gpu).ok()
}

/// The person's card, where the run can go on it at all.
fn card_in_use<'a>(project: &Project, catalog: &'a Catalog) -> Option<&'a Gpu> {
    let chosen = if project.hardware.no_gpu { None } else { catalog.gpu(&project.hardware.gpu) };
    chosen.filter(|gpu| warnings::bar(project, gpu).is_none())
}

fn advise_with(engine: &dyn Engine, project: &Project, catalog: &Catalog) -> Result<Advice, CannotEstimate> {
    let chosen = if project.hardware.no_gpu { None } else { catalog.gpu(&project.hardware.gpu) };
    let bar = chosen.and_then(|gpu| warnings::bar(project, gpu));
    let gpu = card_in_use(project, catalog);
    let (settled, memory) = match gpu {
        Some(gpu) => {
            let (settled, memory) = settle(engine, project, gpu)?;
            let memory = engine.tried(&settled, gpu, memory);
            (settled, memory)
        }
        None => (project.clone(), engine.memory(project, None)?),
    };
    let memo = Memo::new(engine, project);
    if let Some(gpu) = gpu {
        memo.learn(gpu, &settled, &memory);
    }
    let count = settled.hardware.count;
    let time = gpu.and_then(|g| memo.time(g, count, settled.hardware.sharding));
    let hours_on_cpu = memo
        .workload(false)
        .ok()
        .filter(|load| load.weights <= verdict::LARGEST_ON_CPU && memory.allocated <= verdict::ORDINARY_RAM)
        .map(|load| load.on_cpu().hours());
    let cpu_does_it = hours_on_cpu.filter(|h| *h <= verdict::PATIENCE_H);
    let verdict = match (gpu, bar, cpu_does_it) {
        (Some(gpu), ..) => verdict::verdict(&memory, gpu.usable),
        (None, _, Some(hours_on_cpu)) => Verdict::NoGpuNeeded { hours_on_cpu },
        (None, Some(bar), None) => Verdict::CannotRun(bar),
        (None, None, None) => Verdict::NoCard,
    };
    let short = matches!(verdict, Verdict::RunsOut { .. } | Verdict::Tight { .. });
    let bench = gpu.or_else(|| catalog.gpu(TYPICAL_CARD)).map(|gpu| Bench::new(&memo, gpu, project, catalog));
    let wants_fixes = short || verdict == Verdict::NoCard;
    let known = gpu.map(|_| engine::Need::of(&memory));
    let mut fixes = bench.as_ref().filter(|_| wants_fixes).map_or_else(Vec::new, |b| b.fixes(&settled, known));
    let mut make_it_fit = match chosen.filter(|_| bar == Some(CardBar::NoQuantization)) {
        Some(gpu) => plain::unquantized(engine, project, gpu, catalog),
        None => bench.as_ref().filter(|_| short).and_then(|b| b.make_it_fit(&settled)),
    };
    let changed =
        fixes.iter_mut().map(|fix| &mut fix.project).chain(make_it_fit.iter_mut().map(|plan| &mut plan.project));
    for alone in changed.filter(|changed| changed.hardware.count <= 1) {
        // One card shares with nobody: a click on a fix says nothing of sharing.
        alone.hardware.sharding = project.hardware.sharding;
    }
    let fits = matches!(verdict, Verdict::Fits { .. });
    let largest_micro_batch = bench.as_ref().filter(|_| fits).and_then(|b| b.largest_micro_batch(&settled));
    let sooner = gpu.filter(|_| fits).and_then(|gpu| {
        let known = knobs::knobs(project, subject::Subject::of(project, catalog), gpu);
        sooner::sooner(&memo, gpu, project, time.as_ref(), &known)
    });
    // No use where nothing but the search's own end stops it, nor where the work is too little for any card.
    let small = catalog.model(&project.model).is_some_and(|m| m.domain == Domain::Small);
    let room_has_use = !small && largest_micro_batch.is_some_and(|n| n < fixes::batch_limit(&settled));
    let out_of_memory = gpu
        .filter(|g| Need::of(&memory).card > g.usable)
        .map(|g| verdict::out_of_memory(&settled, &memory, g.usable, catalog));
    let ranked = cards::ranked(&memo, project, catalog, gpu.map(|gpu| (gpu, &settled)));
    let free = free::free(&memo, project, catalog);
    let own = gpu.filter(|_| fits).zip(time).map(|(gpu, time)| (gpu, count, time.run.hours()));
    let changed = gpu.zip(make_it_fit.as_ref());
    let own_changed = changed.and_then(|(gpu, plan)| {
        let time = memo.time_of(&plan.project, gpu)?;
        Some((gpu, plan.project.hardware.count, time.run.hours()))
    });
    let given = plans::Given {
        cards: &ranked,
        free: &free,
        own,
        own_changed,
        same_training: make_it_fit.as_ref().is_some_and(|plan| plan.risk < QualityRisk::Real),
        hours_on_cpu: cpu_does_it,
    };
    let mut plans = plans::plans(project, catalog, &given);
    if plans.afford.is_some_and(|afford| afford.is_too_little()) {
        plans.free_instead = free::instead(engine, project, catalog, &free);
    }
    let cards = cards::cards(ranked, &plans.rentals);
    let memory = if matches!(verdict, Verdict::NoGpuNeeded { .. }) { memory.on_processor() } else { memory };
    Ok(Advice {
        verdict,
        capacity: gpu.map(|g| g.usable),
        time,
        hours_on_cpu,
        out_of_memory,
        fixes,
        make_it_fit,
        sooner,
        largest_micro_batch,
        room_has_use,
        cards,
        free,
        plans,
        warnings: chosen.map_or_else(Vec::new, |g| {
            let spills = (short && warnings::spills(g)).then_some(CardWarning::WindowsSpills);
            spills.into_iter().chain(warnings::warnings(project, g, count, time.as_ref())).collect()
        }),
        memory,
    })
}
