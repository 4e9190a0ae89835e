//! Project and card in, memory and time out, each with an error band.
//!
//! [`memory`] and [`time`] are pure functions of the project, the card and the catalog.

mod course;
pub mod language;
mod layout;
pub mod measured;
pub mod overhead;
pub mod stack;
pub mod time;
mod tower;
mod walks;
pub use crate::project::CARDS_PER_MACHINE;
pub use layout::gathers_whole_gradients;
pub use time::time;
pub use tower::Beside;
pub use walks::Walks;

use crate::catalog::{Catalog, Gpu};
use crate::project::Project;
use crate::units::{Bytes, Flops, Seconds};

/// What a piece of memory holds. Fixed order and meaning: bar, timeline and table use the same parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Model weights, frozen and trained, adapters, fp32 masters and autocast's copies.
    Weights,
    /// Gradients of the trained weights.
    Gradients,
    /// What the optimizer remembers.
    Optimizer,
    /// Activations saved for backward, checkpoints, and what recomputation brings back.
    Activations,
    /// Logits and what the loss keeps.
    Logits,
    /// Short-lived buffers of kernels and of the optimizer's step.
    Temporaries,
    /// CUDA context, library workspaces, allocator slack, communication buffers.
    Overhead,
}

impl Part {
    /// All parts in the order they are drawn.
    pub const ALL: [Self; 7] = [
        Self::Weights,
        Self::Gradients,
        Self::Optimizer,
        Self::Activations,
        Self::Logits,
        Self::Temporaries,
        Self::Overhead,
    ];

    /// The stable id, as it stands in classes of pictures.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
            Self::Logits => "logits",
            Self::Temporaries => "temporaries",
            Self::Overhead => "overhead",
        }
    }
}

/// When in the step something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Loading the model.
    Loading,
    /// Encoding images or text with the frozen parts (VAE, text encoders).
    Encoding,
    /// Forward through the layers.
    Forward,
    /// Logits and loss, and the first step of backward.
    Loss,
    /// Backward through the layers.
    Backward,
    /// Optimizer step.
    Optimizer,
}

/// A point of the timeline of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelinePoint {
    /// Phase of the step.
    pub moment: Moment,
    /// How far the step is, 0 to 1.
    pub at: f64,
    /// Live bytes by part, in the order of [`Part::ALL`].
    pub parts: [Bytes; 7],
}

/// Memory of one training step on one card.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// Live bytes at the peak by part, in the order of [`Part::ALL`]; they sum up to `card`.
    pub parts: [Bytes; 7],
    /// Peak as `torch.cuda.max_memory_allocated` counts it.
    pub allocated: Bytes,
    /// Peak as `torch.cuda.max_memory_reserved` counts it.
    pub reserved: Bytes,
    /// What the card needs: live tensors, what the allocator cannot do without, context, libraries, desktop.
    pub card: Bytes,
    /// Relative half-width of the error band (0.08 = plus or minus 8 %).
    pub band: f64,
    /// When the peak is.
    pub moment: Moment,
    /// The largest single allocation at the peak: what fails first where the card is too small.
    pub largest: Bytes,
    /// Main memory of the computer that the run needs.
    pub host: Bytes,
    /// The course of the step, for the picture.
    pub timeline: Vec<TimelinePoint>,
    /// How the figure was made.
    pub method: EstimateMethod,
    /// The settings that "automatic" was resolved to.
    pub resolved: Resolved,
}

impl MemoryEstimate {
    /// Bytes of one part at the peak.
    pub fn part(&self, part: Part) -> Bytes {
        self.parts[part as usize]
    }

    /// The same step on a computer's processor: in main memory, beside the libraries instead of a card's context.
    #[must_use]
    pub fn on_processor(mut self) -> Self {
        // Python with PyTorch 2.15 read in, Linux, as its resident set: 528 MiB; measured.
        const LIBRARIES: Bytes = Bytes::from_mib(530);
        let held = self.card - self.part(Part::Overhead);
        self.parts[Part::Overhead as usize] = LIBRARIES;
        self.card = held + LIBRARIES;
        // The system's allocator keeps nothing back, and no kernel of a card's library asks for a workspace.
        (self.allocated, self.reserved) = (held, held);
        self
    }
}

/// How an estimate was made, which decides the band and what the page says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EstimateMethod {
    /// The step was run symbolically.
    Symbolic,
    /// Coefficients measured from PyTorch, inside the range they hold for.
    Measured,
    /// The same, outside that range: a wide band.
    Extrapolated,
    /// Scaled from parameter and activation counts: the widest band.
    Rough,
}

/// What the automatic settings came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Attention kernel used.
    pub attention: crate::project::Attention,
    /// Loss kernel used.
    pub loss: crate::project::LossKernel,
    /// Optimizer implementation used.
    pub optimizer_impl: crate::project::OptimizerImpl,
    /// Sharding used.
    pub sharding: crate::project::Sharding,
}

/// What decides the speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bottleneck {
    /// Arithmetic.
    Compute,
    /// Memory bandwidth.
    Memory,
    /// Reading and preparing data, kernel launches.
    Input,
    /// Traffic between cards.
    Communication,
}

/// Time of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeEstimate {
    /// Operations of one optimizer step over all cards.
    pub flops: Flops,
    /// Time of one optimizer step.
    pub step: Seconds,
    /// Optimizer steps in the run.
    pub steps: f64,
    /// Time of the whole run.
    pub run: Seconds,
    /// Relative half-width of the error band.
    pub band: f64,
    /// What decides it.
    pub bottleneck: Bottleneck,
    /// Share of the card's peak rate that the model's own operations reach.
    pub mfu: f64,
    /// The part of `step` in which cards wait for each other's data.
    pub between: Seconds,
    /// What one processor thread would take to prepare all data of the run; nothing where that never matters.
    pub reading: Seconds,
}

/// Why something cannot be estimated.
#[derive(Clone, Debug, PartialEq)]
pub enum CannotEstimate {
    /// No model was named.
    NoModel,
    /// The id is not in the catalog.
    UnknownModel(String),
    /// A number is outside what can be computed.
    OutOfRange(crate::project::Field),
    /// The method makes no sense for this model (LoRA on gradient boosting).
    MethodDoesNotApply,
    /// The card cannot run this at all (a TPU for PyTorch).
    CardDoesNotApply,
    /// The estimate would not fit a number: far beyond any machine.
    TooLarge,
}

/// Memory of one training step of `project` on one of its cards. `gpu` decides kernels (flash attention needs
/// Ampere) and overheads; without one a typical current card is assumed.
pub fn memory(project: &Project, gpu: Option<&Gpu>, catalog: &Catalog) -> Result<MemoryEstimate, CannotEstimate> {
    memory_among(project, gpu, catalog, &Walks::default())
}

/// The same for one of several variants of a project, which share what is the same for them.
pub fn memory_among(
    project: &Project,
    gpu: Option<&Gpu>,
    catalog: &Catalog,
    walks: &Walks,
) -> Result<MemoryEstimate, CannotEstimate> {
    among(project, gpu, catalog, walks, true)
}

/// What a card needs and the relative half-width of the error band, as [`memory_among`] has them: a little quicker.
pub fn need_among(
    project: &Project,
    gpu: &Gpu,
    catalog: &Catalog,
    walks: &Walks,
) -> Result<(Bytes, f64), CannotEstimate> {
    among(project, Some(gpu), catalog, walks, false).map(|memory| (memory.card, memory.band))
}

fn among(
    project: &Project,
    gpu: Option<&Gpu>,
    catalog: &Catalog,
    walks: &Walks,
    whole: bool,
) -> Result<MemoryEstimate, CannotEstimate> {
    match subject(project, catalog)? {
        Subject::Custom(model) => language::memory_among(project, ("", &model, Beside::default()), gpu, walks),
        Subject::Network(network) => measured::network(project, network, gpu),
        Subject::Language(id, model, beside) => language::memory_among(project, (id, model, beside), gpu, walks),
        Subject::Other(model) => measured::memory(project, model, gpu, walks, whole),
    }
}

/// Reserved memory by simulating the caching allocator: slow, for the one project on screen. [`memory`] gives a quick
/// figure that leaves the allocator only the slack it cannot do without, and so says whether a run fits.
pub fn reserved(project: &Project, gpu: Option<&Gpu>, catalog: &Catalog) -> Result<Bytes, CannotEstimate> {
    match subject(project, catalog)? {
        Subject::Custom(model) => language::reserved_for(project, &model, Beside::default(), gpu),
        Subject::Network(network) => Ok(measured::network(project, network, gpu)?.reserved),
        Subject::Language(_, model, beside) => language::reserved_for(project, model, beside, gpu),
        Subject::Other(model) => measured::reserved(project, model, gpu),
    }
}

/// What a card must have for the run to get through. For language models it is the `card` of [`memory`], and so the page's
/// verdict; other models are tried by the simulated caching allocator on cards of several sizes, which is slow.
pub fn needed(project: &Project, gpu: Option<&Gpu>, catalog: &Catalog) -> Result<Bytes, CannotEstimate> {
    match subject(project, catalog)? {
        Subject::Other(model) => measured::needed(project, model, gpu),
        _ => Ok(memory(project, gpu, catalog)?.card),
    }
}

/// The estimate for the card on screen: where the card is within its band, the simulated allocator is asked, and what it
/// wants beyond the card counts.
pub fn tried(
    project: &Project,
    gpu: &Gpu,
    catalog: &Catalog,
    walks: &Walks,
    mut memory: MemoryEstimate,
) -> MemoryEstimate {
    let end = |part: f64| memory.card.scale(1.0 + part * memory.band);
    let within = end(-1.0) <= gpu.usable && end(1.0) > gpu.usable;
    if within
        && let Ok(Subject::Other(model)) = subject(project, catalog)
        && let Some(needed) = measured::needed_beyond(project, model, gpu, &memory, walks)
    {
        memory.parts[Part::Overhead as usize] += needed - memory.card;
        memory.card = needed.max(memory.card);
    }
    memory
}

/// The course of one step, for the picture, in at most `points` points; empty where it cannot be estimated.
pub fn timeline(project: &Project, gpu: Option<&Gpu>, catalog: &Catalog, points: usize) -> Vec<TimelinePoint> {
    match subject(project, catalog) {
        Ok(Subject::Custom(model)) => language::timeline(project, &model, Beside::default(), gpu, points),
        Ok(Subject::Network(network)) => {
            measured::network(project, network, gpu).map(|m| m.timeline).unwrap_or_default()
        }
        Ok(Subject::Language(_, model, beside)) => language::timeline(project, model, beside, gpu, points),
        Ok(Subject::Other(model)) => measured::timeline(project, model, gpu, points),
        Err(_) => Vec::new(),
    }
}

/// Whether the model's step is run as a language model's, whatever stands frozen beside it.
pub fn is_language(project: &Project, catalog: &Catalog) -> bool {
    matches!(subject(project, catalog), Ok(Subject::Custom(_) | Subject::Language(..)))
}

/// What is trained.
enum Subject<'a> {
    Custom(crate::catalog::LanguageModel),
    /// A network of which only a summary is known.
    Network(&'a crate::project::CustomNetwork),
    /// A language model by the id of the whole, and a vision tower beside it.
    Language(&'static str, &'a crate::catalog::LanguageModel, Beside),
    Other(&'a crate::catalog::Model),
}

fn subject<'a>(project: &'a Project, catalog: &'a Catalog) -> Result<Subject<'a>, CannotEstimate> {
    if project.model.is_empty() {
        return match (&project.custom, &project.network) {
            (Some(custom), _) => Ok(Subject::Custom(custom.architecture(catalog))),
            (None, Some(network)) => Ok(Subject::Network(network)),
            (None, None) => Err(CannotEstimate::NoModel),
        };
    }
    let model = catalog.model(&project.model).ok_or_else(|| CannotEstimate::UnknownModel(project.model.clone()))?;
    Ok(match model.language() {
        Some(language) => Subject::Language(model.id, language, Beside::default()),
        None => match language_part(project, model, catalog) {
            Some((language, beside)) => Subject::Language(model.id, language, beside),
            None => Subject::Other(model),
        },
    })
}

/// The language model that a vision-language model is built on, where the catalog has it: the one with just as many
/// parameters, layers and columns. Beside it the parameters of tower and projector, frozen in the usual recipes.
fn language_part<'a>(
    project: &Project,
    model: &crate::catalog::Model,
    catalog: &'a Catalog,
) -> Option<(&'a crate::catalog::LanguageModel, Beside)> {
    use crate::catalog::{Architecture, Domain};
    let Architecture::Other(other) = &model.architecture else { return None };
    if model.domain != Domain::VisionLanguage || other.main.params == 0 || other.main.name.ends_with("(frozen)") {
        return None;
    }
    let alike = |m: &'a crate::catalog::Model| {
        let language = m.language().filter(|_| m.params == other.main.params)?;
        let (layers, hidden) = (language.layers.to_string(), language.hidden.to_string());
        (layers == other.layers && hidden == other.hidden).then_some(language)
    };
    let language = catalog.models.iter().find_map(alike)?;
    let params = model.params.saturating_sub(other.main.params);
    Some((language, Beside::of(project, other, params)))
}
