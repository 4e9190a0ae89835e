//! Numbers that are as good as equal, and the work of a project.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::time::Workload;
use enough_gpu::project::Project;

/// Equal but for rounding.
#[track_caller]
pub fn close(a: f64, b: f64) {
    near(a, b, 1e-9);
}

/// Apart by at most this share of the larger.
#[track_caller]
pub fn near(a: f64, b: f64, share: f64) {
    assert!((a - b).abs() <= share * a.abs().max(b.abs()).max(1e-12), "{a:e} and {b:e}");
}

/// What a step of the project asks for.
pub fn load(project: &Project) -> Workload {
    Workload::new(project, true, &Catalog::bundled()).unwrap()
}

/// The same with a change.
pub fn with(base: &Project, change: impl FnOnce(&mut Project)) -> Workload {
    let mut project = base.clone();
    change(&mut project);
    load(&project)
}
