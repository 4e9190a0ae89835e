//! Which knobs a project has and what they turn; which cards stand out. On projects and choices that are made up.

use super::super::cards::{Rank, Ranked, is_hopeless, mark_overpriced, short_list, wants_more};
use super::super::facts::Billed;
use super::super::knobs::{apply, knobs};
use super::super::moves::scaled;
use super::super::plan::{Choice as Part, Instead};
use super::super::smaller::{clips, made_for, samples, siblings};
use super::super::subject::Subject;
use super::super::{Buy, CardChoice, FixKind, Pick, Rent};
use crate::catalog::{Catalog, Domain};
use crate::estimate::{Bottleneck, TimeEstimate};
use crate::project::{
    Attention, BaseFormat, Checkpointing, Field, Framework, LossKernel, Method, Offload, Optimizer, OptimizerImpl,
    Precision, Project, Sharding,
};
use crate::units::{Bytes, Flops, Money, Seconds};

/// A project on which every knob of language models can be turned.
fn heavy() -> Project {
    let mut project = Project {
        model: "qwen2.5-7b".into(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        framework: Framework::Transformers,
        checkpointing: Checkpointing::Off,
        micro_batch: 8,
        accumulation: 2,
        sequence: 4096,
        optimizer: Optimizer::AdamW,
        ..Project::default()
    };
    project.hardware.gpu = "rtx-4090".into();
    project
}

/// The names of the settings of each knob, with its level.
fn turned(project: &Project, gpu: &str) -> Vec<(usize, String)> {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpus.iter().find(|g| g.id.starts_with(gpu)).unwrap();
    let found = knobs(project, Subject::of(project, &catalog), gpu);
    let name = |kind: &FixKind| format!("{kind:?}").split([' ', '{']).next().unwrap_or_default().to_owned();
    let names = |knob: &super::super::knobs::Knob| {
        let mut names: Vec<String> = knob.settings.iter().map(name).collect();
        names.dedup();
        names.join("+")
    };
    found.iter().map(|knob| (knob.level, names(knob))).collect()
}

fn has(project: &Project, gpu: &str, knob: &str) -> bool {
    turned(project, gpu).iter().any(|(_, name)| name.split('+').any(|n| n == knob))
}

/// An edit of a project.
type Change = fn(&mut Project);

#[test]
fn knobs_are_those_that_can_be_turned() {
    let base = heavy();
    let expected = [
        (0, "FusedLoss"),
        (0, "FusedOptimizer"),
        (1, "SmallerMicroBatch"),
        (1, "Checkpointing"),
        (2, "Optimizer8bit+PagedOptimizer"),
        (2, "Library"),
        (2, "PureBf16"),
        (3, "Offload"),
        (4, "Lora+QLora"),
        (4, "ShorterSequence"),
    ];
    assert_eq!(turned(&base, "rtx-4090"), expected.map(|(level, name)| (level, name.to_owned())));
    // One thing is changed, and a knob is there or not.
    let cases: &[(&str, &str, bool, Change)] = &[
        ("FlashAttention", "rtx-4090", false, |_| {}),
        ("FlashAttention", "rtx-4090", true, |p| p.attention = Attention::Eager),
        ("FlashAttention", "rtx-4090", true, |p| p.attention = Attention::Math),
        ("FusedLoss", "rtx-4090", false, |p| p.loss = LossKernel::Fused),
        ("FusedLoss", "rtx-4090", true, |p| p.loss = LossKernel::Chunked),
        // Liger is written in Triton, which Pascal has not.
        ("FusedLoss", "gtx-1080-ti", false, |_| {}),
        ("FusedOptimizer", "rtx-4090", false, |p| p.optimizer_impl = OptimizerImpl::Fused),
        ("FusedOptimizer", "rtx-4090", false, |p| p.optimizer = Optimizer::Lion),
        ("FusedOptimizer", "rtx-4090", false, |p| p.method = Method::Lora),
        ("MixedPrecision", "rtx-4090", true, |p| p.precision = Precision::Fp32),
        ("MixedPrecision", "gtx-1080-ti", false, |p| p.precision = Precision::Fp32),
        ("Sharding", "rtx-4090", true, |p| (p.hardware.count, p.hardware.sharding) = (2, Sharding::Ddp)),
        ("Sharding", "rtx-4090", true, |p| (p.hardware.count, p.hardware.sharding) = (2, Sharding::Zero1)),
        ("Sharding", "rtx-4090", false, |p| (p.hardware.count, p.hardware.sharding) = (2, Sharding::Zero3)),
        ("Sharding", "rtx-4090", false, |p| (p.hardware.count, p.hardware.sharding) = (1, Sharding::Ddp)),
        ("SmallerMicroBatch", "rtx-4090", false, |p| p.micro_batch = 1),
        ("Checkpointing", "rtx-4090", true, |p| p.checkpointing = Checkpointing::Selective),
        ("Checkpointing", "rtx-4090", false, |p| p.checkpointing = Checkpointing::PerBlock),
        ("Checkpointing", "rtx-4090", false, |p| p.method = Method::Head),
        ("LessAccumulation", "rtx-4090", false, |_| {}),
        ("LessAccumulation", "rtx-4090", true, |p| (p.hardware.count, p.hardware.sharding) = (2, Sharding::Fsdp2)),
        ("Optimizer8bit", "rtx-4090", false, |p| p.method = Method::Lora),
        ("Optimizer8bit", "rtx-4090", false, |p| p.optimizer = Optimizer::Sgd),
        ("Optimizer8bit", "rtx-4090", true, |p| p.optimizer = Optimizer::PagedAdamW),
        // bitsandbytes has no kernels for Ascend.
        ("Optimizer8bit", "ascend", false, |_| {}),
        ("QLora", "rtx-4090", true, |p| p.method = Method::Lora),
        ("QLora", "ascend", false, |p| p.method = Method::Lora),
        ("QLora", "rtx-4090", false, |p| (p.method, p.base) = (Method::Lora, BaseFormat::Nf4)),
        ("QLora", "rtx-4090", false, |p| p.method = Method::QLora),
        ("PureBf16", "rtx-4090", false, |p| p.precision = Precision::PureBf16),
        ("PureBf16", "rtx-4090", false, |p| p.method = Method::Scratch),
        ("PureBf16", "rtx-4090", false, |p| p.method = Method::Lora),
        // Turing has no bf16.
        ("PureBf16", "t4", false, |_| {}),
        ("Offload", "rtx-4090", false, |p| p.offload = Offload::Optimizer),
        ("Offload", "rtx-4090", false, |p| p.method = Method::Lora),
        ("Lora", "rtx-4090", false, |p| p.method = Method::Scratch),
        ("Lora", "rtx-4090", true, |p| p.method = Method::Freeze),
        ("Freeze", "rtx-4090", false, |_| {}),
        ("CacheLatents", "rtx-4090", false, |_| {}),
        ("LoraRank", "rtx-4090", false, |p| p.method = Method::Lora),
        ("ShorterSequence", "rtx-4090", false, |p| p.sequence = 256),
    ];
    for (knob, gpu, there, change) in cases {
        let mut project = base.clone();
        change(&mut project);
        assert_eq!(has(&project, gpu, knob), *there, "{knob} on {gpu}: {:?}", turned(&project, gpu));
    }
    // Denoisers: pictures are encoded beforehand, blocks of transformers wait in main memory, bases are 8 or 4 bit.
    let mut flux = Project {
        model: "flux.1-dev".into(),
        method: Method::Lora,
        framework: Framework::SimpleTuner,
        image_side: 1024,
        cached_latents: false,
        ..heavy()
    };
    flux.lora.rank = 32;
    let of = |change: Change, knob| {
        let mut project = flux.clone();
        change(&mut project);
        has(&project, "rtx-4090", knob)
    };
    assert!(of(|_| {}, "CacheLatents") && !of(|p| p.cached_latents = true, "CacheLatents"));
    assert!(of(|_| {}, "BlockSwap") && !of(|p| p.block_swap = 0.75, "BlockSwap"));
    assert!(!of(|p| p.model = "sdxl".into(), "BlockSwap"));
    assert!(of(|_| {}, "QuantizedBase") && !of(|p| p.base = BaseFormat::Fp8, "QuantizedBase"));
    assert!(of(|_| {}, "LoraRank") && !of(|p| p.lora.rank = 8, "LoraRank") && of(|p| p.lora.rank = 16, "LoraRank"));
    assert!(of(|_| {}, "SmallerImage") && of(|_| {}, "Optimizer8bit") && !of(|_| {}, "FusedLoss"));
    assert!(!of(|_| {}, "FewerFrames") && !of(|_| {}, "Freeze"));
    let vision = Project { model: "resnet50".into(), image_side: 448, framework: Framework::Pytorch, ..heavy() };
    assert!(has(&vision, "rtx-4090", "Freeze") && has(&vision, "rtx-4090", "SmallerImage"));
    assert!(!has(&vision, "rtx-4090", "Lora") && !has(&vision, "rtx-4090", "PureBf16"));
    assert!(!has(&vision, "rtx-4090", "FusedLoss") && !has(&vision, "rtx-4090", "Offload"));
    let speech = Project { model: "whisper-small".into(), audio_seconds: 30.0, ..vision.clone() };
    assert!(has(&speech, "rtx-4090", "Lora") && has(&speech, "rtx-4090", "ShorterAudio"));
    assert!(!has(&speech, "rtx-4090", "QLora") && !has(&speech, "rtx-4090", "Freeze"));
}

/// A batch is divided by what divides it, and the step keeps its samples.
#[test]
fn batches_are_divided_evenly() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    for micro_batch in [2, 7, 12, 96, 640, 1000] {
        let project = Project { micro_batch, accumulation: 3, ..heavy() };
        let all = knobs(&project, Subject::of(&project, &catalog), gpu);
        let knob = all.iter().find(|k| matches!(k.settings[0], FixKind::SmallerMicroBatch { .. })).unwrap();
        let mut before = micro_batch;
        for kind in &knob.settings {
            let FixKind::SmallerMicroBatch { micro_batch: batch, accumulation } = *kind else { panic!("{kind:?}") };
            assert!(batch < before && batch * accumulation == 3 * micro_batch, "{kind:?}");
            before = batch;
        }
        assert_eq!(before, 1);
        if micro_batch <= 96 {
            let divisors = (1..micro_batch).filter(|n| micro_batch % n == 0).count();
            assert_eq!(knob.settings.len(), divisors.min(13), "{micro_batch}");
        }
    }
}

#[test]
fn a_knob_turns_what_it_names() {
    let catalog = Catalog::bundled();
    let (ampere, turing) = (catalog.gpu("rtx-4090").unwrap(), catalog.gpu("t4").unwrap());
    let on = |gpu, kind, base: &Project| {
        let mut project = base.clone();
        apply(kind, &mut project, gpu);
        project
    };
    let base = heavy();
    let turn = |kind| on(ampere, kind, &base);
    let single = Project { precision: Precision::Fp32, ..base.clone() };
    assert_eq!(on(ampere, FixKind::MixedPrecision, &single).precision, Precision::AmpBf16);
    assert_eq!(on(turing, FixKind::MixedPrecision, &single).precision, Precision::AmpFp16);
    let pure = Project { precision: Precision::PureBf16, ..base.clone() };
    assert_eq!(on(turing, FixKind::MixedPrecision, &pure), pure);
    assert_eq!(turn(FixKind::Fp16).precision, Precision::AmpFp16);
    assert_eq!(turn(FixKind::PureBf16).precision, Precision::PureBf16);
    assert_eq!(turn(FixKind::Checkpointing).checkpointing, Checkpointing::PerBlock);
    assert_eq!(turn(FixKind::FlashAttention).attention, Attention::Flash);
    assert_eq!(on(turing, FixKind::FlashAttention, &base).attention, Attention::Efficient);
    assert_eq!(turn(FixKind::FusedLoss).loss, LossKernel::Fused);
    assert_eq!(turn(FixKind::FusedOptimizer).optimizer_impl, OptimizerImpl::Fused);
    let inside = Project { optimizer_impl: OptimizerImpl::InBackward, ..base.clone() };
    assert_eq!(on(ampere, FixKind::FusedOptimizer, &inside), inside);
    let smaller = FixKind::SmallerMicroBatch { micro_batch: 2, accumulation: 8 };
    assert_eq!((turn(smaller).micro_batch, turn(smaller).accumulation), (2, 8));
    assert_eq!(on(ampere, smaller, &inside).accumulation, 1);
    assert_eq!(turn(FixKind::Optimizer8bit).optimizer, Optimizer::AdamW8bit);
    assert_eq!(turn(FixKind::PagedOptimizer).optimizer, Optimizer::PagedAdamW8bit);
    let frozen = turn(FixKind::Freeze { share: 0.5 });
    assert_eq!((frozen.method, frozen.frozen_share), (Method::Freeze, 0.5));
    let masters = Project { precision: Precision::MasterBf16, base: BaseFormat::Bf16, ..base.clone() };
    for (kind, method) in [(FixKind::Lora, Method::Lora), (FixKind::QLora, Method::QLora)] {
        let changed = on(ampere, kind, &masters);
        assert_eq!(
            (changed.method, changed.base, changed.precision),
            (method, BaseFormat::AsPrecision, Precision::AmpBf16)
        );
        assert_eq!(turn(kind).precision, Precision::AmpBf16);
    }
    assert_eq!(turn(FixKind::QuantizedBase).base, BaseFormat::Fp8);
    assert_eq!(turn(FixKind::Base4bit).base, BaseFormat::Nf4);
    assert_eq!(turn(FixKind::LoraRank { rank: 4 }).lora.rank, 4);
    let tuned = turn(FixKind::Library { framework: Framework::Torchtune });
    assert_eq!((tuned.framework, tuned.precision), (Framework::Torchtune, Precision::PureBf16));
    assert_eq!((tuned.optimizer_impl, tuned.accumulation), (OptimizerImpl::InBackward, 1));
    let adapted = Project { method: Method::Lora, ..base.clone() };
    assert_eq!(on(ampere, FixKind::Library { framework: Framework::Torchtune }, &adapted), adapted);
    let away = Project { offload: Offload::Optimizer, ..base.clone() };
    assert_eq!(on(ampere, FixKind::Library { framework: Framework::Torchtune }, &away), away);
    assert_eq!(turn(FixKind::Library { framework: Framework::Unsloth }).framework, Framework::Unsloth);
    let packed =
        Project { method: Method::QLora, base: BaseFormat::Nf4, optimizer: Optimizer::AdamW8bit, ..base.clone() };
    let plain = on(ampere, FixKind::Unquantized, &packed);
    assert_eq!((plain.method, plain.base, plain.optimizer), (Method::Lora, BaseFormat::AsPrecision, Optimizer::AdamW));
    let other = Project { base: BaseFormat::Fp8, optimizer: Optimizer::Lion, ..base.clone() };
    assert_eq!(on(ampere, FixKind::Unquantized, &other), other);
    assert_eq!(turn(FixKind::ShorterSequence { sequence: 512 }).sequence, 512);
    assert_eq!(turn(FixKind::SmallerImage { side: 512 }).image_side, 512);
    assert_eq!(turn(FixKind::FewerFrames { frames: 17 }).frames, 17);
    assert_eq!(turn(FixKind::ShorterAudio { seconds: 7.5 }).audio_seconds, 7.5);
}

/// Less of a sample: three quarters, a half, three eighths, a quarter, an eighth; down to where it still is one.
#[test]
fn samples_shrink_to_what_still_is_one() {
    let base = heavy();
    let of = |change: &dyn Fn(&mut Project), domain, native| {
        let mut project = base.clone();
        change(&mut project);
        let sizes = samples(&project, domain, native).unwrap_or_default().into_iter();
        sizes
            .map(|kind| match kind {
                FixKind::ShorterSequence { sequence: n }
                | FixKind::SmallerImage { side: n }
                | FixKind::FewerFrames { frames: n } => n as f64,
                FixKind::ShorterAudio { seconds } => seconds,
                other => panic!("{other:?}"),
            })
            .collect::<Vec<f64>>()
    };
    let tokens = |n| of(&|p| p.sequence = n, Domain::Language, 0);
    assert_eq!(tokens(4096), [3072.0, 2048.0, 1536.0, 1024.0, 512.0]);
    assert_eq!(tokens(600), [448.0, 256.0]);
    assert!(tokens(256).is_empty() && tokens(100).is_empty());
    // Pictures in steps of 32, no smaller than half of what the model is made for, drawn ones no smaller than 256.
    let side = |n, domain, native| of(&|p| p.image_side = n, domain, native);
    assert_eq!(side(1024, Domain::Vision, 224), [768.0, 512.0, 384.0, 256.0, 128.0]);
    assert_eq!(side(1024, Domain::Vision, 1024), [768.0, 512.0]);
    assert_eq!(side(1024, Domain::Vision, 0), [768.0, 512.0]);
    assert_eq!(side(640, Domain::Diffusion, 224), [480.0, 320.0, 256.0]);
    let frames = |n| of(&|p| p.frames = n, Domain::Diffusion, 512);
    assert_eq!(frames(81), [61.0, 41.0, 29.0, 21.0, 17.0]);
    assert!(frames(17).is_empty());
    let seconds = |n| of(&|p| p.audio_seconds = n, Domain::Audio, 0);
    assert_eq!(seconds(30.0), [22.5, 15.0, 11.3, 7.5, 3.8]);
    assert_eq!(seconds(2.0), [1.5, 1.0]);
    assert!(of(&|_| {}, Domain::Small, 0).is_empty());
    let clip = Project { frames: 81, image_side: 832, ..base.clone() };
    assert_eq!(clips(&clip, Domain::Diffusion, 480).map(|k| k.len()), Some(4));
    assert!(clips(&base, Domain::Diffusion, 480).is_none() && clips(&clip, Domain::Vision, 480).is_none());
    let catalog = Catalog::bundled();
    let native = |id: &str| made_for(catalog.model(id));
    assert_eq!((native("sdxl"), native("wan2.1-t2v-1.3b"), native("yolov8m")), (1024, 480, 640));
    assert_eq!((native("llama-3.1-8b"), made_for(None)), (0, 0));
    // Smaller models of the same family, none of less than three tenths.
    let names = |id: &str| {
        let project = Project { model: id.into(), ..base.clone() };
        let kinds = siblings(&project, &catalog).into_iter();
        kinds.map(|k| if let FixKind::SmallerModel { model, .. } = k { model } else { "" }).collect::<Vec<_>>()
    };
    assert_eq!(names("qwen2.5-7b"), ["qwen2.5-3b"]);
    assert_eq!(names("qwen2.5-32b"), ["qwen2.5-14b"]);
    assert!(names("qwen2.5-0.5b").is_empty() && names("resnet50").is_empty());
    assert_eq!(scaled(Field::ImageSide, 500.0, 0.5), "256");
    assert_eq!(scaled(Field::ImageSide, 500.0, 1.0), "500");
    assert_eq!(
        (scaled(Field::ImageSide, 20.0, 0.5), scaled(Field::ImageSide, 640.0, 1.5)),
        ("32".into(), "960".into())
    );
    assert_eq!((scaled(Field::Frames, 81.0, 0.5), scaled(Field::Frames, 81.0, 2.0)), ("41".into(), "161".into()));
    assert_eq!(
        (scaled(Field::AudioSeconds, 2.5, 0.5), scaled(Field::AudioSeconds, 0.1, 0.5)),
        ("1.3".into(), "0.1".into())
    );
    assert_eq!((scaled(Field::MicroBatch, 3.0, 0.25), scaled(Field::MicroBatch, 1.0, 0.25)), ("1".into(), "1".into()));
    assert_eq!(scaled(Field::Sequence, 4096.0, 0.25), "1024");
}

#[test]
fn instead_names_what_differs() {
    let best = heavy();
    let of = |choice, change: &dyn Fn(&mut Project)| {
        let mut other = best.clone();
        change(&mut other);
        Instead::of(choice, &best, &other)
    };
    let same = of(Part::Sharding, &|_| {});
    assert_eq!((same, same.changes()), (Instead::default(), 0));
    let way = of(Part::Tensor, &|p| p.hardware.sharding = Sharding::Zero3);
    assert_eq!((way.sharding, way.changes()), (Some(Sharding::Zero3), 1));
    assert_eq!(of(Part::Tensor, &|p| p.hardware.sharding = Sharding::Ddp).sharding, None);
    assert_eq!(of(Part::Sharding, &|p| p.hardware.parallel.tensor = 4).cut.map(|cut| cut.0), Some(4));
    let several = of(Part::Sharding, &|p| (p.micro_batch, p.checkpointing) = (1, Checkpointing::PerBlock));
    assert_eq!((several.micro_batch, several.checkpointing), (Some(1), Some(Checkpointing::PerBlock)));
    assert_eq!((several.sharding, several.cut, several.changes()), (None, None, 2));
    // What the question is about is no answer.
    assert_eq!(of(Part::Checkpointing, &|p| p.checkpointing = Checkpointing::PerBlock).checkpointing, None);
}

/// A choice of so many cards for so much an hour, done in so many hours.
fn choice(gpu: &'static str, count: u32, per_hour: f64, hours: f64) -> Ranked {
    let money = Money::usd;
    let time = TimeEstimate {
        flops: Flops(1.0),
        step: Seconds(1.0),
        steps: hours * 3600.0,
        run: Seconds(hours * 3600.0),
        band: 0.3,
        bottleneck: Bottleneck::Compute,
        mfu: 0.4,
        between: Seconds(0.0),
        reading: Seconds(0.0),
    };
    let rent = Rent {
        provider: "somebody",
        billed: Billed::AsSaid,
        instance: "",
        per_hour: money(per_hour),
        run: Some(money(per_hour * (hours + 1.0))),
        set_up: money(per_hour),
        storage: None,
        disk_gb: 100.0,
        spot: None,
        spot_run: None,
        spot_provider: "",
        converted: false,
        china: false,
        cards: count,
        as_of: "",
        rough: false,
    };
    let choice = CardChoice {
        gpu,
        count,
        sharding: Sharding::Zero3,
        accumulation: 1,
        card: Bytes::from_gib(10.0),
        usable: Bytes::from_gib(20.0),
        band: 0.1,
        spare: Bytes::from_gib(10.0),
        fits: true,
        tight: false,
        time: Some(time),
        rent: Some(rent),
        buy: None,
        instead_of_bf16: None,
        overpriced: false,
        pick: None,
        short_list: false,
    };
    ranked(choice, true)
}

fn ranked(choice: CardChoice, mainstream: bool) -> Ranked {
    Ranked { rank: Rank::of(&choice, mainstream), choice, mainstream, cuda: true, lasting: true, growth: 1.0 }
}

/// With its rank as it is after a change.
fn again(r: Ranked) -> Ranked {
    ranked(r.choice, r.mainstream)
}

#[test]
fn a_poor_offer_is_one_that_another_beats_twice() {
    let marked = |mut all: Vec<Ranked>| {
        mark_overpriced(&mut all);
        all.into_iter().map(|r| r.choice.overpriced).collect::<Vec<_>>()
    };
    assert_eq!(marked(vec![choice("a", 1, 1.0, 10.0), choice("b", 1, 1.0, 5.0)]), [true, false]);
    assert_eq!(marked(vec![choice("a", 1, 1.0, 10.0), choice("b", 1, 1.0, 5.1)]), [false, false]);
    assert_eq!(marked(vec![choice("a", 1, 1.0, 10.0), choice("b", 1, 1.1, 5.0)]), [false, false]);
    assert_eq!(
        marked(vec![choice("a", 1, 1.2, 10.0), choice("b", 1, 1.1, 5.0), choice("c", 1, 0.5, 40.0)]),
        [true, false, false]
    );
    // What cannot be had, or not for one's own money, is no measure; a pick was weighed already.
    let with = |change: &dyn Fn(&mut Ranked)| {
        let mut other = choice("b", 1, 1.0, 1.0);
        change(&mut other);
        marked(vec![choice("a", 1, 1.0, 10.0), again(other)])[0]
    };
    assert!(with(&|_| {}));
    assert!(!with(&|r| r.choice.fits = false) && !with(&|r| r.mainstream = false));
    assert!(!with(&|r| r.choice.rent = r.choice.rent.map(|rent| Rent { converted: true, ..rent })));
    let mut picked = choice("a", 1, 1.0, 10.0);
    picked.choice.pick = Some(Pick::Cheapest);
    assert_eq!(marked(vec![again(picked), choice("b", 1, 1.0, 1.0)]), [false, false]);
    let mut tight = choice("a", 1, 1.0, 10.0);
    (tight.choice.fits, tight.choice.tight) = (false, true);
    assert_eq!(marked(vec![again(tight), choice("b", 1, 1.0, 1.0)]), [true, false]);
}

#[test]
fn choices_are_ordered_by_what_people_want() {
    use std::cmp::Ordering::{Greater, Less};
    let plain = || choice("b", 1, 1.0, 10.0);
    let other = |change: &dyn Fn(&mut Ranked)| {
        let mut other = plain();
        other.choice.gpu = "a";
        change(&mut other);
        plain().order(&again(other))
    };
    // All else alike, by name; then each of these comes before what is cheaper.
    assert_eq!(other(&|_| {}), Greater);
    let cheap = |r: &mut Ranked| r.choice.rent = choice("a", 1, 0.1, 10.0).choice.rent;
    assert_eq!(other(&cheap), Greater);
    assert_eq!(other(&|r| (cheap(r), r.choice.fits = false).1), Less);
    assert_eq!(other(&|r| (cheap(r), r.mainstream = false).1), Less);
    assert_eq!(other(&|r| r.choice.rent = None), Less);
    assert_eq!(other(&|r| r.choice.time = choice("a", 1, 1.0, 24.0 * 91.0).choice.time), Less);
    assert_eq!(other(&|r| (r.choice.gpu, r.choice.count) = ("b", 2)), Less);
    assert_eq!(other(&|r| (r.choice.gpu, r.choice.time) = ("c", choice("c", 1, 1.0, 9.0).choice.time)), Greater);
    let bought = Some(Buy { new: None, used: Some(Money::usd(5.0)), as_of: "", rough: false });
    assert_eq!(other(&|r| (r.choice.gpu, r.choice.buy) = ("c", bought)), Greater);
    // Trouble: more cards, another batch, no CUDA.
    let trouble = |count, growth, cuda| Ranked { cuda, growth, ..choice("a", count, 1.0, 1.0) }.trouble();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    close(trouble(1, 1.0, true), 1.0);
    close(trouble(8, 1.0, true), 1.6);
    close(trouble(1, 4.0, true), 1.4);
    close(trouble(2, 2.0, false), 1.8);
}

#[test]
fn the_short_list_is_short() {
    let mut all: Vec<Ranked> = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|id| choice(id, 1, 1.0, 1.0)).into();
    all[7].choice.pick = Some(Pick::Fastest);
    all[1].choice.overpriced = true;
    all[2].mainstream = false;
    all[3].choice.gpu = "a";
    let price = |usd| Some(Buy { new: Some(Money::usd(usd)), used: None, as_of: "", rough: false });
    // The cheapest to buy is on it wherever it stands, if it lasts and is no trouble.
    all.push(Ranked { lasting: false, ..choice("i", 1, 1.0, 1.0) });
    all.push(choice("j", 1, 1.0, 1.0));
    all.push(choice("k", 1, 1.0, 1.0));
    (all[8].choice.buy, all[9].choice.buy, all[10].choice.buy) = (price(1.0), price(5.0), price(6.0));
    short_list(&mut all);
    let listed: Vec<&str> = all.iter().filter(|r| r.choice.short_list).map(|r| r.choice.gpu).collect();
    assert_eq!(listed, ["a", "e", "f", "g", "h", "i", "j"]);
}

#[test]
fn more_cards_are_tried_where_they_may_help() {
    let of = |count, hours, fits| {
        let mut ranked = choice("a", count, 1.0, hours);
        ranked.choice.fits = fits;
        wants_more(&ranked.choice)
    };
    assert!(of(1, 1.0, false) && !of(1, 1.0, true) && of(1, 3.0, true) && of(4, 3.0, true));
    // Clusters are for months.
    assert!(!of(8, 3.0, true) && !of(8, 24.0 * 40.0, true) && of(8, 24.0 * 50.0, true));
    // Twice the cards save less than half of what is left over: 40, 30, and then 25, 22.5 ... never 20.
    let needs = |count, gib: f64, sharding| {
        let mut ranked = choice("a", count, 1.0, 1.0);
        (ranked.choice.card, ranked.choice.sharding) = (Bytes::from_gib(gib), sharding);
        ranked.choice
    };
    let (half, large) = (needs(8, 60.0, Sharding::Zero3), needs(16, 45.0, Sharding::Zero3));
    assert!(!is_hopeless(&half, &large));
    assert!(is_hopeless(&half, &needs(16, 55.0, Sharding::Zero3)));
    assert!(!is_hopeless(&half, &needs(16, 55.0, Sharding::Fsdp2)));
    assert!(!is_hopeless(&needs(4, 60.0, Sharding::Zero3), &needs(8, 55.0, Sharding::Zero3)));
}
