//! Several cards on the page: ways to share, a plan, what goes into the link, a machine of one's own, files to run.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};
use serde_json::json;

/// An 8B model trained in full: far too much for one card of 24 GB.
const TOO_LARGE: &str = "#model=llama-3.1-8b&method=full&seq=2048&have=rtx-4090";

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_plan_for_several_cards_is_applied_and_taken_back() {
    for (language, window) in [(Language::Chinese, Window::DESKTOP), (Language::English, Window::PHONE)] {
        let page = Page::open_at(&format!("plan-{language:?}").to_lowercase(), language, window, TOO_LARGE);
        let before = page.text("@answer-detail");
        page.click("@several > summary");
        page.wait("ways", || (page.count("@ways tbody tr") >= 5).then_some(()));
        // Copies do not pool memory: a full copy on each of two cards runs out like one.
        assert!(page.attribute("@way-ddp .fit", "data-tone").as_deref() == Some("bad"));
        page.choose_value("@look-at", "16");
        page.wait("a plan", || (page.count("@plan-line") == 1).then_some(()));
        page.fits_the_window();
        page.click("@plan-apply");
        page.wait("it fits", || (page.attribute("@answer", "data-tone").as_deref() == Some("good")).then_some(()));
        assert_eq!(page.value("@input-count"), "16");
        let link = page.link();
        assert!(link.contains("count=16") && link.contains("sharding="), "{link}");
        page.click("@plan-undo");
        page.wait_for_text("@answer-detail", &before);
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn how_cards_are_joined_goes_into_the_link() {
    let link = "#model=llama-3.1-8b&method=full&have=rtx-4090&count=8&interconnect=pcie-x4&tensor=2";
    let page = Page::open_at("joined", Language::English, Window::DESKTOP, link);
    // Several cards are owned: the fold is open.
    assert_eq!(page.value("@input-interconnect"), "pcie-x4");
    assert_eq!(page.value("@input-tensor"), "2");
    let time = page.text("@way-ddp");
    page.choose_value("@input-interconnect", "pcie-x16");
    page.wait_for_change("@way-ddp", &time);
    page.type_into("@input-tensor", "64");
    page.wait_for_text("@error-tensor", "1 to 8");
    page.type_into("@input-tensor", "4");
    page.wait("the link", || page.link().contains("tensor=4").then_some(()));
    assert!(page.link().contains("interconnect=pcie-x16"), "{}", page.link());
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_machine_for_two_cards_and_files_to_run() {
    let link = "#model=qwen2.5-7b&method=qlora&checkpointing=on&have=rtx-3090&count=2&sharding=zero3";
    for (language, watts, copied) in
        [(Language::Chinese, "1,200 W", "已复制"), (Language::English, "1,200 W", "Copied")]
    {
        let page = Page::open_at(&format!("rig-{language:?}").to_lowercase(), language, Window::DESKTOP, link);
        page.click("@rig > summary");
        let list = page.wait_for_text("@rig-list", watts);
        assert!(list.contains("x8") && list.contains("96 GB"), "{list}");
        // The list alone goes onto one sheet; the button does this around the browser's own dialog.
        page.script("document.documentElement.dataset.print = 'rig'");
        let printed = page.chromium("Page.printToPDF", &json!({"preferCSSPageSize": true, "printBackground": true}));
        let sheets = page_tests::sheets(printed.get("data").and_then(|data| data.as_str()).unwrap_or_default());
        assert_eq!(sheets, 1, "sheets of A4");
        page.chromium("Emulation.setEmulatedMedia", &json!({"media": "print"}));
        assert_eq!(page.text("@answer-head"), "", "nothing but the list");
        page.picture(&format!("rig-{language:?}").to_lowercase());
        page.chromium("Emulation.setEmulatedMedia", &json!({"media": ""}));
        page.script("delete document.documentElement.dataset.print");
        page.click("@recipes > summary");
        page.wait("files", || (page.count("[data-testid='file-train.py']") == 1).then_some(()));
        assert!(page.value("[data-testid='file-train.py']").contains("load_in_4bit=True"));
        assert!(page.value("[data-testid='file-ds_config.json']").contains("\"stage\": 3"));
        page.click("[data-testid='copy-file-train.py']");
        page.wait_for_text("[data-testid='copy-file-train.py']", copied);
        page.click("@library-llama-factory");
        page.wait("another library", || (page.count("[data-testid='file-train.yaml']") == 1).then_some(()));
        assert!(page.value("[data-testid='file-train.yaml']").contains("quantization_bit: 4"));
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn pre_training_on_many_cards() {
    let link = "#model=llama-2-7b&method=scratch&seq=4096&have=a100-sxm-80gb";
    let page = Page::open_at("cluster", Language::English, Window::DESKTOP, link);
    page.click("@cluster > summary");
    page.type_into("@cluster-tokens", "2T");
    page.type_into("@cluster-cards", "1024");
    page.wait_for_text("@cluster-answer", "GPU-hours");
    page.type_into("@cluster-cards", "200000");
    page.wait_for_text("@cluster", "100,000");
    page.was_quiet();
}
