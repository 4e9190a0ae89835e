//! `cargo xtask fuzz`: the properties that hold for any project, on many more of them than a test run looks at.

use crate::shell::{self, Outcome, cargo, say};
use std::process::ExitCode;

/// Cases where none are asked for: some minutes.
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

/// Runs the tests of properties, links and fields with so many cases each.
pub fn run(cases: u64) -> Outcome<ExitCode> {
    say(&format!("{cases} projects, links and texts, thrown by dice; what fails names the link of its project"));
    let arguments = ["test", "--release", "--test", "properties", "--test", "link", "--", "--nocapture"];
    shell::run(cargo().args(arguments).env("ENOUGH_GPU_CASES", cases.to_string()), "a property")?;
    Ok(ExitCode::SUCCESS)
}
