//! What is usual for a model: the settings that a newly chosen one brings along.

use super::link::{KEYS, exact};
use super::relevant::{choices, shape, trains};
use super::{
    BaseFormat, Checkpointing, Choice, CustomModel, CustomNetwork, Field, FieldError, Framework, Lora, Method,
    Parallel, Project, fields,
};
use crate::catalog::{Architecture, Catalog, DiffusionModel, Domain, LanguageKind, Model, Preset};
use crate::units::decimal;

/// The project of the catalog that somebody's own began with. It counts for nothing but the question which settings
/// were touched since: two projects that differ in it alone are the same.
#[derive(Clone, Debug, Default)]
pub struct Begun(String);

impl PartialEq for Begun {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Between models of one class settings are carried over.
#[derive(Clone, Copy, PartialEq)]
struct Class {
    domain: Domain,
    kind: &'static str,
}

fn class(project: &Project, catalog: &Catalog) -> Option<Class> {
    if let Some(model) = catalog.model(&project.model) {
        return Some(class_of(model));
    }
    Some(Class { domain: domain(project, catalog)?, kind: "" })
}

fn class_of(model: &Model) -> Class {
    let kind = match &model.architecture {
        Architecture::Language(l) => match l.kind {
            LanguageKind::Decoder => "",
            LanguageKind::Encoder => "encoder",
            LanguageKind::EncoderDecoder => "encoder-decoder",
        },
        Architecture::Vision(v) => v.kind,
        Architecture::Diffusion(d) => d.kind,
        Architecture::Other(o) => o.kind,
    };
    Class { domain: model.domain, kind }
}

/// What kind of model the project trains.
fn domain(project: &Project, catalog: &Catalog) -> Option<Domain> {
    shape(project, catalog).map(|s| s.domain)
}

/// Brings a project with a newly chosen model in order; `before` is the project as it was. A model of another class
/// brings the settings that are usual for it, where nobody touched those of the project; a model of the same class
/// keeps all settings that make sense for it.
pub(super) fn adapt(project: &mut Project, before: &Project, catalog: &Catalog) {
    let (was, now) = (class(before, catalog), class(project, catalog));
    let model = catalog.model(&project.model);
    if was.is_some() && was != now {
        let (start, usual) = (start(before, catalog), usual(project, catalog));
        // Settings come between the model's sizes and the cards.
        for (_, field) in
            KEYS.iter().filter(|(_, f)| (Field::Method..=Field::Epochs).contains(f) || *f == Field::Sharding)
        {
            if exact(project, *field) == exact(&start, *field) {
                // A value that a project of the catalog has is one that the field takes.
                let _: Result<(), FieldError> = fields::set(project, *field, &exact(&usual, *field), catalog);
            }
        }
        project.frames = usual.frames;
        if let Some(Architecture::Language(l)) = model.map(|m| &m.architecture)
            && l.max_context > 0
        {
            project.sequence = project.sequence.min(u64::from(l.max_context));
        }
        project.begun = Begun::default();
    }
    let allowed = |field, project: &Project| choices(field, project, catalog);
    if !allowed(Field::Method, project).contains(&project.method.id()) {
        project.method = Method::Full;
    }
    let libraries = allowed(Field::Framework, project);
    if !libraries.contains(&project.framework.id()) {
        project.framework = libraries.first().and_then(|id| Framework::from_id(id)).unwrap_or_default();
        project.lora = Lora { rank: project.lora.rank, ..Lora::default() };
    }
    pictures_library(project, was.map(|class| class.domain), catalog);
    if !allowed(Field::Checkpointing, project).contains(&project.checkpointing.id()) {
        project.checkpointing = Checkpointing::PerBlock;
    }
    if !allowed(Field::Base, project).contains(&project.base.id()) {
        project.base = BaseFormat::AsPrecision;
    }
    if now.map(|class| class.domain) != Some(Domain::Language) {
        project.hardware.parallel = Parallel::default();
    }
    if let Some(model) = model
        && was.is_none()
    {
        native_size(project, model);
        if let Architecture::Diffusion(denoiser) = &model.architecture {
            usual_denoiser(project, model.id, denoiser);
        }
    }
    if catalog.preset(&project.preset).is_some_and(|p| p.model != project.model) {
        // From here on it is the person's own project.
        let began = std::mem::take(&mut project.preset);
        if was == now {
            project.begun = Begun(began);
        }
    }
}

/// The project as it began: with nothing touched but its model.
fn start(project: &Project, catalog: &Catalog) -> Project {
    let began = if project.preset.is_empty() { &project.begun.0 } else { &project.preset };
    let mut start = catalog.preset(began).map_or_else(Project::default, |p| Project::from_preset(p, catalog));
    with_model_of(&mut start, project, catalog);
    start
}

/// What is usual for the model of a project: the settings of the catalog's project nearest to it.
fn usual(project: &Project, catalog: &Catalog) -> Project {
    let Some(model) = catalog.model(&project.model) else {
        let mut usual = Project::default();
        with_model_of(&mut usual, project, catalog);
        return usual;
    };
    let near = nearest(model, catalog);
    let mut usual = near.map_or_else(Project::default, |p| Project::from_preset(p, catalog));
    if usual.model != model.id {
        with_model_of(&mut usual, project, catalog);
        native_size(&mut usual, model);
    }
    usual
}

fn with_model_of(project: &mut Project, other: &Project, catalog: &Catalog) {
    if other.custom.is_some() {
        project.custom = Some(CustomModel::default());
    } else if other.network.is_some() {
        project.network = Some(CustomNetwork::default());
    } else {
        // A model of the catalog is found there.
        let _: Result<(), FieldError> = fields::set(project, Field::Model, &other.model, catalog);
        return;
    }
    project.model.clear();
}

/// The project of the catalog that trains this model, or one of its class that is about as large. Few who pick a
/// published model mean to train it from scratch where there is another way.
fn nearest<'a>(model: &Model, catalog: &'a Catalog) -> Option<&'a Preset> {
    let distance = |preset: &Preset| {
        let other = catalog.model(preset.model).filter(|other| class_of(other) == class_of(model))?;
        let ratio = model.params.max(1) as f64 / other.params.max(1) as f64;
        let (own, scratch) = (other.id == model.id, preset.method.starts_with("from scratch"));
        // Orders of magnitude: within one, the catalog lists first what most people mean.
        let far = ratio.log10().round().abs() as u32 + u32::from(!own) + 2 * u32::from(scratch);
        Some((far, !own))
    };
    let near = catalog.presets.iter().filter_map(|preset| Some((distance(preset)?, preset)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, preset)| preset)
}

/// The library of a network for pictures: YOLO has its own, the others are trained with scripts in plain PyTorch (timm,
/// torchvision). A library that was chosen among those for pictures stays where it can train the new model.
fn pictures_library(project: &mut Project, before: Option<Domain>, catalog: &Catalog) {
    let now = domain(project, catalog);
    let yolo = project.model.starts_with("yolo");
    let library = &mut project.framework;
    if now != Some(Domain::Vision) {
        if before == Some(Domain::Vision) && now.is_some() && *library == Framework::Pytorch {
            *library = Framework::ALL.iter().copied().find(|f| now.is_some_and(|d| trains(*f, d))).unwrap_or_default();
        }
    } else if yolo && (before != now || matches!(library, Framework::Pytorch | Framework::Transformers)) {
        *library = Framework::Ultralytics;
    } else if !yolo && (before != now || *library == Framework::Ultralytics) {
        *library = Framework::Pytorch;
    }
}

/// Above this size a denoiser's published recipes turn gradient checkpointing on for adapters too (the SDXL, SD3 and
/// FLUX pages of kohya sd-scripts and diffusers; not the SD 1.5 ones).
pub(super) const LARGE_DENOISER: u64 = 1_500_000_000;

/// Denoisers that kohya's scripts train: sd-scripts pictures, musubi-tuner clips (their READMEs).
const KOHYA: [&str; 7] = ["sd1.5", "sd2.1", "sdxl", "sd3", "flux.1", "wan2", "hunyuanvideo"];

/// How people train a denoiser that they have just picked: adapters, with the library that is written for it, and with
/// checkpointing where it is large or makes clips.
fn usual_denoiser(project: &mut Project, model: &str, denoiser: &DiffusionModel) {
    if project.method == Method::Full && !denoiser.kind.contains("adapter") {
        project.method = Method::Lora;
    }
    let kohya = KOHYA.iter().any(|family| model.starts_with(family));
    project.framework = if kohya { Framework::Kohya } else { Framework::Diffusers };
    // None of the two drops out unless asked.
    project.lora = Lora { rank: project.lora.rank, dropout: 0.0, ..Lora::default() };
    if denoiser.denoiser_params > LARGE_DENOISER || denoiser.native_frames.is_some_and(|frames| frames > 1.0) {
        project.checkpointing = Checkpointing::PerBlock;
    }
}

/// What a voice with critics is shown of a clip at a time: `segment_size` over the rate in the files of so-vits-svc
/// (10,240 of 44,100), RVC (17,280 of 48,000), VITS (8,192 of 22,050) and GPT-SoVITS (20,480 of 32,000).
const WINDOW_SECONDS: f64 = 0.4;

/// The size a model was made for.
fn native_size(project: &mut Project, model: &Model) {
    // `832x480 or 1280x720` is the side of a square with as many pixels as the first.
    let square = |text: &str| {
        let first = text.split_whitespace().next()?;
        let (width, height) = first.split_once('x').unwrap_or((first, first));
        let (width, height) = (decimal::read(width)?, decimal::read(height)?);
        Some((width * height).sqrt().round() as u64)
    };
    match &model.architecture {
        Architecture::Vision(v) => project.image_side = (v.resolution.max(8.0)) as u64,
        Architecture::Diffusion(d) => {
            project.image_side = square(d.native_resolution).unwrap_or(1024).clamp(8, 32_768);
            project.frames = d.native_frames.map_or(1, |f| f.max(1.0) as u64);
        }
        Architecture::Language(l) if l.max_context > 0 => {
            project.sequence = project.sequence.min(u64::from(l.max_context));
        }
        Architecture::Other(o) if o.has_critics() => project.audio_seconds = WINDOW_SECONDS,
        Architecture::Language(_) | Architecture::Other(_) => {}
    }
}
