//! Every field of the form as data: what kind it is, what it allows, how its text becomes a value and back.

use super::number::{self, Kilo, NotNumber};
use super::{
    Attention, BaseFormat, Checkpointing, Choice, CustomModel, CustomNetwork, Field, Framework, Interconnect,
    LanguageTask, LoraTargets, LossKernel, Method, Network, Objective, Offload, Optimizer, OptimizerImpl, Parallel,
    Place, Precision, PriceKind, Project, Sharding, TextEncoders, prices,
};
use crate::catalog::{Catalog, Gpu};
use crate::units::{Currency, Money, decimal};

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
        Field::BudgetLimit => optional(0.0, 1e12),
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

/// Reads what was typed into a field and sets it. On an error the project is as before.
///
/// ```
/// use enough_gpu::catalog::Catalog;
/// use enough_gpu::project::{Field, FieldError, Project, fields};
///
/// let (mut project, catalog) = (Project::default(), Catalog::bundled());
/// assert_eq!(fields::set(&mut project, Field::Sequence, "２k", &catalog), Ok(()));
/// assert_eq!(project.sequence, 2048);
/// assert!(matches!(fields::set(&mut project, Field::Sequence, "-5", &catalog), Err(FieldError::OutOfRange(_))));
/// assert_eq!(project.sequence, 2048);
/// ```
pub fn set(project: &mut Project, field: Field, raw: &str, catalog: &Catalog) -> Result<(), FieldError> {
    match kind(field) {
        Kind::Number(range) => {
            let value = read_number(field, room(project, field, range), raw)?;
            set_number(project, field, value);
            if field == Field::BudgetLimit
                && let Some(currency) = currency_of(raw)
            {
                project.budget.currency = currency;
            }
        }
        Kind::Toggle => {
            let on = read_switch(raw)?;
            match field {
                Field::CachedLatents => project.cached_latents = on,
                Field::Ema => project.ema = on,
                _ => project.hardware.desktop = on,
            }
        }
        Kind::Choice => set_choice(project, field, raw.trim())?,
        Kind::Search => set_row(project, field, raw.trim(), catalog)?,
    }
    Ok(())
}

/// The currency that is typed with an amount.
fn currency_of(raw: &str) -> Option<Currency> {
    let small = raw.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    if has(&["$", "＄", "usd", "美元", "美金", "刀"]) {
        return Some(Currency::Usd);
    }
    has(&["¥", "￥", "cny", "rmb", "元", "块"]).then_some(Currency::Cny)
}

/// The range of a number on these cards: no model is cut over more of them than there are.
fn room(project: &Project, field: Field, range: Range) -> Range {
    let hardware = &project.hardware;
    let (cut, count) = (hardware.parallel, f64::from(hardware.count.max(1)));
    let own = match field {
        Field::Tensor => cut.tensor,
        Field::Pipeline => cut.pipeline,
        Field::Context => cut.context,
        Field::Expert | Field::Machines | Field::Group => return Range { max: count, ..range },
        _ => return range,
    };
    let others = cut.model() / u64::from(own.max(1));
    Range { max: (count / others as f64).floor().max(1.0), ..range }
}

/// The number in a text, checked against the field's range; `None` where the field may be and is empty.
fn read_number(field: Field, range: Range, raw: &str) -> Result<Option<f64>, FieldError> {
    let typed = if field == Field::ImageSide { side(raw) } else { None };
    let value = match typed.map_or_else(|| number::parse(raw, kilo(field)), Ok) {
        Err(NotNumber::Empty) if range.optional => return Ok(None),
        Err(NotNumber::Empty) => return Err(FieldError::Empty(Kind::Number(range))),
        Err(NotNumber::Unreadable) => return Err(FieldError::NotANumber(range)),
        Ok(value) => value,
    };
    // `100 %` of a rank makes no sense, but 0.8 written as `80` for a share does.
    if !(range.min..=range.max).contains(&value) {
        return Err(FieldError::OutOfRange(range));
    }
    if range.whole && value.fract() != 0.0 {
        return Err(FieldError::NotWhole { below: value.floor().max(range.min), above: value.ceil() });
    }
    Ok(Some(value))
}

/// `832x480` as the side of a square with as many pixels.
fn side(raw: &str) -> Option<f64> {
    let lower = raw.to_ascii_lowercase();
    let (width, height) = lower.split_once(['x', '×', '*', 'Ｘ', 'ｘ'])?;
    let width = number::parse(width, Kilo::Binary).ok()?;
    let height = number::parse(height, Kilo::Binary).ok()?;
    (width > 0.0 && height > 0.0).then(|| (width * height).sqrt().round())
}

fn set_number(project: &mut Project, field: Field, value: Option<f64>) {
    let number = value.unwrap_or_default();
    let whole = number as u64;
    // A model that has a name has its numbers, and a network is no language model.
    let custom = |project: &mut Project, set: fn(&mut CustomModel, u64)| {
        if project.model.is_empty() && project.network.is_none() {
            set(project.custom.get_or_insert_with(CustomModel::default), whole);
        }
    };
    let network = |project: &mut Project, set: fn(&mut CustomNetwork, u64)| {
        if project.model.is_empty() && project.custom.is_none() {
            set(project.network.get_or_insert_with(CustomNetwork::default), whole);
        }
    };
    match field {
        Field::CustomLayers => custom(project, |m, v| m.layers = v),
        Field::CustomHidden => custom(project, |m, v| m.hidden = v),
        Field::CustomIntermediate => custom(project, |m, v| m.intermediate = v),
        Field::CustomHeads => custom(project, |m, v| m.heads = v),
        Field::CustomKvHeads => custom(project, |m, v| m.kv_heads = v),
        Field::CustomVocab => custom(project, |m, v| m.vocab = v),
        Field::NetworkParams => network(project, |n, v| n.params = v),
        Field::NetworkOutputs => network(project, |n, v| n.outputs = v),
        Field::LoraRank => project.lora.rank = whole,
        Field::LoraDropout => project.lora.dropout = number,
        Field::FrozenShare => project.frozen_share = number,
        Field::BlockSwap => project.block_swap = number,
        Field::MicroBatch => project.micro_batch = whole,
        Field::Accumulation => project.accumulation = whole,
        Field::Sequence => project.sequence = whole,
        Field::ImageSide => project.image_side = whole,
        Field::Frames => project.frames = whole,
        Field::Objects => project.objects = whole,
        Field::Classes => project.classes = value.map(|n| n as u64),
        Field::AudioSeconds => project.audio_seconds = number,
        Field::Samples => project.samples = whole,
        Field::Epochs => project.epochs = number,
        Field::Count => set_count(project, clip(whole)),
        Field::Machines => project.hardware.wires.machines = clip(whole),
        Field::Tensor => project.hardware.parallel.tensor = clip(whole),
        Field::Pipeline => project.hardware.parallel.pipeline = clip(whole),
        Field::Chunks => project.hardware.parallel.chunks = clip(whole),
        Field::Context => project.hardware.parallel.context = clip(whole),
        Field::Expert => project.hardware.parallel.expert = clip(whole),
        Field::Group => project.hardware.parallel.group = clip(whole),
        Field::Electricity => project.prices.electricity = prices::typed(project, value),
        Field::ExchangeRate => project.prices.cny_per_usd = number,
        Field::HoursAWeek => project.prices.hours_a_week = number,
        Field::PriceRent => set_price(project, PriceKind::Rent, value),
        Field::PriceNew => set_price(project, PriceKind::New, value),
        Field::PriceUsed => set_price(project, PriceKind::Used, value),
        _ => project.budget.limit = value,
    }
}

fn clip(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Fewer cards than a model is cut over make that cut void.
fn set_count(project: &mut Project, count: u32) {
    let hardware = &mut project.hardware;
    hardware.count = count;
    let cut = &mut hardware.parallel;
    if cut.model() > u64::from(count) || cut.expert.max(cut.group) > count {
        *cut = Parallel::default();
    }
    hardware.wires.machines = hardware.wires.machines.min(count);
}

fn set_price(project: &mut Project, kind: PriceKind, value: Option<f64>) {
    let (card, price) = (prices::priced_card(project).to_string(), prices::typed(project, value));
    project.prices.set(&card, kind, price);
}

fn read_switch(raw: &str) -> Result<bool, FieldError> {
    match raw.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "开" | "是" => Ok(true),
        "off" | "false" | "no" | "0" | "关" | "否" => Ok(false),
        _ => Err(FieldError::Unknown { suggestions: vec!["on".to_string(), "off".to_string()] }),
    }
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_string()
}

fn set_choice(project: &mut Project, field: Field, id: &str) -> Result<(), FieldError> {
    match field {
        Field::Method => {
            let method = read_choice(id)?;
            // PEFT's `prepare_model_for_kbit_training` turns checkpointing on unless told otherwise.
            if method == Method::QLora && project.method != method && project.checkpointing == Checkpointing::Off {
                project.checkpointing = Checkpointing::PerBlock;
            }
            project.method = method;
        }
        Field::LoraTargets => project.lora.targets = read_choice::<LoraTargets>(id)?,
        Field::Precision => project.precision = read_choice::<Precision>(id)?,
        Field::Base => project.base = read_choice::<BaseFormat>(id)?,
        Field::Optimizer => project.optimizer = read_choice::<Optimizer>(id)?,
        Field::OptimizerImpl => project.optimizer_impl = read_choice::<OptimizerImpl>(id)?,
        Field::Checkpointing => project.checkpointing = read_choice::<Checkpointing>(id)?,
        Field::Attention => project.attention = read_choice::<Attention>(id)?,
        Field::Loss => project.loss = read_choice::<LossKernel>(id)?,
        Field::Offload => project.offload = read_choice::<Offload>(id)?,
        Field::Objective => project.objective = read_choice::<Objective>(id)?,
        Field::TextEncoders => project.text_encoders = read_choice::<TextEncoders>(id)?,
        Field::Task => project.task = read_choice::<LanguageTask>(id)?,
        Field::Framework => project.framework = read_choice::<Framework>(id)?,
        Field::Sharding => project.hardware.sharding = read_choice::<Sharding>(id)?,
        Field::Interconnect => project.hardware.wires.link = read_choice::<Interconnect>(id)?,
        Field::Network => project.hardware.wires.network = read_choice::<Network>(id)?,
        Field::Place => project.prices.place = read_choice::<Place>(id)?,
        _ => {
            project.budget.currency = match id {
                "usd" => Currency::Usd,
                "cny" => Currency::Cny,
                _ => return Err(FieldError::Unknown { suggestions: vec!["cny".to_string(), "usd".to_string()] }),
            }
        }
    }
    Ok(())
}

fn read_choice<C: Choice>(id: &str) -> Result<C, FieldError> {
    C::from_id(id)
        .ok_or_else(|| FieldError::Unknown { suggestions: C::ALL.iter().map(|c| c.id().to_string()).collect() })
}

/// The stable id of a currency.
pub const fn currency_id(currency: Currency) -> &'static str {
    match currency {
        Currency::Usd => "usd",
        Currency::Cny => "cny",
    }
}

/// A card by its id or by a name that can mean nothing else.
fn find_gpu<'a>(raw: &str, catalog: &'a Catalog) -> Option<&'a Gpu> {
    let same = |name: &str| !raw.is_empty() && name.eq_ignore_ascii_case(raw);
    let named = |g: &&Gpu| same(g.name) || same(g.short_name());
    catalog.gpu(raw).or_else(|| catalog.gpus.iter().find(named)).or_else(|| catalog.resolve_gpu(raw))
}

/// Sets a field that names a row of the catalog, by its id or by a name that can mean nothing else.
fn set_row(project: &mut Project, field: Field, raw: &str, catalog: &Catalog) -> Result<(), FieldError> {
    let same = |name: &str| !raw.is_empty() && name.eq_ignore_ascii_case(raw);
    match field {
        Field::Gpu => match find_gpu(raw, catalog) {
            Some(gpu) => (project.hardware.gpu, project.hardware.no_gpu) = (gpu.id.to_string(), false),
            None if raw == NO_GPU || raw.is_empty() => {
                (project.hardware.gpu, project.hardware.no_gpu) = (String::new(), raw == NO_GPU);
            }
            None => return Err(FieldError::Unknown { suggestions: super::search::gpus(raw, catalog) }),
        },
        Field::PriceCard => match find_gpu(raw, catalog) {
            Some(gpu) => project.prices.card = gpu.id.to_string(),
            None if raw.is_empty() => project.prices.card = String::new(),
            None => return Err(FieldError::Unknown { suggestions: super::search::gpus(raw, catalog) }),
        },
        Field::Model => {
            if raw.is_empty() {
                return Err(FieldError::Empty(Kind::Search));
            }
            let before = super::relevant::domain(project, catalog);
            if raw == CUSTOM_MODEL {
                project.custom.get_or_insert_with(CustomModel::default);
                project.network = None;
                project.model.clear();
            } else if raw == CUSTOM_NETWORK {
                project.network.get_or_insert_with(CustomNetwork::default);
                project.custom = None;
                project.model.clear();
            } else {
                let found = catalog
                    .model(raw)
                    .or_else(|| catalog.models.iter().find(|m| same(m.name) || same(m.repo)))
                    .or_else(|| catalog.resolve_model(raw))
                    .ok_or_else(|| FieldError::Unknown { suggestions: super::search::models(raw, catalog) })?;
                if project.model == found.id {
                    return Ok(());
                }
                project.model = found.id.to_string();
                (project.custom, project.network) = (None, None);
            }
            super::relevant::adapt(project, before, catalog);
        }
        _ => {
            let preset = catalog
                .preset(raw)
                .or(catalog.presets.iter().find(|p| same(p.name_zh) || same(p.name_en)))
                .ok_or_else(|| FieldError::Unknown { suggestions: super::search::presets(raw, catalog) })?;
            let (mut hardware, budget, prices) = (project.hardware.clone(), project.budget, project.prices.clone());
            *project = Project::from_preset(preset, catalog);
            hardware.sharding = project.hardware.sharding;
            (project.hardware, project.budget, project.prices) = (hardware, budget, prices);
        }
    }
    Ok(())
}
