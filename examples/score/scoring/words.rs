//! The words that people use for settings. Total: an unknown word means the framework's default.

use enough_gpu::project::{
    Adapter, Attention, BaseFormat, Checkpointing, Framework, Lora, LossKernel, Method, Objective, Offload, Optimizer,
    OptimizerImpl, Precision, Sharding,
};

/// The first rule whose words all occur in the text.
fn first<T: Copy>(rules: &[(&[&str], T)], text: &str) -> Option<T> {
    let text = text.to_lowercase();
    rules.iter().find(|(words, _)| words.iter().all(|w| text.contains(w))).map(|(_, value)| *value)
}

/// The training library, from its name or from the repository that reports the run.
pub(crate) fn framework(text: &str) -> Option<Framework> {
    const RULES: &[(&[&str], Framework)] = &[
        (&["unsloth"], Framework::Unsloth),
        (&["ms-swift", "megatron"], Framework::Megatron),
        (&["swift"], Framework::MsSwift),
        (&["llama-factory"], Framework::LlamaFactory),
        (&["llamafactory"], Framework::LlamaFactory),
        (&["axolotl"], Framework::Axolotl),
        (&["torchtune"], Framework::Torchtune),
        (&["torchtitan"], Framework::Torchtitan),
        (&["litgpt"], Framework::Litgpt),
        (&["lit-llama"], Framework::Litgpt),
        (&["lit-gpt"], Framework::Litgpt),
        (&["llm-foundry"], Framework::LlmFoundry),
        (&["megatron"], Framework::Megatron),
        (&["simpletuner"], Framework::SimpleTuner),
        (&["sd-scripts"], Framework::Kohya),
        (&["kohya"], Framework::Kohya),
        (&["onetrainer"], Framework::OneTrainer),
        (&["ai-toolkit"], Framework::AiToolkit),
        (&["ultralytics"], Framework::Ultralytics),
        (&["diffusers"], Framework::Diffusers),
        (&["cogvideo"], Framework::Diffusers),
        // Hugging Face models in a loop of their own.
        (&["fsdp_qlora"], Framework::Transformers),
        (&["transformers"], Framework::Transformers),
        (&["trl"], Framework::Transformers),
        (&["peft"], Framework::Transformers),
        (&["accelerate"], Framework::Transformers),
        (&["alpaca"], Framework::Transformers),
        (&["fastchat"], Framework::Transformers),
        (&["deeplearningexamples"], Framework::Pytorch),
        (&["pytorch"], Framework::Pytorch),
        (&["timm"], Framework::Pytorch),
        (&["open-mmlab"], Framework::OpenMmlab),
        (&["mmdet"], Framework::OpenMmlab),
        (&["mmseg"], Framework::OpenMmlab),
        (&["detectron"], Framework::Pytorch),
        // PyTorch of 2018 kept both factors of a product, and with them the input of a fixed norm, as OpenMMLab's norms do.
        (&["maskrcnn-benchmark"], Framework::OpenMmlab),
        (&["maskrcnn"], Framework::Pytorch),
        (&["nemo framework"], Framework::Megatron),
        (&["nvidia nemo"], Framework::Megatron),
    ];
    first(RULES, text)
}

/// What is trained, and what one sample of the loss is; `None` where nothing is trained.
pub(crate) fn method(text: &str, weights: &str) -> Option<(Method, Objective)> {
    const RULES: &[(&[&str], Option<Method>)] = &[
        (&["inference"], None),
        (&["backbone"], Some(Method::Head)),
        (&["qlora"], Some(Method::QLora)),
        (&["lora", "4-bit"], Some(Method::QLora)),
        (&["lora", "4bit"], Some(Method::QLora)),
        (&["lora"], Some(Method::Lora)),
        // Other small weights beside a frozen base: same course of the step, other few numbers.
        (&["adapter"], Some(Method::Lora)),
        (&["lokr"], Some(Method::Lora)),
        (&["loha"], Some(Method::Lora)),
        (&["boft"], Some(Method::Lora)),
        (&["bone"], Some(Method::Lora)),
        (&["oft"], Some(Method::Lora)),
        (&["prefix"], Some(Method::Lora)),
        (&["prompt"], Some(Method::Lora)),
        (&["ptuning"], Some(Method::Lora)),
        (&["p-tuning"], Some(Method::Lora)),
        (&["textual inversion"], Some(Method::Lora)),
        (&["ia3"], Some(Method::Lora)),
        (&["llamapro"], Some(Method::Freeze)),
        (&["lisa"], Some(Method::Freeze)),
        (&["block coordinate"], Some(Method::Freeze)),
        (&["head"], Some(Method::Head)),
        (&["linear probe"], Some(Method::Head)),
        (&["freeze"], Some(Method::Freeze)),
        (&["scratch"], Some(Method::Scratch)),
        (&["pretrain"], Some(Method::Scratch)),
        (&["pre-train"], Some(Method::Scratch)),
    ];
    const OBJECTIVES: &[(&[&str], Objective)] = &[
        (&["dpo"], Objective::Preference),
        (&["kto"], Objective::Preference),
        (&["simpo"], Objective::PreferenceWithoutReference),
        (&["orpo"], Objective::PreferenceWithoutReference),
    ];
    // PEFT's further kinds, by whole words.
    const SMALL: &[&str] = &[
        "dora",
        "vera",
        "hra",
        "miss",
        "bitfit",
        "c3a",
        "road",
        "shira",
        "fourierft",
        "waveft",
        "cpt",
        "pissa",
        "loftq",
        "layernorm",
        "ln",
        "lntuning",
        "tokens",
        "ia",
        "eva",
        "peft",
    ];
    let small = || {
        let lower = text.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| SMALL.contains(&word)).then_some(Some(Method::Lora))
    };
    let method = first(RULES, text).or_else(small).unwrap_or(Some(Method::Full))?;
    let four_bit = matches!(base(weights), BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int4);
    let method = if method == Method::Lora && four_bit { Method::QLora } else { method };
    Some((method, first(OBJECTIVES, text).unwrap_or_default()))
}

/// What stands beside frozen weights, and whether embedding and head are trained whole.
pub(crate) fn adapter(text: &str) -> Lora {
    const RULES: &[(&[&str], Adapter)] = &[
        (&["lokr"], Adapter::Kronecker),
        (&["adalora"], Adapter::AdaLora),
        (&["dora"], Adapter::Dora),
        (&["vera"], Adapter::Vera),
        (&["ia3"], Adapter::Ia3),
        (&["(ia)"], Adapter::Ia3),
        (&["oft"], Adapter::Oft),
        (&["miss"], Adapter::Miss),
        (&["bone"], Adapter::Miss),
        (&["lora"], Adapter::Lora),
        (&["prompt"], Adapter::Tokens),
        (&["prefix"], Adapter::Tokens),
        (&["p-tuning"], Adapter::Tokens),
        (&["ptuning"], Adapter::Tokens),
        (&["ln", "tuning"], Adapter::Norms),
        (&["layernorm"], Adapter::Norms),
        (&["bitfit"], Adapter::Norms),
    ];
    // PEFT's `modules_to_save`, Qwen's "LoRA (emb)".
    let lower = text.to_lowercase();
    let ends = ["(emb", "emb)", "modules_to_save", "embed", "lm_head"].iter().any(|word| lower.contains(word));
    Lora { kind: first(RULES, text).unwrap_or_default(), ends, ..Lora::default() }
}

/// Format of the weights as loaded.
pub(crate) fn base(text: &str) -> BaseFormat {
    const RULES: &[(&[&str], BaseFormat)] = &[
        (&["nf4-dq"], BaseFormat::Nf4Double),
        (&["nf4", "double"], BaseFormat::Nf4Double),
        (&["nf4"], BaseFormat::Nf4),
        (&["fp4"], BaseFormat::Nf4),
        (&["int4"], BaseFormat::Int4),
        (&["gptq"], BaseFormat::Int4),
        (&["awq"], BaseFormat::Int4),
        // What bitsandbytes does, where no more is said.
        (&["4-bit"], BaseFormat::Nf4),
        (&["4bit"], BaseFormat::Nf4),
        (&["fp8", "dynamic"], BaseFormat::Fp8Dynamic),
        (&["fp8"], BaseFormat::Fp8),
        (&["int8"], BaseFormat::Int8),
        (&["8-bit"], BaseFormat::Int8),
        (&["8bit"], BaseFormat::Int8),
        (&["bf16"], BaseFormat::Bf16),
        (&["fp16"], BaseFormat::Bf16),
        (&["fp32"], BaseFormat::Fp32),
    ];
    first(RULES, text).unwrap_or_default()
}

/// Number format of weights and arithmetic, from the two columns.
///
/// 16-bit weights with 16-bit arithmetic are plain 16-bit training in stacks of their own and autocast over 16-bit
/// weights in those around the Hugging Face Trainer, whose `bf16` switch is autocast.
pub(crate) fn precision(weights: &str, compute: &str, framework: Framework, method: Method) -> Precision {
    let (weights, compute) = (weights.to_lowercase(), compute.to_lowercase());
    let half_weights = weights.contains("16");
    let brain = !compute.contains("fp16") || compute.contains("bf16");
    let amp = if brain { Precision::AmpBf16 } else { Precision::AmpFp16 };
    if weights.contains("o2") || weights.contains("master") {
        return Precision::MasterBf16;
    }
    if compute.contains("fp32") || compute.contains("tf32") {
        return if half_weights && !method.is_adapter() { Precision::PureBf16 } else { Precision::Fp32 };
    }
    let trainer = matches!(
        framework,
        Framework::Transformers
            | Framework::LlamaFactory
            | Framework::Axolotl
            | Framework::Unsloth
            | Framework::MsSwift
            | Framework::Diffusers
            | Framework::Kohya
            | Framework::SimpleTuner
    );
    if framework == Framework::Megatron && half_weights && !method.is_adapter() {
        return Precision::MasterBf16;
    }
    // `full_fp16` and `full_bf16` of sd-scripts, without which what is trained is fp32.
    if half_weights && framework == Framework::Kohya && !method.is_adapter() {
        return Precision::PureBf16;
    }
    if half_weights && !trainer {
        return Precision::PureBf16;
    }
    // Nothing is mixed unless it is asked for: a loop of one's own, and OpenMMLab's runners (`--amp`).
    if weights.is_empty() && compute.is_empty() && matches!(framework, Framework::Pytorch | Framework::OpenMmlab) {
        return Precision::Fp32;
    }
    // Quantized bases: what is not quantized is 16-bit in stacks of their own.
    let quantized = !half_weights && !weights.is_empty() && !weights.contains("32");
    if quantized && !trainer { Precision::PureBf16 } else { amp }
}

/// The optimizer and how it steps.
pub(crate) fn optimizer(text: &str) -> (Optimizer, OptimizerImpl) {
    const KINDS: &[(&[&str], Optimizer)] = &[
        (&["adafactor"], Optimizer::Adafactor),
        (&["galore"], Optimizer::Galore),
        (&["apollo"], Optimizer::Galore),
        (&["muon"], Optimizer::Muon),
        (&["paged", "8"], Optimizer::PagedAdamW8bit),
        (&["paged"], Optimizer::PagedAdamW),
        // One more byte a weight than torchao's 4-bit states.
        (&["4bit"], Optimizer::AdamW8bit),
        (&["4-bit"], Optimizer::AdamW8bit),
        (&["adamw", "fp8"], Optimizer::AdamW8bit),
        (&["adamwfp8"], Optimizer::AdamW8bit),
        // They keep nothing and take each gradient as it comes; their second moment is row and column sums.
        (&["adalomo"], Optimizer::Adafactor),
        (&["lomo"], Optimizer::Sgd),
        // One moment, and one number for a block of the other.
        (&["adam-mini"], Optimizer::SgdMomentum),
        (&["came"], Optimizer::SgdMomentum),
        (&["lion", "8"], Optimizer::AdamW8bit),
        (&["lion"], Optimizer::Lion),
        (&["8bit"], Optimizer::AdamW8bit),
        (&["8-bit"], Optimizer::AdamW8bit),
        (&["sgd", "momentum"], Optimizer::SgdMomentum),
        (&["sgd", "nesterov"], Optimizer::SgdMomentum),
        (&["sgd"], Optimizer::Sgd),
        // One moment; its second moment is one number per layer.
        (&["novograd"], Optimizer::SgdMomentum),
        (&["rmsprop"], Optimizer::SgdMomentum),
        (&["adagrad"], Optimizer::SgdMomentum),
    ];
    const WAYS: &[(&[&str], OptimizerImpl)] = &[
        (&["in backward"], OptimizerImpl::InBackward),
        (&["per layer"], OptimizerImpl::InBackward),
        (&["lomo"], OptimizerImpl::InBackward),
        // There is no kernel of it: it steps weight by weight as their gradients come (`fused_backward_pass` of sd-scripts).
        (&["adafactor", "fused"], OptimizerImpl::InBackward),
        (&["fused"], OptimizerImpl::Fused),
        (&["foreach"], OptimizerImpl::Foreach),
        (&["loop"], OptimizerImpl::Loop),
    ];
    (first(KINDS, text).unwrap_or_default(), first(WAYS, text).unwrap_or_default())
}

/// Gradient checkpointing, where the row says anything about it.
pub(crate) fn checkpointing(text: &str, offload: &str) -> Option<Checkpointing> {
    let text = text.to_lowercase();
    if text.is_empty() {
        return None;
    }
    // Where tower and language model differ the latter decides.
    let text = match text.split_once("llm ") {
        Some((_, rest)) => rest.split([' ', ',', ';']).next().unwrap_or_default().to_owned(),
        None => text,
    };
    if ["no", "false", "off", "dis", "without", "w/o", "0", "n/a"].iter().any(|word| text.starts_with(word)) {
        return Some(Checkpointing::Off);
    }
    if text.contains("segments of 2") {
        return Some(Checkpointing::Pairs);
    }
    if text.contains("selective") || text.contains("every other") {
        return Some(Checkpointing::Selective);
    }
    if text.contains("offload") || offload.to_lowercase().contains("activation") {
        return Some(Checkpointing::Offloaded);
    }
    Some(Checkpointing::PerBlock)
}

/// Attention kernel.
pub(crate) fn attention(text: &str) -> Attention {
    const RULES: &[(&[&str], Attention)] = &[
        (&["flash"], Attention::Flash),
        (&["cudnn"], Attention::Flash),
        (&["eager"], Attention::Eager),
        (&["math"], Attention::Math),
        (&["xformers"], Attention::Efficient),
        (&["efficient"], Attention::Efficient),
    ];
    first(RULES, text).unwrap_or_default()
}

/// How logits and loss are computed.
pub(crate) fn loss(text: &str) -> LossKernel {
    const RULES: &[(&[&str], LossKernel)] = &[
        (&["liger"], LossKernel::Fused),
        (&["cut"], LossKernel::Fused),
        (&["fused"], LossKernel::Fused),
        (&["chunked"], LossKernel::Chunked),
        (&["hf"], LossKernel::Upcast),
        (&["bf16", "full"], LossKernel::NoUpcast),
    ];
    first(RULES, text).unwrap_or_default()
}

/// How several cards share the work.
pub(crate) fn sharding(text: &str, offload: &str) -> Sharding {
    const RULES: &[(&[&str], Sharding)] = &[
        // FSDP that shards nothing: see the group in `cards`.
        (&["ddpmode"], Sharding::Fsdp),
        (&["offload"], Sharding::Zero3Offload),
        (&["devicemap"], Sharding::DeviceMap),
        (&["zero3"], Sharding::Zero3),
        (&["zero2"], Sharding::Zero2),
        (&["zero1"], Sharding::Zero1),
        (&["gradop"], Sharding::FsdpGrad),
        (&["hybrid"], Sharding::FsdpHybrid),
        (&["fsdp2"], Sharding::Fsdp2),
        (&["fsdp"], Sharding::Fsdp),
        (&["fullshard"], Sharding::Fsdp),
        (&["ddp"], Sharding::Ddp),
    ];
    // `ZeRO-3`, `DeepSpeed ZeRO stage 3`, `deepspeed_zero3`, `DeepSpeed stage 3`.
    let plain: String = text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.replace("zerostage", "zero").replace("deepspeedstage", "zero");
    let sharding = first(RULES, &plain).unwrap_or_default();
    let away = self::offload(offload) != Offload::None;
    if away && matches!(sharding, Sharding::Zero3) { Sharding::Zero3Offload } else { sharding }
}

/// What waits in main memory.
pub(crate) fn offload(text: &str) -> Offload {
    let text = text.to_lowercase();
    let state = text.contains("optimizer");
    let weights = text.contains("param") || text.contains("weights");
    match (state, weights) {
        (true, true) => Offload::All,
        (true, false) => Offload::Optimizer,
        (false, true) => Offload::Weights,
        (false, false) if text == "cpu" => Offload::All,
        (false, false) => Offload::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_optimizers() {
        let cases = [
            ("", Optimizer::AdamW, OptimizerImpl::Auto),
            ("AdamW fused", Optimizer::AdamW, OptimizerImpl::Fused),
            ("paged AdamW 8-bit in backward", Optimizer::PagedAdamW8bit, OptimizerImpl::InBackward),
            ("PagedAdamW 32-bit (bnb)", Optimizer::PagedAdamW, OptimizerImpl::Auto),
            ("Adafactor / Lion 8-bit", Optimizer::Adafactor, OptimizerImpl::Auto),
            ("SGD momentum (timm default, assumed)", Optimizer::SgdMomentum, OptimizerImpl::Auto),
            ("optimi-lion", Optimizer::Lion, OptimizerImpl::Auto),
            ("no such thing", Optimizer::AdamW, OptimizerImpl::Auto),
        ];
        for (text, kind, way) in cases {
            assert_eq!(optimizer(text), (kind, way), "{text}");
        }
    }

    #[test]
    fn words_of_sharding_and_checkpointing() {
        for text in
            ["zero3", "ZeRO-3", "DeepSpeed ZeRO stage 3", "deepspeed zero 3", "deepspeed_zero3", "DeepSpeed stage 3"]
        {
            assert_eq!(sharding(text, ""), Sharding::Zero3, "{text}");
        }
        for text in ["FSDP full shard", "full_shard", "FSDP"] {
            assert_eq!(sharding(text, ""), Sharding::Fsdp, "{text}");
        }
        for text in ["no", "None", "disabled", "without", "w/o", "False", "LLM no, ViT yes"] {
            assert_eq!(checkpointing(text, ""), Some(Checkpointing::Off), "{text}");
        }
        for text in ["yes", "true", "full", "LLM yes, ViT no"] {
            assert_eq!(checkpointing(text, ""), Some(Checkpointing::PerBlock), "{text}");
        }
        assert_eq!(checkpointing("", ""), None);
    }

    #[test]
    fn words_of_adapters() {
        for (text, kind, ends) in [
            ("lora", Adapter::Lora, false),
            ("lora (emb)", Adapter::Lora, true),
            ("DoRA", Adapter::Dora, false),
            ("(IA)^3", Adapter::Ia3, false),
            ("prefix tuning", Adapter::Tokens, false),
            ("ln_tuning", Adapter::Norms, false),
            ("boft", Adapter::Oft, false),
        ] {
            let lora = adapter(text);
            assert_eq!((lora.kind, lora.ends), (kind, ends), "{text}");
        }
    }

    #[test]
    fn words_of_methods() {
        let cases = [
            ("lora", "nf4", Some(Method::QLora)),
            ("lora (8-bit base)", "int8", Some(Method::Lora)),
            ("LoRA (4-bit base)", "", Some(Method::QLora)),
            ("DoRA", "", Some(Method::Lora)),
            ("pre-training", "", Some(Method::Scratch)),
            ("adapter-v2", "nf4-dq", Some(Method::QLora)),
            ("inference", "bf16", None),
            ("freeze backbone", "fp32", Some(Method::Head)),
            ("full (LISA, few layers active)", "bf16", Some(Method::Freeze)),
            ("from scratch", "", Some(Method::Scratch)),
            ("something new", "", Some(Method::Full)),
        ];
        for (text, weights, method) in cases {
            assert_eq!(super::method(text, weights).map(|m| m.0), method, "{text}");
        }
    }
}
