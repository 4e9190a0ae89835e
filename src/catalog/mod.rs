//! What exists: GPUs, models, rental offers, free tiers and presets.
//!
//! The facts live as CSV under `data/`, are checked and turned into Rust tables by `build.rs`, and are compiled in.

pub mod grammar;
mod language;
mod lookup;
pub mod params;
mod types;
pub use language::*;
pub use lookup::{Alias, Hit};
pub use types::*;

/// The tables that `build.rs` writes.
#[allow(clippy::unreadable_literal, clippy::wildcard_imports)]
mod tables {
    use super::*;
    use crate::units::Bytes;
    include!(concat!(env!("OUT_DIR"), "/catalog.rs"));
}

use std::borrow::Cow;

/// Measured training speeds, to calibrate estimates of time.
pub fn measured_throughput() -> &'static [Throughput] {
    tables::MEASURED_THROUGHPUT
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
    /// The catalog that is compiled in.
    pub fn bundled() -> Self {
        Self {
            gpus: Cow::Borrowed(tables::GPUS),
            models: Cow::Borrowed(tables::MODELS),
            offers: Cow::Borrowed(tables::OFFERS),
            free: Cow::Borrowed(tables::FREE),
            presets: Cow::Borrowed(tables::PRESETS),
        }
    }

    /// The card with this id.
    pub fn gpu(&self, id: &str) -> Option<&Gpu> {
        self.gpus.iter().find(|g| g.id == id)
    }

    /// The model with this id.
    pub fn model(&self, id: &str) -> Option<&Model> {
        self.models.iter().find(|m| m.id == id)
    }

    /// The preset with this id.
    pub fn preset(&self, id: &str) -> Option<&Preset> {
        self.presets.iter().find(|p| p.id == id)
    }
}
