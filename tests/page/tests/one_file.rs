//! The page is one file: it opens from a disk, it can be saved with the project on screen, and it fetches nothing.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window, built};
use serde_json::json;

fn built_text() -> String {
    std::fs::read_to_string(built()).expect("the built page")
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn opens_from_a_disk() {
    for language in Language::ALL {
        let name = format!("from-disk-{language:?}").to_lowercase();
        let page = Page::file(&name, language, Window::DESKTOP, &built_text());
        page.go("");
        page.text("@answer-head");
        page.type_into("@input-micro-batch", "3");
        page.wait("the link follows", || page.link().contains("batch=3").then_some(()));
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn the_folder_holds_one_file_and_the_file_is_small() {
    let folder = built().parent().expect("its folder").to_path_buf();
    let files: Vec<_> = std::fs::read_dir(folder).expect("its folder").flatten().map(|file| file.file_name()).collect();
    assert_eq!(files, ["index.html"]);
    let text = built_text();
    // The goal is 400 kB, and 300 kB as a host compresses it (the build says that).
    assert!(text.len() <= 641_200, "{} bytes", text.len());
    assert!(!text.contains("localhost") && !text.contains("/home/") && !text.contains("/root/"), "a path of a machine");
    for (loads, what) in
        [("src=\"h", "a script"), ("href=\"h", "a link"), ("@import", "a style"), ("url(h", "a picture")]
    {
        assert!(!text.contains(loads), "the page loads {what}");
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_saved_page_opens_with_the_project_on_screen() {
    let page =
        Page::open_at("save", Language::English, Window::DESKTOP, "#model=qwen2.5-7b&method=qlora&have=rtx-4090");
    page.type_into("@input-sequence", "3072");
    page.wait_for_text("@answer-head", "");
    page.wait("the link follows", || page.link().contains("seq=3072").then_some(()));
    let (head, detail) = (page.text("@answer-head"), page.text("@answer-detail"));

    // What the browser's own "web page, complete" and the button write: the document as it stands.
    let catch = "const done = arguments[0]; const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return make(blob); };
        HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; };
        document.querySelector('[data-testid=save]').click();";
    let by_button = page.wait_for_script(catch).as_str().unwrap_or_default().to_owned();
    let name = page.script("return window.savedAs");
    assert_eq!(name, "Enough GPU - Qwen2.5-7B QLoRA (4-bit base).html");
    let by_browser = format!(
        "<!DOCTYPE html>\n{}",
        page.script("return document.documentElement.outerHTML").as_str().unwrap_or_default()
    );
    page.was_quiet();

    for (how, text) in [("button", by_button), ("browser", by_browser)] {
        // Another browser, whose person reads Chinese: the saved page stays in the language it was saved in.
        let saved = Page::file(&format!("saved-by-{how}"), Language::Chinese, Window::DESKTOP, &text);
        saved.go("");
        saved.wait_for_text("@answer-head", &head);
        assert_eq!(saved.text("@answer-detail"), detail, "{how}");
        // The saved text stands there before the page has started; what is typed in a field comes with the start.
        saved.wait("the field is filled", || (saved.value("@input-sequence") == "3072").then_some(()));
        assert_eq!((saved.count("@answer"), saved.count("h1")), (1, 1), "{how}: the page is there once");
        saved.type_into("@input-sequence", "1024");
        saved.wait_for_change("@answer-detail", &detail);
        saved.picture(&format!("saved-by-{how}"));
        saved.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn the_policy_stops_what_would_leave_the_page() {
    let page = Page::open("policy", Language::English, Window::DESKTOP);
    let tries = "const done = arguments[0];
        Promise.allSettled([
            fetch('https://example.org/'), fetch(location.href),
            new Promise((yes, no) => { const i = new Image(); i.onload = yes; i.onerror = no; i.src = 'https://example.org/a.png'; }),
        ]).then((all) => done(all.map((one) => one.status)));";
    assert_eq!(page.wait_for_script(tries), json!(["rejected", "rejected", "rejected"]));
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_page_that_cannot_start_says_why() {
    for language in Language::ALL {
        let name = format!("cannot-start-{language:?}").to_lowercase();
        let page = Page::blank(&name, language, Window::PHONE);
        page.chromium("Page.addScriptToEvaluateOnNewDocument", &json!({"source": "delete window.WebAssembly"}));
        page.go("");
        let said = page.wait_for_text("@failure", "WebAssembly");
        let chinese = said.contains("没能启动");
        assert_eq!(chinese, language == Language::Chinese, "{said}");
        page.picture(&name);
    }
}

/// Code that stops in the middle answers nothing any more, and an answer of before may stand there still.
#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_page_that_stops_says_so() {
    for language in Language::ALL {
        let name = format!("stopped-{language:?}").to_lowercase();
        let page = Page::open(&name, language, Window::PHONE);
        page.script("dispatchEvent(new ErrorEvent('error', { error: new Error('somebody else') }))");
        assert_eq!(page.text("@failure"), "");
        page.script(
            "dispatchEvent(new ErrorEvent('error', { error: new WebAssembly.RuntimeError('unreachable executed') }))",
        );
        let said = page.wait_for_text("@failure", "unreachable executed");
        assert_eq!(said.contains("停住了"), language == Language::Chinese, "{said}");
        page.picture(&name);
    }
}
