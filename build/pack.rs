//! Writes checked rows as packed text: column by column, which compresses best, with what the page needs and no more.
//! `src/catalog/tables.rs` reads the columns back in the same order.

use super::Tables;
use super::rows;
use super::table::{Row, Table};
use super::usable;
use std::fmt::Write;

/// Month in which the tables without a date column were collected.
const COLLECTED: &str = "2026-11";

const MIB_PER_GIB: f64 = 1024.0;

/// Which cells are compiled in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cells {
    /// All of them: the library.
    All,
    /// What the page reads: of the source of a fact it says whether it is somebody's memory, and nothing else.
    OfThePage,
}

/// Columns that the page does not read; with the sources a quarter of the tables as they are packed.
pub(crate) const NOT_ON_THE_PAGE: [&str; 7] =
    ["licence", "rates_note", "price_note", "vcpus", "ram_gib", "idle_limit_min", "latent_channels"];

impl Cells {
    /// What is written for a cell.
    fn cell(self, table: &str, field: &str, value: String) -> String {
        match (self, field) {
            // A preset's source names its code, which decides about settings; a run's is shown beside it.
            (Self::OfThePage, "source" | "price_source") if !matches!(table, "PRESETS" | "RUNS") => {
                match value.find("memory") {
                    Some(0) => "memory".to_owned(),
                    Some(_) => "from memory".to_owned(),
                    None => String::new(),
                }
            }
            // The year tells which of two models is older.
            (Self::OfThePage, "release") => value.get(..4).unwrap_or_default().to_owned(),
            (Self::OfThePage, field) if NOT_ON_THE_PAGE.contains(&field) => String::new(),
            _ => value,
        }
    }
}

/// The whole generated file.
pub(crate) fn pack(tables: &Tables, cells: Cells) -> String {
    let mut out = String::from("// Written by build.rs from the files in src/catalog/data.\n");
    let mut write = |name: &str, mut rows: Vec<Fields>| {
        for row in &mut rows {
            for (field, value) in &mut row.0 {
                *value = cells.cell(name, field, std::mem::take(value));
            }
        }
        write_table(&mut out, name, &rows);
    };
    let each = |table: &Table, fields: fn(&Row) -> Fields| table.rows.iter().map(fields).collect();
    write("GPUS", tables.gpus.rows.iter().flat_map(|row| gpu(row, &tables.usable)).collect());
    write("LANGUAGE", each(&tables.language, language_model));
    write("VISION", each(&tables.vision, vision_model));
    write("DIFFUSION", each(&tables.diffusion, diffusion_model));
    write("OTHER", each(&tables.other, other_model));
    write("OFFERS", tables.offers.rows.iter().map(|row| offer(row, &tables.billing)).collect());
    write("FREE", each(&tables.free, free_tier));
    write("PRESETS", each(&tables.presets, preset));
    write("THROUGHPUT", each(&tables.throughput, throughput));
    let aliases = |kind: &str| tables.aliases.rows.iter().filter(|row| row.text("kind") == kind).map(alias).collect();
    write("MODEL_ALIASES", aliases("model"));
    write("GPU_ALIASES", aliases("gpu"));
    write("WORDS", aliases("word"));
    write("RUNS", repeated(tables.runs.rows.iter().map(run).collect()));
    out
}

fn write_table(out: &mut String, name: &str, rows: &[Fields]) {
    let names: Vec<&str> = rows.first().map_or(Vec::new(), |row| row.0.iter().map(|(field, _)| *field).collect());
    let column = |place: usize| rows.iter().map(|row| row.0[place].1.as_str()).collect::<Vec<_>>().join("\t");
    let columns: Vec<String> = (0..names.len()).map(column).collect();
    let (count, text) = (rows.len(), columns.join("\n"));
    let _ = writeln!(
        out,
        "pub(crate) const {name}: Packed = Packed {{ rows: {count}, #[cfg(debug_assertions)] names: &{names:?}, text: {text:?} }};"
    );
}

/// The cells of a row, in the order in which they are read back.
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn text(mut self, field: &'static str, value: &str) -> Self {
        self.0.push((field, value.to_owned()));
        self
    }

    /// A number, or an empty cell.
    fn optional(self, field: &'static str, value: Option<f64>) -> Self {
        self.text(field, &value.map_or(String::new(), |n| n.to_string()))
    }

    /// A whole number; 0 is an empty cell.
    fn whole(self, field: &'static str, value: u64) -> Self {
        self.text(field, &if value == 0 { String::new() } else { value.to_string() })
    }

    /// Yes, or an empty cell.
    fn flag(self, field: &'static str, value: bool) -> Self {
        self.text(field, if value { "1" } else { "" })
    }

    /// The place of a word in a list.
    fn choice(self, field: &'static str, list: &[&str], word: &str) -> Self {
        self.whole(field, list.iter().position(|choice| *choice == word).unwrap_or(0) as u64)
    }
}

/// The makers in the order of `catalog::Vendor`.
const VENDORS: &[&str] =
    &["NVIDIA", "AMD", "Intel", "Apple", "Huawei", "Moore Threads", "Hygon", "Cambricon", "MetaX", "Google"];

/// The families in the order of `catalog::GpuFamily`.
const FAMILIES: &[&str] = &["consumer", "laptop", "workstation", "datacenter", "apple", "accelerator"];

/// The kinds in the order of `catalog::LanguageKind`.
const LANGUAGE_KINDS: &[&str] = &["decoder", "encoder", "encoder-decoder"];

/// The domains of `audio_other.csv` in the order of `catalog::tables`.
const OTHER_DOMAINS: &[&str] = &["audio", "vision-language", "small"];

/// A card, once for every memory size it is sold with. The table's own row is the largest; the others leave out the
/// prices, which belong to it.
fn gpu(row: &Row, seen: &Table) -> Vec<Fields> {
    let largest = row.number("memory_gib").unwrap_or(0.0);
    let (chips, sizes) = row.text("memory_type").split_once("; sizes ").unwrap_or((row.text("memory_type"), ""));
    let smaller = sizes.split(';').filter_map(|size| size.parse().ok()).filter(|size| *size < largest);
    let mut cards: Vec<Fields> = smaller.map(|gib| gpu_with(row, seen, chips, gib, Some(gib))).collect();
    cards.push(gpu_with(row, seen, chips, largest, None));
    cards
}

/// A card with `gib` of memory; `size` goes into the id where it is not the table's own row.
fn gpu_with(row: &Row, seen: &Table, chips: &str, gib: f64, size: Option<f64>) -> Fields {
    let several = row.text("memory_type").contains("; sizes ");
    let id = size.map_or_else(|| row.text("id").to_owned(), |gib| format!("{}-{gib}gb", row.text("id")));
    let name = if several { format!("{} {gib} GB", row.text("name")) } else { row.text("name").to_owned() };
    let capability = row.text("compute_capability");
    let cuda = (row.text("vendor") == "NVIDIA").then(|| capability.parse::<f64>().ok()).flatten();
    let target = if cuda.is_some() { "" } else { capability };
    let priced = |column: &str| if size.is_none() { row.text(column) } else { "" };
    let price = |column: &str| row.number(column).filter(|_| size.is_none());
    Fields::new()
        .text("id", &id)
        .text("name", &name)
        .choice("vendor", VENDORS, row.text("vendor"))
        .choice("family", FAMILIES, row.text("family"))
        .text("architecture", row.text("architecture"))
        .text("launched", row.text("launched"))
        .whole("memory_mib", (gib * MIB_PER_GIB) as u64)
        .whole("usable_mib", usable::usable_mib(row, gib, seen) as u64)
        .whole("devices", u64::from(usable::devices(row)))
        .text("memory_type", chips)
        .optional("bandwidth_gb_s", row.number("bandwidth_gb_s"))
        .optional("fp32", row.number("fp32_tflops"))
        .optional("tf32", row.number("tf32_tflops_dense"))
        .optional("fp16", row.number("fp16_tensor_tflops_dense"))
        .optional("bf16", row.number("bf16_tflops_dense"))
        .optional("fp8", row.number("fp8_tflops_dense"))
        .optional("fp64", row.number("fp64_tflops"))
        .optional("tdp_w", row.number("tdp_w"))
        .text("pcie", row.text("pcie"))
        .optional("nvlink_gb_s", row.number("nvlink_gb_s"))
        .flag("ecc", row.text("ecc") == "yes")
        .optional("compute_capability", cuda)
        .text("target", target)
        .text("support_note", row.text("support_note"))
        .text("rates_note", row.text("flops_note"))
        .optional("min_psu_w", row.number("min_psu_w"))
        .optional("slots", row.number("slots"))
        .optional("msrp_usd", price("msrp_usd"))
        .optional("street_usd", price("street_price_usd"))
        .optional("used_usd", price("used_price_usd"))
        .optional("street_cny", price("street_price_cny"))
        .text("price_source", priced("price_source"))
        .text("price_as_of", priced("price_as_of"))
        .text("source", row.text("source"))
        .text("as_of", row.text("as_of"))
}

/// An offer, with what is known of its provider's bills: the row for machines of that name before the row for all.
fn offer(row: &Row, billing: &Table) -> Fields {
    let fits = |bill: &&Row| {
        bill.text("provider") == row.text("provider") && row.text("instance").starts_with(bill.text("instance"))
    };
    let bill = billing.rows.iter().filter(fits).max_by_key(|bill| bill.text("instance").len());
    let of = |column: &str| bill.and_then(|bill| bill.number(column));
    Fields::new()
        .text("provider", row.text("provider"))
        .text("instance", row.text("instance"))
        .text("gpu", row.text("gpu"))
        .whole("gpus", row.count("gpus"))
        .optional("vcpus", row.number("vcpus"))
        .optional("ram_gib", row.number("ram_gib"))
        .optional("usd_h", row.number("price_usd_h"))
        .optional("spot_usd_h", row.number("spot_usd_h"))
        .optional("cny_h", row.number("price_cny_h"))
        .optional("unit_s", of("unit_s"))
        .optional("least_s", of("least_s"))
        .optional("least_usd", of("least_usd"))
        .flag("china", row.text("region_class") == "china")
        .text("source", row.text("source"))
        .text("as_of", row.text("as_of"))
}

fn free_tier(row: &Row) -> Fields {
    Fields::new()
        .text("platform", row.text("platform"))
        .text("offer", row.text("offer"))
        .text("gpu", row.text("gpu"))
        .whole("gpus", row.count("gpus"))
        .optional("memory_gib", row.number("memory_gib"))
        .optional("threads", row.number("vcpus"))
        .text("amount", row.text("free_amount"))
        .text("period", row.text("period"))
        .optional("session_limit_h", row.number("session_limit_h"))
        .optional("idle_limit_min", row.number("idle_limit_min"))
        .optional("usd_h", row.number("price_usd_h"))
        .text("price_note", row.text("price_note"))
        .flag("china", row.text("region_class") == "china")
        .text("limits", row.text("limits"))
        .text("source", row.text("source"))
        .text("as_of", row.text("as_of"))
}

fn preset(row: &Row) -> Fields {
    Fields::new()
        .text("id", row.text("id"))
        .text("name_zh", row.text("name_zh"))
        .text("name_en", row.text("name_en"))
        .text("group", row.text("group"))
        .flag("from_articles", row.text("from_articles") == "yes")
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
}

fn throughput(row: &Row) -> Fields {
    Fields::new()
        .text("gpu", row.text("gpu"))
        .text("workload", row.text("workload"))
        .text("precision", row.text("precision"))
        .whole("gpus", row.count("gpus"))
        .optional("value", row.number("value_total"))
        .text("unit", row.text("unit"))
        .optional("sequence", row.number("seq_len"))
        .optional("batch", row.number("batch"))
        .text("setup", row.text("setup"))
        .optional("mfu_pct", row.number("mfu_pct"))
        .optional("tokens_s", row.number("tokens_s"))
        .optional("images_s", row.number("images_s"))
        .text("source", row.text("source"))
        .text("as_of", row.text("as_of"))
}

fn alias(row: &Row) -> Fields {
    Fields::new()
        .text("typed", row.text("typed"))
        .text("means", row.text("means"))
        .flag("sure", row.text("sure") == "yes")
}

fn run(row: &Row) -> Fields {
    Fields::new()
        .text("model", row.text("model"))
        .text("method", row.text("method"))
        .text("precision", row.text("precision"))
        .text("offload", row.text("offload"))
        .text("sharding", row.text("sharding"))
        .whole("batch", row.count("batch"))
        .whole("size", row.count("size"))
        .whole("frames", row.count("frames"))
        .text("checkpointing", row.text("checkpointing"))
        .whole("cards", row.count("cards"))
        .text("gpu", row.text("gpu"))
        .text("framework", row.text("framework"))
        .whole("peak_mib", row.count("peak_mib"))
        .text("meter", row.text("meter"))
        .text("source", row.text("source"))
}

/// Stands for the cell above: runs come in series, and half of the text is the same again.
const AS_ABOVE: &str = "=";

/// The rows with a sign for each cell that says the same as the one above it.
fn repeated(rows: Vec<Fields>) -> Vec<Fields> {
    let mut above: Vec<String> = Vec::new();
    let mark = |mut row: Fields| {
        let cells: Vec<String> = row.0.iter().map(|(_, cell)| cell.clone()).collect();
        for ((_, cell), before) in row.0.iter_mut().zip(&above) {
            if cell == before && cell.len() > AS_ABOVE.len() {
                AS_ABOVE.clone_into(cell);
            }
        }
        above = cells;
        row
    };
    rows.into_iter().map(mark).collect()
}

/// The columns that begin every model; `repo`, `release` and `licence` are empty where the table has none.
fn model(row: &Row, repo: &str, params: u64, dated: bool) -> Fields {
    Fields::new()
        .text("id", row.text("id"))
        .text("name", row.text("name"))
        .text("repo", repo)
        .whole("params", params)
        .text("release", if dated { row.text("release") } else { "" })
        .text("licence", if dated { row.text("licence") } else { "" })
        .text("source", first_source(row.text("source")))
        .text("as_of", COLLECTED)
}

/// The place where a model was read first: what the page shows. The file has the rest.
fn first_source(source: &str) -> &str {
    let end = [" (", "; ", ", "].iter().filter_map(|mark| source.find(mark)).min();
    end.and_then(|end| source.get(..end)).unwrap_or(source)
}

fn language_model(row: &Row) -> Fields {
    model(row, row.text("hf_repo"), row.count("params_total"), true)
        .choice("kind", LANGUAGE_KINDS, row.text("kind"))
        .text("family", row.text("family"))
        .whole("params_active", row.count("params_active"))
        .whole("layers", row.count("layers"))
        .whole("hidden", row.count("hidden"))
        .whole("intermediate", row.count("intermediate"))
        .whole("heads", row.count("heads"))
        .whole("kv_heads", row.count("kv_heads"))
        .whole("head_dim", row.count("head_dim"))
        .whole("vocab", row.count("vocab"))
        .flag("tied_embeddings", row.text("tied_embeddings") == "yes")
        .flag("gated", row.text("mlp") == "gated")
        .text("norm", row.text("norm"))
        .text("attention", row.text("attention"))
        .whole("moe_experts", row.count("moe_experts"))
        .whole("moe_active", row.count("moe_active"))
        .whole("moe_shared", row.count("moe_shared"))
        .whole("moe_intermediate", row.count("moe_intermediate"))
        .text("dense_layers_first", row.text("dense_layers_first"))
        .whole("max_context", row.count("max_context"))
        .text("bias", row.text("qkv_bias"))
        .text("positional", row.text("positional"))
        .text("extras", row.text("extras"))
}

fn vision_model(row: &Row) -> Fields {
    let params = row.number("params_m").unwrap_or(0.0) * 1e6;
    let (resolution, depth) = rows::input_size(row.text("default_resolution"));
    model(row, "", params.round() as u64, false)
        .text("kind", row.text("kind"))
        .optional("resolution", Some(resolution))
        .optional("depth", Some(depth))
        .optional("gmacs", row.number("gmacs_at_default"))
        .optional("activations_m", row.number("activations_m_at_default"))
        .text("kept", row.text("bytes_per_output"))
        .text("heads", row.text("heads"))
        .text("layers", row.text("layers"))
        .text("dim", row.text("dim"))
        .text("patch", row.text("patch"))
}

fn diffusion_model(row: &Row) -> Fields {
    let denoisers = if row.text("denoiser_params").starts_with("2 x ") { 2 } else { 1 };
    let params = row.count("denoiser_params");
    let (frozen, frozen_params) = rows::frozen(row.text("other_parts")).unwrap_or(("", 0));
    model(row, "", params, true)
        .text("kind", row.text("kind"))
        .text("denoiser", row.text("denoiser"))
        .whole("denoiser_params", params / denoisers)
        .whole("denoisers", denoisers)
        .whole("vae_params", row.count("vae_params"))
        .text("text_encoder_1", row.text("text_encoder_1"))
        .whole("text_encoder_1_params", row.count("text_encoder_1_params"))
        .text("text_encoder_2", row.text("text_encoder_2"))
        .whole("text_encoder_2_params", row.count("text_encoder_2_params"))
        .text("text_encoder_3", row.text("text_encoder_3"))
        .whole("text_encoder_3_params", row.count("text_encoder_3_params"))
        .text("frozen", frozen)
        .whole("frozen_params", frozen_params)
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
        .optional("activations_m", row.number("activations_m_native_conv_linear"))
}

/// Kinds of `audio_other.csv` that are neither sound nor pictures with text.
const SMALL_KINDS: &[&str] = &["tabular", "graph", "reinforcement learning", "time series"];

fn other_model(row: &Row) -> Fields {
    let domain = match row.text("kind") {
        "vision-language" => "vision-language",
        kind if SMALL_KINDS.contains(&kind) => "small",
        _ => "audio",
    };
    let (main, second) = (row.count("main_params"), row.count("second_params"));
    let params = if row.text("params_total").is_empty() { main + second } else { row.count("params_total") };
    model(row, "", params, true)
        .choice("domain", OTHER_DOMAINS, domain)
        .text("kind", row.text("kind"))
        .text("main", row.text("main_part"))
        .whole("main_params", main)
        .text("second", row.text("second_part"))
        .whole("second_params", second)
        .text("rest", row.text("other_params"))
        .text("layers", row.text("layers"))
        .text("hidden", row.text("hidden"))
        .text("heads", row.text("heads"))
        .text("input", row.text("input"))
        .text("tokens_or_frames", row.text("tokens_or_frames"))
}
