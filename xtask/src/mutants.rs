//! `cargo xtask mutants`: the estimate is changed in one place at a time, and a test must notice.

use crate::shell::{self, Outcome, cargo, output, say};
use crate::tools;
use std::fs;
use std::process::{Command, ExitCode};

const PAGE: &str = "docs/mutation.md";

/// What is changed: what the numbers come from.
const FILES: [&str; 5] = ["src/units.rs", "src/units/**", "src/step/**", "src/estimate/**", "src/advise/**"];

/// Changes that are tried where no number is given, and what the dice begin with.
const SAMPLE: u64 = 400;
const SEED: u64 = 20_261_130;

/// Time after which no more are tried, where none is given: a day.
const MINUTES: u64 = 1440;

/// How many changes, and which dice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    sample: u64,
    seed: u64,
    minutes: u64,
}

/// Reads `--sample N`, `--seed N` and `--minutes N`.
pub fn asked(mut options: &[&str]) -> Outcome<Asked> {
    let mut asked = Asked { sample: SAMPLE, seed: SEED, minutes: MINUTES };
    while let [name, value, rest @ ..] = options {
        let number = value.replace(['_', ','], "").parse();
        let number = number.map_err(|_| format!("`{value}` is no number. Say: cargo xtask mutants --sample 400"))?;
        match *name {
            "--sample" => asked.sample = number,
            "--seed" => asked.seed = number,
            "--minutes" => asked.minutes = number,
            _ => return Err(usage()),
        }
        options = rest;
    }
    if options.is_empty() { Ok(asked) } else { Err(usage()) }
}

fn usage() -> String {
    "say: cargo xtask mutants, or cargo xtask mutants --sample 400 --seed 1 --minutes 60".to_owned()
}

/// Lists the changes, tries those drawn, and writes what came of it into `docs/mutation.md`.
pub fn run(Asked { sample, seed, minutes }: Asked) -> Outcome<ExitCode> {
    let home = shell::root().join("target/mutants");
    let cannot = |error: std::io::Error| format!("{} cannot be written: {error}.", home.display());
    fs::create_dir_all(&home).map_err(cannot)?;
    let program = tools::cargo_mutants()?;
    let mut list = Command::new(program);
    list.current_dir(shell::root()).args(["mutants", "--list", "--json"]);
    for file in FILES {
        list.args(["--file", file]);
    }
    let listed = output(&mut list).ok_or("cargo-mutants lists no changes.")?;
    let file = home.join("list.json");
    fs::write(&file, listed).map_err(cannot)?;
    say(&format!("{sample} changes, drawn with the dice at {seed}; half an hour and more on two quiet cores"));
    let mut judge = cargo();
    judge.args(["run", "--quiet", "--package", "mutants", "--"]).arg(shell::root()).arg(home.join("tree"));
    judge.arg(&file).args([sample, seed, minutes].map(|n| n.to_string())).stderr(std::process::Stdio::inherit());
    let told = judge.output().map_err(|error| format!("the mutation tests could not be started: {error}."))?;
    if !told.status.success() {
        return Err("the mutation tests did not come to an end; their own words are above.".to_owned());
    }
    let report = String::from_utf8_lossy(&told.stdout).into_owned();
    println!("{report}");
    let (table, survivors) = report.split_once("Survivors:").unwrap_or((&report, ""));
    fs::write(home.join("survivors.md"), survivors).map_err(cannot)?;
    let page = shell::root().join(PAGE);
    let text = fs::read_to_string(&page).map_err(|error| format!("{PAGE}: {error}."))?;
    let text = shell::with_part(&text, "result", table).unwrap_or(text);
    fs::write(&page, text).map_err(|error| format!("{PAGE}: {error}."))?;
    say(&format!("Written: {PAGE}; those that survived stand in target/mutants/survivors.md"));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::{Asked, MINUTES, SEED, asked};

    #[test]
    fn options_are_read() {
        assert_eq!(asked(&["--sample", "1_000"]), Ok(Asked { sample: 1000, seed: SEED, minutes: MINUTES }));
        assert_eq!(
            asked(&["--seed", "3", "--sample", "9", "--minutes", "5"]),
            Ok(Asked { sample: 9, seed: 3, minutes: 5 })
        );
        assert!(asked(&["--sample"]).is_err() && asked(&["--sample", "x"]).is_err());
    }
}
