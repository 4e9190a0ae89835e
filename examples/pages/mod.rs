//! What the commands that write documentation share: parts of a page between two marks, and plain SVG.

pub(crate) mod svg;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of this repository.
pub(crate) fn path(inside: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(inside)
}

/// Reads a file of this repository.
pub(crate) fn read(inside: &str) -> Result<String, String> {
    fs::read_to_string(path(inside)).map_err(|error| format!("{inside}: {error}"))
}

/// Writes a file of this repository where it has changed.
pub(crate) fn write(inside: &str, text: &str) -> Result<(), String> {
    if read(inside).is_ok_and(|old| old == text) {
        return Ok(());
    }
    println!("{inside}");
    fs::write(path(inside), text).map_err(|error| format!("{inside}: {error}"))
}

/// A page with the part between its marks `<!-- NAME -->` and `<!-- /NAME -->` replaced.
pub(crate) fn with_part(page: &str, name: &str, part: &str) -> Result<String, String> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let missing = || format!("the marks {open} and {close} are not there");
    let (before, rest) = page.split_once(&open).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&close).ok_or_else(missing)?;
    Ok(format!("{before}{open}\n\n{}\n\n{close}{after}", part.trim()))
}
