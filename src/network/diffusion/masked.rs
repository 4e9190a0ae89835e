//! aMUSEd's U-ViT: predicts masked tokens of a picture, as diffusers writes it (`models/unets/uvit_2d.py`).

use super::Latents;
use super::parts::written_rms;
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

const TEXT: Slot = Slot(1);
const TIME: Slot = Slot(2);

/// Sizes of `UVit2DModel`'s defaults.
const WIDTH: u64 = 1024;
const HEADS: u64 = 16;
const BLOCKS: u64 = 22;
const INNER: u64 = 2816;
const OUTER: u64 = 768;
const OUTER_HEADS: u64 = 12;
const RESIDUALS: u64 = 3;
const WORDS: u64 = 77;
const CODES: u64 = 8192;
/// The codes, the mask, and what rounds them up.
const VOCABULARY: u64 = 8256;
/// Pixels of a side of a token.
const SIDE: u64 = 16;

/// The masked-token models with their ids: whether tokens are halved on the way in and doubled on the way out.
const NETWORKS: [(&str, bool); 2] = [("amused-256", false), ("amused-512", true)];

/// Ids of [`network`].
pub(super) fn ids() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|(id, _)| *id)
}

/// The model with this id.
pub(super) fn network(id: &str) -> Option<bool> {
    NETWORKS.iter().find(|(known, _)| *known == id).map(|(_, halved)| *halved)
}

/// Writes the model and its loss. Its blocks are not checkpointed whatever is asked for: `UVit2DModel` does nothing with
/// the switch, or calls its checkpointed layer with arguments that it does not take.
pub(super) fn write(n: &mut Layers, halved: bool, latents: Latents) {
    let (height, width) = ((latents.height / SIDE).max(1), (latents.width / SIDE).max(1));
    let tokens = n.batch * height * width;
    let dtype = super::input_format(n);
    n.b.program.batch_bytes += bytes(2 * tokens, Dtype::I64);
    let words = super::resident(n, n.batch * WORDS, 768, dtype);
    let text = n.linear(words, WIDTH, false, Role::Outside);
    let text = written_rms(n, text, WIDTH, true);
    n.b.put(TEXT, text);
    let conditions = n.constant(n.batch, 1280 + 768, dtype);
    let time = biased_once(n, conditions);
    n.b.put(TIME, time);
    let table = n.weight(VOCABULARY, OUTER);
    let looked_up = n.b.embedding(table, tokens);
    let normed = written_rms(n, looked_up, OUTER, true);
    let x = Map { t: normed, channels: OUTER, height, width, depth: 1 };
    let mut x = n.conv(x, Conv::new(OUTER, 1));
    if halved {
        let normed = written_rms(n, x.t, OUTER, true);
        x = n.conv(Map { t: normed, ..x }, Conv::new(OUTER, 2).stride(2).padding(0));
    }
    x = outer(n, x);
    let t = written_rms(n, x.t, OUTER, true);
    let t = n.linear(t, WIDTH, false, Role::Outside);
    x = n.cut(Map { t, channels: WIDTH, ..x }, false);
    for times in [1, BLOCKS - 1] {
        n.b.repeat(times);
        x = block(n, x);
        x = n.cut(x, false);
    }
    let t = written_rms(n, x.t, WIDTH, true);
    let t = n.linear(t, OUTER, false, Role::Outside);
    x = outer(n, Map { t, channels: OUTER, ..x });
    if halved {
        let normed = written_rms(n, x.t, OUTER, true);
        x = n.conv_transpose(Map { t: normed, ..x }, OUTER, 2, 2, false);
    }
    let y = n.conv(x, Conv::new(OUTER, 1));
    let t = written_rms(n, y.t, OUTER, true);
    let logits = n.conv(Map { t, ..y }, Conv::new(CODES, 1));
    n.b.put(Slot(0), logits.t);
    n.b.close(false);
    let logits = n.b.take(Slot(0));
    n.cross_entropy(logits);
    n.b.end_segment(false, true);
    n.b.end_group();
}

/// `TimestepEmbedding` whose layers have no bias but the last.
fn biased_once(n: &mut Layers, x: Tensor) -> Tensor {
    let y = n.linear(x, WIDTH, false, Role::Outside);
    let y = n.act_tensor(y, Act::Silu);
    n.linear(y, WIDTH, false, Role::Outside)
}

/// `UVitBlock`: ConvNeXt blocks and attention to the text in turn.
fn outer(n: &mut Layers, mut x: Map) -> Map {
    for _ in 0..RESIDUALS {
        x = convolutions(n, x);
        x = n.cut(x, false);
        let text = n.b.take(TEXT);
        let bent = n.act_tensor(text, Act::Silu);
        let source = n.linear(bent, OUTER, false, Role::Outside);
        let mut t = x.t;
        for _ in 0..2 {
            let normed = written_rms(n, t, OUTER, true);
            let attended = attention(n, normed, source, (x.pixels(), WORDS), OUTER_HEADS);
            t = n.b.add(attended, t);
        }
        x = n.cut(Map { t, ..x }, false);
    }
    x
}

/// `ConvNextBlock` with a global response norm, bent by the time.
fn convolutions(n: &mut Layers, x: Map) -> Map {
    let y = n.conv(x, Conv::new(OUTER, 3).groups(OUTER));
    let t = written_rms(n, y.t, OUTER, true);
    let t = n.linear(t, 4 * OUTER, false, Role::Mlp);
    let t = n.act_tensor(t, Act::Gelu);
    let t = n.response_norm(t);
    let t = n.linear(t, OUTER, false, Role::Mlp);
    let t = n.b.add(t, x.t);
    let time = n.b.take(TIME);
    let bent = n.act_tensor(time, Act::Silu);
    let two = n.linear(bent, 2 * OUTER, false, Role::Outside);
    let t = modulate(n, t, two, OUTER);
    Map { t, ..y }
}

/// `x * (1 + scale) + shift`.
fn modulate(n: &mut Layers, x: Tensor, two: Tensor, width: u64) -> Tensor {
    match n.b.split(two, &[width; 2]).as_slice() {
        &[scale, shift] => {
            let one_plus = n.b.shift(scale);
            let scaled = n.b.mul(x, one_plus);
            n.b.add(scaled, shift)
        }
        _ => x,
    }
}

/// RMS norm, bent by the time (`AdaLayerNormContinuous`).
fn adapt(n: &mut Layers, x: Tensor) -> Tensor {
    let time = n.b.take(TIME);
    let bent = n.act_tensor(time, Act::Silu);
    let two = n.linear(bent, 2 * WIDTH, false, Role::Outside);
    let normed = written_rms(n, x, WIDTH, true);
    modulate(n, normed, two, WIDTH)
}

/// `BasicTransformerBlock`: attention over the tokens, attention to the text, gated feed-forward.
fn block(n: &mut Layers, x: Map) -> Map {
    let tokens = x.pixels();
    let normed = adapt(n, x.t);
    let attended = attention(n, normed, normed, (tokens, tokens), HEADS);
    let t = n.b.add(attended, x.t);
    let text = n.b.take(TEXT);
    let normed = adapt(n, t);
    let attended = attention(n, normed, text, (tokens, WORDS), HEADS);
    let t = n.b.add(attended, t);
    let normed = adapt(n, t);
    let both = n.linear(normed, 2 * INNER, false, Role::Mlp);
    let inner = match n.b.split(both, &[INNER, INNER]).as_slice() {
        &[hidden, gate] => {
            let gate = n.act_tensor(gate, Act::Gelu);
            n.b.mul(hidden, gate)
        }
        _ => both,
    };
    let out = n.linear(inner, WIDTH, false, Role::Mlp);
    let t = n.b.add(out, t);
    Map { t, ..x }
}

fn attention(n: &mut Layers, x: Tensor, source: Tensor, (queries, keys): (u64, u64), heads: u64) -> Tensor {
    let width = x.cols;
    let q = n.linear(x, width, false, Role::Query);
    let k = n.linear(source, width, false, Role::Key);
    let v = n.linear(source, width, false, Role::Value);
    let shape = Heads::dense(heads, width / heads, queries, keys);
    n.sequence = queries;
    let out = n.attention(q, k, v, shape, None);
    let out = n.linear(out, width, false, Role::AttentionOut);
    // Divided by the rescaling factor of 1.
    n.b.scale(out)
}
