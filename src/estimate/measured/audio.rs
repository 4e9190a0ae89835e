//! Speech, voice and music.

use super::transformer::{SPEECH_DECODER, SPEECH_ENCODER, Stack};
use super::{is_half, numbers, phases::Pieces, weights};
use crate::catalog::{Model, OtherModel};
use crate::estimate::EstimateMethod;
use crate::project::{Method, Project};

/// Frames of the encoder for each second of sound: Whisper's 1,500 in 30 s; wav2vec 2.0 and its kin the same.
const FRAMES_PER_SECOND: f64 = 50.0;
/// Text tokens of a second of speech.
const TEXT_TOKENS_PER_SECOND: f64 = 4.3;
/// Whisper's vocabulary.
const VOCABULARY: f64 = 51_865.0;
/// Mel frames of a second in voice models (22 to 48 kHz, hop 256 to 512).
const MEL_FRAMES_PER_SECOND: f64 = 94.0;
/// Bytes per second of sound that a HiFi-GAN generator with its discriminators keeps in fp32: about 1,900 outputs of
/// convolutions per sample of sound at 22 kHz, at 8 bytes each.
const VOCODER_BYTES_PER_SECOND: f64 = 22_050.0 * 1_900.0 * 8.0 * 10.0;

pub(super) fn pieces(project: &Project, model: &Model, o: &OtherModel) -> (Pieces, EstimateMethod) {
    let batch = project.micro_batch as f64;
    let seconds = project.audio_seconds;
    let total = model.params as f64;
    // A frozen text encoder or vocoder stands second; a discriminator is trained too.
    let second_trained = o.second.name.contains("discriminator") || o.second.name.contains("GPT");
    let frozen = if second_trained { 0.0 } else { o.second.params as f64 };
    let stacks = stacks(o, seconds);
    let trained = match project.method {
        Method::Full | Method::Scratch => (total - frozen).max(total * 0.1),
        Method::Freeze => (total - frozen) * (1.0 - project.frozen_share),
        Method::Head => total * 0.02,
        Method::Lora | Method::QLora => {
            stacks.iter().map(|s| s.layers * s.width * project.lora.rank as f64 * 14.0).sum::<f64>().max(total * 0.002)
        }
    };
    let mut pieces = weights(project, total, trained, 0.98, 0.9);
    let mut method = EstimateMethod::Rough;
    if stacks.is_empty() {
        let bytes = VOCODER_BYTES_PER_SECOND * if is_half(project) { 0.6 } else { 1.0 };
        pieces.saved = batch * seconds * bytes;
        pieces.transient = pieces.saved * 0.1;
    } else {
        for stack in &stacks {
            let (kept, transient) = stack.kept(project);
            pieces.saved += kept * batch;
            pieces.transient = pieces.transient.max(transient * batch);
        }
    }
    if model.id.contains("whisper") {
        let tokens = (seconds * TEXT_TOKENS_PER_SECOND).clamp(1.0, 448.0);
        let logits = batch * tokens * VOCABULARY;
        pieces.logits = logits * if is_half(project) { 6.0 } else { 4.0 };
        pieces.loss_temporaries = logits * if is_half(project) { 4.0 } else { 8.0 };
        method = EstimateMethod::Measured;
    } else if !stacks.is_empty() {
        method = EstimateMethod::Extrapolated;
    }
    pieces.batch = batch * seconds * 16_000.0 * 4.0;
    (pieces, method)
}

/// Encoder and decoder stacks; none for convolutional voice models.
fn stacks(o: &OtherModel, seconds: f64) -> Vec<Stack> {
    let layers = numbers(o.layers);
    let Some(width) = numbers(o.hidden).first().copied() else { return Vec::new() };
    let convolutional = o.second.name.contains("discriminator") || o.main.name.contains("SoVITS");
    if layers.is_empty() || convolutional {
        return Vec::new();
    }
    let frames = match o.kind {
        "text to speech" => seconds * MEL_FRAMES_PER_SECOND,
        // Whisper pads to 30 s.
        _ if o.input.contains("30 s") => 1_500.0,
        _ => seconds * FRAMES_PER_SECOND,
    };
    match layers.as_slice() {
        [encoder, decoder] if o.layers.contains('+') => vec![
            Stack { block: SPEECH_ENCODER, layers: *encoder, width, tokens: frames },
            Stack {
                block: SPEECH_DECODER,
                layers: *decoder,
                width,
                tokens: (seconds * TEXT_TOKENS_PER_SECOND).clamp(1.0, 448.0),
            },
        ],
        all => vec![Stack { block: SPEECH_ENCODER, layers: all.iter().product(), width, tokens: frames }],
    }
}

pub(super) fn forward_flops(project: &Project, model: &Model, o: &OtherModel) -> f64 {
    let stacks = stacks(o, project.audio_seconds);
    if stacks.is_empty() {
        // Convolutional generators: about 30 GMACs per second of sound (HiFi-GAN V1 at 22 kHz), twice for the critics.
        return 2.0 * 60e9 * project.audio_seconds;
    }
    let layers: f64 = stacks.iter().map(|s| s.layers).sum();
    let weights = model.params as f64 / layers.max(1.0);
    stacks.iter().map(|s| s.forward_flops(weights)).sum()
}
