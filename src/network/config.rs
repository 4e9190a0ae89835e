//! Every switch of a training step, resolved: nothing is "automatic" here.
//!
//! `estimate` makes a [`StepConfig`] from a project, a card and a framework's defaults; the scoring of traced cases makes
//! it from a row.

use super::Shards;
use crate::project::{Checkpointing, Lora, Optimizer};

/// Number format of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// One byte: masks, 8-bit weights and states.
    U8,
    /// bfloat16.
    Bf16,
    /// IEEE half.
    F16,
    /// Single precision.
    F32,
    /// Token ids.
    I64,
}

impl Dtype {
    /// Size of an element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::Bf16 | Self::F16 => 2,
            Self::F32 => 4,
            Self::I64 => 8,
        }
    }

    /// True for the two 16-bit formats.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::Bf16 | Self::F16)
    }
}

/// How a frozen base is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantization {
    /// bitsandbytes NF4: half a byte a weight, one scale per 64 weights, the scales quantized again or not.
    Nf4 {
        /// Double quantization of the scales.
        double: bool,
    },
    /// GPTQ, AWQ: half a byte a weight, a 16-bit scale and a 4-bit zero per 128 weights.
    Int4,
    /// LLM.int8: one byte a weight, a scale per row.
    Int8,
    /// One byte a weight, cast for each product: torchao's `Float8WeightOnlyConfig` multiplies by the dequantized matrix
    /// where autograd sees it, and so keeps it.
    Fp8,
    /// The same with activations brought to fp8 for each product, by operators that autograd follows (torchao's
    /// `Float8DynamicActivationFloat8WeightConfig`).
    Fp8Dynamic,
}

/// Which weights are trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trained {
    /// All.
    All,
    /// The upper layers and the head: this many of the lower layers, and the embedding, are frozen.
    AboveLayer(u64),
    /// Only the head.
    Head,
    /// Adapters beside frozen weights.
    Adapters(Lora),
    /// Nothing: a forward pass without gradients, as in evaluation.
    Nothing,
}

/// Attention kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttentionKernel {
    /// Scores and probabilities written out, as in transformers' eager code.
    Eager,
    /// `scaled_dot_product_attention` choosing as PyTorch does: flash for 16 bit without mask, else memory-efficient
    /// where heads are not grouped, else math.
    Sdpa,
    /// Its composed fallback.
    Math,
    /// Its memory-efficient kernel.
    Efficient,
    /// FlashAttention-2 (windows and padding handled inside the kernel).
    Flash,
}

/// How logits and loss are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// Logits cast to fp32 before cross-entropy, as in Hugging Face transformers.
    Upcast,
    /// Cross-entropy on logits as they are.
    NoUpcast,
    /// Linear and loss together, a chunk of tokens at a time, gradients made in forward (Liger).
    FusedChunked,
    /// Logits made whole, the loss a chunk at a time (`LitGPT`, torchtune).
    ChunkedLoss {
        /// Tokens in a chunk.
        chunk: u64,
    },
}

/// What sits on top of the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Next-token prediction (decoders) or its like for encoder-decoders.
    LanguageModel,
    /// Masked-token prediction with the encoder's prediction head.
    MaskedLanguageModel,
    /// One label per sequence.
    SequenceClassification,
    /// No head: embeddings, contrastive.
    Embedding,
}

/// How the optimizer's step is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepImpl {
    /// All weights at once with temporaries.
    Foreach,
    /// One kernel, no temporaries.
    Fused,
    /// Weight by weight.
    Loop,
    /// Weight by weight during backward, each gradient freed at once.
    InBackward,
    /// Weight by weight; weight and states are made anew each time, and take the places of the old ones
    /// (`lamb_kernel` of NVIDIA/DeepLearningExamples `Transformer-XL/pytorch/lamb.py`).
    Renewing,
}

/// Where a library's own code makes, keeps or copies other tensors than transformers' code does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// Query, key and value come out of one matrix, of which the value stays a view; keys and values are repeated for
    /// all query heads before the kernel; rotated and plain columns are put together by `cat` even where all are rotated
    /// (`CausalSelfAttention` in litgpt/model.py).
    pub joint_qkv: bool,
    /// `RMSNorm` multiplies by its weight before it leaves fp32 (`(self.weight * x_normed).to(dtype=dtype)` in `LitGPT`'s
    /// rmsnorm.py of 2023; `x_normed.to(dtype=dtype) * self.weight` later).
    pub wide_norms: bool,
    /// The output head is quantized with the other linear layers (`BitsandbytesPrecision` of Lightning Fabric replaces
    /// every `nn.Linear`).
    pub quantizes_head: bool,
    /// Experts are not quantized with the other layers: transformers 5 keeps all of a layer's in one 3-D parameter, and
    /// bitsandbytes replaces `nn.Linear` alone (bitsandbytes issue 1849).
    pub plain_experts: bool,
    /// 4-bit weights were fp16 when they were packed, so a product makes them fp16 and casts them to its own format
    /// (`_Linear4bit._quantize_weight` of Lightning Fabric; `Params4bit.cuda` of bitsandbytes up to 0.41).
    pub casts_dequantized: bool,
    /// 4-bit layers keep their input (`MatMul4Bit` of bitsandbytes up to 0.43.1: `ctx.tensors = (A, B)`).
    pub quantized_saves_input: bool,
    /// int8 layers keep their input (`MatMul8bitLt` in every version of bitsandbytes: `ctx.tensors = (CAt, subA, A)`).
    pub int8_saves_input: bool,
    /// Logits become fp32 as they leave the model (`convert_output` of Lightning Fabric's precision plugins) and stay a
    /// variable of the training loop until the next step's replace them.
    pub widens_logits: bool,
    /// An adapter of a joint query-key-value matrix that leaves out one of the three keeps its update once more
    /// (`LoRAQKVLinear.zero_pad` in litgpt/lora.py: backward of `index_copy` keeps its source).
    pub copies_adapter_parts: bool,
    /// The loss of the last step, and with it whatever its functions keep outside autograd's own saved tensors, lives
    /// until this step's replaces it: for old bitsandbytes the inputs of all 4-bit layers.
    pub holds_last_loss: bool,
    /// Gradients are set to zero after a step and not dropped, so they are there during forward (`zero_grad` before
    /// PyTorch 2.0).
    pub zeroes_gradients: bool,
    /// Backward through a `TorchScript` function holds what the function was given, whatever its formula needs: the slope
    /// of WaveGlow's memory over batches is that of its gate's inputs kept (`voice.rs`), with `PyTorch` 1.4 to 1.9.
    pub scripts_hold_inputs: bool,
    /// The training data lies on the card (`self.data = ....to(device)` in `LMOrderedIterator` of Transformer-XL's
    /// `data_utils.py`, and of NVIDIA's before it pinned main memory for it).
    pub data_on_card: bool,
    /// GELU is a formula of the error function, and every step of it keeps its result (`gelu`, `bias_gelu` of BERT's code
    /// before PyTorch had a kernel: NVIDIA/DeepLearningExamples `BERT/modeling.py`, google-research/bert).
    pub written_gelu: bool,
    /// `scaled_dot_product_attention` written out works in the format that it is given; since `PyTorch` 2.5 in fp32
    /// (`_scaled_dot_product_attention_math` of `attention.cpp`, `allow_fp16_bf16_reduction_math_sdp`).
    pub narrow_math: bool,
    /// Softmax and log-softmax keep their input beside their output (`derivatives.yaml` before `PyTorch` 1.11:
    /// pytorch/pytorch#64000).
    pub keeps_softmax_input: bool,
    /// A ReLU that does not write over its input keeps it (`derivatives.yaml` before `PyTorch` 1.10: pytorch/pytorch#63089);
    /// since then it keeps its output, which what comes next keeps anyway.
    pub keeps_relu_input: bool,
    /// Two gradients of one tensor are added into a third (`input_buffer.cpp` before `PyTorch` 2.0:
    /// pytorch/pytorch#88339).
    pub sums_gradients_anew: bool,
    /// Adapters, gated MLP, norms and rotary embedding are functions of the library's own that keep no more than they
    /// need: the input of a layer with an adapter in 16 bit, gate and up of the MLP; rotation happens in place
    /// (unslothai/unsloth `kernels/fast_lora.py`, `rms_layernorm.py`, `rope_embedding.py`).
    pub fused_adapters: bool,
    /// Those functions make an adapter's update whole before they add it (`out += (X @ A) @ (s * B)` in `matmul_lora` of
    /// unsloth/kernels/utils.py until the spring of 2025, `addmm_` since).
    pub adds_updates: bool,
    /// Cross-entropy is one kernel that keeps the logits and one number a token (`fused_crossentropy` of llm-foundry, from
    /// flash-attention's `losses/cross_entropy.py`).
    pub fused_cross_entropy: bool,
    /// Norms, gated activations and rotary embedding are one kernel each that keeps its input alone (Megatron-Core:
    /// `TENorm`, `fused_bias_swiglu.py`, `apply_rope_fusion`).
    pub fused_layers: bool,
    /// "Selective" checkpointing keeps the results of attention and of every other matrix product and computes the rest
    /// again (`apply_ac` with `selective_ac_option = "op"` in torchtitan).
    pub keeps_products: bool,
    /// Logits become fp32 in the model and the loss is taken of a copy without the last token (transformers before 4.50 of
    /// March 2025: `shift_logits = logits[..., :-1, :].contiguous()`; since then labels are shifted instead).
    pub shifts_logits: bool,
    /// Logits become fp32 as they leave the model, beside those that the loss keeps (`convert_outputs_to_fp32` of
    /// accelerate).
    pub converts_outputs: bool,
    /// The model is compiled (`torch.compile`): what stands between the products is one kernel each time, which keeps its
    /// input. Saved tensors of compiled Llama, Qwen3 and GPT-2 layers, listed with torch 2.15.
    pub compiled: bool,
    /// int8 weights are torchao's for training: a function that keeps its input, makes the matrix 16-bit for each product
    /// and, in backward, computes the frozen matrix' gradient too (`_Int8WeightOnlyLinear` of
    /// `torchao/prototype/quantized_training/int8.py`, which `SimpleTuner`'s `int8-torchao` stands for).
    pub int8_for_training: bool,
    /// Linear layers lie in main memory and come to the card for each product; the function that does so keeps its input
    /// (`BouncingLinearFn` of `RamTorch`).
    pub streamed_linears: bool,
    /// Denoisers whose trainer joins their projections run with one for query, key and value (`SimpleTuner`).
    pub joint_projections: bool,
    /// Adapters take a layer's input as it is; PEFT brings it to the adapter's format first (`LoRAModule.forward` of
    /// kohya's networks/lora.py and of `OneTrainer`).
    pub plain_adapters: bool,
    /// Denoisers with linear attention are not checkpointed whatever is asked for: peaks of Sana and its video model are the same
    /// with and without (`SimpleTuner`, `documentation/experimental/SEGMENTED_CHECKPOINTING.md`).
    pub unchecked_linear_attention: bool,
    /// Dense 3 x 3 convolutions take the workspace of cuDNN's `WINOGRAD_NONFUSED`, which it prefers for fp32 without tensor
    /// cores: tiles of 4 x 4 outputs become 36 numbers, of inputs and outputs alike (Lavin and Gray 2015, F(4 x 4, 3 x 3)).
    pub transforms_convolutions: bool,
    /// Ultralytics' assigner writes out the distances of every place from every object's sides (`select_candidates_in_gts` in
    /// `ultralytics/utils/tal.py` up to 2024).
    pub wide_assigner: bool,
    /// A chunk's part of the head's gradient is added where the gradient is (`torch.addmm(..., out=grad_weight)` of Liger
    /// before 0.7; since then it is made beside it, and once more in fp32).
    pub adds_head_gradient: bool,
}

/// A training step with every switch set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepConfig {
    /// Samples per forward pass.
    pub batch: u64,
    /// Tokens per sample.
    pub sequence: u64,
    /// Tokens per sample of the decoder of an encoder-decoder; same as `sequence` if `None`.
    pub decoder_sequence: Option<u64>,
    /// Head and loss.
    pub task: Task,
    /// What is trained.
    pub trained: Trained,
    /// Format in which weights are loaded.
    pub weights: Dtype,
    /// Autocast to this format during forward.
    pub autocast: Option<Dtype>,
    /// fp32 master weights beside 16-bit ones; all gradients are copied to fp32 for the step (DeepSpeed, Megatron).
    pub master_weights: bool,
    /// Quantized linear layers of the blocks.
    pub quantization: Option<Quantization>,
    /// PEFT's k-bit preparation: what is not quantized becomes fp32.
    pub kbit_prepare: bool,
    /// What the library writes in another way than transformers does.
    pub code: Code,
    /// Format of adapters.
    pub adapter: Dtype,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// Its implementation.
    pub optimizer_impl: StepImpl,
    /// Gradient checkpointing.
    pub checkpointing: Checkpointing,
    /// PyTorch's old reentrant checkpointing.
    pub reentrant: bool,
    /// Attention kernel.
    pub attention: AttentionKernel,
    /// Loss.
    pub loss: Loss,
    /// The caller keeps logits alive through backward.
    pub hold_outputs: bool,
    /// Micro-batches per optimizer step.
    pub accumulation: u64,
    /// How the step is laid out over several cards.
    pub shards: Shards,
}
