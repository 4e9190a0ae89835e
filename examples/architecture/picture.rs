//! The rooms of the code and who uses whom, read from the source itself.

use crate::pages::svg;
use crate::source::File;
use std::fmt::Write as _;
use std::path::Path;

/// The rooms from the top down, each with what it is for.
pub(crate) const ROOMS: [(&str, &str); 9] = [
    ("app", "the page: Leptos views, compiled for wasm only"),
    ("text", "every sentence, Chinese and English side by side"),
    ("advise", "verdict, fixes, cards, plans, rent or buy, recipes"),
    ("estimate", "project and card in; memory and time out, with a band"),
    ("step", "one training step run symbolically: the tape and the allocator"),
    ("network", "a model as a program of layers over named tensors"),
    ("project", "what the person said: form, link, checks, imports"),
    ("catalog", "what exists: cards, models, offers, presets"),
    ("units", "bytes, operations, seconds, money"),
];

/// Where the picture lies.
pub(crate) const FILE: &str = "docs/architecture.svg";

/// For each room the rooms that it uses, outside of tests.
pub(crate) fn arrows() -> Vec<(&'static str, Vec<&'static str>)> {
    let files = File::all_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    ROOMS
        .iter()
        .map(|(room, _)| {
            let own = files.iter().filter(|file| file.room().as_deref() == Some(*room)).map(File::outside_tests);
            let used: Vec<String> = own.flat_map(|file| file.rooms_used()).map(|(room, _)| room).collect();
            let uses = |other: &&str| *other != *room && used.iter().any(|used| used == other);
            (*room, ROOMS.iter().map(|(room, _)| *room).filter(uses).collect())
        })
        .collect()
}

const ROW: f64 = 46.0;
const BOX: f64 = 110.0;
const LEFT: f64 = 12.0;
const LANE: f64 = 30.0;

/// The picture. Down from each room goes a line with a dot beside every room that it uses.
pub(crate) fn picture() -> String {
    let middle = |row: usize| 34.0 + ROW * row as f64;
    let lane = |row: usize| LEFT + BOX + 26.0 + LANE * row as f64;
    let words = lane(ROOMS.len() - 1) + 24.0;
    let mut body = String::new();
    let mut said = String::new();
    for (row, (room, what)) in ROOMS.iter().enumerate() {
        body += &svg::line("faint", (LEFT + BOX, middle(row)), (words - 10.0, middle(row)));
        body += &svg::rectangle("band", LEFT, middle(row) - 15.0, BOX, 30.0);
        body += &svg::text(LEFT + BOX / 2.0, middle(row) + 5.0, "strong middle", room);
        body += &svg::text(words, middle(row) + 5.0, "", what);
    }
    for (row, (room, used)) in arrows().iter().enumerate() {
        let rows = used.iter().filter_map(|used| ROOMS.iter().position(|(room, _)| room == used));
        let Some(last) = rows.clone().max() else { continue };
        body += &svg::line("rule", (LEFT + BOX, middle(row)), (lane(row), middle(row)));
        body += &svg::line("rule", (lane(row), middle(row)), (lane(row), middle(last)));
        for at in rows {
            let _ = writeln!(body, "<circle class=\"mark\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>", lane(row), middle(at));
        }
        let _ = write!(said, "{room} uses {}. ", used.join(", "));
    }
    let height = (middle(ROOMS.len() - 1) + 34.0) as u32;
    svg::picture(860, height, "The rooms of the code and who uses whom", said.trim(), &body)
}
