//! Doors: a model and a script are pasted or dropped; what was measured stands beside the estimate; settings are moved.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

const VIEWS: [(Language, Window); 2] = [(Language::Chinese, Window::PHONE), (Language::English, Window::DESKTOP)];

const CONFIG: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 128, "hidden_size": 1280,
"intermediate_size": 3840, "num_attention_heads": 20, "num_hidden_layers": 30, "num_key_value_heads": 4, "tie_word_embeddings": true,
"vocab_size": 64000}"#;

const TABLE: &str = "==========================================================================================
Layer (type:depth-idx)                   Output Shape              Param #
==========================================================================================
├─Conv2d: 1-1                            [64, 6, 28, 28]           456
├─ReLU: 1-2                              [64, 6, 28, 28]           --
├─Linear: 1-3                            [64, 10]                  47,050
==========================================================================================
Total params: 47,506
Trainable params: 47,506";

const SCRIPT: &str = "llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-7B-Instruct --finetuning_type lora --quantization_bit 4 --cutoff_len 4096 \
--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --bf16 True --lora_rank 16 --my_own_switch 3";

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_model_is_dropped_and_goes_through_a_link() {
    let page = Page::open_at("door-config", Language::English, Window::DESKTOP, "#model=qwen2.5-7b&method=full");
    page.drop_file("config.json", CONFIG);
    page.wait_for_text("@door-found-layers", "30");
    page.picture("door-config");
    page.click("@door-fill");
    page.wait("the numbers are filled in", || (page.value("@input-custom-hidden") == "1280").then_some(()));
    let link = page.wait("the link tells them", || Some(page.link()).filter(|link| link.contains("like=qwen3")));
    assert!(link.contains("head-dim=128") && link.contains("layers=30"), "{link}");
    page.wait("an answer is there", || page.attribute("@answer", "data-tone").filter(|tone| !tone.is_empty()));
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_table_of_layers_makes_a_network() {
    let page = Page::open_at("door-table", Language::Chinese, Window::PHONE, "#model=qwen2.5-7b&method=full");
    page.paste(TABLE);
    page.wait_for_text("@door-found-params", "47506");
    page.click("@door-fill");
    page.wait("parameters are filled in", || (page.value("@input-network-params") == "47506").then_some(()));
    assert!(page.link().contains("model=network"), "{}", page.link());
    page.picture("door-table");
    page.fits_the_window();
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn a_script_fills_the_form_and_tells_what_it_did_not_know() {
    let page = Page::open_at("door-script", Language::English, Window::DESKTOP, "#model=gpt2&method=full");
    page.paste(SCRIPT);
    page.click("[data-testid='door-unknown'] > summary");
    page.wait_for_text("@door-unknown", "my_own_switch");
    page.picture("door-script");
    page.click("@door-fill");
    page.wait("the batch is filled in", || (page.value("@input-micro-batch") == "2").then_some(()));
    assert_eq!((page.value("@input-method"), page.value("@input-sequence")), ("qlora".into(), "4096".into()));
    page.was_quiet();
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn what_was_measured_stands_beside_the_estimate() {
    for (language, window) in VIEWS {
        let name = format!("measured-{language:?}").to_lowercase();
        let page = Page::open_at(
            &name,
            language,
            window,
            "#model=qwen2.5-7b&method=qlora&seq=2048&batch=2&have=rtx-4090&checkpointing=on",
        );
        page.wait_for_text("@run-0", "GiB");
        assert!(page.count("[data-testid='runs'] a[href^='https://github.com/']") > 0);
        page.click("@mine > summary");
        page.type_into("@own-peak", "a lot");
        page.wait("nonsense is told", || (!page.text("@own-error").is_empty()).then_some(()));
        page.type_into("@own-peak", "23 GiB");
        page.wait_for_text("@own-compared", "23.0 GiB");
        assert!(!page.link().contains("measured="), "not shared unless asked");
        page.click("@own-shared");
        page.wait("the link carries it", || page.link().contains("measured=23&meter=smi").then_some(()));
        page.click("@own-keep");
        page.wait_for_text("@own-kept", "23.0 GiB");
        page.click("@own-export");
        page.picture(&name);
        page.fits_the_window();
        page.reload();
        page.wait_for_text("@own-kept", "23.0 GiB");
        assert_eq!(page.value("@own-peak"), "23");
        page.was_quiet();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn settings_are_moved_from_their_table() {
    for (language, window) in VIEWS {
        let name = format!("moves-{language:?}").to_lowercase();
        let page =
            Page::open_at(&name, language, window, "#model=qwen2.5-7b&method=qlora&seq=2048&batch=2&have=rtx-4090");
        assert_eq!(page.count("[data-testid='move-micro-batch']"), 0, "nothing is worked out before it is unfolded");
        page.click("@moves > summary");
        page.wait_for_text("@move-sequence", "GiB");
        page.picture(&name);
        page.fits_the_window();
        page.click("[data-testid='move-micro-batch'] button:last-child");
        page.wait("the batch moved", || (page.value("@input-micro-batch") == "8").then_some(()));
        page.was_quiet();
    }
}
