//! How the libraries write the families: which matrices are fused, which activation, where norms and dropout stand.
//!
//! Read from the models' public code (transformers 5); none of it is fitted.

use crate::catalog::LanguageModel;

/// Activation function of the MLP, as far as memory is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    Silu,
    Gelu,
    GeluNew,
    Relu,
    ReluSquared,
}

/// Norm as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Norm {
    Rms,
    Gemma,
    T5,
    Layer { weight: bool, bias: bool },
}

/// Where attention and MLP meet the residual stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Residual {
    Sequential,
    PostNorm,
    Parallel { shared_norm: bool },
}

/// How a family is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub(crate) activation: Activation,
    pub(crate) norm: Norm,
    pub(crate) residual: Residual,
    pub(crate) post_norms: bool,
    pub(crate) qk_norm: bool,
    pub(crate) qk_full_norm: bool,
    pub(crate) fused_qkv: bool,
    /// The fused matrix is cut by indexing (a full-size gradient per part) rather than by `split`.
    pub(crate) qkv_by_slices: bool,
    pub(crate) fused_gate_up: bool,
    pub(crate) qkv_bias: bool,
    pub(crate) out_bias: bool,
    pub(crate) mlp_bias: bool,
    pub(crate) head_bias: bool,
    pub(crate) rotary_share: f64,
    /// Rotated and plain columns are put together by `cat`, which lays heads out one after another.
    pub(crate) cat_rotary: bool,
    /// Attention targets of adapters take the output projection in.
    pub(crate) adapts_attention_out: bool,
    pub(crate) learned_positions: bool,
    pub(crate) scaled_embedding: bool,
    pub(crate) final_norm: bool,
    pub(crate) dropout: f64,
    pub(crate) attention_dropout: f64,
    pub(crate) attention_softcap: bool,
    pub(crate) logit_softcap: bool,
    pub(crate) upcast_softmax: bool,
    /// The router computes in fp32 from the input on.
    pub(crate) wide_router: bool,
}

impl Style {
    /// The style of a catalog row: what its columns say, then what its family is known for.
    pub(crate) fn of(model: &LanguageModel) -> Self {
        let mut parts = model.norm.split(';').map(str::trim);
        let name = parts.next().unwrap_or("rmsnorm");
        let options: Vec<&str> = parts.collect();
        let bias = |kinds: &[&str]| kinds.contains(&model.bias);
        let layer = |weight, bias| Norm::Layer { weight, bias };
        let mut style = Self {
            activation: if model.gated { Activation::Silu } else { Activation::Gelu },
            norm: match name {
                "layernorm" => layer(true, true),
                "layernorm-nobias" => layer(true, false),
                "layernorm-noparam" => layer(false, false),
                _ => Norm::Rms,
            },
            residual: if options.contains(&"1/layer") {
                Residual::Parallel { shared_norm: true }
            } else {
                Residual::Sequential
            },
            post_norms: options.contains(&"4/layer"),
            qk_norm: options.contains(&"qk-head"),
            qk_full_norm: options.contains(&"qk-full"),
            fused_qkv: false,
            qkv_by_slices: false,
            fused_gate_up: false,
            qkv_bias: bias(&["qkv", "qkvo", "all"]),
            out_bias: bias(&["qkvo", "all"]),
            mlp_bias: bias(&["mlp", "all"]),
            head_bias: false,
            rotary_share: if model.positional == "rope" { 1.0 } else { 0.0 },
            cat_rotary: false,
            adapts_attention_out: true,
            learned_positions: model.positional == "learned",
            scaled_embedding: false,
            final_norm: true,
            dropout: 0.0,
            attention_dropout: 0.0,
            attention_softcap: false,
            logit_softcap: false,
            upcast_softmax: true,
            wide_router: model.attention.starts_with("mla"),
        };
        style.family(model.family);
        style
    }

    /// The plain-MLP, `LayerNorm` kind that GPT-NeoX began.
    fn fused_classic(&self) -> bool {
        self.activation == Activation::Gelu && self.mlp_bias
    }

    fn family(&mut self, family: &str) {
        match family {
            "GPT-2" | "GPT-3" | "NanoGPT" => {
                self.activation = Activation::GeluNew;
                self.fused_qkv = true;
                self.dropout = 0.1;
                self.attention_dropout = 0.1;
                self.upcast_softmax = false;
                self.adapts_attention_out = false;
            }
            "OPT" | "Transformer-XL" => {
                self.activation = Activation::Relu;
                self.dropout = 0.1;
            }
            "GPT-Neo" | "GPT-J" => self.activation = Activation::GeluNew,
            "nanochat" => self.activation = Activation::ReluSquared,
            "Falcon" | "MPT" | "BLOOM" | "StarCoder" | "InternLM2" | "InternLM2.5" | "Baichuan2" | "Qwen" => {
                self.fused_qkv = true;
            }
            "Pythia" | "GPT-NeoX" | "StableLM" if self.fused_classic() => {
                self.fused_qkv = true;
                self.residual = Residual::Parallel { shared_norm: false };
                self.rotary_share = 0.25;
                self.cat_rotary = true;
            }
            "Gemma" | "Gemma 2" | "Gemma 3" | "Gemma 3n" | "Gemma 4" => {
                self.norm = Norm::Gemma;
                self.activation = Activation::Gelu;
                self.scaled_embedding = true;
                if family == "Gemma 2" {
                    self.attention_softcap = true;
                    self.logit_softcap = true;
                }
            }
            // Weight plus one in every norm, a quarter of each head rotated.
            "Qwen3-Next" | "Qwen3.5" | "Qwen3.6" => {
                self.norm = Norm::Gemma;
                self.rotary_share = 0.25;
                self.cat_rotary = true;
            }
            "Phi" if self.norm == Norm::Rms => {
                self.fused_qkv = true;
                self.qkv_by_slices = true;
                self.fused_gate_up = true;
                self.cat_rotary = true;
            }
            // phi-1, phi-1.5, phi-2: one norm for both branches, half of each head rotated.
            "Phi" if self.residual == (Residual::Parallel { shared_norm: true }) => {
                self.activation = Activation::GeluNew;
                self.rotary_share = 0.5;
                self.cat_rotary = true;
            }
            "GLM-4" | "ChatGLM" => {
                self.fused_gate_up = true;
                self.rotary_share = 0.5;
                self.cat_rotary = true;
            }
            "OLMo 2" | "OLMo 3" => {
                self.residual = Residual::PostNorm;
                self.post_norms = false;
            }
            "ModernBERT" => {
                self.fused_qkv = true;
                self.fused_gate_up = true;
                self.activation = Activation::Gelu;
            }
            "BERT" | "RoBERTa" | "XLM-R" | "BGE" | "BGE-M3" | "MiniLM" | "ERNIE" | "DeBERTa-v3" | "DistilBERT"
            | "XLNet" | "BART" => {
                self.dropout = 0.1;
                self.attention_dropout = 0.1;
            }
            "T5" => {
                self.norm = Norm::T5;
                // T5's plain MLP has a ReLU, its gated one (1.1, mT5, FLAN) transformers' `gelu_new`.
                self.activation =
                    if self.activation == Activation::Silu { Activation::GeluNew } else { Activation::Relu };
                self.dropout = 0.1;
                self.attention_dropout = 0.1;
            }
            _ => {}
        }
    }
}
