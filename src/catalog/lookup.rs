//! Finding a model or a card by what people type: `4090`, `3060 12g`, `qwen2.5 7b`, `Qwen/Qwen2.5-7B-Instruct`, `千问`.
//!
//! Names are compared as words and numbers. Words may carry typing errors; a wrong number ranks far below, since it is
//! another thing. What people call a family or a variant stands in `data/aliases.csv`.

mod query;
mod score;
mod token;

use super::{Catalog, Gpu, Model, tables};
use query::{FAMILY, Query, sort};

/// What people type for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// What is typed.
    pub typed: &'static str,
    /// Id of the row that is meant.
    pub id: &'static str,
    /// Whether it can mean nothing else.
    pub sure: bool,
}

/// A row that answers a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<T> {
    /// The row.
    pub item: T,
    /// 0 to 1: how well it answers.
    pub score: f64,
    /// It can mean nothing else: take it without asking. Otherwise only offer it.
    pub exact: bool,
}

/// Score of the model of a preset whose name holds the query.
const BY_PRESET: f64 = 0.6;

impl Catalog {
    /// Models that answer `query`, best first, at most `limit`.
    ///
    /// ```
    /// let catalog = enough_gpu::catalog::Catalog::bundled();
    /// let hits = catalog.find_models("unsloth/Qwen2.5-7B-Instruct-bnb-4bit", 5);
    /// assert_eq!((hits[0].item.id, hits[0].exact), ("qwen2.5-7b", true));
    /// let hits = catalog.find_models("千问", 5);
    /// assert_eq!((hits[0].item.id, hits[0].exact), ("qwen2.5-7b", false));
    /// ```
    pub fn find_models(&self, query: &str, limit: usize) -> Vec<Hit<&Model>> {
        let query = Query::of_model(query);
        let mut hits = query.search(&self.models, tables::MODEL_ALIASES);
        self.add_by_preset(query.raw(), &mut hits);
        self.prefer_asked_for(&mut hits, limit);
        query.settle(&mut hits);
        hits.truncate(limit);
        hits
    }

    /// Cards that answer `query`, best first, at most `limit`.
    pub fn find_gpus(&self, query: &str, limit: usize) -> Vec<Hit<&Gpu>> {
        let query = Query::of_gpu(query);
        let mut hits = query.search(&self.gpus, tables::GPU_ALIASES);
        query.settle(&mut hits);
        hits.truncate(limit);
        hits
    }

    /// The model that `text` names, if it can mean no other.
    pub fn resolve_model(&self, text: &str) -> Option<&Model> {
        self.find_models(text, 1).into_iter().find(|hit| hit.exact).map(|hit| hit.item)
    }

    /// The card that `text` names, if it can mean no other.
    pub fn resolve_gpu(&self, text: &str) -> Option<&Gpu> {
        self.find_gpus(text, 1).into_iter().find(|hit| hit.exact).map(|hit| hit.item)
    }

    /// Adds the models of presets whose name holds the query: `工笔`, `joke`.
    fn add_by_preset<'a>(&'a self, query: &str, hits: &mut Vec<Hit<&'a Model>>) {
        let wanted = query.to_lowercase();
        let enough = if wanted.is_ascii() { 4 } else { 2 };
        if wanted.chars().count() < enough {
            return;
        }
        let named = self.presets.iter().filter(|preset| {
            preset.name_zh.to_lowercase().contains(&wanted) || preset.name_en.to_lowercase().contains(&wanted)
        });
        for model in named.filter_map(|preset| self.model(preset.model)) {
            match hits.iter_mut().find(|hit| hit.item.id == model.id) {
                Some(hit) => hit.score = hit.score.max(BY_PRESET),
                None => hits.push(Hit { item: model, score: BY_PRESET, exact: false }),
            }
        }
        sort(hits);
    }

    /// Among equals, models that somebody has a preset for come first.
    fn prefer_asked_for(&self, hits: &mut Vec<Hit<&Model>>, limit: usize) {
        hits.truncate(limit.saturating_mul(4).max(40));
        for hit in hits.iter_mut().filter(|hit| hit.score < FAMILY) {
            if self.presets.iter().any(|preset| preset.model == hit.item.id) {
                hit.score += 0.01;
            }
        }
        sort(hits);
    }
}
