//! Denoisers, sound, pictures beside text, tables and trees that have no program: piece by piece, by hand.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod pieces;

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::{EstimateMethod, memory};
use enough_gpu::project::{
    Checkpointing, CustomNetwork, Framework, LossKernel, Method, Precision, Project, TextEncoders,
};
use pieces::{Pieces, estimate, full, near, pieces, with};

/// Denoisers without a program.
#[test]
fn denoisers_by_their_rows() {
    // DiT-XL/2: 675 million weights, 28 blocks of 1,152, 16 x 16 patches at 256 pixels.
    let dit = Project { image_side: 256, framework: Framework::Diffusers, ..full("dit-xl-2") };
    let plain = pieces(&dit);
    near(plain.saved / (8.0 * 256.0 * 1152.0 * 28.0), 95.0, 1e-6);
    near(with(&dit, |p| p.image_side = 512).saved, 4.0 * plain.saved, 1e-6);
    near(plain.gradients, 4.0 * 675e6, 1e-6);
    // Pictures that are encoded in the step: VAE weights, and two feature maps of the widest kind at full size.
    let fresh = with(&dit, |p| (p.cached_latents, p.text_encoders) = (false, TextEncoders::Cached));
    near(fresh.weights - plain.weights, 4.0 * 83_653_863.0, 1e-6);
    let pixel = fresh.encoding / (8.0 * 256.0 * 256.0);
    assert!((1000.0..5000.0).contains(&pixel) && plain.encoding == 0.0, "{pixel}");
    let narrow = |p: &mut Project| {
        (p.cached_latents, p.text_encoders, p.precision) = (false, TextEncoders::Cached, Precision::AmpBf16);
    };
    near(with(&dit, narrow).encoding, fresh.encoding / 2.0, 1e-6);
    let large = |p: &mut Project| (narrow(p), p.image_side = 512).1;
    near(with(&dit, large).encoding, 2.0 * fresh.encoding, 1e-6);
    // Blocks that wait in main memory.
    let swapped = with(&dit, |p| p.block_swap = 0.5);
    near(swapped.weights, 0.5 * plain.weights, 1e-6);
    near(swapped.host, plain.host, 1e-6);
    assert!(with(&dit, |p| p.block_swap = 1.0).weights > 0.0);
    let frozen = with(&dit, |p| (p.method, p.frozen_share) = (Method::Freeze, 0.75));
    near(frozen.gradients, plain.gradients / 4.0, 1e-6);
    let rank = |rank| with(&dit, |p| (p.method, p.lora.rank) = (Method::Lora, rank)).gradients / 4.0;
    assert!((8.0..18.0).contains(&(rank(16) / (28.0 * 1152.0 * 16.0))));
    near(rank(32), 2.0 * rank(16), 1e-6);

    // Hunyuan-DiT looks at its text by cross-attention: 64 x 64 patches at 1,024 pixels, and text encoders of 2 billion.
    let hunyuan = Project { image_side: 1024, micro_batch: 1, ..full("hunyuandit-1.2") };
    near(pieces(&hunyuan).saved / (4096.0 * 1408.0 * 40.0), 120.0, 1e-6);
    let text = with(&hunyuan, |p| p.text_encoders = TextEncoders::Resident).weights - pieces(&hunyuan).weights;
    near(text, 4.0 * (352_035_840.0 + 1_669_958_656.0), 1e-6);
    let half = |p: &mut Project| p.precision = Precision::PureBf16;
    let narrow = with(&hunyuan, |p| (half(p), p.text_encoders = TextEncoders::Resident).1).weights
        - with(&hunyuan, half).weights;
    near(narrow, text / 2.0, 1e-6);
    // Wan: its coder takes the first frame alone and then four at a time.
    let wan = Project { image_side: 480, micro_batch: 1, ..full("wan2.1-i2v-14b") };
    for (frames, coded) in [(1, 1.0), (4, 1.0), (5, 2.0), (81, 21.0)] {
        near(with(&wan, |p| p.frames = frames).saved / (30.0 * 30.0 * coded * 5120.0 * 40.0), 120.0, 1e-6);
    }
    // A trained copy hangs on a frozen denoiser through which the gradient flows.
    let control = Project { image_side: 1024, micro_batch: 1, ..full("controlnet-flux") };
    let weights = pieces(&control).weights / 4.0 - 3_301_925_888.0;
    assert!(weights > 1.5 * 3_301_925_888.0 && weights < 4.0 * 3_301_925_888.0, "{weights}");
    near(pieces(&control).gradients, 4.0 * 3_301_925_888.0, 1e-6);
    // U-Nets without a count: SD 1.5's activations for each pixel, 8.9 bytes each in fp32 and 5.05 under autocast.
    let ddpm = Project { image_side: 32, ..full("ddpm-cifar10") };
    let outputs = pieces(&ddpm).saved / 8.9 / (8.0 * 32.0 * 32.0);
    assert!((800.0..1000.0).contains(&outputs), "{outputs}");
    let half = with(&ddpm, |p| p.precision = Precision::AmpBf16);
    near(half.saved, pieces(&ddpm).saved * 5.05 / 8.9, 1e-6);
    let again = with(&ddpm, |p| p.checkpointing = Checkpointing::PerBlock);
    assert!(again.saved < 0.2 * pieces(&ddpm).saved && again.transient > pieces(&ddpm).transient);
    let narrow = with(&ddpm, |p| (p.precision, p.checkpointing) = (Precision::AmpBf16, Checkpointing::PerBlock));
    near(narrow.saved, again.saved / 2.0, 1e-6);
    let lora = with(&ddpm, |p| (p.precision, p.method) = (Precision::AmpBf16, Method::Lora));
    assert!(lora.saved < half.saved && lora.saved > 0.8 * half.saved);
    near(with(&ddpm, |p| p.image_side = 64).saved, 4.0 * pieces(&ddpm).saved, 1e-6);
    // SD 1.5 with AnimateDiff: sixteen frames, each its pixels.
    let clip = Project { image_side: 512, micro_batch: 1, frames: 16, ..full("animatediff-v2") };
    near(with(&clip, |p| p.frames = 8).saved, pieces(&clip).saved / 2.0, 1e-6);
    let trained = pieces(&clip).saved / pieces(&ddpm).saved * (8.0 * 32.0 * 32.0) / (512.0 * 512.0 * 16.0);
    assert!((1.2..1.8).contains(&trained), "{trained}");
}

/// Speech and voices.
#[test]
fn sound_by_its_seconds() {
    // w2v-BERT: 24 layers of 1,024, about 50 frames a second; Whisper's encoder keeps 73.5 widths in fp32, 50.5 under
    // autocast.
    let speech = Project { audio_seconds: 10.0, ..full("w2v-bert-2.0") };
    let widths = |told: Pieces| told.saved / (8.0 * 500.0 * 1024.0 * 24.0);
    near(widths(pieces(&speech)), 73.5, 1e-6);
    near(widths(with(&speech, |p| p.precision = Precision::AmpBf16)), 50.5, 1e-6);
    near(with(&speech, |p| p.audio_seconds = 20.0).saved, 2.0 * pieces(&speech).saved, 1e-6);
    // 16,000 samples a second of four bytes.
    near(pieces(&speech).batch, 8.0 * 10.0 * 16_000.0 * 4.0, 1e-6);
    let rank = |rank| with(&speech, |p| (p.method, p.lora.rank) = (Method::Lora, rank)).gradients / 4.0;
    assert!((8.0..18.0).contains(&(rank(16) / (24.0 * 1024.0 * 16.0))));
    near(rank(32), 2.0 * rank(16), 1e-6);
    near(with(&speech, |p| (p.method, p.frozen_share) = (Method::Freeze, 0.5)).gradients, 2.0 * 580_493_120.0, 1e-6);
    assert!(with(&speech, |p| p.method = Method::Head).gradients < 0.1 * 4.0 * 580_493_120.0);
    // MusicGen's text encoder stays frozen.
    let music = Project { audio_seconds: 10.0, ..full("musicgen-small") };
    near(pieces(&music).gradients, 4.0 * 419_584_000.0, 1e-6);
    near(pieces(&music).weights, 4.0 * 529_212_544.0, 1e-6);
    // Text to speech: some 94 mel frames a second through the encoder; the decoder's text is short.
    let tts = Project { audio_seconds: 10.0, ..full("speecht5-tts") };
    let encoder = 940.0 * 768.0 * 12.0 * 73.5;
    let decoder = pieces(&tts).saved / 8.0 - encoder;
    let per_token = decoder / (768.0 * 6.0 * 82.0);
    assert!((30.0..60.0).contains(&per_token), "{per_token}");
    // Three stacks of twelve layers.
    let bark = Project { audio_seconds: 10.0, ..full("bark-small") };
    near(pieces(&bark).saved, 8.0 * 500.0 * 768.0 * 36.0 * 73.5, 1e-6);
    // Whisper pads to 30 s: 1,500 frames; logits of 51,865 tokens.
    let whisper = Project { audio_seconds: 10.0, method: Method::Freeze, frozen_share: 0.0, ..full("whisper-small") };
    let (short, long) = (pieces(&whisper), with(&whisper, |p| p.audio_seconds = 20.0));
    let tokens = short.logits / (4.0 * 8.0 * 51_865.0);
    assert!((30.0..60.0).contains(&tokens), "{tokens}");
    near(long.logits, 2.0 * short.logits, 1e-6);
    near(short.loss, 2.0 * short.logits, 1e-6);
    near(long.saved - short.saved, 8.0 * tokens * 768.0 * 12.0 * 82.0, 1e-5);
    near(short.saved - (long.saved - short.saved), 8.0 * 1500.0 * 768.0 * 12.0 * 73.5, 1e-5);
    let half = with(&whisper, |p| p.precision = Precision::AmpBf16);
    near(half.logits, short.logits * 1.5, 1e-6);
    near(half.loss, short.loss / 2.0, 1e-6);
    assert_eq!(estimate(&whisper).method, EstimateMethod::Measured);
    // RVC v2, 48 kHz, 71.4 million weights of critics: 30 kB for each sample of sound in fp32; VITS with 46.7: 20 to 25.
    let voice = Project { audio_seconds: 1.0, ..full("rvc-v2-48k") };
    let sample = |p: &Project, rate: f64| (with(p, |p| p.audio_seconds = 2.0).saved - pieces(p).saved) / (8.0 * rate);
    let rvc = sample(&voice, 48_000.0);
    assert!((28e3..33e3).contains(&rvc), "{rvc}");
    let vits = sample(&Project { audio_seconds: 1.0, ..full("vits-ljs") }, 22_050.0);
    assert!((18e3..25e3).contains(&vits), "{vits}");
    // The clip that a segment is cut from: 400 frames of 320 kB.
    near(pieces(&voice).saved - 8.0 * 48_000.0 * rvc, 8.0 * 400.0 * 320e3, 1e-5);
    near(pieces(&voice).batch, 8.0 * 48_000.0 * 8.0, 1e-6);
    // Weights with their norm multiplied out stay for backward: the generator's, and the critics' one and a half times.
    let critics = 71_410_594.0;
    near(pieces(&voice).copies, 4.0 * (37_638_466.0 + 1.5 * critics), 1e-6);
    near(pieces(&voice).early / pieces(&voice).gradients, critics / 109_049_060.0, 1e-6);
    near(with(&voice, |p| (p.method, p.frozen_share) = (Method::Freeze, 0.5)).gradients, 2.0 * 109_049_060.0, 1e-6);
    let half = with(&voice, |p| p.precision = Precision::AmpBf16);
    near(half.saved, 8.0 * 48_000.0 * rvc / 2.0 + 8.0 * 400.0 * 216e3, 1e-5);
    near(half.copies, pieces(&voice).copies / 2.0, 1e-6);
    // GPT-SoVITS trains its language model in a run of its own.
    near(pieces(&full("gpt-sovits-v2")).gradients, 4.0 * (175_700_000.0 - 77_600_000.0), 1e-6);
    assert_eq!(estimate(&full("sensevoice-small")).method, EstimateMethod::Rough);
    assert_eq!(estimate(&voice).method, EstimateMethod::Extrapolated);
}

/// Pictures beside text: a decoder with its logits, and a tower that stands frozen.
#[test]
fn decoders_with_towers() {
    // LLaVA 1.5: 32 layers of 4,096, Vicuna's 32,000 tokens, CLIP's 24 layers of 1,024 with patches of 14 pixels.
    let llava = Project { sequence: 1024, image_side: 336, ..full("llava-1.5-7b") };
    let plain = pieces(&llava);
    near(plain.saved / (8.0 * 1024.0 * 4096.0 * 32.0), 100.0, 1e-6);
    let logits = 8.0 * 1024.0 * 32_000.0;
    near(plain.logits + plain.loss, 12.0 * logits, 1e-6);
    near(plain.gradients, 4.0 * 6_738_939_904.0, 1e-6);
    near(plain.encoding, 8.0 * 24.0 * 24.0 * 1024.0 * 48.0, 1e-6);
    let half = with(&llava, |p| p.precision = Precision::AmpBf16);
    near(half.encoding, plain.encoding / 2.0, 1e-6);
    near(half.saved / (8.0 * 1024.0 * 4096.0 * 32.0), 62.0, 1e-6);
    near(with(&llava, |p| p.image_side = 672).encoding, 4.0 * plain.encoding, 1e-6);
    let fused = with(&llava, |p| p.loss = LossKernel::Fused);
    assert!(fused.logits == 0.0 && fused.loss > 0.0 && fused.loss < logits);
    let narrow = with(&llava, |p| p.loss = LossKernel::NoUpcast);
    near(narrow.logits, 2.0 * logits, 1e-6);
    near(with(&llava, |p| (p.method, p.frozen_share) = (Method::Freeze, 0.5)).gradients, plain.gradients / 2.0, 1e-6);
    assert!(with(&llava, |p| p.method = Method::Head).gradients < 0.05 * plain.gradients);
    // Adapters beside seven matrices: about 22 widths of rows and columns. Vicuna 7B at rank 16: 40 million.
    let lora = |rank| with(&llava, |p| (p.method, p.lora.rank) = (Method::Lora, rank)).gradients / 4.0;
    near(lora(16), 39_976_960.0, 0.2);
    near(lora(32), 2.0 * lora(16), 1e-6);
    // Other vocabularies: Mistral's row says nothing, which is taken for Llama 3's 128,256.
    let mistral = Project { sequence: 1024, ..full("llava-1.6-mistral-7b") };
    near(pieces(&mistral).logits / plain.logits, 128_256.0 / 32_000.0, 1e-6);
    // A tower of 836 million weights has 27 layers of 1,152.
    let vision = Project { sequence: 1024, image_side: 560, ..full("llama-3.2-11b-vision") };
    near(pieces(&vision).encoding, 8.0 * 40.0 * 40.0 * 1152.0 * 48.0, 1e-6);
    // BLIP-2 never trains its language model, which stands in 16 bit; tower and bridge are trained, and are kept for backward.
    let blip = Project { sequence: 64, ..full("blip2-opt-2.7b") };
    let sees = 3_744_761_856.0 - 2_651_596_800.0;
    let told = pieces(&blip);
    near(told.gradients, 4.0 * sees, 1e-6);
    near(told.weights, 4.0 * sees + 2.0 * 2_651_596_800.0, 1e-6);
    let tower = 8.0 * 16.0 * 16.0 * 1408.0 * 39.0 * 68.6;
    near(told.saved, 8.0 * 64.0 * 2560.0 * 32.0 * 100.0 + tower, 1e-6);
    // The bridge alone: Q-Former and its projection, some 100 million.
    let bridge = with(&blip, |p| (p.method, p.frozen_share) = (Method::Freeze, 1.0));
    let trained = bridge.gradients / 4.0;
    assert!((0.5e8..2e8).contains(&trained), "{trained}");
    near(bridge.weights, 4.0 * trained + 2.0 * (3_744_761_856.0 - trained), 1e-6);
    near(bridge.saved, told.saved - tower, 1e-6);
}

/// Tables, graphs, series and trees are small enough to write out.
#[test]
fn small_models_written_out() {
    // XGBoost bins 50 columns to a byte, with gradient and hessian of a row in eight.
    let trees = Project { samples: 1_000_000, ..full("xgboost-gpu") };
    let told = pieces(&trees);
    near(told.batch, 50e6, 1e-9);
    near(told.encoding, 200e6, 1e-9);
    near(told.saved, 8e6, 1e-9);
    assert_eq!((told.weights, told.states), (0.0, 0.0));
    near(told.gradients, 8e6, 1e-9);
    near(told.early, told.gradients, 1e-9);
    // Histograms of 256 bins for the 64 leaves of six levels, two doubles each.
    near(told.transient, 64.0 * 50.0 * 256.0 * 16.0, 1e-9);
    // Cora: 2,708 nodes of 1,433 features in fp32, 13,264 edges of two indices and a value.
    let graph = pieces(&full("gcn-cora"));
    near(graph.batch, 2708.0 * 1433.0 * 4.0 + 13_264.0 * 20.0, 1e-9);
    near(graph.saved, 2708.0 * 46.0 * 8.0, 1e-6);
    // The Nature network: outputs of 12,800, 5,184, 3,136 and 512 for a picture of 84 pixels; each kept and once more behind
    // its activation.
    let atari = pieces(&full("ppo-atari"));
    near(atari.saved, 8.0 * (12_800.0 + 5184.0 + 3136.0 + 512.0) * 8.0, 1e-9);
    near(atari.transient, atari.saved / 8.0, 1e-9);
    near(atari.gradients, 4.0 * 1_686_000.0, 1e-6);
    // A table of fifty columns in fp32.
    near(pieces(&full("mlp-tabular")).batch, 8.0 * 50.0 * 4.0, 1e-9);
    let half = with(&full("ppo-atari"), |p| p.precision = Precision::AmpBf16);
    near(half.saved, atari.saved * 0.75, 1e-6);
    near(half.copies, 2.0 * 1_686_000.0, 1e-6);
    // Series: by their length; two layers of 128 with four gates, a cell and an output.
    let series = |sequence| with(&full("lstm-timeseries"), |p| p.sequence = sequence).saved;
    near(series(96), 8.0 * 96.0 * 2.0 * 128.0 * 6.0 * 8.0, 1e-6);
    near(series(192), 2.0 * series(96), 1e-6);
    let informer = |sequence| with(&full("informer"), |p| p.sequence = sequence).saved;
    near(informer(192), 2.0 * informer(96), 1e-6);
    near(informer(96) / (8.0 * 96.0 * 3.0 * 512.0 * 8.0), 17.0, 1e-6);
    near(pieces(&full("ft-transformer")).saved / (8.0 * 50.0 * 3.0 * 192.0 * 8.0), 17.0, 1e-6);
    // GraphSAGE samples 15, 10 and 5 neighbours of 100 features into 256.
    near(pieces(&full("graphsage-ogbn")).saved, 8.0 * 750.0 * 356.0 * 8.0, 1e-6);
    assert!(pieces(&full("mlp-tabular")).saved < 8.0 * 100_000.0);
    near(with(&full("mlp-tabular"), |p| p.micro_batch = 80).saved, 10.0 * pieces(&full("mlp-tabular")).saved, 1e-4);
}

/// A network by its printed summary.
#[test]
fn a_network_by_its_summary() {
    let network = CustomNetwork { params: 11_689_512, trained: 0, outputs: 2_500_000, widest: 800_000, macs: 1 };
    let base = Project { network: Some(network.clone()), ..full("") };
    let told = pieces(&base);
    near(told.saved, 8.0 * 2_500_000.0 * 4.0, 1e-9);
    // The gradient of the widest output and of what went into it.
    near(told.transient, 8.0 * 800_000.0 * 4.0 * 2.0, 1e-9);
    near(told.gradients, 4.0 * 11_689_512.0, 1e-9);
    near(told.outside - 517.0 * 1024.0 * 1024.0, 0.06 * told.saved, 1e-3);
    near(with(&base, |p| p.micro_batch = 100_000).outside - 517.0 * 1024.0 * 1024.0, 2e9, 1e-6);
    assert!(told.early > 0.0 && told.early < 0.1 * told.gradients);
    let half = with(&base, |p| p.precision = Precision::AmpBf16).saved / told.saved;
    assert!((0.5..0.6).contains(&half));
    // Where no widest is printed, an eighth of all.
    let unknown = with(&base, |p| p.network = Some(CustomNetwork { widest: 0, ..network.clone() }));
    near(unknown.transient, 8.0 * 312_500.0 * 8.0, 1e-9);
    let part = with(&base, |p| p.network = Some(CustomNetwork { trained: 1_000_000, ..network.clone() }));
    near(part.gradients, 4e6, 1e-9);
    near(part.weights, told.weights, 1e-9);
    // Nothing is computed again, whatever is set.
    near(with(&base, |p| p.checkpointing = Checkpointing::PerBlock).saved, told.saved, 1e-9);
    let refused = |change: &dyn Fn(&mut Project)| {
        let mut project = base.clone();
        change(&mut project);
        memory(&project, None, &Catalog::bundled()).is_err()
    };
    assert!(
        refused(&|p| p.method = Method::Lora) && refused(&|p| p.micro_batch = 0) && refused(&|p| p.accumulation = 0)
    );
    assert!(refused(&|p| p.network = Some(CustomNetwork { params: 0, ..network.clone() })));
    assert!(refused(&|p| p.micro_batch = 1 << 50) && !refused(&|_| {}));
}
