//! Scores the estimates against cases with a known answer.
//!
//! `cargo run --release --example score -- FILE.csv [--each] [--csv OUT.csv]`

mod scoring;

use scoring::{engine, oracle, table::Table};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file = args.iter().find(|a| !a.starts_with("--")).cloned().unwrap_or_default();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let (table, bad) = Table::read(&text);
    if bad > 0 {
        eprintln!("{bad} rows are no CSV");
    }
    let sorted = args.iter().any(|a| a == "--sort");
    let only = args.iter().find_map(|a| a.strip_prefix("--only="));
    let mut lines = Vec::new();
    for row in table.rows().filter(|r| r.text("domain") == "llm") {
        let id = row.text("id");
        if only.is_some_and(|o| o != id) {
            continue;
        }
        match oracle::language(&row) {
            Ok(case) => {
                if only.is_some() {
                    println!("{case:#?}");
                }
                let ours = engine::step(&case.model, &case.config);
                let error = |column: &str, bytes: u64| {
                    row.number(column).filter(|v| *v > 0.0).map_or(f64::NAN, |v| (bytes as f64 / v - 1.0) * 100.0)
                };
                let peak = error("peak_bytes", ours.peak.0);
                lines.push((peak, format!(
                    "{id:9} {:17} {:6} {:11} {:9} {:4}x{:<5} ck={:3} {:6} {:9} {:9} | peak {:>14} {:>14} {:>8.2} % | fwd_end {:>8.2} % | steady {:>8.2} % | reserved {:>8.2} % | {}",
                    row.text("model"), row.text("method"), row.text("precision"), row.text("optimizer"), row.text("batch"),
                    row.text("seq"), row.text("checkpointing"), row.text("attention"), row.text("loss"), row.text("opt_impl"),
                    row.text("peak_bytes"), ours.peak.0, peak,
                    error("forward_end_bytes", ours.forward_end.0), error("steady_bytes", ours.steady.0),
                    error("reserved_peak_bytes", ours.reserved.0), row.text("peak_op").replace("aten.", ""),
                )));
            }
            Err(why) => println!("{id:9} cannot estimate: {why}"),
        }
    }
    if sorted {
        lines.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    }
    for (_, line) in &lines {
        println!("{line}");
    }
    let mut errors: Vec<f64> = lines.iter().map(|l| l.0.abs()).filter(|e| e.is_finite()).collect();
    errors.sort_by(f64::total_cmp);
    let quantile = |q: f64| errors.get(((errors.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(f64::NAN);
    println!(
        "llm: {} estimated, median |error| {:.2} %, p90 {:.2} %, worst {:.2} %",
        errors.len(),
        quantile(0.5),
        quantile(0.9),
        quantile(1.0)
    );
}
