//! Finds rows of the catalog by what people type, best first: `4090`, `3060 12g`, `qwen2.5 7b`, with a letter wrong.

use crate::catalog::{Catalog, Gpu, Model, Preset};

/// Suggestions beside an unknown name.
const SUGGESTIONS: usize = 3;

/// Below this likeness a row is not what was meant.
const ALIKE: f64 = 0.34;

/// The cards that match a text.
pub fn rank_gpus<'a>(text: &str, catalog: &'a Catalog) -> Vec<&'a Gpu> {
    rank(text, catalog.gpus.iter(), |g| [g.name, g.id, ""])
}

/// The models that match a text.
pub fn rank_models<'a>(text: &str, catalog: &'a Catalog) -> Vec<&'a Model> {
    rank(text, catalog.models.iter(), |m| [m.name, m.id, m.repo])
}

/// The presets that match a text.
pub fn rank_presets<'a>(text: &str, catalog: &'a Catalog) -> Vec<&'a Preset> {
    rank(text, catalog.presets.iter(), |p| [p.name_zh, p.name_en, p.model])
}

/// Ids of the cards that come closest to a text.
pub fn gpus(text: &str, catalog: &Catalog) -> Vec<String> {
    rank_gpus(text, catalog).into_iter().take(SUGGESTIONS).map(|g| g.id.to_string()).collect()
}

/// Ids of the models that come closest to a text.
pub fn models(text: &str, catalog: &Catalog) -> Vec<String> {
    rank_models(text, catalog).into_iter().take(SUGGESTIONS).map(|m| m.id.to_string()).collect()
}

/// Ids of the presets that come closest to a text.
pub fn presets(text: &str, catalog: &Catalog) -> Vec<String> {
    rank_presets(text, catalog).into_iter().take(SUGGESTIONS).map(|p| p.id.to_string()).collect()
}

/// Rows that hold every word of the text, the shortest name first; where there are none, the rows most alike.
fn rank<'a, T>(text: &str, rows: impl Iterator<Item = &'a T> + Clone, names: impl Fn(&T) -> [&str; 3]) -> Vec<&'a T> {
    let words: Vec<String> = text.split_whitespace().map(plain).filter(|w| !w.is_empty()).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<_> = rows
        .clone()
        .filter_map(|row| {
            let length = names(row)
                .into_iter()
                .map(plain)
                .filter(|name| words.iter().all(|w| name.contains(w.as_str())))
                .map(|name| name.len())
                .min()?;
            Some((length, row))
        })
        .collect();
    if !found.is_empty() {
        found.sort_by_key(|(length, _)| *length);
        return found.into_iter().map(|(_, row)| row).collect();
    }
    let wanted = pairs(text);
    let mut alike: Vec<_> = rows
        .filter_map(|row| {
            let score = names(row).iter().map(|n| likeness(&wanted, &pairs(n))).fold(0.0, f64::max);
            (score > ALIKE).then_some((score, row))
        })
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    alike.into_iter().take(12).map(|(_, row)| row).collect()
}

/// Lower case without separators.
fn plain(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == '.').collect()
}

/// Neighbouring characters, without case and separators.
fn pairs(text: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = plain(text).chars().collect();
    letters.iter().copied().zip(letters.iter().copied().skip(1)).collect()
}

/// Dice coefficient: shared pairs over all pairs.
fn likeness(a: &[(char, char)], b: &[(char, char)]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let shared = a.iter().filter(|p| b.contains(p)).count();
    2.0 * shared as f64 / (a.len() + b.len()) as f64
}
