//! Where a panic was is data: a file's name, line and column. Once no code says it (see tidy.rs), zeros take its place, and
//! pack to nothing.

use std::collections::HashSet;
use std::ops::Range;

use super::module::{DATA, Instruction, Module, Reader};
use crate::shell::Outcome;

/// The bytes of a place: where its file's name lies, the name's length, line and column, four bytes each.
const PLACE: usize = 16;

/// Writes zeros over those of the `unsaid` places, by address, that code and data no longer name, and over the names of
/// their files.
pub(super) fn blank(module: &mut Module, unsaid: &HashSet<usize>) -> Outcome<()> {
    let named: HashSet<usize> =
        module.functions.iter().flat_map(|function| &function.code).filter_map(constant).collect();
    let Some(data) = module.section(DATA) else { return Ok(()) };
    let segments = segments(data)?;
    let mut words = words(data, &segments);
    let (mut blanked, mut files) = (Vec::new(), HashSet::new());
    for address in unsaid.iter().copied().filter(|address| !named.contains(address) && !words.contains(address)) {
        let Some(at) = within(&segments, address, PLACE) else { continue };
        let numbers: Vec<usize> = data[at..at + PLACE].chunks_exact(4).map(word).collect();
        let [name, length, line, column] = numbers[..] else { continue };
        let file = within(&segments, name, length).and_then(|at| data.get(at..at + length));
        let is_place = (1..100_000).contains(&line) && (1..1_000).contains(&column);
        if is_place && file.is_some_and(|file| file.ends_with(b".rs")) {
            blanked.push(at..at + PLACE);
            files.insert((name, length));
        }
    }
    let data = module.section(DATA).ok_or("the wasm has no data.")?;
    for range in blanked {
        data[range].fill(0);
    }
    words = self::words(data, &segments);
    for (name, length) in files {
        let lies = |address: &usize| (name..name + length).contains(address);
        if let Some(at) = within(&segments, name, length)
            && !named.iter().chain(&words).any(lies)
        {
            data[at..at + length].fill(0);
        }
    }
    Ok(())
}

/// The number that an `i32.const` gives, where it may be an address.
pub(super) fn constant(instruction: &Instruction) -> Option<usize> {
    (instruction.opcode == 0x41).then(|| Reader::new(&instruction.operands).number().ok()).flatten()
}

/// Where segments of data lie: the address of the first byte, and their bytes in the section.
fn segments(data: &[u8]) -> Outcome<Vec<(usize, Range<usize>)>> {
    let mut at = Reader::new(data);
    let mut segments = Vec::new();
    for _ in 0..at.number()? {
        let flags = at.number()?;
        if flags > 0 {
            return Err(format!("the wasm has data of kind {flags}, which places.rs cannot read."));
        }
        let address = at.address()?;
        let length = at.number()?;
        if at.at + length > data.len() {
            return Err("the data of the wasm breaks off.".to_owned());
        }
        segments.push((address, at.at..at.at + length));
        at.at += length;
    }
    Ok(segments)
}

/// Where in the section so many bytes of an address lie.
fn within(segments: &[(usize, Range<usize>)], address: usize, length: usize) -> Option<usize> {
    segments.iter().find_map(|(first, bytes)| {
        let at = bytes.start + address.checked_sub(*first)?;
        (at + length <= bytes.end).then_some(at)
    })
}

fn word(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// All numbers of four bytes, where addresses may stand.
fn words(data: &[u8], segments: &[(usize, Range<usize>)]) -> HashSet<usize> {
    let numbers = |(address, bytes): &(usize, Range<usize>)| {
        let skipped = address.wrapping_neg() % 4;
        data[bytes.clone()].get(skipped..).unwrap_or_default().chunks_exact(4).map(word).collect::<Vec<_>>()
    };
    segments.iter().flat_map(numbers).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{DATA, Module, blank};

    #[test]
    fn a_place_that_nobody_says_is_zeros() {
        // Two places of one file at 20 and 36, whose name lies at 16; code names the second.
        let place = |line: u8| [16, 0, 0, 0, 4, 0, 0, 0, line, 0, 0, 0, 5, 0, 0, 0];
        let mut data = vec![1, 0, 0x41, 16, 0x0b, 36];
        data.extend(b"a.rs");
        data.extend(place(7));
        data.extend(place(8));
        let mut bytes = b"\0asm\x01\0\0\0\x03\x02\x01\0\x0a\x07\x01\x05\0\x41\x24\x1a\x0b\x0b".to_vec();
        bytes.push(u8::try_from(data.len()).expect("short"));
        bytes.extend(&data);
        let blanked = |unsaid: &[usize], bytes: &[u8]| {
            let mut module = Module::read(bytes).expect("a module");
            blank(&mut module, &unsaid.iter().copied().collect::<HashSet<_>>()).expect("blanked");
            module.section(DATA).expect("data").split_off(6)
        };
        let expected = |name: &[u8], first: [u8; 16], second: [u8; 16]| [name, &first, &second].concat();
        assert_eq!(blanked(&[20, 36], &bytes), expected(b"a.rs", [0; 16], place(8)));
        // `i32.const 0` instead.
        bytes[18] = 0;
        assert_eq!(blanked(&[20, 36], &bytes), expected(&[0; 4], [0; 16], [0; 16]));
        assert_eq!(blanked(&[16, 21], &bytes), expected(b"a.rs", place(7), place(8)));
    }
}
