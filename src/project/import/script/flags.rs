//! The names of settings in the libraries' arguments, and what they say.

use crate::project::Field;

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// A number that the field takes as it is.
    Number(Field),
    /// The model, by name, repository or path.
    Model,
    /// What is trained: `full`, `lora`, `qlora`, `freeze`.
    Method,
    /// An adapter's rank, which says that there is an adapter.
    Rank,
    /// Which layers carry adapters.
    Targets,
    /// All linear layers carry adapters, if on.
    AllLinear,
    /// Adapters are trained, if on.
    Adapter,
    /// The base is loaded in 4 bit, if on; in 8 bit.
    FourBit,
    EightBit,
    /// How many bits the base is loaded in.
    Bits,
    DoubleQuantization,
    /// The base is held in fp8.
    Fp8Base,
    /// 16-bit arithmetic, if on.
    Bf16,
    Fp16,
    /// Weights in 16 bit too, if on.
    PureBf16,
    PureFp16,
    /// `bf16`, `fp16`, `no`.
    MixedPrecision,
    /// Format in which weights are loaded.
    LoadedAs,
    Checkpointing,
    NoCheckpointing,
    Optimizer,
    EightBitAdam,
    Attention,
    Flash,
    Xformers,
    Sdpa,
    Liger,
    /// Stage of `ZeRO`.
    ZeroStage,
    /// A file or table of DeepSpeed's settings.
    DeepSpeed,
    Fsdp,
    OptimizerOffload,
    WeightOffload,
    /// Cards in the run.
    Cards,
    /// Machines, each with as many cards.
    Machines,
    /// Samples in a step over all cards.
    GlobalBatch,
    /// A size of a network that is described by its sizes (Megatron).
    Shape(Field),
    /// Optimizer state divided over the cards that hold the same weights.
    DividedState,
    /// Activations: `full` or `selective` recomputing.
    Granularity,
    /// Tokens of the question and of the answer that is sampled.
    Prompt,
    Completion,
    /// What the base of a diffusion model is held in.
    BasePrecision,
    /// It is quantized, if on.
    Quantized,
    /// The kind of a video model: `t2v-14B`.
    Video,
    /// A recipe's file.
    Recipe,
    /// A list of cards: `0,1,2`.
    CardList,
    Objective,
    CachedLatents,
    /// Captions are encoded beforehand.
    CachedText,
    /// The text encoders are trained.
    TrainsText,
    /// They are not.
    DenoiserOnly,
    /// The MLP has a gate.
    Gated,
    /// Blocks that wait in main memory.
    BlocksToSwap,
    /// The optimizer steps weight by weight as their gradients come.
    FusedBackward,
    Ema,
    Steps,
    /// Automatic mixed precision of Ultralytics.
    Amp,
}

use Field as F;
use Says as S;

/// Names without dashes, in small letters. A name with a point stands for that place only.
#[rustfmt::skip]
pub(super) const FLAGS: &[(&str, Says)] = &[
    // transformers TrainingArguments, TRL, LLaMA-Factory, ms-swift, accelerate examples, diffusers.
    ("per_device_train_batch_size", S::Number(F::MicroBatch)), ("per_gpu_train_batch_size", S::Number(F::MicroBatch)),
    ("train_batch_size", S::Number(F::MicroBatch)), ("micro_batch_size", S::Number(F::MicroBatch)),
    ("train_micro_batch_size_per_gpu", S::Number(F::MicroBatch)), ("batch_size", S::Number(F::MicroBatch)),
    ("batch", S::Number(F::MicroBatch)), ("batch_size_per_gpu", S::Number(F::MicroBatch)), ("batchsize", S::Number(F::MicroBatch)),
    ("device_train_microbatch_size", S::Number(F::MicroBatch)), ("local_batch_size", S::Number(F::MicroBatch)),
    ("micro_batch_size_per_gpu", S::Number(F::MicroBatch)), ("train_bs", S::Number(F::MicroBatch)),
    ("samples_per_gpu", S::Number(F::MicroBatch)), ("ims_per_gpu", S::Number(F::MicroBatch)),
    ("gradient_accumulation_steps", S::Number(F::Accumulation)), ("grad_accum_steps", S::Number(F::Accumulation)),
    ("gradient_accumulation", S::Number(F::Accumulation)), ("accumulate_grad_batches", S::Number(F::Accumulation)),
    ("gradient_accumulation_iters", S::Number(F::Accumulation)),
    ("max_seq_length", S::Number(F::Sequence)), ("max_seq_len", S::Number(F::Sequence)), ("max_length", S::Number(F::Sequence)),
    ("cutoff_len", S::Number(F::Sequence)), ("sequence_len", S::Number(F::Sequence)), ("block_size", S::Number(F::Sequence)),
    ("model_max_length", S::Number(F::Sequence)), ("seq_length", S::Number(F::Sequence)), ("seq_len", S::Number(F::Sequence)),
    ("max_source_length", S::Number(F::Sequence)), ("train_seq_length", S::Number(F::Sequence)), ("context_length", S::Number(F::Sequence)),
    ("max_prompt_length", S::Prompt), ("sequence_length", S::Number(F::Sequence)),
    ("target_max_len", S::Number(F::Sequence)),
    ("max_completion_length", S::Completion), ("max_response_length", S::Completion),
    ("ppo_micro_batch_size_per_gpu", S::Number(F::MicroBatch)),
    ("num_train_epochs", S::Number(F::Epochs)), ("num_epochs", S::Number(F::Epochs)), ("epochs", S::Number(F::Epochs)),
    ("max_train_epochs", S::Number(F::Epochs)), ("max_epochs", S::Number(F::Epochs)), ("epoch", S::Number(F::Epochs)),
    ("max_samples", S::Number(F::Samples)), ("max_train_samples", S::Number(F::Samples)),
    ("max_steps", S::Steps), ("max_train_steps", S::Steps), ("train_iters", S::Steps), ("steps", S::Steps),
    ("resolution", S::Number(F::ImageSide)), ("imgsz", S::Number(F::ImageSide)), ("image_size", S::Number(F::ImageSide)),
    ("img_size", S::Number(F::ImageSide)), ("img", S::Number(F::ImageSide)), ("crop_size", S::Number(F::ImageSide)),
    ("train_resolution", S::Number(F::ImageSide)),
    ("num_frames", S::Number(F::Frames)), ("max_num_frames", S::Number(F::Frames)), ("sample_n_frames", S::Number(F::Frames)),
    ("max_duration_in_seconds", S::Number(F::AudioSeconds)), ("max_input_length_in_sec", S::Number(F::AudioSeconds)),
    ("chunk_length", S::Number(F::AudioSeconds)),
    ("model_name_or_path", S::Model), ("pretrained_model_name_or_path", S::Model), ("base_model", S::Model), ("model_name", S::Model),
    ("model_id", S::Model), ("model_path", S::Model), ("model", S::Model), ("weights", S::Model), ("checkpoint_dir", S::Model),
    ("base_model_name_or_path", S::Model), ("pretrained_model", S::Model), ("pretrained", S::Model), ("name_or_path", S::Model),
    ("model_id_or_path", S::Model), ("model_type", S::Model), ("tokenizer_name_or_path", S::Model), ("model_checkpoint", S::Model), ("cfg", S::Model),
    ("model.path", S::Model), ("model._component_", S::Recipe), ("config", S::Recipe), ("task", S::Video),
    ("finetuning_type", S::Method), ("train_type", S::Method), ("fine_tune_type", S::Method), ("tuner_type", S::Method), ("adapter", S::Method), ("sft_type", S::Method),
    ("training_type", S::Method), ("network.type", S::Method),
    ("use_peft", S::Adapter), ("use_lora", S::Adapter), ("lora", S::Adapter),
    ("lora_rank", S::Rank), ("lora_r", S::Rank), ("r", S::Rank), ("rank", S::Rank), ("network_dim", S::Rank), ("network_rank", S::Rank),
    ("lora_dim", S::Rank), ("linear", S::Rank),
    ("lora_dropout", S::Number(F::LoraDropout)), ("network_dropout", S::Number(F::LoraDropout)),
    ("lora_target", S::Targets), ("lora_target_modules", S::Targets), ("target_modules", S::Targets), ("lora_targets", S::Targets),
    ("lora_target_linear", S::AllLinear), ("apply_lora_to_mlp", S::AllLinear), ("lora_attn_modules", S::Targets),
    ("load_in_4bit", S::FourBit), ("load_in_8bit", S::EightBit), ("quantization_bit", S::Bits), ("quant_bits", S::Bits), ("bits", S::Bits),
    ("quantize", S::Bits),
    ("bnb_4bit_use_double_quant", S::DoubleQuantization), ("double_quantization", S::DoubleQuantization),
    ("use_bnb_nested_quant", S::DoubleQuantization), ("double_quant", S::DoubleQuantization),
    ("fp8_base", S::Fp8Base), ("base_model_precision", S::BasePrecision), ("model.quantize", S::Quantized),
    ("bf16", S::Bf16), ("fp16", S::Fp16), ("bf16.enabled", S::Bf16), ("fp16.enabled", S::Fp16), ("pure_bf16", S::PureBf16),
    ("full_bf16", S::PureBf16), ("bfloat16", S::Bf16), ("full_fp16", S::PureFp16), ("mixed_precision", S::MixedPrecision),
    ("precision", S::MixedPrecision), ("amp", S::Amp),
    ("torch_dtype", S::LoadedAs), ("dtype", S::LoadedAs), ("model_dtype", S::LoadedAs),
    ("gradient_checkpointing", S::Checkpointing), ("use_gradient_checkpointing", S::Checkpointing),
    ("enable_gradient_checkpointing", S::Checkpointing), ("activation_checkpointing", S::Checkpointing),
    ("fsdp_activation_checkpointing", S::Checkpointing), ("enable_activation_checkpointing", S::Checkpointing),
    ("disable_gradient_checkpointing", S::NoCheckpointing),
    ("optim", S::Optimizer), ("optimizer", S::Optimizer), ("optimizer_type", S::Optimizer), ("optimizer.type", S::Optimizer),
    ("optimizer._component_", S::Optimizer), ("use_8bit_adam", S::EightBitAdam),
    ("attn_implementation", S::Attention), ("attn_impl", S::Attention), ("flash_attn", S::Flash), ("flash_attention", S::Flash),
    ("use_flash_attn", S::Flash), ("use_flash_attention_2", S::Flash), ("flash_attention_2", S::Flash),
    ("enable_xformers_memory_efficient_attention", S::Xformers), ("xformers", S::Xformers), ("xformers_attention", S::Xformers),
    ("mem_eff_attn", S::Xformers), ("sdpa", S::Sdpa), ("sdp_attention", S::Sdpa),
    ("use_liger_kernel", S::Liger), ("enable_liger_kernel", S::Liger), ("use_liger", S::Liger), ("use_liger_loss", S::Liger),
    ("liger_fused_linear_cross_entropy", S::Liger), ("cut_cross_entropy", S::Liger),
    ("zero_stage", S::ZeroStage), ("zero_optimization.stage", S::ZeroStage), ("deepspeed_config.zero_stage", S::ZeroStage),
    ("deepspeed", S::DeepSpeed), ("deepspeed_config_file", S::DeepSpeed), ("fsdp", S::Fsdp), ("fsdp_sharding_strategy", S::Fsdp),
    ("fsdp_version", S::Fsdp),
    ("offload_optimizer_device", S::OptimizerOffload), ("offload_optimizer.device", S::OptimizerOffload),
    ("zero_optimization.offload_optimizer.device", S::OptimizerOffload), ("zero_optimization.cpu_offload", S::OptimizerOffload),
    ("offload_param_device", S::WeightOffload), ("zero_optimization.offload_param.device", S::WeightOffload),
    ("num_processes", S::Cards), ("nproc_per_node", S::Cards), ("num_gpus", S::Cards), ("n_gpus", S::Cards), ("gpus", S::Cards),
    ("devices", S::Cards), ("n_gpus_per_node", S::Cards), ("tensor_parallel_size", S::Cards),
    ("num_layers", S::Shape(F::CustomLayers)), ("hidden_size", S::Shape(F::CustomHidden)), ("vocab_size", S::Shape(F::CustomVocab)),
    ("ffn_hidden_size", S::Shape(F::CustomIntermediate)), ("num_attention_heads", S::Shape(F::CustomHeads)),
    ("num_query_groups", S::Shape(F::CustomKvHeads)),
    ("tensor_model_parallel_size", S::Number(F::Tensor)), ("pipeline_model_parallel_size", S::Number(F::Pipeline)),
    ("context_parallel_size", S::Number(F::Context)), ("expert_model_parallel_size", S::Number(F::Expert)),
    ("global_batch_size", S::GlobalBatch), ("use_distributed_optimizer", S::DividedState),
    ("recompute_granularity", S::Granularity), ("recompute_activations", S::Granularity),
    ("nnodes", S::Machines), ("num_nodes", S::Machines),
    ("cuda_visible_devices", S::CardList), ("include", S::CardList), ("device", S::CardList), ("gpu_ids", S::CardList),
    ("stage", S::Objective), ("rl", S::Objective), ("rlhf_type", S::Objective),
    ("cache_latents", S::CachedLatents), ("cache_latents_to_disk", S::CachedLatents), ("use_ema", S::Ema),
    ("cache_text_encoder_outputs", S::CachedText), ("cache_text_encoder_outputs_to_disk", S::CachedText),
    ("train_text_encoder", S::TrainsText), ("network_train_text_encoder_only", S::TrainsText),
    ("network_train_unet_only", S::DenoiserOnly), ("blocks_to_swap", S::BlocksToSwap),
    ("swiglu", S::Gated), ("optimizer_in_bwd", S::FusedBackward),
    ("fused_backward_pass", S::FusedBackward), ("blockwise_fused_optimizers", S::FusedBackward),
];

/// Beginnings of names that say nothing about memory or time here: learning, logging, saving, data, the network.
#[rustfmt::skip]
pub(super) const OTHERS: &[&str] = &[
    "learning_rate", "lr", "warmup", "weight_decay", "adam_", "max_grad_norm", "gradient_clipping", "clip_grad", "seed", "output", "logging", "log_",
    "save", "eval", "report_to", "push_to_hub", "hub_", "run_name", "dataset", "data", "train_file", "train_data", "validation", "val", "do_",
    "overwrite", "template", "preprocessing", "dataloader", "num_workers", "workers", "project", "name", "wandb", "tracker", "main_process",
    "machine_rank", "node_rank", "master_", "rdzv", "same_network", "tpu_", "use_cpu", "compute_environment", "debug", "downcast_bf16", "rdma",
    "lora_alpha", "alpha", "network_alpha", "network_module", "network_args", "network_train", "bias", "task", "use_rslora", "loftq", "random_state",
    "conv", "snr_gamma", "min_snr", "noise_offset", "caption", "image_column", "instance_", "class_", "prior", "with_prior", "center_crop", "random_flip",
    "shuffle", "keep_tokens", "clip_skip", "bucket", "enable_bucket", "max_bucket", "min_bucket", "logging_dir", "prompt", "sample", "packing", "group_by_length",
    "remove_unused", "ddp_", "fsdp_", "zero3_", "zero_optimization.", "steps_per_print", "wall_clock", "overlap", "allgather", "reduce", "contiguous",
    "loss_scale", "scheduler", "pissa", "neftune", "trust_remote", "use_fast", "cache_dir", "token", "revision", "variant", "mode", "patience",
    "hsv", "mosaic", "mixup", "fliplr", "flipud", "degrees", "translate", "scale", "shear", "momentum", "box", "cls", "dfl", "cos_lr", "close_mosaic",
    "plot", "verbose", "resume", "exist_ok", "single_cls", "deterministic", "test_", "vocab_file", "special_tokens", "chat_template", "strict",
    "distributed_type", "deepspeed_", "gradient_checkpointing_kwargs", "bnb_4bit", "use_cache", "pad_", "padding", "truncation", "early_stopping",
    "metric_for", "greater_is", "load_best", "include_", "half_precision_backend", "disable_tqdm", "system", "response", "ddp", "beta", "pref_",
    "persistent", "prefetch", "pin_memory", "timeout", "port", "module", "no_", "enable_cpu_affinity", "rope", "vae", "text_encoder", "allow_tf32", "tf32",
    "format", "version", "hash", "prodigy", "d_coef", "conv_dim", "train_on_inputs", "hf_", "flash_optimum", "local_rank", "type", "path", "split",
    "sequence_parallel", "normalization", "position_embedding", "max_position_embeddings", "untie_embeddings", "disable_bias", "transformer_impl",
    "attention_backend", "use_mcore", "distributed_backend", "rotary", "attention_dropout", "hidden_dropout", "recompute_", "init_method", "group_query",
    "algorithm", "num_generations", "temperature", "use_vllm", "vllm_", "reward", "kl_", "critic", "actor_rollout_ref.rollout", "trainer.",
    "auto_resume", "tokenizer", "processing", "special", "use_dora", "modules_to_save", "checkpointing_steps", "rank_", "scale_lr", "guidance",
    "weighting", "dynamo", "deepspeed_multinode", "eos", "bos", "unk", "conversation", "roles", "ignore", "lazy", "freeze_", "train_text", "proportion",
];
