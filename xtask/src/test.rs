//! Everything that is checked, in order, each step told apart, and one line at the end that counts.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::ops::AddAssign;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::axe;
use crate::browser::Browser;
use crate::page;
use crate::shell::{self, Outcome, cargo, say};
use crate::tools::Tools;

const WASM: &str = "wasm32-unknown-unknown";

/// Tests that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u32,
    failed: u32,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// One step as it went.
struct Step {
    name: &'static str,
    took: Duration,
    count: Count,
}

/// Runs all steps, whatever becomes of each, and counts.
pub fn run() -> ExitCode {
    let mut steps = Vec::new();
    let mut step = |name: &'static str, work: &mut dyn FnMut() -> Outcome<Count>| {
        say(name);
        let start = Instant::now();
        let count = work().unwrap_or_else(|sentence| {
            eprintln!("error: {sentence}");
            Count { passed: 0, failed: 1 }
        });
        steps.push(Step { name, took: start.elapsed(), count });
    };

    let mut tools = Err("the page's tools are missing (see the first step).".to_owned());
    let mut browser = Err("there is no browser to test in (see the first step).".to_owned());
    step("tools", &mut || {
        let page_tools = Tools::make_sure().map(|found| tools = Ok(found));
        let chromium = Browser::make_sure().map(|found| browser = Ok(found));
        page_tools.and(chromium).map(|()| ONE)
    });
    step("formatting", &mut || check(cargo().args(["fmt", "--all", "--check"]), "cargo fmt --check"));
    step("lints, native", &mut || {
        let arguments = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
        check(cargo().args(arguments), "clippy")
    });
    step("lints, wasm", &mut || {
        let arguments = ["clippy", "--target", WASM, "--lib", "--bins", "--test", "web*", "--", "--deny", "warnings"];
        check(cargo().args(arguments), "clippy for wasm")
    });
    step("native tests", &mut || {
        // The page's tests come last; among these they would only be skipped, and compiled with other features.
        let arguments = ["test", "--workspace", "--exclude", "page-tests", "--no-fail-fast"];
        tests(cargo().args(arguments), "the native tests")
    });
    step("tests in a browser", &mut || {
        let (tools, browser) = (tools.as_ref().map_err(Clone::clone)?, browser.as_ref().map_err(Clone::clone)?);
        in_browser(tools, browser)
    });
    let mut built = false;
    step("build of the page", &mut || {
        page::build(tools.as_ref().map_err(Clone::clone)?)?;
        built = true;
        Ok(ONE)
    });
    step("tests of the built page", &mut || {
        let browser = browser.as_ref().map_err(Clone::clone)?;
        if built { of_the_page(browser) } else { Err("the page was not built, so it was not tested.".to_owned()) }
    });

    let mut total = Count::default();
    for step in &steps {
        total += step.count;
    }
    println!("\n{}\n{} passed, {} failed", table(&steps), total.passed, total.failed);
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const ONE: Count = Count { passed: 1, failed: 0 };

/// A step without tests of its own: it counts as one.
fn check(command: &mut Command, what: &str) -> Outcome<Count> {
    shell::run(command, what).map(|()| ONE)
}

/// The tests that run as wasm inside a browser.
fn in_browser(tools: &Tools, browser: &Browser) -> Outcome<Count> {
    let mut command = browser_command(tools, browser)?;
    tests(command.args(["--lib", "--test", "web*", "--no-fail-fast"]), "the tests in a browser")
}

/// `cargo test` for wasm inside a browser; which tests is for the caller to add.
pub fn browser_command(tools: &Tools, browser: &Browser) -> Outcome<Command> {
    let capabilities = capabilities(browser)?;
    let mut command = cargo();
    command
        .args(["test", "--target", WASM])
        .env("PATH", shell::path_with([tools.wasm_bindgen.as_path()])?)
        // By name, not by path: cargo splits this at spaces.
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner")
        .env("CHROMEDRIVER", &browser.driver)
        .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", capabilities)
        // Seconds. The driver is given five by default, which a machine under load needs for itself.
        .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60")
        .env("WASM_BINDGEN_TEST_TIMEOUT", "120")
        .env_remove("NO_HEADLESS");
    Ok(command)
}

/// The tests that open the built page in a browser, and use it as a person does.
fn of_the_page(browser: &Browser) -> Outcome<Count> {
    let mut command = cargo();
    command
        .args(["test", "--package", "page-tests", "--no-fail-fast", "--", "--include-ignored"])
        .env("PAGE_TESTS_DIST", shell::root().join("dist"))
        .env("PAGE_TESTS_CAPABILITIES", capabilities(browser)?)
        .env("CHROMEDRIVER", &browser.driver);
    match axe::make_sure() {
        Ok(file) => drop(command.env("PAGE_TESTS_AXE", file)),
        Err(sentence) => say(&format!("Not checked with axe-core: {sentence}")),
    }
    tests(&mut command, "the tests of the built page")
}

/// The speed of the built page, by the bounds for a machine that does nothing else.
pub fn speed() -> Outcome<ExitCode> {
    shell::run(&mut speed_command(&Browser::make_sure()?)?, "the page's speed")?;
    Ok(ExitCode::SUCCESS)
}

/// The tests of the built page's speed, which print what they measure.
pub fn speed_command(browser: &Browser) -> Outcome<Command> {
    let mut command = cargo();
    command
        .args(["test", "--package", "page-tests", "--test", "speed", "--no-fail-fast"])
        .args(["--", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env("PAGE_TESTS_DIST", shell::root().join("dist"))
        .env("PAGE_TESTS_CAPABILITIES", capabilities(browser)?)
        .env("PAGE_TESTS_ALONE", "1")
        .env("CHROMEDRIVER", &browser.driver);
    Ok(command)
}

/// Writes what the driver is told to a file, and says where.
fn capabilities(browser: &Browser) -> Outcome<std::path::PathBuf> {
    let file = shell::root().join("target").join("webdriver.json");
    let cannot = |error: std::io::Error| format!("{} cannot be written: {error}.", file.display());
    fs::create_dir_all(shell::root().join("target")).map_err(cannot)?;
    fs::write(&file, browser.capabilities()).map_err(cannot)?;
    Ok(file)
}

/// Runs tests with their output shown as it comes, and counts what their closing lines say.
fn tests(command: &mut Command, what: &str) -> Outcome<Count> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("{what} could not be started: {error}."))?;
    let mut count = Count::default();
    if let Some(output) = child.stdout.take() {
        let mut shown = std::io::stdout().lock();
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|error| format!("the output of {what} could not be read: {error}."))?;
            let line = String::from_utf8_lossy(&line);
            // A closed terminal must not end the count.
            let _ = writeln!(shown, "{line}").and_then(|()| shown.flush());
            count += closing_line(&line).unwrap_or_default();
        }
    }
    let status = child.wait().map_err(|error| format!("{what} did not end: {error}."))?;
    if !status.success() && count.failed == 0 {
        // Tests that did not compile, or that ended without a word.
        count.failed = 1;
    } else if count == Count::default() {
        return Err(format!("{what} ran no test, which cannot be right."));
    }
    Ok(count)
}

/// Reads `test result: ok. 12 passed; 0 failed; 1 ignored; ...`.
fn closing_line(line: &str) -> Option<Count> {
    let (_, numbers) = line.split_once("test result: ")?;
    let before =
        |word: &str| numbers.split(['.', ';']).find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok());
    Some(Count { passed: before("passed")?, failed: before("failed")? })
}

fn table(steps: &[Step]) -> String {
    let mut table = format!("{:<24}{:>8}{:>9}{:>9}", "step", "time", "passed", "failed");
    for Step { name, took, count } in steps {
        let seconds = took.as_secs();
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        // Writing to a String cannot fail.
        let _ = write!(table, "\n{name:<24}{time:>8}{:>9}{:>9}", count.passed, count.failed);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Count, closing_line};

    #[test]
    fn closing_lines_are_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(closing_line(line), Some(Count { passed: 12, failed: 3 }));
        assert_eq!(
            closing_line("test result: ok. 4 passed; 0 failed; 0 ignored; 0 filtered out"),
            Some(Count { passed: 4, failed: 0 })
        );
        assert_eq!(closing_line("test units::tests::result ... ok"), None);
    }
}
