//! Memory ran out: messages of frameworks, and the traceback and the log above them.

mod amounts;
mod log;
mod message;
mod trace;

pub use trace::Stage;

use super::{Hints, Note, Piece, Reading, Text, TextKind};
use crate::units::Bytes;

/// Whose memory ran out, by who says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Memory {
    /// `PyTorch` on CUDA, or anything else that names CUDA.
    #[default]
    Cuda,
    /// `PyTorch` on AMD's HIP.
    Hip,
    /// `PyTorch` on Huawei's NPU.
    Npu,
    /// `PyTorch` on Intel's XPU.
    Xpu,
    /// `PyTorch` on Moore Threads' MUSA.
    Musa,
    /// `PyTorch` on Apple's Metal.
    Metal,
    /// TensorFlow.
    TensorFlow,
    /// JAX or XLA.
    Jax,
    /// Paddle.
    Paddle,
    /// Main memory: an allocation was refused.
    Main,
    /// Main memory: the system ended the process.
    Killed,
    /// Shared memory between processes (`/dev/shm`).
    SharedBetweenProcesses,
    /// The paging file of Windows.
    PagingFile,
}

impl Memory {
    /// Whether it is a card's memory.
    pub const fn is_card(self) -> bool {
        !matches!(self, Self::Main | Self::Killed | Self::SharedBetweenProcesses | Self::PagingFile)
    }
}

/// Another process on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its id.
    pub pid: u64,
    /// What it holds.
    pub bytes: Bytes,
}

/// What a message says of the memory that ran out. Amounts are as printed; `None` where it does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryError {
    /// Whose memory.
    pub memory: Memory,
    /// Number of the device.
    pub device: Option<u32>,
    /// Asked for.
    pub tried: Option<Bytes>,
    /// The device's total.
    pub capacity: Option<Bytes>,
    /// Free on the device.
    pub free: Option<Bytes>,
    /// In tensors of this process.
    pub allocated: Option<Bytes>,
    /// Held by the allocator of this process without use.
    pub unused: Option<Bytes>,
    /// All that this process holds on the device.
    pub in_use: Option<Bytes>,
    /// All that others hold, where it is one sum.
    pub others: Option<Bytes>,
    /// The share of the device that the process allowed itself.
    pub allowed: Option<Bytes>,
    /// Over the limit by, where it is said.
    pub over: Option<Bytes>,
    /// Other processes, one by one.
    pub neighbours: Vec<Neighbour>,
    /// A library found no memory for its own workspace (cuBLAS, cuDNN).
    pub workspace: bool,
    /// What was going on.
    pub stage: Option<Stage>,
    /// Step it happened in, and how many there were to be.
    pub step: Option<(u64, u64)>,
    /// It happened on Windows.
    pub windows: bool,
    /// Where the message stands.
    pub from: Piece,
}

/// CUDA's word for a program without code for this card (`cudaErrorNoKernelImageForDevice`).
const NO_KERNEL: &str = "no kernel image is available";

/// Reads an error.
pub fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) {
    log::read(text, reading);
    if text.small().contains(NO_KERNEL) {
        reading.is(TextKind::Error);
        reading.notes.push(Note::NoKernelForCard);
    }
    let Some((at, mut error)) = message::find(text) else { return };
    reading.is(TextKind::Error);
    trace::read(text, at, hints, &mut error, reading);
    error.step = log::step(text, at);
    own_process(&mut error);
    reading.error = Some(error);
}

/// In a container PyTorch does not know itself among the processes of the card, whose ids are the host's: it then lists
/// itself as another one (`reportProcessMemoryInfo` in c10/cuda). Two of that size would not go onto the card.
fn own_process(error: &mut MemoryError) {
    let (None, Some(allocated), Some(capacity)) = (error.in_use, error.allocated, error.capacity) else { return };
    let held = allocated + error.unused.unwrap_or_default();
    let listed: Bytes = error.neighbours.iter().map(|n| n.bytes).sum();
    if listed + held <= capacity - error.free.unwrap_or_default() {
        return;
    }
    let able = error.neighbours.iter().enumerate().filter(|(_, n)| n.bytes >= held);
    if let Some((at, _)) = able.min_by_key(|(_, n)| n.bytes) {
        error.in_use = Some(error.neighbours.remove(at).bytes);
    }
}
