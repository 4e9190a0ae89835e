//! A pasted text, made plain: without colours of a terminal, with the signs of Chinese keyboards as their half-width
//! twins, and never longer than what is worth reading.

use super::Piece;
use crate::units::Bytes;
use crate::units::decimal::read;

/// The longest text that is read; what lies beyond is told and left.
pub const LONGEST: usize = 8 << 20;

/// Signs of a line that are quoted.
const QUOTED: usize = 160;

/// A text to read from, with its lines and a copy in small letters.
#[derive(Clone, Debug)]
pub struct Text {
    plain: String,
    small: String,
    /// Where lines begin, in bytes.
    starts: Vec<usize>,
    cut: bool,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: usize,
    /// The byte it begins at.
    pub start: usize,
    /// As it stands, without spaces around it.
    pub text: &'a str,
    /// The same in small letters (ASCII only: the places of bytes stay).
    pub small: &'a str,
}

impl Line<'_> {
    /// It as the place that something was read from.
    pub fn piece(&self) -> Piece {
        Piece { line: self.number, text: clipped(self.text) }
    }
}

impl Text {
    /// Makes a text plain. Linear in its length.
    pub fn new(raw: &str) -> Self {
        let end = (0..=LONGEST.min(raw.len())).rev().find(|end| raw.is_char_boundary(*end)).unwrap_or(0);
        let cut = end < raw.len();
        let plain = plain(raw.get(..end).unwrap_or_default());
        let small = plain.to_ascii_lowercase();
        let mut starts = vec![0];
        starts.extend(plain.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
        Self { plain, small, starts, cut }
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.plain
    }

    /// All of it in small letters, byte for byte in the same places.
    pub fn small(&self) -> &str {
        &self.small
    }

    /// Whether something at its end was left.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.plain.trim().is_empty()
    }

    /// How many lines it has.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// A line by its number, counted from 1.
    pub fn line(&self, number: usize) -> Option<Line<'_>> {
        let index = number.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(number).map_or(self.plain.len(), |next| next - 1);
        let (text, small) = (self.plain.get(start..end)?, self.small.get(start..end)?);
        Some(Line { number, start, text: text.trim(), small: small.trim() })
    }

    /// Its lines.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = Line<'_>> {
        (1..=self.len()).filter_map(|number| self.line(number))
    }

    /// The line in which a byte stands.
    pub fn line_at(&self, byte: usize) -> Line<'_> {
        let number = self.starts.partition_point(|start| *start <= byte);
        self.line(number).unwrap_or(Line { number, start: byte, text: "", small: "" })
    }

    /// The place of a byte as the place that something was read from.
    pub fn piece_at(&self, byte: usize) -> Piece {
        self.line_at(byte).piece()
    }

    /// At most `length` bytes from a byte on, as it stands and in small letters.
    pub fn window(&self, from: usize, length: usize) -> (&str, &str) {
        let from = self.boundary(from);
        let end = self.boundary(from.saturating_add(length));
        (self.plain.get(from..end).unwrap_or_default(), self.small.get(from..end).unwrap_or_default())
    }

    fn boundary(&self, byte: usize) -> usize {
        (0..=byte.min(self.plain.len())).rev().find(|at| self.plain.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// A quotation of reasonable length.
pub fn clipped(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_string(),
    }
}

fn plain(raw: &str) -> String {
    let mut plain = String::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        // What is plain already is most of it.
        let run = rest.bytes().take_while(|byte| matches!(byte, b' '..=b'~' | b'\n')).count();
        plain.push_str(rest.get(..run).unwrap_or_default());
        rest = rest.get(run..).unwrap_or_default();
        let mut signs = rest.chars();
        let Some(sign) = signs.next() else { return plain };
        rest = signs.as_str();
        match sign {
            '\u{1b}' => rest = escape(rest),
            '\r' if rest.starts_with('\n') => {}
            // A progress bar that overwrites itself.
            '\r' | '\u{2028}' | '\u{2029}' => plain.push('\n'),
            '\u{feff}' | '\u{200b}' | '\0' => {}
            '\u{a0}' | '\u{3000}' | '\u{2007}' | '\u{202f}' | '\t' => plain.push(' '),
            '│' | '┃' | '║' => plain.push('|'),
            // Between Chinese words it is a comma of prose.
            '，' if plain.ends_with(|c: char| c > '\u{2e7f}') => plain.push(sign),
            '\u{ff01}'..='\u{ff5e}' => plain.push(char::from_u32(sign as u32 - 0xfee0).unwrap_or(sign)),
            other => plain.push(other),
        }
    }
}

/// What follows the escape sign of a terminal and the signs that belong to it.
fn escape(rest: &str) -> &str {
    let Some(rest) = rest.strip_prefix('[') else { return rest };
    let rest = rest.trim_start_matches(|sign| matches!(sign, '0'..='?' | ' '..='/'));
    rest.strip_prefix(|sign| matches!(sign, '@'..='~')).unwrap_or(rest)
}

/// The first amount of memory in a text, with the place behind it: `23.64 GiB`, `512 bytes`, `8.00GB`, `20,00 MiB`,
/// `0 字节`. What a unit without `i` means is the caller's to say: all tools that print such amounts count in 1,024.
pub fn size(text: &str) -> Option<(Bytes, usize)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
            continue;
        }
        let digits = bytes.get(at..).unwrap_or_default();
        let length = digits.iter().take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b',')).count();
        let number = text.get(at..at + length).unwrap_or_default().trim_end_matches(['.', ',']);
        let behind = text.get(at + number.len()..).unwrap_or_default();
        let (scale, unit) = unit(behind).unwrap_or((0.0, 0));
        if unit > 0
            && let Some(value) = decimal(number)
        {
            return Some((Bytes((value * scale) as u64), at + number.len() + unit));
        }
        at += length.max(1);
    }
    None
}

/// Digits with a point or a comma before the decimals; commas between thousands.
pub fn decimal(number: &str) -> Option<f64> {
    let value = match number.rsplit_once(',') {
        // `1,024` and `12,345,678` group, `7,79` has decimals.
        Some((_, last)) if last.len() == 3 || number.contains('.') => read(&number.replace(',', "")),
        Some(_) => read(&number.replacen(',', ".", 1)),
        None => read(number),
    };
    value.filter(|value: &f64| value.is_finite())
}

/// The unit at the start of a text: what it multiplies by, and its length in bytes.
fn unit(behind: &str) -> Option<(f64, usize)> {
    const UNITS: &[(&str, i32)] = &[
        ("bytes", 0),
        ("byte", 0),
        ("字节", 0),
        ("位元組", 0),
        ("kib", 1),
        ("kb", 1),
        ("千字节", 1),
        ("mib", 2),
        ("mb", 2),
        ("m", 2),
        ("兆字节", 2),
        ("兆", 2),
        ("gib", 3),
        ("gb", 3),
        ("g", 3),
        ("千兆字节", 3),
        ("吉字节", 3),
        ("吉比特", 3),
        ("tib", 4),
        ("tb", 4),
        ("b", 0),
    ];
    let trimmed = behind.trim_start_matches([' ', '\n']);
    let gap = behind.len() - trimmed.len();
    // Wrapped in a terminal, a unit may begin the next line, but it does not stand far away.
    if gap > 8 {
        return None;
    }
    UNITS.iter().find_map(|(name, power)| {
        let found = trimmed.get(..name.len())?;
        let behind = trimmed.get(name.len()..)?.chars().next();
        let whole = !name.is_ascii() || !behind.is_some_and(|sign| sign.is_ascii_alphanumeric());
        (found.eq_ignore_ascii_case(name) && whole).then(|| (1024_f64.powi(*power), gap + name.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_plain() {
        let text = Text::new("\u{feff}\u{1b}[1;31mError\u{1b}[0m：a\u{a0}b\r\n10%\r20%\n│ c │\u{1b}");
        assert_eq!(text.as_str(), "Error:a b\n10%\n20%\n| c |");
        assert_eq!(text.lines().map(|line| line.text).collect::<Vec<_>>(), ["Error:a b", "10%", "20%", "| c |"]);
        assert_eq!(text.line_at(text.as_str().find("20").unwrap()).number, 3);
        assert_eq!(Text::new("").len(), 1);
        assert_eq!(Text::new("显存").window(1, 4).0, "显");
    }

    #[test]
    fn sizes_are_read_as_tools_print_them() {
        for (text, bytes) in [
            ("Tried to allocate 20.00 MiB (", 20 << 20),
            ("of 23.50GiB which", 47 << 29),
            ("0 bytes free", 0),
            ("512 字节可用", 512),
            ("7,50 GiB", 15 << 29),
            ("1,024 MiB", 1 << 30),
            ("GPU 0; 2.00\nGiB total", 2 << 30),
            ("8192MiB / 16384MiB", 8 << 30),
            ("step 7 of 9, 4 MB", 4 << 20),
        ] {
            assert_eq!(size(text).map(|(size, _)| size.0), Some(bytes), "{text}");
        }
        assert_eq!(size("12 gibbons, 7 of 9"), None);
    }
}
