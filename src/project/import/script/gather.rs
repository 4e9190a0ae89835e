//! Every `name` with a `value` in a text, whatever it is written in: flags of a command, YAML, TOML, JSON, arguments and
//! variables of Python, words of `yolo`.

use crate::project::import::model::Json;
use crate::project::import::{Piece, Text};

/// Most settings that are gathered: far more than any script has.
const MOST: usize = 4_000;

/// Longest value that is kept.
const LONGEST: usize = 200;

/// Values behind one flag that are kept: `--lora_target_modules q_proj v_proj`.
const MOST_VALUES: usize = 16;

/// What a setting is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `--name value`.
    Flag,
    /// `name: value`, or a member of JSON.
    Entry,
    /// `name = value`.
    Assignment,
}

/// A name with a value.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// Small letters, digits and underscores; parents before it with points: `zero_optimization.stage`.
    pub(super) path: String,
    pub(super) value: String,
    pub(super) form: Form,
    pub(super) from: Piece,
}

impl Setting {
    /// The name without its parents.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

/// Gathers all settings of a text, in its order for each form.
pub(super) fn gather(text: &Text) -> Vec<Setting> {
    let mut all = Vec::new();
    flags(text, &mut all);
    entries(text, &mut all);
    assignments(text, &mut all);
    if text.as_str().trim_start().starts_with('{')
        && let Some(json) = Json::find(text.as_str())
    {
        members(&json, "", text, &mut all);
    }
    resolve(&mut all);
    all
}

/// Small letters, digits, underscores, points.
fn plain(name: &str) -> String {
    let name = name.trim_start_matches('-');
    name.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

fn is_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "_-.".contains(sign)
}

/// A value without quotes, types and what ends a line.
fn cleaned(value: &str) -> String {
    let value = value.trim().trim_end_matches([',', ';', '\\']).trim();
    let value = value.trim_matches(|c: char| c == '"' || c == '\'' || c == '`').trim();
    let value = value.strip_prefix("torch.").unwrap_or(value);
    value.chars().take(LONGEST).collect()
}

fn push(all: &mut Vec<Setting>, path: String, value: &str, form: Form, from: Piece) {
    if all.len() < MOST && !path.is_empty() {
        all.push(Setting { path, value: cleaned(value), form, from });
    }
}

/// `--name value`, `--name=value`, `--switch`, also as members of a list: `"--name", "value"`.
fn flags(text: &Text, all: &mut Vec<Setting>) {
    // What is between the words of a command, and between the members of a list.
    let between = |c: char| c.is_whitespace() || "\\^`\"',[]".contains(c);
    let whole = text.as_str();
    let mut at = 0;
    while let Some(found) = whole.get(at..).and_then(|rest| rest.find("--")) {
        if all.len() >= MOST {
            break;
        }
        let start = at + found;
        at = start + 2;
        let before = whole.get(..start).and_then(|b| b.chars().next_back());
        let rest = whole.get(at..).unwrap_or_default();
        if before.is_some_and(|c| !between(c) && c != '(') || !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, mut behind) = rest.split_at(end);
        let mut values: Vec<String> = Vec::new();
        if let Some(value) = behind.strip_prefix('=') {
            let first = word(value);
            values.push(first.to_owned());
            // With the quotes around it.
            let quotes = value.find(first).unwrap_or_default();
            behind = value.get(first.len() + 2 * quotes..).unwrap_or_default();
        } else {
            while values.len() < MOST_VALUES {
                let trimmed = behind.trim_start_matches(between);
                let gap = behind.get(..behind.len() - trimmed.len()).unwrap_or_default();
                // A line that goes on ends in a sign, or it is a list.
                let ends = gap.contains('\n') && !gap.contains(['\\', '^', '`', ',']);
                let value = word(trimmed);
                let negative =
                    value.starts_with('-') && value.get(1..2).is_some_and(|d| d.chars().all(|c| c.is_ascii_digit()));
                if gap.is_empty()
                    || ends
                    || value.is_empty()
                    || (value.starts_with('-') && !negative)
                    || value.starts_with(['#', '|', '&', ';', '>', ')'])
                    // The script that a launcher starts.
                    || !values.is_empty() && (value.contains('/') || value.contains(".py"))
                {
                    break;
                }
                values.push(value.to_owned());
                behind = trimmed.get(value.len()..).unwrap_or_default();
                // Only lists of words go on: what follows a number is another argument.
                if value.starts_with(|c: char| c.is_ascii_digit()) || value.contains('/') {
                    break;
                }
            }
        }
        let value = if values.is_empty() { "true".to_owned() } else { values.join(",") };
        // A command is one long line: the flag with its value tells more than the line's beginning.
        let said = whole.get(start..whole.len() - behind.len()).unwrap_or_default();
        push(all, plain(name), &value, Form::Flag, Piece::new(text.line_at(start).number, said));
    }
}

/// The first word of a text, or what stands in its quotes.
fn word(text: &str) -> &str {
    if let Some(quote) = text.chars().next().filter(|c| *c == '"' || *c == '\'') {
        let inside = text.get(1..).unwrap_or_default();
        let end = inside.find([quote, '\n']).unwrap_or(inside.len());
        return inside.get(..end).unwrap_or_default();
    }
    text.get(..text.find(|c: char| c.is_whitespace() || "\"'`,;".contains(c)).unwrap_or(text.len())).unwrap_or_default()
}

/// `name: value` at the beginning of a line; deeper lines belong to the name above.
fn entries(text: &Text, all: &mut Vec<Setting>) {
    let mut parents: Vec<(usize, String)> = Vec::new();
    let mut list: Option<usize> = None;
    for (line, raw) in text.lines().zip(text.as_str().split('\n')) {
        if all.len() >= MOST {
            break;
        }
        let deep = raw.len() - raw.trim_start().len();
        // Members of a list under a name: `- q_proj`.
        if let Some(item) = line.text.strip_prefix("- ")
            && let Some(setting) = list.and_then(|at| all.get_mut(at))
            && !item.contains(": ")
        {
            let item = cleaned(without_remark(item));
            if setting.value.len() + item.len() < LONGEST {
                if !setting.value.is_empty() {
                    setting.value.push(',');
                }
                setting.value.push_str(&item);
            }
            continue;
        }
        let entry = line.text.strip_prefix("- ").unwrap_or(line.text);
        let entry = entry.trim_start_matches(['"', '\'']);
        let end = entry.find(|c: char| !is_name(c)).unwrap_or(entry.len());
        let (name, behind) = entry.split_at(end);
        let Some(value) = behind.trim_start_matches(['"', '\'']).strip_prefix(':') else { continue };
        let spaced = value.is_empty() || value.starts_with(' ');
        if name.is_empty() || !spaced || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            continue;
        }
        parents.retain(|(depth, _)| *depth < deep);
        let mut path = String::new();
        for (_, parent) in &parents {
            path.push_str(parent);
            path.push('.');
        }
        path.push_str(&plain(name));
        if parents.len() < 8 {
            parents.push((deep, plain(name)));
        }
        let value = without_remark(value);
        // A table on one line: `network: {type: "lora", linear: 16}`.
        if let Some(inside) = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')) {
            for (name, value) in inside.split(',').filter_map(|pair| pair.split_once(':')) {
                let name = name.trim().trim_matches(['"', '\'']);
                push(all, format!("{path}.{}", plain(name)), value, Form::Entry, line.piece());
            }
            list = None;
            continue;
        }
        list = Some(all.len());
        push(all, path, value, Form::Entry, line.piece());
    }
}

/// A value without the remark behind it.
fn without_remark(value: &str) -> &str {
    let value = value.trim();
    if value.starts_with(['"', '\'']) {
        let quote = value.chars().next().unwrap_or('"');
        let inside = value.get(1..).unwrap_or_default();
        return inside.get(..inside.find(quote).unwrap_or(inside.len())).unwrap_or_default();
    }
    value.split(" #").next().unwrap_or_default().trim()
}

/// `name = value` and `name=value`, several on a line; `self.` and `args.` before the name do not count.
fn assignments(text: &Text, all: &mut Vec<Setting>) {
    for line in text.lines() {
        if line.text.starts_with('#') {
            continue;
        }
        let mut from = 0;
        while all.len() < MOST
            && let Some(found) = line.text.get(from..).and_then(|rest| rest.find('='))
        {
            let at = from + found;
            from = at + 1;
            let (before, behind) =
                (line.text.get(..at).unwrap_or_default(), line.text.get(at + 1..).unwrap_or_default());
            if behind.starts_with('=') {
                from += 1;
                continue;
            }
            let before = before.trim_end();
            let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c))).map_or(0, |i| i + 1);
            let start = if before.is_char_boundary(start) { start } else { continue };
            let name = before.get(start..).unwrap_or_default();
            let dashes = before.get(..start).is_some_and(|b| b.ends_with("--"));
            if dashes || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                continue;
            }
            let behind = behind.trim_start();
            let whole = if behind.starts_with('[') && !behind.contains(']') {
                Some(list(text, line.number, behind))
            } else {
                None
            };
            let value = whole.as_deref().unwrap_or_else(|| argument(behind));
            push(all, plain(name), value, Form::Assignment, line.piece());
        }
    }
}

/// A list that goes on over the next lines.
fn list(text: &Text, from: usize, begins: &str) -> String {
    let mut whole: String = begins.chars().take(LONGEST).collect();
    for line in (from + 1..from + MOST_VALUES).filter_map(|number| text.line(number)) {
        let end = line.text.find(']').unwrap_or(line.text.len());
        whole.push_str(line.text.get(..end).unwrap_or_default());
        if end < line.text.len() || whole.len() > LONGEST {
            break;
        }
    }
    whole
}

/// An argument up to the comma or bracket that ends it; lists in brackets are kept together.
fn argument(text: &str) -> &str {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, sign) in text.char_indices().take(LONGEST * 2) {
        let digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        match (quote, sign) {
            (Some(open), sign) if open == sign => quote = None,
            // `device=0,1`, `resolution=512,512`.
            (None, ',') if at > 0 && digit(at - 1) && digit(at + 1) => {}
            (None, '"' | '\'') => quote = Some(sign),
            (None, '[' | '(' | '{') => depth += 1,
            (None, ']' | ')' | '}') if depth > 0 => depth -= 1,
            // Words of `yolo` and variables of a shell end with a space.
            (None, ',' | ')' | ']' | '}' | ';' | ' ' | '#') if depth == 0 => return text.get(..at).unwrap_or_default(),
            _ => {}
        }
    }
    text.get(..text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at)).unwrap_or_default()
}

/// Members of JSON with the names of what holds them.
fn members(json: &Json, parents: &str, text: &Text, all: &mut Vec<Setting>) {
    for (name, value, at) in json.entries() {
        let path = if parents.is_empty() { plain(name) } else { format!("{parents}.{}", plain(name)) };
        let written = match value {
            Json::Map(_) => {
                members(value, &path, text, all);
                continue;
            }
            Json::Null => continue,
            Json::Bool(on) => on.to_string(),
            Json::Number(n) => crate::units::decimal::short(*n),
            Json::Text(text) => text.clone(),
            Json::List(items) => items.iter().filter_map(Json::text).collect::<Vec<_>>().join(","),
        };
        push(all, path, &written, Form::Entry, text.piece_at(*at));
    }
}

/// Puts the value of a variable where its name stands: `max_seq_length = max_seq_length`.
fn resolve(all: &mut [Setting]) {
    let mut known = std::collections::BTreeMap::new();
    for setting in all.iter().filter(|s| s.form == Form::Assignment && !s.value.is_empty()) {
        if plain(&setting.value) != setting.name() {
            known.entry(setting.name().to_owned()).or_insert_with(|| setting.value.clone());
        }
    }
    for setting in all.iter_mut() {
        let name = plain(setting.value.rsplit('.').next().unwrap_or_default());
        let is_word = setting.value.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
        if is_word
            && setting.value.starts_with(|c: char| c.is_ascii_alphabetic())
            && let Some(value) = known.get(&name)
        {
            setting.value.clone_from(value);
        }
    }
}
