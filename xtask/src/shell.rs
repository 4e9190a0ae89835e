//! Finding programs, running them, and saying what goes on.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a step returns: a value, or the sentence that tells the person what is wrong and what to do.
pub type Outcome<T> = Result<T, String>;

/// Says one thing about the progress, set apart from the output of the tools.
pub fn say(sentence: &str) {
    eprintln!("\u{2500}\u{2500} {sentence}");
}

/// The root of the project, wherever `cargo xtask` was called from.
pub fn root() -> PathBuf {
    // As cargo says it now, not as it was when this was compiled: clones may share a target folder.
    let now = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = now.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    here.parent().unwrap_or(&here).to_path_buf()
}

/// A command of cargo, run at the root of the project, by the same toolchain that runs this.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command to its end with its output shown; `what` names it in the sentence about a failure.
pub fn run(command: &mut Command, what: &str) -> Outcome<()> {
    let status = command.status().map_err(|error| format!("{what} could not be started: {error}."))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed ({status}); its own words are above.")) }
}

/// What a command prints on its standard output, if it starts and succeeds. Its errors are not shown.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Every program of that name on the PATH, first come first.
pub fn on_path(name: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).filter(|file| file.is_file()).collect()
}

/// The PATH with these folders before all others.
pub fn path_with<'a>(first: impl IntoIterator<Item = &'a Path>) -> Outcome<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = first.into_iter().map(Path::to_path_buf).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| format!("the tools' folder cannot stand on the PATH: {error}."))
}

/// The first word of a `--version` answer that looks like a version: `0.21.14`, `156.0.8078.108`.
pub fn version_of(program: impl AsRef<OsStr>) -> Option<String> {
    version_in(&output(Command::new(program).arg("--version"))?)
}

/// The version that a program of cargo's tells, called as cargo calls it: some answer to nothing else.
pub fn version_of_command(program: &Path, command: &str) -> Option<String> {
    version_in(&output(Command::new(program).args([command, "--version"]))?)
}

fn version_in(answer: &str) -> Option<String> {
    let looks_like_one = |word: &&str| word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit());
    answer.split_whitespace().find(looks_like_one).map(str::to_owned)
}

/// The numbers of a version, for comparing: `0.21.14` is `[0, 21, 14]`.
pub fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

/// A page with what stands between `<!-- NAME -->` and `<!-- /NAME -->` replaced.
pub fn with_part(page: &str, name: &str, part: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let (before, rest) = page.split_once(&open)?;
    let (_, after) = rest.split_once(&close)?;
    Some(format!("{before}{open}\n\n{}\n\n{close}{after}", part.trim()))
}

#[cfg(test)]
mod tests {
    use super::{numbers, version_in};

    #[test]
    fn versions_are_read_from_what_tools_say() {
        for (answer, version) in [
            ("trunk 0.21.14\n", "0.21.14"),
            ("wasm-bindgen 0.2.130", "0.2.130"),
            ("Chromium 156.0.8078.108 built on Debian GNU/Linux 12 (bookworm)", "156.0.8078.108"),
            ("ChromeDriver 143.0.7499.40 (abc-refs/branch-heads/7499@{#3})", "143.0.7499.40"),
        ] {
            assert_eq!(version_in(answer).as_deref(), Some(version));
        }
        assert_eq!(version_in("command not found"), None);
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(numbers("0.21.14") > numbers("0.21.9"));
        assert_eq!(numbers("0.22.0-beta.1"), [0, 22, 0]);
    }
}
