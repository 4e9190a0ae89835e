//! How much of a card's memory PyTorch reports as its total capacity, where nobody wrote it down.
//!
//! Drivers and error correction take their part before PyTorch sees the card. The figures behind the rules are the
//! total capacities that stand in public out-of-memory messages; `data/README.md` lists them.

use super::table::Row;

const MIB_PER_GIB: f64 = 1024.0;

/// Total capacity in MiB of one device of a card with `gib` on the box.
pub(crate) fn usable_mib(gpu: &Row, gib: f64) -> f64 {
    let box_mib = gib * MIB_PER_GIB / f64::from(devices(gpu));
    match gpu.text("vendor") {
        "NVIDIA" if gpu.text("memory_type").starts_with("LPDDR") => unified(box_mib),
        "NVIDIA" => nvidia(gpu, box_mib),
        "AMD" if gpu.text("memory_type").starts_with("LPDDR") => box_mib * 0.75,
        // ROCm keeps next to nothing back: 23.98 of 24, 11.98 of 12, 63.98 of 64 GiB.
        "AMD" | "Hygon" => box_mib - 16.0,
        "Apple" => apple(box_mib),
        // Arc A770 16 GB: 15473 MiB; Arc B580 12 GB: 11605 MiB. Gaudi 2, 96 GB: 94.62 GiB.
        "Intel" if gpu.text("family") == "accelerator" => box_mib * 0.985,
        "Intel" => box_mib * 0.944,
        // Ascend 910B 64 GB: 61.2 GiB.
        "Huawei" => box_mib - 2.75 * MIB_PER_GIB,
        // "15.75G hbm" and "31.25G hbm" in XLA's out-of-memory messages.
        "Google" => box_mib * 0.98,
        _ => box_mib * 0.97,
    }
}

/// Devices that PyTorch sees in one card.
pub(crate) fn devices(gpu: &Row) -> u32 {
    match gpu.text("id") {
        "mi250x" | "ascend-910c" => 2,
        _ => 1,
    }
}

/// The driver keeps a fixed part and a share; cards with GDDR lose 1/16 to error correction where it is always on.
fn nvidia(gpu: &Row, box_mib: f64) -> f64 {
    let in_band_ecc = gpu.text("family") == "datacenter" && gpu.text("memory_type").starts_with("GDDR");
    let corrected = if in_band_ecc { box_mib * 15.0 / 16.0 } else { box_mib };
    let shown = gpu.number("smi_total_mib").unwrap_or(corrected);
    // 8 GB: 7.78; 12 GB: 11.75; 24 GB: 23.68; A100 80 GB: 79.2; H100: 79.1 GiB.
    shown - 190.0 - 0.0055 * shown
}

/// Main memory shared with the processor: 119.7 GiB of the 128 GB of a DGX Spark.
fn unified(box_mib: f64) -> f64 {
    box_mib * 0.935
}

/// Metal's recommended working set: two thirds up to 36 GB, three quarters above.
fn apple(box_mib: f64) -> f64 {
    if box_mib <= 36.0 * MIB_PER_GIB { box_mib * 2.0 / 3.0 } else { box_mib * 0.75 }
}
