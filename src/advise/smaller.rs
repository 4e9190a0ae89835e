//! Less of the same: shorter, smaller or fewer of what a sample is made of, down to where it still is a sample, and
//! smaller models of the same family.

use super::FixKind;
use crate::catalog::{Architecture, Catalog, Domain, Model};
use crate::project::Project;
use crate::units::sort;

/// Tokens: a question and an answer of a paragraph each; what the usual instruction sets hold at the least (the 52,000 of
/// Stanford Alpaca were trained at 512). A judgement.
const LEAST_TOKENS: u64 = 256;
/// Frames of a clip: a second at the 16 a second of Wan 2.1, and a multiple of four and one, as video coders take them.
const LEAST_FRAMES: u64 = 17;
/// Seconds of a sound clip: less holds hardly a word. A judgement.
const LEAST_SECONDS: f64 = 1.0;
/// Pixels on a side: the smallest that Stable Diffusion's own training began with.
const LEAST_DRAWN_SIDE: u64 = 256;
/// Of the side that a network was made for, the part below which it no longer sees what it has learned: `ImageNet`
/// networks of 224 px are still trained at 128 (Touvron et al., `FixRes`, 2019).
const LEAST_OF_SIDE: u64 = 2;
/// A sibling with a smaller share of the parameters than this is another project. A judgement.
const LEAST_OF_MODEL: f64 = 0.3;
/// Models that draw come in few sizes, far apart: Wan 2.1 in 1.3 and 14 billion.
const LEAST_OF_DRAWING_MODEL: f64 = 0.05;

/// Shorter, smaller or fewer of what one sample is made of, the mildest first. `made_for` is the side that the model was
/// made for, 0 where that is not known.
pub(super) fn samples(project: &Project, domain: Domain, made_for: u64) -> Option<Vec<FixKind>> {
    let settings: Vec<FixKind> = match domain {
        Domain::Language | Domain::VisionLanguage => steps(project.sequence, 64, LEAST_TOKENS)
            .into_iter()
            .map(|sequence| FixKind::ShorterSequence { sequence })
            .collect(),
        Domain::Diffusion if project.frames > 1 => steps(project.frames, 4, LEAST_FRAMES - 1)
            .into_iter()
            .map(|f| FixKind::FewerFrames { frames: f + 1 })
            .filter(|k| matches!(k, FixKind::FewerFrames { frames } if *frames < project.frames))
            .collect(),
        Domain::Vision | Domain::Diffusion => sides(project, domain, made_for),
        Domain::Audio => SHARES
            .iter()
            .map(|s| FixKind::ShorterAudio { seconds: (project.audio_seconds * s * 10.0).round() / 10.0 })
            .filter(|k| matches!(k, FixKind::ShorterAudio { seconds } if *seconds >= LEAST_SECONDS))
            .collect(),
        Domain::Small => Vec::new(),
    };
    (!settings.is_empty()).then_some(settings)
}

/// Smaller pictures of a clip, beside fewer of them.
pub(super) fn clips(project: &Project, domain: Domain, made_for: u64) -> Option<Vec<FixKind>> {
    let settings = sides(project, domain, made_for);
    (domain == Domain::Diffusion && project.frames > 1 && !settings.is_empty()).then_some(settings)
}

/// What is left, the mildest first.
const SHARES: [f64; 5] = [0.75, 0.5, 0.375, 0.25, 0.125];

fn steps(value: u64, step: u64, least: u64) -> Vec<u64> {
    let share = |s: &f64| ((value as f64 * s) as u64 / step * step).max(least);
    let mut sizes: Vec<u64> = SHARES.iter().map(share).filter(|v| *v < value).collect();
    sizes.dedup();
    sizes
}

fn sides(project: &Project, domain: Domain, made_for: u64) -> Vec<FixKind> {
    let half = if made_for > 0 { made_for } else { project.image_side } / LEAST_OF_SIDE;
    let least = if domain == Domain::Diffusion { half.max(LEAST_DRAWN_SIDE) } else { half }.next_multiple_of(32);
    steps(project.image_side, 32, least).into_iter().map(|side| FixKind::SmallerImage { side }).collect()
}

/// The side in pixels that a model was made for; 0 where that is not known.
pub(super) fn made_for(model: Option<&Model>) -> u64 {
    match model.map(|m| &m.architecture) {
        Some(Architecture::Vision(v)) => v.resolution as u64,
        Some(Architecture::Diffusion(d)) => {
            // Of `832x480 or 1280x720` the shorter side of the first: clips are wider than high.
            let first = d.native_resolution.split_whitespace().next().unwrap_or_default();
            first.split('x').filter_map(|side| side.parse().ok()).min().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Smaller models that differ from the project's in their size alone (`qwen3-4b` for `qwen3-8b`), the largest first.
pub(super) fn siblings(project: &Project, catalog: &Catalog) -> Vec<FixKind> {
    let Some(model) = catalog.model(&project.model).filter(|_| project.custom.is_none() && project.network.is_none())
    else {
        return Vec::new();
    };
    let Some(family) = family(model.id) else { return Vec::new() };
    let least = if model.domain == Domain::Diffusion { LEAST_OF_DRAWING_MODEL } else { LEAST_OF_MODEL };
    let near = |m: &&Model| m.params < model.params && m.params as f64 >= model.params as f64 * least;
    let kin = |m: &&Model| m.domain == model.domain && self::family(m.id).as_ref() == Some(&family);
    let mut found: Vec<&Model> = catalog.models.iter().filter(near).filter(kin).collect();
    sort(&mut found, |a, b| b.params.cmp(&a.params));
    found.into_iter().map(|m| FixKind::SmallerModel { model: m.id, name: m.name, params: m.params }).collect()
}

/// An id without its size: `qwen2.5-vl-7b` is one of `qwen2.5-vl`. `None` where it tells no size.
fn family(id: &str) -> Option<String> {
    let is_size = |part: &str| {
        let number = part.strip_suffix(['b', 'm']).unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let parts: Vec<&str> = id.split('-').collect();
    let rest: Vec<&str> = parts.iter().copied().filter(|part| !is_size(part)).collect();
    (rest.len() + 1 == parts.len()).then(|| rest.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_differ_in_size_alone() {
        let catalog = Catalog::bundled();
        let of = |id: &str| {
            let named = |kind| match kind {
                FixKind::SmallerModel { model, .. } => model,
                _ => "",
            };
            let project = Project { model: id.to_string(), ..Project::default() };
            siblings(&project, &catalog).into_iter().map(named).collect::<Vec<_>>()
        };
        assert_eq!(of("qwen3-8b"), ["qwen3-4b"]);
        assert_eq!(of("qwen2.5-vl-7b"), ["qwen2.5-vl-3b"]);
        assert_eq!(of("qwen2.5-7b"), ["qwen2.5-3b"]);
        // Of a third the size, of another family, of another kind, none at all.
        for id in ["llama-3.1-8b", "gemma-2-9b", "qwen3-30b-a3b", "sdxl", "resnet50", "no-such-model"] {
            assert!(of(id).is_empty(), "{id}: {:?}", of(id));
        }
    }

    #[test]
    fn a_sample_stays_one() {
        let at = |domain, made_for, project: &Project| {
            samples(project, domain, made_for).and_then(|all| all.last().copied())
        };
        let p = |sequence, image_side, frames, audio_seconds| Project {
            sequence,
            image_side,
            frames,
            audio_seconds,
            ..Project::default()
        };
        assert_eq!(at(Domain::Language, 0, &p(4096, 1, 1, 1.0)), Some(FixKind::ShorterSequence { sequence: 512 }));
        assert_eq!(at(Domain::Language, 0, &p(512, 1, 1, 1.0)), Some(FixKind::ShorterSequence { sequence: 256 }));
        assert_eq!(at(Domain::Language, 0, &p(256, 1, 1, 1.0)), None);
        assert_eq!(at(Domain::Diffusion, 1024, &p(1, 1024, 1, 1.0)), Some(FixKind::SmallerImage { side: 512 }));
        assert_eq!(at(Domain::Diffusion, 256, &p(1, 512, 1, 1.0)), Some(FixKind::SmallerImage { side: 256 }));
        assert_eq!(at(Domain::Diffusion, 480, &p(1, 480, 81, 1.0)), Some(FixKind::FewerFrames { frames: 17 }));
        assert_eq!(at(Domain::Diffusion, 480, &p(1, 480, 17, 1.0)), None);
        assert_eq!(at(Domain::Vision, 224, &p(1, 224, 1, 1.0)), Some(FixKind::SmallerImage { side: 128 }));
        assert_eq!(at(Domain::Audio, 0, &p(1, 1, 1, 30.0)), Some(FixKind::ShorterAudio { seconds: 3.8 }));
        assert_eq!(at(Domain::Audio, 0, &p(1, 1, 1, 0.64)), None);
    }
}
