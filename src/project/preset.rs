//! Turns a preset of the catalog, whose settings are words (`QLoRA rank 8`, `1,500 to 3,000 steps`), into a project.

mod words;

use self::words::Quantity;
use super::usual::LARGE_DENOISER;
use super::{
    BaseFormat, Checkpointing, Framework, Hardware, Lora, LoraTargets, Method, Objective, Optimizer, Precision,
    Project, Sharding,
};
use crate::catalog::{Architecture, Catalog, Domain, LanguageKind, Model, Preset};

/// Training code named in a preset's source, and the library whose defaults it follows. The first match counts.
const STACKS: &[(&str, Framework)] = &[
    ("LLaMA-Factory", Framework::LlamaFactory),
    ("unslothai", Framework::Unsloth),
    ("huggingface/trl", Framework::Transformers),
    ("kohya-ss", Framework::Kohya),
    ("huggingface/diffusers", Framework::Diffusers),
    ("HunyuanDiT", Framework::Diffusers),
    ("THUDM/CogVideo", Framework::Diffusers),
    ("ultralytics", Framework::Ultralytics),
    ("nanoGPT", Framework::Pytorch),
    ("llama2.c", Framework::Pytorch),
    ("minimind", Framework::Pytorch),
    ("google-research/bert", Framework::Transformers),
    ("fine-tune-whisper", Framework::Transformers),
];

/// Above this size a model trained from scratch or with `ZeRO` is run by a stack that keeps 16-bit weights with fp32
/// masters (`DeepSpeed`, Megatron) rather than fp32 weights under autocast.
const MASTER_WEIGHTS_FROM: u64 = 3_000_000_000;

/// Bytes of UTF-8 text for one token: English about 4, Chinese about 3 bytes a character at 1.5 characters a token.
const TEXT_BYTES_PER_TOKEN: f64 = 4.0;

/// Seconds of a spoken clip where a preset gives hours of sound but no clip length.
const CLIP_SECONDS: f64 = 5.0;

/// Mel frames per second of F5-TTS: 24 kHz, hop 256 (`F5TTS_v1_Base.yaml`).
const MEL_FRAMES_PER_SECOND: f64 = 24_000.0 / 256.0;

/// Passes of PPO over each batch of experience (Stable-Baselines3 default).
const PPO_PASSES: f64 = 10.0;

/// Side of a 480p frame as a square of the same area (832 x 480).
const SIDE_480P: u64 = 632;

impl Project {
    /// The project that a preset stands for, with every setting a person would otherwise have to know.
    ///
    /// Ranges in the preset (`500 to 2,000 dialogues`) become their geometric middle. A length given in steps becomes
    /// passes over the data, so that `samples * epochs / (micro_batch * accumulation)` gives the steps back.
    pub fn from_preset(preset: &Preset, catalog: &Catalog) -> Self {
        let model = catalog.model(preset.model);
        let domain = model.map_or(Domain::Vision, |m| m.domain);
        let method = method(preset.method);
        let framework = framework(preset, model, domain, method);
        let mut project = Self {
            preset: preset.id.to_string(),
            model: preset.model.to_string(),
            method,
            lora: lora(preset.method, framework),
            precision: precision(preset, model, domain, method),
            base: base(preset, method),
            optimizer: optimizer(preset, model, framework, method),
            checkpointing: checkpointing(preset, model, domain, method),
            cached_latents: cached_latents(model, framework),
            block_swap: if preset.method.contains("block swap") { 0.5 } else { 0.0 },
            ema: preset.method.contains("EMA"),
            framework,
            objective: if preset.method.contains("GRPO") { Objective::Sampled } else { Objective::Likelihood },
            hardware: Hardware { sharding: sharding(preset.method), ..Hardware::default() },
            ..Self::default()
        };
        project.micro_batch = batch(preset, &mut project.audio_seconds);
        project.accumulation = words::first(preset.accumulation).map_or(1, |n| n as u64).max(1);
        read_size(&mut project, preset.size, model, domain);
        read_length(&mut project, preset, model, domain);
        project
    }
}

fn method(words: &str) -> Method {
    if words.starts_with("QLoRA") {
        Method::QLora
    } else if words.starts_with("LoRA") {
        Method::Lora
    } else if words.starts_with("from scratch") {
        Method::Scratch
    } else if words.starts_with("decoder only") {
        Method::Head
    } else {
        Method::Full
    }
}

fn framework(preset: &Preset, model: Option<&Model>, domain: Domain, method: Method) -> Framework {
    if domain == Domain::Language && method == Method::Scratch && is_large(model) {
        return Framework::Megatron;
    }
    if let Some((_, stack)) = STACKS.iter().find(|(name, _)| preset.source.contains(name)) {
        return *stack;
    }
    let encoder = model.and_then(Model::language).is_some_and(|l| l.kind != LanguageKind::Decoder);
    match domain {
        Domain::Language if encoder => Framework::Transformers,
        Domain::Language | Domain::VisionLanguage => Framework::LlamaFactory,
        Domain::Diffusion if method.is_adapter() => Framework::Kohya,
        Domain::Diffusion => Framework::Diffusers,
        Domain::Vision | Domain::Audio | Domain::Small => Framework::Pytorch,
    }
}

fn lora(words: &str, framework: Framework) -> Lora {
    let default = Lora::default();
    let rank = words.split_once("rank ").and_then(|(_, after)| words::first(after));
    // diffusers' training scripts adapt the four attention projections; the others every linear layer. None of the
    // libraries below drops out by default.
    let targets = if framework == Framework::Diffusers { LoraTargets::Attention } else { LoraTargets::AllLinear };
    let dropout = match framework {
        Framework::Diffusers | Framework::Kohya | Framework::LlamaFactory | Framework::Unsloth => 0.0,
        _ => default.dropout,
    };
    Lora { rank: rank.map_or(default.rank, |r| r as u64), targets, dropout, ..default }
}

fn precision(preset: &Preset, model: Option<&Model>, domain: Domain, method: Method) -> Precision {
    let half = if preset.precision.contains("bf16") || preset.precision.contains("4-bit") {
        Precision::AmpBf16
    } else {
        Precision::AmpFp16
    };
    if preset.precision == "fp32" {
        Precision::Fp32
    } else if matches!(domain, Domain::Language | Domain::VisionLanguage)
        && !method.is_adapter()
        && half == Precision::AmpBf16
        && is_large(model)
    {
        Precision::MasterBf16
    } else {
        half
    }
}

fn base(preset: &Preset, method: Method) -> BaseFormat {
    if method == Method::Lora && preset.precision.contains("fp8") { BaseFormat::Fp8 } else { BaseFormat::AsPrecision }
}

fn optimizer(preset: &Preset, model: Option<&Model>, framework: Framework, method: Method) -> Optimizer {
    let kind = match model.map(|m| &m.architecture) {
        Some(Architecture::Vision(v)) => Some(v),
        _ => None,
    };
    let convolutions = kind.is_some_and(|v| v.heads.is_empty());
    let classifier = kind.is_some_and(|v| v.kind.starts_with("classification"));
    let detector = kind.is_some_and(|v| v.kind.contains("detection") || v.kind.contains("instance"));
    if preset.method.contains("8-bit") || preset.precision.contains("8-bit") {
        Optimizer::AdamW8bit
    } else if framework == Framework::Ultralytics
        || (convolutions && (detector || (classifier && method == Method::Scratch)))
    {
        // ultralytics, detectron2, torchvision's reference recipes for convolutional nets.
        Optimizer::SgdMomentum
    } else {
        Optimizer::AdamW
    }
}

fn checkpointing(preset: &Preset, model: Option<&Model>, domain: Domain, method: Method) -> Checkpointing {
    let wanted = match (domain, model.map(|m| &m.architecture)) {
        // LLaMA-Factory, Unsloth and the pre-training stacks turn it on; small models are trained without.
        (Domain::Language, _) => model.is_some_and(|m| m.params > 1_000_000_000),
        (Domain::VisionLanguage, _) => true,
        (Domain::Diffusion, Some(Architecture::Diffusion(d))) => {
            !d.kind.contains("adapter") && (!method.is_adapter() || d.denoiser_params > LARGE_DENOISER)
        }
        _ => preset.method.contains("checkpointing"),
    };
    if wanted { Checkpointing::PerBlock } else { Checkpointing::Off }
}

/// diffusers' scripts for the small models keep VAE and text encoder on the card; its SDXL script and the other
/// libraries encode beforehand.
fn cached_latents(model: Option<&Model>, framework: Framework) -> bool {
    let large = match model.map(|m| &m.architecture) {
        Some(Architecture::Diffusion(d)) => d.denoiser_params > LARGE_DENOISER,
        _ => false,
    };
    framework != Framework::Diffusers || large
}

fn sharding(words: &str) -> Sharding {
    if words.contains("ZeRO-3") {
        Sharding::Zero3
    } else if words.contains("ZeRO-2") {
        Sharding::Zero2
    } else {
        Sharding::Auto
    }
}

fn is_large(model: Option<&Model>) -> bool {
    model.is_some_and(|m| m.params >= MASTER_WEIGHTS_FROM)
}

fn batch(preset: &Preset, audio_seconds: &mut f64) -> u64 {
    let per_sample = if preset.method.contains("DPO") { 2 } else { 1 };
    let count = if preset.size == "frames a GPU" {
        *audio_seconds = CLIP_SECONDS;
        words::first(preset.batch).map_or(1.0, |frames| (frames / (CLIP_SECONDS * MEL_FRAMES_PER_SECOND)).round())
    } else if preset.batch == "auto" {
        // stylegan2-ada `auto`: 4096 / side samples a card, at most 32.
        words::first(preset.size).map_or(1.0, |side| (4096.0 / side).clamp(1.0, 32.0))
    } else {
        words::first(preset.batch).unwrap_or(1.0)
    };
    (count as u64).max(1) * per_sample
}

fn read_size(project: &mut Project, size: &str, model: Option<&Model>, domain: Domain) {
    let numbers = words::numbers(size);
    let whole = |at: usize| numbers.get(at).map(|n| n.round() as u64);
    match domain {
        Domain::Language => project.sequence = whole(0).unwrap_or(project.sequence),
        Domain::VisionLanguage => {
            project.sequence = whole(0).unwrap_or(project.sequence);
            project.image_side = vision_language_side(model);
        }
        Domain::Audio => {
            if size.contains(" s") {
                project.audio_seconds = numbers.first().copied().unwrap_or(project.audio_seconds);
            }
        }
        Domain::Small => {
            if size.contains('x') {
                project.image_side = whole(0).unwrap_or(project.image_side);
            } else {
                project.sequence = whole(0).unwrap_or(1);
            }
        }
        Domain::Vision | Domain::Diffusion => {
            if let Some((_, video)) = size.split_once("480p x ") {
                project.image_side = SIDE_480P;
                project.frames = words::first(video).map_or(1, |n| n as u64);
                return;
            }
            let square = |h: f64, w: f64| (h * w).sqrt().round() as u64;
            match numbers.as_slice() {
                [side] => project.image_side = *side as u64,
                [height, width] => project.image_side = square(*height, *width),
                [frames, height, width] => {
                    project.frames = *frames as u64;
                    project.image_side = square(*height, *width);
                }
                _ => {}
            }
        }
    }
}

/// Side of the pictures a vision-language model is usually given: what its row says in `NNN px`, else about a megapixel
/// for models that take any size and one tile of 448 for the rest.
fn vision_language_side(model: Option<&Model>) -> u64 {
    let tokens = match model.map(|m| &m.architecture) {
        Some(Architecture::Other(o)) => o.tokens_or_frames,
        _ => "",
    };
    let stated = tokens.split_once(" px").and_then(|(before, _)| {
        before.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
    });
    stated.unwrap_or(if tokens.contains("(H/") { 1008 } else { 448 })
}

fn read_length(project: &mut Project, preset: &Preset, model: Option<&Model>, domain: Domain) {
    let data = words::quantity(preset.dataset);
    let length = words::quantity(preset.length);
    let samples = samples(project, data.as_ref(), length.as_ref(), model, domain);
    let per_prompt = if preset.method.contains("8 samples a prompt") {
        8.0
    } else if preset.method.contains("DPO") {
        2.0
    } else {
        1.0
    };
    let samples = (samples * per_prompt).max(1.0);
    let ranged = data.as_ref().is_some_and(|d| d.high.is_some());
    let steps = length.as_ref().filter(|l| l.unit.contains("step") || l.unit.contains("iteration"));
    let batch = (project.micro_batch * project.accumulation) as f64;
    let samples = match steps {
        Some(steps) if ranged => whole_passes(samples, steps.middle() * batch),
        _ => samples,
    };
    project.samples = samples as u64;
    if preset.batch.is_empty() {
        // Gradient boosting: every tree sees all rows.
        project.micro_batch = project.samples;
    }
    let Some(length) = length else { return };
    let steps_to_samples = (project.micro_batch * project.accumulation) as f64;
    let passes_of = |steps: f64| steps * steps_to_samples / samples;
    project.epochs = if preset.dataset.starts_with("simulator") {
        PPO_PASSES
    } else if let Some(iterations) = preset.length.split_once("epochs of ").and_then(|(_, n)| words::first(n)) {
        passes_of(length.middle() * iterations)
    } else if length.unit.contains("kimg") {
        // The shorter figure: going on from a trained network.
        length.low * 1000.0 / samples
    } else if length.unit.contains("step") || length.unit.contains("iteration") {
        passes_of(length.middle())
    } else if let Some(stopped) = preset.length.split_once("stopped at ").and_then(|(_, n)| words::first(n)) {
        stopped
    } else if data.is_some_and(|d| d.added.is_some()) {
        // `558 K + 665 K samples` for `1 + 1 epochs`: each part once.
        length.low
    } else {
        length.middle() + length.added.unwrap_or(0.0)
    };
}

/// The count nearest to the middle of a range that a run of so many samples walks a whole number of times; the middle
/// itself where none is within a quarter of it.
fn whole_passes(middle: f64, seen: f64) -> f64 {
    let middle = middle.round();
    let whole = |count: &f64| *count >= 1.0 && *count <= seen && seen % *count == 0.0;
    let away = (0..=(middle / 4.0).min(1e4) as u64).map(|n| n as f64);
    away.flat_map(|n| [middle - n, middle + n]).find(whole).unwrap_or(middle)
}

fn samples(
    project: &Project,
    data: Option<&Quantity>,
    length: Option<&Quantity>,
    model: Option<&Model>,
    domain: Domain,
) -> f64 {
    let Some(data) = data else {
        // A simulator makes as many samples as it is run for.
        return length.map_or(project.samples as f64, Quantity::middle);
    };
    let sequence = project.sequence.max(1) as f64;
    let unit = data.unit.as_str();
    let middle = data.middle();
    if unit.starts_with("tokens") {
        middle / sequence
    } else if unit.starts_with("MB") || unit.starts_with("GB") {
        let characters = model.and_then(Model::language).is_some_and(|l| l.vocab < 256);
        let bytes = middle * if unit.starts_with("GB") { 1e9 } else { 1e6 };
        bytes / if characters { 1.0 } else { TEXT_BYTES_PER_TOKEN } / sequence
    } else if domain == Domain::Audio && (unit.starts_with("hour") || unit.starts_with("minute")) {
        let seconds = middle * if unit.starts_with("hour") { 3600.0 } else { 60.0 };
        // Voice models cut a short piece out of each spoken clip, others take the clip.
        let clip = if project.audio_seconds < 1.0 { CLIP_SECONDS } else { project.audio_seconds };
        seconds / clip
    } else {
        // Two unpaired sets of pictures are walked side by side; two sets of samples one after the other.
        let pictures = unit.starts_with("images");
        middle + data.added.filter(|_| !pictures).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;

    const BLANK: Preset = Preset {
        id: "",
        name_zh: "",
        name_en: "",
        group: "",
        from_articles: false,
        model: "",
        method: "fine-tune",
        precision: "amp",
        dataset: "1,000 images",
        batch: "1",
        accumulation: "1",
        size: "224",
        length: "1 epoch",
        hardware: "",
        source: "",
    };

    #[test]
    fn methods_and_precisions_are_read() {
        let cases = [
            (
                "QLoRA rank 8",
                "4-bit base, bf16 adapters",
                Method::QLora,
                8,
                Precision::AmpBf16,
                BaseFormat::AsPrecision,
            ),
            ("LoRA rank 16, fp8 base", "bf16 + fp8 base", Method::Lora, 16, Precision::AmpBf16, BaseFormat::Fp8),
            ("LoRA, frozen vision tower", "bf16", Method::Lora, 16, Precision::AmpBf16, BaseFormat::AsPrecision),
            ("from scratch or transfer", "amp", Method::Scratch, 16, Precision::AmpFp16, BaseFormat::AsPrecision),
            ("decoder only", "fp16", Method::Head, 16, Precision::AmpFp16, BaseFormat::AsPrecision),
            ("full UNet + EMA", "fp32", Method::Full, 16, Precision::Fp32, BaseFormat::AsPrecision),
        ];
        for (words, format, method, rank, precision, base) in cases {
            let project =
                Project::from_preset(&Preset { method: words, precision: format, ..BLANK }, &Catalog::bundled());
            let read = (project.method, project.lora.rank, project.precision, project.base);
            assert_eq!(read, (method, rank, precision, base), "{words}");
            assert_eq!(project.ema, words.contains("EMA"));
        }
    }

    #[test]
    fn steps_become_passes_that_give_the_steps_back() {
        let cases = [
            ("20 to 50 paintings with captions", "1,500 to 3,000 steps", 1, 1, 2_100.0),
            ("500 to 5,000 images", "160,000 iterations", 1, 8, 160_000.0),
            ("100 to 1,000 volumes", "1,000 epochs of 250 iterations", 2, 1, 250_000.0),
            ("60,000 images 28 x 28 (47 MB)", "14 epochs", 64, 1, 13_125.0),
            ("1,000 + 1,000 images", "200 epochs", 1, 1, 200_000.0),
            ("558 K + 665 K samples", "1 + 1 epochs", 16, 1, 76_437.5),
            ("10 to 200 hours", "up to 25 epochs, stopped at 11", 1, 1, 495.0),
        ];
        for (dataset, length, batch, accumulation, steps) in cases {
            let (batch_word, accumulation_word) = (batch.to_string().leak(), accumulation.to_string().leak());
            let preset = Preset { dataset, length, batch: batch_word, accumulation: accumulation_word, ..BLANK };
            let project = Project::from_preset(&preset, &Catalog::bundled());
            assert_eq!((project.micro_batch, project.accumulation), (batch, accumulation));
            let got = project.samples as f64 * project.epochs / (batch * accumulation) as f64;
            assert!((got / steps - 1.0).abs() < 1e-9, "{dataset}, {length}: {got} steps");
        }
    }

    #[test]
    fn sizes_are_read() {
        let cases = [
            ("224", 224, 1),
            ("256 crops", 256, 1),
            ("800 x 1333", 1033, 1),
            ("49 x 480 x 720", 588, 49),
            ("128 x 128 x 128", 128, 128),
            ("720 x 1280 image or 480p x 33 frames", SIDE_480P, 33),
        ];
        for (size, side, frames) in cases {
            let project = Project::from_preset(&Preset { size, ..BLANK }, &Catalog::bundled());
            assert_eq!((project.image_side, project.frames), (side, frames), "{size}");
        }
    }
}
