//! The symbolic step against itself and against what must hold for any model and setting.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::{Architecture, Catalog, LanguageKind, LanguageModel};
use enough_gpu::estimate::language::step;
use enough_gpu::estimate::stack::Stack;
use enough_gpu::network;
use enough_gpu::network::diffusion::{Latents, diffusion};
use enough_gpu::network::vision::{Pictures, vision};
use enough_gpu::project::{Checkpointing, Framework, Lora, LoraTargets, Optimizer, Runtime};
use enough_gpu::step::{
    AttentionKernel, Code, Dtype, Loss, Quantization, Shards, StepConfig, StepImpl, Task, Trained, Walk, Walked, Way,
    course, first_steps, least, run, walk,
};

fn config(batch: u64, sequence: u64) -> StepConfig {
    StepConfig {
        batch,
        sequence,
        decoder_sequence: None,
        task: Task::LanguageModel,
        trained: Trained::All,
        weights: Dtype::F32,
        autocast: Some(Dtype::Bf16),
        master_weights: false,
        quantization: None,
        kbit_prepare: true,
        code: Code::default(),
        adapter: Dtype::F32,
        optimizer: Optimizer::AdamW,
        optimizer_impl: StepImpl::Foreach,
        checkpointing: Checkpointing::Off,
        reentrant: false,
        attention: AttentionKernel::Flash,
        loss: Loss::Upcast,
        hold_outputs: false,
        accumulation: 1,
        shards: Shards::default(),
    }
}

/// Settings that differ in kind: what is trained, formats, kernels, losses, checkpointing, sharding.
fn settings() -> Vec<StepConfig> {
    let base = config(2, 320);
    let lora = Trained::Adapters(Lora { rank: 8, targets: LoraTargets::AllLinear, dropout: 0.05, ..Lora::default() });
    let half = StepConfig { weights: Dtype::Bf16, autocast: None, ..base };
    vec![
        base,
        half,
        StepConfig { weights: Dtype::F32, autocast: None, attention: AttentionKernel::Sdpa, ..base },
        StepConfig { master_weights: true, ..half },
        StepConfig { checkpointing: Checkpointing::PerBlock, ..base },
        StepConfig { checkpointing: Checkpointing::Offloaded, ..half },
        StepConfig { checkpointing: Checkpointing::PerBlock, reentrant: true, ..half },
        StepConfig { trained: lora, weights: Dtype::Bf16, ..base },
        StepConfig { trained: lora, weights: Dtype::Bf16, checkpointing: Checkpointing::PerBlock, ..base },
        StepConfig {
            trained: lora,
            weights: Dtype::Bf16,
            quantization: Some(Quantization::Nf4 { double: true }),
            checkpointing: Checkpointing::PerBlock,
            ..base
        },
        StepConfig { attention: AttentionKernel::Eager, ..base },
        StepConfig { attention: AttentionKernel::Math, loss: Loss::NoUpcast, ..half },
        StepConfig { loss: Loss::FusedChunked, accumulation: 4, ..base },
        StepConfig {
            trained: lora,
            weights: Dtype::Bf16,
            quantization: Some(Quantization::Nf4 { double: false }),
            loss: Loss::ChunkedLoss { chunk: 128 },
            code: Stack::of(Framework::Litgpt).code,
            ..half
        },
        StepConfig {
            trained: Trained::Adapters(Lora { rank: 8, targets: LoraTargets::QV, dropout: 0.05, ..Lora::default() }),
            loss: Loss::ChunkedLoss { chunk: 128 },
            code: Stack::of(Framework::Litgpt).code,
            ..half
        },
        StepConfig {
            trained: lora,
            weights: Dtype::Bf16,
            quantization: Some(Quantization::Nf4 { double: true }),
            checkpointing: Checkpointing::Offloaded,
            loss: Loss::FusedChunked,
            code: Stack::of(Framework::Unsloth).code,
            ..base
        },
        StepConfig { code: Stack::of(Framework::Pytorch).at(Runtime::One).code, ..base },
        StepConfig { loss: Loss::ChunkedLoss { chunk: 0 }, trained: Trained::AboveLayer(2), ..half },
        StepConfig {
            shards: Shards { weights: 8, gradients: 8, optimizer: 8, ..Shards::default() },
            checkpointing: Checkpointing::PerBlock,
            ..half
        },
        StepConfig { optimizer_impl: StepImpl::InBackward, optimizer: Optimizer::Adafactor, ..half },
        StepConfig { trained: Trained::Nothing, ..half },
    ]
}

/// One model of each way of being built.
fn models(catalog: &Catalog) -> Vec<(&'static str, LanguageModel)> {
    [
        "gpt2",
        "pythia-160m",
        "tinyllama-1.1b",
        "qwen2.5-0.5b",
        "qwen3-0.6b",
        "gemma-2-2b",
        "gemma-3-1b",
        "phi-2",
        "phi-3-mini",
        "glm-4-9b",
        "mixtral-8x7b",
        "qwen3-30b-a3b",
        "deepseek-v2-lite",
        "bert-base-uncased",
        "t5-base",
        "flan-t5-base",
        "bart-base",
        "gpt-oss-20b",
        "olmo-2-7b",
        "falcon-7b",
        "modernbert-base",
        "qwen3-next-80b-a3b",
        "qwen3.5-0.8b",
        "gemma-4-e2b",
    ]
    .into_iter()
    .map(|id| {
        let row = catalog.model(id).unwrap_or_else(|| panic!("{id}"));
        (id, row.language().unwrap().clone())
    })
    .collect()
}

/// Walking the ends of repeated layers gives, to the byte, what walking all of them gives.
#[test]
fn repeated_layers_need_not_be_walked() {
    let catalog = Catalog::bundled();
    for (id, model) in models(&catalog) {
        for (k, config) in settings().iter().enumerate() {
            for layers in [1, 2, 3, 4, 5, 7, 13, 26, 40] {
                let model = LanguageModel { layers, ..model.clone() };
                let ends = step(&model, config, Walk::Ends).unwrap();
                let full = step(&model, config, Walk::Full).unwrap();
                assert_eq!(ends.peak, full.peak, "{id}, setting {k}, {layers} layers");
                assert_eq!(ends.forward_end, full.forward_end, "{id}, setting {k}, {layers} layers");
                assert_eq!(ends.peaks, full.peaks, "{id}, setting {k}, {layers} layers");
            }
        }
    }
}

/// A model of a thousand layers is answered for as quickly as one of four: the fastest of many calls, for the work that
/// others have on the machine.
#[test]
fn depth_takes_no_time() {
    let catalog = Catalog::bundled();
    for (id, model) in models(&catalog) {
        let fastest = |layers| {
            let model = LanguageModel { layers, ..model.clone() };
            let call = || {
                let start = std::time::Instant::now();
                std::hint::black_box(step(&model, &config(2, 320), Walk::Ends)).unwrap();
                start.elapsed()
            };
            (0..40).map(|_| call()).min().unwrap()
        };
        let (shallow, deep) = (fastest(8), fastest(1000));
        assert!(deep < shallow * 4, "{id}: {shallow:?} for 8 layers, {deep:?} for 1000");
    }
}

/// More of anything never needs less.
#[test]
fn memory_grows_with_what_is_asked() {
    let catalog = Catalog::bundled();
    for (id, model) in models(&catalog) {
        for (k, config) in settings().iter().enumerate() {
            let peak = |model: &LanguageModel, config: &StepConfig| step(model, config, Walk::Ends).unwrap().peak;
            let here = peak(&model, config);
            let more = [
                ("batch", peak(&model, &StepConfig { batch: config.batch + 1, ..*config })),
                ("sequence", peak(&model, &StepConfig { sequence: config.sequence + 64, ..*config })),
                ("layers", peak(&LanguageModel { layers: model.layers + 1, ..model.clone() }, config)),
            ];
            for (what, more) in more {
                assert!(more >= here, "{id}, setting {k}: more {what} takes {more} instead of {here}");
            }
            if let Trained::Adapters(lora) = config.trained {
                let wider = Trained::Adapters(Lora { rank: lora.rank * 2, ..lora });
                assert!(peak(&model, &StepConfig { trained: wider, ..*config }) >= here, "{id}, setting {k}: rank");
            }
        }
    }
}

/// Between steps nothing of the step is left, and the parts add up.
#[test]
fn a_step_leaves_nothing_behind() {
    let catalog = Catalog::bundled();
    for (id, model) in models(&catalog) {
        for (k, config) in settings().iter().enumerate() {
            let r = step(&model, config, Walk::Ends).unwrap();
            assert_eq!(r.steady, r.weights + r.optimizer + r.batch, "{id}, setting {k}");
            let parts: u64 = r.at_peak.iter().sum();
            assert_eq!(r.peak.0, r.steady.0 + parts, "{id}, setting {k}: {r:?}");
            assert!(r.peak >= r.steady && r.peak >= r.forward_end, "{id}, setting {k}");
        }
    }
}

/// The program holds the parameters that the catalog counts.
#[test]
fn programs_have_the_models_parameters() {
    let catalog = Catalog::bundled();
    let mut off = Vec::new();
    let mut seen = 0;
    for row in catalog.models.iter() {
        let Some(model) = row.language() else { continue };
        // Attention whose sizes no column carries is estimated as plain layers.
        if row.params == 0 || model.attention.contains("kda") || model.attention.contains('+') {
            continue;
        }
        let encoder = model.kind == LanguageKind::Encoder;
        let task = if encoder { Task::Embedding } else { Task::LanguageModel };
        let program = network::language(model, &StepConfig { task, ..config(1, 8) });
        let error = program.parameters() as f64 / row.params as f64 - 1.0;
        seen += 1;
        if error.abs() > 0.02 {
            off.push(format!("{} {:+.1} %", row.id, error * 100.0));
        }
    }
    println!("{seen} programs, {} off: {off:?}", off.len());
    assert!(seen > 250);
    assert!(off.len() * 20 <= seen, "{} of {seen}: {off:?}", off.len());
}

/// Parameters of every denoiser's program against the count of its catalog row, taken from diffusers' classes.
#[test]
fn every_denoiser_has_its_parameters() {
    let catalog = Catalog::bundled();
    let config = settings()[0];
    let config = StepConfig { trained: Trained::All, quantization: None, ..config };
    let latents =
        Latents { height: 512, width: 512, frames: 1, encoders: false, text_parameters: 0, trains_text: false };
    let mut off = Vec::new();
    for id in enough_gpu::network::diffusion::ids() {
        let model = catalog.model(id).expect(id);
        let Architecture::Diffusion(row) = &model.architecture else { panic!("{id} is no denoiser") };
        let program = diffusion(id, latents, &config).expect(id);
        // A ControlNet's row leaves out the frozen denoiser.
        let own = |w: &&network::Weight| w.trained || row.kind != "adapter";
        let parameters: u64 = program.weights.iter().filter(own).map(|w| w.numel * w.times).sum();
        let gap = parameters as f64 / row.denoiser_params as f64 - 1.0;
        if gap.abs() > 0.01 {
            off.push(format!("{id}: {parameters} against {}, {:+.2} %", row.denoiser_params, gap * 100.0));
        }
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// Text encoders that are trained along are written out: as many parameters as their catalog rows count.
#[test]
fn trained_text_encoders_have_their_parameters() {
    let catalog = Catalog::bundled();
    let config = StepConfig { trained: Trained::All, quantization: None, ..settings()[0] };
    let plain = Latents { height: 512, width: 512, frames: 1, encoders: false, text_parameters: 0, trains_text: false };
    for id in ["sd1.5", "sd2.1", "sdxl"] {
        let Architecture::Diffusion(row) = &catalog.model(id).expect(id).architecture else { panic!("{id}") };
        assert!(row.learns_text(), "{id}");
        let parameters = |latents| diffusion(id, latents, &config).expect(id).parameters();
        let text = parameters(Latents { trains_text: true, ..plain }) - parameters(plain);
        let counted: u64 = row.text_encoders.iter().map(|t| t.params).sum();
        let gap = text as f64 / counted as f64 - 1.0;
        assert!(gap.abs() < 0.01, "{id}: {text} against {counted}");
    }
}

/// The same for denoisers; and a walk that variants share gives each what its own walk gives.
#[test]
fn blocks_of_denoisers_need_not_be_walked() {
    let side = 256;
    let latents =
        Latents { height: side, width: side, frames: 1, encoders: false, text_parameters: 0, trains_text: false };
    for id in enough_gpu::network::diffusion::ids() {
        for (k, config) in settings().iter().enumerate() {
            let program = diffusion(id, latents, config).unwrap_or_else(|| panic!("{id}"));
            let ends = run(&program, config, Walk::Ends);
            assert_eq!(ends, run(&program, config, Walk::Full), "{id}, setting {k}");
            shares_walks(&program, config, &format!("{id}, setting {k}"));
        }
    }
}

/// The same for networks that look at pictures.
#[test]
fn steps_on_pictures_share_their_walks() {
    let catalog = Catalog::bundled();
    let plain = StepConfig { task: Task::Embedding, ..config(2, 1) };
    let checked = StepConfig { checkpointing: Checkpointing::PerBlock, ..plain };
    let mut written = 0;
    for model in catalog.models.iter() {
        for (k, config) in [plain, checked].iter().enumerate() {
            if let Some(program) = vision(model.id, Pictures::square(256), config) {
                shares_walks(&program, config, &format!("{}, setting {k}", model.id));
                written += 1;
            }
        }
    }
    assert!(written > 200, "{written}");
}

/// The same for language models, and for those that several cards divide.
#[test]
fn steps_of_language_models_share_their_walks() {
    let catalog = Catalog::bundled();
    for (id, model) in models(&catalog) {
        for (k, config) in settings().iter().enumerate() {
            let program = network::language(&model, config);
            shares_walks(&program, config, &format!("{id}, setting {k}"));
            for way in [Way::Flat, Way::PerParameter, Way::Zero, Way::Megatron] {
                shares_divided_walks(&program, config, way, &format!("{id}, setting {k}, {way:?}"));
            }
        }
    }
}

/// Variants that a library divides come to the same from the walks that they share as from their own.
fn shares_divided_walks(program: &network::Program, config: &StepConfig, way: Way, name: &str) {
    let mut walks: Vec<(StepConfig, Walked)> = Vec::new();
    let buffers = if way == Way::Zero { 1 << 20 } else { 0 };
    for (weights, gradients, optimizer) in [(1, 1, 8), (1, 8, 8), (8, 8, 8), (2, 2, 2), (1000, 1000, 1000)] {
        for (accumulation, optimizer_impl) in
            [(1, StepImpl::Foreach), (1, StepImpl::InBackward), (2, StepImpl::Fused), (512, StepImpl::Foreach)]
        {
            let unsynced = accumulation == 2 && matches!(way, Way::Flat | Way::PerParameter);
            let shards = Shards { weights, gradients, optimizer, way, buffers, unsynced, ..Shards::default() };
            let variant = StepConfig { shards, accumulation, optimizer_impl, ..*config };
            shares_a_walk(&mut walks, program, &variant, name);
        }
    }
}

/// One of the walks that are known, or a new one, gives what the step's own walk gives.
fn shares_a_walk(walks: &mut Vec<(StepConfig, Walked)>, program: &network::Program, config: &StepConfig, name: &str) {
    let course = course(config);
    if !walks.iter().any(|(known, _)| *known == course) {
        walks.push((course, walk(program, config)));
    }
    let (_, walked) = walks.iter().find(|(known, _)| *known == course).unwrap();
    assert_eq!(walked.step(program, config), run(program, config, Walk::Ends), "{name}: {config:?}");
}

/// Every variant of a step comes to the same from a walk that it shares as from its own.
fn shares_walks(program: &network::Program, config: &StepConfig, name: &str) {
    let mut walks: Vec<(StepConfig, Walked)> = Vec::new();
    for (accumulation, weights, gradients, optimizer) in
        [(1, 1, 1, 1), (4, 1, 1, 1), (1, 1, 2, 2), (512, 1, 1, 8), (1, 8, 8, 8), (2, 2, 2, 2), (1, 1, 512, 512)]
    {
        for optimizer_impl in [StepImpl::Foreach, StepImpl::Fused, StepImpl::InBackward] {
            let shards = Shards { weights, gradients, optimizer, ..Shards::default() };
            let variant = StepConfig { shards, accumulation, optimizer_impl, ..*config };
            shares_a_walk(&mut walks, program, &variant, name);
        }
    }
    assert_eq!(walks.len(), 1, "{name}");
}

/// The allocator sees the same step as the sum of live bytes does, and gets through with no more than it likes to hold.
#[test]
fn first_steps_are_the_step() {
    let catalog = Catalog::bundled();
    for (id, model) in models(&catalog).into_iter().step_by(3) {
        for (k, config) in settings().into_iter().enumerate() {
            // Divided steps have an allocator of their own.
            if config.shards != Shards::default() {
                continue;
            }
            let program = network::language(&model, &config);
            let peak = run(&program, &config, Walk::Full).peak.0 as f64;
            let held = first_steps(&program, &config);
            let ratio = held.allocated.0 as f64 / peak;
            // Blocks are up to 1 MiB larger than what was asked for; paged states are elsewhere.
            assert!(
                ratio < 1.06 && (ratio > 0.98 || config.optimizer == Optimizer::PagedAdamW),
                "{id} {k}: {ratio:.3}"
            );
            let least = least(&program, &config).reserved;
            assert!(held.allocated <= least && least <= held.reserved, "{id} {k}: {held:?} {least:?}");
        }
    }
}

/// What a compiled layer keeps for backward, in bytes a token and column of the hidden state: listed by
/// `saved_tensors_hooks` around `torch.compile(layer, backend="aot_eager_decomp_partition")` of transformers' Llama (torch
/// 2.15), 768 tokens, hidden 512, MLP 1,408, eight heads of 64 of which four have keys.
#[test]
fn compiled_layers_keep_what_pytorch_lists() {
    let catalog = Catalog::bundled();
    let base = catalog.model("tinyllama-1.1b").unwrap().language().unwrap().clone();
    let model =
        LanguageModel { hidden: 512, intermediate: 1408, heads: 8, kv_heads: 4, head_dim: 64, vocab: 1000, ..base };
    let code = Code { compiled: true, ..Code::default() };
    let half = StepConfig { weights: Dtype::Bf16, autocast: None, code, ..config(3, 256) };
    // Tables of the rotary embedding are shared by the layers, so that they are not among what one more of them takes.
    for (name, config, listed) in [("bf16", half, 30.578), ("autocast", StepConfig { code, ..config(3, 256) }, 47.578)]
    {
        let end = |layers| {
            let r = step(&LanguageModel { layers, ..model.clone() }, &config, Walk::Ends).unwrap();
            r.forward_end.0 as f64 - r.steady.0 as f64
        };
        let kept = (end(3) - end(2)) / (768.0 * 512.0);
        assert!((kept / listed - 1.0).abs() < 0.01, "{name}: {kept:.3}, listed {listed}");
    }
}

/// The same for layers as they are, without a compiler: what one more layer keeps, listed by `saved_tensors_hooks` around
/// transformers 5.24's models of these sizes with 768 tokens and hidden 512. The linear attention's kernels stand in for those
/// of flash-linear-attention and causal-conv1d, which keep what their `save_for_backward` names. Dropout's masks are counted
/// as CUDA's kernel keeps them, a byte an element (listed on a processor `XLNet` comes to 150.703); `einsum` copies one
/// matrix of `XLNet` that ours leaves where it is.
#[test]
fn layers_keep_what_pytorch_lists() {
    let catalog = Catalog::bundled();
    let of = |id: &str| catalog.model(id).unwrap().language().unwrap().clone();
    let sized = |base: LanguageModel| LanguageModel { hidden: 512, heads: 8, head_dim: 64, vocab: 1000, ..base };
    let modern = LanguageModel { intermediate: 704, kv_heads: 8, attention: "full", ..sized(of("modernbert-base")) };
    let xlnet = LanguageModel { intermediate: 2048, kv_heads: 8, ..sized(of("xlnet-base-cased")) };
    let gated = |attention| LanguageModel { intermediate: 1408, kv_heads: 4, attention, ..sized(of("qwen3.5-4b")) };
    let softmax = gated("hybrid:gdn/0:1,vh=8,kh=4,kd=64,vd=64,conv=4");
    let delta = gated("hybrid:gdn/1:0,vh=8,kh=4,kd=64,vd=64,conv=4");
    let half = StepConfig { weights: Dtype::Bf16, autocast: None, ..config(3, 256) };
    let encoder = StepConfig { task: Task::Embedding, ..half };
    let wide = StepConfig { weights: Dtype::F32, autocast: None, attention: AttentionKernel::Eager, ..encoder };
    for (name, model, config, listed) in [
        ("ModernBERT", modern, encoder, 31.078),
        ("XLNet", xlnet, wide, 120.703),
        ("Qwen3.5, softmax", softmax, half, 66.184),
        ("Qwen3.5, linear", delta, half, 70.370),
    ] {
        let end = |layers| {
            let r = step(&LanguageModel { layers, ..model.clone() }, &config, Walk::Ends).unwrap();
            r.forward_end.0 as f64 - r.steady.0 as f64
        };
        let kept = (end(3) - end(2)) / (768.0 * 512.0);
        assert!((kept / listed - 1.0).abs() < 0.03, "{name}: {kept:.3}, listed {listed}");
    }
}

/// A vision tower that is trained before a language model: both walks are the same, its weights are the catalog's, and
/// recomputing its blocks saves most of what they keep.
#[test]
fn a_trained_tower_is_walked_like_the_rest() {
    let catalog = Catalog::bundled();
    let model = catalog.model("qwen2.5-vl-7b").unwrap();
    let language = catalog.models.iter().find(|m| m.id == "qwen2.5-7b").unwrap();
    let Architecture::Language(decoder) = &language.architecture else { panic!("{}", language.id) };
    let tower = network::Tower {
        layers: 32,
        width: 1280,
        intermediate: 3420,
        head: 80,
        modern: true,
        patches: 1024,
        merged: 4,
        recomputed: false,
    };
    for (k, config) in settings().iter().enumerate() {
        let program = network::seeing(decoder, &tower, config);
        let full = run(&program, config, Walk::Full);
        assert_eq!(run(&program, config, Walk::Ends), full, "setting {k}");
        let plain = run(&network::language(decoder, config), config, Walk::Full);
        assert!(full.peak > plain.peak, "setting {k}");
    }
    let config = StepConfig { weights: Dtype::Bf16, autocast: None, ..config(2, 320) };
    let parameters = |tower| network::seeing(decoder, tower, &config).parameters();
    let own = parameters(&tower) - network::language(decoder, &config).parameters();
    assert!((own as f64 / (model.params - language.params) as f64 - 1.0).abs() < 0.02, "{own}");
    let kept =
        |tower: &network::Tower| run(&network::seeing(decoder, tower, &config), &config, Walk::Ends).forward_end.0;
    let (plain, recomputed) = (kept(&tower), kept(&network::Tower { recomputed: true, ..tower }));
    let weights = run(&network::seeing(decoder, &tower, &config), &config, Walk::Ends).steady.0;
    let text = run(&network::language(decoder, &config), &config, Walk::Ends);
    let saved = (plain - recomputed) as f64 / ((plain - weights) - (text.forward_end.0 - text.steady.0)) as f64;
    assert!(saved > 0.85, "{saved}");
}
