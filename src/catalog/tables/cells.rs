//! Reading packed text, a row at a time.

use super::super::{Part, Source};

/// A table as `build.rs` writes it: columns one to a line, their cells separated by tabs.
pub(crate) struct Packed {
    pub(crate) rows: usize,
    /// Names of the columns, to check that they are read in the order in which they were written.
    #[cfg(debug_assertions)]
    pub(crate) names: &'static [&'static str],
    pub(crate) text: &'static str,
}

impl Packed {
    /// Reads every row with `read`.
    pub(super) fn read<T>(&self, read: fn(&mut Cells) -> T) -> Vec<T> {
        let columns: Vec<_> = self.text.split('\n').map(|column| column.split('\t')).collect();
        let mut cells = Cells {
            above: vec![""; columns.len()],
            columns,
            #[cfg(debug_assertions)]
            names: self.names,
            next: 0,
        };
        (0..self.rows)
            .map(|_| {
                cells.next = 0;
                read(&mut cells)
            })
            .collect()
    }
}

/// The cells of one row after the other.
pub(super) struct Cells {
    columns: Vec<std::str::Split<'static, char>>,
    /// The last row's cells, for those that say the same again.
    above: Vec<&'static str>,
    #[cfg(debug_assertions)]
    names: &'static [&'static str],
    next: usize,
}

/// Stands for the cell above.
const AS_ABOVE: &str = "=";

impl Cells {
    #[cfg_attr(not(debug_assertions), allow(unused_variables))]
    pub(super) fn text(&mut self, name: &str) -> &'static str {
        #[cfg(debug_assertions)]
        assert_eq!(self.names.get(self.next), Some(&name));
        let mut cell = self.columns.get_mut(self.next).and_then(Iterator::next).unwrap_or("");
        if let Some(above) = self.above.get_mut(self.next) {
            if cell == AS_ABOVE {
                cell = *above;
            }
            *above = cell;
        }
        self.next += 1;
        cell
    }

    pub(super) fn whole(&mut self, name: &str) -> u64 {
        self.text(name).bytes().fold(0, |n, digit| n * 10 + u64::from(digit.wrapping_sub(b'0')))
    }

    pub(super) fn small(&mut self, name: &str) -> u32 {
        u32::try_from(self.whole(name)).unwrap_or(u32::MAX)
    }

    /// A decimal number. The digits make a whole number below 2^53 and a power of ten that are both exact, so that their
    /// quotient is the number nearest to what is written.
    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        let text = self.text(name);
        if text.is_empty() {
            return None;
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.bytes().chain(decimals.bytes());
        let digits = digits.fold(0_u64, |n, digit| n * 10 + u64::from(digit.wrapping_sub(b'0')));
        let power = decimals.bytes().fold(1.0, |power, _| power * 10.0);
        Some(digits as f64 / power)
    }

    pub(super) fn required(&mut self, name: &str) -> f64 {
        self.number(name).unwrap_or_default()
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        !self.text(name).is_empty()
    }

    /// The choice at the cell's place in a list.
    pub(super) fn choice<T: Copy>(&mut self, name: &str, list: &[T], first: T) -> T {
        list.get(self.whole(name) as usize).copied().unwrap_or(first)
    }

    pub(super) fn source(&mut self) -> Source {
        Source { place: self.text("source"), as_of: self.text("as_of") }
    }

    pub(super) fn part(&mut self, name: &str, params: &str) -> Part {
        Part { name: self.text(name), params: self.whole(params) }
    }
}
