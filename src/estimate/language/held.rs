//! What PyTorch's caching allocator holds.

use super::{DEEPEST, Plan, as_written, memory};
use crate::catalog::{Gpu, LanguageModel};
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
    beside: u64,
    gpu: Option<&Gpu>,
) -> Result<Bytes, CannotEstimate> {
    let quick = memory(project, model, beside, gpu)?;
    let model = &as_written(project, model);
    let plan = Plan::of(project, model, gpu);
    let program = plan.program(model, beside);
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

/// What is on the card beside what the allocator holds.
fn outside(memory: &MemoryEstimate) -> Bytes {
    memory.card - memory.reserved
}

fn too_deep(program: &Program) -> bool {
    program.groups.iter().map(|g| g.repeat).sum::<u64>() > DEEPEST
}
