//! The page on paper, at twice the size, in the system's own colours.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};
use serde_json::json;

/// A project that does not fit, with everything there is to say about it.
const FULL: &str = "#preset=joke-chat-qlora&seq=4096&batch=8&have=rtx-4060-ti-16gb";

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn the_plan_prints_on_one_sheet() {
    for language in Language::ALL {
        let page = Page::open_at(&format!("print-{language:?}").to_lowercase(), language, Window::DESKTOP, FULL);
        let printed = page.chromium("Page.printToPDF", &json!({"preferCSSPageSize": true, "printBackground": true}));
        let sheets = page_tests::sheets(printed.get("data").and_then(|data| data.as_str()).unwrap_or_default());
        page.chromium("Emulation.setEmulatedMedia", &json!({"media": "print"}));
        page.picture(&format!("print-{language:?}").to_lowercase());
        assert_eq!(sheets, 1, "sheets of A4");
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn twice_the_size_needs_no_sideways_scrolling() {
    let page = Page::open_at("zoomed", Language::Chinese, Window::DESKTOP, FULL);
    let half = json!({"width": 640, "height": 450, "deviceScaleFactor": 2, "mobile": false});
    page.chromium("Emulation.setDeviceMetricsOverride", &half);
    page.fits_the_window();
    page.picture("zoomed");
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn the_systems_colours_are_taken() {
    let page = Page::open_at("forced-colours", Language::English, Window::DESKTOP, FULL);
    let features = json!({"features": [{"name": "forced-colors", "value": "active"}, {"name": "prefers-reduced-motion", "value": "reduce"}]});
    page.chromium("Emulation.setEmulatedMedia", &features);
    page.picture("forced-colours");
    page.was_quiet();
}
