//! What must hold between the cells of a row and between tables.

use super::Tables;
use super::grammar::UnknownWord;
use super::params;
use super::rows;
use super::table::{Broken, Row, Table};
use super::usable;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Farthest that a stated parameter count may lie from the one that follows from the architecture.
const COUNT_TOLERANCE: f64 = 0.02;

/// Farthest that the architecture's count may lie from one that somebody else published (often a rounded figure).
const PUBLISHED_TOLERANCE: f64 = 0.01;

/// Stops at the first row that contradicts itself or another table.
pub(crate) fn check(tables: &Tables) -> Result<(), Broken> {
    each(&tables.gpus, gpu)?;
    each(&tables.offers, offer)?;
    each(&tables.billing, billing)?;
    each(&tables.free, free_tier)?;
    each(&tables.throughput, throughput)?;
    each(&tables.language, language)?;
    each(&tables.vision, vision)?;
    each(&tables.diffusion, diffusion)?;
    each(&tables.other, other)?;
    unique_models(tables)?;
    references(tables)?;
    usable_memory(tables)?;
    aliases(tables)?;
    published(tables)
}

fn each(table: &Table, check: fn(&Row) -> Result<(), String>) -> Result<(), Broken> {
    table.rows.iter().try_for_each(|row| check(row).map_err(|reason| row.broken(reason)))
}

/// An error unless `holds`.
fn require(holds: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(reason()) }
}

/// Pairs of rates whose ratio the hardware fixes, and what it may be.
const RATIOS: &[(&str, &str, &[RangeInclusive<f64>])] = &[
    // Accumulating in fp16 is twice as fast on the chips that tell the two apart.
    ("fp16_fp16acc_tflops_dense", "fp16_tensor_tflops_dense", &[1.95..=2.05]),
    ("fp16_tensor_tflops_dense", "tf32_tflops_dense", &[1.9..=2.1]),
    // Gaudi 3 is as fast in fp8 as in bf16.
    ("fp8_tflops_dense", "bf16_tflops_dense", &[1.9..=2.1, 0.99..=1.01]),
];

const PRICES: &[&str] = &["msrp_usd", "street_price_usd", "used_price_usd", "street_price_cny"];

fn gpu(row: &Row) -> Result<(), String> {
    for (upper, lower, allowed) in RATIOS {
        if let (Some(a), Some(b)) = (row.number(upper), row.number(lower)) {
            let ratio = a / b;
            require(allowed.iter().any(|range| range.contains(&ratio)), || {
                format!("{upper} is {ratio:.2} times {lower}, which no chip of this kind is")
            })?;
        }
    }
    let rates = ["fp32_tflops", "fp16_tensor_tflops_dense", "bf16_tflops_dense", "fp8_tflops_dense"];
    require(rates.iter().any(|rate| row.number(rate).is_some()), || format!("none of {} is given", rates.join(", ")))?;

    let gib = row.number("memory_gib").unwrap_or(0.0);
    if let Some(shown) = row.number("smi_total_mib") {
        require((0.90..1.03).contains(&(shown / 1024.0 / gib)), || {
            format!("smi_total_mib {shown} does not belong to a card of {gib} GiB")
        })?;
    }
    if let Some((_, sizes)) = row.text("memory_type").split_once("; sizes ") {
        let largest = sizes.split(';').try_fold(0.0_f64, |top, size| size.parse().ok().map(|gib| top.max(gib)));
        require(largest == Some(gib), || format!("memory_gib {gib} is not the largest of the sizes {sizes}"))?;
    }
    if row.text("vendor") == "NVIDIA" {
        let capability = row.number("compute_capability").unwrap_or(0.0);
        require((3.0..20.0).contains(&capability), || {
            format!("compute_capability {:?} is no CUDA version such as 8.6", row.text("compute_capability"))
        })?;
    }
    let lanes = row.text("pcie");
    let pcie = lanes.split_once('x').map(|(version, width)| (version.parse::<f64>().ok(), width.parse::<u32>().ok()));
    require(lanes.is_empty() || matches!(pcie, Some((Some(_), Some(_)))), || {
        format!("pcie {lanes:?} is not of the form 4.0x16")
    })?;

    let priced = PRICES.iter().find(|price| row.number(price).is_some());
    for column in ["price_source", "price_as_of"] {
        match (priced, row.text(column)) {
            (Some(price), "") => return Err(format!("{price} has no {column}")),
            (None, named) if !named.is_empty() => return Err(format!("{column} is {named:?}, but there is no price")),
            _ => {}
        }
    }
    Ok(())
}

fn offer(row: &Row) -> Result<(), String> {
    let (usd, spot, cny) = (row.number("price_usd_h"), row.number("spot_usd_h"), row.number("price_cny_h"));
    require(usd.is_some() || cny.is_some(), || "neither price_usd_h nor price_cny_h is given".to_owned())?;
    if let (Some(usd), Some(spot)) = (usd, spot) {
        require(spot <= usd, || format!("spot_usd_h {spot} is above the on-demand price_usd_h {usd}"))?;
    }
    if let (Some(usd), gpus) = (usd, row.count("gpus") as f64) {
        let each = usd / gpus;
        require((0.05..20.0).contains(&each), || {
            format!("price_usd_h {usd} for {gpus} cards is {each:.3} USD per card and hour, outside 0.05 to 20")
        })?;
    }
    Ok(())
}

fn billing(row: &Row) -> Result<(), String> {
    let (unit, least) = (row.number("unit_s"), row.number("least_s"));
    require(unit.is_some() == least.is_some(), || "unit_s and least_s belong together".to_owned())?;
    require(unit.is_some() || row.number("least_usd").is_some(), || "nothing is said of the bill".to_owned())
}

fn free_tier(row: &Row) -> Result<(), String> {
    let (gpu, gpus) = (row.text("gpu"), row.count("gpus"));
    require(gpu.is_empty() || gpus > 0, || format!("gpus is empty, but the card {gpu:?} is promised"))
}

fn throughput(row: &Row) -> Result<(), String> {
    let total = row.number("value_total").unwrap_or(0.0);
    let (each, gpus) = (row.number("value_per_gpu").unwrap_or(0.0), row.count("gpus") as f64);
    require((each * gpus / total - 1.0).abs() < 0.02, || {
        format!("value_per_gpu {each} for {gpus} cards does not make value_total {total}")
    })?;
    for (unit, column) in [("tokens/s", "tokens_s"), ("images/s", "images_s")] {
        let (stated, due) = (row.number(column), (row.text("unit") == unit).then_some(total));
        require(stated == due, || format!("{column} must be value_total where unit is {unit}, and empty elsewhere"))?;
    }
    Ok(())
}

const EXPERT_COLUMNS: &[&str] = &["moe_experts", "moe_active", "moe_shared", "moe_intermediate"];

fn language(row: &Row) -> Result<(), String> {
    let repo = row.text("hf_repo");
    require(repo.is_empty() || is_repository(repo), || format!("hf_repo {repo:?} is not of the form owner/name"))?;
    let given: Vec<_> = EXPERT_COLUMNS.iter().filter(|column| !row.text(column).is_empty()).collect();
    require(given.is_empty() || given.len() == EXPERT_COLUMNS.len(), || {
        format!("{} must be given together or not at all", EXPERT_COLUMNS.join(", "))
    })?;

    let model = rows::language(row);
    let (heads, kv_heads) = (model.heads, model.kv_heads);
    require(heads % kv_heads == 0, || format!("heads {heads} is no multiple of kv_heads {kv_heads}"))?;
    let (experts, active) = (model.moe_experts, model.moe_active);
    require(active <= experts, || format!("moe_active {active} is more than moe_experts {experts}"))?;

    let Some(count) = params::count(&model).map_err(|UnknownWord(word)| format!("the word {word:?} is not known"))?
    else {
        return require(row.text("source").contains("params: given"), || {
            "the count does not follow from the columns, and source does not say \"params: given\"".to_owned()
        });
    };
    require(model.intermediate > 0 || experts > 0, || "intermediate is empty".to_owned())?;
    for (column, counted) in [("params_total", count.total), ("params_active", count.active)] {
        close(column, row.count(column), counted, COUNT_TOLERANCE)?;
    }
    Ok(())
}

/// An error where `stated` is farther than `tolerance` from what the architecture has.
fn close(column: &str, stated: u64, counted: u64, tolerance: f64) -> Result<(), String> {
    let away = (stated as f64 / counted as f64 - 1.0).abs();
    require(away <= tolerance, || {
        let (away, allowed) = (away * 100.0, tolerance * 100.0);
        format!("{column} is {stated}, but the architecture has {counted} ({away:.1} % apart, {allowed} % allowed)")
    })
}

fn is_repository(text: &str) -> bool {
    text.split_once('/').is_some_and(|(owner, name)| {
        let fine =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        fine(owner) && fine(name)
    })
}

fn vision(row: &Row) -> Result<(), String> {
    let printed = row.text("default_resolution");
    let (side, depth) = rows::input_size(printed);
    require((8.0..=16_384.0).contains(&side) && (1.0..=1_024.0).contains(&depth), || {
        format!("default_resolution {printed:?} does not begin with a side in pixels")
    })
}

fn diffusion(row: &Row) -> Result<(), String> {
    for n in 1..=3 {
        let (name, params) = (format!("text_encoder_{n}"), format!("text_encoder_{n}_params"));
        require(row.text(&params).is_empty() || !row.text(&name).is_empty(), || {
            format!("{params} is given, but {name} is empty")
        })?;
    }
    let parts = row.text("other_parts");
    require(parts.is_empty() || rows::frozen(parts).is_some(), || {
        format!("other_parts {parts:?} is not of the form \"frozen SD1.5 UNet 859520964\"")
    })?;
    let adapter = matches!(row.text("kind"), "adapter" | "video adapter");
    require(adapter != parts.is_empty(), || "an adapter, and nothing else, has a frozen base in other_parts".to_owned())
}

fn other(row: &Row) -> Result<(), String> {
    let (total, parts) = (row.count("params_total"), row.count("main_params") + row.count("second_params"));
    require(total == 0 || parts as f64 <= total as f64 * (1.0 + COUNT_TOLERANCE), || {
        format!("main_params and second_params make {parts}, more than params_total {total}")
    })
}

/// Share links name a model by its id alone.
fn unique_models(tables: &Tables) -> Result<(), Broken> {
    let mut seen: BTreeMap<&str, &Row> = BTreeMap::new();
    for table in tables.models() {
        for row in &table.rows {
            if let Some(first) = seen.insert(row.text("id"), row) {
                let (id, file, line) = (row.text("id"), first.file, first.line);
                return Err(row.broken(format!("the id {id:?} was used before, in {file} on line {line}")));
            }
        }
    }
    Ok(())
}

/// Offers, free tiers, measured speeds, published counts and presets name rows that exist.
fn references(tables: &Tables) -> Result<(), Broken> {
    let exists = |row: &Row, column: &str, table: &Table, what: &str| {
        let id = row.text(column);
        let known = id.is_empty() || table.get(id).is_some();
        if known { Ok(()) } else { Err(row.broken(format!("the {what} {id:?} is not in {}", table.file))) }
    };
    for table in [&tables.offers, &tables.free, &tables.throughput] {
        for row in &table.rows {
            exists(row, "gpu", &tables.gpus, "card")?;
        }
    }
    for row in &tables.billing.rows {
        let provider = row.text("provider");
        if tables.offers.rows.iter().all(|offer| offer.text("provider") != provider) {
            return Err(row.broken(format!("the provider {provider:?} is not in {}", tables.offers.file)));
        }
    }
    for row in &tables.published.rows {
        exists(row, "id", &tables.language, "model")?;
    }
    for row in &tables.usable.rows {
        exists(row, "id", &tables.gpus, "card")?;
    }
    for row in &tables.runs.rows {
        if tables.models().iter().all(|table| table.get(row.text("model")).is_none()) {
            return Err(row.broken(format!("the model {:?} is in no table of models", row.text("model"))));
        }
    }
    for row in &tables.presets.rows {
        let table = match row.text("model_table") {
            "llm" => &tables.language,
            "vision" => &tables.vision,
            "diffusion" => &tables.diffusion,
            _ => &tables.other,
        };
        exists(row, "model_id", table, "model")?;
    }
    Ok(())
}

/// An alias means one row that exists.
fn aliases(tables: &Tables) -> Result<(), Broken> {
    let mut seen: BTreeMap<(&str, String), &Row> = BTreeMap::new();
    for row in &tables.aliases.rows {
        let (kind, typed, id) = (row.text("kind"), row.text("typed"), row.text("means"));
        let known = match kind {
            "gpu" => tables.gpus.get(id).is_some(),
            "model" => tables.models().iter().any(|table| table.get(id).is_some()),
            _ => true,
        };
        if !known {
            return Err(row.broken(format!("{typed:?} means {id:?}, which is not known")));
        }
        let compact = typed.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        if let Some(first) = seen.insert((kind, compact), row) {
            return Err(row.broken(format!("{typed:?} was given a meaning before, on line {}", first.line)));
        }
    }
    Ok(())
}

/// What PyTorch reports is a little less than what the box says.
fn usable_memory(tables: &Tables) -> Result<(), Broken> {
    for row in &tables.usable.rows {
        let total = row.number("total_gib").unwrap_or(0.0);
        let on_box = tables.gpus.get(row.text("id")).and_then(|gpu| {
            let devices = f64::from(usable::devices(gpu));
            gpu.number("memory_gib").map(|gib| gib / devices)
        });
        let on_box = on_box.unwrap_or(total);
        if !(0.6..=1.0).contains(&(total / on_box)) {
            return Err(row.broken(format!("total_gib {total} does not belong to a device of {on_box} GiB")));
        }
    }
    Ok(())
}

/// The architecture agrees with counts that somebody else published.
fn published(tables: &Tables) -> Result<(), Broken> {
    for row in &tables.published.rows {
        let counted = tables.language.get(row.text("id")).and_then(|row| params::count(&rows::language(row)).ok()?);
        if let Some(count) = counted {
            close("published", row.count("published"), count.total, PUBLISHED_TOLERANCE)
                .map_err(|reason| row.broken(reason))?;
        }
    }
    Ok(())
}
