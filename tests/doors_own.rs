//! What a person measured, the measured runs beside an estimate, and what moves the number.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../examples/pages/mod.rs"]
mod pages;
#[path = "../examples/runs/table.rs"]
mod runs;
#[allow(dead_code)]
#[path = "../examples/score/scoring/mod.rs"]
mod scoring;

use enough_gpu::advise::measured::{Difference, compare, csv};
use enough_gpu::advise::moves::moves;
use enough_gpu::advise::nearest::nearest;
use enough_gpu::catalog::{Catalog, measured_runs};
use enough_gpu::estimate;
use enough_gpu::project::link::{Link, write_measurement};
use enough_gpu::project::{
    Checkpointing, Choice, Field, Measurement, Meter, Method, Offload, Precision, Project, Sharding,
};
use enough_gpu::units::Bytes;
use scoring::case::{Meter as ReadMeter, Quality, Subject};

fn seven_billion() -> Project {
    Project {
        model: "qwen2.5-7b".into(),
        method: Method::QLora,
        sequence: 2048,
        micro_batch: 2,
        checkpointing: Checkpointing::PerBlock,
        ..Project::default()
    }
}

#[test]
fn the_table_of_runs_is_that_of_the_measurements() {
    let catalog = Catalog::bundled();
    let renewed = runs::table(&catalog).unwrap();
    assert!(
        pages::read(runs::TO).unwrap() == renewed,
        "{} is out of date: run `cargo run --release --example runs`",
        runs::TO
    );
    assert_eq!(measured_runs().len(), renewed.lines().count() - 1);
    let first = &measured_runs()[0];
    assert_eq!((first.model, first.batch, first.size, first.cards), ("phi-1.5", 1, 1044, 1));
    for run in measured_runs() {
        assert!(catalog.model(run.model).is_some(), "{run:?}");
        assert!(Method::from_id(run.method).is_some() && Meter::from_id(run.meter).is_some(), "{run:?}");
        assert!(run.gpu.is_empty() || catalog.gpu(run.gpu).is_some(), "{run:?}");
        assert!(!run.source.is_empty());
    }
}

#[test]
fn the_nearest_run_is_the_same_where_it_is_there() {
    let catalog = Catalog::bundled();
    let mut same = 0;
    for run in measured_runs() {
        let mut project = Project {
            model: run.model.into(),
            method: Method::from_id(run.method).unwrap(),
            precision: Precision::from_id(run.precision).unwrap(),
            offload: Offload::from_id(run.offload).unwrap_or_default(),
            micro_batch: run.batch,
            sequence: run.size.max(1),
            image_side: run.size.max(1),
            audio_seconds: run.size.max(1) as f64,
            frames: run.frames,
            checkpointing: Checkpointing::from_id(run.checkpointing).unwrap(),
            ..Project::default()
        };
        project.hardware.count = run.cards;
        let near = nearest(&project, &catalog, 3);
        let first = near.first().unwrap_or_else(|| panic!("{run:?}"));
        assert!(first.same_model && first.same_batch && first.same_method, "{run:?} {first:?}");
        same += usize::from(first.run.peak == run.peak);
        assert!(near.windows(2).all(|pair| pair[0].distance <= pair[1].distance));
    }
    assert!(same * 2 > measured_runs().len());
    // Nothing is said where nothing is like it.
    let far = Project { model: "deepseek-v3".into(), micro_batch: 512, sequence: 131_072, ..Project::default() };
    assert!(nearest(&far, &catalog, 3).is_empty());
    assert!(nearest(&Project::default(), &catalog, 3).is_empty());
}

#[test]
fn measurements_are_read_as_typed() {
    let read = |text: &str| Measurement::read(text, Meter::Smi).map(|m| m.peak);
    for (text, gib) in [
        ("13.6", 13.6),
        (" 13.6 GiB ", 13.6),
        ("13,6", 13.6),
        ("13.6G", 13.6),
        ("13926MiB / 16380MiB", 13926.0 / 1024.0),
        ("13926", 13926.0 / 1024.0),
        ("14,231 MiB", 14231.0 / 1024.0),
        ("14602666803", 13.6),
        ("１３.６ GB", 13.6),
    ] {
        let found = read(text).unwrap_or_else(|| panic!("{text}"));
        assert!((found.gib() - gib).abs() < 0.01, "{text}: {found}");
    }
    for text in ["", "much", "-3", "0", "13.6 apples", "1e400", "9999999 GiB", "/"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn a_link_carries_it() {
    let catalog = Catalog::bundled();
    let measurement = Measurement { peak: Bytes::from_gib(13.625), meter: Meter::Allocated };
    let written = write_measurement(&measurement);
    assert_eq!(written, "measured=13.625&meter=allocated");
    let link = Link::new("", &format!("model=qwen2.5-7b&{written}"));
    assert_eq!(link.measurement(), Some(measurement));
    let (_, unread) = link.project(enough_gpu::units::Currency::Usd, &catalog).unwrap();
    assert_eq!(unread, []);
    assert_eq!(Link::new("", "model=qwen2.5-7b").measurement(), None);
}

#[test]
fn a_difference_is_explained() {
    let catalog = Catalog::bundled();
    let project = seven_billion();
    let memory = estimate::memory(&project, None, &catalog).unwrap();
    let at = |peak: Bytes, meter| compare(&project, &Measurement { peak, meter }, &catalog).unwrap();
    // What was estimated needs no reasons.
    let same = at(memory.allocated, Meter::Allocated);
    assert!(same.agrees() && same.reasons.is_empty() && same.above.abs() < 1e-9);
    // A run without checkpointing is found out.
    let without = Project { checkpointing: Checkpointing::Off, ..project.clone() };
    let taken = estimate::memory(&without, None, &catalog).unwrap().allocated;
    let found = at(taken, Meter::Allocated);
    assert!(!found.agrees());
    let first = found.reasons.first().unwrap();
    assert!(
        matches!(first, Difference::Setting { field: Field::Checkpointing, value, .. } if value == "off"),
        "{found:?}"
    );
    // Others on the card are suspected where the meter sees them, and only then.
    assert!(at(memory.card.scale(1.4), Meter::Smi).reasons.contains(&Difference::OthersOnTheCard));
    assert!(!at(memory.allocated.scale(1.4), Meter::Allocated).reasons.contains(&Difference::OthersOnTheCard));
    assert!(at(memory.card.scale(0.6), Meter::Smi).reasons.contains(&Difference::ShorterSamples));
    let nothing = Project::default();
    assert_eq!(compare(&nothing, &Measurement { peak: Bytes(1), meter: Meter::Smi }, &catalog), None);
}

/// What is exported is what the scores read.
#[test]
fn the_export_is_read_by_the_scores() {
    let catalog = Catalog::bundled();
    let mut projects = vec![
        seven_billion(),
        Project { model: "resnet50".into(), image_side: 256, micro_batch: 64, ..Project::default() },
        Project { model: "sdxl".into(), method: Method::Lora, image_side: 1024, ..Project::default() },
        Project {
            model: "wan2.1-t2v-1.3b".into(),
            method: Method::Lora,
            image_side: 480,
            frames: 81,
            ..Project::default()
        },
        Project { model: "whisper-small".into(), audio_seconds: 30.0, micro_batch: 8, ..Project::default() },
    ];
    for preset in catalog.presets.iter().filter(|p| !p.model.is_empty()) {
        projects.push(Project::from_preset(preset, &catalog));
    }
    for (at, project) in projects.iter_mut().enumerate() {
        project.hardware.gpu = ["rtx-4090", "rtx-4060-ti-16gb", "a100-sxm-80gb", ""][at % 4].to_owned();
        project.hardware.sharding = Sharding::Ddp;
    }
    let meters = [Meter::Smi, Meter::Allocated, Meter::Reserved];
    let measured: Vec<(&Project, Measurement)> = projects
        .iter()
        .enumerate()
        .map(|(at, p)| (p, Measurement { peak: Bytes::from_gib(4.0 + at as f64 / 8.0), meter: meters[at % 3] }))
        .collect();
    let text = csv(measured.iter().copied(), &catalog);
    let columns = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    assert_eq!(columns(&text), columns(&pages::read(runs::FROM).unwrap()));
    let (table, broken) = scoring::table::Table::read(&text);
    assert_eq!(broken, 0);
    let read = scoring::score(&table, &catalog);
    assert_eq!(read.len(), measured.len());
    for ((project, measurement), scored) in measured.iter().zip(&read) {
        let case = &scored.case;
        assert_eq!(case.quality, Quality::B);
        assert_eq!(case.peak.map(Bytes::gib), Some(measurement.gib()), "{}", case.id);
        let meter = match measurement.meter {
            Meter::Smi => ReadMeter::Smi,
            Meter::Allocated => ReadMeter::Allocated,
            Meter::Reserved => ReadMeter::Reserved,
        };
        assert_eq!(case.meter, meter, "{}", case.id);
        if catalog.model(&project.model).is_some_and(enough_gpu::catalog::Model::is_boosting) {
            continue;
        }
        let Ok(Subject::Project { project: back, .. }) = &case.subject else {
            panic!("{}: {:?}", project.model, case.subject)
        };
        let tell = |p: &Project| {
            (
                p.model.clone(),
                p.method,
                p.micro_batch,
                p.checkpointing,
                p.optimizer,
                p.optimizer_impl,
                p.framework,
                p.offload,
            )
        };
        assert_eq!(tell(back), tell(project), "{}", case.id);
        assert_eq!((back.accumulation, back.hardware.count), (project.accumulation, project.hardware.count));
        assert_eq!(back.hardware.gpu, project.hardware.gpu);
        if project.method.is_adapter() {
            assert_eq!(
                (back.lora.rank, back.lora.targets),
                (project.lora.rank, project.lora.targets),
                "{}",
                project.model
            );
        }
    }
}

#[test]
fn settings_are_moved_one_at_a_time() {
    let catalog = Catalog::bundled();
    let mut project = seven_billion();
    project.hardware.gpu = "rtx-4060-ti-16gb".into();
    let rows = moves(&project, &catalog);
    let fields: Vec<Field> = rows.iter().map(|row| row.field).collect();
    assert_eq!(fields, [Field::MicroBatch, Field::Sequence, Field::LoraRank, Field::Checkpointing]);
    let now = estimate::memory(&project, catalog.gpu("rtx-4060-ti-16gb"), &catalog).unwrap().card;
    for row in &rows {
        assert_eq!(row.values.iter().filter(|value| value.now).count(), 1, "{row:?}");
        for value in &row.values {
            assert!(value.card.is_some() && value.run.is_some() && value.verdict.is_some(), "{row:?}");
            assert!(!value.now || value.card == Some(now));
        }
        // More of anything needs more, and checkpointing less.
        let cards: Vec<u64> = row.values.iter().map(|value| value.card.unwrap().0).collect();
        let grows = row.field != Field::Checkpointing;
        assert!(cards.windows(2).all(|pair| if grows { pair[0] <= pair[1] } else { pair[0] >= pair[1] }), "{row:?}");
    }
    for preset in catalog.presets.iter().filter(|p| !p.model.is_empty()) {
        let project = Project::from_preset(preset, &catalog);
        for row in moves(&project, &catalog) {
            assert!(row.values.len() > 1 && row.values.iter().filter(|v| v.now).count() == 1, "{} {row:?}", preset.id);
        }
    }
}

/// What is said of measurements is in both languages, and says what it must.
#[test]
fn measurements_are_told_in_both_languages() {
    use enough_gpu::advise::nearest::address;
    use enough_gpu::text::{Lang, measured as say};
    let catalog = Catalog::bundled();
    let mut project = seven_billion();
    project.hardware.gpu = "rtx-4090".into();
    for lang in Lang::ALL {
        let chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        let check = |text: &str| {
            assert!(!text.is_empty() && !text.contains("  ") && !text.contains('{'), "{text}");
            assert_eq!(chinese(text), lang == Lang::Zh, "{text}");
        };
        for near in nearest(&project, &catalog, 3) {
            check(&say::near_run(lang, &near, &catalog));
            assert!(say::near_detail(lang, &near, &catalog).contains(say::meter(near.meter).text(lang)));
        }
        for (gib, meter) in [(3.0, Meter::Smi), (9.0, Meter::Allocated), (60.0, Meter::Reserved), (90.0, Meter::Smi)] {
            let measurement = Measurement { peak: Bytes::from_gib(gib), meter };
            let found = compare(&project, &measurement, &catalog).unwrap();
            let said = say::compared(lang, &found, &measurement);
            check(&said);
            assert!(said.contains(&measurement.peak.to_string()), "{said}");
            for reason in &found.reasons {
                let said = say::difference(lang, reason);
                check(&said);
                assert!(said.ends_with(['。', '.']), "{said}");
            }
            check(&say::kept(lang, &project, &measurement, &catalog));
        }
        for message in [
            say::RUNS,
            say::OWN,
            say::PEAK,
            say::PEAK_HINT,
            say::METER,
            say::UNREADABLE,
            say::SHARED,
            say::KEEP,
            say::FORGET,
            say::KEPT,
            say::EXPORT,
            say::SOURCE,
            say::TRY,
            say::MOVES,
            say::MOVES_NOTE,
            say::NOW,
            say::TOO_MUCH,
        ] {
            check(message.text(lang));
        }
    }
    for (source, to) in [
        (
            "Lightning-AI/litgpt tutorials/resource-tables.md",
            Some("https://github.com/Lightning-AI/litgpt/blob/HEAD/tutorials/resource-tables.md"),
        ),
        ("pytorch/torchtitan PR 996", Some("https://github.com/pytorch/torchtitan/pull/996")),
        ("huggingface/peft#1234", Some("https://github.com/huggingface/peft/issues/1234")),
        ("huggingface/peft README", Some("https://github.com/huggingface/peft")),
        ("A paper of 2023", None),
        ("", None),
    ] {
        assert_eq!(address(source).as_deref(), to, "{source}");
    }
}
