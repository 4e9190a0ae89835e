//! The tools that make the page: the wasm target, Trunk, wasm-bindgen. Found, or else installed once.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, Outcome, numbers, on_path, say, version_of, version_of_command};

const TARGET: &str = "wasm32-unknown-unknown";

/// The Trunk this project is known to build with. A later patch of the same line is taken too.
const TRUNK: &str = "0.21.14";

/// Where the tools are.
pub struct Tools {
    pub trunk: PathBuf,
    /// The folder with `wasm-bindgen` and `wasm-bindgen-test-runner`.
    pub wasm_bindgen: PathBuf,
}

impl Tools {
    /// Finds the tools, and installs those that are missing.
    pub fn make_sure() -> Outcome<Self> {
        make_sure_of_target()?;
        let trunk = match find_trunk() {
            Some(found) => found,
            None => {
                // No TLS and no update check: every tool that Trunk might download is given to it.
                install("trunk", TRUNK, &["--no-default-features"], "4 to 8", find_trunk)?
            }
        };
        let version = wasm_bindgen_version()?;
        let find = || find_wasm_bindgen(&version);
        let wasm_bindgen = match find() {
            Some(found) => found,
            None => install("wasm-bindgen-cli", &version, &["--no-default-features"], "2 to 4", find)?,
        };
        Ok(Self { trunk, wasm_bindgen })
    }

    /// A command of Trunk, run at the root of the project, that finds the right wasm-bindgen.
    pub fn trunk(&self) -> Outcome<Command> {
        let mut command = Command::new(&self.trunk);
        command
            .current_dir(shell::root())
            .env("PATH", shell::path_with([self.wasm_bindgen.as_path()])?)
            // Trunk reads NO_COLOR as true or false and refuses the usual 1.
            .env_remove("NO_COLOR")
            .env("TRUNK_SKIP_VERSION_CHECK", "true")
            .env("CARGO_ENCODED_RUSTFLAGS", flags().join("\u{1f}"));
        Ok(command)
    }
}

/// What the page is compiled with: in place of the flags in `.cargo/config.toml`, which are for everything else.
fn flags() -> Vec<String> {
    // Leptos: one type of view for all components, instead of the framework's code once for each.
    let mut flags = vec!["--cfg=erase_components".to_owned()];
    // The places of the dependencies stand in messages of panics: no machine's paths in the page, and the same bytes
    // from every machine.
    if let Some(home) = cargo_home() {
        flags.push(format!("--remap-path-prefix={}=", home.join("registry").join("src").display()));
    }
    flags
}

fn make_sure_of_target() -> Outcome<()> {
    let sysroot = shell::output(Command::new("rustc").current_dir(shell::root()).args(["--print", "sysroot"]))
        .ok_or("`rustc` does not answer. Install Rust from https://rustup.rs and try again.")?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return Ok(());
    }
    if on_path("rustup").is_empty() {
        return Err(format!(
            "this Rust has no {TARGET} target and there is no rustup to add it. Install Rust from https://rustup.rs, or \
             your system's package with the standard library for {TARGET}, and try again."
        ));
    }
    say(&format!("Adding the {TARGET} target (about 20 MB)"));
    shell::run(Command::new("rustup").current_dir(shell::root()).args(["target", "add", TARGET]), "rustup target add")
}

fn find_trunk() -> Option<PathBuf> {
    let wanted = numbers(TRUNK);
    let fits = |file: &PathBuf| {
        version_of(file).is_some_and(|version| {
            let found = numbers(&version);
            found.get(..2) == wanted.get(..2) && found >= wanted
        })
    };
    installed("trunk", TRUNK, "trunk").into_iter().chain(on_path("trunk")).find(fits)
}

fn find_wasm_bindgen(version: &str) -> Option<PathBuf> {
    let is_it = |file: &PathBuf| version_of(file).as_deref() == Some(version);
    installed("wasm-bindgen-cli", version, "wasm-bindgen")
        .into_iter()
        .chain(on_path("wasm-bindgen"))
        .filter(is_it)
        .filter_map(|file| file.parent().map(Path::to_path_buf))
        .find(|folder| is_it(&folder.join(format!("wasm-bindgen-test-runner{}", std::env::consts::EXE_SUFFIX))))
}

/// The version that the page is compiled with; the command line tool must be of exactly the same one.
fn wasm_bindgen_version() -> Outcome<String> {
    let lock = fs::read_to_string(shell::root().join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock cannot be read ({error}). It belongs to the project: restore it."))?;
    locked_version(&lock, "wasm-bindgen")
        .ok_or_else(|| "Cargo.lock names no wasm-bindgen. It belongs to the project: restore it.".to_owned())
}

fn locked_version(lock: &str, package: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    let version = lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')?;
    Some(version.to_owned())
}

/// A tool of cargo's own that is on the PATH, or else built once.
fn cargo_tool(package: &str, version: &str, minutes: &str) -> Outcome<PathBuf> {
    let command = package.strip_prefix("cargo-").unwrap_or(package);
    let find = || {
        let told = |file: &PathBuf| version_of_command(file, command);
        let fits = |file: &PathBuf| told(file).is_some_and(|found| numbers(&found) >= numbers(version));
        installed(package, version, package).into_iter().chain(on_path(package)).find(fits)
    };
    match find() {
        Some(found) => Ok(found),
        None => install(package, version, &[], minutes, find),
    }
}

/// Lists the changes of mutation tests.
pub fn cargo_mutants() -> Outcome<PathBuf> {
    cargo_tool("cargo-mutants", "27.1.0", "2 to 4")
}

/// Checks licences, advisories and sources of dependencies.
pub fn cargo_deny() -> Outcome<PathBuf> {
    cargo_tool("cargo-deny", "0.20.2", "3 to 6")
}

/// The folder for tools that had to be built, shared by all clones of this user.
fn home() -> Option<PathBuf> {
    Some(cargo_home()?.join("tools"))
}

fn cargo_home() -> Option<PathBuf> {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}

/// Where each version of a tool is installed: a folder of its own, so that projects with other versions do not fight.
fn folder(package: &str, version: &str) -> Option<PathBuf> {
    Some(home()?.join(format!("{package}-{version}")))
}

fn installed(package: &str, version: &str, program: &str) -> Option<PathBuf> {
    let file = folder(package, version)?.join("bin").join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    file.is_file().then_some(file)
}

/// Builds and installs a tool from the registry. Held by a lock: a second run waits and then finds what the first made.
fn install<T>(
    package: &str,
    version: &str,
    options: &[&str],
    minutes: &str,
    find: impl Fn() -> Option<T>,
) -> Outcome<T> {
    let no_home = "no home folder is known, so there is nowhere to install tools: set CARGO_HOME.";
    let home = home().ok_or(no_home)?;
    let folder = folder(package, version).ok_or(no_home)?;
    let _lock = lock(&home)?;
    if let Some(found) = find() {
        return Ok(found);
    }
    say(&format!(
        "Building {package} {version}, once: {minutes} minutes on two cores; it will be in {}",
        folder.display()
    ));
    let attempt = |locked: bool| {
        let mut command = shell::cargo();
        command
            .current_dir(&home)
            // Without this cargo would ask the person to add the folder to the PATH, which nobody needs.
            .env("PATH", shell::path_with([folder.join("bin").as_path()])?)
            .args(["install", package, "--version", &format!("={version}"), "--force"])
            .args(options)
            .arg("--root")
            .arg(&folder)
            // Kept until the tool is there: an interrupted build goes on where it was.
            .arg("--target-dir")
            .arg(home.join("build"))
            .env_remove("CARGO_BUILD_TARGET")
            // Link-time optimization would take twenty minutes and save seconds.
            .env("CARGO_PROFILE_RELEASE_LTO", "false")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_STRIP", "true");
        if locked {
            command.arg("--locked");
        }
        shell::run(&mut command, &format!("building {package} {version}"))
    };
    if attempt(true).is_err() {
        say(&format!("{package}'s own lock file did not do (above); trying with the newest fitting dependencies"));
        attempt(false).map_err(|sentence| {
            format!(
                "{sentence} It needs a C linker (Debian: apt-get install build-essential; macOS: xcode-select \
                 --install) and a way to crates.io; then call the same command again."
            )
        })?;
    }
    let found = find().ok_or_else(|| format!("{package} was built but does not answer with version {version}."))?;
    // The build folder has served; failing to remove it costs only space.
    let _ = fs::remove_dir_all(home.join("build"));
    Ok(found)
}

/// Takes the lock on the tools' folder; it is given back when the returned file is closed.
fn lock(home: &Path) -> Outcome<File> {
    let cannot = |error: std::io::Error| format!("{} cannot be written: {error}.", home.display());
    fs::create_dir_all(home).map_err(cannot)?;
    let file = File::options().create(true).append(true).open(home.join("lock")).map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            say("Another run is installing tools; waiting for it");
            file.lock().map_err(cannot)?;
            Ok(file)
        }
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn the_lock_file_names_the_version() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \
                    \"wasm-bindgen\"\nversion = \"0.2.130\"\nsource = \"registry\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen").as_deref(), Some("0.2.130"));
        assert_eq!(locked_version(lock, "leptos"), None);
    }
}
