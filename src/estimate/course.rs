//! The course of a step, as the picture shows it.

use super::{Moment, Part, TimelinePoint};
use crate::step::{Course, Live, Phase};
use crate::units::Bytes;

/// At most so many points, `parts` of what is alive on the card: the highest of each stretch, so that no peak is lost.
pub(super) fn points(
    course: &Course,
    points: usize,
    parts: impl Fn(&Live) -> [Bytes; Part::ALL.len()],
) -> Vec<TimelinePoint> {
    let ticks = &course.ticks;
    let stretch = ticks.len().div_ceil(points.max(1)).max(1);
    let total = |l: &Live| l.iter().sum::<u64>();
    let count = ticks.len().max(1) as f64;
    ticks
        .chunks(stretch)
        .enumerate()
        .filter_map(|(k, chunk)| {
            let (phase, live) = chunk.iter().max_by_key(|(_, live)| total(live))?;
            Some(TimelinePoint { moment: moment(*phase), at: (k * stretch) as f64 / count, parts: parts(live) })
        })
        .collect()
}

/// The phase of a step as the page names it.
pub(super) const fn moment(phase: Phase) -> Moment {
    match phase {
        Phase::Forward => Moment::Forward,
        Phase::Loss => Moment::Loss,
        Phase::Backward => Moment::Backward,
        Phase::Optimizer => Moment::Optimizer,
    }
}
