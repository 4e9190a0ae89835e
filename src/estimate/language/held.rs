//! What PyTorch's caching allocator holds.

use super::{DEEPEST, Plan, as_written, check, memory, program};
use crate::catalog::{Gpu, LanguageModel};
use crate::estimate::tower::Beside;
use crate::estimate::{CannotEstimate, MemoryEstimate};
use crate::network::Program;
use crate::project::Project;
use crate::step::{self, Shards};
use crate::units::Bytes;

/// Reserved memory (`torch.cuda.max_memory_reserved`) by simulating the caching allocator tensor by tensor: a thousand
/// times slower than [`memory`], for one project on screen or one case scored.
pub fn reserved_for(
    project: &Project,
    model: &LanguageModel,
    beside: Beside,
    gpu: Option<&Gpu>,
) -> Result<Bytes, CannotEstimate> {
    let quick = memory(project, model, beside, gpu)?;
    let model = &as_written(project, model);
    let plan = Plan::alone(project, model, gpu);
    let program = program(model, &plan.config, beside);
    if too_deep(&program) {
        return Ok(quick.reserved);
    }
    // On a full card what is only cached goes back before anything fails.
    let room = gpu.map_or(Bytes(u64::MAX), |g| g.usable - outside(&quick));
    if plan.config.shards != Shards::default() {
        let cached = step::divided_step(&program, &plan.config);
        return Ok((quick.allocated + cached).min(room).max(quick.allocated));
    }
    let held = step::first_steps(&program, &plan.config);
    Ok((quick.allocated + (held.reserved - held.allocated)).min(room).max(quick.reserved))
}

/// Steps that are simulated where lengths vary, the longest last.
const VARIED_STEPS: usize = 12;

/// Share that the caching allocator cannot do without beside what is in use, on a card just large enough: by the simulated
/// allocator, on one card. Where `varied`, batches are as long as their longest sample, a twelfth of the project's length
/// to all of it. `None` where nothing is simulated.
pub fn wasted(project: &Project, model: &LanguageModel, gpu: Option<&Gpu>, varied: bool) -> Option<f64> {
    check(project, model).ok()?;
    let model = &as_written(project, model);
    let of = |sequence: u64| {
        let there = Project { sequence: sequence.max(1), ..project.clone() };
        let plan = Plan::alone(&there, model, gpu);
        (program(model, &plan.config, Beside::default()), plan.config)
    };
    let (program, config) = of(project.sequence);
    if too_deep(&program) || config.shards != Shards::default() {
        return None;
    }
    let held = if varied {
        let twelfths: Vec<_> = (1..=12).rev().map(|k| of(project.sequence * k / 12)).collect();
        // Some order, the same each time; the longest comes last.
        let mut dice = 1_u64;
        let mut order: Vec<usize> = (0..VARIED_STEPS)
            .map(|_| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (dice >> 33) as usize % twelfths.len()
            })
            .collect();
        order.push(0);
        step::least_among(&twelfths, &order)?
    } else {
        step::least(&program, &config)
    };
    Some(held.reserved.0 as f64 / held.allocated.0.max(1) as f64 - 1.0)
}

/// What is on the card beside what the allocator holds.
fn outside(memory: &MemoryEstimate) -> Bytes {
    memory.card - memory.reserved
}

fn too_deep(program: &Program) -> bool {
    program.groups.iter().map(|g| g.repeat).sum::<u64>() > DEEPEST
}
