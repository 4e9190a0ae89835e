//! Rows as the catalog's own types, and the cells that hold more than one number.

use super::language::{LanguageKind, LanguageModel};
use super::table::Row;

/// The architecture that a row of `llm.csv` states.
pub(crate) fn language(row: &Row) -> LanguageModel {
    let whole = |column| u32::try_from(row.count(column)).unwrap_or(u32::MAX);
    LanguageModel {
        kind: match row.text("kind") {
            "encoder" => LanguageKind::Encoder,
            "encoder-decoder" => LanguageKind::EncoderDecoder,
            _ => LanguageKind::Decoder,
        },
        family: row.text("family"),
        params_active: row.count("params_active"),
        layers: whole("layers"),
        hidden: whole("hidden"),
        intermediate: whole("intermediate"),
        heads: whole("heads"),
        kv_heads: whole("kv_heads"),
        head_dim: whole("head_dim"),
        vocab: whole("vocab"),
        tied_embeddings: row.text("tied_embeddings") == "yes",
        gated: row.text("mlp") == "gated",
        norm: row.text("norm"),
        attention: row.text("attention"),
        moe_experts: whole("moe_experts"),
        moe_active: whole("moe_active"),
        moe_shared: whole("moe_shared"),
        moe_intermediate: whole("moe_intermediate"),
        dense_layers_first: row.text("dense_layers_first"),
        max_context: whole("max_context"),
        bias: row.text("qkv_bias"),
        positional: row.text("positional"),
        extras: row.text("extras"),
    }
}

/// The side and the depth of an input: `224`, `128x128x128`, `224 x 16 frames`, `128 in, 512 out`.
pub(crate) fn input_size(printed: &str) -> (f64, f64) {
    let numbers: Vec<f64> =
        printed.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
    let side = numbers.first().copied().unwrap_or(0.0);
    let depth = if printed.contains('x') { numbers.get(1).copied().unwrap_or(1.0) } else { 1.0 };
    (side, depth)
}

/// The text tokens that all encoders hand on together: `77 + 256 (T5)` are 333. Digits inside names do not count.
pub(crate) fn text_length(printed: &str) -> Option<f64> {
    let lengths: Vec<f64> = printed.split([' ', '(', ')']).filter_map(|word| word.parse().ok()).collect();
    (!lengths.is_empty()).then(|| lengths.iter().sum())
}

/// Name and parameters of the network that an adapter hangs on: `frozen SD1.5 UNet 859520964`.
pub(crate) fn frozen(printed: &str) -> Option<(&str, u64)> {
    let (name, params) = printed.strip_prefix("frozen ")?.rsplit_once(' ')?;
    Some((name, params.parse().ok()?))
}
