//! The course of a step, written down while it is walked.

use super::{Moment, Part, TimelinePoint};
use crate::step::{Category, Live, Observer, Phase};
use crate::units::Bytes;

/// What was alive after each operator.
#[derive(Default)]
pub(super) struct Course {
    ticks: Vec<(Phase, Live)>,
}

impl Observer for Course {
    fn tick(&mut self, phase: Phase, live: &Live, scratch: u64) {
        let mut live = *live;
        live[Category::Temporaries as usize] += scratch;
        self.ticks.push((phase, live));
    }
}

impl Course {
    /// At most so many points, `parts` of what is alive on the card: the highest of each stretch, so that no peak is lost.
    pub(super) fn points(
        &self,
        points: usize,
        parts: impl Fn(&Live) -> [Bytes; Part::ALL.len()],
    ) -> Vec<TimelinePoint> {
        let stretch = self.ticks.len().div_ceil(points.max(1)).max(1);
        let total = |l: &Live| l.iter().sum::<u64>();
        let count = self.ticks.len().max(1) as f64;
        self.ticks
            .chunks(stretch)
            .enumerate()
            .filter_map(|(k, chunk)| {
                let (phase, live) = chunk.iter().max_by_key(|(_, live)| total(live))?;
                Some(TimelinePoint { moment: moment(*phase), at: (k * stretch) as f64 / count, parts: parts(live) })
            })
            .collect()
    }
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
