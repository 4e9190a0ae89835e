//! Writes `docs/accuracy.md`, its pictures in `docs/accuracy/`, and the table of errors in `README.md`.
//!
//! `cargo run --release --example accuracy` scores every case of `tests/data/` with today's code. Nothing in the pages'
//! figures is typed by hand but what an older engine said (`drawn.rs`); why a case is wrong, where it is known, stands in `known.csv` beside this file.

mod drawn;
mod histogram;
mod page;
#[allow(dead_code)]
#[path = "../pages/mod.rs"]
mod pages;
mod readme;
#[allow(dead_code)]
#[path = "../score/scoring/mod.rs"]
mod scoring;

use enough_gpu::catalog::Catalog;
use scoring::case::{Domain, Quality, Scored};
use scoring::performance::{self, Speed};
use scoring::report;
use scoring::table::Table;
use std::collections::HashMap;
use std::process::ExitCode;

/// Why a case is wrong, or all of a source that are wrong on the same side.
struct Known {
    id: String,
    source: String,
    /// `under` or `over`: the estimate says too little or too much.
    side: String,
    reason: String,
}

impl Known {
    fn explains(&self, scored: &Scored) -> bool {
        let side = if scored.error().is_some_and(|e| e < 0.0) { "under" } else { "over" };
        self.id == scored.case.id
            || self.id.is_empty() && self.side == side && self.source == report::reporter(&scored.case.source)
    }
}

/// All cases, answered.
pub(crate) struct Answers {
    traced: Vec<Scored>,
    /// Steps drawn at random.
    drawn: Vec<Scored>,
    measured: Vec<Scored>,
    speeds: Vec<Speed>,
    known: Vec<Known>,
    /// What the row itself remarks, by its id.
    notes: HashMap<String, String>,
}

impl Answers {
    fn new(catalog: &Catalog) -> Result<Self, String> {
        let table = |file| pages::read(file).map(|text| Table::read(&text).0);
        let (traced, measured) = (table("tests/data/oracle.csv")?, table("tests/data/measured.csv")?);
        let column = |table: &Table, name: &str| {
            let pairs = table.rows().map(|row| (row.text("id").to_owned(), row.text(name).to_owned()));
            pairs.filter(|(_, text)| !text.is_empty()).collect::<HashMap<_, _>>()
        };
        Ok(Self {
            known: table("examples/accuracy/known.csv")?
                .rows()
                .map(|row| {
                    let [id, source, side, reason] = ["id", "source", "side", "reason"].map(|c| row.text(c).to_owned());
                    Known { id, source, side, reason }
                })
                .collect(),
            notes: column(&measured, "note"),
            traced: scoring::score(&traced, catalog),
            drawn: scoring::score(&table("tests/data/drawn.csv")?, catalog),
            measured: scoring::score(&measured, catalog),
            speeds: performance::score(&table("src/catalog/data/performance.csv")?, catalog),
        })
    }

    /// Why a case is wrong, where it is known; what stands for itself comes before what stands for its source.
    fn reason(&self, scored: &Scored) -> Option<&str> {
        let explaining = self.known.iter().filter(|k| k.explains(scored));
        explaining.max_by_key(|k| !k.id.is_empty()).map(|k| k.reason.as_str())
    }

    /// Traced cases of a domain.
    fn traced(&self, domain: Domain) -> Vec<&Scored> {
        self.traced.iter().filter(|s| s.case.domain == domain).collect()
    }

    /// Measured cases of a domain that count, on one card or on several.
    fn measured(&self, domain: Domain, several: bool) -> Vec<&Scored> {
        let counts = |s: &&Scored| s.case.quality != Quality::C && s.case.domain == domain;
        self.measured.iter().filter(counts).filter(|s| (s.case.cards > 1) == several).collect()
    }
}

/// A domain in words.
fn name(domain: Domain) -> &'static str {
    match domain {
        Domain::Llm => "language",
        Domain::Vision => "vision",
        Domain::Diffusion => "diffusion",
        Domain::Audio => "audio",
        Domain::Other => "other",
    }
}

fn run() -> Result<(), String> {
    let catalog = Catalog::bundled();
    let answers = Answers::new(&catalog)?;
    for (file, picture) in histogram::all(&answers) {
        pages::write(&file, &picture)?;
    }
    pages::write("docs/accuracy.md", &page::page(&answers))?;
    let readme = pages::with_part(&pages::read("README.md")?, "accuracy", &readme::table(&answers))?;
    pages::write("README.md", &readme)
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
