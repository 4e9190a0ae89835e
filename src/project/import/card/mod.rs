//! Listings of cards.

use super::{Basis, Hints, Reading, Text, TextKind};
use crate::project::Field;
use crate::units::Bytes;

/// A card as a listing shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedCard {
    /// Name as printed.
    pub name: String,
    /// Id in the catalog, or empty.
    pub id: String,
    /// Total memory, as printed.
    pub total: Option<Bytes>,
    /// Memory in use.
    pub used: Option<Bytes>,
}

/// Reads a listing of cards.
pub fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) {
    for line in text.lines().take(64).filter(|line| line.small.starts_with("gpu ")) {
        let Some((_, rest)) = line.text.split_once(": ") else { continue };
        let name = rest.split(" (UUID").next().unwrap_or_default();
        if let Some(card) = hints.catalog.resolve_gpu(name) {
            reading.is(TextKind::Cards);
            reading.add(Field::Gpu, card.id, Basis::Stated, line.piece());
        }
    }
}
