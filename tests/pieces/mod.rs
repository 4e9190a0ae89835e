//! The pieces of a step that is put together of coefficients, from its course.

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::{MemoryEstimate, Moment, Part, memory};
use enough_gpu::project::{Checkpointing, Framework, Method, Optimizer, OptimizerImpl, Precision, Project};

#[track_caller]
pub(crate) fn near(a: f64, b: f64, share: f64) {
    // Bytes are whole, and sums are rounded piece by piece.
    assert!((a - b).abs() <= share * a.abs().max(b.abs()) + 4.0, "{a:e} and {b:e}");
}

#[track_caller]
pub(crate) fn close(a: f64, b: f64) {
    near(a, b, 1e-6);
}

pub(crate) fn full(model: &str) -> Project {
    Project {
        model: model.into(),
        method: Method::Full,
        precision: Precision::Fp32,
        checkpointing: Checkpointing::Off,
        optimizer: Optimizer::AdamW,
        optimizer_impl: OptimizerImpl::Loop,
        framework: Framework::Pytorch,
        image_side: 224,
        micro_batch: 8,
        accumulation: 1,
        cached_latents: true,
        ..Project::default()
    }
}

pub(crate) fn estimate(project: &Project) -> MemoryEstimate {
    memory(project, None, &Catalog::bundled()).unwrap()
}

/// The pieces of a step, from its course: encoding, end of forward, loss, the beginning and the end of backward, update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    pub(crate) weights: f64,
    pub(crate) copies: f64,
    pub(crate) gradients: f64,
    pub(crate) early: f64,
    pub(crate) states: f64,
    pub(crate) saved: f64,
    pub(crate) logits: f64,
    pub(crate) loss: f64,
    pub(crate) transient: f64,
    pub(crate) encoding: f64,
    pub(crate) batch: f64,
    pub(crate) step: f64,
    pub(crate) outside: f64,
    pub(crate) host: f64,
}

pub(crate) fn pieces(project: &Project) -> Pieces {
    use Moment::{Backward, Encoding, Forward, Loss, Optimizer as Update};
    let m = estimate(project);
    let moments: Vec<Moment> = m.timeline.iter().map(|point| point.moment).collect();
    assert_eq!(moments, [Encoding, Forward, Loss, Backward, Backward, Update], "{}", project.model);
    assert!(m.timeline.windows(2).all(|pair| pair[0].at < pair[1].at));
    let at = |moment: usize, part: Part| m.timeline[moment].parts[part as usize].0 as f64;
    // The peak is the highest moment, and what is shown adds up.
    let total = |n: usize| m.timeline[n].parts.iter().map(|b| b.0 as f64).sum::<f64>();
    let highest = (0..6).map(total).fold(0.0, f64::max);
    near(m.allocated.0 as f64, highest, 1e-9);
    assert!((0..6).any(|n| m.timeline[n].moment == m.moment && (total(n) - highest).abs() < 8.0));
    assert_eq!(m.parts.iter().map(|b| b.0).sum::<u64>(), m.card.0);
    let rest = at(1, Part::Activations) - at(0, Part::Activations);
    Pieces {
        weights: at(0, Part::Weights),
        copies: at(1, Part::Weights) - at(0, Part::Weights),
        gradients: at(5, Part::Gradients),
        early: at(3, Part::Gradients),
        states: at(0, Part::Optimizer),
        saved: rest,
        logits: at(2, Part::Logits),
        loss: at(2, Part::Temporaries),
        transient: at(3, Part::Temporaries),
        encoding: at(0, Part::Temporaries),
        batch: at(0, Part::Activations),
        step: at(5, Part::Temporaries),
        outside: (m.card - m.reserved).0 as f64,
        host: m.host.0 as f64,
    }
}

pub(crate) fn with(base: &Project, change: impl FnOnce(&mut Project)) -> Pieces {
    let mut project = base.clone();
    change(&mut project);
    pieces(&project)
}
