//! Code of wasm, sorted for the packer: instructions and what stands behind them lie together, kind by kind, and pack a
//! twentieth smaller than mixed. `start.js` puts them back. Nothing else of a module is touched.

use crate::shell::Outcome;

/// The id of the section with the code.
const CODE: u8 = 10;

/// How many streams there are: one of opcodes, then the operands by opcode, and those of the two that have more.
pub(super) const STREAMS: usize = 256 + 3;
const OPCODES: usize = 0;
const LOCALS: usize = 256;
const SIZES: usize = 257;
const SECOND: usize = 258;

/// A module as bytes for the packer: how long the part before the code is, the number of functions, the lengths of the
/// streams, then the part before, the part after and the streams.
pub(super) fn split(module: &[u8]) -> Outcome<Vec<u8>> {
    let mut at = Reader { bytes: module, at: 8 };
    let (end, functions) = loop {
        let id = at.byte()?;
        let length = at.number()?;
        if id == CODE {
            let end = at.at + length;
            break (end, at.number()?);
        }
        at.at += length;
    };
    let start = at.at;
    let mut streams: Vec<Vec<u8>> = vec![Vec::new(); STREAMS];
    for _ in 0..functions {
        function(&mut at, &mut streams)?;
    }
    if at.at != end {
        return Err("the code of the wasm does not end where it says.".to_owned());
    }
    let (before, after) = (&module[..start], &module[end..]);
    let mut out = Vec::with_capacity(module.len() + 4 * STREAMS);
    let lengths = [before.len(), after.len(), functions].into_iter().chain(streams.iter().map(Vec::len));
    for length in lengths {
        out.extend(u32::try_from(length).map_err(|_| "the wasm is larger than 4 GB.".to_owned())?.to_le_bytes());
    }
    out.extend(before);
    out.extend(after);
    out.extend(streams.iter().flatten());
    Ok(out)
}

fn function(at: &mut Reader<'_>, streams: &mut [Vec<u8>]) -> Outcome<()> {
    let from = at.at;
    let size = at.number()?;
    let end = at.at + size;
    streams[SIZES].extend(&at.bytes[from..at.at]);
    let from = at.at;
    for _ in 0..at.number()? {
        at.number()?;
        at.byte()?;
    }
    streams[LOCALS].extend(&at.bytes[from..at.at]);
    while at.at < end {
        let opcode = at.byte()?;
        streams[OPCODES].push(opcode);
        let from = at.at;
        let mut second = None;
        match opcode {
            // Blocks, branches, calls, variables, references, constants.
            0x02..=0x04 | 0x0c | 0x0d | 0x10 | 0x12 | 0x20..=0x26 | 0x41 | 0x42 | 0xd0 | 0xd2 => drop(at.number()?),
            // Calls through a table; loads and stores: alignment, then offset.
            0x11 | 0x13 | 0x28..=0x3e => {
                at.number()?;
                second = Some(at.at);
                at.number()?;
            }
            0x3f | 0x40 => drop(at.byte()?),
            0x43 => at.at += 4,
            0x44 => at.at += 8,
            0x0e => {
                for _ in 0..=at.number()? {
                    at.number()?;
                }
            }
            0x1c => at.at += at.number()?,
            0xfc => {
                let operands = match at.number()? {
                    0..=7 => 0,
                    8 | 10 | 12 | 14 => 2,
                    9 | 11 | 13 | 15..=17 => 1,
                    other => {
                        return Err(format!("the wasm has an instruction 0xfc {other}, which split.rs cannot sort."));
                    }
                };
                for _ in 0..operands {
                    at.number()?;
                }
            }
            0x00 | 0x01 | 0x05 | 0x0b | 0x0f | 0x1a | 0x1b | 0x45..=0xc4 | 0xd1 => {}
            other => return Err(format!("the wasm has an instruction {other:#x}, which split.rs cannot sort.")),
        }
        let middle = second.unwrap_or(at.at);
        let operands = at.bytes.get(from..at.at).ok_or("the code of the wasm breaks off.")?;
        let (first, second) = operands.split_at(middle - from);
        streams[usize::from(opcode)].extend(first);
        streams[SECOND].extend(second);
    }
    Ok(())
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Outcome<u8> {
        let byte = *self.bytes.get(self.at).ok_or("the wasm breaks off.")?;
        self.at += 1;
        Ok(byte)
    }

    /// A number as LEB128, whose sign does not matter here.
    fn number(&mut self) -> Outcome<usize> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= usize::from(byte & 127).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte < 128 {
                return Ok(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OPCODES, SECOND, SIZES, STREAMS, split};

    /// A module of one function: `i32.const 7; i32.load align=2 offset=300; drop; end`, and a section behind it.
    const MODULE: [u8; 26] =
        [0, b'a', b's', b'm', 1, 0, 0, 0, 10, 11, 1, 9, 0, 0x41, 7, 0x28, 2, 0xac, 2, 0x1a, 0x0b, 0, 3, 1, b'x', 9];

    #[test]
    fn code_is_sorted_and_nothing_is_lost() {
        let sorted = split(&MODULE).expect("a module");
        assert_eq!(sorted.len(), MODULE.len() + 4 * (3 + STREAMS));
        let length =
            |at: usize| u32::from_le_bytes(sorted[4 * at..4 * at + 4].try_into().expect("four bytes")) as usize;
        assert_eq!([length(0), length(1), length(2)], [11, 5, 1], "before, after, functions");
        let stream = |wanted: usize| {
            let from = 4 * (3 + STREAMS) + 16 + (0..wanted).map(|k| length(3 + k)).sum::<usize>();
            &sorted[from..from + length(3 + wanted)]
        };
        assert_eq!(stream(OPCODES), [0x41, 0x28, 0x1a, 0x0b]);
        assert_eq!((stream(0x41), stream(0x28), stream(SECOND)), (&[7][..], &[2][..], &[0xac, 2][..]));
        assert_eq!(stream(SIZES), [9]);
    }

    #[test]
    fn what_is_unknown_is_said() {
        let mut module = MODULE;
        module[13] = 0xfd;
        assert!(split(&module).expect_err("a vector instruction").contains("0xfd"));
        assert!(split(&MODULE[..15]).is_err() && split(b"\0asm\x01\0\0\0").is_err());
    }
}
