//! What was typed, cleaned, and how it is held against rows and aliases.

use super::super::tables;
use super::Alias;
use super::score::Weighed;
use super::token::{Tokens, Unit, compact};

/// Below this a row is no answer.
const LEAST: f64 = 0.3;

/// Below this a row is only offered, even if it is the only one.
const LEAST_EXACT: f64 = 0.75;

/// How far the second must lie behind the best for the best to be the only answer.
const LEAD: f64 = 0.03;

/// Score of a row whose id, name or repository was typed, but for capitals.
const BY_ID: f64 = 0.999;

/// Score of a row whose name was typed, but for spaces and signs.
const SPELLED: f64 = 0.995;

/// The same, but for what people hang on to names.
const BARE: f64 = 0.99;

/// Most that a row may score whose name was taken for that of a family.
pub(super) const FAMILY: f64 = 0.97;

/// What a row is known by.
#[derive(Clone, Copy)]
pub(super) struct Names {
    /// Its id.
    pub(super) id: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// Its Hugging Face repository, or empty.
    pub(super) repo: &'static str,
    /// Memory of a card in thousandths of a GiB.
    pub(super) memory: Option<u64>,
}

/// A row that answers, by its place in the table.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) place: usize,
    pub(super) score: f64,
    pub(super) exact: bool,
}

/// What was typed.
pub(super) struct Query {
    /// As typed, without spaces around it.
    raw: String,
    /// Small letters, without owner or address, words of other languages replaced.
    text: String,
    /// `text` as letters and digits alone, without explanations in brackets.
    compact: String,
    /// The same without fillers (`GeForce`) and what people hang on to names (`-Instruct`, `-bnb-4bit`).
    bare: String,
}

/// How an alias agrees with the query.
#[derive(Clone, Copy, PartialEq)]
enum Spelling {
    /// But for spaces and signs.
    Spelled,
    /// But for fillers and suffixes.
    Bare,
    /// Only more or less.
    Near(f64),
}

impl Query {
    /// A query for a model, which may come with an owner or an address.
    pub(super) fn of_model(raw: &str) -> Self {
        Self::new(raw, without_owner)
    }

    /// A query for a card.
    pub(super) fn of_gpu(raw: &str) -> Self {
        Self::new(raw, |text| text)
    }

    fn new(raw: &str, name: fn(&str) -> &str) -> Self {
        let raw = raw.trim().trim_end_matches('/');
        let small: String = raw.chars().map(|c| half_width(c).to_ascii_lowercase()).collect();
        let text = replace_words(name(&small));
        let main = text.split_once('(').map_or(text.as_str(), |(main, _)| main);
        let spelled = compact(if main.trim().is_empty() { &text } else { main }).collect();
        let tokens = Tokens::of(&text);
        let weighed = Weighed::new(tokens.as_slice());
        let telling = tokens.as_slice().iter().enumerate().filter(|(index, _)| weighed.is_telling(*index));
        let bare = telling.flat_map(|(_, token)| {
            let unit = match token.unit {
                Unit::None => "",
                Unit::Billions => "b",
                Unit::Millions => "m",
                Unit::Gigabytes => "gb",
            };
            compact(token.text).chain(unit.chars())
        });
        let bare = bare.collect();
        Self { raw: raw.to_owned(), compact: spelled, bare, text }
    }

    /// As typed, without spaces around it.
    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// Rows that answer, in the order of the table.
    pub(super) fn search(&self, rows: &[Names], aliases: &[Alias]) -> Vec<Found> {
        let tokens = Tokens::of(&self.text);
        if tokens.as_slice().is_empty() {
            return Vec::new();
        }
        let weighed = Weighed::new(tokens.as_slice());
        let mut found = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let (score, exact) = self.compare(&weighed, row);
            if score >= LEAST {
                found.push(Found { place, score, exact });
            }
        }
        for alias in aliases {
            let Some(spelling) = self.compare_alias(&weighed, alias) else { continue };
            let (score, above) = match (spelling, alias.sure) {
                (Spelling::Near(score), _) => (score, 2.0),
                (Spelling::Spelled, true) => (BY_ID, 2.0),
                (Spelling::Bare, true) => (BARE, 2.0),
                (Spelling::Spelled, false) => (FAMILY + 0.01, BY_ID),
                (Spelling::Bare, false) => (FAMILY + 0.01, SPELLED),
            };
            if above < 2.0 {
                // The name of a family: whatever else is called so is only one of its members.
                for hit in found.iter_mut().filter(|hit| hit.score < above) {
                    (hit.score, hit.exact) = (hit.score.min(FAMILY), false);
                }
            }
            let Some(place) = rows.iter().position(|row| row.id == alias.id) else { continue };
            let exact = alias.sure && !matches!(spelling, Spelling::Near(_));
            match found.iter_mut().find(|hit| hit.place == place) {
                Some(hit) if hit.score >= score => hit.exact |= exact,
                Some(hit) => (hit.score, hit.exact) = (score, exact),
                None => found.push(Found { place, score, exact }),
            }
        }
        found
    }

    /// How well a row answers, and whether it is all that was asked for.
    fn compare(&self, weighed: &Weighed<'_>, row: &Names) -> (f64, bool) {
        let names = [row.id, row.name, row.repo];
        if !self.raw.is_empty() && names.contains(&self.raw.as_str()) {
            return (1.0, true);
        }
        if names.iter().any(|name| !name.is_empty() && self.raw.eq_ignore_ascii_case(name)) {
            return (BY_ID, true);
        }
        // Most repositories and many ids repeat the name.
        let unlike_name = |text: &'static str| if text.eq_ignore_ascii_case(row.name) { "" } else { text };
        let names = [unlike_name(row.id), row.name, unlike_name(without_owner(row.repo))];
        let same = |wanted: &str| !wanted.is_empty() && names.iter().any(|name| compact(name).eq(wanted.chars()));
        if same(&self.compact) {
            return (SPELLED, true);
        }
        if same(&self.bare) {
            return (BARE, true);
        }
        let (mut score, mut exact) = (0.0, false);
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let agreement = weighed.against(Tokens::of(name).as_slice(), row.memory);
            if agreement.score > score {
                (score, exact) = (agreement.score, agreement.complete);
            }
        }
        score *= 0.98;
        (score, exact && score >= LEAST_EXACT)
    }

    /// How well an alias answers.
    fn compare_alias(&self, weighed: &Weighed<'_>, alias: &Alias) -> Option<Spelling> {
        if compact(alias.typed).eq(self.compact.chars()) {
            return Some(Spelling::Spelled);
        }
        if compact(alias.typed).eq(self.bare.chars()) {
            return Some(Spelling::Bare);
        }
        let agreement = weighed.against(Tokens::of(alias.typed).as_slice(), None);
        (agreement.score >= LEAST).then_some(Spelling::Near(agreement.score * 0.9))
    }

    /// Decides whether the first hit is the only answer; no other is.
    pub(super) fn settle(&self, found: &mut [Found], rows: &[Names]) {
        let tokens = Tokens::of(&self.text);
        let said_memory = Weighed::new(tokens.as_slice()).has_memory();
        let Some((first, others)) = found.split_first_mut() else { return };
        if first.score < BY_ID {
            // Nothing but the same spelling rivals a name that was typed in full.
            let least = if first.score >= SPELLED { BARE } else { first.score - LEAD };
            let rival = others.first().is_some_and(|second| second.score > least);
            let stem = |hit: &Found| rows.get(hit.place).map(|row| family(row.id));
            let sizes = others.iter().take(6).any(|other| stem(other) == stem(first));
            first.exact &= !rival && (said_memory || !sizes);
        }
        for other in others {
            other.exact = false;
        }
    }
}

/// Brings the `most` best to the front, best first, equals in the order of the table, and drops the rest.
pub(super) fn keep_best(found: &mut Vec<Found>, most: usize) {
    for front in 0..most.min(found.len()) {
        let mut best = front;
        for (place, hit) in found.iter().enumerate().skip(front + 1) {
            let leader = &found[best];
            if hit.score > leader.score || (hit.score == leader.score && hit.place < leader.place) {
                best = place;
            }
        }
        found.swap(front, best);
    }
    found.truncate(most);
}

/// An id without the memory at its end: `rtx-4060-ti-16gb` and `rtx-4060-ti-8gb` are one card in two sizes.
fn family(id: &str) -> &str {
    match id.rsplit_once('-') {
        Some((stem, size)) if size.strip_suffix("gb").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) => stem,
        _ => id,
    }
}

/// `Qwen/Qwen2.5-7B` and `https://…/Qwen/Qwen2.5-7B` without what stands before the last slash, but `ViT-B/16` whole.
fn without_owner(text: &str) -> &str {
    match text.rsplit_once('/') {
        Some((owner, name)) if !owner.contains(' ') && name.starts_with(|c: char| c.is_ascii_alphabetic()) => name,
        _ => text,
    }
}

/// Full-width letters, digits and spaces as Chinese keyboards write them.
fn half_width(c: char) -> char {
    match c {
        '\u{3000}' => ' ',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

/// Words of other languages and of slang, replaced by those that stand in names.
fn replace_words(text: &str) -> String {
    let mut text = text.to_owned();
    for Alias { typed, id: means, .. } in tables::words() {
        if typed.is_ascii() {
            if Tokens::of(&text).as_slice().iter().any(|token| token.text == *typed) {
                text = text.replace(typed, means);
            }
        } else if text.contains(typed) {
            text = text.replace(typed, &format!(" {means} "));
        }
    }
    text.trim().to_owned()
}
