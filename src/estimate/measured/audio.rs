//! Speech, voice and music.

use super::transformer::{SPEECH_DECODER, SPEECH_ENCODER, Stack};
use super::{is_half, numbers, phases::Pieces, weights};
use crate::catalog::{Model, OtherModel};
use crate::estimate::EstimateMethod;
use crate::project::{Method, Project};
use crate::units::decimal;

/// Frames of the encoder for each second of sound: Whisper's 1,500 in 30 s; wav2vec 2.0 and its kin the same.
const FRAMES_PER_SECOND: f64 = 50.0;
/// Text tokens of a second of speech.
const TEXT_TOKENS_PER_SECOND: f64 = 4.3;
/// Whisper's vocabulary.
const VOCABULARY: f64 = 51_865.0;
/// Mel frames of a second in voice models (22 to 48 kHz, hop 256 to 512).
const MEL_FRAMES_PER_SECOND: f64 = 94.0;
/// Bytes that a voice of convolutions keeps in fp32, for each sample of sound and each weight of its critics, which are the
/// larger part; half of it in 16 bit. Traced as [`VOICE_FLOPS`]: 30 kB a sample with RVC v2's 71 million, 20 to 25 with
/// VITS's 47.
const KEPT_PER_SAMPLE: f64 = 4.3e-4;
/// Bytes that its encoders and flow keep of a frame of the clip that a segment is cut from, in fp32 and in 16 bit.
const KEPT_PER_FRAME: [f64; 2] = [320e3, 216e3];
/// Weights of VITS's critics, for models of which none are known.
const USUAL_CRITICS: f64 = 46.7e6;
/// Frames of such a clip: four seconds, a hundred frames each.
const CLIP_FRAMES: f64 = 400.0;
/// Weights with their norm multiplied out, which stay for backward: generator and half as many again as the critics have.
const NORMED_CRITICS: f64 = 1.5;

/// Operations of a step for each sample of sound that comes out, forward and backward: encoder, flow, generator, and the
/// critics four times. Counted on the networks of RVC v2 (31 million), GPT-SoVITS (20) and VITS (29) as their authors write
/// them, with a critic for each period.
const VOICE_FLOPS: f64 = 27e6;

/// Samples a second of the sound that a model makes, from what its row says goes in (`48 kHz, 768-wide features`).
pub(in crate::estimate) fn rate(o: &OtherModel) -> f64 {
    let stated = o.input.split_once("kHz").and_then(|(before, _)| decimal::read(before.trim()));
    stated.map_or(22_050.0, |kilohertz| kilohertz * 1e3)
}

/// Whether it is taken for one: nothing else is known of it.
pub(in crate::estimate) fn is_voice(o: &OtherModel) -> bool {
    stacks(o, 1.0).is_empty()
}

/// A generator of sound with its critics. A language model that comes before it is trained in a run of its own.
fn voice(project: &Project, model: &Model, o: &OtherModel) -> (Pieces, EstimateMethod) {
    let before = if o.second.name.contains("GPT") { o.second.params } else { 0 };
    let total = model.params.saturating_sub(before) as f64;
    let critics = if o.has_critics() { (total - o.main.params as f64).max(0.0) } else { 0.0 };
    let trained = if project.method == Method::Freeze { total * (1.0 - project.frozen_share) } else { total };
    let mut pieces = weights(project, total, trained, 0.0, 0.9);
    let half = usize::from(is_half(project));
    let size = if half == 1 { 2.0 } else { 4.0 };
    let batch = project.micro_batch as f64;
    let samples = batch * project.audio_seconds * rate(o);
    pieces.copies = (o.main.params as f64 + NORMED_CRITICS * critics) * size;
    // The critics' step comes first, and its gradients stay.
    pieces.early_gradients = critics / total.max(1.0);
    pieces.saved = samples * KEPT_PER_SAMPLE * critics.max(USUAL_CRITICS) * size / 4.0
        + batch * CLIP_FRAMES * KEPT_PER_FRAME[half];
    pieces.transient = pieces.saved * 0.02;
    pieces.batch = samples * 8.0;
    (pieces, if o.has_critics() { EstimateMethod::Extrapolated } else { EstimateMethod::Rough })
}

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
    if stacks.is_empty() {
        return voice(project, model, o);
    }
    let mut pieces = weights(project, total, trained, 0.98, 0.9);
    let mut method = EstimateMethod::Extrapolated;
    for stack in &stacks {
        let (kept, transient) = stack.kept(project);
        pieces.saved += kept * batch;
        pieces.transient = pieces.transient.max(transient * batch);
    }
    if model.id.contains("whisper") {
        let tokens = (seconds * TEXT_TOKENS_PER_SECOND).clamp(1.0, 448.0);
        let logits = batch * tokens * VOCABULARY;
        pieces.logits = logits * if is_half(project) { 6.0 } else { 4.0 };
        pieces.loss_temporaries = logits * if is_half(project) { 4.0 } else { 8.0 };
        method = EstimateMethod::Measured;
    }
    pieces.batch = batch * seconds * 16_000.0 * 4.0;
    (pieces, method)
}

/// Encoder and decoder stacks; none for convolutional voice models.
fn stacks(o: &OtherModel, seconds: f64) -> Vec<Stack> {
    let layers = numbers(o.layers);
    let Some(width) = numbers(o.hidden).first().copied() else { return Vec::new() };
    if layers.is_empty() || o.has_critics() {
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
        return project.audio_seconds * rate(o) * VOICE_FLOPS / 3.0;
    }
    let layers: f64 = stacks.iter().map(|s| s.layers).sum();
    let weights = model.params as f64 / layers.max(1.0);
    stacks.iter().map(|s| s.forward_flops(weights)).sum()
}
