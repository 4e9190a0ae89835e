//! `cargo xtask bench`: how fast, natively and in a browser, and beside other calculators; into `docs/benchmarks.md`.

use crate::browser::Browser;
use crate::page;
use crate::shell::{self, Outcome, cargo, on_path, output, say};
use crate::test;
use crate::tools::Tools;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const PAGE: &str = "docs/benchmarks.md";
const README: &str = "README.md";
const PEERS: &str = include_str!("peers.txt");

/// What the README quotes.
const PEERS_PART: &str = "peers";

fn read(page: &str) -> Outcome<String> {
    fs::read_to_string(shell::root().join(page)).map_err(|error| format!("{page}: {error}"))
}

fn write(page: &str, text: &str) -> Outcome<()> {
    fs::write(shell::root().join(page), text).map_err(|error| format!("{page}: {error}"))
}

/// Measures everything and writes the page anew. What cannot be measured here keeps its last figures and says so.
pub fn run() -> Outcome<ExitCode> {
    let home = shell::root().join("target/bench");
    fs::create_dir_all(&home).map_err(|error| format!("{} cannot be made: {error}.", home.display()))?;
    let mut quoted = None;
    let mut text = read(PAGE)?;
    let mut part = |name: &str, made: Outcome<String>| match made {
        Ok(made) => {
            text = shell::with_part(&text, name, &made).unwrap_or_else(|| text.clone());
            if name == PEERS_PART {
                quoted = Some(made);
            }
        }
        Err(sentence) => say(&format!("{name}: {sentence} The last figures stay.")),
    };
    say("Natively");
    part("native", native());
    say("In a browser");
    part("browser", browser());
    say("Beside other calculators");
    part(PEERS_PART, peers(&home));
    part("machine", Ok(machine()));
    write(PAGE, &text)?;
    if let Some(table) = quoted {
        let readme = read(README)?;
        write(README, &shell::with_part(&readme, PEERS_PART, &table).unwrap_or(readme))?;
    }
    say(&format!("Written: {PAGE}"));
    Ok(ExitCode::SUCCESS)
}

fn example() -> Command {
    let mut command = cargo();
    command.args(["run", "--release", "--quiet", "--example", "benchmarks", "--"]);
    command
}

fn native() -> Outcome<String> {
    output(&mut example()).ok_or_else(|| "the example `benchmarks` did not run.".to_owned())
}

/// One estimate and a whole advice for each preset as wasm built for speed, then the page itself as people get it.
fn browser() -> Outcome<String> {
    let (tools, browser) = (Tools::make_sure()?, Browser::make_sure()?);
    let said = |name: &str, profile: &str| {
        let mut command = test::browser_command(&tools, &browser)?;
        command.args(["--profile", profile, "--test", name, "--", "--nocapture"]);
        output(&mut command).ok_or_else(|| format!("the test `{name}` did not run."))
    };
    let advice = said("web_advice", "page")?;
    let mut rows: Vec<(f64, &str, &str)> = advice.lines().filter_map(advice_row).collect();
    if rows.is_empty() {
        return Err("the test `web_advice` told of no advice.".to_owned());
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let middle = rows.get(rows.len() / 2).map_or(0.0, |row| row.0);
    let over = rows.iter().filter(|row| row.0 > 5.0).count();
    let estimate = said("web_speed", "release")?;
    let estimate = estimate.lines().find_map(|line| Some(line.split_once("browser: ")?.1.trim())).unwrap_or("not told");
    let mut text = format!(
        "One estimate of memory (llama-3.1-70b, full): {estimate}. In the page's own build, a whole advice for each of {} projects and cards: \
         middle {middle:.1} ms, {over} over 5 ms. The slowest:\n\n| project | card | ms |\n|---|---|--:|\n",
        rows.len()
    );
    for (ms, preset, gpu) in rows.iter().take(8) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {preset} | {gpu} | {ms:.1} |");
    }
    say("The page itself");
    page::build(&tools)?;
    let size = fs::metadata(shell::root().join("dist/index.html")).map_err(|error| format!("the page: {error}"))?.len();
    let _ = write!(text, "\nThe page as people get it: one file of {} kB.", size / 1000);
    // Also where a bound is not held: what was measured is printed before.
    let told = test::speed_command(&browser)?.output().map_err(|error| format!("the page's speed: {error}."))?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    for (begin, what) in [("usable after", "Opened from a disk: "), ("500 edits", ""), ("a keystroke is", "")] {
        if let Some(line) = told.lines().find_map(|line| Some(line.get(line.find(begin)?..)?.trim())) {
            let _ = write!(text, "\n{what}{line}.");
        }
    }
    Ok(text)
}

/// The other calculators, each from its registry, on the same cases.
fn peers(home: &Path) -> Outcome<String> {
    let cases = home.join("cases.csv");
    shell::run(example().arg("--cases").arg(&cases), "writing the cases")?;
    let python = environment(home)?;
    let script = shell::root().join("xtask/src/bench/peers.py");
    let mut command = Command::new(python);
    command.arg(script).arg(cases);
    output(&mut command).ok_or_else(|| "the other calculators did not run.".to_owned())
}

/// A Python environment with the calculators, made once for each list of them.
fn environment(home: &Path) -> Outcome<PathBuf> {
    if let Some(given) = std::env::var_os("ENOUGH_GPU_PYTHON") {
        return Ok(given.into());
    }
    let folder = home.join("venv");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = folder.join("made-for.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made_for| made_for == PEERS) {
        return Ok(python);
    }
    let system = ["python3", "python"].iter().find_map(|name| on_path(name).into_iter().next());
    let system = system.ok_or("there is no Python to run the others with. Install Python 3.10 or later.")?;
    say("Installing the other calculators, once, into target/bench/venv: some gigabytes, most of it PyTorch");
    shell::run(Command::new(system).args(["-m", "venv"]).arg(&folder), "making a Python environment")?;
    let mut pip = Command::new(&python);
    pip.env("DS_BUILD_OPS", "0").args(["-m", "pip", "install", "--quiet"]).args(PEERS.lines());
    shell::run(&mut pip, "installing the other calculators")?;
    fs::write(&stamp, PEERS).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}

/// Milliseconds, project and card, as `tests/web_advice.rs` prints them: `advice: mnist | no card | 1.38 (fastest 0.89)`.
fn advice_row(line: &str) -> Option<(f64, &str, &str)> {
    let mut cells = line.split_once("advice: ")?.1.split(" | ");
    let (preset, gpu) = (cells.next()?, cells.next()?);
    Some((cells.next()?.split_whitespace().next()?.parse().ok()?, preset, gpu))
}

fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("unknown", |c| c.1);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let said = |program: &str, argument: &str| {
        output(Command::new(program).arg(argument))
            .map_or_else(|| "not there".to_owned(), |text| text.trim().to_owned())
    };
    format!(
        "{cpu}, {cores} cores. {}. {}. {}.",
        said("rustc", "--version"),
        said("chromium", "--version"),
        said("date", "+%Y-%m-%d")
    )
}

#[cfg(test)]
mod tests {
    use super::advice_row;

    #[test]
    fn what_the_browser_says_is_read() {
        let row = advice_row("    advice: mnist | no card | 1.38 (fastest 0.89)");
        assert_eq!(row, Some((1.38, "mnist", "no card")));
        assert_eq!(advice_row("the slowest advice: (5.05, \"t5-summary\") ms"), None);
    }
}
