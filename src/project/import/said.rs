//! A sentence in somebody's own words: "一张 3060 12G，用 QLoRA 微调 Qwen2.5-7B".

use super::{Basis, Hints, Note, Piece, Reading, Text, TextKind};
use crate::project::Field;

/// Longest sentence that is read so.
const LONGEST: usize = 600;

/// Most words that are gone through.
const MOST_WORDS: usize = 60;

/// Most names that are looked up, each in the whole catalog.
const MOST_LOOKUPS: usize = 40;

/// Most words of a name.
const LONGEST_NAME: usize = 4;

/// What follows the word for a number: lengths of samples, batches.
const NUMBERS: &[(&str, Field)] = &[
    ("序列", Field::Sequence),
    ("长度", Field::Sequence),
    ("seq", Field::Sequence),
    ("length", Field::Sequence),
    ("batch", Field::MicroBatch),
    ("批", Field::MicroBatch),
    ("分辨率", Field::ImageSide),
    ("resolution", Field::ImageSide),
    ("rank", Field::LoraRank),
    ("预算", Field::BudgetLimit),
    ("budget", Field::BudgetLimit),
];

/// Words for several cards.
const COUNTS: &[(&str, &str)] = &[
    ("两张", "2"),
    ("双卡", "2"),
    ("三张", "3"),
    ("四张", "4"),
    ("八张", "8"),
    ("2张", "2"),
    ("2 张", "2"),
    ("4张", "4"),
    ("4 张", "4"),
    ("8张", "8"),
    ("8 张", "8"),
    ("two ", "2"),
    ("four ", "4"),
    ("eight ", "8"),
    ("2x ", "2"),
    ("4x ", "4"),
    ("8x ", "8"),
    ("2 x ", "2"),
    ("4 x ", "4"),
    ("8 x ", "8"),
];

/// Words for what is trained.
const METHODS: &[(&str, &str)] = &[
    ("qlora", "qlora"),
    ("lora", "lora"),
    ("全参", "full"),
    ("全量", "full"),
    ("full fine", "full"),
    ("从零", "scratch"),
    ("from scratch", "scratch"),
];

/// Reads a sentence that names a card or a model.
pub fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) {
    let whole = text.as_str();
    if reading.kind != TextKind::Unknown || whole.len() > LONGEST || !reading.is_empty() {
        return;
    }
    let small = text.small();
    if small.contains("shared gpu memory")
        || small.contains("共享") && (small.contains("gpu") || small.contains("显存"))
    {
        reading.notes.push(Note::SharedMemory);
    }
    let words: Vec<&str> = whole
        .split(|c: char| !(c.is_ascii_alphanumeric() || ".-_/".contains(c)))
        .map(|word| word.trim_matches(['.', '-', '_', '/']))
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .collect();
    let from = |word: &str| Piece::new(1, word);
    let (mut at, mut left) = (0, MOST_LOOKUPS);
    while at < words.len() {
        let found = named(words.get(at..).unwrap_or_default(), hints, reading, &mut left);
        at += found.as_ref().map_or(1, |(many, ..)| *many);
        if let Some((_, field, id, name)) = found {
            reading.add(field, id, Basis::Implied, from(&name));
        }
    }
    if reading.found.is_empty() {
        return;
    }
    if reading.value(Field::Gpu).is_some()
        && let Some((word, count)) = COUNTS.iter().find(|(word, _)| small.contains(word))
    {
        reading.add(Field::Count, *count, Basis::Implied, from(word));
    }
    if let Some((word, method)) = METHODS.iter().find(|(word, _)| small.contains(word)) {
        reading.add(Field::Method, *method, Basis::Implied, from(word));
    }
    for (word, field) in NUMBERS {
        let behind = small.find(word).and_then(|at| small.get(at + word.len()..)).unwrap_or_default();
        let behind =
            behind.trim_start_matches(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '，' | '。' | ';' | '；'));
        let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
        if !digits.is_empty() && digits.len() < 7 {
            reading.add(*field, digits.clone(), Basis::Implied, from(&digits));
        }
    }
    reading.is(TextKind::Sentence);
}

/// The longest name that these words begin with, `RTX 4060 Ti 16GB` or `Qwen 2.5 7B`: how many of them, and what it names.
fn named(
    words: &[&str],
    hints: Hints<'_>,
    reading: &Reading,
    left: &mut usize,
) -> Option<(usize, Field, String, String)> {
    let (no_card, no_model) = (reading.value(Field::Gpu).is_none(), reading.value(Field::Model).is_none());
    for many in (1..=LONGEST_NAME).rev() {
        let Some(name) = words.get(..many).map(|words| words.join(" ")) else { continue };
        let digits = name.chars().any(|c| c.is_ascii_digit());
        if !(digits || name.contains('-')) || name.len() < 2 || *left == 0 {
            continue;
        }
        if digits
            && no_card
            && let Some(id) = card(&name, hints, left)
        {
            return Some((many, Field::Gpu, id.to_owned(), name));
        }
        let begins = name.get(..3).unwrap_or_default().to_ascii_lowercase();
        let likely = || hints.catalog.models.iter().any(|m| m.id.starts_with(&begins));
        if no_model && name.len() > 4 && begins.bytes().all(|b| b.is_ascii_alphabetic()) && likely() {
            *left = left.saturating_sub(1);
            if let Some(model) = hints.catalog.resolve_model(&name) {
                return Some((many, Field::Model, model.id.to_owned(), name));
            }
        }
    }
    None
}

/// The card of a name as people say it: `3060 12G`, `4090`, `A100`.
fn card<'a>(name: &str, hints: Hints<'a>, left: &mut usize) -> Option<&'a str> {
    let number = name.chars().next().is_some_and(|c| c.is_ascii_digit());
    let series = name.split([' ', '-']).next().unwrap_or_default();
    // A bare number is a card of the RTX series where it has four digits.
    if number && !(series.len() >= 4 && series.get(..4).is_some_and(|s| s.bytes().all(|b| b.is_ascii_digit()))) {
        return None;
    }
    // Cheaper than a search: no card has a number like that.
    let digits = name.split(|c: char| !c.is_ascii_digit()).find(|run| run.len() >= 2).unwrap_or_default();
    let known = || hints.catalog.gpus.iter().any(|gpu| gpu.id.contains(digits));
    if digits.is_empty() && name.len() > 3 || !known() {
        return None;
    }
    *left = left.saturating_sub(1);
    // `RTX 3090s`
    let name = name.strip_suffix('s').filter(|n| n.ends_with(|c: char| c.is_ascii_digit())).unwrap_or(name);
    let name = if number { format!("rtx {name}") } else { name.to_owned() };
    hints.catalog.resolve_gpu(&name).map(|gpu| gpu.id)
}
