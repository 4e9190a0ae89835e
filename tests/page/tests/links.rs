//! Links: the project goes out and comes back, the back button takes steps back, and a frame in another page fits.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_link_brings_the_project_to_someone_else() {
    let page = Page::open_at(
        "link",
        Language::Chinese,
        Window::DESKTOP,
        "#model=qwen2.5-7b&method=qlora&seq=2048&have=rtx-4060-ti-16gb",
    );
    assert_eq!(page.value("@input-sequence"), "2048");
    assert_eq!(page.value("@input-method"), "qlora");
    page.type_into("@input-micro-batch", "2");
    page.wait("the link follows", || page.link().contains("batch=2").then_some(()));
    page.click("@share");
    let link = page.wait("the link is there", || Some(page.value("@link")).filter(|link| link.contains("batch=2")));
    page.picture("sharing");
    page.was_quiet();
    let fragment = link.split_once('#').expect("a fragment").1.to_owned();

    let other = Page::open_at("link-other", Language::English, Window::PHONE, &format!("#{fragment}"));
    assert_eq!((other.value("@input-sequence"), other.value("@input-micro-batch")), ("2048".into(), "2".into()));
    assert_eq!(other.script("return document.documentElement.lang"), "en", "the reader's own language");
    other.go(&format!("#{fragment}&lang=zh"));
    other.wait_for_text("@share", "分享");
    other.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn what_a_link_says_in_vain_is_told() {
    for language in Language::ALL {
        let name = format!("unread-{language:?}").to_lowercase();
        let page = Page::open_at(&name, language, Window::PHONE, "#model=qwen2.5-7b&batch=-5&colour=red&seq=4096");
        page.wait_for_text("@unread", "batch=-5");
        page.wait_for_text("@unread", "colour=red");
        assert_eq!(page.value("@input-sequence"), "4096", "the rest is kept");
        page.picture(&name);
        page.fits_the_window();
        page.click("@unread-close");
        page.wait("the notice is gone", || page.text("@unread").is_empty().then_some(()));
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_place_on_the_page_is_no_link() {
    let page = Page::open_at("place", Language::Chinese, Window::DESKTOP, "#model=qwen2.5-7b&method=qlora&seq=4096");
    assert_eq!(page.value("@input-sequence"), "4096");
    page.script("document.querySelector('a.skip').click()");
    page.wait("the address is the project's again", || page.link().contains("seq=4096").then_some(()));
    assert_eq!(page.value("@input-sequence"), "4096");
    assert_eq!(page.text("@unread"), "");
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn back_takes_a_step_back() {
    let page = Page::open_at("back", Language::English, Window::DESKTOP, "#model=qwen2.5-7b&method=lora&seq=512");
    page.choose_value("@input-method", "qlora");
    page.wait("the link follows", || page.link().contains("method=qlora").then_some(()));
    page.type_into("@input-sequence", "4096");
    page.wait("the link follows", || page.link().contains("seq=4096").then_some(()));
    page.back();
    page.wait("the typing is taken back as one step", || (page.value("@input-sequence") == "512").then_some(()));
    assert_eq!(page.value("@input-method"), "qlora");
    page.back();
    page.wait("the choice is taken back", || (page.value("@input-method") == "lora").then_some(()));
    page.script("history.go(2)");
    page.wait("and done again", || (page.value("@input-sequence") == "4096").then_some(()));
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn the_last_project_is_there_on_the_next_visit() {
    let page = Page::open("again", Language::English, Window::DESKTOP);
    page.type_into("@input-micro-batch", "11");
    page.wait("the link follows", || page.link().contains("batch=11").then_some(()));
    page.go("");
    page.wait("it is back", || (page.value("@input-micro-batch") == "11").then_some(()));
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_frame_fits_even_in_a_sandbox() {
    let page = Page::open_at("frame", Language::English, Window::DESKTOP, "#preset=joke-chat-qlora&have=rtx-4090");
    page.click("@share");
    let snippet =
        page.wait("the snippet", || Some(page.value("@embed-fitting")).filter(|text| text.contains("iframe")));
    let place = snippet.split("src=\"").nth(1).and_then(|rest| rest.split('?').next()).expect("an address").to_owned();
    let snippet = snippet.replace(&place, "index.html").replace("&amp;have", "&amp;lock=model,method&amp;have");
    for (name, sandbox) in [("open", ""), ("sandboxed", " sandbox=\"allow-scripts\"")] {
        for width in [320, 800] {
            let frame = snippet.replace("<iframe", &format!("<iframe{sandbox}"));
            let host = format!(
                "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><div style=\"width:{width}px\">{frame}</div>"
            );
            let name = format!("frame-{name}-{width}");
            let page = Page::beside(&name, Language::English, Window::DESKTOP, &[("host.html", &host)]);
            page.go("host.html");
            let height = || {
                page.script("return document.querySelector('iframe').height")
                    .as_str()
                    .and_then(|h| h.parse::<u32>().ok())
            };
            page.wait("the frame takes its height", || height().filter(|height| *height != 640));
            page.enter("iframe");
            page.text("@answer-head");
            page.fits_the_window();
            assert_eq!(page.attribute("@input-model", "disabled").as_deref(), Some("true"), "the model is locked");
            let before = page.text("@answer-detail");
            page.type_into("@input-micro-batch", "64");
            page.wait_for_change("@answer-detail", &before);
            let long = page.script("return document.querySelector('[data-testid=cards]').offsetHeight");
            assert_eq!(long, 0, "the long form is not shown");
            let inside = page.script("return Math.ceil(document.body.getBoundingClientRect().height)").as_u64();
            page.leave();
            page.wait("the height follows", || (height().map(u64::from) == inside).then_some(()));
            page.picture(&name);
            page.was_quiet();
        }
    }
}
