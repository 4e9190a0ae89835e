//! What people type into fields, and what the form makes of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::project::link::Link;
use enough_gpu::project::{
    Checkpointing, Field, FieldError, Kind, Method, Optimizer, Precision, Project, Typed, apply, choices, fields,
    relevant, search,
};
use enough_gpu::units::Currency;

fn start(preset: &str) -> Project {
    let catalog = Catalog::bundled();
    Project::from_preset(catalog.preset(preset).expect("the preset is in the catalog"), &catalog)
}

#[test]
fn typed_text_becomes_the_value() {
    let catalog = Catalog::bundled();
    let cases = [
        (Field::MicroBatch, "4", "4"),
        (Field::MicroBatch, "４", "4"),
        (Field::MicroBatch, " 4 ", "4"),
        (Field::MicroBatch, "1,024", "1024"),
        (Field::MicroBatch, "八", "8"),
        (Field::Sequence, "2k", "2048"),
        (Field::Sequence, "32K", "32768"),
        (Field::Sequence, "2048 tokens", "2048"),
        (Field::Sequence, "1,048,576", "1048576"),
        (Field::Samples, "2万", "20000"),
        (Field::Samples, "1e4", "10000"),
        (Field::Samples, "2k", "2000"),
        (Field::Samples, "5w 条", "50000"),
        (Field::Epochs, "1,5", "1.5"),
        (Field::Epochs, "0.5", "0.5"),
        (Field::ImageSide, "512x512", "512"),
        (Field::ImageSide, "832×480", "632"),
        (Field::ImageSide, "１０２４ 像素", "1024"),
        (Field::FrozenShare, "50%", "0.5"),
        (Field::LoraDropout, "5 %", "0.05"),
        (Field::AudioSeconds, "30 秒", "30"),
        (Field::BudgetLimit, "¥3,000", "3000"),
        (Field::BudgetLimit, "", ""),
        (Field::BudgetLimit, "3千", "3000"),
        (Field::Count, "8", "8"),
        (Field::Count, "x2", "2"),
        (Field::Method, "qlora", "qlora"),
        (Field::Precision, "fp32", "fp32"),
        (Field::Desktop, "on", "on"),
        (Field::Gpu, "rtx-4090", "rtx-4090"),
        (Field::Gpu, "RTX 4090", "rtx-4090"),
        (Field::Gpu, "none", "none"),
        (Field::Gpu, "", ""),
        (Field::Model, "qwen2.5-7b", "qwen2.5-7b"),
        (Field::Model, "custom", "custom"),
    ];
    for (field, typed, value) in cases {
        let mut project = start("joke-chat-qlora");
        assert_eq!(fields::set(&mut project, field, typed, &catalog), Ok(()), "{field:?} {typed}");
        assert_eq!(fields::get(&project, field), value, "{field:?} {typed}");
    }
}

#[test]
fn nonsense_leaves_the_value_and_says_what_is_wrong() {
    let catalog = Catalog::bundled();
    let wrong = |field: Field, typed: &str| {
        let before = start("joke-chat-qlora");
        let mut project = before.clone();
        let error = fields::set(&mut project, field, typed, &catalog).expect_err(typed);
        assert_eq!(project, before, "{field:?} {typed}");
        error
    };
    for typed in ["-5", "0", "1e400", "1000001", "−1", "10^12", "-1e400"] {
        assert!(matches!(wrong(Field::MicroBatch, typed), FieldError::OutOfRange(_)), "{typed}");
    }
    for typed in ["abc", "NaN", "inf", "--", "1.2.3", "🙂", "1;2", "'; drop", "二三万五"] {
        assert!(matches!(wrong(Field::MicroBatch, typed), FieldError::NotANumber(_)), "{typed}");
    }
    for typed in ["", "   ", "\u{3000}"] {
        assert!(matches!(wrong(Field::MicroBatch, typed), FieldError::Empty(_)), "{typed}");
    }
    assert_eq!(wrong(Field::MicroBatch, "2.5"), FieldError::NotWhole { below: 2.0, above: 3.0 });
    assert_eq!(wrong(Field::Sequence, "1,5"), FieldError::NotWhole { below: 1.0, above: 2.0 });
    assert!(matches!(wrong(Field::CustomLayers, "10^12"), FieldError::OutOfRange(_)));
    assert!(matches!(wrong(Field::Model, ""), FieldError::Empty(Kind::Search)));
    assert!(matches!(wrong(Field::Preset, "no such project"), FieldError::Unknown { .. }));
    assert!(matches!(wrong(Field::Method, "magic"), FieldError::Unknown { .. }));
    let FieldError::Unknown { suggestions } = wrong(Field::Gpu, "rtx 409O") else { panic!("not unknown") };
    assert!(suggestions.iter().any(|id| id == "rtx-4090"), "{suggestions:?}");
    let FieldError::Unknown { suggestions } = wrong(Field::Model, "quen2.5 7b") else { panic!("not unknown") };
    assert!(suggestions.iter().any(|id| id.starts_with("qwen2.5")), "{suggestions:?}");
}

/// Every field survives every text: an answer or an error, never a panic, and the value always reads back.
#[test]
fn no_text_breaks_a_field() {
    let catalog = Catalog::bundled();
    let texts = [
        "",
        " ",
        "0",
        "-0",
        "1",
        "-1",
        "1e308",
        "1e400",
        "-1e400",
        "1e-400",
        "9".repeat(400).leak(),
        "0.0000001",
        "NaN",
        "一亿亿",
        "万万万万万万",
        "1/0",
        "null",
        "undefined",
        "on",
        "off",
        "custom",
        "none",
        "qlora",
        "512x",
        "x512",
        "0x0",
        "1e9x1e9",
        "\u{0}",
        "\u{202e}12",
        "%",
        "100%",
        "1e3%",
        "^^",
        "2^1024",
        "0^0",
        "-2^0.5",
        "k",
        "2kk",
        "十百千万",
    ];
    for (field, preset) in all_fields() {
        for text in texts {
            let mut project = start(preset);
            let _ = fields::set(&mut project, field, text, &catalog);
            if !matches!(field, Field::Epochs | Field::AudioSeconds | Field::BudgetLimit) {
                let shown = fields::get(&project, field);
                let mut again = project.clone();
                if fields::set(&mut again, field, &shown, &catalog).is_ok() {
                    assert_eq!(fields::get(&again, field), shown, "{field:?} {text}");
                }
            }
        }
    }
}

fn all_fields() -> Vec<(Field, &'static str)> {
    let catalog = Catalog::bundled();
    let mut all = Vec::new();
    for preset in ["joke-chat-qlora", "gongbi-lora-sdxl", "wan-lora", "whisper-ft", "yolo-custom", "mnist"] {
        let mut project = start(preset);
        project.hardware.gpu = "rtx-3090".to_string();
        project.hardware.count = 2;
        let shown = relevant(&project, &catalog);
        all.extend(shown.primary.into_iter().chain(shown.folded).chain(shown.several).map(|f| (f, preset)));
    }
    all.extend([Field::Preset, Field::Gpu, Field::Count, Field::BudgetLimit, Field::Currency].map(|f| (f, "mnist")));
    all.extend([Field::Place, Field::Electricity, Field::ExchangeRate, Field::HoursAWeek].map(|f| (f, "mnist")));
    all.extend([Field::PriceCard, Field::PriceRent, Field::PriceNew, Field::PriceUsed].map(|f| (f, "mnist")));
    all
}

#[test]
fn everything_typed_counts_together() {
    let catalog = Catalog::bundled();
    let base = {
        let mut project = start("joke-chat-qlora");
        fields::set(&mut project, Field::Model, "custom", &catalog).unwrap();
        project
    };
    let typed = |pairs: &[(Field, &str)]| -> Typed { pairs.iter().map(|(f, t)| (*f, (*t).to_string())).collect() };

    // One step from 1,024 wide with 16 heads to 3,000 wide with 24 is not possible field by field.
    let first = apply(&base, &typed(&[(Field::CustomHidden, "3000")]), &catalog);
    assert_eq!(
        first.errors.get(&Field::CustomHidden),
        Some(&FieldError::HeadsDoNotDivideHidden { hidden: 3000, heads: 16, nearest: 15 })
    );
    assert_eq!(first.project, base, "the last consistent model stays");
    let both = typed(&[(Field::CustomHidden, "3000"), (Field::CustomHeads, "24"), (Field::CustomKvHeads, "8")]);
    let second = apply(&first.project, &both, &catalog);
    assert!(second.errors.is_empty(), "{:?}", second.errors);
    let model = second.project.custom.unwrap();
    assert_eq!((model.hidden, model.heads, model.kv_heads), (3000, 24, 8));

    let uneven = apply(&base, &typed(&[(Field::CustomKvHeads, "5")]), &catalog);
    assert_eq!(
        uneven.errors.get(&Field::CustomKvHeads),
        Some(&FieldError::KvHeadsDoNotDivideHeads { heads: 16, kv_heads: 5, nearest: 4 })
    );

    // A wrong field does not keep the others from counting.
    let mixed = apply(&base, &typed(&[(Field::MicroBatch, "-5"), (Field::Sequence, "4k")]), &catalog);
    assert_eq!(mixed.errors.len(), 1);
    assert_eq!((mixed.project.micro_batch, mixed.project.sequence), (base.micro_batch, 4096));

    // An error in a field that is no longer shown is not held against anyone.
    let hidden = apply(&start("mnist"), &typed(&[(Field::Sequence, "-5")]), &catalog);
    assert!(hidden.errors.is_empty());
}

#[test]
fn only_what_matters_is_asked() {
    let catalog = Catalog::bundled();
    let shown = |preset: &str| relevant(&start(preset), &catalog);
    let yolo = shown("yolo-custom");
    assert!(yolo.contains(Field::ImageSide) && !yolo.contains(Field::Sequence) && !yolo.contains(Field::Loss));
    let chat = shown("joke-chat-qlora");
    assert!(chat.contains(Field::Sequence) && chat.contains(Field::LoraRank) && !chat.contains(Field::ImageSide));
    let video = shown("wan-lora");
    assert!(video.contains(Field::Frames) && video.contains(Field::BlockSwap));
    assert!(!shown("gongbi-lora-sdxl").contains(Field::Frames));
    let speech = shown("whisper-ft");
    assert!(speech.contains(Field::AudioSeconds) && !speech.contains(Field::ImageSide));
    assert!(!shown("sentiment-bert").contains(Field::Loss), "an encoder's loss has no vocabulary");
    let trees = shown("tabular");
    assert!(!trees.contains(Field::Precision) && !trees.contains(Field::Method));
    assert!(!chat.contains(Field::Sharding), "one card shares nothing");
    for preset in catalog.presets.iter() {
        let project = Project::from_preset(preset, &catalog);
        let shown = relevant(&project, &catalog);
        assert!(shown.primary.len() <= 11, "{}: too much at once", preset.id);
        for field in shown.primary.iter().chain(&shown.folded) {
            assert_eq!(shown.primary.iter().chain(&shown.folded).filter(|f| *f == field).count(), 1, "{field:?} twice");
            if fields::kind(*field) == Kind::Choice {
                assert!(!choices(*field, &project, &catalog).is_empty(), "{} {field:?}", preset.id);
            }
        }
    }
}

#[test]
fn another_model_keeps_what_still_makes_sense() {
    let catalog = Catalog::bundled();
    let mut project = start("joke-chat-qlora");
    project.hardware.gpu = "rtx-4090".to_string();
    fields::set(&mut project, Field::Model, "qwen3-8b", &catalog).unwrap();
    assert_eq!(project.method, Method::QLora);
    assert_eq!(project.sequence, 1024);
    assert_eq!(project.preset, "", "no longer the preset's project");

    fields::set(&mut project, Field::Model, "resnet50", &catalog).unwrap();
    assert_eq!(project.method, Method::Full, "no adapters for a ResNet");
    assert_eq!(project.image_side, 224);
    assert_eq!(project.precision, Precision::AmpFp16, "nobody touched it: as the recipes of such networks have it");
    assert_eq!(project.hardware.gpu, "rtx-4090");

    fields::set(&mut project, Field::Model, "sdxl", &catalog).unwrap();
    assert_eq!(project.image_side, 1024);
}

/// What nobody touched comes with the model; what somebody did stays.
#[test]
fn a_model_of_another_kind_brings_its_own_settings() {
    let catalog = Catalog::bundled();
    let switched = |from: &Project, model: &str| {
        let mut project = from.clone();
        fields::set(&mut project, Field::Model, model, &catalog).unwrap();
        project
    };
    let steps = |p: &Project| (p.micro_batch, p.accumulation, p.epochs);
    let flux = switched(&start("mnist"), "flux.1-dev");
    assert_eq!((flux.method, flux.precision, flux.optimizer), (Method::Lora, Precision::AmpBf16, Optimizer::AdamW));
    assert_eq!((flux.micro_batch, flux.samples, flux.preset.as_str()), (1, start("gongbi-lora-flux").samples, ""));
    let qwen = switched(&start("cat-dog"), "qwen3-8b");
    assert_eq!((qwen.method, qwen.precision, steps(&qwen)), (Method::QLora, Precision::AmpBf16, (1, 8, 3.0)));
    assert_eq!((qwen.samples, qwen.sequence), (1000, 1024));
    let sdxl = switched(&start("joke-chat-qlora"), "sdxl");
    let own = start("gongbi-lora-sdxl");
    assert_eq!((sdxl.lora, sdxl.accumulation, sdxl.samples, sdxl.epochs), (own.lora, 1, own.samples, own.epochs));
    let yolo = switched(&start("joke-chat-qlora"), "yolo11s");
    assert_eq!((yolo.micro_batch, yolo.epochs, yolo.checkpointing), (16, 100.0, Checkpointing::Off));
    let whisper = switched(&start("llm-7b-lora"), "whisper-large-v3");
    assert_eq!((whisper.method, whisper.micro_batch), (Method::Full, start("whisper-large-lora").micro_batch));
    // Pictures to boxes and pictures to clips are another matter too.
    assert_eq!(switched(&start("cat-dog"), "yolo11n").image_side, 640);
    assert!(switched(&start("gongbi-lora-sdxl"), "wan2.1-t2v-14b").frames > 1);
    assert_eq!(switched(&start("wan-lora"), "sdxl").frames, 1);
    // By way of a model of the same kind, and of another; and what was touched stays.
    let mut chat = switched(&start("joke-chat-qlora"), "qwen3-8b");
    assert_eq!(switched(&chat, "sdxl").accumulation, 1);
    fields::set(&mut chat, Field::Samples, "2000", &catalog).unwrap();
    fields::set(&mut chat, Field::LoraRank, "64", &catalog).unwrap();
    let painted = switched(&chat, "sdxl");
    assert_eq!((painted.samples, painted.lora.rank, painted.accumulation), (2000, 64, 1));
    // Of one kind everything stays.
    let larger = switched(&start("joke-chat-qlora"), "qwen2.5-14b");
    assert_eq!((larger.method, larger.accumulation, larger.lora), (Method::QLora, 8, start("joke-chat-qlora").lora));
    // A model that a link names alone is what it was.
    let linked = switched(&Project::default(), "sdxl");
    assert_eq!((linked.lora.rank, linked.samples, linked.accumulation), (16, 1000, 1));
}

#[test]
fn a_preset_keeps_card_and_budget() {
    let catalog = Catalog::bundled();
    let mut project = start("mnist");
    fields::set(&mut project, Field::Gpu, "rtx-3090", &catalog).unwrap();
    fields::set(&mut project, Field::Count, "2", &catalog).unwrap();
    fields::set(&mut project, Field::Currency, "cny", &catalog).unwrap();
    fields::set(&mut project, Field::BudgetLimit, "3000", &catalog).unwrap();
    fields::set(&mut project, Field::Preset, "llm-7b-lora", &catalog).unwrap();
    assert_eq!(project.model, "qwen2.5-7b");
    assert_eq!((project.hardware.gpu.as_str(), project.hardware.count), ("rtx-3090", 2));
    assert_eq!((project.budget.limit, project.budget.currency), (Some(3000.0), Currency::Cny));
}

#[test]
fn no_model_is_cut_over_more_cards_than_there_are() {
    let catalog = Catalog::bundled();
    let mut project = start("llm-7b-lora");
    project.hardware.gpu = "a100-sxm-80gb".to_string();
    fields::set(&mut project, Field::Count, "8", &catalog).unwrap();
    fields::set(&mut project, Field::Tensor, "4", &catalog).unwrap();
    let FieldError::OutOfRange(range) = fields::set(&mut project, Field::Pipeline, "4", &catalog).unwrap_err() else {
        panic!("not out of range")
    };
    assert_eq!(range.max, 2.0);
    fields::set(&mut project, Field::Pipeline, "2", &catalog).unwrap();
    assert_eq!(project.hardware.parallel.data(8), 1);
    // Fewer cards than that: the cut is void, and nothing is left that no field shows.
    fields::set(&mut project, Field::Count, "2", &catalog).unwrap();
    assert_eq!(project.hardware.parallel, enough_gpu::project::Parallel::default());
    // Pictures are not cut.
    fields::set(&mut project, Field::Tensor, "2", &catalog).unwrap();
    fields::set(&mut project, Field::Model, "resnet50", &catalog).unwrap();
    assert_eq!(project.hardware.parallel.tensor, 1);
}

/// PEFT's `prepare_model_for_kbit_training` turns gradient checkpointing on by default.
#[test]
fn a_quantized_base_brings_checkpointing_along() {
    let catalog = Catalog::bundled();
    let mut project = Project { model: "qwen2.5-7b".into(), ..Project::default() };
    fields::set(&mut project, Field::Method, "lora", &catalog).unwrap();
    assert_eq!(project.checkpointing, Checkpointing::Off);
    fields::set(&mut project, Field::Method, "qlora", &catalog).unwrap();
    assert_eq!(project.checkpointing, Checkpointing::PerBlock);
    // Whoever then turns it off meant it.
    fields::set(&mut project, Field::Checkpointing, "off", &catalog).unwrap();
    fields::set(&mut project, Field::Method, "qlora", &catalog).unwrap();
    assert_eq!(project.checkpointing, Checkpointing::Off);
    // Links say the same, in any order.
    for (link, checkpointing) in [
        ("model=qwen2.5-7b&method=qlora", Checkpointing::PerBlock),
        ("model=qwen2.5-7b&method=qlora&checkpointing=off", Checkpointing::Off),
        ("checkpointing=off&method=qlora&model=qwen2.5-7b", Checkpointing::Off),
        ("model=qwen2.5-7b&method=lora", Checkpointing::Off),
    ] {
        let (read, unread) = Link::new("", link).project(Currency::Usd, &catalog).unwrap();
        assert_eq!((read.checkpointing, unread.len()), (checkpointing, 0), "{link}");
    }
}

/// A project is found by what people call it, not only by its name.
#[test]
fn projects_are_found_by_other_words() {
    let catalog = Catalog::bundled();
    let first = |text: &str| search::rank_presets(text, &catalog, |_| ["", ""]).first().map_or("", |preset| preset.id);
    for (text, preset) in [
        ("讲笑话", "joke-chat-qlora"),
        ("聊天机器人", "joke-chat-qlora"),
        ("画画", "gongbi-lora-sdxl"),
        ("画风", "gongbi-lora-sdxl"),
        ("医学影像", "unet-medical"),
        ("医学图像", "unet-medical"),
        ("CT", "unet-medical"),
        ("抠图", "sam-ft"),
        ("chatbot", "joke-chat-qlora"),
        ("冷笑话", "joke-chat-qlora"),
    ] {
        assert_eq!(first(text), preset, "{text}");
    }
}
