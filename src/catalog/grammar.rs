//! The small grammar of the columns `norm`, `attention`, `dense_layers_first` and `extras` of `llm.csv`, parsed.
//!
//! Words are separated by `;` (norm) or `,` (the rest); an option is `name` or `name=number`. `data/README.md` explains
//! every word. A word that nobody knows is an error: the build stops at it.

/// A word that the grammar does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord(pub String);

/// Which normalisation a model uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Root mean square with a weight.
    Rms,
    /// Layer norm with weight and bias.
    Layer,
    /// Layer norm with a weight only.
    LayerNoBias,
    /// Layer norm without weights.
    LayerNoWeights,
}

impl NormKind {
    /// Vectors of weights that one norm has.
    pub fn vectors(self) -> u64 {
        match self {
            Self::Layer => 2,
            Self::Rms | Self::LayerNoBias => 1,
            Self::LayerNoWeights => 0,
        }
    }
}

/// Normalisation of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QkNorm {
    /// None.
    None,
    /// Over one head: a weight of the head's size for queries and one for keys.
    Head,
    /// Over all heads together.
    Full,
}

/// The `norm` column: `rmsnorm;4/layer;qk-head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Norms {
    /// Which.
    pub kind: NormKind,
    /// Norms in a layer.
    pub per_layer: u64,
    /// Norms of queries and keys.
    pub qk: QkNorm,
}

impl Norms {
    /// Reads the column.
    pub fn parse(text: &str) -> Result<Self, UnknownWord> {
        let mut words = text.split(';').map(str::trim);
        let kind = match words.next().unwrap_or("") {
            "rmsnorm" => NormKind::Rms,
            "layernorm" => NormKind::Layer,
            "layernorm-nobias" => NormKind::LayerNoBias,
            "layernorm-noparam" => NormKind::LayerNoWeights,
            other => return Err(UnknownWord(other.to_owned())),
        };
        let mut norms = Self { kind, per_layer: 2, qk: QkNorm::None };
        for word in words {
            match (word, word.strip_suffix("/layer").and_then(|n| n.parse().ok())) {
                (_, Some(per_layer)) => norms.per_layer = per_layer,
                ("qk-head", _) => norms.qk = QkNorm::Head,
                ("qk-full", _) => norms.qk = QkNorm::Full,
                _ => return Err(UnknownWord(word.to_owned())),
            }
        }
        Ok(norms)
    }
}

/// Multi-head latent attention (`mla`): widths of the compressed query and key/value and of a head's pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latent {
    /// Compressed query; 0 = queries are not compressed.
    pub query: u64,
    /// Compressed keys and values.
    pub key_value: u64,
    /// Part of a head without positions.
    pub nope: u64,
    /// Part of a head with rotary positions.
    pub rope: u64,
    /// Value size of a head.
    pub value: u64,
    /// Heads of the sparse-attention indexer; 0 = none.
    pub index_heads: u64,
    /// Size of an indexer head.
    pub index_dim: u64,
}

/// Gated delta-rule linear attention (`hybrid:gdn`): heads and their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatedDelta {
    /// Value heads.
    pub value_heads: u64,
    /// Key heads.
    pub key_heads: u64,
    /// Size of a key head.
    pub key_dim: u64,
    /// Size of a value head.
    pub value_dim: u64,
    /// Taps of the short convolution.
    pub conv: u64,
}

/// What computes attention in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionCore {
    /// Softmax attention over grouped heads.
    Softmax,
    /// Multi-head latent attention.
    Latent(Latent),
    /// Linear attention in local layers, gated softmax attention (twice the query width) in global ones.
    GatedDelta(GatedDelta),
    /// Known by name only: the columns do not carry its sizes.
    Unspecified,
}

/// The `attention` column, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionPlan {
    /// What computes it.
    pub core: AttentionCore,
    /// Tokens that a local layer sees, where layers are local.
    pub window: Option<u64>,
    /// Local layers in a row, then `global` global ones; 0 = all layers are alike.
    pub local: u64,
    /// Global layers in a row.
    pub global: u64,
    /// Key/value heads of global layers, where they differ.
    pub global_kv_heads: Option<u64>,
    /// Head size of global layers, where it differs.
    pub global_head_dim: Option<u64>,
    /// Keys serve as values in global layers.
    pub keys_are_values: bool,
    /// Last layers that reuse keys and values of earlier ones.
    pub sharing_layers: u64,
    /// Those layers have an MLP of twice the width.
    pub sharing_layers_wide: bool,
    /// A learned attention sink per head.
    pub sinks: bool,
    /// Width of the embedding that every layer adds (`ple`); 0 = none.
    pub per_layer_embedding: u64,
    /// Parallel residual streams (`altup`); 0 = one ordinary stream.
    pub streams: u64,
    /// Rank of the learned low-rank residual beside attention (`laurel`).
    pub laurel: u64,
}

impl AttentionPlan {
    /// Reads the column.
    pub fn parse(text: &str) -> Result<Self, UnknownWord> {
        let mut plan = Self {
            core: AttentionCore::Softmax,
            window: None,
            local: 0,
            global: 1,
            global_kv_heads: None,
            global_head_dim: None,
            keys_are_values: false,
            sharing_layers: 0,
            sharing_layers_wide: false,
            sinks: false,
            per_layer_embedding: 0,
            streams: 0,
            laurel: 0,
        };
        let (head, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut words = rest.split(',').map(str::trim);
        match head {
            "full" => {}
            // Recurrent layers: no attention between a side's own tokens.
            "lstm" => {
                plan.core = AttentionCore::Unspecified;
                return Ok(plan);
            }
            _ if rest.contains("compressed") || rest.starts_with("kda") => {
                plan.core = AttentionCore::Unspecified;
                return Ok(plan);
            }
            "sliding" => {
                let (window, pattern) = pattern(words.next().unwrap_or(""))?;
                plan.window = Some(window.parse().map_err(|_| UnknownWord(window.to_owned()))?);
                // Without a pattern every layer is local.
                (plan.local, plan.global) = pattern.unwrap_or((1, 0));
            }
            "mla" => plan.core = AttentionCore::Latent(Latent::default()),
            "hybrid" => {
                let (kind, pattern) = pattern(words.next().unwrap_or(""))?;
                if kind != "gdn" {
                    return Err(UnknownWord(kind.to_owned()));
                }
                plan.core = AttentionCore::GatedDelta(GatedDelta::default());
                (plan.local, plan.global) = pattern.unwrap_or((1, 0));
            }
            other => return Err(UnknownWord(other.to_owned())),
        }
        for word in words.filter(|word| !word.is_empty()) {
            plan.set(word).ok_or_else(|| UnknownWord(word.to_owned()))?;
        }
        Ok(plan)
    }

    /// Takes in one option.
    fn set(&mut self, word: &str) -> Option<()> {
        let (name, value) = option(word)?;
        match (&mut self.core, name) {
            (AttentionCore::Latent(latent), "q") => latent.query = value,
            (AttentionCore::Latent(latent), "kv") => latent.key_value = value,
            (AttentionCore::Latent(latent), "nope") => latent.nope = value,
            (AttentionCore::Latent(latent), "rope") => latent.rope = value,
            (AttentionCore::Latent(latent), "v") => latent.value = value,
            (AttentionCore::Latent(latent), "index_heads") => latent.index_heads = value,
            (AttentionCore::Latent(latent), "index_dim") => latent.index_dim = value,
            (AttentionCore::GatedDelta(delta), "vh") => delta.value_heads = value,
            (AttentionCore::GatedDelta(delta), "kh") => delta.key_heads = value,
            (AttentionCore::GatedDelta(delta), "kd") => delta.key_dim = value,
            (AttentionCore::GatedDelta(delta), "vd") => delta.value_dim = value,
            (AttentionCore::GatedDelta(delta), "conv") => delta.conv = value,
            (_, "gkv") => self.global_kv_heads = Some(value),
            (_, "ghd") => self.global_head_dim = Some(value),
            (_, "keqv") => self.keys_are_values = true,
            (_, "share") => self.sharing_layers = value,
            (_, "dw") => self.sharing_layers_wide = true,
            (_, "sinks") => self.sinks = true,
            (_, "ple") => self.per_layer_embedding = value,
            (_, "altup") => self.streams = value,
            (_, "laurel") => self.laurel = value,
            _ => return None,
        }
        Some(())
    }

    /// Whether layer `index` (from 0) sees the whole sequence.
    pub fn is_global(&self, index: u64) -> bool {
        index % (self.local + self.global).max(1) >= self.local
    }
}

/// Local layers in a row, then global ones.
type LayerPattern = (u64, u64);

/// `4096/3:1` is a window or kind with a pattern of local and global layers.
fn pattern(text: &str) -> Result<(&str, Option<LayerPattern>), UnknownWord> {
    let Some((head, pattern)) = text.split_once('/') else { return Ok((text, None)) };
    let parsed = pattern.split_once(':').and_then(|(local, global)| Some((local.parse().ok()?, global.parse().ok()?)));
    parsed.map(|layers| (head, Some(layers))).ok_or_else(|| UnknownWord(pattern.to_owned()))
}

/// `name` (worth 1) or `name=number`.
fn option(word: &str) -> Option<(&str, u64)> {
    match word.split_once('=') {
        Some((name, value)) => Some((name, value.parse().ok()?)),
        None => Some((word, 1)),
    }
}

/// Which layers of a mixture-of-experts model have experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertLayers {
    /// All but the first few.
    AfterFirst(u64),
    /// Every n-th.
    Every(u64),
}

impl ExpertLayers {
    /// Reads `dense_layers_first`: empty, `3` or `interleave:2`.
    pub fn parse(text: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord(text.to_owned());
        match text.strip_prefix("interleave:") {
            Some(every) => every.parse().ok().filter(|n| *n > 0).map(Self::Every).ok_or_else(unknown),
            None if text.is_empty() => Ok(Self::AfterFirst(0)),
            None => text.parse().map(Self::AfterFirst).map_err(|_| unknown()),
        }
    }

    /// Whether layer `index` (from 0) has experts, in a model that has any.
    pub fn contains(self, index: u64) -> bool {
        match self {
            Self::AfterFirst(dense) => index >= dense,
            Self::Every(n) => index % n == n - 1,
        }
    }
}

/// The `extras` column: parts that a family has beside the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Rows of the position table beyond the longest context (`position-offset`).
    pub position_offset: u64,
    /// Rows of the token-type table (`token-types`).
    pub token_types: u64,
    /// A square layer on the first token (`pooler`).
    pub pooler: bool,
    /// Rows of a normed table of relative positions (`relative-rows`).
    pub relative_rows: u64,
    /// A layer norm after the embedding (`embedding-norm`).
    pub embedding_norm: bool,
    /// Width of the embedding where it is narrower than the model, with projections in and out (`embedding-width`).
    pub embedding_width: u64,
    /// No norm after the last layer (`no-final-norm`).
    pub no_final_norm: bool,
    /// Inner width of the two dense layers after pooling (`dense-after-pooling`).
    pub dense_after_pooling: u64,
    /// A gate on the shared expert (`shared-expert-gate`).
    pub shared_expert_gate: bool,
    /// A dense MLP beside the experts, with three norms and scales on the router (`dense-beside-experts`).
    pub dense_beside_experts: bool,
    /// Vocabulary of the embedding that every layer adds (`ple-vocab`).
    pub per_layer_vocab: u64,
    /// A square layer on the relative positions in every layer (`relative-projection`: Transformer-XL, `XLNet`).
    pub relative_projection: bool,
    /// Keys and values also of the segment before, which is kept without gradient (`segment-memory`).
    pub segment_memory: bool,
}

impl Extras {
    /// Reads the column.
    pub fn parse(text: &str) -> Result<Self, UnknownWord> {
        let mut extras = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (name, value) = option(word).ok_or_else(|| UnknownWord(word.to_owned()))?;
            match name {
                "position-offset" => extras.position_offset = value,
                "token-types" => extras.token_types = value,
                "pooler" => extras.pooler = true,
                "relative-rows" => extras.relative_rows = value,
                "embedding-norm" => extras.embedding_norm = true,
                "embedding-width" => extras.embedding_width = value,
                "no-final-norm" => extras.no_final_norm = true,
                "dense-after-pooling" => extras.dense_after_pooling = value,
                "shared-expert-gate" => extras.shared_expert_gate = true,
                "dense-beside-experts" => extras.dense_beside_experts = true,
                "ple-vocab" => extras.per_layer_vocab = value,
                "relative-projection" => extras.relative_projection = true,
                "segment-memory" => extras.segment_memory = true,
                _ => return Err(UnknownWord(word.to_owned())),
            }
        }
        Ok(extras)
    }
}
