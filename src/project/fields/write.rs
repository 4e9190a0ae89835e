//! From what was typed to the value of a field.

use super::{CUSTOM_MODEL, CUSTOM_NETWORK, FieldError, Kind, NO_GPU, Range, kilo, kind};
use crate::catalog::{Catalog, Gpu};
use crate::project::number::{self, Kilo, NotNumber};
use crate::project::{
    Checkpointing, Choice, CustomModel, CustomNetwork, Field, Framework, Method, Parallel, Precision, PriceKind,
    Project, prices, search, usual,
};
use crate::units::Currency;

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
    // "Full fp16 training is not supported with this recipe" (torchtune's recipes), whichever of the two was chosen last.
    if project.framework == Framework::Torchtune && project.precision == Precision::AmpFp16 {
        project.precision = Precision::AmpBf16;
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
        Field::LoraTargets => project.lora.targets = read_choice(id)?,
        Field::Precision => project.precision = read_choice(id)?,
        Field::Base => project.base = read_choice(id)?,
        Field::Optimizer => project.optimizer = read_choice(id)?,
        Field::OptimizerImpl => project.optimizer_impl = read_choice(id)?,
        Field::Checkpointing => project.checkpointing = read_choice(id)?,
        Field::Attention => project.attention = read_choice(id)?,
        Field::Loss => project.loss = read_choice(id)?,
        Field::Offload => project.offload = read_choice(id)?,
        Field::Objective => project.objective = read_choice(id)?,
        Field::TextEncoders => project.text_encoders = read_choice(id)?,
        Field::Task => project.task = read_choice(id)?,
        Field::Framework => project.framework = read_choice(id)?,
        Field::Sharding => project.hardware.sharding = read_choice(id)?,
        Field::Interconnect => project.hardware.wires.link = read_choice(id)?,
        Field::Network => project.hardware.wires.network = read_choice(id)?,
        Field::Place => project.prices.place = read_choice(id)?,
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
            None => return Err(FieldError::Unknown { suggestions: search::gpus(raw, catalog) }),
        },
        Field::PriceCard => match find_gpu(raw, catalog) {
            Some(gpu) => project.prices.card = gpu.id.to_string(),
            None if raw.is_empty() => project.prices.card = String::new(),
            None => return Err(FieldError::Unknown { suggestions: search::gpus(raw, catalog) }),
        },
        Field::Model => {
            if raw.is_empty() {
                return Err(FieldError::Empty(Kind::Search));
            }
            let before = project.clone();
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
                    .ok_or_else(|| FieldError::Unknown { suggestions: search::models(raw, catalog) })?;
                if project.model == found.id {
                    return Ok(());
                }
                project.model = found.id.to_string();
                (project.custom, project.network) = (None, None);
            }
            usual::adapt(project, &before, catalog);
        }
        _ => {
            let preset = catalog
                .preset(raw)
                .or(catalog.presets.iter().find(|p| same(p.name_zh) || same(p.name_en)))
                .ok_or_else(|| FieldError::Unknown { suggestions: search::presets(raw, catalog) })?;
            let (mut hardware, budget, prices) = (project.hardware.clone(), project.budget, project.prices.clone());
            *project = Project::from_preset(preset, catalog);
            hardware.sharding = project.hardware.sharding;
            (project.hardware, project.budget, project.prices) = (hardware, budget, prices);
        }
    }
    Ok(())
}
