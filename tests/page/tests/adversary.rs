//! The browser and other people's texts as adversaries: storage that lies or is full, two tabs, ten thousand edits, two
//! ways to write a number, code where a name is expected, messages from a page that means harm.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window, built};
use serde_json::json;

/// Where the page keeps the last project.
const KEY: &str = "enough-gpu.project";

/// What a later version, another page of the same host or a broken disk may have left where the last project is kept.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn storage_that_lies_is_passed_over() {
    let page = Page::open("lying-storage", Language::English, Window::DESKTOP);
    page.type_into("@input-micro-batch", "11");
    page.wait("the project is kept", || {
        let kept = page.script_with("return localStorage.getItem(arguments[0])", vec![json!(KEY)]);
        kept.as_str().is_some_and(|kept| kept.contains("batch=11")).then_some(())
    });
    // What is kept is read: without this the rest would say nothing.
    page.go("");
    page.text("@answer-head");
    assert_eq!(page.value("@input-micro-batch"), "11");
    // A lie, and what of it is still to be understood.
    for (text, batch) in [
        ("", None),
        ("\u{0}\u{ffff}", None),
        ("{\"version\":99,\"project\":{\"model\":[]}}", None),
        ("preset=mnist&model=no-such-model&batch=6&future-key=1&version=9", Some("6")),
        ("preset=mnist&batch=-1&batch=NaN&seq=1e999", None),
        ("%%%&&&===###", None),
        ("<script>window.hacked = 1</script>", None),
        (&format!("preset=mnist&{}", "batch=7&".repeat(5000)), Some("7")),
    ] {
        page.script_with(
            "for (const k of Object.keys(localStorage)) localStorage.setItem(k, arguments[0]);
             localStorage.setItem(arguments[1], arguments[0])",
            vec![json!(text), json!(KEY)],
        );
        page.go("");
        page.text("@answer-head");
        let read = page.value("@input-micro-batch");
        assert!(batch.is_none_or(|batch| batch == read), "{text:.60}: read {read}");
        assert!(read != "11" && read != "13", "{text:.60}: what was there before is still read: {read}");
        page.type_into("@input-micro-batch", "13");
        page.wait("the link follows", || page.link().contains("batch=13").then_some(()));
        assert_eq!(page.script("return window.hacked"), json!(null), "{text:.60}");
    }
    page.was_quiet();
}

/// Storage that is full at the first write, and storage that the browser denies even to be looked at.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn storage_that_is_full_or_denied_is_no_matter() {
    for (name, storage) in [
        ("full-storage", "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"),
        (
            "denied-storage",
            "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } })",
        ),
    ] {
        let page = Page::blank(name, Language::English, Window::DESKTOP);
        page.chromium("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": storage }));
        page.go("");
        let before = page.text("@answer-detail");
        page.type_into("@input-micro-batch", "7");
        page.wait_for_change("@answer-detail", &before);
        page.click("@lang-zh");
        page.wait_for_text("h1", "显卡够用吗");
        page.was_quiet();
    }
}

/// Another tab writes its own project; this one keeps what is on its screen.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn two_tabs_leave_each_other_alone() {
    let page = Page::open_at("two-tabs", Language::English, Window::DESKTOP, "#preset=gongbi-lora-sdxl&have=rtx-4090");
    page.type_into("@input-micro-batch", "5");
    page.wait("the link follows", || page.link().contains("batch=5").then_some(()));
    let detail = page.text("@answer-detail");
    let other = "const frame = document.createElement('iframe'); document.body.append(frame);
        const store = (frame.contentWindow || window).localStorage;
        store.setItem(arguments[0], 'preset=mnist'); frame.remove();
        window.dispatchEvent(new StorageEvent('storage', { key: arguments[0], newValue: 'preset=mnist', storageArea: localStorage }));";
    page.script_with(other, vec![json!(KEY)]);
    assert_eq!(page.value("@input-micro-batch"), "5");
    assert_eq!(page.text("@answer-detail"), detail);
    page.type_into("@input-micro-batch", "6");
    page.wait("the link follows", || page.link().contains("batch=6").then_some(()));
    assert!(page.link().contains("gongbi-lora-sdxl"), "{}", page.link());
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn ten_thousand_edits_end_where_the_last_one_says() {
    // Beyond the time that a script is given: a hundred at a time.
    let page = Page::open_at("edits", Language::English, Window::DESKTOP, "#preset=mnist&have=rtx-4090");
    for hundred in 0..100 {
        page.script_with(
            "const input = document.querySelector(\"[data-testid='input-micro-batch']\");
             const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
             for (let n = 1; n <= 100; n++) {
               set.call(input, String((arguments[0] * 100 + n) % 997 + 1));
               input.dispatchEvent(new Event('input', { bubbles: true }));
             }",
            vec![json!(hundred)],
        );
    }
    let last = (10_000 % 997 + 1).to_string();
    assert_eq!(page.value("@input-micro-batch"), last);
    page.wait("the link follows", || page.link().contains(&format!("batch={last}")).then_some(()));
    let detail = page.text("@answer-detail");
    page.reload();
    page.wait_for_text("@answer-detail", &detail);
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_comma_and_a_point_mean_the_same() {
    for language in Language::ALL {
        let page = Page::open(&format!("comma-{language:?}").to_lowercase(), language, Window::DESKTOP);
        for text in ["2.5", "2,5", "２．５"] {
            page.type_into("@input-epochs", text);
            page.wait(&format!("{text} is understood"), || page.link().contains("epochs=2.5").then_some(()));
            assert_eq!(page.value("@input-epochs"), text, "what was typed is kept");
            page.type_into("@input-epochs", "7");
            page.wait("7 is understood", || page.link().contains("epochs=7").then_some(()));
        }
        page.was_quiet();
    }
}

/// Code in every place that takes a text: it is shown as the text it is, and nothing of it runs.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn code_is_a_text_like_any_other() {
    const CODE: &str = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>";
    let hacked = |page: &Page| page.script("return window.hacked");
    let encoded = CODE.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
    for key in ["model", "preset", "have", "batch", "lang", "lock", "no-such-key"] {
        let page =
            Page::open_at(&format!("code-{key}"), Language::English, Window::DESKTOP, &format!("#{key}={encoded}"));
        page.text("@answer-head");
        assert_eq!(hacked(&page), json!(null), "{key}");
        assert_eq!(page.count("img[src=x]"), 0, "{key}");
        page.was_quiet();
    }
    let page = Page::open("code-typed", Language::English, Window::DESKTOP);
    for field in ["model", "gpu", "preset", "micro-batch", "epochs"] {
        page.type_into(&format!("@input-{field}"), CODE);
        page.press(&format!("@input-{field}"), "\u{e004}");
        assert_eq!(page.value(&format!("@input-{field}")), CODE, "{field}: what was typed is kept");
        assert_eq!((hacked(&page), page.count("img[src=x]")), (json!(null), 0), "{field}");
    }
    page.was_quiet();
}

/// The page listens to nobody: messages of a host that means harm change nothing.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn messages_from_others_change_nothing() {
    let page = Page::open_at("messages", Language::English, Window::DESKTOP, "#preset=gongbi-lora-sdxl&have=rtx-4090");
    let head = page.text("@answer-head");
    page.script(
        "for (const data of [
            'preset=mnist', '#preset=mnist', { project: 'preset=mnist' }, { type: 'enough-gpu', height: -1 },
            { type: 'setProject', model: '<script>window.hacked=1</script>' }, new ArrayBuffer(1 << 20), null,
        ]) window.postMessage(data, '*');",
    );
    page.type_into("@input-micro-batch", "4");
    page.wait("the link follows", || page.link().contains("batch=4").then_some(()));
    let link = page.link();
    assert!(link.contains("preset=gongbi-lora-sdxl") && link.contains("have=rtx-4090"), "{link}");
    assert_eq!(page.script("return window.hacked"), json!(null));
    assert!(!head.is_empty());
    page.was_quiet();
}

/// A policy that forbids wasm, as a host may send one: a sentence instead of an empty page, and the table that needs none.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_policy_against_wasm_is_told() {
    let text = std::fs::read_to_string(built()).expect("the built page");
    let stricter = text.replacen(" 'wasm-unsafe-eval'", "", 1);
    assert_ne!(text, stricter, "the page's policy allows wasm by name");
    for language in Language::ALL {
        let page = Page::file(&format!("no-wasm-{language:?}").to_lowercase(), language, Window::DESKTOP, &stricter);
        page.go("");
        let said = page.wait_for_text("@failure", "WebAssembly");
        assert_eq!(said.contains("没能启动"), language == Language::Chinese, "{said}");
        page.wait_for_text("body", if language == Language::Chinese { "先给个大概" } else { "Rules of thumb" });
        page.picture(&format!("no-wasm-{language:?}").to_lowercase());
    }
}

/// A page that embeds the compact form and means harm floods it with messages: neither the form nor what it tells changes.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_hostile_host_changes_nothing() {
    let host = "<!doctype html><meta charset=utf-8><link rel=icon href=data:,>
        <iframe src='index.html?embed&lock=model&lang=en#preset=gongbi-lora-sdxl&have=rtx-4090' width=420 height=560></iframe>
        <script>
            window.told = [];
            addEventListener('message', (event) => told.push(event.data));
            setInterval(() => {
                for (const data of [
                    'preset=mnist', { project: 'preset=mnist' }, { type: 'enough-gpu', height: -1, project: 'preset=mnist' },
                    { type: 'setProject', model: '<script>window.hacked=1<\\/script>' }, { type: 'unlock' }, new ArrayBuffer(9),
                ]) frames[0].postMessage(data, '*');
            }, 5);
        </script>";
    let page = Page::beside("hostile-host", Language::English, Window::DESKTOP, &[("host.html", host)]);
    page.go("host.html");
    page.enter("iframe");
    let head = page.text("@answer-head");
    let model = page.value("@input-model");
    page.type_into("@input-micro-batch", "4");
    page.wait("the link follows", || {
        let place = page.script("return location.hash");
        place.as_str().is_some_and(|place| place.contains("batch=4") && place.contains("have=rtx-4090")).then_some(())
    });
    assert!(!head.is_empty());
    assert_eq!(page.value("@input-model"), model);
    assert_eq!(page.attribute("@input-model", "disabled").as_deref(), Some("true"), "the model stays locked");
    assert_eq!(page.script("return window.hacked"), json!(null));
    page.leave();
    // All that a host hears is a height.
    let told = page.script("return told.map((data) => Object.keys(data).sort().join() + typeof data.height)");
    let told = told.as_array().expect("messages").clone();
    assert!(!told.is_empty() && told.iter().all(|one| one == "height,typenumber"), "{told:?}");
    page.was_quiet();
}

/// A page that reads from right to left around the compact form leaves it as it is.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_page_from_right_to_left_leaves_the_frame_alone() {
    let host = "<!doctype html><html dir=rtl lang=ar><body style='zoom:1.25'><iframe src='index.html?embed=1&lang=en\
                #preset=gongbi-lora-sdxl&have=rtx-4090' width=420 height=560></iframe></body></html>";
    let page = Page::beside("rtl", Language::English, Window::DESKTOP, &[("host.html", host)]);
    page.go("host.html");
    page.enter("iframe");
    page.text("@answer-head");
    let direction = page.script("return getComputedStyle(document.body).direction");
    assert_eq!(direction, json!("ltr"));
    let wide = page.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert_eq!(wide, json!(0));
    page.leave();
}
