//! The bundled catalog is whole, and what PyTorch can use of a card is what people see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::{Architecture, Catalog, Domain, params};
use std::collections::HashSet;

#[test]
fn every_table_is_there() {
    let catalog = Catalog::bundled();
    assert!(catalog.gpus.len() >= 194, "{} cards", catalog.gpus.len());
    assert_eq!(catalog.models.len(), 332 + 234 + 42 + 111);
    assert_eq!(catalog.offers.len(), 334);
    assert_eq!(catalog.free.len(), 26);
    assert_eq!(catalog.presets.len(), 78);
    for domain in
        [Domain::Language, Domain::Vision, Domain::Diffusion, Domain::Audio, Domain::VisionLanguage, Domain::Small]
    {
        assert!(catalog.models.iter().any(|m| m.domain == domain), "{domain:?}");
    }
}

#[test]
fn ids_are_unique() {
    let catalog = Catalog::bundled();
    let models: HashSet<_> = catalog.models.iter().map(|m| m.id).collect();
    let gpus: HashSet<_> = catalog.gpus.iter().map(|g| g.id).collect();
    assert_eq!((models.len(), gpus.len()), (catalog.models.len(), catalog.gpus.len()));
}

#[test]
fn usable_memory_is_what_pytorch_reports() {
    let catalog = Catalog::bundled();
    // Total capacities in public out-of-memory messages, GiB.
    let seen = [
        ("rtx-5090", 31.36, 31.38),
        ("rtx-5070-ti", 15.4, 15.7),
        ("rtx-4090", 23.6, 23.7),
        ("rtx-4090-d", 23.5, 23.7),
        ("rtx-3090", 23.6, 23.7),
        ("rtx-4070", 11.65, 11.8),
        ("rtx-3060-12gb", 11.7, 11.8),
        ("rtx-3070", 7.7, 7.95),
        ("rtx-4060", 7.7, 7.75),
        ("rtx-2060-6gb", 5.76, 6.0),
        ("rtx-2080-ti", 10.7, 10.8),
        ("gtx-1080-ti", 10.9, 10.92),
        ("t4", 14.5, 14.75),
        ("a10g", 22.0, 22.3),
        ("l4", 22.0, 22.3),
        ("l2", 22.0, 22.3),
        ("v100-sxm2-16gb", 15.7, 15.8),
        ("v100-pcie-32gb", 31.7, 31.76),
        ("a100-pcie-40gb", 39.3, 39.6),
        ("a100-sxm-80gb", 79.1, 79.4),
        ("h100-pcie", 78.9, 79.25),
        ("h200-nvl", 139.0, 141.0),
        ("rtx-a6000", 47.35, 47.55),
        ("rtx-a5000", 23.5, 23.7),
        ("l40s", 44.35, 44.6),
        ("a40", 44.3, 44.6),
        ("mi250x", 63.9, 64.0),
        ("rx-6700-xt", 11.97, 12.0),
        ("ascend-910b3", 60.9, 61.4),
        ("apple-m2-max", 71.9, 72.1),
        ("apple-m2-max-32gb", 21.3, 21.4),
        ("apple-m1", 10.6, 10.7),
        ("apple-m4-max", 107.4, 107.6),
        ("apple-m4-max-64gb", 47.9, 48.1),
    ];
    for (id, low, high) in seen {
        let usable = catalog.gpu(id).expect(id).usable.gib();
        assert!((low..=high).contains(&usable), "{id}: {usable:.2} GiB");
    }
    for gpu in catalog.gpus.iter() {
        let share = gpu.usable.gib() * f64::from(gpu.devices) / gpu.memory.gib();
        assert!((0.6..1.02).contains(&share), "{}: {share}", gpu.id);
    }
}

#[test]
fn presets_name_models_of_the_catalog() {
    let catalog = Catalog::bundled();
    for preset in catalog.presets.iter() {
        assert!(preset.model.is_empty() || catalog.model(preset.model).is_some(), "{}", preset.id);
    }
    assert!(catalog.presets.iter().filter(|p| p.from_articles).count() >= 8);
}

#[test]
fn composite_cells_are_added_up() {
    let catalog = Catalog::bundled();
    let wan = catalog.model("wan2.2-t2v-a14b").unwrap();
    let Architecture::Diffusion(diffusion) = &wan.architecture else { panic!("not a diffusion model") };
    assert_eq!((wan.params, diffusion.denoiser_params, diffusion.denoisers), (28_576_983_168, 14_288_491_584, 2));
    let Architecture::Diffusion(sd3) = &catalog.model("sd3-medium").unwrap().architecture else { panic!() };
    assert_eq!((sd3.text_length, sd3.text_encoders.len()), (Some(333.0), 3));
    let Architecture::Diffusion(net) = &catalog.model("controlnet-sd15").unwrap().architecture else { panic!() };
    assert_eq!((net.frozen[0].name, net.frozen[0].params), ("SD1.5 UNet", 859_520_964));
    assert_eq!(catalog.model("pix2pix").unwrap().params, 57_182_000);
    let Architecture::Vision(volume) = &catalog.model("nnunet-3d").unwrap().architecture else { panic!() };
    assert_eq!((volume.resolution, volume.depth), (128.0, 128.0));
}

#[test]
fn parameter_counts_follow_from_the_architecture() {
    let catalog = Catalog::bundled();
    let (mut exact, mut counted) = (0, 0);
    for model in catalog.models.iter() {
        let Some(count) = model.language().and_then(|m| params::count(m).unwrap()) else { continue };
        let away = count.total.abs_diff(model.params) as f64 / model.params as f64;
        assert!(away < 0.01, "{}: {} stated, {} counted", model.id, model.params, count.total);
        exact += usize::from(away == 0.0);
        counted += 1;
    }
    println!("{exact} of {counted} exact");
    assert_eq!(counted, 329);
}
