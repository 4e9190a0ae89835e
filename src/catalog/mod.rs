//! What exists: GPUs, models, rental offers, free tiers and presets.
//!
//! The facts live as CSV under `data/`, are checked and packed by `build.rs`, and are compiled in.

pub mod grammar;
mod language;
mod lookup;
mod models;
pub mod params;
mod tables;
mod types;
pub use language::*;
pub use lookup::{Alias, Hit};
pub use models::*;
pub use types::*;

use std::borrow::Cow;

/// Measured training speeds, to calibrate estimates of time.
pub fn measured_throughput() -> &'static [Throughput] {
    tables::throughput()
}

/// Measured runs, to stand beside estimates.
pub fn measured_runs() -> &'static [MeasuredRun] {
    tables::runs()
}

/// Everything the calculator knows about the world. A value, so that prices can be edited and tests can add rows.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Cards.
    pub gpus: Cow<'static, [Gpu]>,
    /// Models of all domains.
    pub models: Cow<'static, [Model]>,
    /// Rental offers.
    pub offers: Cow<'static, [Offer]>,
    /// Free notebooks.
    pub free: Cow<'static, [FreeTier]>,
    /// Projects people ask for.
    pub presets: Cow<'static, [Preset]>,
}

impl Catalog {
    /// The catalog that is compiled in. It is unpacked the first time; after that, a call costs nothing.
    pub fn bundled() -> Self {
        tables::bundled()
    }

    /// The card with this id. Lengths are compared first: whole tables are searched a thousand times for one advice.
    pub fn gpu(&self, id: &str) -> Option<&Gpu> {
        self.gpus.iter().find(|g| g.id.len() == id.len() && g.id == id)
    }

    /// The model with this id.
    pub fn model(&self, id: &str) -> Option<&Model> {
        self.models.iter().find(|m| m.id.len() == id.len() && m.id == id)
    }

    /// The preset with this id.
    pub fn preset(&self, id: &str) -> Option<&Preset> {
        self.presets.iter().find(|p| p.id == id)
    }
}
