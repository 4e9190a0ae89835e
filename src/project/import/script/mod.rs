//! How a training is started: commands with their flags, arguments in Python, files of settings.
//!
//! | file | what |
//! | --- | --- |
//! | `gather` | every name with its value, whatever it is written in |
//! | `flags` | which names are known, as a table |
//! | `words` | what libraries call the same thing |
//! | `told` | what the values say together: method, precision, sharding |
//! | `library` | which library it is, and what it does where nothing is said |

mod flags;
mod gather;
mod library;
mod told;
mod words;

use super::{Hints, Reading, Text, TextKind};
use flags::{FLAGS, OTHERS, Says};
use gather::{Form, Setting};
use told::Told;

/// Most settings that are listed as not understood.
const MOST_UNKNOWN: usize = 40;

/// Reads command lines, arguments and files of settings.
pub fn read(text: &Text, hints: Hints<'_>, reading: &mut Reading) {
    if reading.kind != TextKind::Unknown {
        return;
    }
    let settings = gather::gather(text);
    let library = library::find(text);
    let mut told = Told::new(hints.catalog, library.as_ref().map(|(framework, _)| *framework));
    let mut known = 0;
    let mut strong = library.is_some();
    let mut unknown = Vec::new();
    for setting in &settings {
        match says(setting) {
            Some(says) if told.take(says, setting) => {
                known += 1;
                strong |= setting.name().contains('_') && !matches!(says, Says::Model | Says::LoadedAs);
            }
            None if setting.form != Form::Assignment && !is_other(setting) => unknown.push(setting.from.clone()),
            _ => {}
        }
    }
    told.names_in_calls(text);
    told.names_in_files(text);
    if !(strong && (known > 0 || told.names_a_model()) || known >= 3) {
        return;
    }
    reading.is(TextKind::Script);
    told.settle(library, text, reading);
    unknown.dedup();
    unknown.truncate(MOST_UNKNOWN);
    reading.unknown.extend(unknown);
}

/// What a setting says: by its place, by its last two names, by its name.
fn says(setting: &Setting) -> Option<Says> {
    let find = |name: &str| FLAGS.iter().find(|(known, _)| *known == name).map(|(_, says)| *says);
    let path = setting.path.as_str();
    let name = setting.name();
    // The lone letter of PEFT's rank is an argument of a call, never a flag.
    if name == "r" && setting.form == Form::Flag || name == "linear" && !path.contains("network") {
        return None;
    }
    find(path)
        .or_else(|| {
            let parent = path.rsplit('.').nth(1)?;
            find(&format!("{parent}.{name}"))
        })
        .or_else(|| find(name))
}

fn is_other(setting: &Setting) -> bool {
    let begins = |text: &str| OTHERS.iter().any(|other| text.starts_with(other));
    begins(setting.name()) || begins(&setting.path) || setting.value.is_empty()
}
