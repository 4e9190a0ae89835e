//! One training step, run symbolically: the tape, liveness, the caching allocator, the timeline.

mod allocator;
mod optimizer;
mod peaks;
mod reserve;
mod run;

pub use crate::network::{
    AttentionKernel, Code, Dtype, Loss, Quantization, Shards, StepConfig, StepImpl, Task, Trained,
};
pub use allocator::Allocator;
pub use reserve::{Held, first_steps, steady_step};
pub use run::*;
