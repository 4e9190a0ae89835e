//! What a step of pictures, sound and tables asks for, counted by hand from the sizes that the catalog's rows print.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numbers;

use enough_gpu::project::{BaseFormat, Checkpointing, CustomNetwork, Method, Precision, Project, TextEncoders};
use numbers::{close, load, near, with};

fn full(model: &str, side: u64) -> Project {
    Project {
        model: model.into(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        checkpointing: Checkpointing::Off,
        image_side: side,
        micro_batch: 4,
        cached_latents: true,
        ..Project::default()
    }
}

/// What the weights move in a step, and what each sample does.
fn traffic(project: &Project) -> (f64, f64) {
    let of = |micro_batch| load(&Project { micro_batch, ..project.clone() }).traffic;
    let (one, two, four) = (of(1), of(2), of(4));
    near(four - two, 2.0 * (two - one), 1e-9);
    (two - 2.0 * (two - one), two - one)
}

/// ResNet-50: 4.11 GMAC and 11.11 million outputs at 224 pixels, 25.56 million weights. ViT-B/16: 17.58 and 23.9.
#[test]
fn pictures_by_their_printed_counts() {
    let resnet = full("resnet50", 224);
    let forward = 4.0 * 2.0 * 4.11e9;
    let of = |change: &dyn Fn(&mut Project)| {
        let mut project = resnet.clone();
        change(&mut project);
        load(&project)
    };
    let plain = of(&|_| {});
    close(plain.products, 3.0 * forward);
    assert_eq!((plain.model, plain.attention), (plain.products, 0.0));
    let again = of(&|p| p.checkpointing = Checkpointing::PerBlock);
    close(again.products, 4.0 * forward);
    close(again.model, plain.model);
    close(of(&|p| p.method = Method::Head).products, forward);
    close(of(&|p| (p.method, p.frozen_share) = (Method::Freeze, 0.75)).products, 1.5 * forward);
    close(of(&|p| p.image_side = 448).products, 12.0 * forward);
    // Clips of eight pictures.
    close(of(&|p| p.frames = 8).products, 24.0 * forward);
    // Passes over the weights, kernels both ways: a third of them forward.
    assert_eq!((plain.passes, again.passes), (2.0, 3.0));
    assert!((600.0..1500.0).contains(&plain.kernels));
    let ahead = again.kernels - plain.kernels;
    assert!((0.25..0.45).contains(&(ahead / plain.kernels)));
    close(of(&|p| p.method = Method::Head).kernels, ahead);
    let small = load(&full("lenet-5", 32)).kernels;
    assert!(small < plain.kernels / 5.0 && small > 50.0, "{small}");
    // ResNet-50 stops at 3,080 pictures a second and card (lambdal/deeplearning-benchmark). ImageNet's files are 469 x 387
    // pixels: a larger crop of them takes no longer to decode, one of larger files takes as much longer as they are larger.
    near(plain.input, 4.0 / 3080.0, 0.06);
    near(of(&|p| p.image_side = 384).input, plain.input, 1e-9);
    near(of(&|p| p.image_side = 1704).input, 64.0 / 3080.0, 0.06);
    near(of(&|p| p.image_side = 32).input, 4.0 * (15e-6 + 1.0 / 3080.0 / 49.0), 0.06);
    near(of(&|p| p.micro_batch = 8).input, 2.0 * plain.input, 1e-9);
    // Each output of a convolution moves 86 bytes with its norm and activation, both ways; forward is a third.
    let (weights, sample) = traffic(&resnet);
    near(sample, 86.0 * 11.11e6, 1e-6);
    // Read twice in 16 bit, cast from 4 bytes to 2, a gradient written in 2, read, and added to one of 4.
    near(weights / 25.56e6, 2.0 * 2.0 + 6.0 + 10.0, 0.01);
    let (weights, sample) = traffic(&Project { checkpointing: Checkpointing::PerBlock, ..resnet.clone() });
    near(sample, 86.0 * 11.11e6 * 4.0 / 3.0, 1e-6);
    near(weights / 25.56e6, 3.0 * 2.0 + 6.0 + 10.0, 0.01);
    let (weights, sample) = traffic(&Project { method: Method::Head, ..resnet.clone() });
    near(sample, 86.0 * 11.11e6 / 3.0, 1e-6);
    near(weights / 25.56e6, 2.0 + 6.0, 0.01);
    let (weights, sample) = traffic(&Project { precision: Precision::Fp32, ..resnet.clone() });
    assert!((1.3..2.0).contains(&(sample / 86.0 / 11.11e6)), "{sample}");
    near(weights / 25.56e6, 2.0 * 2.0 + 10.0, 0.01);
    near(traffic(&full("resnet50", 112)).1, 86.0 * 11.11e6 / 4.0, 1e-6);
    near(traffic(&full("vit-b-16", 224)).1, 49.0 * 23.9e6, 1e-6);
    // Winograd and implicit products make convolutions faster than their operations say.
    assert!(plain.product_speed > 1.1 && load(&full("vit-b-16", 224)).product_speed == 1.0);
    // Rows without a count are scaled from ResNet-50's 160 multiply-accumulates a weight, and say so by a wider band.
    let unknown = load(&full("videomae-b", 224));
    near(unknown.products, 4.0 * 3.0 * 2.0 * 160.0 * 94.209e6, 0.01);
    assert!(unknown.band > plain.band + 0.2);
    near(traffic(&full("videomae-b", 224)).1, 160.0 * 94.209e6 * 2.7e-3 * 49.0, 0.01);
}

/// nnU-Net: 477.37 GMAC for a cube of 128. A volume keeps its depth unless the project says otherwise.
#[test]
fn volumes_by_their_depth() {
    let cube = full("nnunet-3d", 128);
    let forward = 4.0 * 2.0 * 477.37e9;
    near(load(&cube).products, 3.0 * forward, 1e-6);
    near(with(&cube, |p| p.frames = 64).products, 1.5 * forward, 1e-6);
    near(with(&cube, |p| p.frames = 256).products, 6.0 * forward, 1e-6);
    near(with(&cube, |p| p.image_side = 64).products, 0.75 * forward, 1e-6);
}

#[test]
fn weights_of_pictures_have_their_bytes() {
    let base = full("sdxl", 1024);
    let of = |change: &dyn Fn(&mut Project)| {
        let mut project = base.clone();
        change(&mut project);
        load(&project)
    };
    let plain = of(&|_| {});
    assert_eq!((plain.weights, plain.trained), (2_567_463_684.0, 2_567_463_684.0));
    assert_eq!((plain.weight_bytes, plain.gradient_bytes), (4.0, 4.0));
    for (precision, gradient) in [(Precision::Fp32, 4.0), (Precision::PureBf16, 2.0), (Precision::MasterBf16, 2.0)] {
        assert_eq!(of(&|p| p.precision = precision).gradient_bytes, gradient);
    }
    let lora = |p: &mut Project| (p.method, p.lora.rank) = (Method::Lora, 32);
    assert_eq!(of(&|p| lora(p)).weight_bytes, 2.0);
    assert_eq!(of(&|p| (p.method, p.precision) = (Method::Lora, Precision::Fp32)).weight_bytes, 4.0);
    for (format, bytes) in
        [(BaseFormat::Int8, 1.0), (BaseFormat::Fp8, 1.0), (BaseFormat::Bf16, 2.0), (BaseFormat::Fp32, 4.0)]
    {
        assert_eq!(of(&|p| (p.method, p.base) = (Method::Lora, format)).weight_bytes, bytes, "{format:?}");
    }
    assert!((0.5..0.6).contains(&of(&|p| (p.method, p.base) = (Method::Lora, BaseFormat::Nf4)).weight_bytes));
    // Adapters of rank 32 are 0.9 % of SDXL, and add some kernels and traffic of their own.
    let adapters = of(&|p| lora(p));
    near(adapters.trained, 0.009 * plain.weights, 0.01);
    near(of(&|p| (p.method, p.lora.rank) = (Method::Lora, 8)).trained, adapters.trained / 4.0, 1e-9);
    assert!((1.1..1.6).contains(&(adapters.kernels / plain.kernels)));
    // Of the base no gradient is worked out: one product of three less.
    near(adapters.products, plain.products - 4.0 * 2.0 * 2988.7e9, 0.01);
    assert_eq!(of(&|p| (p.method, p.lora.rank) = (Method::Lora, 1 << 40)).trained, plain.weights);
    let samples = of(&|p| (p.samples, p.epochs, p.accumulation) = (1000, 2.5, 3));
    assert_eq!((samples.samples, samples.accumulation, samples.micro_batch), (2500.0, 3.0, 4.0));
    let swapped = of(&|p| p.block_swap = 0.5);
    near(swapped.from_host - plain.from_host, 0.5 * plain.weights * plain.weight_bytes * plain.passes, 1e-9);
}

/// Denoisers: SDXL 2,988.7 GMAC at 1,024 pixels, FLUX.1 29,756.1 without attention, Wan 41,047.3 for 832 x 480 and 81 frames.
#[test]
fn denoisers_by_their_printed_counts() {
    let sdxl = full("sdxl", 1024);
    let forward = 4.0 * 2.0 * 2988.7e9;
    let plain = load(&sdxl);
    // Self-attention: 12 to 16 % of the operations at native size, and half the side is a sixteenth of it.
    let share = plain.products / (3.0 * forward) - 1.0;
    assert!((0.12..0.16).contains(&share), "{share}");
    near(with(&sdxl, |p| p.image_side = 512).products, 3.0 * forward * (0.25 + share / 16.0), 1e-6);
    assert_eq!(plain.model, plain.products);
    let again = with(&sdxl, |p| p.checkpointing = Checkpointing::PerBlock);
    near(again.products, (4.0 + 3.0 * share) * forward, 1e-6);
    close(again.attention, share * forward);
    // 1,779.09 million outputs of 112 bytes.
    near(traffic(&sdxl).1, 112.0 * 1779.09e6, 1e-6);
    // SD 1.5 is bound by the processor at about 100 ms a step, whatever the card: 14,000 kernels of 7 microseconds.
    near(plain.kernels * 7e-6, 0.1, 0.05);

    // FLUX.1: 64 x 64 patches of two latents of eight pixels, and 512 of text; 57 blocks of 3,072 columns.
    let flux = full("flux.1-dev", 1024);
    let tokens = 4096.0 + 512.0;
    let core = 4.0 * tokens * tokens * 3072.0 * 57.0;
    near(load(&flux).products, 3.0 * 4.0 * (2.0 * 29_756.1e9 + core), 1e-6);
    near(with(&flux, |p| p.checkpointing = Checkpointing::PerBlock).attention, 4.0 * core, 1e-6);
    assert_eq!(with(&flux, |p| p.checkpointing = Checkpointing::Off).attention, 0.0);
    near(traffic(&flux).1, 49.0 * 6739.49e6, 1e-6);
    near(load(&flux).kernels, 57.0 * 200.0, 1e-9);
    // Wan's coder takes the first frame alone and four at a time: 81 frames are 21.
    let wan = Project { frames: 81, ..full("wan2.1-t2v-1.3b", 640) };
    let area = 640.0 * 640.0 / (832.0 * 480.0);
    for (frames, coded) in [(81, 21.0), (41, 11.0), (1, 1.0), (4, 1.0), (5, 2.0)] {
        let tokens: f64 = 40.0 * 40.0 * coded + 512.0;
        let forward = 2.0 * 41_047.3e9 * area * coded / 21.0 + 4.0 * tokens * tokens * 1536.0 * 30.0;
        near(with(&wan, |p| p.frames = frames).products, 3.0 * 4.0 * forward, 1e-6);
    }
    // DiT-XL/2 has no count: two operations for each of 675 million weights and 16 x 16 patches, and twelve outputs of 1,152
    // columns in 28 blocks.
    let dit = full("dit-xl-2", 256);
    near(load(&dit).products, 3.0 * 4.0 * (2.0 * 675e6 * 256.0 + 4.0 * 256.0 * 256.0 * 1152.0 * 28.0), 1e-6);
    near(traffic(&dit).1, 49.0 * 256.0 * 1152.0 * 28.0 * 12.0, 1e-6);
    assert!(load(&dit).band > load(&flux).band + 0.2);
    // ControlNet: its copy of 361 million weights by SD 1.5's 394 multiply-accumulates a weight at 512 pixels, and forward
    // through the frozen network and back to where the copy joins it: 2.2 copies, twice.
    let copy = 4.0 * 2.0 * 361_279_120.0 * 394.0;
    near(load(&full("controlnet-sd15", 512)).products, (3.0 + 3.0 * share + 2.0 * 2.2) * copy, 1e-6);
    near(load(&full("controlnet-sd15", 1024)).products, 4.0 * (3.0 + 3.0 * share * 4.0 + 2.0 * 2.2) * copy, 1e-6);
}

/// Pictures that are encoded in every step: about 1.1 TMAC for 1,024 pixels, and two text encoders with 77 tokens.
#[test]
fn encoders_run_unless_their_outputs_are_kept() {
    let cached = full("sdxl", 1024);
    let fresh = |change: &dyn Fn(&mut Project)| {
        let mut project = Project { cached_latents: false, text_encoders: TextEncoders::Cached, ..cached.clone() };
        change(&mut project);
        load(&project).products
            - load(&Project { cached_latents: true, text_encoders: TextEncoders::Cached, ..project }).products
    };
    let picture = fresh(&|_| {});
    near(picture, 4.0 * 2.0 * 1.1e12, 1e-6);
    near(fresh(&|p| p.image_side = 512), picture / 4.0, 1e-6);
    near(fresh(&|p| p.frames = 5), 5.0 * picture, 1e-6);
    let text = |encoders| with(&cached, |p| p.text_encoders = encoders).products - load(&cached).products;
    let weights = 123_060_480.0 + 694_659_840.0;
    near(text(TextEncoders::Resident), 4.0 * 2.0 * weights * 77.0, 1e-4);
    near(text(TextEncoders::Trained), 3.0 * 4.0 * 2.0 * weights * 77.0, 1e-4);
    near(text(TextEncoders::Cached), 0.0, 1.0);
}

/// Speech, voices, tables and trees.
#[test]
fn sound_and_tables_by_their_sizes() {
    // wav2vec 2.0 Base: 12 layers, about 50 frames a second; one more layer starts sixty kernels more.
    let speech = full("wav2vec2-base", 224);
    let twelve = load(&speech).kernels;
    let large = load(&full("wav2vec2-large", 224)).kernels;
    near((large - twelve) / 12.0, 60.0, 1e-9);
    near(twelve - 12.0 * 60.0, 100.0, 1e-9);
    near(load(&full("whisper-small", 224)).kernels, 24.0 * 60.0 + 100.0, 1e-9);
    // Clips take some milliseconds to decode.
    let clip = load(&speech).input / 4.0;
    assert!((1e-3..5e-3).contains(&clip));
    let table = load(&full("mlp-tabular", 224));
    assert!(table.input / 4.0 < clip / 20.0 && table.input > 0.0);
    assert!(table.kernels < 300.0);
    near(table.products, 3.0 * 4.0 * 2.0 * 145_000.0, 1e-6);
    near(load(&full("ft-transformer", 224)).products, 3.0 * 4.0 * 2.0 * 890_000.0, 1e-6);
    // A row for each step of a series.
    let series = Project { sequence: 96, ..full("lstm-timeseries", 224) };
    near(load(&series).products, 3.0 * 4.0 * 2.0 * 200_000.0 * 96.0, 1e-6);
    // A voice at 48 kHz: 27 million operations a sample of sound, forward and backward, whatever else; some hundred kB.
    let voice = Project { audio_seconds: 2.0, ..full("rvc-v2-48k", 224) };
    near(load(&voice).products, 4.0 * 2.0 * 48_000.0 * 27e6, 1e-6);
    near(load(&Project { audio_seconds: 1.0, ..voice.clone() }).products, load(&voice).products / 2.0, 1e-6);
    let bytes = traffic(&voice).1 / (2.0 * 48_000.0);
    assert!((1e5..1e6).contains(&bytes), "{bytes}");
    let kernels = load(&voice).kernels;
    assert!((7_600.0..10_700.0).contains(&kernels));
    let vits = Project { audio_seconds: 2.0, ..full("vits-ljs", 224) };
    near(load(&vits).products, 4.0 * 2.0 * 22_050.0 * 27e6, 1e-6);
    // w2v-BERT: 580 million weights for 50 frames a second, and 24 blocks that look at all of them.
    let bert = Project { audio_seconds: 10.0, ..full("w2v-bert-2.0", 224) };
    let core = 24.0 * 4.0 * 500.0 * 500.0 * 1024.0;
    near(load(&bert).products, 4.0 * 3.0 * (2.0 * 580_493_120.0 * 500.0 + core), 1e-6);
    // Whisper small: 88 million weights of its encoder for 1,500 frames, and attention; more for its text.
    let whisper = load(&Project { sequence: 100, ..full("whisper-small", 224) }).products / 12.0;
    let encoder = 12.0 * (2.0 * 12.0 * 768.0 * 768.0 * 1500.0 + 4.0 * 1500.0 * 1500.0 * 768.0);
    assert!(whisper > encoder && whisper < 1.5 * encoder, "{whisper:e} {encoder:e}");
    // LLaVA: 6.74 billion weights for each of 1,024 tokens, and CLIP's 24 blocks of 1,024 for 576 patches.
    let llava = Project { sequence: 1024, ..full("llava-1.5-7b", 336) };
    let decoder = 2.0 * 6_738_939_904.0 * 1024.0 + 32.0 * 4.0 * 1024.0 * 1024.0 * 4096.0;
    let tower = 24.0 * (2.0 * 12.0 * 1024.0 * 1024.0 * 576.0 + 4.0 * 576.0 * 576.0 * 1024.0);
    near(load(&llava).products, 4.0 * 3.0 * (decoder + tower), 1e-6);
    // The Nature network: 9.2 million multiply-accumulates a picture.
    near(load(&full("ppo-atari", 84)).products, 4.0 * 3.0 * 2.0 * 9.2e6, 1e-6);
    let informer = Project { sequence: 96, ..full("informer", 224) };
    near(load(&informer).products, 4.0 * 3.0 * 2.0 * 11_330_000.0 * 96.0, 1e-6);
    // Bytes by tokens, columns and layers: 420 each, as in language models.
    near(traffic(&full("mlp-tabular", 224)).1, 256.0 * 3.0 * 420.0, 1e-6);
    near(traffic(&series).1, 96.0 * 128.0 * 2.0 * 420.0, 1e-6);
    // A base in 4 bit is unpacked for each pass: half a byte read, two written and two read.
    let quantized = Project { method: Method::QLora, ..speech.clone() };
    let lora = Project { method: Method::Lora, ..speech.clone() };
    near((load(&quantized).traffic - load(&lora).traffic) / 94_371_712.0 / 2.0, 4.75, 1e-6);
    assert_eq!(load(&quantized).weight_bytes, 0.55);
    // Every tree walks the whole table once for each of six levels, whatever batch the project names.
    let trees = Project { samples: 10_000, accumulation: 4, ..full("xgboost-gpu", 224) };
    let told = load(&trees);
    assert_eq!((told.histogram, told.micro_batch, told.accumulation), (10_000.0 * 50.0 * 6.0, 10_000.0, 1.0));
    assert_eq!((told.products, told.traffic), (0.0, 0.0));
    // Small tables are stuck on starting and waiting: 100 trees of ten levels on 100,000 rows take 3.3 s on a V100
    // (szilard/GBM-perf).
    near(told.kernels / 6.0 * 10.0 * 100.0 * 7e-6, 2.0, 0.1);
    assert_eq!(with(&trees, |p| p.method = Method::Head), told);
}

/// A network of which a summary is known.
#[test]
fn a_network_by_its_summary() {
    let network =
        CustomNetwork { params: 11_689_512, trained: 0, outputs: 2_500_000, widest: 800_000, macs: 1_820_000_000 };
    let project = Project { model: String::new(), network: Some(network.clone()), ..full("", 224) };
    let told = load(&project);
    near(told.products, 4.0 * 3.0 * 2.0 * 1.82e9, 1e-9);
    // Its outputs are those of all layers, norms and activations among them: half the bytes of a convolution's.
    near(traffic(&project).1, 2_500_000.0 * 43.0, 1e-9);
    assert!((0.3..0.6).contains(&told.band));
    assert_eq!(told.kernels, load(&full("resnet50", 224)).kernels);
    let with = |network| load(&Project { network: Some(network), ..project.clone() });
    // Where no operations are printed, by outputs or weights, whichever says more.
    let unknown = with(CustomNetwork { macs: 0, ..network.clone() });
    near(unknown.products, 4.0 * 3.0 * 2.0 * 2_500_000.0 / 2.7e-3, 1e-9);
    assert!(unknown.band > told.band);
    let dense = with(CustomNetwork { macs: 0, outputs: 1000, ..network.clone() });
    near(dense.products, 4.0 * 3.0 * 2.0 * 11_689_512.0, 1e-9);
    let small = with(CustomNetwork { params: 60_000, ..network.clone() });
    assert!(small.kernels < told.kernels / 5.0);
    assert_eq!(with(CustomNetwork { params: 2_000_000, ..network.clone() }).kernels, told.kernels);
}
