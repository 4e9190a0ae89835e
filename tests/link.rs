//! Links: what they promise, that they bring every project back, and that nothing in them can break the page.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dice;

use dice::{cases, throw};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::link::{self, KEYS, Link, Why, write};
use enough_gpu::project::{Field, PriceKind, Project, fields};
use enough_gpu::units::{Currency, Money};

#[test]
fn every_project_comes_back() {
    throw(cases(800, 1), 1, |catalog, dice| {
        let project = dice::project(7, catalog, dice);
        for usual in [Currency::Cny, Currency::Usd] {
            let link = write(&project, usual, catalog);
            let (read, unread) = Link::new("", &link).project(usual, catalog).unwrap_or_else(|| panic!("{link}"));
            assert_eq!(unread, [], "{link}");
            assert_eq!(read, project, "{link}");
            assert_eq!(write(&read, usual, catalog), link);
            // A query says the same as a fragment.
            assert_eq!(Link::new(&link, "").project(usual, catalog).map(|(p, _)| p), Some(read));
        }
    });
}

/// Links that were given out. They mean the same for ever: add to this table, never change it.
#[test]
fn links_mean_what_they_meant() {
    let catalog = Catalog::bundled();
    for (link, means) in [
        (
            "#model=qwen2.5-7b&method=qlora&seq=2048&have=rtx-4060-ti-16gb&lang=zh",
            &[
                ("model", "qwen2.5-7b"),
                ("method", "qlora"),
                ("seq", "2048"),
                ("have", "rtx-4060-ti-16gb"),
                ("batch", "1"),
            ] as &[(&str, &str)],
        ),
        ("#preset=gongbi-lora-sdxl&batch=4", &[("preset", "gongbi-lora-sdxl"), ("batch", "4"), ("method", "lora")]),
        ("model=custom&layers=12&hidden=768&heads=12&kv-heads=12&vocab=50257", &[("layers", "12"), ("hidden", "768")]),
        ("have=none&budget=3000&currency=cny", &[("have", "none"), ("budget", "3000"), ("currency", "cny")]),
        ("have=RTX%204090&count=2&sharding=zero2", &[("have", "rtx-4090"), ("count", "2"), ("sharding", "zero2")]),
        (
            "model=qwen2.5-7b&method=lora&rank=64&targets=qv&dropout=0&precision=bf16&base=int8&optimizer=adamw8bit",
            &[("rank", "64"), ("targets", "qv"), ("dropout", "0"), ("precision", "bf16"), ("base", "int8")],
        ),
        (
            "model=qwen2.5-7b&checkpointing=on&attention=flash&loss=fused&offload=optimizer&ema=on&objective=dpo",
            &[("checkpointing", "on"), ("attention", "flash"), ("loss", "fused"), ("objective", "dpo"), ("ema", "on")],
        ),
        (
            "model=sdxl&side=1024&cached-latents=off&block-swap=0.5&framework=kohya&samples=100&epochs=10&frozen=0.25",
            &[("side", "1024"), ("cached-latents", "off"), ("block-swap", "0.5"), ("framework", "kohya")],
        ),
        (
            "optimizer-impl=fused&accumulation=8&frames=16&seconds=12.5&task=cls&desktop=on",
            &[
                ("optimizer-impl", "fused"),
                ("accumulation", "8"),
                ("frames", "16"),
                ("seconds", "12.5"),
                ("desktop", "on"),
            ],
        ),
        (
            "model=custom&layers=30&hidden=1280&heads=20&kv-heads=4&intermediate=3840&vocab=64000&like=qwen3-8b&head-dim=128&tied=off",
            &[("model", "custom"), ("layers", "30"), ("kv-heads", "4"), ("vocab", "64000")],
        ),
        (
            "model=custom&layers=16&hidden=2048&like=olmoe-1b-7b&experts=64&experts-per-token=8&expert-width=1024",
            &[("model", "custom"), ("hidden", "2048")],
        ),
        (
            "model=network&params=62006&outputs=11246&trained-params=850&widest=4704&macs=658281&batch=64",
            &[("model", "network"), ("params", "62006"), ("outputs", "11246"), ("batch", "64")],
        ),
    ] {
        let (project, unread) = Link::new("", link).project(Currency::Usd, &catalog).expect(link);
        assert_eq!(unread, [], "{link}");
        for (key, value) in means {
            let field = KEYS.iter().find(|(known, _)| known == key).expect("a known key").1;
            assert_eq!(fields::get(&project, field), *value, "{link}: {key}");
        }
    }
}

#[test]
fn keys_are_told_apart() {
    for (at, (key, field)) in KEYS.iter().enumerate() {
        assert!(KEYS.iter().skip(at + 1).all(|(other, of)| other != key && of != field), "{key}");
    }
}

#[test]
fn what_is_not_understood_is_told_and_the_rest_is_kept() {
    let catalog = Catalog::bundled();
    let link = Link::new(
        "?utm_source=blog&embed&lock=model,have,nonsense",
        "#model=qwen2.5-7b&batch=-5&seq=4096&colour=red&method=hope&lang=fr&heads=7&have=%20rtx%204090&theme=dark",
    );
    let (project, unread) = link.project(Currency::Usd, &catalog).expect("a project");
    assert_eq!((project.model.as_str(), project.sequence, project.micro_batch), ("qwen2.5-7b", 4096, 1));
    assert_eq!(project.hardware.gpu, "rtx-4090");
    let told: Vec<(&str, &str)> = unread.iter().map(|u| (u.key.as_str(), u.value.as_str())).collect();
    assert_eq!(told, [("colour", "red"), ("lang", "fr"), ("heads", "7"), ("method", "hope"), ("batch", "-5")]);
    assert!(matches!(unread[0].why, Why::Key) && matches!(unread[1].why, Why::Value));
    assert!(matches!(unread[4].why, Why::Field(Field::MicroBatch, _)));
    assert_eq!((link.lang(), link.theme(), link.embed()), (None, Some("dark"), true));
    assert_eq!(link.locked(), [Field::Model, Field::Gpu]);
}

#[test]
fn a_link_that_says_nothing_is_no_project() {
    let catalog = Catalog::bundled();
    for (query, fragment) in [("", ""), ("?", "#"), ("?fbclid=1&from=timeline", ""), ("?embed&lang=en", "#theme=dark")]
    {
        assert_eq!(Link::new(query, fragment).project(Currency::Usd, &catalog), None, "{query} {fragment}");
    }
}

#[test]
fn a_fragment_that_a_messenger_encoded_is_read() {
    let catalog = Catalog::bundled();
    let link = Link::new("", "#model%3Dqwen2.5-7b%26seq%3D2048");
    assert_eq!(
        link.project(Currency::Usd, &catalog).map(|(p, _)| (p.model, p.sequence)),
        Some(("qwen2.5-7b".into(), 2048))
    );
}

#[test]
fn no_text_breaks_it() {
    let pieces: Vec<String> = KEYS
        .iter()
        .map(|(key, _)| (*key).to_string())
        .chain(
            ["=", "&", "%", "%F", "%ff", "%e4%bd", "+", "#", "?", "é", "显", "\0", "-1", "1e999", "NaN", "inf", "0"]
                .map(String::from),
        )
        .chain(
            [
                "lock",
                "lang",
                "embed",
                "tied",
                "like",
                "head-dim",
                "experts",
                "macs",
                "network",
                "measured",
                "meter",
                "on",
                "custom",
                "none",
                ",",
                " ",
                "9",
                "99999999999999999999",
            ]
            .map(String::from),
        )
        .collect();
    throw(cases(2000, 1), 7, |catalog, dice| {
        let text: String = (0..dice.below(24)).map(|_| pieces[dice.below(pieces.len())].as_str()).collect();
        let (query, fragment) = text.split_at(text.char_indices().map(|(at, _)| at).nth(dice.below(9)).unwrap_or(0));
        let link = Link::new(query, fragment);
        let _ = (link.lang(), link.theme(), link.embed(), link.locked());
        if let Some((project, _)) = link.project(Currency::Usd, catalog) {
            let again = write(&project, Currency::Usd, catalog);
            let back = Link::new("", &again).project(Currency::Usd, catalog).map_or_else(Project::default, |(p, _)| p);
            assert_eq!(back, project, "{text:?} became {again:?}");
        }
    });
}

#[test]
fn a_link_carries_all_prices() {
    let catalog = Catalog::bundled();
    let mut project = Project { model: "qwen2.5-7b".to_owned(), ..Project::default() };
    project.hardware.gpu = "rtx-4090".to_owned();
    let usd = |amount| Some(Money::usd(amount));
    project.prices.set("rtx-4090", PriceKind::Rent, usd(0.5));
    project.prices.set("rtx-3090", PriceKind::Rent, usd(0.2));
    project.prices.set("rtx-3090", PriceKind::Used, usd(700.0));
    project.prices.set("a100-sxm-80gb", PriceKind::New, usd(9000.0));
    let text = link::write(&project, Currency::Usd, &catalog);
    let (read, unread) = Link::new("", &text).project(Currency::Usd, &catalog).unwrap();
    assert!(unread.is_empty(), "{unread:?} of {text}");
    for gpu in ["rtx-4090", "rtx-3090", "a100-sxm-80gb"] {
        assert_eq!(read.prices.of(gpu), project.prices.of(gpu), "{text}");
    }
    // What is no card or no price is told, and the rest is kept.
    let text = "model=qwen2.5-7b&prices=rtx-3090:0.2,no-card:1,t4:cheap";
    let (read, unread) = Link::new("", text).project(Currency::Usd, &catalog).unwrap();
    assert_eq!(read.prices.of("rtx-3090").and_then(|p| p.get(PriceKind::Rent)), usd(0.2));
    assert_eq!((unread[0].key.as_str(), unread[0].value.as_str()), ("prices", "no-card:1"));
}

/// One card shares with nobody, so no click on a fix writes how.
#[test]
fn a_fix_on_one_card_says_nothing_of_sharing() {
    let catalog = Catalog::bundled();
    let mut project = Project { model: "qwen2.5-7b".to_owned(), ..Project::default() };
    project.hardware.gpu = "rtx-3060-12gb".to_owned();
    let advice = enough_gpu::advise::advise(&project, &catalog).unwrap();
    let plan = advice.make_it_fit.iter().map(|plan| &plan.project);
    let changed: Vec<&Project> = advice.fixes.iter().map(|fix| &fix.project).chain(plan).collect();
    assert!(!changed.is_empty());
    for changed in changed.into_iter().filter(|p| p.hardware.count == 1) {
        let text = link::write(changed, Currency::Usd, &catalog);
        assert!(!text.contains("sharding"), "{text}");
    }
}
