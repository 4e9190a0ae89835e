//! The project's only automation: `cargo xtask serve | build | test | recipes | fuzz | mutants | bench | deny |
//! sbom`.
//!
//! Each command first makes sure of the tools it needs, so that a clean clone on a machine with Rust and a C linker is
//! all it takes.
#![forbid(unsafe_code)]

mod axe;
mod bench;
mod browser;
mod bundle;
mod deny;
mod firefox;
mod fuzz;
mod mutants;
mod page;
mod recipes;
mod sbom;
mod shell;
mod test;
mod tools;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask serve [--port N]   build the page, serve it on 127.0.0.1 (8080, or the next free port), reload on change
cargo xtask build              make the page: one file, dist/index.html, for any host, any folder, offline
cargo xtask test               formatting, lints, native tests, tests in a headless browser, tests of the built page
cargo xtask recipes            the ready files that the page hands out, read by the training tools themselves
cargo xtask firefox            the built page in Firefox
cargo xtask speed              how fast the built page opens and answers; on a machine that does nothing else
cargo xtask fuzz [--cases N]   what must hold for any project, on many of them (20,000; a million: a quarter of an hour)
cargo xtask bench              how fast, natively, in a browser and beside other calculators: docs/benchmarks.md
cargo xtask mutants [--sample N] [--seed N]
                               the estimate changed in one place at a time: does a test notice? docs/mutation.md
cargo xtask deny               licences, advisories, duplicates and sources of the dependencies, by deny.toml
cargo xtask sbom               what the page is made of, with licences and checksums: target/enough-gpu.sbom.cdx.json
cargo xtask help               this text

Each command installs what it needs and is not there yet: the wasm32-unknown-unknown target, Trunk, wasm-bindgen-cli,
and for `test` a Chromium with its driver. Tools that have to be built go to $CARGO_HOME/tools, once for all clones.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["serve", options @ ..] => page::port(options).and_then(page::serve),
        ["build"] => page::build_with_tools(),
        // For Trunk alone, so it is not in the help.
        ["bundle"] => bundle::by_trunk(),
        ["test"] => Ok(test::run()),
        ["recipes"] => recipes::run(),
        ["speed"] => test::speed(),
        ["firefox"] => firefox::test(),
        ["fuzz", options @ ..] => fuzz::cases(options).and_then(fuzz::run),
        ["mutants", options @ ..] => mutants::asked(options).and_then(mutants::run),
        ["bench"] => bench::run(),
        ["deny"] => deny::run(),
        ["sbom"] => sbom::run(),
        [] | ["help" | "-h" | "--help"] => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        other => Err(format!("`{}` is not a command of this project.\n\n{HELP}", other.join(" "))),
    };
    done.unwrap_or_else(|sentence| {
        eprintln!("error: {sentence}");
        ExitCode::FAILURE
    })
}
