//! Finding a model or a card by what people type: `4090`, `3060 12g`, `qwen2.5 7b`, `Qwen/Qwen2.5-7B-Instruct`, `千问`.
//!
//! Names are compared as words and numbers. Words may carry typing errors; a wrong number ranks far below, since it is
//! another thing. What people call a family or a variant stands in `data/aliases.csv`.

mod query;
mod score;
mod token;

use super::{Catalog, Gpu, Model, tables};
use query::{FAMILY, Found, Names, Query, keep_best};

/// What people type for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// What is typed.
    pub typed: &'static str,
    /// Id of the row that is meant, or the words that stand in names.
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
        let rows: Vec<Names> = self.models.iter().map(|m| names(m.id, m.name, m.repo, None)).collect();
        let mut found = query.search(&rows, tables::model_aliases());
        self.add_by_preset(query.raw(), &rows, &mut found);
        keep_best(&mut found, limit.saturating_mul(2).max(20));
        self.prefer_asked_for(&mut found);
        keep_best(&mut found, limit.max(20));
        query.settle(&mut found, &rows);
        hits(&self.models, &found, limit)
    }

    /// Cards that answer `query`, best first, at most `limit`.
    pub fn find_gpus(&self, query: &str, limit: usize) -> Vec<Hit<&Gpu>> {
        let query = Query::of_gpu(query);
        let memory = |gpu: &Gpu| Some((gpu.memory.gib() * 1000.0).round() as u64);
        let rows: Vec<Names> = self.gpus.iter().map(|g| names(g.id, g.name, "", memory(g))).collect();
        let mut found = query.search(&rows, tables::gpu_aliases());
        keep_best(&mut found, limit.max(20));
        query.settle(&mut found, &rows);
        hits(&self.gpus, &found, limit)
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
    fn add_by_preset(&self, query: &str, rows: &[Names], found: &mut Vec<Found>) {
        let wanted = query.to_ascii_lowercase();
        let enough = if wanted.is_ascii() { 4 } else { 2 };
        if wanted.chars().count() < enough {
            return;
        }
        for preset in self.presets.iter() {
            let named = [preset.name_zh, preset.name_en].iter().any(|n| n.to_ascii_lowercase().contains(&wanted));
            let Some(place) = rows.iter().position(|row| named && row.id == preset.model) else { continue };
            match found.iter_mut().find(|hit| hit.place == place) {
                Some(hit) => hit.score = hit.score.max(BY_PRESET),
                None => found.push(Found { place, score: BY_PRESET, exact: false }),
            }
        }
    }

    /// Among equals, models that somebody has a preset for come first.
    fn prefer_asked_for(&self, found: &mut [Found]) {
        for hit in found.iter_mut().filter(|hit| hit.score < FAMILY) {
            let model = self.models.get(hit.place).map(|model| model.id);
            if self.presets.iter().any(|preset| Some(preset.model) == model) {
                hit.score += 0.01;
            }
        }
    }
}

fn names(id: &'static str, name: &'static str, repo: &'static str, memory: Option<u64>) -> Names {
    Names { id, name, repo, memory }
}

/// The first `limit` of what was found, with their rows.
fn hits<'a, T>(rows: &'a [T], found: &[Found], limit: usize) -> Vec<Hit<&'a T>> {
    let row = |hit: &Found| Some(Hit { item: rows.get(hit.place)?, score: hit.score, exact: hit.exact });
    found.iter().take(limit).filter_map(row).collect()
}
