//! From the sizes of a step's pieces to its peak: the highest of the moments it passes through, never their sum.

use crate::catalog::Gpu;
use crate::estimate::{EstimateMethod, MemoryEstimate, Moment, Part, Resolved, TimelinePoint, overhead};
use crate::project::{Attention, LossKernel, Offload, Optimizer, OptimizerImpl, Precision, Project, Sharding};
use crate::units::Bytes;

/// Simulated reserved over allocated bytes, median of the traced vision, diffusion and audio cases.
const RESERVED_OVER_ALLOCATED: f64 = 1.07;

/// The pieces of one step on one card, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pieces {
    /// Everything resident that holds weights: trained, frozen, adapters, masters, averages, frozen encoders.
    pub(super) weights: f64,
    /// 16-bit copies that autocast keeps from forward to backward.
    pub(super) copies: f64,
    /// Gradients of all trained weights.
    pub(super) gradients: f64,
    /// Share of the gradients that is there when backward has just begun (a large head).
    pub(super) early_gradients: f64,
    /// What the optimizer remembers.
    pub(super) states: f64,
    /// Short-lived in the optimizer's step.
    pub(super) step_temporaries: f64,
    /// Saved for backward at the end of forward, without logits.
    pub(super) saved: f64,
    /// Saved logits and their kin.
    pub(super) logits: f64,
    /// Short-lived around the loss.
    pub(super) loss_temporaries: f64,
    /// Short-lived in the layers' backward, a checkpointed block computed again among them.
    pub(super) transient: f64,
    /// Short-lived in encoding by frozen parts, before the step proper.
    pub(super) encoding: f64,
    /// The batch.
    pub(super) batch: f64,
    /// Workspaces of convolution kernels that `nvidia-smi` sees and PyTorch's counters do not, or only as reserved.
    pub(super) workspace: f64,
    /// Waits in main memory.
    pub(super) host: f64,
}

/// Relative half-width of the error band by the way an estimate was made.
pub(super) fn band(method: EstimateMethod) -> f64 {
    match method {
        EstimateMethod::Symbolic => 0.08,
        EstimateMethod::Measured => 0.12,
        EstimateMethod::Extrapolated => 0.2,
        EstimateMethod::Rough => 0.35,
    }
}

/// Bytes of a trained weight, its gradient, and its optimizer state.
#[derive(Clone, Copy, Debug)]
pub(super) struct PerWeight {
    pub(super) weight: f64,
    pub(super) gradient: f64,
    pub(super) state: f64,
    /// Temporary of the optimizer's step.
    pub(super) step: f64,
}

/// What one trained weight costs. `matrix_share` is the share of weights in factorable matrices (Adafactor).
pub(super) fn per_weight(project: &Project, factored: f64) -> PerWeight {
    let (weight, gradient) = match project.precision {
        Precision::Fp32 | Precision::AmpBf16 | Precision::AmpFp16 => (4.0, 4.0),
        Precision::PureBf16 => (2.0, 2.0),
        // 16-bit weight and fp32 master; 16-bit gradient, copied to fp32 for the step.
        Precision::MasterBf16 => (6.0, 2.0),
    };
    let moment = if project.precision == Precision::PureBf16 { 2.0 } else { 4.0 };
    let state = match project.optimizer {
        Optimizer::AdamW | Optimizer::PagedAdamW => 2.0 * moment,
        // Two bytes and two fp32 scales per 256 weights (bitsandbytes).
        Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit => 2.0 + 8.0 / 256.0,
        Optimizer::Adafactor => 4.0 * (1.0 - factored),
        Optimizer::Sgd => 0.0,
        Optimizer::SgdMomentum | Optimizer::Lion | Optimizer::Muon => moment,
        // Moments of a quarter of the width.
        Optimizer::Galore => 0.5 * moment,
    };
    let foreach = matches!(optimizer_impl(project), OptimizerImpl::Foreach);
    let step = match project.optimizer {
        Optimizer::AdamW if foreach => moment,
        _ => 0.0,
    } + if project.precision == Precision::MasterBf16 { 4.0 } else { 0.0 };
    PerWeight { weight, gradient, state, step }
}

/// PyTorch's default: foreach for AdamW; Hugging Face's Trainer asks for the fused kernel.
pub(super) fn optimizer_impl(project: &Project) -> OptimizerImpl {
    match project.optimizer_impl {
        OptimizerImpl::Auto if project.optimizer == Optimizer::AdamW => OptimizerImpl::Foreach,
        OptimizerImpl::Auto => OptimizerImpl::Loop,
        given => given,
    }
}

impl Pieces {
    /// Divides what the sharding divides, and adds what several cards need to talk.
    fn shared(mut self, project: &Project) -> (Self, Sharding) {
        let cards = f64::from(project.hardware.count.max(1));
        let sharding = match project.hardware.sharding {
            Sharding::Auto => Sharding::Ddp,
            given => given,
        };
        if cards > 1.0 {
            match sharding {
                Sharding::Auto | Sharding::Ddp => self.workspace += self.gradients,
                Sharding::Zero1 => self.states /= cards,
                Sharding::Zero2 => {
                    self.states /= cards;
                    self.gradients /= cards;
                }
                _ => {
                    self.states /= cards;
                    self.gradients /= cards;
                    self.weights /= cards;
                }
            }
        }
        let (weights, states) = match project.offload {
            Offload::None => (false, sharding == Sharding::Zero3Offload),
            other => other.parts(),
        };
        if states {
            self.host += self.states;
            self.states = 0.0;
            self.step_temporaries = 0.0;
            if project.framework.takes_deepspeed() {
                // ZeRO-Offload (Ren et al. 2021), section 4.1: gradients are on the processor's side too.
                self.host += self.gradients;
                self.gradients = 0.0;
            }
        }
        if weights {
            // Two of some forty layers are on the card at a time.
            self.host += self.weights * 0.95;
            self.weights *= 0.05;
        }
        (self, sharding)
    }

    /// Lives in the order of [`Part::ALL`], without overhead, at each moment of the step.
    fn moments(&self, accumulates: bool) -> [(Moment, [f64; 7]); 6] {
        let kept = if accumulates { self.gradients } else { 0.0 };
        let early = kept.max(self.gradients * self.early_gradients);
        let fixed = |gradients: f64, activations: f64, logits: f64, temporaries: f64, copies: f64| {
            [self.weights + copies, gradients, self.states, activations + self.batch, logits, temporaries, 0.0]
        };
        [
            (Moment::Encoding, fixed(kept, 0.0, 0.0, self.encoding, 0.0)),
            (Moment::Forward, fixed(kept, self.saved, 0.0, 0.0, self.copies)),
            (Moment::Loss, fixed(kept, self.saved, self.logits, self.loss_temporaries, self.copies)),
            (Moment::Backward, fixed(early, self.saved, 0.0, self.transient, self.copies)),
            (Moment::Backward, fixed(self.gradients, self.saved * 0.03, 0.0, self.transient * 0.5, 0.0)),
            (Moment::Optimizer, fixed(self.gradients, 0.0, 0.0, self.step_temporaries, 0.0)),
        ]
    }

    /// The estimate these pieces make.
    pub(super) fn estimate(self, project: &Project, gpu: Option<&Gpu>, method: EstimateMethod) -> MemoryEstimate {
        let (pieces, sharding) = self.shared(project);
        let moments = pieces.moments(project.accumulation > 1);
        let total = |parts: &[f64; 7]| parts.iter().sum::<f64>();
        let mut peak = &moments[0];
        for moment in &moments {
            if total(&moment.1) > total(&peak.1) {
                peak = moment;
            }
        }
        let allocated = total(&peak.1);
        let reserved = allocated * RESERVED_OVER_ALLOCATED;
        let outside = overhead::context(gpu)
            + overhead::eager_modules(project.runtime, gpu)
            + overhead::workspaces(gpu)
            + overhead::communication(project.hardware.count)
            + overhead::desktop(project)
            + Bytes(pieces.workspace as u64);
        let card = Bytes(reserved as u64) + outside;
        let mut parts = peak.1.map(|bytes| Bytes(bytes as u64));
        let held: Bytes = parts.iter().copied().sum();
        parts[Part::Overhead as usize] = card - held;
        let places = [0.02, 0.45, 0.5, 0.55, 0.9, 1.0];
        let timeline = moments
            .iter()
            .zip(places)
            .map(|((moment, parts), at)| TimelinePoint { moment: *moment, at, parts: parts.map(|b| Bytes(b as u64)) })
            .collect();
        MemoryEstimate {
            parts,
            allocated: Bytes(allocated as u64),
            reserved: Bytes(reserved as u64),
            card: parts.iter().copied().sum(),
            band: band(method),
            moment: peak.0,
            largest: Bytes(pieces.transient.max(pieces.loss_temporaries).max(pieces.encoding * 0.5) as u64),
            // The model is read into main memory before it goes to the card; the program itself takes about 2 GiB.
            // One program for each card.
            host: Bytes(pieces.host as u64)
                + (Bytes(self.weights as u64) + Bytes::from_mib(2048))
                    * u64::from(project.hardware.count.clamp(1, project.hardware.per_machine())),
            timeline,
            method,
            resolved: Resolved {
                attention: match project.attention {
                    Attention::Auto => Attention::Flash,
                    given => given,
                },
                loss: match project.loss {
                    LossKernel::Auto => LossKernel::Upcast,
                    given => given,
                },
                optimizer_impl: optimizer_impl(project),
                sharding,
            },
        }
    }
}
