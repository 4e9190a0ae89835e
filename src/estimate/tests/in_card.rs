//! What cards reach, from their data sheets and the shares that are written beside the constants.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::catalog::Catalog;

#[test]
fn each_generation_sustains_its_own() {
    let catalog = Catalog::bundled();
    let like = catalog.gpu("rtx-4090").unwrap();
    for (capability, expected) in [
        (12.0, 0.75),
        (11.9, 1.0),
        (10.0, 1.0),
        (9.9, 0.84),
        (9.0, 0.84),
        (8.9, 0.51),
        (8.7, 0.52),
        (8.6, 0.52),
        (8.0, 0.67),
        (7.5, 0.43),
        (7.0, 0.43),
    ] {
        let gpu = Gpu { compute_capability: Some(capability), ..like.clone() };
        assert_eq!(sustained_tflops_per_watt(&gpu), expected, "{capability}");
    }
    let other = |vendor, architecture| {
        sustained_tflops_per_watt(&Gpu { vendor, architecture, compute_capability: None, ..like.clone() })
    };
    for (vendor, architecture, expected) in [
        (Vendor::Amd, "CDNA 4", 1.1),
        (Vendor::Amd, "CDNA 3", 0.75),
        (Vendor::Amd, "CDNA 2", 0.33),
        (Vendor::Amd, "RDNA 4", 0.28),
        (Vendor::Amd, "RDNA 3", 0.15),
        (Vendor::Huawei, "", 0.45),
        (Vendor::Google, "", 1.5),
        (Vendor::Intel, "", 0.25),
    ] {
        assert_eq!(other(vendor, architecture), expected, "{vendor:?} {architecture}");
    }
    let plain = |vendor| plain_share(&Gpu { vendor, ..like.clone() });
    assert_eq!((plain(Vendor::Nvidia), plain(Vendor::Apple), plain(Vendor::Amd)), (0.85, 0.7, 0.6));
}

#[test]
fn rates_are_those_of_the_arithmetic() {
    use Arithmetic as A;
    let catalog = Catalog::bundled();
    let mut gpu = catalog.gpu("rtx-4090").unwrap().clone();
    gpu.rates = crate::catalog::Rates {
        fp32: Some(50.0),
        tf32: Some(80.0),
        fp16: Some(160.0),
        bf16: Some(150.0),
        fp8: Some(300.0),
        ..gpu.rates
    };
    let of = |gpu: &Gpu| [A::Fp32, A::Tf32, A::Half, A::Fp8].map(|a| peak(gpu, a));
    let tera = |n: f64, units| Some((n * 1e12, units));
    assert_eq!(of(&gpu), [tera(50.0, false), tera(80.0, true), tera(160.0, true), tera(300.0, true)]);
    gpu.rates.fp8 = None;
    gpu.rates.fp16 = None;
    gpu.rates.fp32 = None;
    assert_eq!(of(&gpu), [tera(20.0, false), tera(80.0, true), tera(150.0, true), tera(150.0, true)]);
    gpu.rates.fp32 = Some(50.0);
    gpu.rates.bf16 = None;
    gpu.rates.tf32 = None;
    assert_eq!(of(&gpu), [tera(50.0, false); 4]);
    gpu.rates.fp32 = Some(0.0);
    assert_eq!(of(&gpu), [None; 4]);
}

#[test]
fn power_bounds_what_is_reached() {
    let catalog = Catalog::bundled();
    let mut gpu = Gpu { compute_capability: Some(8.9), ..catalog.gpu("rtx-4090").unwrap().clone() };
    gpu.rates = crate::catalog::Rates { fp32: Some(50.0), fp16: Some(204.0), bf16: Some(200.0), ..gpu.rates };
    let half = |watts| achieved(&Gpu { tdp_w: watts, ..gpu.clone() }, Arithmetic::Half).unwrap() / 1e12;
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    // 0.51 TFLOPS a watt: 400 W sustain all 204, and 87 % of that are reached; 200 W sustain half of it.
    near(half(Some(400.0)), 204.0 * 0.87);
    near(half(Some(800.0)), 204.0 * 0.87);
    near(half(Some(200.0)), 204.0 * 0.87 * 0.5f64.powf(0.86));
    near(half(None), 204.0 * 0.87 * 0.6f64.powf(0.86));
    near(half(Some(0.0)), 204.0 * 0.87 * 0.6f64.powf(0.86));
    near(achieved(&gpu, Arithmetic::Fp32).unwrap() / 1e12, 50.0 * 0.85);
}

#[test]
fn large_caches_hold_a_part_of_the_traffic() {
    let catalog = Catalog::bundled();
    let like = Gpu { bandwidth_gb_s: 780.0, ..catalog.gpu("rtx-4090").unwrap().clone() };
    for (capability, expected) in
        [(8.6, 780e9), (8.84, 780e9), (8.9, 1000e9), (9.0, 780e9), (10.0, 780e9), (12.0, 1000e9)]
    {
        let gpu = Gpu { compute_capability: Some(capability), ..like.clone() };
        assert!((traffic_rate(&gpu) / expected - 1.0).abs() < 1e-9, "{capability}");
    }
    assert!((traffic_rate(&Gpu { vendor: Vendor::Amd, ..like }) / 780e9 - 1.0).abs() < 1e-9);
}
