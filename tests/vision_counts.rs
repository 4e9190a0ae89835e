//! The catalog's multiply-accumulates and outputs of vision models against those of the written programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod pictures;

use enough_gpu::catalog::{Architecture, Catalog};
use enough_gpu::network::vision::{Pictures, vision};
use pictures::config;

/// Rows whose source counts something else: the image tower of two, pictures of 800 x 1,066, two matrices without biases.
const OTHERWISE: [&str; 5] = ["clip-b-32", "siglip-b-16", "siglip-b-16-224", "detr-r50", "mnist-mlp"];

#[test]
fn the_catalog_counts_what_the_programs_compute() {
    let config = config(1, false);
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
