//! The catalog's multiply-accumulates and outputs of vision models against those of the written programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::{Architecture, Catalog};
use enough_gpu::network::vision::{Pictures, vision};
use enough_gpu::project::{Checkpointing, Optimizer};
use enough_gpu::step::{AttentionKernel, Code, Dtype, Loss, Shards, StepConfig, StepImpl, Task, Trained};

fn config() -> StepConfig {
    StepConfig {
        batch: 1,
        sequence: 0,
        decoder_sequence: None,
        task: Task::LanguageModel,
        trained: Trained::All,
        weights: Dtype::F32,
        autocast: None,
        master_weights: false,
        quantization: None,
        kbit_prepare: false,
        code: Code::default(),
        adapter: Dtype::F32,
        optimizer: Optimizer::SgdMomentum,
        optimizer_impl: StepImpl::Foreach,
        checkpointing: Checkpointing::Off,
        reentrant: false,
        attention: AttentionKernel::Sdpa,
        loss: Loss::Upcast,
        hold_outputs: false,
        accumulation: 1,
        shards: Shards::default(),
    }
}

/// Rows whose source counts something else: the image tower of two, pictures of 800 x 1,066, two matrices without biases.
const OTHERWISE: [&str; 5] = ["clip-b-32", "siglip-b-16", "siglip-b-16-224", "detr-r50", "mnist-mlp"];

#[test]
fn the_catalog_counts_what_the_programs_compute() {
    let config = config();
    let mut held = 0;
    for model in Catalog::bundled().models.iter() {
        let Architecture::Vision(v) = &model.architecture else { continue };
        let square = Pictures::square(if v.resolution > 0.0 { v.resolution as u64 } else { 224 });
        let Some(program) = vision(model.id, Pictures { depth: v.depth.max(1.0) as u64, ..square }, &config) else {
            continue;
        };
        // The row of a restorer names the small side, the program takes the crop that comes out.
        if v.kind == "super-resolution" || OTHERWISE.contains(&model.id) {
            continue;
        }
        let ours = program.forward_flops() / 2e9;
        let row = v.gmacs.unwrap_or_else(|| panic!("{}: {ours:.4} GMAC are missing in vision.csv", model.id));
        assert!((0.8..1.25).contains(&(ours / row)), "{}: {ours:.4} GMAC, the catalog has {row}", model.id);
        held += 1;
    }
    assert!(held > 220, "{held}");
}
