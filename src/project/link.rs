//! The project as a link: `model=qwen2.5-7b&method=qlora&seq=2048&have=rtx-4060-ti-16gb&lang=zh`.
//!
//! What stands in an address after `#` (or after `?`, as a blog's author writes it): readable, made to be edited by
//! hand, and only what differs from the defaults. Keys and the ids of choices are promised: a link that worked once
//! works in every later version. Anything can be read; what cannot be understood is told and the rest is kept.
//!
//! | key | what |
//! | --- | --- |
//! | `preset`, `model` | a project or a model of the catalog, by its id or a name that can mean nothing else; `model=custom` with `layers`, `hidden`, `intermediate`, `heads`, `kv-heads`, `vocab`, `tied`, `like` (the model whose code it shares), `head-dim`, `experts`, `experts-per-token`, `expert-width`; `model=network` with `params`, `outputs`, `trained-params`, `widest`, `macs` |
//! | `method`, `rank`, `targets`, `dropout`, `frozen` | what is trained |
//! | `precision`, `base`, `optimizer`, `optimizer-impl`, `checkpointing`, `attention`, `loss`, `offload`, `ema` | how |
//! | `batch`, `accumulation`, `seq`, `side`, `frames`, `objects`, `classes`, `seconds`, `cached-latents`, `block-swap` | the size of a step |
//! | `objective`, `task`, `framework`, `samples`, `epochs` | the run |
//! | `have`, `count`, `desktop`, `sharding` | the cards; `have=none` for no GPU |
//! | `interconnect`, `machines`, `network` | what joins them |
//! | `tensor`, `pipeline`, `chunks`, `context`, `expert`, `group` | how the model is cut over them |
//! | `budget`, `currency` | the money |
//! | `electricity-in`, `electricity`, `cny-per-usd`, `hours-a-week` | prices that the person knows better |
//! | `rent`, `price-new`, `price-used` | what the card costs, or the one that `price-card` names |
//! | `prices` | what other cards cost: `rtx-3090:0.2::700,a100-sxm-80gb:1.5` is id, rent for an hour, new, used |
//! | `measured`, `meter` | what the run really took, in GiB, and by which meter: `smi`, `allocated`, `reserved` |
//! | `lang`, `theme` | `zh` or `en`; `light` or `dark` |
//! | `embed`, `lock` | the compact form for a frame in another page; keys that its reader cannot change: `lock=model,method` |

use super::custom::{self, CustomModel, CustomNetwork};
use super::fields::{self, CUSTOM_MODEL, CUSTOM_NETWORK, FieldError, NO_GPU};
use super::percent::{decoded, encoded};
use super::{Applied, Choice, Field, Measurement, Meter, Project, Typed, apply};
use crate::catalog::Catalog;
use crate::units::Currency;
use crate::units::decimal;
use std::fmt::Write as _;

/// One list for both directions; a field without a key does not compile.
macro_rules! keys {
    ($($key:literal = $field:ident,)+) => {
        /// Keys and their fields, in the order they are written.
        pub const KEYS: &[(&str, Field)] = &[$(($key, Field::$field),)+];

        /// The key of a field.
        pub const fn key_of(field: Field) -> &'static str {
            match field {
                $(Field::$field => $key,)+
            }
        }
    };
}

keys! {
    "preset" = Preset,
    "model" = Model,
    "layers" = CustomLayers,
    "hidden" = CustomHidden,
    "intermediate" = CustomIntermediate,
    "heads" = CustomHeads,
    "kv-heads" = CustomKvHeads,
    "vocab" = CustomVocab,
    "params" = NetworkParams,
    "outputs" = NetworkOutputs,
    "method" = Method,
    "rank" = LoraRank,
    "targets" = LoraTargets,
    "dropout" = LoraDropout,
    "frozen" = FrozenShare,
    "precision" = Precision,
    "base" = Base,
    "optimizer" = Optimizer,
    "optimizer-impl" = OptimizerImpl,
    "checkpointing" = Checkpointing,
    "attention" = Attention,
    "loss" = Loss,
    "batch" = MicroBatch,
    "accumulation" = Accumulation,
    "seq" = Sequence,
    "side" = ImageSide,
    "frames" = Frames,
    "objects" = Objects,
    "classes" = Classes,
    "seconds" = AudioSeconds,
    "cached-latents" = CachedLatents,
    "text-encoders" = TextEncoders,
    "block-swap" = BlockSwap,
    "ema" = Ema,
    "offload" = Offload,
    "objective" = Objective,
    "task" = Task,
    "framework" = Framework,
    "samples" = Samples,
    "epochs" = Epochs,
    "have" = Gpu,
    "count" = Count,
    "desktop" = Desktop,
    "sharding" = Sharding,
    "interconnect" = Interconnect,
    "machines" = Machines,
    "network" = Network,
    "tensor" = Tensor,
    "pipeline" = Pipeline,
    "chunks" = Chunks,
    "context" = Context,
    "expert" = Expert,
    "group" = Group,
    "budget" = BudgetLimit,
    "currency" = Currency,
    "electricity-in" = Place,
    "electricity" = Electricity,
    "cny-per-usd" = ExchangeRate,
    "hours-a-week" = HoursAWeek,
    "price-card" = PriceCard,
    "rent" = PriceRent,
    "price-new" = PriceNew,
    "price-used" = PriceUsed,
}

/// Keys that say something about the page, with the values they take (none: any).
const OF_THE_PAGE: &[(&str, &[&str])] = &[
    ("lang", &["zh", "en"]),
    ("theme", &["light", "dark"]),
    ("embed", &["", "1", "on"]),
    ("lock", &[]),
    (MEASURED, &[]),
    (METER, &["smi", "allocated", "reserved"]),
];

/// Prices of cards beside the one that the form shows.
const PRICES: &str = "prices";
/// What the run of this project really took, and by which meter.
const MEASURED: &str = "measured";
/// See [`MEASURED`].
const METER: &str = "meter";

/// A part of a link that was not understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Unread {
    /// The key as written.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with a part of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// No such key.
    Key,
    /// A known key, but it does not take this value, or not in this link.
    Value,
    /// The field does not take the value.
    Field(Field, FieldError),
}

/// A link, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
struct Part {
    key: String,
    value: String,
    /// Behind `?`, where hosts and messengers add keys of their own.
    in_query: bool,
}

impl Link {
    /// Takes the part of an address behind `?` and the part behind `#` apart; with or without these signs.
    ///
    /// ```
    /// use enough_gpu::catalog::Catalog;
    /// use enough_gpu::project::{Method, link::Link};
    /// use enough_gpu::units::Currency;
    ///
    /// let catalog = Catalog::bundled();
    /// let link = Link::new("", "#model=qwen2.5-7b&method=qlora&seq=2k&colour=red&lang=zh");
    /// let (project, unread) = link.project(Currency::Cny, &catalog).expect("it names a model");
    /// assert_eq!((project.method, project.sequence), (Method::QLora, 2048));
    /// assert_eq!(unread[0].key, "colour");
    /// assert_eq!(link.lang(), Some("zh"));
    /// ```
    pub fn new(query: &str, fragment: &str) -> Self {
        let query = query.strip_prefix('?').unwrap_or(query);
        let mut fragment = fragment.strip_prefix('#').unwrap_or(fragment).to_string();
        if !fragment.contains('=') && fragment.contains('%') {
            // Some messengers encode the whole fragment.
            fragment = decoded(&fragment);
        }
        let parts_of = |text: &str, in_query: bool| -> Vec<Part> {
            text.split('&')
                .filter(|part| !part.is_empty())
                .map(|part| {
                    let (key, value) = part.split_once('=').unwrap_or((part, ""));
                    Part { key: decoded(key).trim().to_ascii_lowercase(), value: decoded(value), in_query }
                })
                .collect()
        };
        let mut parts = parts_of(query, true);
        // A fragment without a single value is a place on the page, as `#answer`.
        if fragment.contains('=') || fragment.split('&').any(|key| is_known(&key.to_ascii_lowercase())) {
            parts.extend(parts_of(&fragment, false));
        }
        parts.retain(|part| !part.key.is_empty());
        Self { parts }
    }

    /// A link of these keys and values.
    pub fn of<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let part = |(key, value): (&str, &str)| Part { key: key.into(), value: value.into(), in_query: false };
        Self { parts: parts.into_iter().map(part).collect() }
    }

    /// Whether it says anything of a project.
    pub fn tells(&self) -> bool {
        self.parts.iter().any(|part| field_of(&part.key).is_some())
    }

    /// The language it asks for: `zh` or `en`.
    pub fn lang(&self) -> Option<&'static str> {
        self.one_of("lang")
    }

    /// The colours it asks for: `light` or `dark`.
    pub fn theme(&self) -> Option<&'static str> {
        self.one_of("theme")
    }

    /// Whether it asks for the compact form for a frame in another page.
    pub fn embed(&self) -> bool {
        self.one_of("embed").is_some()
    }

    /// What the run of its project really took.
    pub fn measurement(&self) -> Option<Measurement> {
        let meter = self.one_of(METER).and_then(Meter::from_id).unwrap_or_default();
        Measurement::read(self.value(MEASURED)?, meter)
    }

    /// The fields that its reader cannot change.
    pub fn locked(&self) -> Vec<Field> {
        self.value("lock").map(|list| list.split(',').filter_map(field_of).collect()).unwrap_or_default()
    }

    /// The project it tells of, and what in it was not understood; `None` where it tells of none. `usual` is the
    /// currency where it names no other.
    pub fn project(&self, usual: Currency, catalog: &Catalog) -> Option<(Project, Vec<Unread>)> {
        let (project, unread) = self.onto(&plain(usual), catalog);
        (self.tells() || !unread.is_empty()).then_some((project, unread))
    }

    /// A project with what the link tells put onto it, and what of it was not understood.
    pub fn onto(&self, base: &Project, catalog: &Catalog) -> (Project, Vec<Unread>) {
        let mut typed = Typed::new();
        let mut unread = Vec::new();
        for part in &self.parts {
            let refuse = |why| Unread { key: part.key.clone(), value: part.value.clone(), why };
            if let Some(field) = field_of(&part.key) {
                typed.insert(field, part.value.clone());
            } else if let Some((_, values)) = OF_THE_PAGE.iter().find(|(key, _)| *key == part.key) {
                if !values.is_empty() && !values.contains(&part.value.as_str()) {
                    unread.push(refuse(Why::Value));
                }
            } else if part.key != PRICES && !custom::is_extra(&part.key) && !part.in_query {
                unread.push(refuse(Why::Key));
            }
        }
        let model = typed.get(&Field::Model).map(|model| model.trim().to_owned());
        let mut base = base.clone();
        let (of_model, of_network) = (typed.keys().any(|f| is_custom(*f)), typed.keys().any(|f| is_network(*f)));
        match model.as_deref() {
            Some(CUSTOM_MODEL) => base.custom = Some(CustomModel::default()),
            Some(CUSTOM_NETWORK) => (base.custom, base.network) = (None, Some(CustomNetwork::default())),
            // Numbers without a model stand for one, where there is none with a name.
            None if base.model.is_empty() && base.custom.is_none() && base.network.is_none() => {
                base.custom = of_model.then(CustomModel::default);
                base.network = (of_network && !of_model).then(CustomNetwork::default);
            }
            _ => {}
        }
        for part in self.parts.iter().filter(|part| custom::is_extra(&part.key)) {
            if !custom::set_extra(&mut base, &part.key, &part.value, catalog) && !part.in_query {
                unread.push(Unread { key: part.key.clone(), value: part.value.clone(), why: Why::Value });
            }
        }
        if let Some(model) = model {
            // The numbers of a model that has a name are known.
            typed.retain(|field, value| {
                let foreign =
                    is_custom(*field) && model != CUSTOM_MODEL || is_network(*field) && model != CUSTOM_NETWORK;
                if foreign {
                    unread.push(Unread { key: key_of(*field).into(), value: value.clone(), why: Why::Value });
                }
                !foreign
            });
        }
        let Applied { mut project, errors } = apply(&base, &typed, catalog);
        if let Some(list) = self.value(PRICES) {
            let wrong = super::prices::read(&mut project, list, catalog);
            unread.extend(wrong.map(|value| Unread { key: PRICES.into(), value: value.into(), why: Why::Value }));
        }
        for (field, raw) in typed.iter() {
            // Also where the form would not show the field: the link said it.
            let alone = fields::set(&mut project.clone(), *field, raw, catalog).err();
            if let Some(error) = alone.or_else(|| errors.get(field).cloned()) {
                unread.push(Unread { key: key_of(*field).into(), value: raw.clone(), why: Why::Field(*field, error) });
            }
        }
        (project, unread)
    }

    /// The last value of a key.
    fn value(&self, key: &str) -> Option<&str> {
        self.parts.iter().rev().find(|part| part.key == key).map(|part| part.value.as_str())
    }

    /// The last value of a key of the page, where it is one that the key takes.
    fn one_of(&self, key: &str) -> Option<&'static str> {
        let (_, values) = OF_THE_PAGE.iter().find(|(known, _)| *known == key)?;
        let value = self.value(key)?;
        values.iter().find(|known| **known == value).copied()
    }
}

/// Writes a project as [`Link::project`] reads it: only what differs from the defaults, or from the preset it started
/// from.
pub fn write(project: &Project, usual: Currency, catalog: &Catalog) -> String {
    let mut link = String::new();
    let mut add = |key: &str, value: &str| {
        let sign = if link.is_empty() { "" } else { "&" };
        // Writing to a String cannot fail.
        let _ = write!(link, "{sign}{key}={}", encoded(value));
    };
    // A preset and a model bring values of their own: what is read after them is compared with those.
    let mut so_far = plain(usual);
    for field in [Field::Preset, Field::Model] {
        let value = fields::get(project, field);
        if value != fields::get(&so_far, field) && fields::set(&mut so_far, field, &value, catalog).is_ok() {
            add(key_of(field), &value);
        }
    }
    for (key, field) in KEYS.iter().filter(|(_, field)| !matches!(field, Field::Preset | Field::Model)) {
        let value = exact(project, *field);
        let counts = *field == Field::Currency && (project.budget.limit.is_some() || project.prices.edited());
        if counts || value != exact(&so_far, *field) {
            add(key, &value);
            // A method brings its own checkpointing.
            if *field == Field::Method {
                let _: Result<(), FieldError> = fields::set(&mut so_far, *field, &value, catalog);
            }
        }
    }
    for key in custom::MODEL_KEYS.iter().chain(custom::NETWORK_KEYS) {
        if let Some(value) = custom::extra(project, key) {
            add(key, &value);
        }
    }
    let prices = super::prices::write(project);
    if !prices.is_empty() {
        add(PRICES, &prices);
    }
    link
}

/// A measurement as [`Link::measurement`] reads it.
pub fn write_measurement(measurement: &Measurement) -> String {
    format!("{MEASURED}={}&{METER}={}", decimal::short(measurement.gib()), measurement.meter.id())
}

/// What a link that says nothing means.
fn plain(usual: Currency) -> Project {
    let mut project = Project::default();
    project.budget.currency = usual;
    project
}

/// The value of a field without the rounding of the form.
pub(super) fn exact(project: &Project, field: Field) -> String {
    let value = match field {
        Field::LoraDropout => project.lora.dropout,
        Field::FrozenShare => project.frozen_share,
        Field::AudioSeconds => project.audio_seconds,
        Field::BlockSwap => project.block_swap,
        Field::Epochs => project.epochs,
        Field::BudgetLimit => return project.budget.limit.map(decimal::short).unwrap_or_default(),
        // Written where it is another card than the person's own.
        Field::PriceCard => return project.prices.card.clone(),
        Field::Gpu if project.hardware.no_gpu => return NO_GPU.to_string(),
        _ => return fields::get(project, field),
    };
    decimal::short(value)
}

fn is_known(key: &str) -> bool {
    field_of(key).is_some()
        || key == PRICES
        || custom::is_extra(key)
        || OF_THE_PAGE.iter().any(|(known, _)| *known == key)
}

const fn is_network(field: Field) -> bool {
    matches!(field, Field::NetworkParams | Field::NetworkOutputs)
}

const fn is_custom(field: Field) -> bool {
    matches!(
        field,
        Field::CustomLayers
            | Field::CustomHidden
            | Field::CustomIntermediate
            | Field::CustomHeads
            | Field::CustomKvHeads
            | Field::CustomVocab
    )
}

/// The field of a key.
pub(super) fn field_of(key: &str) -> Option<Field> {
    let key = key.trim();
    KEYS.iter().find(|(known, _)| *known == key).map(|(_, field)| *field)
}
