//! Lines that name a card.

use super::{Listing, MOST};
use crate::project::import::{Piece, Text};
use crate::units::Bytes;

/// A line that names a card.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Number of the line.
    pub(super) number: usize,
    /// What kind of listing it belongs to.
    pub(super) listing: Listing,
    /// Number of the card.
    pub(super) index: Option<u32>,
    /// Its name, as printed.
    pub(super) name: String,
    /// Total memory.
    pub(super) total: Option<Bytes>,
    /// Memory in use.
    pub(super) used: Option<Bytes>,
    /// A screen hangs on it.
    pub(super) screen: Option<bool>,
    /// Where it stands.
    pub(super) from: Piece,
}

/// Words that begin the name of a card, in small letters. A maker's name alone counts where a number follows.
const PRODUCTS: &[&str] = &[
    "geforce",
    "rtx ",
    "gtx ",
    "tesla ",
    "quadro",
    "titan",
    "radeon",
    "instinct",
    "arc(tm)",
    "intel arc",
    "arc a",
    "arc b",
    "arc pro",
    "ascend",
    "910b",
    "910_",
    "mtt s",
    "mlu",
    "metax",
    "hygon",
    "k100",
    "z100",
    "apple m",
];

/// Makers whose newer names have no word of their own before the number.
const MAKERS: &[&str] = &["nvidia ", "amd "];

/// What ends a name.
const ENDS: &[&str] = &[
    "  ",
    "|",
    "(uuid",
    " (",
    ")",
    "\"",
    "'",
    ",",
    ";",
    "<",
    "]",
    " : ",
    ". ",
    " direct3d",
    " opengl",
    "/pcie",
    " computecapability",
    " (device",
    " with ",
    " has ",
    "\\",
    " @ ",
    " major",
    " - ",
    " off ",
    " on ",
    " wddm",
    " tcc",
    "::",
];

/// Marks of a listing made by a tool, in the line itself.
const OF_TOOLS: &[&str] = &[
    "(uuid",
    "product name",
    "product_name",
    "card name",
    "cardname",
    "card series",
    "card model",
    "market_name",
    "marketing name",
    "chipset model",
    "chip:",
    "device name",
    "angle (",
    "vga compatible",
    "3d controller",
    "display controller",
    "adapter",
];

/// Marks of what frameworks print.
const OF_BANNERS: &[&str] = &[
    "total_memory",
    "cuda:",
    "device:",
    "device 0",
    "device 1",
    "name:",
    "name=",
    "num gpus",
    "max memory",
    "gpu:",
    "gpu 0",
    "using",
    "compute capability",
    "gpu device",
];

/// Longer lines are no listing.
const LONGEST: usize = 600;

/// Lines that are looked at from the beginning, and as many from the end.
const LINES: usize = 6000;

/// The lines of a text that name a card.
pub(super) fn cards(text: &Text) -> Vec<Line> {
    let tail = text.len().saturating_sub(LINES).max(LINES);
    let numbers = (1..=text.len().min(LINES)).chain(tail + 1..=text.len());
    numbers.filter_map(|number| card(text, number)).take(MOST).collect()
}

fn card(text: &Text, number: usize) -> Option<Line> {
    let line = text.line(number)?;
    // Firefox names a common card instead of the true one: `GeForce GTX 980, or similar`.
    if line.small.len() > LONGEST || line.small.contains("or similar") {
        return None;
    }
    let start = start(line.small)?;
    // Signs of a trademark end no name.
    let rest = line.small.get(start..)?.replace("(tm)", "_tm_").replace("(r)", "_r_");
    let rest = rest.as_str();
    let end = ENDS.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    // `GeForce GTX 108...`: the points are part of what is printed.
    let points = rest.get(end..).is_some_and(|rest| rest.starts_with('.'))
        && rest.get(..end).is_some_and(|name| name.ends_with('.'));
    let end = if points { end + 1 } else { end };
    let mut name = line.text.get(start..start + end)?.trim();
    // `On`, `Off` and `N/A` at the end of a cell are switches.
    for switch in [" On", " Off", " N/A", " WDDM", " TCC", ":"] {
        name = name.trim_end_matches(switch).trim_end();
    }
    if name.len() < 2 || name.len() > 80 {
        return None;
    }
    let bare = line.small.trim_start_matches(['|', ' ', '*', '-', '[', '`', '\'', '"']);
    let first_number = leading(bare);
    let in_table = line.small.contains('|') && first_number.is_some();
    let says = |words: &[&str]| words.iter().any(|word| line.small.contains(word));
    let bracketed = line.text.starts_with('[') && first_number.is_some();
    let csv = !in_table
        && !bracketed
        && line.small.matches(',').count() >= 1
        && (says(&[" mib", " mb"]) || csv_above(text, number));
    let listing = if in_table || bracketed || csv || says(OF_TOOLS) || line.small.starts_with("gpu[") {
        Listing::Tool
    } else if says(OF_BANNERS) || line.small.strip_prefix("gpu ").and_then(leading).is_some() {
        Listing::Banner
    } else {
        Listing::Mention
    };
    // A program that runs on a card, in the table of processes.
    if in_table
        && [" c ", " g ", " c+g "].iter().any(|kind| line.small.contains(kind))
        && line.small.contains(['/', '\\'])
        && !line.small.contains("00:")
    {
        return None;
    }
    let index = if in_table || bracketed {
        first_number
    } else {
        ["gpu ", "gpu[", "card", "cuda:", "device ", "device: ", "gpu:"].iter().find_map(|word| {
            let at = line.small.find(word)?;
            leading(line.small.get(at + word.len()..)?)
        })
    };
    let index = index.or_else(|| above(text, number)).or(if csv { leading(bare) } else { None });
    let index = if csv && index.is_none() { u32::try_from(number).ok() } else { index };
    let (used, total) = if csv { super::memory::of_csv(text, number) } else { (None, None) };
    let screen = in_table.then(|| screen(line.text)).flatten();
    Some(Line { number, listing, index, name: name.to_string(), total, used, screen, from: line.piece() })
}

/// Where the name of a card begins in a line of small letters.
fn start(line: &str) -> Option<usize> {
    let product = PRODUCTS.iter().filter_map(|word| {
        let at = line.rfind(word)?;
        let behind = line.as_bytes().get(at.wrapping_sub(1));
        // Not inside of a longer word.
        (!behind.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')).then_some(at)
    });
    if let Some(at) = product.min() {
        // `quadro rtx 6000` and `nvidia geforce rtx` begin with the first of their words.
        return Some(at);
    }
    MAKERS.iter().find_map(|maker| {
        line.match_indices(maker).find_map(|(at, maker)| {
            let word = line.get(at + maker.len()..)?.trim_start().split([' ', '|', ',']).next()?;
            let like_a_name = word.len() < 24
                && word.contains(|c: char| c.is_ascii_digit())
                && word.starts_with(|c: char| c.is_ascii_alphabetic());
            like_a_name.then_some(at)
        })
    })
}

/// The number that a text begins with.
fn leading(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = text.as_bytes().get(digits);
    let whole = !behind.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'%'));
    text.get(..digits).filter(|digits| whole && digits.len() <= 3)?.parse().ok()
}

/// The number of the card in the line above: `GPU 0` in Windows' Task Manager, `"card0": {` in JSON.
fn above(text: &Text, number: usize) -> Option<u32> {
    (number.saturating_sub(14).max(1)..number).rev().filter_map(|number| text.line(number)).find_map(|line| {
        let bare = line.small.trim_matches(['"', ' ', ':', '{', '<', '>']);
        let rest =
            bare.strip_prefix("gpu ").or_else(|| bare.strip_prefix("card")).or_else(|| bare.strip_prefix("gpu: "))?;
        let index = leading(rest)?;
        (rest.trim().len() < 3).then_some(index)
    })
}

/// Whether a header of comma-separated values stands a little above.
fn csv_above(text: &Text, number: usize) -> bool {
    (number.saturating_sub(17).max(1)..number)
        .filter_map(|number| text.line(number))
        .any(|line| super::memory::is_header(line.small))
}

/// The switch behind the address on the bus: `00000000:01:00.0  On`.
fn screen(line: &str) -> Option<bool> {
    line.split('|').find_map(|cell| {
        let (place, switch) = cell.trim().rsplit_once(' ')?;
        let bus = place.matches(':').count() >= 2 && place.contains('.');
        match switch {
            "On" if bus => Some(true),
            "Off" if bus => Some(false),
            _ => None,
        }
    })
}
