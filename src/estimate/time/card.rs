//! What a card really reaches: matrix products against its power, memory traffic against its bandwidth.
//!
//! The constants below were fitted together on the training rows of `performance.csv` and on 70 vision models trained on
//! one RTX 3090 (timm's benchmark): see `tests/throughput.rs`, which holds the errors.

use crate::catalog::{Gpu, Vendor};

/// In which arithmetic the matrix products run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Plain fp32.
    Fp32,
    /// fp32 tensors, products in TF32 where the card has it.
    Tf32,
    /// 16 bit: bf16 where the card has it, else fp16, else fp32.
    Half,
    /// fp8 where the card has it, else as `Half`.
    Fp8,
}

/// Share of the peak rate that large products reach where power is no limit.
const UNLIMITED_SHARE: f64 = 0.87;

/// How sharply the share falls once the peak rate asks for more power than the board gives.
const POWER_EXPONENT: f64 = 0.86;

/// Rate that a chip sustains for each watt of board power, in 16-bit TFLOPS: a matter of process and matrix unit. A card
/// whose peak asks for more (RTX 6000 Ada: 364 TFLOPS on 300 W) throttles; one that asks for less (RTX 3090: 71 on
/// 350 W) does not. NVIDIA's values are fitted; the others follow from the best matrix products published for them
/// (stas00/ml-engineering, compute/accelerator: MI300X 51 %, MI325X 60 %, MI355X 68 % of peak) or are judgement.
fn sustained_tflops_per_watt(gpu: &Gpu) -> f64 {
    let arch = gpu.architecture;
    match gpu.vendor {
        Vendor::Nvidia => {
            let capability = gpu.compute_capability.unwrap_or(0.0);
            if capability >= 12.0 {
                0.75 // GeForce and RTX PRO Blackwell
            } else if capability >= 10.0 {
                1.0 // B200, B300
            } else if capability >= 9.0 {
                0.84 // Hopper
            } else if capability >= 8.85 {
                0.51 // Ada
            } else if capability >= 8.05 {
                0.52 // GA10x
            } else if capability >= 8.0 {
                0.67 // A100, A30
            } else {
                0.43 // Volta, Turing
            }
        }
        Vendor::Amd if arch.starts_with("CDNA 4") => 1.1,
        Vendor::Amd if arch.starts_with("CDNA 3") => 0.75,
        Vendor::Amd if arch.starts_with("CDNA") => 0.33,
        Vendor::Amd if arch.starts_with("RDNA 4") => 0.28,
        Vendor::Amd => 0.15,
        Vendor::Huawei => 0.45,
        Vendor::Google => 1.5,
        _ => 0.25,
    }
}

/// Share of the fp32 peak that products without matrix units reach.
fn plain_share(gpu: &Gpu) -> f64 {
    match gpu.vendor {
        // 1080 Ti and V100 in fp32 on ResNet-50 and BERT.
        Vendor::Nvidia => 0.85,
        // Judgement: rocBLAS and MPS reach less.
        Vendor::Apple => 0.7,
        _ => 0.6,
    }
}

/// Share of the traffic that does not reach memory because the last-level cache holds it: Ada and later game and
/// workstation cards carry 24 to 128 MB of it.
const LARGE_CACHE_TRAFFIC: f64 = 0.78;

/// Peak rate of the arithmetic on this card, FLOP/s, and whether matrix units give it. `None` where the card's rates are
/// not known.
pub fn peak(gpu: &Gpu, arithmetic: Arithmetic) -> Option<(f64, bool)> {
    let r = &gpu.rates;
    let (tflops, units) = match arithmetic {
        Arithmetic::Fp8 if r.fp8.is_some() => (r.fp8?, true),
        Arithmetic::Half | Arithmetic::Fp8 => match r.bf16.into_iter().chain(r.fp16).reduce(f64::max) {
            Some(x) => (x, true),
            None => (r.fp32?, false),
        },
        Arithmetic::Tf32 => match r.tf32 {
            Some(x) => (x, true),
            None => (r.fp32?, false),
        },
        Arithmetic::Fp32 => (r.fp32.or(r.tf32.map(|x| x / 4.0))?, false),
    };
    (tflops > 0.0).then_some((tflops * 1e12, units))
}

/// What large matrix products reach on this card, FLOP/s.
pub fn achieved(gpu: &Gpu, arithmetic: Arithmetic) -> Option<f64> {
    let (peak, units) = peak(gpu, arithmetic)?;
    if !units {
        return Some(peak * plain_share(gpu));
    }
    let power = match (gpu.tdp_w, peak_half(gpu)) {
        (Some(watts), Some(tflops)) if watts > 0.0 => (sustained_tflops_per_watt(gpu) * watts / tflops).min(1.0),
        // No power stated: as good as a mainstream card of its time.
        _ => 0.6,
    };
    Some(peak * UNLIMITED_SHARE * power.powf(POWER_EXPONENT))
}

fn peak_half(gpu: &Gpu) -> Option<f64> {
    gpu.rates.bf16.into_iter().chain(gpu.rates.fp16).reduce(f64::max)
}

/// Memory traffic per second that kernels see, bytes/s. What a kernel reaches of the bandwidth on the box is inside the
/// fitted bytes per operation.
pub(super) fn traffic_rate(gpu: &Gpu) -> f64 {
    let bandwidth = gpu.bandwidth_gb_s * 1e9;
    let large_cache =
        gpu.vendor == Vendor::Nvidia && gpu.compute_capability.is_some_and(|c| (8.85..9.0).contains(&c) || c >= 12.0);
    if large_cache { bandwidth / LARGE_CACHE_TRAFFIC } else { bandwidth }
}

#[cfg(test)]
#[path = "../tests/in_card.rs"]
mod tests;
