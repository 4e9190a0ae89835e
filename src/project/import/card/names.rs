//! Which card of the catalog a printed name means.

use crate::catalog::{Catalog, Gpu, GpuFamily};
use crate::units::{self, Bytes};

/// What a printed name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// One card.
    One(&'static str),
    /// One of several that go by this name, or by what of it is printed.
    OneOf(Vec<&'static str>),
    /// Graphics inside a processor, or none at all.
    Inside,
    /// Not in the catalog.
    None,
}

/// Names as drivers print them that no search by words finds.
const DRIVERS: &[(&str, &str)] = &[
    ("h100 80gb hbm3", "h100-sxm"),
    ("h100 80gb", "h100-sxm"),
    ("h100 pcie", "h100-pcie"),
    ("gh200 480gb", "gh200-96gb"),
    ("gb10", "gb10-dgx-spark"),
    ("a100-sxm-80gb", "a100-sxm-80gb"),
    ("a100-pcie-40gb", "a100-pcie-40gb"),
    ("rtx 6000 ada", "rtx-6000-ada"),
    ("radeon 8060s", "ryzen-ai-max-395-128gb"),
    ("k100_ai", "hygon-dcu-k100-ai"),
    ("arc a770", "arc-a770-16gb"),
];

/// Names of graphics without memory of their own.
const INSIDE: &[&str] = &[
    "uhd",
    "iris",
    "llvmpipe",
    "swiftshader",
    "basic render",
    "hd graphics",
    "radeon graphics",
    "vega 8",
    "softpipe",
    "virtual",
];

/// Words that say nothing.
const FILLERS: &[&str] = &[
    "(r)",
    "(tm)",
    "corporation",
    "nvidia",
    "graphics",
    " gpu",
    "hbm3e",
    "hbm3",
    "hbm2e",
    "hbm2",
    "max-q design",
    "with",
    "amd ",
];

/// The card of the catalog that a printed name means; the memory tells sizes apart and fills up what is cut off.
pub fn known(name: &str, total: Option<Bytes>, catalog: &Catalog) -> Known {
    let small = name.to_ascii_lowercase();
    let plain = FILLERS.iter().fold(small.clone(), |text, filler| text.replace(filler, " "));
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if INSIDE.iter().any(|word| small.contains(word)) || plain == "radeon" {
        return Known::Inside;
    }
    if let Some((start, _)) = plain.split_once("...").or_else(|| plain.split_once('…')) {
        return cut_off(start, total, catalog);
    }
    if plain == "ascend910" && total.is_some_and(|total| fits(total, Bytes::from_mib(65_536))) {
        return Known::OneOf(vec!["ascend-910b3", "ascend-910c"]);
    }
    let driver = DRIVERS.iter().find(|(printed, _)| *printed == plain).and_then(|(_, id)| catalog.gpu(id));
    let hits = catalog.find_gpus(&plain, 8);
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let exact = driver.or_else(|| hits.first().filter(|hit| hit.exact).map(|hit| hit.item));
    let Some(total) = total else {
        return match exact {
            Some(gpu) => Known::One(gpu.id),
            None => one_of(
                hits.iter().filter(|hit| best >= 0.75 && hit.score > best - 0.2).map(|hit| hit.item).collect(),
                &plain,
            ),
        };
    };
    if let Some(gpu) = exact.filter(|gpu| is(gpu, total)) {
        return Known::One(gpu.id);
    }
    let alike =
        hits.iter().filter(|hit| hit.score > 0.6 && hit.score > best - 0.3 && is(hit.item, total)).map(|hit| hit.item);
    one_of(alike.collect(), &plain)
}

/// Cards whose usable memory is the capacity that a message tells, the likeliest first.
pub fn by_memory(capacity: Bytes, catalog: &Catalog) -> Vec<&Gpu> {
    let far = |gpu: &Gpu| gpu.usable.0.abs_diff(capacity.0);
    // Drivers differ by up to 0.3 GiB for the same card (`usable.csv`), large cards by more; Windows tells the box's amount.
    let near = |gpu: &Gpu| {
        let tolerance = (capacity.0 / 120).max(130 << 20);
        far(gpu) <= tolerance || gpu.memory.0.abs_diff(capacity.0 * u64::from(gpu.devices.max(1))) <= 20 << 20
    };
    let mut found: Vec<&Gpu> = catalog.gpus.iter().filter(|gpu| near(gpu)).collect();
    // Of cards as near, those that most people have.
    let rank = |gpu: &Gpu| match gpu.family {
        GpuFamily::Consumer if gpu.id.ends_with("-mod") => 4,
        GpuFamily::Consumer | GpuFamily::Apple => 0,
        GpuFamily::Datacenter => 1,
        GpuFamily::Workstation | GpuFamily::Accelerator => 2,
        GpuFamily::Laptop => 3,
    };
    let order = |gpu: &Gpu| (far(gpu) >> 26, rank(gpu));
    units::sort(&mut found, |a, b| order(a).cmp(&order(b)));
    found
}

/// Whether a listed total is that of a card: error correction and firmware take up to a tenth.
fn is(gpu: &Gpu, total: Bytes) -> bool {
    let device = Bytes(gpu.memory.0 / u64::from(gpu.devices.max(1)));
    fits(total, device)
}

fn fits(total: Bytes, device: Bytes) -> bool {
    (0.9..=1.04).contains(&(total.0 as f64 / device.0.max(1) as f64))
}

/// One, several or none; a name that says nothing of a laptop means none.
fn one_of(mut found: Vec<&Gpu>, plain: &str) -> Known {
    let of_laptop = |gpu: &Gpu| gpu.id.contains("laptop");
    let laptop = plain.contains("laptop") || plain.contains("mobile");
    found.retain(|gpu| of_laptop(gpu) == laptop);
    if !plain.contains("mod") && found.len() > 1 {
        found.retain(|gpu| !gpu.id.ends_with("-mod"));
    }
    // `Ti`, `SUPER` and `D` are other cards.
    let words =
        |text: &str| ["ti", "super", "xt", "xtx", "d", "gre"].map(|word| text.split([' ', '-']).any(|w| w == word));
    let wanted = words(plain);
    let same: Vec<&Gpu> = found.iter().copied().filter(|gpu| words(gpu.id) == wanted).collect();
    let found = if same.is_empty() { found } else { same };
    match found.as_slice() {
        [] => Known::None,
        [gpu] => Known::One(gpu.id),
        more => Known::OneOf(more.iter().map(|gpu| gpu.id).take(4).collect()),
    }
}

/// The start of a name, as narrow tables print it, and the memory.
fn cut_off(start: &str, total: Option<Bytes>, catalog: &Catalog) -> Known {
    let letters =
        |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let wanted = letters(start);
    let begins = |gpu: &&Gpu| {
        let (name, bare) = (letters(gpu.name), letters(gpu.short_name()));
        let bare = if gpu.name.contains("RTX") || gpu.name.contains("GTX") { format!("geforce{bare}") } else { bare };
        name.starts_with(&wanted) || bare.starts_with(&wanted)
    };
    let size = |gpu: &&Gpu| total.is_none_or(|total| is(gpu, total));
    let found: Vec<&Gpu> =
        catalog.gpus.iter().filter(begins).filter(size).filter(|gpu| !gpu.id.ends_with("-mod")).collect();
    match found.as_slice() {
        [] => Known::None,
        [gpu] => Known::One(gpu.id),
        more => Known::OneOf(more.iter().map(|gpu| gpu.id).take(8).collect()),
    }
}
