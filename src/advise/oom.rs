//! What an error about memory means: which card it must be, how much was missing, why, and what to do first.

use crate::catalog::{Catalog, Gpu, Vendor};
use crate::project::Project;
use crate::project::import::card::by_memory;
use crate::project::import::error::{Memory, MemoryError, Stage};
use crate::units::{Bytes, GIB, MIB};

/// Why memory ran out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// The run is larger than the card.
    Size,
    /// One piece alone is larger than the card.
    OnePiece,
    /// Enough is held without use, but in pieces that are too small.
    Fragments {
        /// Held without use.
        unused: Bytes,
    },
    /// Other programs hold memory of the card.
    Others {
        /// What they hold.
        bytes: Bytes,
        /// How many are named; 0 where it only follows from the sum.
        named: usize,
    },
    /// The screen, and the driver itself, hold memory of the card.
    Desktop {
        /// What is neither free nor the run's own.
        bytes: Bytes,
    },
    /// Windows had already lent main memory to the card.
    SharedMemory {
        /// What lies beyond the card.
        beyond: Bytes,
    },
    /// The program may not use all of the card.
    Limit {
        /// What it may.
        allowed: Bytes,
    },
    /// There was room: something else than the card's memory is at its end.
    Room {
        /// What was free.
        free: Bytes,
    },
    /// Intel's driver takes no pieces of 4 GiB and more.
    PieceLimit,
    /// A library found no room for its workspace: the card was full before.
    Workspace,
    /// It went well for a while: one longer sample, or memory that grows from step to step.
    Later {
        /// The step.
        step: u64,
        /// Of how many.
        of: u64,
    },
    /// Not a training step, but what was done beside.
    Beside(Stage),
    /// Main memory, not the card's.
    MainMemory,
    /// The system ended the program, most likely for main memory.
    Killed,
    /// The memory that data loaders share.
    SharedBetweenProcesses,
    /// Windows' paging file.
    PagingFile,
}

/// What to do first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum First {
    /// What the page offers for the project: fixes with their effect.
    Fixes,
    /// `expandable_segments:True`.
    ExpandableSegments,
    /// The same for Ascend.
    ExpandableSegmentsNpu,
    /// End other programs on the card.
    EndOthers,
    /// Close what draws, or let the screen hang on other graphics.
    FreeDesktop,
    /// Forbid the driver to lend main memory, then make the run smaller.
    NoSharedMemory,
    /// Raise the limit.
    RaiseLimit,
    /// No pinned memory.
    NoPinnedMemory,
    /// A cap on length, no tensors kept from step to step.
    CapLength,
    /// A smaller batch for evaluation, results moved off the card.
    SmallEvaluation,
    /// Save adapters alone, merge in main memory.
    SaveLess,
    /// Encode in smaller batches, or with the encoder alone on the card.
    EncodeFirst,
    /// Fewer or no samples between the steps.
    FewerSamples,
    /// Load in fewer bits, or in parts.
    LoadLess,
    /// An optimizer that remembers less.
    SmallOptimizer,
    /// Fewer data loader processes, data read piece by piece, more main memory.
    LessMainMemory,
    /// More shared memory for the container, or no processes beside.
    MoreShared,
    /// A larger paging file.
    LargerPagingFile,
}

/// An error, explained.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// Ids of the cards that have the capacity it tells, likeliest first.
    pub cards: Vec<&'static str>,
    /// Whether the project's card is one of them; `None` where either is not known.
    pub is_own: Option<bool>,
    /// How much was missing for this one piece.
    pub missing: Option<Bytes>,
    /// Why, the main cause first.
    pub causes: Vec<Cause>,
    /// What to do, first things first.
    pub first: Vec<First>,
}

/// Cards that are named for a capacity.
const MOST_CARDS: usize = 10;

/// What `PyTorch`'s own context holds beside its tensors at most: 0.3 to 1.5 GiB by card and version (`catalog/data/README.md`).
const CONTEXT: Bytes = Bytes(3 * GIB / 2);

/// What it holds at the least.
const OWN_CONTEXT: Bytes = Bytes(300 * MIB);

/// What other programs must hold to be worth a word.
const WORTH_A_WORD: Bytes = Bytes(256 * MIB);

/// The largest piece that Intel's Level Zero gives by default (`UR_L0_USE_RELAXED_ALLOCATION_LIMITS` lifts it).
const LEVEL_ZERO_PIECE: Bytes = Bytes(4 * GIB);

/// Steps after which an error is no matter of the first steps any more.
const AFTER: u64 = 20;

/// Explains an error to somebody with this project.
pub fn explain(error: &MemoryError, project: &Project, catalog: &Catalog) -> Explained {
    let cards: Vec<&'static str> = match error.capacity {
        Some(capacity) if error.memory.is_card() => {
            let own = |gpu: &&Gpu| makers(error.memory).is_none_or(|makers| makers.contains(&gpu.vendor));
            by_memory(capacity, catalog).into_iter().filter(own).map(|gpu| gpu.id).collect()
        }
        _ => Vec::new(),
    };
    let own = &project.hardware.gpu;
    let is_own = (!own.is_empty() && !cards.is_empty()).then(|| cards.contains(&own.as_str()));
    let missing = missing(error);
    let causes = causes(error, missing);
    let mut first = Vec::new();
    for step in causes.iter().map(|cause| step(*cause)) {
        let step = match step {
            First::ExpandableSegments if error.memory == Memory::Npu => First::ExpandableSegmentsNpu,
            step => step,
        };
        if !first.contains(&step) {
            first.push(step);
        }
    }
    Explained { cards: cards.into_iter().take(MOST_CARDS).collect(), is_own, missing, causes, first }
}

/// Whose cards speak so; `None` where anybody's may.
const fn makers(memory: Memory) -> Option<&'static [Vendor]> {
    Some(match memory {
        Memory::Cuda => &[Vendor::Nvidia, Vendor::MetaX],
        Memory::Hip => &[Vendor::Amd, Vendor::Hygon],
        Memory::Npu => &[Vendor::Huawei],
        Memory::Xpu => &[Vendor::Intel],
        Memory::Musa => &[Vendor::MooreThreads],
        Memory::Metal => &[Vendor::Apple],
        _ => return None,
    })
}

fn free(error: &MemoryError) -> Option<Bytes> {
    let rest = || {
        Some(error.capacity? - error.allocated? - error.unused.unwrap_or_default() - error.others.unwrap_or_default())
    };
    error.free.or_else(rest)
}

fn missing(error: &MemoryError) -> Option<Bytes> {
    if error.over.is_some() {
        return error.over;
    }
    let (tried, free) = (error.tried?, free(error)?);
    (error.memory.is_card() && tried > free).then(|| tried - free)
}

fn causes(error: &MemoryError, missing: Option<Bytes>) -> Vec<Cause> {
    match error.memory {
        Memory::Main => return vec![Cause::MainMemory],
        Memory::Killed => return vec![Cause::Killed],
        Memory::SharedBetweenProcesses => return vec![Cause::SharedBetweenProcesses],
        Memory::PagingFile => return vec![Cause::PagingFile],
        _ => {}
    }
    let mut causes = Vec::new();
    let tried = error.tried.unwrap_or_default();
    let unused = error.unused.unwrap_or_default();
    let held = error.allocated.unwrap_or_default() + unused;
    if let Some(capacity) = error.capacity.filter(|capacity| held > *capacity) {
        causes.push(Cause::SharedMemory { beyond: held - capacity });
    }
    if error.capacity.is_some_and(|capacity| tried > capacity) {
        causes.push(Cause::OnePiece);
    }
    if let Some(allowed) = error.allowed {
        causes.push(Cause::Limit { allowed });
    }
    // Enough in all, and not a trifle: what rounding leaves over is no fragmentation.
    if unused >= tried && unused > Bytes(GIB / 2) && error.tried.is_some() {
        causes.push(Cause::Fragments { unused });
    }
    let others = others(error);
    if let Some((cause, bytes)) = others {
        let enough = missing.is_none_or(|missing| bytes >= missing);
        if enough && matches!(cause, Cause::Others { .. }) {
            causes.push(cause);
        }
    }
    let room = free(error).filter(|free| error.tried.is_some() && *free > tried && causes.is_empty());
    if let Some(free) = room {
        let piece = error.memory == Memory::Xpu && tried >= LEVEL_ZERO_PIECE;
        causes.push(if piece { Cause::PieceLimit } else { Cause::Room { free } });
    }
    if error.workspace {
        causes.push(Cause::Workspace);
    }
    match error.stage {
        Some(stage) if !matches!(stage, Stage::Forward | Stage::Loss | Stage::Backward) => {
            causes.push(Cause::Beside(stage));
        }
        _ => {
            if let Some((step, of)) = error.step.filter(|(step, _)| *step > AFTER) {
                causes.push(Cause::Later { step, of });
            }
        }
    }
    let beside = causes.iter().any(|cause| matches!(cause, Cause::Beside(stage) if *stage != Stage::Optimizer));
    if room.is_none() && !beside {
        causes.push(Cause::Size);
    }
    if let Some((cause, _)) = others.filter(|(cause, _)| !causes.contains(cause)) {
        causes.push(cause);
    }
    causes
}

/// What others hold of the card, as far as it is told or follows.
fn others(error: &MemoryError) -> Option<(Cause, Bytes)> {
    let named: Bytes = error.neighbours.iter().map(|n| n.bytes).sum();
    if named > WORTH_A_WORD {
        return Some((Cause::Others { bytes: named, named: error.neighbours.len() }, named));
    }
    if let Some(others) = error.others.filter(|others| *others > Bytes(2 * GIB)) {
        return Some((Cause::Others { bytes: others, named: 0 }, others));
    }
    let taken = error.capacity? - error.free?;
    if let Some(in_use) = error.in_use {
        let rest = taken - in_use;
        let cause =
            if rest > CONTEXT { Cause::Others { bytes: rest, named: 0 } } else { Cause::Desktop { bytes: rest } };
        return (rest > WORTH_A_WORD).then_some((cause, rest));
    }
    let rest = taken - error.allocated? - error.unused?;
    if rest > CONTEXT + Bytes(GIB) {
        let bytes = rest - CONTEXT;
        return Some((Cause::Others { bytes, named: 0 }, bytes));
    }
    // The run's own context is among the rest. No screen hangs on an accelerator; Windows draws on the card that trains.
    if matches!(error.memory, Memory::Npu | Memory::Musa) {
        return None;
    }
    let least = if error.windows { Bytes(GIB / 2) } else { Bytes(GIB) };
    (rest > least).then(|| (Cause::Desktop { bytes: rest - OWN_CONTEXT }, rest - OWN_CONTEXT))
}

const fn step(cause: Cause) -> First {
    match cause {
        Cause::Size | Cause::OnePiece | Cause::Workspace | Cause::PieceLimit => First::Fixes,
        Cause::Fragments { .. } => First::ExpandableSegments,
        Cause::Others { .. } => First::EndOthers,
        Cause::Desktop { .. } => First::FreeDesktop,
        Cause::SharedMemory { .. } => First::NoSharedMemory,
        Cause::Limit { .. } => First::RaiseLimit,
        Cause::Room { .. } => First::NoPinnedMemory,
        Cause::Later { .. } => First::CapLength,
        Cause::Beside(stage) => match stage {
            Stage::Evaluation => First::SmallEvaluation,
            Stage::Saving => First::SaveLess,
            Stage::Encoding => First::EncodeFirst,
            Stage::Generation => First::FewerSamples,
            Stage::Loading => First::LoadLess,
            Stage::Optimizer => First::SmallOptimizer,
            Stage::Forward | Stage::Loss | Stage::Backward => First::Fixes,
        },
        Cause::MainMemory | Cause::Killed => First::LessMainMemory,
        Cause::SharedBetweenProcesses => First::MoreShared,
        Cause::PagingFile => First::LargerPagingFile,
    }
}

#[cfg(test)]
#[path = "tests/in_oom.rs"]
mod tests;
