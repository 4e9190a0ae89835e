//! How old the software is that a run uses.

use serde::{Deserialize, Serialize};

/// The generation of PyTorch, CUDA and the libraries on top. Nobody who starts today chooses one: it is there to judge
/// runs of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Runtime {
    /// What is installed today.
    #[default]
    Current,
    /// `PyTorch` 2.2 to 2.6 with the libraries of 2024.
    Mid2,
    /// `PyTorch` 2.0 and 2.1 with the libraries of 2023.
    Early2,
    /// `PyTorch` 2.0 in its first months: bitsandbytes before 0.38 of April 2023, `LitGPT` before it gave the fused attention
    /// kernels back to training (thread 171, June 2023).
    First2,
    /// `PyTorch` 1 with CUDA before 11.7: all kernels are loaded with the context, `zero_grad` keeps gradients.
    One,
    /// `PyTorch` 1.11 and 1.12: the same, but softmax no longer keeps its input.
    LateOne,
    /// `PyTorch` 1.13 on CUDA 11.7: as before, and kernels are loaded when they are needed (pytorch/pytorch 86509).
    LastOne,
}

/// What a run does that no field of the form asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Habits {
    /// The model is compiled (`torch.compile`).
    pub compiled: bool,
    /// The loop is the user's own and keeps what the model returned in a variable while backward runs.
    pub own_loop: bool,
    /// The optimizer's step makes weights and states anew instead of changing them (`JITLamb` of
    /// NVIDIA/DeepLearningExamples `Transformer-XL/pytorch/lamb.py`).
    pub renews: bool,
    /// The vision tower is trained where the library would leave it as it is.
    pub trains_tower: bool,
    /// Whether its blocks are computed again in backward, where that is not as in the language model.
    pub tower_recomputed: Option<bool>,
    /// Patches of a sample; 0: as many as usual.
    pub patches: u64,
}
