//! Figures as people read them: three significant digits, a unit, a date.

use super::{Lang, say};
use crate::units::{Currency, Money, decimal, significant};

/// A whole number with thousands separators: `1,048,576`.
pub fn whole(value: f64) -> String {
    let digits = decimal::fixed(value.abs(), 0);
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("-{text}") } else { text }
}

/// A number as a field shows it: whole numbers with separators, others as short as they are.
pub fn plain(value: f64) -> String {
    if value.fract() == 0.0 { whole(value) } else { decimal::short(value) }
}

/// A count with three significant digits: `15.2 万`, `7.62 亿` in Chinese, `152K`, `7.62B` in English.
pub fn about(lang: Lang, value: f64) -> String {
    let steps: &[(f64, &str)] = match lang {
        Lang::Zh => &[(1e12, " 万亿"), (1e8, " 亿"), (1e4, " 万")],
        Lang::En => &[(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "K")],
    };
    for &(size, name) in steps {
        // The unit of English's thousands starts at ten thousand: `2,048` reads better than `2.05K`.
        if value.abs() >= size {
            let unit = if name == "K" { 1e3 } else { size };
            return format!("{}{name}", significant(value / unit));
        }
    }
    if value.fract() == 0.0 { whole(value) } else { significant(value) }
}

/// A count in front of a Chinese word: no space behind its own `万` or `亿`.
pub fn before_word(lang: Lang, shown: &str) -> String {
    let space = lang == Lang::En || shown.ends_with(|c: char| c.is_ascii());
    if space { format!("{shown} ") } else { shown.to_string() }
}

/// A count in front of a noun: `15.2 万`, `1,200 个` in Chinese.
pub fn counted(lang: Lang, value: f64) -> String {
    let shown = about(lang, value);
    if lang == Lang::Zh && shown.ends_with(|c: char| c.is_ascii_digit()) { format!("{shown} 个") } else { shown }
}

/// Three significant digits with thousands separators: `18.5`, `1,240`.
fn rounded(value: f64) -> String {
    if value.abs() < 999.5 {
        return significant(value);
    }
    let size = 10_f64.powf(value.abs().log10().floor() - 2.0);
    whole((value / size).round() * size)
}

/// A duration in hours as `12 分钟`, `3.2 小时`, `5.1 天`, `4.2 年`.
pub fn hours(lang: Lang, hours: f64) -> String {
    if !hours.is_finite() || hours < 0.0 {
        return say!(lang, "算不出", "unknown");
    }
    let minutes = hours * 60.0;
    let days = hours / 24.0;
    if minutes < 1.0 {
        return say!(lang, "不到 1 分钟", "under a minute");
    }
    if minutes < 59.5 {
        let n = decimal::fixed(minutes, 0);
        return say!(lang, "{n} 分钟", "{n} min");
    }
    if hours < 48.0 {
        let n = two(hours);
        return say!(lang, "{n} 小时", "{n} h");
    }
    if days < 60.0 {
        let n = two(days);
        return say!(lang, "{n} 天", "{n} days");
    }
    if days < 730.0 {
        let n = two(days / 30.4);
        return say!(lang, "{n} 个月", "{n} months");
    }
    let n = before_word(lang, &about(lang, (days / 36.525).round() / 10.0));
    say!(lang, "{n}年", "{n}years")
}

/// A duration that is an estimate: `约 12 分钟`, `about 12 min`.
pub fn about_hours(lang: Lang, value: f64) -> String {
    let shown = hours(lang, value);
    if !value.is_finite() || value * 60.0 < 1.0 {
        return shown;
    }
    say!(lang, "约 {shown}", "about {shown}")
}

/// A limit in hours, which is exact: `12 小时`, `12 h`.
pub fn significant_hours(lang: Lang, hours: f64) -> String {
    let n = plain(hours);
    say!(lang, "{n} 小时", "{n} h")
}

/// Two significant digits: an estimate of time knows no more.
fn two(value: f64) -> String {
    decimal::fixed(value, u32::from(value < 9.95))
}

/// A share as percent: `25%`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    format!("{}%", decimal::fixed(value, u32::from(value > 0.0 && value < 0.95)))
}

/// A price above another: `贵 40%`, `40% dearer`; from twice as much on `3.1 倍价钱`, `3.1 times the price`.
pub fn dearer(lang: Lang, more: f64) -> String {
    if more < 1.0 {
        let share = percent(more);
        return say!(lang, "贵 {share}", "{share} dearer");
    }
    let times = significant(more + 1.0);
    say!(lang, "{times} 倍价钱", "{times} times the price")
}

/// A time above another: `慢 40%`, `40% slower`; from twice as long on `时间是 3.1 倍`, `3.1 times as long`.
pub fn slower(lang: Lang, more: f64) -> String {
    if more < 1.0 {
        let share = percent(more);
        return say!(lang, "慢 {share}", "{share} slower");
    }
    let times = significant(more + 1.0);
    say!(lang, "时间是 {times} 倍", "{times} times as long")
}

/// An error band: `±8%`.
pub fn band(band: f64) -> String {
    format!("±{}", percent(band))
}

/// An amount of money, with `~` before what nobody saw written down.
pub fn money(lang: Lang, money: Money, rough: bool) -> String {
    let sign = match money.currency {
        Currency::Usd => "$",
        Currency::Cny => "¥",
    };
    let amount = if money.amount >= 1e6 {
        about(lang, money.amount)
    } else if money.amount > 0.0 && money.amount < 0.01 {
        "0.01".to_string()
    } else if money.amount < 99.5 {
        decimal::fixed(money.amount, 2)
    } else {
        rounded(money.amount)
    };
    let mark = if rough { "~" } else { "" };
    format!("{mark}{sign}{amount}")
}

/// A round amount on an axis: `¥200`, `¥1 万`.
pub fn round_money(lang: Lang, money: Money) -> String {
    let sign = match money.currency {
        Currency::Usd => "$",
        Currency::Cny => "¥",
    };
    let amount = if money.amount >= 1e4 { about(lang, money.amount) } else { plain(money.amount) };
    format!("{sign}{}", amount.trim_end_matches(".00").replace(".00 ", " ").replace(".0 ", " "))
}

/// A month, in one piece: `2026 年 9 月`, `Sep 2026`. What is not of the form `2026-09` is shown as it stands.
pub fn month(lang: Lang, as_of: &str) -> String {
    const NAMES: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = as_of.split('-');
    let (year, number) = (parts.next().unwrap_or_default(), parts.next().and_then(|m| m.parse::<usize>().ok()));
    match number.and_then(|n| NAMES.get(n.wrapping_sub(1)).map(|name| (n, name))) {
        Some((n, name)) => say!(lang, "{year}\u{a0}年\u{a0}{n}\u{a0}月", "{name}\u{a0}{year}"),
        None => as_of.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, shown) in [(0.0, "0"), (999.0, "999"), (1_048_576.0, "1,048,576"), (-5000.0, "-5,000")] {
            assert_eq!(whole(value), shown);
        }
        for (value, zh, en) in [
            (151_936.0, "15.2 万", "152K"),
            (2048.0, "2,048", "2,048"),
            (7_615_616_512.0, "76.2 亿", "7.62B"),
            (15e12, "15.0 万亿", "15.0T"),
        ] {
            assert_eq!((about(Lang::Zh, value).as_str(), about(Lang::En, value).as_str()), (zh, en));
        }
    }

    #[test]
    fn durations_read_well() {
        for (value, zh, en) in [
            (0.001, "不到 1 分钟", "under a minute"),
            (0.2, "12 分钟", "12 min"),
            (3.21, "3.2 小时", "3.2 h"),
            (36.0, "36 小时", "36 h"),
            (100.0, "4.2 天", "4.2 days"),
            (24.0 * 120.0, "3.9 个月", "3.9 months"),
            (24.0 * 365.25 * 12.0, "12 年", "12 years"),
            (f64::NAN, "算不出", "unknown"),
            (f64::INFINITY, "算不出", "unknown"),
        ] {
            assert_eq!((hours(Lang::Zh, value).as_str(), hours(Lang::En, value).as_str()), (zh, en));
        }
    }

    #[test]
    fn money_has_a_sign_and_three_digits() {
        for (amount, shown) in
            [(1.984, "¥1.98"), (18.5, "¥18.50"), (1236.0, "¥1,240"), (0.001, "¥0.01"), (4_560_000.0, "¥456 万")]
        {
            assert_eq!(money(Lang::Zh, Money::cny(amount), false), shown);
        }
        assert_eq!(money(Lang::En, Money::usd(1599.0), true), "~$1,600");
    }

    #[test]
    fn months_are_written_out() {
        assert_eq!(month(Lang::Zh, "2026-09").replace('\u{a0}', " "), "2026 年 9 月");
        assert_eq!(month(Lang::En, "2026-09"), "Sep\u{a0}2026");
        assert_eq!(month(Lang::En, "2026-13"), "2026-13");
        assert_eq!(month(Lang::En, ""), "");
    }
}
