//! Measured training speeds, by the columns of the catalog's table of them.

use super::case::Reason;
use super::report::quantile;
use super::table::{Row, Table};
use super::{gpus, models, sizes, words};
use enough_gpu::catalog::{Catalog, Domain, Gpu, Model};
use enough_gpu::estimate::{self, time};
use enough_gpu::project::{
    Attention, Checkpointing, Framework, LossKernel, Method, Optimizer, OptimizerImpl, Precision, Project,
};
use std::fmt::Write as _;

/// Tokens in a micro-batch of pretraining recipes where only the global batch is given (llm-foundry's yamls: 4 to 16
/// sequences of 2,048 tokens).
const TOKENS_IN_MICRO_BATCH: u64 = 16_384;

/// A row with our answer, in tokens or samples a second over all cards.
#[derive(Clone, Debug)]
pub(crate) struct Speed {
    pub(crate) name: String,
    /// Cards that worked on it together.
    pub(crate) cards: u64,
    pub(crate) measured: f64,
    pub(crate) estimated: Result<f64, Reason>,
}

impl Speed {
    /// Signed relative error in percent.
    pub(crate) fn error(&self) -> Option<f64> {
        self.estimated.as_ref().ok().map(|ours| (ours / self.measured - 1.0) * 100.0)
    }
}

/// The training rows of a table, answered. Inference, products alone and relative speeds are left out.
pub(crate) fn score(table: &Table, catalog: &Catalog) -> Vec<Speed> {
    table
        .rows()
        .filter_map(|row| {
            let unit = row.text("unit").to_lowercase();
            let workload = row.text("workload");
            let measured = row.number("value_total").filter(|v| *v > 0.0)?;
            let per_second = ["tokens/s", "images/s", "sequences/s", "samples/s"].contains(&unit.as_str());
            (per_second && !workload.to_lowercase().contains("inference")).then(|| Speed {
                name: format!("{} x{} {workload} {}", row.text("gpu"), row.text("gpus"), row.text("precision")),
                cards: row.count("gpus").unwrap_or(1),
                measured,
                estimated: speed(&row, unit == "tokens/s", catalog),
            })
        })
        .collect()
}

fn speed(row: &Row<'_>, tokens: bool, catalog: &Catalog) -> Result<f64, Reason> {
    let gpu = catalog.gpu(row.text("gpu")).or_else(|| gpus::find(catalog, row.text("gpu"), None));
    let gpu = gpu.ok_or(Reason::Missing("known card"))?;
    let count = row.count("gpus").and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1);
    let project = project(row, gpu, count, catalog)?;
    let declined = |why| Reason::Declined(format!("{why:?}"));
    let mut load = time::Workload::new(&project, time::has_flash(gpu), catalog).map_err(declined)?;
    if row.text("workload").starts_with("timm") {
        // Its benchmark trains on random pictures that are on the card already.
        load.input = 0.0;
    }
    // Frameworks that NVIDIA ships, and the benchmarks made with them, turn TF32 on.
    let precision = row.text("precision");
    let load = if precision.contains("tf32") { load.with_tf32() } else { load };
    let load = if precision.contains("fp8") { load.with_fp8() } else { load };
    let found = load.on(gpu, count, project.hardware.sharding).map_err(declined)?;
    let samples = (project.micro_batch * project.accumulation * u64::from(count)) as f64 / found.step.0;
    Ok(if tokens { samples * project.sequence as f64 } else { samples })
}

/// The model at the head of `MPT-7b pretraining`, `timm resnet18 training at 224px`, `Llama 3 70B LoRA`.
fn model<'a>(workload: &str, catalog: &'a Catalog) -> Option<&'a Model> {
    let name = workload.trim_start_matches("timm ");
    let cut = ["pretraining", "training", "fine-tuning", "LoRA", "full SFT", "SQuAD", "ImageNet", "COCO"]
        .iter()
        .filter_map(|w| name.find(w))
        .min();
    models::by_name(catalog, name.get(..cut.unwrap_or(name.len()))?.trim(), None)
}

fn project(row: &Row<'_>, gpu: &Gpu, count: u32, catalog: &Catalog) -> Result<Project, Reason> {
    let workload = row.text("workload");
    let model = model(workload, catalog).ok_or_else(|| Reason::UnknownModel(workload.to_owned()))?;
    let text = row.text("precision").to_lowercase();
    if text.contains("fp4") {
        return Err(Reason::Declined("4-bit arithmetic".to_owned()));
    }
    let setup = row.text("setup");
    let framework =
        words::framework(setup).or_else(|| words::framework(row.text("source"))).unwrap_or(Framework::Pytorch);
    let precision = if text.contains("amp") || text.contains("fp16") {
        Precision::AmpFp16
    } else if text.contains("bf16") || text.contains("fp8") {
        Precision::PureBf16
    } else {
        Precision::Fp32
    };
    let language = model.domain == Domain::Language;
    let method = match workload {
        w if w.contains("LoRA") => Method::Lora,
        w if w.contains("pretraining") || !language => Method::Scratch,
        _ => Method::Full,
    };
    let mut project = Project {
        model: model.id.to_owned(),
        method,
        precision,
        framework,
        samples: 1 << 20,
        epochs: 1.0,
        checkpointing: if setup.contains("checkpointing True") { Checkpointing::PerBlock } else { Checkpointing::Off },
        sequence: row.count("seq_len").or_else(|| after(workload, "seq ")).unwrap_or(512),
        image_side: match sizes::tokens(workload.rsplit("at ").next().unwrap_or_default()) {
            Some(side) if workload.contains("px") => side,
            _ if model.id.starts_with("ssd300") => 300,
            _ => 224,
        },
        ..Project::default()
    };
    if row.count("seq_len").is_none() && workload.contains("SQuAD") {
        // Longest sequence of the SQuAD recipes (google-research/bert README).
        project.sequence = 384;
    }
    project.hardware.sharding = words::sharding(setup, "");
    if language {
        project.attention = if framework == Framework::LlmFoundry { Attention::Flash } else { Attention::Auto };
        project.loss = if framework == Framework::LlmFoundry { LossKernel::Fused } else { LossKernel::Auto };
        if framework == Framework::LlmFoundry {
            project.optimizer_impl = OptimizerImpl::Fused;
        }
    } else {
        project.optimizer = Optimizer::SgdMomentum;
    }
    batch(row, &mut project, gpu, count, catalog);
    Ok(project)
}

/// The number after a word.
fn after(text: &str, word: &str) -> Option<u64> {
    sizes::tokens(text.split_once(word)?.1)
}

/// Micro-batch and accumulation: from the global batch where the row gives it; otherwise the largest that fits, since
/// benchmarks fill the card.
fn batch(row: &Row<'_>, project: &mut Project, gpu: &Gpu, count: u32, catalog: &Catalog) {
    let per_card = row.count("batch").filter(|b| *b > 0).map(|global| (global / u64::from(count)).max(1));
    if let Some(per_card) = per_card {
        let micro = match project.sequence {
            // Pictures: what the card is given at once.
            _ if project.optimizer == Optimizer::SgdMomentum => per_card,
            sequence => (TOKENS_IN_MICRO_BATCH / sequence.max(1)).clamp(1, per_card),
        };
        project.micro_batch = micro;
        project.accumulation = (per_card / micro).max(1);
        return;
    }
    let fits = |micro_batch: u64| {
        let trial = Project { micro_batch, ..project.clone() };
        estimate::memory(&trial, Some(gpu), catalog).is_ok_and(|found| found.card <= gpu.usable)
    };
    // Beyond 512 in one go nothing gets faster.
    let largest = (0..=9).map(|power| 1 << power).take_while(|b| fits(*b)).last();
    project.micro_batch = largest.unwrap_or(32);
    // Pretraining recipes accumulate to very large batches; fine-tuning does not.
    project.accumulation = if row.text("workload").contains("pretraining") { 32 } else { 1 };
}

/// A line per row.
pub(crate) fn each(speeds: &[Speed]) -> String {
    let mut out = String::new();
    for s in speeds {
        match &s.estimated {
            Ok(ours) => {
                let error = s.error().unwrap_or_default();
                let _ = writeln!(out, "{:12.1} measured {ours:12.1} estimated {error:+8.1} %  {}", s.measured, s.name);
            }
            Err(why) => {
                let _ = writeln!(out, "{:12.1} measured, cannot estimate: {why}  {}", s.measured, s.name);
            }
        }
    }
    out
}

/// The closing lines: all rows, and those of several cards.
pub(crate) fn closing(speeds: &[Speed]) -> String {
    line("time", &speeds.iter().collect::<Vec<_>>()) + &line("time multi-card", &several(speeds))
}

/// The rows of several cards.
pub(crate) fn several(speeds: &[Speed]) -> Vec<&Speed> {
    speeds.iter().filter(|s| s.cards > 1).collect()
}

fn line(name: &str, speeds: &[&Speed]) -> String {
    let (median, p90) = errors(speeds);
    let shown = |v: Option<f64>| v.map_or_else(|| "n/a".to_owned(), |v| format!("{v:.2}"));
    format!(
        "{name}: {} rows, {} estimated, median |error| {} %, p90 {} %\n",
        speeds.len(),
        speeds.iter().filter(|s| s.estimated.is_ok()).count(),
        shown(median),
        shown(p90),
    )
}

/// Median and ninetieth percentile of the absolute error in percent.
pub(crate) fn errors(speeds: &[&Speed]) -> (Option<f64>, Option<f64>) {
    let mut errors: Vec<f64> = speeds.iter().filter_map(|s| s.error()).map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    (quantile(&errors, 0.5), quantile(&errors, 0.9))
}
