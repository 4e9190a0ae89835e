//! From the estimate to what the person should do: verdict, first fixes, cards to take.

use crate::catalog::Catalog;
use crate::estimate::{CannotEstimate, MemoryEstimate, TimeEstimate};
use crate::project::Project;
use crate::units::{Bytes, Money};

/// The answer for what the person owns.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// So small that a processor does it in good time.
    NoGpuNeeded {
        /// Time of the run on an ordinary processor.
        hours_on_cpu: f64,
    },
    /// Fits with this much to spare.
    Fits {
        /// Free memory beside the peak.
        spare: Bytes,
    },
    /// Inside the error band: may or may not fit.
    Tight {
        /// Free memory beside the peak; zero when the middle of the band is above the card.
        spare: Bytes,
        /// Missing memory when the middle of the band is above the card.
        missing: Bytes,
    },
    /// Runs out of memory.
    RunsOut {
        /// How much is missing.
        missing: Bytes,
    },
    /// No card chosen, or none owned.
    NoCard,
}

/// What PyTorch would print, as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfMemory {
    /// The allocation that fails.
    pub tried: Bytes,
    /// Total capacity of the card.
    pub capacity: Bytes,
    /// Free at that moment.
    pub free: Bytes,
    /// Allocated by PyTorch.
    pub allocated: Bytes,
    /// Reserved by PyTorch but not allocated.
    pub reserved_unused: Bytes,
}

/// A change that helps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum FixKind {
    MixedPrecision,
    Checkpointing,
    FlashAttention,
    FusedLoss,
    SmallerMicroBatch { micro_batch: u64, accumulation: u64 },
    Optimizer8bit,
    Lora,
    QLora,
    QuantizedBase,
    ShorterSequence { sequence: u64 },
    SmallerImage { side: u64 },
    CacheLatents,
    MoreCards { count: u32 },
    Sharding,
}

/// What a fix may do to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QualityRisk {
    /// The same numbers.
    None,
    /// Hardly measurable.
    Slight,
    /// Trains something else or less.
    Real,
}

/// A fix with its effect, computed by running the estimate again.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// Which.
    pub kind: FixKind,
    /// The project with the fix applied.
    pub project: Project,
    /// Memory saved on the card.
    pub saves: Bytes,
    /// Whether it then fits.
    pub fits: bool,
    /// Run time with it over run time without (1.25 = 25 % slower), where a time can be given.
    pub slower: Option<f64>,
    /// What it may do to the result.
    pub risk: QualityRisk,
}

/// Where a card comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct CardChoice {
    /// Id of the card.
    pub gpu: &'static str,
    /// How many.
    pub count: u32,
    /// Memory on each.
    pub memory: MemoryEstimate,
    /// Free memory beside the peak, or zero.
    pub spare: Bytes,
    /// Whether it fits (tight counts as not).
    pub fits: bool,
    /// Inside the error band.
    pub tight: bool,
    /// Time of the run.
    pub time: Option<TimeEstimate>,
    /// Cheapest rental of the run: provider, price per hour of all cards, price of the run, date.
    pub rent: Option<Rent>,
    /// Price to buy all cards: new, used.
    pub buy: Option<Buy>,
}

/// Renting for the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rent {
    /// Who.
    pub provider: &'static str,
    /// Per hour, all cards.
    pub per_hour: Money,
    /// For the run.
    pub run: Option<Money>,
    /// Month of the price.
    pub as_of: &'static str,
    /// Nobody saw the price written down.
    pub rough: bool,
}

/// Buying.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buy {
    /// New, all cards.
    pub new: Option<Money>,
    /// Second hand, all cards.
    pub used: Option<Money>,
    /// Month of the price.
    pub as_of: &'static str,
    /// Nobody saw the price written down.
    pub rough: bool,
}

/// A free notebook on which the run fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeChoice {
    /// Platform and offer.
    pub platform: &'static str,
    /// Name of the offer.
    pub offer: &'static str,
    /// Id of the card.
    pub gpu: &'static str,
    /// Time of the run there, hours.
    pub hours: Option<f64>,
    /// Longest session, hours.
    pub session_limit_h: Option<f64>,
    /// Month of the fact.
    pub as_of: &'static str,
}

/// A warning about the chosen card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CardWarning {
    /// No bf16 matrix units (Volta, Turing, older): use fp16.
    NoBf16,
    /// No `FlashAttention` before Ampere.
    NoFlashAttention,
    /// Current PyTorch wheels dropped it.
    Dropped,
    /// Not CUDA: AMD through ROCm.
    Rocm,
    /// ROCm needs `HSA_OVERRIDE_GFX_VERSION`.
    RocmOverride,
    /// Neither CUDA nor ROCm: quantization and flash kernels are missing.
    OtherStack,
    /// A laptop variant: less power, shared cooling.
    Laptop,
    /// A modified card without a maker's warranty.
    Modded,
    /// Several cards without fast links between them.
    NoFastLink,
}

/// Everything the page shows for a project.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The answer.
    pub verdict: Verdict,
    /// Memory on the chosen card (or on a typical one).
    pub memory: MemoryEstimate,
    /// Usable memory of the chosen card.
    pub capacity: Option<Bytes>,
    /// Time of the run on what they own.
    pub time: Option<TimeEstimate>,
    /// What PyTorch would print, where it runs out.
    pub out_of_memory: Option<OutOfMemory>,
    /// Fixes, the least painful first.
    pub fixes: Vec<Fix>,
    /// Cards ranked.
    pub cards: Vec<CardChoice>,
    /// Free notebooks that do it.
    pub free: Vec<FreeChoice>,
    /// Warnings about the chosen card.
    pub warnings: Vec<CardWarning>,
}

/// The advice for a project: a pure function of it and the catalog.
pub fn advise(project: &Project, catalog: &Catalog) -> Result<Advice, CannotEstimate> {
    let _ = (project, catalog);
    Err(CannotEstimate::NoModel)
}
