//! The rows of the catalog as Rust sees them. Every row carries where it was read and when.

use crate::units::{Bytes, Money};

/// Where a fact was read, and in which month (`2026-09`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Publication, file or page. `memory` marks what nobody saw written down: show it as rough.
    pub place: &'static str,
    /// Month of the fact, `YYYY-MM`; empty where the table gives none.
    pub as_of: &'static str,
}

impl Source {
    /// True for facts that nobody saw written down.
    pub fn is_rough(&self) -> bool {
        self.place.contains("memory")
    }
}

/// Who makes the chip; decides which software stack it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Vendor {
    Nvidia,
    Amd,
    Intel,
    Apple,
    Huawei,
    MooreThreads,
    Hygon,
    Cambricon,
    MetaX,
    Google,
}

/// What kind of product a card is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GpuFamily {
    /// A game card.
    Consumer,
    /// The laptop variant of a game card.
    Laptop,
    /// A workstation card.
    Workstation,
    /// A data-center card.
    Datacenter,
    /// Apple silicon with unified memory.
    Apple,
    /// Anything else that trains: NPUs, TPUs, domestic accelerators.
    Accelerator,
}

/// Dense peak rates in TFLOPS (multiply-accumulate = 2), without sparsity; `None` = not published or not supported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Plain fp32.
    pub fp32: Option<f64>,
    /// TF32 matrix units.
    pub tf32: Option<f64>,
    /// fp16 matrix units with fp32 accumulation: what training uses.
    pub fp16: Option<f64>,
    /// bf16 matrix units.
    pub bf16: Option<f64>,
    /// fp8 matrix units.
    pub fp8: Option<f64>,
    /// Double precision.
    pub fp64: Option<f64>,
}

/// What a card costs to buy, where known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuPrice {
    /// List price at launch, USD.
    pub msrp_usd: Option<f64>,
    /// New, on the street, USD.
    pub street_usd: Option<f64>,
    /// Second hand, USD.
    pub used_usd: Option<f64>,
    /// New, on the street in China, CNY.
    pub street_cny: Option<f64>,
    /// Where the prices were read.
    pub source: Source,
}

/// One card (or one die that PyTorch sees as a device).
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Kebab-case id, stable: it stands in share links.
    pub id: &'static str,
    /// Marketing name.
    pub name: &'static str,
    /// Maker.
    pub vendor: Vendor,
    /// Kind of product.
    pub family: GpuFamily,
    /// Architecture name.
    pub architecture: &'static str,
    /// Launch month, `YYYY-MM`, or empty.
    pub launched: &'static str,
    /// Memory on the box.
    pub memory: Bytes,
    /// What PyTorch reports as the total capacity of one device: less than the box says.
    pub usable: Bytes,
    /// Devices that PyTorch sees in one card: 2 where two dies share a board (MI250X, Ascend 910C), otherwise 1.
    /// Memory, bandwidth, rates and power are those of the whole card.
    pub devices: u32,
    /// Kind of memory chips.
    pub memory_type: &'static str,
    /// Memory bandwidth in GB/s (10^9 bytes).
    pub bandwidth_gb_s: f64,
    /// Peak rates.
    pub rates: Rates,
    /// Board power in watts.
    pub tdp_w: Option<f64>,
    /// PCIe generation and lanes, as `4.0x16`, or empty.
    pub pcie: &'static str,
    /// `NVLink` (or like) bandwidth, both directions, GB/s.
    pub nvlink_gb_s: Option<f64>,
    /// Error-correcting memory.
    pub ecc: bool,
    /// CUDA compute capability (8.6), or `None` off CUDA.
    pub compute_capability: Option<f64>,
    /// Compiler target off CUDA, as `gfx1030` or `Metal`; empty on CUDA or where not stated.
    pub target: &'static str,
    /// What to know before training on it.
    pub support_note: &'static str,
    /// How the rates were found.
    pub rates_note: &'static str,
    /// Smallest power supply the maker names, watts.
    pub min_psu_w: Option<f64>,
    /// Slots it covers.
    pub slots: Option<f64>,
    /// Prices.
    pub price: GpuPrice,
    /// Where the specification was read.
    pub source: Source,
}

impl Gpu {
    /// Whether nobody said how cards of this kind are joined: accelerators of other makers mostly have links, and an empty
    /// cell only says that none was found written down.
    pub fn link_is_unknown(&self) -> bool {
        self.nvlink_gb_s.is_none() && self.family == GpuFamily::Accelerator
    }

    /// The name people use: `RTX 4090` for `GeForce RTX 4090`.
    pub fn short_name(&self) -> &'static str {
        const SERIES: [&str; 3] = ["GeForce ", "Radeon RX", "Tesla "];
        match SERIES.iter().find(|s| self.name.starts_with(**s)) {
            Some(&"Radeon RX") => self.name.trim_start_matches("Radeon "),
            Some(series) => self.name.trim_start_matches(series),
            None => self.name,
        }
    }
}

/// A rental offer.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Who rents it out.
    pub provider: &'static str,
    /// Name of the machine type.
    pub instance: &'static str,
    /// Id of the card.
    pub gpu: &'static str,
    /// Cards in the machine.
    pub gpus: u32,
    /// Virtual CPUs.
    pub vcpus: Option<f64>,
    /// Main memory, GiB.
    pub ram_gib: Option<f64>,
    /// On-demand price of the whole machine per hour, USD.
    pub usd_h: Option<f64>,
    /// Interruptible price of the whole machine per hour, USD.
    pub spot_usd_h: Option<f64>,
    /// On-demand price of the whole machine per hour, CNY.
    pub cny_h: Option<f64>,
    /// Seconds that are billed as one: what is begun is paid whole. `None`: the provider's rule was not found.
    pub unit_s: Option<f64>,
    /// The least that is billed, seconds.
    pub least_s: Option<f64>,
    /// The least that can be bought, USD.
    pub least_usd: Option<f64>,
    /// Whether it is offered in mainland China (otherwise world-wide).
    pub china: bool,
    /// Where the price was read.
    pub source: Source,
}

impl Offer {
    /// Hours that are billed for so many hours.
    pub fn billed(&self, hours: f64) -> f64 {
        let Some(unit) = self.unit_s.map(|seconds| seconds / 3600.0) else { return hours };
        // What comes out of sums as a hair more than whole units is whole units.
        let units = (hours / unit - 1e-9).ceil();
        (units * unit).max(self.least_s.unwrap_or(0.0) / 3600.0)
    }

    /// On-demand price per hour of the whole machine in the currency it was quoted in.
    pub fn price(&self) -> Option<Money> {
        self.usd_h.map(Money::usd).or(self.cny_h.map(Money::cny))
    }
}

/// A free or nearly free notebook.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeTier {
    /// Platform, as Kaggle.
    pub platform: &'static str,
    /// Name of the offer.
    pub offer: &'static str,
    /// Id of the card, or empty where none is promised.
    pub gpu: &'static str,
    /// Cards; 0 where none is promised.
    pub gpus: u32,
    /// Memory in all, GiB.
    pub memory_gib: Option<f64>,
    /// Processor threads for all of its cards.
    pub threads: Option<f64>,
    /// How much is free, in words.
    pub amount: &'static str,
    /// Per which period.
    pub period: &'static str,
    /// Longest session, hours.
    pub session_limit_h: Option<f64>,
    /// Minutes without use after which it stops.
    pub idle_limit_min: Option<f64>,
    /// Price per hour beyond the free amount, USD (0 = free).
    pub usd_h: Option<f64>,
    /// How that price comes about, in words.
    pub price_note: &'static str,
    /// Whether it is meant for mainland China.
    pub china: bool,
    /// What to watch out for.
    pub limits: &'static str,
    /// Where it was read.
    pub source: Source,
}

/// A project that people ask for, with settings that are usual for it, by the columns of `tasks.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Kebab-case id.
    pub id: &'static str,
    /// Name in Chinese.
    pub name_zh: &'static str,
    /// Name in English.
    pub name_en: &'static str,
    /// `beginner`, `hobby`, `advanced hobby`, `lab`, `company`.
    pub group: &'static str,
    /// One of the projects that the two articles name.
    pub from_articles: bool,
    /// Id of the model, or empty where the table has none.
    pub model: &'static str,
    /// Method, in words (`QLoRA rank 8`): `project::preset` reads it.
    pub method: &'static str,
    /// Precision, in words.
    pub precision: &'static str,
    /// Typical data set, in words.
    pub dataset: &'static str,
    /// Samples per card and step, in words or digits.
    pub batch: &'static str,
    /// Gradient accumulation.
    pub accumulation: &'static str,
    /// Sequence length or image side, in words or digits.
    pub size: &'static str,
    /// How long it is trained, in words.
    pub length: &'static str,
    /// Hardware it was seen on, in words.
    pub hardware: &'static str,
    /// Where it was read.
    pub source: &'static str,
}

/// A measured training throughput, to calibrate time.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// Id of the card.
    pub gpu: &'static str,
    /// Workload in words.
    pub workload: &'static str,
    /// Number format, in words.
    pub precision: &'static str,
    /// Cards used.
    pub gpus: u32,
    /// What was measured on all cards together, in `unit`.
    pub value: f64,
    /// `images/s`, `tokens/s`, `sequences/s`, `TFLOP/s`, `relative speed`.
    pub unit: &'static str,
    /// Tokens per sequence, where printed.
    pub sequence: Option<f64>,
    /// Samples per step in all, where printed.
    pub batch: Option<f64>,
    /// Library and settings, in words.
    pub setup: &'static str,
    /// Model FLOPs utilisation in percent, where printed.
    pub mfu_pct: Option<f64>,
    /// Tokens per second in all, where printed.
    pub tokens_s: Option<f64>,
    /// Images per second in all, where printed.
    pub images_s: Option<f64>,
    /// Where it was read.
    pub source: Source,
}

/// A training whose peak somebody measured and published, to stand beside an estimate. Ids are those of the project's
/// settings.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRun {
    /// Id of the model.
    pub model: &'static str,
    /// Id of the method.
    pub method: &'static str,
    /// Id of the precision.
    pub precision: &'static str,
    /// Id of what waited in main memory, or empty.
    pub offload: &'static str,
    /// Id of how its cards shared the work, or empty.
    pub sharding: &'static str,
    /// Samples per card and step.
    pub batch: u64,
    /// Tokens, side in pixels, or seconds of a sample; 0 where the model has none of them.
    pub size: u64,
    /// Frames of a clip, 1 for pictures.
    pub frames: u64,
    /// Id of the kind of checkpointing.
    pub checkpointing: &'static str,
    /// Cards.
    pub cards: u32,
    /// Id of the card, or empty.
    pub gpu: &'static str,
    /// Id of the library.
    pub framework: &'static str,
    /// Peak on one card, to three digits.
    pub peak: Bytes,
    /// Id of the meter it was read from.
    pub meter: &'static str,
    /// Where it was published.
    pub source: &'static str,
}
