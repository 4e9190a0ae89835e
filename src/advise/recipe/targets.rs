//! Which matrices get adapters, by the names that transformers has for them.

use super::Job;
use crate::catalog::LanguageKind;
use crate::project::LoraTargets;

/// All matrices of a block as Llama and most since name them.
pub(super) const LINEAR: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

/// What a family calls the matrices of attention.
struct Names {
    /// Queries and values, or the matrix that makes both.
    qv: &'static [&'static str],
    /// Keys, where they have a matrix of their own.
    key: Option<&'static str>,
    output: &'static str,
}

const fn apart(qv: &'static [&'static str], key: &'static str, output: &'static str) -> Names {
    Names { qv, key: Some(key), output }
}

const fn fused(qkv: &'static [&'static str], output: &'static str) -> Names {
    Names { qv: qkv, key: None, output }
}

/// Names in the models' public code (`modeling_*.py` of transformers, and what the repositories bring themselves).
fn attention(job: &Job<'_>) -> Names {
    let Some(model) = job.model.language() else { return apart(&["q_proj", "v_proj"], "k_proj", "o_proj") };
    match model.family {
        "T5" => apart(&["q", "v"], "k", "o"),
        "OPT" | "BART" | "GPT-Neo" | "GPT-J" => apart(&["q_proj", "v_proj"], "k_proj", "out_proj"),
        "GPT-2" | "StarCoder" | "Qwen" => fused(&["c_attn"], "attn.c_proj"),
        "Falcon" | "BLOOM" | "ChatGLM" => fused(&["query_key_value"], "self_attention.dense"),
        "Pythia" | "GPT-NeoX" => fused(&["query_key_value"], "attention.dense"),
        "MPT" => fused(&["Wqkv"], "attn.out_proj"),
        "InternLM2" | "InternLM2.5" => fused(&["wqkv"], "wo"),
        "Baichuan2" => fused(&["W_pack"], "o_proj"),
        "Phi" if model.norm.starts_with("rmsnorm") => fused(&["qkv_proj"], "o_proj"),
        "Phi" => apart(&["q_proj", "v_proj"], "k_proj", "dense"),
        "ModernBERT" => fused(&["Wqkv"], "attn.Wo"),
        "DistilBERT" => apart(&["q_lin", "v_lin"], "k_lin", "out_lin"),
        "DeBERTa-v3" => apart(&["query_proj", "value_proj"], "key_proj", "attention.output.dense"),
        _ if model.kind == LanguageKind::Encoder => apart(&["query", "value"], "key", "attention.output.dense"),
        _ => apart(&["q_proj", "v_proj"], "k_proj", "o_proj"),
    }
}

/// Whether the head can be named beside all else: a model written as Llama is.
pub(super) fn names_head(job: &Job<'_>) -> bool {
    job.model.language().is_some_and(|m| m.gated && m.kind == LanguageKind::Decoder)
        && attention(job).key == Some("k_proj")
        && attention(job).output == "o_proj"
}

/// The matrices by name; none where every linear one is meant, for which each library has a word.
pub(super) fn names(job: &Job<'_>) -> Option<Vec<&'static str>> {
    let Names { qv, key, output } = attention(job);
    match job.project.lora.targets {
        LoraTargets::QV => Some(qv.to_vec()),
        LoraTargets::Attention => Some(qv.iter().copied().chain(key).chain([output]).collect()),
        LoraTargets::AllLinear => None,
        LoraTargets::AllLinearAndHead => Some(LINEAR.into_iter().chain(["lm_head"]).collect()),
    }
}
