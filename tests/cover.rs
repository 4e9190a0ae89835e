//! Programs of further models against steps of the real classes, traced.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod pictures;

use enough_gpu::network::speech::{Sound, speech};
use enough_gpu::network::vision::{Pictures, vision};
use enough_gpu::project::Optimizer;
use enough_gpu::step::{Dtype, StepConfig, Walk, run};
use pictures::config;

#[test]
fn rt_detr() {
    // transformers 5.24 `RTDetrForObjectDetection` with frozen batch norms, ultralytics 8.4.190 `RTDETRDetectionModel`, both
    // with their denoising queries and one loss over all logits; AdamW: pictures, autocast, side, objects of the fullest
    // picture, parameters, peak.
    let cases = [
        ("rt-detr-r18", 2, false, 640, 40, 20_174_608, 1_176_690_688_u64),
        ("rt-detr-r18", 4, true, 512, 7, 20_174_608, 1_397_210_624),
        ("rt-detr-r34", 3, false, 640, 12, 31_424_388, 1_989_695_488),
        ("rt-detr-r50-m", 2, true, 608, 60, 36_593_772, 2_022_772_224),
        ("rt-detr-r50", 2, false, 640, 93, 42_891_372, 2_218_444_800),
        ("rt-detr-r50", 4, true, 640, 40, 42_891_372, 4_056_141_312),
        ("rt-detr-r101", 2, false, 640, 10, 76_556_268, 3_195_282_432),
        ("rt-detr-r101", 3, true, 576, 50, 76_556_268, 4_007_559_168),
        ("rt-detr-hgnetv2-l", 2, false, 640, 40, 32_970_476, 2_647_369_728),
        ("rt-detr-hgnetv2-l", 4, true, 512, 7, 32_970_476, 2_534_329_344),
        ("rt-detr-hgnetv2-x", 2, true, 640, 93, 67_467_852, 2_922_263_040),
    ];
    for (id, batch, half, side, objects, parameters, peak) in cases {
        let config =
            StepConfig { optimizer: Optimizer::AdamW, autocast: half.then_some(Dtype::Bf16), ..config(batch, half) };
        let program = vision(id, Pictures { objects, ..Pictures::square(side) }, &config).unwrap();
        let got = run(&program, &config, Walk::Full);
        assert_eq!(program.parameters(), parameters, "{id}");
        let off = got.peak.0 as f64 / peak as f64 - 1.0;
        assert!(off.abs() < 0.01, "{id}, {batch} pictures, autocast {half}: {} bytes, traced {peak}", got.peak.0);
    }
}

#[test]
fn generators_and_discriminators() {
    // Built from their sizes, the second step (gradients of the first are there), Adam for each of both: pictures, autocast,
    // side, parameters, peak.
    let cases = [
        ("dcgan", 128, false, 64, 6_342_272, 344_830_976_u64),
        ("dcgan", 16, false, 64, 6_342_272, 139_265_536),
        ("pix2pix", 1, false, 256, 57_182_660, 1_135_003_648),
        ("pix2pix", 8, false, 256, 57_182_660, 1_499_633_152),
        ("pix2pix", 4, true, 256, 57_182_660, 1_184_894_976),
        ("cyclegan", 1, false, 256, 28_285_832, 2_574_021_120),
        ("cyclegan", 2, false, 256, 28_285_832, 4_786_426_368),
        ("cyclegan", 1, true, 256, 28_285_832, 1_519_224_320),
    ];
    for (id, batch, half, side, parameters, peak) in cases {
        let config =
            StepConfig { optimizer: Optimizer::AdamW, autocast: half.then_some(Dtype::Bf16), ..config(batch, half) };
        let program = vision(id, Pictures::square(side), &config).unwrap();
        let got = run(&program, &config, Walk::Full);
        assert_eq!(program.parameters(), parameters, "{id}");
        let off = got.peak.0 as f64 / peak as f64 - 1.0;
        assert!(off.abs() < 0.0125, "{id}, {batch} pictures, autocast {half}: {} bytes, traced {peak}", got.peak.0);
    }
}

#[test]
fn speech_encoders() {
    // transformers 5.24, for letters, the convolutions on the sound frozen, AdamW: samples, autocast, seconds, parameters
    // (without the mask vector and the scales of the positions' weight norm), peak.
    let cases = [
        ("hubert-large", 4, false, 5.0, 315_470_368, 6_243_329_024_u64),
        ("hubert-xlarge", 4, false, 5.0, 962_536_992, 19_184_661_504),
        ("hubert-xlarge", 2, true, 11.0, 962_536_992, 19_184_789_504),
    ];
    for (id, batch, half, seconds, parameters, peak) in cases {
        let config =
            StepConfig { optimizer: Optimizer::AdamW, autocast: half.then_some(Dtype::Bf16), ..config(batch, half) };
        let program = speech(id, Sound { seconds, tokens: 50 }, &config).unwrap();
        let got = run(&program, &config, Walk::Full);
        let off = got.peak.0 as f64 / peak as f64 - 1.0;
        assert_eq!(program.parameters(), parameters, "{id}");
        assert!(off.abs() < 0.01, "{id}, autocast {half}: {} bytes, traced {peak}", got.peak.0);
    }
}
