//! `cargo xtask deny`: what may come in with a dependency, by `deny.toml`.

use crate::shell::{self, Outcome, say};
use crate::tools;
use std::process::{Command, ExitCode};

/// Licences, duplicates and sources, then what is known against any of them, which needs a way to the database.
pub fn run() -> Outcome<ExitCode> {
    let program = tools::cargo_deny()?;
    let check = |what: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(shell::root()).args(["--workspace", "check", "--hide-inclusion-graph"]).args(what);
        shell::run(&mut command, &format!("cargo deny check {}", what.join(" ")))
    };
    check(&["licenses", "bans", "sources"])?;
    check(&["advisories"]).inspect_err(|_| {
        say("Where the database of advisories (github.com/RustSec) cannot be reached, only the rest was checked");
    })?;
    Ok(ExitCode::SUCCESS)
}
