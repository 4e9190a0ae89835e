//! Commands for pictures: diffusers' scripts, kohya's, Ultralytics.

use super::{Job, Lines, Recipe};
use crate::project::Optimizer;

struct Command(Vec<String>);

impl Command {
    fn option(&mut self, key: &str, value: impl std::fmt::Display) -> &mut Self {
        self.0.push(format!("--{key}={value}"));
        self
    }

    fn flag(&mut self, key: &str, on: bool) -> &mut Self {
        if on {
            self.0.push(format!("--{key}"));
        }
        self
    }

    fn recipe(&self) -> Recipe {
        let mut out = Lines::default();
        out.line(self.0.join(" \\\n    "));
        out.file("run.sh")
    }
}

fn launch(job: &Job<'_>, script: &str) -> Command {
    let several = if job.cards() > 1 { " --multi_gpu" } else { "" };
    let processes = job.cards();
    Command(vec![format!(
        "accelerate launch{several} --num_processes={processes} --mixed_precision={} {script}",
        job.precision()
    )])
}

fn eight_bit(job: &Job<'_>) -> bool {
    matches!(job.project.optimizer, Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit)
}

/// The script of diffusers' `examples` for the model's family.
fn script(id: &str, adapts: bool) -> &'static str {
    match (id, adapts) {
        (id, true) if id.contains("flux") => "train_dreambooth_lora_flux.py",
        (id, false) if id.contains("flux") => "train_dreambooth_flux.py",
        (id, true) if id.starts_with("sd3") || id.contains("stable-diffusion-3") => "train_dreambooth_lora_sd3.py",
        (id, false) if id.starts_with("sd3") || id.contains("stable-diffusion-3") => "train_dreambooth_sd3.py",
        (id, true) if id.contains("sdxl") => "train_text_to_image_lora_sdxl.py",
        (id, false) if id.contains("sdxl") => "train_text_to_image_sdxl.py",
        (_, true) => "train_text_to_image_lora.py",
        (_, false) => "train_text_to_image.py",
    }
}

pub(super) fn diffusers(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let mut command = launch(job, script(job.model.id, job.adapts()));
    command
        .option("pretrained_model_name_or_path", job.repository())
        .option("output_dir", "out")
        .option("resolution", p.image_side)
        .option("train_batch_size", p.micro_batch)
        .option("gradient_accumulation_steps", p.accumulation)
        .flag("gradient_checkpointing", job.recomputes())
        .flag("use_8bit_adam", eight_bit(job));
    if job.adapts() {
        command.option("rank", p.lora.rank);
    }
    command.recipe()
}

pub(super) fn kohya(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let (family, adapter) = match job.model.id {
        id if id.contains("flux") => ("flux_", "networks.lora_flux"),
        id if id.contains("sd3") => ("sd3_", "networks.lora_sd3"),
        id if id.contains("sdxl") => ("sdxl_", "networks.lora"),
        _ => ("", "networks.lora"),
    };
    let script = match (job.adapts(), family) {
        (true, _) => format!("{family}train_network.py"),
        (false, "") => "fine_tune.py".to_owned(),
        (false, _) => format!("{family}train.py"),
    };
    let mut command = launch(job, &script);
    command
        .option("pretrained_model_name_or_path", job.repository())
        .option("train_data_dir", "images")
        .option("output_dir", "out")
        .option("resolution", format!("{0},{0}", p.image_side))
        .option("train_batch_size", p.micro_batch)
        .option("gradient_accumulation_steps", p.accumulation)
        .option("mixed_precision", job.precision())
        .option(
            "optimizer_type",
            match p.optimizer {
                Optimizer::AdamW8bit => "AdamW8bit",
                Optimizer::PagedAdamW8bit => "PagedAdamW8bit",
                Optimizer::Adafactor => "Adafactor",
                Optimizer::Lion => "Lion",
                _ => "AdamW",
            },
        )
        .flag("gradient_checkpointing", job.recomputes())
        .flag("cache_latents", p.cached_latents)
        .flag("sdpa", true);
    if job.adapts() {
        command.option("network_module", adapter).option("network_dim", p.lora.rank);
    }
    if p.block_swap > 0.0 && family == "flux_" {
        // FLUX has 57 blocks, of which sd-scripts swaps 35 at the most.
        command.option("blocks_to_swap", (p.block_swap * 57.0).round().min(35.0));
    }
    command.recipe()
}

/// `yolo` of Ultralytics (docs.ultralytics.com, "Train").
pub(super) fn ultralytics(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let devices = (0..job.cards().min(64)).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
    let task = match job.model.id {
        id if id.ends_with("-seg") => "segment",
        id if id.ends_with("-pose") => "pose",
        id if id.ends_with("-cls") => "classify",
        _ => "detect",
    };
    // Its batch is that of all cards together.
    let batch = p.micro_batch.saturating_mul(u64::from(job.cards()));
    Lines::default()
        .line(format!(
            "yolo {task} train model={}.pt data=data.yaml imgsz={} batch={batch} epochs={} amp={} device={devices}",
            job.model.id,
            p.image_side,
            p.epochs.ceil(),
            if job.precision() == "no" { "False" } else { "True" },
        ))
        .file("run.sh")
}
