//! Finds projects by words in their names, and names what comes closest to a text that named nothing.

use crate::catalog::{Catalog, Gpu, Model, Preset};
use crate::units::sort;

/// Suggestions beside an unknown name.
const SUGGESTIONS: usize = 3;

/// All rows.
const ALL: usize = usize::MAX;

/// Below this likeness a row is not what was meant.
const ALIKE: f64 = 0.34;

/// What people call projects, and the ids of those that they may mean, the likeliest first.
const CALLED: &[(&str, &str)] = &[
    ("mnist|手写数字|手写体|digits", "mnist"),
    ("猫狗|猫和狗|cats and dogs|cat and dog|cat vs dog|cat-vs-dog", "cat-dog cat-dog-scratch"),
    (
        "工笔|画风|二次元|秋叶|丹炉|画画|绘画|插画|国画|水墨|ai绘画|painting|drawing|art style",
        "gongbi-lora-sdxl gongbi-lora-sd15 gongbi-lora-flux",
    ),
    ("冷笑话|讲笑话|笑话|聊天|对话模型|chatbot|chat model|jokes", "joke-chat-qlora joke-chat-lora joke-chat-chatglm"),
    ("nnu-net|nnunet", "nnunet-3d"),
    ("医学影像|医学图像|医疗影像|核磁|ct|mri|medical", "unet-medical nnunet-3d"),
    ("抠图|抠像|matting|cutout", "sam-ft unet-medical"),
    ("目标检测|物体检测|object detection", "yolo-custom"),
    ("缺陷检测|defects", "yolo-seg yolo-custom"),
    ("语音识别|听写|录音转文字|speech recognition", "whisper-ft whisper-large-lora"),
    ("声音克隆|配音|voice cloning", "voice-gptsovits tts-f5"),
    ("翻唱|变声|voice conversion", "voice-rvc"),
    ("数字人像|真人写真|写真|portraits", "dreambooth-sd15 gongbi-lora-sdxl"),
    ("股票|销量预测|时间序列|forecast", "lstm-ts"),
    ("老照片|超分|upscaling", "sr"),
    ("知识库|检索|rag", "embedding-ft"),
];

/// The projects that a text speaks of: the word for each, and ids with spaces between, in the order of the words.
pub fn called(small: &str) -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(usize, &str, &str)> = Vec::new();
    for (words, ids) in CALLED {
        let place =
            |word: &'static str| Some((small.match_indices(word).find(|(at, _)| stands(small, word, *at))?.0, word));
        if let Some((at, word)) = words.split('|').filter_map(place).min() {
            found.push((at, word, ids));
        }
    }
    sort(&mut found, Ord::cmp);
    found.into_iter().map(|(_, word, ids)| (word, ids)).collect()
}

/// Whether a word stands there by itself; Chinese has no ends of words.
fn stands(text: &str, word: &str, at: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let (before, behind) = (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
    !word.is_ascii() || !letter(before.chars().next_back()) && !letter(behind.chars().next())
}

/// Ids of the cards that come closest to a text.
pub fn gpus(text: &str, catalog: &Catalog) -> Vec<String> {
    rank_gpus(text, catalog, SUGGESTIONS).into_iter().map(|g| g.id.to_string()).collect()
}

/// Ids of the models that come closest to a text.
pub fn models(text: &str, catalog: &Catalog) -> Vec<String> {
    rank_models(text, catalog, SUGGESTIONS).into_iter().map(|m| m.id.to_string()).collect()
}

/// The cards that answer a text; where none does, those most alike by their letters.
pub fn rank_gpus<'a>(text: &str, catalog: &'a Catalog, limit: usize) -> Vec<&'a Gpu> {
    let hits = catalog.find_gpus(text, limit);
    if hits.is_empty() {
        return alike(text, catalog.gpus.iter(), |g| [g.short_name(), g.name, ""], limit);
    }
    hits.into_iter().map(|hit| hit.item).collect()
}

/// The models that answer a text; where none does, those most alike by their letters.
pub fn rank_models<'a>(text: &str, catalog: &'a Catalog, limit: usize) -> Vec<&'a Model> {
    let hits = catalog.find_models(text, limit);
    if hits.is_empty() {
        return alike(text, catalog.models.iter(), |m| [m.name, m.repo, ""], limit);
    }
    hits.into_iter().map(|hit| hit.item).collect()
}

/// Ids of the presets that come closest to a text.
pub fn presets(text: &str, catalog: &Catalog) -> Vec<String> {
    let found = rank_presets(text, catalog, |_| ["", ""]);
    found.into_iter().take(SUGGESTIONS).map(|p| p.id.to_string()).collect()
}

/// Presets whose names, or the `other_names` they go by, hold every word of the text, the shortest first; where there
/// are none, those most alike.
pub fn rank_presets<'a>(
    text: &str,
    catalog: &'a Catalog,
    other_names: impl Fn(&Preset) -> [&'static str; 2],
) -> Vec<&'a Preset> {
    let words: Vec<String> = text.split_whitespace().map(plain).filter(|w| !w.is_empty()).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let names = |p: &Preset| {
        let [first, second] = other_names(p);
        let model = catalog.model(p.model).map_or("", |m| m.name);
        [p.name_zh, p.name_en, first, second, model]
    };
    let holds = |p: &&'a Preset| {
        let names = names(p).map(plain);
        let length = names.iter().filter(|name| words.iter().all(|w| name.contains(w.as_str()))).map(String::len).min();
        length.map(|length| (length, *p))
    };
    let mut found: Vec<_> = catalog.presets.iter().filter_map(|p| holds(&p)).collect();
    sort(&mut found, |a, b| a.0.cmp(&b.0));
    // What people call them otherwise; a word that is not typed to its end counts from two signs on.
    let typed = text.trim().to_ascii_lowercase();
    let begun = |word: &str| typed.chars().count() >= 2 && word.starts_with(&typed);
    let begun = CALLED.iter().filter(|(words, _)| words.split('|').any(begun)).map(|(_, ids)| *ids);
    let of = |ids: &'static str| ids.split(' ').filter_map(|id| catalog.preset(id));
    let called = called(&typed).into_iter().flat_map(|(_, ids)| of(ids));
    let mut all: Vec<&Preset> = Vec::new();
    for preset in called.chain(found.into_iter().map(|(_, preset)| preset)).chain(begun.flat_map(of)) {
        if all.iter().all(|old| old.id != preset.id) {
            all.push(preset);
        }
    }
    if !all.is_empty() {
        return all;
    }
    alike(text, catalog.presets.iter(), |p| [p.name_zh, p.name_en, p.model], ALL)
}

/// The rows with a name most alike to a text, by their letters.
fn alike<'a, T>(
    text: &str,
    rows: impl Iterator<Item = &'a T>,
    names: impl Fn(&'a T) -> [&'a str; 3],
    limit: usize,
) -> Vec<&'a T> {
    let wanted = pairs(text);
    let score = |row: &'a T| names(row).iter().map(|n| likeness(&wanted, &pairs(n))).fold(0.0, f64::max);
    let mut scored: Vec<_> = rows.map(|row| (score(row), row)).filter(|(s, _)| *s > ALIKE).collect();
    sort(&mut scored, |a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(limit).map(|(_, row)| row).collect()
}

/// Lower case without separators. Of other scripts every sign is a letter.
fn plain(text: &str) -> String {
    text.to_ascii_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || !c.is_ascii() || *c == '.').collect()
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
