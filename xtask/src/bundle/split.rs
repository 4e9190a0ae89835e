//! Code of wasm, taken apart for the packer: instructions and what stands behind them lie together, kind by kind, and pack
//! a tenth smaller than mixed. `join.js` puts them together again; the lengths of functions follow from the code. Nothing
//! else of a module is touched.

use super::module::{CALL, Module};

/// The streams of operands: one for each opcode, then those by the neighbour, then the offsets of loads and of stores by
/// the place of the byte.
pub(super) const STREAMS: usize = OFFSETS + 8;
const OFFSETS: usize = 5 * 256;
/// The opcodes whose operands have a stream for each neighbour: the next opcode, of a call the one before.
const BY_NEIGHBOUR: [u8; 4] = [0x20, 0x41, CALL, 0x42];

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
pub(super) fn split(module: &Module) -> Parts {
    let (before, after) = module.around();
    let mut parts = Parts {
        before,
        after,
        functions: module.functions.len(),
        operands: vec![Vec::new(); STREAMS],
        ..Parts::default()
    };
    for function in &module.functions {
        parts.locals.extend(&function.locals);
        let opcode = |place: Option<usize>| place.and_then(|at| function.code.get(at)).map_or(0, |one| one.opcode);
        for (at, instruction) in function.code.iter().enumerate() {
            let operands = &instruction.operands;
            parts.opcodes.push(instruction.opcode);
            let stream = match BY_NEIGHBOUR.iter().position(|one| *one == instruction.opcode) {
                Some(place) => {
                    let neighbour = if instruction.opcode == CALL { at.checked_sub(1) } else { Some(at + 1) };
                    (place + 1) * 256 + usize::from(opcode(neighbour))
                }
                None => usize::from(instruction.opcode),
            };
            // Loads and stores: alignment, then offset.
            let first = match instruction.opcode {
                0x28..=0x3e => operands.iter().position(|byte| *byte < 128).map_or(0, |end| end + 1),
                _ => operands.len(),
            };
            let (own, offset) = operands.split_at(first);
            parts.operands[stream].extend(own);
            for (place, byte) in offset.iter().enumerate() {
                let stores = if instruction.opcode < 0x36 { 0 } else { 4 };
                parts.operands[OFFSETS + stores + place.min(3)].push(*byte);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::module::Module;
    use super::{OFFSETS, split};

    /// A module of one function: `i32.const 7; i32.load align=2 offset=300; drop; end`, a section for tools and one behind.
    const MODULE: [u8; 33] = [
        0, b'a', b's', b'm', 1, 0, 0, 0, 3, 2, 1, 5, 10, 11, 1, 9, 0, 0x41, 7, 0x28, 2, 0xac, 2, 0x1a, 0x0b, 0, 2, 1,
        b'x', 11, 2, 8, 9,
    ];

    #[test]
    fn code_is_sorted_and_nothing_is_lost() {
        let parts = split(&Module::read(&MODULE).expect("a module"));
        assert_eq!((parts.before, parts.after), (MODULE[..13].to_vec(), vec![11, 2, 8, 9]));
        assert_eq!((parts.functions, parts.locals, parts.opcodes), (1, vec![0], vec![0x41, 0x28, 0x1a, 0x0b]));
        let full: Vec<_> = parts.operands.iter().enumerate().filter(|(_, stream)| !stream.is_empty()).collect();
        let expected: [(usize, &[u8]); 4] =
            [(0x28, &[2]), (2 * 256 + 0x28, &[7]), (OFFSETS, &[0xac]), (OFFSETS + 1, &[2])];
        assert_eq!(full, expected.map(|(stream, bytes)| (stream, bytes.to_vec())).each_ref().map(|(s, b)| (*s, b)));
    }

    #[test]
    fn what_is_unknown_is_said() {
        let mut module = MODULE;
        module[17] = 0xfd;
        assert!(Module::read(&module).err().expect("a vector instruction").contains("0xfd"));
        assert!(Module::read(&MODULE[..19]).is_err() && Module::read(b"\0asm\x01\0\0\0").is_err());
    }
}
