//! The architecture of a language model, as a row of `llm.csv` states it.

use super::grammar::{AttentionPlan, ExpertLayers, Extras, Norms, UnknownWord};

/// Transformer family kind of a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum LanguageKind {
    Decoder,
    Encoder,
    EncoderDecoder,
}

/// Architecture of a language model, by the columns of `llm.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct LanguageModel {
    /// Decoder, encoder, both.
    pub kind: LanguageKind,
    /// Family name, as `Qwen2.5`.
    pub family: &'static str,
    /// Parameters active for one token.
    pub params_active: u64,
    /// Layers (of each side in an encoder-decoder).
    pub layers: u32,
    /// Hidden size.
    pub hidden: u32,
    /// MLP width.
    pub intermediate: u32,
    /// Query heads.
    pub heads: u32,
    /// Key/value heads.
    pub kv_heads: u32,
    /// Size of a head.
    pub head_dim: u32,
    /// Vocabulary.
    pub vocab: u32,
    /// Output head shares the embedding.
    pub tied_embeddings: bool,
    /// Gated MLP (three matrices) or plain (two).
    pub gated: bool,
    /// Norm grammar, see `data/README.md`: `rmsnorm;4/layer;qk-head`.
    pub norm: &'static str,
    /// Attention grammar: `full`, `sliding:4096/5:1`, `mla:q=..,kv=..`, `hybrid:...`.
    pub attention: &'static str,
    /// Routed experts; 0 = dense.
    pub moe_experts: u32,
    /// Experts per token.
    pub moe_active: u32,
    /// Shared experts, in widths of `moe_intermediate`.
    pub moe_shared: u32,
    /// Width of an expert.
    pub moe_intermediate: u32,
    /// First layers without experts: `3`, or `interleave:N`, or empty.
    pub dense_layers_first: &'static str,
    /// Longest context it was made for; 0 = not stated.
    pub max_context: u32,
    /// Which linear layers have biases: `no`, `qkv`, `qkvo`, `mlp`, `all`.
    pub bias: &'static str,
    /// `rope`, `learned`, `relative`, `alibi`.
    pub positional: &'static str,
    /// Parts beside the usual ones, see [`Extras`]: `token-types=2,pooler`; empty for most.
    pub extras: &'static str,
}

impl LanguageModel {
    /// A decoder of Llama's kind without layers: what a description of a model starts from.
    pub const BLANK: Self = Self {
        kind: LanguageKind::Decoder,
        family: "Llama 3",
        params_active: 0,
        layers: 0,
        hidden: 0,
        intermediate: 0,
        heads: 0,
        kv_heads: 0,
        head_dim: 0,
        vocab: 0,
        tied_embeddings: false,
        gated: true,
        norm: "rmsnorm",
        attention: "full",
        moe_experts: 0,
        moe_active: 0,
        moe_shared: 0,
        moe_intermediate: 0,
        dense_layers_first: "",
        max_context: 0,
        bias: "no",
        positional: "rope",
        extras: "",
    };

    /// The `norm` column, parsed.
    pub fn norms(&self) -> Result<Norms, UnknownWord> {
        Norms::parse(self.norm)
    }

    /// The `attention` column, parsed.
    pub fn attention_plan(&self) -> Result<AttentionPlan, UnknownWord> {
        AttentionPlan::parse(self.attention)
    }

    /// Which layers have experts, in a model that has any.
    pub fn expert_layers(&self) -> Result<ExpertLayers, UnknownWord> {
        ExpertLayers::parse(self.dense_layers_first)
    }

    /// The `extras` column, parsed.
    pub fn extra_parts(&self) -> Result<Extras, UnknownWord> {
        Extras::parse(self.extras)
    }
}
