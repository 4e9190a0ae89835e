//! A name taken apart into words and numbers, without allocating.

/// What the letters behind a number say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nothing: a version or a model number.
    None,
    /// `7b`, `0.5 B`: billions of parameters.
    Billions,
    /// `125m`: millions.
    Millions,
    /// `12g`, `12gb`, `12 GiB`: memory.
    Gigabytes,
}

/// A word or a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    /// As written; for a number without its unit.
    pub(super) text: &'a str,
    /// Thousandths, if it is a number: 2.5 is 2500.
    pub(super) number: Option<u64>,
    /// Unit of the number.
    pub(super) unit: Unit,
    /// Stands in round brackets: an explanation rather than the name.
    pub(super) aside: bool,
}

/// Longest name that is compared in full; what comes later is left out.
pub(super) const MOST: usize = 20;

/// The tokens of one name.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    items: [Token<'a>; MOST],
    len: usize,
}

impl<'a> Tokens<'a> {
    /// Takes `text` apart: letters and digits part, everything else separates. Letters beyond ASCII separate, too.
    pub(super) fn of(text: &'a str) -> Self {
        let blank = Token { text: "", number: None, unit: Unit::None, aside: false };
        let mut tokens = Self { items: [blank; MOST], len: 0 };
        let mut rest = text;
        let mut aside = false;
        while let Some(first) = rest.bytes().next() {
            if first.is_ascii_digit() {
                let (digits, after) = split_number(rest);
                let (unit, after) = split_unit(after);
                tokens.push(Token { text: digits, number: Some(thousandths(digits)), unit, aside });
                rest = after;
            } else if first.is_ascii_alphabetic() {
                let (word, after) = split_while(rest, |b| b.is_ascii_alphabetic());
                tokens.push(Token { text: word, number: None, unit: Unit::None, aside });
                rest = after;
            } else {
                match first {
                    b'(' => aside = true,
                    b')' => aside = false,
                    _ => {}
                }
                let (_, after) = split_while(rest, |b| !b.is_ascii_alphanumeric() && b != b'(' && b != b')');
                rest = if after.len() == rest.len() { rest.get(1..).unwrap_or("") } else { after };
            }
        }
        tokens
    }

    fn push(&mut self, token: Token<'a>) {
        if let Some(place) = self.items.get_mut(self.len) {
            *place = token;
            self.len += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[Token<'a>] {
        self.items.get(..self.len).unwrap_or(&[])
    }
}

/// Splits after the bytes that `keep`; the cut lies between characters, since `keep` decides by ASCII alone.
fn split_while(text: &str, keep: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|b| !keep(b)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// `2.5-7B` begins with the number `2.5`.
fn split_number(text: &str) -> (&str, &str) {
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = whole;
    if text.as_bytes().get(whole) == Some(&b'.') {
        let decimals = text.bytes().skip(whole + 1).take_while(u8::is_ascii_digit).count();
        if decimals > 0 {
            end += 1 + decimals;
        }
    }
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The unit right behind a number, or one space behind it, if it is one.
fn split_unit(text: &str) -> (Unit, &str) {
    let near = text.strip_prefix(' ').unwrap_or(text);
    let spaced = near.len() < text.len();
    let (word, after) = split_while(near, |b| b.is_ascii_alphabetic());
    let is = |unit: &str| word.eq_ignore_ascii_case(unit);
    if is("gb") || is("g") || is("gib") {
        (Unit::Gigabytes, after)
    } else if is("b") {
        (Unit::Billions, after)
    } else if is("m") && !spaced {
        (Unit::Millions, after)
    } else {
        (Unit::None, text)
    }
}

fn thousandths(digits: &str) -> u64 {
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let whole =
        whole.bytes().fold(0_u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b.saturating_sub(b'0'))));
    let decimals = decimals.bytes().chain(*b"000").take(3).fold(0, |n, b| n * 10 + u64::from(b.saturating_sub(b'0')));
    whole.saturating_mul(1000).saturating_add(decimals)
}

/// Letters and digits alone, small: what two spellings of one name have in common.
pub(super) fn compact(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || is_ideograph(*c)).map(|c| c.to_ascii_lowercase())
}

/// A Chinese character.
fn is_ideograph(c: char) -> bool {
    ('\u{3400}'..='\u{9fff}').contains(&c)
}
