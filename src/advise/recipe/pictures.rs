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
    let (processes, (machines, _)) = (job.cards(), job.machines());
    let mut several = String::new();
    if processes > 1 {
        several += " --multi_gpu";
    }
    if machines > 1 {
        several += &format!(
            " --num_machines={machines} --machine_rank=$RANK --main_process_ip=$HEAD --main_process_port=29500"
        );
    }
    Command(vec![format!(
        "accelerate launch{several} --num_processes={processes} --mixed_precision={} {script}",
        job.precision()
    )])
}

fn eight_bit(job: &Job<'_>) -> bool {
    matches!(job.project.optimizer, Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit)
}

/// The script of diffusers' `examples` for a model: whose it is, whether it trains adapters, its name, and whether it
/// takes a folder of pictures with one prompt (`DreamBooth`) instead of captions.
const SCRIPTS: [(&str, bool, &str, bool); 17] = [
    ("sd1.5", true, "train_text_to_image_lora.py", false),
    ("sd1.5", false, "train_text_to_image.py", false),
    ("sd2.1", true, "train_text_to_image_lora.py", false),
    ("sd2.1", false, "train_text_to_image.py", false),
    ("sdxl", true, "train_text_to_image_lora_sdxl.py", false),
    ("sdxl", false, "train_text_to_image_sdxl.py", false),
    ("sd3", true, "train_dreambooth_lora_sd3.py", true),
    ("sd3", false, "train_dreambooth_sd3.py", true),
    ("flux.1", true, "train_dreambooth_lora_flux.py", true),
    ("flux.1", false, "train_dreambooth_flux.py", true),
    ("flux.2-dev", true, "train_dreambooth_lora_flux2.py", true),
    ("flux.2-klein", true, "train_dreambooth_lora_flux2_klein.py", true),
    ("qwen-image", true, "train_dreambooth_lora_qwen_image.py", true),
    ("z-image", true, "train_dreambooth_lora_z_image.py", true),
    ("sana-1.6b", true, "train_dreambooth_lora_sana.py", true),
    ("lumina-image-2", true, "train_dreambooth_lora_lumina2.py", true),
    ("hidream", true, "train_dreambooth_lora_hidream.py", true),
];

pub(super) fn diffusers(job: &Job<'_>) -> Option<Recipe> {
    let p = job.project;
    let fits = |s: &&(&str, bool, &str, bool)| job.model.id.starts_with(s.0) && s.1 == job.adapts();
    let (.., script, dreambooth) = SCRIPTS.iter().find(fits)?;
    let mut command = launch(job, script);
    command.option("pretrained_model_name_or_path", job.repository());
    if *dreambooth {
        command.option("instance_data_dir", "my_data").option("instance_prompt", "\"my style\"");
    } else {
        command.option("train_data_dir", "my_data");
    }
    command
        .option("output_dir", "out")
        .option("resolution", p.image_side)
        .option("train_batch_size", p.micro_batch)
        .option("gradient_accumulation_steps", p.accumulation)
        .option("num_train_epochs", p.epochs.ceil())
        .option("learning_rate", job.rate())
        .option("mixed_precision", job.precision())
        .flag("gradient_checkpointing", job.recomputes())
        .flag("use_8bit_adam", eight_bit(job));
    if job.adapts() {
        command.option("rank", p.lora.rank);
    }
    Some(command.recipe())
}

pub(super) fn kohya(job: &Job<'_>) -> Option<Recipe> {
    let p = job.project;
    let (family, adapter) = match job.model.id {
        id if id.starts_with("flux.1") => ("flux_", "networks.lora_flux"),
        id if id.starts_with("sd3") => ("sd3_", "networks.lora_sd3"),
        "sdxl" => ("sdxl_", "networks.lora"),
        "sd1.5" | "sd2.1" => ("", "networks.lora"),
        _ => return None,
    };
    let script = match (job.adapts(), family) {
        (true, _) => format!("{family}train_network.py"),
        (false, "") => "fine_tune.py".to_owned(),
        (false, _) => format!("{family}train.py"),
    };
    let mut command = launch(job, &script);
    command
        .option("pretrained_model_name_or_path", job.repository())
        .option("train_data_dir", "my_data")
        .option("output_dir", "out")
        .option("resolution", format!("{0},{0}", p.image_side))
        .option("train_batch_size", p.micro_batch)
        .option("gradient_accumulation_steps", p.accumulation)
        .option("max_train_epochs", p.epochs.ceil())
        .option("learning_rate", job.rate())
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
    Some(command.recipe())
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
