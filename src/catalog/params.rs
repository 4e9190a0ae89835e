//! How many parameters an architecture has, counted from its numbers alone.
//!
//! The build compares the count with what the catalog states; the page counts models that are typed in by hand.

use super::grammar::{
    AttentionCore, AttentionPlan, ExpertLayers, Extras, GatedDelta, Latent, Norms, QkNorm, UnknownWord,
};
use super::language::{LanguageKind, LanguageModel};

/// Parameters of a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// All.
    pub total: u64,
    /// Those that one token passes through; equal to `total` without experts.
    pub active: u64,
}

/// Buckets of T5's relative positions, per head and per side.
const T5_BUCKETS: u64 = 32;

/// Counts the parameters of `model`; `None` where the columns do not carry every size (linear attention of other
/// kinds, compressed attention).
pub fn count(model: &LanguageModel) -> Result<Option<Count>, UnknownWord> {
    let counter = Counter::of(model)?;
    if counter.plan.core == AttentionCore::Unspecified {
        return Ok(None);
    }
    Ok(Some(match model.kind {
        LanguageKind::EncoderDecoder => counter.encoder_decoder(),
        LanguageKind::Decoder | LanguageKind::Encoder => counter.stack(),
    }))
}

/// The numbers of one model, widened, with its grammar parsed.
struct Counter<'a> {
    model: &'a LanguageModel,
    hidden: u64,
    heads: u64,
    kv_heads: u64,
    head_dim: u64,
    layers: u64,
    norms: Norms,
    plan: AttentionPlan,
    experts: ExpertLayers,
    extras: Extras,
}

impl<'a> Counter<'a> {
    fn of(model: &'a LanguageModel) -> Result<Self, UnknownWord> {
        Ok(Self {
            model,
            hidden: model.hidden.into(),
            heads: model.heads.into(),
            kv_heads: model.kv_heads.into(),
            head_dim: model.head_dim.into(),
            layers: model.layers.into(),
            norms: Norms::parse(model.norm)?,
            plan: AttentionPlan::parse(model.attention)?,
            experts: ExpertLayers::parse(model.dense_layers_first)?,
            extras: Extras::parse(model.extras)?,
        })
    }

    /// Weights of one norm over the model's width.
    fn norm(&self) -> u64 {
        self.norms.kind.vectors() * self.hidden
    }

    /// Token embedding and, where it is narrower than the model, the projections in and out.
    fn embedding(&self) -> u64 {
        let vocab = u64::from(self.model.vocab);
        match self.extras.embedding_width {
            0 => vocab * self.hidden,
            width => vocab * width + 2 * width * self.hidden,
        }
    }

    /// Learned positions of one side.
    fn positions(&self) -> u64 {
        match self.model.positional {
            "learned" => (u64::from(self.model.max_context) + self.extras.position_offset) * self.hidden,
            _ => 0,
        }
    }

    /// The output head, where it is not the embedding.
    fn head(&self) -> u64 {
        if self.model.tied_embeddings { 0 } else { u64::from(self.model.vocab) * self.hidden }
    }

    /// An MLP of inner width `width`.
    fn mlp(&self, width: u64) -> u64 {
        let inner = if self.model.gated { 2 } else { 1 };
        let biases = matches!(self.model.bias, "all" | "mlp");
        (inner + 1) * self.hidden * width + if biases { inner * width + self.hidden } else { 0 }
    }

    /// Softmax attention. `queries` is 2 where a gate as wide as the queries comes with them.
    fn softmax(&self, kv_heads: u64, head_dim: u64, queries: u64, keys: Keys) -> u64 {
        let wide = self.heads * head_dim;
        let narrow = kv_heads * head_dim;
        let weights = self.hidden * (queries * wide + keys.projections() * narrow + wide);
        let biased_inputs = matches!(self.model.bias, "qkv" | "qkvo" | "all");
        let biased_output = matches!(self.model.bias, "qkvo" | "all");
        let biases =
            if biased_inputs { queries * wide + 2 * narrow } else { 0 } + if biased_output { self.hidden } else { 0 };
        let vectors = self.norms.kind.vectors();
        let norms = match self.norms.qk {
            QkNorm::None => 0,
            QkNorm::Head if keys == Keys::Shared => head_dim * vectors,
            QkNorm::Head => 2 * head_dim * vectors,
            QkNorm::Full => (wide + narrow) * vectors,
        };
        weights + biases + norms
    }

    /// Multi-head latent attention.
    fn latent(&self, l: &Latent) -> u64 {
        let query_out = self.heads * (l.nope + l.rope);
        let query = match l.query {
            0 => self.hidden * query_out,
            rank => self.hidden * rank + rank + rank * query_out,
        };
        let keys_values =
            self.hidden * (l.key_value + l.rope) + l.key_value + l.key_value * self.heads * (l.nope + l.value);
        let output = self.heads * l.value * self.hidden;
        // The indexer's query and key, the key's norm (weight and bias) and the weight of each head.
        let indexer = match l.index_heads {
            0 => 0,
            heads => l.query * heads * l.index_dim + self.hidden * (l.index_dim + heads) + 2 * l.index_dim,
        };
        query + keys_values + output + indexer
    }

    /// Gated delta-rule linear attention: inputs, output gate, two scalars a head, convolution, decay, norm, output.
    fn delta(&self, d: &GatedDelta) -> u64 {
        let (keys, values) = (d.key_heads * d.key_dim, d.value_heads * d.value_dim);
        let inputs = self.hidden * (2 * keys + 2 * values + 2 * d.value_heads);
        inputs + (2 * keys + values) * d.conv + 2 * d.value_heads + d.value_dim + values * self.hidden
    }

    /// Attention of layer `index`.
    fn attention(&self, index: u64) -> u64 {
        let global = self.plan.is_global(index);
        let shared = index + self.plan.sharing_layers >= self.layers && self.plan.sharing_layers > 0;
        let keys = if shared { Keys::Shared } else { Keys::Own };
        let weights = match &self.plan.core {
            AttentionCore::Latent(latent) => self.latent(latent),
            AttentionCore::GatedDelta(delta) if !global => self.delta(delta),
            AttentionCore::GatedDelta(_) => self.softmax(self.kv_heads, self.head_dim, 2, keys),
            AttentionCore::Softmax | AttentionCore::Unspecified => match self.plan.global_head_dim {
                Some(head_dim) if global => {
                    let kv_heads = self.plan.global_kv_heads.unwrap_or(self.kv_heads);
                    let keys = if keys == Keys::Own && self.plan.keys_are_values { Keys::AlsoValues } else { keys };
                    self.softmax(kv_heads, head_dim, 1, keys)
                }
                _ => self.softmax(self.kv_heads, self.head_dim, 1, keys),
            },
        };
        let relative = if self.extras.relative_projection { self.hidden * self.heads * self.head_dim } else { 0 };
        weights + relative + if self.plan.sinks { self.heads } else { 0 }
    }

    /// What per-layer embeddings and parallel streams add to a layer.
    fn streams(&self) -> u64 {
        let (h, width, streams) = (self.hidden, self.plan.per_layer_embedding, self.plan.streams);
        if width == 0 {
            return 0;
        }
        let embedding = 2 * h * width + h;
        let mixing = match streams {
            0 => 0,
            a => h + a * a + a * a * a + h * a + h + 2 * h * self.plan.laurel + h,
        };
        embedding + mixing
    }

    /// The table of per-layer embeddings, its projection and norm, and the projections between streams.
    fn stream_tables(&self) -> u64 {
        let (h, width) = (self.hidden, self.plan.per_layer_embedding);
        if width == 0 {
            return 0;
        }
        let mixing = 2 * self.plan.streams.saturating_sub(1) * h * h;
        (self.extras.per_layer_vocab + h) * self.layers * width + width + mixing
    }

    /// The MLP or the experts of layer `index`.
    fn feed_forward(&self, index: u64) -> Count {
        let m = self.model;
        let (h, experts, width) = (self.hidden, u64::from(m.moe_experts), u64::from(m.intermediate));
        if experts == 0 || !self.experts.contains(index) {
            let sharing = index + self.plan.sharing_layers >= self.layers;
            let wide = self.plan.sharing_layers_wide && sharing;
            let mlp = self.mlp(if wide { 2 * width } else { width });
            return Count { total: mlp, active: mlp };
        }
        let biases = m.bias == "all";
        let inner = u64::from(m.moe_intermediate);
        let expert = if m.gated { 3 } else { 2 } * h * inner + if biases { 2 * inner + h } else { 0 };
        let router = h * experts + if biases { experts } else { 0 };
        let gate = if self.extras.shared_expert_gate { h } else { 0 };
        let beside = if self.extras.dense_beside_experts {
            // Three norms, a scale for the router's input and one for each expert.
            self.mlp(width) + 3 * h + h + experts
        } else {
            3 * h * u64::from(m.moe_shared) * inner + gate
        };
        Count { total: experts * expert + router + beside, active: u64::from(m.moe_active) * expert + router + beside }
    }

    /// What stands outside the layers of a decoder or an encoder.
    fn outside(&self) -> u64 {
        let h = self.hidden;
        let e = &self.extras;
        let final_norm = if e.no_final_norm { 0 } else { self.norm() };
        let embedding_norm = if e.embedding_norm { 2 * h } else { 0 };
        let relative = if e.relative_rows > 0 { e.relative_rows * h + 2 * h } else { 0 };
        let pooler = if e.pooler { h * h + h } else { 0 };
        // An encoder's own head is left out: a task brings one.
        let head = if self.model.kind == LanguageKind::Decoder { self.head() } else { 0 };
        let pooled = 2 * h * e.dense_after_pooling;
        self.embedding()
            + self.positions()
            + e.token_types * h
            + final_norm
            + embedding_norm
            + relative
            + pooler
            + pooled
            + head
            + self.stream_tables()
    }

    /// A decoder or an encoder.
    fn stack(&self) -> Count {
        let outside = self.outside();
        let mut count = Count { total: outside, active: outside };
        for index in 0..self.layers {
            let common = self.attention(index) + self.norms.per_layer * self.norm() + self.streams();
            let feed_forward = self.feed_forward(index);
            count.total += common + feed_forward.total;
            count.active += common + feed_forward.active;
        }
        count
    }

    /// An encoder and a decoder of as many layers each, with cross attention in the decoder.
    fn encoder_decoder(&self) -> Count {
        let attention = self.softmax(self.kv_heads, self.head_dim, 1, Keys::Own);
        let mlp = self.mlp(self.model.intermediate.into());
        let encoder = attention + mlp + 2 * self.norm();
        let decoder = 2 * attention + mlp + 3 * self.norm();
        let positions = match self.model.positional {
            "relative" => 2 * T5_BUCKETS * self.heads,
            _ => 2 * self.positions(),
        };
        let total = self.embedding() + self.head() + positions + self.layers * (encoder + decoder) + 2 * self.norm();
        Count { total, active: total }
    }
}

/// Where a layer's keys and values come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Two projections of its own.
    Own,
    /// One projection serves as both.
    AlsoValues,
    /// An earlier layer's.
    Shared,
}

impl Keys {
    fn projections(self) -> u64 {
        match self {
            Self::Own => 2,
            Self::AlsoValues => 1,
            Self::Shared => 0,
        }
    }
}
