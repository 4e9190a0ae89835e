//! Nonsense gets a sentence at its field, stays as it was typed, and never breaks the page.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

/// Fields and what nobody can mean.
const NUMBERS: [(&str, &[&str]); 6] = [
    ("micro-batch", &["-5", "0", "abc", "", "1.5", "1e99", "99999999999999999999", "NaN", "١٢", "8 and 8", "<b>8</b>"]),
    ("sequence", &["-1", "0", "two thousand", "1000000000000"]),
    ("lora-rank", &["-8", "0", "eight"]),
    ("samples", &["-1", "many"]),
    ("epochs", &["-1", "inf", "1e300"]),
    ("count", &["-1", "0", "1e9"]),
];

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn nonsense_gets_a_sentence_at_its_field() {
    for language in Language::ALL {
        let page = Page::open(&format!("nonsense-{language:?}").to_lowercase(), language, Window::DESKTOP);
        let answer = page.text("@answer-detail");
        for (field, texts) in NUMBERS {
            let (input, error) = (format!("@input-{field}"), format!("@error-{field}"));
            let sensible = page.value(&input);
            for text in texts {
                page.type_into(&input, text);
                let sentence = page.wait(&format!("{field} “{text}” gets a sentence"), || {
                    page.texts(&error).into_iter().next().filter(|sentence| !sentence.is_empty())
                });
                assert_eq!(page.value(&input), *text, "{field}: what was typed is kept");
                assert!(sentence.chars().count() >= 6, "{field} “{text}”: {sentence}");
                let chinese = sentence.chars().any(|sign| ('\u{4e00}'..'\u{a000}').contains(&sign));
                assert_eq!(chinese, language == Language::Chinese, "{field} “{text}”: {sentence}");
            }
            page.type_into(&input, &sensible);
            page.wait(&format!("{field} is in order again"), || (page.count(&error) == 0).then_some(()));
        }
        assert_eq!(page.text("@answer-detail"), answer, "the same project has the same answer");
        page.picture(&format!("nonsense-{language:?}").to_lowercase());
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn names_that_nothing_has_get_a_sentence() {
    let page = Page::open("unknown-names", Language::English, Window::DESKTOP);
    for (field, text) in [("model", "no such model"), ("gpu", "!?"), ("preset", "🙂🙂🙂")] {
        page.type_into(&format!("@input-{field}"), text);
        // Leaving the field.
        page.press(&format!("@input-{field}"), "\u{e004}");
        page.wait_for_text(&format!("@field-{field}"), "");
        let error = format!("@error-{field}");
        page.wait(&format!("{field} gets a sentence"), || page.texts(&error).into_iter().find(|text| !text.is_empty()));
        assert_eq!(page.value(&format!("@input-{field}")), text, "{field}: what was typed is kept");
    }
    page.picture("unknown-names");
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_model_of_nonsense_numbers_gets_sentences() {
    let page = Page::open("own-model", Language::English, Window::DESKTOP);
    page.type_into("@input-model", "own");
    page.click("@option-custom");
    for (field, text) in [
        ("custom-layers", "1000000000000"),
        ("custom-layers", "0"),
        ("custom-hidden", "-1"),
        ("custom-hidden", ""),
        ("custom-vocab", "99999999999999999999999"),
        ("custom-heads", "0"),
    ] {
        let (input, error) = (format!("@input-{field}"), format!("@error-{field}"));
        let sensible = page.value(&input);
        page.type_into(&input, text);
        page.wait(&format!("{field} “{text}” gets a sentence"), || {
            page.texts(&error).into_iter().find(|text| !text.is_empty())
        });
        assert_eq!(page.value(&input), text);
        page.type_into(&input, &sensible);
        page.wait(&format!("{field} is in order again"), || (page.count(&error) == 0).then_some(()));
    }
    // The largest that is allowed, all at once: a number or a sentence, and no panic.
    for (field, text) in [("custom-layers", "1000"), ("custom-hidden", "100000"), ("micro-batch", "100000")] {
        page.type_into(&format!("@input-{field}"), text);
    }
    page.text("@answer-head");
    page.picture("own-model");
    page.was_quiet();
}
