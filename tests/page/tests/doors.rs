//! Doors: what people have at hand is pasted or dropped, read, filled in, taken back.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};
use serde_json::json;

const ERROR: &str = "Instantaneous batch size per device = 3
Traceback (most recent call last):
  File \"/data/LLaMA-Factory/src/llamafactory/train/tuner.py\", line 49, in run_exp
  File \"/env/lib/python3.11/site-packages/torch/utils/checkpoint.py\", line 313, in backward
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 22.50 GiB memory in use. Of the allocated memory 22.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.";

const CARDS: &str = "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\nGPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-2)";

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn an_error_is_explained_and_fills_the_form() {
    for (language, window) in [(Language::Chinese, Window::PHONE), (Language::English, Window::DESKTOP)] {
        let name = format!("door-error-{language:?}").to_lowercase();
        let page = Page::open_at(&name, language, window, "#model=qwen2.5-7b&method=lora&have=rtx-4090&batch=1");
        page.click("@door");
        page.type_into("@door-text", "x");
        // As a whole: typing a traceback key by key takes its time.
        page.script_with(
            "const area = document.querySelector('[data-testid=door-text]'); area.value = arguments[0];
             area.dispatchEvent(new Event('input', {bubbles: true}))",
            vec![json!(ERROR)],
        );
        page.wait_for_text("@door-error", "2.00 GiB");
        page.wait_for_text("@door-found-batch", "3");
        page.picture(&name);
        page.fits_the_window();
        page.click("@door-fill");
        page.wait("the batch is filled in", || (page.value("@input-micro-batch") == "3").then_some(()));
        assert_eq!(page.value("@input-checkpointing"), "on");
        page.wait("it is marked", || (page.count("@pasted-micro-batch") == 1).then_some(()));
        page.picture(&format!("{name}-filled"));
        page.click("@door-undo");
        page.wait("and taken back", || (page.value("@input-micro-batch") == "1").then_some(()));
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_listing_pasted_anywhere_opens_the_door() {
    let page = Page::open_at("door-cards", Language::English, Window::DESKTOP, "#model=qwen2.5-7b&method=lora");
    page.paste("something else");
    page.paste(CARDS);
    page.wait_for_text("@door-reading", "2 × RTX 3090");
    page.picture("door-cards");
    page.click("@door-fill");
    page.wait("the count is filled in", || (page.value("@input-count") == "2").then_some(()));
    page.wait("the link follows", || page.link().contains("have=rtx-3090").then_some(()));
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_dropped_file_is_read() {
    let page = Page::open_at("door-file", Language::Chinese, Window::DESKTOP, "#model=qwen2.5-7b&method=lora");
    page.drop_file("smi.txt", CARDS);
    page.wait_for_text("@door-reading", "2 × RTX 3090");
    page.wait_for_text("@door-room", "smi.txt");
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn html_is_shown_as_text() {
    let page = Page::open_at("door-html", Language::English, Window::PHONE, "#model=qwen2.5-7b&method=lora");
    let evil = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script>";
    page.paste(&format!("{CARDS}\n{evil}\nGPU 2: NVIDIA GeForce RTX 9090 {evil} (UUID: GPU-3)"));
    page.wait_for_text("@door-reading", "RTX 3090");
    page.drop_file(&format!("{evil}.txt"), &format!("{ERROR}\n{evil}"));
    page.wait_for_text("@door-error", "2.00 GiB");
    assert_eq!(page.count("@door-room img") + page.count("@door-room script"), 0);
    assert!(page.script("return window.hurt").is_null());
    page.fits_the_window();
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn what_nobody_knows_is_told_and_fields_keep_their_pastes() {
    let page = Page::open_at("door-unknown", Language::English, Window::DESKTOP, "#model=qwen2.5-7b&method=lora");
    page.click("@door");
    page.type_into("@door-text", "Lorem ipsum dolor sit amet");
    page.wait_for_text("@door-kind", "Nothing here was recognized");
    page.picture("door-unknown");
    page.click("@door-close");
    page.script_with(
        "const data = new DataTransfer(); data.setData('text/plain', arguments[0]);
         document.querySelector('[data-testid=input-sequence]').dispatchEvent(
            new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}))",
        vec![json!(CARDS)],
    );
    assert_eq!(page.script("return document.querySelector('[data-testid=door-room]').open"), false);
    page.was_quiet();
}
