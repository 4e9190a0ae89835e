//! The loader that wasm-bindgen writes, without what this page never calls. It is made for pages that may use all that a
//! dependency exports; this one only starts.

use std::collections::{BTreeMap, BTreeSet};

use super::module::Module;
use super::tidy;
use crate::shell::Outcome;

/// Where everything begins, and where the wasm's imports are listed.
const START: &str = "__wbg_init";
const IMPORTS: &str = "__wbg_get_imports";

/// A declaration at the margin, with what follows it up to the next one.
struct Part<'a> {
    names: BTreeSet<&'a str>,
    lines: Vec<&'a str>,
}

/// Leaves out of the loader and the module what the other one does not use, and shortens the names of imports. Returns the
/// loader.
pub(super) fn shorten(loader: &str, module: &mut Module) -> Outcome<String> {
    let mut parts = parts(loader);
    loop {
        let used = used(&parts);
        parts.retain(|part| part.names.iter().any(|name| used.contains(name)));
        let exports = exports(&parts);
        let before = (module.functions.len(), module.imports().len());
        module.keep_exports(&exports)?;
        tidy::keep_used(module)?;
        let imports = module.imports();
        for part in parts.iter_mut().filter(|part| part.names.contains(IMPORTS)) {
            let mut inside = None;
            part.lines.retain(|line| {
                inside = inside.or_else(|| import(line));
                let stays = inside.is_none_or(|name| imports.contains(name));
                if line.starts_with("        }") && line.ends_with("},") {
                    inside = None;
                }
                stays
            });
        }
        if before == (module.functions.len(), imports.len()) {
            break;
        }
    }
    let text = parts.into_iter().flat_map(|part| part.lines).fold(String::new(), |text, line| text + line + "\n");
    let short: BTreeMap<String, String> =
        module.imports().into_iter().enumerate().map(|(at, name)| (name, format!("i{at}"))).collect();
    module.rename_imports(&short);
    Ok(text
        .split('\n')
        .map(|line| match import(line).and_then(|name| Some((name, short.get(name)?))) {
            Some((name, new)) => line.replacen(name, new, 1),
            None => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n"))
}

/// The declarations of a script, without comments that are lines of their own.
fn parts(script: &str) -> Vec<Part<'_>> {
    let mut parts = vec![Part { names: BTreeSet::from([START]), lines: Vec::new() }];
    let comment = |line: &&str| !["//", "/*", "*"].iter().any(|mark| line.trim_start().starts_with(mark));
    for line in script.lines().filter(comment).filter(|line| !line.starts_with("export {")) {
        let names = declared(line);
        if !names.is_empty() {
            parts.push(Part { names, lines: Vec::new() });
        }
        if let Some(part) = parts.last_mut() {
            part.lines.push(line);
        }
    }
    parts
}

/// What a line at the margin declares.
fn declared(line: &str) -> BTreeSet<&str> {
    let mut rest = line;
    for word in ["export ", "default ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let one = ["function ", "class ", "const "].iter().find_map(|word| rest.strip_prefix(word));
    if let Some(declared) = one {
        return words(declared).take(1).collect();
    }
    let Some(declared) = rest.strip_prefix("let ") else { return BTreeSet::new() };
    declared.split([',', ';']).filter_map(|one| words(one).next()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !(sign.is_ascii_alphanumeric() || matches!(sign, '_' | '$')))
        .filter(|word| !word.is_empty())
}

/// The names that are used from the start on.
fn used<'a>(parts: &[Part<'a>]) -> BTreeSet<&'a str> {
    let mut used = BTreeSet::new();
    let mut open = vec![START];
    while let Some(name) = open.pop() {
        if used.insert(name) {
            let with = parts.iter().filter(|part| part.names.contains(name));
            open.extend(
                with.flat_map(|part| &part.lines).flat_map(|line| words(line)).filter(|word| !used.contains(word)),
            );
        }
    }
    used
}

/// What the loader takes of the wasm.
fn exports(parts: &[Part<'_>]) -> BTreeSet<String> {
    let lines = parts.iter().flat_map(|part| &part.lines);
    let taken = lines.flat_map(|line| line.split("wasm.").skip(1).filter_map(|rest| words(rest).next()));
    taken.map(str::to_owned).collect()
}

/// The import whose function begins in this line.
fn import(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("        ")?.split_once(": function(")?;
    (words(name).next() == Some(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Module, shorten};

    const LOADER: &str = "\
export class Unused {
    free() {
        wasm.free_unused();
    }
}
if (Symbol.dispose) Unused.prototype[Symbol.dispose] = Unused.prototype.free;
function __wbg_get_imports() {
    const import0 = {
        __proto__: null,
        __wbg_needed_1: function(arg0) {
            return help(arg0);
        },
        __wbg_unused_2: function() { return handleError(function (arg0) {
            return other(arg0);
        }, arguments); },
    };
    return { \"./a.js\": import0 };
}
// Comments may say other and wasm.free_unused().
function help(arg0) {
    return arg0;
}
function other(arg0) {
    return arg0;
}
let wasm, more;
async function __wbg_init(module) {
    const imports = __wbg_get_imports();
    wasm = (await WebAssembly.instantiate(module, imports)).exports;
    wasm.begin();
}

export { __wbg_init as default };
";

    #[test]
    fn loader_and_module_keep_what_the_other_one_uses() {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        let import = |name: &[u8]| [&[4], b"a.js".as_slice(), &[14], name, &[0, 0]].concat();
        let sections: [(u8, Vec<u8>); 5] = [
            (1, vec![1, 0x60, 0, 0]),
            (2, [vec![2], import(b"__wbg_unused_2"), import(b"__wbg_needed_1")].concat()),
            (3, vec![2, 0, 0]),
            (7, [vec![2, 11], b"free_unused".to_vec(), vec![0, 2, 5], b"begin".to_vec(), vec![0, 3]].concat()),
            // The first calls the unused import, the second the needed one.
            (10, vec![2, 4, 0, 0x10, 0, 0x0b, 4, 0, 0x10, 1, 0x0b]),
        ];
        for (id, body) in sections {
            bytes.extend([id, u8::try_from(body.len()).expect("short")]);
            bytes.extend(body);
        }
        let mut module = Module::read(&bytes).expect("a module");
        let loader = shorten(LOADER, &mut module).expect("shortened");
        assert!(!loader.contains("nused") && !loader.contains("other") && !loader.contains("needed"), "{loader}");
        assert!(
            loader.contains("        i0: function(arg0) {\n            return help(arg0);\n        },\n    };"),
            "{loader}"
        );
        assert!(loader.contains("function help(arg0) {") && loader.contains("let wasm, more;"), "{loader}");
        assert_eq!((module.imported, module.functions.len()), (1, 1));
        assert_eq!(module.imports().into_iter().collect::<Vec<_>>(), ["i0"]);
        assert_eq!(module.functions[0].code[0].function(), Some(0));
    }
}
