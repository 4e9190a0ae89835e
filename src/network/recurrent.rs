//! Recurrent translation with attention: GNMT as NVIDIA's `DeepLearningExamples` writes it (`seq2seq/models`).
//!
//! LSTM layers run in cuDNN, which keeps the four gates, the cell and its tanh of every position for backward. Attention
//! is additive (Bahdanau): the sum of every query and every key is written out.

use super::builder::{Keep, Kernel, Tensor, bytes};
use super::language::{HELD, TABLE};
use super::layers::{Layers, Role};
use super::{Dtype, Kind, Program, SAVE_AUX, SAVE_OUT, StepConfig, Trained};
use crate::catalog::LanguageModel;

/// Vectors of the hidden size that backward through an LSTM needs of every position: four gates, cell, its tanh.
const KEPT: u64 = 6;
/// Gates: what the products of a layer fill at once.
const GATES: u64 = 4;
/// Dropout on the inputs of the layers (`train.py`).
const DROPOUT: f64 = 0.2;

pub(crate) fn recurrent(model: &LanguageModel, config: &StepConfig) -> Program {
    let mut n = Layers::new(config);
    n.trained = matches!(config.trained, Trained::All);
    let (hidden, layers, vocab) = (u64::from(model.hidden), u64::from(model.layers), u64::from(model.vocab));
    // The decoder reads all of the translation but its last token (`tgt[:, :-1]` in seq2seq/train/trainer.py).
    let (source, target) =
        (config.sequence, config.decoder_sequence.unwrap_or(config.sequence.saturating_sub(1).max(1)));

    let table = n.weight(vocab, hidden);
    let x = n.b.embedding(table, config.batch.saturating_mul(source));
    let x = n.b.dropout(x, DROPOUT);
    let packed = n.b.copy(x, x.rows, x.cols);
    let both = lstm(&mut n, packed, hidden, 2);
    let both = n.b.copy(both, both.rows, both.cols);
    let both = n.b.dropout(both, DROPOUT);
    let mut x = lstm(&mut n, both, hidden, 1);
    for _ in 2..layers {
        let dropped = n.b.dropout(x, DROPOUT);
        let y = lstm(&mut n, dropped, hidden, 1);
        x = n.b.add(y, x);
    }
    let memory = x;

    let x = n.b.embedding(table, config.batch.saturating_mul(target));
    let x = lstm(&mut n, x, hidden, 1);
    let context = attention(&mut n, x, memory, source, target);
    let mut x = x;
    for layer in 1..layers {
        let dropped = n.b.dropout(x, DROPOUT);
        let wide = n.b.cat(&[dropped, context]);
        let y = lstm(&mut n, wide, hidden, 1);
        x = if layer > 1 { n.b.add(y, x) } else { y };
    }
    let logits = n.linear(x, vocab, true, Role::Outside);
    let logits = n.b.as_logits(logits);
    n.b.put(HELD, logits);
    smoothed_loss(&mut n, logits);
    n.b.put(TABLE, table);
    n.b.end_segment(false, true);
    n.b.end_group();
    n.b.program.batch_bytes += bytes(config.batch * source, Dtype::I64) + bytes(config.batch * target, Dtype::I64);
    n.b.program
}

/// `nn.LSTM` of one layer, in one or both directions.
fn lstm(n: &mut Layers, x: Tensor, hidden: u64, directions: u64) -> Tensor {
    let inputs = n.weight(directions * GATES * hidden, x.cols);
    let states = n.weight(directions * GATES * hidden, hidden);
    let biases = n.weight(directions * 2 * GATES * hidden, 1);
    let size = x.dtype.bytes();
    let wide = x.rows.saturating_mul(directions * hidden);
    let kernel = Kernel {
        saves: 0b1111 | SAVE_OUT | SAVE_AUX,
        aux: wide.saturating_mul(KEPT * size),
        temp: wide.saturating_mul(GATES * size),
        back_temp: wide.saturating_mul(GATES * size),
        flops: 2.0 * x.rows as f64 * (directions * GATES * hidden) as f64 * (x.cols + hidden) as f64,
        kind: Kind::Activation,
    };
    n.b.fused(&[x, inputs, states, biases], x.rows, directions * hidden, x.dtype, kernel)
}

/// Normalised additive attention of `queries` over `keys`.
fn attention(n: &mut Layers, queries: Tensor, keys: Tensor, source: u64, target: u64) -> Tensor {
    let hidden = queries.cols;
    // Batch first: a copy each.
    let queries = n.b.copy(queries, queries.rows, hidden);
    let memory = n.b.copy(keys, keys.rows, hidden);
    let q = n.linear(queries, hidden, false, Role::Outside);
    let k = n.linear(memory, hidden, false, Role::Outside);
    let pairs = n.batch.saturating_mul(source).saturating_mul(target);
    let sum = n.b.fused(&[q, k], pairs, hidden, q.dtype, Kernel::default());
    let bias = n.weight(hidden, 1);
    let sum = n.b.add(sum, bias);
    let squashed = n.b.unary(sum, Keep::Output, 0);
    n.b.touch(sum);
    let vector = n.weight(hidden, 1);
    let dot = Kernel { saves: 0b11, flops: 2.0 * pairs as f64 * hidden as f64, ..Kernel::default() };
    let scores = n.b.fused(&[squashed, vector], queries.rows, source, squashed.dtype, dot);
    let weights = n.b.softmax(scores, false);
    n.b.matmul(weights, keys, queries.rows, hidden, 2.0 * pairs as f64 * hidden as f64)
}

/// Label smoothing: log-probabilities in fp32, the target's and their mean.
fn smoothed_loss(n: &mut Layers, logits: Tensor) {
    let saves = SAVE_OUT | u8::from(n.b.keeps_softmax_input);
    let saved = Kernel { saves, kind: Kind::Logits, ..Kernel::default() };
    let logs = n.b.fused(&[logits], logits.rows, logits.cols, Dtype::F32, saved);
    let target = n.b.fused(&[logs], logits.rows, 1, Dtype::F32, Kernel::default());
    let mean = n.b.fused(&[logs], logits.rows, 1, Dtype::F32, Kernel::default());
    let loss = n.b.add(target, mean);
    let loss = n.b.reduce(loss, 1, 1);
    n.b.touch(loss);
}
