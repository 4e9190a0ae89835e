//! The header of GGUF, the file format of llama.cpp: keys with values, then the names and shapes of tensors.

use super::Shape;
use crate::project::import::{Hints, Note, Piece, Reading};

/// More keys or tensors than any file has: a broken header.
const TOO_MANY: u64 = 100_000;

/// Reads the beginning of a file; false where it is none.
pub(super) fn read(bytes: &[u8], hints: Hints<'_>, reading: &mut Reading) -> bool {
    let Some(rest) = bytes.strip_prefix(b"GGUF") else { return false };
    let mut cursor = Cursor { rest };
    let header = Header::read(&mut cursor).unwrap_or_default();
    if header.architecture.is_empty() {
        reading.notes.push(Note::Damaged);
        return true;
    }
    let number = |key: &str| {
        let key = format!("{}.{key}", header.architecture);
        header.numbers.iter().find(|(known, _)| *known == key).map(|(_, n)| *n).filter(|n| *n > 0)
    };
    if let Some(params) = header.params {
        reading.notes.push(Note::Parameters(params));
    }
    let shape = Shape {
        name: header.name.clone(),
        layers: number("block_count"),
        hidden: number("embedding_length"),
        intermediate: number("feed_forward_length"),
        heads: number("attention.head_count"),
        kv_heads: number("attention.head_count_kv"),
        head_dim: number("attention.key_length"),
        vocab: number("vocab_size").or(header.tokens),
        tied: header.params.map(|_| !header.has_head),
        experts: number("expert_count").filter(|n| *n > 1),
        experts_per_token: number("expert_used_count"),
        expert_width: number("expert_feed_forward_length"),
    };
    let from = Piece::new(0, &[header.name.as_str(), header.architecture.as_str()].join(" "));
    if !shape.tell(&header.architecture, &from, hints, reading) {
        let model = super::named(hints.catalog, &header.name);
        match model {
            Some(model) => reading.add(crate::project::Field::Model, model.id, super::Basis::Implied, from),
            None => reading.notes.push(Note::UnknownKind(header.architecture)),
        }
    }
    true
}

#[derive(Debug, Default)]
struct Header {
    architecture: String,
    name: String,
    numbers: Vec<(String, u64)>,
    tokens: Option<u64>,
    /// Parameters, where all tensors were seen.
    params: Option<u64>,
    has_head: bool,
}

impl Header {
    /// As far as the bytes go.
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let version = cursor.u32()?;
        let (tensors, keys) = (cursor.u64()?, cursor.u64()?);
        let mut header = Self::default();
        if !(2..=3).contains(&version) || tensors > TOO_MANY || keys > TOO_MANY {
            return Some(header);
        }
        for _ in 0..keys {
            if header.read_key(cursor).is_none() {
                // Cut, or of a kind that is not known.
                return Some(header);
            }
        }
        let mut params = 0_u64;
        for _ in 0..tensors {
            let Some((name, count)) = tensor(cursor) else { return Some(header) };
            header.has_head |= name == "output.weight";
            params = params.saturating_add(count);
        }
        header.params = Some(params).filter(|n| *n > 0);
        Some(header)
    }

    fn read_key(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let key = cursor.string()?;
        let kind = cursor.u32()?;
        match kind {
            8 => {
                let value = cursor.string()?;
                match key.as_str() {
                    "general.architecture" => self.architecture = value,
                    "general.name" => self.name = value,
                    _ => {}
                }
            }
            9 => {
                let (of, length) = (cursor.u32()?, cursor.u64()?);
                if key == "tokenizer.ggml.tokens" {
                    self.tokens = Some(length);
                }
                // Per-layer numbers: the first stands for all.
                let mut first = None;
                for at in 0..length {
                    let value = if of == 8 { cursor.string().map(|_| 0)? } else { cursor.number(of)? };
                    if at == 0 {
                        first = Some(value);
                    }
                }
                if let Some(first) = first {
                    self.numbers.push((key, first));
                }
            }
            _ => {
                let value = cursor.number(kind)?;
                self.numbers.push((key, value));
            }
        }
        Some(())
    }
}

/// Name and count of elements of a tensor.
fn tensor(cursor: &mut Cursor<'_>) -> Option<(String, u64)> {
    let name = cursor.string()?;
    let dimensions = cursor.u32()?.min(8);
    let mut count = 1_u64;
    for _ in 0..dimensions {
        count = count.saturating_mul(cursor.u64()?);
    }
    cursor.u32()?;
    cursor.u64()?;
    Some((name, count))
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Option<String> {
        let length = usize::try_from(self.u64()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(String::from_utf8_lossy(text.get(..length.min(256)).unwrap_or_default()).into_owned())
    }

    /// A number of one of GGUF's kinds; fractions as nothing.
    fn number(&mut self, kind: u32) -> Option<u64> {
        match kind {
            0 | 1 | 7 => self.take::<1>().map(|[byte]| u64::from(byte)),
            2 | 3 => self.take().map(|bytes| u64::from(u16::from_le_bytes(bytes))),
            4 | 5 => self.u32().map(u64::from),
            6 => self.u32().map(|_| 0),
            10 | 11 => self.u64(),
            12 => self.u64().map(|_| 0),
            _ => None,
        }
    }
}
