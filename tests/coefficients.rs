//! Models without a program of their own are put together of pieces: each piece by hand, from counts that the catalog's row
//! prints and from bytes that formats have.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod pieces;

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::{CannotEstimate, EstimateMethod, memory};
use enough_gpu::project::{
    BaseFormat, Checkpointing, Framework, Method, Offload, Optimizer, OptimizerImpl, Precision, Project, Sharding,
};
use pieces::{close, estimate, full, near, pieces, with};

/// GoogLeNet: 13.005 million weights.
const WEIGHTS: f64 = 13_005_000.0;

/// What a weight costs in each format and with each optimizer, as papers and documentation say.
#[test]
fn a_weight_costs_what_its_formats_say() {
    let base = full("googlenet");
    let catalog = Catalog::bundled();
    let n = catalog.model("googlenet").unwrap().params as f64;
    near(n, WEIGHTS, 0.01);
    let each = |change: &dyn Fn(&mut Project)| with(&base, |p| change(p));
    for (precision, weight, gradient, moments) in [
        (Precision::Fp32, 4.0, 4.0, 8.0),
        (Precision::AmpBf16, 4.0, 4.0, 8.0),
        (Precision::PureBf16, 2.0, 2.0, 4.0),
        // Beside the 16-bit weight its fp32 master.
        (Precision::MasterBf16, 6.0, 2.0, 8.0),
    ] {
        let told = each(&|p| p.precision = precision);
        close(told.weights, weight * n);
        close(told.gradients, gradient * n);
        close(told.states, moments * n);
        // The gradient is copied to fp32 for the masters' step.
        close(told.step, if precision == Precision::MasterBf16 { 4.0 * n } else { 0.0 });
    }
    for (optimizer, bytes) in [
        (Optimizer::AdamW, 8.0),
        (Optimizer::PagedAdamW, 8.0),
        // A byte for each moment, and an fp32 scale for 256 of them (bitsandbytes).
        (Optimizer::AdamW8bit, 2.0 + 8.0 / 256.0),
        (Optimizer::PagedAdamW8bit, 2.0 + 8.0 / 256.0),
        (Optimizer::Sgd, 0.0),
        (Optimizer::SgdMomentum, 4.0),
        (Optimizer::Lion, 4.0),
        (Optimizer::Muon, 4.0),
        (Optimizer::Galore, 2.0),
    ] {
        close(each(&|p| p.optimizer = optimizer).states, bytes * n);
    }
    // Adafactor keeps rows and columns of matrices: far less than a number a weight.
    let factored = each(&|p| p.optimizer = Optimizer::Adafactor).states / n;
    assert!(factored > 0.0 && factored < 2.0, "{factored}");
    // `foreach` makes a temporary of each weight's update, other optimizers and kernels do not.
    close(each(&|p| p.optimizer_impl = OptimizerImpl::Foreach).step, 4.0 * n);
    close(each(&|p| p.optimizer_impl = OptimizerImpl::Auto).step, 4.0 * n);
    close(each(&|p| p.optimizer_impl = OptimizerImpl::Fused).step, 0.0);
    let momentum = |p: &mut Project| p.optimizer = Optimizer::SgdMomentum;
    close(each(&|p| (momentum(p), p.optimizer_impl = OptimizerImpl::Foreach).1).step, 0.0);
    // An average of the weights is another fp32 copy.
    close(each(&|p| p.ema = true).weights, 8.0 * n);
    // Autocast keeps a 16-bit copy of nearly every weight until backward; checkpointing makes it anew.
    near(each(&|p| p.precision = Precision::AmpBf16).copies, 2.0 * n, 0.03);
    assert_eq!(each(&|p| (p.precision, p.checkpointing) = (Precision::AmpFp16, Checkpointing::PerBlock)).copies, 0.0);
    assert_eq!(each(&|_| {}).copies, 0.0);

    // Who freezes a quarter trains three.
    let frozen = each(&|p| (p.method, p.frozen_share) = (Method::Freeze, 0.25));
    close(frozen.weights, 4.0 * n);
    close(frozen.gradients, 0.75 * 4.0 * n);
    close(frozen.states, 0.75 * 8.0 * n);
    near(frozen.saved, 0.75 * each(&|_| {}).saved, 1e-6);
    for (format, bytes) in [
        (BaseFormat::Bf16, 2.0),
        (BaseFormat::Fp32, 4.0),
        (BaseFormat::Fp8, 1.0),
        (BaseFormat::Fp8Dynamic, 1.0),
        // LLM.int8(): an fp32 scale for each row; NF4: one for 64 weights, of 8 bits where it is quantized again (QLoRA).
        (BaseFormat::Int8, 1.0 + 4.0 / 256.0),
        (BaseFormat::Nf4, 0.5 + 4.0 / 64.0),
        (BaseFormat::Nf4Double, 0.5 + 1.03 / 64.0),
        (BaseFormat::Int4, 0.5 + 2.5 / 128.0),
    ] {
        let told = each(&|p| (p.method, p.frozen_share, p.base) = (Method::Freeze, 0.5, format));
        close(told.weights, (0.5 * 4.0 + 0.5 * bytes) * n);
    }
    // The head's 1,000 classes, or a twentieth of a model that is no larger; nothing else is kept.
    let head = each(&|p| p.method = Method::Head);
    assert!(head.gradients / 4.0 <= 0.05 * n && head.gradients > 0.0 && head.saved == 0.0 && head.transient > 0.0);
}

/// Outputs of convolutions: each keeps itself and its norm's, four bytes each, half of that under autocast.
#[test]
fn outputs_are_kept_as_often_as_there_are_layers() {
    let base = full("googlenet");
    let outputs = 8.0 * 3.23e6;
    let each = |change: &dyn Fn(&mut Project)| with(&base, |p| change(p));
    let plain = each(&|_| {});
    assert!((7.0..8.5).contains(&(plain.saved / outputs)), "{}", plain.saved / outputs);
    let half = each(&|p| p.precision = Precision::AmpBf16);
    assert!((0.45..0.6).contains(&(half.saved / plain.saved)));
    let again = each(&|p| p.checkpointing = Checkpointing::PerBlock);
    assert!((0.2..0.5).contains(&(again.saved / plain.saved)) && again.transient > plain.transient);
    // Twice the side is four times as much, twice the batch twice; of clips each picture.
    for (side, batch, frames, times) in [(448, 8, 1, 4.0), (224, 16, 1, 2.0), (112, 8, 1, 0.25)] {
        let told = each(&|p| (p.image_side, p.micro_batch, p.frames) = (side, batch, frames));
        near(told.saved, times * plain.saved, 1e-6);
        near(told.transient, times * plain.transient, 1e-6);
        near(told.batch, times * plain.batch, 1e-6);
    }
    // Three colours in fp32.
    close(plain.batch, 8.0 * 224.0 * 224.0 * 3.0 * 4.0);
    // cuDNN's workspaces: some percent of what is kept, at most 2 GB; 517 MiB are context and libraries.
    let apart = plain.outside - 517.0 * 1024.0 * 1024.0;
    near(apart, 0.06 * plain.saved, 1e-3);
    near(each(&|p| p.micro_batch = 100_000).outside - 517.0 * 1024.0 * 1024.0, 2e9, 1e-6);
    // The first gradients are those of the last layers: few, but most of VGG's.
    assert!(plain.early < 0.1 * plain.gradients);
    let vgg = Project { method: Method::Freeze, frozen_share: 0.0, ..full("vgg-16") };
    assert!(pieces(&vgg).early > 0.85 * pieces(&vgg).gradients);
    // Gradients that are gathered stay all the time.
    let gathered = each(&|p| p.accumulation = 2);
    close(gathered.early, gathered.gradients);
    // Rows without a count: by the pixels of the size that they are made for.
    let sam = Project { image_side: 1024, ..full("sam2.1-t") };
    let rough = pieces(&sam).saved / (8.0 * 1024.0 * 1024.0);
    assert!((500.0..5000.0).contains(&rough), "{rough}");
    near(with(&sam, |p| p.image_side = 512).saved, pieces(&sam).saved / 4.0, 1e-6);
    assert_eq!(estimate(&sam).method, EstimateMethod::Rough);
    assert_eq!(estimate(&base).method, EstimateMethod::Measured);
    assert_eq!(estimate(&full("yolov9e")).method, EstimateMethod::Extrapolated);
    let bands = [&base, &full("yolov9e"), &sam].map(|p| estimate(p).band);
    assert!(bands[0] < bands[1] && bands[1] < bands[2] && bands[2] < 0.5, "{bands:?}");
}

/// Blocks of transformers: what each keeps for a token, in widths; the tokens are the patches and a class.
#[test]
fn blocks_are_kept_by_tokens_layers_and_width() {
    // DINOv2-g: 40 layers of 1536, patches of 14 pixels.
    let giant = full("dinov2-g-14");
    let tokens = |side: f64| (side / 14.0).floor().powi(2) + 1.0;
    let plain = pieces(&giant);
    let widths = plain.saved / (8.0 * tokens(224.0) * 1536.0 * 40.0);
    // ViT-B/16 of torchvision keeps 68.6 in fp32.
    near(widths, 68.6, 1e-6);
    near(with(&giant, |p| p.image_side = 448).saved, plain.saved * tokens(448.0) / tokens(224.0), 1e-6);
    near(with(&giant, |p| p.micro_batch = 16).saved, 2.0 * plain.saved, 1e-6);
    let half = with(&giant, |p| p.precision = Precision::AmpBf16);
    near(half.saved / (8.0 * tokens(224.0) * 1536.0 * 40.0), 36.6, 1e-6);
    let adapters = with(&giant, |p| (p.precision, p.method) = (Precision::AmpBf16, Method::Lora));
    near(adapters.saved / (8.0 * tokens(224.0) * 1536.0 * 40.0), 24.0, 1e-6);
    // Of checkpointed blocks the input stays, a number in 16 or 32 bits, and one block is there again.
    let again = with(&giant, |p| p.checkpointing = Checkpointing::PerBlock);
    near(again.saved / (8.0 * tokens(224.0) * 1536.0 * 40.0), 4.2, 1e-6);
    assert!(again.transient > plain.saved / 40.0 && again.transient < 2.0 * plain.saved / 40.0);
    let narrow = with(&giant, |p| (p.precision, p.checkpointing) = (Precision::AmpBf16, Checkpointing::PerBlock));
    near(narrow.saved / (8.0 * tokens(224.0) * 1536.0 * 40.0), 2.4, 1e-6);
    assert!(plain.transient < plain.saved / 40.0);
    // Clips: two pictures to a patch.
    let clip = Project { frames: 16, ..full("videomae-b") };
    let patches = 14.0 * 14.0 * 8.0 + 1.0;
    near(pieces(&clip).saved / (8.0 * patches * 768.0 * 12.0), 68.6, 1e-6);
    near(pieces(&clip).batch, 8.0 * 224.0 * 224.0 * 16.0 * 12.0, 1e-6);
    // Adapters of rank r beside four to six matrices of a block: two factors of r columns each.
    let lora = |rank| with(&giant, |p| (p.method, p.lora.rank) = (Method::Lora, rank)).gradients / 4.0;
    let each = lora(16) / (40.0 * 1536.0 * 16.0);
    assert!((8.0..18.0).contains(&each), "{each}");
    near(lora(32), 2.0 * lora(16), 1e-6);
    // Convolutional nets have one linear layer.
    let refused = |p: &Project| memory(p, None, &Catalog::bundled()).unwrap_err();
    assert_eq!(refused(&Project { method: Method::Lora, ..full("googlenet") }), CannotEstimate::MethodDoesNotApply);
    assert_eq!(refused(&Project { method: Method::Lora, ..full("mlp-tabular") }), CannotEstimate::MethodDoesNotApply);
}

/// Several cards: `ZeRO` divides states, then gradients, then weights (Rajbhandari et al. 2020); data parallelism keeps
/// gradients a second time in its buckets. What leaves the cards is in main memory.
#[test]
fn cards_hold_their_parts() {
    let one = full("googlenet");
    let alone = pieces(&one);
    let on = |sharding| with(&one, |p| (p.hardware.count, p.hardware.sharding) = (4, sharding));
    for (sharding, states, gradients, weights) in [
        (Sharding::Auto, 1.0, 1.0, 1.0),
        (Sharding::Ddp, 1.0, 1.0, 1.0),
        (Sharding::Zero1, 4.0, 1.0, 1.0),
        (Sharding::Zero2, 4.0, 4.0, 1.0),
        (Sharding::Zero3, 4.0, 4.0, 4.0),
        (Sharding::Fsdp2, 4.0, 4.0, 4.0),
    ] {
        let told = on(sharding);
        close(told.states, alone.states / states);
        close(told.gradients, alone.gradients / gradients);
        close(told.weights, alone.weights / weights);
        let buckets = if matches!(sharding, Sharding::Auto | Sharding::Ddp) { alone.gradients } else { 0.0 };
        // NCCL's buffers for a machine's cards.
        near(told.outside - alone.outside, buckets + 300.0 * 1024.0 * 1024.0, 1e-6);
    }
    // A program for each card of a machine reads the whole model, and is some 2 GiB itself.
    let gib = f64::from(1 << 30);
    close(alone.host, 4.0 * WEIGHTS + (alone.weights - 4.0 * WEIGHTS) + 2.0 * gib);
    close(on(Sharding::Ddp).host, 4.0 * alone.host);
    close(with(&one, |p| p.hardware.count = 16).host, 8.0 * alone.host);
    // States away, weights away.
    let away = with(&one, |p| p.offload = Offload::Optimizer);
    assert_eq!((away.states, away.step), (0.0, 0.0));
    close(away.host - alone.host, alone.states);
    close(away.gradients, alone.gradients);
    let engine = with(&one, |p| (p.offload, p.framework) = (Offload::Optimizer, Framework::Transformers));
    close(engine.host - alone.host, alone.states + alone.gradients);
    assert_eq!(engine.gradients, 0.0);
    let all = with(&one, |p| p.offload = Offload::All);
    assert!(all.weights < 0.1 * alone.weights && all.weights > 0.0);
    near(all.host - alone.host, alone.states + alone.weights, 0.03);
    let three = with(&one, |p| (p.hardware.count, p.hardware.sharding) = (4, Sharding::Zero3Offload));
    assert_eq!(three.states, 0.0);
    // What the allocator keeps beside live tensors: some percent.
    let m = estimate(&one);
    assert!((1.02..1.12).contains(&(m.reserved.0 as f64 / m.allocated.0 as f64)));
    assert_eq!(m.largest.0 as f64, alone.transient.max(alone.loss).floor());
}
