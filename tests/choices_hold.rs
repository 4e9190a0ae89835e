//! What is advised can be done: defaults that people train with, prices of the whole run, fixes that lead somewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::nearest::nearest;
use enough_gpu::advise::recipe::recipes;
use enough_gpu::advise::rig::{Check, NotAtHome, not_at_home, rig};
use enough_gpu::advise::{Advice, FixKind, Verdict, advise, growth, make_it_fit};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::link::{Link, write};
use enough_gpu::project::{Checkpointing, Choice, Framework, Method, Objective, Precision, Project};
use enough_gpu::text::{self, Lang, rig as rig_words};
use enough_gpu::units::{Bytes, Currency, Money};

fn of(link: &str, catalog: &Catalog) -> Project {
    let (project, unread) = Link::new("", link).project(Currency::Usd, catalog).unwrap();
    assert!(unread.is_empty(), "{link}: {unread:?}");
    project
}

fn told(link: &str, catalog: &Catalog) -> (Project, Advice) {
    let project = of(link, catalog);
    let advice = advise(&project, catalog).unwrap();
    (project, advice)
}

#[test]
fn a_denoiser_starts_as_people_train_it() {
    let catalog = Catalog::bundled();
    for (model, side, frames, library) in [
        ("hunyuanvideo", 960, 129, Framework::Kohya),
        ("wan2.1-t2v-1.3b", 632, 81, Framework::Kohya),
        ("wan2.2-t2v-a14b", 960, 81, Framework::Kohya),
        ("cogvideox-5b", 588, 49, Framework::Diffusers),
        ("flux.1-dev", 1024, 1, Framework::Kohya),
        ("sdxl", 1024, 1, Framework::Kohya),
        ("qwen-image", 1328, 1, Framework::Diffusers),
    ] {
        let project = of(&format!("model={model}"), &catalog);
        assert_eq!((project.method, project.image_side, project.frames), (Method::Lora, side, frames), "{model}");
        assert_eq!((project.framework, project.checkpointing), (library, Checkpointing::PerBlock), "{model}");
        // A full fine-tune keeps its word through a link.
        let full = Project { method: Method::Full, ..project };
        let link = write(&full, Currency::Usd, &catalog);
        assert_eq!(of(&link, &catalog).method, Method::Full, "{link}");
    }
    assert_eq!(of("model=sd1.5", &catalog).checkpointing, Checkpointing::Off);
}

#[test]
fn what_is_far_too_large_still_gets_a_way_out() {
    let catalog = Catalog::bundled();
    for link in [
        "model=wan2.2-t2v-a14b&method=lora&have=rtx-4090",
        "model=wan2.2-t2v-a14b&method=lora&checkpointing=off&have=rtx-4090",
        "model=wan2.2-t2v-a14b&method=lora&checkpointing=off&side=1280&have=rtx-4090",
    ] {
        let (project, advice) = told(link, &catalog);
        assert!(!advice.verdict.is_good(), "{link}");
        let gpu = catalog.gpu("rtx-4090").unwrap();
        assert!(make_it_fit(&project, gpu, &catalog).is_some() && advice.make_it_fit.is_some(), "{link}");
    }
    // Where nothing does, no adapters are advised to whom has them, nor where there are none.
    for link in ["model=network&params=1000000000000&have=rtx-4090", "model=llama-3.1-405b&method=qlora&seq=1048576"] {
        let (project, advice) = told(link, &catalog);
        for lang in [Lang::Zh, Lang::En] {
            let next = text::next(lang, &project, &advice, &catalog).sentence;
            assert!(!next.contains("LoRA"), "{link}: {next}");
        }
    }
}

#[test]
fn the_whole_run_decides_who_rents_it_out() {
    let catalog = Catalog::bundled();
    let (_, advice) = told("model=qwen2.5-7b&method=qlora&have=none", &catalog);
    let a100 = advice.cards.iter().find(|c| c.gpu == "a100-sxm-80gb" && c.count == 1).unwrap();
    let rent = a100.rent.unwrap();
    // A quarter of an hour is not sold by the hundred.
    assert!(rent.run.unwrap().amount < 5.0, "{rent:?}");
    // Nothing is advised that the budget does not buy.
    let (project, advice) = told("model=llama-3.1-8b&method=full&have=none&budget=1", &catalog);
    let next = text::next(Lang::En, &project, &advice, &catalog).sentence;
    assert!(next.contains("Spend nothing yet") && !next.contains("RunPod"), "{next}");
}

#[test]
fn a_disk_holds_what_the_run_writes() {
    let catalog = Catalog::bundled();
    let rent = |link: &str| {
        let (_, advice) = told(link, &catalog);
        advice.cards.iter().find_map(|c| c.rent).unwrap().disk_gb
    };
    assert_eq!(rent("model=qwen2.5-7b&method=qlora"), 100.0);
    // 141 GB of weights, and three checkpoints of 12 bytes a weight.
    assert!((2500.0..3500.0).contains(&rent("model=llama-3.1-70b&method=full")));
}

#[test]
fn prices_of_used_cards_make_sense() {
    let catalog = Catalog::bundled();
    for currency in [Currency::Cny, Currency::Usd] {
        let mut project = of("model=sd1.5&have=none", &catalog);
        project.budget.currency = currency;
        for choice in advise(&project, &catalog).unwrap().cards {
            if let Some((new, used)) = choice.buy.and_then(|b| b.new.zip(b.used)) {
                assert!(used.amount < new.amount, "{}: {used:?} against {new:?}", choice.gpu);
            }
        }
        // What lost nothing yet still is a used card on the day after.
        let worth = |id: &str| {
            let gpu = catalog.gpu(id).unwrap();
            let found = enough_gpu::advise::rent_or_buy(&project, gpu, 1, Some(1.0), &catalog).unwrap();
            let new = found.new.unwrap();
            new.worth_after.amount / new.outlay.amount
        };
        assert!((worth("rtx-4090-d") - worth("rtx-4090")).abs() < 0.2, "{} {}", worth("rtx-4090-d"), worth("rtx-4090"));
    }
}

#[test]
fn a_machine_of_ones_own_is_for_that_card() {
    let catalog = Catalog::bundled();
    let checks = |id: &str, count| rig(catalog.gpu(id).unwrap(), count, Bytes::from_gib(32.0)).unwrap();
    let amd = checks("rx-7900-xtx", 1);
    assert!(amd.checks.contains(&Check::EightPin { each: 2, cables: 2 }), "{:?}", amd.checks);
    assert!(!amd.checks.iter().any(|c| matches!(c, Check::TwelveVolt { .. })));
    let two = checks("rtx-3090", 2);
    assert!(two.checks.iter().any(|c| matches!(c, Check::EightPin { cables: 4, .. })));
    assert!(two.checks.iter().any(|c| matches!(c, Check::Bridge { .. })));
    assert!(!checks("rtx-3090", 1).checks.iter().any(|c| matches!(c, Check::Bridge { .. })));
    assert_eq!(not_at_home(catalog.gpu("rtx-4090-laptop").unwrap(), 1), Some(NotAtHome::Laptop));
    assert_eq!(not_at_home(catalog.gpu("apple-m4-max").unwrap(), 1), Some(NotAtHome::WholeComputer));
    // The month's electricity is that of the average that stands beside it.
    let said = rig_words::power(Lang::En, &amd, Money::usd(0.2), 10.0);
    assert!(said.contains(" W on average"), "{said}");
}

#[test]
fn sampling_is_not_passed_over() {
    let catalog = Catalog::bundled();
    let (project, advice) = told("preset=grpo&have=rtx-4090", &catalog);
    assert_eq!(project.objective, Objective::Sampled);
    assert!(matches!(advice.verdict, Verdict::Fits { .. }));
    assert!(text::next(Lang::En, &project, &advice, &catalog).sentence.contains("not counted"));
    assert!(text::next(Lang::Zh, &project, &advice, &catalog).sentence.contains("没算"));
}

#[test]
fn files_run_as_they_stand() {
    let catalog = Catalog::bundled();
    let file = |link: &str| recipes(&of(link, &catalog), &catalog).into_iter().map(|r| r.text).collect::<String>();
    let kohya = file("preset=gongbi-lora-sd15&have=rtx-4060");
    assert!(kohya.contains("--network_alpha=16") && kohya.contains("--caption_extension=.txt"), "{kohya}");
    // gpt-oss comes in 4 bit: bitsandbytes refuses it, and no fused kernel has its sinks.
    assert!(file("model=gpt-oss-20b&method=qlora&framework=transformers").is_empty());
    let lora = file("model=gpt-oss-20b&method=lora&framework=transformers");
    assert!(lora.contains("Mxfp4Config(dequantize=True)") && lora.contains("\"eager\""), "{lora}");
    assert!(file("model=gpt-oss-20b&method=qlora&framework=unsloth").contains("load_in_4bit=True"));
    let (_, advice) = told("model=gpt-oss-120b&method=lora&seq=1024&have=h100-sxm", &catalog);
    assert!(advice.fixes.iter().all(|fix| fix.kind != FixKind::QLora), "{:?}", advice.fixes);
    let plan = advice.make_it_fit.unwrap();
    let library = FixKind::Library { framework: Framework::Unsloth };
    assert!(!plan.fixes.contains(&FixKind::QLora) || plan.fixes.contains(&library), "{:?}", plan.fixes);
}

#[test]
fn old_cards_are_told_of_their_format() {
    let catalog = Catalog::bundled();
    let mut project = of("preset=gongbi-lora-sdxl&have=gtx-1060-6gb&precision=amp-bf16", &catalog);
    let plan = make_it_fit(&project, catalog.gpu("gtx-1060-6gb").unwrap(), &catalog).unwrap();
    project = plan.project;
    let advice = advise(&project, &catalog).unwrap();
    assert_eq!(text::next(Lang::En, &project, &advice, &catalog).action, text::Action::Fp16);
}

#[test]
fn a_larger_batch_is_a_round_one() {
    let catalog = Catalog::bundled();
    let (project, advice) = told("preset=mnist&have=rtx-3060-12gb", &catalog);
    let next = text::next(Lang::En, &project, &advice, &catalog).sentence;
    assert!(next.contains("A batch of 512 would fit too, but the learning rate has to follow"), "{next}");
}

#[test]
fn measured_neighbours_say_what_differs() {
    let catalog = Catalog::bundled();
    let near = |link: &str| {
        let runs = nearest(&of(link, &catalog), &catalog, 3);
        let said: Vec<String> = runs.iter().map(|near| text::measured::near_run(Lang::En, near, &catalog)).collect();
        (runs, said)
    };
    let (runs, said) = near("preset=llm-70b-full&have=h100-sxm&count=8");
    for (run, said) in runs.iter().zip(&said) {
        let differs = run.run.precision != Precision::MasterBf16.id() || !run.run.offload.is_empty();
        let names = ["bf16", "main memory", "fp32"].iter().any(|word| said.contains(word));
        assert!(!differs || names, "{said}");
    }
    // From scratch is another method than from trained weights.
    let (runs, said) = near("preset=cat-dog&have=rtx-3060-laptop");
    for (run, said) in runs.iter().zip(&said) {
        assert_eq!(said.contains("same method"), run.run.method == "full", "{said}");
    }
}

#[test]
fn what_is_larger_is_no_older() {
    let catalog = Catalog::bundled();
    let project = of("model=llama-3.1-8b&method=lora&have=rtx-4090", &catalog);
    // Ten times: its own line has nothing between 8 and 70 billion.
    let model = catalog.model(growth(&project, 10, &catalog).unwrap().model.unwrap()).unwrap();
    assert!(model.release >= catalog.model("llama-3.1-8b").unwrap().release, "{}", model.id);
}
