//! Figures beside the formulas of papers and the simplest arithmetic there is.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::pretraining::tokens;
use enough_gpu::advise::recipe::recipes;
use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::{CannotEstimate, memory, time};
use enough_gpu::project::{Checkpointing, Framework, Method, Project, Sharding};

fn project(model: &str, method: Method) -> Project {
    Project { model: model.into(), method, ..Project::default() }
}

/// `6 N + 12 L H Q T` operations a token (`PaLM`, appendix B), of which causal attention needs half of the second part. With
/// adapters the frozen weights get no gradient: `4 N`.
#[test]
fn training_takes_six_operations_a_weight_and_token() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("h100-sxm").unwrap();
    for id in ["llama-3.1-8b", "qwen2.5-7b", "mistral-7b-v0.3", "llama-3.1-70b"] {
        let row = catalog.model(id).unwrap();
        let m = row.language().unwrap();
        let width = f64::from(m.heads) * f64::from(m.head_dim);
        // The table of embeddings is looked up, not multiplied.
        let weights = row.params as f64 - f64::from(m.vocab) * f64::from(m.hidden);
        for (method, each) in [(Method::Full, 6.0), (Method::Lora, 4.0)] {
            for sequence in [1024_u64, 8192] {
                let mut p = project(id, method);
                (p.sequence, p.micro_batch, p.accumulation) = (sequence, 2, 4);
                p.checkpointing = Checkpointing::Off;
                let told = time(&p, gpu, 1, &catalog).unwrap().flops.0;
                let attention = 6.0 * f64::from(m.layers) * width * sequence as f64;
                let formula = (each * weights + attention) * (8 * sequence) as f64;
                assert!((told / formula - 1.0).abs() < 0.02, "{id} {method:?} {sequence}: {told:e}, {formula:e}");
                // What is computed again is no progress: it costs time, and counts as no operation of the model.
                p.checkpointing = Checkpointing::PerBlock;
                assert_eq!(time(&p, gpu, 1, &catalog).unwrap().flops.0, told, "{id}");
            }
        }
    }
}

/// Twice the side is four times the pixels, and as many operations; a batch of pictures takes that of each.
#[test]
fn pictures_take_operations_by_their_pixels() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    for id in ["resnet50", "yolov8m", "unet"] {
        let Some(row) = catalog.model(id) else { continue };
        let flops = |side, batch| {
            let p = Project { image_side: side, micro_batch: batch, ..project(row.id, Method::Full) };
            time(&p, gpu, 1, &catalog).unwrap().flops.0
        };
        let ratio = flops(448, 4) / flops(224, 4);
        assert!((3.9..4.1).contains(&ratio), "{id}: {ratio}");
        assert!((flops(224, 8) / flops(224, 4) - 2.0).abs() < 1e-9, "{id}");
    }
}

#[test]
fn tokens_are_samples_by_length_by_rounds() {
    let p = Project { samples: 1000, epochs: 2.0, sequence: 4096, ..Project::default() };
    assert_eq!(tokens(&p), 8_192_000.0);
}

/// What no number of 64 bits holds is refused in words, whichever way it is too large.
#[test]
fn what_is_beyond_all_measure_is_refused() {
    let catalog = Catalog::bundled();
    let refused = |p: &Project| matches!(memory(p, None, &catalog), Err(CannotEstimate::TooLarge));
    let huge = 1 << 40;
    let language = project("llama-3.1-8b", Method::Lora);
    assert!(refused(&Project { micro_batch: huge, sequence: 1 << 20, ..language.clone() }));
    assert!(refused(&Project { sequence: huge, ..language.clone() }));
    assert!(refused(&Project { micro_batch: 1 << 30, sequence: 1 << 30, ..language.clone() }));
    let mut wide = language.clone();
    wide.lora.rank = 1 << 50;
    assert!(refused(&wide));
    let picture = project("yolov8m", Method::Full);
    assert!(refused(&Project { image_side: 1 << 30, ..picture.clone() }));
    assert!(refused(&Project { micro_batch: 1 << 40, image_side: 1 << 12, ..picture.clone() }));
    assert!(!refused(&language) && !refused(&picture));
}

/// Every program of one machine reads the whole model, but where weights are divided one reads it for all.
#[test]
fn main_memory_holds_a_model_for_each_program() {
    let catalog = Catalog::bundled();
    let host = |sharding, count| {
        let mut p = project("llama-3.1-8b", Method::Full);
        (p.hardware.sharding, p.hardware.count) = (sharding, count);
        memory(&p, catalog.gpu("a100-sxm-80gb"), &catalog).unwrap().host.gib()
    };
    // 8.03 billion weights of two or four bytes.
    let (one, four, divided) = (host(Sharding::Ddp, 1), host(Sharding::Ddp, 4), host(Sharding::Zero3, 4));
    assert!(one > 2.0 * 8.03e9 / f64::from(1 << 30), "{one}");
    assert!((four / one - 4.0).abs() < 0.1, "{one} {four}");
    assert!(divided < four / 2.0 && divided > 2.0 * 8.03e9 / f64::from(1 << 30), "{divided}");
}

/// Megatron is told of grouped queries where there are any: 8 groups in Llama 3.1, none in Llama 2 7B.
#[test]
fn megatron_is_told_of_grouped_queries() {
    let catalog = Catalog::bundled();
    let text = |id: &str| {
        let mut p = project(id, Method::Scratch);
        p.framework = Framework::Megatron;
        p.hardware.count = 8;
        recipes(&p, &catalog).into_iter().map(|file| file.text).collect::<String>()
    };
    assert!(text("llama-3.1-8b").contains("--num-query-groups 8"), "{}", text("llama-3.1-8b"));
    let plain = text("llama-2-7b");
    assert!(plain.contains("--num-attention-heads 32") && !plain.contains("query-group"), "{plain}");
}
