//! How much of a card's memory PyTorch reports as its total capacity.
//!
//! Drivers and error correction take their part before PyTorch sees the card. `usable.csv` holds what somebody saw; the
//! rules below fill in the rest from the same figures, which `data/README.md` explains.

use super::table::{Row, Table};

const MIB_PER_GIB: f64 = 1024.0;

/// Total capacity in MiB of one device of a card with `gib` on the box: as seen, else by rule.
pub(crate) fn usable_mib(gpu: &Row, gib: f64, seen: &Table) -> f64 {
    let own_size = gpu.number("memory_gib") == Some(gib);
    let seen = seen.get(gpu.text("id")).filter(|_| own_size).and_then(|row| row.number("total_gib"));
    seen.map_or_else(|| by_rule(gpu, gib), |gib| gib * MIB_PER_GIB)
}

/// Devices that PyTorch sees in one card.
pub(crate) fn devices(gpu: &Row) -> u32 {
    match gpu.text("id") {
        "mi250x" | "ascend-910c" => 2,
        _ => 1,
    }
}

fn by_rule(gpu: &Row, gib: f64) -> f64 {
    let box_mib = gib * MIB_PER_GIB / f64::from(devices(gpu));
    let shared = gpu.text("memory_type").starts_with("LPDDR");
    match gpu.text("vendor") {
        // A DGX Spark of 128 GB shows 121.69 GiB.
        "NVIDIA" if shared => box_mib * 0.95,
        "NVIDIA" => nvidia(gpu, box_mib),
        // The largest part that the firmware of a Strix Halo machine assigns: 96 of 128 GB.
        "AMD" if shared => box_mib * 0.75,
        // ROCm keeps 16 MiB back: 15.98 of 16, 191.98 of 192 GiB. Hygon's stack is built on it.
        "AMD" | "Hygon" => box_mib - 16.0,
        "Apple" => apple(box_mib),
        // Arc A770 16 GB: 15473 MiB. Xe2: 31.72 of 32 GiB. Data-center parts: 65520 of 65536 MiB.
        "Intel" if gpu.text("compute_capability").starts_with("xe-hpg") => box_mib * 0.944,
        "Intel" => box_mib * 0.985,
        // Ascend 910B of 64 GB: 60.96, of 32 GB: 29.50 GiB.
        "Huawei" => box_mib - 2.75 * MIB_PER_GIB,
        // "15.75G hbm" of 16 in XLA's out-of-memory messages.
        "Google" => box_mib * 0.98,
        _ => box_mib * 0.97,
    }
}

/// The driver keeps a fixed part and a share of what `nvidia-smi` shows: more since Ampere. Data-center cards with GDDR
/// lose 1/16 to error correction, which is on by default there.
fn nvidia(gpu: &Row, box_mib: f64) -> f64 {
    let corrected = gpu.text("family") == "datacenter" && gpu.text("memory_type").starts_with("GDDR");
    let rest = if corrected { box_mib * 15.0 / 16.0 } else { box_mib };
    let shown = gpu.number("smi_total_mib").unwrap_or(rest);
    // Ampere and later: 8 GB 7.72, 12 GB 11.72 to 11.77, 16 GB 15.47 to 15.61, 24 GB 23.64 to 23.69, 48 GB 47.4 GiB.
    // Before: 11 GB 10.75, 16 GB 15.77, 32 GB 31.74 GiB.
    let (fixed, share) = if gpu.number("compute_capability") >= Some(8.0) { (240.0, 0.0055) } else { (200.0, 0.002) };
    shown - fixed - share * shown
}

/// Metal's recommended working set: two thirds up to 36 GB (10.67 of 16, 21.33 of 32), three quarters above (72 of 96).
/// Recent systems allow more (107.52 of 128), and all can be told to.
fn apple(box_mib: f64) -> f64 {
    if box_mib <= 36.0 * MIB_PER_GIB { box_mib * 2.0 / 3.0 } else { box_mib * 0.75 }
}
