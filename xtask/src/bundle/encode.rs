//! Bytes, smaller, and as text that may stand in a document. `start.js` is the way back.

use lzma_rust2::{EncodeMode, LzmaOptions, LzmaWriter, MfType};
use std::io::Write as _;

use crate::shell::Outcome;

/// The letters of ASCII that stay out of the text, because HTML, its parsers or the ways of a file change them; `start.js`
/// has the same. That leaves 116, and 116^7 is just more than 2^48.
const FORBIDDEN: [u8; 12] = *b"\0\x08\t\n\x0b\x0c\r\x1a\x1b<&\x7f";
/// So many bytes are so many letters.
const BYTES: usize = 6;
const LETTERS: usize = 7;

/// Compressed by LZMA, a quarter smaller than by gzip where it is code. The same bytes in give the same bytes out.
pub(super) fn lzma(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut options = LzmaOptions::with_preset(9);
    // Nothing is aligned, and in a stream of one kind the byte before says a little about the next.
    (options.lc, options.lp, options.pb) = (2, 0, 0);
    options.dict_size = 1 << 22;
    (options.mode, options.mf, options.nice_len, options.depth_limit) = (EncodeMode::Normal, MfType::Bt4, 273, 512);
    let failed = |error: std::io::Error| format!("LZMA failed: {error}.");
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, Some(bytes.len() as u64)).map_err(failed)?;
    writer.write_all(bytes).map_err(failed)?;
    writer.finish().map_err(failed)
}

/// What a host that compresses would send.
pub(super) fn gzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, bytes, &mut packed)
        .map_err(|error| format!("gzip failed: {error}."))?;
    Ok(packed)
}

/// As ASCII, a sixth longer (base64: a third), that may stand in a script. The last bytes are filled up with zeros.
pub(super) fn text(bytes: &[u8]) -> String {
    let letters: Vec<char> = (0..128_u8).filter(|letter| !FORBIDDEN.contains(letter)).map(char::from).collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(BYTES) * LETTERS);
    for chunk in bytes.chunks(BYTES) {
        let byte = |at: usize| u64::from(chunk.get(at).copied().unwrap_or(0));
        let mut number = (0..BYTES).fold(0, |number, at| number << 8 | byte(at));
        let mut seven = [' '; LETTERS];
        for letter in seven.iter_mut().rev() {
            // There are 116 letters, so each remainder has one.
            *letter = usize::try_from(number % 116).ok().and_then(|at| letters.get(at).copied()).unwrap_or(' ');
            number /= 116;
        }
        text.extend(seven);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{FORBIDDEN, lzma, text};

    #[test]
    fn the_text_may_stand_in_a_script() {
        let text = text(&(0..=255).cycle().take(10_000).collect::<Vec<u8>>());
        assert_eq!((0..128_u8).filter(|letter| !FORBIDDEN.contains(letter)).count(), 116);
        assert!(text.is_ascii() && text.bytes().all(|byte| !FORBIDDEN.contains(&byte)));
        assert_eq!(text.len(), 10_000_usize.div_ceil(6) * 7);
    }

    #[test]
    fn the_text_carries_every_bit() {
        let bytes: Vec<u8> = (0..1_500_u32).flat_map(|n| (n * n * 977).to_le_bytes()).collect();
        let value = |letter: u8| u64::from(letter) - FORBIDDEN.iter().filter(|other| **other < letter).count() as u64;
        let number = |letters: &[u8]| letters.iter().fold(0, |number, letter| number * 116 + value(*letter));
        let back = text(&bytes)
            .as_bytes()
            .chunks(7)
            .flat_map(|letters| number(letters).to_be_bytes()[2..].to_vec())
            .collect::<Vec<u8>>();
        assert_eq!(back, bytes);
    }

    #[test]
    fn nothing_is_lost() {
        let bytes: Vec<u8> = (0..50_000_u32).flat_map(|n| (n * n / 7).to_le_bytes()).collect();
        let packed = lzma(&bytes).expect("packed");
        let mut back = Vec::new();
        let mut reader = lzma_rust2::LzmaReader::new_mem_limit(packed.as_slice(), u32::MAX, None).expect("a reader");
        std::io::Read::read_to_end(&mut reader, &mut back).expect("unpacked");
        assert_eq!(back, bytes);
    }
}
