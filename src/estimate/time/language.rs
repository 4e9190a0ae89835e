//! The work of language models: transformers by their numbers.

use super::workload::{Backward, Workload, arithmetic, traffic_of};
use crate::catalog::{LanguageKind, LanguageModel};
use crate::project::{
    Attention, BaseFormat, Checkpointing, LoraTargets, LossKernel, Method, Objective, Precision, Project,
};
use crate::units::decimal;

/// Bytes that norms, residuals, rotary embedding, activation function and casts move for one token and layer, forward
/// and backward together, for each element of the residual stream and of the MLP (16 bit; fitted on MPT, whose MLP is
/// four times as wide: 325 bytes for each element of the stream).
const STREAM_BYTES: f64 = 189.0;
/// See [`STREAM_BYTES`].
const MLP_BYTES: f64 = 34.0;

/// A gated MLP has three tensors of its width where a plain one has two.
const GATED_MLP: f64 = 1.5;

/// Bytes that dropout on the residual stream and hidden states adds in encoders (fitted with the scores below on
/// BERT-large fine-tuning: 830 bytes for each element of the stream at 384 tokens).
const ENCODER_DROPOUT_BYTES: f64 = 230.0;

/// Bytes moved for each attention score that is written out: scale, mask, softmax, dropout, both directions.
const SCORE_BYTES: f64 = 45.0;

/// Bytes moved for each logit: write, cast, log-softmax, gradient, cast back.
const LOGIT_BYTES: f64 = 40.0;
/// The same when logits never exist as a whole.
const FUSED_LOGIT_BYTES: f64 = 16.0;

/// Kernels that a layer starts: forward, and backward (transformers' Llama: 24 modules and functions).
const FORWARD_KERNELS: f64 = 22.0;
/// See [`FORWARD_KERNELS`].
const BACKWARD_KERNELS: f64 = 34.0;
/// Kernels that an adapter adds to a linear layer, forward and backward.
const ADAPTER_KERNELS: f64 = 12.0;

/// What decides the work of a transformer.
struct Shape {
    layers: f64,
    hidden: f64,
    mlp: f64,
    heads_width: f64,
    heads: f64,
    gated: bool,
    vocab: f64,
    /// Weights that one token passes through, without embedding and head.
    active: f64,
    /// All weights.
    all: f64,
    /// Head weights that make logits for every token; 0 for classifiers.
    head: f64,
    causal: bool,
    encoder: bool,
    /// Mean length that a token attends to at most: windows.
    window: f64,
}

pub(super) fn workload(project: &Project, params: f64, l: &LanguageModel, flash: bool) -> Workload {
    let (hidden, vocab) = (f64::from(l.hidden), f64::from(l.vocab));
    let embedding = hidden * vocab;
    let encoder = l.kind == LanguageKind::Encoder;
    let head = if encoder && project.method != Method::Scratch { 0.0 } else { embedding };
    let tables = if l.tied_embeddings || encoder { embedding } else { 2.0 * embedding };
    let layers = f64::from(l.layers) * if l.kind == LanguageKind::EncoderDecoder { 2.0 } else { 1.0 };
    let mlp = if l.moe_experts > 0 {
        f64::from(l.moe_intermediate) * f64::from(l.moe_active + l.moe_shared)
    } else {
        f64::from(l.intermediate)
    };
    run(
        project,
        &Shape {
            layers,
            hidden,
            mlp,
            heads_width: f64::from(l.heads) * f64::from(l.head_dim),
            heads: f64::from(l.heads),
            gated: l.gated,
            vocab,
            active: (l.params_active as f64 - tables).max(0.0),
            all: params,
            head,
            causal: l.kind == LanguageKind::Decoder,
            encoder,
            window: window(l.attention, project.sequence as f64),
        },
        flash,
    )
}

/// Parameters of a model whose kind of attention cannot be counted, as if it were the usual one.
pub(super) fn rough_size(l: &LanguageModel) -> u64 {
    let of = |n: u32| u64::from(n);
    let (hidden, heads) = (of(l.hidden), of(l.head_dim).saturating_mul(of(l.heads) + of(l.kv_heads)).saturating_mul(2));
    let experts = of(l.moe_intermediate).saturating_mul(of(l.moe_experts) + of(l.moe_shared));
    let mlp = if experts > 0 { experts } else { of(l.intermediate) };
    let layer = hidden.saturating_mul(heads.saturating_add(mlp.saturating_mul(if l.gated { 3 } else { 2 })));
    let tables = if l.tied_embeddings { 1 } else { 2 };
    of(l.layers).saturating_mul(layer).saturating_add(hidden.saturating_mul(of(l.vocab)).saturating_mul(tables))
}

/// Mean number of earlier tokens that a layer may look at: `sliding:4096/5:1` means five layers with a window of 4,096
/// for one that sees all.
fn window(grammar: &str, sequence: f64) -> f64 {
    let Some((_, rest)) = grammar.split_once("sliding:") else { return sequence };
    let digits = |s: &str| decimal::read(&s.chars().take_while(char::is_ascii_digit).collect::<String>());
    let Some(width) = digits(rest) else { return sequence };
    let (narrow, wide) = rest
        .split_once('/')
        .and_then(|(_, pattern)| pattern.split_once(':').map(|(a, b)| (digits(a), digits(b))))
        .and_then(|(a, b)| a.zip(b))
        .unwrap_or((1.0, 0.0));
    let width = width.min(sequence);
    if narrow + wide > 0.0 { (narrow * width + wide * sequence) / (narrow + wide) } else { sequence }
}

fn run(project: &Project, s: &Shape, flash: bool) -> Workload {
    let sequences = project.micro_batch as f64 * if project.objective.compares() { 2.0 } else { 1.0 };
    let sequence = project.sequence.max(1) as f64;
    let tokens = sequences * sequence;

    let adapters = adapter_share(project, s);
    let back = Backward::of(project, adapters);
    let recompute = match project.checkpointing {
        Checkpointing::Off | Checkpointing::Selective => 0.0,
        Checkpointing::PerBlock | Checkpointing::Pairs | Checkpointing::Offloaded => 1.0,
    };
    let reference = if project.objective == Objective::Preference { 1.0 } else { 0.0 };

    let body = 2.0 * tokens * s.active;
    let head = 2.0 * tokens * s.head;
    let head_back = match project.method {
        Method::Lora | Method::QLora => 1.0,
        _ => 2.0,
    };
    let causal = if s.causal { 0.5 } else { 1.0 };
    let core = 4.0 * tokens * s.window * s.heads_width * s.layers * causal;
    let selective = if project.checkpointing == Checkpointing::Selective { 1.0 } else { 0.0 };

    let model_body = body * (1.0 + back.weights + back.inputs) + head * (1.0 + head_back);
    // Flash recomputes scores in backward: 2.5 forward passes.
    let model_core = core * (1.0 + 2.0 * back.inputs);
    let products = model_body + body * (recompute + reference) + head * reference;
    let attention = core * (1.0 + 2.5 * back.inputs + recompute + reference + selective);

    let written_out = match project.attention {
        Attention::Eager | Attention::Math => true,
        // The fp32 path of scaled_dot_product_attention is memory-efficient; encoders of the era wrote scores out.
        Attention::Auto => s.encoder && !flash,
        Attention::Efficient | Attention::Flash => false,
    };
    let mlp = s.mlp * MLP_BYTES * if s.gated { GATED_MLP } else { 1.0 };
    let mut per_token_layer = s.hidden * STREAM_BYTES + mlp;
    if s.encoder {
        per_token_layer += s.hidden * ENCODER_DROPOUT_BYTES;
    }
    if written_out || s.encoder {
        per_token_layer += s.heads * s.window * SCORE_BYTES;
    }
    // Forward moves a third; frozen layers below the first trained one have no backward.
    let directions = (1.0 + 2.0 * back.inputs + recompute + reference) / 3.0;
    let logit = match project.loss {
        LossKernel::Fused | LossKernel::Chunked => FUSED_LOGIT_BYTES,
        _ => LOGIT_BYTES,
    };
    let logits = if s.head > 0.0 { tokens * s.vocab * logit } else { 0.0 };
    let activations = s.layers * tokens * per_token_layer * directions * traffic_of(project.precision);

    let passes = 1.0 + back.inputs.min(1.0) + recompute + reference;
    let weights = weight_traffic(project, s.active + s.head, passes, back.weights);

    let linears = if s.gated { 7.0 } else { 6.0 };
    let adapter_kernels = if project.method.is_adapter() { linears * ADAPTER_KERNELS } else { 0.0 };
    let kernels = s.layers
        * (FORWARD_KERNELS * (1.0 + recompute + reference) + BACKWARD_KERNELS * back.inputs + adapter_kernels)
        + 60.0;

    let half = project.precision != Precision::Fp32;
    Workload {
        products,
        attention,
        product_speed: 1.0,
        traffic: activations + logits + weights,
        kernels,
        input: 0.0,
        model: model_body + model_core,
        optimizer: 0.0,
        weights: s.all,
        trained: s.all * back.trained.min(1.0),
        weight_bytes: stored_bytes(project),
        gradient_bytes: if half && project.precision != Precision::AmpFp16 && project.precision != Precision::AmpBf16 {
            2.0
        } else {
            4.0
        },
        passes,
        arithmetic: arithmetic(project, false),
        micro_batch: project.micro_batch as f64,
        accumulation: project.accumulation as f64,
        samples: project.samples as f64 * project.epochs,
        host_step: false,
        paged: 0.0,
        from_host: 0.0,
        from_disk: 0.0,
        histogram: 0.0,
        model_parallel: false,
        band: 0.3,
        cut: None,
        wires: (crate::project::Wires::default(), ""),
    }
}

/// Adapter weights over base weights: rank times the sum of a layer's two sides over their product.
fn adapter_share(project: &Project, s: &Shape) -> f64 {
    if !project.method.is_adapter() {
        return 0.0;
    }
    let rank = project.lora.rank as f64;
    let attention = 4.0 * rank * (s.hidden + s.heads_width);
    let mlp = if s.gated { 3.0 } else { 2.0 } * rank * (s.hidden + s.mlp);
    let per_layer = match project.lora.targets {
        LoraTargets::QV => attention / 2.0,
        LoraTargets::Attention => attention,
        LoraTargets::AllLinear | LoraTargets::AllLinearAndHead => attention + mlp,
    };
    (s.layers * per_layer / s.all.max(1.0)).min(1.0)
}

/// Bytes that reading weights, casting or unpacking them and writing their gradients moves in one micro-batch.
fn weight_traffic(project: &Project, weights: f64, passes: f64, trained: f64) -> f64 {
    let read = match stored(project) {
        // unpack: read half a byte, write two, read two
        BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int4 => 4.5 * 1.5,
        BaseFormat::Int8 | BaseFormat::Fp8 | BaseFormat::Fp8Dynamic => 5.0,
        BaseFormat::Fp32 => 4.0,
        BaseFormat::Bf16 | BaseFormat::AsPrecision => 2.0,
    };
    // autocast casts fp32 weights once for a micro-batch
    let cast = match project.precision {
        Precision::AmpBf16 | Precision::AmpFp16 if !project.method.is_adapter() => 6.0,
        _ => 0.0,
    };
    let gradient = match project.precision {
        Precision::PureBf16 | Precision::MasterBf16 => 6.0,
        _ => 10.0,
    };
    weights * (read * passes + cast + gradient * trained.min(1.0))
}

/// The format that the base is stored in.
fn stored(project: &Project) -> BaseFormat {
    match (project.base, project.method, project.precision) {
        (BaseFormat::AsPrecision, Method::QLora, _) => BaseFormat::Nf4,
        (BaseFormat::AsPrecision, _, Precision::Fp32) => BaseFormat::Fp32,
        (BaseFormat::AsPrecision, ..) => BaseFormat::Bf16,
        (base, ..) => base,
    }
}

/// Bytes of a stored weight.
fn stored_bytes(project: &Project) -> f64 {
    match stored(project) {
        BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int4 => 0.55,
        BaseFormat::Int8 | BaseFormat::Fp8 | BaseFormat::Fp8Dynamic => 1.0,
        BaseFormat::Fp32 => 4.0,
        BaseFormat::Bf16 | BaseFormat::AsPrecision => 2.0,
    }
}
