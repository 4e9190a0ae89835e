//! Ids taken apart, and cards weighed, by hand.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::advise::tests::ways;

#[test]
fn sizes_are_told_from_names() {
    for size in
        ["7b", "0.5b", "a3b", "e4b", "1b1", "125m", "large", "xl", "ti", "s", "x", "b4", "r50", "w32", "004", "100"]
    {
        assert!(is_size(size), "{size}");
    }
    for name in ["", "llama", "2", "12", "3.1", "1.5", "z", "r", "v2", "qwen3", "7bx", "instruct", "b", "x1y"] {
        // `b` alone is a size: small letters stand for one.
        assert_eq!(is_size(name), name == "b", "{name}");
    }
    for (id, without) in [
        ("yolo11s", "yolo11"),
        ("yolo11m", "yolo11"),
        ("qwen3-4b", "qwen3"),
        ("qwen3-embedding-4b", "qwen3-embedding"),
        ("resnet50", "resnet"),
        ("resnet101", "resnet"),
        ("llama-3.1-8b", "llama-3.1"),
        ("vit-b-16", "vit-16"),
        ("convnext-v2-tiny", "convnext-v2"),
        ("bert-base-uncased", "bert-uncased"),
    ] {
        assert_eq!(line(id), without, "{id}");
    }
}

#[test]
fn larger_models_are_of_the_same_line() {
    let catalog = Catalog::bundled();
    let next = |id: &str, times| larger(catalog.model(id).unwrap(), times, &catalog).map(|m| m.id);
    // 0.6 to 1.7 billion parameters, 1.7 to 4, 4 to 8, 8 to 14 (the models' cards); nothing that is 100 times as large.
    assert_eq!(next("qwen3-0.6b", 3.0), Some("qwen3-1.7b"));
    assert_eq!(next("qwen3-4b", 2.0), Some("qwen3-8b"));
    assert_eq!(next("yolo11s", 2.0), Some("yolo11m"));
    assert_eq!(next("qwen3-0.6b", 1e6), None);
}

#[test]
fn cooling_goes_by_the_family() {
    let catalog = Catalog::bundled();
    for (id, expected) in [
        ("rtx-4090", Cooling::Fans),
        ("rtx-a5000", Cooling::Blower),
        ("l4", Cooling::Server),
        ("a100-sxm-80gb", Cooling::Server),
        ("apple-m3-ultra-96gb", Cooling::Machine),
    ] {
        assert_eq!(cooling(catalog.gpu(id).unwrap()), expected, "{id}");
    }
}

fn plan(gpu: &'static str, cost: f64, wait: f64) -> Plan {
    ways::plan(Way::Rent, gpu, 1, cost, wait)
}

#[test]
fn a_card_is_beaten_by_what_is_no_worse_in_both() {
    let catalog = Catalog::bundled();
    let project = Project { model: "resnet50".into(), ..Project::default() };
    let mut advice = advise(&project, &catalog).unwrap();
    let (cheap, middle) = (plan("rtx-4090", 5.0, 10.0), plan("a100-sxm-80gb", 8.0, 5.0));
    advice.plans.picks = vec![(Pick::Cheapest, cheap), (Pick::Balanced, middle)];
    advice.plans.front = vec![plan("l4", 1.0, 20.0), plan("t4", 3.0, 15.0), plan("h100-sxm", 9.0, 1.0)];
    let beaten = |gpu, cost, wait, by| {
        let plan = plan(gpu, cost, wait);
        assert_eq!(weighed(plan, &advice), Some(Against::Beaten { plan, by }), "{gpu} {cost} {wait}");
    };
    beaten("rtx-3090", 6.0, 12.0, cheap);
    // As dear and as long is no better.
    beaten("rtx-3090", 5.0, 10.0, cheap);
    beaten("rtx-3090", 8.0, 5.0, middle);
    // No pick is better; of the front the quicker one that is.
    beaten("rtx-3090", 4.0, 21.0, plan("t4", 3.0, 15.0));
    beaten("rtx-3090", 2.0, 21.0, plan("l4", 1.0, 20.0));
    let traded = |gpu, cost, wait, than| {
        let plan = plan(gpu, cost, wait);
        assert_eq!(weighed(plan, &advice), Some(Against::Trade { plan, than }), "{gpu} {cost} {wait}");
    };
    traded("rtx-3090", 4.9, 9.0, middle);
    traded("rtx-3090", 7.9, 5.5, middle);
    // A card is not held against itself.
    traded("rtx-4090", 6.0, 12.0, middle);
    advice.plans.picks.remove(1);
    let (plan, than) = (plan("rtx-3090", 4.9, 9.0), cheap);
    assert_eq!(weighed(plan, &advice), Some(Against::Trade { plan, than }));
    advice.plans.picks.clear();
    assert_eq!(weighed(plan, &advice), None);
}
