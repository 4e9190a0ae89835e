//! The same adapters without kernels for few bits, for a card that has none of them.

use super::engine::{Engine, Memo, Need, settle};
use super::fixes::Bench;
use super::knobs::apply;
use super::warnings::bar;
use super::{FitPlan, FixKind, QualityRisk};
use crate::catalog::{Catalog, Gpu};
use crate::project::Project;

/// What makes a training with a 4- or 8-bit base run on a card without its kernels: the base in 16 bit, and whatever else
/// that then takes; `None` where nothing does.
pub(super) fn in_16_bit(engine: &dyn Engine, project: &Project, gpu: &Gpu, catalog: &Catalog) -> Option<FitPlan> {
    let mut plain = project.clone();
    apply(FixKind::Lora, &mut plain, gpu);
    if bar(&plain, gpu).is_some() {
        return None;
    }
    let (settled, memory) = settle(engine, &plain, gpu).ok()?;
    if Need::of(&memory).fits(gpu.usable) {
        return Some(FitPlan {
            fixes: vec![FixKind::Lora],
            project: plain,
            card: memory.card,
            spare: gpu.usable - memory.card,
            slower: None,
            risk: QualityRisk::None,
        });
    }
    let mut plan = Bench::new(&Memo::new(engine, &settled), gpu, &settled, catalog).make_it_fit(&settled)?;
    plan.fixes.insert(0, FixKind::Lora);
    Some(FitPlan { slower: None, ..plan })
}
