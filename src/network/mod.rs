//! What a model is made of: a program of layers over named tensors.
//!
//! A [`Program`] says, operator by operator, what PyTorch allocates in forward, what it keeps for backward and what
//! backward allocates. It is plain data: [`crate::step`] runs it, and the same description gives the parameter count and
//! the FLOPs.

mod builder;
mod config;
mod delta;
pub mod diffusion;
mod encoder;
mod encoder_decoder;
mod language;
mod layers;
mod loss;
mod maps;
mod mla;
mod moe;
mod program;
mod recurrent;
mod shards;
pub mod speech;
mod split;
mod style;
mod transformer_xl;
pub mod vision;
mod voice;

pub use config::*;
pub(crate) use language::dense_layers;
pub use language::{Tower, language, seeing};
pub use program::*;
pub use shards::*;
