//! Megatron-LM's pre-training script, for models that are cut over cards.

use super::{Job, Lines, Recipe, launch};
use crate::advise::plan::samples_per_step;
use crate::project::{Checkpointing, Method, Offload, Optimizer, Sharding};

/// `pretrain_gpt.py` with the model, the cut and the batch (NVIDIA/Megatron-LM, `megatron/training/arguments.py`).
pub(super) fn pretrain(job: &Job<'_>) -> Option<Recipe> {
    let p = job.project;
    let model = job.model.language()?;
    // Encoders have a script of their own, adapters none, and weights to go on from must be converted first.
    if p.method != Method::Scratch || job.kind() != crate::catalog::LanguageKind::Decoder {
        return None;
    }
    // It copies the weights to each group of cards and divides at the most the optimizer's state.
    let divides = matches!(p.hardware.sharding, Sharding::Auto | Sharding::Ddp | Sharding::Zero1);
    if (job.cards() > 1 && !divides) || p.offload != Offload::None || p.optimizer != Optimizer::AdamW {
        return None;
    }
    let cut = p.hardware.parallel;
    let mut options: Vec<String> = Vec::new();
    let mut option = |key: &str, value: &dyn std::fmt::Display| options.push(format!("--{key} {value}"));
    option("tensor-model-parallel-size", &cut.tensor);
    option("pipeline-model-parallel-size", &cut.pipeline);
    if cut.context > 1 {
        option("context-parallel-size", &cut.context);
    }
    if cut.pipeline > 1 && cut.chunks > 1 {
        option("num-virtual-stages-per-pipeline-rank", &cut.chunks);
    }
    option("num-layers", &model.layers);
    option("hidden-size", &model.hidden);
    option("ffn-hidden-size", &model.intermediate);
    option("num-attention-heads", &model.heads);
    if model.kv_heads < model.heads {
        option("group-query-attention --num-query-groups", &model.kv_heads);
    }
    if model.moe_experts > 0 {
        option("num-experts", &model.moe_experts);
        option("moe-router-topk", &model.moe_active.max(1));
        option("expert-model-parallel-size", &cut.expert);
    }
    option("seq-length", &p.sequence);
    option("max-position-embeddings", &p.sequence);
    option("micro-batch-size", &p.micro_batch);
    option("global-batch-size", &samples_per_step(p));
    option("train-samples", &((p.samples as f64 * p.epochs) as u64).max(1));
    option("lr", &job.learning_rate());
    option("tokenizer-type HuggingFaceTokenizer --tokenizer-model", &job.repository());
    option("data-path", &"my_data_text_document");
    option("save", &"out");
    if cut.tensor > 1 {
        options.push("--sequence-parallel".to_owned());
    }
    if job.precision() != "no" {
        options.push(format!("--{}", job.precision()));
    }
    if p.hardware.sharding != Sharding::Ddp {
        options.push("--use-distributed-optimizer".to_owned());
    }
    match p.checkpointing {
        Checkpointing::Off => {}
        Checkpointing::Selective => options.push("--recompute-granularity selective".to_owned()),
        Checkpointing::PerBlock | Checkpointing::Pairs | Checkpointing::Offloaded => {
            options.push("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1".to_owned());
        }
    }
    if model.gated {
        options.push("--swiglu --disable-bias-linear".to_owned());
    }
    if model.norm.starts_with("rmsnorm") {
        options.push("--normalization RMSNorm --position-embedding-type rope".to_owned());
        // `rope_theta` of the models' own `config.json`; Megatron's is 10,000.
        match model.family {
            "Llama 3" | "Llama 3.1" | "Llama 3.2" | "Llama 3.3" => options.push("--rotary-base 500000".to_owned()),
            "Qwen2" | "Qwen2.5" | "Qwen3" => options.push("--rotary-base 1000000".to_owned()),
            _ => {}
        }
    }
    if model.norm.contains("qk-head") {
        options.push("--qk-layernorm".to_owned());
    }
    if !model.tied_embeddings {
        options.push("--untie-embeddings-and-output-weights".to_owned());
    }
    let line = launch::torchrun_line(job, "pretrain_gpt.py");
    Some(Lines::default().line(format!("{line} \\\n    {}", options.join(" \\\n    "))).file("run.sh"))
}
