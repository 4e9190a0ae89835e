//! Where the advice gets its numbers: a seam for tests, and a memo, so that cards that run the same kernels are
//! estimated once.

use crate::catalog::{Catalog, Gpu, Vendor};
use crate::estimate::time::{Workload, has_flash};
use crate::estimate::{CannotEstimate, MemoryEstimate, TimeEstimate};
use crate::project::{Project, Sharding};
use crate::units::Bytes;
use std::cell::RefCell;

/// Memory and work of a project. The real one asks `estimate`; tests put arithmetic in its place.
pub(super) trait Engine {
    fn memory(&self, project: &Project, gpu: Option<&Gpu>) -> Result<MemoryEstimate, CannotEstimate>;
    fn workload(&self, project: &Project, flash: bool) -> Result<Workload, CannotEstimate>;
}

/// The estimates of this crate.
pub(super) struct Estimates<'a>(pub(super) &'a Catalog);

impl Engine for Estimates<'_> {
    fn memory(&self, project: &Project, gpu: Option<&Gpu>) -> Result<MemoryEstimate, CannotEstimate> {
        crate::estimate::memory(project, gpu, self.0)
    }

    fn workload(&self, project: &Project, flash: bool) -> Result<Workload, CannotEstimate> {
        Workload::new(project, flash, self.0)
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

    /// Fits also at the upper end of the band.
    pub(super) fn fits(self, usable: Bytes) -> bool {
        self.card.scale(1.0 + self.band) <= usable
    }

    /// May or may not fit.
    pub(super) fn is_tight(self, usable: Bytes) -> bool {
        !self.fits(usable) && self.card.scale(1.0 - self.band) <= usable
    }
}

/// Cards that run a step with the same kernels need the same memory for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kernels {
    vendor: Vendor,
    flash: bool,
    bf16: bool,
}

impl Kernels {
    fn of(gpu: &Gpu) -> Self {
        Self { vendor: gpu.vendor, flash: has_flash(gpu), bf16: gpu.rates.bf16.is_some() }
    }
}

/// What the memory of a step depends on beside the project.
type Setting = (Kernels, u32, Sharding);

/// The needs and the work of one project on any card, each kind of kernels estimated once.
pub(super) struct Memo<'a> {
    engine: &'a dyn Engine,
    project: &'a Project,
    needs: RefCell<Vec<(Setting, Option<Need>)>>,
    loads: RefCell<Vec<(bool, Result<Workload, CannotEstimate>)>>,
}

/// How cards may share the work, the simplest first.
const SHARDINGS: [Sharding; 3] = [Sharding::Ddp, Sharding::Zero2, Sharding::Zero3];

impl<'a> Memo<'a> {
    pub(super) fn new(engine: &'a dyn Engine, project: &'a Project) -> Self {
        Self { engine, project, needs: RefCell::default(), loads: RefCell::default() }
    }

    /// What each of `count` cards needs.
    pub(super) fn need(&self, gpu: &Gpu, count: u32, sharding: Sharding) -> Option<Need> {
        let key = (Kernels::of(gpu), count, sharding);
        if let Some((_, need)) = self.needs.borrow().iter().find(|(k, _)| *k == key) {
            return *need;
        }
        let project = on(self.project, gpu, count, sharding);
        let need = self.engine.memory(&project, Some(gpu)).ok().map(|m| Need::of(&m));
        self.needs.borrow_mut().push((key, need));
        need
    }

    /// The simplest sharding that fits, or the one that needs least.
    pub(super) fn share(&self, gpu: &Gpu, count: u32) -> Option<(Sharding, Need)> {
        if count <= 1 {
            return Some((Sharding::Ddp, self.need(gpu, 1, Sharding::Ddp)?));
        }
        let mut least: Option<(Sharding, Need)> = None;
        for sharding in SHARDINGS {
            let need = self.need(gpu, count, sharding)?;
            if need.fits(gpu.usable) {
                return Some((sharding, need));
            }
            if least.is_none_or(|(_, n)| need.card < n.card) {
                least = Some((sharding, need));
            }
        }
        least
    }

    /// Time of the run on `count` cards.
    pub(super) fn time(&self, gpu: &Gpu, count: u32, sharding: Sharding) -> Option<TimeEstimate> {
        self.workload(has_flash(gpu)).ok()?.on(gpu, count, sharding).ok()
    }

    /// What the project asks of a card with or without flash attention.
    pub(super) fn workload(&self, flash: bool) -> Result<Workload, CannotEstimate> {
        if let Some((_, load)) = self.loads.borrow().iter().find(|(f, _)| *f == flash) {
            return load.clone();
        }
        let load = self.engine.workload(self.project, flash);
        self.loads.borrow_mut().push((flash, load.clone()));
        load
    }
}

/// The project on other cards. No screen hangs on a rented or new card.
pub(super) fn on(project: &Project, gpu: &Gpu, count: u32, sharding: Sharding) -> Project {
    let mut other = project.clone();
    other.hardware.desktop &= other.hardware.gpu == gpu.id;
    if other.hardware.gpu != gpu.id {
        other.hardware.gpu = gpu.id.to_string();
    }
    other.hardware.no_gpu = false;
    other.hardware.count = count;
    other.hardware.sharding = sharding;
    other
}

/// The project on its own card with "automatic" sharding settled, and what it needs there.
pub(super) fn settle(
    engine: &dyn Engine,
    project: &Project,
    gpu: &Gpu,
) -> Result<(Project, MemoryEstimate), CannotEstimate> {
    let count = project.hardware.count.max(1);
    if count == 1 || project.hardware.sharding != Sharding::Auto {
        let memory = engine.memory(project, Some(gpu))?;
        return Ok((project.clone(), memory));
    }
    let mut least: Option<(Project, MemoryEstimate)> = None;
    for sharding in SHARDINGS {
        let mut settled = project.clone();
        settled.hardware.sharding = sharding;
        let memory = engine.memory(&settled, Some(gpu))?;
        if Need::of(&memory).fits(gpu.usable) {
            return Ok((settled, memory));
        }
        if least.as_ref().is_none_or(|(_, m)| memory.card < m.card) {
            least = Some((settled, memory));
        }
    }
    least.ok_or(CannotEstimate::TooLarge)
}
