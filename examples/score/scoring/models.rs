//! The model that a row means: by name or alias, then by its size.

use enough_gpu::catalog::{Architecture, Catalog, LanguageKind, Model};

/// How far the size in the row may be from the model's for the name to be believed.
const SIZE_TOLERANCE: f64 = 1.35;

/// Letters and digits only: `Qwen2.5-7B` and `qwen2_5 7b` are the same.
pub(crate) fn plain(name: &str) -> String {
    name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The model with this name, whatever is hung on to it (`-Instruct`, `(timm)`, `SQuAD`, `UNet + text encoders`).
/// `params` in billions guards against a namesake of another size.
pub(crate) fn by_name<'a>(catalog: &'a Catalog, name: &str, params: Option<f64>) -> Option<&'a Model> {
    let fits = |m: &&Model| match params {
        Some(p) if p > 0.0 && m.params > 0 => {
            let ratio = m.params as f64 / (p * 1e9);
            (1.0 / SIZE_TOLERANCE..SIZE_TOLERANCE).contains(&ratio)
        }
        _ => true,
    };
    shortened(name).find_map(|n| lookup(catalog, n).filter(fits))
}

fn lookup<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Model> {
    let wanted = plain(name);
    if wanted.len() < 2 {
        return None;
    }
    catalog.models.iter().find(|m| {
        let repo = m.repo.rsplit('/').next().unwrap_or_default();
        let bare = m.name.split('(').next().unwrap_or_default();
        plain(m.id) == wanted || plain(bare) == wanted || plain(m.name) == wanted || plain(repo) == wanted
    })
}

/// The name, without its remark in brackets, and then word by word shorter.
fn shortened(name: &str) -> impl Iterator<Item = &str> {
    let bare = name.split(['(', ',', ':']).next().unwrap_or_default().trim();
    let cuts = bare.char_indices().rev().filter(|(_, c)| matches!(c, ' ' | '-' | '_' | '+')).map(|(i, _)| &bare[..i]);
    std::iter::once(name).chain(std::iter::once(bare)).chain(cuts)
}

/// The decoder of the catalog that is nearest in size, for rows that say no more than "7B model".
pub(crate) fn by_size(catalog: &Catalog, params: f64) -> Option<&Model> {
    let wanted = params * 1e9;
    let gap = |m: &Model| (m.params as f64 / wanted).ln().abs();
    catalog
        .models
        .iter()
        .filter(|m| match &m.architecture {
            Architecture::Language(l) => l.kind == LanguageKind::Decoder && l.moe_experts == 0 && m.params > 0,
            _ => false,
        })
        .min_by(|a, b| gap(a).total_cmp(&gap(b)))
        .filter(|m| gap(m) < SIZE_TOLERANCE.ln())
}
