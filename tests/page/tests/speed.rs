//! How fast the page opens and answers, and that it does not grow. One after the other: tests of one file run side by
//! side, and would share the processor. The bounds are for a machine of two cores that does nothing else
//! (`PAGE_TESTS_ALONE=1`); what was measured is printed.
#![cfg(not(target_arch = "wasm32"))]

use std::sync::{Mutex, MutexGuard, PoisonError};

use page_tests::{Language, Page, Window, built};
use serde_json::{Value, json};

/// Held while a test measures.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// The number below which so many of a hundred lie.
fn share(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * percent).div_ceil(100);
    values.get(at.saturating_sub(1)).copied().expect("something was measured")
}

/// Runs before the page: notes when the answer stands, which tasks are long, how long events take until the next
/// drawing, and keeps the wasm memory in sight.
const NOTES: &str = "
    window.notes = { answer: null, long: [], events: [] };
    new PerformanceObserver((list) => list.getEntries().forEach((e) => notes.long.push([e.startTime, e.duration])))
        .observe({ type: 'longtask', buffered: true });
    new PerformanceObserver((list) => list.getEntries().forEach((e) => e.interactionId && notes.events.push(e.duration)))
        .observe({ type: 'event', durationThreshold: 16, buffered: true });
    new MutationObserver(() => {
        const head = document.querySelector('[data-testid=answer-head]');
        if (head && head.textContent && notes.answer === null) notes.answer = performance.now();
    }).observe(document, { childList: true, subtree: true, characterData: true });
    const instantiate = WebAssembly.instantiate;
    WebAssembly.instantiate = async (...given) => {
        const made = await instantiate(...given);
        window.memory = (made.instance || made).exports.memory;
        return made;
    };";

fn noted(name: &str, page: Page) -> Page {
    page.chromium("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": NOTES }));
    page.go("");
    page.wait(&format!("{name}: the answer stands"), || page.script("return notes.answer").as_f64());
    page
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn opens_at_once_from_a_disk() {
    const TIMES: usize = 11;
    let _alone = alone();
    let text = std::fs::read_to_string(built()).expect("the built page");
    let (mut usable, mut painted) = (Vec::new(), Vec::new());
    let page = noted("opens", Page::file("opens-from-disk", Language::English, Window::DESKTOP, &text));
    for _ in 0..TIMES {
        page.go("");
        usable.push(page.wait("the answer stands", || page.script("return notes.answer").as_f64()));
        let paint = "const p = performance.getEntriesByName('first-contentful-paint')[0]; return p && p.startTime";
        painted.push(page.wait("something is drawn", || page.script(paint).as_f64()));
    }
    let fastest = share(usable.clone(), 0);
    let (usable, painted) = (share(usable, 50), share(painted, 50));
    println!(
        "usable after {usable:.0} ms (fastest {fastest:.0}), first drawn after {painted:.0} ms: medians of {TIMES}"
    );
    assert!(usable < bound(300.0, 3000.0), "usable after {usable:.0} ms");
    assert!(painted < bound(100.0, 1000.0), "first drawn after {painted:.0} ms");
}

/// The bound where nothing else runs, which a person says by `PAGE_TESTS_ALONE=1`; beside other tests and builds a wide
/// one, that only finds what broke.
fn bound(alone: f64, beside: f64) -> f64 {
    if std::env::var_os("PAGE_TESTS_ALONE").is_some() { alone } else { beside }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn edits_are_drawn_at_once() {
    const EDITS: u32 = 500;
    let _alone = alone();
    let page = noted("edits", Page::blank("edits", Language::English, Window::DESKTOP));
    let before = numbers(&page.script("return notes.long.map((task) => task[0] + task[1])"));
    let from = before.into_iter().fold(0.0, f64::max);
    for edit in 0..EDITS {
        let keys = ["1", "2", "4", "8", "16", "3", "7"][edit as usize % 7];
        match edit % 5 {
            0 => page.type_into("@input-sequence", &format!("{}", 256 + edit)),
            1 | 2 => page.type_into("@input-micro-batch", keys),
            3 => page.press("@input-micro-batch", "\u{e003}5"),
            _ => page.type_into("@input-epochs", keys),
        }
    }
    let events = numbers(&page.script("return notes.events"));
    let keys = events.len();
    let long = page.script_with(
        "return notes.long.filter((task) => task[0] > arguments[0]).map((task) => task[1])",
        vec![json!(from)],
    );
    let long = numbers(&long);
    // Events shorter than 16 ms are not told of; a keystroke is three events, of which one counts.
    let told = share(
        events.iter().copied().chain(std::iter::repeat_n(0.0, (EDITS as usize * 2).saturating_sub(keys))).collect(),
        98,
    );
    println!(
        "{EDITS} edits: next paint p98 {told:.0} ms, {keys} events of 16 ms or more; {} long tasks {long:?}",
        long.len()
    );
    assert!(told <= bound(50.0, 500.0), "98 % of edits are drawn within {told:.0} ms");
    assert!(long.is_empty() || bound(0.0, 1.0) > 0.0, "tasks of more than 50 ms: {long:?}");
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn five_thousand_edits_leave_nothing_behind() {
    let _alone = alone();
    let page = noted("memory", Page::blank("memory", Language::English, Window::DESKTOP));
    page.chromium("Performance.enable", &json!({}));
    let measured = || {
        page.chromium("HeapProfiler.collectGarbage", &json!({}));
        let metrics = page.chromium("Performance.getMetrics", &json!({}));
        let metric = |name: &str| {
            let all = metrics.get("metrics").and_then(Value::as_array).cloned().unwrap_or_default();
            all.iter()
                .find(|m| m.get("name") == Some(&json!(name)))
                .and_then(|m| m.get("value")?.as_f64())
                .unwrap_or_default()
        };
        let wasm = page.script("return memory.buffer.byteLength").as_f64().unwrap_or_default();
        [wasm, metric("JSHeapUsedSize"), metric("Nodes"), metric("JSEventListeners")]
    };
    let edit = |from: u32, to: u32| {
        let script = format!(
            "const done = arguments[arguments.length - 1];
            const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
            const next = (n) => {{
                if (n >= {to}) {{ setTimeout(done, 200); return; }}
                const input = document.querySelector(`[data-testid='input-${{n % 2 ? 'micro-batch' : 'sequence'}}']`);
                set.call(input, String(n % 2 ? 1 + n % 9 : 512 + n % 50));
                input.dispatchEvent(new Event('input', {{ bubbles: true }}));
                setTimeout(() => next(n + 1));
            }};
            next({from});"
        );
        page.wait_for_script(&script);
    };
    let mut seen = Vec::new();
    for from in (0..5000).step_by(500) {
        edit(from, from + 500);
        seen.push(measured());
        println!("after {} edits: wasm memory, script heap, nodes, listeners {:?}", from + 500, seen.last());
    }
    // The allocator settles in the first half; what is lost at each edit would go on.
    let [early, late] = [4, 9].map(|at| seen.get(at).copied().expect("ten measurements"));
    assert!(late[0] <= early[0] + 65_536.0, "wasm memory grows: {early:?} {late:?}");
    assert!(late[1] < early[1] * 1.1 + 100_000.0, "the heap grows: {early:?} {late:?}");
    assert!(late[2] < early[2] + 100.0 && late[3] < early[3] + 20.0, "nodes stay: {early:?} {late:?}");
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_keystroke_is_answered_at_once() {
    // Time from a keystroke until the new page is ready to be drawn, in milliseconds; the middle one of eleven.
    const MOST: f64 = 100.0;
    let _alone = alone();
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
    let middle = share(numbers(&times), 50);
    println!("a keystroke is answered in {middle:.1} ms");
    assert!(middle < MOST, "a keystroke takes {middle:.1} ms");
    page.was_quiet();
}
