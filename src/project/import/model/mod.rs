//! What a model is made of: configurations, indexes and headers of weights, tables of layers, names.
//!
//! | file | reads |
//! | --- | --- |
//! | `config` | `config.json` of transformers and of what follows it |
//! | `diffusers` | `model_index.json` and the `config.json` of a denoiser |
//! | `weights` | the index or header of safetensors, the header of GGUF |
//! | `table` | what torchinfo, torchsummary and Keras print |
//! | `name` | `owner/name`, and addresses of model pages |

mod config;
mod diffusers;
mod families;
mod gguf;
mod json;
mod name;
mod table;
mod weights;

pub(in crate::project::import) use json::Json;

use super::{Basis, Hints, Note, Piece, Reading, Text, TextKind};
use crate::catalog::{Catalog, LanguageModel, Model};
use crate::project::Field;

/// Reads a model's file in text form.
pub fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) {
    if reading.kind != TextKind::Unknown {
        return;
    }
    if text.as_str().contains('{')
        && let Some(json) = Json::find(text.as_str())
    {
        let read = diffusers::read(&json, text, hints, reading)
            || weights::read_index(&json, text, hints, reading)
            || config::read(&json, text, hints, reading);
        if read {
            reading.is(TextKind::Model);
            return;
        }
    }
    if table::read(text, reading) || name::read(text, hints, reading) {
        reading.is(TextKind::Model);
    }
}

/// Reads the beginning of a binary file of weights; `None` where it is none.
pub fn read_binary(bytes: &[u8], hints: Hints<'_>) -> Option<Reading> {
    let mut reading = Reading { kind: TextKind::Model, ..Reading::default() };
    let read = gguf::read(bytes, hints, &mut reading) || weights::read_header(bytes, hints, &mut reading);
    read.then_some(reading)
}

/// A language model by its numbers, as far as a file gives them.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// What the file calls the model, or empty.
    name: String,
    layers: Option<u64>,
    hidden: Option<u64>,
    intermediate: Option<u64>,
    heads: Option<u64>,
    kv_heads: Option<u64>,
    head_dim: Option<u64>,
    vocab: Option<u64>,
    tied: Option<bool>,
    experts: Option<u64>,
    experts_per_token: Option<u64>,
    expert_width: Option<u64>,
}

impl Shape {
    /// Whether a model of the catalog has these numbers; those that are not given do not count.
    fn is(&self, model: &LanguageModel) -> bool {
        let same = |given: Option<u64>, has: u32| given.is_none_or(|n| n == u64::from(has));
        let mlp = if model.moe_experts > 0 && self.expert_width.is_none() {
            same(self.intermediate, model.moe_intermediate) || same(self.intermediate, model.intermediate)
        } else {
            same(self.intermediate, model.intermediate) || model.moe_experts > 0
        };
        self.layers.is_some()
            && self.hidden.is_some()
            && same(self.layers, model.layers)
            && same(self.hidden, model.hidden)
            && same(self.heads, model.heads)
            && same(self.kv_heads, model.kv_heads)
            && same(self.vocab, model.vocab)
            && self.experts.unwrap_or(0) == u64::from(model.moe_experts)
            && self.tied.is_none_or(|tied| tied == model.tied_embeddings)
            && mlp
    }

    /// Adds the model to the reading: by its name where the catalog has one with these numbers, else by the numbers.
    /// False where the numbers are too few.
    fn tell(&self, kind: &str, from: &Piece, hints: Hints<'_>, reading: &mut Reading) -> bool {
        let (Some(layers), Some(hidden)) = (self.layers, self.hidden) else { return false };
        let catalog = hints.catalog;
        let like = families::like(kind, self, catalog);
        let language = || catalog.models.iter().filter_map(|m| m.language().map(|l| (m, l)));
        let family = like.and_then(Model::language).map(|l| l.family);
        let called = named(catalog, &self.name).map(|m| m.id);
        let found = language()
            .filter(|(_, l)| self.is(l))
            .max_by_key(|(m, l)| (Some(m.id) == called, Some(l.family) == family, std::cmp::Reverse(m.id.len())));
        if let Some((model, _)) = found {
            // The same numbers in a kind of network that is not known: likely the same, but the file does not say so. So
            // it is where it calls itself otherwise.
            let other = called.is_some_and(|called| called != model.id);
            let basis = if like.is_some() && !other { Basis::Stated } else { Basis::Implied };
            reading.add(Field::Model, model.id, basis, from.clone());
            return true;
        }
        if families::is_recurrent(kind) {
            reading.notes.push(Note::NoAttention(kind.to_owned()));
            return true;
        }
        if like.is_none() {
            reading.notes.push(Note::UnknownKind(kind.to_owned()));
        }
        let mut missing = Vec::new();
        let mut or = |given: Option<u64>, usual: u64, name: &'static str| {
            given.unwrap_or_else(|| {
                missing.push(name);
                usual
            })
        };
        let known = like.and_then(Model::language);
        let heads = or(self.heads, (hidden / self.head_dim.unwrap_or(128).max(1)).max(1), "heads");
        let kv_heads = self.kv_heads.unwrap_or(heads);
        // Four times the width, as in the first transformers; gated ones have about as many weights with 8/3.
        let gated = known.is_none_or(|l| l.gated);
        let intermediate = or(self.intermediate, if gated { hidden * 8 / 3 } else { hidden * 4 }, "intermediate");
        let vocab = or(self.vocab, known.map_or(32_000, |l| u64::from(l.vocab)), "vocab");
        let numbers = [
            (Field::CustomLayers, layers),
            (Field::CustomHidden, hidden),
            (Field::CustomIntermediate, intermediate),
            (Field::CustomHeads, heads),
            (Field::CustomKvHeads, kv_heads),
            (Field::CustomVocab, vocab),
        ];
        reading.add(Field::Model, crate::project::fields::CUSTOM_MODEL, Basis::Stated, from.clone());
        for (field, number) in numbers {
            reading.add(field, number.to_string(), Basis::Stated, from.clone());
        }
        if let Some(like) = like {
            reading.add_key("like", like.id, Basis::Implied, from.clone());
        }
        let tied = self.tied.or_else(|| known.map(|l| l.tied_embeddings)).unwrap_or(false);
        reading.add_key("tied", if tied { "on" } else { "off" }, Basis::Stated, from.clone());
        let own_heads = self.head_dim.filter(|d| d.saturating_mul(heads) != hidden);
        // Heads that do not share the width out have a size of their own, or the numbers are not understood.
        let head_dim = own_heads.or_else(|| (!hidden.is_multiple_of(heads)).then(|| (hidden / heads).max(1)));
        let extras = [
            ("head-dim", head_dim),
            ("experts", self.experts),
            ("experts-per-token", self.experts_per_token.filter(|_| self.experts.is_some())),
            ("expert-width", self.expert_width.filter(|_| self.experts.is_some())),
        ];
        for (key, number) in extras {
            if let Some(number) = number {
                reading.add_key(key, number.to_string(), Basis::Stated, from.clone());
            }
        }
        if !missing.is_empty() {
            reading.notes.push(Note::Assumed(missing));
        }
        true
    }
}

/// The model that a text names, whatever is hung on to its name.
fn named<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Model> {
    catalog.resolve_model(name)
}
