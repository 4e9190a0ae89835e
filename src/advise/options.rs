//! What a fix is called in the person's training library: the option to set, from the libraries' own documentation.

use super::FixKind;
use crate::project::{Framework, Project};

/// The option that carries out a fix in a library, with the numbers of the changed project; `None` where the library
/// has none, or does it by itself.
pub fn option(kind: FixKind, after: &Project) -> Option<String> {
    let (_, options) = OPTIONS.iter().find(|(framework, _)| *framework == after.framework)?;
    let find = |wanted: Knob| options.iter().find(|(knob, _)| *knob == wanted).map(|(_, template)| *template);
    let mut template = find(knob_of(kind))?.to_owned();
    // musubi-tuner reads the size of clips from its data set's file (docs/dataset_config.md).
    if after.framework == Framework::Kohya && after.frames > 1 && matches!(kind, FixKind::SmallerImage { .. }) {
        "resolution = [{side}, {side}]".clone_into(&mut template);
    }
    // Whole copies on each card would save nothing.
    if let Some(shard) = find(Knob::Shard).filter(|_| matches!(kind, FixKind::MoreCards { .. })) {
        template = format!("{template}, {shard}");
    }
    Some(
        template
            .replace("{batch}", &after.micro_batch.to_string())
            .replace("{steps}", &after.accumulation.to_string())
            .replace("{length}", &after.sequence.to_string())
            .replace("{side}", &after.image_side.to_string())
            .replace("{rank}", &after.lora.rank.to_string())
            .replace("{count}", &after.hardware.count.to_string()),
    )
}

/// What the options are named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knob {
    Mixed,
    Half,
    Pure,
    Checkpointing,
    Attention,
    Loss,
    FusedStep,
    Batch,
    EightBit,
    Paged,
    Freeze,
    Lora,
    QLora,
    Base8,
    Base4,
    Rank,
    Length,
    Side,
    Cache,
    Cards,
    Shard,
    Offload,
    Swap,
    Library,
    None,
}

const fn knob_of(kind: FixKind) -> Knob {
    match kind {
        FixKind::MixedPrecision => Knob::Mixed,
        FixKind::Fp16 => Knob::Half,
        FixKind::PureBf16 => Knob::Pure,
        FixKind::Checkpointing => Knob::Checkpointing,
        FixKind::FlashAttention => Knob::Attention,
        FixKind::FusedLoss => Knob::Loss,
        FixKind::FusedOptimizer => Knob::FusedStep,
        FixKind::SmallerMicroBatch { .. } | FixKind::LargerMicroBatch { .. } | FixKind::LessAccumulation { .. } => {
            Knob::Batch
        }
        FixKind::Optimizer8bit => Knob::EightBit,
        FixKind::PagedOptimizer => Knob::Paged,
        FixKind::Freeze { .. } => Knob::Freeze,
        FixKind::Lora => Knob::Lora,
        FixKind::QLora => Knob::QLora,
        FixKind::QuantizedBase => Knob::Base8,
        FixKind::Base4bit => Knob::Base4,
        FixKind::LoraRank { .. } => Knob::Rank,
        FixKind::ShorterSequence { .. } => Knob::Length,
        FixKind::SmallerImage { .. } => Knob::Side,
        FixKind::CacheLatents => Knob::Cache,
        FixKind::MoreCards { .. } => Knob::Cards,
        FixKind::Sharding => Knob::Shard,
        FixKind::Offload => Knob::Offload,
        FixKind::BlockSwap { .. } => Knob::Swap,
        FixKind::Library { .. } => Knob::Library,
        FixKind::FewerFrames { .. }
        | FixKind::ShorterAudio { .. }
        | FixKind::SmallerModel { .. }
        | FixKind::Unquantized
        | FixKind::FreeDisplay
        | FixKind::Way { .. } => Knob::None,
    }
}

/// Options by library.
const OPTIONS: &[(Framework, &[(Knob, &str)])] = &[
    // transformers.TrainingArguments, trl.SFTConfig, from_pretrained.
    (
        Framework::Transformers,
        &[
            (Knob::Mixed, "bf16=True"),
            (Knob::Half, "fp16=True"),
            (Knob::Pure, "torch_dtype=torch.bfloat16"),
            (Knob::Checkpointing, "gradient_checkpointing=True"),
            (Knob::Attention, "attn_implementation=\"flash_attention_2\""),
            (Knob::Loss, "use_liger_kernel=True"),
            (Knob::FusedStep, "optim=\"adamw_torch_fused\""),
            (Knob::Batch, "per_device_train_batch_size={batch}, gradient_accumulation_steps={steps}"),
            (Knob::EightBit, "optim=\"adamw_bnb_8bit\""),
            (Knob::Paged, "optim=\"paged_adamw_8bit\""),
            (Knob::Freeze, "param.requires_grad_(False)"),
            (Knob::Lora, "get_peft_model(model, LoraConfig(...))"),
            (Knob::QLora, "BitsAndBytesConfig(load_in_4bit=True)"),
            (Knob::Length, "max_length={length}"),
            (Knob::Cards, "accelerate launch --num_processes {count}"),
            (Knob::Shard, "fsdp=\"full_shard auto_wrap\""),
            (Knob::Offload, "deepspeed: offload_optimizer: cpu"),
        ],
    ),
    // LLaMA-Factory, examples/README.md and hparams.
    (
        Framework::LlamaFactory,
        &[
            (Knob::Mixed, "bf16: true"),
            (Knob::Half, "fp16: true"),
            (Knob::Pure, "pure_bf16: true"),
            (Knob::Checkpointing, "disable_gradient_checkpointing: false"),
            (Knob::Attention, "flash_attn: fa2"),
            (Knob::Loss, "enable_liger_kernel: true"),
            (Knob::FusedStep, "optim: adamw_torch_fused"),
            (Knob::Batch, "per_device_train_batch_size: {batch}, gradient_accumulation_steps: {steps}"),
            (Knob::EightBit, "optim: adamw_8bit"),
            (Knob::Paged, "optim: paged_adamw_8bit"),
            (Knob::Freeze, "finetuning_type: freeze"),
            (Knob::Lora, "finetuning_type: lora"),
            (Knob::QLora, "finetuning_type: lora, quantization_bit: 4"),
            (Knob::Length, "cutoff_len: {length}"),
            (Knob::Cards, "FORCE_TORCHRUN=1 NPROC_PER_NODE={count}"),
            (Knob::Shard, "deepspeed: ds_z3_config.json"),
            (Knob::Offload, "deepspeed: ds_z3_offload_config.json"),
        ],
    ),
    // Axolotl, docs/config-reference.
    (
        Framework::Axolotl,
        &[
            (Knob::Mixed, "bf16: true"),
            (Knob::Half, "fp16: true"),
            (Knob::Checkpointing, "gradient_checkpointing: true"),
            (Knob::Attention, "flash_attention: true"),
            (Knob::Loss, "liger_fused_linear_cross_entropy: true"),
            (Knob::FusedStep, "optimizer: adamw_torch_fused"),
            (Knob::Batch, "micro_batch_size: {batch}, gradient_accumulation_steps: {steps}"),
            (Knob::EightBit, "optimizer: adamw_bnb_8bit"),
            (Knob::Paged, "optimizer: paged_adamw_8bit"),
            (Knob::Freeze, "unfrozen_parameters: [...]"),
            (Knob::Lora, "adapter: lora"),
            (Knob::QLora, "adapter: qlora, load_in_4bit: true"),
            (Knob::Length, "sequence_len: {length}"),
            (Knob::Cards, "axolotl train --num-processes {count}"),
            (Knob::Shard, "deepspeed: deepspeed_configs/zero3_bf16.json"),
            (Knob::Offload, "deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json"),
        ],
    ),
    // Unsloth notebooks: FastLanguageModel with trl.SFTConfig.
    (
        Framework::Unsloth,
        &[
            (Knob::Checkpointing, "use_gradient_checkpointing=\"unsloth\""),
            (Knob::Batch, "per_device_train_batch_size={batch}, gradient_accumulation_steps={steps}"),
            (Knob::EightBit, "optim=\"adamw_8bit\""),
            (Knob::Paged, "optim=\"paged_adamw_8bit\""),
            (Knob::Lora, "FastLanguageModel.get_peft_model(...)"),
            (Knob::QLora, "load_in_4bit=True"),
            (Knob::Length, "max_seq_length={length}"),
            (Knob::Library, "FastLanguageModel.from_pretrained"),
        ],
    ),
    // ms-swift, command-line parameters.
    (
        Framework::MsSwift,
        &[
            (Knob::Mixed, "--torch_dtype bfloat16"),
            (Knob::Checkpointing, "--gradient_checkpointing true"),
            (Knob::Attention, "--attn_impl flash_attn"),
            (Knob::Loss, "--use_liger_kernel true"),
            (Knob::FusedStep, "--optim adamw_torch_fused"),
            (Knob::Batch, "--per_device_train_batch_size {batch} --gradient_accumulation_steps {steps}"),
            (Knob::EightBit, "--optim adamw_bnb_8bit"),
            (Knob::Paged, "--optim paged_adamw_8bit"),
            (Knob::Lora, "--train_type lora"),
            (Knob::QLora, "--train_type lora --quant_method bnb --quant_bits 4"),
            (Knob::Length, "--max_length {length}"),
            (Knob::Cards, "NPROC_PER_NODE={count}"),
            (Knob::Shard, "--deepspeed zero3"),
            (Knob::Offload, "--deepspeed zero3_offload"),
        ],
    ),
    // torchtune recipes, key=value overrides.
    (
        Framework::Torchtune,
        &[
            (Knob::Pure, "dtype=bf16"),
            (Knob::Checkpointing, "enable_activation_checkpointing=True"),
            (Knob::Loss, "loss=torchtune.modules.loss.LinearCrossEntropyLoss"),
            (Knob::FusedStep, "optimizer.fused=True"),
            (Knob::Batch, "batch_size={batch} gradient_accumulation_steps={steps}"),
            (Knob::EightBit, "optimizer=bitsandbytes.optim.AdamW8bit"),
            (Knob::Paged, "optimizer=bitsandbytes.optim.PagedAdamW8bit"),
            (Knob::Lora, "tune run lora_finetune_single_device"),
            (Knob::Length, "tokenizer.max_seq_len={length}"),
            (Knob::Cards, "tune run --nproc_per_node {count}"),
            (Knob::Offload, "fsdp_cpu_offload=True"),
            (Knob::Library, "tune run full_finetune_single_device … optimizer_in_bwd=True clip_grad_norm=null"),
        ],
    ),
    // LitGPT, litgpt finetune --help.
    (
        Framework::Litgpt,
        &[
            (Knob::Mixed, "--precision bf16-mixed"),
            (Knob::Pure, "--precision bf16-true"),
            (Knob::Batch, "--train.micro_batch_size {batch}"),
            (Knob::Lora, "litgpt finetune_lora"),
            (Knob::QLora, "--quantize bnb.nf4"),
            (Knob::Length, "--train.max_seq_length {length}"),
            (Knob::Cards, "--devices {count}"),
        ],
    ),
    // TorchTitan, job_config.
    (
        Framework::Torchtitan,
        &[
            (Knob::Checkpointing, "--activation_checkpoint.mode full"),
            (Knob::Batch, "--training.local_batch_size {batch}"),
            (Knob::Length, "--training.seq_len {length}"),
            (Knob::Shard, "--parallelism.data_parallel_shard_degree {count}"),
        ],
    ),
    // Megatron-LM, arguments.py.
    (
        Framework::Megatron,
        &[
            (Knob::Mixed, "--bf16"),
            (Knob::Checkpointing, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"),
            (Knob::Attention, "--use-flash-attn"),
            (Knob::Loss, "--cross-entropy-loss-fusion"),
            (Knob::Batch, "--micro-batch-size {batch}"),
            (Knob::Length, "--seq-length {length}"),
            (Knob::Shard, "--use-distributed-optimizer"),
            (Knob::Offload, "--optimizer-cpu-offload"),
        ],
    ),
    // llm-foundry YAML.
    (
        Framework::LlmFoundry,
        &[
            (Knob::Mixed, "precision: amp_bf16"),
            (Knob::Checkpointing, "fsdp_config.activation_checkpointing: true"),
            (Knob::Attention, "attn_config.attn_impl: flash"),
            (Knob::Batch, "device_train_microbatch_size: {batch}"),
            (Knob::Length, "max_seq_len: {length}"),
            (Knob::Shard, "fsdp_config.sharding_strategy: FULL_SHARD"),
        ],
    ),
    // PyTorch.
    (
        Framework::Pytorch,
        &[
            (Knob::Mixed, "torch.autocast(\"cuda\", dtype=torch.bfloat16)"),
            (Knob::Pure, "model.to(torch.bfloat16)"),
            (Knob::Checkpointing, "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"),
            (Knob::Attention, "F.scaled_dot_product_attention"),
            (Knob::FusedStep, "torch.optim.AdamW(..., fused=True)"),
            (Knob::Batch, "DataLoader(batch_size={batch})"),
            (Knob::EightBit, "bitsandbytes.optim.AdamW8bit"),
            (Knob::Paged, "bitsandbytes.optim.PagedAdamW8bit"),
            (Knob::Freeze, "param.requires_grad_(False)"),
            (Knob::Cards, "torchrun --nproc-per-node {count}"),
            (Knob::Shard, "torch.distributed.fsdp.fully_shard(model)"),
        ],
    ),
    // diffusers, examples.
    (
        Framework::Diffusers,
        &[
            (Knob::Mixed, "--mixed_precision bf16"),
            (Knob::Checkpointing, "--gradient_checkpointing"),
            (Knob::Attention, "--enable_xformers_memory_efficient_attention"),
            (Knob::Batch, "--train_batch_size {batch} --gradient_accumulation_steps {steps}"),
            (Knob::EightBit, "--use_8bit_adam"),
            (Knob::Base4, "BitsAndBytesConfig(load_in_4bit=True)"),
            (Knob::Rank, "--rank {rank}"),
            (Knob::Side, "--resolution {side}"),
            (Knob::Cache, "--cache_latents"),
            (Knob::Cards, "accelerate launch --num_processes {count}"),
        ],
    ),
    // kohya-ss/sd-scripts, docs.
    (
        Framework::Kohya,
        &[
            (Knob::Mixed, "--mixed_precision bf16"),
            (Knob::Pure, "--full_bf16"),
            (Knob::Checkpointing, "--gradient_checkpointing"),
            (Knob::Attention, "--sdpa"),
            (Knob::Batch, "--train_batch_size {batch} --gradient_accumulation_steps {steps}"),
            (Knob::EightBit, "--optimizer_type AdamW8bit"),
            (Knob::Paged, "--optimizer_type PagedAdamW8bit"),
            (Knob::Lora, "--network_module networks.lora"),
            (Knob::Base8, "--fp8_base"),
            (Knob::Rank, "--network_dim {rank}"),
            (Knob::Side, "--resolution {side}"),
            (Knob::Cache, "--cache_latents --cache_text_encoder_outputs"),
            (Knob::Swap, "--blocks_to_swap"),
        ],
    ),
    // SimpleTuner, OPTIONS.md.
    (
        Framework::SimpleTuner,
        &[
            (Knob::Checkpointing, "--gradient_checkpointing=true"),
            (Knob::Batch, "--train_batch_size={batch} --gradient_accumulation_steps={steps}"),
            (Knob::Base8, "--base_model_precision=int8-quanto"),
            (Knob::Base4, "--base_model_precision=nf4-bnb"),
            (Knob::Rank, "--lora_rank={rank}"),
            (Knob::Side, "--resolution={side}"),
        ],
    ),
    // ai-toolkit, config/examples.
    (
        Framework::AiToolkit,
        &[
            (Knob::Checkpointing, "gradient_checkpointing: true"),
            (Knob::Batch, "batch_size: {batch}, gradient_accumulation_steps: {steps}"),
            (Knob::EightBit, "optimizer: adamw8bit"),
            (Knob::Base8, "quantize: true"),
            (Knob::Rank, "linear: {rank}"),
            (Knob::Side, "resolution: [{side}]"),
            (Knob::Cache, "cache_latents_to_disk: true"),
        ],
    ),
    // Ultralytics, cfg/default.yaml; it accumulates to a nominal batch of 64 by itself.
    (
        Framework::Ultralytics,
        &[
            (Knob::Mixed, "amp=True"),
            (Knob::Batch, "batch={batch}"),
            (Knob::Freeze, "freeze=N"),
            (Knob::Side, "imgsz={side}"),
        ],
    ),
    // MMEngine, tools/train.py and its configuration files.
    (
        Framework::OpenMmlab,
        &[
            (Knob::Mixed, "--amp"),
            (Knob::Batch, "train_dataloader.batch_size={batch}, optim_wrapper.accumulative_counts={steps}"),
            (Knob::Checkpointing, "model.backbone.with_cp=True"),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_is_named_in_the_library() {
        let mut project = Project { micro_batch: 2, accumulation: 8, sequence: 1024, ..Project::default() };
        let batch = FixKind::SmallerMicroBatch { micro_batch: 2, accumulation: 8 };
        for (framework, kind, shown) in [
            (Framework::Transformers, FixKind::Checkpointing, "gradient_checkpointing=True"),
            (Framework::Transformers, batch, "per_device_train_batch_size=2, gradient_accumulation_steps=8"),
            (Framework::Kohya, FixKind::Checkpointing, "--gradient_checkpointing"),
            (Framework::LlamaFactory, FixKind::ShorterSequence { sequence: 1024 }, "cutoff_len: 1024"),
            (Framework::Axolotl, FixKind::QLora, "adapter: qlora, load_in_4bit: true"),
            (Framework::Unsloth, FixKind::Checkpointing, "use_gradient_checkpointing=\"unsloth\""),
            (Framework::Ultralytics, batch, "batch=2"),
        ] {
            project.framework = framework;
            assert_eq!(option(kind, &project).as_deref(), Some(shown), "{framework:?}");
        }
        assert_eq!(option(FixKind::FewerFrames { frames: 9 }, &project), None);
        for (framework, options) in OPTIONS {
            for (at, (knob, template)) in options.iter().enumerate() {
                assert!(options.iter().skip(at + 1).all(|(k, _)| k != knob), "{framework:?}: {knob:?} twice");
                assert!(*knob != Knob::None && !template.is_empty());
            }
        }
    }
}
