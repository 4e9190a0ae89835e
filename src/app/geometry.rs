//! Where things stand in the pictures: lengths in shares of the drawing, worked out apart from the views.

use crate::estimate::{MemoryEstimate, Moment, Part, TimelinePoint};
use crate::units::Bytes;
use crate::units::decimal::fixed;

/// Width of the drawings in their own units.
pub(super) const WIDTH: f64 = 1000.0;

/// Height of the timeline.
pub(super) const HEIGHT: f64 = 240.0;

/// A piece of the memory bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    /// What it holds.
    pub part: Part,
    /// Where it begins.
    pub x: f64,
    /// How long it is.
    pub width: f64,
}

/// The memory bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    /// The parts in order.
    pub segments: Vec<Segment>,
    /// The end of the parts.
    pub end: f64,
    /// The error band, as a line with ends.
    pub whisker: String,
    /// The card's limit, where a card is chosen.
    pub limit: Option<f64>,
    /// What lies beyond it, as percentages of the width: where it begins, how long it is.
    pub beyond: Option<(f64, f64)>,
}

/// Lays the memory bar out, so that peak, band and card are all inside.
pub(super) fn bar(memory: &MemoryEstimate, capacity: Option<Bytes>) -> Bar {
    let total = memory.card.0 as f64;
    let upper = total * (1.0 + memory.band);
    let longest = capacity.map_or(upper, |c| upper.max(c.0 as f64)).max(1.0) * 1.01;
    let place = |bytes: f64| bytes / longest * WIDTH;
    let mut x = 0.0;
    let segments = Part::ALL
        .into_iter()
        .map(|part| {
            let width = place(memory.part(part).0 as f64);
            let segment = Segment { part, x, width };
            x += width;
            segment
        })
        .collect();
    let limit = capacity.map(|c| place(c.0 as f64));
    let beyond = limit.filter(|l| *l < x).map(|l| (percent(l), percent(x) - percent(l)));
    Bar { segments, end: x, whisker: whisker(place(total * (1.0 - memory.band)), place(upper)), limit, beyond }
}

/// A line from one end to the other with a short stroke across each end.
fn whisker(from: f64, to: f64) -> String {
    let (from, to) = (tenths(from), tenths(to));
    format!("M{from} 9v10M{from} 14H{to}M{to} 9v10")
}

/// A length as it stands in a picture: to a tenth.
pub(super) fn tenths(length: f64) -> String {
    fixed(length, 1)
}

/// A place as a percentage of the width.
pub(super) fn percent(x: f64) -> f64 {
    (x / WIDTH * 100.0).clamp(0.0, 100.0)
}

/// A phase of the step in the timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Phase {
    /// Which.
    pub moment: Moment,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// The timeline of a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timeline {
    /// The outline of each part's area, as the points of a polygon.
    pub areas: Vec<(Part, String)>,
    /// Phases from left to right.
    pub phases: Vec<Phase>,
    /// Height of the card's limit, where it is inside the picture.
    pub limit: Option<f64>,
    /// Where the peak is.
    pub peak: (f64, f64),
}

/// Lays the timeline out.
pub(super) fn timeline(points: &[TimelinePoint], capacity: Option<Bytes>) -> Timeline {
    let total = |p: &TimelinePoint| p.parts.iter().map(|b| b.0 as f64).sum::<f64>();
    let highest = points.iter().map(total).fold(1.0, f64::max);
    let limit = capacity.map(|c| c.0 as f64).filter(|c| *c < highest * 2.0);
    let scale = limit.map_or(highest, |c| c.max(highest)) * 1.06;
    let (x, y) = (|at: f64| at.clamp(0.0, 1.0) * WIDTH, |bytes: f64| HEIGHT - bytes / scale * HEIGHT);
    let below = |p: &TimelinePoint, parts: usize| p.parts.iter().take(parts).map(|b| b.0 as f64).sum::<f64>();
    let areas = Part::ALL
        .into_iter()
        .enumerate()
        .filter(|(at, _)| points.iter().any(|p| p.parts.get(*at).is_some_and(|b| b.0 > 0)))
        .map(|(at, part)| {
            let top = points.iter().map(|p| format!("{},{} ", tenths(x(p.at)), tenths(y(below(p, at + 1)))));
            let bottom = points.iter().rev().map(|p| format!("{},{} ", tenths(x(p.at)), tenths(y(below(p, at)))));
            (part, top.chain(bottom).collect())
        })
        .collect();
    let mut phases: Vec<Phase> = Vec::new();
    for point in points {
        match phases.last_mut() {
            Some(last) if last.moment == point.moment => last.to = x(point.at),
            Some(last) => {
                let from = last.to;
                phases.push(Phase { moment: point.moment, from, to: x(point.at) });
            }
            None => phases.push(Phase { moment: point.moment, from: 0.0, to: x(point.at) }),
        }
    }
    let top = points.iter().fold(None::<&TimelinePoint>, |best, p| match best {
        Some(b) if total(b) >= total(p) => Some(b),
        _ => Some(p),
    });
    let peak = top.map_or((0.0, HEIGHT), |p| (x(p.at), y(total(p))));
    Timeline { areas, phases, limit: limit.map(y), peak }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use wasm_bindgen_test::wasm_bindgen_test;

    fn point(moment: Moment, at: f64, weights: u64, activations: u64) -> TimelinePoint {
        let mut parts = [Bytes::ZERO; 7];
        parts[Part::Weights as usize] = Bytes(weights);
        parts[Part::Activations as usize] = Bytes(activations);
        TimelinePoint { moment, at, parts }
    }

    #[wasm_bindgen_test]
    fn the_timeline_stays_inside_its_picture() {
        let points = [
            point(Moment::Forward, 0.0, 100, 0),
            point(Moment::Forward, 0.4, 100, 300),
            point(Moment::Backward, 0.8, 100, 100),
            point(Moment::Optimizer, 1.0, 120, 0),
        ];
        let drawn = timeline(&points, Some(Bytes(500)));
        assert_eq!(drawn.areas.len(), 2, "parts that hold nothing are not drawn");
        for (_, polygon) in &drawn.areas {
            for pair in polygon.split_whitespace() {
                let (x, y) = pair.split_once(',').unwrap();
                let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                assert!((0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y), "{pair}");
            }
        }
        let moments: Vec<Moment> = drawn.phases.iter().map(|p| p.moment).collect();
        assert_eq!(moments, [Moment::Forward, Moment::Backward, Moment::Optimizer]);
        assert!(drawn.phases.windows(2).all(|p| p[0].to == p[1].from));
        assert_eq!(drawn.peak.0, 400.0);
        assert!(drawn.limit.is_some_and(|y| y < drawn.peak.1), "the limit lies above the peak");
        assert!(timeline(&points, Some(Bytes(5000))).limit.is_none(), "a far limit does not flatten the picture");
        assert!(timeline(&[], None).areas.is_empty());
    }
}
