//! What one step of a project asks of a card: products, traffic, kernels. The card itself plays no part yet.

use super::card::Arithmetic;
use super::{Cut, language, pictures};
use crate::catalog::{Architecture, Catalog, Gpu};
use crate::estimate::CannotEstimate;
use crate::project::{
    Field, Framework, Method, Offload, Optimizer, OptimizerImpl, Parallel, Precision, Project, Sharding, Wires,
};
use crate::units::Bytes;

/// One micro-batch on one card, and what an optimizer step adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Operations of matrix products and convolutions in one micro-batch.
    pub products: f64,
    /// Operations of the attention core in one micro-batch.
    pub attention: f64,
    /// Rate of these products over the rate of large plain matrix products.
    pub product_speed: f64,
    /// Bytes that all other kernels move in one micro-batch.
    pub traffic: f64,
    /// Kernels started in one micro-batch.
    pub kernels: f64,
    /// Seconds of reading and preparing one micro-batch on a data-center machine.
    pub input: f64,
    /// Operations that the model itself asks for in one micro-batch: without recomputation.
    pub model: f64,
    /// Bytes that the optimizer's step moves, undivided.
    pub optimizer: f64,
    /// All weights, and the trained ones.
    pub weights: f64,
    /// Weights that are trained.
    pub trained: f64,
    /// Bytes of a weight as cards gather it, and of a gradient as they reduce it.
    pub weight_bytes: f64,
    /// Bytes of a gradient as cards reduce it.
    pub gradient_bytes: f64,
    /// Passes over the weights in a micro-batch.
    pub passes: f64,
    /// Arithmetic of the products.
    pub arithmetic: Arithmetic,
    /// Samples in a micro-batch.
    pub micro_batch: f64,
    /// Micro-batches in an optimizer step.
    pub accumulation: f64,
    /// Samples in the run.
    pub samples: f64,
    /// Optimizer step and state on the processor.
    pub host_step: bool,
    /// Bytes of optimizer state that go to main memory and back in one optimizer step, undivided.
    pub paged: f64,
    /// Bytes that come from main memory in one micro-batch.
    pub from_host: f64,
    /// Bytes that an optimizer step reads from and writes to a disk, over all cards.
    pub from_disk: f64,
    /// Values that a tree of gradient boosting adds to its histograms: rows, columns and levels multiplied.
    pub histogram: f64,
    /// The library can also lay layers, matrices and experts out over the cards.
    pub model_parallel: bool,
    /// Relative half-width of the error band on one card.
    pub band: f64,
    /// How the model is cut over cards, with the sizes of what then travels; `None` where it is not.
    pub cut: Option<(Parallel, Cut)>,
    /// What joins the cards that the project names, and the id of those; others are joined as is usual.
    pub wires: (Wires, &'static str),
}

impl Workload {
    /// What the project asks for. `flash` tells whether the card has kernels that never write attention scores out.
    pub fn new(project: &Project, flash: bool, catalog: &Catalog) -> Result<Self, CannotEstimate> {
        for (ok, field) in [
            (project.micro_batch >= 1, Field::MicroBatch),
            (project.accumulation >= 1, Field::Accumulation),
            (project.samples >= 1, Field::Samples),
            (project.epochs > 0.0 && project.epochs.is_finite(), Field::Epochs),
        ] {
            if !ok {
                return Err(CannotEstimate::OutOfRange(field));
            }
        }
        let mut load = if let Some(custom) = &project.custom {
            let model = custom.architecture(catalog);
            let params = custom.parameters(catalog).unwrap_or_else(|| language::rough_size(&model));
            language::workload(project, params as f64, &model, flash)
        } else if let Some(network) = &project.network {
            pictures::network(project, network)
        } else {
            if project.model.is_empty() {
                return Err(CannotEstimate::NoModel);
            }
            let model = catalog.model(&project.model);
            let model = model.ok_or_else(|| CannotEstimate::UnknownModel(project.model.clone()))?;
            match &model.architecture {
                Architecture::Language(l) => language::workload(project, model.params as f64, l, flash),
                Architecture::Vision(v) => pictures::vision(project, model.params as f64, v),
                Architecture::Diffusion(d) => pictures::diffusion(project, d),
                Architecture::Other(o) => pictures::other(project, model, o),
            }
        };
        load.add_optimizer(project);
        let parallel = project.hardware.parallel;
        if parallel.model() > 1 {
            let sizes = project.language(catalog).map(|model| Cut::of(project, &model));
            load.cut = sizes.map(|sizes| (parallel, sizes));
        }
        load.wires = (project.hardware.wires, catalog.gpu(&project.hardware.gpu).map_or("", |gpu| gpu.id));
        load.model_parallel = matches!(project.framework, Framework::Megatron | Framework::Torchtitan);
        if [load.products, load.traffic, load.optimizer].iter().all(|x| x.is_finite()) {
            Ok(load)
        } else {
            Err(CannotEstimate::TooLarge)
        }
    }

    /// Products of fp32 tensors run in TF32 where the card has it (a switch of `PyTorch` that is off by default for
    /// matrix products and on for convolutions).
    #[must_use]
    pub fn with_tf32(mut self) -> Self {
        if self.arithmetic == Arithmetic::Fp32 {
            self.arithmetic = Arithmetic::Tf32;
        }
        self
    }

    /// Products of the layers run in fp8 where the card has it, attention stays in 16 bit (Transformer Engine).
    #[must_use]
    pub fn with_fp8(mut self) -> Self {
        self.arithmetic = Arithmetic::Fp8;
        self
    }

    /// With so much room left on each card: paged states move only where there is none for them ("zero overhead if all the
    /// memory fits onto the device", `bitsandbytes`' page on 8-bit optimizers).
    #[must_use]
    pub fn with_room(mut self, room: Bytes, count: u32, sharding: Sharding) -> Self {
        let copies = matches!(sharding, Sharding::Auto | Sharding::Ddp | Sharding::DeviceMap);
        // There and back.
        let state = self.paged / 2.0 / if copies { 1.0 } else { f64::from(count.max(1)) };
        if state > 0.0 {
            self.paged *= (1.0 - room.0 as f64 / state).clamp(0.0, 1.0);
        }
        self
    }

    /// What joins cards of this kind.
    pub(super) fn wires(&self, gpu: &Gpu) -> Wires {
        let (wires, of) = self.wires;
        if of == gpu.id { wires } else { Wires::default() }
    }

    fn add_optimizer(&mut self, project: &Project) {
        let fp32_weights = !matches!(project.precision, Precision::PureBf16);
        let w = if fp32_weights { 4.0 } else { 2.0 };
        // Read weight, gradient and states, write weight and states; a gradient norm reads the gradients once more.
        let states = match project.optimizer {
            Optimizer::AdamW | Optimizer::PagedAdamW => 4.0 * w,
            Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit => 4.0,
            Optimizer::Sgd => 0.0,
            Optimizer::SgdMomentum | Optimizer::Lion | Optimizer::Adafactor | Optimizer::Galore => 2.0 * w,
            Optimizer::Muon => 2.0 * w + 8.0,
        };
        // Foreach kernels write and read their temporaries.
        let passes = if matches!(project.optimizer_impl, OptimizerImpl::Fused) { 1.0 } else { 1.6 };
        self.optimizer = self.trained * (4.0 * w + states) * passes;
        // Paged states move over the bus, there and back, when memory is short: which is why one pages.
        if matches!(project.optimizer, Optimizer::PagedAdamW | Optimizer::PagedAdamW8bit) {
            self.paged = self.trained * states;
        }
        let (weights_away, states_away) = project.offload.parts();
        self.host_step = states_away;
        if project.offload == Offload::Nvme {
            // ZeRO-Infinity (Rajbhandari et al. 2021), section 5: fp32 weights and both moments come and go once a step,
            // 16-bit weights once a pass.
            self.from_disk =
                self.trained * 24.0 + self.weights * 2.0 * self.passes * project.accumulation.max(1) as f64;
        }
        if weights_away {
            self.from_host += self.weights * self.weight_bytes * self.passes;
        }
        if project.block_swap > 0.0 {
            self.from_host += project.block_swap.min(1.0) * self.weights * self.weight_bytes * self.passes;
        }
    }
}

/// Arithmetic of a precision. Convolutions use TF32 by default, matrix products do not.
pub(super) fn arithmetic(project: &Project, convolutions: bool) -> Arithmetic {
    match project.precision {
        Precision::Fp32 if convolutions => Arithmetic::Tf32,
        Precision::Fp32 => Arithmetic::Fp32,
        _ => Arithmetic::Half,
    }
}

/// fp32 tensors move this many times the bytes of 16-bit training, where part of the tensors is fp32 anyway (fitted).
pub(super) const FP32_TRAFFIC: f64 = 1.59;

/// Traffic of the precision over that of plain 16-bit training.
pub(super) fn traffic_of(precision: Precision) -> f64 {
    if precision == Precision::Fp32 { FP32_TRAFFIC } else { 1.0 }
}

/// Share of the weights that backward computes gradients for, and whether it runs through the rest.
pub(super) struct Backward {
    /// Weight gradients, as a share of the forward operations.
    pub(super) weights: f64,
    /// Input gradients, as a share of the forward operations.
    pub(super) inputs: f64,
    /// Trained share of the weights.
    pub(super) trained: f64,
}

impl Backward {
    pub(super) fn of(project: &Project, adapter_share: f64) -> Self {
        match project.method {
            Method::Full | Method::Scratch => Self { weights: 1.0, inputs: 1.0, trained: 1.0 },
            Method::Freeze => {
                let open = 1.0 - project.frozen_share.clamp(0.0, 1.0);
                Self { weights: open, inputs: open, trained: open }
            }
            Method::Head => Self { weights: 0.0, inputs: 0.0, trained: 0.01 },
            // Backward runs to the first adapter; the adapters' own products are small.
            Method::Lora | Method::QLora => Self { weights: adapter_share, inputs: 1.0, trained: adapter_share },
        }
    }
}
