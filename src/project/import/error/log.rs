//! What libraries print before a training: sizes of a step, the data set, the optimizer, the model they load.

use crate::project::Field;
use crate::project::import::{Basis, Hints, Line, Note, Reading, Text};

/// Lines with a number behind a label. `transformers/trainer.py`, Unsloth's and kohya's banners.
const NUMBERS: &[(&str, Field)] = &[
    ("instantaneous batch size per device", Field::MicroBatch),
    ("batch size per device", Field::MicroBatch),
    ("gradient accumulation steps", Field::Accumulation),
    ("num examples", Field::Samples),
    ("num epochs", Field::Epochs),
    ("num train images * repeats", Field::Samples),
];

/// Lines that name a setting.
const NAMES: &[(&str, Field, &str)] = &[
    ("use 8-bit adamw optimizer", Field::Optimizer, "adamw8bit"),
    ("use paged adamw optimizer", Field::Optimizer, "paged-adamw"),
    ("use adamw optimizer", Field::Optimizer, "adamw"),
    ("use adafactor optimizer", Field::Optimizer, "adafactor"),
    ("use lion optimizer", Field::Optimizer, "lion"),
    ("enable gradient checkpointing", Field::Checkpointing, "on"),
    ("gradient checkpointing enabled", Field::Checkpointing, "on"),
    ("enable xformers for", Field::Attention, "efficient"),
    ("using flash attention", Field::Attention, "flash"),
    ("unsloth: will patch your computer", Field::Framework, "unsloth"),
    ("unsloth: fast", Field::Framework, "unsloth"),
];

/// Lines that are looked at, from the beginning and from the end.
const MOST: usize = 3000;

/// Longer lines are no banner.
const LONGEST: usize = 400;

/// Reads the banner of a training.
pub(super) fn read(text: &Text, reading: &mut Reading) {
    let last = text.len().saturating_sub(MOST).max(MOST);
    let numbers = (1..=text.len().min(MOST)).chain(last + 1..=text.len());
    for line in numbers.filter_map(|number| text.line(number)) {
        if line.small.len() > LONGEST || line.small.len() < 10 {
            continue;
        }
        for (label, field) in NUMBERS {
            let Some((_, rest)) = line.small.split_once(label) else { continue };
            if let Some(value) = number(rest) {
                reading.add(*field, value, Basis::Stated, line.piece());
            }
        }
        for (sign, field, value) in NAMES {
            if line.small.contains(sign) {
                reading.add(*field, *value, Basis::Stated, line.piece());
            }
        }
    }
}

/// The number behind a label and a sign: ` = 2`, ` / バッチサイズ: 8`, `: 1,000 | Num Epochs = 3`.
fn number(rest: &str) -> Option<String> {
    let at = rest.find(['=', ':'])?;
    if at > 60 {
        return None;
    }
    let rest = rest.get(at + 1..)?.trim_start();
    let length = rest.bytes().take_while(|b| b.is_ascii_digit() || matches!(b, b',' | b'.')).count();
    let digits = rest.get(..length)?.trim_end_matches([',', '.']);
    (!digits.is_empty() && digits.len() < 16).then(|| digits.replace(',', ""))
}

/// The model that is named near a message.
pub(super) fn model(text: &Text, message: usize, hints: Hints<'_>, reading: &mut Reading) {
    if reading.value(Field::Model).is_some() {
        return;
    }
    let first = message.saturating_sub(MOST / 3).max(1);
    let lines = (first..=message.min(text.len())).filter_map(|number| text.line(number));
    let named = lines.filter_map(|line| Some((name(&line)?, line))).take(4);
    let mut unknown = None;
    for (name, line) in named {
        if let Some(model) = hints.catalog.resolve_model(&name) {
            reading.add(Field::Model, model.id, Basis::Stated, line.piece());
            return;
        }
        unknown.get_or_insert(name);
    }
    reading.notes.extend(unknown.map(Note::UnknownModel));
}

/// A model's name in a line: in the folder of a cache, in the call that loads it, behind a flag.
fn name(line: &Line<'_>) -> Option<String> {
    if line.small.len() > LONGEST {
        return None;
    }
    let behind = |sign: &str| line.small.find(sign).and_then(|at| line.text.get(at + sign.len()..));
    let whole = |text: &str| -> Option<String> {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ')' | '/' | '\\' | ':' | ';');
        let name = text.split(ends).next()?;
        (name.len() > 2 && name.len() < 100).then(|| name.to_string())
    };
    if let Some(rest) = behind("models--") {
        // `models--Qwen--Qwen2.5-7B/snapshots`
        return whole(rest).map(|name| name.replacen("--", "/", 1));
    }
    let rest = behind("from_pretrained(")
        .or_else(|| behind("model_name_or_path"))
        .or_else(|| behind("loading model from "))?;
    let rest = rest.trim_start_matches([' ', '=', ':', '"', '\'']);
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ')' | ':' | ';');
    let path = rest.split(ends).next()?.trim_end_matches(['/', '\\']);
    // A folder of one's own is called like the model in it, more often than not.
    let mut parts = path.rsplit(['/', '\\']);
    let last = parts.next()?;
    let owner = parts.next().filter(|owner| parts.next().is_none() && !owner.is_empty());
    let name = owner.map_or_else(|| last.to_string(), |owner| format!("{owner}/{last}"));
    let telling = last.len() > 3 && last.contains(|c: char| c.is_ascii_digit()) && !last.contains(['(', '{', '$', '*']);
    (telling && name.len() < 100).then_some(name)
}

/// The step that a progress bar shows above a message, and how many there were to be: `| 120/1500 [`.
pub(super) fn step(text: &Text, at: usize) -> Option<(u64, u64)> {
    let number = text.line_at(at).number;
    let first = number.saturating_sub(400).max(1);
    let lines = (first..=number).rev().filter_map(|number| text.line(number));
    lines.filter(|line| line.small.len() < 4000).find_map(|line| {
        let (bar, _) = line.small.rsplit_once(" [")?;
        // `Loading checkpoint shards` and the like are no training.
        if ["loading", "shards", "fetching", "map", "tokeniz", "download", "caching", "generating"]
            .iter()
            .any(|word| bar.contains(word))
        {
            return None;
        }
        let (before, of) = bar.rsplit_once('/')?;
        let of = of.trim().parse().ok()?;
        let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
        let step = before.get(before.len() - digits..)?.parse().ok()?;
        (of > 0 && step <= of).then_some((step, of))
    })
}
