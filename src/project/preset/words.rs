//! Reads amounts out of short English phrases: `1,500 to 3,000 steps`, `1.28 M images`, `558 K + 665 K samples`.

use crate::units::decimal;

/// An amount or a range of it, with what it counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantity {
    /// The amount, or the lower end of the range.
    pub(super) low: f64,
    /// The upper end, where a range is given.
    pub(super) high: Option<f64>,
    /// A second amount joined with `+`.
    pub(super) added: Option<f64>,
    /// The words after the numbers.
    pub(super) unit: String,
}

impl Quantity {
    /// The amount; of a range its geometric middle to two digits, because these ranges span orders of magnitude.
    pub(super) fn middle(&self) -> f64 {
        self.high.map_or(self.low, |high| two_digits((self.low * high).sqrt()))
    }
}

fn two_digits(value: f64) -> f64 {
    if value < 10.0 {
        return value.round();
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    (value / step).round() * step
}

/// The first amount of a phrase and all that belongs to it. Text in parentheses does not count.
pub(super) fn quantity(phrase: &str) -> Option<Quantity> {
    let plain = without_parentheses(phrase);
    let mut words = plain.split_whitespace().peekable();
    let (low, scale) = loop {
        if let Some(read) = amount(words.next()?, &mut words) {
            break read;
        }
    };
    let mut quantity = Quantity { low: low * scale, high: None, added: None, unit: String::new() };
    if let Some(&joint @ ("to" | "+")) = words.peek() {
        words.next();
        let second = words.next().and_then(|word| amount(word, &mut words));
        match second {
            Some((high, high_scale)) if joint == "to" => {
                quantity.high = Some(high * high_scale);
                if scale == 1.0 && low < 1000.0 {
                    // `1 to 10 B` means 1 B to 10 B; `10,000 to 1 M` means what it says.
                    quantity.low = low * high_scale;
                }
            }
            other => quantity.added = other.map(|(value, scale)| value * scale),
        }
    }
    quantity.unit = words.collect::<Vec<_>>().join(" ");
    // `1,000 kimg transfer to 25,000 kimg` names its unit before the range ends: the lower figure stands.
    Some(quantity)
}

/// The first number of a phrase.
pub(super) fn first(phrase: &str) -> Option<f64> {
    quantity(phrase).map(|q| q.low)
}

/// All numbers of a phrase such as `49 x 480 x 720`.
pub(super) fn numbers(phrase: &str) -> Vec<f64> {
    phrase.split_whitespace().filter_map(number).collect()
}

/// A number and the scale word after it.
fn amount<'a>(word: &str, words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Option<(f64, f64)> {
    let value = number(word)?;
    let scale = match words.peek() {
        Some(&"K") => 1e3,
        Some(&"M") => 1e6,
        Some(&"B") => 1e9,
        Some(&"T") => 1e12,
        _ => return Some((value, 1.0)),
    };
    words.next();
    Some((value, scale))
}

fn number(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(['+', ',', ';']).replace(',', "");
    // No sign: `-1` is not a number of steps.
    if digits.starts_with(|c: char| c.is_ascii_digit()) { decimal::read(&digits) } else { None }
}

fn without_parentheses(phrase: &str) -> String {
    let mut depth = 0usize;
    let mut plain = String::with_capacity(phrase.len());
    for c in phrase.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn phrases_become_amounts() {
        let cases = [
            ("60,000 images 28 x 28 (47 MB)", 60_000.0, "images 28 x 28"),
            ("25,000 photos (Kaggle; 2,000 in small tutorials)", 25_000.0, "photos"),
            ("500 to 2,000 dialogues", 1_000.0, "dialogues"),
            ("10,000 to 1 M pairs", 100_000.0, "pairs"),
            ("1.28 M images, 1,000 classes", 1_280_000.0, "images, 1,000 classes"),
            ("15 T tokens", 15e12, "tokens"),
            ("1 to 10 B tokens", 3.2e9, "tokens"),
            ("6,000+ steps", 6_000.0, "steps"),
            ("up to 25 epochs, stopped at 11", 25.0, "epochs, stopped at 11"),
            ("1,000 kimg transfer to 25,000 kimg", 1_000.0, "kimg transfer to 25,000 kimg"),
        ];
        for (phrase, middle, unit) in cases {
            let read = quantity(phrase).unwrap_or_else(|| panic!("{phrase}"));
            assert_eq!((read.middle(), read.unit.as_str()), (middle, unit), "{phrase}");
        }
        assert_eq!(quantity("558 K + 665 K samples").and_then(|q| q.added), Some(665_000.0));
        assert_eq!(quantity("simulator"), None);
        assert_eq!(quantity(""), None);
        assert_eq!(numbers("49 x 480 x 720"), [49.0, 480.0, 720.0]);
    }
}
