//! Models that are written as programs: the step is run symbolically, as for language models.

use crate::catalog::{Architecture, Gpu, Model, Vendor};
use crate::estimate::course::{self, moment};
use crate::estimate::walks::{Input, Walks, Written};
use crate::estimate::{CannotEstimate, EstimateMethod, MemoryEstimate, Part, Resolved, TimelinePoint, overhead, stack};
use crate::network::Program;
use crate::network::diffusion::{Latents, diffusion};
use crate::network::speech::{Sound, speech};
use crate::network::vision::{Pictures, vision};
use crate::project::{
    Checkpointing, Framework, Method, Offload, Optimizer, Precision, Project, Sharding, TextEncoders,
};
use crate::step::{self, Category, Code, Live, Shards, StepConfig, StepResult, Task, Walk};
use crate::units::{Bytes, GIB};
use std::rc::Rc;

/// Slack of the caching allocator beside live tensors when the card is nearly full.
const SLACK: f64 = 0.03;

/// Programs of more operators are not walked in full for their reserved memory: an answer must come at once.
const SIMULATED_OPERATORS: u64 = 6000;

/// Programs of more operators are not tried on the card that the page shows, for the same reason.
const AWAITED_OPERATORS: u64 = 600;

/// Reserved over allocated memory of the large denoisers, median of the traced steps.
const TYPICAL_RESERVED: f64 = 1.04;

/// A project's step, ready to be run.
pub(super) struct Planned<'a> {
    written: Rc<Written>,
    walks: &'a Walks,
    model: &'static str,
    input: Input,
    /// Convolutions take large workspaces of cuDNN's.
    transforms: bool,
    config: StepConfig,
    sharding: Sharding,
    count: u64,
}

impl<'a> Planned<'a> {
    /// The plan of a model that has a program.
    pub(super) fn of(project: &Project, model: &Model, gpu: Option<&Gpu>, walks: &'a Walks) -> Option<Self> {
        let mut config = stack::configure(project, 0, Task::Embedding, gpu);
        if project.method == Method::Freeze {
            // Which layers are the lower ones is not known for these models: the coefficients answer.
            return None;
        }
        let count = u64::from(project.hardware.count.max(1));
        let sharding = match project.hardware.sharding {
            Sharding::Zero3Offload => Sharding::Zero3Offload,
            _ if count == 1 => Sharding::Ddp,
            // These models fit a card as a rule, and their libraries know data parallelism only.
            Sharding::Auto => Sharding::Ddp,
            chosen => chosen,
        };
        let (weights, gradients, optimizer) = sharding.divides();
        let over = |divides: bool| if divides { count } else { 1 };
        config.shards = Shards {
            weights: over(weights),
            gradients: over(gradients),
            optimizer: over(optimizer),
            ..Shards::default()
        };
        if project.habits.compiled && matches!(model.architecture, Architecture::Diffusion(_)) {
            // Blocks that `torch.compile` has made one function keep what that function's own backward wants: SimpleTuner
            // measures the same with and without checkpointing (documentation/experimental/SEGMENTED_CHECKPOINTING.md).
            config.checkpointing = Checkpointing::Off;
        }
        let input = match &model.architecture {
            Architecture::Vision(v) => {
                let pretrained = project.method != Method::Scratch;
                // A volume keeps its depth unless the project says otherwise.
                let depth = if project.frames > 1 { project.frames } else { v.depth.max(1.0) as u64 };
                let evaluated = project.framework == Framework::OpenMmlab;
                let objects = project.objects;
                let classes = project.classes.unwrap_or_default();
                let square = Pictures::square(project.image_side);
                Input::Pictures(Pictures { depth, classes, pretrained, evaluated, objects, ..square })
            }
            Architecture::Diffusion(d) => Input::Latents(Latents {
                height: project.image_side,
                width: project.image_side,
                frames: project.frames,
                encoders: !project.cached_latents,
                text_parameters: super::diffusion::text_on_card(project, d),
                trains_text: project.text_encoders == TextEncoders::Trained,
            }),
            Architecture::Other(_) => Input::Sound(Sound { seconds: project.audio_seconds, tokens: project.sequence }),
            Architecture::Language(_) => return None,
        };
        let written = find(walks, model.id, input, &config)?;
        let transforms = transforms_convolutions(project, &config, gpu);
        Some(Self { written, walks, model: model.id, input, transforms, config, sharding, count })
    }

    fn program(&self) -> &Program {
        &self.written.program
    }

    fn step(&self) -> StepResult {
        self.written.step(&self.config)
    }

    /// What workspaces of convolutions add to what is allocated at the peak, where it may be more than `least`: what PyTorch
    /// counts, which the card could do without.
    fn workspaces(&self, plain: &StepResult, least: Bytes) -> Bytes {
        if !self.transforms || self.program().transformed <= least.0 {
            return Bytes::ZERO;
        }
        let code = Code { transforms_convolutions: true, ..self.config.code };
        let written = find(self.walks, self.model, self.input, &StepConfig { code, ..self.config });
        written.map_or(Bytes::ZERO, |written| written.step(&self.config).peak - plain.peak)
    }

    /// Memory of the step on one card; unless it is `whole`, what it says of the card and its band alone is meant.
    pub(super) fn memory(
        &self,
        project: &Project,
        gpu: Option<&Gpu>,
        whole: bool,
    ) -> Result<MemoryEstimate, CannotEstimate> {
        let r = self.step();
        // Sums of saturated sizes mean nothing.
        if r.peak.0 > 1 << 60 {
            return Err(CannotEstimate::TooLarge);
        }
        let (mut parts, host) = self.on_card(project, &r, &r.at_peak);
        let allocated: Bytes = parts.into_iter().sum();
        let outside = overhead::context(gpu)
            + overhead::eager_modules(project.runtime, gpu)
            + overhead::workspaces(gpu)
            + overhead::convolutions(self.program())
            + overhead::communication(project.hardware.count)
            + overhead::desktop(project);
        let needed = allocated + allocated.scale(SLACK);
        // Workspaces of very large batches are more than the slack; what is allocated is reserved, and on the card.
        let room = needed + outside - allocated;
        let counted = allocated + self.workspaces(&r, if whole { Bytes::ZERO } else { room });
        let reserved = needed.max(counted);
        let card = (needed + outside).max(reserved);
        parts[Part::Overhead as usize] = card - allocated;
        let (attention, loss, optimizer_impl) = stack::resolved(&self.config);
        Ok(MemoryEstimate {
            parts,
            allocated: counted,
            reserved,
            card,
            band: if self.count > 1 { 0.14 } else { 0.1 },
            moment: moment(r.phase),
            largest: r.largest_at_peak,
            // A program for each card of a machine; each reads the model.
            host: host + (Bytes(2 * GIB) + r.weights) * self.count.min(u64::from(project.hardware.per_machine())),
            timeline: Vec::new(),
            method: EstimateMethod::Symbolic,
            resolved: Resolved { attention, loss, optimizer_impl, sharding: self.sharding },
        })
    }

    /// Reserved memory of a step whose tensors take `memory`. On a card with room the caching allocator keeps whatever
    /// once was free and does not fit the next request; before it gives up it lets go of that.
    pub(super) fn reserved(&self, memory: &MemoryEstimate, gpu: Option<&Gpu>) -> Bytes {
        let peak = self.step().peak;
        let cached = memory.allocated.scale(self.cached(peak)) + overhead::convolution_workspaces(self.program());
        let room = gpu.map_or(cached, |g| g.usable - (memory.card - memory.reserved));
        memory.reserved.max(cached.min(room))
    }

    /// What a card must have for the first steps to get through, by simulating the allocator on cards of several sizes, where
    /// the step's tensors take `memory`.
    pub(super) fn needed(&self, project: &Project, memory: &MemoryEstimate) -> Bytes {
        if !self.is_tried(project) || self.operators() > SIMULATED_OPERATORS {
            return memory.card;
        }
        let held = step::least(self.program(), &self.config);
        let quick = memory.allocated - self.workspaces(&self.step(), Bytes::ZERO);
        let slack = (held.reserved - held.allocated).max(quick.scale(SLACK));
        (quick + slack).max(memory.reserved) + (memory.card - memory.reserved)
    }

    /// The same where it is more than `usable`, and `None` where it is not or where looking would keep a person waiting.
    pub(super) fn needed_beyond(&self, project: &Project, memory: &MemoryEstimate, usable: Bytes) -> Option<Bytes> {
        if !self.is_tried(project) || self.operators() > AWAITED_OPERATORS {
            return None;
        }
        let outside = memory.card - memory.reserved;
        let quick = memory.allocated - self.workspaces(&self.step(), Bytes::ZERO);
        let room = |live: Bytes| (usable - outside - quick) + live;
        let held = step::short_of(self.program(), &self.config, room)?;
        Some((quick + (held.reserved - held.allocated)).max(memory.reserved) + outside)
    }

    /// Whether the allocator's simulation follows what happens: it does not follow weights that come and go, nor parts of
    /// them on several cards.
    fn is_tried(&self, project: &Project) -> bool {
        let elsewhere = project.block_swap > 0.0 || project.offload != Offload::None;
        !elsewhere && self.config.shards == Shards::default() && !self.program().looped
    }

    /// What the caching allocator would hold after the step on an endless card, over the live peak.
    fn cached(&self, peak: Bytes) -> f64 {
        if self.operators() > SIMULATED_OPERATORS {
            return TYPICAL_RESERVED;
        }
        step::steady_step(self.program(), &self.config).0 as f64 / peak.0.max(1) as f64
    }

    /// Operators of a forward pass.
    fn operators(&self) -> u64 {
        let of = |members: &[crate::network::Segment]| members.iter().map(|s| s.ops.len() as u64).sum::<u64>();
        self.program().groups.iter().map(|g| g.repeat * of(&g.members)).sum()
    }

    /// The course of the step in at most `points` points.
    pub(super) fn timeline(&self, project: &Project, points: usize) -> Vec<TimelinePoint> {
        let mut course = step::Course::default();
        let r = step::run_observed(self.program(), &self.config, Walk::Full, &mut course);
        course::points(&course, points, |live| self.on_card(project, &r, live).0)
    }

    /// Operations of forward, for all samples of the micro-batch.
    pub(super) fn forward_flops(&self) -> f64 {
        self.program().forward_flops()
    }

    /// What is on the card when `live` is, by part, and what waits in main memory instead.
    fn on_card(&self, project: &Project, r: &StepResult, live: &Live) -> ([Bytes; 7], Bytes) {
        let mut host = Bytes::ZERO;
        let mut parts = self.parts(project, r, live);
        let full = self.sharding == Sharding::Zero3Offload;
        let (weights_away, states_away) = project.offload.parts();
        let paged = matches!(project.optimizer, Optimizer::PagedAdamW | Optimizer::PagedAdamW8bit);
        if full || paged || states_away {
            // bitsandbytes pages its own states; fp32 master weights are not among them.
            let stays = if full || states_away { Bytes::ZERO } else { r.masters };
            let part = &mut parts[Part::Optimizer as usize];
            host += *part - stays;
            *part = stays.min(*part);
        }
        if full || weights_away {
            host += r.weights;
            parts[Part::Weights as usize] = parts[Part::Weights as usize] - r.weights;
        }
        if project.block_swap > 0.0 {
            let swapped = r.weights.scale(project.block_swap.min(0.95));
            host += swapped;
            parts[Part::Weights as usize] = parts[Part::Weights as usize] - swapped;
        }
        (parts, host)
    }

    fn parts(&self, project: &Project, r: &StepResult, live: &Live) -> [Bytes; 7] {
        let at = |c: Category| Bytes(live[c as usize]);
        let mut parts = [Bytes::ZERO; 7];
        parts[Part::Weights as usize] = r.weights + at(Category::WeightCopies);
        parts[Part::Gradients as usize] = at(Category::Gradients);
        parts[Part::Optimizer as usize] = r.optimizer;
        parts[Part::Activations as usize] = at(Category::Activations) + r.batch;
        parts[Part::Logits as usize] = at(Category::Logits);
        parts[Part::Temporaries as usize] = at(Category::Temporaries);
        // Ultralytics always averages the weights (`ModelEMA`).
        if project.ema || project.framework == Framework::Ultralytics {
            parts[Part::Optimizer as usize] += r.gradients;
        }
        if self.count > 1 && self.sharding == Sharding::Ddp {
            // DDP's reducer keeps the gradients a second time, in its buckets.
            parts[Part::Temporaries as usize] += r.gradients;
        }
        parts
    }
}

/// The program of a model for this input.
fn find(walks: &Walks, model: &'static str, input: Input, config: &StepConfig) -> Option<Rc<Written>> {
    walks.find(model, input, config, &|config| match input {
        Input::Pictures(pictures) => vision(model, pictures, config),
        Input::Latents(latents) => diffusion(model, latents, config),
        Input::Sound(sound) => speech(model, sound, config),
        Input::Tokens(..) => None,
    })
}

/// Whether cuDNN convolves in fp32 proper: TF32 on Ampere and later and 16 bit take kernels that need little beside them.
fn transforms_convolutions(project: &Project, config: &StepConfig, gpu: Option<&Gpu>) -> bool {
    let old = gpu.is_some_and(|g| g.vendor == Vendor::Nvidia && g.compute_capability.is_some_and(|c| c < 8.0));
    let wide = config.autocast.is_none() && !config.weights.is_half();
    old && wide && project.precision == Precision::Fp32
}
