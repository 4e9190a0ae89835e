//! NVIDIA's speech recipes as programs (`DeepLearningExamples`, PyTorch): Tacotron 2, `WaveGlow`, Jasper.

use super::builder::{BLANK, Kernel, Tensor, bytes};
use super::layers::Layers;
use super::maps::{Act, Conv, Map};
use super::speech::Sound;
use super::{Backward, Dtype, Kind, NONE, Op, Program, SAVE_AUX, SAVE_OUT, Slot, StepConfig};

/// Samples of `LJSpeech` in a second, and those between two mel frames (Tacotron 2's `hop_length`).
const RATE: f64 = 22_050.0;
const HOP: f64 = 256.0;
/// Characters of a second: `LJSpeech`'s longest texts have 187, its longest clips 10.1 s; a batch is padded to them.
const CHARACTERS: f64 = 18.5;
/// Mel bands of Tacotron 2 and `WaveGlow`.
const MELS: u64 = 80;

/// The training program of a model of the catalog, or `None` where there is no program for it.
pub(super) fn voice(id: &str, sound: Sound, config: &StepConfig) -> Option<Program> {
    let mut n = Layers::new(config);
    match id {
        "tacotron2" => tacotron(&mut n, sound),
        "waveglow" => waveglow(&mut n, sound),
        "jasper-10x5" => jasper(&mut n, sound),
        _ => return None,
    }
    Some(n.b.program)
}

/// Something that comes with the batch.
fn given(n: &mut Layers, width: u64, channels: u64) -> Map {
    let dtype = if n.config.autocast.is_some() { Dtype::F32 } else { n.config.weights };
    let rows = n.batch * width;
    n.b.program.batch_bytes += bytes(rows * channels, dtype);
    let t = n.b.value(rows, channels, dtype, Kind::Weight { trained: false }, NONE, false);
    Map { t, channels, height: 1, width, depth: 1 }
}

fn line(x: Map, t: Tensor) -> Map {
    Map { t, channels: t.cols, ..x }
}

/// Closes the segment with this one tensor.
fn pass(n: &mut Layers, t: Tensor) -> Tensor {
    n.b.put(Slot(0), t);
    n.b.end_segment(false, false);
    n.b.end_group();
    n.b.take(Slot(0))
}

/// Ends the program with a loss term.
fn close(n: &mut Layers, loss: Tensor) {
    let loss = pass(n, loss);
    n.b.scale(loss);
    n.b.end_segment(false, true);
    n.b.end_group();
}

// ---- Tacotron 2 ------------------------------------------------------------------------------------------------------

/// Widths of `tacotron2/arg_parser.py`.
const EMBEDDING: u64 = 512;
const RNN: u64 = 1024;
const ATTENTION: u64 = 128;
const FILTERS: u64 = 32;
const PRENET: u64 = 256;

fn tacotron(n: &mut Layers, sound: Sound) {
    let text = ((sound.seconds * CHARACTERS) as u64).max(1);
    let frames = ((sound.seconds * RATE / HOP) as u64).max(1);
    let table = n.weight(148, EMBEDDING);
    let looked_up = n.b.embedding(table, n.batch * text);
    n.b.program.batch_bytes += bytes(n.batch * text, Dtype::I64) + bytes(n.batch * frames, Dtype::F32);
    // The embedding is transposed: the convolution makes a copy.
    let looked_up = n.b.copy(looked_up, looked_up.rows, EMBEDDING);
    let mut x = Map { t: looked_up, channels: EMBEDDING, height: 1, width: text, depth: 1 };
    for _ in 0..3 {
        x = convolution(n, x, EMBEDDING, Act::ReluCopy);
        x = line(x, n.b.dropout(x.t, 0.5));
    }
    let memory = encoder_lstm(n, x.t);
    let keys = n.weight(ATTENTION, EMBEDDING);
    let keys = n.b.linear(memory, keys, None);
    let mels = given(n, frames, MELS);
    let mut fed = n.b.copy(mels.t, mels.t.rows, MELS);
    for _ in 0..2 {
        let w = n.weight(PRENET, fed.cols);
        let y = n.b.linear(fed, w, None);
        let y = n.act_tensor(y, Act::ReluCopy);
        fed = n.b.dropout(y, 0.5);
    }
    let out = decoder(n, fed, memory, keys, text);
    let w = n.weight(MELS + 1, RNN + EMBEDDING);
    let b = n.weight(MELS + 1, 1);
    let out = n.b.linear(out, w, Some(b));
    let mel = n.b.copy(out, out.rows, MELS);
    let mel = pass(n, mel);
    let mut x = Map { t: mel, channels: MELS, height: 1, width: frames, depth: 1 };
    for layer in 0..5 {
        let (width, act) = if layer < 4 { (EMBEDDING, Act::Sigmoid) } else { (MELS, Act::None) };
        x = convolution(n, x, width, act);
        x = line(x, n.b.dropout(x.t, 0.5));
    }
    let refined = n.b.add(mel, x.t);
    let target = n.constant(refined.rows, MELS, refined.dtype);
    let rough = n.mean_squared_error(mel, target);
    let fine = n.mean_squared_error(refined, target);
    let loss = n.b.add(rough, fine);
    close(n, loss);
}

/// Five wide, with batch norm.
fn convolution(n: &mut Layers, x: Map, out: u64, act: Act) -> Map {
    n.conv_norm(x, Conv::new(out, 1).rectangle(1, 5).bias(), act)
}

/// `nn.LSTM` of 256 in both directions: keeps four gates, the cell and its tanh.
fn encoder_lstm(n: &mut Layers, x: Tensor) -> Tensor {
    let w = n.weight(2 * 4 * EMBEDDING / 2, x.cols + EMBEDDING / 2 + 2);
    let (x, w) = (n.b.autocast_input(x), n.b.autocast_weight(w));
    let wide = x.rows * EMBEDDING * x.dtype.bytes();
    let kernel = Kernel {
        saves: 0b11 | SAVE_OUT | SAVE_AUX,
        aux: 6 * wide,
        temp: 4 * wide,
        back_temp: 4 * wide,
        flops: 2.0 * x.rows as f64 * w.numel() as f64,
        kind: Kind::Activation,
    };
    n.b.fused(&[x, w], x.rows, EMBEDDING, x.dtype, kernel)
}

/// The loop over the frames, as one operator: each step keeps what its cells and its attention over the whole text need,
/// backward goes step by step.
fn decoder(n: &mut Layers, fed: Tensor, memory: Tensor, keys: Tensor, text: u64) -> Tensor {
    let attention_input = PRENET + EMBEDDING;
    let decoder_input = RNN + EMBEDDING;
    // Two cells (weights of input and state, two biases), query, location layer, energy.
    let cells = 4 * RNN * (attention_input + decoder_input + 2 * RNN + 4);
    let attention = ATTENTION * RNN + ATTENTION * FILTERS + FILTERS * 2 * 31 + ATTENTION;
    let w = n.weight(cells + attention, 1);
    let w = n.b.autocast_weight(w);
    let fed = n.b.autocast_input(fed);
    let size = fed.dtype.bytes();
    // `_thnn_fused_lstm_cell` keeps both products, its workspace of four gates and the new cell; then come the dropped-out
    // state and its mask. The products keep their inputs (`derivatives.yaml`; traced).
    let cell = 12 * RNN + 2 * RNN;
    let step = (2 * cell + attention_input + decoder_input + decoder_input) * size + 2 * RNN;
    // tanh of the energies' sum, the filtered weights that the location layer is fed, weights and their two sums.
    let token = (ATTENTION + FILTERS + 2 + 1) * size;
    let steps = fed.rows;
    let kernel = Kernel {
        saves: 0b1110 | SAVE_AUX,
        aux: steps.saturating_mul(step + text * token),
        back_temp: n.batch * text * (2 * ATTENTION + FILTERS) * size,
        flops: 2.0 * steps as f64 * (cells + attention * text) as f64,
        ..Kernel::default()
    };
    n.b.program.looped = true;
    n.b.fused(&[fed, memory, keys, w], steps, RNN + EMBEDDING, fed.dtype, kernel)
}

// ---- WaveGlow --------------------------------------------------------------------------------------------------------

/// Sizes of `waveglow/arg_parser.py`.
const FLOWS: u64 = 12;
const GROUP: u64 = 8;
const EARLY_EVERY: u64 = 4;
const EARLY: u64 = 2;
const LAYERS: u64 = 8;
const CHANNELS: u64 = 512;

fn waveglow(n: &mut Layers, sound: Sound) {
    let groups = ((sound.seconds * RATE) as u64 / GROUP).max(1);
    let frames = (sound.seconds * RATE / HOP) as u64 + 1;
    let mels = given(n, frames, MELS);
    let w = n.weight(MELS, MELS * 1024);
    let b = n.weight(MELS, 1);
    let wide = n.convolve(mels.t, w, Some(b), MELS, n.batch * groups * GROUP, 0.0);
    let spectrum = n.b.copy(wide, n.batch * groups, MELS * GROUP);
    let sound = given(n, groups, GROUP);
    let mut audio = sound.t;
    let mut channels = GROUP;
    for flow in 0..FLOWS {
        if flow > 0 && flow % EARLY_EVERY == 0 {
            channels -= EARLY;
            audio = n.b.slice(audio, channels);
        }
        let w = n.weight(channels, channels);
        let mixed = n.convolve(audio, w, None, channels, audio.rows, 0.0);
        let half = channels / 2;
        let parts = n.b.split(mixed, &[half, half]);
        let &[first, second] = parts.as_slice() else { return };
        let out = coupling(n, first, spectrum, half);
        let outs = n.b.split(out, &[half, half]);
        let &[shift, scale] = outs.as_slice() else { return };
        let stretched = n.b.unary(scale, super::builder::Keep::Output, 0);
        let product = n.b.mul(stretched, second);
        let moved = n.b.add(product, shift);
        audio = n.b.cat(&[first, moved]);
    }
    let square = n.b.mul(audio, audio);
    let loss = n.b.reduce(square, 1, 1);
    close(n, loss);
}

/// One `WN`: eight layers of a dilated convolution, conditioned on the spectrum, gated.
fn coupling(n: &mut Layers, first: Tensor, spectrum: Tensor, half: u64) -> Tensor {
    let mut audio = normalized(n, first, CHANNELS, 1);
    let mut skipped: Option<Tensor> = None;
    for layer in 0..LAYERS {
        let inner = normalized(n, audio, 2 * CHANNELS, 3);
        let condition = normalized(n, spectrum, 2 * CHANNELS, 1);
        let gated = gate(n, inner, condition);
        let last = layer + 1 == LAYERS;
        let out = normalized(n, gated, if last { CHANNELS } else { 2 * CHANNELS }, 1);
        let skip = if last {
            out
        } else {
            let parts = n.b.split(out, &[CHANNELS, CHANNELS]);
            let &[on, skip] = parts.as_slice() else { return out };
            audio = n.b.add(on, audio);
            skip
        };
        skipped = Some(skipped.map_or(skip, |sum| n.b.add(skip, sum)));
    }
    let sum = skipped.unwrap_or(audio);
    let w = n.weight(2 * half, CHANNELS);
    let b = n.weight(2 * half, 1);
    n.convolve(sum, w, Some(b), 2 * half, sum.rows, 0.0)
}

/// A convolution with `weight_norm`: the matrix is made from direction and length in every forward, and kept.
fn normalized(n: &mut Layers, x: Tensor, out: u64, kernel: u64) -> Tensor {
    let direction = n.weight(out, x.cols * kernel);
    let length = n.weight(out, 1);
    let op = Op { backward: Backward::Fresh, saves: 0b11 | SAVE_AUX, aux: bytes(out, Dtype::F32), ..BLANK };
    let w = n.b.emit(&[direction, length], out, x.cols * kernel, direction.dtype, op);
    let b = n.weight(out, 1);
    let flops = 2.0 * x.rows as f64 * w.numel() as f64;
    n.convolve(x, w, Some(b), out, x.rows, flops)
}

/// `fused_add_tanh_sigmoid_multiply`, a `TorchScript` function: beside tanh and sigmoid, its backward holds both inputs.
/// Written in Python it would keep half as much; the measured slope, 1.53 GiB a sample of 8,000 in fp32 and 0.73 with AMP
/// (lambdal/deeplearning-benchmark, batches 2 to 30), is that of the script.
fn gate(n: &mut Layers, inner: Tensor, condition: Tensor) -> Tensor {
    let half = bytes(inner.rows * CHANNELS, inner.dtype);
    let kernel = Kernel { saves: 0b11 | SAVE_AUX, aux: 2 * half, back_temp: 2 * half, ..Kernel::default() };
    n.b.fused(&[inner, condition], inner.rows, CHANNELS, inner.dtype, kernel)
}

// ---- Jasper ----------------------------------------------------------------------------------------------------------

/// Mel bands and frames of a second (`configs/jasper10x5dr_speedp-online_speca.yaml`).
const BANDS: u64 = 64;
const FRAMES: f64 = 100.0;
/// Channels, kernel and dropout (percent) of the blocks; each stands there twice.
const BLOCKS: [(u64, u64, u64); 5] = [(256, 11, 20), (384, 13, 20), (512, 17, 20), (640, 21, 30), (768, 25, 30)];

fn jasper(n: &mut Layers, sound: Sound) {
    let frames = ((sound.seconds * FRAMES) as u64).max(2);
    let x = given(n, frames, BANDS);
    let mut x = n.conv_halved_wide(x, 256, 11);
    x = jasper_unit(n, x, 20, &[]);
    // Every block is fed the sums of all before it ("dense residual").
    let mut before = vec![x];
    for (channels, kernel, dropout) in BLOCKS.into_iter().flat_map(|b| [b, b]) {
        for repeat in 0..5 {
            x = n.conv(x, Conv::new(channels, 1).rectangle(1, kernel));
            let sums: &[Map] = if repeat == 4 { &before } else { &[] };
            x = jasper_unit(n, x, dropout, sums);
        }
        before.push(x);
    }
    x = n.conv(x, Conv::new(896, 1).rectangle(1, 29));
    x = jasper_unit(n, x, 40, &[]);
    x = n.conv(x, Conv::new(1024, 1));
    x = jasper_unit(n, x, 40, &[]);
    // 28 letters and the blank; the loss wants fp32 log-probabilities.
    let logits = n.conv(x, Conv::new(29, 1).bias());
    let loss = n.cross_entropy(logits.t);
    close(n, loss);
}

/// Batch norm, residual sums, ReLU, dropout; the masked convolution behind it fills the padding of a copy.
fn jasper_unit(n: &mut Layers, x: Map, dropout: u64, sums: &[Map]) -> Map {
    let mut y = n.batch_norm(x);
    for &earlier in sums {
        let side = n.conv(earlier, Conv::new(x.channels, 1));
        let side = n.batch_norm(side);
        y = n.add_in_place(y, side);
    }
    let y = n.act(y, Act::Relu);
    let y = line(y, n.b.dropout(y.t, dropout as f64 / 100.0));
    let filled = n.b.scale(y.t);
    line(y, filled)
}
