//! One flow for each domain: a project is picked, the form asks for what such a project has and for nothing else, and the
//! answer is there.
#![cfg(not(target_arch = "wasm32"))]

use page_tests::{Language, Page, Window};

/// A project of a domain.
struct Flow {
    preset: &'static str,
    /// What is typed to find it.
    typed: [(Language, &'static str); 2],
    /// Fields that it has, by their names in the page.
    asked: &'static [&'static str],
    /// Fields that make no sense for it.
    never: &'static [&'static str],
}

const FLOWS: &[Flow] = &[
    Flow {
        preset: "cat-dog",
        typed: [(Language::Chinese, "猫狗"), (Language::English, "cat-vs-dog")],
        asked: &["image-side", "micro-batch", "precision", "classes"],
        never: &["sequence", "audio-seconds", "frames", "lora-rank", "objects", "cached-latents"],
    },
    Flow {
        preset: "yolo-custom",
        typed: [(Language::Chinese, "目标检测"), (Language::English, "custom object detection")],
        asked: &["image-side", "micro-batch", "objects", "classes"],
        never: &["sequence", "audio-seconds", "frames", "loss", "task"],
    },
    Flow {
        preset: "unet-medical",
        typed: [(Language::Chinese, "医学图像"), (Language::English, "medical image")],
        asked: &["image-side", "micro-batch", "classes"],
        never: &["sequence", "audio-seconds", "objects", "frames"],
    },
    Flow {
        preset: "gongbi-lora-sdxl",
        typed: [(Language::Chinese, "工笔画"), (Language::English, "gongbi")],
        asked: &["image-side", "micro-batch", "lora-rank", "cached-latents"],
        never: &["sequence", "audio-seconds", "classes", "objects", "frames"],
    },
    Flow {
        preset: "whisper-ft",
        typed: [(Language::Chinese, "方言"), (Language::English, "dialect speech")],
        asked: &["audio-seconds", "micro-batch", "precision"],
        never: &["sequence", "image-side", "frames", "classes", "objects"],
    },
    Flow {
        preset: "joke-chat-qlora",
        typed: [(Language::Chinese, "冷笑话"), (Language::English, "bad jokes")],
        asked: &["sequence", "micro-batch", "lora-rank"],
        never: &["image-side", "audio-seconds", "frames", "classes", "objects"],
    },
    Flow {
        preset: "graph-cora",
        typed: [(Language::Chinese, "图神经"), (Language::English, "graph network")],
        asked: &["micro-batch", "epochs"],
        never: &["sequence", "image-side", "audio-seconds", "lora-rank", "classes", "objects"],
    },
];

#[test]
#[ignore = "needs the built page: cargo xtask test"]
fn every_domain_is_asked_what_it_has() {
    for language in Language::ALL {
        let name = format!("domains-{language:?}").to_lowercase();
        let page = Page::open(&name, language, Window::DESKTOP);
        let mut before = page.text("@answer");
        for flow in FLOWS {
            let typed = flow.typed.iter().find(|(spoken, _)| *spoken == language).map_or("", |(_, typed)| typed);
            page.type_into("@input-preset", typed);
            page.click(&format!("@option-{}", flow.preset));
            let answer = page.wait_for_change("@answer", &before);
            assert!(answer.chars().any(|c| c.is_ascii_digit()), "{name}: {} has no number: {answer}", flow.preset);
            page.wait("the fields follow", || {
                let all = flow.asked.iter().all(|field| page.count(&format!("@field-{field}")) == 1);
                let none = flow.never.iter().all(|field| page.count(&format!("@field-{field}")) == 0);
                (all && none).then_some(())
            });
            before = answer;
        }
        page.picture(&name);
        page.was_quiet();
    }
}
