//! Rows that are no training step: evaluation, and benchmarks of head and loss alone.

use super::case::{Reason, Subject};
use super::table::Row;
use super::{sizes, when, words};
use enough_gpu::catalog::LanguageModel;
use enough_gpu::estimate::stack::Stack;
use enough_gpu::project::Checkpointing;
use enough_gpu::project::{BaseFormat, LossKernel, Runtime};
use enough_gpu::step::{AttentionKernel, Code, Dtype, Loss, Quantization, StepConfig, StepImpl, Task, Trained};
use enough_gpu::units::Bytes;

/// A benchmark of head and loss alone: a model without layers. Its passes come one after the other without an optimizer's
/// step, so the gradients of the last are there while the next is made.
pub(super) fn loss_head(row: &Row<'_>) -> Result<Subject, Reason> {
    // The width where a benchmark prints none: TRL's has 2,048 columns (its pull request 6858).
    const WIDTH: u32 = 2048;
    let name = row.text("model").to_lowercase();
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
    // Liger-Kernel's benchmark has PyTorch's head on the card beside its own (`bench_memory_fused_linear_cross_entropy`).
    let both = row.text("framework").to_lowercase().starts_with("liger");
    let model = LanguageModel { tied_embeddings: !both, ..model };
    let plain = forward_only(row);
    // Cut cross-entropy's kernel adds up the head's gradient in place, as Liger's product did before 0.7.
    let adds_head_gradient = row.text("loss_kernel").contains("cut") || when::generation(row) == Some(Runtime::Mid2);
    let config = StepConfig {
        trained: if both { Trained::Head } else { Trained::All },
        code: Code { adds_head_gradient, ..plain.code },
        accumulation: 2,
        loss: match words::loss(row.text("loss_kernel")) {
            LossKernel::Fused => Loss::FusedChunked,
            LossKernel::Chunked => Loss::ChunkedLoss { chunk: 1024 },
            // TRL's trainer makes logits fp32 as transformers does; others give them to the loss as they are.
            _ if words::framework(row.text("framework")).is_some() => Loss::Upcast,
            _ => Loss::NoUpcast,
        },
        ..plain
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
