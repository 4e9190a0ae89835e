//! Short scripts in Python that train: transformers with PEFT and bitsandbytes, Unsloth with TRL.

use super::{Job, Lines, Recipe, targets};
use crate::catalog::LanguageKind;
use crate::project::{Attention, Checkpointing, LoraTargets, LossKernel, Method, Objective};
use crate::units::sort;

/// `True` and `False` as Python has them.
const fn python(yes: bool) -> &'static str {
    if yes { "True" } else { "False" }
}

/// A list of strings as Python has it.
fn python_list(names: &[&str]) -> String {
    format!("[{}]", names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
}

fn import(out: &mut Lines, package: &str, names: &[&str]) {
    out.line(format!("from {package} import {}", names.join(", ")));
}

/// `Trainer` and `TrainingArguments` of transformers with PEFT and bitsandbytes (transformers, "Trainer").
pub(super) fn trainer(job: &Job<'_>) -> Recipe {
    let p = job.project;
    let scratch = p.method == Method::Scratch;
    let (class, task) = match job.kind() {
        LanguageKind::Decoder => ("AutoModelForCausalLM", "CAUSAL_LM"),
        LanguageKind::Encoder => ("AutoModelForSequenceClassification", "SEQ_CLS"),
        LanguageKind::EncoderDecoder => ("AutoModelForSeq2SeqLM", "SEQ_2_SEQ_LM"),
    };
    let collator = match job.kind() {
        LanguageKind::Decoder => "DataCollatorForLanguageModeling",
        LanguageKind::Encoder => "DataCollatorWithPadding",
        LanguageKind::EncoderDecoder => "DataCollatorForSeq2Seq",
    };
    let mut out = Lines::default();
    out.line("import torch");
    import(&mut out, "datasets", &["load_dataset"]);
    if job.adapts() {
        import(&mut out, "peft", &["LoraConfig", "get_peft_model"]);
        if job.four_bit() {
            import(&mut out, "peft", &["prepare_model_for_kbit_training"]);
        }
    }
    let mut names = vec![class, "AutoTokenizer", collator, "Trainer", "TrainingArguments"];
    if job.four_bit() {
        names.push("BitsAndBytesConfig");
    }
    if unpacks(job) {
        names.push("Mxfp4Config");
    }
    if scratch {
        names.push("AutoConfig");
    }
    sort(&mut names, Ord::cmp);
    import(&mut out, "transformers", &names);
    arguments(job, &mut out);
    model(job, class, scratch, &mut out);
    if job.adapts() {
        adapters(job, task, &mut out);
    }
    out.line("")
        .line(format!("tokenizer = AutoTokenizer.from_pretrained(\"{}\")", job.repository()))
        .line("tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token")
        .line("rows = load_dataset(\"json\", data_files=\"my_data.jsonl\", split=\"train\")")
        .line("rows = rows.map(")
        .line(format!("    lambda row: tokenizer(row[\"text\"], truncation=True, max_length={}),", p.sequence))
        .line(match job.kind() {
            LanguageKind::Encoder => "    remove_columns=[\"text\"],",
            _ => "    remove_columns=rows.column_names,",
        })
        .line(")")
        .line(match job.kind() {
            LanguageKind::Decoder => "collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)",
            LanguageKind::Encoder => "collator = DataCollatorWithPadding(tokenizer)",
            LanguageKind::EncoderDecoder => "collator = DataCollatorForSeq2Seq(tokenizer, model=model)",
        })
        .line("trainer = Trainer(model=model, args=args, train_dataset=rows, data_collator=collator)")
        .line("trainer.train()");
    if job.fsdp() {
        // Each card would save its own part (PEFT, "Fully Sharded Data Parallel").
        out.line("trainer.accelerator.state.fsdp_plugin.set_state_dict_type(\"FULL_STATE_DICT\")");
    }
    // It gathers what is divided and lets one process write; a model that saves itself under ZeRO-3 writes empty tensors.
    out.line("trainer.save_model(\"out\")");
    out.file("train.py")
}

/// Whether weights that are published in 4 bit are brought to 16 as they are loaded, so that they can be trained.
fn unpacks(job: &Job<'_>) -> bool {
    job.model.is_in_four_bit() && !job.four_bit() && job.project.method != Method::Scratch
}

fn arguments(job: &Job<'_>, out: &mut Lines) {
    let p = job.project;
    out.line("").line("args = TrainingArguments(");
    let mut argument = |key: &str, value: String| {
        out.line(format!("    {key}={value},"));
    };
    argument("output_dir", "\"out\"".to_owned());
    argument("per_device_train_batch_size", p.micro_batch.to_string());
    argument("gradient_accumulation_steps", p.accumulation.to_string());
    argument("num_train_epochs", crate::units::decimal::short(p.epochs));
    argument("learning_rate", job.learning_rate().to_owned());
    argument("optim", format!("\"{}\"", job.optimizer()));
    argument("bf16", python(job.precision() == "bf16").to_owned());
    argument("fp16", python(job.precision() == "fp16").to_owned());
    argument("gradient_checkpointing", python(job.recomputes() && !job.fsdp()).to_owned());
    if job.recomputes() && !job.fsdp() {
        argument("gradient_checkpointing_kwargs", "{\"use_reentrant\": False}".to_owned());
    }
    if p.loss == LossKernel::Fused {
        argument("use_liger_kernel", python(true).to_owned());
    }
    if job.stage().is_some() {
        argument("deepspeed", "\"ds_config.json\"".to_owned());
    }
    out.line(")");
}

fn model(job: &Job<'_>, class: &str, scratch: bool, out: &mut Lines) {
    let p = job.project;
    if job.four_bit() {
        out.line("quantization = BitsAndBytesConfig(")
            .line("    load_in_4bit=True,")
            .line("    bnb_4bit_quant_type=\"nf4\",")
            .line("    bnb_4bit_use_double_quant=True,")
            .line(format!("    bnb_4bit_compute_dtype=torch.{},", job.half()));
        if job.fsdp() || job.stage() == Some(3) {
            // Divided weights are of one format (PEFT, "Fully Sharded Data Parallel").
            out.line(format!("    bnb_4bit_quant_storage=torch.{},", job.half()));
        }
        out.line(")");
    }
    let attention = match p.attention {
        // Its sinks are in no fused kernel of PyTorch's (`GptOssPreTrainedModel`: `_supports_sdpa` is false).
        _ if job.model.is_in_four_bit() => "eager",
        Attention::Eager | Attention::Math => "eager",
        Attention::Flash => "flash_attention_2",
        Attention::Auto | Attention::Efficient => "sdpa",
    };
    if scratch {
        out.line(format!("model = {class}.from_config("))
            .line(format!("    AutoConfig.from_pretrained(\"{}\"),", job.repository()));
    } else {
        out.line(format!("model = {class}.from_pretrained(")).line(format!("    \"{}\",", job.repository()));
    }
    out.line(format!("    dtype=torch.{},", job.weights())).line(format!("    attn_implementation=\"{attention}\","));
    if job.four_bit() {
        out.line("    quantization_config=quantization,");
    }
    if unpacks(job) {
        out.line("    quantization_config=Mxfp4Config(dequantize=True),");
    }
    out.line(")");
}

fn adapters(job: &Job<'_>, task: &str, out: &mut Lines) {
    let p = job.project;
    // FSDP and ZeRO-3 want all weights in one format, which the preparation would break.
    if job.four_bit() && !job.fsdp() && job.stage() != Some(3) {
        // Unasked, it turns checkpointing on.
        let recompute = if job.recomputes() {
            "use_gradient_checkpointing=True, gradient_checkpointing_kwargs={\"use_reentrant\": False}"
        } else {
            "use_gradient_checkpointing=False"
        };
        out.line(format!("model = prepare_model_for_kbit_training(model, {recompute})"));
    }
    let targets = match targets::names(job) {
        Some(names) => python_list(&names),
        None => "\"all-linear\"".to_owned(),
    };
    out.line("model = get_peft_model(model, LoraConfig(")
        .line(format!("    r={},", p.lora.rank))
        .line(format!("    lora_alpha={},", job.alpha()))
        .line(format!("    lora_dropout={},", crate::units::decimal::short(p.lora.dropout)))
        .line(format!("    target_modules={targets},"))
        .line(format!("    task_type=\"{task}\","))
        .line("))");
    if job.recomputes() {
        // With frozen embeddings nothing would need a gradient at the first checkpoint.
        out.line("model.enable_input_require_grads()");
    }
}

/// Unsloth's two calls and TRL's trainer (unsloth.ai, "Fine-tuning guide").
pub(super) fn unsloth(job: &Job<'_>) -> Option<Recipe> {
    let p = job.project;
    let (config, trainer) = match p.objective {
        Objective::Likelihood => ("SFTConfig", "SFTTrainer"),
        Objective::Preference => ("DPOConfig", "DPOTrainer"),
        Objective::PreferenceWithoutReference | Objective::Sampled => return None,
    };
    // The file is one process on one card.
    if job.cards() > 1 {
        return None;
    }
    if p.lora.targets == LoraTargets::AllLinearAndHead && job.adapts() {
        // It trains a head whole that is named among the matrices.
        return None;
    }
    let names = targets::names(job).unwrap_or_else(|| targets::LINEAR.to_vec());
    // Its own way moves what is kept to main memory.
    let recompute = match p.checkpointing {
        Checkpointing::Offloaded => "\"unsloth\"",
        _ => python(job.recomputes()),
    };
    let mut out = Lines::default();
    // Unsloth goes first: it patches the others.
    import(&mut out, "unsloth", &["FastLanguageModel"]);
    import(&mut out, "datasets", &["load_dataset"]);
    import(&mut out, "trl", &[config, trainer]);
    out.line("")
        .line("model, tokenizer = FastLanguageModel.from_pretrained(")
        .line(format!("    model_name=\"{}\",", job.chat_repository()))
        .line(format!("    max_seq_length={},", p.sequence))
        .line(format!("    load_in_4bit={},", python(job.four_bit())))
        .line(format!("    full_finetuning={},", python(!job.adapts())))
        .line(")");
    if job.adapts() {
        out.line("model = FastLanguageModel.get_peft_model(")
            .line("    model,")
            .line(format!("    r={},", p.lora.rank))
            .line(format!("    lora_alpha={},", job.alpha()))
            .line(format!("    target_modules={},", python_list(&names)))
            .line(format!("    lora_dropout={},", crate::units::decimal::short(p.lora.dropout)))
            .line(format!("    use_gradient_checkpointing={recompute},"))
            .line(")");
    }
    out.line("")
        .line(format!("args = {config}("))
        .line("    output_dir=\"out\",")
        .line(format!("    max_length={},", p.sequence))
        .line(format!("    per_device_train_batch_size={},", p.micro_batch))
        .line(format!("    gradient_accumulation_steps={},", p.accumulation))
        .line(format!("    num_train_epochs={},", crate::units::decimal::short(p.epochs)))
        .line(format!("    learning_rate={},", job.learning_rate()))
        .line(format!("    optim=\"{}\",", job.optimizer()))
        .line(format!("    bf16={},", python(job.precision() == "bf16")))
        .line(format!("    fp16={},", python(job.precision() == "fp16")))
        .line(")")
        .line("rows = load_dataset(\"json\", data_files=\"my_data.jsonl\", split=\"train\")")
        .line(format!("{trainer}(model=model, args=args, train_dataset=rows, processing_class=tokenizer).train()"))
        .line("model.save_pretrained(\"out\")");
    Some(out.file("train.py"))
}
