//! `cargo xtask sbom`: what the page is made of, as `CycloneDX` (ECMA-424), from the lock file and cargo's own tree.

use crate::shell::{self, Outcome, cargo, output, say};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

const FILE: &str = "target/enough-gpu.sbom.cdx.json";
/// The page runs on this target; what tests and tools need is not part of it.
const TARGET: &str = "wasm32-unknown-unknown";
/// Licences under which what we ship may stand (`deny.toml` has the same list).
const LICENCES: [&str; 11] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Zlib",
    "0BSD",
    "BSL-1.0",
    "CC0-1.0",
];

/// A crate in the page.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Component {
    name: String,
    version: String,
    licence: String,
}

/// Writes the list, and fails where a licence is not one of ours.
pub fn run() -> Outcome<ExitCode> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--package", "enough-gpu", "--target", TARGET, "--edges", "normal"]);
    tree.args(["--prefix", "none", "--format", "{p}|{l}"]);
    let tree = output(&mut tree).ok_or("cargo could not list what the page is made of.")?;
    let components: BTreeSet<Component> = tree.lines().filter_map(component).collect();
    let lock = fs::read_to_string(shell::root().join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    let strange: Vec<String> = components
        .iter()
        .filter(|c| !is_free(&c.licence))
        .map(|c| format!("{} {}: {:?}", c.name, c.version, c.licence))
        .collect();
    if !strange.is_empty() {
        return Err(format!("these are not under a licence that we may ship: {}.", strange.join("; ")));
    }
    let file = shell::root().join(FILE);
    let written =
        fs::create_dir_all(shell::root().join("target")).and_then(|()| fs::write(&file, json(&components, &lock)));
    written.map_err(|error| format!("{FILE}: {error}"))?;
    say(&format!("{} crates, all under licences that we may ship: {FILE}", components.len()));
    Ok(ExitCode::SUCCESS)
}

/// Reads `serde v1.0.228 (proc-macro)|MIT OR Apache-2.0 (*)`; the page itself has a path for its place.
fn component(line: &str) -> Option<Component> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let licence = licence.trim_end_matches("(*)").trim();
    Some(Component { name: name.to_owned(), version: version.to_owned(), licence: licence.to_owned() })
}

/// Whether an expression of licences leaves a choice that is all ours (SPDX, and the slash of old crates).
fn is_free(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim())))
}

/// Checksums of crates as the lock file has them, by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    lock.split("[[package]]")
        .filter_map(|block| {
            let field = |name: &str| {
                let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
                line.strip_prefix('"')?.strip_suffix('"')
            };
            Some(((field("name")?, field("version")?), field("checksum")?))
        })
        .collect()
}

fn json(components: &BTreeSet<Component>, lock: &str) -> String {
    let sums = checksums(lock);
    let mut listed = Vec::new();
    let mut itself = String::new();
    for Component { name, version, licence } in components {
        let mut entry = String::new();
        let kind = if name == "enough-gpu" { "application" } else { "library" };
        let licence = licence.replace('/', " OR ");
        // Writing to a String cannot fail.
        let _ = write!(
            entry,
            "{{\"type\": \"{kind}\", \"name\": \"{name}\", \"version\": \"{version}\", \
             \"purl\": \"pkg:cargo/{name}@{version}\", \"licenses\": [{{\"expression\": \"{licence}\"}}]"
        );
        if let Some(sum) = sums.get(&(name.as_str(), version.as_str())) {
            let _ = write!(entry, ", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": \"{sum}\"}}]");
        }
        entry.push('}');
        if kind == "application" { itself = entry } else { listed.push(format!("    {entry}")) }
    }
    format!(
        "{{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.6\",\n  \"version\": 1,\n  \"metadata\": \
         {{\"component\": {itself}}},\n  \"components\": [\n{}\n  ]\n}}\n",
        listed.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::{checksums, component, is_free};

    #[test]
    fn lines_of_the_tree_are_read() {
        let read =
            component("serde v1.0.228 (proc-macro)|MIT OR Apache-2.0 (*)").map(|c| (c.name, c.version, c.licence));
        assert_eq!(read, Some(("serde".into(), "1.0.228".into(), "MIT OR Apache-2.0".into())));
        assert_eq!(component(""), None);
    }

    #[test]
    fn licences_are_told_apart() {
        for free in ["MIT", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0", "Unlicense OR MIT"] {
            assert!(is_free(free), "{free}");
        }
        for not in ["", "GPL-3.0", "MPL-2.0", "MIT AND GPL-3.0"] {
            assert!(!is_free(not), "{not}");
        }
    }

    #[test]
    fn checksums_are_found() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n\n[[package]]\nname = \"b\"\nversion = \"2.0.0\"\n";
        assert_eq!(checksums(lock).get(&("a", "1.0.0")), Some(&"abc"));
        assert_eq!(checksums(lock).len(), 1);
    }
}
