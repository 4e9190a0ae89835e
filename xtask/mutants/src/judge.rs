//! Runs the tests that come by a change, the quick ones first, until one fails.

use crate::AT_ONCE;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time that a change may take beyond ten times that of the unchanged code.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// Tests that take longer over the unchanged code judge last.
const SLOW: Duration = Duration::from_secs(4);

/// Tests that take longer than this are stopped: they are taken to come by every change.
const ENDLESS: Duration = Duration::from_secs(100);

/// Tests that are left out, since a thousand changes would wait for each: they try all combinations of settings.
const TOO_LONG: &str = "advise::tests::exact::";

/// Longest time that the quick tests of a change take together.
const QUICK: Duration = Duration::from_secs(4);

/// The tests, the quickest first.
pub struct Judge<'a> {
    program: &'a Path,
    folder: &'a Path,
    tests: Vec<(String, Duration)>,
    /// Which tests come by each change, as places in `tests`.
    by: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Judge<'a> {
    /// Runs each test once over the unchanged code, and notes which changes it comes by.
    pub fn new(program: &'a Path, folder: &'a Path, changes: usize) -> Result<Self, String> {
        let output = Command::new(program).current_dir(folder).args(["--list", "--format=terse"]).output();
        let output = output.map_err(|error| format!("the tests do not start: {error}."))?;
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        let names =
            names.lines().filter_map(|line| line.strip_suffix(": test")).filter(|name| !name.starts_with(TOO_LONG));
        let (names, runs) = (Mutex::new(names.enumerate()), Mutex::new(Vec::new()));
        let run = || {
            loop {
                let next = names.lock().ok().and_then(|mut names| names.next());
                let Some((at, name)) = next else { break };
                let noted = folder.join(format!("noted-{at}.txt"));
                let run = seen(program, folder, name, &noted, changes);
                let _ = fs::remove_file(&noted);
                if let (Some((took, seen)), Ok(mut runs)) = (run, runs.lock()) {
                    runs.push((name.to_owned(), took, seen));
                }
            }
        };
        std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(run))));
        let mut runs = runs.into_inner().unwrap_or_default();
        runs.sort_by_key(|(_, took, _)| *took);
        let mut by: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, (_, _, seen)) in runs.iter().enumerate() {
            for id in seen {
                by.entry(*id).or_default().push(at);
            }
        }
        Ok(Self { program, folder, tests: runs.into_iter().map(|(name, took, _)| (name, took)).collect(), by })
    }

    /// How many tests there are.
    pub fn tests(&self) -> usize {
        self.tests.len()
    }

    /// The tests that come by a change, in three lots: the quickest, the quick ones, the others.
    fn lots(&self, id: usize) -> [Vec<&(String, Duration)>; 3] {
        let mut lots = [const { Vec::new() }; 3];
        let mut time = Duration::ZERO;
        for test in self.by.get(&id).into_iter().flatten().filter_map(|at| self.tests.get(*at)) {
            time += test.1;
            let lot = if time < QUICK / 10 { 0 } else { 1 + usize::from(time > QUICK || test.1 >= SLOW) };
            if let Some(lot) = lots.get_mut(lot) {
                lot.push(test);
            }
        }
        lots
    }

    /// Tries a change on the quick tests.
    pub fn quickly(&self, id: usize) -> Fate {
        let [first, second, others] = self.lots(id);
        match self.lot(id, &first) {
            Fate::Survived => {}
            fate => return fate,
        }
        match self.lot(id, &second) {
            Fate::Survived if first.is_empty() && second.is_empty() && others.is_empty() => Fate::Unseen,
            fate => fate,
        }
    }

    /// Tries a change on the others.
    pub fn thoroughly(&self, id: usize) -> Fate {
        let [first, second, others] = self.lots(id);
        match self.lot(id, &others) {
            Fate::Survived if first.is_empty() && second.is_empty() => Fate::Unseen,
            fate => fate,
        }
    }

    fn lot(&self, id: usize, tests: &[&(String, Duration)]) -> Fate {
        if tests.is_empty() {
            return Fate::Survived;
        }
        let names: Vec<&str> = tests.iter().map(|(name, _)| name.as_str()).collect();
        let usual: Duration = tests.iter().map(|(_, took)| *took).sum();
        self.run(id, &names, usual * 10 + PATIENCE)
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
        let clock = Clock::of(&child);
        let fate = loop {
            match told.recv_timeout(Duration::from_millis(200)) {
                Ok(line) => {
                    if let Some(name) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... FAILED")) {
                        break Fate::Killed(name.0.to_owned());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if clock.time() > patience {
                        break Fate::Endless;
                    }
                }
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

/// How long a test takes, and the changes that it comes by: all where it does not end in time. `None` where it fails.
fn seen(program: &Path, folder: &Path, name: &str, noted: &Path, changes: usize) -> Option<(Duration, Vec<usize>)> {
    let _ = fs::remove_file(noted);
    let mut test = command(program, folder, &[name]);
    let mut test = test.env("MUTANTS_NOTED", noted).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let (fine, took) = ended(&mut test, ENDLESS);
    match fine {
        Some(true) => {
            let seen = fs::read_to_string(noted).unwrap_or_default();
            Some((took, seen.lines().filter_map(|line| line.parse().ok()).collect()))
        }
        Some(false) => {
            eprintln!("left out, it fails on the unchanged code: {name}");
            None
        }
        None => Some((took, (0..changes).collect())),
    }
}

/// The time that a program has had of the processors where the system tells it: a machine does other things, too.
struct Clock {
    start: Instant,
    told: String,
}

impl Clock {
    fn of(child: &Child) -> Self {
        Self { start: Instant::now(), told: format!("/proc/{}/stat", child.id()) }
    }

    fn time(&self) -> Duration {
        // After the name in brackets: the 12th and 13th are its own time and the system's, in hundredths of a second.
        let told = fs::read_to_string(&self.told).unwrap_or_default();
        let numbers = told.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
        let ticks: Vec<u64> = numbers.skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
        match ticks.as_slice() {
            [own, system] => Duration::from_millis((own + system) * 10),
            _ => self.start.elapsed(),
        }
    }
}

/// How a process ended, if it did within this time, and the time it took; else it is ended.
fn ended(child: &mut Child, within: Duration) -> (Option<bool>, Duration) {
    let clock = Clock::of(child);
    let mut time = Duration::ZERO;
    while time < within {
        // What it took is gone with it: the time a moment before its end.
        if let Ok(Some(status)) = child.try_wait() {
            return (Some(status.success()), time);
        }
        time = clock.time().max(time);
        std::thread::sleep(Duration::from_millis(3));
    }
    end(child);
    (None, time)
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
