//! A copy of the crate that holds all changes behind switches, and its tests as one program.

use crate::list::Mutant;
use crate::weave::{Woven, weave};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tests that judge other things: how the code is laid out, the build of the catalog, the browser, what stands in docs/.
const NO_JUDGES: &[&str] = &["house", "docs", "catalog_build", "doors_fuzz", "web", "web_advice", "web_speed"];

const MANIFEST: &str = r#"[package]
name = "enough-gpu"
version = "0.1.0"
edition = "2024"
build = "build.rs"
autotests = false
autoexamples = false
autobenches = false
autobins = false

[workspace]

[dependencies]
serde = { version = "1", features = ["derive"] }

[build-dependencies]
csv = "1"

[dev-dependencies]
csv = "1"

[profile.dev]
opt-level = 2
debug = false
"#;

const SWITCH: &str = include_str!("switch.rs.txt");

/// The copy.
pub struct Tree {
    root: PathBuf,
    folder: PathBuf,
}

/// What became of the changes.
pub struct Built {
    pub program: PathBuf,
    /// Changes that are in the program.
    pub tried: Vec<usize>,
    /// Changes at places that cannot hold a switch.
    pub unplaced: Vec<usize>,
    /// Changes that the compiler refuses.
    pub refused: BTreeSet<usize>,
}

type Outcome<T> = Result<T, String>;

/// The test program, or else where the errors are: file and byte.
type Compiled = (Option<PathBuf>, Vec<(String, usize)>);

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let new = fs::read(from)?;
    // What is the same keeps its time, so that it is not compiled again.
    if fs::read(to).is_ok_and(|old| old == new) { Ok(()) } else { fs::write(to, new) }
}

fn write(file: &Path, text: &str) -> Outcome<()> {
    let same = fs::read_to_string(file).is_ok_and(|old| old == text);
    if same { Ok(()) } else { fs::write(file, text).map_err(|error| format!("{}: {error}.", file.display())) }
}

impl Tree {
    /// Copies the crate at `root` to `folder`.
    pub fn of(root: &Path, folder: &Path) -> Outcome<Self> {
        for part in ["src", "build", "build.rs", "examples", "docs", "README.md", "Cargo.lock", "index.html"] {
            copy(&root.join(part), &folder.join(part)).map_err(|error| format!("{part}: {error}."))?;
        }
        let tests = folder.join("tests");
        let entries = fs::read_dir(root.join("tests")).map_err(|error| format!("tests: {error}."))?;
        fs::create_dir_all(&tests).map_err(|error| format!("{}: {error}.", tests.display()))?;
        let mut judges = String::new();
        let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        for name in names.iter().filter(|name| *name != "page") {
            copy(&root.join("tests").join(name), &tests.join(name)).map_err(|error| format!("{name}: {error}."))?;
            let judge = name.strip_suffix(".rs").filter(|name| !NO_JUDGES.contains(name));
            if let Some(name) = judge {
                // Writing to a String cannot fail.
                let _ = write!(judges, "#[cfg(test)]\n#[path = \"../tests/{name}.rs\"]\nmod judge_{name};\n");
            }
        }
        let lib = fs::read_to_string(root.join("src/lib.rs")).map_err(|error| format!("src/lib.rs: {error}."))?;
        let lib = format!("{lib}\nmod mutant;\n#[cfg(test)]\nextern crate self as enough_gpu;\n{judges}");
        write(&folder.join("src/lib.rs"), &lib)?;
        write(&folder.join("src/mutant.rs"), SWITCH)?;
        write(&folder.join("Cargo.toml"), MANIFEST)?;
        Ok(Self { root: root.to_path_buf(), folder: folder.to_path_buf() })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Weaves the changes in and compiles; what the compiler refuses is left out, until it compiles.
    pub fn build(&self, mutants: &[Mutant]) -> Outcome<Built> {
        let mut refused = BTreeSet::new();
        loop {
            let woven = self.weave(mutants, &refused)?;
            let placed: BTreeSet<usize> = woven.values().flat_map(|w| &w.placed).copied().collect();
            let (program, errors) = self.compile()?;
            if let Some(program) = program {
                let unplaced = (0..mutants.len()).filter(|id| !placed.contains(id) && !refused.contains(id)).collect();
                return Ok(Built { program, tried: placed.into_iter().collect(), unplaced, refused });
            }
            let before = refused.len();
            for (file, place) in &errors {
                refused.extend(woven.get(file).map_or(&[][..], |w| w.at(*place)));
            }
            eprintln!("{} errors, {} changes refused", errors.len(), refused.len());
            if refused.len() == before {
                // The error shows elsewhere than in what was changed: all changes of that file go.
                for id in errors.iter().filter_map(|(file, _)| woven.get(file)).flat_map(|w| &w.placed) {
                    refused.insert(*id);
                }
            }
            if refused.len() == before {
                return Err(format!("the copy in {} does not compile: {errors:?}", self.folder.display()));
            }
        }
    }

    fn weave(&self, mutants: &[Mutant], without: &BTreeSet<usize>) -> Outcome<BTreeMap<String, Woven>> {
        let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for (id, mutant) in mutants.iter().enumerate() {
            // A file all of whose changes were refused is written as it is.
            let file = files.entry(&mutant.file).or_default();
            if !without.contains(&id) {
                file.push((id, mutant));
            }
        }
        let mut all = BTreeMap::new();
        for (file, mutants) in files {
            let source = fs::read_to_string(self.root.join(file)).map_err(|error| format!("{file}: {error}."))?;
            let woven = weave(&source, &mutants).map_err(|error| format!("{file}: {error}."))?;
            write(&self.folder.join(file), &woven.text)?;
            all.insert(file.to_owned(), woven);
        }
        Ok(all)
    }

    fn compile(&self) -> Outcome<Compiled> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .current_dir(&self.folder)
            .args(["test", "--lib", "--no-run", "--message-format=json"])
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env_remove("CARGO_MANIFEST_DIR")
            .stderr(Stdio::null());
        let output = cargo.output().map_err(|error| format!("cargo does not start: {error}."))?;
        let mut errors = Vec::new();
        let mut program = None;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            if let Some(file) = message.get("executable").and_then(|file| file.as_str()) {
                program = Some(PathBuf::from(file));
            }
            let Some(message) = message.get("message").filter(|m| m.get("level").is_some_and(|l| l == "error")) else {
                continue;
            };
            let spans = message.get("spans").and_then(|spans| spans.as_array()).into_iter().flatten();
            for span in spans.filter(|span| span.get("is_primary").is_some_and(|p| p == true)) {
                let file = span.get("file_name").and_then(|f| f.as_str()).unwrap_or_default();
                let place = span.get("byte_start").and_then(serde_json::Value::as_u64).unwrap_or_default();
                errors.push((file.to_owned(), usize::try_from(place).unwrap_or_default()));
            }
        }
        Ok((program.filter(|_| output.status.success()), errors))
    }
}
