//! Time of a step and of a run, on any card and any number of them.
//!
//! A step is the sum of what cannot overlap: products at the rate that the card sustains, attention at a lower one, and
//! the traffic of all other kernels at the card's bandwidth; never less than starting the kernels or preparing the data
//! takes. Several cards add the traffic between them that backward does not hide.

mod card;
mod language;
mod link;
mod parallel;
mod pictures;
mod workload;

pub use card::{Arithmetic, achieved, peak};
pub use link::{has_fast_link, is_fast};
pub use parallel::{CHECKPOINTINGS, Cut, cut};
pub use workload::Workload;

use super::{Bottleneck, CannotEstimate, TimeEstimate};
use crate::catalog::{Catalog, Gpu, GpuFamily};
use crate::project::{Project, Sharding};
use crate::units::{Flops, Seconds};

/// Rate of the attention core over that of large plain products (fitted; `FlashAttention`-2 reaches 50 to 70 % of peak
/// forward and less backward).
const ATTENTION_SHARE: f64 = 0.41;

/// Processor time to start one kernel from Python with autograd.
const KERNEL_START_S: f64 = 7e-6;

/// Processor threads for each card of the data-center machine of [`Workload::input`] (Lambda's machines of eight H100 or
/// B200: 208).
const THREADS: f64 = 26.0;
/// Machines with game cards, and those that clouds put small cards into (T4, L4, A10G and V100: 4 to 16 threads a card),
/// prepare data more slowly.
const DESKTOP_INPUT: f64 = 2.5;
/// Cards of data centers with less memory than this stand in small machines.
const SMALL_CARD_GIB: f64 = 39.0;

/// Bytes per second of an optimizer step on the processor (two channels of DDR5; servers have more).
const HOST_MEMORY_RATE: f64 = 50e9;

/// Bytes per second of an `NVMe` disk of PCIe 4.0 with four lanes, there and back (memory: 7 GB/s to read, 5 to write).
const NVME_RATE: f64 = 6e9;

/// Part of those copies that the work waits for all the same: the first block, and pauses between (judgement).
const HOST_COPY_COST: f64 = 0.25;

/// Share of a step that backward takes: traffic can hide there.
const BACKWARD_SHARE: f64 = 0.6;

/// What pipelines, tensor and expert parallelism lose at most in a well-chosen plan (Llama 3.1 405B: 41 % MFU on 8,192
/// cards against 43 % on fewer; `DeepSeek`-V3 without exposed all-to-all).
const MODEL_PARALLEL_LOSS: f64 = 0.15;

/// Share of the PCIe rate that weights coming from main memory reach.
const HOST_COPY_SHARE: f64 = 0.7;

/// Products on an ordinary processor (8 cores with AVX2), fp32, FLOP/s. With the traffic below ResNet-50 comes to 10
/// pictures a second and `ResNet-18` to 26, as such machines do.
const CPU_RATE: f64 = 350e9;
/// Memory traffic of the same processor, bytes/s.
const CPU_TRAFFIC_RATE: f64 = 30e9;
/// Start of an operation there.
const CPU_OPERATION_S: f64 = 3e-6;

/// Bytes of the card's bandwidth for each value that goes into a histogram of a tree, and values that a processor of
/// eight cores adds in a second. The page of `XGBoost` on GPUs: 750,000 training rows of 50 columns, 500 trees of six levels
/// take 12.57 s on a GTX 1080 Ti (484 GB/s) and 36.01 s on a Ryzen 7 2700.
const HISTOGRAM_BYTES: f64 = 54.0;
/// See [`HISTOGRAM_BYTES`]; less 2.6 s for starting operations.
const CPU_HISTOGRAM_RATE: f64 = 3.36e9;

/// True where kernels that never write attention scores out exist for this card in a current `PyTorch`.
pub fn has_flash(gpu: &Gpu) -> bool {
    super::stack::flash(Some(gpu))
}

/// Time of one step and of the whole run on `count` cards of this kind.
pub fn time(project: &Project, gpu: &Gpu, count: u32, catalog: &Catalog) -> Result<TimeEstimate, CannotEstimate> {
    Workload::new(project, has_flash(gpu), catalog)?.on(gpu, count, project.hardware.sharding)
}

impl Workload {
    /// Time of the run on `count` cards.
    pub fn on(&self, gpu: &Gpu, count: u32, sharding: Sharding) -> Result<TimeEstimate, CannotEstimate> {
        let count = count.max(1);
        if let Some((parallel, sizes)) = self.cut
            && parallel == parallel.on(count)
        {
            return cut(self, &sizes, gpu, count, sharding, parallel);
        }
        let rate = achieved(gpu, self.arithmetic).ok_or(CannotEstimate::CardDoesNotApply)?;
        let (peak, _) = peak(gpu, self.arithmetic).ok_or(CannotEstimate::CardDoesNotApply)?;
        let core = if self.arithmetic == Arithmetic::Fp8 { Arithmetic::Half } else { self.arithmetic };
        let core_rate = achieved(gpu, core).unwrap_or(rate) * ATTENTION_SHARE;
        let arithmetic = self.products / (rate * self.product_speed) + self.attention / core_rate;
        let memory = (self.traffic + self.histogram * HISTOGRAM_BYTES) / card::traffic_rate(gpu);
        let start = self.kernels * KERNEL_START_S;
        let large =
            matches!(gpu.family, GpuFamily::Datacenter | GpuFamily::Accelerator) && gpu.memory.gib() >= SMALL_CARD_GIB;
        let input = self.input * if large { 1.0 } else { DESKTOP_INPUT };
        // The slot is looked at where something goes through it.
        let over_pcie = |bytes: f64| if bytes > 0.0 { bytes / (link::pcie(gpu) * HOST_COPY_SHARE) } else { 0.0 };
        let from_host = over_pcie(self.from_host);
        let busy = arithmetic + memory;
        // Copies from main memory run beside the work, but not quite for free.
        let micro = busy.max(start).max(input).max(from_host) + HOST_COPY_COST * from_host;

        let replicas = if sharding == Sharding::DeviceMap { 1.0 } else { f64::from(count) };
        let offloaded = self.host_step || sharding == Sharding::Zero3Offload;
        let divided = !matches!(sharding, Sharding::Auto | Sharding::Ddp | Sharding::DeviceMap);
        let optimizer = if offloaded {
            self.optimizer / HOST_MEMORY_RATE
        } else {
            self.optimizer / card::traffic_rate(gpu) / if divided { f64::from(count) } else { 1.0 }
        };
        let shares = if divided { f64::from(count) } else { 1.0 };
        let paging = over_pcie(self.paged / shares);
        let traffic = link::Traffic {
            weights: self.weights * self.weight_bytes.min(2.0),
            gradients: self.trained * self.gradient_bytes,
            accumulation: self.accumulation,
            passes: self.passes,
        };
        let between = if count > 1 {
            let wires = self.wires(gpu);
            let ring = link::ring(gpu, count, wires, wires.per_machine(count));
            let seconds = link::volume(&traffic, count, sharding) / ring;
            let hides = if sharding == Sharding::Ddp || sharding == Sharding::Auto { 1.0 } else { self.accumulation };
            let exposed = link::exposed(seconds, busy * hides * BACKWARD_SHARE);
            if self.model_parallel && is_fast(gpu, count, wires) {
                exposed.min(MODEL_PARALLEL_LOSS * busy * self.accumulation)
            } else {
                exposed
            }
        } else {
            0.0
        };
        let stragglers = if count > 1 { 1.0 + link::STRAGGLERS } else { 1.0 };
        // The cards of a machine share its disk, each with its part.
        let machines = (f64::from(count) / f64::from(self.wires(gpu).per_machine(count))).ceil().max(1.0);
        let disk = self.from_disk / machines / NVME_RATE;
        let step = (self.accumulation * micro * stragglers + optimizer.max(paging) + between).max(disk);
        let steps = (self.samples / (self.micro_batch * self.accumulation * replicas)).ceil().max(1.0);
        if !(step.is_finite() && steps.is_finite()) {
            return Err(CannotEstimate::TooLarge);
        }
        let bottleneck = if between > self.accumulation * micro * 0.5 {
            Bottleneck::Communication
        } else if micro > busy * 1.001 {
            Bottleneck::Input
        } else if memory > arithmetic {
            Bottleneck::Memory
        } else {
            Bottleneck::Compute
        };
        let flops = self.model * self.accumulation * replicas;
        Ok(TimeEstimate {
            flops: Flops(flops),
            step: Seconds(step),
            steps,
            run: Seconds(step * steps),
            band: self.band + if count > 8 { 0.15 } else { 0.0 },
            bottleneck,
            mfu: flops / (step * peak * f64::from(count)),
            between: Seconds(between),
            reading: Seconds(self.input * THREADS * self.samples / self.micro_batch),
        })
    }

    /// Time of the run on an ordinary processor, in fp32.
    pub fn on_cpu(&self) -> Seconds {
        let work = (self.products + self.attention) / CPU_RATE
            + self.traffic / CPU_TRAFFIC_RATE
            + self.histogram / CPU_HISTOGRAM_RATE;
        let micro = work.max(self.input * DESKTOP_INPUT) + self.kernels * CPU_OPERATION_S;
        let step = self.accumulation * micro + self.optimizer / CPU_TRAFFIC_RATE;
        Seconds(step * (self.samples / (self.micro_batch * self.accumulation)).ceil().max(1.0))
    }
}
