//! A case: what was run, what was measured, and what we say to it.

use enough_gpu::catalog::{Gpu, LanguageModel};
use enough_gpu::project::Project;
use enough_gpu::step::{StepConfig, Trained};
use enough_gpu::units::Bytes;
use std::fmt;

/// The field a case belongs to; each is scored by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Domain {
    Llm,
    Vision,
    Diffusion,
    Audio,
    Other,
}

impl Domain {
    /// In the order they are reported.
    pub(crate) const ALL: [Self; 5] = [Self::Llm, Self::Vision, Self::Diffusion, Self::Audio, Self::Other];

    /// As it stands in the files of cases; anything unknown is `other`.
    pub(crate) fn from_text(text: &str) -> Self {
        Self::ALL.into_iter().find(|d| d.name() == text.to_lowercase()).unwrap_or(Self::Other)
    }

    /// Its name in the files of cases and in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Vision => "vision",
            Self::Diffusion => "diffusion",
            Self::Audio => "audio",
            Self::Other => "other",
        }
    }
}

/// How much of a run's settings is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    /// Every setting known and a measured peak.
    A,
    /// One or two settings assumed.
    B,
    /// Vague: reported apart.
    C,
}

/// What the figure was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meter {
    /// `torch.cuda.max_memory_allocated`.
    Allocated,
    /// `torch.cuda.max_memory_reserved`.
    Reserved,
    /// `nvidia-smi`: everything on the card.
    Smi,
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fits,
    RanOut,
}

/// What is to be estimated.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A language step with every switch given; what else is on the card beside it.
    Step { model: Box<LanguageModel>, config: Box<StepConfig>, outside: Bytes },
    /// A project as a person would enter it, on a card.
    Project { project: Box<Project>, gpu: Option<Box<Gpu>> },
}

/// Why a case has no estimate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reason {
    /// Neither name nor sizes lead to a model.
    UnknownModel(String),
    /// A column that nothing can replace is empty.
    Missing(&'static str),
    /// Not a training step.
    NotTraining(String),
    /// The estimate itself declined.
    Declined(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownModel(name) => write!(f, "unknown model: {name}"),
            Self::Missing(what) => write!(f, "no {what} given"),
            Self::NotTraining(what) => write!(f, "not a training step: {what}"),
            Self::Declined(why) => write!(f, "estimate declined: {why}"),
        }
    }
}

/// One row of a file of cases.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) domain: Domain,
    /// The model as the row names it.
    pub(crate) model: String,
    pub(crate) cards: u32,
    pub(crate) source: String,
    pub(crate) quality: Quality,
    pub(crate) meter: Meter,
    /// The measured peak of one card. `None` for runs that failed or were not measured.
    pub(crate) peak: Option<Bytes>,
    pub(crate) outcome: Option<Outcome>,
    /// What the card has for PyTorch.
    pub(crate) usable: Option<Bytes>,
    pub(crate) subject: Result<Subject, Reason>,
    /// Further figures of a traced step.
    pub(crate) trace: Option<Trace>,
}

/// Further figures of a traced step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) forward_end: Option<Bytes>,
    pub(crate) steady: Option<Bytes>,
    pub(crate) reserved: Option<Bytes>,
}

/// Our figures for a case, by meter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) allocated: Bytes,
    pub(crate) reserved: Bytes,
    /// What `nvidia-smi` shows where there is room: reserved memory, context, libraries.
    pub(crate) smi: Bytes,
    /// What the card needs at the least: the allocator gives back what it only caches before it fails.
    pub(crate) card: Bytes,
    /// Relative half-width of the band that a person is shown, for whole projects.
    #[allow(dead_code, reason = "read by the example `accuracy`, which shares this module")]
    pub(crate) band: Option<f64>,
    /// At the end of forward and between steps, for traced steps.
    pub(crate) forward_end: Option<Bytes>,
    pub(crate) steady: Option<Bytes>,
}

impl Figures {
    /// The figure to compare with this meter.
    pub(crate) fn by(&self, meter: Meter) -> Bytes {
        match meter {
            Meter::Allocated => self.allocated,
            Meter::Reserved => self.reserved,
            Meter::Smi => self.smi,
        }
    }
}

/// A case with our answer.
#[derive(Clone, Debug)]
pub(crate) struct Scored {
    pub(crate) case: Case,
    pub(crate) figures: Result<Figures, Reason>,
}

/// Whether we said that it fits, where the run shows whether it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A run-out that we foresaw.
    Caught,
    /// A run-out that we said would fit.
    Missed,
    /// A run that we said would fit.
    Accepted,
    /// A run that we said would run out.
    Refused,
}

impl Verdict {
    /// As shown per case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Caught => "run-out caught",
            Self::Missed => "run-out MISSED",
            Self::Accepted => "run accepted",
            Self::Refused => "run REFUSED",
        }
    }
}

impl Subject {
    /// A step with every switch given, if its sizes are of this world: the engine multiplies them without asking.
    pub(crate) fn step(model: LanguageModel, config: StepConfig, outside: Bytes) -> Result<Self, Reason> {
        // Elements of everything that a step could hold, far more than any machine.
        const TOO_MANY: f64 = 1e17;
        let of = |n: u32| f64::from(n.max(1));
        let tokens = config.batch as f64 * config.sequence.max(config.decoder_sequence.unwrap_or(0)) as f64;
        let length = config.sequence.max(config.decoder_sequence.unwrap_or(0)) as f64;
        let width = [model.hidden, model.intermediate, model.vocab, model.moe_intermediate].map(of);
        let widest = width.into_iter().fold(1.0, f64::max) * of(model.moe_active);
        let weights = of(model.hidden) * widest * of(model.moe_experts);
        let heads = of(model.heads) * of(model.head_dim) * of(model.kv_heads);
        let layer = tokens * (widest + of(model.heads) * length + heads) + weights + of(model.hidden) * heads;
        let rank = match config.trained {
            Trained::Adapters(lora) => lora.rank as f64 * widest * 16.0,
            _ => 0.0,
        };
        if (layer + rank) * of(model.layers) * config.accumulation as f64 > TOO_MANY {
            return Err(Reason::Declined("sizes beyond any machine".to_owned()));
        }
        Ok(Self::Step { model: Box::new(model), config: Box::new(config), outside })
    }

    /// What the model was taken for.
    pub(crate) fn taken_for(&self) -> &str {
        match self {
            Self::Step { model, .. } => model.family,
            Self::Project { project, .. } => &project.model,
        }
    }
}

impl Scored {
    /// Signed relative error in percent, where there is a measured peak and an estimate.
    pub(crate) fn error(&self) -> Option<f64> {
        let ours = self.figures.as_ref().ok()?.by(self.case.meter);
        percent(ours, self.case.peak?)
    }

    /// The verdict, where outcome, card and estimate are known.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let fits = self.figures.as_ref().ok()?.card <= self.case.usable?;
        Some(match (self.case.outcome?, fits) {
            (Outcome::RanOut, false) => Verdict::Caught,
            (Outcome::RanOut, true) => Verdict::Missed,
            (Outcome::Fits, true) => Verdict::Accepted,
            (Outcome::Fits, false) => Verdict::Refused,
        })
    }
}

/// How far `ours` is above `theirs`, in percent.
pub(crate) fn percent(ours: Bytes, theirs: Bytes) -> Option<f64> {
    (theirs.0 > 0).then(|| (ours.0 as f64 / theirs.0 as f64 - 1.0) * 100.0)
}
