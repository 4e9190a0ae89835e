//! Training libraries as named sets of switches.
//!
//! Each library differs from plain Hugging Face code in a handful of decisions, read from its source or documentation.
//! What a project leaves on "automatic" is decided here.

use crate::catalog::{Gpu, LanguageModel, Vendor};
use crate::project::{
    Attention, BaseFormat, Checkpointing, Framework, Lora, LossKernel, Method, Optimizer, OptimizerImpl, Precision,
    Project, Runtime,
};
use crate::step::{AttentionKernel, Code, Dtype, Loss, Quantization, Shards, StepConfig, StepImpl, Task, Trained};

/// What a library decides for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Loss where nothing is said.
    pub loss: Loss,
    /// Optimizer step where nothing is said.
    pub step: StepImpl,
    /// PEFT's k-bit preparation: what is not quantized becomes fp32.
    pub kbit_prepare: bool,
    /// Adapters in the base's 16-bit format rather than in fp32.
    pub half_adapters: bool,
    /// "Mixed precision" means 16-bit weights without autocast.
    pub pure_half: bool,
    /// Output head and embedding are two tensors even where the model ties them.
    pub unties_head: bool,
    /// GELU is one kernel where transformers writes it out.
    pub fused_gelu: bool,
    /// Models are not transformers' but a repository's own.
    pub own_models: bool,
    /// Attention kernels of its own, or a direct call of PyTorch's.
    pub own_kernels: bool,
    /// The loss is the one in transformers' models.
    pub models_loss: bool,
    /// Saving a checkpoint copies all int8 weights: their tiles are put in order again for the state dictionary
    /// (`Linear8bitLt._save_to_state_dict` of bitsandbytes 0.38 to 0.44).
    pub orders_tiles_to_save: bool,
    /// Scores are written out where no kernel is named.
    pub eager_attention: bool,
    /// `scaled_dot_product_attention` is given a mask and falls back to its written-out form.
    pub masks_attention: bool,
    /// Layers that are written in another way than transformers writes them.
    pub code: Code,
}

impl Stack {
    /// The switches of a library.
    pub fn of(framework: Framework) -> Self {
        // transformers 5 with TRL and PEFT: `ForCausalLMLoss` casts logits to fp32; `optim` is `adamw_torch_fused`;
        // adapters are autocast to fp32; `prepare_model_for_kbit_training` casts norms, embedding and head.
        let huggingface = Self {
            loss: Loss::Upcast,
            step: StepImpl::Fused,
            kbit_prepare: true,
            half_adapters: false,
            pure_half: false,
            unties_head: false,
            fused_gelu: false,
            own_models: false,
            own_kernels: false,
            models_loss: false,
            orders_tiles_to_save: false,
            eager_attention: false,
            masks_attention: false,
            code: Code::default(),
        };
        // Adapters of denoisers, without k-bit preparation.
        // Unsloth (unslothai/unsloth-zoo pull request 527) and Axolotl (`quantize_moe_experts`, March 2026) pack experts
        // themselves.
        let transformers = Code { plain_experts: true, ..Code::default() };
        let denoiser = Self { step: StepImpl::Foreach, kbit_prepare: false, own_kernels: true, ..huggingface };
        match framework {
            // LLaMA-Factory, Axolotl and ms-swift keep embedding and head in 16 bit.
            Framework::LlamaFactory => {
                Self { kbit_prepare: false, models_loss: true, code: transformers, ..huggingface }
            }
            // It patched FlashAttention into transformers' models before those had it (`monkeypatch/llama_attn_hijack_flash.py`,
            // `flash_attention: true` of its examples).
            Framework::Axolotl => Self { kbit_prepare: false, own_kernels: true, models_loss: true, ..huggingface },
            // Its own default is `optim: adamw_torch` (swift/llm/utils/argument.py).
            Framework::MsSwift => {
                let code = transformers;
                Self { kbit_prepare: false, models_loss: true, step: StepImpl::Foreach, code, ..huggingface }
            }
            // Unsloth: fused linear cross-entropy (cut cross-entropy), own kernels for MLP, norms and rotary embedding.
            Framework::Unsloth => {
                let code = Code { fused_adapters: true, ..Code::default() };
                Self { loss: Loss::FusedChunked, kbit_prepare: false, own_kernels: true, code, ..huggingface }
            }
            // torchtune: everything in bf16, head and cross-entropy compiled together in eight chunks of the sequence.
            Framework::Torchtune => Self {
                loss: Loss::FusedChunked,
                kbit_prepare: false,
                half_adapters: true,
                pure_half: true,
                own_kernels: true,
                ..huggingface
            },
            // LitGPT: `bf16-true`, cross-entropy 128 tokens at a time.
            Framework::Litgpt => Self {
                loss: Loss::ChunkedLoss { chunk: 128 },
                step: StepImpl::Foreach,
                kbit_prepare: false,
                half_adapters: true,
                pure_half: true,
                unties_head: true,
                fused_gelu: true,
                own_kernels: true,
                code: Code {
                    joint_qkv: true,
                    quantizes_head: true,
                    casts_dequantized: true,
                    // LitGPT pins bitsandbytes 0.42 and older (`pyproject.toml`).
                    quantized_saves_input: true,
                    widens_logits: true,
                    copies_adapter_parts: true,
                    // `fit` in litgpt/finetune/lora.py: `loss` and `logits` are local variables of the loop.
                    holds_last_loss: true,
                    ..Code::default()
                },
                ..huggingface
            },
            Framework::Torchtitan => Self {
                loss: Loss::Upcast,
                own_kernels: true,
                code: Code { keeps_products: true, ..Code::default() },
                ..huggingface
            },
            Framework::LlmFoundry => {
                Self { own_kernels: true, code: Code { fused_cross_entropy: true, ..Code::default() }, ..huggingface }
            }
            // Megatron's vocabulary-parallel cross-entropy works in fp32 on 16-bit logits.
            Framework::Megatron => Self {
                loss: Loss::Upcast,
                fused_gelu: true,
                own_kernels: true,
                code: Code { fused_layers: true, ..Code::default() },
                ..huggingface
            },
            // `torch.optim` as it comes.
            Framework::Pytorch | Framework::OpenMmlab => {
                Self { step: StepImpl::Foreach, own_models: true, own_kernels: true, ..huggingface }
            }
            Framework::SimpleTuner => {
                let code = Code {
                    int8_for_training: true,
                    unchecked_linear_attention: true,
                    joint_projections: true,
                    ..Code::default()
                };
                // `move_models` of its trainer casts the model with its adapters to `weight_dtype`.
                Self { half_adapters: true, code, ..denoiser }
            }
            Framework::Kohya | Framework::OneTrainer => {
                Self { code: Code { plain_adapters: true, ..Code::default() }, ..denoiser }
            }
            // diffusers' scripts cast adapters to fp32 for fp16 only (`if args.mixed_precision == "fp16"`).
            Framework::Diffusers => Self { half_adapters: true, ..denoiser },
            Framework::AiToolkit | Framework::Ultralytics => denoiser,
            Framework::Transformers => Self { models_loss: true, code: transformers, ..huggingface },
        }
    }

    /// The loss as it was computed until the end of 2024.
    fn of_2024(self) -> Self {
        // Unsloth's kernel made the gradient in place of 16-bit logits (`fast_cross_entropy_loss`, before
        // `unsloth_fused_ce_loss` and cut cross-entropy of November 2024).
        if self.code.fused_adapters {
            let code = Code { fused_cross_entropy: true, converts_outputs: true, adds_updates: true, ..self.code };
            return Self { loss: Loss::NoUpcast, code, ..self };
        }
        // Experts were `nn.Linear` layers before transformers 5.
        let code = Code {
            shifts_logits: self.models_loss,
            wide_assigner: true,
            plain_experts: false,
            adds_head_gradient: true,
            ..self.code
        };
        Self { code, ..self }
    }

    /// The same library as it was.
    #[must_use]
    pub fn at(self, runtime: Runtime) -> Self {
        match runtime {
            Runtime::Current => self,
            Runtime::Mid2 => self.of_2024(),
            Runtime::First2 => {
                // `MatmulLtState` kept no copy and saved tiles as they lay before bitsandbytes 0.38. LitGPT made a mask for
                // its key cache and passed it in training too, which PyTorch 2.0's fused kernels do not take.
                let masks_attention = self.code.joint_qkv;
                Self { orders_tiles_to_save: false, masks_attention, ..self.at(Runtime::Early2) }
            }
            Runtime::Early2 => Self {
                // transformers calls `scaled_dot_product_attention` since 4.36 of December 2023; LitGPT, Unsloth and
                // the diffusion libraries had kernels before.
                eager_attention: !self.own_kernels,
                orders_tiles_to_save: true,
                // LitGPT's scripts put the longest sample first then (`get_batch`): no step as long came before it.
                code: Code {
                    holds_last_loss: false,
                    narrow_math: true,
                    wide_norms: self.code.joint_qkv,
                    ..self.of_2024().code
                },
                ..self
            },
            Runtime::One | Runtime::LateOne | Runtime::LastOne => Self {
                // `scaled_dot_product_attention` came with PyTorch 2.0.
                eager_attention: true,
                // `foreach` became the default with PyTorch 2.0; before, optimizers went weight by weight.
                step: StepImpl::Loop,
                code: Code {
                    holds_last_loss: false,
                    // `set_to_none` became the default of `zero_grad` with PyTorch 2.0.
                    zeroes_gradients: true,
                    // Models of a repository's own; transformers called the kernel already.
                    written_gelu: self.own_models,
                    data_on_card: self.own_models,
                    keeps_softmax_input: runtime == Runtime::One,
                    keeps_relu_input: runtime == Runtime::One,
                    scripts_hold_inputs: runtime == Runtime::One,
                    sums_gradients_anew: true,
                    wide_assigner: true,
                    ..self.code
                },
                ..self
            },
        }
    }
}

/// Whether the card's `FlashAttention` kernels exist: Ampere and later on CUDA, `ROCm`'s on CDNA and RDNA 3, and on Ascend
/// 910B and later `FlashAttentionScore`, which plain `scaled_dot_product_attention` calls (hiascend.com, Ascend Extension
/// for PyTorch 6.0, "FlashAttentionScore": Atlas A2 and A3 training products).
pub fn flash(gpu: Option<&Gpu>) -> bool {
    gpu.is_none_or(|g| match g.vendor {
        Vendor::Nvidia => g.compute_capability.is_some_and(|c| c >= 8.0),
        Vendor::Amd => !g.architecture.starts_with("RDNA 2") && !g.architecture.starts_with("GCN"),
        Vendor::Huawei => true,
        _ => false,
    })
}

/// Whether int8 weights are bitsandbytes': the trainers of denoisers quantize with quanto and torchao.
const fn has_bitsandbytes(framework: Framework) -> bool {
    !matches!(
        framework,
        Framework::Diffusers
            | Framework::SimpleTuner
            | Framework::Kohya
            | Framework::OneTrainer
            | Framework::AiToolkit
            | Framework::Ultralytics
    )
}

/// NVIDIA's cards of 2020 and later.
fn ampere(gpu: Option<&Gpu>) -> bool {
    gpu.is_some_and(|g| g.vendor == Vendor::Nvidia && g.compute_capability.is_some_and(|c| c >= 8.0))
}

/// A step with everything that was left open decided.
pub fn configure(project: &Project, layers: u64, task: Task, gpu: Option<&Gpu>) -> StepConfig {
    let stack = Stack::of(project.framework).at(project.runtime);
    let adapters = project.method.is_adapter();
    let half = match project.precision {
        Precision::AmpFp16 => Dtype::F16,
        _ => Dtype::Bf16,
    };
    let early = matches!(project.runtime, Runtime::First2 | Runtime::Early2);
    let mixed = matches!(project.precision, Precision::AmpBf16 | Precision::AmpFp16);
    let quantization = quantization(project);
    let pure = project.precision == Precision::PureBf16 || (mixed && stack.pure_half);
    let weights = match project.base {
        BaseFormat::Fp32 => Dtype::F32,
        BaseFormat::Bf16 => half,
        _ if project.precision == Precision::Fp32 && quantization.is_none() => Dtype::F32,
        _ if pure || adapters || project.precision == Precision::MasterBf16 => half,
        _ => Dtype::F32,
    };
    // Preference losses run the chosen and the rejected answer together.
    let pairs = if project.objective.compares() { 2 } else { 1 };
    StepConfig {
        batch: project.micro_batch.saturating_mul(pairs),
        sequence: project.sequence,
        decoder_sequence: None,
        task,
        trained: match project.method {
            Method::Full | Method::Scratch => Trained::All,
            Method::Freeze => {
                Trained::AboveLayer((project.frozen_share.clamp(0.0, 1.0) * layers as f64).round() as u64)
            }
            Method::Head => Trained::Head,
            Method::Lora | Method::QLora => Trained::Adapters(Lora { rank: project.lora.rank, ..project.lora }),
        },
        weights,
        autocast: (mixed && !pure).then_some(half),
        master_weights: project.precision == Precision::MasterBf16 && !adapters,
        quantization,
        // `prepare_model_for_kbit_training` leaves GPTQ's models as they are.
        kbit_prepare: stack.kbit_prepare && !matches!(quantization, None | Some(Quantization::Int4)),
        // Ampere came with CUDA 11, and with it code that calls the kernel of GELU (`bias_gelu_training` of
        // NVIDIA/DeepLearningExamples `BERT/modeling.py`; PyTorch 1.7 is the first for it).
        code: Code {
            written_gelu: stack.code.written_gelu && !ampere(gpu),
            data_on_card: stack.code.data_on_card && !ampere(gpu),
            int8_saves_input: has_bitsandbytes(project.framework),
            compiled: project.habits.compiled,
            // Preference losses took log-softmax of the fp32 logits that the model returned (`get_batch_logps` of TRL).
            fused_cross_entropy: (stack.code.fused_cross_entropy || compiles_loss(project)) && pairs == 1,
            converts_outputs: stack.code.converts_outputs && pairs == 1,
            shifts_logits: stack.code.shifts_logits || (pairs > 1 && stack.code.converts_outputs),
            streamed_linears: project.framework == Framework::SimpleTuner && project.block_swap >= 1.0,
            ..stack.code
        },
        // Adapters took the format of the 16-bit layer beside them until PEFT 0.12 (`autocast_adapter_dtype`).
        adapter: if pure || (half == Dtype::Bf16 && (stack.half_adapters || early && quantization.is_none())) {
            half
        } else {
            Dtype::F32
        },
        optimizer: project.optimizer,
        optimizer_impl: match project.optimizer_impl {
            OptimizerImpl::Auto if project.habits.renews => StepImpl::Renewing,
            OptimizerImpl::Auto if eight_bit(project.optimizer) => StepImpl::Loop,
            OptimizerImpl::Auto => stack.step,
            OptimizerImpl::Foreach => StepImpl::Foreach,
            OptimizerImpl::Fused => StepImpl::Fused,
            OptimizerImpl::Loop => StepImpl::Loop,
            OptimizerImpl::InBackward => StepImpl::InBackward,
        },
        checkpointing: project.checkpointing,
        reentrant: false,
        attention: match project.attention {
            Attention::Auto if stack.eager_attention => AttentionKernel::Eager,
            Attention::Auto if stack.masks_attention => AttentionKernel::Math,
            Attention::Auto | Attention::Flash if flash(gpu) => AttentionKernel::Flash,
            // `scaled_dot_product_attention` takes its memory-efficient kernel on older cards.
            Attention::Auto | Attention::Flash | Attention::Efficient => AttentionKernel::Efficient,
            Attention::Eager => AttentionKernel::Eager,
            Attention::Math => AttentionKernel::Math,
        },
        loss: match project.loss {
            // Preference losses want the log-probability of every token, and so all logits (TRL's `DPOTrainer`).
            LossKernel::Auto if pairs > 1 && matches!(stack.loss, Loss::FusedChunked | Loss::NoUpcast) => Loss::Upcast,
            LossKernel::Auto => stack.loss,
            LossKernel::Upcast => Loss::Upcast,
            LossKernel::NoUpcast => Loss::NoUpcast,
            LossKernel::Chunked => match stack.loss {
                Loss::ChunkedLoss { chunk } => Loss::ChunkedLoss { chunk },
                _ => Loss::FusedChunked,
            },
            LossKernel::Fused => Loss::FusedChunked,
        },
        // Until 2024 TRL's `DPOTrainer` kept the policy's logits for its log; `selective_log_softmax` of February 2025
        // made do with them.
        hold_outputs: project.habits.own_loop
            || (pairs > 1 && (stack.code.shifts_logits || stack.code.converts_outputs)),
        accumulation: project.accumulation,
        shards: Shards::default(),
    }
}

/// Whether a compiled model's loss is compiled too: logits are then kept in 16 bit and everything after them is made again.
/// Scripts of one's own compile both together (nanoGPT's `torch.compile(model)`, whose forward ends with the loss);
/// torchtitan compiles the loss by itself since January 2025 (`compile.components = ["model", "loss"]`).
fn compiles_loss(project: &Project) -> bool {
    let today = project.runtime == Runtime::Current;
    project.habits.compiled
        && (project.framework == Framework::Pytorch || project.framework == Framework::Torchtitan && today)
}

const fn eight_bit(optimizer: Optimizer) -> bool {
    matches!(optimizer, Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit)
}

/// Whether transformers knows no fused attention for the family (`_supports_sdpa` of its models: false, or not there).
pub fn writes_scores(project: &Project, model: &LanguageModel) -> bool {
    let stack = Stack::of(project.framework);
    !stack.own_kernels && matches!(model.family, "gpt-oss" | "BLOOM" | "MPT" | "GPT-Neo")
}

/// Whether a quantized base has experts that its library leaves in 16 bit.
pub fn leaves_experts(project: &Project, model: &LanguageModel) -> bool {
    let stack = Stack::of(project.framework).at(project.runtime);
    model.moe_experts > 0 && stack.code.plain_experts && quantization(project).is_some()
}

fn quantization(project: &Project) -> Option<Quantization> {
    let nf4 = |double| Some(Quantization::Nf4 { double });
    match project.base {
        BaseFormat::Nf4 => nf4(false),
        BaseFormat::Nf4Double => nf4(true),
        BaseFormat::Int4 => Some(Quantization::Int4),
        BaseFormat::Int8 => Some(Quantization::Int8),
        BaseFormat::Fp8 => Some(Quantization::Fp8),
        BaseFormat::Fp8Dynamic => Some(Quantization::Fp8Dynamic),
        // bitsandbytes with double quantization, as the QLoRA paper and the libraries' examples have it.
        BaseFormat::AsPrecision if project.method == Method::QLora => nf4(true),
        _ => None,
    }
}

/// The attention and loss switches of a step, back in a project's words.
pub fn resolved(config: &StepConfig) -> (Attention, LossKernel, OptimizerImpl) {
    let attention = match config.attention {
        AttentionKernel::Eager => Attention::Eager,
        AttentionKernel::Math => Attention::Math,
        AttentionKernel::Flash if config.autocast.unwrap_or(config.weights).is_half() => Attention::Flash,
        AttentionKernel::Sdpa | AttentionKernel::Efficient | AttentionKernel::Flash => Attention::Efficient,
    };
    let loss = match config.loss {
        Loss::Upcast => LossKernel::Upcast,
        Loss::NoUpcast => LossKernel::NoUpcast,
        Loss::FusedChunked => LossKernel::Fused,
        Loss::ChunkedLoss { .. } => LossKernel::Chunked,
    };
    let step = match config.optimizer_impl {
        StepImpl::Foreach => OptimizerImpl::Foreach,
        StepImpl::Fused => OptimizerImpl::Fused,
        StepImpl::Loop | StepImpl::Renewing => OptimizerImpl::Loop,
        StepImpl::InBackward => OptimizerImpl::InBackward,
    };
    (attention, loss, step)
}

/// Whether the block inputs that checkpointing keeps wait in main memory.
pub const fn offloads_checkpoints(project: &Project) -> bool {
    matches!(project.checkpointing, Checkpointing::Offloaded)
}

#[cfg(test)]
#[path = "tests/in_stack.rs"]
mod tests;
