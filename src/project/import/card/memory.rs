//! The memory of listed cards: in the line that names one, or in those that follow.

use super::lines::Line;
use crate::project::import::Text;
use crate::project::import::text::size;
use crate::units::Bytes;

/// Lines that are looked at behind a name: `nvidia-smi -q` has its memory some fifty lines below.
const REACH: usize = 70;

/// Labels of a total, in small letters.
const TOTALS: &[&str] = &[
    "total_memory",
    "total memory",
    "totalmemory",
    "devicememorysize",
    "max memory",
    "dedicated memory",
    "dedicatedmemory",
    "专用内存",
    "total amount of global memory",
    "vram total memory (b)",
    "vram (total",
    "total vram",
    "global memory size",
    "memory physical size",
];

/// The header of a listing as comma-separated values.
pub(super) fn is_header(line: &str) -> bool {
    line.contains(',') && (line.contains("memory.total") || line.contains("vram total memory (b)"))
}

/// Gives each card the memory that stands in its line or behind it.
pub(super) fn attach(text: &Text, rows: &mut [Line]) {
    let numbers: Vec<usize> = rows.iter().map(|row| row.number).collect();
    for (place, row) in rows.iter_mut().enumerate() {
        if row.total.is_some() {
            continue;
        }
        let next = numbers.get(place + 1).copied().unwrap_or(usize::MAX);
        let last = next.saturating_sub(1).min(row.number + REACH).min(text.len());
        let mut in_section = false;
        for number in row.number..=last {
            let Some(line) = text.line(number).filter(|line| line.small.len() < 600) else { continue };
            // `nvidia-smi -q`: a section with a line for each amount.
            in_section = if line.small.starts_with("fb memory usage")
                || line.small.starts_with("<fb_memory_usage")
                || line.small == "vram:"
            {
                true
            } else {
                in_section && !line.small.starts_with("bar1") && !line.small.starts_with("</fb")
            };
            let found = of_line(line.small, in_section, number == row.number);
            row.used = row.used.or(found.0);
            row.total = row.total.or(found.1);
            if row.total.is_some() && (row.used.is_some() || !in_section) {
                break;
            }
        }
        if row.total.is_none() {
            row.total = by_index(text, row);
        }
    }
}

/// Used and total memory in one line.
fn of_line(line: &str, in_section: bool, own: bool) -> (Option<Bytes>, Option<Bytes>) {
    if line.contains("shared gpu")
        || line.contains("共享")
        || line.contains("bar1")
        || line.contains("total ram") && !line.contains("total vram")
    {
        return (None, None);
    }
    if let Some((used, total)) = pair(line) {
        return (Some(used), Some(total));
    }
    if let Some(label) = TOTALS.iter().find(|label| line.contains(**label)) {
        let rest = line.split_once(label).map_or("", |(_, rest)| rest);
        return (None, amount(rest));
    }
    if let Some(rest) = line.strip_prefix("memory:") {
        return (None, amount(rest));
    }
    if in_section {
        let rest = line.split_once([':', '>']).map_or("", |(_, rest)| rest);
        if line.starts_with("total") || line.starts_with("<total") || line.starts_with("size") {
            return (None, amount(rest));
        }
        if line.starts_with("used") || line.starts_with("<used") {
            return (amount(rest), None);
        }
    }
    // `CUDA:0 (Tesla T4, 15102MiB)`
    let unit = own && (line.contains("mib)") || line.contains("mb)") || line.contains(" mib total"));
    (None, if unit { last_size(line) } else { None })
}

/// An amount with its unit, or a bare number of bytes.
fn amount(text: &str) -> Option<Bytes> {
    let text = text.trim_start_matches([' ', ':', '=', '"', '\'', '>', '(', ')', '[', 'b', ']']);
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    match digits.parse::<u64>() {
        Ok(bytes) if bytes > 1 << 28 => Some(Bytes(bytes)),
        _ => {
            let text = text.replace("mbytes", "mb");
            let found = size(text.get(..text.len().min(40)).unwrap_or(&text));
            found.map(|(bytes, _)| bytes).filter(|bytes| bytes.0 >= 1 << 28)
        }
    }
}

fn last_size(line: &str) -> Option<Bytes> {
    let (mut rest, mut last) = (line, None);
    while let Some((bytes, end)) = size(rest) {
        last = Some(bytes).filter(|bytes| bytes.0 >= 1 << 28).or(last);
        rest = rest.get(end..)?;
    }
    last
}

/// `414MiB / 11175MiB`, `914/65536 MiB`, `1.1/12.0 GB`, `66641MiB(81920MiB)`, `3197 / 65536` in a table of NPUs.
fn pair(line: &str) -> Option<(Bytes, Bytes)> {
    for (at, sign) in line.match_indices(['/', '(']).take(12) {
        let before = line.get(..at)?.trim_end();
        let after = line.get(at + sign.len()..)?.trim_start();
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let unit_before = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number: String = {
            let start = unit_before.trim_end().rfind(|c: char| !digits(c)).map_or(0, |at| at + 1);
            unit_before.get(start..).unwrap_or_default().trim().to_string()
        };
        let end = after.find(|c: char| !digits(c)).unwrap_or(after.len());
        let (Some(used), Some(total)) =
            (crate::units::decimal::read(&number), crate::units::decimal::read(after.get(..end)?))
        else {
            continue;
        };
        let unit = after.get(end..)?.trim_start();
        let scale = if unit.starts_with("mib") || unit.starts_with("mb") {
            1 << 20
        } else if unit.starts_with("gib") || unit.starts_with("gb") {
            1 << 30
        } else if unit.starts_with('|') && total >= 4096.0 {
            // `npu-smi` gives MB in its header alone.
            1 << 20
        } else {
            continue;
        };
        let bytes = |value: f64| Bytes((value * f64::from(scale)) as u64);
        if total > 0.0 && used <= total * 1.01 && bytes(total).0 >= 1 << 28 {
            return Some((bytes(used), bytes(total)));
        }
    }
    None
}

/// Used and total memory in a row of comma-separated values, by the header above or by their order.
pub(super) fn of_csv(text: &Text, number: usize) -> (Option<Bytes>, Option<Bytes>) {
    let Some(row) = text.line(number) else { return (None, None) };
    let cells: Vec<&str> = row.small.split(',').map(str::trim).collect();
    let header = (number.saturating_sub(17).max(1)..number)
        .rev()
        .filter_map(|number| text.line(number))
        .find(|line| is_header(line.small));
    let cell = |value: &str, in_mib: bool| -> Option<Bytes> {
        match value.parse::<u64>() {
            Ok(number) if in_mib => Some(Bytes(number << 20)),
            Ok(number) => Some(Bytes(number)),
            Err(_) => size(value).map(|(bytes, _)| bytes),
        }
    };
    if let Some(header) = header {
        let names: Vec<&str> = header.small.split(',').map(str::trim).collect();
        let find = |words: &[&str]| {
            let place = names.iter().position(|name| words.iter().any(|word| name.contains(word)))?;
            cell(cells.get(place)?, names.get(place)?.contains("memory."))
        };
        return (find(&["memory.used", "total used"]), find(&["memory.total", "vram total memory (b)"]));
    }
    let numbers = cells.iter().filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
    let mut sizes = numbers.filter_map(|value| size(value).map(|(bytes, _)| bytes));
    let first = sizes.next();
    let rest: Vec<Bytes> = sizes.collect();
    match (first, rest.iter().max()) {
        (Some(first), Some(most)) if *most > first => (Some(first), Some(*most)),
        (Some(first), second) => (second.copied(), Some(first)),
        _ => (None, None),
    }
}

/// `rocm-smi` lists names and memory in sections of their own: `GPU[0] : VRAM Total Memory (B): 25753026560`.
fn by_index(text: &Text, row: &Line) -> Option<Bytes> {
    let index = row.index?;
    let lines = (row.number.saturating_sub(400).max(1)..=(row.number + 400).min(text.len()))
        .filter_map(|number| text.line(number));
    let own = format!("gpu[{index}]");
    lines.filter(|line| line.small.contains(&own) || line.small.starts_with("\"vram")).find_map(|line| {
        let (_, rest) = line.small.split_once("vram total memory (b)")?;
        amount(rest)
    })
}

/// The profile of a slice of a card: `MIG 1g.5gb Device 0`, or a table of such devices.
pub(super) fn slice(text: &Text) -> Option<String> {
    if let Some(at) = text.small().find("mig ").filter(|_| text.small().contains("g.")) {
        let line = text.line_at(at);
        let profile = line.text.split_whitespace().find(|word| {
            word.split_once("g.")
                .is_some_and(|(slices, rest)| slices.parse::<u8>().is_ok() && rest.to_ascii_lowercase().ends_with("gb"))
        });
        if let Some(profile) = profile {
            return Some(profile.to_string());
        }
    }
    let at = text.small().find("mig devices")?;
    let first = text.line_at(at).number;
    (first..first + 12).filter_map(|number| text.line(number)).find_map(|line| {
        let (_, total) = pair(line.small).filter(|_| !line.small.contains("processes"))?;
        Some(total.to_string())
    })
}
