//! `cargo xtask fuzz`: the properties that hold for any project, on many more of them than a test run looks at.

use crate::shell::{self, Outcome, cargo, output, say};
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Instant;

const PAGE: &str = "docs/robustness.md";

/// So many cases are worth a line in the documentation.
const TOLD_FROM: u64 = 1_000_000;

/// Cases where none are asked for: half a minute.
const CASES: u64 = 20_000;

/// Reads `--cases N`.
pub fn cases(options: &[&str]) -> Outcome<u64> {
    match options {
        [] => Ok(CASES),
        ["--cases", number] => {
            let number = number.replace(['_', ','], "");
            number
                .parse()
                .map_err(|_| format!("`{number}` is no number of cases. Say: cargo xtask fuzz --cases 1000000"))
        }
        _ => Err("say: cargo xtask fuzz, or cargo xtask fuzz --cases 1000000".to_owned()),
    }
}

/// Runs the tests of properties and links with so many cases, one test after the other, each on all cores. What takes the
/// time of many advices looks at fewer of them (`tests/dice/mod.rs`).
pub fn run(cases: u64) -> Outcome<ExitCode> {
    say(&format!("{cases} projects, links and texts, thrown by dice; what fails names the link of its project"));
    let arguments =
        ["test", "--release", "--test", "properties", "--test", "link", "--", "--nocapture", "--test-threads=1"];
    let start = Instant::now();
    shell::run(cargo().args(arguments).env("ENOUGH_GPU_CASES", cases.to_string()), "a property")?;
    if cases >= TOLD_FROM {
        let minutes = start.elapsed().as_secs().div_ceil(60);
        let date = output(Command::new("date").arg("+%Y-%m-%d")).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let told = format!("{cases} cases held all of it on {}: {minutes} minutes on {cores} cores.", date.trim());
        let page = shell::root().join(PAGE);
        let text = fs::read_to_string(&page).map_err(|error| format!("{PAGE}: {error}."))?;
        let text = shell::with_part(&text, "fuzz", &told).unwrap_or(text);
        fs::write(&page, text).map_err(|error| format!("{PAGE}: {error}."))?;
        say(&format!("Written: {PAGE}"));
    }
    Ok(ExitCode::SUCCESS)
}
