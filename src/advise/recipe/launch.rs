//! Lines to run, and short scripts in Python.

use super::{Job, Lines, Recipe};
use crate::project::{Attention, LossKernel};

/// `True` and `False` as Python has them.
const fn python(yes: bool) -> &'static str {
    if yes { "True" } else { "False" }
}

fn import(out: &mut Lines, package: &str, names: &[&str]) {
    out.line(format!("from {package} import {}", names.join(", ")));
}

/// `torchrun`, one process a card.
pub(super) fn torchrun(job: &Job<'_>) -> Recipe {
    let cards = job.cards();
    let (machines, each) = (cards.div_ceil(8), cards.min(8));
    let mut out = Lines::default();
    if job.fsdp() {
        out.line("accelerate launch --config_file accelerate.yaml train.py");
    } else if machines > 1 {
        out.line(format!("torchrun --nnodes={machines} --nproc_per_node={each} --rdzv_backend=c10d \\"))
            .line("    --rdzv_endpoint=$HEAD:29500 train.py");
    } else {
        out.line(format!("torchrun --standalone --nproc_per_node={each} train.py"));
    }
    out.file("run.sh")
}

pub(super) fn llama_factory(job: &Job<'_>) -> Recipe {
    let force = if job.cards() > 1 { "FORCE_TORCHRUN=1 " } else { "" };
    Lines::default().line(format!("{force}llamafactory-cli train train.yaml")).file("run.sh")
}

pub(super) fn axolotl(_: &Job<'_>) -> Recipe {
    Lines::default().line("axolotl train train.yaml").file("run.sh")
}

/// `TrainingArguments` of transformers with PEFT and bitsandbytes.
pub(super) fn trainer(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let mut out = Lines::default();
    out.line("import torch");
    import(&mut out, "transformers", &["AutoModelForCausalLM", "TrainingArguments"]);
    if job.four_bit() {
        import(&mut out, "transformers", &["BitsAndBytesConfig"]);
    }
    if job.adapts() {
        import(&mut out, "peft", &["LoraConfig", "get_peft_model"]);
        if job.four_bit() {
            import(&mut out, "peft", &["prepare_model_for_kbit_training"]);
        }
    }
    out.line("").line("args = TrainingArguments(");
    let mut argument = |key: &str, value: String| {
        out.line(format!("    {key}={value},"));
    };
    argument("output_dir", "\"out\"".to_owned());
    argument("per_device_train_batch_size", p.micro_batch.to_string());
    argument("gradient_accumulation_steps", p.accumulation.to_string());
    argument("num_train_epochs", p.epochs.to_string());
    argument("optim", format!("\"{}\"", job.optimizer()));
    argument("bf16", python(job.precision() == "bf16").to_owned());
    argument("fp16", python(job.precision() == "fp16").to_owned());
    argument("gradient_checkpointing", python(job.recomputes() && !job.fsdp()).to_owned());
    argument("gradient_checkpointing_kwargs", "{\"use_reentrant\": False}".to_owned());
    argument("use_liger_kernel", python(p.loss == LossKernel::Fused).to_owned());
    if job.stage().is_some() {
        argument("deepspeed", "\"ds_config.json\"".to_owned());
    }
    out.line(")");
    if job.four_bit() {
        out.line("quantization = BitsAndBytesConfig(")
            .line("    load_in_4bit=True,")
            .line("    bnb_4bit_quant_type=\"nf4\",")
            .line("    bnb_4bit_use_double_quant=True,")
            .line("    bnb_4bit_compute_dtype=torch.bfloat16,")
            .line(")");
    }
    let attention = match p.attention {
        Attention::Eager | Attention::Math => "eager",
        Attention::Flash => "flash_attention_2",
        Attention::Auto | Attention::Efficient => "sdpa",
    };
    out.line("model = AutoModelForCausalLM.from_pretrained(")
        .line(format!("    \"{}\",", job.repository()))
        .line("    dtype=torch.bfloat16,")
        .line(format!("    attn_implementation=\"{attention}\","));
    if job.four_bit() {
        out.line("    quantization_config=quantization,");
    }
    out.line(")");
    if job.adapts() {
        if job.four_bit() {
            out.line("model = prepare_model_for_kbit_training(model)");
        }
        out.line("model = get_peft_model(model, LoraConfig(")
            .line(format!("    r={},", p.lora.rank))
            .line(format!("    lora_alpha={},", p.lora.rank * 2))
            .line(format!("    lora_dropout={},", p.lora.dropout))
            .line("    target_modules=\"all-linear\",")
            .line("    task_type=\"CAUSAL_LM\",")
            .line("))");
    }
    out.file("train.py")
}

/// Unsloth's two calls (unsloth.ai, "Fine-tuning guide").
pub(super) fn unsloth(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let mut out = Lines::default();
    import(&mut out, "unsloth", &["FastLanguageModel"]);
    out.line("")
        .line("model, tokenizer = FastLanguageModel.from_pretrained(")
        .line(format!("    model_name=\"{}\",", job.repository()))
        .line(format!("    max_seq_length={},", p.sequence))
        .line(format!("    load_in_4bit={},", python(job.four_bit())))
        .line(format!("    full_finetuning={},", python(!job.adapts())))
        .line(")");
    if job.adapts() {
        out.line("model = FastLanguageModel.get_peft_model(")
            .line("    model,")
            .line(format!("    r={},", p.lora.rank))
            .line(format!("    lora_alpha={},", p.lora.rank))
            .line(format!("    lora_dropout={},", p.lora.dropout))
            .line(format!("    use_gradient_checkpointing={},", if job.recomputes() { "\"unsloth\"" } else { "False" }))
            .line(")");
    }
    out.file("train.py")
}
