//! The bundled catalog is whole, and what PyTorch can use of a card is what people see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::{Architecture, Catalog, Domain, measured_throughput, params};
use std::collections::{HashMap, HashSet};
use std::path::Path;

#[test]
fn every_table_is_there() {
    let catalog = Catalog::bundled();
    assert!(catalog.gpus.len() >= 194, "{} cards", catalog.gpus.len());
    assert_eq!(catalog.models.len(), 333 + 423 + 59 + 115);
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

/// Every row of a file: its cells by the name of their column.
fn csv_rows(file: &str) -> Vec<HashMap<String, String>> {
    let path = Path::new("src/catalog/data").join(file);
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

fn number(row: &HashMap<String, String>, column: &str) -> Option<f64> {
    Some(row[column].as_str()).filter(|cell| !cell.is_empty()).map(|cell| cell.parse().unwrap())
}

#[test]
fn what_is_compiled_in_is_what_the_files_say() {
    let catalog = Catalog::bundled();
    for row in csv_rows("gpus.csv") {
        let gpu = catalog.gpu(&row["id"]).unwrap_or_else(|| panic!("{}", row["id"]));
        assert!(gpu.name.starts_with(&row["name"]));
        assert_eq!(Some(gpu.memory.gib()), number(&row, "memory_gib"), "{}", gpu.id);
        let figures = [
            (Some(gpu.bandwidth_gb_s), "bandwidth_gb_s"),
            (gpu.rates.fp32, "fp32_tflops"),
            (gpu.rates.tf32, "tf32_tflops_dense"),
            (gpu.rates.fp16, "fp16_tensor_tflops_dense"),
            (gpu.rates.bf16, "bf16_tflops_dense"),
            (gpu.rates.fp8, "fp8_tflops_dense"),
            (gpu.rates.fp64, "fp64_tflops"),
            (gpu.tdp_w, "tdp_w"),
            (gpu.nvlink_gb_s, "nvlink_gb_s"),
            (gpu.min_psu_w, "min_psu_w"),
            (gpu.slots, "slots"),
            (gpu.price.msrp_usd, "msrp_usd"),
            (gpu.price.street_usd, "street_price_usd"),
            (gpu.price.used_usd, "used_price_usd"),
            (gpu.price.street_cny, "street_price_cny"),
        ];
        for (figure, column) in figures {
            assert_eq!(figure, number(&row, column), "{} {column}", gpu.id);
        }
        let words = [
            (gpu.architecture, "architecture"),
            (gpu.launched, "launched"),
            (gpu.pcie, "pcie"),
            (gpu.support_note, "support_note"),
            (gpu.rates_note, "flops_note"),
            (gpu.source.place, "source"),
            (gpu.source.as_of, "as_of"),
            (gpu.price.source.place, "price_source"),
            (gpu.price.source.as_of, "price_as_of"),
        ];
        for (word, column) in words {
            assert_eq!(word, row[column], "{} {column}", gpu.id);
        }
        assert_eq!(gpu.ecc, row["ecc"] == "yes");
        assert_eq!(format!("{:?}", gpu.vendor).to_lowercase(), row["vendor"].to_lowercase().replace(' ', ""));
        assert_eq!(format!("{:?}", gpu.family).to_lowercase(), row["family"]);
    }
    let offers = csv_rows("cloud.csv");
    assert_eq!(offers.len(), catalog.offers.len());
    for (row, offer) in offers.iter().zip(catalog.offers.iter()) {
        assert_eq!(
            [offer.provider, offer.instance, offer.gpu],
            ["provider", "instance", "gpu"].map(|c| row[c].as_str())
        );
        assert_eq!(offer.usd_h, number(row, "price_usd_h"));
        assert_eq!(offer.spot_usd_h, number(row, "spot_usd_h"));
        assert_eq!(offer.cny_h, number(row, "price_cny_h"));
        assert_eq!(Some(f64::from(offer.gpus)), number(row, "gpus"));
        assert_eq!([offer.source.place, offer.source.as_of], ["source", "as_of"].map(|c| row[c].as_str()));
    }
    for row in csv_rows("llm.csv") {
        let model = catalog.model(&row["id"]).unwrap();
        let language = model.language().unwrap();
        let figures = [
            (model.params, "params_total"),
            (language.params_active, "params_active"),
            (language.layers.into(), "layers"),
            (language.hidden.into(), "hidden"),
            (language.intermediate.into(), "intermediate"),
            (language.heads.into(), "heads"),
            (language.kv_heads.into(), "kv_heads"),
            (language.head_dim.into(), "head_dim"),
            (language.vocab.into(), "vocab"),
            (language.moe_experts.into(), "moe_experts"),
            (language.moe_active.into(), "moe_active"),
            (language.moe_shared.into(), "moe_shared"),
            (language.moe_intermediate.into(), "moe_intermediate"),
            (language.max_context.into(), "max_context"),
        ];
        for (figure, column) in figures {
            assert_eq!(figure as f64, number(&row, column).unwrap_or(0.0), "{} {column}", model.id);
        }
        let words = [
            (model.name, "name"),
            (model.repo, "hf_repo"),
            (model.release, "release"),
            (language.family, "family"),
            (language.norm, "norm"),
            (language.attention, "attention"),
            (language.dense_layers_first, "dense_layers_first"),
            (language.bias, "qkv_bias"),
            (language.positional, "positional"),
            (language.extras, "extras"),
        ];
        for (word, column) in words {
            assert_eq!(word, row[column], "{} {column}", model.id);
        }
        assert!(row["source"].starts_with(model.source.place), "{}", model.id);
    }
    let of_file = |file: &str| csv_rows(file).into_iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
    let files = ["llm.csv", "vision.csv", "diffusion.csv", "audio_other.csv"].map(of_file).concat();
    assert_eq!(files, catalog.models.iter().map(|m| m.id).collect::<Vec<_>>());
    assert_eq!(of_file("tasks.csv"), catalog.presets.iter().map(|p| p.id).collect::<Vec<_>>());
    assert_eq!(csv_rows("free.csv").len(), catalog.free.len());
    assert_eq!(csv_rows("performance.csv").len(), measured_throughput().len());
}

#[test]
fn every_file_is_explained() {
    let readme = std::fs::read_to_string("src/catalog/data/README.md").unwrap();
    for file in std::fs::read_dir("src/catalog/data").unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || readme.contains(&name), "the README does not say what {name} is");
    }
}
