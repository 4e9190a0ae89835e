//! Money on the page: fixes and the way back, prices that are changed, the currency, the questions below.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

/// Types into a combobox and takes an option by its id.
fn pick(page: &Page, field: &str, typed: &str, id: &str) {
    page.type_into(&format!("@input-{field}"), typed);
    page.click(&format!("@option-{id}"));
}

fn seven_billion_on_twelve(page: &Page) {
    pick(page, "model", "qwen2.5 7b", "qwen2.5-7b");
    page.choose_value("@input-method", "lora");
    pick(page, "gpu", "3060 12g", "rtx-3060-12gb");
    page.wait("it runs out", || (page.attribute("@answer", "data-tone").as_deref() == Some("bad")).then_some(()));
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_fix_and_the_plan_go_back_exactly() {
    for language in [Language::Chinese, Language::English] {
        let page = Page::open(&format!("undo-{language:?}").to_lowercase(), language, Window::DESKTOP);
        seven_billion_on_twelve(&page);
        let state = |page: &Page| {
            ["method", "micro-batch", "sequence", "checkpointing", "precision"]
                .map(|field| page.value(&format!("@input-{field}")))
        };
        let (before, said) = (state(&page), page.text("@answer-detail"));
        page.click("@apply-0");
        page.wait_for_change("@answer-detail", &said);
        page.click("@undo");
        page.wait_for_text("@answer-detail", &said);
        assert_eq!(state(&page), before);
        // All that is needed at once, and back.
        page.click("@next-apply");
        page.wait("it fits", || (page.attribute("@answer", "data-tone").as_deref() == Some("good")).then_some(()));
        page.click("@undo");
        page.wait_for_text("@answer-detail", &said);
        assert_eq!(state(&page), before);
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn prices_are_the_persons_own() {
    for language in [Language::Chinese, Language::English] {
        let page = Page::open(&format!("prices-{language:?}").to_lowercase(), language, Window::DESKTOP);
        pick(&page, "model", "qwen2.5 7b", "qwen2.5-7b");
        page.choose_value("@input-method", "qlora");
        page.choose_value("@curve-card", "rtx-3090");
        let (pays, two_years) = (page.text("@break-even"), page.text("@two-years"));
        assert!(!pays.is_empty() && !two_years.is_empty());
        page.click("[data-testid='prices'] > summary");
        // A card that rents for far more is bought sooner.
        pick(&page, "price-card", "3090", "rtx-3090");
        page.type_into("@input-price-rent", "9");
        let dearer = page.wait_for_change("@two-years", &two_years);
        // Left and come back to: what stood there is settled.
        page.press("@input-price-rent", "\u{e004}");
        // Nonsense keeps the last price, and stays where it was typed.
        page.type_into("@input-price-rent", "cheap");
        page.wait("the error is said", || (!page.text("@error-price-rent").is_empty()).then_some(()));
        assert_eq!(page.value("@input-price-rent"), "cheap");
        assert_eq!(page.text("@two-years"), dearer);
        // Cleared, the catalog's price is back.
        page.type_into("@input-price-rent", "");
        page.wait_for_text("@two-years", &two_years);
        page.type_into("@input-hours-a-week", "40");
        page.wait_for_change("@two-years", &two_years);
        page.picture(&format!("prices-{language:?}").to_lowercase());
        page.fits_the_window();
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn the_currency_changes_every_price() {
    let page = Page::open("currency", Language::English, Window::DESKTOP);
    pick(&page, "model", "qwen2.5 7b", "qwen2.5-7b");
    page.choose_value("@input-method", "lora");
    let picks = page.text("@picks");
    assert!(picks.contains('$') && !picks.contains('¥'), "{picks}");
    page.choose_value("@input-currency", "cny");
    let picks = page.wait_for_change("@picks", &picks);
    assert!(picks.contains('¥') && !picks.contains('$'), "{picks}");
    assert!(page.text("@two-years").contains('¥'));
    // A budget is answered in a sentence.
    page.type_into("@input-budget-limit", "3000");
    page.wait_for_text("@afford", "¥3,000");
    page.type_into("@input-budget-limit", "0");
    page.wait_for_text("@afford", "Without spending");
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn questions_below_are_answered() {
    for (language, window) in [(Language::Chinese, Window::PHONE), (Language::English, Window::DESKTOP)] {
        let page = Page::open(&format!("questions-{language:?}").to_lowercase(), language, window);
        pick(&page, "model", "qwen2.5 7b", "qwen2.5-7b");
        page.choose_value("@input-method", "lora");
        page.click("[data-testid='why-not'] > summary");
        let first = page.wait("an answer", || Some(page.text("@why-not-answer")).filter(|t| !t.is_empty()));
        page.choose_value("@why-not-card", "rtx-3060-12gb");
        let second = page.wait_for_change("@why-not-answer", &first);
        assert!(second.contains("GiB"), "{second}");
        page.click("[data-testid='sides'] > summary");
        page.wait_for_text("@sides-table", "ECC");
        page.click("[data-testid='growth'] > summary");
        page.wait("two steps", || (page.count("[data-testid='growth-steps'] li") == 2).then_some(()));
        page.picture(&format!("questions-{language:?}").to_lowercase());
        page.fits_the_window();
        page.was_quiet();
    }
}
