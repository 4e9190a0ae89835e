//! Writes `docs/time.md`: our time beside measured training speeds, row by row.
//!
//! ```sh
//! cargo run --release --example time
//! ```

mod rows;

use enough_gpu::catalog::Catalog;
use rows::{Compared, at};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let page = page(&Catalog::bundled());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/time.md");
    std::fs::write(&path, page)?;
    println!("wrote {}", path.display());
    Ok(())
}

fn page(catalog: &Catalog) -> String {
    let (training, compared) = rows::compare(catalog);
    let mut out = String::from(
        "# How right the time is\n\n\
         <!-- Written by `cargo run --release --example time`; changes by hand are lost. -->\n\n\
         Measured training speeds (`src/catalog/data/performance.csv`, each with its source) beside what we say for the\n\
         same card, number, model and precision. An error is ours over measured, less one: +20 % means that we promise\n\
         too much speed. Rows of inference or of bare matrix products do not count; what a project cannot express (fp8,\n\
         gaps in the source) is left out and counted as such. `tests/throughput.rs` holds the bounds.\n\n",
    );
    let _ = writeln!(
        out,
        "{training} rows of training, {} of them estimated. {}\n",
        compared.len(),
        summary(&compared.iter().collect::<Vec<_>>())
    );
    out += "## By workload\n\n| workload | rows | median error | 90 % within | mean (bias) |\n|---|--:|--:|--:|--:|\n";
    grouped(&mut out, &compared, |c| c.row.workload.to_string());
    out += "\n## By card\n\n| card | rows | median error | 90 % within | mean (bias) |\n|---|--:|--:|--:|--:|\n";
    grouped(&mut out, &compared, |c| catalog.gpu(c.row.gpu).map_or(c.row.gpu, |g| g.short_name()).to_string());
    out += "\n## By number of cards\n\n| cards | rows | median error | 90 % within | mean (bias) |\n|---|--:|--:|--:|--:|\n";
    grouped(&mut out, &compared, |c| format!("{:>4}", c.row.gpus));
    out += "\n## Every row, the worst first\n\n\
            | card | workload | precision | measured | ours | error | source |\n|---|---|---|--:|--:|--:|---|\n";
    let mut worst: Vec<&Compared> = compared.iter().collect();
    worst.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    for c in worst {
        let row = c.row;
        let unit = if row.tokens_s.is_some() { "tokens/s" } else { row.unit };
        let _ = writeln!(
            out,
            "| {} × {} | {} | {} | {:.0} {unit} | {:.0} | {:+.0} % | {} |",
            row.gpus,
            row.gpu,
            row.workload,
            row.precision,
            c.measured,
            c.ours,
            c.error() * 100.0,
            row.source.place.replace('|', "/")
        );
    }
    out
}

fn summary(rows: &[&Compared]) -> String {
    let mut errors: Vec<f64> = rows.iter().map(|c| c.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    format!("Median |error| {:.0} %, 90 % within {:.0} %.", at(&errors, 0.5) * 100.0, at(&errors, 0.9) * 100.0)
}

fn grouped(out: &mut String, rows: &[Compared], key: impl Fn(&Compared) -> String) {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows {
        groups.entry(key(row)).or_default().push(row.error());
    }
    for (name, signed) in groups {
        let mut errors: Vec<f64> = signed.iter().map(|e| e.abs()).collect();
        errors.sort_by(f64::total_cmp);
        let mean = signed.iter().sum::<f64>() / signed.len() as f64;
        let _ = writeln!(
            out,
            "| {} | {} | {:.0} % | {:.0} % | {:+.0} % |",
            name.trim(),
            signed.len(),
            at(&errors, 0.5) * 100.0,
            at(&errors, 0.9) * 100.0,
            mean * 100.0
        );
    }
}
