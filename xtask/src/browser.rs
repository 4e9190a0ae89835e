//! A Chromium with the driver that speaks WebDriver for it: found, or on Debian-like systems installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, Outcome, numbers, on_path, say, version_of};

/// A browser and the driver of the same major version.
#[derive(Clone)]
pub struct Browser {
    pub chromium: PathBuf,
    pub driver: PathBuf,
}

/// What a headless Chromium needs as root, in a container and without a network.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
];

impl Browser {
    /// Finds a browser, and installs one where that can be done without asking.
    pub fn make_sure() -> Outcome<Self> {
        if let Some(found) = find() {
            return Ok(found);
        }
        let debian = is_debian();
        if debian && is_root() {
            install()?;
            if let Some(found) = find() {
                return Ok(found);
            }
        }
        Err(missing(debian))
    }

    /// What to tell the driver about this browser, in the form that wasm-bindgen-test-runner reads from a file.
    pub fn capabilities(&self) -> String {
        let binary = quoted(&self.chromium.to_string_lossy());
        let flags: Vec<String> = FLAGS.iter().map(|flag| quoted(flag)).collect();
        format!("{{\"goog:chromeOptions\": {{\"binary\": {binary}, \"args\": [{}]}}}}\n", flags.join(", "))
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The first browser that has a driver of its own major version.
fn find() -> Option<Browser> {
    let drivers: Vec<(PathBuf, u32)> = drivers().into_iter().filter_map(with_major).collect();
    browsers().into_iter().filter_map(with_major).find_map(|(chromium, major)| {
        let (driver, _) = drivers.iter().find(|(_, of)| *of == major)?;
        Some(Browser { chromium, driver: driver.clone() })
    })
}

fn with_major(file: PathBuf) -> Option<(PathBuf, u32)> {
    let major = *numbers(&version_of(&file)?).first()?;
    Some((file, major))
}

fn browsers() -> Vec<PathBuf> {
    let mut found = named(&["CHROMIUM", "CHROME", "CHROME_BIN"]);
    for name in ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"] {
        found.extend(on_path(name));
    }
    for application in ["Google Chrome", "Chromium"] {
        found.push(format!("/Applications/{application}.app/Contents/MacOS/{application}").into());
    }
    found.retain(|file| file.is_file());
    found
}

fn drivers() -> Vec<PathBuf> {
    let mut found = named(&["CHROMEDRIVER"]);
    // Where hosted build machines keep the driver of their Chrome.
    found.extend(std::env::var_os("CHROMEWEBDRIVER").map(|folder| Path::new(&folder).join("chromedriver")));
    found.extend(on_path("chromedriver"));
    for folder in ["/usr/lib/chromium", "/usr/lib/chromium-browser", "/opt/homebrew/bin", "/usr/local/bin"] {
        found.push(Path::new(folder).join("chromedriver"));
    }
    found.retain(|file| file.is_file());
    found
}

/// Programs that environment variables name.
fn named(variables: &[&str]) -> Vec<PathBuf> {
    variables.iter().filter_map(std::env::var_os).map(PathBuf::from).collect()
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists() && !on_path("apt-get").is_empty()
}

fn is_root() -> bool {
    shell::output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0")
}

fn install() -> Outcome<()> {
    let is_ubuntu =
        fs::read_to_string("/etc/os-release").is_ok_and(|text| text.lines().any(|line| line == "ID=ubuntu"));
    let packages = if is_ubuntu {
        ["chromium-browser", "chromium-chromedriver", "fonts-noto-cjk"]
    } else {
        ["chromium", "chromium-driver", "fonts-noto-cjk"]
    };
    apt(&packages, "Chromium with its driver")
}

/// Installs packages with apt, where that is possible without asking; else does nothing.
pub fn apt(packages: &[&str], what: &str) -> Outcome<()> {
    if !is_debian() || !is_root() {
        return Ok(());
    }
    say(&format!("Installing {what} and a Chinese font with apt (about 200 MB, one to three minutes)"));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args([
            "-q",
            "-o",
            "DPkg::Lock::Timeout=600",
            "-o",
            "Acquire::Retries=3",
        ]);
        command
    };
    // An old list may still do, so a failure here is not the end.
    if let Err(sentence) = shell::run(apt().arg("update"), "apt-get update") {
        say(&sentence);
    }
    shell::run(
        apt().args(["install", "--yes", "--no-install-recommends"]).args(packages),
        &format!("installing {what} with apt"),
    )
}

fn missing(debian: bool) -> String {
    let how = if debian {
        "run `sudo apt-get install chromium chromium-driver` (on Ubuntu: Google Chrome from its maker, and its \
         chromedriver)"
    } else if cfg!(target_os = "macos") {
        "run `brew install --cask google-chrome chromedriver`"
    } else {
        "install Chromium or Google Chrome, and the chromedriver of the same major version, and put both on the PATH"
    };
    let seen = match (browsers().first(), drivers().first()) {
        (Some(browser), Some(driver)) => format!(
            " ({} and {} were found, but their major versions differ or they do not start)",
            browser.display(),
            driver.display()
        ),
        (Some(browser), None) => format!(" ({} was found, but no chromedriver)", browser.display()),
        _ => String::new(),
    };
    format!("the browser tests need a Chromium with its chromedriver{seen}: {how}.")
}

#[cfg(test)]
mod tests {
    use super::Browser;

    #[test]
    fn paths_are_quoted_for_the_driver() {
        let browser = Browser { chromium: r#"C:\my "own"\chrome"#.into(), driver: "chromedriver".into() };
        assert!(browser.capabilities().contains(r#""binary": "C:\\my \"own\"\\chrome""#));
    }
}
