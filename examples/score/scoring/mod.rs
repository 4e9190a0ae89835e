//! Scoring of estimates against cases with a known answer.

mod alone;
pub(crate) mod architecture;
mod cards;
pub(crate) mod case;
mod defaults;
pub(crate) mod engine;
pub(crate) mod gpus;
pub(crate) mod measured;
pub(crate) mod models;
mod nearest;
pub(crate) mod oracle;
pub(crate) mod performance;
pub(crate) mod report;
pub(crate) mod sizes;
pub(crate) mod table;
mod when;
pub(crate) mod words;

use case::Scored;
use enough_gpu::catalog::Catalog;
use table::Table;

/// Scores the rows of a file of memory cases, traced or measured.
pub(crate) fn score(table: &Table, catalog: &Catalog) -> Vec<Scored> {
    let traced = table.has("peak_bytes");
    table
        .rows()
        .map(|row| if traced { oracle::case(&row, catalog) } else { measured::case(&row, catalog) })
        .map(|case| {
            let judged = case.outcome.is_some() && case.usable.is_some();
            let figures = case.subject.clone().and_then(|subject| engine::figures(&subject, catalog, judged));
            Scored { case, figures }
        })
        .collect()
}
