//! What each of several cards holds, by the formulas of `ZeRO` (Rajbhandari et al. 2020), of tensor and pipeline parallelism;
//! and what each library makes of "automatic".
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::stack::{Stack, configure, flash, leaves_experts};
use enough_gpu::estimate::{MemoryEstimate, Part, gathers_whole_gradients, memory, timeline};
use enough_gpu::project::{
    Attention, BaseFormat, Checkpointing, Framework, LossKernel, Method, Objective, Offload, Optimizer, OptimizerImpl,
    Precision, Project, Runtime, Sharding,
};
use enough_gpu::step::{AttentionKernel, Dtype, Loss, Quantization, StepImpl, Task, Trained};

/// Weights of Llama 3.1 8B.
const P: f64 = 8_030_261_248.0;

fn full(sharding: Sharding, count: u32, framework: Framework) -> Project {
    let mut project = Project {
        model: "llama-3.1-8b".into(),
        method: Method::Full,
        precision: Precision::AmpBf16,
        framework,
        checkpointing: Checkpointing::PerBlock,
        sequence: 1024,
        micro_batch: 1,
        ..Project::default()
    };
    (project.hardware.count, project.hardware.sharding) = (count, sharding);
    project
}

fn estimate(project: &Project) -> MemoryEstimate {
    memory(project, Catalog::bundled().gpu("h100-sxm"), &Catalog::bundled()).unwrap()
}

fn bytes(m: &MemoryEstimate, part: Part) -> f64 {
    m.part(part).0 as f64
}

#[track_caller]
fn near(a: f64, b: f64, share: f64) {
    assert!((a - b).abs() <= share * a.abs().max(b.abs()).max(1.0), "{a:e} and {b:e}");
}

/// States that stay on the card between steps: moments of eight bytes, masters of four, divided by so many cards.
#[test]
fn states_are_divided_as_their_papers_say() {
    use Framework::{Axolotl, Litgpt, LlmFoundry, Megatron, Pytorch, Torchtitan, Transformers};
    for (sharding, count, framework, each) in [
        (Sharding::Ddp, 8, Transformers, 8.0),
        (Sharding::Auto, 1, Transformers, 8.0),
        (Sharding::Zero1, 8, Transformers, 12.0 / 8.0),
        (Sharding::Zero2, 8, Transformers, 12.0 / 8.0),
        (Sharding::Zero3, 8, Transformers, 12.0 / 8.0),
        (Sharding::Zero3, 16, Axolotl, 12.0 / 16.0),
        (Sharding::Auto, 4, Transformers, 12.0 / 4.0),
        (Sharding::Zero1, 8, Megatron, 12.0 / 8.0),
        (Sharding::Auto, 8, Megatron, 12.0 / 8.0),
        // FSDP keeps fp32 shards, and their moments.
        (Sharding::Fsdp, 8, Transformers, 8.0 / 8.0),
        (Sharding::Fsdp2, 8, Torchtitan, 8.0 / 8.0),
        (Sharding::FsdpGrad, 8, Pytorch, 8.0 / 8.0),
        (Sharding::FsdpHybrid, 16, Pytorch, 8.0 / 8.0),
        (Sharding::Fsdp, 16, LlmFoundry, 8.0 / 16.0),
        (Sharding::DeviceMap, 2, Transformers, 8.0 / 2.0),
    ] {
        let m = estimate(&full(sharding, count, framework));
        near(bytes(&m, Part::Optimizer), each * P, 0.01);
    }
    // Whoever stays in 16 bit has moments of two bytes.
    let pure = |framework| Project { precision: Precision::PureBf16, ..full(Sharding::Ddp, 1, framework) };
    near(bytes(&estimate(&pure(Pytorch)), Part::Optimizer), 4.0 * P, 0.01);
    let litgpt = Project { optimizer: Optimizer::Sgd, ..full(Sharding::Ddp, 1, Litgpt) };
    near(bytes(&estimate(&litgpt), Part::Optimizer), 0.0, 1.0);
    let master = Project { precision: Precision::MasterBf16, ..full(Sharding::Ddp, 1, Pytorch) };
    near(bytes(&estimate(&master), Part::Optimizer), 12.0 * P, 0.01);
    // An average of the weights is a copy of them.
    let averaged = Project { ema: true, ..full(Sharding::Ddp, 1, Pytorch) };
    near(bytes(&estimate(&averaged), Part::Optimizer), 12.0 * P, 0.01);
}

/// Weights at the peak: whole in 16 or 32 bit, or a part of them and the layers that are gathered just then.
#[test]
fn weights_are_divided_as_their_papers_say() {
    let of = |sharding, count| bytes(&estimate(&full(sharding, count, Framework::Transformers)), Part::Weights);
    // ZeRO holds 16 bit.
    for sharding in [Sharding::Zero1, Sharding::Zero2] {
        near(of(sharding, 8), 2.0 * P, 0.01);
    }
    let gathered = of(Sharding::Zero3, 8) - 2.0 * P / 8.0;
    assert!(gathered > -1e6 && gathered < 0.35 * 2.0 * P, "{gathered:e}");
    // fp32 under autocast.
    assert!(of(Sharding::Ddp, 8) >= 4.0 * P * 0.999);
    let m = estimate(&full(Sharding::DeviceMap, 4, Framework::Transformers));
    near(bytes(&m, Part::Weights), 4.0 * P / 4.0, 0.02);
    // The frozen model that preferences are compared with is there as well.
    let preference = Project { objective: Objective::Preference, ..full(Sharding::Ddp, 1, Framework::Transformers) };
    let alone = Project { objective: Objective::PreferenceWithoutReference, ..preference.clone() };
    near(bytes(&estimate(&preference), Part::Weights) - bytes(&estimate(&alone), Part::Weights), 4.0 * P, 0.01);
    let adapters = Project { method: Method::Lora, ..preference };
    near(bytes(&estimate(&adapters), Part::Weights), 2.0 * P, 0.02);
    // DDP's buckets hold the gradients once more.
    let (one, two) = (full(Sharding::Ddp, 1, Framework::Pytorch), full(Sharding::Ddp, 2, Framework::Pytorch));
    near((estimate(&two).allocated - estimate(&one).allocated).0 as f64, 4.0 * P, 0.01);
    // Tensor parallelism in twos, a pipeline of twos: a quarter of the layers' weights, with Megatron's 16 bit.
    let mut cut = full(Sharding::Zero1, 4, Framework::Megatron);
    (cut.hardware.parallel.tensor, cut.hardware.parallel.pipeline) = (2, 2);
    let m = estimate(&cut);
    assert!(bytes(&m, Part::Weights) < 2.0 * P / 3.0 && bytes(&m, Part::Weights) > 2.0 * P / 4.5);
    near(bytes(&m, Part::Optimizer) / bytes(&m, Part::Weights), 6.0, 0.01);
}

/// Main memory: each program of a machine reads the model, one for all where they share it; what is offloaded is there.
#[test]
fn main_memory_holds_what_is_away() {
    let gib = f64::from(1 << 30);
    let host = |project: &Project| estimate(project).host.0 as f64;
    let one = full(Sharding::Ddp, 1, Framework::Pytorch);
    near(host(&one), 2.0 * gib + 4.0 * P, 0.01);
    near(host(&full(Sharding::Ddp, 4, Framework::Pytorch)), 4.0 * (2.0 * gib + 4.0 * P), 0.01);
    near(host(&full(Sharding::Ddp, 16, Framework::Pytorch)), 8.0 * (2.0 * gib + 4.0 * P), 0.01);
    near(host(&full(Sharding::DeviceMap, 4, Framework::Pytorch)), 2.0 * gib + 4.0 * P, 0.01);
    near(host(&full(Sharding::Zero3, 8, Framework::Transformers)), 16.0 * gib + 2.0 * P, 0.02);
    let paged = Project { optimizer: Optimizer::PagedAdamW, ..one.clone() };
    near(host(&paged) - host(&one), 8.0 * P, 0.01);
    assert_eq!(bytes(&estimate(&paged), Part::Optimizer), 0.0);
    // Masters are the library's, not bitsandbytes', and stay.
    let masters = Project { optimizer: Optimizer::PagedAdamW, precision: Precision::MasterBf16, ..one.clone() };
    near(bytes(&estimate(&masters), Part::Optimizer), 4.0 * P, 0.01);
    let away = Project { offload: Offload::Optimizer, ..one.clone() };
    near(host(&away) - host(&one), 8.0 * P, 0.01);
    let all = Project { offload: Offload::All, ..one.clone() };
    near(host(&all) - host(&one), 12.0 * P, 0.01);
    assert!(bytes(&estimate(&all), Part::Weights) < 0.6 * 4.0 * P);
}

/// The course of a step: it begins and ends with what is resident, is highest where the estimate says, and goes through its
/// phases in their order.
#[test]
fn the_course_of_a_step_leads_to_its_peak() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("h100-sxm");
    let vision = Project { model: "resnet50".into(), image_side: 224, micro_batch: 8, ..Project::default() };
    let sdxl = Project { model: "sdxl".into(), image_side: 512, method: Method::Full, ..Project::default() };
    let whisper = Project { model: "whisper-small".into(), method: Method::Full, ..Project::default() };
    let several = Project { accumulation: 1, ..full(Sharding::Ddp, 2, Framework::Pytorch) };
    for project in [full(Sharding::Ddp, 1, Framework::Pytorch), several, vision, sdxl, whisper] {
        let m = memory(&project, gpu, &catalog).unwrap();
        for points in [10, 120] {
            let course = timeline(&project, gpu, &catalog, points);
            assert!(course.len() <= points && course.len() > points / 3, "{}: {}", project.model, course.len());
            assert!(course.windows(2).all(|pair| pair[0].at < pair[1].at), "{}", project.model);
            assert!(course.iter().all(|point| (0.0..=1.0).contains(&point.at)));
            assert!(course[0].at < 0.2 && course.last().unwrap().at > 0.8);
            let total = |at: usize| course[at].parts.iter().map(|b| b.0).sum::<u64>();
            let highest = (0..course.len()).max_by_key(|at| total(*at)).unwrap();
            // What is shown as overhead is outside of the course.
            let peak = (m.card - m.part(Part::Overhead)).0;
            near(total(highest) as f64, peak as f64, 1e-3);
            assert_eq!(course[highest].moment, m.moment, "{}", project.model);
            let order = |at: usize| course[at].moment as usize;
            assert!((1..course.len()).all(|at| order(at) >= order(at - 1)), "{}", project.model);
            // Weights and states are there all the time; what was saved is gone at the end.
            let at = |n: usize, part: Part| course[n].parts[part as usize].0;
            let least = (0..course.len()).map(|n| at(n, Part::Weights)).min().unwrap();
            assert!(least > 0 && at(0, Part::Optimizer) == at(course.len() - 1, Part::Optimizer));
            let saved = (0..course.len()).map(|n| at(n, Part::Activations)).max().unwrap();
            assert!(at(course.len() - 1, Part::Activations) < saved / 2, "{}", project.model);
        }
    }
    assert!(
        timeline(&Project { micro_batch: 0, ..full(Sharding::Ddp, 1, Framework::Pytorch) }, gpu, &catalog, 9)
            .is_empty()
    );
}

/// What the libraries do where nothing is said: by their documentation and code (sources beside each in `stack.rs`).
#[test]
fn libraries_have_their_own_automatic() {
    use Framework as F;
    use Loss::{FusedChunked, Upcast};
    use StepImpl::{Foreach, Fused};
    let chunks = Loss::ChunkedLoss { chunk: 128 };
    // Loss, optimizer kernel, k-bit preparation, adapters in 16 bit, everything in 16 bit.
    for (framework, loss, step, kbit, half_adapters, pure) in [
        (F::Transformers, Upcast, Fused, true, false, false),
        (F::LlamaFactory, Upcast, Fused, false, false, false),
        (F::Axolotl, Upcast, Fused, false, false, false),
        (F::MsSwift, Upcast, Foreach, false, false, false),
        (F::Unsloth, FusedChunked, Fused, false, false, false),
        (F::Torchtune, FusedChunked, Fused, false, true, true),
        (F::Litgpt, chunks, Foreach, false, true, true),
        (F::Pytorch, Upcast, Foreach, true, false, false),
        (F::Diffusers, Upcast, Foreach, false, true, false),
        (F::Kohya, Upcast, Foreach, false, false, false),
        (F::SimpleTuner, Upcast, Foreach, false, true, false),
        (F::AiToolkit, Upcast, Foreach, false, false, false),
    ] {
        let s = Stack::of(framework);
        assert_eq!((s.loss, s.step, s.kbit_prepare), (loss, step, kbit), "{framework:?}");
        assert_eq!((s.half_adapters, s.pure_half), (half_adapters, pure), "{framework:?}");
        // Before PyTorch 2 optimizers went weight by weight, and attention wrote its scores out.
        let old = s.at(Runtime::One);
        assert!(old.step == StepImpl::Loop && old.eager_attention && old.code.zeroes_gradients, "{framework:?}");
        assert!(old.code.keeps_softmax_input && !s.at(Runtime::LateOne).code.keeps_softmax_input);
        // transformers calls `scaled_dot_product_attention` since December 2023; libraries with kernels of their own did before.
        assert_eq!(s.at(Runtime::Early2).eager_attention, !s.own_kernels, "{framework:?}");
        assert!(!s.eager_attention && !s.at(Runtime::Mid2).eager_attention);
        assert!(s.at(Runtime::Early2).orders_tiles_to_save && !s.at(Runtime::First2).orders_tiles_to_save);
    }
    for framework in
        [F::Axolotl, F::Unsloth, F::Torchtune, F::Litgpt, F::Torchtitan, F::LlmFoundry, F::Megatron, F::Pytorch]
    {
        assert!(Stack::of(framework).own_kernels, "{framework:?}");
    }
    assert!(!Stack::of(F::Transformers).own_kernels && !Stack::of(F::LlamaFactory).own_kernels);
    assert!(Stack::of(F::Litgpt).unties_head && !Stack::of(F::Transformers).unties_head);
    assert!(
        Stack::of(F::Litgpt).at(Runtime::First2).masks_attention
            && !Stack::of(F::Unsloth).at(Runtime::First2).masks_attention
    );
    // Unsloth's loss kept 16-bit logits until November 2024.
    assert_eq!(Stack::of(F::Unsloth).at(Runtime::Mid2).loss, Loss::NoUpcast);
    let code = |f| Stack::of(f).code;
    assert!(code(F::Unsloth).fused_adapters && code(F::Litgpt).joint_qkv && code(F::Torchtitan).keeps_products);
    assert!(code(F::LlmFoundry).fused_cross_entropy && code(F::Megatron).fused_layers && code(F::Kohya).plain_adapters);
    assert!(
        code(F::SimpleTuner).int8_for_training
            && code(F::Transformers).plain_experts
            && !code(F::Axolotl).plain_experts
    );
    assert!(!Stack::of(F::Transformers).at(Runtime::Mid2).code.plain_experts);
    assert!(
        Stack::of(F::Transformers).at(Runtime::Mid2).code.shifts_logits
            && !Stack::of(F::Torchtitan).at(Runtime::Mid2).code.shifts_logits
    );
}

/// Formats, kernels and losses that a project's words come to.
#[test]
fn words_become_switches() {
    let catalog = Catalog::bundled();
    let (ampere, turing) = (catalog.gpu("rtx-3090").unwrap(), catalog.gpu("t4").unwrap());
    let base = Project {
        model: "llama-3.1-8b".into(),
        method: Method::Full,
        framework: Framework::Transformers,
        ..Project::default()
    };
    let of = |change: &dyn Fn(&mut Project)| {
        let mut project = base.clone();
        change(&mut project);
        configure(&project, 32, Task::LanguageModel, Some(ampere))
    };
    let (half, single) = (Dtype::Bf16, Dtype::F32);
    for (precision, method, weights, autocast, masters) in [
        (Precision::Fp32, Method::Full, single, None, false),
        (Precision::AmpBf16, Method::Full, single, Some(half), false),
        (Precision::AmpFp16, Method::Full, single, Some(Dtype::F16), false),
        (Precision::PureBf16, Method::Full, half, None, false),
        (Precision::MasterBf16, Method::Full, half, None, true),
        (Precision::AmpBf16, Method::Lora, half, Some(half), false),
        (Precision::AmpFp16, Method::Lora, Dtype::F16, Some(Dtype::F16), false),
        (Precision::MasterBf16, Method::Lora, half, None, false),
        (Precision::Fp32, Method::Lora, single, None, false),
        (Precision::AmpBf16, Method::QLora, half, Some(half), false),
    ] {
        let c = of(&|p| (p.precision, p.method) = (precision, method));
        assert_eq!((c.weights, c.autocast, c.master_weights), (weights, autocast, masters), "{precision:?} {method:?}");
        assert_eq!(c.quantization, (method == Method::QLora).then_some(Quantization::Nf4 { double: true }));
        assert_eq!(c.kbit_prepare, method == Method::QLora);
    }
    for (format, quantization) in [
        (BaseFormat::Nf4, Some(Quantization::Nf4 { double: false })),
        (BaseFormat::Nf4Double, Some(Quantization::Nf4 { double: true })),
        (BaseFormat::Int4, Some(Quantization::Int4)),
        (BaseFormat::Int8, Some(Quantization::Int8)),
        (BaseFormat::Fp8, Some(Quantization::Fp8)),
        (BaseFormat::Fp8Dynamic, Some(Quantization::Fp8Dynamic)),
        (BaseFormat::Bf16, None),
        (BaseFormat::Fp32, None),
    ] {
        let c = of(&|p| (p.method, p.base) = (Method::Lora, format));
        assert_eq!(c.quantization, quantization, "{format:?}");
        assert_eq!(c.weights, if format == BaseFormat::Fp32 { single } else { half }, "{format:?}");
    }
    // torchtune and LitGPT hold everything in 16 bit, adapters too; diffusers' adapters are bf16, but never fp16.
    let tune = of(&|p| (p.framework, p.method) = (Framework::Torchtune, Method::Lora));
    assert_eq!((tune.weights, tune.autocast, tune.adapter), (half, None, half));
    assert_eq!(of(&|p| p.method = Method::Lora).adapter, single);
    assert_eq!(of(&|p| (p.framework, p.method) = (Framework::Diffusers, Method::Lora)).adapter, half);
    let fp16 = of(&|p| (p.framework, p.method, p.precision) = (Framework::Diffusers, Method::Lora, Precision::AmpFp16));
    assert_eq!(fp16.adapter, single);
    // A quarter of 32 layers stays frozen.
    assert_eq!(of(&|p| (p.method, p.frozen_share) = (Method::Freeze, 0.25)).trained, Trained::AboveLayer(8));
    assert_eq!(of(&|p| p.method = Method::Head).trained, Trained::Head);
    // Two answers to a question; their losses want all log-probabilities.
    let pairs = of(&|p| (p.objective, p.micro_batch) = (Objective::Preference, 3));
    assert_eq!(pairs.batch, 6);
    assert_eq!(of(&|p| p.micro_batch = 3).batch, 3);
    let fused = of(&|p| (p.objective, p.framework) = (Objective::Preference, Framework::Unsloth));
    assert_eq!(fused.loss, Loss::Upcast);
    let chunked = of(&|p| (p.objective, p.framework) = (Objective::Preference, Framework::Litgpt));
    assert_eq!(chunked.loss, Loss::ChunkedLoss { chunk: 128 });
    for (asked, loss) in [
        (LossKernel::Auto, Loss::Upcast),
        (LossKernel::Upcast, Loss::Upcast),
        (LossKernel::NoUpcast, Loss::NoUpcast),
        (LossKernel::Chunked, Loss::FusedChunked),
        (LossKernel::Fused, Loss::FusedChunked),
    ] {
        assert_eq!(of(&|p| p.loss = asked).loss, loss, "{asked:?}");
    }
    assert_eq!(
        of(&|p| (p.loss, p.framework) = (LossKernel::Chunked, Framework::Litgpt)).loss,
        Loss::ChunkedLoss { chunk: 128 }
    );
    for (asked, step) in [
        (OptimizerImpl::Auto, StepImpl::Fused),
        (OptimizerImpl::Foreach, StepImpl::Foreach),
        (OptimizerImpl::Fused, StepImpl::Fused),
        (OptimizerImpl::Loop, StepImpl::Loop),
        (OptimizerImpl::InBackward, StepImpl::InBackward),
    ] {
        assert_eq!(of(&|p| p.optimizer_impl = asked).optimizer_impl, step);
    }
    assert_eq!(of(&|p| p.optimizer = Optimizer::AdamW8bit).optimizer_impl, StepImpl::Loop);
    // FlashAttention from Ampere on; before, the memory-efficient kernel.
    let on = |attention, gpu| configure(&Project { attention, ..base.clone() }, 32, Task::LanguageModel, gpu).attention;
    assert_eq!(on(Attention::Auto, Some(ampere)), AttentionKernel::Flash);
    assert_eq!(on(Attention::Auto, None), AttentionKernel::Flash);
    assert_eq!(on(Attention::Flash, Some(turing)), AttentionKernel::Efficient);
    assert_eq!(on(Attention::Auto, Some(turing)), AttentionKernel::Efficient);
    assert_eq!(on(Attention::Eager, Some(ampere)), AttentionKernel::Eager);
    assert_eq!(on(Attention::Math, Some(ampere)), AttentionKernel::Math);
    assert_eq!(on(Attention::Efficient, Some(ampere)), AttentionKernel::Efficient);
    let old = Project { runtime: Runtime::One, ..base.clone() };
    assert_eq!(configure(&old, 32, Task::LanguageModel, Some(ampere)).attention, AttentionKernel::Eager);
    for (id, has) in
        [("mi300x", true), ("rx-7900-xtx", true), ("t4", false), ("apple-m2-ultra", false), ("h100-sxm", true)]
    {
        let gpu = catalog.gpu(id).unwrap_or_else(|| catalog.gpus.iter().find(|g| g.id.contains(id)).unwrap());
        assert_eq!(flash(Some(gpu)), has, "{id}");
    }
    let rdna2 = catalog.gpus.iter().find(|g| g.architecture.starts_with("RDNA 2")).unwrap();
    assert!(!flash(Some(rdna2)));
    // Experts that bitsandbytes does not see stay in 16 bit where transformers packs them as plain parameters.
    let mixtral = catalog.model("mixtral-8x7b").and_then(|m| m.language()).unwrap();
    let quantized = Project { method: Method::QLora, ..base.clone() };
    assert!(leaves_experts(&quantized, mixtral));
    assert!(!leaves_experts(&base, mixtral));
    assert!(!leaves_experts(&Project { framework: Framework::Axolotl, ..quantized.clone() }, mixtral));
    assert!(!leaves_experts(&quantized, catalog.model("llama-3.1-8b").and_then(|m| m.language()).unwrap()));
}

/// FSDP sums whole gradients over micro-batches unless its library tells it to sync each time.
#[test]
fn whole_gradients_are_gathered_where_nobody_syncs() {
    let of = |sharding, count, accumulation, framework| {
        gathers_whole_gradients(&Project { accumulation, ..full(sharding, count, framework) })
    };
    assert!(of(Sharding::Fsdp, 4, 2, Framework::Transformers) && of(Sharding::Fsdp2, 4, 2, Framework::Transformers));
    assert!(!of(Sharding::Fsdp, 1, 2, Framework::Transformers) && !of(Sharding::Fsdp, 4, 1, Framework::Transformers));
    assert!(!of(Sharding::Zero3, 4, 2, Framework::Transformers) && !of(Sharding::Ddp, 4, 2, Framework::Transformers));
    assert!(!of(Sharding::Fsdp, 4, 2, Framework::LlmFoundry) && !of(Sharding::Fsdp2, 4, 2, Framework::Torchtitan));
    assert!(of(Sharding::Zero3, 4, 2, Framework::Litgpt));
}
