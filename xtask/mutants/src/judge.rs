//! Runs the tests that come by a change, the quick ones first, until one fails.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Beyond the time of the unchanged code: many times that, for other work on the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Memory that a changed program may take, in KiB: some would take all there is.
const MEMORY: &str = "4000000";

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A test failed.
    Killed(String),
    /// The tests did not come to an end.
    Endless,
    /// All tests passed.
    Survived,
    /// No test comes by.
    Unseen,
}

/// The tests, each with the time it takes, the quickest first.
pub struct Judge<'a> {
    program: &'a Path,
    folder: &'a Path,
    tests: Vec<(String, Duration)>,
    /// Which tests come by each change, as places in `tests`.
    by: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Judge<'a> {
    /// Runs each test once over the unchanged code, and notes which changes it comes by.
    pub fn new(program: &'a Path, folder: &'a Path) -> Result<Self, String> {
        let output = Command::new(program).current_dir(folder).args(["--list", "--format=terse"]).output();
        let output = output.map_err(|error| format!("the tests do not start: {error}."))?;
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut runs = Vec::new();
        for name in names.lines().filter_map(|line| line.strip_suffix(": test")) {
            let noted = folder.join("noted.txt");
            let _ = fs::remove_file(&noted);
            let start = Instant::now();
            let mut test = command(program, folder, &[name]);
            let status = test.env("MUTANTS_NOTED", &noted).stdout(Stdio::null()).stderr(Stdio::null()).status();
            let status = status.map_err(|error| format!("{name} does not start: {error}."))?;
            if !status.success() {
                eprintln!("left out, it fails on the unchanged code: {name}");
                continue;
            }
            let seen = fs::read_to_string(&noted).unwrap_or_default();
            let seen: Vec<usize> = seen.lines().filter_map(|line| line.parse().ok()).collect();
            runs.push((name.to_owned(), start.elapsed(), seen));
        }
        runs.sort_by_key(|(_, took, _)| *took);
        let mut by: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, (_, _, seen)) in runs.iter().enumerate() {
            for id in seen {
                by.entry(*id).or_default().push(at);
            }
        }
        Ok(Self { program, folder, tests: runs.into_iter().map(|(name, took, _)| (name, took)).collect(), by })
    }

    /// How many tests there are, and the time of all.
    pub fn told(&self) -> (usize, Duration) {
        (self.tests.len(), self.tests.iter().map(|(_, took)| *took).sum())
    }

    /// Tries a change.
    pub fn fate(&self, id: usize) -> Fate {
        let Some(by) = self.by.get(&id) else { return Fate::Unseen };
        let tests: Vec<&(String, Duration)> = by.iter().filter_map(|at| self.tests.get(*at)).collect();
        // The quickest of all together, then the quick ones, then each alone.
        let mut from = 0;
        while from < tests.len() {
            let mut time = Duration::ZERO;
            let rest = tests.get(from..).unwrap_or_default();
            let fitting = rest.iter().take_while(|(_, took)| {
                time += *took;
                time < Duration::from_millis(if from == 0 { 300 } else { 3000 })
            });
            let batch = rest.get(..fitting.count().max(1)).unwrap_or_default();
            let names: Vec<&str> = batch.iter().map(|(name, _)| name.as_str()).collect();
            let usual: Duration = batch.iter().map(|(_, took)| *took).sum();
            match self.run(id, &names, usual * 10 + PATIENCE) {
                Fate::Survived => from += batch.len(),
                fate => return fate,
            }
        }
        Fate::Survived
    }

    fn run(&self, id: usize, names: &[&str], patience: Duration) -> Fate {
        let mut tests = command(self.program, self.folder, names);
        let tests = tests.env("MUTANT", id.to_string()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = tests.spawn() else { return Fate::Survived };
        let (tell, told) = mpsc::channel();
        let output = child.stdout.take();
        let reader = std::thread::spawn(move || {
            for line in output.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        let deadline = Instant::now() + patience;
        let fate = loop {
            match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(name) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... FAILED")) {
                        break Fate::Killed(name.0.to_owned());
                    }
                }
                Err(RecvTimeoutError::Timeout) => break Fate::Endless,
                // Its end without a word: it was stopped for the memory that it took, or ran out of the stack.
                Err(RecvTimeoutError::Disconnected) => {
                    let fine = child.wait().is_ok_and(|status| status.success());
                    break if fine { Fate::Survived } else { Fate::Killed("the whole program".to_owned()) };
                }
            }
        };
        end(&mut child);
        let _ = reader.join();
        fate
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The program with these tests, held to a bounded memory where there is a shell to do it.
fn command(program: &Path, folder: &Path, names: &[&str]) -> Command {
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]).arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.current_dir(folder).args(names).args(["--exact", "--test-threads=2"]);
    command.env("CARGO_MANIFEST_DIR", folder).env("RUST_BACKTRACE", "0");
    command
}
