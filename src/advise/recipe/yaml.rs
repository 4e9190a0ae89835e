//! Configurations in YAML: accelerate, LLaMA-Factory, Axolotl.

use super::{Job, Lines, Recipe, targets};
use crate::project::{Attention, Checkpointing, LossKernel, Method, Objective, Optimizer, Sharding};

/// `accelerate config` for FSDP (accelerate, "Fully Sharded Data Parallel").
pub(super) fn accelerate_fsdp(job: &Job<'_>) -> Recipe {
    let sharding = job.project.hardware.sharding;
    let mut out = Lines::default();
    out.pair("compute_environment", "LOCAL_MACHINE").pair("distributed_type", "FSDP").line("fsdp_config:");
    if sharding == Sharding::Fsdp2 {
        out.pair("  fsdp_version", 2).pair("  fsdp_reshard_after_forward", true);
    } else {
        let strategy = match sharding {
            Sharding::FsdpGrad => "SHARD_GRAD_OP",
            Sharding::FsdpHybrid => "HYBRID_SHARD",
            _ => "FULL_SHARD",
        };
        out.pair("  fsdp_version", 1)
            .pair("  fsdp_sharding_strategy", strategy)
            .pair("  fsdp_backward_prefetch", "BACKWARD_PRE")
            .pair("  fsdp_use_orig_params", true);
    }
    out.pair("  fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP")
        .pair("  fsdp_cpu_ram_efficient_loading", true)
        .pair("  fsdp_offload_params", job.project.offload != crate::project::Offload::None)
        .pair("  fsdp_state_dict_type", "SHARDED_STATE_DICT")
        .pair("  fsdp_activation_checkpointing", job.recomputes())
        .pair("machine_rank", 0)
        .pair("main_training_function", "main")
        .pair("mixed_precision", job.precision())
        .pair("num_machines", job.machines().0)
        .pair("num_processes", job.cards());
    out.file("accelerate.yaml")
}

/// LLaMA-Factory's name for the way a family's chats are written, by how an id begins; longer beginnings come first
/// (`src/llamafactory/data/template.py`).
const TEMPLATES: [(&str, &str); 38] = [
    ("qwen3.5", "qwen3_5"),
    ("qwen3.6", "qwen3_6"),
    ("qwen3-vl", "qwen3_vl"),
    ("qwen3", "qwen3"),
    ("qwen2.5-vl", "qwen2_vl"),
    ("qwen2-vl", "qwen2_vl"),
    ("qwen", "qwen"),
    ("llama-3.2-11b-vision", "mllama"),
    ("llama-3.2-90b-vision", "mllama"),
    ("llama-4", "llama4"),
    ("llama-3", "llama3"),
    ("llama-2", "llama2"),
    ("mixtral", "mistral"),
    ("mistral", "mistral"),
    ("gemma-3n", "gemma3n"),
    ("gemma-3", "gemma3"),
    ("gemma-4", "gemma4"),
    ("gemma-2", "gemma2"),
    ("gemma", "gemma"),
    ("phi-4-mini", "phi4_mini"),
    ("phi-4", "phi4"),
    ("phi-3", "phi"),
    ("yi", "yi"),
    ("glm-4v", "glm4v"),
    ("glm-4", "glm4"),
    ("deepseek-v3", "deepseek3"),
    ("deepseek", "deepseek"),
    ("gpt-oss", "gpt_oss"),
    ("internlm2", "intern2"),
    ("internvl", "intern_vl"),
    ("minicpm-v", "minicpm_v"),
    ("minicpm-llama3-v", "minicpm_v"),
    ("llava-1.5", "llava"),
    ("llava-1.6-mistral", "llava_next_mistral"),
    ("llava-1.6", "llava_next"),
    ("paligemma", "paligemma"),
    ("smollm2", "smollm2"),
    ("falcon", "falcon"),
];

fn template(id: &str) -> &'static str {
    TEMPLATES.iter().find(|(begins, _)| id.starts_with(begins)).map_or("default", |(_, template)| template)
}

/// `llamafactory-cli train` (LLaMA-Factory, `examples/train_lora` and its neighbours).
pub(super) fn llama_factory(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let mut out = Lines::default();
    out.pair("model_name_or_path", job.chat_repository())
        .pair("stage", if p.objective == Objective::Likelihood { "sft" } else { "dpo" })
        .pair("do_train", true)
        .pair(
            "finetuning_type",
            match p.method {
                Method::Lora | Method::QLora => "lora",
                Method::Freeze | Method::Head => "freeze",
                Method::Full | Method::Scratch => "full",
            },
        );
    if job.adapts() {
        out.pair("lora_rank", p.lora.rank)
            .pair("lora_alpha", job.alpha())
            .pair("lora_dropout", crate::units::decimal::short(p.lora.dropout))
            .pair("lora_target", targets::names(job).map_or_else(|| "all".to_owned(), |names| names.join(",")));
    }
    if job.four_bit() {
        out.pair("quantization_bit", 4).pair("quantization_method", "bnb").pair("double_quantization", true);
    }
    match p.objective {
        Objective::Likelihood | Objective::Sampled => {}
        Objective::Preference => {
            out.pair("pref_loss", "sigmoid");
        }
        Objective::PreferenceWithoutReference => {
            out.pair("pref_loss", "simpo");
        }
    }
    out.pair("dataset", "my_data")
        .pair("template", template(job.model.id))
        .pair("cutoff_len", p.sequence)
        .pair("output_dir", "out")
        .pair("per_device_train_batch_size", p.micro_batch)
        .pair("gradient_accumulation_steps", p.accumulation)
        .pair("num_train_epochs", crate::units::decimal::short(p.epochs))
        .pair("learning_rate", job.decimal_rate())
        .pair("optim", job.optimizer())
        .pair("bf16", job.precision() == "bf16")
        .pair("fp16", job.precision() == "fp16")
        .pair("disable_gradient_checkpointing", !job.recomputes())
        .pair(
            "flash_attn",
            match p.attention {
                Attention::Eager | Attention::Math => "disabled",
                Attention::Flash => "fa2",
                Attention::Auto | Attention::Efficient => "sdpa",
            },
        )
        .pair("enable_liger_kernel", p.loss == LossKernel::Fused);
    if job.stage().is_some() {
        out.pair("deepspeed", "ds_config.json");
    }
    out.file("train.yaml")
}

/// `axolotl train` (Axolotl, "Config Reference").
pub(super) fn axolotl(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let mut out = Lines::default();
    out.pair("base_model", job.repository());
    match p.objective {
        Objective::Likelihood | Objective::Sampled => {}
        Objective::Preference => {
            out.pair("rl", "dpo");
        }
        Objective::PreferenceWithoutReference => {
            out.pair("rl", "simpo");
        }
    }
    if job.adapts() {
        out.pair("adapter", if job.four_bit() { "qlora" } else { "lora" })
            .pair("lora_r", p.lora.rank)
            .pair("lora_alpha", job.alpha())
            .pair("lora_dropout", crate::units::decimal::short(p.lora.dropout));
        match targets::names(job) {
            Some(names) => out.pair("lora_target_modules", format!("[{}]", names.join(", "))),
            None => out.pair("lora_target_linear", true),
        };
    }
    out.pair("load_in_4bit", job.four_bit());
    if job.four_bit() && job.model.language().is_some_and(|m| m.moe_experts > 0) {
        // Without it experts stay in 16 bit (Axolotl's README, March 2026).
        out.pair("quantize_moe_experts", true);
    }
    out.line("datasets:")
        .pair("  - path", "my_data.jsonl")
        .pair("    ds_type", "json")
        .pair("    type", if p.objective == Objective::Likelihood { "alpaca" } else { "chatml.intel" })
        .pair("sequence_len", p.sequence)
        .pair("micro_batch_size", p.micro_batch)
        .pair("gradient_accumulation_steps", p.accumulation)
        .pair("num_epochs", p.epochs.ceil() as u64)
        .pair("learning_rate", job.decimal_rate())
        .pair(
            "optimizer",
            match p.optimizer {
                Optimizer::Muon => "muon",
                _ => job.optimizer(),
            },
        )
        .pair("bf16", job.precision() == "bf16")
        .pair("fp16", job.precision() == "fp16")
        .pair("gradient_checkpointing", job.recomputes())
        .pair("activation_offloading", p.checkpointing == Checkpointing::Offloaded)
        .pair("flash_attention", p.attention == Attention::Flash)
        .pair("output_dir", "out");
    if job.stage().is_some() {
        out.pair("deepspeed", "ds_config.json");
    }
    if job.fsdp() {
        let sharding = p.hardware.sharding;
        let version = if sharding == Sharding::Fsdp2 { 2 } else { 1 };
        out.pair("fsdp_version", version)
            .line("fsdp_config:")
            .pair("  auto_wrap_policy", "TRANSFORMER_BASED_WRAP")
            .pair("  state_dict_type", "SHARDED_STATE_DICT")
            .pair("  offload_params", p.offload != crate::project::Offload::None)
            .pair("  reshard_after_forward", sharding != Sharding::FsdpGrad);
    }
    out.file("train.yaml")
}
