//! What exists: GPUs, models, rental offers, free tiers and presets.
//!
//! The facts live as CSV under `data/`, are checked and turned into Rust tables by `build.rs`, and are compiled in.

mod types;
pub use types::*;

use std::borrow::Cow;

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
            gpus: Cow::Borrowed(&[]),
            models: Cow::Borrowed(&[]),
            offers: Cow::Borrowed(&[]),
            free: Cow::Borrowed(&[]),
            presets: Cow::Borrowed(&[]),
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
