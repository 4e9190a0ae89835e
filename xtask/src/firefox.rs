//! The built page in Firefox. Not among the checks of every change: it needs a second browser.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::browser;
use crate::shell::{self, Outcome, cargo, on_path};

/// Finds Firefox, installs it where that can be done without asking, and runs the tests with the page in `dist`.
pub fn test() -> Outcome<ExitCode> {
    let page = shell::root().join("dist");
    if !page.join("index.html").is_file() {
        return Err("there is no page to test: `cargo xtask build` makes it.".to_owned());
    }
    if find().is_none() {
        browser::apt(&["firefox-esr", "fonts-noto-cjk"], "Firefox")?;
    }
    let firefox = find().ok_or(
        "the tests need a Firefox: install it (Debian: apt-get install firefox-esr), put it on the PATH, or name it in \
         FIREFOX.",
    )?;
    let mut tests = cargo();
    tests
        .args(["test", "--package", "page-tests", "--test", "firefox", "--", "--include-ignored", "--nocapture"])
        .env("PAGE_TESTS_DIST", page)
        .env("PAGE_TESTS_FIREFOX", firefox);
    shell::run(&mut tests, "the page in Firefox")?;
    Ok(ExitCode::SUCCESS)
}

fn find() -> Option<PathBuf> {
    let named = std::env::var_os("FIREFOX").map(PathBuf::from);
    let known = ["firefox-esr", "firefox"].into_iter().flat_map(on_path);
    let application = PathBuf::from("/Applications/Firefox.app/Contents/MacOS/firefox");
    named.into_iter().chain(known).chain([application]).find(|file| file.is_file())
}
