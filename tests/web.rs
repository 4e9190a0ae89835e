//! Tests of the page's own code inside a real browser: what needs a DOM, and no more.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn the_page_mounts() {
    enough_gpu::app::mount();
}
