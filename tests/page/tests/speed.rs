//! How fast the page answers. On its own: tests of one file run side by side, and would share the processor with it.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_keystroke_is_answered_at_once() {
    // Time from a keystroke until the new page is ready to be drawn, in milliseconds; the middle one of eleven.
    const MOST: f64 = 100.0;
    let page = Page::open_at("at-once", Language::English, Window::DESKTOP, "#preset=gongbi-lora-sdxl&have=rtx-4090");
    let times = page.wait_for_script(
        "const done = arguments[arguments.length - 1];\
         const input = document.querySelector(\"[data-testid='input-micro-batch']\");\
         const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;\
         const times = [];\
         const next = n => {\
           if (n > 11) { done(times); return; }\
           const start = performance.now();\
           set.call(input, String(n));\
           input.dispatchEvent(new Event('input', { bubbles: true }));\
           setTimeout(() => { times.push(performance.now() - start); setTimeout(() => next(n + 1)); });\
         };\
         next(1);",
    );
    let mut times: Vec<f64> = times.as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64).collect();
    times.sort_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).copied().expect("eleven times");
    println!("a keystroke is answered in {middle:.1} ms");
    assert!(middle < MOST, "a keystroke takes {middle:.1} ms");
    page.was_quiet();
}
