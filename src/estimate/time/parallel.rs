//! Time of a step whose model is cut over cards: tensor parallelism inside a machine, a pipeline across machines, and
//! copies of both on other data.

use super::{BACKWARD_SHARE, KERNEL_START_S, Workload, achieved, card, link, peak};
use crate::catalog::{Gpu, LanguageModel};
use crate::estimate::{Bottleneck, CannotEstimate, TimeEstimate};
use crate::project::{Checkpointing, Parallel, Project, Sharding};
use crate::units::{Flops, Seconds};

/// Sizes that the traffic between the parts goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Layers.
    pub layers: f64,
    /// Bytes of the stream between two matrices for one micro-batch.
    pub stream: f64,
    /// Passes in which a layer's traffic occurs: forward, backward, and forward again.
    pub passes: f64,
}

impl Cut {
    /// The sizes of a project's micro-batch.
    pub fn of(project: &Project, model: &LanguageModel) -> Self {
        let tokens = project.micro_batch as f64 * project.sequence as f64;
        let again = if project.checkpointing.recomputes() { 1.0 } else { 0.0 };
        Self {
            layers: f64::from(model.layers),
            // Activations travel in 16 bit.
            stream: tokens * f64::from(model.hidden) * 2.0,
            passes: 2.0 + again,
        }
    }
}

/// Time of one step and of the run on `count` cards with the model cut as `parallel` says.
pub fn cut(
    load: &Workload,
    sizes: &Cut,
    gpu: &Gpu,
    count: u32,
    sharding: Sharding,
    parallel: Parallel,
) -> Result<TimeEstimate, CannotEstimate> {
    let rate = achieved(gpu, load.arithmetic).ok_or(CannotEstimate::CardDoesNotApply)?;
    let (peak, _) = peak(gpu, load.arithmetic).ok_or(CannotEstimate::CardDoesNotApply)?;
    let core_rate = rate * super::ATTENTION_SHARE;
    let of = |n: u32| f64::from(n.max(1));
    let (tensor, pipeline, context) = (of(parallel.tensor), of(parallel.pipeline), of(parallel.context));
    let model_cards = tensor * pipeline * context;
    let data = f64::from(parallel.data(count));
    let wires = load.wires(gpu);
    let per_machine = wires.per_machine(count);
    let arithmetic = (load.products / (rate * load.product_speed) + load.attention / core_rate) / model_cards;
    let traffic = load.traffic / card::traffic_rate(gpu) / model_cards;
    let start = load.kernels * KERNEL_START_S / pipeline;
    let busy = (arithmetic + traffic).max(start);
    // What waits in main memory comes over each card's own bus; the processors of a machine step for all its cards.
    let bus = link::pcie(gpu) * super::HOST_COPY_SHARE;
    let from_host = load.from_host / model_cards / bus;
    let machines = (f64::from(count) / f64::from(per_machine)).ceil().max(1.0);
    // Korthikanti et al. 2022: two all-reduces a layer and pass, or the all-gathers and reduce-scatters that come to the
    // same; they stand between products that need them.
    let between_parts = if tensor > 1.0 {
        let all_reduce = 2.0 * (tensor - 1.0) / tensor * sizes.stream / context;
        let ring = link::ring(gpu, parallel.tensor, wires, per_machine);
        2.0 * all_reduce * sizes.passes * sizes.layers / pipeline / ring
    } else {
        0.0
    };
    let micro = busy.max(from_host) + super::HOST_COPY_COST * from_host + between_parts;
    // Narayanan et al. 2021: a share of (p - 1) / (v m) of the work waits for the pipeline to fill and drain.
    let bubble = (pipeline - 1.0) / (of(parallel.chunks) * load.accumulation.max(1.0));
    let work = load.accumulation * micro * (1.0 + bubble) * (1.0 + link::STRAGGLERS);
    let divided = tensor * pipeline * data * context;
    let optimizer = if load.host_step || sharding == Sharding::Zero3Offload {
        load.optimizer / super::HOST_MEMORY_RATE / machines
    } else {
        load.optimizer / card::traffic_rate(gpu) / divided
    };
    let optimizer = optimizer.max(load.paged / divided / bus);
    let over_data = if data * context > 1.0 {
        let share = (data * context - 1.0) / (data * context);
        let local = share * load.trained * (load.gradient_bytes + 2.0) / (tensor * pipeline);
        // Network cards of a machine are shared out among its cards: each has its own.
        let machine = model_cards * data <= f64::from(per_machine);
        let rate = link::ring(gpu, count, wires, per_machine) / if machine { 1.0 } else { f64::from(per_machine) };
        let once = local / rate;
        // Divided gradients are summed after every micro-batch, behind the backward of the next.
        let each = if sharding.divides().1 { (load.accumulation - 1.0).max(0.0) } else { 0.0 };
        let behind = work * BACKWARD_SHARE / load.accumulation.max(1.0);
        link::exposed(once, behind * load.accumulation) + each * (once - behind).max(0.0)
    } else {
        0.0
    };
    let step = (work + optimizer + over_data).max(load.from_disk / machines / super::NVME_RATE);
    let steps = (load.samples / (load.micro_batch * load.accumulation * data)).ceil().max(1.0);
    if !(step.is_finite() && steps.is_finite()) {
        return Err(CannotEstimate::TooLarge);
    }
    let flops = load.model * load.accumulation * data;
    Ok(TimeEstimate {
        flops: Flops(flops),
        step: Seconds(step),
        steps,
        run: Seconds(step * steps),
        band: load.band,
        bottleneck: if between_parts > busy || bubble > 1.0 || over_data > work * 0.5 {
            Bottleneck::Communication
        } else {
            Bottleneck::Compute
        },
        mfu: flops / (step * peak * f64::from(count.max(1))),
        between: Seconds(load.accumulation * between_parts * (1.0 + bubble) + over_data),
        reading: Seconds(0.0),
    })
}

/// Checkpointing that plans try, the least work first.
pub const CHECKPOINTINGS: [Checkpointing; 3] = [Checkpointing::Off, Checkpointing::Selective, Checkpointing::PerBlock];
