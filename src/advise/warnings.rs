//! What to know about the chosen card before training on it, from the fields of its row.

use super::{CardBar, CardWarning};
use crate::catalog::{Gpu, GpuFamily, Vendor, is_boosting};
use crate::estimate::TimeEstimate;
use crate::estimate::time::{has_flash, is_fast};
use crate::project::{BaseFormat, Framework, LossKernel, Method, Optimizer, Precision, Project, Wires};

/// A run of this many hours asks more of a card than games do.
const LONG_RUN_H: f64 = 24.0 * 14.0;

/// Compute capability from which on current `PyTorch` wheels run: CUDA 13 starts at Turing.
pub(super) const OLDEST_CURRENT: f64 = 7.5;

/// Why the card cannot run this training at all, if it cannot.
pub fn bar(project: &Project, gpu: &Gpu) -> Option<CardBar> {
    // TPUs run JAX or PyTorch/XLA; Kepler is in no PyTorch 2 binary.
    if gpu.vendor == Vendor::Google || gpu.compute_capability.is_some_and(|c| c < 5.0) {
        return Some(CardBar::NoPyTorch);
    }
    // `device="cuda"` is the only card that XGBoost's documentation knows.
    if is_boosting(&project.model) && gpu.vendor != Vendor::Nvidia {
        return Some(CardBar::TreesNeedCuda);
    }
    // "Full fp16 training is not supported with this recipe. Please use bf16 or fp32 instead" (torchtune's recipes).
    let sixteen = project.precision != Precision::Fp32;
    if project.framework == Framework::Torchtune && sixteen && gpu.rates.bf16.is_none() {
        return Some(CardBar::LibraryNeedsBf16);
    }
    (is_quantized(project) && !quantizes(gpu)).then_some(CardBar::NoQuantization)
}

/// Whether the project asks for kernels of bitsandbytes.
pub(super) fn is_quantized(project: &Project) -> bool {
    project.method == Method::QLora
        || matches!(project.base, BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int8)
        || matches!(project.optimizer, Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit)
}

/// Whether bitsandbytes has its 4-bit and 8-bit kernels for this card: its installation guide (0.50) names `NVIDIA` from
/// compute capability 6.0 on, AMD, Intel XPU, Apple silicon and Gaudi.
pub(super) fn quantizes(gpu: &Gpu) -> bool {
    const LEAST_CAPABILITY: f64 = 6.0;
    match gpu.vendor {
        Vendor::Nvidia => gpu.compute_capability.is_none_or(|capability| capability >= LEAST_CAPABILITY),
        Vendor::Amd | Vendor::Intel | Vendor::Apple => true,
        _ => false,
    }
}

/// Whether kernels written in Triton run on this card, as those of Liger are: on `NVIDIA` from compute capability 7.0 on
/// (Triton's README), AMD and Intel (Liger's README), and on Ascend since Liger 0.8.
pub(super) fn runs_triton(gpu: &Gpu) -> bool {
    const LEAST_CAPABILITY: f64 = 7.0;
    match gpu.vendor {
        Vendor::Nvidia => gpu.compute_capability.is_none_or(|capability| capability >= LEAST_CAPABILITY),
        Vendor::Amd | Vendor::Intel | Vendor::Huawei => true,
        _ => false,
    }
}

/// Turing without matrix units makes nonsense of fp16 often enough (the notes of its rows).
fn breaks_in_half(gpu: &Gpu) -> bool {
    gpu.rates.fp16.is_none() && gpu.compute_capability.is_some_and(|c| c >= OLDEST_CURRENT)
}

/// The precision to take where the project is set to bf16 and the card has no units for it.
pub fn without_bf16(project: &Project, gpu: &Gpu) -> Option<Precision> {
    let bf16 = matches!(project.precision, Precision::AmpBf16 | Precision::PureBf16 | Precision::MasterBf16);
    let instead = if breaks_in_half(gpu) { Precision::Fp32 } else { Precision::AmpFp16 };
    (bf16 && gpu.rates.bf16.is_none()).then_some(instead)
}

/// Whether current `PyTorch` no longer runs on it.
pub(super) fn is_dropped(gpu: &Gpu) -> bool {
    let old = gpu.compute_capability.is_some_and(|c| c < OLDEST_CURRENT);
    old || gpu.support_note.to_ascii_lowercase().contains("dropped")
}

/// Whether Windows would hide that a training does not fit: NVIDIA's driver for game cards falls back to system memory
/// ("CUDA - Sysmem Fallback Policy" in its control panel, since driver 536.40).
pub(super) fn spills(gpu: &Gpu) -> bool {
    gpu.vendor == Vendor::Nvidia && matches!(gpu.family, GpuFamily::Consumer | GpuFamily::Laptop)
}

/// Warnings about `count` of this card for this project.
pub fn warnings(project: &Project, gpu: &Gpu, count: u32, time: Option<&TimeEstimate>) -> Vec<CardWarning> {
    let nvidia = gpu.vendor == Vendor::Nvidia;
    let units = gpu.rates.bf16.is_some() || gpu.rates.fp16.is_some();
    let half = project.precision != Precision::Fp32;
    let note = gpu.support_note;
    let own = project.hardware.gpu == gpu.id;
    let wires = if own { project.hardware.wires } else { Wires::default() };
    let hours = time.map_or(0.0, |t| t.run.hours());
    let slow_link = count > 1 && !is_fast(gpu, count, wires);
    let rocm = matches!(gpu.vendor, Vendor::Amd | Vendor::Hygon);
    [
        ((units || nvidia) && without_bf16(project, gpu).is_some(), CardWarning::NoBf16),
        (breaks_in_half(gpu) && half, CardWarning::HalfBreaks),
        (!units && half, CardWarning::NoMatrixUnits),
        (nvidia && !has_flash(gpu), CardWarning::NoFlashAttention),
        // ROCm's list moves on too.
        (is_dropped(gpu), CardWarning::Dropped),
        (gpu.compute_capability.is_some_and(|c| c >= 10.0), CardWarning::NeedsNewPyTorch),
        (rocm, CardWarning::Rocm),
        (note.contains("HSA_OVERRIDE_GFX_VERSION"), CardWarning::RocmOverride),
        (!nvidia && !rocm, CardWarning::OtherStack),
        (!nvidia && is_quantized(project) && quantizes(gpu), CardWarning::RecentQuantization),
        (project.loss == LossKernel::Fused && !runs_triton(gpu), CardWarning::NoTriton),
        (gpu.family == GpuFamily::Laptop, CardWarning::Laptop),
        (gpu.id.ends_with("-mod"), CardWarning::Modded),
        (slow_link && !gpu.link_is_unknown(), CardWarning::NoFastLink),
        (slow_link && gpu.link_is_unknown(), CardWarning::UnknownLink),
        (gpu.memory_type.contains("LPDDR") && gpu.family != GpuFamily::Accelerator, CardWarning::UnifiedMemory),
        (
            hours > LONG_RUN_H && !gpu.ecc && matches!(gpu.family, GpuFamily::Consumer | GpuFamily::Laptop),
            CardWarning::NotForLongRuns,
        ),
    ]
    .into_iter()
    .filter_map(|(applies, warning)| applies.then_some(warning))
    .collect()
}
