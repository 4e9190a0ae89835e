//! Indexes and headers of safetensors: names, shapes, and so the exact count of parameters.

use super::{Json, Shape};
use crate::catalog::{Catalog, Model};
use crate::project::Field;
use crate::project::import::{Basis, Hints, Note, Piece, Reading, Text};

/// How far two counts of parameters may be apart for one model: other heads, other positions.
const SAME_SIZE: f64 = 0.004;

/// Bytes of a parameter in files of today's models (bf16, fp16).
const BYTES_STORED: u64 = 2;

/// Longest header of a safetensors file that is read.
const LONGEST_HEADER: usize = 16 << 20;

/// Reads `model.safetensors.index.json`, or a header as text; false where it is neither.
pub(super) fn read_index(json: &Json, text: &Text, hints: Hints<'_>, reading: &mut Reading) -> bool {
    if let Some((map, at)) = json.entry("weight_map") {
        let names: Vec<&str> = map.entries().iter().map(|(name, ..)| name.as_str()).collect();
        let size = json.get("metadata").and_then(|m| m.get("total_size")).and_then(Json::size);
        let counted = json.get("metadata").and_then(|m| m.get("total_parameters")).and_then(Json::size);
        let params = counted.or_else(|| size.map(|bytes| bytes / BYTES_STORED));
        if let Some(params) = params {
            let note = if counted.is_some() { Note::Parameters } else { Note::ParametersOfSize };
            reading.notes.push(note(params));
        }
        let shape = Shape {
            layers: layers(&names),
            tied: Some(!has_head(&names)),
            experts: experts(&names),
            ..Shape::default()
        };
        return by_size(params, &shape, &text.piece_at(at), hints, reading);
    }
    let from = json.entries().first().map(|(.., at)| text.piece_at(*at)).unwrap_or_default();
    read_tensors(json, &from, hints, reading)
}

/// Reads the beginning of a `.safetensors` file; false where it is none.
pub(super) fn read_header(bytes: &[u8], hints: Hints<'_>, reading: &mut Reading) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else { return false };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if rest.first() != Some(&b'{') || !(2..=LONGEST_HEADER).contains(&length) {
        return false;
    }
    let header = String::from_utf8_lossy(rest.get(..length.min(rest.len())).unwrap_or_default());
    Json::find(&header).is_some_and(|json| read_tensors(&json, &Piece::default(), hints, reading))
}

/// Names and shapes of tensors.
fn read_tensors(json: &Json, from: &Piece, hints: Hints<'_>, reading: &mut Reading) -> bool {
    let sizes = |entry: &Json| -> Option<Vec<u64>> {
        entry.get("dtype")?;
        // A dimension that is no number, or none at all, is a scalar's.
        Some(entry.get("shape")?.list().iter().filter_map(Json::size).collect())
    };
    let tensors: Vec<(&str, Vec<u64>)> =
        json.entries().iter().filter_map(|(name, entry, _)| Some((name.as_str(), sizes(entry)?))).collect();
    if tensors.is_empty() {
        return false;
    }
    let count = |shape: &Vec<u64>| shape.iter().fold(1_u64, |all, n| all.saturating_mul(*n));
    let params = tensors.iter().fold(0_u64, |sum, (_, shape)| sum.saturating_add(count(shape)));
    let first =
        |ends: &[&str]| tensors.iter().find(|(name, _)| ends.iter().any(|end| name.ends_with(end))).map(|(_, s)| s);
    if let Some(down) = first(&["lora_A.weight", "lora_A.default.weight", "lora_down.weight", "lora.down.weight"]) {
        // The file of an adapter: its rank is the first dimension of the thin matrix.
        if let Some(rank) = down.first() {
            reading.add(Field::Method, "lora", Basis::Implied, from.clone());
            reading.add(Field::LoraRank, rank.to_string(), Basis::Stated, from.clone());
        }
        reading.notes.push(Note::Parameters(params));
        return true;
    }
    let packed = json
        .entries()
        .iter()
        .any(|(_, entry, _)| matches!(entry.get("dtype").and_then(Json::text), Some("U8" | "I32" | "I8")));
    if !packed {
        reading.notes.push(Note::Parameters(params));
    }
    let names: Vec<&str> = tensors.iter().map(|(name, _)| *name).collect();
    let table = first(&[
        "embed_tokens.weight",
        "wte.weight",
        "word_embeddings.weight",
        "tok_embeddings.weight",
        "embed_in.weight",
        "shared.weight",
    ]);
    let up = first(&[
        "up_proj.weight",
        "fc1.weight",
        "dense_h_to_4h.weight",
        "intermediate.dense.weight",
        "w3.weight",
        "wi_0.weight",
        "wi.weight",
    ]);
    let transposed = first(&["c_fc.weight"]);
    let shape = Shape {
        layers: layers(&names),
        hidden: table.and_then(|s| s.get(1).copied()),
        vocab: table.and_then(|s| s.first().copied()),
        intermediate: up
            .and_then(|s| s.first())
            .or_else(|| transposed.and_then(|s| s.get(1)))
            .copied()
            .filter(|_| !packed),
        tied: Some(!has_head(&names)),
        experts: experts(&names),
        ..Shape::default()
    };
    by_size((!packed).then_some(params), &shape, from, hints, reading)
}

/// The model with this many parameters, or what the shapes allow.
fn by_size(params: Option<u64>, shape: &Shape, from: &Piece, hints: Hints<'_>, reading: &mut Reading) -> bool {
    if let Some(model) = params.and_then(|params| nearest(params, shape, hints.catalog)) {
        reading.add(Field::Model, model.id, Basis::Implied, from.clone());
        return true;
    }
    let (Some(params), Some(layers)) = (params, shape.layers) else {
        return shape.tell("", from, hints, reading) || params.is_some();
    };
    // A block has about 12 times the square of its width in weights, the table the width times the words.
    let per_layer = params as f64 / layers as f64 / 12.0;
    let width = (per_layer.sqrt() / 64.0).round().max(1.0) as u64 * 64;
    Shape { hidden: shape.hidden.or(Some(width)), ..shape.clone() }.tell("", from, hints, reading)
}

/// The catalog's model of this size: with the same layers where both are language models.
fn nearest<'a>(params: u64, shape: &Shape, catalog: &'a Catalog) -> Option<&'a Model> {
    let gap = |m: &Model| (m.params as f64 / params.max(1) as f64).ln().abs();
    let same = |m: &Model| match (m.language(), shape.layers) {
        (Some(l), Some(layers)) => {
            u64::from(l.layers) == layers
                && shape.hidden.is_none_or(|n| n == u64::from(l.hidden))
                && shape.vocab.is_none_or(|n| n == u64::from(l.vocab))
        }
        (None, Some(_)) => shape.vocab.is_none(),
        _ => true,
    };
    let near = catalog.models.iter().filter(|m| m.params > 1_000_000 && gap(m) < SAME_SIZE && same(m));
    near.min_by(|a, b| gap(a).total_cmp(&gap(b)))
}

/// One more than the largest number behind `layers.`, `h.`, `blocks.` and their like.
fn layers(names: &[&str]) -> Option<u64> {
    const BEFORE: &[&str] = &["layers", "h", "layer", "block", "blocks", "transformer_blocks"];
    let index = |name: &str| {
        let mut parts = name.split('.');
        parts.find(|part| BEFORE.contains(part))?;
        parts.next()?.parse::<u64>().ok().filter(|n| *n < 10_000)
    };
    // The vision tower's layers do not count.
    let of_language = names.iter().filter(|name| !name.contains("vision") && !name.contains("visual"));
    of_language.filter_map(|name| index(name)).max().map(|n| n + 1)
}

fn experts(names: &[&str]) -> Option<u64> {
    let index = |name: &str| name.split_once(".experts.")?.1.split('.').next()?.parse::<u64>().ok();
    names.iter().filter_map(|name| index(name)).max().filter(|n| *n < 100_000).map(|n| n + 1)
}

fn has_head(names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| ["lm_head.weight", "output.weight", "embed_out.weight"].iter().any(|head| name.ends_with(head)))
}
