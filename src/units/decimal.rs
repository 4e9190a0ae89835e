//! Numbers from and to decimal digits. The standard library's way is exact for every number there is, which costs the
//! page 25 kB of tables and code; these are exact for the numbers that people write and read.

/// Digits that a `u64` always holds, and decimals that are looked at: more than a float can tell apart.
const DIGITS: u32 = 18;

/// Tens of which a product is below 2^127, with a bit to spare.
const TENS: u32 = 37;

/// Reads digits with an optional sign, point and exponent (`-1.5e3`): the nearest number where there are at most 18
/// digits and 37 decimals, and at most 18 zeros behind them; else within a few units of the last place. `None` where it
/// is no such number.
pub fn read(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (mut whole, mut power, mut seen, mut point) = (0_u64, exponent, false, false);
    for digit in digits.bytes() {
        match digit {
            b'0'..=b'9' => {
                seen = true;
                if whole < 10_u64.pow(DIGITS - 1) {
                    whole = whole * 10 + u64::from(digit - b'0');
                    power = power.saturating_sub(i32::from(point));
                } else {
                    power = power.saturating_add(i32::from(!point));
                }
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if !seen {
        return None;
    }
    let decimals = power.saturating_neg().clamp(0, TENS.cast_signed());
    let zeros = power.clamp(0, DIGITS.cast_signed());
    let near = if zeros > 0 {
        (u128::from(whole) * 10_u128.pow(zeros.unsigned_abs())) as f64
    } else {
        quotient(whole, 10_u128.pow(decimals.unsigned_abs()))
    };
    let size = scaled(near, power.saturating_add(decimals).saturating_sub(zeros));
    Some(if negative { -size } else { size })
}

/// The float nearest to `whole / divisor`, by long division in base two. `divisor` is a power of ten below 2^127.
fn quotient(whole: u64, divisor: u128) -> f64 {
    // Two bits more than a float keeps: the last says whether anything is left.
    const ENOUGH: u64 = 1 << 55;
    // Division of 128 bits would cost the page a function of its own.
    let (mut result, rest) = u64::try_from(divisor).map_or((0, whole), |d| (whole / d, whole % d));
    let (mut rest, mut unit) = (u128::from(rest), 1.0);
    if rest == 0 {
        return result as f64;
    }
    while result < ENOUGH {
        rest *= 2;
        let bit = rest >= divisor;
        if bit {
            rest -= divisor;
        }
        result = result * 2 + u64::from(bit);
        unit /= 2.0;
    }
    (result | u64::from(rest > 0)) as f64 * unit
}

/// `value * 10^power`, rounded at each step.
fn scaled(mut value: f64, power: i32) -> f64 {
    // More steps than this leave nothing, or infinity.
    for _ in 0..power.unsigned_abs().min(400) {
        value = if power < 0 { value / 10.0 } else { value * 10.0 };
    }
    value
}

/// A number with this many decimals, as `format!("{value:.2}")` writes it: rounded to the nearest, and to the even one
/// of two that are equally near. From 2^53 on about 15 digits are right.
pub fn fixed(value: f64, decimals: u32) -> String {
    const EXACT_WHOLE: f64 = 9_007_199_254_740_992.0;
    let size = value.abs();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if !value.is_finite() {
        return if value.is_nan() { "NaN".to_string() } else { format!("{sign}inf") };
    }
    if size < EXACT_WHOLE {
        let decimals = decimals.min(DIGITS);
        let unit = 10_u64.pow(decimals);
        let mut whole = size as u64;
        let mut rest = (nearest(size, decimals) - u128::from(whole) * u128::from(unit)) as u64;
        if rest >= unit {
            (whole, rest) = (whole + 1, rest - unit);
        }
        let width = decimals as usize;
        return if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest:0width$}") };
    }
    let (mut value, mut zeros) = (size, 0);
    while value >= 1e18 {
        value /= 10.0;
        zeros += 1;
    }
    let point = if decimals > 0 { "." } else { "" };
    format!("{sign}{}{}{point}{}", value as u64, "0".repeat(zeros), "0".repeat(decimals as usize))
}

/// `size * 10^decimals` rounded to the nearest whole number, exactly: a float is a whole number divided by a power of
/// two. `size` is below 2^53, the result below 2^113.
fn nearest(size: f64, decimals: u32) -> u128 {
    const MANTISSA: u32 = 52;
    let bits = size.to_bits();
    let exponent = (bits >> MANTISSA) as u32;
    let fraction = bits & ((1 << MANTISSA) - 1);
    let whole = u128::from(if exponent == 0 { fraction } else { fraction | 1 << MANTISSA });
    // A product of up to 176 bits, in two parts.
    let tens = 10_u128.pow(decimals.min(TENS));
    let low = whole * u128::from(tens as u64);
    let high = whole * (tens >> 64) + (low >> 64);
    let low = u128::from(low as u64);
    let shift = (1023 + MANTISSA).saturating_sub(exponent.max(1));
    let (quotient, rest, half) = match shift {
        0 => return high << 64 | low,
        1..=64 => ((high << (64 - shift)) | (low >> shift), low & ((1 << shift) - 1), 1 << (shift - 1)),
        65..=180 => {
            let shift = shift - 64;
            // What is left below only matters where it tells a half from more.
            let rest = (high & ((1 << shift) - 1)) << 1 | u128::from(low > 0);
            (high >> shift, rest, 1 << shift)
        }
        _ => return 0,
    };
    quotient + u128::from(rest > half || (rest == half && quotient & 1 == 1))
}

/// A number with as few digits as it takes to read the same number again, as `format!("{value}")` writes it; with an
/// exponent where that are more than 18 decimals. Whole numbers from 2^53 on are written with about 15 digits.
pub fn short(value: f64) -> String {
    if value.fract() == 0.0 || !value.is_finite() {
        return fixed(value, 0);
    }
    let mut text = String::new();
    for decimals in 1..=DIGITS {
        text = fixed(value, decimals);
        if read(&text) == Some(value) {
            return text;
        }
    }
    let sign = if value < 0.0 { "-" } else { "" };
    for decimals in DIGITS + 1..=TENS {
        let tiny = format!("{sign}{}e-{decimals}", nearest(value.abs(), decimals) as u64);
        if read(&tiny) == Some(value) {
            return tiny;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// Rounds of four numbers each.
    const MANY: u32 = 20_000;

    /// Numbers of all sizes, the same at every run.
    fn some() -> impl Iterator<Item = f64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        (0..MANY).flat_map(move |_| {
            let (a, b) = (next(), next());
            let size = 10_f64.powi((b % 18) as i32 - 6);
            [
                (a >> 11) as f64 / 9_007_199_254_740_992.0 * size,
                (a % 100_000) as f64 / 1000.0,
                (a % 4000) as f64 / 8.0,
                (a % 30) as f64 + 0.5,
            ]
        })
    }

    #[test]
    fn decimals_are_written_as_the_standard_library_does() {
        for value in some().flat_map(|v| [v, -v]).chain([0.0, 0.5, 1.5, 2.5, 0.125, 2.675, 999.95, 1e15, 1e17, 5e-324])
        {
            for decimals in 0..=3 {
                assert_eq!(fixed(value, decimals), format!("{value:.*}", decimals as usize), "{value} .{decimals}");
            }
        }
        assert!(fixed(1e30, 1).starts_with("1000000000000000") && fixed(1e30, 1).len() == 33);
    }

    #[test]
    fn short_numbers_are_written_as_the_standard_library_does() {
        for value in
            [0.0, 1.0, 0.1, 0.05, 2e-5, 1e-9, 7.25, 0.69, 1234.5678, 1e15, 3e20, -0.5, 100_000.001, f64::INFINITY]
        {
            assert_eq!(short(value), value.to_string());
        }
        for value in some().map(|v| (v * 1e4).round() / 1e4) {
            assert_eq!(short(value), value.to_string());
        }
        assert_eq!(short(0.1 + 0.2), "0.30000000000000004");
        for value in some().filter(|v| *v > 0.1) {
            assert_eq!(short(value), value.to_string());
            assert_eq!(read(&short(value)), Some(value));
        }
    }

    #[test]
    fn numbers_are_read_as_the_standard_library_does() {
        for text in
            ["0", "1", "-1.5", "+2", ".5", "5.", "1e3", "1.5e-7", "2E5", "0.1", "123456789012345", "1e22", "0.000001"]
        {
            assert_eq!(read(text), text.parse().ok(), "{text}");
        }
        for value in some().map(|v| (v * 1e4).round() / 1e4) {
            assert_eq!(read(&value.to_string()), Some(value));
        }
    }

    /// A million texts of up to 18 digits: the same float as the standard library reads, to the last bit.
    #[test]
    fn a_million_numbers_are_read_to_the_last_bit() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut text = String::new();
        for _ in 0..1_000_000 {
            let digits = next() % 10_u64.pow(1 + (next() % 18) as u32);
            text.clear();
            match next() % 3 {
                0 => write!(text, "{}.{:017}", next() % 10, digits % 10_u64.pow(17)),
                1 => write!(text, "{digits}e{}", (next() % 56).cast_signed() - 37),
                _ => write!(text, "{}.5", digits / 10),
            }
            .expect("writing to a string");
            assert_eq!(read(&text).map(f64::to_bits), text.parse().ok().map(f64::to_bits), "{text}");
        }
    }

    /// Halfway between two floats it is the even one that is read.
    #[test]
    fn halves_are_read_as_the_even_one() {
        for whole in [(1_u64 << 53) + 1, (1 << 53) + 3, (1 << 54) + 2, (1 << 54) + 6, (1 << 55) - 2] {
            for text in [whole.to_string(), format!("{whole}e0"), format!("{}e1", whole / 10 * 10)] {
                assert_eq!(read(&text), text.parse().ok(), "{text}");
            }
        }
        assert_eq!(read("9007199254740993"), Some(9_007_199_254_740_992.0));
        assert_eq!(read("9007199254740995"), Some(9_007_199_254_740_996.0));
    }

    #[test]
    fn whatever_is_written_is_read_again() {
        for value in some().flat_map(|v| [v, v * 1e-3, v * 1e-7, -v]).chain([1e-12, 3.3e-15, 0.1 + 0.2, 1.0 / 3.0]) {
            assert_eq!(read(&short(value)), Some(value), "{}", short(value));
        }
        // An exponent only where there is no other way.
        assert_eq!(short(1.234_567_890_123_456_6e-7), "12345678901234566e-23");
        assert_eq!(short(-1e-7), "-0.0000001");
    }

    #[test]
    fn what_is_no_number_is_not_read() {
        for text in ["", ".", "-", "e5", "1e", "1.2.3", "1x", "1e1.5", "nan", "inf", "--1", "1-"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("1e999"), Some(f64::INFINITY));
        assert_eq!(read("1e-999"), Some(0.0));
        let long = read("3.14159265358979323846264338327950288").expect("a number");
        assert!((long - std::f64::consts::PI).abs() < 1e-15);
    }
}
