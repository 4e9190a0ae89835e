//! Code of wasm, taken apart for the packer: instructions and what stands behind them lie together, kind by kind, and pack
//! a tenth smaller than mixed. `join.js` puts them together again; the lengths of functions follow from the code. Nothing
//! else of a module is touched, except that sections for tools stay out.

use crate::shell::Outcome;

/// The ids of sections: those for tools, and the code.
const CUSTOM: u8 = 0;
const CODE: u8 = 10;

/// The streams of operands: one for each opcode, then those of `by_next`, then the offsets of loads and stores by the
/// place of the byte.
pub(super) const STREAMS: usize = OFFSETS + 4;
const OFFSETS: usize = 5 * 256;

/// The first of the streams of an opcode whose operand depends most on the opcode that comes next: a stream for each.
fn by_next(opcode: u8) -> Option<usize> {
    [0x20, 0x41, 0x10, 0x42].iter().position(|one| *one == opcode).map(|place| (place + 1) * 256)
}

/// A module in parts.
#[derive(Default)]
pub(super) struct Parts {
    /// Everything before the length of the code, and behind the code.
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    pub(super) functions: usize,
    /// The declarations of local variables, function by function.
    pub(super) locals: Vec<u8>,
    pub(super) opcodes: Vec<u8>,
    pub(super) operands: Vec<Vec<u8>>,
}

/// Takes a module apart.
pub(super) fn split(module: &[u8]) -> Outcome<Parts> {
    let mut at = Reader { bytes: module, at: 8 };
    let mut parts = Parts {
        before: module.get(..8).ok_or("the wasm breaks off.")?.to_vec(),
        operands: vec![Vec::new(); STREAMS],
        ..Parts::default()
    };
    let mut coded = false;
    while at.at < module.len() {
        let start = at.at;
        let id = at.byte()?;
        let length = at.number()?;
        let end = at.at + length;
        match id {
            CUSTOM => {}
            CODE => {
                coded = true;
                parts.before.push(CODE);
                parts.functions = at.number()?;
                for _ in 0..parts.functions {
                    parts.function(&mut at)?;
                }
                if at.at != end {
                    return Err("the code of the wasm does not end where it says.".to_owned());
                }
            }
            _ => {
                let section = module.get(start..end).ok_or("the wasm breaks off.")?;
                if coded { &mut parts.after } else { &mut parts.before }.extend(section);
            }
        }
        at.at = end;
    }
    if coded { Ok(parts) } else { Err("the wasm has no code.".to_owned()) }
}

impl Parts {
    fn function(&mut self, at: &mut Reader<'_>) -> Outcome<()> {
        let start = at.at;
        let size = at.number()?;
        let from = at.at;
        let end = from + size;
        for _ in 0..at.number()? {
            at.number()?;
            at.byte()?;
        }
        self.locals.extend(&at.bytes[from..at.at]);
        let mut open = 1_u32;
        while open > 0 {
            let opcode = at.byte()?;
            self.opcodes.push(opcode);
            let from = at.at;
            if let 0x28..=0x3e = opcode {
                // Loads and stores: alignment, then offset.
                at.number()?;
                let offset = at.at;
                at.number()?;
                self.operands[usize::from(opcode)].extend(&at.bytes[from..offset]);
                for (place, byte) in at.bytes[offset..at.at].iter().enumerate() {
                    self.operands[OFFSETS + place.min(3)].push(*byte);
                }
            } else {
                at.operands(opcode)?;
                let operands = at.bytes.get(from..at.at).ok_or("the code of the wasm breaks off.")?;
                let next = usize::from(at.bytes.get(at.at).copied().unwrap_or(0));
                let stream = by_next(opcode).map_or(usize::from(opcode), |first| first + next);
                self.operands[stream].extend(operands);
            }
            match opcode {
                0x02..=0x04 => open += 1,
                0x0b => open -= 1,
                _ => {}
            }
        }
        if at.at == end && from - start == shortest(size) {
            Ok(())
        } else {
            Err("a function of the wasm does not end where it says.".to_owned())
        }
    }
}

/// How many bytes a number takes as LEB128: what the other side writes.
fn shortest(number: usize) -> usize {
    (usize::BITS - number.leading_zeros()).div_ceil(7).max(1) as usize
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

    /// Steps over what stands behind an opcode, other than of loads and stores.
    fn operands(&mut self, opcode: u8) -> Outcome<()> {
        match opcode {
            // Blocks, branches, calls, variables, memory, constants, references.
            0x02..=0x04 | 0x0c | 0x0d | 0x10 | 0x12 | 0x20..=0x26 | 0x3f..=0x42 | 0xd0 | 0xd2 => self.numbers(1),
            // Calls through a table.
            0x11 | 0x13 => self.numbers(2),
            0x43 | 0x44 => {
                self.at += if opcode == 0x43 { 4 } else { 8 };
                Ok(())
            }
            0x0e => {
                let count = self.number()?;
                self.numbers(count + 1)
            }
            0x1c => {
                let count = self.number()?;
                self.numbers(count)
            }
            0xfc => {
                let count = match self.number()? {
                    0..=7 => 0,
                    8 | 10 | 12 | 14 => 2,
                    9 | 11 | 13 | 15..=17 => 1,
                    other => {
                        return Err(format!("the wasm has an instruction 0xfc {other}, which split.rs cannot sort."));
                    }
                };
                self.numbers(count)
            }
            0x00 | 0x01 | 0x05 | 0x0b | 0x0f | 0x1a | 0x1b | 0x45..=0xc4 | 0xd1 => Ok(()),
            other => Err(format!("the wasm has an instruction {other:#x}, which split.rs cannot sort.")),
        }
    }

    fn numbers(&mut self, count: usize) -> Outcome<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
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
    use super::{OFFSETS, split};

    /// A module of one function: `i32.const 7; i32.load align=2 offset=300; drop; end`, a section for tools and one behind.
    const MODULE: [u8; 29] = [
        0, b'a', b's', b'm', 1, 0, 0, 0, 10, 11, 1, 9, 0, 0x41, 7, 0x28, 2, 0xac, 2, 0x1a, 0x0b, 0, 2, 1, b'x', 11, 2,
        8, 9,
    ];

    #[test]
    fn code_is_sorted_and_nothing_is_lost() {
        let parts = split(&MODULE).expect("a module");
        assert_eq!((parts.before, parts.after), (MODULE[..9].to_vec(), vec![11, 2, 8, 9]));
        assert_eq!((parts.functions, parts.locals, parts.opcodes), (1, vec![0], vec![0x41, 0x28, 0x1a, 0x0b]));
        let full: Vec<_> = parts.operands.iter().enumerate().filter(|(_, stream)| !stream.is_empty()).collect();
        let expected: [(usize, &[u8]); 4] =
            [(0x28, &[2]), (2 * 256 + 0x28, &[7]), (OFFSETS, &[0xac]), (OFFSETS + 1, &[2])];
        assert_eq!(full, expected.map(|(stream, bytes)| (stream, bytes.to_vec())).each_ref().map(|(s, b)| (*s, b)));
    }

    #[test]
    fn what_is_unknown_is_said() {
        let mut module = MODULE;
        module[13] = 0xfd;
        assert!(split(&module).err().expect("a vector instruction").contains("0xfd"));
        assert!(split(&MODULE[..15]).is_err() && split(b"\0asm\x01\0\0\0").is_err());
    }
}
