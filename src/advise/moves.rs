//! What moves the number: the project again with one setting smaller or larger, everything else as it is. How several
//! cards share it is settled as for the answer, so that a value says what the answer will say once it is chosen.

use super::engine::{Engine, Estimates, settle};
use super::verdict::verdict;
use super::{Verdict, card_in_use};
use crate::catalog::{Catalog, Gpu};
use crate::estimate::time::has_flash;
use crate::project::{Checkpointing, Choice, Field, Project, Sharding, fields, relevant};
use crate::units::decimal::{read, short};
use crate::units::{Bytes, Seconds, sort};

/// One value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The value, as the field has it.
    pub value: String,
    /// It is the project's own.
    pub now: bool,
    /// What the card needs; `None` where it cannot be estimated.
    pub card: Option<Bytes>,
    /// What the answer will say of it on the chosen card.
    pub verdict: Option<Verdict>,
    /// Time of the whole run on the chosen card.
    pub run: Option<Seconds>,
    /// How several cards then share the work, where that is not how they share it now.
    pub way: Option<Sharding>,
}

/// A setting and what its values come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// The setting.
    pub field: Field,
    /// Its values, the smallest first.
    pub values: Vec<Moved>,
}

/// Numbers that are moved, with what they are multiplied by.
const NUMBERS: &[(Field, &[f64])] = &[
    (Field::MicroBatch, &[0.25, 0.5, 1.0, 2.0, 4.0]),
    (Field::Sequence, &[0.25, 0.5, 1.0, 2.0, 4.0]),
    (Field::ImageSide, &[0.5, 0.75, 1.0, 1.5, 2.0]),
    (Field::Frames, &[0.5, 1.0, 2.0]),
    (Field::AudioSeconds, &[0.5, 1.0, 2.0]),
    (Field::LoraRank, &[0.25, 0.5, 1.0, 2.0, 4.0]),
];

/// The settings that move this project's memory, each alone: batch, length or side, rank, checkpointing. Settings that
/// the form does not ask for are left out.
pub fn moves(project: &Project, catalog: &Catalog) -> Vec<Move> {
    let engine = Estimates::of(catalog);
    let table = Table { engine: &engine, project, gpu: card_in_use(project, catalog), catalog };
    let shown = relevant(project, catalog);
    let mut found = Vec::new();
    for (field, factors) in NUMBERS.iter().filter(|(field, _)| shown.contains(*field)) {
        let now = fields::get(project, *field);
        let Some(number) = read(&now) else { continue };
        let mut values: Vec<String> = factors.iter().map(|factor| scaled(*field, number, *factor)).collect();
        // Rounded to what networks divide by, a small side may come out larger, and twice.
        sort(&mut values, |a, b| read(a).unwrap_or(0.0).total_cmp(&read(b).unwrap_or(0.0)));
        values.dedup();
        found.push(table.row(*field, values.iter().map(String::as_str)));
    }
    if shown.contains(Field::Checkpointing) {
        let mut kinds = vec![Checkpointing::Off, Checkpointing::PerBlock];
        if !kinds.contains(&project.checkpointing) {
            kinds.push(project.checkpointing);
        }
        let row = table.row(Field::Checkpointing, kinds.iter().map(|kind| kind.id()));
        // Where nothing is checkpointed it moves nothing.
        let first = row.values.first().and_then(|value| value.card);
        if row.values.iter().any(|value| value.card != first) {
            found.push(row);
        }
    }
    // A row of one value says nothing.
    found.retain(|row| row.values.len() > 1);
    found
}

/// A multiple that the field takes: whole, and of pictures a multiple of what networks divide by.
pub(super) fn scaled(field: Field, number: f64, factor: f64) -> String {
    if factor == 1.0 {
        return short(number);
    }
    let value = number * factor;
    match field {
        Field::ImageSide => short((value / 32.0).round().max(1.0) * 32.0),
        // Video coders take four frames and one.
        Field::Frames => short(((value / 4.0).floor() * 4.0 + 1.0).max(1.0)),
        Field::AudioSeconds => short(((value * 10.0).round() / 10.0).max(0.1)),
        _ => short(value.round().max(1.0)),
    }
}

/// What the rows are worked out from.
struct Table<'a> {
    engine: &'a Estimates<'a>,
    project: &'a Project,
    gpu: Option<&'a Gpu>,
    catalog: &'a Catalog,
}

impl Table<'_> {
    fn row<'v>(&self, field: Field, values: impl Iterator<Item = &'v str>) -> Move {
        let mut found: Vec<(Moved, Option<Sharding>)> = values.filter_map(|value| self.moved(field, value)).collect();
        let now = found.iter().find(|(moved, _)| moved.now).and_then(|(_, way)| *way);
        for (moved, way) in &mut found {
            moved.way = way.filter(|way| Some(*way) != now);
        }
        Move { field, values: found.into_iter().map(|(moved, _)| moved).collect() }
    }

    /// One value, and how the cards then share the work.
    fn moved(&self, field: Field, value: &str) -> Option<(Moved, Option<Sharding>)> {
        let mut changed = self.project.clone();
        fields::set(&mut changed, field, value, self.catalog).ok()?;
        let settled = self.gpu.and_then(|gpu| Some((gpu, settle(self.engine, &changed, gpu).ok()?)));
        let found = match &settled {
            Some((gpu, (there, memory))) => {
                let (count, sharding) = (there.hardware.count, there.hardware.sharding);
                let load = self.engine.workload(there, has_flash(gpu)).ok();
                let load = load.map(|l| l.with_room(gpu.usable - memory.card, count, sharding));
                let run = load.and_then(|l| l.on(gpu, count, sharding).ok());
                Some((memory.card, Some(verdict(memory, gpu.usable)), run.map(|time| time.run)))
            }
            None if self.gpu.is_none() => {
                self.engine.memory(&changed, None).ok().map(|memory| (memory.card, None, None))
            }
            None => None,
        };
        let moved = Moved {
            value: fields::get(&changed, field),
            now: fields::get(self.project, field) == fields::get(&changed, field),
            card: found.map(|(card, ..)| card),
            verdict: found.and_then(|(_, verdict, _)| verdict),
            run: found.and_then(|(.., run)| run),
            way: None,
        };
        Some((moved, settled.map(|(_, (there, _))| there.hardware.sharding)))
    }
}
