//! Listings of cards: `nvidia-smi` and its like of other makers, what frameworks print when they start, Windows' tools,
//! the names that browsers tell.
//!
//! A line that names a card is found by its words, whatever stands around it; memory comes from the same line or from
//! those that follow. Which card of the catalog it is follows from the name and, where one name has several sizes or is
//! cut off (`NVIDIA GeForce ...`), from the memory.

mod lines;
mod memory;
mod names;
mod processes;

pub use names::{Known, by_memory, known};

use super::{Basis, Hints, Note, Piece, Reading, Text, TextKind};
use crate::project::Field;
use crate::units::Bytes;
use lines::Line as Row;

/// A program on a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u64,
    /// Its name, as listed.
    pub name: String,
    /// What it holds; Windows does not tell.
    pub bytes: Option<Bytes>,
    /// It draws on the screen.
    pub draws: bool,
}

/// A card as a listing shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedCard {
    /// Its number in the listing.
    pub index: Option<u32>,
    /// Name as printed.
    pub name: String,
    /// Id in the catalog, or empty.
    pub id: String,
    /// Ids in the catalog that it may be, where it may be several.
    pub one_of: Vec<String>,
    /// Total memory, as printed.
    pub total: Option<Bytes>,
    /// Memory in use.
    pub used: Option<Bytes>,
    /// A screen hangs on it.
    pub screen: Option<bool>,
    /// What runs on it.
    pub processes: Vec<Process>,
    /// Named in running text, and not listed by a tool.
    pub mention: bool,
    /// Where it stands.
    pub from: Piece,
}

/// What kind of listing a line belongs to: the same card may be told by several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Listing {
    /// A line of its own, or in running text.
    Mention,
    /// What a framework prints.
    Banner,
    /// A tool of the maker or of the system.
    Tool,
}

/// Cards looked at.
const MOST: usize = 64;

/// Reads a listing of cards.
pub fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) {
    let mut rows = lines::cards(text);
    let listing = rows.iter().map(|row| row.listing).max();
    rows.retain(|row| Some(row.listing) == listing);
    memory::attach(text, &mut rows);
    let mut cards: Vec<ListedCard> = Vec::new();
    let sliced = memory::slice(text).is_some();
    for row in rows {
        // What a slice has is no sign of the card that it is cut from.
        let row = if sliced { Row { total: None, ..row } } else { row };
        let Some(card) = card(row, hints) else { continue };
        // `watch` prints the same table again and again: the last one counts.
        match cards.iter_mut().find(|old| old.index == card.index && (card.index.is_some() || old.name == card.name)) {
            Some(old) => *old = card,
            None => cards.push(card),
        }
    }
    processes::attach(text, &mut cards);
    if cards.is_empty() {
        if names_missing(text) {
            reading.is(TextKind::Cards);
            reading.notes.push(Note::NamesMissing);
        }
        return;
    }
    // An error's own log tells of cards, too.
    if listing > Some(Listing::Mention) || reading.kind == TextKind::Unknown {
        reading.is(TextKind::Cards);
    }
    settings(text, &cards, hints, reading);
    reading.cards = cards;
}

/// What the cards mean for the form.
fn settings(text: &Text, cards: &[ListedCard], hints: Hints<'_>, reading: &mut Reading) {
    let mut kinds: Vec<(&str, u32, Bytes)> = Vec::new();
    for card in cards.iter().filter(|card| !card.id.is_empty()) {
        let memory = hints.catalog.gpu(&card.id).map_or(Bytes::ZERO, |gpu| gpu.memory);
        match kinds.iter_mut().find(|(id, ..)| *id == card.id) {
            Some((_, count, _)) => *count += 1,
            None => kinds.push((&card.id, 1, memory)),
        }
    }
    if kinds.len() > 1 {
        reading.notes.push(Note::SeveralKinds);
    }
    let most = kinds.iter().max_by_key(|(_, count, memory)| memory.0.saturating_mul(u64::from(*count)));
    if let Some((id, count, _)) = most {
        let from = cards.iter().find(|card| card.id == *id).map(|card| card.from.clone()).unwrap_or_default();
        let devices = hints.catalog.gpu(id).map_or(1, |gpu| gpu.devices.max(1));
        reading.add(Field::Gpu, *id, Basis::Stated, from.clone());
        // Whoever lists one device of two on a board has the board.
        reading.add(Field::Count, count.div_ceil(devices).to_string(), Basis::Stated, from);
        let own = || cards.iter().filter(|card| card.id == *id);
        let draws = own().find(|card| card.screen == Some(true) || card.processes.iter().any(|p| p.draws));
        let tells = own().any(|card| card.screen.is_some());
        if let Some(card) = draws {
            reading.add(Field::Desktop, "on", Basis::Stated, card.from.clone());
        } else if let Some(card) = own().next().filter(|_| tells) {
            reading.add(Field::Desktop, "off", Basis::Stated, card.from.clone());
        }
    }
    // Which of several like cards it is does not matter to what hangs on it.
    if most.is_none()
        && let Some(card) =
            cards.iter().find(|card| card.screen == Some(true) || card.processes.iter().any(|p| p.draws))
    {
        reading.add(Field::Desktop, "on", Basis::Stated, card.from.clone());
    }
    for card in cards.iter().filter(|card| card.id.is_empty()) {
        let note = if card.one_of.is_empty() {
            Note::UnknownCard(card.name.clone())
        } else {
            Note::OneOf(card.name.clone(), card.one_of.clone())
        };
        if !reading.notes.contains(&note) {
            reading.notes.push(note);
        }
    }
    if let Some(slice) = memory::slice(text) {
        reading.notes.push(Note::Slice(slice));
    }
}

/// A line as a card; `None` where it only seemed to name one.
fn card(row: Row, hints: Hints<'_>) -> Option<ListedCard> {
    let known = known(&row.name, row.total, hints.catalog);
    let (id, one_of) = match known {
        Known::One(id) => (id.to_string(), Vec::new()),
        Known::OneOf(ids) => (String::new(), ids.into_iter().map(str::to_string).collect()),
        Known::Inside => return None,
        Known::None if row.listing == Listing::Mention || !row.name.contains(|c: char| c.is_ascii_digit()) => {
            return None;
        }
        Known::None => (String::new(), Vec::new()),
    };
    if row.listing == Listing::Mention && id.is_empty() {
        return None;
    }
    Some(ListedCard {
        index: row.index,
        name: row.name,
        id,
        one_of,
        total: row.total,
        used: row.used,
        screen: row.screen,
        processes: Vec::new(),
        mention: row.listing == Listing::Mention,
        from: row.from,
    })
}

/// A table that lists cards by number alone.
fn names_missing(text: &Text) -> bool {
    let small = text.small();
    small.contains("rocm system management interface") || (small.contains("vram%") && small.contains("pwrcap"))
}
