//! Quantities with their units in the type: bytes, floating-point operations, seconds, money.
//!
//! GiB is 2^30 bytes (what `nvidia-smi` and PyTorch call a "GB" on their labels), GB is 10^9 bytes (what disks,
//! `torch.cuda` examples that divide by 1e9 and cloud bills mean).

pub mod decimal;
mod few;
mod order;

pub use few::Few;
pub use order::sort;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// One binary gigabyte.
pub const GIB: u64 = 1 << 30;
/// One binary megabyte.
pub const MIB: u64 = 1 << 20;

/// An amount of memory. Arithmetic saturates: memory is never negative and never wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// From binary gigabytes; negative and non-finite values become zero.
    pub fn from_gib(gib: f64) -> Self {
        Self((gib * GIB as f64).max(0.0) as u64)
    }

    /// From binary megabytes.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib.saturating_mul(MIB))
    }

    /// In binary gigabytes.
    pub fn gib(self) -> f64 {
        self.0 as f64 / GIB as f64
    }

    /// In binary megabytes.
    pub fn mib(self) -> f64 {
        self.0 as f64 / MIB as f64
    }

    /// In decimal gigabytes.
    pub fn gb(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Scaled by a factor; never negative.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).max(0.0) as u64)
    }

    /// Rounded up to a multiple of `step` (an allocator's block size).
    #[must_use]
    pub const fn round_up(self, step: u64) -> Self {
        Self(self.0.div_ceil(step).saturating_mul(step))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    /// Three significant digits with a unit: `640 KiB`, `13.6 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1000.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{} {}", significant(value), UNITS[unit])
    }
}

/// A number with three significant digits and no exponent: `0.0123`, `1.20`, `13.6`, `461`.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    let digits = if size == 0.0 || size >= 99.95 {
        0
    } else if size >= 9.995 {
        1
    } else if size >= 0.9995 {
        2
    } else {
        3
    };
    decimal::fixed(value, digits)
}

/// Floating-point operations (a multiply-accumulate counts as two).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Flops(pub f64);

impl Add for Flops {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sum for Flops {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        Self(iter.map(|f| f.0).sum())
    }
}

/// A duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Seconds(pub f64);

impl Seconds {
    /// In hours.
    pub fn hours(self) -> f64 {
        self.0 / 3600.0
    }
}

impl Add for Seconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// A currency that prices are shown in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Currency {
    /// US dollar.
    #[default]
    Usd,
    /// Chinese yuan.
    Cny,
}

/// An amount of money in one currency.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Money {
    /// How much.
    pub amount: f64,
    /// In which currency.
    pub currency: Currency,
}

impl PartialOrd for Currency {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (*self as u8).partial_cmp(&(*other as u8))
    }
}

impl Money {
    /// US dollars.
    pub const fn usd(amount: f64) -> Self {
        Self { amount, currency: Currency::Usd }
    }

    /// Chinese yuan.
    pub const fn cny(amount: f64) -> Self {
        Self { amount, currency: Currency::Cny }
    }

    /// The same worth in another currency at `cny_per_usd`.
    #[must_use]
    pub fn convert(self, to: Currency, cny_per_usd: f64) -> Self {
        let amount = match (self.currency, to) {
            (Currency::Usd, Currency::Cny) => self.amount * cny_per_usd,
            (Currency::Cny, Currency::Usd) => self.amount / cny_per_usd,
            _ => self.amount,
        };
        Self { amount, currency: to }
    }
}

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// Year.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: i64,
    /// Day, 1 to 31.
    pub day: i64,
}

impl Date {
    /// Days since a fixed day, by the Gregorian calendar: years begin in March, so that the leap day comes last.
    fn number(self) -> i64 {
        let (year, month) = if self.month > 2 { (self.year, self.month - 3) } else { (self.year - 1, self.month + 9) };
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + self.day
    }

    /// Days from the end of a month (`2026-09`) to this day; `None` where that is no month.
    ///
    /// ```
    /// use enough_gpu::units::Date;
    ///
    /// let today = Date { year: 2026, month: 11, day: 30 };
    /// assert_eq!(today.days_after_month("2026-10"), Some(30));
    /// assert_eq!(today.days_after_month("2025-12"), Some(334));
    /// assert_eq!(today.days_after_month("last year"), None);
    /// ```
    pub fn days_after_month(self, as_of: &str) -> Option<i64> {
        let (year, month) = as_of.split_once('-')?;
        let (year, month): (i64, i64) = (year.parse().ok()?, month.parse().ok()?);
        if !(1..=12).contains(&month) {
            return None;
        }
        let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        Some(self.number() - Self { year, month, day: 1 }.number() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_show_three_digits_and_a_unit() {
        let cases = [
            (0, "0 B"),
            (512, "512 B"),
            (655_360, "640 KiB"),
            (14_602_888_806, "13.6 GiB"),
            (1 << 50, "1.00 PiB"),
            (1_073_741_823, "1.00 GiB"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(Bytes(bytes).to_string(), shown);
        }
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Bytes(1) - Bytes(2), Bytes::ZERO);
        assert_eq!(Bytes(u64::MAX) + Bytes(1), Bytes(u64::MAX));
        assert_eq!(Bytes(u64::MAX) * 3, Bytes(u64::MAX));
        assert_eq!(Bytes::from_gib(f64::NAN), Bytes::ZERO);
        assert_eq!(Bytes(513).round_up(512), Bytes(1024));
        assert_eq!(Bytes(10).scale(-1.0), Bytes::ZERO);
    }

    #[test]
    fn units_are_what_they_are_called() {
        assert_eq!((Bytes::from_mib(1536).gib(), Bytes::from_gib(1.5).mib()), (1.5, 1536.0));
        assert_eq!(Bytes(24_000_000_000).gb(), 24.0);
        assert_eq!(Bytes::from_mib(3), Bytes(3 * 1024 * 1024));
        assert_eq!(Seconds(5400.0).hours(), 1.5);
        assert_eq!((Seconds(1.0) + Seconds(2.5)).0, 3.5);
        assert_eq!([Flops(2.0), Flops(3.0) + Flops(4.0)].into_iter().sum::<Flops>().0, 9.0);
        let mut total = Bytes(1);
        total += Bytes(2) * 3;
        assert_eq!(total, [Bytes(3), Bytes(4)].into_iter().sum());
        assert!(Currency::Usd < Currency::Cny && Money::usd(1.0) < Money::usd(2.0));
    }

    #[test]
    fn money_keeps_its_worth() {
        assert_eq!(Money::usd(2.0).convert(Currency::Cny, 7.0), Money::cny(14.0));
        assert_eq!(Money::cny(14.0).convert(Currency::Usd, 7.0), Money::usd(2.0));
        assert_eq!(Money::cny(14.0).convert(Currency::Cny, 7.0), Money::cny(14.0));
        assert_eq!(Money::usd(2.0).convert(Currency::Usd, 7.0), Money::usd(2.0));
    }

    #[test]
    fn three_digits_are_shown() {
        for (value, shown) in [
            (0.0, "0"),
            (0.9994, "0.999"),
            (0.9995, "1.00"),
            (9.994, "9.99"),
            (9.995, "10.0"),
            (99.94, "99.9"),
            (99.95, "100"),
            (461.4, "461"),
            (-13.62, "-13.6"),
        ] {
            assert_eq!(significant(value), shown, "{value}");
        }
    }

    /// Day by day through 800 years, by the lengths of the months as one learns them.
    #[test]
    fn days_are_those_of_the_calendar() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut last = None;
        for year in 1600..2400 {
            for month in 1..=12 {
                let days = match month {
                    2 => 28 + i64::from(leap(year)),
                    4 | 6 | 9 | 11 => 30,
                    _ => 31,
                };
                for day in [1, 2, 28, days] {
                    let here = Date { year, month, day };
                    assert_eq!(here.days_after_month(&format!("{year}-{month:02}")), Some(day - days), "{here:?}");
                }
                let first = Date { year, month, day: 1 }.number();
                assert!(last.is_none_or(|last| first == last + 1), "{year}-{month}");
                last = Some(first + days - 1);
            }
        }
        let today = Date { year: 2026, month: 11, day: 30 };
        assert_eq!(today.days_after_month("2025-12"), Some(334));
        for nonsense in ["2026-13", "2026-00", "2026", "", "a-b"] {
            assert_eq!(today.days_after_month(nonsense), None, "{nonsense}");
        }
    }
}
