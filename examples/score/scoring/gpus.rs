//! The card that a row means: `A100-SXM4-40GB`, `RTX 3080 Max-Q` with 16 GB, `V100`.

use enough_gpu::catalog::{Catalog, Gpu, Vendor};
use enough_gpu::units::{Bytes, GIB};

/// Words that make another card of the same number.
const VARIANTS: &[&str] = &["ti", "super", "laptop", "d", "mod", "modded", "max", "ultra", "pro", "nvl", "pcie"];

/// Words that say nothing about which card it is.
const NOISE: &[&str] = &["geforce", "nvidia", "tesla", "instinct", "radeon", "gpu", "gb", "card"];

fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("max-q", "laptop").replace("maxq", "laptop").replace("mobile", "laptop");
    // `RTX3080Ti` without its spaces.
    let text = ["geforce", "nvidia", "quadro", "titan", "rtx", "gtx", "super", "laptop"]
        .iter()
        .fold(text, |text, word| text.replace(word, &format!(" {word} ")));
    let text = ["ti", "d"].iter().fold(text, |text, end| {
        let apart = |word: &str| match word.strip_suffix(end) {
            Some(number) if number.len() == 4 && number.bytes().all(|b| b.is_ascii_digit()) => {
                format!("{number} {end}")
            }
            _ => word.to_owned(),
        };
        text.split(' ').map(apart).collect::<Vec<_>>().join(" ")
    });
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty() && !NOISE.contains(w))
        .map(ToOwned::to_owned)
        .collect()
}

/// Memory written into a name: `40gb`.
fn memory_word(word: &str) -> Option<f64> {
    word.strip_suffix("gb").and_then(|v| v.parse().ok())
}

/// The card of this name, of `gb` gigabytes if there are several.
pub(crate) fn find<'a>(catalog: &'a Catalog, name: &str, gb: Option<f64>) -> Option<&'a Gpu> {
    let name = name.split('(').next().unwrap_or_default();
    let wanted = words(name);
    // The word with the number is what a card is told by; series words (`rtx`) only help.
    let number = wanted
        .iter()
        .filter(|w| memory_word(w).is_none())
        .find(|w| w.chars().any(|c| c.is_ascii_digit()) && !w.starts_with("sxm"))
        .or_else(|| wanted.iter().find(|w| *w == "titan"))?;
    let gb = wanted.iter().find_map(|w| memory_word(w)).or(gb);
    let distance = |gpu: &Gpu| {
        let id = words(gpu.id);
        let odd = VARIANTS.iter().filter(|v| id.iter().any(|w| w == *v) != wanted.iter().any(|w| w == *v)).count();
        let missing = wanted.iter().filter(|w| memory_word(w).is_none() && !id.contains(w)).count();
        let memory = gb.map_or(0.0, |gb| (gpu.memory.gib() - gb).abs());
        memory * 4.0 + odd as f64 * 2.0 + missing as f64
    };
    let must = |gpu: &Gpu, strict: &[&str]| {
        let id = words(gpu.id);
        // A part of a name as `h100` is in `h100-sxm`, not as `a100` is in `a1000`.
        id.contains(number)
            && strict.iter().all(|v| id.iter().any(|w| w == v) == wanted.iter().any(|w| w == v))
            && (number != "titan" || wanted.iter().all(|w| id.contains(w)))
    };
    let nearest = |strict: &[&str]| {
        catalog.gpus.iter().filter(|g| must(g, strict)).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    // A laptop's card that the catalog lacks has the chip and the driver of the desktop's of the same size.
    let alike = |g: &&Gpu| gb.is_none_or(|gb| (g.memory.gib() - gb).abs() < 0.5);
    nearest(&["ti", "super", "laptop"]).or_else(|| nearest(&["ti", "super"]).filter(alike))
}

/// What a card of this size leaves to PyTorch: as the catalog's cards of that size do, the middle one.
pub(crate) fn usable(catalog: &Catalog, gb: f64) -> Bytes {
    let mut same: Vec<Bytes> = catalog
        .gpus
        .iter()
        .filter(|g| g.vendor == Vendor::Nvidia && (g.memory.gib() - gb).abs() < 0.5)
        .map(|g| g.usable)
        .collect();
    same.sort_unstable();
    // Without one: the usual loss, 24 GB cards report 23.6 GiB.
    same.get(same.len() / 2).copied().unwrap_or(Bytes((gb * GIB as f64 * 0.985) as u64))
}
