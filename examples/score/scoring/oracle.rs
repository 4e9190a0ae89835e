//! Traced steps: PyTorch's own training step, followed tensor by tensor. Every switch stands in a column.

use super::case::{Case, Domain, Meter, Quality, Reason, Subject, Trace};
use super::table::Row;
use super::{architecture, models, words};
use enough_gpu::catalog::{Catalog, LanguageKind};
use enough_gpu::project::{
    Attention, BaseFormat, Checkpointing, Choice, Framework, Lora, LoraTargets, Method, Optimizer, OptimizerImpl,
    Precision, Project,
};
use enough_gpu::step::{AttentionKernel, Code, Dtype, Loss, Quantization, StepConfig, StepImpl, Task, Trained};
use enough_gpu::units::Bytes;

/// The case of a row.
pub(crate) fn case(row: &Row<'_>, catalog: &Catalog) -> Case {
    let domain = Domain::from_text(row.text("domain"));
    let bytes = |column| row.count(column).filter(|b| *b > 0).map(Bytes);
    Case {
        id: row.text("id").to_owned(),
        domain,
        model: row.text("model").to_owned(),
        cards: 1,
        source: format!("traced, {} {}", row.text("method"), row.text("precision")),
        quality: Quality::A,
        meter: Meter::Allocated,
        peak: bytes("peak_bytes"),
        outcome: None,
        usable: None,
        subject: if domain == Domain::Llm { language(row, catalog) } else { project(row, domain, catalog) },
        trace: Some(Trace {
            forward_end: bytes("forward_end_bytes"),
            steady: bytes("steady_bytes"),
            reserved: bytes("reserved_peak_bytes"),
        }),
    }
}

fn language(row: &Row<'_>, catalog: &Catalog) -> Result<Subject, Reason> {
    let known = models::by_name(catalog, row.text("model"), row.number("params_total").map(|n| n / 1e9));
    let model = architecture::from_row(row, known.and_then(|m| m.language()))
        .ok_or_else(|| Reason::UnknownModel(row.text("model").to_owned()))?;
    let config = config(row, model.kind)?;
    Subject::step(model, config, Bytes::ZERO)
}

/// Vision, diffusion and audio steps, as a project.
fn project(row: &Row<'_>, domain: Domain, catalog: &Catalog) -> Result<Subject, Reason> {
    let name = row.text("model");
    let model = models::by_name(catalog, name, None).ok_or_else(|| Reason::UnknownModel(name.to_owned()))?;
    let adapters = row.text("method").ends_with("lora");
    let (weights, autocast) = formats(row, adapters);
    let quantized = row.text("method") == "qlora";
    let project = Project {
        model: model.id.to_owned(),
        method: match Method::from_id(row.text("method")).unwrap_or_default() {
            // The traced vision models start from random weights; torchvision's detectors then train their batch norms.
            Method::Full if domain == Domain::Vision => Method::Scratch,
            other => other,
        },
        lora: Lora {
            rank: row.count("lora_r").unwrap_or(16),
            targets: LoraTargets::from_id(row.text("lora_targets")).unwrap_or(LoraTargets::Attention),
            dropout: if domain == Domain::Diffusion { 0.0 } else { row.number("lora_dropout").unwrap_or(0.05) },
            ..Lora::default()
        },
        precision: match row.text("precision") {
            "fp32" => Precision::Fp32,
            "bf16-pure" => Precision::PureBf16,
            "amp-master" => Precision::MasterBf16,
            "amp-fp16" => Precision::AmpFp16,
            _ => Precision::AmpBf16,
        },
        base: match weights {
            _ if quantized => BaseFormat::Nf4Double,
            Dtype::F32 => BaseFormat::Fp32,
            _ if autocast.is_some() && !adapters => BaseFormat::Bf16,
            _ => BaseFormat::AsPrecision,
        },
        optimizer: optimizer(row),
        optimizer_impl: match row.text("opt_impl") {
            "fused" => OptimizerImpl::Fused,
            "loop" => OptimizerImpl::Loop,
            _ => OptimizerImpl::Foreach,
        },
        checkpointing: checkpointing(row),
        attention: match row.text("attention") {
            "eager" => Attention::Eager,
            "math" => Attention::Math,
            "efficient" => Attention::Efficient,
            "flash" => Attention::Flash,
            _ => Attention::Auto,
        },
        // Detectors are traced with stand-ins for their losses, which compare no anchors with objects.
        objects: 1,
        micro_batch: row.count("batch").filter(|b| *b > 0).ok_or(Reason::Missing("batch"))?,
        accumulation: row.count("accum").unwrap_or(1).max(1),
        sequence: row.count("decoder_len").or(row.count("seq")).unwrap_or(448),
        image_side: row.count("res").unwrap_or(if domain == Domain::Diffusion { 512 } else { 224 }),
        cached_latents: !row.flag("encoders").unwrap_or(false),
        framework: match domain {
            // PEFT with adapters in fp32.
            Domain::Diffusion if row.text("adapter_dtype") == "fp32" => Framework::AiToolkit,
            Domain::Diffusion => Framework::Diffusers,
            _ => Framework::Pytorch,
        },
        ..Project::default()
    };
    Ok(Subject::Project { project: Box::new(project), gpu: None })
}

fn optimizer(row: &Row<'_>) -> Optimizer {
    let name = row.text("optimizer");
    Optimizer::from_id(name).unwrap_or_else(|| words::optimizer(name).0)
}

fn checkpointing(row: &Row<'_>) -> Checkpointing {
    if row.flag("checkpointing").unwrap_or(false) { Checkpointing::PerBlock } else { Checkpointing::Off }
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

fn config(row: &Row<'_>, kind: LanguageKind) -> Result<StepConfig, Reason> {
    let method = row.text("method");
    let adapters = words::method(method, "").is_some_and(|(method, _)| method.is_adapter());
    let (weights, autocast) = formats(row, adapters);
    let pure_half = autocast.is_none() && weights.is_half();
    let batch = row.count("batch").filter(|b| *b > 0).ok_or(Reason::Missing("batch"))?;
    let sequence = row.count("seq").filter(|s| *s > 0).ok_or(Reason::Missing("sequence length"))?;
    let quantized = method.starts_with("qlora");
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
                ..words::adapter(method)
            }),
            _ => Trained::All,
        },
        weights,
        autocast,
        master_weights: row.text("precision") == "amp-master" && !adapters,
        quantization: quantized.then_some(Quantization::Nf4 { double: true }),
        kbit_prepare: quantized && row.flag("kbit_prepare").unwrap_or(true),
        code: Code::default(),
        adapter: match row.text("adapter_dtype") {
            "fp32" => Dtype::F32,
            "bf16" => Dtype::Bf16,
            _ if pure_half => weights,
            _ => Dtype::F32,
        },
        optimizer: optimizer(row),
        optimizer_impl: match row.text("opt_impl") {
            "fused" => StepImpl::Fused,
            "loop" => StepImpl::Loop,
            _ => StepImpl::Foreach,
        },
        checkpointing: checkpointing(row),
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
        shards: enough_gpu::step::Shards::default(),
    })
}
