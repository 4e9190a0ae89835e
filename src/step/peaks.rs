//! The highest points of a walk: one for each stretch in which the segment at work and the gradients that cards have
//! divided stay the same, so that the peak for any number of cards can be told afterwards.

use super::run::{CATEGORIES, Live, Phase, further};

/// The highest point of a stretch of the walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peak {
    /// Live bytes without what is resident and without divided gradients.
    pub(super) total: u64,
    /// The same by category.
    pub(super) live: Live,
    pub(super) phase: Phase,
    /// The largest single piece asked for there.
    pub(super) largest: u64,
    /// Gradients divided by then, undivided.
    pub(super) reduced: u64,
    /// Weights of the segment at work.
    pub(super) own: u64,
}

impl Default for Peak {
    fn default() -> Self {
        Self { total: 0, live: [0; CATEGORIES], phase: Phase::Forward, largest: 0, reduced: 0, own: 0 }
    }
}

/// Collects them.
#[derive(Default)]
pub(super) struct Peaks {
    closed: Vec<Peak>,
    open: Peak,
    /// Stretches before the repetition under way.
    mark: usize,
    /// Weights of the segment at work.
    own: u64,
}

impl Peaks {
    /// A point of the walk.
    pub(super) fn note(&mut self, total: u64, at: impl FnOnce() -> (Live, Phase, u64, u64)) {
        if total > self.open.total {
            let (live, phase, largest, reduced) = at();
            self.open = Peak { total, live, phase, largest, reduced, own: self.own };
        }
    }

    /// A segment with so many bytes of weights begins.
    pub(super) fn enter(&mut self, own: u64) {
        self.close();
        self.own = own;
    }

    /// A stretch ends.
    pub(super) fn close(&mut self) {
        let peak = std::mem::take(&mut self.open);
        if peak.total > 0 {
            self.closed.push(peak);
        }
    }

    /// A repetition begins.
    pub(super) fn mark(&mut self) {
        self.close();
        self.mark = self.closed.len();
    }

    /// The repetition since the mark, which took live bytes and divided gradients from `before` to `now`, comes `count`
    /// more times: the highest points of the last time.
    pub(super) fn repeat(&mut self, before: &Live, now: &Live, reduced: (u64, u64), count: u64) {
        self.close();
        for at in self.mark..self.closed.len() {
            let Some(&peak) = self.closed.get(at) else { break };
            let mut last = peak;
            for ((live, now), before) in last.live.iter_mut().zip(now).zip(before) {
                let moved = further(*now, *before, count);
                *live = if moved >= *now { live.saturating_add(moved - now) } else { live.saturating_sub(now - moved) };
            }
            last.total = last.live.iter().fold(0, |sum, live| sum.saturating_add(*live));
            last.reduced = peak.reduced.saturating_add(further(reduced.1, reduced.0, count) - reduced.1);
            self.closed.push(last);
        }
    }

    /// All of them.
    pub(super) fn all(mut self) -> Vec<Peak> {
        self.close();
        self.closed
    }
}
