//! Libraries switch by switch, and how a project's words become a step's settings.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::catalog::Catalog;
use crate::project::{Choice, Objective};
use Framework as F;

/// Those that train denoisers and pictures.
const DENOISERS: [F; 6] = [F::SimpleTuner, F::Kohya, F::OneTrainer, F::Diffusers, F::AiToolkit, F::Ultralytics];

/// The libraries of which something holds.
fn those(holds: impl Fn(&Stack) -> bool) -> Vec<F> {
    F::ALL.iter().copied().filter(|f| holds(&Stack::of(*f))).collect()
}

fn same(found: &[F], expected: &[F]) {
    let listed = |all: &[F]| F::ALL.iter().filter(|f| all.contains(f)).copied().collect::<Vec<_>>();
    assert_eq!(listed(found), listed(expected));
}

#[test]
fn libraries_decide_for_themselves() {
    let kernels = [
        F::Axolotl,
        F::Unsloth,
        F::Torchtune,
        F::Litgpt,
        F::Torchtitan,
        F::LlmFoundry,
        F::Megatron,
        F::Pytorch,
        F::OpenMmlab,
    ];
    let foreach = [F::MsSwift, F::Litgpt, F::Pytorch, F::OpenMmlab];
    same(&those(|s| s.own_kernels), &[&kernels[..], &DENOISERS].concat());
    same(&those(|s| s.step == StepImpl::Foreach), &[&foreach[..], &DENOISERS].concat());
    same(
        &those(|s| s.kbit_prepare),
        &[F::Transformers, F::Torchtitan, F::LlmFoundry, F::Megatron, F::Pytorch, F::OpenMmlab],
    );
    same(&those(|s| s.half_adapters), &[F::Torchtune, F::Litgpt, F::SimpleTuner, F::Diffusers]);
    same(&those(|s| s.pure_half), &[F::Torchtune, F::Litgpt]);
    same(&those(|s| s.unties_head), &[F::Litgpt]);
    same(&those(|s| s.fused_gelu), &[F::Litgpt, F::Megatron]);
    same(&those(|s| s.own_models), &[F::Pytorch, F::OpenMmlab]);
    same(&those(|s| s.models_loss), &[F::LlamaFactory, F::Axolotl, F::MsSwift, F::Transformers]);
    same(&those(|s| s.loss == Loss::FusedChunked), &[F::Unsloth, F::Torchtune]);
    same(&those(|s| s.loss == Loss::ChunkedLoss { chunk: 128 }), &[F::Litgpt]);
    same(&those(|s| s.orders_tiles_to_save || s.eager_attention || s.masks_attention), &[]);
    same(&those(|s| s.code.plain_experts), &[F::LlamaFactory, F::MsSwift, F::Transformers]);
    same(&those(|s| s.code.fused_adapters), &[F::Unsloth]);
    same(&those(|s| s.code.keeps_products), &[F::Torchtitan]);
    same(&those(|s| s.code.fused_cross_entropy), &[F::LlmFoundry]);
    same(&those(|s| s.code.fused_layers), &[F::Megatron]);
    same(&those(|s| s.code.plain_adapters), &[F::Kohya, F::OneTrainer]);
    same(
        &those(|s| s.code.int8_for_training && s.code.unchecked_linear_attention && s.code.joint_projections),
        &[F::SimpleTuner],
    );
    let litgpt = Stack::of(F::Litgpt).code;
    assert!(litgpt.joint_qkv && litgpt.quantizes_head && litgpt.casts_dequantized && litgpt.quantized_saves_input);
    assert!(litgpt.widens_logits && litgpt.copies_adapter_parts && litgpt.holds_last_loss);
}

#[test]
fn libraries_as_they_were() {
    let at = |framework, runtime| Stack::of(framework).at(runtime);
    for framework in F::ALL {
        assert_eq!(at(*framework, Runtime::Current), Stack::of(*framework));
        // PyTorch 2 and bitsandbytes 0.38 to 0.44; kernels of one's own were there before transformers called any.
        let early = at(*framework, Runtime::Early2);
        assert_eq!(early.eager_attention, !Stack::of(*framework).own_kernels, "{framework:?}");
        assert!(
            early.orders_tiles_to_save
                && early.code.narrow_math
                && !early.code.holds_last_loss
                && !early.masks_attention
        );
        // The first of PyTorch 2: LitGPT's mask.
        let first = at(*framework, Runtime::First2);
        assert_eq!((first.orders_tiles_to_save, first.masks_attention), (false, *framework == F::Litgpt));
        assert!(first.code.narrow_math);
        // PyTorch 1: weight by weight, gradients set to zero, scores written out.
        for runtime in [Runtime::One, Runtime::LateOne, Runtime::LastOne] {
            let one = at(*framework, runtime);
            assert!(one.eager_attention && one.step == StepImpl::Loop && one.code.zeroes_gradients);
            assert!(one.code.sums_gradients_anew && one.code.wide_assigner && !one.code.holds_last_loss);
            let own = Stack::of(*framework).own_models;
            assert_eq!((one.code.written_gelu, one.code.data_on_card), (own, own));
            let oldest = runtime == Runtime::One;
            assert_eq!((one.code.keeps_softmax_input, one.code.scripts_hold_inputs), (oldest, oldest));
        }
    }
    // Until the end of 2024 transformers' loss shifted the logits into a copy; Unsloth's kernel worked in their place.
    let then = at(F::Transformers, Runtime::Mid2).code;
    assert!(then.shifts_logits && then.wide_assigner && !then.plain_experts && then.adds_head_gradient);
    assert!(!at(F::Pytorch, Runtime::Mid2).code.shifts_logits);
    let unsloth = at(F::Unsloth, Runtime::Mid2);
    assert!(unsloth.loss == Loss::NoUpcast && unsloth.code.fused_cross_entropy && unsloth.code.converts_outputs);
    assert!(unsloth.code.adds_updates && unsloth.code.fused_adapters);
}

#[test]
fn formats_follow_what_is_trained() {
    use Dtype as D;
    use Precision as P;
    let of = |method, precision, framework| {
        let p = Project { method, precision, framework, base: BaseFormat::AsPrecision, ..Project::default() };
        let c = configure(&p, 32, Task::LanguageModel, None);
        (c.weights, c.autocast, c.adapter, c.master_weights)
    };
    for (method, precision, framework, expected) in [
        (Method::Full, P::Fp32, F::Transformers, (D::F32, None, D::F32, false)),
        (Method::Full, P::AmpBf16, F::Transformers, (D::F32, Some(D::Bf16), D::F32, false)),
        (Method::Full, P::AmpFp16, F::Transformers, (D::F32, Some(D::F16), D::F32, false)),
        (Method::Full, P::PureBf16, F::Transformers, (D::Bf16, None, D::Bf16, false)),
        (Method::Full, P::MasterBf16, F::Transformers, (D::Bf16, None, D::F32, true)),
        (Method::Lora, P::MasterBf16, F::Transformers, (D::Bf16, None, D::F32, false)),
        (Method::Lora, P::AmpBf16, F::Transformers, (D::Bf16, Some(D::Bf16), D::F32, false)),
        (Method::Lora, P::AmpFp16, F::Transformers, (D::F16, Some(D::F16), D::F32, false)),
        (Method::Lora, P::Fp32, F::Transformers, (D::F32, None, D::F32, false)),
        (Method::QLora, P::Fp32, F::Transformers, (D::Bf16, None, D::F32, false)),
        // diffusers casts adapters to fp32 for fp16 only.
        (Method::Lora, P::AmpBf16, F::Diffusers, (D::Bf16, Some(D::Bf16), D::Bf16, false)),
        (Method::Lora, P::AmpFp16, F::Diffusers, (D::F16, Some(D::F16), D::F32, false)),
        // torchtune and LitGPT mean 16 bit throughout.
        (Method::Full, P::AmpBf16, F::Torchtune, (D::Bf16, None, D::Bf16, false)),
    ] {
        assert_eq!(of(method, precision, framework), expected, "{method:?} {precision:?} {framework:?}");
    }
    let based = |base, method| {
        let p = Project { base, method, precision: P::AmpBf16, ..Project::default() };
        let c = configure(&p, 32, Task::LanguageModel, None);
        (c.weights, c.quantization)
    };
    let nf4 = |double| Some(Quantization::Nf4 { double });
    for (base, expected) in [
        (BaseFormat::Fp32, (D::F32, None)),
        (BaseFormat::Bf16, (D::Bf16, None)),
        (BaseFormat::Nf4, (D::Bf16, nf4(false))),
        (BaseFormat::Nf4Double, (D::Bf16, nf4(true))),
        (BaseFormat::Int4, (D::Bf16, Some(Quantization::Int4))),
        (BaseFormat::Int8, (D::Bf16, Some(Quantization::Int8))),
        (BaseFormat::Fp8, (D::Bf16, Some(Quantization::Fp8))),
        (BaseFormat::Fp8Dynamic, (D::Bf16, Some(Quantization::Fp8Dynamic))),
    ] {
        assert_eq!(based(base, Method::Lora), expected, "{base:?}");
    }
    assert_eq!(based(BaseFormat::AsPrecision, Method::QLora), (D::Bf16, nf4(true)));
}

/// The configuration of a project that differs from the usual in one thing, on a card.
fn changed(gpu: &str, change: impl FnOnce(&mut Project)) -> StepConfig {
    let mut p = Project { framework: F::Transformers, precision: Precision::AmpBf16, ..Project::default() };
    p.method = Method::Full;
    change(&mut p);
    configure(&p, 32, Task::LanguageModel, Catalog::bundled().gpu(gpu))
}

#[test]
fn kernels_are_those_of_the_card_and_the_library() {
    use AttentionKernel as K;
    let attention = |gpu, attention| changed(gpu, |p| p.attention = attention).attention;
    for (given, new, old) in [
        (Attention::Auto, K::Flash, K::Efficient),
        (Attention::Flash, K::Flash, K::Efficient),
        (Attention::Efficient, K::Efficient, K::Efficient),
        (Attention::Eager, K::Eager, K::Eager),
        (Attention::Math, K::Math, K::Math),
    ] {
        assert_eq!((attention("rtx-4090", given), attention("t4", given)), (new, old), "{given:?}");
    }
    let then = |framework, runtime| changed("rtx-4090", |p| (p.framework, p.runtime) = (framework, runtime)).attention;
    assert_eq!(then(F::Transformers, Runtime::Early2), K::Eager);
    assert_eq!(then(F::Litgpt, Runtime::First2), K::Math);
    for (gpu, has) in
        [("rtx-4090", true), ("a100-sxm-80gb", true), ("t4", false), ("rx-7900-xtx", true), ("rx-6700-xt", false)]
    {
        assert_eq!(flash(Catalog::bundled().gpu(gpu)), has, "{gpu}");
    }
    assert!(flash(None) && !flash(Catalog::bundled().gpu("apple-m3-ultra-96gb")));
    let step =
        |given, optimizer| changed("t4", |p| (p.optimizer_impl, p.optimizer) = (given, optimizer)).optimizer_impl;
    assert_eq!(step(OptimizerImpl::Auto, Optimizer::AdamW), StepImpl::Fused);
    assert_eq!(step(OptimizerImpl::Auto, Optimizer::AdamW8bit), StepImpl::Loop);
    assert_eq!(step(OptimizerImpl::Auto, Optimizer::PagedAdamW8bit), StepImpl::Loop);
    assert_eq!(step(OptimizerImpl::Fused, Optimizer::AdamW8bit), StepImpl::Fused);
    assert_eq!(step(OptimizerImpl::Foreach, Optimizer::AdamW), StepImpl::Foreach);
    assert_eq!(step(OptimizerImpl::Loop, Optimizer::AdamW), StepImpl::Loop);
    assert_eq!(step(OptimizerImpl::InBackward, Optimizer::AdamW), StepImpl::InBackward);
    assert_eq!(changed("t4", |p| p.habits.renews = true).optimizer_impl, StepImpl::Renewing);
}

#[test]
fn what_is_trained_and_lost() {
    let trained = |method, share| changed("t4", |p| (p.method, p.frozen_share) = (method, share)).trained;
    assert_eq!((trained(Method::Full, 0.5), trained(Method::Scratch, 0.5)), (Trained::All, Trained::All));
    assert_eq!(trained(Method::Head, 0.5), Trained::Head);
    // Of 32 layers.
    assert_eq!(trained(Method::Freeze, 0.25), Trained::AboveLayer(8));
    assert_eq!(trained(Method::Freeze, 0.98), Trained::AboveLayer(31));
    assert_eq!(trained(Method::Freeze, 7.0), Trained::AboveLayer(32));
    let loss = |framework, loss| changed("t4", |p| (p.framework, p.loss) = (framework, loss)).loss;
    for (framework, given, expected) in [
        (F::Transformers, LossKernel::Auto, Loss::Upcast),
        (F::Unsloth, LossKernel::Auto, Loss::FusedChunked),
        (F::Unsloth, LossKernel::Upcast, Loss::Upcast),
        (F::Transformers, LossKernel::NoUpcast, Loss::NoUpcast),
        (F::Transformers, LossKernel::Fused, Loss::FusedChunked),
        (F::Transformers, LossKernel::Chunked, Loss::FusedChunked),
        (F::Litgpt, LossKernel::Chunked, Loss::ChunkedLoss { chunk: 128 }),
    ] {
        assert_eq!(loss(framework, given), expected, "{framework:?} {given:?}");
    }
    // Preferences: chosen and rejected together, with all logits.
    let pairs = changed("t4", |p| (p.objective, p.framework, p.micro_batch) = (Objective::Preference, F::Unsloth, 3));
    assert_eq!((pairs.batch, pairs.loss, pairs.hold_outputs), (6, Loss::Upcast, false));
    let then = changed("t4", |p| (p.objective, p.runtime) = (Objective::Preference, Runtime::Mid2));
    assert!(then.hold_outputs && changed("t4", |p| p.habits.own_loop = true).hold_outputs);
    // A compiled model's loss.
    let compiled = |framework, runtime| {
        changed("t4", |p| (p.framework, p.runtime, p.habits.compiled) = (framework, runtime, true)).code
    };
    assert!(compiled(F::Pytorch, Runtime::Current).fused_cross_entropy);
    assert!(compiled(F::Torchtitan, Runtime::Current).fused_cross_entropy);
    assert!(!compiled(F::Torchtitan, Runtime::Mid2).fused_cross_entropy);
    assert!(!compiled(F::Transformers, Runtime::Current).fused_cross_entropy);
    assert!(compiled(F::Transformers, Runtime::Current).compiled);
    // GELU's kernel came with Ampere's CUDA.
    let gelu = |gpu| changed(gpu, |p| (p.framework, p.runtime) = (F::Pytorch, Runtime::One)).code.written_gelu;
    assert!(gelu("t4") && !gelu("rtx-4090") && gelu("rx-7900-xtx"));
    let streamed =
        |framework, share| changed("t4", |p| (p.framework, p.block_swap) = (framework, share)).code.streamed_linears;
    assert!(streamed(F::SimpleTuner, 1.0) && !streamed(F::SimpleTuner, 0.9) && !streamed(F::Kohya, 1.0));
    let prepared = |framework, base| {
        changed("t4", |p| (p.framework, p.base, p.method) = (framework, base, Method::Lora)).kbit_prepare
    };
    assert!(prepared(F::Transformers, BaseFormat::Nf4) && !prepared(F::Transformers, BaseFormat::Int4));
    assert!(!prepared(F::Transformers, BaseFormat::Bf16) && !prepared(F::Axolotl, BaseFormat::Nf4));
}
