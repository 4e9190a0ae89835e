//! Writes `src/catalog/data/runs.csv`: the measured runs that the page shows beside an estimate.
//!
//! `cargo run --release --example runs` reads `tests/data/measured.csv` as the scores do.

#[allow(dead_code)]
#[path = "../pages/mod.rs"]
mod pages;
#[allow(dead_code)]
#[path = "../score/scoring/mod.rs"]
mod scoring;
mod table;

use enough_gpu::catalog::Catalog;
use std::process::ExitCode;

fn main() -> ExitCode {
    let written = table::table(&Catalog::bundled())
        .and_then(|text| std::fs::write(pages::path(table::TO), text).map_err(|e| format!("{}: {e}", table::TO)));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
