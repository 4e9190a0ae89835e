//! Speech models as programs, as transformers writes them: Whisper, wav2vec 2.0 and its kin.

use super::builder::{Tensor, bytes};
use super::layers::{Heads, Layers, Role};
use super::loss::{Head, cross_entropy};
use super::maps::{Act, Conv, Map};
use super::{Dtype, Kind, NONE, Program, Slot, StepConfig, Trained};
use crate::project::Checkpointing;

const HIDDEN: Slot = Slot(0);
const MEMORY: Slot = Slot(1);
const TABLE: Slot = Slot(2);
const ENCODED: Slot = Slot(3);

/// What is heard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sound {
    /// Seconds of a sample.
    pub seconds: f64,
    /// Text tokens of a sample.
    pub tokens: u64,
}

/// The training program of a speech model of the catalog, or `None` where there is no program for it.
pub fn speech(id: &str, sound: Sound, config: &StepConfig) -> Option<Program> {
    if let Some(program) = super::voice::voice(id, sound, config) {
        return Some(program);
    }
    let mut n = Layers::new(config);
    n.plain_loss = true;
    n.trained = !matches!(config.trained, Trained::Adapters(_) | Trained::Head);
    if let Some(net) = whisper(id) {
        write_whisper(&mut n, &net, sound);
    } else if let Some(net) = wave(id) {
        write_wave(&mut n, &net, sound);
    } else {
        return None;
    }
    Some(n.b.program)
}

fn checkpointed(n: &Layers) -> bool {
    n.config.checkpointing != Checkpointing::Off
}

// ---- Whisper ---------------------------------------------------------------------------------------------------------

/// An encoder-decoder on 30 seconds of mel bands.
#[derive(Clone, Copy, Debug)]
struct Whisper {
    width: u64,
    encoder: u64,
    decoder: u64,
    heads: u64,
    mels: u64,
    vocabulary: u64,
}

fn whisper(id: &str) -> Option<Whisper> {
    let plain =
        |width, layers, heads| Whisper { width, encoder: layers, decoder: layers, heads, mels: 80, vocabulary: 51_865 };
    let third = Whisper { mels: 128, vocabulary: 51_866, ..plain(1280, 32, 20) };
    Some(match id {
        "whisper-tiny" => plain(384, 4, 6),
        "whisper-base" => plain(512, 6, 8),
        "whisper-small" => plain(768, 12, 12),
        "whisper-medium" => plain(1024, 24, 16),
        "whisper-large-v2" => plain(1280, 32, 20),
        "whisper-large-v3" => third,
        "whisper-large-v3-turbo" => Whisper { decoder: 4, ..third },
        "distil-whisper-large-v3" => Whisper { decoder: 2, ..third },
        _ => return None,
    })
}

/// Mel frames of the 30 seconds every sample is padded to; two of them make a frame of the encoder.
const MEL_FRAMES: u64 = 3000;
/// Longest text.
const MOST_TOKENS: u64 = 448;

fn write_whisper(n: &mut Layers, net: &Whisper, sound: Sound) {
    let width = net.width;
    let frames = MEL_FRAMES / 2;
    let tokens = sound.tokens.clamp(1, MOST_TOKENS);
    let x = mel(n, net.mels);
    let mut x = n.conv(x, Conv::new(width, 3).rectangle(1, 3).bias());
    let wants_inputs = checkpointed(n) && matches!(n.config.trained, Trained::Adapters(_));
    if wants_inputs {
        // `enable_input_require_grads` hooks the first layer of either side.
        x = Map { t: n.b.require_grad(x.t), ..x };
    }
    let x = n.act(x, Act::Gelu);
    let x = n.conv_halved(x, width);
    let x = n.act(x, Act::Gelu);
    // Sinusoids, kept as a table that is not trained.
    let trained = std::mem::replace(&mut n.trained, false);
    let positions = n.weight(frames, width);
    n.trained = trained;
    let looked_up = n.constant(frames, width, positions.dtype);
    let t = n.b.add(x.t, looked_up);
    n.b.put(HIDDEN, t);
    n.b.close(false);
    layers(n, net, net.encoder, frames, None);
    let x = n.b.take(HIDDEN);
    let memory = n.layer_norm(x, true, true);
    n.b.put(MEMORY, memory);
    let table = n.weight(net.vocabulary, width);
    n.b.put(TABLE, table);
    let mut x = n.b.embedding(table, n.batch * tokens);
    if wants_inputs {
        x = n.b.require_grad(x);
    }
    let positions = n.weight(MOST_TOKENS, width);
    let looked_up = n.b.gather(positions, n.batch * tokens);
    let x = n.b.add(x, looked_up);
    n.b.put(HIDDEN, x);
    n.b.close(false);
    layers(n, net, net.decoder, tokens, Some(frames));
    let x = n.b.take(HIDDEN);
    let x = n.layer_norm(x, true, true);
    let table = n.b.take(TABLE);
    cross_entropy(n, x, Head::plain(table, net.vocabulary, false));
    n.b.end_segment(false, true);
    n.b.end_group();
    n.b.program.batch_bytes += bytes(n.batch * tokens, Dtype::I64);
}

/// The mel bands of the batch.
fn mel(n: &mut Layers, bands: u64) -> Map {
    let dtype = if n.config.autocast.is_some() { Dtype::F32 } else { n.config.weights };
    let rows = n.batch * MEL_FRAMES;
    n.b.program.batch_bytes += bytes(rows * bands, dtype);
    let t = n.b.value(rows, bands, dtype, Kind::Weight { trained: false }, NONE, false);
    Map { t, channels: bands, height: 1, width: MEL_FRAMES, depth: 1 }
}

/// The layers of one side; `memory` are the encoder's frames that a decoder looks at.
fn layers(n: &mut Layers, net: &Whisper, times: u64, length: u64, memory: Option<u64>) {
    for times in [times.min(1), times.saturating_sub(1)] {
        if times == 0 {
            continue;
        }
        n.b.repeat(times);
        let x = n.b.take(HIDDEN);
        let mut x = attend(n, net, x, None, length, length, memory.is_some());
        if let Some(frames) = memory {
            let seen = n.b.take(MEMORY);
            x = attend(n, net, x, Some(seen), length, frames, false);
        }
        let normed = n.layer_norm(x, true, true);
        let inner = n.linear(normed, 4 * net.width, true, Role::Mlp);
        let inner = n.act_tensor(inner, Act::Gelu);
        let out = n.linear(inner, net.width, true, Role::Mlp);
        let x = n.b.add(x, out);
        n.b.put(HIDDEN, x);
        n.b.close(checkpointed(n));
    }
}

fn attend(
    n: &mut Layers,
    net: &Whisper,
    x: Tensor,
    seen: Option<Tensor>,
    queries: u64,
    keys: u64,
    causal: bool,
) -> Tensor {
    let width = net.width;
    let normed = n.layer_norm(x, true, true);
    let from = seen.unwrap_or(normed);
    // Query, key and value are copied head by head.
    let q = n.linear(normed, width, true, Role::Query);
    let q = n.b.scale(q);
    let q = n.b.copy(q, q.rows, q.cols);
    let k = n.linear(from, width, false, Role::Key);
    let k = n.b.copy(k, k.rows, k.cols);
    let v = n.linear(from, width, true, Role::Value);
    let v = n.b.copy(v, v.rows, v.cols);
    let head = width / net.heads.max(1);
    n.sequence = queries;
    let shape = Heads {
        count: net.heads,
        key_count: net.heads,
        head,
        value_head: head,
        queries,
        keys,
        by_head: true,
        value_by_head: true,
        causal,
        dropout: 0.0,
        softcap: false,
        upcast_softmax: false,
    };
    let out = n.attention(q, k, v, shape, None);
    let out = n.linear(out, width, true, Role::AttentionOut);
    n.b.touch(normed);
    n.b.add(x, out)
}

// ---- wav2vec 2.0 -----------------------------------------------------------------------------------------------------

/// An encoder on the sound itself, with a head for letters (CTC).
#[derive(Clone, Copy, Debug)]
struct Wave {
    width: u64,
    layers: u64,
    heads: u64,
    /// Layer norm after every convolution and before each layer (large models), or one group norm and norms after.
    norms_first: bool,
    /// Biases of the convolutions.
    bias: bool,
    /// Gated relative position bias (`WavLM`).
    gated: bool,
}

fn wave(id: &str) -> Option<Wave> {
    let base = Wave { width: 768, layers: 12, heads: 12, norms_first: false, bias: false, gated: false };
    let large = Wave { width: 1024, layers: 24, heads: 16, norms_first: true, bias: true, gated: false };
    Some(match id {
        "wav2vec2-base" | "hubert-base" => base,
        // The first large model was trained like the base models.
        "wav2vec2-large" => Wave { norms_first: false, bias: false, ..large },
        "xls-r-300m" | "hubert-large" => large,
        "xls-r-1b" | "hubert-xlarge" => Wave { width: 1280, layers: 48, ..large },
        "wavlm-base-plus" => Wave { gated: true, ..base },
        _ => return None,
    })
}

/// Samples of sound in a second.
const RATE: f64 = 16_000.0;

fn write_wave(n: &mut Layers, net: &Wave, sound: Sound) {
    // Dropout of the released configurations.
    const DROPOUT: f64 = 0.1;
    let samples = ((sound.seconds * RATE) as u64).max(400);
    let dtype = if n.config.autocast.is_some() { Dtype::F32 } else { n.config.weights };
    n.b.program.batch_bytes += bytes(n.batch * samples, dtype) + bytes(n.batch * sound.tokens.max(1), Dtype::I64);
    let t = n.b.value(n.batch * samples, 1, dtype, Kind::Weight { trained: false }, NONE, false);
    let mut x = Map { t, channels: 1, height: 1, width: samples, depth: 1 };
    // The convolutions on the sound are frozen in fine-tuning (`freeze_feature_encoder`).
    let trained = std::mem::replace(&mut n.trained, false);
    for (index, (kernel, stride)) in [(10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)].into_iter().enumerate() {
        x = n.conv_line(x, 512, kernel, stride, net.bias);
        if net.norms_first {
            let normed = n.layer_norm(x.t, true, true);
            x = Map { t: normed, ..x };
        } else if index == 0 {
            x = n.group_norm(x, 512, true);
        }
        x = n.act(x, Act::Gelu);
    }
    n.trained = trained;
    let frames = x.width;
    n.b.put(HIDDEN, x.t);
    n.b.close(false);
    let x = n.b.take(HIDDEN);
    let normed = n.layer_norm(x, true, true);
    let mut t = n.linear(normed, net.width, true, Role::Outside);
    t = n.b.dropout(t, DROPOUT);
    // Positions come from a wide grouped convolution, its result cut by one frame.
    let line = Map { t, channels: net.width, height: 1, width: frames, depth: 1 };
    let positions = n.conv(line, Conv::new(net.width, 128).rectangle(1, 128).groups(16).bias());
    let positions = n.act(positions, Act::Gelu);
    let mut x = n.b.add(t, Tensor { rows: t.rows, ..positions.t });
    if !net.norms_first {
        x = n.layer_norm(x, true, true);
    }
    x = n.b.dropout(x, DROPOUT);
    n.b.put(ENCODED, x);
    n.b.put(HIDDEN, x);
    n.b.close(false);
    n.clear(ENCODED);
    for times in [1, net.layers - 1] {
        n.b.repeat(times);
        let x = n.b.take(HIDDEN);
        let x = wave_layer(n, net, x, frames, DROPOUT);
        n.b.put(HIDDEN, x);
        n.b.close(checkpointed(n));
    }
    let x = n.b.take(HIDDEN);
    let x = if net.norms_first { n.layer_norm(x, true, true) } else { x };
    // 32 letters; the loss wants fp32 log-probabilities.
    let logits = n.fully_connected(x, 32);
    n.cross_entropy(logits);
    n.b.end_segment(false, true);
    n.b.end_group();
}

fn wave_layer(n: &mut Layers, net: &Wave, x: Tensor, frames: u64, dropout: f64) -> Tensor {
    let normed = if net.norms_first { n.layer_norm(x, true, true) } else { x };
    let [q, k, v] = [Role::Query, Role::Key, Role::Value].map(|role| n.linear(normed, net.width, true, role));
    let head = net.width / net.heads;
    n.sequence = frames;
    let shape = Heads {
        count: net.heads,
        key_count: net.heads,
        head,
        value_head: head,
        queries: frames,
        keys: frames,
        by_head: false,
        value_by_head: false,
        causal: false,
        dropout,
        softcap: false,
        upcast_softmax: false,
    };
    let mask = net.gated.then(|| {
        let dtype = n.b.autocast.unwrap_or(q.dtype);
        n.constant(n.batch * net.heads * frames, frames, dtype)
    });
    let out = n.attention(q, k, v, shape, mask);
    let out = n.linear(out, net.width, true, Role::AttentionOut);
    let out = n.b.dropout(out, dropout);
    let mut x = n.b.add(x, out);
    if !net.norms_first {
        x = n.layer_norm(x, true, true);
    }
    let normed = if net.norms_first { n.layer_norm(x, true, true) } else { x };
    let inner = n.linear(normed, 4 * net.width, true, Role::Mlp);
    let inner = n.act_tensor(inner, Act::Gelu);
    let inner = n.b.dropout(inner, dropout);
    let out = n.linear(inner, net.width, true, Role::Mlp);
    let out = n.b.dropout(out, dropout);
    let x = n.b.add(x, out);
    if net.norms_first { x } else { n.layer_norm(x, true, true) }
}
