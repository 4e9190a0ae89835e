//! What the advice consists of: facts that the page puts into words.

use super::helps::{FitPlan, Fix, FixKind};
use super::plans::Plans;
use crate::catalog::Offer;
use crate::estimate::{MemoryEstimate, TimeEstimate};
use crate::project::{Precision, Sharding};
use crate::units::{Bytes, Money};

/// The answer for what the person owns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// So small that a processor does it in good time, and no card is chosen.
    NoGpuNeeded {
        /// Time of the run on an ordinary processor.
        hours_on_cpu: f64,
    },
    /// Fits with this much to spare, also at the upper end of the error band.
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
    /// Runs out of memory, also at the lower end of the error band.
    RunsOut {
        /// How much is missing.
        missing: Bytes,
    },
    /// No card chosen, or none owned.
    NoCard,
    /// The chosen card cannot run this training at all.
    CannotRun(CardBar),
}

impl Verdict {
    /// True where the run is safe to start on what the person has.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Fits { .. } | Self::NoGpuNeeded { .. })
    }
}

/// Why a card cannot run a training at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CardBar {
    /// `PyTorch` does not run on it.
    NoPyTorch,
    /// The project asks for 4-bit or 8-bit kernels (bitsandbytes), and there are none for this card.
    NoQuantization,
    /// Boosted trees are built on a card with CUDA only, and on the processor with any other.
    TreesNeedCuda,
    /// The library trains in bf16 or fp32 only, and the card has no bf16.
    LibraryNeedsBf16,
}

/// What `PyTorch` would print, as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfMemory {
    /// The allocation that fails.
    pub tried: Bytes,
    /// Total capacity of the card.
    pub capacity: Bytes,
    /// Free at that moment.
    pub free: Bytes,
    /// Allocated by `PyTorch`.
    pub allocated: Bytes,
    /// Reserved by `PyTorch` but not allocated.
    pub reserved_unused: Bytes,
}

/// Why a choice stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pick {
    /// Least money for this run.
    Cheapest,
    /// The best trade of money against time.
    Balanced,
    /// Least time, at any price.
    Fastest,
}

/// A card, how many of it, and what the run does there.
#[derive(Clone, Debug, PartialEq)]
pub struct CardChoice {
    /// Id of the card.
    pub gpu: &'static str,
    /// How many.
    pub count: u32,
    /// How they share the work.
    pub sharding: Sharding,
    /// Micro-batches per optimizer step and card, so that the effective batch stays as it is.
    pub accumulation: u64,
    /// Memory that each card needs.
    pub card: Bytes,
    /// Memory that each card has for `PyTorch`.
    pub usable: Bytes,
    /// Relative half-width of the memory's error band.
    pub band: f64,
    /// Free memory beside the peak, or zero.
    pub spare: Bytes,
    /// Whether it fits also at the upper end of the band.
    pub fits: bool,
    /// Inside the error band.
    pub tight: bool,
    /// Time of the run.
    pub time: Option<TimeEstimate>,
    /// Cheapest rental of the run.
    pub rent: Option<Rent>,
    /// Price to buy all cards.
    pub buy: Option<Buy>,
    /// The project is set to bf16, and the card has none: it takes this precision, and the figures are of it.
    pub instead_of_bf16: Option<Precision>,
    /// At the price of this rental another card does the run in half the time.
    pub overpriced: bool,
    /// Why it stands out, if it does.
    pub pick: Option<Pick>,
    /// Belongs to the short list that a beginner sees first.
    pub short_list: bool,
}

/// Renting for the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rent {
    /// Who, or empty at the person's own price.
    pub provider: &'static str,
    /// Name of the machine type.
    pub instance: &'static str,
    /// Per hour, all machines, in the person's currency.
    pub per_hour: Money,
    /// For the run, in the person's currency: its hours, the hour to set up, the disk.
    pub run: Option<Money>,
    /// The part of it for the hour to set up.
    pub set_up: Money,
    /// The part of it for the disk.
    pub storage: Option<Money>,
    /// How large that disk is, GB.
    pub disk_gb: f64,
    /// The cheapest machines that may be taken away at any moment, per hour, where they cost less.
    pub spot: Option<Money>,
    /// The run on those.
    pub spot_run: Option<Money>,
    /// Who has those, or empty.
    pub spot_provider: &'static str,
    /// Quoted in another currency and converted.
    pub converted: bool,
    /// Offered in mainland China.
    pub china: bool,
    /// Cards in the rented machines, which may be more than are used.
    pub cards: u32,
    /// Month of the price.
    pub as_of: &'static str,
    /// Nobody saw the price written down.
    pub rough: bool,
    /// By what it is billed.
    pub billed: Billed,
}

/// By what a rental is billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billed {
    /// At the person's own price, or nothing is rented.
    AsSaid,
    /// The provider's rule was not found.
    Unknown,
    /// By the second.
    Seconds,
    /// By the minute.
    Minutes,
    /// By the hour that is begun.
    Hours,
    /// In advance: the least that can be bought is more than an hour or two.
    Ahead,
}

impl Billed {
    /// That of an offer.
    pub(super) fn of(offer: &Offer) -> Self {
        match offer.unit_s {
            None if offer.least_usd.is_some() => Self::Ahead,
            None => Self::Unknown,
            Some(seconds) if seconds < 60.0 => Self::Seconds,
            Some(seconds) if seconds < 3600.0 => Self::Minutes,
            Some(_) => Self::Hours,
        }
    }
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
    /// How many cards it uses.
    pub count: u32,
    /// Time of the run there, hours.
    pub hours: Option<f64>,
    /// Longest session, hours.
    pub session_limit_h: Option<f64>,
    /// Free hours, and after how many hours they come back: never, where that is nothing.
    pub free_hours: Option<(f64, Option<f64>)>,
    /// Hours from the start to the end, the free hours of further days and weeks awaited.
    pub wait_h: Option<f64>,
    /// Sessions that the run takes when it is saved and resumed; 1 = one sitting.
    pub sessions: u32,
    /// Fits in memory only inside the error band.
    pub tight: bool,
    /// The project is set to bf16, and the card has none: it takes this precision, and the figures are of it.
    pub instead_of_bf16: Option<Precision>,
    /// Meant for mainland China.
    pub china: bool,
    /// Why not everybody can count on it, where that is so.
    pub restriction: Option<Restriction>,
    /// Not where the person is.
    pub away: bool,
    /// Month of the fact.
    pub as_of: &'static str,
    /// Nobody saw the offer written down.
    pub rough: bool,
}

impl FreeChoice {
    /// Whether the run can be planned on it: it fits for sure, and everybody where the person is can have it.
    pub const fn is_open(&self) -> bool {
        !self.tight && !self.away && self.restriction.is_none()
    }

    /// Whether the run is long and nobody knows how long one sitting may last.
    pub fn limit_unknown(&self) -> bool {
        /// A sitting of this many hours is usual where a limit is written down (Kaggle, Colab: 12 and less).
        const USUAL_SITTING_H: f64 = 12.0;
        self.session_limit_h.is_none() && self.hours.is_some_and(|h| h > USUAL_SITTING_H)
    }

    /// Whether it is an answer by itself: open, and done in a few sittings.
    pub const fn is_enough(&self) -> bool {
        /// Saving and resuming more often than this is no answer for somebody who begins.
        const FEW_SESSIONS: u32 = 3;
        self.is_open() && self.sessions <= FEW_SESSIONS
    }
}

/// A smaller variant of a run for which there is no money, on a free notebook.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeInstead {
    /// Where, with the time of the smaller variant.
    pub choice: FreeChoice,
    /// What is changed, the mildest first; nothing where the run fits as it is.
    pub fixes: Vec<FixKind>,
}

/// Why a free offer is not one that everybody can count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Restriction {
    /// For those who take a course.
    Course,
    /// For those who enter a competition.
    Competition,
    /// Admission by a waiting list.
    WaitList,
    /// Mostly taken.
    OutOfStock,
    /// Made for another library than `PyTorch`.
    OtherLibrary,
    /// Not an NVIDIA card, or one that current wheels dropped.
    OtherCard,
}

/// A warning about the chosen card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CardWarning {
    /// No bf16 matrix units (Volta, Turing, older): use fp16.
    NoBf16,
    /// fp16 gives NaN often enough (GTX 16): use fp32.
    HalfBreaks,
    /// No matrix units at all: 16 bit saves memory but little time.
    NoMatrixUnits,
    /// No `FlashAttention` before Ampere.
    NoFlashAttention,
    /// Current `PyTorch` wheels dropped it.
    Dropped,
    /// Only recent `PyTorch` wheels know it.
    NeedsNewPyTorch,
    /// Not CUDA: AMD through `ROCm`.
    Rocm,
    /// `ROCm` needs `HSA_OVERRIDE_GFX_VERSION`.
    RocmOverride,
    /// Neither CUDA nor `ROCm`: flash kernels are missing.
    OtherStack,
    /// The project uses 4-bit or 8-bit kernels (bitsandbytes), which only its recent versions have for this card.
    RecentQuantization,
    /// The project's fused loss is written in Triton, which does not run there.
    NoTriton,
    /// A laptop variant: less power, shared cooling.
    Laptop,
    /// A modified card without a maker's warranty.
    Modded,
    /// Several cards without fast links between them.
    NoFastLink,
    /// Several cards, and nobody says how they are joined.
    UnknownLink,
    /// Memory is shared with the processor: slower, and the system takes its part.
    UnifiedMemory,
    /// Windows moves what does not fit to main memory without a word: no error, but many times slower.
    WindowsSpills,
    /// A run of weeks on a card without error-correcting memory that was not made for it.
    NotForLongRuns,
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
    /// Time of the run on an ordinary processor, where one can do it at all.
    pub hours_on_cpu: Option<f64>,
    /// What `PyTorch` would print, where it runs out.
    pub out_of_memory: Option<OutOfMemory>,
    /// Fixes, the least painful first.
    pub fixes: Vec<Fix>,
    /// The least painful set of fixes that fits the chosen card, where it does not fit as it is.
    pub make_it_fit: Option<FitPlan>,
    /// What makes a run that fits much faster on the same cards.
    pub sooner: Option<FitPlan>,
    /// The largest micro-batch that fits the chosen card, where the project fits.
    pub largest_micro_batch: Option<u64>,
    /// The card is what limits that batch, and the work is enough to gain from a larger one.
    pub room_has_use: bool,
    /// All cards, ranked.
    pub cards: Vec<CardChoice>,
    /// Free notebooks that do it.
    pub free: Vec<FreeChoice>,
    /// All ways to get it done, weighed against each other.
    pub plans: Plans,
    /// Warnings about the chosen card.
    pub warnings: Vec<CardWarning>,
}
