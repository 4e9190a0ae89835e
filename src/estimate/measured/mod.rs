//! Memory of what is not a language model, from coefficients measured by tracing PyTorch.
//!
//! For each kind of architecture the traced training steps give how many bytes a step keeps for backward per output of a
//! convolution or linear layer (or per token and layer), in fp32 and under autocast, with and without checkpointing.
//! A model that was not traced itself is scaled from its kind by the activations, the layers and the tokens of its
//! catalog row, and says so by a wider band.

mod audio;
mod diffusion;
mod network;
mod phases;
mod program;
mod small;
pub(in crate::estimate) use audio::{is_voice, rate};
pub(in crate::estimate) use diffusion::text_on_card;
pub(in crate::estimate) use small::TABLE_COLUMNS;
mod transformer;
mod vision;
mod vision_language;

use super::walks::Walks;
use super::{CannotEstimate, MemoryEstimate, TimelinePoint};
use crate::catalog::{Architecture, Domain, Gpu, Model, OtherModel};
use crate::project::{Checkpointing, Field, Method, Precision, Project};
use crate::units::{Bytes, decimal};
pub use network::network;
use phases::Pieces;
use program::Planned;

/// Beyond this no machine helps, and the sums below would lose their meaning.
const TOO_LARGE: f64 = 1e18;

/// Memory of one training step of a vision, diffusion, audio, vision-language or small model; unless it is `whole`, only
/// what it says of the card and its band is meant.
pub fn memory(
    project: &Project,
    model: &Model,
    gpu: Option<&Gpu>,
    walks: &Walks,
    whole: bool,
) -> Result<MemoryEstimate, CannotEstimate> {
    check(project)?;
    if let Architecture::Vision(v) = &model.architecture
        && project.method.is_adapter()
        && v.heads.is_empty()
    {
        // Adapters sit beside linear layers; a convolutional net has one.
        return Err(CannotEstimate::MethodDoesNotApply);
    }
    if let Some(planned) = Planned::of(project, model, gpu, walks) {
        return planned.memory(project, gpu, whole);
    }
    let (pieces, method) = match &model.architecture {
        Architecture::Vision(v) => vision::pieces(project, model, v)?,
        Architecture::Diffusion(d) => diffusion::pieces(project, d),
        Architecture::Other(o) => match model.domain {
            Domain::VisionLanguage => vision_language::pieces(project, model, o),
            Domain::Small => small::pieces(project, model)?,
            _ => audio::pieces(project, model, o),
        },
        Architecture::Language(_) => return Err(CannotEstimate::UnknownModel(model.id.to_string())),
    };
    if !total(&pieces).is_finite() || total(&pieces) > TOO_LARGE {
        return Err(CannotEstimate::TooLarge);
    }
    Ok(pieces.estimate(project, gpu, method))
}

/// The course of the step in at most `points` points, for the picture.
pub fn timeline(project: &Project, model: &Model, gpu: Option<&Gpu>, points: usize) -> Vec<TimelinePoint> {
    if check(project).is_err() {
        return Vec::new();
    }
    let walks = Walks::default();
    match Planned::of(project, model, gpu, &walks) {
        Some(planned) => planned.timeline(project, points),
        None => memory(project, model, gpu, &walks, true).map(|m| m.timeline).unwrap_or_default(),
    }
}

/// Reserved memory on one card by simulating the caching allocator, where the model has a program.
pub fn reserved(project: &Project, model: &Model, gpu: Option<&Gpu>) -> Result<Bytes, CannotEstimate> {
    let walks = Walks::default();
    let memory = memory(project, model, gpu, &walks, true)?;
    Ok(match Planned::of(project, model, gpu, &walks) {
        Some(planned) => planned.reserved(&memory, gpu),
        None => memory.reserved,
    })
}

/// What a card must have, by simulating the caching allocator on cards of several sizes, where the model has a program.
pub fn needed(project: &Project, model: &Model, gpu: Option<&Gpu>) -> Result<Bytes, CannotEstimate> {
    let walks = Walks::default();
    let memory = memory(project, model, gpu, &walks, true)?;
    Ok(Planned::of(project, model, gpu, &walks).map_or(memory.card, |planned| planned.needed(project, &memory)))
}

/// The same where it is more than the card has, for models whose simulation takes no time that a person would notice.
pub fn needed_beyond(
    project: &Project,
    model: &Model,
    gpu: &Gpu,
    memory: &MemoryEstimate,
    walks: &Walks,
) -> Option<Bytes> {
    Planned::of(project, model, Some(gpu), walks)?.needed_beyond(project, memory, gpu.usable)
}

/// Operations of one sample's forward pass, for models that are neither of language nor of pictures alone.
pub(in crate::estimate) fn forward_flops(project: &Project, model: &Model, o: &OtherModel) -> f64 {
    if let Some(planned) = Planned::of(project, model, None, &Walks::default()) {
        return planned.forward_flops() / project.micro_batch as f64;
    }
    match model.domain {
        Domain::VisionLanguage => vision_language::forward_flops(project, o),
        Domain::Small => small::forward_flops(project, model),
        _ => audio::forward_flops(project, model, o),
    }
}

fn total(p: &Pieces) -> f64 {
    p.weights + p.copies + p.gradients + p.states + p.saved + p.logits + p.transient + p.encoding + p.host
}

fn check(project: &Project) -> Result<(), CannotEstimate> {
    let wrong = [
        (project.micro_batch == 0, Field::MicroBatch),
        (project.accumulation == 0, Field::Accumulation),
        (project.image_side == 0, Field::ImageSide),
        (project.frames == 0, Field::Frames),
        (project.objects == 0, Field::Objects),
        (!project.audio_seconds.is_finite() || project.audio_seconds <= 0.0, Field::AudioSeconds),
    ];
    if let Some((_, field)) = wrong.into_iter().find(|(bad, _)| *bad) {
        return Err(CannotEstimate::OutOfRange(field));
    }
    // Everything that is multiplied later stays far inside 64 bits: the widest feature maps, and scores of all pairs of
    // patches where a kernel writes them out.
    let batch = project.micro_batch as f64;
    let pixels = (project.image_side as f64).powi(2) * project.frames as f64;
    let samples = project.audio_seconds * 1e5 + project.sequence as f64 * 1e6;
    let labels = project.objects.max(project.classes.unwrap_or(1)) as f64;
    let labelled = pixels * (labels / 1e4).max(1.0);
    let worst = batch * (labelled * 1e5 + (pixels / 16.0).powi(2) * 64.0 + samples) + project.lora.rank as f64 * 1e8;
    if worst < TOO_LARGE { Ok(()) } else { Err(CannotEstimate::TooLarge) }
}

fn recomputes(project: &Project) -> bool {
    matches!(project.checkpointing, Checkpointing::PerBlock | Checkpointing::Pairs | Checkpointing::Offloaded)
}

fn is_half(project: &Project) -> bool {
    project.precision != Precision::Fp32
}

/// Weights, gradients, states and copies of a model of which `trained` parameters are trained in the project's precision
/// and the rest is frozen in its base format. `casts` is the share of weights that autocast copies.
fn weights(project: &Project, parameters: f64, trained: f64, casts: f64, factored: f64) -> Pieces {
    use crate::project::BaseFormat;
    let cost = phases::per_weight(project, factored);
    let autocast = matches!(project.precision, Precision::AmpBf16 | Precision::AmpFp16);
    let frozen = (parameters - trained).max(0.0);
    // A frozen base is loaded in 16 bit unless the whole run is fp32 (diffusers, kohya, PEFT).
    let base = match project.base {
        BaseFormat::AsPrecision if project.method == Method::QLora => 0.5 + 4.0 / 64.0,
        BaseFormat::AsPrecision => {
            if project.method.is_adapter() && is_half(project) {
                2.0
            } else {
                cost.weight
            }
        }
        BaseFormat::Fp32 => 4.0,
        BaseFormat::Bf16 => 2.0,
        BaseFormat::Fp8 | BaseFormat::Fp8Dynamic => 1.0,
        BaseFormat::Int8 => 1.0 + 4.0 / 256.0,
        BaseFormat::Nf4 => 0.5 + 4.0 / 64.0,
        BaseFormat::Nf4Double => 0.5 + 1.03 / 64.0,
        BaseFormat::Int4 => 0.5 + 2.5 / 128.0,
    };
    let copied = if autocast && !recomputes(project) {
        2.0 * casts * (trained + if base >= 4.0 && project.method != Method::Head { frozen } else { 0.0 })
    } else {
        0.0
    };
    Pieces {
        weights: trained * cost.weight + frozen * base + if project.ema { trained * 4.0 } else { 0.0 },
        copies: copied,
        gradients: trained * cost.gradient,
        states: trained * cost.state,
        step_temporaries: trained * cost.step,
        ..Pieces::default()
    }
}

/// All numbers of a printed shape such as `320-640-1280`, `4+4` or `19 double + 38 single`.
fn numbers(printed: &str) -> Vec<f64> {
    printed.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter_map(decimal::read).collect()
}
