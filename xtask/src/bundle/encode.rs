//! Bytes, smaller, and as text that may stand in a document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::shell::Outcome;

/// Compressed by gzip, as small as it gets. The same bytes in give the same bytes out: no time, no name.
pub(super) fn gzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, bytes, &mut packed)
        .map_err(|error| format!("gzip failed: {error}."))?;
    Ok(packed)
}

/// Base64: letters, digits, `+` and `/`, which every editor, host and mail program leaves as they are.
pub(super) fn text(bytes: &[u8]) -> String {
    STANDARD_NO_PAD.encode(bytes)
}
