//! How long an advice takes as wasm, on its own: tests of one file run in one page and would share the processor.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::advise;
use enough_gpu::catalog::Catalog;
use enough_gpu::project::Project;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// Milliseconds since the page was opened.
fn now() -> f64 {
    web_sys::window().and_then(|window| window.performance()).map(|clock| clock.now()).unwrap()
}

/// Everything that the page works out after a change: 5 ms are wanted on two quiet cores, which are judged where the tests
/// were built with `PAGE_TESTS_ALONE=1`, for a release. Else the machine may be busy and the build another, so that the
/// bound only catches what is far off.
#[wasm_bindgen_test]
fn an_advice_is_quick() {
    const MOST_MS: f64 = if option_env!("PAGE_TESTS_ALONE").is_some() { 5.0 } else { 150.0 };
    let catalog = Catalog::bundled();
    let mut slowest = (0.0, "", "");
    for preset in catalog.presets.iter() {
        for gpu in ["", "rtx-4060-ti-16gb"] {
            let mut project = Project::from_preset(preset, &catalog);
            gpu.clone_into(&mut project.hardware.gpu);
            let mut times: Vec<f64> = (0..5)
                .map(|_| {
                    let start = now();
                    let _ = advise(&project, &catalog);
                    now() - start
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let on = if gpu.is_empty() { "no card" } else { gpu };
            console_log!("advice: {} | {on} | {:.2} (fastest {:.2})", preset.id, times[2], times[0]);
            if times[2] > slowest.0 {
                slowest = (times[2], preset.id, on);
            }
        }
    }
    console_log!("the slowest advice: {slowest:?} ms");
    assert!(slowest.0 < MOST_MS, "{slowest:?}");
}
