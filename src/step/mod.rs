//! One training step, run symbolically: the tape, liveness, the caching allocator, the timeline.

mod config;
pub use config::*;
