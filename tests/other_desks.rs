//! What people at quite different desks are told: no machine for a cluster's job, no growth into another trade, no count
//! that does not hold.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod desk;

use desk::{in_yuan, on};
use enough_gpu::advise::plan::{safe_plan, samples_per_step};
use enough_gpu::advise::rig::{Build, build, not_at_home};
use enough_gpu::advise::several::{NoPlan, several};
use enough_gpu::advise::{FixKind, Way, advise, growth, side_by_side, why_not};
use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::{Part, time};
use enough_gpu::project::link::Link;
use enough_gpu::project::{Checkpointing, Project};
use enough_gpu::text::{self, Action, Lang};
use enough_gpu::units::{Bytes, Currency};

fn of(fragment: &str, catalog: &Catalog) -> Project {
    Link::new("", fragment).project(Currency::Usd, catalog).unwrap().0
}

/// A job for a cluster, and a job that no card under a desk holds, get no list for one card.
#[test]
fn nobody_builds_a_cluster_around_one_card() {
    let catalog = Catalog::bundled();
    for (preset, card) in [("llm-671b-scratch", ""), ("llm-671b-scratch", "rtx-4090"), ("llm-70b-full", "")] {
        let project = on(preset, card, 1, &catalog);
        let advice = advise(&project, &catalog).unwrap();
        let built = build(&project, &advice, &catalog);
        let Build::Cluster(least) = built else { panic!("{preset} on {card}: {built:?}") };
        let said = Lang::ALL.map(|lang| text::rig::cluster(lang, least, &catalog));
        println!("{preset}: {}\n{}", said[0], said[1]);
        assert!(least.is_none_or(|(gpu, count)| not_at_home(catalog.gpu(gpu).unwrap(), count).is_some()), "{least:?}");
    }
    // What a card at home does is built around it, or around as few as do it.
    let at = |preset, card, count| {
        let project = on(preset, card, count, &catalog);
        build(&project, &advise(&project, &catalog).unwrap(), &catalog)
    };
    assert_eq!(at("llm-7b-lora", "", 1), Build::Machine("rtx-4090", 1));
    assert_eq!(at("llm-7b-lora", "rtx-3090", 2), Build::Machine("rtx-3090", 2));
    assert_eq!(at("mnist", "", 1), Build::Machine("rtx-4090", 1));
}

/// Nobody grows from a model that talks into one that embeds, or from volumes into pictures; and what is ten times as
/// large needs no less than what is twice as large.
#[test]
fn growth_stays_in_the_trade() {
    let catalog = Catalog::bundled();
    for (preset, card, never) in [
        ("grpo", "rtx-4090", "embedding"),
        ("nnunet-3d", "rtx-4060", "2d"),
        ("cat-dog", "rtx-3060-laptop", "cifar"),
        ("yolo-custom", "rtx-3060-12gb", "rcnn"),
        ("llm-70b-full", "h20", "coder"),
    ] {
        let count = if card == "h20" { 16 } else { 1 };
        let project = in_yuan(preset, card, count, &catalog);
        let [double, ten] = [2, 10].map(|times| growth(&project, times, &catalog).unwrap());
        for grown in [&double, &ten] {
            println!("{preset}: {}", text::growth(Lang::Zh, grown, &catalog));
            assert!(grown.model.is_none_or(|id| !id.contains(never)), "{preset}: {:?}", grown.model);
            assert!(grown.plan.is_none_or(|plan| plan.count <= 512), "{preset}: {:?}", grown.plan);
        }
        assert!(double.need <= ten.need, "{preset}: {} and {}", double.need, ten.need);
    }
    let next = |id: &str, times| {
        let project = Project { model: id.to_owned(), ..on("yolo-custom", "rtx-3060-12gb", 1, &catalog) };
        growth(&project, times, &catalog).unwrap().model
    };
    assert_eq!(next("yolo11s", 2), Some("yolo11m"));
    assert_eq!(next("resnet18", 2), Some("resnet34"));
    assert_eq!(growth(&of("model=qwen3-4b&method=lora", &catalog), 2, &catalog).unwrap().model, Some("qwen3-8b"));
    // Llama 3.1 has no size between 8 and 70 billion.
    let llama = of("model=llama-3.1-8b&method=lora&have=rtx-4090", &catalog);
    assert_eq!(growth(&llama, 2, &catalog).unwrap().model, None);
    assert!(growth(&llama, 10, &catalog).unwrap().model.unwrap().starts_with("llama-3"));
}

/// A count that is said to be enough is enough, with what is said to be changed and nothing else.
#[test]
fn counts_hold_as_they_are_told() {
    let catalog = Catalog::bundled();
    let mut told = 0;
    for fragment in [
        "preset=llm-7b-lora&model=qwen2.5-14b&have=rtx-4090&count=4",
        "preset=llm-7b-full&have=rtx-4090&count=4",
        "preset=joke-chat-qlora&model=qwen3-8b&have=rtx-4060&count=2",
        "preset=llm-7b-lora&have=rtx-3060-12gb&count=2&batch=4&checkpointing=off",
    ] {
        let project = of(fragment, &catalog);
        let gpu = catalog.gpu(&project.hardware.gpu).unwrap();
        let found = several(&project, gpu, project.hardware.count, &catalog).unwrap();
        let said = text::several::lead(Lang::Zh, &found, gpu, None);
        println!("{fragment}: {said}");
        let lean = project.micro_batch == 1 && project.checkpointing == Checkpointing::PerBlock;
        assert!(!lean || !said.contains("批大小减到 1") || said.contains("把模型切开"), "{said}");
        let Some(smallest) = found.smallest else { continue };
        let mut there = project.clone();
        if found.smallest_with.is_some() {
            there.accumulation *= there.micro_batch;
            (there.micro_batch, there.checkpointing) = (1, Checkpointing::PerBlock);
        }
        there.hardware.count = smallest;
        assert!(advise(&there, &catalog).unwrap().verdict.is_good(), "{fragment}: {smallest}");
        told += 1;
    }
    assert!(told > 1, "{told}");
}

/// The table of ways and what is said under it are of one mind.
#[test]
fn the_plan_and_the_table_agree() {
    let catalog = Catalog::bundled();
    for (fragment, count) in [
        ("preset=gongbi-lora-sdxl&have=rtx-4060", 2),
        ("preset=gongbi-lora-flux&have=rtx-4060", 2),
        ("preset=llm-70b-full&have=ascend-910b3&count=16", 16),
        ("preset=llm-7b-full&have=rtx-4090&count=4", 4),
    ] {
        let project = of(fragment, &catalog);
        let gpu = catalog.gpu(&project.hardware.gpu).unwrap();
        let found = several(&project, gpu, count, &catalog).unwrap();
        let samples = samples_per_step(&project).max(u64::from(count));
        let plan = safe_plan(&project, gpu, count, samples, &catalog);
        let fits = found.sharings.iter().any(|way| way.fits);
        let tight = found.sharings.iter().any(|way| way.tight);
        println!("{fragment}: {:?}, {fits} {tight} {:?}", plan.as_ref().map(|p| p.memory.card), found.no_plan());
        assert!(plan.is_some() || !fits, "{fragment}");
        assert!(plan.is_some() || !tight || found.no_plan() == NoPlan::Tight, "{fragment}");
        let said = text::several::lead(Lang::Zh, &found, gpu, found.copies_only.then_some("kohya"));
        assert!(!(tight || fits) || !said.contains("再多卡也装不下"), "{said}");
    }
}

/// Where the cards of somebody wait for each other, the next step is the way in which they do not.
#[test]
fn several_cards_are_not_sent_the_slow_way() {
    let catalog = Catalog::bundled();
    for fragment in [
        "preset=llm-7b-lora&model=qwen2.5-14b&have=rtx-4090&count=4",
        "model=llama-3.1-8b&method=lora&have=rtx-4090&count=2",
    ] {
        let project = of(fragment, &catalog);
        let advice = advise(&project, &catalog).unwrap();
        let before = advice.time.unwrap().run.hours();
        let sooner = advice.sooner.clone().unwrap_or_else(|| panic!("{fragment}"));
        let next = Lang::ALL.map(|lang| text::next(lang, &project, &advice, &catalog));
        println!("{fragment}: {}\n{}", next[0].sentence, next[1].sentence);
        assert_eq!(next[0].action, Action::Sooner);
        let after = advise(&sooner.project, &catalog).unwrap();
        assert!(after.verdict.is_good(), "{:?}", after.verdict);
        let hours = after.time.unwrap().run.hours();
        assert!(
            (hours / before / sooner.slower.unwrap() - 1.0).abs() < 1e-6 && hours < before / 1.4,
            "{before}, {hours}"
        );
    }
    // One card waits for nobody.
    let alone = advise(&on("llm-7b-lora", "rtx-4090", 1, &catalog), &catalog).unwrap();
    assert_eq!(alone.sooner, None);
}

/// Ascend's cards talk over links of their own and have fused attention: a run on them is no month.
#[test]
fn ascend_is_no_bundle_of_slots() {
    let catalog = Catalog::bundled();
    let project = on("llm-70b-full", "ascend-910b3", 16, &catalog);
    let [ascend, a100] = ["ascend-910b3", "a100-sxm-80gb"].map(|id| catalog.gpu(id).unwrap());
    assert!(time::has_fast_link(ascend, 8) && time::has_flash(ascend) && !ascend.link_is_unknown());
    let per_step = |gpu| time::time(&project, gpu, 16, &catalog).unwrap().step.0;
    let ratio = per_step(ascend) / per_step(a100);
    println!("{ratio}");
    assert!((0.7..3.0).contains(&ratio), "{ratio}");
    // Two of eight have one link of seven between them.
    let lora = on("llm-7b-full", "ascend-910b3", 2, &catalog);
    let waiting = |count| {
        let mut there = lora.clone();
        there.hardware.count = count;
        let time = time::time(&there, ascend, count, &catalog).unwrap();
        time.between.0 / time.step.0
    };
    assert!(waiting(2) > waiting(8), "{} {}", waiting(2), waiting(8));
    let sides = side_by_side(&lora, &["metax-c500"], &advise(&lora, &catalog).unwrap(), &catalog);
    let lines = text::side_lines(Lang::Zh, &sides, &catalog);
    assert!(lines.iter().any(|line| line.name == "卡间高速互联" && line.cells == ["没查到"]));
}

/// Who has four cards sees four beside four, or as few of another as do it, and their number.
#[test]
fn sides_follow_the_count() {
    let catalog = Catalog::bundled();
    let project = on("llm-7b-full", "rtx-4090", 4, &catalog);
    let advice = advise(&project, &catalog).unwrap();
    let sides = side_by_side(&project, &["rtx-4090", "a100-sxm-80gb"], &advice, &catalog);
    assert_eq!(sides[0].count, 4);
    assert_eq!(sides[0].choice.as_ref().unwrap().card, advice.memory.card);
    assert!(sides[1].choice.as_ref().is_some_and(|c| c.fits && c.count == sides[1].count), "{:?}", sides[1]);
}

/// What runs on the processor has no CUDA in its memory, and the processor is one of the ways.
#[test]
fn the_processor_is_a_way() {
    let catalog = Catalog::bundled();
    for preset in ["mnist", "cat-dog", "tabular"] {
        let project = in_yuan(preset, "", 1, &catalog);
        let advice = advise(&project, &catalog).unwrap();
        let memory = &advice.memory;
        assert_eq!(memory.parts.iter().copied().sum::<Bytes>(), memory.card, "{preset}");
        assert_eq!(memory.part(Part::Overhead), Bytes::from_mib(530), "{preset}");
        let picked = advice.plans.picks.iter().map(|(_, plan)| plan.way);
        let beside = advice.plans.at_home.iter().map(|own| own.plan.way);
        assert!(picked.chain(beside).any(|way| way == Way::Processor), "{preset}");
    }
    // On a card the context is most of what so small a run needs, and is named as that.
    let project = on("mnist", "rtx-3060-12gb", 1, &catalog);
    let advice = advise(&project, &catalog).unwrap();
    let why = Lang::ALL.map(|lang| text::why(lang, &project, &advice.memory, &catalog));
    println!("{}\n{}", why[0], why[1]);
    assert!(why[0].contains("环境和零碎") && why[1].contains("untime and slack"), "{why:?}");
    // And the hour that a rental takes to set up is told where it is most of the wait.
    let project = in_yuan("mnist", "", 1, &catalog);
    let gpu = catalog.gpu("rtx-5090").unwrap();
    let advice = advise(&project, &catalog).unwrap();
    let said = text::why_not(Lang::Zh, gpu, &why_not(&project, gpu, &advice), &catalog);
    println!("{said}");
    assert!(said.contains("连装环境"), "{said}");
}

/// A clip is made shorter, or drawn by the smaller model of the family, before its pictures shrink to stamps.
#[test]
fn clips_for_a_small_card() {
    let catalog = Catalog::bundled();
    let project = on("wan-lora", "rtx-4060", 1, &catalog);
    let advice = advise(&project, &catalog).unwrap();
    for fix in &advice.fixes {
        println!("{:?} {} {}", fix.kind, fix.card, fix.fits);
    }
    println!("{:?}", advice.make_it_fit.as_ref().map(|plan| (&plan.fixes, plan.card)));
    let plan = advice.make_it_fit.unwrap();
    let smaller = |kind: &FixKind| matches!(kind, FixKind::SmallerModel { .. });
    assert!(advice.fixes.iter().any(|fix| smaller(&fix.kind)) && plan.fixes.iter().any(smaller), "{:?}", plan.fixes);
    assert!(plan.project.image_side >= 480, "{:?}", plan.fixes);
    let clips = of("preset=wan-lora&have=rtx-4060&side=480&frames=81", &catalog);
    let offered = advise(&clips, &catalog).unwrap().fixes;
    println!("{:?}", offered.iter().map(|fix| (fix.kind, fix.card)).collect::<Vec<_>>());
    assert!(offered.iter().any(|fix| matches!(fix.kind, FixKind::FewerFrames { .. })));
}

/// Runs that read alike and are far apart stand nowhere.
#[test]
fn measured_runs_that_read_alike_are_alike() {
    use enough_gpu::advise::nearest::nearest;
    let catalog = Catalog::bundled();
    for preset in catalog.presets.iter() {
        let project = Project::from_preset(preset, &catalog);
        let runs = nearest(&project, &catalog, 3);
        let said: Vec<String> = runs.iter().map(|near| text::measured::near_run(Lang::Zh, near, &catalog)).collect();
        for (i, one) in runs.iter().enumerate() {
            for (j, other) in runs.iter().enumerate().skip(i + 1) {
                let ratio = one.run.peak.0 as f64 / other.run.peak.0 as f64;
                let alike = said[i] == said[j] && one.meter == other.meter;
                assert!(!alike || (0.8..=1.25).contains(&ratio), "{}: {} {ratio}", preset.id, said[i]);
            }
        }
    }
}

/// A card that fits once it is changed is a way like any other: what is called the fastest is no slower than it.
#[test]
fn the_card_at_home_counts_where_a_change_makes_it_fit() {
    let catalog = Catalog::bundled();
    for limit in [Some(500.0), None] {
        let mut project = in_yuan("gongbi-lora-sdxl", "rtx-4060", 1, &catalog);
        project.budget.limit = limit;
        let advice = advise(&project, &catalog).unwrap();
        let plans = &advice.plans;
        assert!(!advice.verdict.is_good() && plans.changed, "{:?}", advice.verdict);
        let own = plans.front.iter().find(|plan| plan.way == Way::Own).unwrap();
        for (pick, plan) in &plans.picks {
            println!("{}", text::pick_reason(Lang::Zh, *pick, plan, plans, &catalog));
            assert!(plan.way == Way::Own || plan.cost.amount < own.cost.amount, "{plan:?}");
        }
        if let Some(said) = text::afford(Lang::Zh, &project, plans, &catalog) {
            println!("{said}{}", text::beside_afford(Lang::Zh, plans, &catalog));
            assert!(said.contains("自己的 RTX 4060") && said.contains("电费"), "{said}");
        }
    }
}

/// Nobody is told to buy what is slower than what they have, two prices of one card, or nothing at all for money.
#[test]
fn budgets_speak_of_what_is_better() {
    let catalog = Catalog::bundled();
    let said = |preset: &str, gpu: &str, count: u32, limit: f64, currency: Currency| {
        let mut project = in_yuan(preset, gpu, count, &catalog);
        (project.budget.currency, project.budget.limit) = (currency, Some(limit));
        let plans = advise(&project, &catalog).unwrap().plans;
        let words = text::afford(Lang::Zh, &project, &plans, &catalog).unwrap_or_default()
            + &text::beside_afford(Lang::Zh, &plans, &catalog);
        println!("{preset} {gpu} x {count}, {limit}: {words}");
        assert!(!words.contains("¥0.00") && !words.contains("$0.00"), "{words}");
        (plans, words)
    };
    let (plans, words) = said("llm-7b-lora", "rtx-4090", 2, 20_000.0, Currency::Cny);
    assert!(plans.keep_own && plans.purchase.is_none() && words.contains("买卡就不必了"), "{words}");
    for (limit, currency) in
        [(3000.0, Currency::Cny), (0.0, Currency::Cny), (20_000.0, Currency::Cny), (3000.0, Currency::Usd)]
    {
        let (plans, words) = said("gongbi-lora-sdxl", "", 1, limit, currency);
        let [first, quicker] = [plans.purchase, plans.quicker_purchase];
        if let (Some(first), Some(quicker)) = (first, quicker) {
            let memory = |plan: &enough_gpu::advise::Plan| catalog.gpu(plan.gpu).unwrap().memory;
            assert!(memory(&first) >= memory(&quicker) && quicker.hours < first.hours, "{words}");
        }
        for plan in [first, quicker].into_iter().flatten() {
            assert!(currency == Currency::Cny || !plan.gpu.contains("-d"), "{}", plan.gpu);
            let row = enough_gpu::advise::advise(&in_yuan("gongbi-lora-sdxl", "", 1, &catalog), &catalog).unwrap();
            let listed = row.cards.iter().find(|c| (c.gpu, c.count) == (plan.gpu, plan.count)).and_then(|c| c.buy);
            let price = plan.price.unwrap();
            assert!(
                currency == Currency::Usd || listed.is_some_and(|b| [b.new, b.used].contains(&Some(price))),
                "{price:?}"
            );
        }
    }
}

/// What nobody should rent is no rent to hold a price against, and a price is told without what comes on top.
#[test]
fn the_curve_is_of_a_fair_rent() {
    use enough_gpu::advise::{rent_or_buy, usual_purchase};
    let catalog = Catalog::bundled();
    let project = in_yuan("joke-chat-qlora", "rtx-3060-12gb", 1, &catalog);
    let advice = advise(&project, &catalog).unwrap();
    let (gpu, count) = usual_purchase(&project, &advice, &catalog).unwrap();
    println!("{gpu} x {count}");
    assert!(advice.cards.iter().any(|c| (c.gpu, c.count) == (gpu, count) && !c.overpriced));
    let project = in_yuan("joke-chat-qlora", "rtx-4090", 1, &catalog);
    let gpu = catalog.gpu("rtx-4090").unwrap();
    let r = rent_or_buy(&project, gpu, 1, Some(1.0), &catalog).unwrap();
    let said = Lang::ALL.map(|lang| text::curve_terms(lang, &r));
    println!("{}\n{}", said[0], said[1]);
    let row = advise(&project, &catalog).unwrap().cards;
    let listed = row.iter().find(|c| c.gpu == "rtx-4090" && c.count == 1).and_then(|c| c.buy?.new).unwrap();
    let price = text::numbers::money(Lang::Zh, listed, true);
    assert!(r.supply.is_some() && said[0].contains(&price) && said[0].contains("合计"), "{price}: {}", said[0]);
}
