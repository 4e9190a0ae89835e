//! Rows that are no training step: evaluation, and benchmarks of head and loss alone.

use super::case::{Reason, Subject};
use super::table::Row;
use super::{sizes, words};
use enough_gpu::catalog::LanguageModel;
use enough_gpu::estimate::stack::Stack;
use enough_gpu::project::Checkpointing;
use enough_gpu::project::{BaseFormat, LossKernel};
use enough_gpu::step::{AttentionKernel, Dtype, Loss, Quantization, StepConfig, StepImpl, Task, Trained};
use enough_gpu::units::Bytes;

/// A benchmark of head and loss alone: a model without layers.
pub(super) fn loss_head(row: &Row<'_>) -> Result<Subject, Reason> {
    // The width that such benchmarks use when they print none (Liger-Kernel's is 4096).
    const WIDTH: u32 = 4096;
    let name = row.text("model");
    let after = |word: &str| {
        let (_, rest) = name.split_once(word)?;
        sizes::tokens(rest).and_then(|n| u32::try_from(n).ok())
    };
    let vocab = after("vocab").ok_or(Reason::Missing("vocabulary"))?;
    let hidden = after("hidden").unwrap_or(WIDTH);
    let model = LanguageModel {
        family: "loss head",
        params_active: u64::from(vocab) * u64::from(hidden),
        hidden,
        intermediate: hidden,
        heads: 1,
        kv_heads: 1,
        head_dim: hidden,
        vocab,
        tied_embeddings: true,
        gated: false,
        extras: "no-final-norm",
        ..LanguageModel::BLANK
    };
    let config = StepConfig {
        trained: Trained::All,
        loss: match words::loss(row.text("loss_kernel")) {
            LossKernel::Fused => Loss::FusedChunked,
            LossKernel::Chunked => Loss::ChunkedLoss { chunk: 1024 },
            // They give the head's 16-bit logits to the loss as they are.
            _ => Loss::NoUpcast,
        },
        ..forward_only(row)
    };
    Subject::step(model, config, Bytes::ZERO)
}

/// Only running the model, as for evaluation: weights, and a few tokens.
pub(super) fn forward_only(row: &Row<'_>) -> StepConfig {
    let weights = row.text("weight_dtype");
    StepConfig {
        batch: sizes::tokens(row.text("micro_batch")).unwrap_or(1),
        sequence: sizes::tokens(row.text("seq_or_res")).unwrap_or(64),
        decoder_sequence: None,
        task: Task::LanguageModel,
        trained: Trained::Nothing,
        weights: if weights.contains("32") { Dtype::F32 } else { Dtype::Bf16 },
        autocast: None,
        master_weights: false,
        quantization: match words::base(weights) {
            BaseFormat::Nf4 => Some(Quantization::Nf4 { double: false }),
            BaseFormat::Nf4Double => Some(Quantization::Nf4 { double: true }),
            BaseFormat::Int4 => Some(Quantization::Int4),
            BaseFormat::Int8 => Some(Quantization::Int8),
            BaseFormat::Fp8 => Some(Quantization::Fp8),
            _ => None,
        },
        kbit_prepare: false,
        code: words::framework(row.text("framework"))
            .or_else(|| words::framework(row.text("source")))
            .map(|library| Stack::of(library).code)
            .unwrap_or_default(),
        adapter: Dtype::Bf16,
        optimizer: enough_gpu::project::Optimizer::Sgd,
        optimizer_impl: StepImpl::Fused,
        checkpointing: Checkpointing::Off,
        reentrant: false,
        attention: AttentionKernel::Sdpa,
        loss: Loss::NoUpcast,
        hold_outputs: false,
        accumulation: 1,
        shards: enough_gpu::step::Shards::default(),
    }
}
