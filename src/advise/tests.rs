//! The logic of the advice on an engine of plain arithmetic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod choices;
mod exact;
mod money;
pub(super) mod ways;

use super::engine::{Engine, Memo, Need};
use super::fixes::Bench;
use super::knobs::{LEVELS, apply, knobs};
use super::money::Offers;
use super::subject::Subject;
use super::terms::Terms;
use super::{FixKind, Verdict, verdict};
use crate::catalog::{Catalog, Domain, Gpu};
use crate::estimate::time::Workload;
use crate::estimate::{CannotEstimate, EstimateMethod, MemoryEstimate, Moment, Resolved};
use crate::project::{
    Attention, BaseFormat, Checkpointing, LossKernel, Method, Offload, Optimizer, OptimizerImpl, Precision, Project,
    Sharding,
};
use crate::units::{Bytes, Currency};
use std::cell::Cell;

/// Gigabytes from the switches of a project, by round numbers.
struct Arithmetic {
    catalog: Catalog,
    calls: Cell<usize>,
}

impl Arithmetic {
    fn new() -> Self {
        Self { catalog: Catalog::bundled(), calls: Cell::new(0) }
    }
}

fn gib(p: &Project) -> f64 {
    let weights = match p.method {
        Method::QLora => 5.0,
        _ => 15.0,
    };
    let trained = match p.method {
        Method::Lora | Method::QLora => 0.2,
        _ => 1.0,
    };
    let state = match p.optimizer {
        Optimizer::AdamW8bit => 6.0,
        Optimizer::PagedAdamW8bit => 4.0,
        _ => 24.0,
    } * if p.offload == Offload::None { 1.0 } else { 0.0 };
    let temporaries = if p.optimizer_impl == OptimizerImpl::Fused { 0.0 } else { 12.0 };
    let tokens = p.micro_batch as f64 * p.sequence as f64 / 1024.0;
    let activations = tokens * if p.checkpointing == Checkpointing::Off { 4.0 } else { 0.6 };
    let logits = tokens * if p.loss == LossKernel::Fused { 0.1 } else { 2.0 };
    let divided = match p.hardware.sharding {
        Sharding::Zero3 => f64::from(p.hardware.count),
        _ => 1.0,
    };
    let precision = if p.precision == Precision::PureBf16 { 0.6 } else { 1.0 };
    (weights + trained * (state + temporaries) * precision) / divided + activations + logits
}

impl Engine for Arithmetic {
    fn memory(&self, project: &Project, _: Option<&Gpu>) -> Result<MemoryEstimate, CannotEstimate> {
        self.calls.set(self.calls.get() + 1);
        let card = Bytes::from_gib(gib(project));
        Ok(MemoryEstimate {
            parts: [Bytes::ZERO, Bytes::ZERO, Bytes::ZERO, card, Bytes::ZERO, Bytes::ZERO, Bytes::ZERO],
            allocated: card,
            reserved: card,
            card,
            band: 0.1,
            moment: Moment::Loss,
            largest: Bytes::ZERO,
            host: Bytes::ZERO,
            timeline: Vec::new(),
            method: EstimateMethod::Symbolic,
            resolved: Resolved {
                attention: Attention::Flash,
                loss: LossKernel::Upcast,
                optimizer_impl: OptimizerImpl::Foreach,
                sharding: Sharding::Ddp,
            },
        })
    }

    fn workload(&self, project: &Project, flash: bool) -> Result<Workload, CannotEstimate> {
        Workload::new(project, flash, &self.catalog)
    }

    fn runtime(&self, _: &Gpu) -> Bytes {
        Bytes::ZERO
    }

    fn tells_dividers_apart(&self, _: &Project) -> bool {
        false
    }
}

fn project() -> Project {
    let mut p = Project {
        model: "qwen2.5-7b".into(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        base: BaseFormat::AsPrecision,
        micro_batch: 8,
        accumulation: 2,
        sequence: 1024,
        ..Project::default()
    };
    p.hardware.gpu = "rtx-4090".into();
    p
}

/// Cards that differ in memory only.
fn card(gib: f64, catalog: &Catalog) -> Gpu {
    Gpu { usable: Bytes::from_gib(gib), ..catalog.gpu("rtx-4090").unwrap().clone() }
}

#[test]
fn the_band_decides_between_fits_tight_and_runs_out() {
    let engine = Arithmetic::new();
    let memory = engine.memory(&project(), None).unwrap();
    let need = memory.card.gib();
    let at = |gib: f64| verdict::verdict(&memory, Bytes::from_gib(gib));
    assert!(matches!(at(need * 1.11), Verdict::Fits { .. }));
    assert!(matches!(at(need * 1.05), Verdict::Tight { missing: Bytes::ZERO, .. }));
    assert!(matches!(at(need * 0.95), Verdict::Tight { spare: Bytes::ZERO, .. }));
    assert!(matches!(at(need * 0.89), Verdict::RunsOut { missing } if (missing.gib() - need * 0.11).abs() < 0.1));
}

#[test]
fn an_out_of_memory_message_adds_up() {
    let engine = Arithmetic::new();
    let memory = engine.memory(&project(), None).unwrap();
    for gib in [4.0, 12.0, 40.0] {
        let oom = verdict::out_of_memory(&project(), &memory, Bytes::from_gib(gib), &engine.catalog);
        assert!(oom.free < oom.tried, "{oom:?}");
        assert!(oom.allocated + oom.free + oom.reserved_unused <= oom.capacity, "{oom:?}");
        // one copy of the logits: 8 x 1,024 tokens, 152,064 words, 4 bytes
        assert_eq!(oom.tried, Bytes(8 * 1024 * 152_064 * 4));
    }
}

const SUBJECT: Subject = Subject {
    domain: Domain::Language,
    swaps_blocks: false,
    half_engine: false,
    tunes: false,
    made_for: 0,
    in_four_bit: false,
};

/// All settings of all knobs up to a level.
fn every_set(p: &Project, gpu: &Gpu) -> Vec<[Vec<FixKind>; LEVELS]> {
    let mut all = vec![<[Vec<FixKind>; LEVELS]>::default()];
    for knob in knobs(p, SUBJECT, gpu) {
        let mut more = Vec::new();
        for set in &all {
            for kind in &knob.settings {
                let mut longer = set.clone();
                longer[knob.level].push(*kind);
                more.push(longer);
            }
        }
        all.extend(more);
    }
    all
}

#[test]
fn make_it_fit_finds_the_least_painful_level_of_all() {
    let engine = Arithmetic::new();
    let start = project();
    for gib in [8.0, 12.0, 16.0, 24.0, 32.0, 40.0, 48.0, 64.0, 80.0, 96.0] {
        let gpu = card(gib, &engine.catalog);
        let usable = gpu.usable;
        let fits = |p: &Project| Need { card: Bytes::from_gib(self::gib(p)), band: 0.1 }.fits(usable);
        // By trying everything: the least possible highest level.
        let best = every_set(&start, &gpu)
            .into_iter()
            .filter(|set| {
                let mut p = start.clone();
                for kind in set.iter().rev().flatten() {
                    apply(*kind, &mut p, &gpu);
                }
                fits(&p)
            })
            .map(|set| (0..LEVELS).rev().find(|level| !set[*level].is_empty()).map_or(0, |level| level + 1))
            .min();
        let memo = Memo::new(&engine, &start);
        let plan = Bench::new(&memo, &gpu, &start, &engine.catalog).make_it_fit(&start);
        match best {
            None => assert!(plan.is_none(), "{gib} GiB"),
            Some(0) => assert!(plan.is_some_and(|p| p.fixes.is_empty()), "{gib} GiB"),
            Some(best) => {
                let plan = plan.unwrap_or_else(|| panic!("{gib} GiB: no plan"));
                assert!(fits(&plan.project), "{gib} GiB: {plan:?}");
                let levels = knobs(&start, SUBJECT, &gpu);
                let level_of = |kind: &FixKind| levels.iter().find(|k| k.settings.contains(kind)).unwrap().level + 1;
                assert_eq!(plan.fixes.iter().map(level_of).max(), Some(best), "{gib} GiB: {:?}", plan.fixes);
                // None of the changes is idle.
                for idle in &plan.fixes {
                    let mut p = start.clone();
                    for kind in plan.fixes.iter().rev().filter(|k| *k != idle) {
                        apply(*kind, &mut p, &gpu);
                    }
                    assert!(!fits(&p), "{gib} GiB: {idle:?} of {:?} is not needed", plan.fixes);
                }
            }
        }
    }
}

#[test]
fn the_largest_micro_batch_is_found_exactly() {
    let engine = Arithmetic::new();
    let gpu = card(200.0, &engine.catalog);
    let mut p = project();
    for samples in [1, 3, 1000] {
        p.samples = samples;
        let memo = Memo::new(&engine, &p);
        let found = Bench::new(&memo, &gpu, &p, &engine.catalog).largest_micro_batch(&p).unwrap();
        let by_trying = (1..=samples)
            .take_while(|b| {
                let q = Project { micro_batch: *b, ..p.clone() };
                Need { card: Bytes::from_gib(gib(&q)), band: 0.1 }.fits(gpu.usable)
            })
            .last();
        assert_eq!(Some(found), by_trying);
    }
}

#[test]
fn cards_with_the_same_kernels_are_estimated_once() {
    let engine = Arithmetic::new();
    let p = project();
    let memo = Memo::new(&engine, &p);
    let modern: Vec<&Gpu> = engine.catalog.gpus.iter().filter(|g| g.compute_capability >= Some(8.0)).collect();
    assert!(modern.len() > 50);
    for gpu in &modern {
        memo.need(gpu, 1, Sharding::Ddp).unwrap();
    }
    assert_eq!(engine.calls.get(), 1);
}

#[test]
fn offers_are_put_together_as_providers_sell_them() {
    let catalog = Catalog::bundled();
    let dollars = Project::default();
    let terms = Terms::of(&dollars);
    let offers = Offers::new(&catalog, &terms);
    let h100 = catalog.gpu("h100-sxm").unwrap();
    let one = offers.rent(h100, 1, Some(10.0)).unwrap();
    let eight = offers.rent(h100, 8, Some(10.0)).unwrap();
    assert!(one.cards >= 1 && eight.cards >= 8);
    assert!(eight.per_hour.amount > 4.0 * one.per_hour.amount);
    // Ten hours, the hour to set up, and the disk for as long.
    assert!(eight.storage.is_some_and(|disk| disk.amount > 0.0 && disk.amount < 1.0));
    let all = eight.per_hour.amount * 11.0 + eight.storage.unwrap().amount;
    assert!((eight.run.unwrap().amount - all).abs() < 1e-9);
    assert_eq!(eight.set_up, eight.per_hour);
    let many = offers.rent(h100, 64, None).unwrap();
    assert_eq!(many.cards % 8, 0);
    assert!(many.cards >= 64 && many.run.is_none());
    // A Chinese marketplace sells by the card.
    let mut yuan = Project::default();
    yuan.budget.currency = Currency::Cny;
    let terms = Terms::of(&yuan);
    let china = Offers::new(&catalog, &terms);
    let adas = china.rent(catalog.gpu("rtx-4090").unwrap(), 4, None).unwrap();
    assert!(adas.china && !adas.converted);
}

/// The estimates of this crate, counted.
struct Counted<'a>(super::engine::Estimates<'a>, Cell<usize>);

impl Engine for Counted<'_> {
    fn memory(&self, project: &Project, gpu: Option<&Gpu>) -> Result<MemoryEstimate, CannotEstimate> {
        self.1.set(self.1.get() + 1);
        self.0.memory(project, gpu)
    }

    fn workload(&self, project: &Project, flash: bool) -> Result<Workload, CannotEstimate> {
        self.0.workload(project, flash)
    }

    fn runtime(&self, gpu: &Gpu) -> Bytes {
        self.0.runtime(gpu)
    }

    fn tells_dividers_apart(&self, project: &Project) -> bool {
        self.0.tells_dividers_apart(project)
    }
}

/// The page answers every keystroke: an advice may take few estimates.
#[test]
fn an_advice_takes_few_estimates() {
    let catalog = Catalog::bundled();
    let mut worst = (0, String::new());
    for preset in catalog.presets.iter() {
        for (gpu, count) in [("", 1), ("rtx-3060-12gb", 1), ("rtx-4090", 2), ("h100-sxm", 8)] {
            let mut p = Project::from_preset(preset, &catalog);
            p.hardware.gpu = gpu.into();
            p.hardware.count = count;
            let engine = Counted(super::engine::Estimates::of(&catalog), Cell::new(0));
            if super::advise_with(&engine, &p, &catalog).is_ok() {
                worst = worst.max((engine.1.get(), format!("{} on {count} x {gpu}", preset.id)));
            }
        }
    }
    println!("{worst:?}");
    assert!(worst.0 <= 80, "{worst:?}");
}

/// The catalog grows: ten times the models cost no estimate, ten times the cards no more than ten times as many.
#[test]
fn the_catalog_may_grow_tenfold() {
    let small = Catalog::bundled();
    let (mut models, mut cards) = (small.clone(), small.clone());
    for copy in 1..10 {
        let named = |id: &str| -> &'static str { Box::leak(format!("{id}-copy-{copy}").into_boxed_str()) };
        let more = small.models.iter().map(|m| crate::catalog::Model { id: named(m.id), ..m.clone() });
        models.models.to_mut().extend(more);
        cards.gpus.to_mut().extend(small.gpus.iter().map(|g| Gpu { id: named(g.id), ..g.clone() }));
    }
    for preset in ["mnist", "gongbi-lora-sdxl", "joke-chat-qlora", "llm-70b-lora"] {
        let mut p = Project::from_preset(small.preset(preset).unwrap(), &small);
        p.hardware.gpu = "rtx-3060-12gb".into();
        let [few, of_models, of_cards] = [&small, &models, &cards].map(|catalog| {
            let engine = Counted(super::engine::Estimates::of(catalog), Cell::new(0));
            super::advise_with(&engine, &p, catalog).unwrap();
            engine.1.get()
        });
        assert_eq!(few, of_models, "{preset}");
        assert!(of_cards <= 10 * few, "{preset}: {few} estimates became {of_cards}");
    }
}
