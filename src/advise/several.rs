//! Several cards for one project: what each of them holds under every way to share it, what main memory that takes, and
//! how much of the added speed is left over.

use super::FixKind;
use super::cards::most;
use super::engine::{Engine, Estimates, Memo, Need, accumulation, divides, on, settle};
use super::plan::{MOST_CARDS, smallest_count};
use crate::catalog::{Catalog, Gpu};
use crate::estimate::time::has_flash;
use crate::estimate::{CannotEstimate, TimeEstimate};
use crate::project::{Checkpointing, Project, Sharding};
use crate::units::Bytes;

/// The ways that are shown, those that hold most on a card first.
const WAYS: [Sharding; 7] = [
    Sharding::Ddp,
    Sharding::Zero1,
    Sharding::Zero2,
    Sharding::Zero3,
    Sharding::Fsdp2,
    Sharding::Zero3Offload,
    Sharding::DeviceMap,
];

/// One way to share a project.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// Which.
    pub sharding: Sharding,
    /// What each card needs.
    pub card: Bytes,
    /// Fits also at the upper end of the error band.
    pub fits: bool,
    /// Fits inside the error band.
    pub tight: bool,
    /// Main memory that one machine needs for all its cards.
    pub host: Bytes,
    /// Time of the run.
    pub time: Option<TimeEstimate>,
    /// Speed over that of as many single cards, 0 to 1.
    pub efficiency: Option<f64>,
    /// The project is set to it.
    pub chosen: bool,
    /// The project on these cards in this way.
    pub project: Project,
}

/// What makes a project small enough for one card without training anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smaller {
    /// Blocks are computed again in backward.
    Checkpointing,
    /// One sample at a time.
    OneSample,
    /// Both.
    Both,
}

/// Several cards for one project.
#[derive(Clone, Debug, PartialEq)]
pub struct Several {
    /// How many.
    pub count: u32,
    /// Machines that they stand in.
    pub machines: u32,
    /// What one card alone would need.
    pub alone: Bytes,
    /// What makes it fit on one card, where it does not as it is and such a change is enough.
    pub alone_with: Option<Smaller>,
    /// The ways, those that hold most on a card first.
    pub sharings: Vec<Sharing>,
    /// The library only knows full copies.
    pub copies_only: bool,
    /// The smallest number of these cards on which the project fits as it is, by powers of two; one where one does.
    pub as_it_is: Option<u32>,
    /// The same where the batch may go down to one sample and blocks may be computed again: no more than as it is.
    pub smallest: Option<u32>,
    /// What is changed for it, where fewer cards then do.
    pub smallest_with: Option<Smaller>,
    /// The smallest number on which any plan fits, where neither of these is known: the model may be cut for it.
    pub planned: Option<u32>,
    /// Cards that the cut of the model leaves over.
    pub idle: u32,
}

/// What `count` cards of this kind make of a project.
pub fn several(project: &Project, gpu: &Gpu, count: u32, catalog: &Catalog) -> Result<Several, CannotEstimate> {
    let count = count.clamp(1, MOST_CARDS);
    let engine = Estimates::of(catalog);
    let single = on(project, gpu, 1, Sharding::Ddp);
    let alone = engine.memory(&single, Some(gpu))?;
    let load = engine.workload(&single, has_flash(gpu));
    let samples_a_second =
        |time: &TimeEstimate, project: &Project| super::plan::samples_per_step(project) as f64 / time.step.0;
    let base = load.as_ref().ok().and_then(|l| l.on(gpu, 1, Sharding::Ddp).ok()).map(|t| samples_a_second(&t, &single));
    let own = project.hardware.gpu == gpu.id && project.hardware.count == count;
    // "Automatic" is set to what it comes to.
    let set = if own { settle(&engine, project, gpu).ok().map(|(settled, _)| settled.hardware.sharding) } else { None };
    let copies_only = !divides(project);
    let language = project.language(catalog);
    let per_machine = on(project, gpu, count, Sharding::Ddp).hardware.per_machine();
    let mut sharings = Vec::new();
    let also = (own && !WAYS.contains(&project.hardware.sharding)).then_some(project.hardware.sharding);
    for sharding in WAYS.into_iter().chain(also.filter(|s| *s != Sharding::Auto)) {
        // States of adapters are too small for dividing them alone to gain anything.
        let idle = project.method.is_adapter() && matches!(sharding, Sharding::Zero1 | Sharding::Zero2);
        // Only language models are laid out by layers, by one program, which cannot leave its machine.
        let by_layers = sharding == Sharding::DeviceMap && (language.is_none() || count > per_machine);
        if idle || by_layers || (copies_only && sharding != Sharding::Ddp) {
            continue;
        }
        let mut there = on(project, gpu, count, sharding);
        if sharding == Sharding::DeviceMap {
            // One micro-batch goes through all cards.
            there.accumulation = accumulation(project, 1);
            there.hardware.parallel = crate::project::Parallel::default();
        }
        let Ok(memory) = engine.memory(&there, Some(gpu)) else { continue };
        let room = gpu.usable - memory.card;
        let load = engine.workload(&there, has_flash(gpu)).map(|l| l.with_room(room, count, sharding));
        let time = load.and_then(|l| l.on(gpu, count, sharding)).ok();
        let speed = time.as_ref().map(|t| samples_a_second(t, &there));
        let need = Need::of(&memory);
        sharings.push(Sharing {
            sharding,
            card: memory.card,
            fits: need.fits(gpu.usable),
            tight: need.is_tight(gpu.usable),
            host: memory.host,
            time,
            efficiency: speed.zip(base).map(|(speed, base)| (speed / base / f64::from(count)).min(1.0)),
            chosen: set == Some(sharding),
            project: there,
        });
    }
    let used = project.hardware.parallel.on(count).model();
    let wanted = project.hardware.parallel.model();
    let fits = Need::of(&alone).fits(gpu.usable);
    let as_it_is = if fits { Some(1) } else { fewest(&engine, project, gpu) };
    let lean = leanest(project);
    let changed = lean.as_ref().filter(|_| !fits).and_then(|(_, lean)| {
        let alone = engine.memory(&on(lean, gpu, 1, Sharding::Ddp), Some(gpu));
        if alone.is_ok_and(|memory| Need::of(&memory).fits(gpu.usable)) { Some(1) } else { fewest(&engine, lean, gpu) }
    });
    let smallest = as_it_is.into_iter().chain(changed).min();
    let alone_with = (!fits && smallest == Some(1)).then(|| smaller(&engine, &single, gpu));
    let smallest_with = lean.map(|(with, _)| with).filter(|_| smallest != as_it_is);
    let planned = if smallest.is_none() { smallest_count(project, gpu, catalog) } else { None };
    Ok(Several {
        count,
        machines: count.div_ceil(per_machine),
        alone: alone.card,
        alone_with,
        sharings,
        copies_only,
        as_it_is,
        smallest,
        smallest_with,
        planned,
        idle: if own && used != wanted { u32::try_from(u64::from(count) % wanted).unwrap_or(0) } else { 0 },
    })
}

/// The project with one sample at a time and all blocks computed again, and which of the two that changes; `None` where it
/// is so already.
fn leanest(project: &Project) -> Option<(Smaller, Project)> {
    let (one, recomputed) = (project.micro_batch <= 1, project.checkpointing == Checkpointing::PerBlock);
    let with = match (one, recomputed) {
        (true, true) => return None,
        (true, false) => Smaller::Checkpointing,
        (false, true) => Smaller::OneSample,
        (false, false) => Smaller::Both,
    };
    let accumulation = project.accumulation.saturating_mul(project.micro_batch.max(1));
    let lean = Project { micro_batch: 1, accumulation, checkpointing: Checkpointing::PerBlock, ..project.clone() };
    Some((with, lean))
}

/// The smallest number of these cards, above one, on which the project fits as it is: what the fix of more cards goes by
/// too.
fn fewest(engine: &Estimates<'_>, project: &Project, gpu: &Gpu) -> Option<u32> {
    let memo = Memo::new(engine, project);
    let mut halves = std::iter::successors(Some(2), |count| Some(count * 2)).take_while(|count| *count <= most(gpu));
    halves.find(|count| memo.share(gpu, *count).is_some_and(|(_, need)| need.fits(gpu.usable)))
}

/// The least change that makes it fit on one card for sure, or both of them.
fn smaller(engine: &Estimates<'_>, single: &Project, gpu: &Gpu) -> Smaller {
    let recomputed = Project { checkpointing: Checkpointing::PerBlock, ..single.clone() };
    let accumulation = single.accumulation.saturating_mul(single.micro_batch);
    let one = Project { micro_batch: 1, accumulation, ..single.clone() };
    let recomputes = single.checkpointing == Checkpointing::PerBlock;
    let fits = |p: &Project| engine.memory(p, Some(gpu)).is_ok_and(|m| Need::of(&m).fits(gpu.usable));
    if !recomputes && (single.micro_batch == 1 || fits(&recomputed)) {
        return Smaller::Checkpointing;
    }
    if recomputes || fits(&one) { Smaller::OneSample } else { Smaller::Both }
}

impl Several {
    /// Why no plan is found for these cards.
    pub fn no_plan(&self) -> NoPlan {
        let found = |of: fn(&Sharing) -> bool| self.sharings.iter().any(of);
        match () {
            () if found(|way| way.fits || way.tight) => NoPlan::Tight,
            () if self.copies_only => NoPlan::Copies,
            () => NoPlan::TooLarge,
        }
    }
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlan {
    /// A way may hold it, but none does for sure.
    Tight,
    /// Every card holds all of it: more of them change nothing.
    Copies,
    /// It is too much for so many of these cards.
    TooLarge,
}

/// What laying a project out over cards changes, for the list of changes.
pub fn laid_out(before: &Project, after: &Project) -> Vec<FixKind> {
    let (was, is) = (&before.hardware, &after.hardware);
    let cards = (was.count != is.count).then_some(FixKind::MoreCards { count: is.count });
    let way = (was.sharding != is.sharding || cards.is_none()).then_some(FixKind::Way { sharding: is.sharding });
    cards.into_iter().chain(way).collect()
}

/// Whether more than one card deserves a look without being asked for: several are owned, or one is too small for the
/// project whatever is changed about it.
pub fn wants_several(project: &Project, advice: &super::Advice) -> bool {
    let short = matches!(advice.verdict, super::Verdict::RunsOut { .. });
    project.hardware.count > 1 || (short && advice.make_it_fit.is_none())
}
