//! Every sentence in both languages: none empty, none left in the other language.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::{CardWarning, FixKind, Pick, QualityRisk, advise};
use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::{CannotEstimate, Moment, Part};
use enough_gpu::project::{Field, FieldError, Framework, Kind, Project, fields, relevant};
use enough_gpu::text::{self, Lang, Message, featured, labels};
use enough_gpu::units::Bytes;

/// Words that are the same in Chinese: names, units, code, and terms that nobody translates.
const LATIN: &[&str] = &[
    "3D",
    "4bit",
    "AdamW",
    "Ampere",
    "API",
    "BERT",
    "CUDA",
    "DDP",
    "Eager",
    "EMA",
    "Flash",
    "FlashAttention",
    "FSDP",
    "GaLore",
    "GiB",
    "GB",
    "GPU",
    "GPTQ",
    "AWQ",
    "HSA_OVERRIDE_GFX_VERSION",
    "Liger",
    "Linux",
    "LoRA",
    "KV",
    "MLP",
    "MNIST",
    "NF4",
    "NVIDIA",
    "AMD",
    "Intel",
    "PCIe",
    "PyTorch",
    "QLoRA",
    "ROCm",
    "SGD",
    "VAE",
    "Unsloth",
    "ZeRO",
    "bf16",
    "fp16",
    "fp32",
    "fp8",
    "int8",
    "int4",
    "bit",
    "bitsandbytes",
    "config.json",
    "dropout",
    "foreach",
    "fused",
    "logits",
    "micro-batch",
    "nvidia-smi",
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "token",
    "xFormers",
    "q",
    "k",
    "v",
    "ResNet",
    "ImageNet",
    "SegFormer",
    "SDXL",
    "Qwen2.5",
    "Llama",
    "Kaggle",
    "qwen2.5",
    "7b",
    "7B",
    "70B",
    "DPO",
    "Muon",
    "Lion",
    "Adafactor",
    "TPU",
    "Mac",
];

fn check_words(name: &str, message: Message) {
    assert!(!message.zh.trim().is_empty() && !message.en.trim().is_empty(), "{name} is empty");
    check_chinese(name, message.zh);
    check_english(name, message.en);
}

fn check_english(name: &str, text: &str) {
    let chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c) || ('\u{3000}'..='\u{303f}').contains(&c);
    assert!(!text.contains(chinese), "{name}: Chinese in English: {text}");
    assert!(!text.contains('!'), "{name}: exclamation mark: {text}");
}

/// Chinese as it is set: a space between Chinese and Latin, none between two Chinese characters, nothing doubled.
fn check_setting(name: &str, text: &str) {
    let han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c) || "，。；：、".contains(c);
    let chars: Vec<char> = text.chars().collect();
    for three in chars.windows(3) {
        assert!(!(han(three[0]) && three[1] == ' ' && han(three[2])), "{name}: a space inside Chinese: {text}");
    }
    for pair in chars.windows(2) {
        let ideograph = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
        let touching = (ideograph(pair[0]) && pair[1].is_ascii_alphanumeric())
            || (pair[0].is_ascii_alphanumeric() && ideograph(pair[1]));
        assert!(!touching, "{name}: no space in {pair:?}: {text}");
        let doubled = pair[0] == pair[1] && "，。；：、 ".contains(pair[0])
            || ("，。；：、）".contains(pair[0]) && pair[1] == ' ');
        assert!(!doubled && pair != ['。', '，'], "{name}: doubled {pair:?}: {text}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf ") && !text.trim().is_empty(), "{name}: {text}");
}

/// Width of a text in Chinese characters, about.
fn width(text: &str) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 0.5 } else { 1.0 }).sum()
}

/// No Latin left-overs, and a space between Chinese and Latin letters or digits.
fn check_chinese(name: &str, text: &str) {
    let han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let chars: Vec<char> = text.chars().collect();
    for pair in chars.windows(2) {
        let touching =
            (han(pair[0]) && pair[1].is_ascii_alphanumeric()) || (pair[0].is_ascii_alphanumeric() && han(pair[1]));
        assert!(!touching, "{name}: no space between {} and {}: {text}", pair[0], pair[1]);
    }
    assert!(!text.contains('！') && !text.contains('!'), "{name}: exclamation mark: {text}");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_'));
    for word in words.map(|w| w.trim_matches(['.', '-'])) {
        let letters = word.chars().filter(char::is_ascii_alphabetic).count();
        let parts_known =
            word.split('-').all(|w| LATIN.contains(&w) || w.chars().all(|c| c.is_ascii_digit() || c == '.'));
        assert!(letters < 2 || LATIN.contains(&word) || parts_known, "{name}: Latin left-over {word:?}: {text}");
    }
}

#[test]
fn fixed_words_are_in_both_languages() {
    for (name, message) in labels::ALL {
        check_words(name, *message);
    }
    for f in featured::FEATURED {
        check_words(f.preset, f.name);
        check_words(f.preset, f.detail);
    }
    for part in Part::ALL {
        check_words("part", text::part(part));
        check_words("part", text::part_detail(part));
    }
    for moment in
        [Moment::Loading, Moment::Encoding, Moment::Forward, Moment::Loss, Moment::Backward, Moment::Optimizer]
    {
        check_words("moment", text::moment(moment));
    }
    for pick in [Pick::Cheapest, Pick::Balanced, Pick::Fastest] {
        check_words("pick", text::pick(pick));
    }
    for risk in [QualityRisk::None, QualityRisk::Slight, QualityRisk::Real] {
        check_words("risk", text::risk(risk));
    }
    for warning in [
        CardWarning::NoBf16,
        CardWarning::HalfBreaks,
        CardWarning::NoMatrixUnits,
        CardWarning::NoFlashAttention,
        CardWarning::Dropped,
        CardWarning::NeedsNewPyTorch,
        CardWarning::Rocm,
        CardWarning::RocmOverride,
        CardWarning::OtherStack,
        CardWarning::RecentQuantization,
        CardWarning::NoTriton,
        CardWarning::Laptop,
        CardWarning::Modded,
        CardWarning::NoFastLink,
        CardWarning::UnknownLink,
        CardWarning::UnifiedMemory,
        CardWarning::NotForLongRuns,
    ] {
        check_words("warning", text::warning(warning));
        check_words("warning", text::warning_detail(warning));
    }
}

#[test]
fn fixes_are_in_both_languages() {
    let fixes = [
        FixKind::MixedPrecision,
        FixKind::Fp16,
        FixKind::PureBf16,
        FixKind::Checkpointing,
        FixKind::FlashAttention,
        FixKind::FusedLoss,
        FixKind::FusedOptimizer,
        FixKind::SmallerMicroBatch { micro_batch: 1, accumulation: 8 },
        FixKind::Optimizer8bit,
        FixKind::PagedOptimizer,
        FixKind::Freeze { share: 0.5 },
        FixKind::Lora,
        FixKind::Unquantized,
        FixKind::QLora,
        FixKind::QuantizedBase,
        FixKind::Base4bit,
        FixKind::LoraRank { rank: 8 },
        FixKind::Library { framework: Framework::Unsloth },
        FixKind::ShorterSequence { sequence: 1024 },
        FixKind::SmallerImage { side: 512 },
        FixKind::FewerFrames { frames: 17 },
        FixKind::ShorterAudio { seconds: 15.0 },
        FixKind::CacheLatents,
        FixKind::FreeDisplay,
        FixKind::MoreCards { count: 2 },
        FixKind::Sharding,
        FixKind::Offload,
        FixKind::BlockSwap { share: 0.5 },
    ];
    for kind in fixes {
        check_chinese("fix", &text::fix(Lang::Zh, kind));
        check_english("fix", &text::fix(Lang::En, kind));
        check_words("fix", text::fix_detail(kind));
    }
    for slower in [None, Some(1.0), Some(1.25), Some(0.8), Some(3.0)] {
        check_chinese("pace", &text::pace(Lang::Zh, slower));
        check_english("pace", &text::pace(Lang::En, slower));
    }
    assert_eq!(text::pace(Lang::Zh, Some(1.25)), "慢 25%");
    assert_eq!(text::pace(Lang::En, Some(1.25)), "25% slower");
    assert_eq!(text::gain(Bytes::from_gib(11.2)), "−11.2 GiB");
}

#[test]
fn fields_have_names_hints_and_errors() {
    let catalog = Catalog::bundled();
    for preset in catalog.presets.iter() {
        let mut project = Project::from_preset(preset, &catalog);
        project.hardware.gpu = "rtx-3090".to_string();
        project.hardware.count = 2;
        let shown = relevant(&project, &catalog);
        for field in shown.primary.into_iter().chain(shown.folded).chain([
            Field::Preset,
            Field::Gpu,
            Field::Count,
            Field::BudgetLimit,
            Field::Currency,
            Field::Place,
            Field::Electricity,
            Field::ExchangeRate,
            Field::HoursAWeek,
            Field::PriceCard,
            Field::PriceRent,
            Field::PriceNew,
            Field::PriceUsed,
        ]) {
            let (zh, en) =
                (text::hint(Lang::Zh, field, &project, &catalog), text::hint(Lang::En, field, &project, &catalog));
            assert!(!zh.is_empty() && !en.is_empty());
            if field != Field::Model {
                check_words("name", text::field(field));
                check_chinese("hint", &zh);
                check_english("hint", &en);
                assert!(width(&zh) <= 30.0, "the hint takes two lines: {zh}");
                assert!(width(&en) <= 30.0, "the hint takes two lines: {en}");
            }
            if let Kind::Number(range) = fields::kind(field) {
                let errors = [
                    FieldError::Empty(fields::kind(field)),
                    FieldError::NotANumber(range),
                    FieldError::OutOfRange(range),
                    FieldError::NotWhole { below: 1.0, above: 2.0 },
                ];
                for error in errors {
                    check_chinese("error", &text::error(Lang::Zh, field, &error, "-5", &catalog));
                    check_english("error", &text::error(Lang::En, field, &error, "-5", &catalog));
                }
            }
        }
    }
}

#[test]
fn an_error_says_what_is_wrong_allowed_and_to_do() {
    let catalog = Catalog::bundled();
    let sentence = |lang, field, raw: &str| {
        let mut project = Project::from_preset(catalog.preset("joke-chat-qlora").unwrap(), &catalog);
        let error = fields::set(&mut project, field, raw, &catalog).unwrap_err();
        text::error(lang, field, &error, raw, &catalog)
    };
    assert_eq!(sentence(Lang::Zh, Field::Sequence, "-5"), "序列长度要在 1 到 1,048,576 之间；你写的是 -5。");
    assert_eq!(sentence(Lang::En, Field::Sequence, "-5"), "Sequence length must be 1 to 1,048,576; you wrote -5.");
    assert_eq!(sentence(Lang::Zh, Field::MicroBatch, "2.5"), "批大小要整数：试试 2 或 3；你写的是 2.5。");
    assert_eq!(
        sentence(Lang::En, Field::Epochs, "three"),
        "Epochs takes a number, 0.001 to 1,000,000; \"three\" is not one."
    );
    assert!(sentence(Lang::Zh, Field::Gpu, "RTX 409O").contains("RTX 4090"));
    let long = "很长".repeat(500);
    assert!(sentence(Lang::Zh, Field::Sequence, &long).chars().count() < 100, "a pasted page is cut short");
}

#[test]
fn what_cannot_be_estimated_is_explained() {
    let catalog = Catalog::bundled();
    for reason in [
        CannotEstimate::NoModel,
        CannotEstimate::OutOfRange(Field::Sequence),
        CannotEstimate::MethodDoesNotApply,
        CannotEstimate::CardDoesNotApply,
        CannotEstimate::TooLarge,
    ] {
        let (zh, next_zh) = text::cannot_estimate(Lang::Zh, &reason, &catalog);
        let (en, next_en) = text::cannot_estimate(Lang::En, &reason, &catalog);
        check_chinese("reason", &zh);
        check_chinese("reason", &next_zh);
        check_english("reason", &en);
        check_english("reason", &next_en);
    }
}

/// Every project of the catalog on every kind of hardware has an answer that reads well in both languages.
#[test]
fn every_answer_reads_well() {
    let catalog = Catalog::bundled();
    let hardware =
        [("", 1), ("rtx-3060-12gb", 1), ("rtx-4060-ti-16gb", 1), ("rx-6700-xt", 1), ("rtx-4090", 2), ("apple-m2", 1)];
    for preset in catalog.presets.iter() {
        for (gpu, count) in hardware {
            let mut project = Project::from_preset(preset, &catalog);
            project.hardware.gpu = gpu.to_string();
            project.hardware.count = count;
            let advice = advise(&project, &catalog);
            let name = format!("{} on {gpu}", preset.id);
            for lang in Lang::ALL {
                let answer = text::answer(lang, &project, &advice, &catalog);
                let mut sentences = vec![answer.head, answer.detail, answer.next.sentence];
                sentences.extend(answer.why);
                if let Ok(advice) = &advice {
                    sentences.extend(advice.free.iter().map(|f| text::free_limits(lang, f)));
                    sentences.extend(advice.cards.iter().filter_map(|c| c.rent).map(|r| text::rent(lang, &r).0));
                    sentences.push(text::timeline_summary(lang, &advice.memory));
                }
                for sentence in sentences {
                    match lang {
                        Lang::Zh => check_setting(&name, &sentence),
                        Lang::En => {
                            assert!(!sentence.contains("  ") && !sentence.contains("NaN"), "{name}: {sentence}");
                            check_english(&name, &sentence.replace(['（', '）'], "").replace(chinese_name, ""));
                        }
                    }
                }
            }
        }
    }
}

/// Names of Chinese providers stay Chinese in English.
fn chinese_name(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

#[test]
fn what_is_said_of_a_paste_is_in_both_languages() {
    use enough_gpu::advise::oom::{Cause, First, explain};
    use enough_gpu::project::import::error::{Memory, Stage};
    use enough_gpu::project::import::{Hints, Note, TextKind, read};
    use enough_gpu::text::{doors, explained};

    let both = |name: &str, say: &dyn Fn(Lang) -> String| {
        let (zh, en) = (say(Lang::Zh), say(Lang::En));
        check_setting(name, &zh);
        assert!(!zh.contains('！') && !en.trim().is_empty(), "{name}: {zh} {en}");
        check_english(name, &en);
    };
    for kind in [TextKind::Error, TextKind::Cards, TextKind::Model, TextKind::Script, TextKind::Unknown] {
        check_words("kind", doors::text_kind(kind));
    }
    for memory in [Memory::Cuda, Memory::Main, Memory::Killed, Memory::SharedBetweenProcesses] {
        check_words("memory", explained::what_ran_out(memory));
    }
    let bytes = Bytes(3 << 30);
    let mut causes = vec![
        Cause::Size,
        Cause::OnePiece,
        Cause::Fragments { unused: bytes },
        Cause::Others { bytes, named: 0 },
        Cause::Others { bytes, named: 3 },
        Cause::Desktop { bytes },
        Cause::SharedMemory { beyond: bytes },
        Cause::Limit { allowed: bytes },
        Cause::Room { free: bytes },
        Cause::PieceLimit,
        Cause::Workspace,
        Cause::Later { step: 68, of: 186 },
        Cause::MainMemory,
        Cause::Killed,
        Cause::SharedBetweenProcesses,
        Cause::PagingFile,
    ];
    let stages =
        [Stage::Loading, Stage::Encoding, Stage::Evaluation, Stage::Generation, Stage::Saving, Stage::Optimizer];
    causes.extend(stages.map(Cause::Beside));
    for cause in causes {
        both("cause", &|lang| explained::cause(lang, cause));
        both("size after it", &|lang| explained::causes(lang, &[cause, Cause::Size]).pop().unwrap_or_default());
    }
    for first in [
        First::Fixes,
        First::ExpandableSegments,
        First::EndOthers,
        First::FreeDesktop,
        First::NoSharedMemory,
        First::RaiseLimit,
        First::NoPinnedMemory,
        First::CapLength,
        First::SmallEvaluation,
        First::SaveLess,
        First::EncodeFirst,
        First::FewerSamples,
        First::LoadLess,
        First::SmallOptimizer,
        First::LessMainMemory,
        First::MoreShared,
        First::LargerPagingFile,
    ] {
        both("first", &|lang| explained::first(first).0.text(lang).to_string());
    }
    let catalog = Catalog::bundled();
    for note in [
        Note::Cut { read: 1 << 23, of: 1 << 25 },
        Note::SeveralKinds,
        Note::OneOf("NVIDIA GeForce ...".into(), vec!["rtx-3090".into(), "rtx-4090".into()]),
        Note::NamesMissing,
        Note::UnknownCard("RTX 9090".into()),
        Note::UnknownModel("somebody/model".into()),
        Note::Slice("3g.20gb".into()),
        Note::UnknownKind("NewModel".into()),
        Note::Damaged,
        Note::NoAttention("mamba2".into()),
        Note::SharedMemory,
        Note::NoModel,
        Note::Sampling,
        Note::Assumed(vec!["vocab_size"]),
        Note::LanguagePartOnly,
        Note::Parameters(7_615_616_512),
        Note::ParametersOfSize(7_000_000_000),
        Note::ShallowTable,
        Note::Steps(1000),
        Note::NoKernelForCard,
    ] {
        both("note", &|lang| doors::note(lang, &note, &catalog));
    }
    let error = "CUDA out of memory. Tried to allocate 3.00 GiB (GPU 0; 7.79 GiB total capacity; 5.00 GiB already allocated; 1.00 GiB free; 6.00 GiB reserved in total by PyTorch)";
    for text in [
        error,
        "CUDA out of memory",
        "Killed process 7 (python) anon-rss:60356340kB out of memory",
        "RESOURCE_EXHAUSTED: Used 19.20G of 15.48G hbm. Exceeded hbm capacity by 3.72G.",
    ] {
        let reading = read(text, Hints::pasted(&catalog));
        let error = reading.error.unwrap_or_else(|| panic!("{text}"));
        let explained = explain(&error, &Project::default(), &catalog);
        both("amounts", &|lang| explained::amounts(lang, &error, &explained).join(lang.pick("", " ")));
    }
    let cards = read(
        "|   0  NVIDIA GeForce RTX 3090     Off  | 00000000:01:00.0  On |\n|  0%   50C  | 21730MiB / 24576MiB |\n| Processes:\n|    0   N/A  N/A     90211      C   python3        21200MiB |",
        Hints::pasted(&catalog),
    );
    let lines = |lang| doors::cards(lang, &cards.cards, &catalog);
    assert!(lines(Lang::En)[1].contains("python3 20.7 GiB"), "{:?}", lines(Lang::En));
    for line in lines(Lang::Zh) {
        check_setting("cards", &line);
    }
    both("fill", &|lang| doors::fill(lang, 3));
    both("place", &|lang| doors::place(lang, 12));
}
