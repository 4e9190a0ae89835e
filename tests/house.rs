//! The house stays as it is laid out: arrows point down only, the core knows no browser and says no sentences.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod house {
    pub(crate) mod source;
}

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use house::source::{File, Literal};

/// The rooms from the ground up. Each may use the rooms before it and none after it.
const ROOMS: [&str; 9] = ["units", "catalog", "project", "network", "step", "estimate", "advise", "text", "app"];

/// The rooms that know no browser and say no sentences.
const CORE: [&str; 7] = ["units", "catalog", "project", "network", "step", "estimate", "advise"];

/// What the core cannot use: it is a pure function, on a server, in a test and in a page alike.
const NOT_IN_THE_CORE: [&str; 12] = [
    "leptos",
    "gloo",
    "wasm_bindgen",
    "web_sys",
    "js_sys",
    "console_error_panic_hook",
    "std::fs",
    "std::env",
    "std::net",
    "std::io",
    "std::thread",
    "std::time",
];

fn height(room: &str) -> Option<usize> {
    ROOMS.iter().position(|known| *known == room)
}

fn files() -> Vec<File> {
    let files = File::all_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(files.len() > ROOMS.len(), "the source was not found");
    files
}

/// Fails with every finding, each on a line of its own.
fn none(findings: &str, what: &str) {
    assert!(findings.is_empty(), "{what}:\n{findings}");
}

#[test]
fn every_room_has_its_place() {
    let mut homeless = String::new();
    for room in files().iter().filter_map(File::room).filter(|room| height(room).is_none()) {
        let _ = writeln!(homeless, "  {room}");
    }
    none(&homeless, "rooms without a place in the order of this test and of src/lib.rs");
}

#[test]
fn arrows_point_down() {
    let mut upward = String::new();
    for file in files() {
        let Some(from) = file.room().and_then(|room| height(&room)) else { continue };
        for (to, line) in file.rooms_used() {
            if height(&to).is_some_and(|to| to > from) {
                let _ = writeln!(upward, "  {}:{line} uses {to}", file.path);
            }
        }
    }
    none(&upward, "rooms used by a room below them");
}

#[test]
fn the_core_knows_no_browser_and_no_world() {
    let mut found = String::new();
    for file in files().iter().filter(|file| file.room().is_some_and(|room| CORE.contains(&room.as_str()))) {
        for (path, line) in file.outside_tests().paths() {
            if NOT_IN_THE_CORE.iter().any(|barred| path == *barred || path.starts_with(&format!("{barred}::"))) {
                let _ = writeln!(found, "  {}:{line} {path}", file.path);
            }
        }
    }
    none(&found, "the core is to be a pure function of what it is given");
}

#[test]
fn the_core_says_no_sentences() {
    let mut found = String::new();
    for file in files().iter().filter(|file| file.room().is_some_and(|room| CORE.contains(&room.as_str()))) {
        for Literal { text, line } in file.outside_tests().literals() {
            if is_sentence(&text) && !(file.path.contains(READERS) && is_sign(&text)) {
                let _ = writeln!(found, "  {}:{line} {text:?}", file.path);
            }
        }
    }
    none(&found, "sentences belong in src/text, in both languages; the core returns facts");
}

/// The folder that reads what other programs print, and so has their words in it.
const READERS: &str = "project/import/";

/// Words that are looked for in a text made small: without capitals and stops, as nobody writes a sentence for a person.
fn is_sign(text: &str) -> bool {
    !text.contains(char::is_uppercase) && !text.ends_with('.') && !text.contains(['，', '。', '；', '！', '？'])
}

/// Four words or more of which most begin small, or Chinese with a mark that ends or divides a sentence.
fn is_sentence(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).collect();
    let small = words.iter().filter(|word| word.starts_with(char::is_lowercase)).count();
    (words.len() >= 4 && small * 2 > words.len()) || text.contains(['，', '。', '；', '！', '？'])
}

#[test]
fn only_the_page_is_for_the_browser_alone() {
    let map = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("src/lib.rs");
    let lines: Vec<&str> = map.lines().map(str::trim).collect();
    for room in ROOMS {
        let line = lines.iter().position(|line| *line == format!("pub mod {room};"));
        let line = line.unwrap_or_else(|| panic!("src/lib.rs does not open `{room}`"));
        let gate =
            line.checked_sub(1).and_then(|above| lines.get(above)).is_some_and(|above| above.starts_with("#[cfg"));
        assert_eq!(gate, room == "app", "src/lib.rs: `{room}` is compiled on the wrong targets");
        assert!(map.contains(&format!("`{room}`")), "src/lib.rs: the map does not tell of `{room}`");
    }
    assert!(map.contains("#![forbid(unsafe_code)]"));
}

#[test]
fn arrows_are_seen_however_they_are_written() {
    for (inside, text, room) in [
        ("units.rs", "use crate::text::Say;", Some("text")),
        ("units.rs", "use super::app;", Some("app")),
        ("advise/fixes.rs", "use crate::{units::Bytes, app::{self, Page}};", Some("app")),
        ("advise/fixes.rs", "fn f() -> super::super::text::Say { g(1) }", Some("text")),
        ("advise/fixes.rs", "mod tests { use super::super::super::text; }", Some("text")),
        ("advise/fixes.rs", "mod tests { use super::super::text; }", None),
        ("advise/mod.rs", "//! Unlike [`crate::app`].\nuse super::units; /* crate::text */", None),
        ("advise/mod.rs", "fn f() { log!(\"crate::app\"); m!(crate::app::mount()) }", Some("app")),
    ] {
        let used = File::of(Path::new(inside), text).rooms_used();
        let upward = used.iter().map(|(room, _)| room.as_str()).find(|room| ["text", "app"].contains(room));
        assert_eq!(upward, room, "{inside}: {text}");
    }
}

#[test]
fn code_for_tests_is_left_out() {
    let text = r#"
        #[cfg(test)] use std::fs::{self, File};
        /// Four words of documentation.
        const NAME: &str = "kept";
        #[cfg(test)] mod tests { #[test] fn f() { panic!("left out with {}", 1) } }
    "#;
    let file = File::of(Path::new("units.rs"), text).outside_tests();
    let literals: Vec<String> = file.literals().into_iter().map(|literal| literal.text).collect();
    assert_eq!(literals, ["kept"]);
    assert!(file.paths().iter().all(|(path, _)| !path.starts_with("std")));
}

#[test]
fn sentences_are_told_from_names() {
    for name in ["Qwen2.5 7B Instruct", "NVIDIA GeForce RTX 4060 Ti", "千问", "out of range", "https://a.b/c d"] {
        assert!(!is_sentence(name), "{name}");
    }
    for sentence in
        ["the batch must not be empty", "装不下，还差 7 GB", "Don't buy yet: two rented hours will tell you"]
    {
        assert!(is_sentence(sentence), "{sentence}");
    }
}
