//! What a step asks for, counted by hand: operations by the papers' formulas, bytes by what each kernel reads and writes.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numbers;

use enough_gpu::catalog::{Catalog, LanguageModel};
use enough_gpu::estimate::time::{Arithmetic, Workload};
use enough_gpu::project::{
    Attention, BaseFormat, Checkpointing, Framework, LoraTargets, LossKernel, Method, Objective, Offload, Optimizer,
    OptimizerImpl, Precision, Project,
};
use numbers::{close, load, near, with};

/// A full training of two samples of 1,024 tokens that keeps everything.
fn full(model: &str) -> Project {
    Project {
        model: model.into(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        checkpointing: Checkpointing::Off,
        framework: Framework::Transformers,
        optimizer: Optimizer::AdamW,
        sequence: 1024,
        micro_batch: 2,
        accumulation: 1,
        ..Project::default()
    }
}

/// The matrices of Llama 3.1 8B, by its configuration: 32 layers of 4,096 columns, 8 of 32 heads for keys and values, MLP of
/// 14,336, and a head of 128,256 rows.
const LLAMA: (f64, f64) =
    (32.0 * (4096.0 * 4096.0 * 2.0 + 2.0 * 4096.0 * 1024.0 + 3.0 * 4096.0 * 14_336.0), 128_256.0 * 4096.0);

#[test]
fn products_are_two_operations_a_weight_and_pass() {
    let base = full("llama-3.1-8b");
    let (body, head) = (2.0 * 2048.0 * LLAMA.0, 2.0 * 2048.0 * LLAMA.1);
    // Norms are no products, and next to nothing.
    let same = |load: &Workload, operations: f64| near(load.products, operations, 1e-4);
    same(&load(&base), 3.0 * body + 3.0 * head);
    same(&with(&base, |p| p.checkpointing = Checkpointing::PerBlock), 4.0 * body + 3.0 * head);
    same(&with(&base, |p| p.checkpointing = Checkpointing::Offloaded), 4.0 * body + 3.0 * head);
    same(&with(&base, |p| p.checkpointing = Checkpointing::Selective), 3.0 * body + 3.0 * head);
    // Of frozen weights no gradient is worked out, of half of the layers nothing below them either.
    same(&with(&base, |p| p.method = Method::Head), body + 3.0 * head);
    same(&with(&base, |p| (p.method, p.frozen_share) = (Method::Freeze, 0.5)), 2.0 * body + 3.0 * head);
    let lora = with(&base, |p| p.method = Method::Lora);
    near(lora.products, 2.0 * body + 2.0 * head, 0.01);
    // Two answers to each question, and a reference model that reads both.
    same(&with(&base, |p| p.objective = Objective::Preference), 2.0 * (4.0 * body + 4.0 * head));
    same(&with(&base, |p| p.objective = Objective::PreferenceWithoutReference), 2.0 * (3.0 * body + 3.0 * head));
    // The model's own operations know nothing of what is computed again, but of attention.
    let (plain, again) = (load(&base), with(&base, |p| p.checkpointing = Checkpointing::PerBlock));
    assert_eq!(plain.model, again.model);
    // Scores of 32 heads of 128 columns over 1,024 tokens, half of them for what comes later: two products each way.
    let core = 2.0 * 2.0 * 2048.0 * 1024.0 * 4096.0 * 32.0 / 2.0;
    near(plain.model - plain.products, 3.0 * core, 1e-4);
    // FlashAttention works the scores out again: 2.5 forward passes in backward (its paper, section 3.1).
    near(plain.attention, 3.5 * core, 1e-9);
    near(again.attention, 4.5 * core, 1e-9);
    near(with(&base, |p| p.checkpointing = Checkpointing::Selective).attention, 4.5 * core, 1e-9);
    near(with(&base, |p| p.objective = Objective::Preference).attention, 2.0 * 4.5 * core, 1e-9);
    near(with(&base, |p| p.method = Method::Head).attention, core, 1e-9);
    // An encoder looks both ways, and makes no logits unless it is trained from nothing.
    let bert = full("bert-large-uncased");
    let layers = 24.0 * 12.0 * 1024.0 * 1024.0;
    near(load(&bert).products, 3.0 * 2.0 * 2048.0 * layers, 0.01);
    let scratch = with(&bert, |p| p.method = Method::Scratch);
    near(scratch.products, 3.0 * 2.0 * 2048.0 * (layers + 30_522.0 * 1024.0), 0.01);
    near(load(&bert).attention, 3.5 * 4.0 * 2048.0 * 1024.0 * 1024.0 * 24.0, 1e-9);
    // Layers of both sides.
    let catalog = Catalog::bundled();
    let t5: &LanguageModel = catalog.model("t5-base").and_then(|m| m.language()).unwrap();
    let width = f64::from(t5.heads) * f64::from(t5.head_dim);
    near(load(&full("t5-base")).attention, 3.5 * 4.0 * 2048.0 * 1024.0 * width * 24.0, 1e-9);
    // Of a mixture only the experts that are chosen work: 2 of 8 in Mixtral, 12.9 of 46.7 billion weights.
    near(load(&full("mixtral-8x7b")).products, 6.0 * 2048.0 * 12.88e9, 0.02);
}

/// Windows: Gemma 2 looks 4,096 back in every other layer, Gemma 3 1,024 in five of six, Mistral 7B 4,096 in all.
#[test]
fn windows_shorten_attention() {
    let catalog = Catalog::bundled();
    for (id, sequence, mean) in [
        ("mistral-7b-v0.1", 32_768.0, 4096.0),
        ("mistral-7b-v0.1", 2048.0, 2048.0),
        ("gemma-2-9b", 8192.0, 6144.0),
        ("gemma-2-9b", 1024.0, 1024.0),
        ("gemma-3-12b", 32_768.0, (5.0 * 1024.0 + 32_768.0) / 6.0),
        ("llama-3.1-8b", 32_768.0, 32_768.0),
    ] {
        let m = catalog.model(id).and_then(|m| m.language()).unwrap();
        let width = f64::from(m.heads) * f64::from(m.head_dim) * f64::from(m.layers);
        let told = with(&full(id), |p| p.sequence = sequence as u64).attention;
        near(told, 3.5 * 2.0 * 2.0 * sequence * mean * width, 1e-9);
    }
}

/// Weights of adapters as PEFT prints them ("trainable params").
#[test]
fn adapters_have_the_weights_that_peft_prints() {
    for (targets, rank, printed) in [
        (LoraTargets::QV, 8, 4_194_304.0),
        (LoraTargets::QV, 16, 8_388_608.0),
        (LoraTargets::Attention, 8, 8_388_608.0),
        (LoraTargets::AllLinear, 8, 19_988_480.0),
        (LoraTargets::AllLinear, 16, 39_976_960.0),
    ] {
        let mut project = full("llama-2-7b");
        (project.method, project.lora.targets, project.lora.rank) = (Method::Lora, targets, rank);
        near(load(&project).trained, printed, 1e-6);
    }
    // No more than there are.
    let mut wide = full("llama-2-7b");
    (wide.method, wide.lora.rank) = (Method::Lora, 1 << 30);
    assert_eq!(load(&wide).trained, load(&wide).weights);
    // Two matrices in a plain MLP: GPT-2 has 12 layers of 768 columns and an MLP of 3,072.
    let mut plain = full("gpt2");
    (plain.method, plain.lora.targets, plain.lora.rank) = (Method::Lora, LoraTargets::AllLinear, 4);
    near(load(&plain).trained, 12.0 * 4.0 * (4.0 * 1536.0 + 2.0 * 3840.0), 1e-6);
    // Who trains the head alone, or half of the layers, trains so much.
    let frozen = with(&full("llama-2-7b"), |p| (p.method, p.frozen_share) = (Method::Freeze, 0.25));
    close(frozen.trained, 0.75 * frozen.weights);
    assert!(with(&full("llama-2-7b"), |p| p.method = Method::Head).trained < 0.05 * frozen.weights);
}

/// Traffic: what the weights cost in each micro-batch, whatever its size, and what each token costs.
fn traffic(project: &Project) -> (f64, f64) {
    let of = |micro_batch| load(&Project { micro_batch, ..project.clone() }).traffic;
    let (one, two, four) = (of(1), of(2), of(4));
    near(four - two, 2.0 * (two - one), 1e-9);
    (two - 2.0 * (two - one), (two - one) / project.sequence as f64)
}

#[test]
fn weights_are_read_as_often_as_they_are_passed() {
    let base = full("llama-3.1-8b");
    let weights = LLAMA.0 + LLAMA.1;
    let each = |change: &dyn Fn(&mut Project)| {
        let mut project = base.clone();
        change(&mut project);
        traffic(&project).0 / weights
    };
    let same = |told: f64, bytes: f64| near(told, bytes, 1e-3);
    // Read twice in 16 bit, cast from 4 bytes to 2, a gradient written in 2, read, and added to one of 4 bytes.
    same(each(&|_| {}), 2.0 * 2.0 + 6.0 + 10.0);
    same(each(&|p| p.checkpointing = Checkpointing::PerBlock), 3.0 * 2.0 + 6.0 + 10.0);
    same(each(&|p| p.precision = Precision::Fp32), 2.0 * 4.0 + 10.0);
    // Without autocast nothing is cast; a gradient of 2 bytes is written, read and added to.
    same(each(&|p| p.precision = Precision::PureBf16), 2.0 * 2.0 + 6.0);
    same(each(&|p| p.precision = Precision::MasterBf16), 2.0 * 2.0 + 6.0);
    // A frozen base in 16 bit is read; in 4 bit half a byte is read, two written and two read again, with scales.
    let lora = |p: &mut Project| (p.method, p.lora.rank) = (Method::Lora, 1);
    near(each(&|p| lora(p)), 4.0, 0.01);
    for base in [BaseFormat::Int8, BaseFormat::Fp8] {
        // One byte read, two written and read.
        near(each(&|p| (p.method, p.base, p.lora.rank) = (Method::Lora, base, 1)), 10.0, 0.01);
    }
    let four = each(&|p| (p.method, p.lora.rank) = (Method::QLora, 1));
    assert!((9.0..16.0).contains(&four), "{four}");
    for base in [BaseFormat::Nf4, BaseFormat::Nf4Double, BaseFormat::Int4] {
        same(each(&|p| (p.method, p.base, p.lora.rank) = (Method::Lora, base, 1)), four);
    }
    // With the reference model's pass.
    same(each(&|p| p.objective = Objective::Preference), 3.0 * 2.0 + 6.0 + 10.0);
}

/// What a token moves in each layer was fitted: 325 bytes for each of MPT's columns, and 830 for BERT-large's at 384 tokens,
/// each forward and backward; logits 40.
#[test]
fn tokens_move_what_was_fitted() {
    let mpt = full("mpt-7b");
    let layer = |told: f64, vocab: f64, columns: f64| (told - 40.0 * vocab) / columns;
    near(layer(traffic(&mpt).1, 50_432.0, 32.0 * 4096.0), 325.0, 0.01);
    let bert = Project { sequence: 384, ..full("bert-large-uncased") };
    near(traffic(&bert).1 / (24.0 * 1024.0), 830.0, 0.02);
    // A gated MLP has three tensors of its width where a plain one has two: 189 and 34 times 3/2 times 3.5.
    let llama = full("llama-3.1-8b");
    let columns = 32.0 * 4096.0;
    let plain = layer(traffic(&llama).1, 128_256.0, columns);
    near(plain, 189.0 + 1.5 * 3.5 * 34.0, 1e-6);
    // A loss that never makes logits as a whole moves less than half for them.
    let fused = Project { loss: LossKernel::Fused, ..llama.clone() };
    near(traffic(&llama).1 - traffic(&fused).1, 24.0 * 128_256.0, 1e-6);
    let chunked = Project { loss: LossKernel::Chunked, ..llama.clone() };
    close(traffic(&chunked).1, traffic(&fused).1);
    // Forward is a third of it, backward two; checkpointing comes by once more, and a reference model once for both answers.
    let of = |change: &dyn Fn(&mut Project)| {
        let mut project = llama.clone();
        change(&mut project);
        layer(traffic(&project).1, 128_256.0, columns)
    };
    near(of(&|p| p.checkpointing = Checkpointing::PerBlock), plain * 4.0 / 3.0, 1e-6);
    near(of(&|p| p.method = Method::Head), plain / 3.0, 1e-6);
    near(of(&|p| p.method = Method::Lora), plain, 1e-6);
    let pairs = Project { objective: Objective::Preference, ..llama.clone() };
    near(traffic(&pairs).1, 2.0 * (plain * columns * 4.0 / 3.0 + 40.0 * 128_256.0), 1e-6);
    // Tensors of fp32 are twice as wide, of which some are in 16-bit training as well.
    let wide = of(&|p| p.precision = Precision::Fp32) / plain;
    assert!((1.3..2.0).contains(&wide), "{wide}");
    // Scores that are written out: of 32 heads, each of 1,024 tokens, 45 bytes.
    for attention in [Attention::Eager, Attention::Math] {
        near(of(&|p| p.attention = attention) - plain, 32.0 * 1024.0 * 45.0 / 4096.0, 1e-6);
    }
    near(of(&|p| p.attention = Attention::Efficient), plain, 1e-9);
    // Mixtral's tokens go through two experts of 14,336.
    let mixtral = full("mixtral-8x7b");
    near(layer(traffic(&mixtral).1, 32_000.0, columns), 189.0 + 1.5 * 2.0 * 3.5 * 34.0, 1e-6);
}

/// Kernels: 56 a layer both ways, 22 of them forward; an adapter starts some more beside each linear layer.
#[test]
fn layers_start_their_kernels() {
    let base = full("llama-3.1-8b");
    let of = |change: &dyn Fn(&mut Project)| {
        let mut project = base.clone();
        change(&mut project);
        load(&project).kernels
    };
    let plain = of(&|_| {});
    let deep = load(&full("llama-3.1-70b")).kernels;
    let layer = (deep - plain) / 48.0;
    assert!((40.0..80.0).contains(&layer), "{layer}");
    let beside = plain - 32.0 * layer;
    assert!((0.0..200.0).contains(&beside), "{beside}");
    let forward = (of(&|p| p.checkpointing = Checkpointing::PerBlock) - plain) / 32.0;
    close((of(&|p| p.objective = Objective::Preference) - plain) / 32.0, forward);
    close((of(&|p| p.method = Method::Head) - beside) / 32.0, forward);
    // transformers' Llama: 24 modules and functions in a layer.
    assert!((18.0..26.0).contains(&forward), "{forward}");
    let adapter = (of(&|p| p.method = Method::Lora) - plain) / 32.0 / 7.0;
    assert!((6.0..20.0).contains(&adapter), "{adapter}");
    // GPT-2's plain MLP has one linear layer less.
    let mut small = full("gpt2");
    let before = load(&small).kernels;
    small.method = Method::Lora;
    close((load(&small).kernels - before) / 12.0 / 6.0, adapter);
    // More samples are larger kernels, not more.
    assert_eq!(of(&|p| p.micro_batch = 64), plain);
}

/// What is gathered, reduced, stepped and brought from main memory for each weight.
#[test]
fn each_weight_has_its_bytes() {
    let base = full("llama-3.1-8b");
    let of = |change: &dyn Fn(&mut Project)| {
        let mut project = base.clone();
        change(&mut project);
        load(&project)
    };
    let plain = of(&|_| {});
    assert_eq!((plain.weight_bytes, plain.gradient_bytes, plain.passes), (2.0, 4.0, 2.0));
    assert_eq!(plain.weights, 8_030_261_248.0);
    assert_eq!(plain.trained, plain.weights);
    assert_eq!(of(&|p| p.checkpointing = Checkpointing::PerBlock).passes, 3.0);
    assert_eq!(of(&|p| p.objective = Objective::Preference).passes, 3.0);
    assert_eq!(of(&|p| p.method = Method::Head).passes, 1.0);
    for (precision, weight, gradient) in [
        (Precision::Fp32, 4.0, 4.0),
        (Precision::AmpFp16, 2.0, 4.0),
        (Precision::PureBf16, 2.0, 2.0),
        (Precision::MasterBf16, 2.0, 2.0),
    ] {
        let load = of(&|p| p.precision = precision);
        assert_eq!((load.weight_bytes, load.gradient_bytes), (weight, gradient), "{precision:?}");
    }
    for (format, bytes) in
        [(BaseFormat::Int8, 1.0), (BaseFormat::Fp8, 1.0), (BaseFormat::Fp32, 4.0), (BaseFormat::Bf16, 2.0)]
    {
        assert_eq!(of(&|p| (p.method, p.base) = (Method::Lora, format)).weight_bytes, bytes, "{format:?}");
    }
    // Half a byte and its scales.
    let four = of(&|p| p.method = Method::QLora).weight_bytes;
    assert!((0.5..0.6).contains(&four));
    assert_eq!(of(&|p| (p.method, p.base) = (Method::Lora, BaseFormat::Nf4)).weight_bytes, four);
    // AdamW reads weight, gradient and two moments, writes weight and moments, and the norm reads the gradient once more:
    // eight times four bytes in one kernel. Others have fewer states, 8-bit ones a byte each.
    for (optimizer, bytes) in [
        (Optimizer::AdamW, 32.0),
        (Optimizer::Sgd, 16.0),
        (Optimizer::SgdMomentum, 24.0),
        (Optimizer::Lion, 24.0),
        (Optimizer::AdamW8bit, 20.0),
    ] {
        let fused = of(&|p| (p.optimizer, p.optimizer_impl) = (optimizer, OptimizerImpl::Fused));
        close(fused.optimizer, bytes * plain.weights);
        assert_eq!(fused.paged, 0.0);
        let foreach = of(&|p| (p.optimizer, p.optimizer_impl) = (optimizer, OptimizerImpl::Foreach)).optimizer;
        assert!((1.3..2.0).contains(&(foreach / fused.optimizer)));
    }
    let muon = of(&|p| (p.optimizer, p.optimizer_impl) = (Optimizer::Muon, OptimizerImpl::Fused)).optimizer;
    assert!(muon > 24.0 * plain.weights && muon < 40.0 * plain.weights);
    let pure = of(&|p| (p.precision, p.optimizer_impl) = (Precision::PureBf16, OptimizerImpl::Fused));
    close(pure.optimizer, 16.0 * plain.weights);
    // Paged moments go to main memory and back: 2 x 2 x 4 bytes, or 2 x 2 of one.
    close(of(&|p| p.optimizer = Optimizer::PagedAdamW).paged, 16.0 * plain.weights);
    close(of(&|p| p.optimizer = Optimizer::PagedAdamW8bit).paged, 4.0 * plain.weights);
    // Offload: weights come once a pass, states are stepped where they are; ZeRO-Infinity (section 5) moves fp32 weights and
    // moments there and back, 24 bytes, and 16-bit weights once a pass of each micro-batch.
    let all = of(&|p| p.offload = Offload::All);
    assert!(all.host_step && all.from_disk == 0.0);
    close(all.from_host, 2.0 * 2.0 * plain.weights);
    let disk = of(&|p| (p.offload, p.accumulation) = (Offload::Nvme, 3));
    close(disk.from_disk, (24.0 + 2.0 * 2.0 * 3.0) * plain.weights);
    assert!(!plain.host_step && plain.from_host == 0.0 && plain.from_disk == 0.0);
    let samples = of(&|p| (p.samples, p.epochs, p.accumulation, p.micro_batch) = (1000, 2.5, 3, 5));
    assert_eq!((samples.samples, samples.accumulation, samples.micro_batch), (2500.0, 3.0, 5.0));
}

/// fp32 products go through TF32 where convolutions are (`PyTorch`'s default), else not; 16 bit through matrix units.
#[test]
fn precisions_have_their_arithmetic() {
    let of = |model: &str, precision| with(&full(model), |p| p.precision = precision).arithmetic;
    assert_eq!(of("llama-3.1-8b", Precision::Fp32), Arithmetic::Fp32);
    assert_eq!(of("resnet50", Precision::Fp32), Arithmetic::Tf32);
    assert_eq!(of("llama-3.1-8b", Precision::AmpBf16), Arithmetic::Half);
    let load = with(&full("llama-3.1-8b"), |p| p.precision = Precision::Fp32);
    assert_eq!(load.with_tf32().arithmetic, Arithmetic::Tf32);
    assert_eq!(load.with_fp8().arithmetic, Arithmetic::Fp8);
    assert_eq!(with(&full("llama-3.1-8b"), |_| {}).with_tf32().arithmetic, Arithmetic::Half);
}
