//! How old the software is that a run uses.

use serde::{Deserialize, Serialize};

/// The generation of PyTorch, CUDA and the libraries on top. Nobody who starts today chooses one: it is there to judge
/// runs of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Runtime {
    /// What is installed today.
    #[default]
    Current,
    /// Today's libraries on a driver before 515 (the long-term branches 450 and 470 of data centers): it cannot load kernels
    /// lazily, so all of them come with the context (CUDA C++ programming guide, lazy loading: "driver support").
    OldDriver,
    /// `PyTorch` 2.2 to 2.6 with the libraries of 2024.
    Mid2,
    /// `PyTorch` 2.0 and 2.1 with the libraries of 2023.
    Early2,
    /// `PyTorch` 1 with CUDA before 11.7: all kernels are loaded with the context, `zero_grad` keeps gradients.
    One,
    /// The last of `PyTorch` 1, 1.11 to 1.13: the same, but softmax no longer keeps its input.
    LateOne,
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
}
