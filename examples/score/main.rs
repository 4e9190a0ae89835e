//! Scores the estimates against cases with a known answer.
//!
//! `cargo run --release --example score -- FILE.csv [--each] [--csv OUT.csv]`
//!
//! `FILE.csv` is a table of traced steps, of measured runs, or of measured speeds, told apart by their columns. `--each` prints a line per
//! case, `--csv` writes our figures of each case. Further help while looking for an error: `--id ID` prints the case as
//! it was read, `--sort` sorts by error.

mod scoring;

use enough_gpu::catalog::Catalog;
use scoring::table::Table;
use scoring::{performance, report};
use std::process::ExitCode;

#[derive(Default)]
struct Options {
    file: Option<String>,
    each: bool,
    sort: bool,
    csv: Option<String>,
    id: Option<String>,
}

fn options(args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value"));
        match arg.as_str() {
            "--each" => options.each = true,
            "--sort" => options.sort = true,
            "--csv" => options.csv = Some(value()?),
            "--id" => options.id = Some(value()?),
            _ if arg.starts_with("--") => return Err(format!("unknown option {arg}")),
            _ => options.file = Some(arg),
        }
    }
    Ok(options)
}

fn run() -> Result<(), String> {
    let options = options(std::env::args().skip(1))?;
    let file = options.file.ok_or("usage: score FILE.csv [--each] [--csv OUT.csv] [--id ID] [--sort]")?;
    let bytes = std::fs::read(&file).map_err(|e| format!("{file}: {e}"))?;
    let catalog = Catalog::bundled();
    let (table, broken) = Table::read(&String::from_utf8_lossy(&bytes));
    if broken > 0 {
        eprintln!("{broken} rows of {file} are no CSV and are left out");
    }
    if table.has("workload") {
        let speeds = performance::score(&table, &catalog);
        if options.each {
            println!("{}", performance::each(&speeds));
        }
        print!("{}", performance::closing(&speeds));
        return Ok(());
    }
    let mut scored = scoring::score(&table, &catalog);
    if let Some(id) = options.id {
        for s in scored.iter().filter(|s| s.case.id == id) {
            println!("{s:#?}");
        }
        return Ok(());
    }
    if let Some(out) = options.csv {
        std::fs::write(&out, report::csv(&scored)).map_err(|e| format!("{out}: {e}"))?;
    }
    if options.sort {
        scored.sort_by(|a, b| a.error().map_or(-1.0, f64::abs).total_cmp(&b.error().map_or(-1.0, f64::abs)));
    }
    if options.each {
        println!("{}", report::each(&scored));
    }
    print!(
        "{}{}{}{}",
        report::declined(&scored),
        report::by_source(&scored),
        report::vague(&scored),
        report::closing(&scored)
    );
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
