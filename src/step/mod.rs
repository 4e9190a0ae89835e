//! One training step, run symbolically: the tape, liveness, the caching allocator, the timeline.

mod allocator;
mod course;
mod divided;
mod optimizer;
mod peaks;
mod reserve;
mod resident;
mod run;

pub use crate::network::{
    AttentionKernel, Code, Dtype, Loss, Quantization, Shards, Stage, StepConfig, StepImpl, Task, Trained, Way,
};
pub use allocator::{Allocator, allocation};
pub use course::Course;
pub use divided::divided_step;
pub use reserve::{Held, first_steps, least, least_among, short_of, steady_step};
pub use run::*;

#[cfg(test)]
mod tests;
