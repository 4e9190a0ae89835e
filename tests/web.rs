//! Tests of the page's own code inside a real browser: what needs a DOM, and no more.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::app::{Engine, mount_at};
use gloo::timers::callback::Timeout;
use gloo::utils::document;
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Event, EventInit, HtmlElement, HtmlInputElement};

wasm_bindgen_test_configure!(run_in_browser);

/// A page of its own in the document, as it opens.
struct Opened(HtmlElement);

impl Opened {
    fn new() -> Self {
        let place: HtmlElement = document().create_element("div").unwrap().unchecked_into();
        document().body().unwrap().append_child(&place).unwrap();
        mount_at(place.clone(), Engine::default()).forget();
        let page = Self(place);
        page.click("lang-zh");
        page
    }

    fn find(&self, test: &str) -> Option<HtmlElement> {
        self.0.query_selector(&format!("[data-testid='{test}']")).unwrap().map(JsCast::unchecked_into)
    }

    fn text(&self, test: &str) -> String {
        self.find(test).and_then(|e| e.text_content()).unwrap_or_default()
    }

    fn click(&self, test: &str) {
        self.find(test).unwrap_or_else(|| panic!("nothing is called {test}")).click();
    }

    fn input(&self, field: &str) -> HtmlInputElement {
        self.find(&format!("input-{field}")).unwrap_or_else(|| panic!("no input {field}")).unchecked_into()
    }

    fn type_into(&self, field: &str, text: &str) {
        let input = self.input(field);
        input.focus().unwrap();
        input.set_value(text);
        input.dispatch_event(&event("input")).unwrap();
    }

    fn leave(&self, field: &str) {
        self.input(field).dispatch_event(&event("blur")).unwrap();
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.remove();
    }
}

fn event(name: &str) -> Event {
    let bubbles = EventInit::new();
    bubbles.set_bubbles(true);
    Event::new_with_event_init_dict(name, &bubbles).unwrap()
}

/// Lets the page take up what was typed, and its effects run.
async fn settle() {
    // What was typed is taken up by a timer that began before this one.
    let (done, mut timer) = (Rc::new(Cell::new(false)), None);
    poll_fn(|context| {
        if done.get() {
            return Poll::Ready(());
        }
        let (done, waker) = (done.clone(), context.waker().clone());
        timer.get_or_insert_with(|| {
            Timeout::new(0, move || {
                done.set(true);
                waker.wake();
            })
        });
        Poll::Pending
    })
    .await;
    leptos::task::tick().await;
    leptos::task::tick().await;
}

#[wasm_bindgen_test]
async fn the_page_mounts_in_place_of_what_was_there() {
    let place: HtmlElement = document().create_element("div").unwrap().unchecked_into();
    place.set_inner_html("<p id='before'>before</p>");
    document().body().unwrap().append_child(&place).unwrap();
    mount_at(place.clone(), Engine::default()).forget();
    settle().await;
    assert!(place.query_selector("#before").unwrap().is_none());
    assert!(place.query_selector("[data-testid='answer-head']").unwrap().is_some());
    place.remove();
}

#[wasm_bindgen_test]
async fn the_language_changes_at_once() {
    let page = Opened::new();
    settle().await;
    assert!(page.0.text_content().unwrap().contains("你想训练什么"));
    page.click("lang-en");
    settle().await;
    let text = page.0.text_content().unwrap();
    assert!(text.contains("What do you want to train?"), "{text}");
    assert!(!text.contains("你想训练什么"));
    assert_eq!(document().document_element().unwrap().get_attribute("lang").unwrap(), "en");
    page.click("lang-zh");
    settle().await;
    assert!(page.0.text_content().unwrap().contains("你想训练什么"));
}

#[wasm_bindgen_test]
async fn nonsense_gets_a_sentence_and_stays() {
    let page = Opened::new();
    settle().await;
    for (typed, said) in [
        ("-5", "批大小要在 1 到 1,000,000 之间；你写的是 -5。"),
        ("很多", "批大小要填数字，在 1 到 1,000,000 之间；“很多”看不懂。"),
        ("2.5", "批大小要整数：试试 2 或 3；你写的是 2.5。"),
        ("", "批大小不能空着：填在 1 到 1,000,000 之间的数。"),
        ("10^12", "批大小要在 1 到 1,000,000 之间；你写的是 10^12。"),
    ] {
        page.type_into("micro-batch", typed);
        settle().await;
        assert_eq!(page.text("error-micro-batch"), said);
        assert_eq!(page.input("micro-batch").value(), typed);
        assert_eq!(page.input("micro-batch").get_attribute("aria-invalid").as_deref(), Some("true"));
    }
    page.leave("micro-batch");
    page.click("lang-en");
    settle().await;
    assert_eq!(page.text("error-micro-batch"), "Batch size must be 1 to 1,000,000; you wrote 10^12.");
    page.type_into("micro-batch", "２");
    settle().await;
    assert!(page.find("error-micro-batch").is_none());
    assert_eq!(page.input("micro-batch").value(), "２", "what was typed stays as typed");
}

#[wasm_bindgen_test]
async fn a_card_is_found_by_typing() {
    let page = Opened::new();
    settle().await;
    page.type_into("gpu", "4090");
    settle().await;
    assert_eq!(page.input("gpu").get_attribute("aria-expanded").as_deref(), Some("true"));
    page.click("option-rtx-4090");
    settle().await;
    assert_eq!(page.input("gpu").value(), "RTX 4090");
    assert!(page.find("list-gpu").is_none(), "the list closes");

    page.type_into("gpu", "rtx 5000 super duper");
    page.leave("gpu");
    settle().await;
    assert_eq!(page.input("gpu").value(), "rtx 5000 super duper");
    assert!(page.text("error-gpu").contains("没有找到"), "{}", page.text("error-gpu"));
}

/// A row of the list is worked out with as much less accumulation as there are more cards, and choosing it takes that along.
#[wasm_bindgen_test]
async fn a_chosen_row_keeps_its_promise() {
    let page = Opened::new();
    settle().await;
    page.type_into("preset", "全参数微调（7B）");
    settle().await;
    page.click("option-llm-7b-full");
    settle().await;
    page.type_into("gpu", "4090");
    settle().await;
    page.click("option-rtx-4090");
    settle().await;
    assert!(page.text("card-rtx-4090-8").contains("装得下"), "{}", page.text("card-rtx-4090-8"));
    page.click("choose-rtx-4090-8");
    settle().await;
    assert!(page.text("answer-head").starts_with("装得下"), "{}", page.text("answer-head"));
    assert!(page.text("card-rtx-4090-8").contains("已选"), "{}", page.text("card-rtx-4090-8"));
}

#[wasm_bindgen_test]
async fn only_what_matters_is_asked() {
    let page = Opened::new();
    settle().await;
    assert!(page.find("field-sequence").is_some() && page.find("field-image-side").is_none());
    page.type_into("preset", "YOLO11s");
    settle().await;
    page.click("option-yolo-custom");
    settle().await;
    assert!(page.find("field-sequence").is_none() && page.find("field-image-side").is_some());
    assert_eq!(page.input("image-side").value(), "640");
}

#[wasm_bindgen_test]
async fn what_does_not_fit_is_fixed_and_taken_back_in_one_click() {
    let page = Opened::new();
    page.type_into("preset", "Qwen2.5-7B LoRA");
    settle().await;
    page.click("option-llm-7b-lora");
    page.type_into("gpu", "4060 ti 16");
    settle().await;
    page.click("option-rtx-4060-ti-16gb");
    settle().await;
    let tone = |page: &Opened| page.find("answer").unwrap().get_attribute("data-tone").unwrap();
    assert_eq!(tone(&page), "bad", "{}", page.text("answer-head"));
    assert!(page.text("oom").starts_with("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "));
    assert!(page.find("part-logits").is_some());

    page.click("next-apply");
    settle().await;
    assert_eq!(tone(&page), "good", "{}", page.text("answer-head"));
    assert!(page.text("oom").is_empty());

    page.click("undo");
    settle().await;
    assert_eq!(tone(&page), "bad");
    assert_eq!(page.text("answer-head").chars().take(3).collect::<String>(), "装不下");
}

#[wasm_bindgen_test]
async fn the_language_changes_every_word() {
    let page = Opened::new();
    page.click("lang-en");
    settle().await;
    let text = page.0.text_content().unwrap();
    // Names of Chinese platforms and the language switch stay as they are.
    let allowed = ["中文", "显卡够用吗"];
    let rest = allowed.iter().fold(text, |text, name| text.replace(name, ""));
    let left: String = rest.split(['(', ')']).step_by(2).collect();
    let chinese: String = left.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).collect();
    assert!(chinese.is_empty(), "left in Chinese: {chinese}");
    page.click("lang-zh");
    settle().await;
}

#[wasm_bindgen_test]
async fn a_card_is_chosen_with_the_keyboard_alone() {
    let page = Opened::new();
    page.type_into("gpu", "3060");
    settle().await;
    let press = |key: &str| {
        let init = web_sys::KeyboardEventInit::new();
        init.set_bubbles(true);
        init.set_key(key);
        let event = web_sys::KeyboardEvent::new_with_keyboard_event_init_dict("keydown", &init).unwrap();
        page.input("gpu").dispatch_event(&event).unwrap();
    };
    let active = || page.input("gpu").get_attribute("aria-activedescendant").unwrap();
    let first = active();
    press("ArrowDown");
    settle().await;
    assert_ne!(active(), first);
    press("ArrowUp");
    settle().await;
    assert_eq!(active(), first);
    press("Enter");
    settle().await;
    assert_eq!(page.input("gpu").value(), "RTX 3060 12 GB");
    assert_eq!(page.input("gpu").get_attribute("aria-expanded").as_deref(), Some("false"));
    press("ArrowDown");
    settle().await;
    assert_eq!(page.input("gpu").get_attribute("aria-expanded").as_deref(), Some("true"));
    press("Escape");
    settle().await;
    assert_eq!(page.input("gpu").get_attribute("aria-expanded").as_deref(), Some("false"));
    assert_eq!(page.input("gpu").value(), "RTX 3060 12 GB");
}
