//! The policy that proves to a person that nothing they type leaves the page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::html::Html;

/// A Content-Security-Policy for a document that has everything inside: its own scripts and style sheets by their
/// hashes, one more script and one more style sheet that are made by them, pictures as `data:`, and no connection at all.
pub(super) fn of(html: &Html, script: &str, style: &str) -> String {
    let hashes = |contents: Vec<&str>| {
        let hash = |content: &str| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(content.as_bytes())));
        contents.into_iter().map(hash).collect::<String>()
    };
    let scripts = html
        .elements("script")
        .into_iter()
        .filter(|script| is_code(script.tag))
        .map(|script| script.content)
        .chain([script]);
    let styles = html.elements("style").into_iter().map(|style| style.content).chain([style]);
    format!(
        "default-src 'none'; script-src 'wasm-unsafe-eval'{}; style-src{}; style-src-attr 'unsafe-inline'; img-src \
         data:; connect-src 'none'; base-uri 'none'; form-action 'none'",
        hashes(scripts.collect()),
        hashes(styles.collect()),
    )
}

/// Scripts of other types are data and are not run.
fn is_code(tag: &str) -> bool {
    !tag.contains("type=") || tag.contains("module")
}

/// The hash by which people compare files.
pub fn sha256(bytes: &[u8]) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or_default());
    Sha256::digest(bytes).iter().flat_map(digits).collect()
}
