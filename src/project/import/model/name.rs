//! `owner/name`, addresses of model pages, `ollama run name`: one name, typed or pasted.

use super::named;
use crate::project::Field;
use crate::project::import::{Basis, Hints, Note, Reading, Text};

/// Most signs that a name or an address has.
const LONGEST: usize = 300;

/// Most words: `git clone https://...`, `qwen 2.5 7b instruct`.
const MOST_WORDS: usize = 6;

/// What stands before the name in an address.
const SITES: &[&str] = &[
    "huggingface.co/",
    "hf.co/",
    "hf-mirror.com/",
    "modelscope.cn/models/",
    "modelscope.cn/",
    "gitee.com/",
    "ai.gitee.com/",
    "github.com/",
];

/// Reads a name; false where the text is none.
pub(super) fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) -> bool {
    let whole = text.as_str().trim();
    if whole.len() > LONGEST || whole.contains('\n') || whole.split_whitespace().count() > MOST_WORDS {
        return false;
    }
    // Commas and what somebody wants are a sentence's.
    if whole.contains([',', '，', '。']) || whole.contains("微调") || whole.contains("训练") {
        return false;
    }
    // Flags and assignments are a script's.
    if whole.contains("--") || whole.contains('=') || whole.contains('(') {
        return false;
    }
    let from = text.lines().find(|line| !line.text.is_empty()).map(|line| line.piece()).unwrap_or_default();
    let mut name = whole.trim_matches(|c: char| c.is_whitespace() || "\"'`,;<>".contains(c));
    for command in ["git clone ", "ollama run ", "ollama pull ", "huggingface-cli download ", "hf download "] {
        name = name.strip_prefix(command).unwrap_or(name).trim();
    }
    let mut addressed = false;
    for site in SITES {
        if let Some((_, path)) = name.split_once(site) {
            (name, addressed) = (path, true);
        }
    }
    // `owner/name/tree/main` and its like.
    let parts: Vec<&str> = name.split(['?', '#']).next().unwrap_or_default().split('/').collect();
    let repository = match parts.as_slice() {
        [owner, name, ..] if !owner.is_empty() && !name.is_empty() => {
            Some(format!("{owner}/{}", name.trim_end_matches(".git")))
        }
        _ => None,
    };
    let name = repository.clone().unwrap_or_else(|| name.to_owned());
    let plain = !name.contains(' ') && name.is_ascii();
    match named(hints.catalog, &name) {
        Some(model) => reading.add(Field::Model, model.id, Basis::Stated, from),
        None if (repository.is_some() && plain) || addressed => reading.notes.push(Note::UnknownModel(name)),
        None => return false,
    }
    true
}
