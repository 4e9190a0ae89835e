//! Bytes, smaller, and as text that may stand in a document. `start.js` is the way back.

use lzma_rust2::{EncodeMode, LzmaOptions, LzmaWriter, MfType};
use std::io::Write as _;

use crate::shell::Outcome;

/// How many bits two letters of the text carry: there are 91 of them, and 91 * 91 is just more than 2^13.
const BITS: u32 = 13;

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

/// As printable ASCII, 23 % longer (base64: 33 %), without `<`, `&` and `\`, so that it may stand in a script.
pub(super) fn text(bytes: &[u8]) -> String {
    let letters: Vec<char> = letters().collect();
    let mut text = String::with_capacity(bytes.len() * 16 / BITS as usize + 2);
    let mut pair = |value: usize| {
        for at in [value / letters.len(), value % letters.len()] {
            text.extend(letters.get(at));
        }
    };
    let (mut kept, mut count) = (0_u32, 0);
    for byte in bytes {
        kept = kept << 8 | u32::from(*byte);
        count += 8;
        if count >= BITS {
            count -= BITS;
            pair((kept >> count) as usize);
            kept &= (1 << count) - 1;
        }
    }
    if count > 0 {
        pair((kept << (BITS - count)) as usize);
    }
    text
}

fn letters() -> impl Iterator<Item = char> {
    ('!'..='~').filter(|letter| !['<', '&', '\\'].contains(letter))
}

#[cfg(test)]
mod tests {
    use super::{letters, lzma, text};

    #[test]
    fn the_text_may_stand_in_a_script() {
        assert_eq!(letters().count(), 91);
        let text = text(&(0..=255).cycle().take(10_000).collect::<Vec<u8>>());
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<&\\".contains(&byte)));
        assert_eq!(text.len(), (10_000 * 8_usize).div_ceil(13) * 2);
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
