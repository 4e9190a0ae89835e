//! What a row leaves open: the defaults of the library that ran it, and what its data usually is.

use super::cards::Cards;
use super::case::Domain;
use super::table::Row;
use super::{sizes, words};
use enough_gpu::catalog::Model;
use enough_gpu::project::{BaseFormat, Checkpointing, Framework, LoraTargets, Method, Objective};

/// Tokens of a sample where a row of language training gives none: instructions and answers of Alpaca's kind, which
/// are nearly all shorter.
const TOKENS_NOT_STATED: u64 = 512;

/// Tokens of a picture at `MAX_PIXELS=1003520`, which ms-swift's examples set: 28 x 28 pixels each.
const PICTURE_TOKENS: u64 = 1_280;

/// `seq_len` of torchtitan's configurations for Llama 3 (`train_configs/llama3_8b.toml` and larger).
const TORCHTITAN_TOKENS: u64 = 8_192;

/// The longest sample of Alpaca-like data in a tokenizer of today, which sets the peak where a stated length is only a
/// limit (LitGPT's resource tables: 1,034 to 1,079 tokens, 1,304 in Llama 2's).
const LONGEST_INSTRUCTION: u64 = 1_079;

/// Tokens of a sample: as stated; where only a limit is stated, the longest sample that such data has.
pub(super) fn sequence(
    row: &Row<'_>,
    model: Option<&Model>,
    framework: Framework,
    (method, objective): (Method, Objective),
) -> u64 {
    let longest = model.and_then(Model::language).map_or(0, |l| u64::from(l.max_context));
    let stated = sizes::tokens(row.text("seq_or_res"));
    let Some(stated) = stated else {
        if row.text("note").to_lowercase().contains("alpaca lengths vary") {
            return LONGEST_INSTRUCTION;
        }
        if words::framework(row.text("framework")) == Some(Framework::Torchtitan) {
            return TORCHTITAN_TOKENS;
        }
        let usual = match framework {
            // `max_length` of TRL's `DPOConfig`.
            _ if objective != Objective::Likelihood => 1024,
            // `max_seq_length` of `FastLanguageModel.from_pretrained` and its notebooks.
            Framework::Unsloth => 2048,
            // `max_length` of TRL's `SFTConfig`, with which adapters are trained.
            Framework::Transformers if method.is_adapter() => 1024,
            _ => TOKENS_NOT_STATED,
        };
        return if longest > 0 { longest.min(usual) } else { usual };
    };
    let words = [row.text("note"), row.text("seq_or_res"), row.text("source")].map(str::to_lowercase);
    let has = |w: &str| words.iter().any(|text| text.contains(w));
    let limit = has("is a cap") || has(" cap") || has("real length short");
    // "unless packed" in a note says nothing about this run.
    let words = words.clone().map(|text| text.replace("unless packed", ""));
    let has = |w: &str| words.iter().any(|text| text.contains(w));
    let packed = has("pack") && !has("unpacked") && !has("not packed");
    // Nobody divides the tokens of short samples over cards.
    let packed = packed || words[2].contains("sequence_parallel");
    let sees = model.is_some_and(|m| m.domain == enough_gpu::catalog::Domain::VisionLanguage);
    let pictures = if sees { clip_tokens(row.text("seq_or_res")).unwrap_or(PICTURE_TOKENS) } else { 0 };
    if limit && !packed { stated.min(LONGEST_INSTRUCTION + pictures) } else { stated }
}

/// Tokens of a clip of so many frames of so many pixels: 28 x 28 pixels of two frames each (Qwen2-VL and later).
pub(super) fn clip_tokens(text: &str) -> Option<u64> {
    let before = |word: &str| {
        let (before, _) = text.split_once(word)?;
        sizes::tokens(before.trim_end().rsplit([' ', '=', '<']).next()?)
    };
    Some((before("frames")? * before("px")?).div_ceil(2 * 28 * 28))
}

/// Samples a step where a row gives none: what the library's arguments begin with.
pub(super) fn default_batch(row: &Row<'_>, framework: Framework, domain: Domain) -> u64 {
    match framework {
        // What is spread over several cards is large, and its batch small.
        _ if domain != Domain::Llm || row.count("gpus").unwrap_or(1) > 1 => 1,
        // `micro_batch_size` of finetune.py.
        _ if row.text("source").contains("alpaca-lora") => 4,
        // `micro_batch_size` of finetune/lora.py in 2023, when its tutorials were measured.
        Framework::Litgpt => 4,
        // `TrainingArguments.per_device_train_batch_size`.
        Framework::Transformers | Framework::LlamaFactory => 8,
        // Every notebook; recipes/configs.
        Framework::Unsloth | Framework::Torchtune => 2,
        _ => 1,
    }
}

/// Micro-batches of a step where the row says nothing: the pipeline's; LitGPT's scripts step after 8 to 128 samples
/// (`batch_size` in finetune/*.py, `global_batch_size` in its configuration files), more than the cards take at once.
pub(super) fn accumulates(framework: Framework, cards: &Cards) -> u64 {
    cards.micro_batches.max(if framework == Framework::Litgpt { 2 } else { 1 })
}

pub(super) fn lora_targets(text: &str, framework: Framework, domain: Domain) -> LoraTargets {
    let text = text.to_lowercase();
    let has = |w: &str| text.contains(w);
    if text.is_empty() {
        return match (domain, framework) {
            // diffusers' and SimpleTuner's default, and torchtune's single-device recipes adapt more.
            (Domain::Diffusion, _) => LoraTargets::Attention,
            // LitGPT's script defaults: query and value; and so for nearly all models
            // `TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING` of PEFT.
            (_, Framework::Litgpt | Framework::Transformers) => LoraTargets::QV,
            _ => LoraTargets::AllLinear,
        };
    }
    let mlp = has("ff") || has("mlp") || has("up") || has("gate") || has("linear") || has("all");
    if mlp && has("head") {
        LoraTargets::AllLinearAndHead
    } else if mlp {
        LoraTargets::AllLinear
    } else if has("attention") || has("query_key_value") || has("k,") || has("key") || has("o_proj") {
        LoraTargets::Attention
    } else {
        LoraTargets::QV
    }
}

/// Ranks that scripts use when nobody says otherwise: LitGPT, LLaMA-Factory and ms-swift 8, torchtune 8, kohya 4 to 16.
pub(super) fn default_rank(framework: Framework, method: &str) -> u64 {
    if method.starts_with("adapter") {
        return 1;
    }
    match framework {
        Framework::Litgpt | Framework::LlamaFactory | Framework::MsSwift | Framework::Torchtune => 8,
        _ => 16,
    }
}

/// Share of the layers that methods with few active layers leave alone: LISA 2 of 28, `LLaMA` Pro 4 of 32, one block of
/// 32 at a time.
pub(super) fn frozen_share(method: &str) -> f64 {
    if ["lisa", "llamapro", "block coordinate"].iter().any(|w| method.to_lowercase().contains(w)) { 0.9 } else { 0.5 }
}

/// Dropout on adapter inputs by default: LitGPT and PEFT recipes 0.05, ms-swift 0.05; torchtune's recipes, Unsloth and
/// the diffusion trainers none; LLaMA-Factory none.
pub(super) fn default_dropout(framework: Framework, method: &str) -> f64 {
    if method.starts_with("adapter") {
        return 0.0;
    }
    match framework {
        Framework::Torchtune
        | Framework::Unsloth
        | Framework::LlamaFactory
        | Framework::Diffusers
        | Framework::Kohya
        | Framework::OneTrainer
        | Framework::AiToolkit => 0.0,
        // `lora_dropout` of `SimpleTuner`'s options, which LyCORIS does not read.
        Framework::SimpleTuner => {
            if method.contains("lokr") {
                0.0
            } else {
                0.1
            }
        }
        _ => 0.05,
    }
}

/// What the library does when nobody says otherwise.
pub(super) fn default_checkpointing(
    framework: Framework,
    method: Method,
    domain: Domain,
    base: BaseFormat,
) -> Checkpointing {
    let quantized = method == Method::QLora || (method == Method::Lora && base == BaseFormat::Int8);
    match framework {
        Framework::Unsloth => Checkpointing::Offloaded,
        // Axolotl's `gradient_checkpointing` is off unless it is set (its configuration reference), and set in every
        // example for 4-bit bases (`examples/*/qlora.yml`).
        Framework::Axolotl if method == Method::QLora => Checkpointing::PerBlock,
        Framework::LlamaFactory | Framework::MsSwift | Framework::Torchtune => Checkpointing::PerBlock,
        // `[activation_checkpoint] mode = "selective"` in torchtitan's configurations.
        Framework::Torchtitan => Checkpointing::Selective,
        // `prepare_model_for_kbit_training` of PEFT turns it on.
        Framework::Transformers if quantized && domain != Domain::Diffusion => Checkpointing::PerBlock,
        _ => Checkpointing::Off,
    }
}

/// Whether VAE and text encoders are off the card. Notes say so where they are known.
pub(super) fn caches_latents(row: &Row<'_>, framework: Framework) -> bool {
    let note = row.text("note").to_lowercase();
    if note.contains("cached") || note.contains("caching") || note.contains("encoders off") {
        return true;
    }
    // CogVideo's trainer encodes the whole set first and unloads the encoders (`prepare_dataset` in finetune/trainer.py).
    if row.text("framework").to_lowercase().contains("cogvideo") {
        return true;
    }
    // Scripts of diffusers encode on the fly; the trainers cache by default.
    !matches!(framework, Framework::Diffusers | Framework::Pytorch)
}
