//! A step that sees more samples than there are.

use super::plan::samples_per_step;
use crate::project::Project;

/// Fewer updates in an epoch teach next to nothing. A judgement.
const STEPS_AN_EPOCH: u64 = 10;

/// A step larger than the data, and what it could be instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverData {
    /// Samples that one optimizer step sees over all cards.
    pub step: u64,
    /// Samples that there are.
    pub samples: u64,
    /// A smaller step: samples per card and forward pass, micro-batches per optimizer step. `None` where one sample on
    /// every card is too many already.
    pub instead: Option<(u64, u64)>,
}

/// Whether one optimizer step takes more samples than an epoch has, with the largest step that leaves an epoch some
/// updates: less accumulation first, since that costs nothing, then a smaller micro-batch.
pub fn over_data(project: &Project) -> Option<OverData> {
    let (step, samples) = (samples_per_step(project), project.samples);
    if samples == 0 || step <= samples {
        return None;
    }
    let at_once = project.micro_batch.saturating_mul(project.accumulation).max(1);
    let cards = (step / at_once).max(1);
    let each = (samples / STEPS_AN_EPOCH / cards).max(1);
    let micro_batch = project.micro_batch.min(each);
    let accumulation = (each / micro_batch).clamp(1, project.accumulation.max(1));
    let fits = micro_batch.saturating_mul(accumulation).saturating_mul(cards) <= samples;
    Some(OverData { step, samples, instead: fits.then_some((micro_batch, accumulation)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Hardware;

    fn of(samples: u64, micro_batch: u64, accumulation: u64, count: u32) -> Option<OverData> {
        let hardware = Hardware { count, ..Hardware::default() };
        over_data(&Project { micro_batch, accumulation, samples, hardware, ..Project::default() })
    }

    #[test]
    fn a_step_is_brought_below_the_data() {
        assert_eq!(of(128, 4, 32, 1), None);
        let instead = |found: Option<OverData>| found.and_then(|f| f.instead);
        assert_eq!(instead(of(100, 4, 32, 1)), Some((4, 2)));
        assert_eq!(instead(of(100, 64, 2, 1)), Some((10, 1)));
        assert_eq!(instead(of(100, 2, 8, 8)), Some((1, 1)));
        assert_eq!(of(6, 1, 1, 8), Some(OverData { step: 8, samples: 6, instead: None }));
        for samples in 1..40 {
            for (micro, steps, count) in [(1, 64, 1), (16, 4, 2), (3, 7, 4)] {
                let Some(OverData { step, instead: Some((m, a)), .. }) = of(samples, micro, steps, count) else {
                    continue;
                };
                assert!(m * a * u64::from(count) <= samples && m <= micro && a <= steps && step > samples);
            }
        }
    }
}
