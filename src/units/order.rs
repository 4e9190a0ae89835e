//! Sorting with one piece of code for all lists. The standard library's sort is compiled anew for every type, which
//! gives the page 50 kB of code; lists here have a few hundred rows, and the fastest sort is not felt.

use std::cmp::Ordering;

/// Sorts a list; rows that are equal stay in the order in which they were.
pub fn sort<T>(rows: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let places = places(rows.len(), &|a, b| rows.get(a).zip(rows.get(b)).map_or(Ordering::Equal, |(a, b)| order(a, b)));
    for row in 0..rows.len() {
        // What stood at a place before this one has been moved to where that row came from.
        let mut from = row;
        loop {
            from = places.get(from).copied().unwrap_or(from);
            if from >= row {
                break;
            }
        }
        rows.swap(row, from);
    }
}

/// The places of rows in their order: each goes behind those before it that it does not come before.
fn places(count: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = Vec::with_capacity(count);
    for row in 0..count {
        // Much is in order already.
        if sorted.last().is_none_or(|last| order(*last, row) != Ordering::Greater) {
            sorted.push(row);
            continue;
        }
        let place = sorted.partition_point(|before| order(*before, row) != Ordering::Greater);
        sorted.insert(place, row);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn equal_rows_stay_in_their_order() {
        let mut rows: Vec<(u32, u32)> = (0..400).map(|n| (n * 7919 % 13, n)).collect();
        let mut expected = rows.clone();
        expected.sort_by_key(|(key, _)| *key);
        sort(&mut rows, |a, b| a.0.cmp(&b.0));
        assert_eq!(rows, expected);
        sort(&mut Vec::<u32>::new(), Ord::cmp);
    }
}
