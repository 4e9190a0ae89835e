//! The measured runs that are most like a project: what to hold an estimate against.

use crate::catalog::{Catalog, Domain, MeasuredRun, Model, measured_runs};
use crate::project::{Checkpointing, Choice, Meter, Method, Offload, Project, Sharding};
use crate::units::sort;

/// A measured run and how far it is from a project.
#[derive(Clone, Debug, PartialEq)]
pub struct NearRun {
    /// The run.
    pub run: &'static MeasuredRun,
    /// The meter its peak was read from.
    pub meter: Meter,
    /// It trained the same model.
    pub same_model: bool,
    /// It trained the same part of it, from the same start.
    pub same_method: bool,
    /// In the same formats.
    pub same_precision: bool,
    /// The same waited in main memory.
    pub same_offload: bool,
    /// Its cards shared the work in the same way, as far as both are known.
    pub same_sharding: bool,
    /// It was trained with the same library.
    pub same_framework: bool,
    /// The same batch.
    pub same_batch: bool,
    /// Samples of the same size.
    pub same_size: bool,
    /// Whole blocks were computed again in both or in neither.
    pub same_checkpointing: bool,
    /// Model, method, batch, size and checkpointing are those of the project.
    pub distance: f64,
}

/// Farther than this nothing is learned from a run: about twice the batch of a model half as large, by another method.
const FARTHEST: f64 = 1.6;

/// What it costs to be another model of the same family, and of any other.
const OTHER_MODEL: (f64, f64) = (0.25, 0.7);

/// The nearest runs, the nearest first, at most `limit`.
pub fn nearest(project: &Project, catalog: &Catalog, limit: usize) -> Vec<NearRun> {
    let Some(model) = catalog.model(&project.model) else { return Vec::new() };
    let mut found: Vec<NearRun> = measured_runs().iter().filter_map(|run| near(project, model, run, catalog)).collect();
    // What differs is not among the settings that were written down: of another model nobody learns from such figures.
    let blurred: Vec<&'static MeasuredRun> = found
        .iter()
        .filter(|near| {
            found.iter().any(|other| described(near.run) == described(other.run) && apart(near.run, other.run))
        })
        .map(|near| near.run)
        .collect();
    found.retain(|near| near.same_model || !blurred.iter().any(|run| std::ptr::eq(*run, near.run)));
    sort(&mut found, |a, b| a.distance.total_cmp(&b.distance));
    // One source prints many rows that say the same of a project.
    let mut told: Vec<NearRun> = Vec::new();
    for near in found {
        let same = |other: &NearRun| {
            let key =
                |n: &NearRun| (n.run.model, n.run.method, n.run.batch, n.run.size, n.run.checkpointing, n.run.cards);
            key(other) == key(&near)
        };
        if told.len() < limit && !told.iter().any(same) {
            told.push(near);
        }
    }
    told
}

/// All that a reader is told of a run but its peak.
fn described(run: &'static MeasuredRun) -> ([&'static str; 8], [u64; 4]) {
    (
        [run.model, run.method, run.precision, run.offload, run.sharding, run.checkpointing, run.framework, run.meter],
        [run.batch, run.size, run.frames, u64::from(run.cards)],
    )
}

/// Peaks that are not the same to a reader.
fn apart(a: &MeasuredRun, b: &MeasuredRun) -> bool {
    const APART: f64 = 1.25;
    let ratio = a.peak.0.max(1) as f64 / b.peak.0.max(1) as f64;
    !(1.0 / APART..=APART).contains(&ratio)
}

fn near(project: &Project, model: &Model, run: &'static MeasuredRun, catalog: &Catalog) -> Option<NearRun> {
    let ratio = |a: f64, b: f64| (a.max(1e-9) / b.max(1e-9)).ln().abs();
    let same_model = run.model == model.id;
    let mut distance = 0.0;
    if !same_model {
        let other =
            catalog.model(run.model).filter(|m| m.domain == model.domain && m.params > 0 && model.params > 0)?;
        let (family, stranger) = OTHER_MODEL;
        distance +=
            ratio(other.params as f64, model.params as f64) + if is_family(model, other) { family } else { stranger };
    }
    let method = Method::from_id(run.method)?;
    let same_method = method == project.method;
    let alike = same_method || full(method) && full(project.method);
    distance += match (alike, method.is_adapter() && project.method.is_adapter()) {
        (true, _) if same_method => 0.0,
        // From trained weights some parts often stay fixed.
        (true, _) => 0.2,
        (false, true) => 0.5,
        (false, false) => 1.2,
    };
    let size = size(project, model.domain);
    let same_batch = run.batch == project.micro_batch;
    let same_size = run.size == 0 || size == 0 || (run.size == size && run.frames == project.frames.max(1));
    distance += 0.35 * ratio(run.batch as f64, project.micro_batch as f64);
    if run.size > 0 && size > 0 {
        distance +=
            0.4 * ratio(run.size as f64, size as f64) + 0.3 * ratio(run.frames as f64, project.frames.max(1) as f64);
    }
    let recomputes = Checkpointing::from_id(run.checkpointing).is_some_and(Checkpointing::recomputes);
    let same_checkpointing = recomputes == project.checkpointing.recomputes();
    distance += if same_checkpointing { 0.0 } else { 0.5 };
    distance += 0.25 * ratio(f64::from(run.cards), f64::from(project.hardware.count.max(1)));
    let same_framework = run.framework == project.framework.id();
    distance += if same_framework { 0.0 } else { 0.1 };
    // Beside frozen weights in 16 bit it is the same whether those that are trained are held in 16 or in 32.
    let half = |id: &str| matches!(id, "amp-bf16" | "bf16" | "bf16-master" | "amp-fp16");
    let now = project.precision.id();
    let same_precision = run.precision == now || method.is_adapter() && half(run.precision) && half(now);
    distance += if same_precision { 0.0 } else { 0.3 };
    let away = if project.offload == Offload::None { "" } else { project.offload.id() };
    let same_offload = run.offload == away;
    distance += if same_offload { 0.0 } else { 0.5 };
    let several = run.cards > 1 && project.hardware.count > 1 && project.hardware.sharding != Sharding::Auto;
    let same_sharding = !several || run.sharding.is_empty() || run.sharding == project.hardware.sharding.id();
    let meter = Meter::from_id(run.meter)?;
    (distance <= FARTHEST).then_some(NearRun {
        run,
        meter,
        same_model,
        same_method,
        same_precision,
        same_offload,
        same_sharding,
        same_framework,
        same_batch,
        same_size,
        same_checkpointing,
        distance,
    })
}

/// The same code: of one family of language models, or named alike up to the size.
fn is_family(a: &Model, b: &Model) -> bool {
    if let (Some(a), Some(b)) = (a.language(), b.language()) {
        return a.family == b.family;
    }
    let stem = |id: &'static str| id.split(|c: char| c.is_ascii_digit() || c == '-').next().unwrap_or_default();
    stem(a.id) == stem(b.id)
}

/// All weights are trained.
fn full(method: Method) -> bool {
    matches!(method, Method::Full | Method::Scratch)
}

/// The size of a sample, as runs have it.
fn size(project: &Project, domain: Domain) -> u64 {
    match domain {
        Domain::Language | Domain::VisionLanguage => project.sequence,
        Domain::Vision | Domain::Diffusion => project.image_side,
        Domain::Audio => project.audio_seconds.round() as u64,
        Domain::Small => 0,
    }
}

/// The address of a source that begins with a repository of GitHub: `owner/name path/of/a/file`, `owner/name#12`,
/// `owner/name PR 12`. `None` for publications and for what names no place.
pub fn address(source: &str) -> Option<String> {
    let mut words = source.split_whitespace();
    let (repository, thread) = match words.next()?.split_once('#') {
        Some((repository, number)) => (repository, Some(number)),
        None => (source.split_whitespace().next()?, None),
    };
    let (owner, name) = repository.split_once('/')?;
    let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !plain(owner) || !plain(name) || owner.contains('.') {
        return None;
    }
    let base = format!("https://github.com/{owner}/{name}");
    let number = |word: &str| word.trim_start_matches('#').parse::<u32>().ok();
    let (second, third) = (words.next(), words.next());
    Some(match (thread.and_then(number), second, third) {
        (Some(n), ..) => format!("{base}/issues/{n}"),
        (None, Some("PR" | "pull"), Some(n)) if number(n).is_some() => {
            format!("{base}/pull/{}", n.trim_start_matches('#'))
        }
        (None, Some("issue" | "discussion"), Some(n)) if number(n).is_some() => {
            format!("{base}/issues/{}", n.trim_start_matches('#'))
        }
        (None, Some(path), _)
            if path.contains('.') && path.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)) =>
        {
            format!("{base}/blob/HEAD/{path}")
        }
        _ => base,
    })
}

#[cfg(test)]
#[path = "tests/in_nearest.rs"]
mod tests;
