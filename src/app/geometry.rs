//! Where things stand in the pictures: lengths in shares of the drawing, worked out apart from the views.

use crate::estimate::{MemoryEstimate, Moment, Part, TimelinePoint};
use crate::units::Bytes;

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
    format!("M{from:.1} 9v10M{from:.1} 14H{to:.1}M{to:.1} 9v10")
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
            let top = points.iter().map(|p| format!("{:.1},{:.1} ", x(p.at), y(below(p, at + 1))));
            let bottom = points.iter().rev().map(|p| format!("{:.1},{:.1} ", x(p.at), y(below(p, at))));
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
