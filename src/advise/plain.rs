//! The same training without kernels for few bits, for a card that has none of them.

use super::engine::{Engine, Memo, settle};
use super::fixes::Bench;
use super::knobs::apply;
use super::{FitPlan, FixKind};
use crate::catalog::{Catalog, Gpu};
use crate::project::Project;

/// What it takes to train in 16 bit on a card without kernels for fewer.
pub(super) fn unquantized(engine: &dyn Engine, project: &Project, gpu: &Gpu, catalog: &Catalog) -> Option<FitPlan> {
    let mut plain = project.clone();
    apply(FixKind::Unquantized, &mut plain, gpu);
    let (settled, _) = settle(engine, &plain, gpu).ok()?;
    let plan = Bench::new(&Memo::new(engine, &plain), gpu, &plain, catalog).make_it_fit(&settled)?;
    // How long it would take as it is nobody can say: it does not run.
    Some(FitPlan { fixes: std::iter::once(FixKind::Unquantized).chain(plan.fixes).collect(), slower: None, ..plan })
}
