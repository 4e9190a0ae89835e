//! What the settings of a script say together.

use super::flags::Says;
use super::gather::Setting;
use super::words::{base, is_exact, optimizer, switch, targets, whole};
use crate::catalog::{Catalog, Model};
use crate::project::import::Piece;
use crate::project::import::text::decimal;
use crate::project::{Field, Framework};

mod named;
mod settle;

/// A value with its place.
type At<T> = Option<(T, Piece)>;

/// What was told so far.
pub(super) struct Told<'a> {
    catalog: &'a Catalog,
    library: Option<Framework>,
    found: Vec<(Field, String, Piece)>,
    model: At<&'a Model>,
    /// A model that was named and is not known.
    unknown_model: At<String>,
    method: At<&'static str>,
    adapter: At<bool>,
    four_bit: At<bool>,
    eight_bit: At<bool>,
    double: bool,
    half: At<&'static str>,
    pure: At<&'static str>,
    loaded: Option<&'static str>,
    zero: At<u64>,
    fsdp: At<&'static str>,
    optimizer_away: At<bool>,
    weights_away: At<bool>,
    /// What is away is on a disk.
    disk: bool,
    cards: At<u64>,
    machines: u64,
    /// Cards in all machines.
    world: u64,
    /// The network's MLP has a gate.
    gated: bool,
    steps: Option<u64>,
    /// Blocks that wait in main memory.
    swapped: At<f64>,
    /// No text encoder is trained.
    denoiser_only: bool,
    /// Tokens of a question, and of the answer that is sampled to it.
    prompt: Option<u64>,
    completion: At<u64>,
    /// Samples in a step over all cards.
    global_batch: At<u64>,
    /// Sizes of a network.
    shape: Vec<(Field, String, Piece)>,
    /// The 4-bit base of an upload whose name says so.
    quantized_name: bool,
    /// Names that were looked up.
    lookups: usize,
}

/// Most names that are looked up: each is compared with the whole catalog.
const MOST_LOOKUPS: usize = 8;

impl<'a> Told<'a> {
    pub(super) fn new(catalog: &'a Catalog, library: Option<Framework>) -> Self {
        Self {
            catalog,
            library,
            found: Vec::new(),
            model: None,
            unknown_model: None,
            method: None,
            adapter: None,
            four_bit: None,
            eight_bit: None,
            double: false,
            half: None,
            pure: None,
            loaded: None,
            zero: None,
            fsdp: None,
            optimizer_away: None,
            weights_away: None,
            disk: false,
            cards: None,
            machines: 1,
            world: 1,
            gated: false,
            steps: None,
            swapped: None,
            denoiser_only: false,
            prompt: None,
            completion: None,
            global_batch: None,
            shape: Vec::new(),
            quantized_name: false,
            lookups: 0,
        }
    }

    /// Takes a setting; false where its value says nothing.
    pub(super) fn take(&mut self, says: Says, setting: &Setting) -> bool {
        let (value, from) = (setting.value.as_str(), || setting.from.clone());
        let small = value.to_ascii_lowercase();
        let on = switch(&small);
        match says {
            Says::Number(field) => return self.number(field, value, setting),
            Says::Model => return self.named(value, setting.from.clone()),
            Says::Method => {
                let method = match small.as_str() {
                    "lora" | "dora" | "lokr" => "lora",
                    "qlora" => "qlora",
                    "full" | "none" | "full_finetune" => "full",
                    "freeze" => "freeze",
                    _ => return false,
                };
                self.method = Some((method, from()));
            }
            Says::Adapter => self.adapter = Some((on.unwrap_or(true), from())),
            Says::Rank => {
                if !self.number(Field::LoraRank, value, setting) {
                    return false;
                }
                self.adapter.get_or_insert((true, setting.from.clone()));
            }
            Says::Targets => {
                let id = targets(&small);
                self.set(Field::LoraTargets, id, setting);
                self.adapter.get_or_insert((true, setting.from.clone()));
            }
            Says::AllLinear if on == Some(true) => self.set(Field::LoraTargets, "all-linear", setting),
            Says::FourBit => self.four_bit = on.map(|on| (on, from())),
            Says::EightBit => self.eight_bit = on.map(|on| (on, from())),
            Says::Bits => match small.as_str() {
                "4" => self.four_bit = Some((true, from())),
                "8" | "bnb.int8" => self.eight_bit = Some((true, from())),
                // LitGPT's formats (docs/quantize.md).
                _ if small.starts_with("bnb.nf4") || small.starts_with("bnb.fp4") => {
                    self.four_bit = Some((true, from()));
                    self.double |= small.ends_with("-dq");
                }
                _ => return false,
            },
            Says::DoubleQuantization => self.double |= on == Some(true),
            // ai-toolkit's `qtype` is `qfloat8` unless another is named (`ModelConfig`).
            Says::Fp8Base | Says::Quantized if on == Some(true) => self.set(Field::Base, "fp8", setting),
            Says::Bf16 if small == "auto" || on == Some(true) => self.half = Some(("amp-bf16", from())),
            Says::Fp16 if on == Some(true) => self.half = Some(("amp-fp16", from())),
            Says::Amp => self.half = Some((if on == Some(false) { "fp32" } else { "amp-fp16" }, from())),
            Says::PureBf16 | Says::PureFp16 if on == Some(true) => self.pure = Some(("bf16", from())),
            Says::MixedPrecision => {
                let half = match small.as_str() {
                    "bf16" | "bf16-mixed" | "amp_bf16" => "amp-bf16",
                    "fp16" | "16-mixed" | "16" | "amp_fp16" => "amp-fp16",
                    "no" | "fp32" | "32" | "32-true" => "fp32",
                    "bf16-true" => {
                        self.pure = Some(("bf16", from()));
                        return true;
                    }
                    _ => return false,
                };
                self.half = Some((half, from()));
            }
            Says::LoadedAs => match small.as_str() {
                "bfloat16" | "bf16" => self.loaded = Some("bf16"),
                "float16" | "fp16" | "half" => self.loaded = Some("fp16"),
                "float32" | "fp32" => self.loaded = Some("fp32"),
                _ => return false,
            },
            Says::Checkpointing => {
                let id = match (small.as_str(), on) {
                    ("unsloth" | "offload", _) => "offload",
                    ("selective", _) => "selective",
                    (_, Some(on)) => {
                        if on {
                            "on"
                        } else {
                            "off"
                        }
                    }
                    _ => return false,
                };
                self.set(Field::Checkpointing, id, setting);
            }
            Says::NoCheckpointing => {
                let id = if on == Some(true) { "off" } else { "on" };
                self.set(Field::Checkpointing, id, setting);
            }
            Says::Optimizer => match optimizer(&small) {
                Some((id, how)) => {
                    self.set(Field::Optimizer, id, setting);
                    if let Some(how) = how {
                        self.set(Field::OptimizerImpl, how, setting);
                    }
                }
                None => return false,
            },
            Says::EightBitAdam if on == Some(true) => self.set(Field::Optimizer, "adamw8bit", setting),
            Says::Attention => {
                let id = match small.as_str() {
                    "eager" => "eager",
                    "sdpa" => "auto",
                    _ if small.starts_with("flash") => "flash",
                    _ => return false,
                };
                self.set(Field::Attention, id, setting);
            }
            Says::Flash => match (small.as_str(), on) {
                ("fa2" | "fa3", _) | (_, Some(true)) => self.set(Field::Attention, "flash", setting),
                ("sdpa" | "auto", _) => self.set(Field::Attention, "auto", setting),
                ("disabled", _) => self.set(Field::Attention, "eager", setting),
                _ => return false,
            },
            Says::Xformers if on == Some(true) => self.set(Field::Attention, "efficient", setting),
            Says::Sdpa if on == Some(true) => self.set(Field::Attention, "auto", setting),
            Says::Liger if on == Some(true) => self.set(Field::Loss, "fused", setting),
            Says::ZeroStage => match small.as_str() {
                "0" | "1" | "2" | "3" => self.zero = small.parse().ok().map(|stage| (stage, from())),
                _ => return false,
            },
            Says::DeepSpeed => match ["3", "2", "1", "0"].into_iter().find(|n| {
                ["zero", "z", "stage", "ds_z", "zero_", "zero-", "stage_"]
                    .iter()
                    .any(|word| small.contains(&format!("{word}{n}")))
            }) {
                Some(stage) => {
                    self.zero = stage.parse().ok().map(|stage| (stage, from()));
                    if small.contains("offload") {
                        self.optimizer_away.get_or_insert((true, setting.from.clone()));
                    }
                }
                None => return false,
            },
            Says::Fsdp => {
                let id = match small.as_str() {
                    "2" => "fsdp2",
                    _ if small.contains("full_shard") || small == "1" => "fsdp",
                    _ if small.contains("shard_grad_op") => "fsdp-grad",
                    _ if small.contains("hybrid_shard") => "fsdp-hybrid",
                    _ => return false,
                };
                // The version alone says less than the strategy.
                if id == "fsdp2" || self.fsdp.is_none() || small != "1" {
                    self.fsdp = Some((id, from()));
                }
            }
            Says::OptimizerOffload | Says::WeightOffload => {
                let away = Some((matches!(small.as_str(), "cpu" | "nvme") || on == Some(true), from()));
                self.disk |= small == "nvme";
                if says == Says::OptimizerOffload {
                    self.optimizer_away = away;
                } else {
                    self.weights_away = away;
                }
            }
            Says::Cards => match value.trim().parse::<u64>().ok().filter(|n| (1..=65_536).contains(n)) {
                Some(n) => self.cards = Some((n, from())),
                None => return false,
            },
            Says::Machines => {
                self.machines = value.trim().parse().ok().filter(|n| (1..=8_192).contains(n)).unwrap_or(1);
            }
            Says::GlobalBatch => match whole(value) {
                Some(n) => self.global_batch = Some((n, from())),
                None => return false,
            },
            Says::Shape(field) => match whole(value).filter(|_| self.library == Some(Framework::Megatron)) {
                Some(n) => self.shape.push((field, n.to_string(), from())),
                None => return false,
            },
            Says::DividedState if on == Some(true) => self.set(Field::Sharding, "zero1", setting),
            Says::Granularity => match small.as_str() {
                "full" => self.set(Field::Checkpointing, "on", setting),
                "selective" | "true" => self.set(Field::Checkpointing, "selective", setting),
                _ => return false,
            },
            Says::Prompt | Says::Completion => match whole(value) {
                Some(n) if says == Says::Prompt => self.prompt = Some(n),
                Some(n) => self.completion = Some((n, from())),
                None => return false,
            },
            Says::BasePrecision => match base(&small) {
                Some(id) => self.set(Field::Base, id, setting),
                None => return small == "no_change",
            },
            Says::Video => return small.contains("2v-") && self.video(&small, from()),
            Says::Recipe => return self.recipe(value, from()),
            Says::CardList => {
                let list = small.rsplit([':']).next().unwrap_or_default();
                let ids: Vec<&str> = list.trim_matches(['[', ']']).split(',').map(str::trim).collect();
                if !ids.iter().all(|id| !id.is_empty() && id.len() <= 3 && id.bytes().all(|b| b.is_ascii_digit())) {
                    return false;
                }
                self.cards.get_or_insert((ids.len() as u64, setting.from.clone()));
            }
            Says::Objective => match small.as_str() {
                "dpo" | "kto" | "ipo" => self.set(Field::Objective, "dpo", setting),
                "simpo" | "orpo" | "cpo" => self.set(Field::Objective, "simpo", setting),
                "sft" | "pt" => self.set(Field::Objective, "likelihood", setting),
                // DeepSpeed's table calls the stage of ZeRO so.
                "1" | "2" | "3" => self.zero = small.parse().ok().map(|stage| (stage, from())),
                _ => return false,
            },
            Says::CachedLatents => {
                self.set(Field::CachedLatents, if on == Some(false) { "off" } else { "on" }, setting);
            }
            Says::CachedText => {
                let id = if on == Some(false) { "resident" } else { "cached" };
                self.set(Field::TextEncoders, id, setting);
            }
            Says::TrainsText if on == Some(true) => self.set(Field::TextEncoders, "trained", setting),
            Says::Gated if on == Some(true) => self.gated = true,
            Says::DenoiserOnly if on == Some(true) => self.denoiser_only = true,
            Says::BlocksToSwap => match decimal(value).filter(|n| *n >= 0.0) {
                Some(n) => self.swapped = Some((n, from())),
                None => return false,
            },
            Says::FusedBackward if on == Some(true) => self.set(Field::OptimizerImpl, "in-backward", setting),
            Says::Ema => self.set(Field::Ema, if on == Some(false) { "off" } else { "on" }, setting),
            Says::Steps => match decimal(value).filter(|n| *n >= 1.0) {
                Some(n) => self.steps = Some(n as u64),
                None => return false,
            },
            // A switch that is off says what is usual anyway.
            _ => return on == Some(false),
        }
        true
    }

    fn set(&mut self, field: Field, value: &str, setting: &Setting) {
        self.put(field, value.to_owned(), setting.from.clone());
    }

    /// The last one counts, as it does for a command.
    fn put(&mut self, field: Field, value: String, from: Piece) {
        self.found.retain(|(known, ..)| *known != field);
        self.found.push((field, value, from));
    }

    fn number(&mut self, field: Field, value: &str, setting: &Setting) -> bool {
        // Rollouts of verl, over all cards.
        if setting.path == "data.train_batch_size" {
            return true;
        }
        // Lists of ai-toolkit name several sizes, of which the largest decides.
        if self.library == Some(Framework::AiToolkit) && field == Field::ImageSide && value.contains(',') {
            let sides = value.split([',', '[', ']']).filter_map(whole);
            let Some(largest) = sides.max() else { return false };
            self.put(field, largest.to_string(), setting.from.clone());
            return true;
        }
        // `1024,1024` and `512x768` of a resolution; one and a half passes.
        let sides: Vec<f64> =
            value.split(['x', ',', ' ', '[', ']', '(', ')']).filter(|n| !n.is_empty()).filter_map(decimal).collect();
        let number = match sides.as_slice() {
            [one] => *one,
            [width, height] if field == Field::ImageSide => (width * height).sqrt().round(),
            _ => return false,
        };
        let whole = !matches!(field, Field::Epochs | Field::LoraDropout | Field::AudioSeconds);
        if !number.is_finite() || number < 0.0 || (whole && (number < 1.0 || number.fract() != 0.0)) {
            return false;
        }
        // `train_batch_size` of DeepSpeed is that of all cards; of one name the more exact one stays.
        let exact = setting.name().contains("per") || setting.name().contains("micro");
        if field == Field::MicroBatch
            && !exact
            && self.found.iter().any(|(f, _, from)| *f == field && is_exact(&from.text))
        {
            return false;
        }
        self.put(field, crate::units::decimal::short(number), setting.from.clone());
        true
    }

    pub(super) fn names_a_model(&self) -> bool {
        self.model.is_some() || self.unknown_model.is_some()
    }
}
