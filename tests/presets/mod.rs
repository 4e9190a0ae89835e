//! The projects of the catalog's presets, for tests of advice.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::project::Project;

pub(crate) fn catalog() -> Catalog {
    Catalog::bundled()
}

pub(crate) fn projects(catalog: &Catalog) -> Vec<Project> {
    let presets = catalog.presets.iter().map(|preset| Project::from_preset(preset, catalog));
    presets.filter(|p| enough_gpu::estimate::memory(p, None, catalog).is_ok()).collect()
}

pub(crate) fn preset(id: &str, catalog: &Catalog) -> Project {
    Project::from_preset(catalog.preset(id).unwrap_or_else(|| panic!("{id}")), catalog)
}

pub(crate) fn on(id: &str, gpu: &str, catalog: &Catalog) -> Project {
    let mut project = preset(id, catalog);
    project.hardware.gpu = gpu.to_string();
    project
}
