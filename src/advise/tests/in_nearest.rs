//! How far a measured run is from a project, by the weights that are written beside each difference.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::units::Bytes;

/// A run just like [`project`].
fn run() -> MeasuredRun {
    MeasuredRun {
        model: "resnet50",
        method: "full",
        precision: "amp-bf16",
        offload: "",
        sharding: "",
        batch: 64,
        size: 224,
        frames: 1,
        checkpointing: "off",
        cards: 1,
        gpu: "rtx-4090",
        framework: "pytorch",
        peak: Bytes(1 << 33),
        meter: "smi",
        source: "",
    }
}

fn project() -> Project {
    Project {
        model: "resnet50".into(),
        method: Method::Full,
        precision: crate::project::Precision::AmpBf16,
        framework: crate::project::Framework::Pytorch,
        checkpointing: Checkpointing::Off,
        micro_batch: 64,
        image_side: 224,
        frames: 1,
        ..Project::default()
    }
}

fn of(project: &Project, run: MeasuredRun) -> Option<NearRun> {
    let catalog = Catalog::bundled();
    near(project, catalog.model(&project.model).unwrap(), Box::leak(Box::new(run)), &catalog)
}

#[test]
fn each_difference_has_its_weight() {
    let here = project();
    let same = of(&here, run()).unwrap();
    assert!(same.distance.abs() < 1e-12 && same.same_model && same.same_method && same.same_batch && same.same_size);
    assert!(same.same_checkpointing && same.same_framework && same.same_precision && same.same_offload);
    let off = |run: MeasuredRun| of(&here, run).map(|n| n.distance);
    let two = 2f64.ln();
    for (what, run, expected) in [
        ("from nothing", MeasuredRun { method: "scratch", ..run() }, 0.2),
        ("half the batch", MeasuredRun { batch: 32, ..run() }, 0.35 * two),
        ("twice the batch", MeasuredRun { batch: 128, ..run() }, 0.35 * two),
        ("twice the side", MeasuredRun { size: 448, ..run() }, 0.4 * two),
        ("two frames", MeasuredRun { frames: 2, ..run() }, 0.3 * two),
        // A run whose size nobody wrote down is like any.
        ("no size", MeasuredRun { size: 0, frames: 9, ..run() }, 0.0),
        ("recomputed", MeasuredRun { checkpointing: "on", ..run() }, 0.5),
        ("two cards", MeasuredRun { cards: 2, ..run() }, 0.25 * two),
        ("another library", MeasuredRun { framework: "mmdetection", ..run() }, 0.1),
        ("fp32", MeasuredRun { precision: "fp32", ..run() }, 0.3),
        ("offloaded", MeasuredRun { offload: "optimizer", ..run() }, 0.5),
        // Kin: 25,557,032 and 44,549,160 parameters (torchvision), and a step to another model of the family.
        (
            "a deeper one",
            MeasuredRun { model: "resnet101", ..run() },
            (44_549_160f64 / 25_557_032.0).ln() + OTHER_MODEL.0,
        ),
    ] {
        let found = off(run);
        assert!(found.is_some_and(|d| (d - expected).abs() < 1e-3), "{what}: {found:?}, {expected}");
    }
    // Another domain, an unknown method or meter: no run to tell of.
    assert_eq!(off(MeasuredRun { model: "qwen3-4b", ..run() }), None);
    assert_eq!(off(MeasuredRun { method: "by-hand", ..run() }), None);
    assert_eq!(off(MeasuredRun { meter: "by-ear", ..run() }), None);
}

#[test]
fn methods_are_more_or_less_alike() {
    let language = |method| Project { model: "qwen3-4b".into(), method, sequence: 1024, ..project() };
    let run = |method| MeasuredRun { model: "qwen3-4b", size: 1024, method, ..run() };
    let off = |project: Method, there| of(&language(project), run(there)).map(|n| n.distance);
    for (here, there, expected) in [
        (Method::Full, "full", 0.0),
        (Method::Full, "scratch", 0.2),
        (Method::Scratch, "full", 0.2),
        (Method::Lora, "qlora", 0.5),
        (Method::QLora, "lora", 0.5),
        (Method::Lora, "full", 1.2),
        (Method::Full, "lora", 1.2),
        (Method::Full, "head", 1.2),
    ] {
        let found = off(here, there);
        let known = expected <= FARTHEST;
        assert_eq!(found.is_some(), known, "{here:?} {there}: {found:?}");
        assert!(found.is_none_or(|d| (d - expected).abs() < 1e-9), "{here:?} {there}: {found:?}");
    }
    // Adapters over 16-bit weights take as much with fp32 or 16-bit masters.
    let half = |precision, method| {
        let run = MeasuredRun { precision, ..run(if method == Method::Lora { "lora" } else { "full" }) };
        of(&language(method), run).unwrap().same_precision
    };
    assert!(half("bf16", Method::Lora) && !half("bf16", Method::Full) && !half("fp32", Method::Lora));
}

#[test]
fn families_share_their_code() {
    let catalog = Catalog::bundled();
    let kin = |a: &str, b: &str| is_family(catalog.model(a).unwrap(), catalog.model(b).unwrap());
    assert!(kin("qwen3-4b", "qwen3-8b") && kin("resnet50", "resnet101"));
    assert!(!kin("qwen3-4b", "llama-3.1-8b") && !kin("resnet50", "yolo11s") && !kin("qwen3-4b", "resnet50"));
}

#[test]
fn peaks_within_a_quarter_are_the_same_to_a_reader() {
    let of = |gib: f64| MeasuredRun { peak: Bytes::from_gib(gib), ..run() };
    for (a, b, differ) in
        [(10.0, 10.0, false), (12.4, 10.0, false), (12.6, 10.0, true), (10.0, 12.4, false), (10.0, 12.6, true)]
    {
        assert_eq!(apart(&of(a), &of(b)), differ, "{a} {b}");
    }
}

#[test]
fn samples_have_the_size_of_their_kind() {
    let p = Project { sequence: 1, image_side: 2, audio_seconds: 2.6, ..Project::default() };
    for (domain, expected) in [
        (Domain::Language, 1),
        (Domain::VisionLanguage, 1),
        (Domain::Vision, 2),
        (Domain::Diffusion, 2),
        (Domain::Audio, 3),
        (Domain::Small, 0),
    ] {
        assert_eq!(size(&p, domain), expected, "{domain:?}");
    }
}
