//! axe-core finds nothing on the page, in any of its states.
#![cfg(not(target_arch = "wasm32"))]

use std::fmt::Write as _;

use page_tests::{Language, Page, Window};
use serde_json::Value;

/// Projects and forms of the page.
const STATES: [(&str, &str); 4] = [
    ("fits", "#preset=joke-chat-qlora&have=rtx-4090"),
    ("runs-out", "#preset=joke-chat-qlora&seq=4096&batch=8&have=rtx-4060-ti-16gb"),
    ("custom", "#model=custom&hidden=3000&heads=16&have=rtx-4090&count=4"),
    ("embed", "?embed#preset=gongbi-lora-sdxl&have=rtx-3060-12gb"),
];

/// Everything that opens, opened.
const OPEN: &str = "document.querySelectorAll('details').forEach((fold) => (fold.open = true));
    document.querySelector('[data-testid=share]')?.click();";

#[test]
#[ignore = "needs the built page and axe-core: cargo xtask test"]
fn nothing_is_found() {
    let Some(file) = std::env::var_os("PAGE_TESTS_AXE") else {
        println!("axe-core is not there, so the page was not looked at with it (cargo xtask test says why)");
        return;
    };
    let axe = std::fs::read_to_string(file).expect("axe-core");
    let look = format!(
        "{axe}; const done = arguments[arguments.length - 1];
        axe.run(document, {{ resultTypes: ['violations'] }}).then((found) => done(found.violations.map((v) =>
            [v.id, v.help, v.nodes.map((n) => n.target.join(' ') + ' (' + n.failureSummary.split('\\n').slice(1).join(';') + ')').slice(0, 4).join(' | ')])),
            (error) => done([['axe', String(error), '']]));"
    );
    let mut found = String::new();
    for language in Language::ALL {
        for window in [Window::DESKTOP, Window::PHONE] {
            let page = Page::blank("axe", language, window);
            for (name, link) in STATES {
                for theme in ["light", "dark"] {
                    page.go(&format!("{link}&theme={theme}"));
                    page.text("@answer-head");
                    page.script(OPEN);
                    // What opens is drawn, and what fades in is there.
                    std::thread::sleep(std::time::Duration::from_millis(400));
                    for finding in page.wait_for_script(&look).as_array().into_iter().flatten() {
                        let part = |at: usize| finding.get(at).and_then(Value::as_str).unwrap_or_default();
                        let _ = writeln!(
                            found,
                            "  {language:?} {window:?} {name} {theme}: {}: {} at {}",
                            part(0),
                            part(1),
                            part(2)
                        );
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "axe-core found\n{found}");
}
