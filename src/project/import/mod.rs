//! Doors in: what people have at hand, read into settings. An error, a listing of cards, a model's file, a script.
//!
//! One total function, [`read`]: any text gives a [`Reading`], in time linear in its length. A reading holds keys and
//! values of the share link ([`super::link`]), each with the piece of text it was read from; it is applied by
//! [`Reading::apply`] and refused field by field where a value does not go, as a link is.
//!
//! Each reader is a function of the text and of what was read before it; it adds what it knows and says what kind of
//! text it is, if that is still open:
//!
//! | folder | reads |
//! | --- | --- |
//! | `error` | memory that ran out: messages of frameworks, the traceback above them |
//! | `card` | listings of cards: `nvidia-smi` and its like, the names that browsers tell |
//! | `model` | what a model is made of: `config.json`, indexes and headers of weights, tables of layers |
//! | `script` | how a training is started: command lines, arguments, YAML |
//! | `said` | a sentence that names a card or a model |

pub mod card;
pub mod error;
pub mod model;
mod reading;
pub mod said;
pub mod script;
pub mod text;

pub use reading::{Basis, Found, Note, Piece, Reading, TextKind};
pub use text::{Line, Text};

use crate::catalog::Catalog;

/// What is known beside the text itself.
#[derive(Clone, Copy)]
pub struct Hints<'a> {
    /// Name of the file it came in, or empty.
    pub name: &'a str,
    /// What exists, to know names by.
    pub catalog: &'a Catalog,
}

impl<'a> Hints<'a> {
    /// A text that was pasted.
    pub const fn pasted(catalog: &'a Catalog) -> Self {
        Self { name: "", catalog }
    }
}

/// Reads any text.
///
/// ```
/// use enough_gpu::catalog::Catalog;
/// use enough_gpu::project::import::{Hints, TextKind, read};
///
/// let catalog = Catalog::bundled();
/// let reading = read("GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-0)", Hints::pasted(&catalog));
/// assert_eq!(reading.kind, TextKind::Cards);
/// assert_eq!(reading.found[0].value, "rtx-4090");
/// assert!(read("Lorem ipsum", Hints::pasted(&catalog)).is_empty());
/// ```
pub fn read(raw: &str, hints: Hints<'_>) -> Reading {
    let text = Text::new(raw);
    let mut reading = Reading::default();
    if text.is_empty() {
        return reading;
    }
    for reader in [error::read, card::read, model::read, script::read, said::read] {
        reader(&text, hints, &mut reading);
    }
    if text.is_cut() {
        reading.notes.push(Note::Cut { read: text::LONGEST, of: raw.len() });
    }
    reading
}

/// Reads any file: a text in any of the usual encodings, or the beginning of a file of weights.
pub fn read_file(bytes: &[u8], hints: Hints<'_>) -> Reading {
    if let Some(reading) = model::read_binary(bytes, hints) {
        return reading;
    }
    read(&decoded(bytes), hints)
}

/// UTF-8, or the UTF-16 that PowerShell writes with `>`.
fn decoded(bytes: &[u8]) -> String {
    let units = |of: fn([u8; 2]) -> u16| {
        let units = bytes.get(2..).unwrap_or_default().chunks_exact(2);
        let units = units.map(|pair| of([pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)]));
        char::decode_utf16(units).map(|sign| sign.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
