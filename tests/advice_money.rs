//! Money: plans, picks, budget, rent or buy, prices of one's own; held by what must be true, not by figures of today.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::{
    Afford, Against, CardBar, CardWarning, Pick, Plan, Verdict, Way, advise, growth, side_by_side, why_not,
};
use enough_gpu::catalog::Gpu;
use enough_gpu::project::Project;
use enough_gpu::text::{self, Lang};
use enough_gpu::units::Currency;
mod presets;
use presets::{catalog, on, preset, projects};

fn beats(a: &Plan, b: &Plan) -> bool {
    a.cost.amount <= b.cost.amount && a.wait <= b.wait && (a.cost.amount < b.cost.amount || a.wait < b.wait)
}

#[test]
fn nothing_beats_the_front() {
    let catalog = catalog();
    for currency in [Currency::Usd, Currency::Cny] {
        for mut project in projects(&catalog) {
            project.budget.currency = currency;
            let plans = advise(&project, &catalog).unwrap().plans;
            assert!(!plans.front.is_empty(), "{}", project.preset);
            for pair in plans.front.windows(2) {
                assert!(pair[0].cost.amount <= pair[1].cost.amount && pair[0].wait > pair[1].wait, "{pair:?}");
            }
            for plan in plans.front.iter().chain(&plans.others).chain(plans.picks.iter().map(|(_, p)| p)) {
                assert!(plan.wait >= plan.hours && plan.hours > 0.0, "{plan:?}");
                assert!(plan.cost.amount >= 0.0 && plan.outlay.amount >= plan.cost.amount - 1e-9, "{plan:?}");
                assert_eq!(plan.cost.currency, currency);
                assert_eq!(plan.worth.is_some(), plan.way.is_bought(), "{plan:?}");
            }
            for (_, plan) in &plans.picks {
                // A pick may be a little dearer than the front where it is less trouble, but nothing is far better.
                let far = |p: &&Plan| p.cost.amount < plan.cost.amount * 0.3 - 2.0 * 7.1 && p.wait < plan.wait * 0.5;
                assert!(plans.front.iter().find(far).is_none(), "{}: {plan:?}", project.preset);
            }
            for other in &plans.others {
                assert!(!plans.front.iter().any(|p| beats(other, p)), "{}: {other:?}", project.preset);
            }
        }
    }
}

#[test]
fn picks_say_what_they_are() {
    let catalog = catalog();
    for project in projects(&catalog) {
        let plans = advise(&project, &catalog).unwrap().plans;
        let of = |pick| plans.picks.iter().find(|(p, _)| *p == pick).map(|(_, plan)| *plan);
        let cheapest = of(Pick::Cheapest).unwrap_or_else(|| panic!("{}", project.preset));
        let least = plans.front.first().unwrap().cost.amount;
        let home = matches!(cheapest.way, Way::Own | Way::Processor);
        assert!(cheapest.cost.amount <= least * 1.06 + if home { 1.0 } else { 1e-9 }, "{}", project.preset);
        if let Some(fastest) = of(Pick::Fastest) {
            let soonest = plans.front.last().unwrap().wait;
            assert!(fastest.wait <= soonest * 1.11, "{}: {fastest:?} {soonest}", project.preset);
        }
    }
}

#[test]
fn no_pick_stands_beside_one_that_is_cheaper_and_sooner() {
    let catalog = catalog();
    for gpu in ["rtx-4090", "rtx-3060-12gb", ""] {
        for mut project in projects(&catalog) {
            project.hardware.gpu = gpu.to_string();
            let Ok(advice) = advise(&project, &catalog) else { continue };
            let plans = advice.plans;
            for (pick, plan) in plans.picks.iter().filter(|(pick, _)| *pick != Pick::Cheapest) {
                let better = plans.picks.iter().find(|(_, other)| beats(other, plan));
                assert!(better.is_none(), "{} on {gpu}: {pick:?} {plan:?}, {better:?}", project.preset);
            }
            if let Some(step) = plans.step_up {
                let more = step.to.cost.amount - step.from.cost.amount;
                assert!(more > step.from.cost.amount * 0.049, "{} on {gpu}: {step:?}", project.preset);
            }
        }
    }
}

#[test]
fn a_bigger_budget_never_makes_the_best_time_worse() {
    let catalog = catalog();
    for mut project in projects(&catalog) {
        let mut last = f64::INFINITY;
        let mut enough = false;
        for limit in [0.0, 1.0, 5.0, 20.0, 100.0, 1e3, 1e4, 1e6, 1e9] {
            project.budget.limit = Some(limit);
            match advise(&project, &catalog).unwrap().plans.afford {
                Some(Afford::Soonest(plan)) => {
                    assert!(plan.outlay.amount <= limit, "{}: {plan:?} for {limit}", project.preset);
                    assert!(plan.wait <= last, "{}: {limit} makes it {} from {last}", project.preset, plan.wait);
                    (last, enough) = (plan.wait, true);
                }
                Some(Afford::TooLittle(plan)) => {
                    assert!(plan.outlay.amount > limit && !enough, "{}: {plan:?} for {limit}", project.preset);
                }
                Some(Afford::OnOwnCard(plan)) => {
                    assert!(plan.way == Way::Own && !enough, "{}: {plan:?} for {limit}", project.preset);
                }
                None => panic!("{}: a budget of {limit} is not answered", project.preset),
            }
        }
        assert!(enough, "{}: no money is enough", project.preset);
    }
}

#[test]
fn a_new_card_takes_no_plan_away() {
    let catalog = catalog();
    let mut larger = catalog.clone();
    larger.gpus.to_mut().push(Gpu { id: "brand-new", ..catalog.gpu("rtx-5090").unwrap().clone() });
    for mut project in projects(&catalog) {
        project.budget.limit = Some(100.0);
        let (before, after) = (advise(&project, &catalog).unwrap().plans, advise(&project, &larger).unwrap().plans);
        for plan in &before.front {
            let kept = after.front.contains(plan) || after.front.iter().any(|p| beats(p, plan));
            assert!(kept, "{}: {plan:?} is gone", project.preset);
        }
    }
}

/// What a person is told, with the reason that is checked.
enum Told {
    /// It fits: the weights alone leave room for all else.
    Fits,
    /// It cannot: what has to be on the card is more than there is.
    RunsOut,
    /// No card is needed.
    NoGpu,
    /// A free notebook is enough, and costs nothing.
    Free,
    /// A warning about the card.
    Warned(CardWarning),
    /// The card cannot run it.
    Barred(CardBar),
}

#[test]
fn forty_projects_are_told_the_right_thing() {
    use CardWarning as W;
    use Told::{Barred, Fits, Free, NoGpu, RunsOut, Warned};
    let catalog = catalog();
    // Project, card ("" for none), what is told. Reasons: arithmetic on parameters, architecture, makers' notes.
    let table: &[(&str, &str, Told)] = &[
        // A few thousand parameters or trees: minutes on a processor.
        ("mnist", "", NoGpu),
        ("flowers", "", NoGpu),
        ("cat-dog-scratch", "", NoGpu),
        ("mnist", "rtx-3060-12gb", Fits),
        // 25 million parameters at 224 pixels: 16 bytes each are 0.4 GB.
        ("cat-dog", "rtx-3050-8gb", Fits),
        ("transfer-vit", "rtx-4060-ti-8gb", Fits),
        // SD 1.5 LoRA: 2 GB of frozen 16-bit weights.
        ("gongbi-lora-sd15", "rtx-3070", Fits),
        ("gongbi-lora-sd15", "rtx-4060-ti-8gb", Fits),
        ("gongbi-lora-sd15", "", Free),
        ("gongbi-lora-sdxl", "rtx-4090", Fits),
        ("gongbi-lora-sdxl", "rtx-2060-6gb", RunsOut),
        // QLoRA of 7 billion: 4 to 6 GB of 4-bit weights beside 16-bit embeddings.
        ("joke-chat-qlora", "rtx-4090", Fits),
        ("joke-chat-qlora", "rtx-3090", Fits),
        ("joke-chat-qlora", "gtx-1650", RunsOut),
        ("joke-chat-qlora", "", Free),
        ("joke-chat-qlora", "apple-m2-max", Warned(W::RecentQuantization)),
        ("joke-chat-qlora", "ascend-910b3", Barred(CardBar::NoQuantization)),
        ("joke-chat-qlora", "tpu-v5e", Barred(CardBar::NoPyTorch)),
        // XGBoost knows CUDA only, and the processor takes seconds.
        ("tabular", "apple-m2-max", NoGpu),
        ("tabular", "ascend-910b4", NoGpu),
        ("joke-chat-qlora", "rx-7900-xtx", Warned(W::Rocm)),
        ("joke-chat-qlora", "rx-6700-xt", Warned(W::RocmOverride)),
        ("joke-chat-qlora", "rx-7900-xtx", Warned(W::RecentQuantization)),
        ("joke-chat-qlora", "gtx-1080-ti", Warned(W::Dropped)),
        ("joke-chat-qlora", "rtx-5090", Warned(W::NeedsNewPyTorch)),
        ("joke-chat-qlora", "rtx-4090-laptop", Warned(W::Laptop)),
        ("joke-chat-qlora", "rtx-4090-48gb-mod", Warned(W::Modded)),
        ("joke-chat-qlora", "t4", Warned(W::NoFlashAttention)),
        ("joke-chat-qlora", "gtx-1650", Warned(W::WindowsSpills)),
        // 7 billion in 16 bit are 14 GB before anything else; all of it trained takes 16 bytes a weight.
        ("llm-7b-lora", "rtx-3060-12gb", RunsOut),
        ("llm-7b-lora", "a100-sxm-80gb", Fits),
        ("llm-7b-lora", "v100-sxm2-32gb", Warned(W::NoBf16)),
        ("llm-7b-full", "rtx-4090", RunsOut),
        ("llm-7b-full", "a100-sxm-40gb", RunsOut),
        // 32 billion in 4 bit are 16 GB and more.
        ("llm-32b-qlora", "rtx-4060-ti-16gb", RunsOut),
        ("llm-32b-qlora", "a100-sxm-80gb", Fits),
        // 70 billion in 16 bit are 140 GB; trained in full 1.1 TB.
        ("llm-70b-lora", "h100-sxm", RunsOut),
        ("llm-70b-full", "b200", RunsOut),
        ("llm-405b-scratch", "h200-sxm", RunsOut),
        ("llm-671b-scratch", "b200", RunsOut),
        // Vision on ordinary cards.
        ("yolo-custom", "rtx-3060-12gb", Fits),
        ("yolo-custom", "", Free),
        ("sam-ft", "rtx-4090", Fits),
        ("unet-medical", "rtx-3060-12gb", Fits),
        ("vision-scratch-cifar", "gtx-1660-super", Fits),
        ("vision-scratch-imagenet", "rtx-4090", Fits),
    ];
    assert!(table.len() >= 40);
    for (id, gpu, told) in table {
        let mut project = on(id, gpu, &catalog);
        project.hardware.no_gpu = gpu.is_empty();
        let advice = advise(&project, &catalog).unwrap();
        let here = format!("{id} on {gpu}: {:?}", advice.verdict);
        let weights = advice.memory.part(enough_gpu::estimate::Part::Weights);
        match told {
            Fits => {
                assert!(matches!(advice.verdict, Verdict::Fits { .. } | Verdict::NoGpuNeeded { .. }), "{here}");
                assert!(advice.memory.card.scale(1.0 + advice.memory.band) <= advice.capacity.unwrap(), "{here}");
                assert!(advice.out_of_memory.is_none() && advice.make_it_fit.is_none(), "{here}");
            }
            RunsOut => {
                let Verdict::RunsOut { missing } = advice.verdict else { panic!("{here}") };
                assert_eq!(missing, advice.memory.card - advice.capacity.unwrap(), "{here}");
                let oom = advice.out_of_memory.expect("a message");
                assert!(oom.tried > oom.free, "{here}");
                // Either something helps, or the weights alone are too much even in pieces.
                assert!(advice.make_it_fit.is_some() || !advice.fixes.is_empty() || weights > oom.capacity, "{here}");
            }
            NoGpu => assert!(matches!(advice.verdict, Verdict::NoGpuNeeded { hours_on_cpu } if hours_on_cpu < 3.0)),
            Free => {
                let free = advice.free.first().expect("a free notebook");
                assert!(!free.tight && free.hours.is_some(), "{here}");
                assert_eq!(advice.plans.front.first().map(|p| p.cost.amount), Some(0.0), "{here}");
            }
            Warned(warning) => assert!(advice.warnings.contains(warning), "{here}: {:?}", advice.warnings),
            Barred(bar) => assert_eq!(advice.verdict, Verdict::CannotRun(*bar), "{here}"),
        }
    }
}

#[test]
fn why_not_gives_the_reason() {
    let catalog = catalog();
    let project = preset("llm-7b-lora", &catalog);
    let advice = advise(&project, &catalog).unwrap();
    let ask = |id: &str| why_not(&project, catalog.gpu(id).unwrap(), &advice);
    assert!(matches!(ask("tpu-v5e")[0], Against::CannotRun(CardBar::NoPyTorch)));
    assert!(matches!(ask("rtx-3060-12gb")[0], Against::TooSmall { .. }));
    assert!(ask("v100-sxm2-32gb").contains(&Against::Warning(CardWarning::NoBf16)));
    assert!(ask("gtx-1080-ti").contains(&Against::Warning(CardWarning::Dropped)));
    for gpu in catalog.gpus.iter() {
        let reasons = why_not(&project, gpu, &advice);
        assert!(!reasons.is_empty(), "{}", gpu.id);
        for reason in &reasons {
            match reason {
                Against::Beaten { plan, by } => assert!(by.cost.amount <= plan.cost.amount && by.wait <= plan.wait),
                Against::Picked(pick, plan) => assert!(advice.plans.picks.contains(&(*pick, *plan))),
                Against::TooSmall { enough: Some(count), .. } => {
                    assert!(advice.cards.iter().any(|c| c.gpu == gpu.id && c.count == *count && c.fits));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn growth_and_sides_come_from_the_same_estimates() {
    let catalog = catalog();
    let project = on("joke-chat-qlora", "rtx-3090", &catalog);
    let now = advise(&project, &catalog).unwrap();
    let [double, ten] = [2, 10].map(|times| growth(&project, times, &catalog).unwrap());
    assert!(double.need > now.memory.card && ten.need > double.need);
    assert!(double.model.is_some() && ten.model.is_some());
    assert!(double.still_fits.is_some());
    let sides = side_by_side(&project, &["rtx-4090", "h100-sxm", "no such card"], &now, &catalog);
    assert_eq!(
        sides.iter().map(|s| (s.gpu, s.around_the_clock)).collect::<Vec<_>>(),
        [("rtx-4090", false), ("h100-sxm", true)]
    );
    for side in sides {
        let choice = side.choice.unwrap();
        assert_eq!(choice.rent.and_then(|r| r.run), side.rent_run);
    }
}

/// The step up names where it starts, and no card that the picks show already.
#[test]
fn a_step_up_is_news() {
    let catalog = catalog();
    let mut steps = 0;
    for project in projects(&catalog) {
        let plans = advise(&project, &catalog).unwrap().plans;
        let Some(step) = plans.step_up else { continue };
        assert!(
            plans.picks.iter().all(|(_, p)| (p.gpu, p.count) != (step.to.gpu, step.to.count)),
            "{}",
            project.preset
        );
        steps += 1;
    }
    assert!(steps > 0);
}

/// Where a cheaper rental stands in the list, nobody is told that there is none; and cards at home cost their power.
#[test]
fn nothing_cheaper_is_said_only_where_it_is_true() {
    use enough_gpu::text::{Lang, pick_reason};
    let catalog = catalog();
    let mut left_out = 0;
    for mut project in projects(&catalog) {
        project.budget.currency = Currency::Cny;
        let advice = advise(&project, &catalog).unwrap();
        let Some((pick, plan)) = advice.plans.picks.iter().find(|(pick, _)| *pick == Pick::Cheapest) else { continue };
        let said = pick_reason(Lang::Zh, *pick, plan, &advice.plans, &catalog);
        // What takes longer than anybody waits is no way, and what reads the same is not cheaper.
        let ends = |c: &&enough_gpu::advise::CardChoice| c.time.is_some_and(|t| t.run.hours() < 24.0 * 90.0 - 1.0);
        let runs = advice.cards.iter().filter(|c| c.fits).filter(ends).filter_map(|c| c.rent?.run);
        let cheaper = runs.filter(|run| run.amount < plan.cost.amount * 0.99).count();
        assert!(cheaper == 0 || !said.starts_with("没有更便宜"), "{}: {cheaper} {said}", project.preset);
        left_out += usize::from(advice.plans.left_out.is_some());
    }
    assert!(left_out > 0);
    let mut own = on("llm-7b-lora", "rtx-3060-12gb", &catalog);
    own.hardware.count = 8;
    own.budget.currency = Currency::Cny;
    own.budget.limit = Some(0.01);
    let advice = advise(&own, &catalog).unwrap();
    assert!(matches!(advice.verdict, Verdict::Fits { .. }));
    let afford = advice.plans.afford;
    assert!(!matches!(afford, Some(Afford::TooLittle(p)) if p.way != Way::Own), "{afford:?}");
}

#[test]
fn kernels_are_asked_for_where_they_exist() {
    use enough_gpu::advise::FixKind;
    let catalog = catalog();
    let on = |preset: &str, gpu: &str| {
        let mut project = Project::from_preset(catalog.preset(preset).unwrap(), &catalog);
        project.hardware.gpu = gpu.to_string();
        (advise(&project, &catalog).unwrap(), project)
    };
    // bitsandbytes has nothing for Ascend: the way out is one click, and it runs there.
    let (advice, project) = on("joke-chat-qlora", "ascend-910b3");
    assert_eq!(advice.verdict, Verdict::CannotRun(CardBar::NoQuantization));
    let plan = advice.make_it_fit.clone().unwrap();
    assert_eq!(plan.fixes.first(), Some(&FixKind::Unquantized));
    assert_eq!(plan.project.method, enough_gpu::project::Method::Lora);
    for lang in [Lang::Zh, Lang::En] {
        let next = text::next(lang, &project, &advice, &catalog);
        assert_eq!(next.action, text::Action::MakeItFit, "{}", next.sentence);
    }
    let after = advise(&plan.project, &catalog).unwrap();
    assert!(after.verdict.is_good(), "{:?}", after.verdict);
    assert!(
        enough_gpu::advise::moves::moves(&project, &catalog).iter().flat_map(|m| &m.values).all(|v| v.run.is_none())
    );
    // It has them for AMD, Intel and Apple: such a card is no worse for it.
    for gpu in ["rx-7900-xtx", "arc-b580", "apple-m4-max"] {
        let (advice, _) = on("joke-chat-qlora", gpu);
        assert!(advice.warnings.contains(&CardWarning::RecentQuantization), "{gpu}: {:?}", advice.warnings);
    }
    // A fused loss is written in Triton, and Apple has none.
    let (advice, _) = on("llm-7b-lora", "apple-m4-pro-24gb");
    let set = advice.make_it_fit.iter().flat_map(|plan| &plan.fixes).chain(advice.fixes.iter().map(|f| &f.kind));
    assert!(set.clone().all(|kind| *kind != FixKind::FusedLoss), "{:?}", set.collect::<Vec<_>>());
}
