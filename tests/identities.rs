//! Figures that are told separately and hang together: costs, times, sizes. Each is worked out again from the others.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::recipe::recipes;
use enough_gpu::advise::{StepUp, advise, rent_or_buy};
use enough_gpu::catalog::{Catalog, Domain};
use enough_gpu::estimate::{Part, memory, time};
use enough_gpu::project::{Framework, Method, Offload, Project, Sharding};

fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-6), "{what}: {a} and {b}");
}

/// A card that is owned costs its price and its supply, less what it is worth afterwards, and power for each hour; a rented
/// one the hours and the disk that is kept between them; from the hour on that is told, owning is the cheaper one.
#[test]
fn renting_and_buying_add_up() {
    let catalog = Catalog::bundled();
    let project = Project { model: "qwen2.5-7b".into(), method: Method::QLora, ..Project::default() };
    let (mut with_supply, mut crossings) = (0, 0);
    for gpu in catalog.gpus.iter() {
        for count in [1, 2] {
            let Some(found) = rent_or_buy(&project, gpu, count, None, &catalog) else { continue };
            let weeks = |hours: f64| hours / found.hours_a_week;
            let rented = |hours: f64| found.rent_hour.amount * hours + found.disk_week.amount * weeks(hours);
            for point in &found.points {
                close(point.rent, rented(point.hours), gpu.id);
            }
            let power = found.power_hour.map_or(0.0, |m| m.amount);
            let end = found.two_years;
            close(weeks(end.hours), 104.0, "two years");
            for (purchase, own) in [(found.new, end.new), (found.used, end.used)] {
                let (Some(purchase), Some(own)) = (purchase, own) else { continue };
                close(own, purchase.outlay.amount - purchase.worth_after.amount + power * end.hours, gpu.id);
                let supply = found.supply.map_or(0.0, |(_, price)| price.amount);
                assert!(purchase.outlay.amount > purchase.worth_after.amount + supply, "{}", gpu.id);
                with_supply += usize::from(supply > 0.0);
            }
            // At the crossing both cost the same, at most a step of the search apart.
            let at = |hours| rent_or_buy(&project, gpu, count, Some(hours), &catalog).unwrap().project.unwrap();
            for (purchase, used) in [(found.new, false), (found.used, true)] {
                let Some(from) = purchase.and_then(|p| p.pays_from_h) else { continue };
                let own = |hours| if used { at(hours).used.unwrap() } else { at(hours).new.unwrap() };
                assert!(own(from * 0.999) >= rented(from * 0.999), "{} pays before {from} h", gpu.id);
                assert!(own(from * 1.001) <= rented(from * 1.001), "{} does not pay after {from} h", gpu.id);
                crossings += 1;
            }
        }
    }
    assert!(with_supply > 20 && crossings > 5, "{with_supply} {crossings}");
}

/// Operations over what the cards could do in the time: the share is the same however it is worked out.
#[test]
fn the_share_of_a_cards_speed_is_what_it_says() {
    let catalog = Catalog::bundled();
    for (model, method) in [("qwen2.5-7b", Method::Lora), ("llama-3.1-8b", Method::Full), ("sdxl", Method::Lora)] {
        let mut project = Project { model: model.into(), method, ..Project::default() };
        project.hardware.sharding = Sharding::Ddp;
        for id in ["rtx-4090", "h100-sxm", "a100-sxm-80gb"] {
            let gpu = catalog.gpu(id).unwrap();
            // What one card could do at the most, operations a second.
            let peaks = [1, 2, 8].map(|count| {
                let t = time(&project, gpu, count, &catalog).unwrap();
                close(t.run.0, t.step.0 * t.steps, model);
                t.flops.0 / (t.mfu * t.step.0 * f64::from(count))
            });
            close(peaks[0], peaks[1], id);
            close(peaks[0], peaks[2], id);
            assert!((5e13..3e15).contains(&peaks[0]), "{id}: {}", peaks[0]);
        }
    }
}

/// A faster plan is worth it where the wait shrinks about as much as the price grows.
#[test]
fn a_step_up_is_worth_what_it_saves() {
    let catalog = Catalog::bundled();
    let preset = catalog.preset("joke-chat-qlora").unwrap();
    let advice = advise(&Project::from_preset(preset, &catalog), &catalog).unwrap();
    let plan = *advice.plans.front.first().unwrap();
    let step = |dearer, quicker| StepUp { from: plan, to: plan, dearer, quicker }.is_worth_it();
    assert!(step(Some(0.5), 0.5) && step(Some(1.0), 0.5) && step(None, 0.01));
    assert!(!step(Some(2.0), 0.05) && !step(Some(9.0), 0.5));
}

/// What is kept of a volume grows with its depth, and with the square of its side.
#[test]
fn volumes_grow_as_volumes_do() {
    let catalog = Catalog::bundled();
    let mut found = 0;
    let volumes = |id: &str| id.starts_with("nnunet") && !id.ends_with("2d");
    for model in catalog.models.iter().filter(|m| m.domain == Domain::Vision && volumes(m.id)) {
        let usual = Project { model: model.id.into(), method: Method::Full, ..Project::default() };
        let kept = |side, frames| {
            let project = Project { image_side: side, frames, micro_batch: 8, ..usual.clone() };
            memory(&project, None, &catalog).map(|m| m.part(Part::Activations).0 as f64)
        };
        let (Ok(small), Ok(deep), Ok(wide)) = (kept(128, 128), kept(128, 256), kept(256, 128)) else { continue };
        assert!((1.8..2.2).contains(&(deep / small)), "{}: {small} {deep}", model.id);
        assert!((3.6..4.4).contains(&(wide / small)), "{}: {small} {wide}", model.id);
        found += 1;
    }
    assert!(found > 0, "no model of volumes was looked at");
}

/// DeepSpeed is told where what leaves the cards goes: main memory, or a disk.
#[test]
fn deepspeed_is_told_the_place() {
    let catalog = Catalog::bundled();
    for (offload, device, other) in [(Offload::Nvme, "nvme", "\"cpu\""), (Offload::All, "cpu", "nvme")] {
        let mut project = Project {
            model: "llama-3.1-8b".into(),
            method: Method::Full,
            framework: Framework::Transformers,
            offload,
            ..Project::default()
        };
        (project.hardware.count, project.hardware.sharding) = (4, Sharding::Zero3);
        let files = recipes(&project, &catalog);
        let text = &files.iter().find(|file| file.file == "ds_config.json").unwrap().text;
        assert!(text.contains(&format!("\"device\": \"{device}\"")) && !text.contains(other), "{text}");
    }
}
