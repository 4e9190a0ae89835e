//! Writes checked rows as Rust source.

use super::Tables;
use super::rows;
use super::table::{Row, Table};
use super::usable;
use std::fmt::Write;

/// Month in which the tables without a date column were collected.
const COLLECTED: &str = "2026-11";

const NO_SOURCE: &str = r#"Source { place: "", as_of: "" }"#;

const MIB_PER_GIB: f64 = 1024.0;

fn mib(mib: f64) -> String {
    format!("Bytes::from_mib({})", mib.max(0.0) as u64)
}

/// The whole generated file.
pub(crate) fn render(tables: &Tables) -> String {
    let mut out = String::from("// Written by build.rs from the files in src/catalog/data.\n");
    write_table(&mut out, "GPUS", "Gpu", tables.gpus.rows.iter().flat_map(|row| gpu(row, &tables.usable)));
    let models = (tables.language.rows.iter().map(language_model))
        .chain(tables.vision.rows.iter().map(vision_model))
        .chain(tables.diffusion.rows.iter().map(diffusion_model))
        .chain(tables.other.rows.iter().map(other_model));
    write_table(&mut out, "MODELS", "Model", models);
    write_table(&mut out, "OFFERS", "Offer", each(&tables.offers, offer));
    write_table(&mut out, "FREE", "FreeTier", each(&tables.free, free_tier));
    write_table(&mut out, "PRESETS", "Preset", each(&tables.presets, preset));
    write_table(&mut out, "MEASURED_THROUGHPUT", "Throughput", each(&tables.throughput, throughput));
    let aliases = |kind: &'static str| tables.aliases.rows.iter().filter(move |row| row.text("kind") == kind);
    write_table(&mut out, "MODEL_ALIASES", "Alias", aliases("model").map(alias));
    write_table(&mut out, "GPU_ALIASES", "Alias", aliases("gpu").map(alias));
    let word = |row: &Row| Value(format!("({:?}, {:?})", row.text("typed"), row.text("means")));
    write_table(&mut out, "WORDS", "(&str, &str)", aliases("word").map(word));
    out
}

fn each<'a>(table: &'a Table, row: impl Fn(&Row) -> Value + 'a) -> impl Iterator<Item = Value> + 'a {
    table.rows.iter().map(row)
}

fn write_table(out: &mut String, name: &str, of: &str, values: impl Iterator<Item = Value>) {
    let _ = writeln!(out, "pub(super) static {name}: &[{of}] = &[");
    for value in values {
        let _ = writeln!(out, "    {},", value.0);
    }
    out.push_str("];\n");
}

/// A Rust expression.
struct Value(String);

/// Collects the fields of a struct.
struct Fields(String);

impl Fields {
    fn of(name: &str) -> Self {
        Self(format!("{name} {{ "))
    }

    fn put(mut self, field: &str, expression: impl AsRef<str>) -> Self {
        let _ = write!(self.0, "{field}: {}, ", expression.as_ref());
        self
    }

    fn text(self, field: &str, value: &str) -> Self {
        self.put(field, format!("{value:?}"))
    }

    fn optional(self, field: &str, value: Option<f64>) -> Self {
        self.put(field, option(value))
    }

    fn whole(self, field: &str, value: u64) -> Self {
        self.put(field, value.to_string())
    }

    fn end(self) -> Value {
        Value(self.0 + "}")
    }
}

fn option(value: Option<f64>) -> String {
    value.map_or_else(|| "None".to_owned(), |n| format!("Some({n:?})"))
}

fn source(row: &Row, place: &str, as_of: &str) -> String {
    format!("Source {{ place: {:?}, as_of: {:?} }}", row.text(place), row.text(as_of))
}

fn collected(row: &Row) -> String {
    format!("Source {{ place: {:?}, as_of: {COLLECTED:?} }}", row.text("source"))
}

fn variant(of: &str, table: &[(&str, &str)], word: &str) -> String {
    let name = table.iter().find(|(printed, _)| *printed == word).map_or(word, |(_, name)| name);
    format!("{of}::{name}")
}

const VENDORS: &[(&str, &str)] = &[("NVIDIA", "Nvidia"), ("AMD", "Amd"), ("Moore Threads", "MooreThreads")];

const FAMILIES: &[(&str, &str)] = &[
    ("consumer", "Consumer"),
    ("laptop", "Laptop"),
    ("workstation", "Workstation"),
    ("datacenter", "Datacenter"),
    ("apple", "Apple"),
    ("accelerator", "Accelerator"),
];

/// A card, once for every memory size it is sold with. The table's own row is the largest; the others leave out the
/// prices, which belong to it.
fn gpu(row: &Row, seen: &Table) -> Vec<Value> {
    let largest = row.number("memory_gib").unwrap_or(0.0);
    let (chips, sizes) = row.text("memory_type").split_once("; sizes ").unwrap_or((row.text("memory_type"), ""));
    let smaller = sizes.split(';').filter_map(|size| size.parse().ok()).filter(|size| *size < largest);
    let mut cards: Vec<Value> = smaller.map(|gib| gpu_with(row, seen, chips, gib, Some(gib))).collect();
    cards.push(gpu_with(row, seen, chips, largest, None));
    cards
}

/// A card with `gib` of memory; `size` goes into the id where it is not the table's own row.
fn gpu_with(row: &Row, seen: &Table, chips: &str, gib: f64, size: Option<f64>) -> Value {
    let several = row.text("memory_type").contains("; sizes ");
    let id = size.map_or_else(|| row.text("id").to_owned(), |gib| format!("{}-{gib}gb", row.text("id")));
    let name = if several { format!("{} {gib} GB", row.text("name")) } else { row.text("name").to_owned() };
    let priced = size.is_none();
    let capability = row.text("compute_capability");
    let cuda = (row.text("vendor") == "NVIDIA").then(|| capability.parse::<f64>().ok()).flatten();
    let target = if cuda.is_some() { "" } else { capability };
    let rates = [
        ("fp32", "fp32_tflops"),
        ("tf32", "tf32_tflops_dense"),
        ("fp16", "fp16_tensor_tflops_dense"),
        ("bf16", "bf16_tflops_dense"),
        ("fp8", "fp8_tflops_dense"),
        ("fp64", "fp64_tflops"),
    ];
    let rates = rates.iter().fold(Fields::of("Rates"), |f, (field, column)| f.optional(field, row.number(column)));
    let price = |column: &str| row.number(column).filter(|_| priced);
    let price = Fields::of("GpuPrice")
        .optional("msrp_usd", price("msrp_usd"))
        .optional("street_usd", price("street_price_usd"))
        .optional("used_usd", price("used_price_usd"))
        .optional("street_cny", price("street_price_cny"))
        .put("source", if priced { source(row, "price_source", "price_as_of") } else { NO_SOURCE.to_owned() });
    Fields::of("Gpu")
        .text("id", &id)
        .text("name", &name)
        .put("vendor", variant("Vendor", VENDORS, row.text("vendor")))
        .put("family", variant("GpuFamily", FAMILIES, row.text("family")))
        .text("architecture", row.text("architecture"))
        .text("launched", row.text("launched"))
        .put("memory", mib(gib * MIB_PER_GIB))
        .put("usable", mib(usable::usable_mib(row, gib, seen)))
        .whole("devices", u64::from(usable::devices(row)))
        .text("memory_type", chips)
        .put("bandwidth_gb_s", format!("{:?}", row.number("bandwidth_gb_s").unwrap_or(0.0)))
        .put("rates", rates.end().0)
        .optional("tdp_w", row.number("tdp_w"))
        .text("pcie", row.text("pcie"))
        .optional("nvlink_gb_s", row.number("nvlink_gb_s"))
        .put("ecc", (row.text("ecc") == "yes").to_string())
        .optional("compute_capability", cuda)
        .text("target", target)
        .text("support_note", row.text("support_note"))
        .text("rates_note", row.text("flops_note"))
        .optional("min_psu_w", row.number("min_psu_w"))
        .optional("slots", row.number("slots"))
        .put("price", price.end().0)
        .put("source", source(row, "source", "as_of"))
        .end()
}

fn offer(row: &Row) -> Value {
    Fields::of("Offer")
        .text("provider", row.text("provider"))
        .text("instance", row.text("instance"))
        .text("gpu", row.text("gpu"))
        .whole("gpus", row.count("gpus"))
        .optional("vcpus", row.number("vcpus"))
        .optional("ram_gib", row.number("ram_gib"))
        .optional("usd_h", row.number("price_usd_h"))
        .optional("spot_usd_h", row.number("spot_usd_h"))
        .optional("cny_h", row.number("price_cny_h"))
        .put("china", (row.text("region_class") == "china").to_string())
        .put("source", source(row, "source", "as_of"))
        .end()
}

fn free_tier(row: &Row) -> Value {
    Fields::of("FreeTier")
        .text("platform", row.text("platform"))
        .text("offer", row.text("offer"))
        .text("gpu", row.text("gpu"))
        .whole("gpus", row.count("gpus"))
        .optional("memory_gib", row.number("memory_gib"))
        .text("amount", row.text("free_amount"))
        .text("period", row.text("period"))
        .optional("session_limit_h", row.number("session_limit_h"))
        .optional("idle_limit_min", row.number("idle_limit_min"))
        .optional("usd_h", row.number("price_usd_h"))
        .text("price_note", row.text("price_note"))
        .put("china", (row.text("region_class") == "china").to_string())
        .text("limits", row.text("limits"))
        .put("source", source(row, "source", "as_of"))
        .end()
}

fn preset(row: &Row) -> Value {
    Fields::of("Preset")
        .text("id", row.text("id"))
        .text("name_zh", row.text("name_zh"))
        .text("name_en", row.text("name_en"))
        .text("group", row.text("group"))
        .put("from_articles", (row.text("from_articles") == "yes").to_string())
        .text("model", row.text("model_id"))
        .text("method", row.text("method"))
        .text("precision", row.text("precision"))
        .text("dataset", row.text("dataset_typical"))
        .text("batch", row.text("batch_per_gpu"))
        .text("accumulation", row.text("grad_accum"))
        .text("size", row.text("seq_or_resolution"))
        .text("length", row.text("epochs_or_steps"))
        .text("hardware", row.text("typical_hardware_seen"))
        .text("source", row.text("source"))
        .end()
}

fn alias(row: &Row) -> Value {
    Fields::of("Alias")
        .text("typed", row.text("typed"))
        .text("id", row.text("means"))
        .put("sure", (row.text("sure") == "yes").to_string())
        .end()
}

fn throughput(row: &Row) -> Value {
    Fields::of("Throughput")
        .text("gpu", row.text("gpu"))
        .text("workload", row.text("workload"))
        .text("precision", row.text("precision"))
        .whole("gpus", row.count("gpus"))
        .put("value", format!("{:?}", row.number("value_total").unwrap_or(0.0)))
        .text("unit", row.text("unit"))
        .optional("sequence", row.number("seq_len"))
        .optional("batch", row.number("batch"))
        .text("setup", row.text("setup"))
        .optional("mfu_pct", row.number("mfu_pct"))
        .optional("tokens_s", row.number("tokens_s"))
        .optional("images_s", row.number("images_s"))
        .put("source", source(row, "source", "as_of"))
        .end()
}

/// A model of any table; `repo`, `release` and `licence` are empty where the table has no such column.
fn model(row: &Row, repo: &str, domain: &str, params: u64, dated: bool, architecture: &str, kind: Fields) -> Value {
    Fields::of("Model")
        .text("id", row.text("id"))
        .text("name", row.text("name"))
        .text("repo", repo)
        .put("domain", format!("Domain::{domain}"))
        .whole("params", params)
        .text("release", if dated { row.text("release") } else { "" })
        .text("licence", if dated { row.text("licence") } else { "" })
        .put("architecture", format!("Architecture::{architecture}({})", kind.end().0))
        .put("source", collected(row))
        .end()
}

fn language_model(row: &Row) -> Value {
    let m = rows::language(row);
    let kind = Fields::of("LanguageModel")
        .put("kind", format!("LanguageKind::{:?}", m.kind))
        .text("family", m.family)
        .whole("params_active", m.params_active)
        .whole("layers", m.layers.into())
        .whole("hidden", m.hidden.into())
        .whole("intermediate", m.intermediate.into())
        .whole("heads", m.heads.into())
        .whole("kv_heads", m.kv_heads.into())
        .whole("head_dim", m.head_dim.into())
        .whole("vocab", m.vocab.into())
        .put("tied_embeddings", m.tied_embeddings.to_string())
        .put("gated", m.gated.to_string())
        .text("norm", m.norm)
        .text("attention", m.attention)
        .whole("moe_experts", m.moe_experts.into())
        .whole("moe_active", m.moe_active.into())
        .whole("moe_shared", m.moe_shared.into())
        .whole("moe_intermediate", m.moe_intermediate.into())
        .text("dense_layers_first", m.dense_layers_first)
        .whole("max_context", m.max_context.into())
        .text("bias", m.bias)
        .text("positional", m.positional)
        .text("extras", m.extras);
    model(row, row.text("hf_repo"), "Language", row.count("params_total"), true, "Language", kind)
}

fn vision_model(row: &Row) -> Value {
    let params = row.number("params_m").unwrap_or(0.0) * 1e6;
    let (resolution, depth) = rows::input_size(row.text("default_resolution"));
    let kind = Fields::of("VisionModel")
        .text("kind", row.text("kind"))
        .put("resolution", format!("{resolution:?}"))
        .put("depth", format!("{depth:?}"))
        .optional("gmacs", row.number("gmacs_at_default"))
        .optional("activations_m", row.number("activations_m_at_default"))
        .text("heads", row.text("heads"))
        .text("layers", row.text("layers"))
        .text("dim", row.text("dim"))
        .text("patch", row.text("patch"));
    model(row, "", "Vision", params.round() as u64, false, "Vision", kind)
}

/// A part; an empty cell of parameters is 0.
fn part(name: &str, params: u64) -> String {
    format!("Part {{ name: {name:?}, params: {params} }}")
}

fn diffusion_model(row: &Row) -> Value {
    let denoisers = if row.text("denoiser_params").starts_with("2 x ") { 2 } else { 1 };
    let params = row.count("denoiser_params");
    let encoders = [1, 2, 3].map(|n| format!("text_encoder_{n}"));
    let encoders: Vec<String> = (encoders.iter())
        .filter(|column| !row.text(column).is_empty())
        .map(|column| part(row.text(column), row.count(&format!("{column}_params"))))
        .collect();
    let frozen = rows::frozen(row.text("other_parts"));
    let frozen = frozen.map_or(String::new(), |(name, params)| part(name, params));
    let kind = Fields::of("DiffusionModel")
        .text("kind", row.text("kind"))
        .text("denoiser", row.text("denoiser"))
        .whole("denoiser_params", params / denoisers)
        .whole("denoisers", denoisers)
        .whole("vae_params", row.count("vae_params"))
        .put("text_encoders", format!("&[{}]", encoders.join(", ")))
        .put("frozen", format!("&[{frozen}]"))
        .optional("latent_channels", row.number("latent_channels"))
        .optional("downscale_spatial", row.number("downscale_spatial"))
        .optional("downscale_temporal", row.number("downscale_temporal"))
        .text("patch", row.text("patch"))
        .text("blocks", row.text("blocks"))
        .text("hidden", row.text("hidden"))
        .text("heads", row.text("heads"))
        .optional("text_length", rows::text_length(row.text("text_length")))
        .text("native_resolution", row.text("native_resolution"))
        .optional("native_frames", row.number("native_frames"))
        .optional("gmacs", row.number("gmacs_native_no_attention_matmul"))
        .optional("activations_m", row.number("activations_m_native_conv_linear"));
    model(row, "", "Diffusion", params, true, "Diffusion", kind)
}

/// Kinds of `audio_other.csv` that are neither sound nor pictures with text.
const SMALL_KINDS: &[&str] = &["tabular", "graph", "reinforcement learning", "time series"];

fn other_model(row: &Row) -> Value {
    let domain = match row.text("kind") {
        "vision-language" => "VisionLanguage",
        kind if SMALL_KINDS.contains(&kind) => "Small",
        _ => "Audio",
    };
    let (main, second) = (row.count("main_params"), row.count("second_params"));
    let params = if row.text("params_total").is_empty() { main + second } else { row.count("params_total") };
    let kind = Fields::of("OtherModel")
        .text("kind", row.text("kind"))
        .put("main", part(row.text("main_part"), main))
        .put("second", part(row.text("second_part"), second))
        .text("rest", row.text("other_params"))
        .text("layers", row.text("layers"))
        .text("hidden", row.text("hidden"))
        .text("heads", row.text("heads"))
        .text("input", row.text("input"))
        .text("tokens_or_frames", row.text("tokens_or_frames"));
    model(row, "", domain, params, true, "Other", kind)
}
