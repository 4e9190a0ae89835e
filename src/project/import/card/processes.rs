//! What runs on listed cards.

use super::{ListedCard, Process};
use crate::project::import::text::size;
use crate::project::import::{Line, Text};

/// Lines of a table that are looked at.
const MOST: usize = 400;

/// Programs that draw on a screen, in small letters.
const DRAW: &[&str] = &[
    "xorg",
    "gnome-shell",
    "/x",
    "kwin",
    "plasmashell",
    "explorer.exe",
    "dwm.exe",
    "xwayland",
    "compiz",
    "cinnamon",
    "weston",
    "hyprland",
];

/// Gives each card the programs that the listing names for it.
pub(super) fn attach(text: &Text, cards: &mut [ListedCard]) {
    let Some(at) = text.small().rfind("processes:").or_else(|| text.small().rfind("process name")) else { return };
    let first = text.line_at(at).number;
    for line in (first..(first + MOST).min(text.len() + 1)).filter_map(|number| text.line(number)) {
        let Some((index, process)) = process(&line) else { continue };
        if let Some(card) = cards.iter_mut().find(|card| card.index == Some(index)) {
            card.processes.push(process);
        }
    }
}

/// `|    0   N/A  N/A      1234      G   /usr/lib/xorg/Xorg      100MiB |`, with or without instances; `npu-smi` puts the
/// name in a cell of its own.
fn process(line: &Line<'_>) -> Option<(u32, Process)> {
    let cells: Vec<&str> = line.text.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    if let [card, pid, name, bytes] = cells.as_slice() {
        let index = card.split_whitespace().next()?.parse().ok()?;
        let bytes = bytes.parse().ok().map(crate::units::Bytes::from_mib);
        return Some((index, Process { pid: pid.parse().ok()?, name: (*name).to_string(), bytes, draws: false }));
    }
    let [row] = cells.as_slice() else { return None };
    let words: Vec<&str> = row.split_whitespace().collect();
    let index: u32 = words.first()?.parse().ok()?;
    let kind = words.iter().position(|word| matches!(*word, "C" | "G" | "C+G" | "M+C" | "M" | "M+C+G"))?;
    let pid = words.get(kind.checked_sub(1)?)?.parse().ok()?;
    let last = *words.last()?;
    let bytes = size(last).map(|(bytes, _)| bytes);
    let end = if bytes.is_some() || last == "N/A" { words.len() - 1 } else { words.len() };
    let name = words.get(kind + 1..end).unwrap_or_default().join(" ");
    let small = name.to_ascii_lowercase();
    let graphics = words.get(kind).is_some_and(|kind| kind.contains('G'));
    let draws = graphics && (DRAW.iter().any(|word| small.contains(word)) || words.get(kind) == Some(&"G"));
    Some((index, Process { pid, name, bytes, draws }))
}
