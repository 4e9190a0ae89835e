//! Projects at somebody's desk.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::project::Project;
use enough_gpu::units::Currency;

/// A preset on so many of a card; an empty name is no card.
pub fn on(preset: &str, gpu: &str, count: u32, catalog: &Catalog) -> Project {
    let preset = catalog.preset(preset).unwrap_or_else(|| panic!("no preset {preset}"));
    let mut project = Project::from_preset(preset, catalog);
    project.hardware.gpu = gpu.to_string();
    project.hardware.no_gpu = gpu.is_empty();
    project.hardware.count = count;
    project
}

/// The same, with prices in yuan.
pub fn in_yuan(preset: &str, gpu: &str, count: u32, catalog: &Catalog) -> Project {
    let mut project = on(preset, gpu, count, catalog);
    project.budget.currency = Currency::Cny;
    project
}
