//! The columns of every table, in the order of the file: what a cell may hold. Units stand in the column's name.

use std::ops::RangeInclusive;

/// What a cell may hold, if it holds anything.
#[derive(Debug, PartialEq)]
pub(crate) enum Cell {
    Text,
    /// The row's own id, unique in its table.
    Id,
    /// The id of a row elsewhere.
    Reference,
    Month,
    Number(RangeInclusive<f64>),
    Whole(RangeInclusive<f64>),
    /// A number or a sum of products of numbers.
    Sum(RangeInclusive<f64>),
    OneOf(&'static [&'static str]),
}

/// A column and whether its cells may be empty.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) cell: Cell,
    pub(crate) required: bool,
}

/// A file and its columns.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) file: &'static str,
    pub(crate) columns: &'static [Column],
}

const fn must(name: &'static str, cell: Cell) -> Column {
    Column { name, cell, required: true }
}

const fn may(name: &'static str, cell: Cell) -> Column {
    Column { name, cell, required: false }
}

use Cell::{Id, Month, Number, OneOf, Reference, Sum, Text, Whole};

const YES_NO: Cell = OneOf(&["yes", "no"]);
const REGION: Cell = OneOf(&["global", "china"]);

pub(crate) static GPUS: Schema = Schema {
    file: "gpus.csv",
    columns: &[
        must("id", Id),
        must("name", Text),
        must(
            "vendor",
            OneOf(&[
                "NVIDIA",
                "AMD",
                "Intel",
                "Apple",
                "Huawei",
                "Moore Threads",
                "Hygon",
                "Cambricon",
                "MetaX",
                "Google",
            ]),
        ),
        must("family", OneOf(&["consumer", "laptop", "workstation", "datacenter", "apple", "accelerator"])),
        must("architecture", Text),
        may("launched", Month),
        must("memory_gib", Number(2.0..=600.0)),
        must("memory_type", Text),
        must("bandwidth_gb_s", Number(60.0..=12_000.0)),
        may("fp32_tflops", Number(1.0..=400.0)),
        may("fp16_tensor_tflops_dense", Number(5.0..=4_000.0)),
        may("bf16_tflops_dense", Number(5.0..=4_000.0)),
        may("tf32_tflops_dense", Number(2.0..=2_000.0)),
        may("fp8_tflops_dense", Number(10.0..=8_000.0)),
        may("int8_tops_dense", Number(10.0..=8_000.0)),
        may("fp64_tflops", Number(0.03..=100.0)),
        may("tdp_w", Number(5.0..=1_500.0)),
        may("pcie", Text),
        may("nvlink_gb_s", Number(0.0..=4_000.0)),
        must("ecc", YES_NO),
        may("compute_capability", Text),
        must("support_note", Text),
        may("min_psu_w", Number(200.0..=2_000.0)),
        may("slots", Number(1.0..=4.0)),
        may("msrp_usd", Number(50.0..=60_000.0)),
        may("street_price_usd", Number(50.0..=60_000.0)),
        may("used_price_usd", Number(20.0..=40_000.0)),
        may("street_price_cny", Number(100.0..=400_000.0)),
        must("source", Text),
        must("as_of", Month),
        may("fp16_fp16acc_tflops_dense", Number(5.0..=4_000.0)),
        must("flops_note", Text),
        may("smi_total_mib", Number(2_000.0..=320_000.0)),
        may("price_source", Text),
        may("price_as_of", Month),
    ],
};

/// Total capacities that PyTorch was seen to report for one device.
pub(crate) static USABLE: Schema = Schema {
    file: "usable.csv",
    columns: &[must("id", Id), must("total_gib", Number(1.0..=600.0)), must("source", Text), must("as_of", Month)],
};

pub(crate) static CLOUD: Schema = Schema {
    file: "cloud.csv",
    columns: &[
        must("provider", Text),
        must("instance", Text),
        must("gpu", Reference),
        must("gpus", Whole(1.0..=72.0)),
        may("vcpus", Number(1.0..=400.0)),
        may("ram_gib", Number(1.0..=5_000.0)),
        may("price_usd_h", Number(0.05..=200.0)),
        may("spot_usd_h", Number(0.01..=100.0)),
        may("price_cny_h", Number(0.3..=400.0)),
        must("region_class", REGION),
        must("source", Text),
        must("as_of", Month),
    ],
};

/// By what a provider bills: `instance` is how the names begin of the machines that a row is for, empty for all others.
pub(crate) static BILLING: Schema = Schema {
    file: "billing.csv",
    columns: &[
        must("provider", Text),
        may("instance", Text),
        may("unit_s", Whole(1.0..=86_400.0)),
        may("least_s", Whole(1.0..=86_400.0)),
        may("least_usd", Number(0.01..=1_000.0)),
        must("source", Text),
        must("as_of", Month),
    ],
};

pub(crate) static FREE: Schema = Schema {
    file: "free.csv",
    columns: &[
        must("platform", Text),
        must("offer", Text),
        may("gpu", Reference),
        may("gpus", Whole(1.0..=8.0)),
        may("memory_gib", Number(4.0..=640.0)),
        may("vcpus", Number(1.0..=400.0)),
        may("ram_gib", Number(1.0..=5_000.0)),
        may("free_amount", Text),
        may("period", Text),
        may("session_limit_h", Number(0.1..=168.0)),
        may("idle_limit_min", Number(1.0..=1_440.0)),
        may("price_usd_h", Number(0.0..=20.0)),
        may("price_note", Text),
        must("region_class", REGION),
        may("limits", Text),
        must("source", Text),
        must("as_of", Month),
    ],
};

/// Words that `qkv_bias`, `mlp` and `positional` may hold.
const BIAS: Cell = OneOf(&["no", "qkv", "qkvo", "mlp", "all"]);
const MLP: Cell = OneOf(&["gated", "plain"]);
const POSITIONAL: Cell = OneOf(&["rope", "learned", "relative", "alibi"]);

pub(crate) static LLM: Schema = Schema {
    file: "llm.csv",
    columns: &[
        must("id", Id),
        must("name", Text),
        may("hf_repo", Text),
        must("family", Text),
        must("kind", OneOf(&["decoder", "encoder", "encoder-decoder"])),
        must("params_total", Whole(1e5..=1e13)),
        must("params_active", Whole(1e5..=1e13)),
        must("layers", Whole(1.0..=1_000.0)),
        must("hidden", Whole(16.0..=65_536.0)),
        may("intermediate", Whole(16.0..=1_000_000.0)),
        must("heads", Whole(1.0..=1_024.0)),
        must("kv_heads", Whole(1.0..=1_024.0)),
        must("head_dim", Whole(8.0..=1_024.0)),
        must("vocab", Whole(16.0..=1_000_000.0)),
        must("tied_embeddings", YES_NO),
        must("mlp", MLP),
        must("norm", Text),
        must("attention", Text),
        may("moe_experts", Whole(2.0..=4_096.0)),
        may("moe_active", Whole(1.0..=256.0)),
        may("moe_shared", Whole(0.0..=64.0)),
        may("moe_intermediate", Whole(16.0..=65_536.0)),
        may("dense_layers_first", Text),
        must("max_context", Whole(32.0..=16_777_216.0)),
        must("qkv_bias", BIAS),
        must("positional", POSITIONAL),
        may("extras", Text),
        must("release", Month),
        must("licence", Text),
        must("source", Text),
    ],
};

/// Parameter counts that somebody else published.
pub(crate) static PUBLISHED: Schema = Schema {
    file: "llm_published.csv",
    columns: &[must("id", Id), must("published", Whole(1e5..=1e13)), must("source", Text)],
};

/// What a vision model does.
const VISION_KINDS: Cell = OneOf(&[
    "GAN",
    "captioning",
    "classification",
    "classification (MNIST)",
    "depth",
    "detection",
    "document",
    "image translation GAN",
    "image-text contrastive",
    "instance segmentation",
    "keypoints",
    "medical segmentation",
    "open-vocabulary detection",
    "promptable segmentation",
    "promptable segmentation, video",
    "segmentation",
    "self-supervised backbone",
    "self-supervised pre-training",
    "semantic segmentation",
    "super-resolution",
    "video self-supervised",
]);

pub(crate) static VISION: Schema = Schema {
    file: "vision.csv",
    columns: &[
        must("id", Id),
        must("name", Text),
        must("kind", VISION_KINDS),
        must("params_m", Sum(0.001..=50_000.0)),
        must("default_resolution", Text),
        may("gmacs_at_default", Sum(0.0001..=100_000.0)),
        may("activations_m_at_default", Sum(0.001..=100_000.0)),
        may("bytes_per_output", Text),
        may("heads", Text),
        may("layers", Text),
        may("dim", Text),
        may("patch", Text),
        must("source", Text),
    ],
};

pub(crate) static DIFFUSION: Schema = Schema {
    file: "diffusion.csv",
    columns: &[
        must("id", Id),
        must("name", Text),
        must("kind", OneOf(&["image", "video", "adapter", "video adapter"])),
        must("denoiser", Text),
        must("denoiser_params", Sum(1e6..=1e12)),
        may("vae_params", Whole(1e5..=1e10)),
        may("text_encoder_1", Text),
        may("text_encoder_1_params", Whole(1e6..=1e12)),
        may("text_encoder_2", Text),
        may("text_encoder_2_params", Whole(1e6..=1e12)),
        may("text_encoder_3", Text),
        may("text_encoder_3_params", Whole(1e6..=1e12)),
        may("other_parts", Text),
        may("latent_channels", Whole(1.0..=1_024.0)),
        may("downscale_spatial", Whole(1.0..=128.0)),
        may("downscale_temporal", Whole(1.0..=64.0)),
        may("patch", Text),
        may("blocks", Text),
        may("hidden", Text),
        may("heads", Text),
        may("text_length", Text),
        must("native_resolution", Text),
        may("native_frames", Whole(1.0..=10_000.0)),
        may("gmacs_native_no_attention_matmul", Number(0.1..=1e8)),
        may("activations_m_native_conv_linear", Number(0.1..=1e8)),
        may("release", Month),
        may("licence", Text),
        must("source", Text),
    ],
};

/// What a model of `audio_other.csv` does.
const OTHER_KINDS: Cell = OneOf(&[
    "audio classification",
    "audio codec",
    "audio-text contrastive",
    "graph",
    "reinforcement learning",
    "singing voice conversion",
    "speech encoder",
    "speech recognition",
    "speech translation",
    "tabular",
    "text to audio",
    "text to music",
    "text to speech",
    "text to speech, few-shot voice cloning",
    "time series",
    "vision-language",
    "voice conversion",
]);

pub(crate) static OTHER: Schema = Schema {
    file: "audio_other.csv",
    columns: &[
        must("id", Id),
        must("name", Text),
        must("kind", OTHER_KINDS),
        may("params_total", Whole(1e3..=1e13)),
        may("main_part", Text),
        may("main_params", Whole(1e3..=1e13)),
        may("second_part", Text),
        may("second_params", Whole(1e3..=1e12)),
        may("other_params", Text),
        may("layers", Text),
        may("hidden", Text),
        may("heads", Text),
        may("input", Text),
        may("tokens_or_frames", Text),
        may("release", Month),
        may("licence", Text),
        must("source", Text),
    ],
};

pub(crate) static TASKS: Schema = Schema {
    file: "tasks.csv",
    columns: &[
        must("id", Id),
        must("name_zh", Text),
        must("name_en", Text),
        must("group", OneOf(&["beginner", "hobby", "advanced hobby", "lab", "company"])),
        may("from_articles", OneOf(&["yes"])),
        must("model_table", OneOf(&["llm", "vision", "diffusion", "audio_other"])),
        may("model_id", Reference),
        must("method", Text),
        must("precision", Text),
        must("dataset_typical", Text),
        may("batch_per_gpu", Text),
        must("grad_accum", Whole(1.0..=65_536.0)),
        may("seq_or_resolution", Text),
        must("epochs_or_steps", Text),
        must("typical_hardware_seen", Text),
        must("source", Text),
    ],
};

/// What people type for a row, or for a word of a name.
pub(crate) static ALIASES: Schema = Schema {
    file: "aliases.csv",
    columns: &[
        must("kind", OneOf(&["word", "model", "gpu"])),
        must("typed", Text),
        may("means", Text),
        must("sure", YES_NO),
    ],
};

pub(crate) static PERFORMANCE: Schema = Schema {
    file: "performance.csv",
    columns: &[
        must("gpu", Reference),
        must("workload", Text),
        must("precision", Text),
        must("gpus", Whole(1.0..=100_000.0)),
        must("value_total", Number(0.1..=1e8)),
        must("unit", OneOf(&["images/s", "tokens/s", "sequences/s", "TFLOP/s", "relative speed"])),
        must("value_per_gpu", Number(0.001..=1e8)),
        may("tokens_s", Number(0.1..=1e9)),
        may("images_s", Number(0.1..=1e8)),
        may("mfu_pct", Number(5.0..=100.0)),
        may("seq_len", Whole(1.0..=16_777_216.0)),
        may("batch", Whole(1.0..=1_000_000.0)),
        may("setup", Text),
        must("source", Text),
        must("as_of", Month),
    ],
};

/// Written by `cargo run --release --example runs`.
pub(crate) static RUNS: Schema = Schema {
    file: "runs.csv",
    columns: &[
        must("model", Reference),
        must("method", OneOf(&["full", "scratch", "freeze", "head", "lora", "qlora"])),
        must("precision", OneOf(&["fp32", "amp-bf16", "amp-fp16", "bf16", "bf16-master"])),
        may("offload", OneOf(&["optimizer", "weights", "all", "nvme"])),
        may("sharding", Text),
        must("batch", Whole(1.0..=1e6)),
        may("size", Whole(1.0..=1e7)),
        may("frames", Whole(2.0..=1e5)),
        must("checkpointing", OneOf(&["off", "on", "pairs", "selective", "offload"])),
        must("cards", Whole(1.0..=100_000.0)),
        may("gpu", Reference),
        must("framework", Text),
        must("peak_mib", Whole(1.0..=1e7)),
        must("meter", OneOf(&["allocated", "reserved", "smi"])),
        must("source", Text),
    ],
};
