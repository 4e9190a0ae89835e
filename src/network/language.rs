//! Language models: one row of the catalog, or the fields of a config.json, to a program.

mod block;
mod embed;
mod tower;

use super::builder::bytes;
use super::layers::{Layers, Role};
use super::loss::{Head, cross_entropy};
use super::style::Style;
use super::{Dtype, Program, SLOTS, Slot, Stage, StepConfig, Task, Trained};
use crate::catalog::grammar::{AttentionCore, AttentionPlan, ExpertLayers};
use crate::catalog::{LanguageKind, LanguageModel};
use crate::project::Adapter;
use crate::units;

pub(crate) use block::{activate, block, mlp, norm};
pub(crate) use embed::rotary_tables;
use embed::{embed, embedding_width};
pub use tower::Tower;

pub(crate) const HIDDEN: Slot = Slot(0);
const COS: Slot = Slot(1);
const SIN: Slot = Slot(2);
pub(crate) const MASK: Slot = Slot(3);
pub(crate) const TABLE: Slot = Slot(4);
const LOCAL_MASK: Slot = Slot(5);
/// What each layer adds of its own embedding, for all layers side by side.
const PER_LAYER: Slot = Slot(10);
/// Tokens of pictures.
const VISION: Slot = Slot(11);
/// What the caller keeps alive through backward.
pub(crate) const HELD: Slot = Slot(SLOTS as u8 - 1);

/// The training program of a language model.
pub fn language(model: &LanguageModel, config: &StepConfig) -> Program {
    let style = Style::of(model);
    // Trained tokens come before the text.
    if let Trained::Adapters(lora) = config.trained
        && lora.kind == Adapter::Tokens
        && model.kind == LanguageKind::Decoder
    {
        let sequence = config.sequence.saturating_add(lora.rank);
        let part = super::split::model_on_card(model, &config.shards);
        return decoder(model, &part, &style, &super::split::step_on_card(&StepConfig { sequence, ..*config }), None);
    }
    if model.attention.starts_with("lstm") {
        return super::recurrent::recurrent(model, config);
    }
    if model.extras.contains("segment-memory") {
        return super::transformer_xl::transformer_xl(model, &style, config);
    }
    match model.kind {
        LanguageKind::Decoder => {
            let part = super::split::model_on_card(model, &config.shards);
            decoder(model, &part, &style, &super::split::step_on_card(config), None)
        }
        LanguageKind::Encoder => super::encoder::encoder(model, &style, config),
        LanguageKind::EncoderDecoder => super::encoder_decoder::encoder_decoder(model, &style, config),
    }
}

/// The same for a decoder with a trained vision tower before it.
pub fn seeing(model: &LanguageModel, tower: &Tower, config: &StepConfig) -> Program {
    let part = super::split::model_on_card(model, &config.shards);
    decoder(model, &part, &Style::of(model), &super::split::step_on_card(config), Some(tower))
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
fn decoder(
    whole: &LanguageModel,
    model: &LanguageModel,
    style: &Style,
    config: &StepConfig,
    tower: Option<&Tower>,
) -> Program {
    let mut n = Layers::new(config);
    if let Some(tower) = tower {
        tower::write(&mut n, tower, u64::from(model.hidden));
    }
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
    // `adapter_start_layer` of litgpt/adapter.py.
    let prompts = n.adapter().is_some_and(|lora| matches!(lora.kind, Adapter::Prompted | Adapter::Scales));
    let prompted_from = if prompts { here(2) } else { 0 };
    let mut cuts = [0, frozen, here(dense), wide_from, prompted_from, layers];
    units::sort(&mut cuts, Ord::cmp);
    for pair in cuts.windows(2) {
        let (mut at, to) = (pair[0], pair[1]);
        n.prompted = prompts && at >= prompted_from;
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
    let copied = n.trains_ends();
    let (w, scratch) = match (tied, copied) {
        (true, _) => (n.b.take(TABLE), None),
        (_, false) => n.head_weight(x, vocab),
        (_, true) => {
            if !model.tied_embeddings {
                n.head_weight(x, vocab);
            }
            (n.b.weight(vocab, width, n.plain(), true), None)
        }
    };
    let head = Head { weight: w, scratch, vocab, softcap: style.logit_softcap, bias: style.head_bias };
    cross_entropy(n, x, head);
}
