//! A project's step laid out over its cards: which library divides what, and in which formats.

use crate::catalog::LanguageModel;
use crate::network::{self, Dtype, Loss, Shards, Stage, StepConfig, StepImpl, Way};
use crate::project::{Framework, Offload, Project, Sharding};

/// `stage3_max_live_parameters`, `stage3_max_reuse_distance` of `DeepSpeed`: elements that stay whole around the turn
/// from forward to backward.
const LIVE: u64 = 1_000_000_000;

/// The sharding that a project comes to: for one card none, for "automatic" on several full sharding.
pub(super) fn sharding(project: &Project) -> Sharding {
    match project.hardware.sharding {
        Sharding::Zero3Offload => Sharding::Zero3Offload,
        _ if project.hardware.count <= 1 => Sharding::Ddp,
        Sharding::Auto if project.framework == Framework::Megatron => Sharding::Zero1,
        Sharding::Auto => Sharding::Zero3,
        chosen => chosen,
    }
}

/// Who brings divided memory together: the library has one way, or the sharding names it.
fn way(sharding: Sharding, framework: Framework) -> Way {
    match (sharding, framework) {
        (Sharding::Auto | Sharding::Ddp | Sharding::DeviceMap, _) => Way::Whole,
        (Sharding::Fsdp2, _) | (_, Framework::Torchtitan | Framework::Torchtune) => Way::PerParameter,
        (Sharding::Fsdp | Sharding::FsdpGrad | Sharding::FsdpHybrid, _)
        | (_, Framework::Litgpt | Framework::LlmFoundry) => Way::Flat,
        (_, Framework::Megatron) => Way::Megatron,
        _ => Way::Zero,
    }
}

/// Whether one card has `DeepSpeed`'s engine for what waits in main memory: it works in 16 bit, takes gradients off the
/// card as they come and steps on the processor (deepspeed.ai, "ZeRO-Offload" and "DeepSpeed Configuration JSON",
/// `offload_optimizer` and `offload_param`). Weights in few bits are not its own.
fn engine_alone(project: &Project, config: &StepConfig) -> bool {
    project.offload != Offload::None && project.framework.takes_deepspeed() && config.quantization.is_none()
}

/// Lays `config` out over the project's cards; `stage` is the part of the pipeline looked at.
pub(super) fn lay_out(project: &Project, model: &LanguageModel, stage: Stage, config: &mut StepConfig) {
    let hidden = u64::from(model.hidden);
    let sharding = sharding(project);
    let count = u64::from(project.hardware.count.max(1));
    let cut = project.hardware.parallel;
    let alone = count == 1 && engine_alone(project, config);
    let way = if alone { Way::Zero } else { way(sharding, project.framework) };
    let data = u64::from(cut.data(project.hardware.count));
    let context = u64::from(cut.context.max(1));
    // Weights are alike on all cards that see other data or other tokens.
    let all = data.saturating_mul(context);
    let group = if cut.group > 0 { u64::from(cut.group).min(all) } else { all };
    let group =
        if sharding == Sharding::FsdpHybrid { group.min(u64::from(project.hardware.per_machine())) } else { group };
    let (weights, gradients, optimizer) = sharding.divides();
    let over = |divides: bool| if divides { group } else { 1 };
    let mut shards = Shards {
        weights: over(weights),
        gradients: over(gradients),
        optimizer: over(optimizer),
        way,
        keeps_whole: sharding == Sharding::FsdpGrad,
        tensor: u64::from(cut.tensor.max(1)),
        // Megatron's and torchtitan's plans divide the tokens between the matrices too.
        sequence_parallel: cut.tensor > 1,
        expert: u64::from(cut.expert.max(1)),
        context,
        pipeline: u64::from(cut.pipeline.max(1)),
        stage: if cut.pipeline > 1 { stage } else { Stage::Only },
        ..Shards::default()
    };
    if count > 1 || alone || sharding == Sharding::Zero3Offload {
        formats(project, way, config, &mut shards);
        shards.away = match (sharding, project.offload) {
            (Sharding::Zero3Offload, Offload::Nvme) => Offload::Nvme,
            (Sharding::Zero3Offload, _) => Offload::All,
            (_, away) if way != Way::Whole => away,
            _ => Offload::None,
        };
        buffers(project, way, hidden, &mut shards);
    }
    if cut.pipeline > 1 {
        let number = shards.before(u64::from(model.layers), network::dense_layers(model).0).1;
        pipeline(project, way, number, config, &mut shards);
    }
    config.shards = shards;
}

/// Whether gradients are divided again after each micro-batch: Composer and torchtitan do; accelerate, Fabric and plain
/// loops accumulate under `no_sync`.
const fn syncs(framework: Framework) -> bool {
    matches!(framework, Framework::LlmFoundry | Framework::Torchtitan)
}

/// Whether every card keeps whole gradients although they are divided: FSDP does while it accumulates.
pub fn gathers_whole_gradients(project: &Project) -> bool {
    let sharding = sharding(project);
    let fsdp = matches!(way(sharding, project.framework), Way::Flat | Way::PerParameter);
    let (_, divided, _) = sharding.divides();
    project.hardware.count > 1 && project.accumulation > 1 && fsdp && divided && !syncs(project.framework)
}

/// In which formats the library works, keeps and sums.
fn formats(project: &Project, way: Way, config: &mut StepConfig, shards: &mut Shards) {
    let half = config.autocast.unwrap_or(config.weights);
    match way {
        Way::Whole => {}
        Way::Flat | Way::PerParameter => {
            if config.autocast.is_some() && half.is_half() {
                // `MixedPrecision`, `MixedPrecisionPolicy`: fp32 shards, 16-bit whole weights.
                if config.weights == Dtype::F32 {
                    shards.stored = Some(Dtype::F32);
                }
                config.weights = half;
                config.autocast = None;
                // torchtitan: `mp_policy = MixedPrecisionPolicy(param_dtype=bf16, reduce_dtype=fp32)`; accelerate and
                // Composer ("PURE") sum in 16 bit.
                if project.framework == Framework::Torchtitan {
                    shards.reduced = Some(Dtype::F32);
                }
            }
            config.adapter = half;
            config.kbit_prepare = false;
            shards.unsynced = config.accumulation > 1 && !syncs(project.framework);
            // Fabric wraps blocks with `use_orig_params`, adapters inside; PEFT's policy wraps adapters apart.
            shards.frozen_gradients = way == Way::Flat && project.framework == Framework::Litgpt;
        }
        // `module.bfloat16()` of the engine, fp32 master weights of what is trained.
        Way::Zero | Way::Megatron => {
            if half.is_half() {
                // No autocast, so nothing makes logits fp32; preference losses work on them row by row as they are
                // (`selective_log_softmax` of TRL).
                if project.objective.compares() && config.loss == Loss::Upcast {
                    config.loss = Loss::NoUpcast;
                    config.hold_outputs = true;
                }
                config.weights = half;
                config.autocast = None;
                config.adapter = half;
                config.master_weights = true;
            }
            config.kbit_prepare = false;
            if way == Way::Megatron {
                config.optimizer_impl = StepImpl::Fused;
            }
        }
    }
}

/// Buffers of the library's own.
fn buffers(project: &Project, way: Way, hidden: u64, shards: &mut Shards) {
    if way != Way::Zero {
        return;
    }
    // ZeRO-3 alone brings weights from main memory (`offload_param`).
    if shards.weights > 1 || shards.away.parts().0 {
        // "auto" in the Hugging Face integration: `reduce_bucket_size` is the hidden size squared.
        shards.buffers = 2 * hidden.saturating_mul(hidden);
        shards.live = 2 * LIVE;
        return;
    }
    // `reduce_bucket_size` of the examples' configurations for stage 2: 2e8 elements (ms-swift, Hugging Face), 5e8
    // (LLaMA-Factory, DeepSpeed's own default).
    let elements = match project.framework {
        Framework::MsSwift | Framework::Transformers => 200_000_000,
        Framework::Axolotl => hidden.saturating_mul(hidden),
        // Two buckets with `overlap_comm`.
        Framework::LlamaFactory => 1_000_000_000,
        _ => 500_000_000,
    };
    shards.buffers = 2 * elements;
}

/// Micro-batches under way in a pipeline of one forward, one backward.
/// `stage` is the number of the one that is looked at, from 0.
fn pipeline(project: &Project, way: Way, stage: u64, config: &mut StepConfig, shards: &mut Shards) {
    let stages = shards.pipeline;
    let micro_batches = project.accumulation.max(stages);
    let chunks = u64::from(project.hardware.parallel.chunks.max(1));
    config.accumulation = micro_batches.max(2);
    if way == Way::PerParameter || way == Way::Flat {
        // Whole weights and whole gradients stay over the micro-batches (torchtitan: `reshard_after_forward` is off
        // under pipeline parallelism; the schedule sums gradients after the last micro-batch).
        shards.keeps_whole = true;
        shards.unsynced = true;
    }
    // Narayanan et al. 2021: a stage runs as many ahead as there are stages from it on; interleaved with v pieces of the
    // layers on each card, p (v - 1) + 2 (p - 1) + 1 pieces on the first, two fewer on each further one.
    shards.in_flight = match shards.stage {
        Stage::Only | Stage::Last => (1, 1),
        Stage::First | Stage::Inner if chunks > 1 => {
            let further = stages.saturating_sub(1).saturating_sub(stage);
            let pieces = stages.saturating_mul(chunks - 1).saturating_add(2 * further + 1);
            (pieces.min(micro_batches.saturating_mul(chunks)), chunks)
        }
        Stage::First | Stage::Inner => (stages.saturating_sub(stage).clamp(1, micro_batches), 1),
    };
}

#[cfg(test)]
#[path = "tests/in_layout.rs"]
mod tests;
