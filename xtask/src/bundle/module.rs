//! A module of wasm as functions and instructions, so far as sorting and tidying it needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::shell::Outcome;

/// The ids of sections. Those for tools are left out when a module is read.
const CUSTOM: u8 = 0;
const IMPORT: u8 = 2;
const FUNCTION: u8 = 3;
const GLOBAL: u8 = 6;
const EXPORT: u8 = 7;
const START: u8 = 8;
const ELEMENT: u8 = 9;
const CODE: u8 = 10;

/// Opcodes that more than one place knows.
pub(super) const CALL: u8 = 0x10;
const RETURN_CALL: u8 = 0x12;
const REF_FUNC: u8 = 0xd2;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Instruction {
    pub(super) opcode: u8,
    /// What stands behind the opcode, as in the module.
    pub(super) operands: Vec<u8>,
}

impl Instruction {
    /// The function that is called or named.
    pub(super) fn function(&self) -> Option<usize> {
        if !matches!(self.opcode, CALL | RETURN_CALL | REF_FUNC) {
            return None;
        }
        Reader::new(&self.operands).number().ok()
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Function {
    /// The number of its type.
    pub(super) kind: usize,
    /// The declarations of its local variables, as in the module.
    pub(super) locals: Vec<u8>,
    pub(super) code: Vec<Instruction>,
}

/// What is imported: the names as in the module, and what it is.
struct Import {
    from: Vec<u8>,
    name: String,
    kind: Vec<u8>,
}

impl Import {
    fn is_function(&self) -> bool {
        self.kind.first() == Some(&0)
    }
}

/// A module: its sections with their ids, in order, and its own functions, whose numbers follow those of the imported.
pub(super) struct Module {
    sections: Vec<(u8, Vec<u8>)>,
    imports: Vec<Import>,
    pub(super) imported: usize,
    pub(super) functions: Vec<Function>,
}

impl Module {
    pub(super) fn read(bytes: &[u8]) -> Outcome<Self> {
        let mut at = Reader { bytes, at: 8 };
        let mut module = Self { sections: Vec::new(), imports: Vec::new(), imported: 0, functions: Vec::new() };
        let (mut kinds, mut coded) = (Vec::new(), false);
        while at.at < bytes.len() {
            let id = at.byte()?;
            let length = at.number()?;
            let body = bytes.get(at.at..at.at + length).ok_or("the wasm breaks off.")?;
            let mut inside = Reader::new(body);
            match id {
                IMPORT => {
                    module.imports = imports(&mut inside)?;
                    module.imported = module.imports.iter().filter(|one| one.is_function()).count();
                }
                FUNCTION => {
                    for _ in 0..inside.number()? {
                        kinds.push(inside.number()?);
                    }
                }
                CODE => {
                    coded = true;
                    let count = inside.number()?;
                    if count != kinds.len() {
                        return Err("the wasm has not as many functions as it says.".to_owned());
                    }
                    for kind in &kinds {
                        module.functions.push(function(&mut inside, *kind)?);
                    }
                    if inside.at != body.len() {
                        return Err("the code of the wasm does not end where it says.".to_owned());
                    }
                }
                _ => {}
            }
            if id != CUSTOM {
                module.sections.push((id, if id == CODE { Vec::new() } else { body.to_vec() }));
            }
            at.at += length;
        }
        if coded { Ok(module) } else { Err("the wasm has no code.".to_owned()) }
    }

    /// What stands in the first section with this id.
    fn section(&mut self, id: u8) -> Option<&mut Vec<u8>> {
        self.sections.iter_mut().find(|(own, _)| *own == id).map(|(_, body)| body)
    }

    /// The bytes before the length of the code, and those behind the code.
    pub(super) fn around(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut before, mut after, mut coded) = (b"\0asm\x01\0\0\0".to_vec(), Vec::new(), false);
        for (id, body) in &self.sections {
            let mut made = Vec::new();
            let body = match *id {
                IMPORT => {
                    made.extend(written(self.imports.len()));
                    for import in &self.imports {
                        made.extend(written(import.from.len()));
                        made.extend(&import.from);
                        made.extend(written(import.name.len()));
                        made.extend(import.name.as_bytes());
                        made.extend(&import.kind);
                    }
                    &made
                }
                FUNCTION => {
                    made.extend(written(self.functions.len()));
                    made.extend(self.functions.iter().flat_map(|function| written(function.kind)));
                    &made
                }
                _ => body,
            };
            let out = if coded { &mut after } else { &mut before };
            out.push(*id);
            if *id == CODE {
                coded = true;
            } else {
                out.extend(written(body.len()));
                out.extend(body);
            }
        }
        (before, after)
    }

    /// The names of what is imported.
    pub(super) fn imports(&self) -> BTreeSet<String> {
        self.imports.iter().map(|import| import.name.clone()).collect()
    }

    /// Leaves out the imported functions that `used` does not hold, by number. Their numbers are still those of before.
    pub(super) fn keep_imports(&mut self, used: &[bool]) {
        let mut used = used.iter().copied();
        self.imports.retain(|import| !import.is_function() || used.next().unwrap_or(true));
        self.imported = self.imports.iter().filter(|one| one.is_function()).count();
    }

    /// Gives imports other names.
    pub(super) fn rename_imports(&mut self, names: &BTreeMap<String, String>) {
        for import in &mut self.imports {
            if let Some(name) = names.get(&import.name) {
                import.name.clone_from(name);
            }
        }
    }

    /// Leaves out exports that have none of these names.
    pub(super) fn keep_exports(&mut self, names: &BTreeSet<String>) -> Outcome<()> {
        let Some(section) = self.section(EXPORT) else { return Ok(()) };
        let mut at = Reader::new(section);
        let (mut count, mut kept) = (0, Vec::new());
        for _ in 0..at.number()? {
            let from = at.at;
            let name = at.name()?;
            at.byte()?;
            at.number()?;
            if names.iter().any(|one| one.as_bytes() == name) {
                count += 1;
                kept.extend(at.since(from)?);
            }
        }
        *section = written(count).into_iter().chain(kept).collect();
        Ok(())
    }

    /// Gives each function that is named outside of the code the number that `change` gives for its old one.
    pub(super) fn change_names(&mut self, change: &mut dyn FnMut(usize) -> usize) -> Outcome<()> {
        for (id, body) in &mut self.sections {
            let mut at = Reader::new(body);
            let (mut new, mut from) = (Vec::new(), 0);
            match *id {
                GLOBAL => {
                    for _ in 0..at.number()? {
                        at.at += 2;
                        at.constant()?;
                    }
                }
                START => {
                    new.extend(written(change(at.number()?)));
                    from = at.at;
                }
                EXPORT => {
                    for _ in 0..at.number()? {
                        let name = at.number()?;
                        at.at += name;
                        let function = at.byte()? == 0;
                        new.extend(at.since(from)?);
                        let number = at.number()?;
                        new.extend(written(if function { change(number) } else { number }));
                        from = at.at;
                    }
                }
                ELEMENT => {
                    for _ in 0..at.number()? {
                        let flags = at.number()?;
                        if flags > 3 {
                            return Err(format!("the wasm has elements of kind {flags}, which module.rs cannot read."));
                        }
                        if flags == 2 {
                            at.number()?;
                        }
                        if flags % 2 == 0 {
                            at.constant()?;
                        }
                        if flags > 0 {
                            at.byte()?;
                        }
                        let count = at.number()?;
                        new.extend(at.since(from)?);
                        for _ in 0..count {
                            new.extend(written(change(at.number()?)));
                        }
                        from = at.at;
                    }
                }
                _ => continue,
            }
            new.extend(at.since(from)?);
            *body = new;
        }
        Ok(())
    }

    /// The same for functions that the code names.
    pub(super) fn change_calls(&mut self, change: &mut dyn FnMut(usize) -> usize) {
        for instruction in self.functions.iter_mut().flat_map(|function| &mut function.code) {
            if let Some(number) = instruction.function() {
                instruction.operands = written(change(number));
            }
        }
    }
}

fn imports(at: &mut Reader<'_>) -> Outcome<Vec<Import>> {
    let mut imports = Vec::new();
    for _ in 0..at.number()? {
        let from = at.name()?;
        let name = String::from_utf8(at.name()?).map_err(|_| "the wasm imports what has no name.".to_owned())?;
        let start = at.at;
        match at.byte()? {
            0 => at.numbers(1)?,
            kind @ (1 | 2) => {
                at.at += usize::from(kind == 1);
                let bounded = at.number()? & 1 == 1;
                at.numbers(1 + usize::from(bounded))?;
            }
            3 => at.at += 2,
            other => return Err(format!("the wasm imports a thing of kind {other}, which module.rs cannot read.")),
        }
        imports.push(Import { from, name, kind: at.since(start)? });
    }
    Ok(imports)
}

fn function(at: &mut Reader<'_>, kind: usize) -> Outcome<Function> {
    let start = at.at;
    let size = at.number()?;
    let from = at.at;
    for _ in 0..at.number()? {
        at.number()?;
        at.byte()?;
    }
    let locals = at.since(from)?;
    let (mut code, mut open) = (Vec::new(), 1_u32);
    while open > 0 {
        let instruction = at.instruction()?;
        match instruction.opcode {
            0x02..=0x04 => open += 1,
            0x0b => open -= 1,
            _ => {}
        }
        code.push(instruction);
    }
    // The other side writes the size itself, as short as can be.
    if at.at == from + size && from - start == written(size).len() {
        Ok(Function { kind, locals, code })
    } else {
        Err("a function of the wasm does not end where it says.".to_owned())
    }
}

/// A number as LEB128, as short as can be.
fn written(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = number.to_le_bytes()[0] & 127;
        number >>= 7;
        bytes.push(if number > 0 { low | 128 } else { low });
        if number == 0 {
            return bytes;
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn byte(&mut self) -> Outcome<u8> {
        let byte = *self.bytes.get(self.at).ok_or("the wasm breaks off.")?;
        self.at += 1;
        Ok(byte)
    }

    fn name(&mut self) -> Outcome<Vec<u8>> {
        let length = self.number()?;
        let from = self.at;
        self.at += length;
        self.since(from)
    }

    fn since(&self, from: usize) -> Outcome<Vec<u8>> {
        Ok(self.bytes.get(from..self.at).ok_or("the wasm breaks off.")?.to_vec())
    }

    fn instruction(&mut self) -> Outcome<Instruction> {
        let opcode = self.byte()?;
        let from = self.at;
        self.operands(opcode)?;
        Ok(Instruction { opcode, operands: self.since(from)? })
    }

    /// Steps over an expression that gives a constant; it may name no function.
    fn constant(&mut self) -> Outcome<()> {
        loop {
            match self.instruction()?.opcode {
                0x0b => return Ok(()),
                REF_FUNC => return Err("the wasm has a constant function, which module.rs cannot renumber.".to_owned()),
                _ => {}
            }
        }
    }

    /// Steps over what stands behind an opcode.
    fn operands(&mut self, opcode: u8) -> Outcome<()> {
        match opcode {
            // Blocks, branches, calls, variables, memory, constants, references.
            0x02..=0x04 | 0x0c | 0x0d | 0x10 | 0x12 | 0x20..=0x26 | 0x3f..=0x42 | 0xd0 | 0xd2 => self.numbers(1),
            // Calls through a table; loads and stores: alignment, then offset.
            0x11 | 0x13 | 0x28..=0x3e => self.numbers(2),
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
                        return Err(format!("the wasm has an instruction 0xfc {other}, which module.rs cannot read."));
                    }
                };
                self.numbers(count)
            }
            0x00 | 0x01 | 0x05 | 0x0b | 0x0f | 0x1a | 0x1b | 0x45..=0xc4 | 0xd1 => Ok(()),
            other => Err(format!("the wasm has an instruction {other:#x}, which module.rs cannot read.")),
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
