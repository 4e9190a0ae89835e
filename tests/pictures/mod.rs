//! A plain step of a network for pictures.
#![allow(unreachable_pub)]

use enough_gpu::project::{Checkpointing, Optimizer};
use enough_gpu::step::{AttentionKernel, Code, Dtype, Loss, Shards, StepConfig, StepImpl, Task, Trained};

/// All weights in fp32 by SGD with momentum, nothing computed again; under fp16 autocast where `half`.
pub fn config(batch: u64, half: bool) -> StepConfig {
    StepConfig {
        batch,
        sequence: 0,
        decoder_sequence: None,
        task: Task::LanguageModel,
        trained: Trained::All,
        weights: Dtype::F32,
        autocast: half.then_some(Dtype::F16),
        master_weights: false,
        quantization: None,
        kbit_prepare: false,
        code: Code::default(),
        adapter: Dtype::F32,
        optimizer: Optimizer::SgdMomentum,
        optimizer_impl: StepImpl::Foreach,
        checkpointing: Checkpointing::Off,
        reentrant: false,
        attention: AttentionKernel::Sdpa,
        loss: Loss::Upcast,
        hold_outputs: false,
        accumulation: 1,
        shards: Shards::default(),
    }
}
