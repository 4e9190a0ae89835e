//! Ready files for the project on screen, for the libraries that people train with.

mod deepspeed;
mod launch;
mod megatron;
mod pictures;
mod script;
mod targets;
mod yaml;

use crate::catalog::{Catalog, Domain, LanguageKind, Model};
use crate::project::{
    BaseFormat, Checkpointing, Framework, LoraTargets, Method, Objective, Offload, Optimizer, Precision, Project,
    Sharding,
};
use crate::units::Bytes;

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
    /// What its card can use, where one is chosen.
    pub(super) usable: Option<Bytes>,
}

/// Makers' repositories of bare language models whose chat models have another name, and what is added to it.
const CHATS: [(&str, &str); 4] = [
    ("Qwen/Qwen2.5-", "-Instruct"),
    ("meta-llama/Meta-Llama-3-", "-Instruct"),
    ("meta-llama/Llama-3.", "-Instruct"),
    ("google/gemma-2-", "-it"),
];

impl Job<'_> {
    /// The repository that the weights come from, or the model's name where it has none.
    pub(super) fn repository(&self) -> &str {
        if self.model.repo.is_empty() { self.model.name } else { self.model.repo }
    }

    /// The repository of the model that has learned to chat, of the same size: where data is written as a chat, a bare
    /// model would have to learn from it what the marks between the turns mean.
    pub(super) fn chat_repository(&self) -> String {
        let bare = self.repository();
        let added = CHATS.iter().find(|(begins, end)| bare.starts_with(begins) && !bare.ends_with(end));
        match added.filter(|_| self.project.method != Method::Scratch) {
            Some((_, end)) => format!("{bare}{end}"),
            None => bare.to_owned(),
        }
    }

    /// What the model is: it decides which class loads it.
    pub(super) fn kind(&self) -> LanguageKind {
        self.model.language().map_or(LanguageKind::Decoder, |l| l.kind)
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
        match (self.project.hardware.sharding, self.project.offload) {
            // Its disk is for stage 3 alone.
            (_, Offload::Nvme) => Some(3),
            (sharding, away) if self.cards() <= 1 && sharding != Sharding::Zero3Offload => match away {
                Offload::None => None,
                Offload::Optimizer => Some(2),
                _ => Some(3),
            },
            (Sharding::Zero1, _) => Some(1),
            (Sharding::Zero2, _) => Some(2),
            (Sharding::Auto | Sharding::Zero3 | Sharding::Zero3Offload, _) => Some(3),
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

    /// Machines, and cards in each.
    pub(super) fn machines(&self) -> (u32, u32) {
        let (cards, each) = (self.cards(), self.project.hardware.per_machine().min(self.cards()));
        (cards.div_ceil(each), each)
    }

    /// The format of weights that are not trained in fp32.
    pub(super) fn half(&self) -> &'static str {
        if self.precision() == "fp16" { "float16" } else { "bfloat16" }
    }

    /// The format in which the weights are loaded. Full training under autocast keeps them in fp32, which is what the
    /// figures are for.
    pub(super) fn weights(&self) -> &'static str {
        match self.project.precision {
            Precision::Fp32 => "float32",
            Precision::AmpBf16 | Precision::AmpFp16 if !self.adapts() => "float32",
            _ => self.half(),
        }
    }

    /// A rate to start from: the examples of PEFT and LLaMA-Factory take 1e-4 to 2e-4 for adapters and 1e-5 for all
    /// weights; GPT-3 took 0.6e-4 to 6e-4 from scratch.
    pub(super) fn learning_rate(&self) -> &'static str {
        match self.project.method {
            Method::Lora | Method::QLora => "2e-4",
            Method::Scratch => "3e-4",
            Method::Full | Method::Freeze | Method::Head => "1e-5",
        }
    }

    /// A rate to start from for pictures: the examples of diffusers and sd-scripts take 1e-4 for adapters and 1e-5 for
    /// all weights.
    pub(super) fn rate(&self) -> &'static str {
        if self.adapts() { "1e-4" } else { "1e-5" }
    }

    /// The same for YAML, whose older readers take `2e-4` for a word.
    pub(super) fn decimal_rate(&self) -> &'static str {
        match self.learning_rate() {
            "2e-4" => "0.0002",
            "3e-4" => "0.0003",
            _ => "0.00001",
        }
    }

    /// LoRA's scale, the same in every file: twice the rank, as LLaMA-Factory has it where nothing is said.
    pub(super) fn alpha(&self) -> u64 {
        self.project.lora.rank.saturating_mul(2)
    }

    pub(super) fn recomputes(&self) -> bool {
        self.project.checkpointing.recomputes()
    }
}

/// The files for a project, the launch line first; none where the model is not known.
pub fn recipes(project: &Project, catalog: &Catalog) -> Vec<Recipe> {
    let Some(model) = catalog.model(&project.model) else { return Vec::new() };
    let job = Job { project, model, usable: catalog.gpu(&project.hardware.gpu).map(|gpu| gpu.usable) };
    let mut found = Vec::new();
    let head = project.lora.targets == LoraTargets::AllLinearAndHead && model.domain == Domain::Language;
    if job.adapts() && head && !targets::names_head(&job) {
        return found;
    }
    // Keeping the results of attention alone is Megatron's; moving what is kept to main memory, Axolotl's and Unsloth's.
    let has_checkpointing = match project.checkpointing {
        Checkpointing::Off | Checkpointing::PerBlock => true,
        Checkpointing::Selective => project.framework == Framework::Megatron,
        Checkpointing::Offloaded => matches!(project.framework, Framework::Axolotl | Framework::Unsloth),
        Checkpointing::Pairs => false,
    };
    if !has_checkpointing {
        return found;
    }
    // bitsandbytes refuses weights that are in 4 bit already; Unsloth has copies of its own.
    if model.is_in_four_bit() && job.four_bit() && project.framework != Framework::Unsloth {
        return found;
    }
    // Their trainers for rewards want a reward, which no file of ours can know.
    if project.objective == Objective::Sampled {
        return found;
    }
    match (model.domain, project.framework) {
        (Domain::Vision, Framework::Ultralytics) => return pictures::ultralytics(&job).into_iter().collect(),
        (Domain::Diffusion, Framework::Kohya) => return pictures::kohya(&job).into_iter().collect(),
        (Domain::Diffusion, _) => return pictures::diffusers(&job).into_iter().collect(),
        (Domain::Language, Framework::Megatron) => return megatron::pretrain(&job).into_iter().collect(),
        (Domain::Language | Domain::VisionLanguage, Framework::LlamaFactory) => {
            found.extend([launch::llama_factory(&job), yaml::llama_factory(&job)]);
            if job.fsdp() {
                // Its Trainer is started by accelerate then.
                found.remove(0);
                found.insert(0, launch::with_accelerate(&job, "$(which llamafactory-cli) train train.yaml"));
            }
        }
        (Domain::Language, Framework::Axolotl) => found.extend([launch::axolotl(&job), yaml::axolotl(&job)]),
        (Domain::Language, Framework::Unsloth) => return script::unsloth(&job).into_iter().collect(),
        // The plain Trainer knows no preferences.
        (Domain::Language, _) if project.objective != Objective::Likelihood => return found,
        (Domain::Language, _) => found.extend([launch::torchrun(&job), script::trainer(&job)]),
        _ => return found,
    }
    if job.stage().is_some() {
        found.push(deepspeed::config(&job));
    }
    if job.fsdp() && project.framework != Framework::Axolotl {
        found.push(yaml::accelerate_fsdp(&job));
    }
    found
}

/// The libraries that there are files for, the usual ones first.
pub fn libraries(project: &Project, catalog: &Catalog) -> Vec<Framework> {
    let Some(model) = catalog.model(&project.model) else { return Vec::new() };
    let decoder = model.language().is_some_and(|l| l.kind == LanguageKind::Decoder);
    let all: &[Framework] = match model.domain {
        Domain::Language if decoder => &[
            Framework::Transformers,
            Framework::LlamaFactory,
            Framework::Axolotl,
            Framework::Unsloth,
            Framework::Megatron,
        ],
        Domain::Language => &[Framework::Transformers],
        Domain::VisionLanguage => &[Framework::LlamaFactory],
        Domain::Diffusion => &[Framework::Diffusers, Framework::Kohya],
        Domain::Vision => &[Framework::Ultralytics],
        Domain::Audio | Domain::Small => &[],
    };
    let has_files = |framework: &Framework| {
        let there = Project { framework: *framework, ..project.clone() };
        !recipes(&there, catalog).is_empty()
    };
    all.iter().copied().filter(has_files).collect()
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
