//! How several cards work together.

use serde::{Deserialize, Serialize};

use super::Choice;

choices! {
    /// How several cards share the work.
    Sharding {
        /// The simplest that fits.
        #[default]
        Auto = "auto",
        /// Every card holds everything (data parallel).
        Ddp = "ddp",
        /// Optimizer state divided (ZeRO-1).
        Zero1 = "zero1",
        /// Optimizer state and gradients divided (ZeRO-2, FSDP grad-op).
        Zero2 = "zero2",
        /// Everything divided (ZeRO-3, FSDP full shard).
        Zero3 = "zero3",
        /// Layers laid out over the cards, one works at a time.
        DeviceMap = "device-map",
        /// Everything divided, weights and state in main memory.
        Zero3Offload = "zero3-offload",
        /// Everything divided by PyTorch's FSDP, one flat weight a block.
        Fsdp = "fsdp",
        /// Everything divided by PyTorch's `fully_shard` (FSDP2).
        Fsdp2 = "fsdp2",
        /// FSDP with whole weights from forward to backward (`SHARD_GRAD_OP`).
        FsdpGrad = "fsdp-grad",
        /// Everything divided over the cards of a machine, each machine with a copy (`HYBRID_SHARD`).
        FsdpHybrid = "fsdp-hybrid",
    }
}

impl Sharding {
    /// Whether weights, gradients and optimizer states are divided over the cards.
    pub const fn divides(self) -> (bool, bool, bool) {
        match self {
            Self::Auto | Self::Ddp | Self::DeviceMap => (false, false, false),
            Self::Zero1 => (false, false, true),
            Self::Zero2 => (false, true, true),
            Self::Zero3 | Self::Zero3Offload | Self::Fsdp | Self::Fsdp2 | Self::FsdpGrad | Self::FsdpHybrid => {
                (true, true, true)
            }
        }
    }
}

choices! {
    /// What joins the cards of one machine.
    Interconnect {
        /// What cards of this kind usually have.
        #[default]
        Auto = "auto",
        /// `NVLink`: a fabric, or a bridge between two cards.
        NvLink = "nvlink",
        /// Slots with all sixteen lanes.
        Pcie16 = "pcie-x16",
        /// Slots with eight lanes each, as desktop boards with two slots have.
        Pcie8 = "pcie-x8",
        /// Slots with four lanes each: behind the chip set, in an M.2 slot, over `OCuLink`.
        Pcie4 = "pcie-x4",
    }
}

choices! {
    /// What joins machines; Ethernet is counted for the machine, `InfiniBand` for each of its cards.
    Network {
        /// What clusters of such cards usually have.
        #[default]
        Auto = "auto",
        /// 1 Gb/s.
        Ethernet1 = "1g",
        /// 10 Gb/s.
        Ethernet10 = "10g",
        /// 25 Gb/s.
        Ethernet25 = "25g",
        /// 100 Gb/s.
        Ethernet100 = "100g",
        /// 200 Gb/s for each card.
        InfiniBand200 = "ib-200",
        /// 400 Gb/s for each card.
        InfiniBand400 = "ib-400",
    }
}
