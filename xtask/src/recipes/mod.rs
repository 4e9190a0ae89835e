//! The ready files that the page hands out, read by the tools they are for.
//!
//! The tools go into a Python environment of their own under `target/recipes`. What does not install is told and its
//! files are passed over.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::shell::{self, Outcome, cargo, on_path, say};

/// Tools with all they need, and tools that are only read.
const REQUIREMENTS: &str = include_str!("requirements.txt");
const ALONE: &str = include_str!("alone.txt");

/// A Python that has the tools already, in place of an environment of our own.
const OWN_PYTHON: &str = "RECIPES_PYTHON";

/// Writes the files of a range of projects, and has each read by its tool.
pub fn run() -> Outcome<ExitCode> {
    let home = shell::root().join("target").join("recipes");
    let python = match std::env::var_os(OWN_PYTHON) {
        Some(python) => PathBuf::from(python),
        None => environment(&home)?,
    };
    let files = home.join("files");
    // Files of an earlier run may be of projects that are no more.
    let _ = fs::remove_dir_all(&files);
    shell::run(cargo().args(["run", "--quiet", "--example", "recipes", "--"]).arg(&files), "writing the files")?;
    say("Reading them with the real tools; what is not installed is passed over");
    let check = shell::root().join("xtask/src/recipes/check.py");
    shell::run(Command::new(&python).arg(check).arg(&files), "the check of the files")?;
    Ok(ExitCode::SUCCESS)
}

/// A Python environment with the tools, made once for each list of versions.
fn environment(home: &Path) -> Outcome<PathBuf> {
    let folder = home.join("venv");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let (stamp, wanted) = (folder.join("made-for.txt"), format!("{REQUIREMENTS}{ALONE}"));
    if fs::read_to_string(&stamp).is_ok_and(|made_for| made_for == wanted) {
        return Ok(python);
    }
    let cannot = |error: std::io::Error| format!("{} cannot be written: {error}.", home.display());
    fs::create_dir_all(home).map_err(cannot)?;
    let system = ["python3", "python"].iter().find_map(|name| on_path(name).into_iter().next());
    let system = system.ok_or("there is no Python to run the tools with. Install Python 3.10 or later.")?;
    say("Installing the training tools, once: some gigabytes, most of it PyTorch, into target/recipes/venv");
    shell::run(Command::new(system).args(["-m", "venv"]).arg(&folder), "making a Python environment")?;
    let lists = [("requirements.txt", REQUIREMENTS), ("alone.txt", ALONE)];
    for (name, text) in lists {
        fs::write(home.join(name), text).map_err(cannot)?;
    }
    let pip = |options: &[&str], what: &str| {
        let mut command = Command::new(&python);
        // DeepSpeed would compile kernels, for which there need be no compiler of CUDA.
        command.current_dir(home).env("DS_BUILD_OPS", "0").args(["-m", "pip", "install", "--quiet"]).args(options);
        shell::run(&mut command, what)
    };
    pip(&["wheel", "setuptools"], "installing pip's own tools")?;
    pip(&["--requirement", "requirements.txt"], "installing the training tools")?;
    for tool in ALONE.lines().filter(|line| !line.starts_with('#')) {
        if let Err(sentence) = pip(&["--no-deps", "--no-build-isolation", tool], &format!("installing {tool}")) {
            say(&format!("{sentence} Its files are passed over"));
        }
    }
    fs::write(stamp, wanted).map_err(cannot)?;
    Ok(python)
}
