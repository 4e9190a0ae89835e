//! A sentence in somebody's own words: "一张 3060 12G，用 QLoRA 微调 Qwen2.5-7B".

use super::{Basis, Hints, Note, Piece, Reading, Text, TextKind};
use crate::catalog::{Domain, Offer};
use crate::project::fields::NO_GPU;
use crate::project::number::{self, Kilo};
use crate::project::{Field, search};
use crate::units::decimal;

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
    ("上下文", Field::Sequence),
    ("rank", Field::LoraRank),
    ("预算", Field::BudgetLimit),
    ("budget", Field::BudgetLimit),
];

/// Words for what is trained.
const METHODS: &[(&str, &str)] = &[
    ("qlora", "qlora"),
    ("lora", "lora"),
    ("全参", "full"),
    ("全量", "full"),
    ("预训练一个", "scratch"),
    ("pretrain ", "scratch"),
    ("full fine", "full"),
    ("从零", "scratch"),
    ("from scratch", "scratch"),
];

/// Words for how cards share the work.
const SHARING: &[(&str, &str)] = &[
    ("zero-3", "zero3"),
    ("zero3", "zero3"),
    ("zero 3", "zero3"),
    ("zero-2", "zero2"),
    ("zero2", "zero2"),
    ("zero 2", "zero2"),
    ("fsdp", "fsdp"),
];

/// Words for no card at all.
const NO_CARD: &[&str] =
    &["没有独显", "没有显卡", "没显卡", "没独显", "无独显", "no gpu", "no graphics card", "without a gpu"];

/// Families that a bare size, `14B`, is looked for in: those that most people fine-tune first.
const FAMILIES: &[&str] = &["qwen2.5-", "qwen3-", "llama-3.1-", "llama-2-"];

/// Names of models that have no digit.
const BARE: &[&str] = &["flux", "sdxl", "stable", "whisper", "wan", "bert", "nnu-net", "nnunet"];

/// What is counted: samples, or seconds of sound to a sample of speech recognition (Whisper hears 30).
const SAMPLES: &[&str] = &[
    "条",
    "段",
    "篇",
    "句",
    "幅",
    "张",
    "份",
    "samples",
    "images",
    "pictures",
    "photos",
    "dialogues",
    "examples",
    "rows",
];
const EPOCHS: &[&str] = &["轮", "遍", "epoch", "个epoch", "个 epoch"];
const HOURS: &[&str] = &["小时", "个小时", "hours"];
const CLIP_SECONDS: f64 = 30.0;

/// What says that a count is that of one machine.
const EACH: &[&str] = &["每台", "每机", "每个节点", "each", "per node", "per machine"];
const MACHINES: &[&str] = &["台", "个节点", "machines", "nodes", "servers"];

/// Most signs between a word and its number.
const GAP: usize = 10;

/// What names of cards begin with, where they do not begin with their number.
const BRANDS: &[&str] = &["gpu", "nvidia", "geforce", "rtx", "gtx", "rx ", "tesla", "ascend", "昇腾"];

/// Words that a sentence may have and that set nothing.
const PLAIN: &str =
    " GPU GPUS CPU AI LLM VRAM OOM GB DEEPSPEED ZERO ZERO-3 ZERO-2 FSDP LORA QLORA RTX GTX CUDA MNIST PC OK ";

/// Reads a sentence that names a card, a model or a project.
pub fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) {
    let whole = text.as_str();
    // A card in running text is a card of a listing, until there is more to be read.
    let named_card = reading.kind == TextKind::Cards && reading.cards.iter().all(|card| card.mention);
    if whole.len() > LONGEST || !named_card && (reading.kind != TextKind::Unknown || !reading.is_empty()) {
        return;
    }
    let (had, seen) = (reading.found.len(), reading.unknown.len());
    let mut counts = false;
    let small = text.small();
    if small.contains("shared gpu memory")
        || small.contains("共享") && (small.contains("gpu") || small.contains("显存"))
    {
        reading.notes.push(Note::SharedMemory);
        reading.is(TextKind::Sentence);
    }
    let words: Vec<&str> = whole
        .split(|c: char| !(c.is_ascii_alphanumeric() || ".-_/".contains(c)))
        .map(|word| word.trim_matches(['.', '-', '_', '/']))
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .collect();
    let from = |word: &str| Piece::new(1, word);
    let (mut at, mut left) = (0, MOST_LOOKUPS);
    let mut unknown: Vec<&str> = Vec::new();
    while at < words.len() {
        // Clouds sell machines by their own names: `g5.12xlarge`, `Standard_NC24ads_A100_v4`.
        if reading.value(Field::Gpu).is_none()
            && let Some((word, machine)) = words.get(at).and_then(|word| Some((*word, machine(word, hints)?)))
        {
            reading.add(Field::Gpu, machine.gpu, Basis::Implied, from(word));
            reading.add(Field::Count, machine.gpus.to_string(), Basis::Implied, from(word));
            at += 1;
            continue;
        }
        let found = named(words.get(at..).unwrap_or_default(), hints, reading, &mut left);
        if found.is_none()
            && let Some(word) = words.get(at)
            && (word.chars().any(|c| c.is_ascii_digit()) || word.chars().filter(char::is_ascii_uppercase).count() > 1)
            && !PLAIN.contains(&format!(" {} ", word.to_ascii_uppercase()))
        {
            unknown.push(word);
        }
        at += found.as_ref().map_or(1, |(many, ..)| *many);
        if let Some((_, field, id, name)) = found {
            reading.add(field, id, Basis::Implied, from(&name));
        }
    }
    if reading.value(Field::Gpu).is_none()
        && let Some(word) = NO_CARD.iter().find(|word| small.contains(**word))
    {
        reading.add(Field::Gpu, NO_GPU, Basis::Implied, from(word));
    }
    project(small, hints, reading);
    let sized = size(&words, hints, reading);
    unknown
        .retain(|word| Some(*word) != sized && !reading.found.iter().any(|f| f.from.text.eq_ignore_ascii_case(word)));
    if reading.found.is_empty() {
        return;
    }
    for (table, field) in [(METHODS, Field::Method), (SHARING, Field::Sharding)] {
        if let Some((word, id)) = table.iter().find(|(word, _)| small.contains(word)) {
            reading.add(field, *id, Basis::Implied, from(word));
        }
    }
    for (word, field) in NUMBERS {
        let Some((before, behind)) = small.split_once(word) else { continue };
        // Behind the word, or right in front of it: `预算 5 万`, `3k 预算`.
        let near: String =
            behind.chars().take(GAP).take_while(|c| !matches!(c, ',' | '，' | '。' | ';' | '；')).collect();
        let at = behind.find(is_number).filter(|at| *at < near.len());
        let before = before.trim_end_matches([' ', '的']);
        let last = || before.rfind(|c| !(is_number(c) || c == 'k')).map_or(0, |at| at + 1);
        let behind = match at {
            Some(at) => behind.get(at..),
            None => (0..=3).find_map(|more| before.get(last() + more..)),
        }
        .unwrap_or_default();
        let digits = behind.get(..number_end(behind)).unwrap_or_default();
        let kilo = behind.get(digits.len()..).unwrap_or_default().strip_prefix('k');
        let kilo = kilo.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        let times = if kilo { if *field == Field::Sequence { 1024.0 } else { 1000.0 } } else { 1.0 };
        if let Some(number) = amount(digits).map(|n| n * times).filter(|n| *n >= 1.0 && *n < 1e9) {
            reading.add(*field, decimal::short(number), Basis::Implied, from(digits));
            unknown.retain(|word| bare(word) != bare(digits));
        }
    }
    let mut machines = 1.0;
    for (number, untrimmed) in counted(small) {
        let Some(value) = amount(number) else { continue };
        let rest = untrimmed.trim_start_matches([' ', '多', '来', '余', '几']);
        let thousands = untrimmed
            .strip_prefix('k')
            .map(str::trim_start)
            .filter(|rest| SAMPLES.iter().any(|word| rest.starts_with(word)));
        let (value, rest) = thousands.map_or((value, rest), |rest| (value * 1000.0, rest));
        let is = |words: &[&'static str]| words.iter().find(|word| rest.starts_with(**word)).copied();
        let behind = rest.trim_start_matches(['张', '块', '片', '路', '×', 'x', '*', ' ']);
        let a_card = behind.starts_with("卡")
            || behind.starts_with("显卡")
            || BRANDS.iter().any(|brand| behind.starts_with(brand))
            || reading.found.iter().any(|f| f.key == "have" && behind.starts_with(&first_word(&f.from.text)));
        let double = rest.starts_with('卡');
        let (field, value, word) =
            if (a_card && behind.len() < untrimmed.len() || double) && (1.0..=4096.0).contains(&value) {
                (Field::Count, value, "")
            } else if let Some((times, word)) = context(rest).filter(|(times, _)| value * times <= 1_048_576.0) {
                (Field::Sequence, value * times, word)
            } else if is(MACHINES).is_some() {
                machines = value;
                continue;
            } else if let Some(word) = is(EPOCHS) {
                (Field::Epochs, value, word)
            } else if let Some(word) = is(SAMPLES) {
                // Another card than the one that was read: `和一张 1080ti`.
                let next: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
                if next.len() > 1 && card(&next, hints, &mut left).is_some() {
                    continue;
                }
                (Field::Samples, value, word)
            } else if let Some(word) = is(HOURS).filter(|_| heard(reading, hints)) {
                (Field::Samples, (value * 3600.0 / CLIP_SECONDS).round(), word)
            } else {
                continue;
            };
        if field == Field::Count {
            // A listing counts the lines that name a card.
            reading.found.retain(|found| found.key != "count");
            counts = true;
        }
        reading.add(field, decimal::short(value), Basis::Implied, from(&format!("{number} {word}")));
        unknown.retain(|word| bare(word) != bare(number));
    }
    if counts
        && (2.0..=512.0).contains(&machines)
        && EACH.iter().any(|word| small.contains(word))
        && let Some(found) = reading.found.iter_mut().find(|found| found.key == "count")
        && let Some(count) = decimal::read(&found.value)
    {
        found.value = decimal::short(count * machines);
    }
    // What is said of the card's memory belongs to its name.
    let card = reading.value(Field::Gpu).unwrap_or_default().to_owned();
    let memory = |word: &str| {
        let digits = word.trim_end_matches(['g', 'G', 'b', 'B']);
        digits.len() < word.len() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    unknown.retain(|word| card.is_empty() || !card.contains(&word.to_ascii_lowercase()) && !memory(word));
    if named_card && !counts && reading.found.len() == had {
        reading.unknown.truncate(seen);
        return;
    }
    reading.kind = TextKind::Sentence;
    reading.cards.clear();
    reading.unknown.extend(unknown.into_iter().map(from));
}

/// `k context`: how many tokens each is, and the word.
fn context(rest: &str) -> Option<(f64, &'static str)> {
    let (times, rest) = rest.strip_prefix('k').map_or((1.0, rest), |rest| (1024.0, rest));
    let word = ["context", "ctx", "上下文", "tokens"].into_iter().find(|word| rest.trim_start().starts_with(word))?;
    Some((times, word))
}

/// A number without what stands behind its digits.
fn bare(number: &str) -> &str {
    number.trim_end_matches(['x', 'X', 'k', 'K', 'w', 'W']).trim_end_matches(|c: char| !c.is_ascii()).trim_end()
}

/// Where the number that a text begins with ends; `5 万` is one.
fn number_end(text: &str) -> usize {
    let end = text.find(|c: char| !is_number(c)).unwrap_or(text.len());
    let behind = text.get(end..).unwrap_or_default().trim_start_matches(' ');
    let scale = behind.chars().next().filter(|c| end > 0 && "百千万亿w".contains(*c));
    let joined = scale.is_none_or(|c| {
        c == 'w' && behind.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    });
    if joined { end } else { text.len() - behind.len() + scale.map_or(0, char::len_utf8) }
}

fn is_number(sign: char) -> bool {
    sign.is_ascii_digit() || ".零一二两双三四五六七八九十百千万".contains(sign)
}

/// A number in digits or Chinese numerals, or a word for one.
fn amount(number: &str) -> Option<f64> {
    match number {
        "双" | "two" | "dual" => Some(2.0),
        "four" => Some(4.0),
        "eight" => Some(8.0),
        number => number::parse(number, Kilo::Thousand).ok(),
    }
}

/// Numbers with what stands behind each.
fn counted(small: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    let mut rest = small;
    let mut before = ' ';
    while let Some(sign) = rest.chars().next() {
        let word = ["two", "dual", "four", "eight"]
            .into_iter()
            .find(|word| !before.is_ascii_alphanumeric() && rest.starts_with(*word));
        let end = word.map_or_else(|| number_end(rest), str::len);
        let Some((number, behind)) = rest.split_at_checked(end).filter(|(number, _)| !number.is_empty()) else {
            before = sign;
            rest = rest.get(sign.len_utf8()..).unwrap_or_default();
            continue;
        };
        if !before.is_ascii_alphanumeric() && !"-._".contains(before) {
            all.push((number, behind));
        }
        before = number.chars().next_back().unwrap_or(' ');
        rest = behind;
    }
    all
}

fn first_word(name: &str) -> String {
    name.split(' ').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether what is trained hears sound.
fn heard(reading: &Reading, hints: Hints<'_>) -> bool {
    let of_preset = || Some(hints.catalog.preset(reading.value(Field::Preset)?)?.model);
    let model = reading.value(Field::Model).or_else(of_preset).and_then(|id| hints.catalog.model(id));
    model.is_some_and(|model| model.domain == Domain::Audio)
}

/// The project that people's own words mean; of several that they may mean, the one with the model that was named.
fn project(small: &str, hints: Hints<'_>, reading: &mut Reading) {
    let mut called = search::called(small).into_iter();
    let Some((word, ids)) = called.next() else { return };
    let model = reading.value(Field::Model).map(str::to_owned);
    let presets = || ids.split(' ').filter_map(|id| hints.catalog.preset(id));
    let same = presets().find(|preset| model.as_deref() == Some(preset.model));
    // The words for a kind of project say less than the name of a model of another kind.
    let Some(preset) = same.or_else(|| presets().next().filter(|_| model.is_none())) else { return };
    reading.add(Field::Preset, preset.id, Basis::Implied, Piece::new(1, word));
    for (word, _) in called.filter(|(_, other)| *other != ids) {
        reading.unknown.push(Piece::new(1, word));
    }
}

/// A bare size, `14B`, as a model of a family that has it; the word.
fn size<'a>(words: &[&'a str], hints: Hints<'_>, reading: &mut Reading) -> Option<&'a str> {
    if reading.value(Field::Model).is_some() {
        return None;
    }
    let sized = |word: &&'a str| {
        let digits = word.strip_suffix(['b', 'B']).filter(|_| is_size(word))?;
        let model = FAMILIES.iter().find_map(|family| hints.catalog.model(&format!("{family}{digits}b")))?;
        Some((model.id, *word))
    };
    let (id, word) = words.iter().find_map(sized)?;
    reading.add(Field::Model, id, Basis::Implied, Piece::new(1, word));
    Some(word)
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
        let bare = words.first().is_some_and(|word| BARE.contains(&word.to_ascii_lowercase().as_str()));
        if !(digits || bare || name.contains('-')) || name.len() < 2 || *left == 0 {
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
        if no_model && (name.len() > 4 || bare) && begins.starts_with(|c: char| c.is_ascii_alphabetic()) && likely() {
            *left = left.saturating_sub(1);
            // `FLUX` is one of several, and most people mean the first.
            let sized = words.get(1).filter(|_| many == 2).is_some_and(|word| is_size(word));
            let first = || {
                let hit = hints.catalog.find_models(&name, 1).first()?.item;
                // `Mistral 7B` is one of several, all of that size.
                let fits = sized && words.get(1).is_some_and(|word| hit.id.contains(&word.to_ascii_lowercase()));
                // `wan 2.1`
                let version = many == 2 && words.get(1).is_some_and(|word| word.contains('.'));
                (bare && (many == 1 || version) || fits && hit.id.starts_with(&begins)).then_some(hit)
            };
            if let Some(model) = hints.catalog.resolve_model(&name).or_else(first) {
                return Some((many, Field::Model, model.id.to_owned(), name));
            }
        }
    }
    None
}

/// The machine of a cloud that a word names.
fn machine<'a>(word: &str, hints: Hints<'a>) -> Option<&'a Offer> {
    let word = word.strip_prefix("Standard_").unwrap_or(word);
    let named = |offer: &&Offer| offer.instance.eq_ignore_ascii_case(word);
    hints.catalog.offers.iter().find(named).filter(|_| word.contains(['.', '_', '-']))
}

/// `7B`, `0.5b`.
fn is_size(word: &str) -> bool {
    word.strip_suffix(['b', 'B']).is_some_and(|digits| decimal::read(digits).is_some())
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
