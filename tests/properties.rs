//! What must hold for any project at all. `cargo xtask fuzz` looks at many more of them.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dice;

use dice::{Dice, cases, project, sane, throw};
use enough_gpu::advise::{
    self, Advice, Afford, Changes, Verdict, advise, growth, make_it_fit, rent_or_buy, side_by_side, usual_sides,
    why_not,
};
use enough_gpu::catalog::{Catalog, Domain, Gpu, LanguageModel};
use enough_gpu::estimate::{self, memory};
use enough_gpu::project::link::{Link, write};
use enough_gpu::project::{CustomModel, Field, Method, Precision, Project, relevant};
use enough_gpu::text::{self, Lang};
use enough_gpu::units::{Bytes, Currency, Money};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Nothing beyond this can be a need of one card: an exabyte.
const ABSURD: Bytes = Bytes(1 << 60);

fn number(what: &str, n: f64, p: &Project) {
    assert!(n.is_finite() && n >= 0.0, "{what} is {n}: {}", told(p));
}

fn money(what: &str, m: Money, p: &Project) {
    number(what, m.amount, p);
}

fn told(p: &Project) -> String {
    write(p, Currency::Usd, &Catalog::bundled())
}

/// The project of a link: one that was found to break something once.
fn of(link: &str) -> Project {
    let catalog = Catalog::bundled();
    Link::new("", link).project(Currency::Usd, &catalog).unwrap().0
}

/// Every number of an advice is a number: finite, not negative, not absurd.
fn check(p: &Project, advice: &Advice) {
    let m = &advice.memory;
    // cuDNN makes do with smaller workspaces where a card is short of memory: they are allocated, but not needed.
    let asked = m.allocated <= m.reserved.scale(1.2);
    assert!(m.card < ABSURD && asked && m.reserved <= m.card, "{:?}: {}", m, told(p));
    assert_eq!(m.parts.into_iter().sum::<Bytes>(), m.card, "parts: {}", told(p));
    assert!(m.band > 0.0 && m.band < 1.0, "band {}: {}", m.band, told(p));
    if let Some(t) = advice.time {
        for (what, n) in
            [("step", t.step.0), ("run", t.run.0), ("steps", t.steps), ("mfu", t.mfu), ("flops", t.flops.0)]
        {
            number(what, n, p);
        }
        assert!(t.mfu <= 1.05, "mfu {}: {}", t.mfu, told(p));
    }
    for c in &advice.cards {
        assert!(c.card < ABSURD && c.spare == c.usable - c.card, "{c:?}: {}", told(p));
        if let Some(r) = c.rent {
            money("an hour's rent", r.per_hour, p);
            r.run.into_iter().chain(r.storage).for_each(|m| money("a run's rent", m, p));
        }
        if let Some(b) = c.buy {
            b.new.into_iter().chain(b.used).for_each(|m| money("price", m, p));
        }
    }
    for plan in advice.plans.front.iter().chain(&advice.plans.others).chain(advice.plans.picks.iter().map(|(_, p)| p)) {
        money("cost", plan.outlay, p);
        assert!(plan.cost.amount.is_finite() && plan.cost.amount > -1e-6, "{plan:?}: {}", told(p));
        number("wait", plan.wait, p);
    }
    for fix in &advice.fixes {
        // Without a card the fixes are those on a usual one.
        let here = advice.capacity.is_none() || fix.card + fix.saves == m.card;
        assert!(here && fix.saves > Bytes::ZERO, "{:?}: {}", fix.kind, told(p));
        fix.slower.into_iter().for_each(|s| number("slower", s, p));
    }
}

/// Everything that the page asks the core about a project.
fn everything(p: &Project, catalog: &Catalog) -> Option<Advice> {
    let advice = advise(p, catalog);
    for lang in [Lang::Zh, Lang::En] {
        let words = text::answer(lang, p, &advice, catalog).spoken();
        assert!(!words.is_empty() && !words.contains("NaN") && !words.contains("inf "), "{words}: {}", told(p));
    }
    let advice = advice.ok()?;
    check(p, &advice);
    for (_, plan) in &advice.plans.picks {
        if let Some(r) = catalog.gpu(plan.gpu).and_then(|g| rent_or_buy(p, g, plan.count, Some(plan.hours), catalog)) {
            r.points.iter().for_each(|at| number("curve", at.rent, p));
            number("break-even", r.best().and_then(|(_, b)| b.pays_from_h).unwrap_or(0.0), p);
        }
    }
    let sides = usual_sides(p, &advice, catalog);
    assert!(side_by_side(p, &sides, &advice, catalog).len() <= 4);
    sides.iter().filter_map(|id| catalog.gpu(id)).for_each(|gpu| drop(why_not(p, gpu, &advice)));
    drop(advise::recipe::recipes(p, catalog));
    Some(advice)
}

#[test]
fn any_project_gets_numbers_and_words() {
    let (answered, slowest) = (AtomicUsize::new(0), Mutex::new((Duration::ZERO, String::new())));
    let all = cases(1500, 1);
    // Found: on a processor less stays reserved than on a card.
    for link in [
        "model=network&params=84972&optimizer-impl=foreach&batch=245243",
        "model=network&params=61706&method=scratch&precision=amp-fp16&optimizer-impl=fused&batch=291817&samples=724404",
    ] {
        assert!(everything(&of(link), &Catalog::bundled()).is_some(), "{link}");
    }
    // Found: a screen on a card that the simulated allocator was asked of; as many micro-batches on the way as a pipeline of
    // thousands of stages has; a width for each pair of words.
    for link in [
        "preset=yolo-custom&optimizer-impl=fused&checkpointing=on&classes=2936&framework=transformers&have=rx-6700-xt\
         &desktop=on",
        "preset=embedding-ft&precision=amp-bf16&optimizer-impl=foreach&attention=efficient&batch=140960&seq=36586\
         &samples=515283&have=l20&count=8848&pipeline=2434",
        "preset=embedding-ft&attention=eager&seq=392145&have=apple-m2-max-64gb&count=38862&sharding=zero1&pipeline=876",
        "model=gnmt-v2&precision=bf16&optimizer-impl=fused&batch=18476&accumulation=202741&seq=461398",
        "model=t5-3b&optimizer-impl=foreach&attention=math&batch=52417&accumulation=2&seq=33524",
    ] {
        everything(&of(link), &Catalog::bundled());
    }
    throw(all, 20_261_130, |catalog, dice| {
        let p = project(12, catalog, dice);
        let start = Instant::now();
        answered.fetch_add(usize::from(everything(&p, catalog).is_some()), Relaxed);
        if dice.below(40) == 0 {
            let _ = growth(&p, 10, catalog);
        }
        let took = start.elapsed();
        let mut slowest = slowest.lock().unwrap();
        if took > slowest.0 {
            *slowest = (took, told(&p));
        }
    });
    let (answered, slowest) = (answered.into_inner(), slowest.into_inner().unwrap());
    println!("{answered} of {all} answered; slowest {:?}: {}", slowest.0, slowest.1);
    assert!(answered * 2 > all, "only {answered} of {all} were answered");
    assert!(slowest.0 < Duration::from_secs(5), "{slowest:?}");
}

/// The course of the step, reserved memory and the limit of a card are slower: fewer cases.
#[test]
fn the_slow_figures_are_numbers_too() {
    throw(cases(100, 32), 3, |catalog, dice| {
        let p = project(8, catalog, dice);
        let gpu = catalog.gpu(&p.hardware.gpu);
        let Ok(m) = memory(&p, gpu, catalog) else { return };
        for point in estimate::timeline(&p, gpu, catalog, 120) {
            assert!((0.0..=1.0).contains(&point.at), "{point:?}: {}", told(&p));
            assert!(point.parts.into_iter().sum::<Bytes>() <= m.card.scale(1.02), "{point:?}: {}", told(&p));
        }
        assert!(estimate::reserved(&p, gpu, catalog).unwrap() < ABSURD, "{}", told(&p));
        assert!(estimate::needed(&p, gpu, catalog).unwrap() < ABSURD, "{}", told(&p));
    });
}

#[test]
fn fixes_go_back_exactly() {
    let applied = AtomicUsize::new(0);
    throw(cases(150, 8), 9, |catalog, dice| {
        let mut here = project(6, catalog, dice);
        here.hardware.gpu = dice.of(&["rtx-3060-12gb", "t4", "rtx-4090", "rx-6700-xt"]).to_string();
        here.hardware.no_gpu = false;
        let mut changes = Changes::default();
        let mut before = Vec::new();
        for _ in 0..4 {
            let Ok(advice) = advise(&here, catalog) else { break };
            let plan = advice.make_it_fit.map(|p| (p.fixes, p.project));
            let choices: Vec<_> = advice.fixes.into_iter().map(|f| (vec![f.kind], f.project)).chain(plan).collect();
            if choices.is_empty() {
                break;
            }
            let (kinds, after) = dice.of(&choices).clone();
            changes.push(kinds, here.clone(), after.clone());
            assert!(!changes.follow(&after));
            before.push(std::mem::replace(&mut here, after));
            applied.fetch_add(1, Relaxed);
        }
        assert_eq!(changes.is_empty(), before.is_empty());
        for project in before.into_iter().rev() {
            let back = changes.undo(&here, catalog).unwrap();
            here.clone_from(&back);
            assert_eq!(back, project);
            // What comes back through the link is what was there.
            let link = write(&back, Currency::Usd, catalog);
            let read = Link::new("", &link).project(Currency::Usd, catalog).map(|(p, _)| p);
            assert_eq!(read, Some(back), "{link}");
        }
        assert_eq!(changes.undo(&here, catalog), None);
        // After an edit there is no way back that would lose it.
        changes.push(Vec::new(), here.clone(), here.clone());
        here.samples += 1;
        assert!(changes.follow(&here) && changes.is_empty());
    });
    assert!(applied.load(Relaxed) > 50, "{applied:?}");
}

#[test]
fn a_bigger_budget_is_never_slower() {
    let check = |mut p: Project, catalog: &Catalog| {
        let mut last = f64::INFINITY;
        for limit in [0.0, 3.0, 30.0, 300.0, 1e4, 1e6, 1e9] {
            p.budget.limit = Some(limit);
            let Ok(advice) = advise(&p, catalog) else { break };
            match advice.plans.afford {
                Some(Afford::Soonest(plan)) => {
                    assert!(plan.outlay.amount <= limit && plan.wait <= last, "{limit}: {plan:?}: {}", told(&p));
                    last = plan.wait;
                }
                other => assert!(last.is_infinite(), "{limit}: {other:?}: {}", told(&p)),
            }
        }
    };
    // Found: a used card that costs less in the end than a quicker rental.
    check(of("preset=llm-7b-lora&method=full&precision=fp32&accumulation=246919&offload=nvme"), &Catalog::bundled());
    throw(cases(50, 32), 11, |catalog, dice| check(project(6, catalog, dice), catalog));
}

#[test]
fn a_new_card_takes_no_plan_away() {
    throw(cases(40, 8), 13, |catalog, dice| {
        let p = project(6, catalog, dice);
        let mut larger = catalog.clone();
        let like = dice.of(&catalog.gpus).clone();
        let usable = like.usable.scale(0.5 + dice.part() * 2.0);
        larger.gpus.to_mut().push(Gpu { id: "brand-new", usable, memory: usable, ..like });
        let (Ok(before), Ok(after)) = (advise(&p, catalog), advise(&p, &larger)) else { return };
        for plan in &before.plans.front {
            let as_good = |o: &&advise::Plan| o.wait <= plan.wait && o.cost.amount <= plan.cost.amount;
            assert!(after.plans.front.iter().any(|o| as_good(&o)), "{plan:?} is gone: {}", told(&p));
        }
        for card in &before.cards {
            let same = after.cards.iter().find(|c| (c.gpu, c.count) == (card.gpu, card.count));
            assert!(same.is_some_and(|s| (s.fits, s.card) == (card.fits, card.card)), "{card:?}: {}", told(&p));
        }
    });
}

fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Fits { .. } | Verdict::NoGpuNeeded { .. } => 2,
        Verdict::Tight { .. } => 1,
        _ => 0,
    }
}

/// A card with more memory and the same kernels is never worse; and its make-it-fit never needs more risk.
#[test]
fn a_bigger_card_never_runs_out_where_a_smaller_one_fits() {
    let larger = |catalog: &Catalog, like: &Gpu, usable: Bytes| {
        let mut catalog = catalog.clone();
        catalog.gpus.to_mut().push(Gpu { id: "larger", usable, memory: usable, ..like.clone() });
        catalog
    };
    let check = |mut p: Project, like: &Gpu, usable: Bytes, catalog: &Catalog| {
        p.hardware.no_gpu = false;
        let on = |id: &str| {
            let mut there = p.clone();
            id.clone_into(&mut there.hardware.gpu);
            there
        };
        if let (Ok(small), Ok(large)) = (advise(&on(like.id), catalog), advise(&on("larger"), catalog)) {
            assert!(rank(&large.verdict) >= rank(&small.verdict), "{} {}: {}", like.id, usable.gib(), told(&p));
            // Where one card of a kind is enough, the others need not divide anything; then more is left for batches on
            // smaller cards that do.
            let same = small.memory.resolved.sharding == large.memory.resolved.sharding;
            assert!(
                !same || large.largest_micro_batch >= small.largest_micro_batch,
                "{} with {} GiB: {:?}; with {}: {:?}: {}",
                like.id,
                like.usable.gib(),
                small.largest_micro_batch,
                usable.gib(),
                large.largest_micro_batch,
                told(&p)
            );
        }
    };
    // Found: the simulated allocator was asked of a card that is a little too large, not of one a little too small.
    let catalog = Catalog::bundled();
    let like = catalog.gpu("apple-m3-ultra-96gb").unwrap();
    let usable = Bytes::from_gib(87.764);
    check(of("preset=unet-medical&classes=3843"), like, usable, &larger(&catalog, like, usable));
    throw(cases(60, 8), 17, |catalog, dice| {
        let like = dice.of(&catalog.gpus).clone();
        let usable = like.usable.scale(1.0 + dice.part());
        let catalog = larger(catalog, &like, usable);
        check(project(6, &catalog, dice), &like, usable, &catalog);
    });
}

/// Real cards beside each other: one with more memory, the same maker and kernels never is the worse one.
#[test]
fn more_memory_in_the_shop_is_never_worse() {
    let check = |p: Project, gpus: &[&Gpu], catalog: &Catalog| {
        let mut known: Vec<(&Gpu, u8)> = Vec::new();
        for &gpu in gpus {
            let mut there = p.clone();
            there.hardware.no_gpu = false;
            (there.hardware.count, there.hardware.gpu) = (1, gpu.id.to_string());
            let Ok(advice) = advise(&there, catalog) else { continue };
            if !matches!(advice.verdict, Verdict::CannotRun(_)) {
                known.push((gpu, rank(&advice.verdict)));
            }
        }
        for (a, a_rank) in &known {
            for (b, b_rank) in &known {
                let same = a.vendor == b.vendor && estimate::time::has_flash(a) == estimate::time::has_flash(b);
                // Runtimes of larger cards take a hundred mebibytes more.
                if same && b.usable.gib() > a.usable.gib() + 0.25 {
                    assert!(b_rank >= a_rank, "{} {a_rank}, {} {b_rank}: {}", a.id, b.id, told(&p));
                }
            }
        }
    };
    // Found: the same as above.
    let catalog = Catalog::bundled();
    let found = "model=yolo11s&precision=amp-fp16&optimizer=sgd-momentum&batch=16&accumulation=4&classes=8055";
    check(of(found), &[catalog.gpu("l4").unwrap(), catalog.gpu("rtx-a5000").unwrap()], &catalog);
    throw(cases(30, 48), 19, |catalog, dice| {
        let p = project(6, catalog, dice);
        let gpus: Vec<&Gpu> = (0..12).map(|_| dice.of(&catalog.gpus)).collect();
        check(p, &gpus, catalog);
    });
}

/// More of anything never needs less, for every model of the catalog.
#[test]
fn more_never_needs_less() {
    let catalog = Catalog::bundled();
    let mut dice = Dice(23);
    let gpu = catalog.gpu("rtx-4090");
    let rounds = cases(1, 1).div_ceil(1000).min(40);
    let mut compared = 0;
    let mut wrong = Vec::new();
    for model in catalog.models.iter().cycle().take(catalog.models.len() * rounds) {
        let like = project(8, &catalog, &mut dice);
        let preset = String::new();
        let mut p = sane(Project { preset, model: model.id.to_string(), custom: None, ..like }, &mut dice);
        let asked = relevant(&p, &catalog);
        if !asked.contains(Field::Frames) {
            p.frames = 1;
        }
        let Ok(before) = memory(&p, gpu, &catalog) else { continue };
        let more: [(Field, Project); 6] = [
            (Field::MicroBatch, Project { micro_batch: p.micro_batch + 1 + dice.below(3) as u64, ..p.clone() }),
            (Field::Sequence, Project { sequence: p.sequence + 64, ..p.clone() }),
            (Field::ImageSide, Project { image_side: p.image_side + 32, ..p.clone() }),
            (Field::Frames, Project { frames: p.frames + 4, ..p.clone() }),
            (Field::AudioSeconds, Project { audio_seconds: p.audio_seconds + 1.0, ..p.clone() }),
            (Field::LoraRank, {
                let mut q = p.clone();
                q.lora.rank *= 2;
                q
            }),
        ];
        for (what, bigger) in more {
            // transformers repeats key and value heads where a window needs a mask; without one fp32 with grouped queries
            // has no kernel but the one that writes the scores out, and nor has the memory-efficient one in any precision.
            // Of vision-language models the language part is looked up by its numbers.
            let window = model
                .language()
                .map_or(model.domain == Domain::VisionLanguage, |l| l.attention != "full" && l.kv_heads < l.heads);
            let written_out = p.precision == Precision::Fp32
                || p.method == Method::QLora
                || p.attention == enough_gpu::project::Attention::Efficient;
            if what == Field::Sequence && window && written_out {
                continue;
            }
            // What is not asked for a model plays no part.
            let Some(after) = memory(&bigger, gpu, &catalog).ok().filter(|_| asked.contains(what)) else { continue };
            compared += 1;
            if after.card < before.card {
                wrong.push(format!("more {what:?}: {} to {}: {}", before.card.gib(), after.card.gib(), told(&p)));
            }
        }
    }
    println!("{compared} compared");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}

/// More layers never need less, for every language model of the catalog and for one's own numbers.
#[test]
fn more_layers_never_need_less() {
    let catalog = Catalog::bundled();
    let mut dice = Dice(29);
    let mut compared = 0;
    for model in catalog.models.iter() {
        let Some(language) = model.language() else { continue };
        let p = sane(Project { model: model.id.to_string(), ..project(4, &catalog, &mut dice) }, &mut dice);
        let deeper = LanguageModel { layers: language.layers + 1, ..language.clone() };
        let need =
            |m: &LanguageModel| estimate::language::memory(&p, m, estimate::Beside::default(), None).map(|m| m.card);
        if let (Ok(before), Ok(after)) = (need(language), need(&deeper)) {
            compared += 1;
            assert!(after >= before, "{} layers more: {} to {}: {}", model.id, before.gib(), after.gib(), told(&p));
        }
    }
    assert!(compared > 200, "{compared}");
    throw(cases(400, 4), 29, |catalog, dice| {
        let mut p = sane(project(4, catalog, dice), dice);
        let heads = 1 << dice.below(6);
        let custom = CustomModel {
            layers: 1 + dice.below(80) as u64,
            hidden: heads * 64 * (1 + dice.below(3) as u64),
            intermediate: 64 * (1 + dice.below(200)) as u64,
            heads,
            kv_heads: heads,
            vocab: 100 + dice.below(150_000) as u64,
            ..CustomModel::default()
        };
        p.model = String::new();
        p.custom = Some(custom.clone());
        let need = |c: CustomModel| memory(&Project { custom: Some(c), ..p.clone() }, None, catalog).map(|m| m.card);
        let (Ok(before), Ok(after)) = (need(custom.clone()), need(CustomModel { layers: custom.layers + 1, ..custom }))
        else {
            return;
        };
        assert!(after >= before, "{}", told(&p));
    });
}

/// What makes it fit, fits: the changed project is estimated again.
#[test]
fn made_to_fit_is_to_fit() {
    let found = AtomicUsize::new(0);
    throw(cases(100, 4), 31, |catalog, dice| {
        let mut p = project(6, catalog, dice);
        p.hardware.count = 1;
        let gpu = dice.of(&catalog.gpus);
        if p.method == Method::QLora && advise::card_bar(&p, gpu).is_some() {
            return;
        }
        p.hardware.gpu = gpu.id.to_string();
        let Some(plan) = make_it_fit(&p, gpu, catalog) else { return };
        found.fetch_add(1, Relaxed);
        let there = memory(&plan.project, Some(gpu), catalog).unwrap();
        assert_eq!(there.card, plan.card, "{}: {:?}: {}", gpu.id, plan.fixes, told(&p));
        assert!(there.card.scale(1.0 + there.band) <= gpu.usable, "{}: {:?}: {}", gpu.id, plan.fixes, told(&p));
    });
    assert!(found.load(Relaxed) > 20, "{found:?}");
}
