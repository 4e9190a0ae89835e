//! A person types what they want to train and what card they have, and sees verdict, warning and cards follow.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

/// What the page says in a language.
struct Words {
    language: Language,
    title: &'static str,
    style: &'static str,
    missing: &'static str,
    other: &'static str,
}

const WORDS: [Words; 2] = [
    Words {
        language: Language::Chinese, title: "显卡够用吗", style: "工笔画", missing: "差", other: "@lang-en"
    },
    Words { language: Language::English, title: "Enough GPU", style: "gongbi", missing: "short", other: "@lang-zh" },
];

fn tone(page: &Page) -> String {
    page.attribute("@answer", "data-tone").unwrap_or_default()
}

fn wait_for_tone(page: &Page, tones: &[&str]) {
    page.wait(&format!("the verdict is one of {tones:?}"), || tones.contains(&tone(page).as_str()).then_some(()));
}

/// Types into a combobox and takes an option by its id.
fn pick(page: &Page, field: &str, typed: &str, id: &str) {
    page.type_into(&format!("@input-{field}"), typed);
    page.click(&format!("@option-{id}"));
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn verdict_warning_and_cards_follow_what_is_typed() {
    for words in WORDS {
        let name = format!("follows-{:?}", words.language).to_lowercase();
        let page = Page::open(&name, words.language, Window::DESKTOP);
        page.wait_for_text("h1", words.title);

        // A style of painting, learned on a card of 12 GB: that works.
        pick(&page, "preset", words.style, "gongbi-lora-sdxl");
        page.type_into("@input-gpu", "3060 12g");
        page.press("@input-gpu", "\u{e007}");
        page.wait("the card is chosen", || page.value("@input-gpu").contains("3060").then_some(()));
        wait_for_tone(&page, &["good", "tight"]);
        assert_eq!(page.text("@oom"), "", "{name}: no warning where it fits");
        let head = page.text("@answer-head");
        let cards = page.text("@cards");

        // Pictures of twice the side, many at a time: that does not.
        page.type_into("@input-image-side", "2048");
        page.type_into("@input-micro-batch", "8");
        wait_for_tone(&page, &["bad"]);
        let short = page.wait_for_change("@answer-head", &head);
        assert!(short.contains(words.missing), "{name}: {short}");
        page.wait_for_text("@oom", "CUDA out of memory. Tried to allocate");
        let others = page.wait_for_change("@cards", &cards);
        page.picture(&format!("{name}-short"));

        // The first fix that is enough by itself, or all of them, and the way back.
        let before = page.text("@answer-detail");
        page.click("@next-apply");
        page.wait_for_change("@answer-detail", &before);
        page.click("@undo");
        page.wait_for_text("@answer-detail", &before);

        // A card from the list that is large enough.
        let large = page.script(
            "const cell = document.querySelector(\"[data-testid='cards'] td.fit[data-tone='good']\");\
             return cell && cell.parentElement.dataset.testid.replace('card-', 'choose-')",
        );
        let large = large.as_str().unwrap_or_else(|| panic!("{name}: no card is large enough: {others}")).to_owned();
        page.click(&format!("@{large}"));
        wait_for_tone(&page, &["good"]);
        assert_eq!(page.text("@oom"), "", "{name}: no warning where it fits");

        // The other language says the same of the same project.
        let said = page.text("@answer-head");
        page.click(words.other);
        page.wait_for_change("@answer-head", &said);
        assert_eq!(page.value("@input-micro-batch"), "8");
        wait_for_tone(&page, &["good"]);
        page.fits_the_window();
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_language_model_is_answered_for() {
    for words in WORDS {
        let name = format!("language-model-{:?}", words.language).to_lowercase();
        let page = Page::open(&name, words.language, Window::PHONE);
        pick(&page, "model", "qwen2.5 7b", "qwen2.5-7b");
        page.choose_value("@input-method", "full");
        pick(&page, "gpu", "4060 ti 16", "rtx-4060-ti-16gb");
        wait_for_tone(&page, &["bad"]);
        page.wait_for_text("@oom", "CUDA out of memory. Tried to allocate");
        page.choose_value("@input-method", "qlora");
        page.type_into("@input-sequence", "512");
        wait_for_tone(&page, &["good", "tight"]);
        page.type_into("@input-sequence", "512k");
        wait_for_tone(&page, &["bad"]);
        page.picture(&name);
        page.fits_the_window();
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn everything_can_be_done_by_keyboard() {
    const DOWN: &str = "\u{e015}";
    const ENTER: &str = "\u{e007}";
    let page = Page::open("keyboard", Language::English, Window::DESKTOP);
    let first = page.value("@input-preset");
    page.press("@input-preset", DOWN);
    page.press("@input-preset", DOWN);
    page.press("@input-preset", ENTER);
    page.wait("another project is chosen", || (page.value("@input-preset") != first).then_some(()));
    page.press("@input-gpu", DOWN);
    page.press("@input-gpu", "4090");
    page.press("@input-gpu", ENTER);
    page.wait("the card is chosen", || page.value("@input-gpu").contains("4090").then_some(()));
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn language_follows_the_browser_and_a_choice_is_kept() {
    let page = Page::open("kept", Language::English, Window::DESKTOP);
    assert_eq!(page.attribute("html", "lang").as_deref(), Some("en"));
    page.click("@lang-zh");
    page.wait_for_text("h1", "显卡够用吗");
    page.reload();
    page.wait_for_text("h1", "显卡够用吗");
    assert_eq!(page.attribute("html", "lang").as_deref(), Some("zh-CN"));
    page.was_quiet();
}
