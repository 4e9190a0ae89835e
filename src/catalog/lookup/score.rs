//! How well a name answers what somebody typed.

use super::token::{MOST, Token, Unit};

/// How well two lists of tokens agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Agreement {
    /// 0 to 1: mostly how much of the query the name answers, then how much of the name the query asked for.
    pub(super) score: f64,
    /// Every word and number of the query stands in the name as typed.
    pub(super) complete: bool,
}

/// Words that say nothing by themselves.
const FILLERS: &[&str] = &[
    "geforce",
    "nvidia",
    "amd",
    "radeon",
    "intel",
    "rtx",
    "rx",
    "gtx",
    "gpu",
    "card",
    "tesla",
    "instinct",
    "google",
    "huawei",
    "generation",
    "edition",
    "workstation",
    "graphics",
    "the",
    "of",
    "with",
    "and",
    "gb",
];

/// Words that people hang on to a model's name; they count only if the name has them, too.
const SUFFIXES: &[&str] = &[
    "instruct", "chat", "base", "it", "hf", "awq", "gptq", "gguf", "bnb", "bit", "bits", "int", "fp", "nf", "bf",
    "uncased", "cased", "pt", "timm", "en", "text", "sft", "dpo", "lora", "qlora", "unet", "meta", "model", "vlm",
    "finetune", "onnx", "preview", "pretrain", "train", "training", "full",
];

/// Words before or after which a number is a format (`4bit`, `int8`, `fp16`), not part of the name.
const FORMATS: &[&str] = &["bit", "bits", "int", "fp", "nf", "bf"];

fn among(words: &[&str], word: &str) -> bool {
    words.iter().any(|w| w.eq_ignore_ascii_case(word))
}

/// A filler, or one with a slip of the finger.
fn is_filler(word: &str) -> bool {
    FILLERS.iter().any(|filler| word_quality(word, filler, false) >= 0.8)
}

/// A token of the query and what it means for the answer.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// How much it says.
    weight: f64,
    /// The name may do without it.
    suffix: bool,
    /// A number, or a word that sets names apart.
    says_something: bool,
}

/// The query, each token with its part in the answer.
#[derive(Debug)]
pub(super) struct Weighed<'a> {
    tokens: &'a [Token<'a>],
    asked: [Asked; MOST],
}

impl<'a> Weighed<'a> {
    pub(super) fn new(tokens: &'a [Token<'a>]) -> Self {
        let mut asked = [Asked { weight: 0.0, suffix: false, says_something: false }; MOST];
        for (index, (token, asked)) in tokens.iter().zip(&mut asked).enumerate() {
            let filler = token.number.is_none() && is_filler(token.text);
            let weight = match (token.number, token.unit) {
                (Some(_), Unit::Gigabytes) => 2.0,
                (Some(_), _) => 3.0,
                (None, _) if filler => 0.25,
                (None, _) if token.text.len() == 1 => 1.5,
                (None, _) => 2.0,
            };
            *asked = Asked { weight, suffix: is_suffix(tokens, index), says_something: !filler };
        }
        Self { tokens, asked }
    }

    /// Whether token `index` sets names apart: neither filler nor suffix.
    pub(super) fn is_telling(&self, index: usize) -> bool {
        self.asked.get(index).is_some_and(|asked| asked.says_something && !asked.suffix)
    }

    /// Whether the query names an amount of memory.
    pub(super) fn has_memory(&self) -> bool {
        self.tokens.iter().any(|t| t.unit == Unit::Gigabytes)
    }

    /// Compares the query with the tokens of a name. `memory` is that of a card in thousandths of a GiB: cards are asked
    /// for by it even where the name leaves it out.
    pub(super) fn against(&self, name: &[Token<'_>], memory: Option<u64>) -> Agreement {
        let (mut asked, mut answered) = (0.0, 0.0);
        let mut taken = 0_u32;
        let (mut complete, mut factor, mut named) = (true, 1.0, false);
        for (index, (token, part)) in self.tokens.iter().zip(&self.asked).enumerate() {
            let last = index + 1 == self.tokens.len();
            let (place, mut quality) = best(token, name, taken, last);
            if quality > 0.0 {
                taken |= 1 << place;
            }
            if token.unit == Unit::Gigabytes && token.number == memory && memory.is_some() {
                quality = 1.0;
            }
            if quality == 0.0 && part.suffix {
                asked += 0.1;
                continue;
            }
            asked += part.weight;
            answered += part.weight * quality;
            complete &= quality >= 0.9 || !part.says_something;
            named |= quality >= 0.9 && part.says_something && token.unit != Unit::Gigabytes;
            // A wrong number is another thing, whatever else agrees; so is another word.
            factor *= match token.number {
                Some(_) if quality == 0.0 => 0.5,
                Some(_) if quality < 0.9 => 0.8,
                None if quality == 0.0 && part.says_something && token.text.len() > 2 => 0.75,
                _ => 1.0,
            };
        }
        if asked == 0.0 {
            return Agreement { score: 0.0, complete: false };
        }
        let (mut whole, mut wanted) = (0.0, 0.0);
        for (place, token) in name.iter().enumerate() {
            let weight = name_weight(token);
            whole += weight;
            if taken & (1 << place) != 0 {
                wanted += weight;
            }
        }
        let share = if whole > 0.0 { wanted / whole } else { 0.0 };
        Agreement { score: factor * answered / asked * (0.6 + 0.4 * share), complete: complete && named }
    }
}

/// Whether token `index` is hung on to the name (`instruct`) or tells a number format (`4bit`, `int8`).
fn is_suffix(tokens: &[Token<'_>], index: usize) -> bool {
    let Some(token) = tokens.get(index) else { return false };
    if token.number.is_none() {
        return among(SUFFIXES, token.text);
    }
    let beside =
        |place: Option<usize>| place.and_then(|place| tokens.get(place)).is_some_and(|t| among(FORMATS, t.text));
    matches!(token.text, "2" | "3" | "4" | "5" | "6" | "8" | "16" | "32")
        && (beside(index.checked_sub(1)) || beside(Some(index + 1)))
}

/// Weight of a token of the name: how much it sets it apart from its neighbours.
fn name_weight(token: &Token<'_>) -> f64 {
    match (token.number, token.unit) {
        _ if token.aside => 0.15,
        (Some(_), Unit::Gigabytes) => 0.5,
        (Some(_), _) => 1.5,
        (None, _) if among(FILLERS, token.text) => 0.2,
        (None, _) if among(SUFFIXES, token.text) => 0.3,
        (None, _) => 1.2,
    }
}

/// The token of the name that answers best, among those not taken.
fn best(token: &Token<'_>, name: &[Token<'_>], taken: u32, last: bool) -> (usize, f64) {
    let mut found = (0, 0.0);
    for (place, candidate) in name.iter().enumerate() {
        if taken & (1 << place) != 0 {
            continue;
        }
        let quality = match (token.number, candidate.number) {
            (Some(a), Some(b)) => number_quality(token, a, candidate, b, last),
            (None, None) => word_quality(token.text, candidate.text, last),
            _ => 0.0,
        };
        if quality > found.1 {
            found = (place, quality);
        }
    }
    found
}

/// 1 for the same number in the same unit, less for an unsaid unit, little for a number close by.
fn number_quality(token: &Token<'_>, a: u64, candidate: &Token<'_>, b: u64, last: bool) -> f64 {
    let same_unit = token.unit == candidate.unit;
    let unsaid = token.unit == Unit::None || candidate.unit == Unit::None;
    if !same_unit && !unsaid {
        return 0.0;
    }
    if a == b {
        return match (same_unit, token.unit) {
            (true, _) => 1.0,
            (false, Unit::None) => 0.92,
            // A size was asked for, and this is a version.
            (false, _) => 0.5,
        };
    }
    let (typed, written) = (token.text, candidate.text);
    if last && same_unit && typed.len() >= 2 && written.starts_with(typed) {
        return 0.5;
    }
    let sized = matches!(token.unit, Unit::Billions | Unit::Millions);
    let close = if sized {
        let ratio = a as f64 / b.max(1) as f64;
        (0.75..1.34).contains(&ratio)
    } else {
        typed.len() >= 3 && typed.len() == written.len() && distance(typed, written, 1) <= 1
    };
    if close { 0.4 } else { 0.0 }
}

/// 1 for the same word, less for its beginning, less for a slip of the finger.
fn word_quality(typed: &str, written: &str, last: bool) -> f64 {
    if typed.eq_ignore_ascii_case(written) {
        return 1.0;
    }
    let (short, long) = (typed.len(), written.len());
    let begins = short < long && written.get(..short).is_some_and(|start| start.eq_ignore_ascii_case(typed));
    if begins && (last || short >= 3) {
        return 0.55 + 0.35 * short as f64 / long as f64;
    }
    if short == long + 1 && long >= 2 && typed.get(..long).is_some_and(|start| start.eq_ignore_ascii_case(written)) {
        return 0.7;
    }
    let allowed = match short.min(long) {
        0..=3 => return 0.0,
        4..=6 => 1,
        _ => 2,
    };
    match distance(typed, written, allowed) {
        1 => 0.8,
        2 if allowed == 2 => 0.65,
        _ => 0.0,
    }
}

/// Insertions, deletions, substitutions and swaps of neighbours between two words, or more than `most`.
fn distance(a: &str, b: &str, most: usize) -> usize {
    const LONGEST: usize = 24;
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > most || a.len() > LONGEST || b.len() > LONGEST {
        return most + 1;
    }
    let at = |text: &[u8], place: usize| text.get(place).map_or(0, u8::to_ascii_lowercase);
    let mut before = [0_usize; LONGEST + 1];
    let mut row: [usize; LONGEST + 1] = std::array::from_fn(|i| i);
    for i in 1..=a.len() {
        let mut next = [0_usize; LONGEST + 1];
        next[0] = i;
        let mut least = i;
        for j in 1..=b.len() {
            let (x, y) = (at(a, i - 1), at(b, j - 1));
            let mut cost = (row[j] + 1).min(next[j - 1] + 1).min(row[j - 1] + usize::from(x != y));
            if i > 1 && j > 1 && x == at(b, j - 2) && at(a, i - 2) == y {
                cost = cost.min(before[j - 2] + 1);
            }
            next[j] = cost;
            least = least.min(cost);
        }
        if least > most {
            return most + 1;
        }
        before = row;
        row = next;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_slips() {
        let cases = [
            ("qwen", "quen", 1),
            ("llama", "lama", 1),
            ("deepseek", "deepsek", 1),
            ("mistral", "mitsral", 1),
            ("glm", "gml", 1),
            ("bert", "vits", 3),
        ];
        for (a, b, slips) in cases {
            assert_eq!(distance(a, b, 2), slips, "{a} {b}");
        }
    }
}
