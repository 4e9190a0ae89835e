//! The switches of a project. Each has a stable id, which stands in share links, and lists its own choices.

use serde::{Deserialize, Serialize};

/// A setting with a fixed list of choices.
pub trait Choice: Copy + PartialEq + Sized + 'static {
    /// All choices in the order they are shown.
    const ALL: &'static [Self];
    /// The stable id, as it stands in share links and in the files of cases.
    fn id(self) -> &'static str;
    /// The choice with this id.
    fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.id() == id)
    }
}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $id:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $id)] $variant,)+ }
        impl Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];
            fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }
        }
    };
}

mod several;

pub use several::{Interconnect, Network, Sharding};

choices! {
    /// What is trained.
    Method {
        /// All weights, from a pretrained start.
        #[default]
        Full = "full",
        /// All weights, from random numbers.
        Scratch = "scratch",
        /// The upper layers; the lower `frozen_share` stays fixed.
        Freeze = "freeze",
        /// Only the last layer, on a frozen backbone.
        Head = "head",
        /// Low-rank adapters beside frozen 16-bit weights.
        Lora = "lora",
        /// Low-rank adapters beside a frozen 4-bit base.
        QLora = "qlora",
    }
}

choices! {
    /// Which linear layers carry adapters.
    LoraTargets {
        /// Query and value projections.
        QV = "qv",
        /// All attention projections.
        Attention = "attn",
        /// Every linear layer of the blocks.
        #[default]
        AllLinear = "all-linear",
        /// Every linear layer of the blocks and the output head, which so makes logits twice.
        AllLinearAndHead = "all-linear-head",
    }
}

choices! {
    /// Number format of weights and arithmetic.
    Precision {
        /// Everything in fp32.
        Fp32 = "fp32",
        /// fp32 weights, bf16 arithmetic where safe (autocast).
        #[default]
        AmpBf16 = "amp-bf16",
        /// fp32 weights, fp16 arithmetic where safe, with loss scaling.
        AmpFp16 = "amp-fp16",
        /// Weights, gradients and optimizer state in bf16.
        PureBf16 = "bf16",
        /// bf16 weights and gradients with fp32 master weights (DeepSpeed, Megatron).
        MasterBf16 = "bf16-master",
    }
}

choices! {
    /// Format of frozen base weights (adapters, diffusion).
    BaseFormat {
        /// What the method and the precision imply.
        #[default]
        AsPrecision = "auto",
        /// 4 bytes a weight.
        Fp32 = "fp32",
        /// 2 bytes a weight.
        Bf16 = "bf16",
        /// 1 byte a weight.
        Fp8 = "fp8",
        /// 1 byte a weight, and activations brought to fp8 for each product (torchao's dynamic quantization).
        Fp8Dynamic = "fp8-dynamic",
        /// 1 byte a weight and scales (LLM.int8).
        Int8 = "int8",
        /// Half a byte a weight and an fp32 scale per 64 weights (bitsandbytes).
        Nf4 = "nf4",
        /// The same with the scales quantized to 8 bit (double quantization).
        Nf4Double = "nf4-dq",
        /// Half a byte a weight, a 16-bit scale and a 4-bit zero per 128 weights (GPTQ, AWQ).
        Int4 = "int4",
    }
}

choices! {
    /// The optimizer and so what it remembers for each weight.
    Optimizer {
        /// Two moments in the weight's format.
        #[default]
        AdamW = "adamw",
        /// Two 8-bit moments (bitsandbytes).
        AdamW8bit = "adamw8bit",
        /// Two 8-bit moments that may move to main memory.
        PagedAdamW8bit = "paged-adamw8bit",
        /// Two fp32 moments that may move to main memory.
        PagedAdamW = "paged-adamw",
        /// Row and column sums instead of the second moment.
        Adafactor = "adafactor",
        /// Nothing.
        Sgd = "sgd",
        /// One moment.
        SgdMomentum = "sgd-momentum",
        /// One moment.
        Lion = "lion",
        /// One moment for matrices, AdamW for the rest.
        Muon = "muon",
        /// Moments in a low-rank projection of the gradient.
        Galore = "galore",
    }
}

choices! {
    /// How the optimizer's step is carried out.
    OptimizerImpl {
        /// The framework's default.
        #[default]
        Auto = "auto",
        /// All weights at once, with temporaries as large as a state.
        Foreach = "foreach",
        /// One kernel, no temporaries.
        Fused = "fused",
        /// Weight by weight.
        Loop = "loop",
        /// Weight by weight during backward, each gradient freed at once.
        InBackward = "in-backward",
    }
}

choices! {
    /// Gradient (activation) checkpointing.
    Checkpointing {
        /// Everything that backward needs is kept.
        #[default]
        Off = "off",
        /// One input per block is kept, the rest is computed again.
        PerBlock = "on",
        /// One input per two blocks is kept, both are computed again.
        Pairs = "pairs",
        /// Only the attention core is computed again (Megatron), or every other stretch of blocks (denoisers).
        Selective = "selective",
        /// As per block, and the kept inputs wait in main memory (Unsloth, torchtune's activation offloading).
        Offloaded = "offload",
    }
}

choices! {
    /// What waits in main memory instead of on the card.
    Offload {
        /// Nothing.
        #[default]
        None = "none",
        /// Optimizer state; the step runs on the processor (`DeepSpeed` ZeRO-Offload).
        Optimizer = "optimizer",
        /// Weights, brought to the card layer by layer.
        Weights = "weights",
        /// Weights and optimizer state.
        All = "all",
        /// The same on a fast disk, with buffers in main memory (`DeepSpeed` ZeRO-Infinity).
        Nvme = "nvme",
    }
}

choices! {
    /// What sits on top of a language model.
    LanguageTask {
        /// What the model is made for: the next token for decoders, a label for encoders.
        #[default]
        Auto = "auto",
        /// The next token.
        NextToken = "lm",
        /// Masked tokens.
        Masked = "mlm",
        /// A label or a number per sequence: no vocabulary.
        Classification = "cls",
        /// A vector per sequence.
        Embedding = "embed",
    }
}

choices! {
    /// What one sample of the loss is.
    Objective {
        /// One sequence (or picture, or clip).
        #[default]
        Likelihood = "likelihood",
        /// A chosen and a rejected sequence, compared with a frozen reference (DPO). Adapters switched off are the
        /// reference; without adapters it is a second model.
        Preference = "dpo",
        /// The same without a reference (`SimPO`, ORPO).
        PreferenceWithoutReference = "simpo",
        /// Answers that the model itself samples, weighed by a reward (GRPO). What the update takes is counted, the
        /// sampling is not.
        Sampled = "grpo",
    }
}

choices! {
    /// Where the text encoders of a diffusion model are while its denoiser is trained.
    TextEncoders {
        /// With the VAE: off the card where latents are cached.
        #[default]
        Auto = "auto",
        /// Off the card: captions are encoded beforehand.
        Cached = "cached",
        /// On the card, frozen.
        Resident = "resident",
        /// On the card, and trained with the denoiser.
        Trained = "trained",
    }
}

choices! {
    /// Attention kernel.
    Attention {
        /// Flash where the card and the format allow it, else what PyTorch chooses.
        #[default]
        Auto = "auto",
        /// Scores and probabilities written out.
        Eager = "eager",
        /// PyTorch's composed fallback.
        Math = "math",
        /// Memory-efficient kernel (xFormers).
        Efficient = "efficient",
        /// FlashAttention-2.
        Flash = "flash",
    }
}

choices! {
    /// How logits and cross-entropy are computed.
    LossKernel {
        /// The framework's default.
        #[default]
        Auto = "auto",
        /// Logits cast to fp32, as in Hugging Face transformers.
        Upcast = "hf",
        /// Logits kept in 16 bit.
        NoUpcast = "no-upcast",
        /// A piece of the sequence at a time.
        Chunked = "chunked",
        /// Linear and loss fused (Liger, cut cross-entropy): no full logits.
        Fused = "fused",
    }
}

choices! {
    /// The training library: a named set of switches.
    Framework {
        /// Hugging Face Trainer, TRL and PEFT.
        #[default]
        Transformers = "transformers",
        /// LLaMA-Factory.
        LlamaFactory = "llama-factory",
        /// Axolotl.
        Axolotl = "axolotl",
        /// Unsloth.
        Unsloth = "unsloth",
        /// ms-swift.
        MsSwift = "ms-swift",
        /// torchtune.
        Torchtune = "torchtune",
        /// LitGPT.
        Litgpt = "litgpt",
        /// TorchTitan.
        Torchtitan = "torchtitan",
        /// Megatron-LM.
        Megatron = "megatron",
        /// MosaicML llm-foundry.
        LlmFoundry = "llm-foundry",
        /// A plain PyTorch loop.
        Pytorch = "pytorch",
        /// Hugging Face diffusers scripts.
        Diffusers = "diffusers",
        /// kohya sd-scripts.
        Kohya = "kohya",
        /// SimpleTuner.
        SimpleTuner = "simpletuner",
        /// OneTrainer.
        OneTrainer = "onetrainer",
        /// ostris ai-toolkit.
        AiToolkit = "ai-toolkit",
        /// Ultralytics YOLO.
        Ultralytics = "ultralytics",
        /// `MMDetection`, `MMSegmentation` and their kin.
        OpenMmlab = "openmmlab",
    }
}

/// Low-rank adapters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lora {
    /// Rank of the two factors.
    pub rank: u64,
    /// Which linear layers carry them.
    pub targets: LoraTargets,
    /// Dropout on the adapter's input; 0 saves a copy of every input.
    pub dropout: f64,
    /// What stands for the two factors.
    #[serde(skip)]
    pub kind: Adapter,
    /// Embedding and output head are trained whole beside the adapters, as copies (`modules_to_save` of PEFT).
    #[serde(skip)]
    pub ends: bool,
}

/// Small weights beside frozen ones, as PEFT and `LyCORIS` write them. No form asks for it: two thin matrices are what nearly
/// everybody trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Adapter {
    /// Two thin matrices.
    #[default]
    Lora,
    /// A Kronecker product of two full ones (`LyCORIS`' `LoKr`).
    Kronecker,
    /// Two thin matrices with weights between that tell which columns count.
    AdaLora,
    /// Two thin matrices, and a trained length of each row of the sum.
    Dora,
    /// Two random matrices that all layers share, and trained scales.
    Vera,
    /// Scales of keys, values and of what enters the MLP's last matrix.
    Ia3,
    /// Rotations of the input, block by block; the rank is the block's size.
    Oft,
    /// One thin matrix over sums of the input's columns (`MiSS`, once called Bone).
    Miss,
    /// As many trained tokens as the rank says, before the prompt or before keys and values.
    Tokens,
    /// The norms' own weights.
    Norms,
    /// Keys and values of ten trained tokens, looked at beside the text from the third layer on, behind a gate
    /// (LLaMA-Adapter, `LitGPT`'s adapter.py).
    Prompted,
    /// The same, with a scale and a bias of every linear layer's result, and the norms (its `adapter_v2.py`).
    Scales,
}

impl Default for Lora {
    fn default() -> Self {
        Self { rank: 16, targets: LoraTargets::AllLinear, dropout: 0.05, kind: Adapter::Lora, ends: false }
    }
}

impl Objective {
    /// Whether two sequences are compared in each sample.
    pub const fn compares(self) -> bool {
        matches!(self, Self::Preference | Self::PreferenceWithoutReference)
    }
}

impl Offload {
    /// Whether weights, and whether optimizer states, are away from the card.
    pub const fn parts(self) -> (bool, bool) {
        match self {
            Self::None => (false, false),
            Self::Optimizer => (false, true),
            Self::Weights => (true, false),
            Self::All | Self::Nvme => (true, true),
        }
    }
}

impl Checkpointing {
    /// True where whole blocks are computed again.
    pub const fn recomputes(self) -> bool {
        matches!(self, Self::PerBlock | Self::Offloaded)
    }
}

impl Method {
    /// True where only adapters are trained.
    pub fn is_adapter(self) -> bool {
        matches!(self, Self::Lora | Self::QLora)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_find_their_choice() {
        fn check<C: Choice + std::fmt::Debug>() {
            for c in C::ALL {
                assert_eq!(C::from_id(c.id()), Some(*c));
            }
            assert_eq!(C::from_id("no such thing"), None);
        }
        check::<Method>();
        check::<Precision>();
        check::<Optimizer>();
        check::<Framework>();
        check::<Sharding>();
        check::<LossKernel>();
    }
}

choices! {
    /// Whose electricity a bought card runs on.
    Place {
        /// The place that goes with the currency.
        #[default]
        Auto = "auto",
        /// A household in mainland China.
        China = "china",
        /// A business in mainland China.
        ChinaBusiness = "china-business",
        /// A household in the United States.
        UnitedStates = "us",
        /// A household in the European Union.
        EuropeanUnion = "eu",
        /// A household in Germany.
        Germany = "germany",
    }
}

choices! {
    /// What a figure of memory was read from.
    Meter {
        /// `nvidia-smi` and its like: everything on the card.
        #[default]
        Smi = "smi",
        /// `torch.cuda.max_memory_allocated`.
        Allocated = "allocated",
        /// `torch.cuda.max_memory_reserved`.
        Reserved = "reserved",
    }
}
