//! Language models: one row of the catalog, or the fields of a config.json, to a program.

use super::builder::{Keep, Kernel, Tensor, bytes};
use super::layers::{Heads, Layers, Role};
use super::loss::{Head, cross_entropy};
use super::style::{Activation, Norm, Residual, Style};
use super::{AttentionKernel, Dtype, Program, SLOTS, Slot, Stage, StepConfig, Task, Trained};
use crate::catalog::grammar::{AttentionCore, AttentionPlan, ExpertLayers};
use crate::catalog::{LanguageKind, LanguageModel};

pub(crate) const HIDDEN: Slot = Slot(0);
const COS: Slot = Slot(1);
const SIN: Slot = Slot(2);
pub(crate) const MASK: Slot = Slot(3);
pub(crate) const TABLE: Slot = Slot(4);
const LOCAL_MASK: Slot = Slot(5);
/// What each layer adds of its own embedding, for all layers side by side.
const PER_LAYER: Slot = Slot(10);
/// What the caller keeps alive through backward.
pub(crate) const HELD: Slot = Slot(SLOTS as u8 - 1);

/// The training program of a language model.
pub fn language(model: &LanguageModel, config: &StepConfig) -> Program {
    let style = Style::of(model);
    if model.attention.starts_with("lstm") {
        return super::recurrent::recurrent(model, config);
    }
    if model.extras.contains("segment-memory") {
        return super::transformer_xl::transformer_xl(model, &style, config);
    }
    match model.kind {
        LanguageKind::Decoder => {
            let part = super::split::model_on_card(model, &config.shards);
            decoder(model, &part, &style, &super::split::step_on_card(config))
        }
        LanguageKind::Encoder => super::encoder::encoder(model, &style, config),
        LanguageKind::EncoderDecoder => super::encoder_decoder::encoder_decoder(model, &style, config),
    }
}

/// Which layers look through a window: `local` of them, then `global` that see everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pattern {
    local: u64,
    global: u64,
    /// The window is shorter than the sequence, so local layers get a mask of their own.
    masked: bool,
    /// Local layers are of another kind.
    mixed: bool,
}

impl Pattern {
    fn of(model: &LanguageModel, config: &StepConfig) -> Self {
        match model.attention_plan() {
            Ok(AttentionPlan { window: Some(window), local, global, global_head_dim, .. }) => {
                Self { local, global, masked: config.sequence > window, mixed: global_head_dim.is_some() }
            }
            Ok(AttentionPlan { core: AttentionCore::GatedDelta(_), local, global, .. }) => {
                Self { local, global, masked: false, mixed: true }
            }
            _ => Self { local: 0, global: 1, masked: false, mixed: false },
        }
    }

    /// Layers after which the pattern repeats; one where the mask makes no difference.
    fn period(self) -> u64 {
        let differs = self.masked || self.mixed;
        if differs && self.local > 0 && self.global > 0 { self.local + self.global } else { 1 }
    }

    fn is_local(self, layer: u64) -> bool {
        (self.masked || self.mixed) && self.local > 0 && layer % (self.local + self.global).max(1) < self.local
    }
}

/// In what layers of one model differ: heads of those that see everything, and MLPs of the last ones (Gemma 4).
struct Variants {
    global: Option<(u32, u32)>,
    wide: u64,
}

impl Variants {
    fn of(model: &LanguageModel) -> Self {
        let clip = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let Ok(plan) = model.attention_plan() else { return Self { global: None, wide: 0 } };
        Self {
            global: plan.global_head_dim.map(|head| (clip(head), plan.global_kv_heads.map_or(model.kv_heads, clip))),
            wide: if plan.sharing_layers_wide { plan.sharing_layers } else { 0 },
        }
    }

    /// The first layer with an MLP of twice the width.
    const fn wide_from(&self, layers: u64) -> u64 {
        layers.saturating_sub(self.wide)
    }

    fn layer<'m>(&self, model: &'m LanguageModel, local: bool, wide: bool) -> std::borrow::Cow<'m, LanguageModel> {
        use std::borrow::Cow;
        let global = self.global.filter(|_| !local);
        if global.is_none() && !wide {
            return Cow::Borrowed(model);
        }
        let (head_dim, kv_heads) = global.unwrap_or((model.head_dim, model.kv_heads));
        let intermediate = if wide { model.intermediate.saturating_mul(2) } else { model.intermediate };
        Cow::Owned(LanguageModel { intermediate, kv_heads, head_dim, ..model.clone() })
    }
}

/// The layers of the first few without experts, and how often a layer with them comes after those.
pub(crate) fn dense_layers(model: &LanguageModel) -> (u64, u64) {
    match model.expert_layers().unwrap_or(ExpertLayers::AfterFirst(0)) {
        _ if model.moe_experts == 0 => (0, 1),
        ExpertLayers::AfterFirst(dense) => (dense, 1),
        ExpertLayers::Every(n) => (0, n.max(1)),
    }
}

/// The part of `whole` that is on this card.
fn decoder(whole: &LanguageModel, model: &LanguageModel, style: &Style, config: &StepConfig) -> Program {
    let mut n = Layers::new(config);
    n.adapts_attention_out = style.adapts_attention_out;
    let layers = u64::from(model.layers);
    let (dense, every) = dense_layers(model);
    let before = config.shards.before(u64::from(whole.layers), dense).0;
    // A layer's number on this card, of its number in the model.
    let here = |layer: u64| layer.saturating_sub(before).min(layers);
    let frozen = match config.trained {
        Trained::AboveLayer(k) => here(k),
        _ => 0,
    };
    embed(&mut n, model, style, frozen > 0);
    let checkpointed = config.checkpointing.recomputes() || n.keeps_products();
    // Layers with experts: all after the first few, or every n-th.
    let experts = model.expert_layers().unwrap_or(ExpertLayers::AfterFirst(0));
    let pattern = Pattern::of(model, config);
    let variants = Variants::of(model);
    // Runs of alike layers: frozen or not, dense or with experts.
    let wide_from = here(variants.wide_from(u64::from(whole.layers)));
    let mut cuts = [0, frozen, here(dense), wide_from, layers];
    cuts.sort_unstable();
    for pair in cuts.windows(2) {
        let (mut at, to) = (pair[0], pair[1]);
        n.trained = match config.trained {
            Trained::All => true,
            Trained::AboveLayer(_) => at >= frozen,
            _ => false,
        };
        while at < to {
            // The first layer that carries trained weights starts the flow of gradients: it differs from those above.
            let flows = n.b.peek(HIDDEN).is_some_and(|t| t.grad);
            let alike = if flows || !n.trains() { to - at } else { 1 };
            let period = (pattern.period() * every).min(alike);
            let times = alike / period;
            n.b.repeat(times);
            for k in at..at + period {
                let experts = model.moe_experts > 0 && experts.contains(before + k);
                let local = pattern.is_local(before + k);
                block(&mut n, &variants.layer(model, local, k >= wide_from), style, experts, local);
                n.b.end_segment(checkpointed, false);
            }
            n.b.end_group();
            at += period * times;
        }
    }
    n.trained = !matches!(config.trained, Trained::Adapters(_));
    if matches!(config.shards.stage, Stage::First | Stage::Inner) {
        // The next stage's gradient takes the place of a loss.
        let x = n.b.take(HIDDEN);
        let sent = n.b.reduce(x, 1, 1);
        n.b.touch(sent);
    } else {
        head(&mut n, model, style);
    }
    n.b.end_segment(false, true);
    n.b.end_group();
    n.b.program.batch_bytes += 2 * bytes(n.tokens(), Dtype::I64);
    n.b.program
}

/// Columns of the embedding: those of the model, but for OPT-350M's, which has projections in and out.
fn embedding_width(model: &LanguageModel) -> u64 {
    match model.extra_parts().map(|parts| parts.embedding_width) {
        Ok(width) if width > 0 => width,
        _ => u64::from(model.hidden),
    }
}

fn embed(n: &mut Layers, model: &LanguageModel, style: &Style, frozen: bool) {
    let hidden = u64::from(model.hidden);
    n.trained = matches!(n.config.trained, Trained::All) && !frozen;
    let tokens = n.tokens().div_ceil(n.token_cards());
    let (mut x, table) = if matches!(n.config.shards.stage, Stage::Inner | Stage::Last) {
        // What the stage before sends.
        let dtype = n.config.autocast.unwrap_or(n.plain());
        let x = n.b.zeros(tokens, hidden, dtype);
        (n.b.require_grad(x), None)
    } else {
        let width = embedding_width(model);
        let table = n.weight(u64::from(model.vocab), width);
        let x = n.b.embedding(table, tokens);
        (if width == hidden { x } else { n.linear(x, hidden, false, Role::Outside) }, Some(table))
    };
    if style.scaled_embedding {
        x = n.b.scale(x);
    }
    if style.learned_positions {
        let positions = n.weight(u64::from(model.max_context.max(1)), hidden);
        let p = n.b.embedding(positions, n.sequence.div_ceil(n.token_cards()));
        x = n.b.add(x, p);
        x = n.b.dropout(x, style.dropout);
    }
    if n.config.checkpointing.recomputes() && matches!(n.config.trained, Trained::Adapters(_)) {
        x = n.b.require_grad(x);
    }
    rotary_tables(n, model, style, x.dtype);
    per_layer_embeddings(n, model, style, x);
    let rows = n.batch * n.sequence;
    if n.config.attention == AttentionKernel::Eager {
        n.b.global(MASK, rows, n.sequence, x.dtype);
    }
    if Pattern::of(model, n.config).masked {
        let dtype = if n.config.attention == AttentionKernel::Eager { x.dtype } else { Dtype::U8 };
        n.b.global(LOCAL_MASK, rows, n.sequence, dtype);
    }
    n.b.put(HIDDEN, x);
    if let Some(table) = table
        && model.tied_embeddings
    {
        n.b.put(TABLE, table);
    }
    n.b.end_segment(false, false);
    n.b.end_group();
}

/// `project_per_layer_inputs` of Gemma 3n and 4: a second embedding, as wide as all layers' parts together, and a projection
/// of the first.
fn per_layer_embeddings(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor) {
    let (Ok(plan), Ok(extras)) = (model.attention_plan(), model.extra_parts()) else { return };
    let (width, layers) = (plan.per_layer_embedding, u64::from(model.layers));
    if width == 0 {
        return;
    }
    let table = n.weight(extras.per_layer_vocab.max(1), layers * width);
    let own = n.b.embedding(table, x.rows);
    let own = n.b.scale(own);
    let projected = n.linear(x, layers * width, false, Role::Outside);
    let projected = n.b.scale(projected);
    let normed = head_norm(n, style, projected, width);
    let sum = n.b.add(normed, own);
    let sum = n.b.scale(sum);
    n.b.put(PER_LAYER, sum);
}

/// What a layer adds of its own embedding (`per_layer_input_gate` and what follows it in Gemma 3n and 4).
fn add_own_embedding(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor) -> Tensor {
    let Some(all) = n.b.peek(PER_LAYER) else { return x };
    let width = all.cols / u64::from(model.layers.max(1));
    let all = n.b.take(PER_LAYER);
    let own = n.b.slice(all, width);
    let gate = n.linear(x, width, false, Role::Mlp);
    let active = activate(n, style, gate);
    let product = n.b.mul(active, own);
    let out = n.linear(product, x.cols, false, Role::Mlp);
    let out = norm(n, style, out);
    n.b.add(x, out)
}

/// Cosines and sines of the positions, for all layers.
pub(crate) fn rotary_tables(n: &mut Layers, model: &LanguageModel, style: &Style, dtype: Dtype) {
    if style.rotary_share > 0.0 {
        let head = rotary_columns(model, style);
        n.b.global(COS, n.sequence, head, dtype);
        n.b.global(SIN, n.sequence, head, dtype);
    }
}

fn rotary_columns(model: &LanguageModel, style: &Style) -> u64 {
    (f64::from(model.head_dim) * style.rotary_share) as u64
}

fn compiled_norm(n: &mut Layers, style: &Style, x: Tensor, kept: Tensor) -> Tensor {
    match style.norm {
        Norm::Layer { weight, bias } => n.compiled_norm(x, kept, weight, bias),
        _ => n.compiled_norm(x, kept, true, false),
    }
}

pub(crate) fn norm(n: &mut Layers, style: &Style, x: Tensor) -> Tensor {
    match style.norm {
        _ if n.b.compiled => compiled_norm(n, style, x, x),
        Norm::Rms | Norm::Gemma if n.is_fused() || n.config.code.fused_layers => n.fused_rms_norm(x),
        Norm::Rms => n.rms_norm(x),
        Norm::Gemma => n.gemma_norm(x),
        Norm::T5 => n.t5_norm(x),
        Norm::Layer { weight, bias } => n.layer_norm(x, weight, bias),
    }
}

/// A layer whose norms stand before attention and MLP, or beside them.
pub(crate) fn block(n: &mut Layers, model: &LanguageModel, style: &Style, experts: bool, local: bool) {
    let x = n.b.take(HIDDEN);
    let out = match style.residual {
        Residual::Sequential => {
            let normed = norm(n, style, x);
            let mut attended = divided_attention(n, model, style, normed, local);
            if style.post_norms {
                attended = norm(n, style, attended);
            }
            let middle = n.b.add(x, attended);
            // Compiled, the sum is made again from its parts.
            let normed = if n.b.compiled { compiled_norm(n, style, middle, attended) } else { norm(n, style, middle) };
            let normed = if experts { n.all_tokens(normed) } else { n.tokens_for_matrix(normed) };
            let mut out = if experts {
                super::moe::experts(n, model, style, normed)
            } else {
                mlp(n, model, style, normed, u64::from(model.intermediate))
            };
            out = n.own_tokens(out);
            if style.post_norms {
                out = norm(n, style, out);
            }
            n.b.add(middle, out)
        }
        Residual::PostNorm => {
            let attended = divided_attention(n, model, style, x, local);
            let attended = norm(n, style, attended);
            let middle = n.b.add(x, attended);
            let whole = n.tokens_for_matrix(middle);
            let out = mlp(n, model, style, whole, u64::from(model.intermediate));
            let out = n.own_tokens(out);
            let out = norm(n, style, out);
            n.b.add(middle, out)
        }
        Residual::Parallel { shared_norm } => {
            let first = norm(n, style, x);
            let attended = divided_attention(n, model, style, first, local);
            let second = if shared_norm { first } else { norm(n, style, x) };
            let whole = n.tokens_for_matrix(second);
            let fed = mlp(n, model, style, whole, u64::from(model.intermediate));
            let fed = n.own_tokens(fed);
            let sum = n.b.add(fed, attended);
            n.b.add(sum, x)
        }
    };
    let out = add_own_embedding(n, model, style, out);
    n.b.put(HIDDEN, out);
}

/// Attention with its heads, and the tokens around it, divided over the cards of tensor parallelism.
fn divided_attention(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor, local: bool) -> Tensor {
    let x = n.tokens_for_matrix(x);
    let attended = attention(n, model, style, x, local);
    n.own_tokens(attended)
}

fn attention(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor, local: bool) -> Tensor {
    let mut gated = false;
    match model.attention_plan().map(|plan| plan.core) {
        Ok(AttentionCore::Latent(latent)) => return super::mla::attention(n, model, style, latent, x),
        Ok(AttentionCore::GatedDelta(delta)) if local => return super::delta::attention(n, model, &delta, x),
        Ok(AttentionCore::GatedDelta(_)) => gated = true,
        _ => {}
    }
    let (heads, kv, head) = (u64::from(model.heads), u64::from(model.kv_heads), u64::from(model.head_dim));
    let (q_width, kv_width) = (heads * head, kv * head);
    let joint = n.config.code.joint_qkv;
    let (q, k, v) = if style.fused_qkv || joint {
        let all = n.joint_qkv(x, q_width, kv_width, style.qkv_bias);
        if style.qkv_by_slices {
            (n.b.slice(all, q_width), n.b.slice(all, kv_width), n.b.slice(all, kv_width))
        } else {
            let parts = n.b.split(all, &[q_width, kv_width, kv_width]);
            (parts[0], parts[1], parts[2])
        }
    } else {
        let q = n.linear(x, if gated { 2 * q_width } else { q_width }, style.qkv_bias, Role::Query);
        let k = n.linear(x, kv_width, style.qkv_bias, Role::Key);
        let v = n.linear(x, kv_width, style.qkv_bias, Role::Value);
        (q, k, v)
    };
    // A gate comes with the queries, head by head, and is laid out by itself.
    let halves = if gated { n.b.split(q, &[q_width, q_width]) } else { Vec::new() };
    let (q, gate) = match halves[..] {
        [q, gate] => (q, Some(n.b.copy(gate, gate.rows, gate.cols))),
        _ => (q, None),
    };
    let (q, k) = if style.qk_norm {
        (head_norm(n, style, q, head), head_norm(n, style, k, head))
    } else if style.qk_full_norm {
        (norm(n, style, q), norm(n, style, k))
    } else {
        (q, k)
    };
    let (q, k) = if style.rotary_share > 0.0 && (n.b.compiled || n.config.code.fused_layers) {
        (n.b.copy(q, q.rows, q.cols), n.b.copy(k, k.rows, k.cols))
    } else if style.rotary_share > 0.0 && !n.is_fused() {
        let (cos, sin) = (n.b.take(COS), n.b.take(SIN));
        let rotary = rotary_columns(model, style);
        let cat = style.cat_rotary || joint;
        (n.rotary(q, cos, sin, head, rotary, cat), n.rotary(k, cos, sin, head, rotary, cat))
    } else {
        (q, k)
    };
    let slot = if local { LOCAL_MASK } else { MASK };
    let mask = n.b.peek(slot).is_some().then(|| n.b.take(slot));
    let (k, v, kv) = if joint && kv != heads {
        let shape = (k.cols / kv.max(1) * heads, v.cols / kv.max(1) * heads);
        (n.b.copy(k, k.rows, shape.0), n.b.copy(v, v.rows, shape.1), heads)
    } else {
        (k, v, kv)
    };
    let shape = Heads {
        count: heads,
        key_count: kv,
        head,
        value_head: head,
        queries: n.sequence,
        keys: n.sequence,
        by_head: style.cat_rotary || joint,
        causal: true,
        dropout: style.attention_dropout,
        softcap: style.attention_softcap,
        upcast_softmax: style.upcast_softmax,
    };
    let mut context = n.attention(q, k, v, shape, mask);
    if let Some(gate) = gate {
        let open = n.b.unary(gate, Keep::Output, 0);
        context = n.b.mul(context, open);
    }
    let out = n.linear(context, u64::from(model.hidden), style.out_bias, Role::AttentionOut);
    n.b.dropout(out, style.dropout)
}

/// A norm over each head's columns.
fn head_norm(n: &mut Layers, style: &Style, t: Tensor, head: u64) -> Tensor {
    let heads = t.cols / head.max(1);
    let seen = n.b.view(t, t.rows * heads, head);
    let normed = norm(n, style, seen);
    n.b.view(normed, t.rows, t.cols)
}

pub(crate) fn mlp(n: &mut Layers, model: &LanguageModel, style: &Style, x: Tensor, width: u64) -> Tensor {
    let hidden = u64::from(model.hidden);
    if n.is_fused()
        && model.gated
        && !style.mlp_bias
        && let Some(rank) = n.mlp_rank()
    {
        return n.fused_mlp(x, width, rank);
    }
    let inner = if model.gated && n.config.code.fused_layers {
        let both = n.linear(x, 2 * width, style.mlp_bias, Role::Mlp);
        n.b.fused(&[both], both.rows, width, both.dtype, Kernel { saves: 1, ..Kernel::default() })
    } else if model.gated && n.b.compiled {
        let gate = n.linear(x, width, style.mlp_bias, Role::Mlp);
        let up = n.linear(x, width, style.mlp_bias, Role::Mlp);
        n.b.fused(&[gate, up], gate.rows, width, gate.dtype, Kernel { saves: 0b11, ..Kernel::default() })
    } else if model.gated {
        let (gate, up) = if style.fused_gate_up {
            let both = n.linear(x, 2 * width, style.mlp_bias, Role::Mlp);
            let parts = n.b.split(both, &[width, width]);
            (parts[0], parts[1])
        } else {
            (n.linear(x, width, style.mlp_bias, Role::Mlp), Tensor { cols: 0, ..x })
        };
        if style.fused_gate_up {
            let active = activate(n, style, gate);
            n.b.mul(up, active)
        } else {
            let active = activate(n, style, gate);
            let up = n.linear(x, width, style.mlp_bias, Role::Mlp);
            n.b.mul(active, up)
        }
    } else {
        let wide = n.linear(x, width, style.mlp_bias, Role::Mlp);
        activate(n, style, wide)
    };
    let out = n.linear(inner, hidden, style.mlp_bias, Role::Mlp);
    n.b.touch(x);
    n.b.dropout(out, style.dropout)
}

pub(crate) fn activate(n: &mut Layers, style: &Style, x: Tensor) -> Tensor {
    match style.activation {
        _ if n.b.compiled => n.b.unary(x, Keep::Input, 0),
        // x * 0.5 * (1.0 + erf(x / 1.41421))
        Activation::Gelu if n.config.code.written_gelu => {
            let half = n.b.scale(x);
            let divided = n.b.scale(x);
            let erf = n.b.unary(divided, Keep::Input, 1);
            let shifted = n.b.shift(erf);
            n.b.mul(half, shifted)
        }
        Activation::Silu | Activation::Gelu => n.b.unary(x, Keep::Input, 0),
        Activation::Relu => n.b.unary(x, Keep::Output, 0),
        // transformers' `gelu_new`, written out: 0.5 * x * (1 + tanh(c * (x + 0.044715 * x^3)))
        Activation::GeluNew => {
            let half = n.b.scale(x);
            let cube = n.b.pow(x);
            let small = n.b.scale(cube);
            let sum = n.b.add(x, small);
            let inner = n.b.scale(sum);
            let squashed = n.b.unary(inner, Keep::Output, 0);
            let shifted = n.b.shift(squashed);
            n.b.mul(half, shifted)
        }
        Activation::ReluSquared => {
            let positive = n.b.unary(x, Keep::Output, 0);
            n.b.pow(positive)
        }
    }
}

fn head(n: &mut Layers, model: &LanguageModel, style: &Style) {
    let x = n.b.take(HIDDEN);
    let x = if style.final_norm { norm(n, style, x) } else { x };
    let x = n.all_tokens(x);
    let vocab = u64::from(model.vocab);
    match n.config.task {
        Task::SequenceClassification => {
            let w = n.weight(2, x.cols);
            let logits = n.b.linear(x, w, None);
            let pooled = n.b.slice(logits, 2);
            let loss = n.b.reduce(pooled, 1, 1);
            n.b.touch(loss);
            return;
        }
        Task::Embedding => {
            let loss = n.b.reduce(x, 1, 1);
            n.b.touch(loss);
            return;
        }
        _ => {}
    }
    let width = embedding_width(model);
    let x = if width == x.cols { x } else { n.linear(x, width, false, Role::Outside) };
    let tied = model.tied_embeddings && n.b.peek(TABLE).is_some();
    let (w, scratch) = if tied { (n.b.take(TABLE), None) } else { n.head_weight(x, vocab) };
    let head = Head { weight: w, scratch, vocab, softcap: style.logit_softcap, bias: style.head_bias };
    cross_entropy(n, x, head);
}
