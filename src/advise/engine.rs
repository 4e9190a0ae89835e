//! Where the advice gets its numbers: a seam for tests, and a memo, so that nothing is estimated twice and cards that
//! run the same kernels are estimated once.

use super::warnings::without_bf16;
use crate::catalog::{Catalog, Gpu};
use crate::estimate::time::{Workload, has_flash};
use crate::estimate::{CARDS_PER_MACHINE, CannotEstimate, MemoryEstimate, TimeEstimate, Walks, is_language, overhead};
use crate::project::{Parallel, Precision, Project, Sharding};
use crate::units::Bytes;
use std::cell::RefCell;

/// Memory and work of a project. The real one asks `estimate`; tests put arithmetic in its place.
pub(super) trait Engine {
    fn memory(&self, project: &Project, gpu: Option<&Gpu>) -> Result<MemoryEstimate, CannotEstimate>;
    /// What decides whether it fits.
    fn need(&self, project: &Project, gpu: &Gpu) -> Option<Need> {
        self.memory(project, Some(gpu)).ok().map(|memory| Need::of(&memory))
    }
    /// What is known better of the card on screen, where it is a near thing.
    fn tried(&self, _: &Project, _: &Gpu, memory: MemoryEstimate) -> MemoryEstimate {
        memory
    }
    fn workload(&self, project: &Project, flash: bool) -> Result<Workload, CannotEstimate>;
    /// The part of a need that the card alone decides: its driver's context and its libraries' workspaces.
    fn runtime(&self, gpu: &Gpu) -> Bytes;
    /// Whether it matters to the need which library divides everything: the estimates of pictures and sound know no
    /// difference.
    fn tells_dividers_apart(&self, project: &Project) -> bool;
}

/// The estimates of this crate.
pub(super) struct Estimates<'a> {
    catalog: &'a Catalog,
    walks: Walks,
}

impl<'a> Estimates<'a> {
    pub(super) fn of(catalog: &'a Catalog) -> Self {
        Self { catalog, walks: Walks::default() }
    }
}

impl Engine for Estimates<'_> {
    fn memory(&self, project: &Project, gpu: Option<&Gpu>) -> Result<MemoryEstimate, CannotEstimate> {
        crate::estimate::memory_among(project, gpu, self.catalog, &self.walks)
    }

    fn need(&self, project: &Project, gpu: &Gpu) -> Option<Need> {
        let (card, band) = crate::estimate::need_among(project, gpu, self.catalog, &self.walks).ok()?;
        Some(Need { card, band })
    }

    fn tried(&self, project: &Project, gpu: &Gpu, memory: MemoryEstimate) -> MemoryEstimate {
        crate::estimate::tried(project, gpu, self.catalog, &self.walks, memory)
    }

    fn workload(&self, project: &Project, flash: bool) -> Result<Workload, CannotEstimate> {
        Workload::new(project, flash, self.catalog)
    }

    fn runtime(&self, gpu: &Gpu) -> Bytes {
        overhead::context(Some(gpu)) + overhead::workspaces(Some(gpu))
    }

    fn tells_dividers_apart(&self, project: &Project) -> bool {
        is_language(project, self.catalog)
    }
}

/// What decides whether a run fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Need {
    /// What the card needs.
    pub(super) card: Bytes,
    /// Relative half-width of the error band.
    pub(super) band: f64,
}

impl Need {
    pub(super) fn of(memory: &MemoryEstimate) -> Self {
        Self { card: memory.card, band: memory.band }
    }

    fn without(self, runtime: Bytes) -> Self {
        Self { card: self.card - runtime, ..self }
    }

    fn with(self, runtime: Bytes) -> Self {
        Self { card: self.card + runtime, ..self }
    }

    /// Fits also at the upper end of the band.
    pub(super) fn fits(self, usable: Bytes) -> bool {
        self.card.scale(1.0 + self.band) <= usable
    }

    /// May or may not fit.
    pub(super) fn is_tight(self, usable: Bytes) -> bool {
        !self.fits(usable) && self.card.scale(1.0 - self.band) <= usable
    }
}

/// What the memory of a step depends on, beside what the card's own runtime takes.
struct Known {
    kernels: Kernels,
    cards: Cards,
    sharding: Sharding,
    /// The changed project; `None` for the one that the advice is about.
    changed: Option<Project>,
    /// Without the card's own runtime.
    need: Option<Need>,
}

/// Whether the card has flash attention, and the precision it takes in place of a bf16 that it lacks: cards alike in both
/// run a step with the same kernels.
type Kernels = (bool, Option<Precision>);

/// Numbers of cards on which each needs the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cards {
    /// So many, and no other number.
    These(u32),
    /// Any number, on one machine or on several, with a full copy on each: what it is divided by plays no part.
    Copies {
        /// More than one machine.
        machines: bool,
        /// Gradients gather over several micro-batches.
        gathers: bool,
    },
}

/// The needs and the work of a project and its variants, each estimated once.
pub(super) struct Memo<'a> {
    engine: &'a dyn Engine,
    project: &'a Project,
    tells_apart: bool,
    needs: RefCell<Vec<Known>>,
    loads: RefCell<Vec<(Kernels, Result<Workload, CannotEstimate>)>>,
}

/// How cards may share the work, the simplest first.
const SHARDINGS: [Sharding; 4] = [Sharding::Ddp, Sharding::Zero2, Sharding::Zero3, Sharding::Fsdp2];

/// Whether several cards can hold what one cannot, in this library.
pub(super) fn divides(project: &Project) -> bool {
    !project.framework.only_copies()
}

/// The ways that are worth a look: dividing the gradients and states of adapters gains nothing, and some libraries
/// divide nothing at all.
fn shardings(tells_apart: bool, project: &Project) -> impl Iterator<Item = Sharding> + use<> {
    let (adapters, divides) = (project.method.is_adapter(), divides(project));
    let apart = divides && tells_apart;
    SHARDINGS.into_iter().filter(move |sharding| match sharding {
        Sharding::Ddp => true,
        Sharding::Zero2 => divides && !adapters,
        Sharding::Fsdp2 => apart,
        _ => divides,
    })
}

impl<'a> Memo<'a> {
    pub(super) fn new(engine: &'a dyn Engine, project: &'a Project) -> Self {
        let tells_apart = engine.tells_dividers_apart(project);
        Self { engine, project, tells_apart, needs: RefCell::default(), loads: RefCell::default() }
    }

    /// Keeps what is already known about the project itself.
    pub(super) fn learn(&self, gpu: &Gpu, settled: &Project, memory: &MemoryEstimate) {
        if settled.hardware.desktop {
            return;
        }
        self.needs.borrow_mut().push(Known {
            kernels: self.kernels(gpu),
            cards: self.cards(settled.hardware.count.max(1), settled.hardware.sharding),
            sharding: settled.hardware.sharding,
            changed: None,
            need: Some(Need::of(memory).without(self.engine.runtime(gpu))),
        });
    }

    fn kernels(&self, gpu: &Gpu) -> Kernels {
        // Mixed precision takes as much in one 16-bit format as in the other.
        let same = |instead: &Precision| (self.project.precision, *instead) == (Precision::AmpBf16, Precision::AmpFp16);
        (has_flash(gpu), instead_of_bf16(self.project, gpu).filter(|instead| !same(instead)))
    }

    /// What each of `count` cards needs for the project itself.
    pub(super) fn need(&self, gpu: &Gpu, count: u32, sharding: Sharding) -> Option<Need> {
        let hardware = &self.project.hardware;
        if hardware.desktop && hardware.gpu == gpu.id {
            // Only this card shows a screen.
            let there = on(self.project, gpu, count, sharding);
            return self.known(gpu, count, sharding, Some(&there), || there.clone());
        }
        self.known(gpu, count, sharding, None, || on(self.project, gpu, count, sharding))
    }

    /// What a changed project needs on its card, its sharding settled.
    pub(super) fn need_of(&self, changed: &Project, gpu: &Gpu) -> Option<Need> {
        self.way_of(changed, gpu).map(|(_, need)| need)
    }

    /// The way in which a changed project shares its cards, and what each of them needs.
    fn way_of(&self, changed: &Project, gpu: &Gpu) -> Option<(Sharding, Need)> {
        let (count, sharding) = (changed.hardware.count.max(1), changed.hardware.sharding);
        if count == 1 || sharding != Sharding::Auto {
            return self.known(gpu, count, sharding, Some(changed), || changed.clone()).map(|need| (sharding, need));
        }
        Self::simplest(shardings(self.engine.tells_dividers_apart(changed), changed), gpu, |sharding| {
            self.known(gpu, count, sharding, Some(changed), || {
                let mut settled = changed.clone();
                settled.hardware.sharding = sharding;
                settled
            })
        })
    }

    /// Which other numbers of cards the project needs the same on.
    fn cards(&self, count: u32, sharding: Sharding) -> Cards {
        if count == 1 || sharding != Sharding::Ddp || self.project.hardware.parallel.cuts() {
            return Cards::These(count);
        }
        Cards::Copies { machines: count > CARDS_PER_MACHINE, gathers: accumulation(self.project, count) > 1 }
    }

    fn known(
        &self,
        gpu: &Gpu,
        count: u32,
        sharding: Sharding,
        changed: Option<&Project>,
        project: impl FnOnce() -> Project,
    ) -> Option<Need> {
        let kernels = self.kernels(gpu);
        let runtime = self.engine.runtime(gpu);
        // What only differs in the number of cards is in the list of cards too, which no screen hangs on.
        let listed = |c: &Project| {
            // Most changes are seen without making two projects to compare.
            let p = self.project;
            let same = (c.micro_batch, c.method, c.precision, c.checkpointing)
                == (p.micro_batch, p.method, p.precision, p.checkpointing);
            same && !c.hardware.desktop && on(c, gpu, count, sharding) == on(p, gpu, count, sharding)
        };
        let changed = changed.filter(|c| !listed(c));
        let cards = if changed.is_some() { Cards::These(count) } else { self.cards(count, sharding) };
        let same = |k: &&Known| {
            k.kernels == kernels && k.cards == cards && k.sharding == sharding && k.changed.as_ref() == changed
        };
        if let Some(known) = self.needs.borrow().iter().find(same) {
            return known.need.map(|need| need.with(runtime));
        }
        let need = self.engine.need(&project(), gpu).map(|need| need.without(runtime));
        self.needs.borrow_mut().push(Known { kernels, cards, sharding, changed: changed.cloned(), need });
        need.map(|need| need.with(runtime))
    }

    /// The simplest sharding that fits, or the one that needs least.
    fn simplest(
        shardings: impl Iterator<Item = Sharding>,
        gpu: &Gpu,
        need: impl Fn(Sharding) -> Option<Need>,
    ) -> Option<(Sharding, Need)> {
        let mut least: Option<(Sharding, Need)> = None;
        for sharding in shardings {
            let need = need(sharding)?;
            if need.fits(gpu.usable) {
                return Some((sharding, need));
            }
            if least.is_none_or(|(_, n)| need.card < n.card) {
                least = Some((sharding, need));
            }
        }
        least
    }

    /// How `count` cards of this kind share the project, and what each then needs. `None` where nothing can be said, or
    /// where so few are far too small.
    pub(super) fn share(&self, gpu: &Gpu, count: u32) -> Option<(Sharding, Need)> {
        let alone = self.need(gpu, 1, Sharding::Ddp)?;
        if count <= 1 {
            return Some((Sharding::Ddp, alone));
        }
        // Nothing can be divided into more parts than there are cards; less accumulation may save some gradients.
        if alone.card.scale(0.7 / f64::from(count)) > gpu.usable {
            return None;
        }
        if count <= CARDS_PER_MACHINE {
            return Self::simplest(shardings(self.tells_apart, self.project), gpu, |sharding| {
                self.need(gpu, count, sharding)
            });
        }
        // Machines together: everything on every card where that fits one machine's cards, else everything divided.
        let whole = self.need(gpu, CARDS_PER_MACHINE, Sharding::Ddp).is_some_and(|n| n.fits(gpu.usable));
        let divides = divides(self.project);
        let ways = [Sharding::Ddp, Sharding::Zero3]
            .into_iter()
            .filter(move |way| if *way == Sharding::Ddp { whole || !divides } else { divides });
        Self::simplest(ways, gpu, |sharding| self.need(gpu, count, sharding))
    }

    /// Time of the run on `count` cards.
    pub(super) fn time(&self, gpu: &Gpu, count: u32, sharding: Sharding) -> Option<TimeEstimate> {
        let mut load = self.load(self.kernels(gpu)).ok()?;
        load.accumulation = accumulation(self.project, count) as f64;
        if load.paged > 0.0
            && let Some(need) = self.need(gpu, count, sharding)
        {
            load = load.with_room(gpu.usable - need.card, count, sharding);
        }
        load.on(gpu, count, sharding).ok()
    }

    /// Time of a changed project on its card.
    pub(super) fn time_of(&self, changed: &Project, gpu: &Gpu) -> Option<TimeEstimate> {
        self.timed(changed, gpu, true)
    }

    /// The same as if all paged states moved: a search for what fits compares where memory is short, and more of what frees
    /// it must not look faster.
    pub(super) fn time_if_paged(&self, changed: &Project, gpu: &Gpu) -> Option<TimeEstimate> {
        self.timed(changed, gpu, false)
    }

    fn timed(&self, changed: &Project, gpu: &Gpu, room: bool) -> Option<TimeEstimate> {
        let mut load = self.engine.workload(changed, has_flash(gpu)).ok()?;
        let (count, given) = (changed.hardware.count, changed.hardware.sharding);
        // What is left to us is decided by what fits, and dividing more costs time on the wires.
        let sharding = if given == Sharding::Auto { self.way_of(changed, gpu)?.0 } else { given };
        if room
            && load.paged > 0.0
            && let Some(need) = self.need_of(changed, gpu)
        {
            load = load.with_room(gpu.usable - need.card, count, sharding);
        }
        load.on(gpu, count, sharding).ok()
    }

    /// What the project asks of a card with or without flash attention.
    pub(super) fn workload(&self, flash: bool) -> Result<Workload, CannotEstimate> {
        self.load((flash, None))
    }

    fn load(&self, kernels: Kernels) -> Result<Workload, CannotEstimate> {
        if let Some((_, load)) = self.loads.borrow().iter().find(|(known, _)| *known == kernels) {
            return load.clone();
        }
        let load = match kernels {
            (flash, Some(precision)) => self.engine.workload(&Project { precision, ..self.project.clone() }, flash),
            (flash, None) => self.engine.workload(self.project, flash),
        };
        self.loads.borrow_mut().push((kernels, load.clone()));
        load
    }
}

/// Micro-batches in a step on `count` cards, so that the effective batch stays as it is. Once there is nothing left to
/// accumulate, more cards make it grow.
pub(super) fn accumulation(project: &Project, count: u32) -> u64 {
    let cut = project.hardware.parallel;
    // Cards that a model is cut over see the same samples.
    let copies = |cut: Parallel, count: u32| u64::from(cut.data(count.max(1)));
    let all = project.accumulation.saturating_mul(copies(cut, project.hardware.count));
    (all / copies(cut.on(count), count)).max(1)
}

/// Samples of a step on `count` cards.
pub(super) fn step_on(project: &Project, count: u32) -> u64 {
    let copies = u64::from(project.hardware.parallel.on(count).data(count.max(1)));
    project.micro_batch.saturating_mul(accumulation(project, count)).saturating_mul(copies)
}

/// The precision of the project on another card that lacks its bf16. The person's own card is told of as it is set.
fn instead_of_bf16(project: &Project, gpu: &Gpu) -> Option<Precision> {
    without_bf16(project, gpu).filter(|_| project.hardware.gpu != gpu.id)
}

/// The project on other cards. No screen hangs on a rented or new card.
pub(super) fn on(project: &Project, gpu: &Gpu, count: u32, sharding: Sharding) -> Project {
    let mut other = project.clone();
    other.hardware.desktop &= other.hardware.gpu == gpu.id;
    if other.hardware.gpu != gpu.id {
        other.precision = instead_of_bf16(project, gpu).unwrap_or(other.precision);
        other.hardware.gpu = gpu.id.to_string();
    }
    other.hardware.no_gpu = false;
    other.accumulation = accumulation(project, count);
    other.hardware.count = count;
    other.hardware.sharding = sharding;
    other.hardware.parallel = project.hardware.parallel.on(count);
    other
}

/// The project on its own card with "automatic" sharding settled, and what it needs there.
pub(super) fn settle(
    engine: &dyn Engine,
    project: &Project,
    gpu: &Gpu,
) -> Result<(Project, MemoryEstimate), CannotEstimate> {
    let mut settled = project.clone();
    if project.hardware.count <= 1 && project.hardware.sharding != Sharding::Zero3Offload {
        // One card shares with nobody.
        settled.hardware.sharding = Sharding::Ddp;
    }
    if settled.hardware.sharding != Sharding::Auto {
        let memory = engine.memory(&settled, Some(gpu))?;
        return Ok((settled, memory));
    }
    let mut least: Option<(Project, MemoryEstimate)> = None;
    for sharding in shardings(engine.tells_dividers_apart(project), project) {
        settled.hardware.sharding = sharding;
        let memory = engine.memory(&settled, Some(gpu))?;
        if Need::of(&memory).fits(gpu.usable) {
            return Ok((settled, memory));
        }
        if least.as_ref().is_none_or(|(_, m)| memory.card < m.card) {
            least = Some((settled.clone(), memory));
        }
    }
    least.ok_or(CannotEstimate::TooLarge)
}
