//! Reads a number the way people type one: full-width digits, `1,024`, `1,5`, `2k`, `1e4`, `2^20`, `2 万`, `50 %`.

use crate::units::decimal::read;

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotNumber {
    /// Nothing was typed.
    Empty,
    /// Something that is no number was typed.
    Unreadable,
}

/// What a bare `k` stands for in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kilo {
    /// 1,000, as in a count of samples.
    Thousand,
    /// 1,024, as in a context of `32k` tokens or a `2k` image.
    Binary,
}

impl Kilo {
    const fn factor(self) -> f64 {
        match self {
            Self::Thousand => 1000.0,
            Self::Binary => 1024.0,
        }
    }
}

/// Words that may stand behind a number and say nothing more about it. Longer ones first.
const UNITS: &[&str] = &[
    "samples",
    "images",
    "tokens",
    "epochs",
    "frames",
    "pixels",
    "layers",
    "cards",
    "steps",
    "token",
    "epoch",
    "gpus",
    "gpu",
    "sec",
    "usd",
    "cny",
    "rmb",
    "px",
    "s",
    "像素",
    "词元",
    "张卡",
    "人民币",
    "美元",
    "美金",
    "刀",
    "张",
    "条",
    "个",
    "块",
    "元",
    "轮",
    "遍",
    "层",
    "帧",
    "秒",
    "步",
    "卡",
    "头",
];

/// Signs that may stand before a number.
const PREFIXES: &[&str] = &["¥", "$", "≈", "~", "约", "x", "×", "="];

/// Reads one number. Percent signs divide by a hundred; everything else is as written.
pub fn parse(raw: &str, kilo: Kilo) -> Result<f64, NotNumber> {
    let text = plain(raw);
    let mut rest = text.as_str();
    if rest.is_empty() {
        return Err(NotNumber::Empty);
    }
    while let Some(cut) = PREFIXES.iter().find_map(|p| rest.strip_prefix(p)) {
        rest = cut;
    }
    while let Some(cut) = UNITS.iter().find_map(|u| rest.strip_suffix(u)) {
        rest = cut;
    }
    let (rest, percent) = rest.strip_suffix('%').map_or((rest, 1.0), |cut| (cut, 0.01));
    let value = power(rest, kilo).ok_or(NotNumber::Unreadable)?;
    Ok(value * percent)
}

/// Half-width, lower case, without white space and without digit grouping that cannot be a decimal sign.
fn plain(raw: &str) -> String {
    raw.chars()
        .filter_map(|c| {
            let c = match c {
                '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
                '。' => '.',
                '、' => ',',
                '−' | '–' | '—' => '-',
                '￥' => '¥',
                '〇' => '零',
                other => other,
            };
            let skipped = c.is_whitespace() || matches!(c, '_' | '\'' | '’' | '\u{200b}' | '\u{feff}');
            (!skipped).then_some(c.to_ascii_lowercase())
        })
        .collect()
}

/// `a^b`, `a**b` or a plain number.
fn power(text: &str, kilo: Kilo) -> Option<f64> {
    let parts = text.split_once("**").or_else(|| text.split_once('^'));
    match parts {
        Some((base, exponent)) => Some(signed(base, kilo)?.powf(signed(exponent, kilo)?)),
        None => signed(text, kilo),
    }
}

fn signed(text: &str, kilo: Kilo) -> Option<f64> {
    match text.strip_prefix('-') {
        Some(rest) => Some(-magnitude(rest, kilo)?),
        None => magnitude(text.strip_prefix('+').unwrap_or(text), kilo),
    }
}

/// Digits with an optional scale behind them (`2k`, `1.5万`, `3百万`), or a number in Chinese numerals (`一百二十八`).
fn magnitude(text: &str, kilo: Kilo) -> Option<f64> {
    if text.is_empty() || !text.chars().any(|c| c.is_ascii_digit() || numeral(c).is_some() || c == '十') {
        return None;
    }
    let mut total = 0.0;
    let mut digits = String::new();
    let mut scale = 1.0;
    let mut last = 0.0;
    // A plain number may only follow a scale where nobody shortens: 十六 is 16, but 两万五 is 25,000.
    let mut exact = true;
    for c in text.chars() {
        if let Some(factor) = scale_of(c, kilo) {
            // 十万, 百万, 万亿: each larger than the one before.
            if scale != 1.0 && factor <= last {
                return None;
            }
            last = factor;
            scale *= factor;
            if digits.is_empty() && scale == factor && c != '十' {
                return None;
            }
            continue;
        }
        if scale != 1.0 {
            total += segment(&digits, scale)?;
            exact = scale == 10.0 || c == '零';
            digits.clear();
            scale = 1.0;
        }
        digits.push(numeral(c).unwrap_or(c));
    }
    if scale == 1.0 && total > 0.0 && !exact {
        return None;
    }
    Some(total + segment(&digits, scale)?)
}

fn segment(digits: &str, scale: f64) -> Option<f64> {
    if digits.is_empty() {
        return Some(scale);
    }
    Some(decimal(digits)? * scale)
}

/// The scale a letter or character stands for. `w` is what Chinese speakers type for 万.
fn scale_of(c: char, kilo: Kilo) -> Option<f64> {
    Some(match c {
        'k' => kilo.factor(),
        'm' => kilo.factor().powi(2),
        'b' => 1e9,
        't' => 1e12,
        '十' => 10.0,
        '百' => 100.0,
        '千' => 1000.0,
        'w' | '万' | '萬' => 1e4,
        '亿' | '億' => 1e8,
        _ => return None,
    })
}

fn numeral(c: char) -> Option<char> {
    Some(match c {
        '零' => '0',
        '一' => '1',
        '二' | '两' => '2',
        '三' => '3',
        '四' => '4',
        '五' => '5',
        '六' => '6',
        '七' => '7',
        '八' => '8',
        '九' => '9',
        _ => return None,
    })
}

/// Digits with points, commas and an exponent. Groups of three behind a comma are thousands, otherwise the comma is a
/// decimal sign; a single point is always one; where both stand, the last of them is.
fn decimal(text: &str) -> Option<f64> {
    if !text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | '-' | '+')) {
        return None;
    }
    let (mantissa, exponent) = text.split_once('e').map_or((text, None), |(m, e)| (m, Some(e)));
    let cleaned = match (mantissa.rfind(','), mantissa.rfind('.')) {
        (Some(comma), Some(point)) if comma > point => mantissa.replace('.', "").replacen(',', ".", 1),
        (Some(_), Some(_)) => mantissa.replace(',', ""),
        (Some(_), None) if grouped(mantissa, ',') => mantissa.replace(',', ""),
        (Some(_), None) => mantissa.replacen(',', ".", 1),
        (None, Some(_)) if mantissa.matches('.').count() > 1 && grouped(mantissa, '.') => mantissa.replace('.', ""),
        _ => mantissa.to_string(),
    };
    if cleaned.contains(['-', '+', ',']) || !cleaned.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match exponent {
        Some(e) => read(&format!("{cleaned}e{e}")),
        None => read(&cleaned),
    }
}

/// True for `1,024` and `1,048,576`, false for `1,5` and `0,125`.
fn grouped(text: &str, separator: char) -> bool {
    let mut groups = text.split(separator);
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && first != "0" && groups.all(|g| g.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_type_numbers_in_many_ways() {
        let cases = [
            ("2048", 2048.0),
            (" 2048 ", 2048.0),
            ("２０４８", 2048.0),
            ("１．５", 1.5),
            ("1，5", 1.5),
            ("1,5", 1.5),
            ("1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1。5", 1.5),
            ("0,125", 0.125),
            ("1,024", 1024.0),
            ("1,048,576", 1_048_576.0),
            ("1 048 576", 1_048_576.0),
            ("1\u{a0}048", 1048.0),
            ("1_048_576", 1_048_576.0),
            ("1'048'576", 1_048_576.0),
            ("1.048.576", 1_048_576.0),
            ("1.024,5", 1024.5),
            ("1,024.5", 1024.5),
            ("2k", 2000.0),
            ("2K", 2000.0),
            ("1.5k", 1500.0),
            ("1e4", 10_000.0),
            ("1E+4", 10_000.0),
            ("5e-5", 0.00005),
            ("2^20", 1_048_576.0),
            ("10**12", 1e12),
            ("2万", 20_000.0),
            ("2 万", 20_000.0),
            ("1.5万", 15_000.0),
            ("5w", 50_000.0),
            ("3百万", 3e6),
            ("1亿", 1e8),
            ("1万2千", 12_000.0),
            ("十", 10.0),
            ("十六", 16.0),
            ("二十", 20.0),
            ("一百二十八", 128.0),
            ("两千零四十八", 2048.0),
            ("两万", 20_000.0),
            ("128M", 128e6),
            ("7b", 7e9),
            ("15T", 15e12),
            ("-5", -5.0),
            ("−5", -5.0),
            ("－5", -5.0),
            ("+5", 5.0),
            ("50%", 0.5),
            ("50 ％", 0.5),
            ("¥3000", 3000.0),
            ("￥3，000", 3000.0),
            ("$1,200", 1200.0),
            ("3000 元", 3000.0),
            ("3000块", 3000.0),
            ("x2", 2.0),
            ("512 px", 512.0),
            ("512像素", 512.0),
            ("2048 tokens", 2048.0),
            ("30s", 30.0),
            ("30 秒", 30.0),
            ("3 epochs", 3.0),
            ("500 张", 500.0),
            ("约 500", 500.0),
            ("1e400", f64::INFINITY),
        ];
        for (typed, value) in cases {
            assert_eq!(parse(typed, Kilo::Thousand), Ok(value), "{typed}");
        }
    }

    #[test]
    fn a_context_of_2k_is_2048() {
        for (typed, value) in [("2k", 2048.0), ("32K", 32_768.0), ("1M", 1_048_576.0), ("2千", 2000.0)] {
            assert_eq!(parse(typed, Kilo::Binary), Ok(value), "{typed}");
        }
    }

    #[test]
    fn nonsense_is_no_number() {
        for typed in [
            "abc",
            "-",
            "+",
            ".",
            ",",
            "e",
            "1e",
            "e5",
            "NaN",
            "inf",
            "infinity",
            "1..2",
            "1-2",
            "--5",
            "12abc",
            "k",
            "万",
            "%",
            "1,2,3",
            "两万五",
            "0x10",
            "💥",
            "<script>",
            "1 and 2",
            "^",
            "2^",
            "¥",
            "元",
            "十十k零.",
        ] {
            assert_eq!(parse(typed, Kilo::Thousand), Err(NotNumber::Unreadable), "{typed}");
        }
        for typed in ["", " ", "\u{3000}", "\t\n"] {
            assert_eq!(parse(typed, Kilo::Thousand), Err(NotNumber::Empty), "{typed:?}");
        }
    }
}
