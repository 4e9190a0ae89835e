//! The built page opens, in both languages and on both sizes of screen, and nothing goes wrong unseen.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};
use serde_json::json;

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn opens_without_an_error() {
    for language in Language::ALL {
        for (window, size) in [(Window::DESKTOP, "desktop"), (Window::PHONE, "phone")] {
            let name = format!("opens-{language:?}-{size}").to_lowercase();
            let page = Page::open(&name, language, window);
            page.picture(&name);
            page.fits_the_window();
            page.was_quiet();
        }
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn says_what_it_can_without_script() {
    let page = Page::blank("no-script", Language::Chinese, Window::PHONE);
    page.chromium("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    page.go("");
    page.picture("no-script");
    let seen = page.source();
    assert!(seen.contains("<noscript>") && seen.contains("JavaScript"), "the page is silent without script: {seen}");
    page.was_quiet();
}
