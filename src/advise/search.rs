//! Exact searches over a few settings with as few estimates as possible.
//!
//! Both rest on one fact: of the settings that they are given a stronger one never needs more memory (`tests` in this
//! crate hold it).

/// The first of `settings` that fits, given that every later one fits too; `None` where not even the last does.
/// Needs one try where the first fits, two where none does, else about log2 of their number.
pub(super) fn mildest<T>(settings: &[T], fits: impl Fn(&T) -> bool) -> Option<usize> {
    if fits(settings.first()?) {
        return Some(0);
    }
    let last = settings.len() - 1;
    if last == 0 || !fits(settings.last()?) {
        return None;
    }
    let (mut low, mut high) = (1, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if settings.get(middle).is_some_and(&fits) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

/// The largest number in `1..=limit` whose need is at most `have`, where need grows with it, almost in proportion.
/// `need` gives `None` where nothing can be said; `None` is returned where 1 needs too much.
pub(super) fn largest(limit: u64, have: f64, need: impl Fn(u64) -> Option<f64>) -> Option<u64> {
    let one = need(1)?;
    if one > have {
        return None;
    }
    let (mut low, mut low_need) = (1, one);
    // Beyond the answer, if known.
    let mut high: Option<(u64, f64)> = None;
    let mut guess = 2;
    while low < limit && high.is_none_or(|(h, _)| h - low > 1) {
        let n = guess.clamp(low + 1, high.map_or(limit, |(h, _)| h - 1));
        match need(n) {
            Some(found) if found <= have => (low, low_need) = (n, found),
            Some(found) => high = Some((n, found)),
            None => high = Some((n, f64::INFINITY)),
        }
        guess = match high {
            // Between two points the need is nearly a straight line; a step beyond the crossing closes the bracket.
            Some((h, h_need)) if h_need.is_finite() && h_need > low_need => {
                let share = (have - low_need) / (h_need - low_need);
                let cross = low + (share * (h - low) as f64) as u64;
                if n == cross { cross + 1 } else { cross }
            }
            Some((h, _)) => low + (h - low) / 2,
            None if low_need > one => {
                let slope = (low_need - one) / (low - 1) as f64;
                low.saturating_add(((have - low_need) / slope) as u64).max(low + 1)
            }
            None => low.saturating_mul(4),
        };
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::cell::Cell;

    #[test]
    fn mildest_is_the_first_that_fits() {
        for n in 0..20 {
            let settings: Vec<usize> = (0..n).collect();
            for first in 0..=n {
                let found = mildest(&settings, |s| *s >= first);
                assert_eq!(found, (first < n).then_some(first));
            }
        }
    }

    #[test]
    fn largest_agrees_with_counting() {
        // Lines, lines with a floor (a peak elsewhere), steps of an allocator, curves.
        let needs: [fn(u64) -> f64; 5] = [
            |n| 3.0 + 2.0 * n as f64,
            |n| (50.0f64).max(2.0 * n as f64),
            |n| 5.0 + (2.3 * n as f64 / 7.0).ceil() * 7.0,
            |n| 1.0 + n as f64 + 0.01 * (n as f64).powi(2),
            |_| 10.0,
        ];
        for (which, need) in needs.iter().enumerate() {
            for have in [4.0, 9.0, 49.0, 51.0, 100.0, 1234.5, 1e5] {
                for limit in [1, 2, 7, 1000] {
                    let tries = Cell::new(0);
                    let found = largest(limit, have, |n| {
                        tries.set(tries.get() + 1);
                        Some(need(n))
                    });
                    let counted = (1..=limit).take_while(|n| need(*n) <= have).last();
                    assert_eq!(found, counted, "need {which}, have {have}, limit {limit}");
                    assert!(tries.get() <= 30, "need {which}, have {have}, limit {limit}: {}", tries.get());
                }
            }
        }
        let tries = Cell::new(0);
        let line = |n: u64| {
            tries.set(tries.get() + 1);
            Some(3.0 + 2.0 * n as f64)
        };
        assert_eq!(largest(1 << 20, 2003.0, line), Some(1000));
        assert!(tries.get() <= 6, "{}", tries.get());
    }
}
