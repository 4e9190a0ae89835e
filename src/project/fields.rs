//! Every field of the form as data: what kind it is, what it allows, how its text becomes a value and back.

mod write;

use super::number::Kilo;
use super::{Choice, Field, PriceKind, Project, prices};
use crate::units::{Currency, Money, decimal};

pub use write::set;

/// The id that stands for "I have no GPU" in the field [`Field::Gpu`].
pub const NO_GPU: &str = "none";

/// The id that stands for "my model is not listed, I give its numbers" in the field [`Field::Model`].
pub const CUSTOM_MODEL: &str = "custom";

/// The id that stands for "a network of my own, of which I have the summary" in the field [`Field::Model`].
pub const CUSTOM_NETWORK: &str = "network";

/// What a numeric field allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest allowed value.
    pub min: f64,
    /// Largest allowed value.
    pub max: f64,
    /// Only whole numbers.
    pub whole: bool,
    /// An empty field means "not said" instead of an error.
    pub optional: bool,
}

/// What kind of control a field is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number.
    Number(Range),
    /// One of a short list, see [`choices`](super::choices).
    Choice,
    /// On or off.
    Toggle,
    /// One row of the catalog, found by typing.
    Search,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldError {
    /// Nothing was typed where something is needed.
    Empty(Kind),
    /// Not a number.
    NotANumber(Range),
    /// A fraction where only whole numbers make sense; the whole numbers beside it.
    NotWhole {
        /// The next smaller.
        below: f64,
        /// The next larger.
        above: f64,
    },
    /// A number outside the range.
    OutOfRange(Range),
    /// Not in the catalog, or not one of the choices.
    Unknown {
        /// Ids of what comes closest, best first.
        suggestions: Vec<String>,
    },
    /// The attention heads do not share out the hidden size evenly.
    HeadsDoNotDivideHidden {
        /// Hidden size.
        hidden: u64,
        /// Heads.
        heads: u64,
        /// The nearest number of heads that does.
        nearest: u64,
    },
    /// The key/value heads do not share out the query heads evenly.
    KvHeadsDoNotDivideHeads {
        /// Query heads.
        heads: u64,
        /// Key/value heads.
        kv_heads: u64,
        /// The nearest number of key/value heads that does.
        nearest: u64,
    },
}

const fn whole(min: f64, max: f64) -> Kind {
    Kind::Number(Range { min, max, whole: true, optional: false })
}

const fn real(min: f64, max: f64) -> Kind {
    Kind::Number(Range { min, max, whole: false, optional: false })
}

const fn optional(min: f64, max: f64) -> Kind {
    Kind::Number(Range { min, max, whole: false, optional: true })
}

/// Most cards that anything is asked about.
const MOST_CARDS: f64 = 100_000.0;

/// The kind of control a field is, with the range of every number.
///
/// The upper ends lie beyond everything that was ever trained (the largest public runs: 126 layers, hidden size 18,432,
/// 10^7 tokens a batch, 15 x 10^12 tokens, 24,576 cards) and below what would overflow an estimate.
pub const fn kind(field: Field) -> Kind {
    match field {
        Field::Preset | Field::Model | Field::Gpu | Field::PriceCard => Kind::Search,
        Field::CustomLayers => whole(1.0, 1000.0),
        Field::CustomHidden => whole(1.0, 262_144.0),
        Field::CustomIntermediate | Field::Sequence => whole(1.0, 1_048_576.0),
        Field::CustomHeads
        | Field::CustomKvHeads
        | Field::LoraRank
        | Field::Tensor
        | Field::Pipeline
        | Field::Chunks
        | Field::Context
        | Field::Expert => whole(1.0, 4096.0),
        Field::CustomVocab => whole(2.0, 10_000_000.0),
        Field::NetworkParams | Field::NetworkOutputs => whole(1.0, 1e12),
        Field::LoraDropout => real(0.0, 0.9),
        Field::FrozenShare | Field::BlockSwap => real(0.0, 1.0),
        Field::MicroBatch | Field::Accumulation => whole(1.0, 1_000_000.0),
        Field::ImageSide => whole(8.0, 32_768.0),
        Field::Frames | Field::Objects => whole(1.0, 10_000.0),
        Field::Classes => optional(1.0, 1_000_000.0),
        Field::AudioSeconds => real(0.01, 3600.0),
        Field::Samples => whole(1.0, 1e13),
        Field::Epochs => real(0.001, 1e6),
        Field::Count => whole(1.0, MOST_CARDS),
        Field::Machines | Field::Group => {
            Kind::Number(Range { min: 1.0, max: MOST_CARDS, whole: true, optional: true })
        }
        Field::BudgetLimit => optional(0.0, 999_999_999.0),
        Field::Electricity => optional(0.0, 1000.0),
        // The yuan was never outside of this since it was first exchanged.
        Field::ExchangeRate => real(1.0, 20.0),
        Field::HoursAWeek => real(0.1, 168.0),
        Field::PriceRent => optional(0.0, 1e5),
        Field::PriceNew | Field::PriceUsed => optional(0.0, 1e9),
        Field::CachedLatents | Field::Ema | Field::Desktop => Kind::Toggle,
        Field::Method
        | Field::LoraTargets
        | Field::Precision
        | Field::Base
        | Field::Optimizer
        | Field::OptimizerImpl
        | Field::Checkpointing
        | Field::Attention
        | Field::Loss
        | Field::Offload
        | Field::Objective
        | Field::TextEncoders
        | Field::Task
        | Field::Framework
        | Field::Sharding
        | Field::Interconnect
        | Field::Network
        | Field::Currency
        | Field::Place => Kind::Choice,
    }
}

/// What a bare `k` means in a field: a context of `32k` tokens is 32,768.
pub const fn kilo(field: Field) -> Kilo {
    match field {
        Field::Sequence | Field::ImageSide => Kilo::Binary,
        _ => Kilo::Thousand,
    }
}

/// The value of a field as its text: digits for numbers, the stable id for choices, `on` or `off` for switches.
pub fn get(project: &Project, field: Field) -> String {
    let custom = || project.custom.clone().unwrap_or_default();
    let network = || project.network.clone().unwrap_or_default();
    match field {
        Field::Preset => project.preset.clone(),
        Field::Model if project.custom.is_some() => CUSTOM_MODEL.to_string(),
        Field::Model if project.network.is_some() => CUSTOM_NETWORK.to_string(),
        Field::Model => project.model.clone(),
        Field::CustomLayers => custom().layers.to_string(),
        Field::CustomHidden => custom().hidden.to_string(),
        Field::CustomIntermediate => custom().intermediate.to_string(),
        Field::CustomHeads => custom().heads.to_string(),
        Field::CustomKvHeads => custom().kv_heads.to_string(),
        Field::CustomVocab => custom().vocab.to_string(),
        Field::NetworkParams => network().params.to_string(),
        Field::NetworkOutputs => network().outputs.to_string(),
        Field::Method => project.method.id().to_string(),
        Field::LoraRank => project.lora.rank.to_string(),
        Field::LoraTargets => project.lora.targets.id().to_string(),
        Field::LoraDropout => short(project.lora.dropout),
        Field::FrozenShare => short(project.frozen_share),
        Field::Precision => project.precision.id().to_string(),
        Field::Base => project.base.id().to_string(),
        Field::Optimizer => project.optimizer.id().to_string(),
        Field::OptimizerImpl => project.optimizer_impl.id().to_string(),
        Field::Checkpointing => project.checkpointing.id().to_string(),
        Field::Attention => project.attention.id().to_string(),
        Field::Loss => project.loss.id().to_string(),
        Field::MicroBatch => project.micro_batch.to_string(),
        Field::Accumulation => project.accumulation.to_string(),
        Field::Sequence => project.sequence.to_string(),
        Field::ImageSide => project.image_side.to_string(),
        Field::Frames => project.frames.to_string(),
        Field::Objects => project.objects.to_string(),
        Field::Classes => project.classes.map(|n| n.to_string()).unwrap_or_default(),
        Field::AudioSeconds => short(project.audio_seconds),
        Field::CachedLatents => switch(project.cached_latents),
        Field::TextEncoders => project.text_encoders.id().to_string(),
        Field::BlockSwap => short(project.block_swap),
        Field::Ema => switch(project.ema),
        Field::Offload => project.offload.id().to_string(),
        Field::Objective => project.objective.id().to_string(),
        Field::Task => project.task.id().to_string(),
        Field::Framework => project.framework.id().to_string(),
        Field::Samples => project.samples.to_string(),
        Field::Epochs => short(project.epochs),
        Field::Gpu if project.hardware.no_gpu => NO_GPU.to_string(),
        Field::Gpu => project.hardware.gpu.clone(),
        Field::Count => project.hardware.count.to_string(),
        Field::Desktop => switch(project.hardware.desktop),
        Field::Sharding => project.hardware.sharding.id().to_string(),
        Field::Interconnect => project.hardware.wires.link.id().to_string(),
        Field::Network => project.hardware.wires.network.id().to_string(),
        Field::Machines => unless_zero(project.hardware.wires.machines),
        Field::Tensor => project.hardware.parallel.tensor.to_string(),
        Field::Pipeline => project.hardware.parallel.pipeline.to_string(),
        Field::Chunks => project.hardware.parallel.chunks.to_string(),
        Field::Context => project.hardware.parallel.context.to_string(),
        Field::Expert => project.hardware.parallel.expert.to_string(),
        Field::Group => unless_zero(project.hardware.parallel.group),
        Field::BudgetLimit => project.budget.limit.map(short).unwrap_or_default(),
        Field::Currency => currency_id(project.budget.currency).to_string(),
        Field::Place => project.prices.place.id().to_string(),
        Field::Electricity => amount(project, project.prices.electricity),
        Field::ExchangeRate => short(project.prices.cny_per_usd),
        Field::HoursAWeek => short(project.prices.hours_a_week),
        Field::PriceCard => prices::priced_card(project).to_string(),
        Field::PriceRent => card_price(project, PriceKind::Rent),
        Field::PriceNew => card_price(project, PriceKind::New),
        Field::PriceUsed => card_price(project, PriceKind::Used),
    }
}

fn unless_zero(count: u32) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

fn amount(project: &Project, price: Option<Money>) -> String {
    prices::shown(project, price).map(short).unwrap_or_default()
}

fn card_price(project: &Project, kind: PriceKind) -> String {
    amount(project, project.prices.of(prices::priced_card(project)).and_then(|c| c.get(kind)))
}

/// At most four decimals and no trailing zeros: `2.1`, `400`.
fn short(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    decimal::short(if rounded == 0.0 { value } else { rounded })
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_string()
}

/// The stable id of a currency.
pub const fn currency_id(currency: Currency) -> &'static str {
    match currency {
        Currency::Usd => "usd",
        Currency::Cny => "cny",
    }
}
