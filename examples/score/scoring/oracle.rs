//! Traced steps: PyTorch's own training step, followed tensor by tensor. Every switch stands in a column.

use super::architecture;
use super::table::Row;
use enough_gpu::catalog::{LanguageKind, LanguageModel};
use enough_gpu::project::{Checkpointing, Choice, Lora, LoraTargets, Optimizer};
use enough_gpu::step::{AttentionKernel, Dtype, Loss, Quantization, StepConfig, StepImpl, Task, Trained};

/// A traced language case.
#[derive(Clone, Debug)]
pub(crate) struct LanguageCase {
    /// Model.
    pub(crate) model: LanguageModel,
    /// Every switch of the step.
    pub config: StepConfig,
}

/// The language case of a row, or why there is none.
pub(crate) fn language(row: &Row<'_>) -> Result<LanguageCase, String> {
    let model = architecture::from_row(row).ok_or_else(|| "no architecture in the row".to_owned())?;
    let config = config(row, model.kind)?;
    Ok(LanguageCase { model, config })
}

/// Format of the weights as loaded, and of autocast.
fn formats(row: &Row<'_>, adapters: bool) -> (Dtype, Option<Dtype>) {
    let precision = row.text("precision");
    let autocast = precision.starts_with("amp-") && precision != "amp-master";
    let half = if precision.contains("fp16") { Dtype::F16 } else { Dtype::Bf16 };
    let weights = match row.text("base_dtype") {
        "fp32" => Dtype::F32,
        "bf16" => Dtype::Bf16,
        "fp16" => Dtype::F16,
        // Not stated, or the format of a quantized base, whose other weights follow the precision.
        _ if precision == "fp32" || (autocast && !adapters) => Dtype::F32,
        _ => half,
    };
    (weights, autocast.then_some(half))
}

fn config(row: &Row<'_>, kind: LanguageKind) -> Result<StepConfig, String> {
    let method = row.text("method");
    let adapters = method.ends_with("lora");
    let (weights, autocast) = formats(row, adapters);
    let pure_half = autocast.is_none() && weights.is_half();
    let batch = row.count("batch").filter(|b| *b > 0).ok_or("no batch")?;
    let sequence = row.count("seq").filter(|s| *s > 0).ok_or("no sequence length")?;
    let quantized = method == "qlora";
    Ok(StepConfig {
        batch,
        sequence,
        decoder_sequence: row.count("decoder_len").filter(|s| *s > 0),
        task: match row.text("task") {
            "seqcls" => Task::SequenceClassification,
            "mlm" => Task::MaskedLanguageModel,
            "embedding" => Task::Embedding,
            _ if kind == LanguageKind::Encoder => Task::MaskedLanguageModel,
            _ => Task::LanguageModel,
        },
        trained: match method {
            "head" => Trained::Head,
            _ if adapters => Trained::Adapters(Lora {
                rank: row.count("lora_r").unwrap_or(16),
                targets: LoraTargets::from_id(row.text("lora_targets")).unwrap_or_default(),
                dropout: row.number("lora_dropout").unwrap_or(0.05),
            }),
            _ => Trained::All,
        },
        weights,
        autocast,
        master_weights: row.text("precision") == "amp-master" && !adapters,
        quantization: quantized.then_some(Quantization::Nf4 { double: true }),
        kbit_prepare: quantized && row.flag("kbit_prepare").unwrap_or(true),
        quantized_saves_input: false,
        adapter: match row.text("adapter_dtype") {
            "fp32" => Dtype::F32,
            "bf16" => Dtype::Bf16,
            _ if pure_half => weights,
            _ => Dtype::F32,
        },
        optimizer: match row.text("optimizer") {
            "adam" => Optimizer::AdamW,
            id => Optimizer::from_id(id).ok_or_else(|| format!("optimizer {id}"))?,
        },
        optimizer_impl: match row.text("opt_impl") {
            "fused" => StepImpl::Fused,
            "loop" => StepImpl::Loop,
            _ => StepImpl::Foreach,
        },
        checkpointing: if row.flag("checkpointing").unwrap_or(false) {
            Checkpointing::PerBlock
        } else {
            Checkpointing::Off
        },
        reentrant: row.flag("reentrant").unwrap_or(false),
        attention: match row.text("attention") {
            "eager" => AttentionKernel::Eager,
            "math" => AttentionKernel::Math,
            "efficient" => AttentionKernel::Efficient,
            "flash" => AttentionKernel::Flash,
            _ => AttentionKernel::Sdpa,
        },
        loss: match row.text("loss") {
            "no-upcast" => Loss::NoUpcast,
            "chunked" => Loss::FusedChunked,
            _ => Loss::Upcast,
        },
        hold_outputs: row.flag("hold_outputs").unwrap_or(false),
        accumulation: row.count("accum").unwrap_or(1).max(1),
    })
}
