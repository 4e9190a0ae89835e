//! The built page opens, in both languages and on both sizes of screen, and nothing goes wrong unseen.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn opens_without_an_error() {
    for language in Language::ALL {
        for (window, size) in [(Window::DESKTOP, "desktop"), (Window::PHONE, "phone")] {
            let name = format!("opens-{language:?}-{size}").to_lowercase();
            let page = Page::open(&name, language, window);
            page.wait("the page has a title", || page.script("return document.title").as_str().map(str::to_owned));
            page.picture(&name);
            page.fits_the_window();
            page.was_quiet();
        }
    }
}
