//! What several cards say to each other, and how fast.

use crate::catalog::{Gpu, GpuFamily, Vendor};
use crate::project::{CARDS_PER_MACHINE, Interconnect, Network, Sharding, Wires};
use crate::units::decimal;

/// Share of a link's one-way rate that an all-reduce reaches. `NVLink` 4: 396 of 450 GB/s for a copy
/// (stas00/ml-engineering, network), somewhat less for a ring.
const NVLINK_SHARE: f64 = 0.8;

/// The same over PCIe where cards may talk directly: two RTX 6000 Ada lose 3 % on BERT-large, that is 18 GB/s or more of
/// the 31 of PCIe 4.0 x16.
const PCIE_SHARE: f64 = 0.35;

/// The same where every byte goes through main memory, as on `GeForce` cards with NVIDIA's driver: two RTX 4090 lose
/// 26 % on BERT-large (lambdal/deeplearning-benchmark), which is 5 GB/s.
const HOST_SHARE: f64 = 0.18;

/// Share of backward that traffic can hide behind.
const OVERLAP: f64 = 0.3;

/// Part of the traffic that is never hidden: the last bucket, the first gather.
const NEVER_HIDDEN: f64 = 0.5;

/// Lost to waiting for the slowest card, once there are several (ResNet-50 on 2 to 8 cards: 0.95 to 0.99 where gradients
/// are small).
pub(super) const STRAGGLERS: f64 = 0.03;

/// One-way rate of the slot, bytes/s: 1.97 GB/s a lane for generation 4, doubling each generation.
pub(super) fn pcie(gpu: &Gpu) -> f64 {
    slot(gpu, 16.0)
}

/// The same in a slot of so many lanes.
fn slot(gpu: &Gpu, most: f64) -> f64 {
    let (generation, lanes) = gpu.pcie.split_once('x').unwrap_or(("4.0", "16"));
    let generation: f64 = decimal::read(generation.trim()).unwrap_or(4.0);
    let lanes: f64 = decimal::read(lanes.trim()).unwrap_or(16.0);
    1.97e9 * lanes.min(most) * (generation - 4.0).exp2()
}

/// True where cards of this kind sit on an all-to-all fabric in one machine.
pub(super) fn has_fabric(gpu: &Gpu) -> bool {
    // 300 GB/s is a V100's; bridges between two cards have less, or join pairs only (PCIe and NVL variants).
    gpu.nvlink_gb_s.is_some_and(|g| g >= 240.0) && !gpu.id.contains("pcie") && !gpu.id.contains("nvl")
}

/// True where a fast link usually joins `count` cards: a fabric, or a bridge between two.
pub fn has_fast_link(gpu: &Gpu, count: u32) -> bool {
    is_fast(gpu, count, Wires::default())
}

/// True where a fast link joins `count` cards that are wired like this.
pub fn is_fast(gpu: &Gpu, count: u32, wires: Wires) -> bool {
    match wires.link {
        Interconnect::Auto => has_fabric(gpu) || (count == 2 && bridge(gpu).is_some()),
        Interconnect::NvLink => has_fabric(gpu) || (count == 2 && gpu.nvlink_gb_s.is_some()),
        Interconnect::Pcie16 | Interconnect::Pcie8 | Interconnect::Pcie4 => false,
    }
}

/// A bridge for two cards, where it is usual to have one. `GeForce` cards have the connector (3090) but not the bridge.
fn bridge(gpu: &Gpu) -> Option<f64> {
    (gpu.family != GpuFamily::Consumer).then_some(gpu.nvlink_gb_s).flatten()
}

/// True where the driver lets cards of this kind read each other's memory over PCIe.
fn peer_to_peer(gpu: &Gpu) -> bool {
    match gpu.vendor {
        Vendor::Nvidia => matches!(gpu.family, GpuFamily::Workstation | GpuFamily::Datacenter),
        Vendor::Amd => gpu.family != GpuFamily::Laptop,
        _ => false,
    }
}

/// Rate at which a ring over `count` cards moves data past each card, bytes/s.
pub(super) fn ring(gpu: &Gpu, count: u32, wires: Wires, per_machine: u32) -> f64 {
    let lanes = match wires.link {
        Interconnect::Pcie8 => 8.0,
        Interconnect::Pcie4 => 4.0,
        Interconnect::Auto | Interconnect::NvLink | Interconnect::Pcie16 => 16.0,
    };
    let inside = match gpu.nvlink_gb_s {
        Some(nvlink) if is_fast(gpu, count, wires) => nvlink / 2.0 * 1e9 * NVLINK_SHARE * reached(gpu, count),
        _ => slot(gpu, lanes) * if peer_to_peer(gpu) { PCIE_SHARE } else { HOST_SHARE },
    };
    if count <= per_machine { inside } else { inside.min(network(gpu, wires, per_machine)) }
}

/// Share of a card's links that `count` cards use among themselves. Without a switch each link ends at one neighbour, so
/// that fewer than all eight leave some idle: seven links of MI300X (128 GB/s each), 910B (56 GB/s) and Gaudi. NVIDIA's
/// fabrics have switches, and so has Atlas 800T A3, whose links stand for 784 GB/s to any other.
fn reached(gpu: &Gpu, count: u32) -> f64 {
    const NEIGHBOURS: u32 = CARDS_PER_MACHINE - 1;
    let switched =
        gpu.vendor == Vendor::Nvidia || gpu.nvlink_gb_s.is_some_and(|g| gpu.vendor == Vendor::Huawei && g > 700.0);
    let used = if switched { NEIGHBOURS } else { count.saturating_sub(1).clamp(1, NEIGHBOURS) };
    f64::from(used) / f64::from(NEIGHBOURS)
}

/// Share of a network's rate that is left for the data.
const NETWORK_SHARE: f64 = 0.85;

/// Rate between machines, all network cards of one machine together, bytes/s. Usual builds: one 400 Gb/s card for each
/// H100 or MI300, one 200 Gb/s card for each A100 (and each 910B, of its own), 100 Gb/s for the machine elsewhere.
fn network(gpu: &Gpu, wires: Wires, per_machine: u32) -> f64 {
    let cards = f64::from(per_machine.max(1));
    let gb_s = match wires.network {
        Network::Auto if has_fabric(gpu) => {
            let each = if gpu.nvlink_gb_s.unwrap_or(0.0) >= 750.0 { 50.0 } else { 25.0 };
            each * f64::from(CARDS_PER_MACHINE)
        }
        Network::Auto if gpu.family == GpuFamily::Datacenter => 25.0,
        Network::Ethernet1 => 0.125,
        Network::Ethernet10 => 1.25,
        Network::Ethernet25 => 3.125,
        Network::Auto | Network::Ethernet100 => 12.5,
        Network::InfiniBand200 => 25.0 * cards,
        Network::InfiniBand400 => 50.0 * cards,
    };
    gb_s * 1e9 * NETWORK_SHARE
}

/// What a step sends.
pub(super) struct Traffic {
    /// Bytes of all weights as they are gathered (16 bit under mixed precision).
    pub(super) weights: f64,
    /// Bytes of all gradients as they are reduced.
    pub(super) gradients: f64,
    /// Micro-batches in a step.
    pub(super) accumulation: f64,
    /// Passes over the weights in a micro-batch: forward and backward, or one more under checkpointing.
    pub(super) passes: f64,
}

/// Bytes past each card of a ring in one optimizer step.
pub(super) fn volume(traffic: &Traffic, count: u32, sharding: Sharding) -> f64 {
    let n = f64::from(count.max(1));
    let share = (n - 1.0) / n;
    let Traffic { weights, gradients, accumulation, passes } = *traffic;
    match sharding {
        // all-reduce, once a step
        Sharding::Auto | Sharding::Ddp => 2.0 * share * gradients,
        // reduce-scatter and all-gather of what was updated
        Sharding::Zero1 => share * (gradients + gradients),
        // reduce-scatter after every micro-batch
        Sharding::Zero2 => share * (gradients * accumulation + gradients),
        // gather the weights for every pass, reduce-scatter after every micro-batch
        Sharding::Zero3 | Sharding::Zero3Offload | Sharding::Fsdp | Sharding::Fsdp2 | Sharding::FsdpHybrid => {
            share * accumulation * (weights * passes + gradients)
        }
        // the same with one gather a micro-batch
        Sharding::FsdpGrad => share * accumulation * (weights + gradients),
        // Activations of one layer between neighbours: nothing against the rest
        Sharding::DeviceMap => 0.0,
    }
}

/// Time of the traffic that backward does not hide.
pub(super) fn exposed(traffic_s: f64, compute_s: f64) -> f64 {
    (traffic_s - OVERLAP * compute_s).max(NEVER_HIDDEN * traffic_s)
}
