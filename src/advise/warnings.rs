//! What to know about the chosen card before training on it, from the fields of its row.

use super::{CardBar, CardWarning};
use crate::catalog::{Gpu, GpuFamily, Vendor, is_boosting};
use crate::estimate::TimeEstimate;
use crate::estimate::time::{has_flash, is_fast};
use crate::project::{BaseFormat, Method, Optimizer, Precision, Project, Wires};

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
    let four_bit = project.method == Method::QLora
        || matches!(project.base, BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int8);
    (four_bit && !matches!(gpu.vendor, Vendor::Nvidia | Vendor::Amd | Vendor::Intel)).then_some(CardBar::NeedsCuda)
}

/// The project is set to bf16, and the card has no units for it.
pub(super) fn lacks_bf16(project: &Project, gpu: &Gpu) -> bool {
    let bf16 = matches!(project.precision, Precision::AmpBf16 | Precision::PureBf16 | Precision::MasterBf16);
    bf16 && gpu.rates.bf16.is_none()
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
    let quantized = project.method == Method::QLora
        || matches!(project.base, BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int8)
        || matches!(project.optimizer, Optimizer::AdamW8bit | Optimizer::PagedAdamW8bit);
    let own = project.hardware.gpu == gpu.id;
    let wires = if own { project.hardware.wires } else { Wires::default() };
    let hours = time.map_or(0.0, |t| t.run.hours());
    let rocm = matches!(gpu.vendor, Vendor::Amd | Vendor::Hygon);
    [
        (units && lacks_bf16(project, gpu), CardWarning::NoBf16),
        (!units && half, CardWarning::NoMatrixUnits),
        (nvidia && !has_flash(gpu), CardWarning::NoFlashAttention),
        // ROCm's list moves on too.
        (
            gpu.compute_capability.is_some_and(|c| c < OLDEST_CURRENT) || note.to_ascii_lowercase().contains("dropped"),
            CardWarning::Dropped,
        ),
        (gpu.compute_capability.is_some_and(|c| c >= 10.0), CardWarning::NeedsNewPyTorch),
        (rocm, CardWarning::Rocm),
        (note.contains("HSA_OVERRIDE_GFX_VERSION"), CardWarning::RocmOverride),
        (!nvidia && !rocm, CardWarning::OtherStack),
        (quantized && !nvidia, CardWarning::NoQuantization),
        (gpu.family == GpuFamily::Laptop, CardWarning::Laptop),
        (gpu.id.ends_with("-mod"), CardWarning::Modded),
        (count > 1 && !is_fast(gpu, count, wires), CardWarning::NoFastLink),
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
