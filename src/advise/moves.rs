//! What moves the number: the project again with one setting smaller or larger, everything else as it is.

use super::engine::{Engine, Estimates};
use crate::catalog::{Catalog, Gpu};
use crate::estimate::time::has_flash;
use crate::project::{Checkpointing, Choice, Field, Project, fields, relevant};
use crate::units::decimal::{read, short};
use crate::units::{Bytes, Seconds};

/// One value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The value, as the field has it.
    pub value: String,
    /// It is the project's own.
    pub now: bool,
    /// What the card needs; `None` where it cannot be estimated.
    pub card: Option<Bytes>,
    /// Whether that is within what PyTorch gets of the chosen card.
    pub fits: Option<bool>,
    /// Time of the whole run on the chosen card.
    pub run: Option<Seconds>,
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
    let gpu = catalog.gpu(&project.hardware.gpu);
    let shown = relevant(project, catalog);
    let mut found = Vec::new();
    for (field, factors) in NUMBERS.iter().filter(|(field, _)| shown.contains(*field)) {
        let now = fields::get(project, *field);
        let Some(number) = read(&now) else { continue };
        let mut values: Vec<String> = factors.iter().map(|factor| scaled(*field, number, *factor)).collect();
        values.dedup();
        let values = values.iter().filter_map(|value| moved(&engine, project, gpu, *field, value, catalog)).collect();
        found.push(Move { field: *field, values });
    }
    if shown.contains(Field::Checkpointing) {
        let mut kinds = vec![Checkpointing::Off, Checkpointing::PerBlock];
        if !kinds.contains(&project.checkpointing) {
            kinds.push(project.checkpointing);
        }
        let values =
            kinds.iter().filter_map(|kind| moved(&engine, project, gpu, Field::Checkpointing, kind.id(), catalog));
        found.push(Move { field: Field::Checkpointing, values: values.collect() });
    }
    // A row of one value says nothing.
    found.retain(|row| row.values.len() > 1);
    found
}

/// A multiple that the field takes: whole, and of pictures a multiple of what networks divide by.
fn scaled(field: Field, number: f64, factor: f64) -> String {
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

fn moved(
    engine: &Estimates<'_>,
    project: &Project,
    gpu: Option<&Gpu>,
    field: Field,
    value: &str,
    catalog: &Catalog,
) -> Option<Moved> {
    let mut changed = project.clone();
    fields::set(&mut changed, field, value, catalog).ok()?;
    let card = engine.memory(&changed, gpu).ok().map(|memory| memory.card);
    let run = gpu.and_then(|gpu| {
        let load = engine.workload(&changed, has_flash(gpu)).ok()?;
        load.on(gpu, changed.hardware.count, changed.hardware.sharding).ok()
    });
    let same = fields::get(project, field) == fields::get(&changed, field);
    Some(Moved {
        value: fields::get(&changed, field),
        now: same,
        card,
        fits: gpu.zip(card).map(|(gpu, card)| card <= gpu.usable),
        run: run.map(|time| time.run),
    })
}
