//! Ready files for the project on screen, for the libraries that people train with.

mod deepspeed;
mod launch;
mod pictures;
mod yaml;

use crate::catalog::{Catalog, Domain, Model};
use crate::project::{BaseFormat, Framework, Method, Optimizer, Precision, Project, Sharding};

/// A file, or a line to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Name of the file; `run.sh` for what is run in a shell.
    pub file: &'static str,
    /// What stands in it.
    pub text: String,
}

/// What a recipe is written for: the project with its model.
pub(super) struct Job<'a> {
    pub(super) project: &'a Project,
    pub(super) model: &'a Model,
}

impl Job<'_> {
    /// The repository that the weights come from, or the model's name where it has none.
    pub(super) fn repository(&self) -> &str {
        if self.model.repo.is_empty() { self.model.name } else { self.model.repo }
    }

    pub(super) fn cards(&self) -> u32 {
        self.project.hardware.count.max(1)
    }

    pub(super) fn adapts(&self) -> bool {
        self.project.method.is_adapter()
    }

    /// Whether the base is held in 4 bit.
    pub(super) fn four_bit(&self) -> bool {
        self.project.method == Method::QLora
            || matches!(self.project.base, BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int4)
    }

    /// `ZeRO` stage, where DeepSpeed divides.
    pub(super) fn stage(&self) -> Option<u32> {
        match self.project.hardware.sharding {
            _ if self.cards() <= 1 && self.project.hardware.sharding != Sharding::Zero3Offload => None,
            Sharding::Zero1 => Some(1),
            Sharding::Zero2 => Some(2),
            Sharding::Auto | Sharding::Zero3 | Sharding::Zero3Offload => Some(3),
            _ => None,
        }
    }

    /// Whether PyTorch's FSDP divides.
    pub(super) fn fsdp(&self) -> bool {
        self.cards() > 1
            && matches!(
                self.project.hardware.sharding,
                Sharding::Fsdp | Sharding::Fsdp2 | Sharding::FsdpGrad | Sharding::FsdpHybrid
            )
    }

    pub(super) fn precision(&self) -> &'static str {
        match self.project.precision {
            Precision::Fp32 => "no",
            Precision::AmpFp16 => "fp16",
            Precision::AmpBf16 | Precision::PureBf16 | Precision::MasterBf16 => "bf16",
        }
    }

    /// The name that the Hugging Face Trainer has for the optimizer (`OptimizerNames` of transformers).
    pub(super) fn optimizer(&self) -> &'static str {
        match self.project.optimizer {
            // transformers has no name for Muon.
            Optimizer::AdamW | Optimizer::Muon => "adamw_torch_fused",
            Optimizer::AdamW8bit => "adamw_bnb_8bit",
            Optimizer::PagedAdamW8bit => "paged_adamw_8bit",
            Optimizer::PagedAdamW => "paged_adamw_32bit",
            Optimizer::Adafactor => "adafactor",
            Optimizer::Sgd | Optimizer::SgdMomentum => "sgd",
            Optimizer::Lion => "lion_32bit",
            Optimizer::Galore => "galore_adamw",
        }
    }

    pub(super) fn recomputes(&self) -> bool {
        self.project.checkpointing.recomputes()
    }
}

/// The files for a project, the launch line first; none where the model is not known.
pub fn recipes(project: &Project, catalog: &Catalog) -> Vec<Recipe> {
    let Some(model) = catalog.model(&project.model) else { return Vec::new() };
    let job = Job { project, model };
    let mut found = Vec::new();
    match (model.domain, project.framework) {
        (_, Framework::Ultralytics) => found.push(pictures::ultralytics(&job)),
        (Domain::Diffusion, Framework::Kohya) => found.push(pictures::kohya(&job)),
        (Domain::Diffusion, _) => found.push(pictures::diffusers(&job)),
        (_, Framework::LlamaFactory) => found.extend([launch::llama_factory(&job), yaml::llama_factory(&job)]),
        (_, Framework::Axolotl) => found.extend([launch::axolotl(&job), yaml::axolotl(&job)]),
        (_, Framework::Unsloth) => found.push(launch::unsloth(&job)),
        (Domain::Language | Domain::VisionLanguage, _) => {
            found.extend([launch::torchrun(&job), launch::trainer(&job)]);
        }
        (Domain::Vision, _) => return found,
        _ => found.push(launch::torchrun(&job)),
    }
    if job.stage().is_some() {
        found.push(deepspeed::config(&job));
    }
    if job.fsdp() {
        found.push(yaml::accelerate_fsdp(&job));
    }
    found
}

/// Writes lines.
#[derive(Default)]
pub(super) struct Lines(String);

impl Lines {
    /// `key: value`.
    pub(super) fn pair(&mut self, key: &str, value: impl std::fmt::Display) -> &mut Self {
        self.line(format!("{key}: {value}"))
    }

    pub(super) fn line(&mut self, line: impl AsRef<str>) -> &mut Self {
        self.0.push_str(line.as_ref());
        self.0.push('\n');
        self
    }

    pub(super) fn file(&mut self, file: &'static str) -> Recipe {
        Recipe { file, text: std::mem::take(&mut self.0) }
    }
}
