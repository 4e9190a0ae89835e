//! From the estimate to what the person should do: verdict, first fixes, cards to take.
//!
//! [`advise`] is a pure function of the project and the catalog. Everything it says about a changed project was found by
//! estimating the changed project.

mod facts;

pub use facts::*;

use crate::catalog::Catalog;
use crate::estimate::CannotEstimate;
use crate::project::Project;

/// The advice for a project: a pure function of it and the catalog.
pub fn advise(project: &Project, catalog: &Catalog) -> Result<Advice, CannotEstimate> {
    let _ = (project, catalog);
    Err(CannotEstimate::NoModel)
}
