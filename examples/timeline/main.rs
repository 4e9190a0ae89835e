//! Draws the course of one training step for five models, beside what PyTorch itself counted, and works out the example
//! of `docs/how-the-number-is-made.md`.
//!
//! `cargo run --release --example timeline` writes `docs/timelines/*.svg` and the parts of the two pages
//! `docs/how-the-number-is-made*.md` that hold figures.

mod course;
#[allow(dead_code)]
#[path = "../pages/mod.rs"]
mod pages;
#[allow(dead_code)]
#[path = "../score/scoring/mod.rs"]
mod scoring;
mod worked;

use enough_gpu::catalog::Catalog;
use enough_gpu::text::Lang;
use std::process::ExitCode;

/// The page and its language.
const DOCUMENTS: [(Lang, &str); 2] =
    [(Lang::En, "docs/how-the-number-is-made.md"), (Lang::Zh, "docs/how-the-number-is-made.zh.md")];

fn run() -> Result<(), String> {
    let catalog = Catalog::bundled();
    let courses = course::all(&catalog)?;
    for course in &courses {
        pages::write(&course.file(), &course.picture())?;
    }
    for (lang, file) in DOCUMENTS {
        let page = pages::read(file)?;
        let page = pages::with_part(&page, "worked example", &worked::tables(lang, &catalog)?)?;
        let page = pages::with_part(&page, "courses", &course::table(lang, &courses))?;
        pages::write(file, &page)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
