//! What of the trained model decides which changes there are.

use super::smaller;
use crate::catalog::{Architecture, Catalog, Domain, Model};
use crate::estimate::is_language;
use crate::project::{Framework, Method, Project};

/// Families of which torchtune has a recipe that updates on one card (its README, "Models").
const TORCHTUNE: [&str; 6] = ["llama-2", "llama-3", "qwen2.5", "qwen3-", "mistral-7b", "phi-3"];

/// What of the trained model decides which knobs there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    pub(super) domain: Domain,
    /// A diffusion transformer, whose trainers can keep blocks in main memory.
    pub(super) swaps_blocks: bool,
    /// What waits in main memory is left to an engine that works in 16 bit whatever the precision.
    pub(super) half_engine: bool,
    /// A model that torchtune has a recipe for.
    pub(super) tunes: bool,
    /// Side of the pictures that it was made for; 0 where that is not known.
    pub(super) made_for: u64,
    /// Its weights are published in 4 bit.
    pub(super) in_four_bit: bool,
}

impl Subject {
    pub(super) fn of(project: &Project, catalog: &Catalog) -> Self {
        let model = catalog.model(&project.model);
        let unnamed = if project.network.is_some() { Domain::Small } else { Domain::Language };
        let swaps_blocks =
            matches!(model.map(|m| &m.architecture), Some(Architecture::Diffusion(d)) if !d.denoiser.contains("UNet"));
        Self {
            domain: model.map_or(unnamed, |m| m.domain),
            swaps_blocks,
            in_four_bit: model.is_some_and(Model::is_in_four_bit),
            half_engine: project.framework.takes_deepspeed() && is_language(project, catalog),
            tunes: model.is_some_and(|m| TORCHTUNE.iter().any(|family| m.id.starts_with(family))),
            made_for: smaller::made_for(model),
        }
    }

    /// Whether bitsandbytes refuses it: weights that are published in 4 bit are not put into its own 4 bit again. Unsloth has
    /// copies of its own.
    pub(super) fn refuses(&self, project: &Project) -> bool {
        self.in_four_bit && project.method == Method::QLora && project.framework != Framework::Unsloth
    }
}
