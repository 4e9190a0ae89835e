//! The compiled-in tables: packed text, read once, the first time that somebody asks.
//!
//! As static structs the tables took 85 kB of the gzipped page and no time; packed they take 57 kB and about one
//! millisecond at the first call. Over any connection the 28 kB are longer than that.

mod cells;

use super::lookup::Alias;
use super::{
    Architecture, Catalog, DiffusionModel, Domain, FreeTier, Gpu, GpuFamily, GpuPrice, LanguageKind, LanguageModel,
    MeasuredRun, Model, Offer, OtherModel, Part, Preset, Rates, Source, Throughput, Vendor, VisionModel,
};
use crate::units::Bytes;
use cells::Cells;
use std::borrow::Cow;
use std::sync::OnceLock;

mod packed {
    use super::cells::Packed;
    include!(concat!(env!("OUT_DIR"), "/catalog.rs"));
}

/// What is read once.
struct Tables {
    gpus: Vec<Gpu>,
    models: Vec<Model>,
    offers: Vec<Offer>,
    free: Vec<FreeTier>,
    presets: Vec<Preset>,
}

/// The catalog that is compiled in; every call gives out the same rows.
pub(super) fn bundled() -> Catalog {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let mut models = packed::LANGUAGE.read(|c| model(c, language));
        models.extend(packed::VISION.read(|c| model(c, vision)));
        models.extend(packed::DIFFUSION.read(|c| model(c, diffusion)));
        models.extend(packed::OTHER.read(|c| model(c, other)));
        Tables {
            gpus: packed::GPUS.read(gpu),
            models,
            offers: packed::OFFERS.read(offer),
            free: packed::FREE.read(free_tier),
            presets: packed::PRESETS.read(preset),
        }
    });
    Catalog {
        gpus: Cow::Borrowed(&tables.gpus),
        models: Cow::Borrowed(&tables.models),
        offers: Cow::Borrowed(&tables.offers),
        free: Cow::Borrowed(&tables.free),
        presets: Cow::Borrowed(&tables.presets),
    }
}

/// Measured training speeds.
pub(super) fn throughput() -> &'static [Throughput] {
    static TABLE: OnceLock<Vec<Throughput>> = OnceLock::new();
    TABLE.get_or_init(|| packed::THROUGHPUT.read(throughput_row))
}

/// Measured runs.
pub(super) fn runs() -> &'static [MeasuredRun] {
    static TABLE: OnceLock<Vec<MeasuredRun>> = OnceLock::new();
    TABLE.get_or_init(|| packed::RUNS.read(run))
}

fn run(c: &mut Cells) -> MeasuredRun {
    MeasuredRun {
        model: c.text("model"),
        method: c.text("method"),
        precision: c.text("precision"),
        offload: c.text("offload"),
        sharding: c.text("sharding"),
        batch: c.whole("batch"),
        size: c.whole("size"),
        frames: c.whole("frames").max(1),
        checkpointing: c.text("checkpointing"),
        cards: c.small("cards"),
        gpu: c.text("gpu"),
        framework: c.text("framework"),
        peak: Bytes::from_mib(c.whole("peak_mib")),
        meter: c.text("meter"),
        source: c.text("source"),
    }
}

/// What people type for models.
pub(super) fn model_aliases() -> &'static [Alias] {
    static TABLE: OnceLock<Vec<Alias>> = OnceLock::new();
    TABLE.get_or_init(|| packed::MODEL_ALIASES.read(alias))
}

/// What people type for cards.
pub(super) fn gpu_aliases() -> &'static [Alias] {
    static TABLE: OnceLock<Vec<Alias>> = OnceLock::new();
    TABLE.get_or_init(|| packed::GPU_ALIASES.read(alias))
}

/// Words of other languages and of slang with what stands in names instead.
pub(super) fn words() -> &'static [Alias] {
    static TABLE: OnceLock<Vec<Alias>> = OnceLock::new();
    TABLE.get_or_init(|| packed::WORDS.read(alias))
}

fn alias(c: &mut Cells) -> Alias {
    Alias { typed: c.text("typed"), id: c.text("means"), sure: c.flag("sure") }
}

const VENDORS: &[Vendor] = &[
    Vendor::Nvidia,
    Vendor::Amd,
    Vendor::Intel,
    Vendor::Apple,
    Vendor::Huawei,
    Vendor::MooreThreads,
    Vendor::Hygon,
    Vendor::Cambricon,
    Vendor::MetaX,
    Vendor::Google,
];

const FAMILIES: &[GpuFamily] = &[
    GpuFamily::Consumer,
    GpuFamily::Laptop,
    GpuFamily::Workstation,
    GpuFamily::Datacenter,
    GpuFamily::Apple,
    GpuFamily::Accelerator,
];

const LANGUAGE_KINDS: &[LanguageKind] = &[LanguageKind::Decoder, LanguageKind::Encoder, LanguageKind::EncoderDecoder];

const OTHER_DOMAINS: &[Domain] = &[Domain::Audio, Domain::VisionLanguage, Domain::Small];

fn gpu(c: &mut Cells) -> Gpu {
    Gpu {
        id: c.text("id"),
        name: c.text("name"),
        vendor: c.choice("vendor", VENDORS, Vendor::Nvidia),
        family: c.choice("family", FAMILIES, GpuFamily::Consumer),
        architecture: c.text("architecture"),
        launched: c.text("launched"),
        memory: Bytes::from_mib(c.whole("memory_mib")),
        usable: Bytes::from_mib(c.whole("usable_mib")),
        devices: c.small("devices"),
        memory_type: c.text("memory_type"),
        bandwidth_gb_s: c.required("bandwidth_gb_s"),
        rates: Rates {
            fp32: c.number("fp32"),
            tf32: c.number("tf32"),
            fp16: c.number("fp16"),
            bf16: c.number("bf16"),
            fp8: c.number("fp8"),
            fp64: c.number("fp64"),
        },
        tdp_w: c.number("tdp_w"),
        pcie: c.text("pcie"),
        nvlink_gb_s: c.number("nvlink_gb_s"),
        ecc: c.flag("ecc"),
        compute_capability: c.number("compute_capability"),
        target: c.text("target"),
        support_note: c.text("support_note"),
        rates_note: c.text("rates_note"),
        min_psu_w: c.number("min_psu_w"),
        slots: c.number("slots"),
        price: GpuPrice {
            msrp_usd: c.number("msrp_usd"),
            street_usd: c.number("street_usd"),
            used_usd: c.number("used_usd"),
            street_cny: c.number("street_cny"),
            source: Source { place: c.text("price_source"), as_of: c.text("price_as_of") },
        },
        source: c.source(),
    }
}

fn offer(c: &mut Cells) -> Offer {
    Offer {
        provider: c.text("provider"),
        instance: c.text("instance"),
        gpu: c.text("gpu"),
        gpus: c.small("gpus"),
        vcpus: c.number("vcpus"),
        ram_gib: c.number("ram_gib"),
        usd_h: c.number("usd_h"),
        spot_usd_h: c.number("spot_usd_h"),
        cny_h: c.number("cny_h"),
        unit_s: c.number("unit_s"),
        least_s: c.number("least_s"),
        least_usd: c.number("least_usd"),
        china: c.flag("china"),
        source: c.source(),
    }
}

fn free_tier(c: &mut Cells) -> FreeTier {
    FreeTier {
        platform: c.text("platform"),
        offer: c.text("offer"),
        gpu: c.text("gpu"),
        gpus: c.small("gpus"),
        memory_gib: c.number("memory_gib"),
        threads: c.number("threads"),
        amount: c.text("amount"),
        period: c.text("period"),
        session_limit_h: c.number("session_limit_h"),
        idle_limit_min: c.number("idle_limit_min"),
        usd_h: c.number("usd_h"),
        price_note: c.text("price_note"),
        china: c.flag("china"),
        limits: c.text("limits"),
        source: c.source(),
    }
}

fn preset(c: &mut Cells) -> Preset {
    Preset {
        id: c.text("id"),
        name_zh: c.text("name_zh"),
        name_en: c.text("name_en"),
        group: c.text("group"),
        from_articles: c.flag("from_articles"),
        model: c.text("model"),
        method: c.text("method"),
        precision: c.text("precision"),
        dataset: c.text("dataset"),
        batch: c.text("batch"),
        accumulation: c.text("accumulation"),
        size: c.text("size"),
        length: c.text("length"),
        hardware: c.text("hardware"),
        source: c.text("source"),
    }
}

fn throughput_row(c: &mut Cells) -> Throughput {
    Throughput {
        gpu: c.text("gpu"),
        workload: c.text("workload"),
        precision: c.text("precision"),
        gpus: c.small("gpus"),
        value: c.required("value"),
        unit: c.text("unit"),
        sequence: c.number("sequence"),
        batch: c.number("batch"),
        setup: c.text("setup"),
        mfu_pct: c.number("mfu_pct"),
        tokens_s: c.number("tokens_s"),
        images_s: c.number("images_s"),
        source: c.source(),
    }
}

/// The columns that begin every model, then its architecture.
fn model(c: &mut Cells, architecture: fn(&mut Cells) -> (Domain, Architecture)) -> Model {
    let [id, name, repo] = ["id", "name", "repo"].map(|column| c.text(column));
    let params = c.whole("params");
    let [release, licence] = ["release", "licence"].map(|column| c.text(column));
    let source = c.source();
    let (domain, architecture) = architecture(c);
    Model { id, name, repo, domain, params, release, licence, architecture, source }
}

fn language(c: &mut Cells) -> (Domain, Architecture) {
    let model = LanguageModel {
        kind: c.choice("kind", LANGUAGE_KINDS, LanguageKind::Decoder),
        family: c.text("family"),
        params_active: c.whole("params_active"),
        layers: c.small("layers"),
        hidden: c.small("hidden"),
        intermediate: c.small("intermediate"),
        heads: c.small("heads"),
        kv_heads: c.small("kv_heads"),
        head_dim: c.small("head_dim"),
        vocab: c.small("vocab"),
        tied_embeddings: c.flag("tied_embeddings"),
        gated: c.flag("gated"),
        norm: c.text("norm"),
        attention: c.text("attention"),
        moe_experts: c.small("moe_experts"),
        moe_active: c.small("moe_active"),
        moe_shared: c.small("moe_shared"),
        moe_intermediate: c.small("moe_intermediate"),
        dense_layers_first: c.text("dense_layers_first"),
        max_context: c.small("max_context"),
        bias: c.text("bias"),
        positional: c.text("positional"),
        extras: c.text("extras"),
    };
    (Domain::Language, Architecture::Language(model))
}

fn vision(c: &mut Cells) -> (Domain, Architecture) {
    let model = VisionModel {
        kind: c.text("kind"),
        resolution: c.required("resolution"),
        depth: c.required("depth"),
        gmacs: c.number("gmacs"),
        activations_m: c.number("activations_m"),
        kept: c.text("kept"),
        heads: c.text("heads"),
        layers: c.text("layers"),
        dim: c.text("dim"),
        patch: c.text("patch"),
    };
    (Domain::Vision, Architecture::Vision(model))
}

/// Parts that have a name. The tables are read once and live as long as the program.
fn named<const N: usize>(parts: [Part; N]) -> &'static [Part] {
    let named: Vec<Part> = parts.into_iter().filter(|part| !part.name.is_empty()).collect();
    if named.is_empty() { &[] } else { named.leak() }
}

fn diffusion(c: &mut Cells) -> (Domain, Architecture) {
    let model = DiffusionModel {
        kind: c.text("kind"),
        denoiser: c.text("denoiser"),
        denoiser_params: c.whole("denoiser_params"),
        denoisers: c.small("denoisers"),
        vae_params: c.whole("vae_params"),
        text_encoders: named([
            c.part("text_encoder_1", "text_encoder_1_params"),
            c.part("text_encoder_2", "text_encoder_2_params"),
            c.part("text_encoder_3", "text_encoder_3_params"),
        ]),
        frozen: named([c.part("frozen", "frozen_params")]),
        latent_channels: c.number("latent_channels"),
        downscale_spatial: c.number("downscale_spatial"),
        downscale_temporal: c.number("downscale_temporal"),
        patch: c.text("patch"),
        blocks: c.text("blocks"),
        hidden: c.text("hidden"),
        heads: c.text("heads"),
        text_length: c.number("text_length"),
        native_resolution: c.text("native_resolution"),
        native_frames: c.number("native_frames"),
        gmacs: c.number("gmacs"),
        activations_m: c.number("activations_m"),
    };
    (Domain::Diffusion, Architecture::Diffusion(model))
}

fn other(c: &mut Cells) -> (Domain, Architecture) {
    let domain = c.choice("domain", OTHER_DOMAINS, Domain::Audio);
    let model = OtherModel {
        kind: c.text("kind"),
        main: c.part("main", "main_params"),
        second: c.part("second", "second_params"),
        rest: c.text("rest"),
        layers: c.text("layers"),
        hidden: c.text("hidden"),
        heads: c.text("heads"),
        input: c.text("input"),
        tokens_or_frames: c.text("tokens_or_frames"),
    };
    (domain, Architecture::Other(model))
}
