//! What a run really took beside what was estimated: how far apart they are, and what can explain it.

use super::engine::{Engine, Estimates, settle};
use crate::catalog::{Catalog, Domain};
use crate::estimate::{MemoryEstimate, Part};
use crate::project::{
    Attention, BaseFormat, Checkpointing, Field, Framework, LossKernel, Measurement, Meter, Method, Precision, Project,
    fields,
};
use crate::units::{self, Bytes};

/// A measurement held against the estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Our figure for the same meter.
    pub ours: Bytes,
    /// How far the measurement is above it, as a share: 0.1 = ten percent.
    pub above: f64,
    /// Half-width of our band.
    pub band: f64,
    /// Likely reasons, the likeliest first; where the two agree within the band, at most that it is more than the card has.
    pub reasons: Vec<Difference>,
}

impl Compared {
    /// Whether the measurement lies in the band.
    pub fn agrees(&self) -> bool {
        self.above.abs() <= self.band
    }
}

/// What can set a measurement apart from the estimate.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// With this setting otherwise, the estimate comes near the measurement.
    Setting {
        /// The setting.
        field: Field,
        /// The value that would explain it.
        value: String,
        /// What the estimate says then, by the same meter.
        then: Bytes,
    },
    /// Other programs, or a screen, share the card: `nvidia-smi` counts them too.
    OthersOnTheCard,
    /// The allocator holds on to more than it uses; the counter of what is in use says less.
    Cached,
    /// Evaluation, saving, or pictures made in between need more than a step.
    OutsideTheStep,
    /// The samples are shorter than the limit that is set.
    ShorterSamples,
    /// Samples were packed, or padded to a longer one.
    LongerSamples,
    /// The figure was read before the peak: the states of the optimizer come with the first step.
    ReadEarly,
    /// The driver moved memory to the computer's own, as on Windows.
    MovedToMain,
    /// The figure is `PyTorch`'s own after all, which leaves out the context and the libraries, some hundreds of MiB.
    WithoutContext,
    /// It is more than the chosen card has.
    BeyondTheCard {
        /// What the card has.
        card: Bytes,
    },
}

/// Settings that people are often mistaken about, and their values.
const DOUBTFUL: &[(Field, &[&str])] = &[
    (Field::Checkpointing, &["off", "on"]),
    (Field::Precision, &["amp-bf16", "bf16", "fp32", "bf16-master"]),
    (Field::Loss, &["hf", "fused"]),
    (Field::Attention, &["eager", "flash"]),
    (Field::Base, &["bf16", "fp32"]),
    (Field::OptimizerImpl, &["foreach", "fused"]),
    (Field::Optimizer, &["adamw", "adamw8bit"]),
    (Field::CachedLatents, &["off", "on"]),
];

/// A setting explains a difference where it takes away this much of it.
const EXPLAINS: f64 = 0.6;

/// Most reasons that are told.
const MOST: usize = 4;

/// Our figure by a meter.
pub fn by_meter(memory: &MemoryEstimate, meter: Meter) -> Bytes {
    match meter {
        Meter::Smi => memory.card,
        Meter::Allocated => memory.allocated,
        Meter::Reserved => memory.reserved,
    }
}

/// Holds a measurement against the estimate of the project; `None` where there is none.
pub fn compare(project: &Project, measurement: &Measurement, catalog: &Catalog) -> Option<Compared> {
    let engine = Estimates::of(catalog);
    let gpu = catalog.gpu(&project.hardware.gpu);
    let estimate = |project: &Project| match gpu {
        Some(gpu) => settle(&engine, project, gpu).ok().map(|(_, memory)| memory),
        None => engine.memory(project, None).ok(),
    };
    let memory = estimate(project)?;
    let ours = by_meter(&memory, measurement.meter);
    let above = measurement.peak.0 as f64 / ours.0.max(1) as f64 - 1.0;
    let beyond =
        gpu.filter(|gpu| measurement.peak > gpu.memory).map(|gpu| Difference::BeyondTheCard { card: gpu.memory });
    let mut compared = Compared { ours, above, band: memory.band, reasons: beyond.clone().into_iter().collect() };
    if compared.agrees() {
        return Some(compared);
    }
    let mut settings: Vec<(f64, Difference)> = DOUBTFUL
        .iter()
        .filter(|(field, _)| is_asked(project, *field, catalog))
        .flat_map(|(field, values)| values.iter().map(|value| (*field, *value)))
        .filter_map(|(field, value)| {
            let mut other = project.clone();
            fields::set(&mut other, field, value, catalog).ok()?;
            (other != *project).then_some(())?;
            let then = by_meter(&estimate(&other)?, measurement.meter);
            let left = (measurement.peak.0 as f64 / then.0.max(1) as f64 - 1.0).abs();
            let better = left < above.abs() * (1.0 - EXPLAINS);
            better.then(|| (left, Difference::Setting { field, value: value.to_owned(), then }))
        })
        .collect();
    units::sort(&mut settings, |a, b| a.0.total_cmp(&b.0));
    compared.reasons = likely(project, measurement, &memory, above > 0.0, catalog);
    // Two settings, and then what cannot be computed.
    let settings = settings.into_iter().map(|(_, difference)| difference).take(2);
    compared.reasons = beyond.into_iter().chain(settings).chain(compared.reasons).take(MOST).collect();
    Some(compared)
}

fn is_asked(project: &Project, field: Field, catalog: &Catalog) -> bool {
    let shown = crate::project::relevant(project, catalog).contains(field);
    let quantized =
        project.method == Method::QLora || !matches!(project.base, BaseFormat::AsPrecision | BaseFormat::Bf16);
    shown
        && match field {
            Field::Base => !quantized,
            Field::Loss => project.loss == LossKernel::Auto,
            Field::Attention => project.attention == Attention::Auto,
            Field::Precision => project.precision != Precision::MasterBf16 || !project.method.is_adapter(),
            _ => true,
        }
}

/// What no estimate tells, in the order in which it usually is the reason.
fn likely(
    project: &Project,
    measurement: &Measurement,
    memory: &MemoryEstimate,
    above: bool,
    catalog: &Catalog,
) -> Vec<Difference> {
    let domain = catalog.model(&project.model).map_or(Domain::Language, |model| model.domain);
    let tokens = matches!(domain, Domain::Language | Domain::VisionLanguage);
    let grows = memory.part(Part::Activations) + memory.part(Part::Logits);
    let by_samples = grows.0 as f64 > memory.allocated.0 as f64 * 0.15;
    let mut reasons = Vec::new();
    let mut add = |holds: bool, reason: Difference| {
        if holds {
            reasons.push(reason);
        }
    };
    if above {
        add(measurement.meter == Meter::Smi && !project.hardware.desktop, Difference::OthersOnTheCard);
        add(measurement.meter != Meter::Allocated, Difference::Cached);
        add(tokens && by_samples, Difference::LongerSamples);
        add(true, Difference::OutsideTheStep);
    } else {
        add(tokens && by_samples, Difference::ShorterSamples);
        add(!project.method.is_adapter(), Difference::ReadEarly);
        add(measurement.meter == Meter::Smi, Difference::MovedToMain);
        add(measurement.meter == Meter::Smi, Difference::WithoutContext);
        add(project.method.is_adapter(), Difference::ReadEarly);
    }
    reasons
}

/// Columns of a file of measured runs, as the scores read them.
const COLUMNS: &str = "id,domain,model,params_b,method,lora_rank,lora_targets,weight_dtype,compute_dtype,optimizer,micro_batch,\
seq_or_res,grad_checkpointing,attention,loss_kernel,gpus,gpu_model,gpu_gb,sharding,offload,framework,measured_gb,\
measure_kind,outcome,source,quality,note";

/// Measurements as a file that the scores read.
pub fn csv<'a>(runs: impl IntoIterator<Item = (&'a Project, Measurement)>, catalog: &Catalog) -> String {
    let mut text = format!("{COLUMNS}\n");
    for (at, (project, measurement)) in runs.into_iter().enumerate() {
        let cells: Vec<String> = cells(at + 1, project, measurement, catalog).iter().map(|cell| quoted(cell)).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

fn cells(at: usize, project: &Project, measurement: Measurement, catalog: &Catalog) -> [String; 27] {
    use crate::project::Choice as _;
    let model = catalog.model(&project.model);
    let domain = match model.map(|m| m.domain) {
        Some(Domain::Vision) => "vision",
        Some(Domain::Diffusion) => "diffusion",
        Some(Domain::Audio) => "audio",
        Some(Domain::Small) => "other",
        Some(Domain::Language | Domain::VisionLanguage) | None => "llm",
    };
    let name = model.map_or_else(|| fields::get(project, Field::Model), |m| m.id.to_owned());
    let adapts = project.method.is_adapter();
    let gpu = catalog.gpu(&project.hardware.gpu);
    let (weights, compute) = formats(project);
    let size = match model.map(|m| m.domain) {
        Some(Domain::Vision | Domain::Diffusion) if project.frames > 1 => {
            format!("{0}x{0}, {1} frames", project.image_side, project.frames)
        }
        Some(Domain::Vision | Domain::Diffusion) => project.image_side.to_string(),
        Some(Domain::Audio) => format!("{} s", crate::units::decimal::short(project.audio_seconds)),
        _ => project.sequence.to_string(),
    };
    let adapter = |text: String| if adapts { text } else { String::new() };
    let sharding = match project.hardware.sharding {
        crate::project::Sharding::Auto => String::new(),
        // As the words are written there.
        crate::project::Sharding::DeviceMap => "device_map".to_owned(),
        crate::project::Sharding::Zero3Offload => "zero3 offload".to_owned(),
        other => other.id().to_owned(),
    };
    [
        format!("own-{at}"),
        domain.to_owned(),
        name,
        model.map(|m| crate::units::decimal::short(m.params as f64 / 1e9)).unwrap_or_default(),
        method(project).to_owned(),
        adapter(project.lora.rank.to_string()),
        adapter(targets(project).to_owned()),
        weights.to_owned(),
        compute.to_owned(),
        optimizer(project),
        project.micro_batch.to_string(),
        size,
        match project.checkpointing {
            Checkpointing::Off => "no",
            Checkpointing::PerBlock => "yes",
            Checkpointing::Pairs => "segments of 2",
            Checkpointing::Selective => "selective",
            Checkpointing::Offloaded => "offload",
        }
        .to_owned(),
        match project.attention {
            Attention::Auto => "",
            Attention::Efficient => "xformers",
            other => other.id(),
        }
        .to_owned(),
        match project.loss {
            LossKernel::Auto => "",
            LossKernel::NoUpcast => "bf16 full",
            other => other.id(),
        }
        .to_owned(),
        project.hardware.count.to_string(),
        project.hardware.gpu.clone(),
        gpu.map(|g| crate::units::decimal::short(g.memory.gib())).unwrap_or_default(),
        sharding,
        match project.offload {
            crate::project::Offload::None => "",
            crate::project::Offload::Optimizer => "optimizer",
            crate::project::Offload::Weights => "weights",
            crate::project::Offload::All => "cpu",
            crate::project::Offload::Nvme => "nvme",
        }
        .to_owned(),
        project.framework.id().to_owned(),
        crate::units::decimal::short(measurement.gib()),
        measurement.meter.id().to_owned(),
        "fits".to_owned(),
        "own measurement".to_owned(),
        "B".to_owned(),
        if project.accumulation > 1 { format!("grad accumulation {}", project.accumulation) } else { String::new() },
    ]
}

/// The method in the words of such files.
fn method(project: &Project) -> &'static str {
    match project.method {
        Method::Full => "full",
        Method::Scratch => "from scratch",
        Method::Freeze => "freeze",
        Method::Head => "head",
        Method::Lora => "lora",
        Method::QLora => "qlora",
    }
}

fn targets(project: &Project) -> &'static str {
    use crate::project::LoraTargets;
    match project.lora.targets {
        LoraTargets::QV => "q,v",
        LoraTargets::Attention => "attention",
        LoraTargets::AllLinear => "all linear",
        LoraTargets::AllLinearAndHead => "all linear, head",
    }
}

/// Formats of weights and of arithmetic.
fn formats(project: &Project) -> (&'static str, &'static str) {
    let base = match project.base {
        BaseFormat::Fp32 => Some("fp32"),
        BaseFormat::Bf16 => Some("bf16"),
        BaseFormat::Fp8 => Some("fp8"),
        BaseFormat::Fp8Dynamic => Some("fp8 dynamic"),
        BaseFormat::Int8 => Some("int8"),
        BaseFormat::Nf4 => Some("nf4"),
        BaseFormat::Nf4Double => Some("nf4-dq"),
        BaseFormat::Int4 => Some("int4"),
        BaseFormat::AsPrecision if project.method == Method::QLora => Some("nf4-dq"),
        BaseFormat::AsPrecision if project.method == Method::Lora && project.precision != Precision::Fp32 => {
            Some("bf16")
        }
        BaseFormat::AsPrecision => None,
    };
    let trains = if matches!(project.framework, Framework::Pytorch) { "bf16" } else { "bf16 (pure)" };
    let (weights, compute) = match project.precision {
        Precision::Fp32 => ("fp32", "fp32"),
        Precision::AmpBf16 => ("fp32", "bf16"),
        Precision::AmpFp16 => ("fp32", "fp16"),
        Precision::PureBf16 => (trains, "bf16"),
        Precision::MasterBf16 => ("bf16 + fp32 master", "bf16"),
    };
    (base.unwrap_or(weights), compute)
}

fn optimizer(project: &Project) -> String {
    use crate::project::{Optimizer, OptimizerImpl};
    let kind = match project.optimizer {
        Optimizer::AdamW => "AdamW",
        Optimizer::AdamW8bit => "AdamW 8-bit",
        Optimizer::PagedAdamW8bit => "paged AdamW 8-bit",
        Optimizer::PagedAdamW => "paged AdamW",
        Optimizer::Adafactor => "Adafactor",
        Optimizer::Sgd => "SGD",
        Optimizer::SgdMomentum => "SGD momentum",
        Optimizer::Lion => "Lion",
        Optimizer::Muon => "Muon",
        Optimizer::Galore => "GaLore",
    };
    let how = match project.optimizer_impl {
        OptimizerImpl::Auto => "",
        OptimizerImpl::Foreach => " foreach",
        OptimizerImpl::Fused => " fused",
        OptimizerImpl::Loop => " loop",
        OptimizerImpl::InBackward => " in backward",
    };
    format!("{kind}{how}")
}

#[cfg(test)]
#[path = "tests/in_measured.rs"]
mod tests;
