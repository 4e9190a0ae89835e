//! The speed of estimates and advice, and the cases that peers are measured on: `cargo xtask bench` runs it.
//!
//! Without an argument it prints tables of times; `--cases FILE.csv` writes the measured runs that every calculator of
//! the kind can be asked about: all weights of a plain decoder, on one card.

#[allow(dead_code)]
#[path = "../score/scoring/mod.rs"]
mod scoring;

use enough_gpu::advise::advise;
use enough_gpu::catalog::{Catalog, Gpu, LanguageKind, LanguageModel};
use enough_gpu::estimate::{self, language};
use enough_gpu::network::{self, Dtype, Trained};
use enough_gpu::project::{Checkpointing, Choice, Method, Optimizer, Project};
use enough_gpu::step::{Task, Walk};
use scoring::case::{Domain, Meter, Quality, Subject};
use scoring::table::Table;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

/// Middle time of a call, in microseconds.
fn micros(mut call: impl FnMut()) -> f64 {
    call();
    let mut times: Vec<f64> = (0..41)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn table(head: &[&str], rows: &[(String, Vec<f64>)]) {
    println!("| {} |\n|---|{}", head.join(" | "), "--:|".repeat(head.len() - 1));
    for (name, numbers) in rows {
        let numbers: Vec<String> = numbers.iter().map(|n| format!("{n:.0}")).collect();
        println!("| {name} | {} |", numbers.join(" | "));
    }
    println!();
}

fn plain(model: &str, method: Method) -> Project {
    Project {
        model: model.to_owned(),
        method,
        sequence: 4096,
        checkpointing: Checkpointing::PerBlock,
        ..Project::default()
    }
}

/// The catalog ten times over, every row under ten names.
fn tenfold(catalog: &Catalog) -> Catalog {
    let mut larger = catalog.clone();
    for copy in 1..10 {
        let named = |id: &str| -> &'static str { Box::leak(format!("{id}-copy-{copy}").into_boxed_str()) };
        larger.gpus.to_mut().extend(catalog.gpus.iter().map(|g| Gpu { id: named(g.id), ..g.clone() }));
        let models = catalog.models.iter().map(|m| enough_gpu::catalog::Model { id: named(m.id), ..m.clone() });
        larger.models.to_mut().extend(models);
    }
    larger
}

fn times() {
    let catalog = Catalog::bundled();
    println!("One estimate of memory, µs:\n");
    let mut rows = Vec::new();
    for (model, method) in [
        ("gpt2", Method::Full),
        ("qwen2.5-7b", Method::Full),
        ("qwen2.5-7b", Method::QLora),
        ("llama-3.1-70b", Method::Full),
        ("deepseek-v3", Method::Full),
        ("resnet50", Method::Full),
        ("sdxl", Method::Lora),
        ("flux.1-dev", Method::Lora),
        ("whisper-large-v3", Method::Full),
    ] {
        let project = plain(model, method);
        if estimate::memory(&project, None, &catalog).is_ok() {
            let time = micros(|| drop(black_box(estimate::memory(&project, None, &catalog))));
            rows.push((format!("{model}, {}", method.id()), vec![time]));
        }
    }
    table(&["project", "native"], &rows);

    println!(
        "Growth with depth, µs (Llama 3.1 70B with other numbers of layers; the walk of every layer for comparison):\n"
    );
    let base = catalog.model("llama-3.1-70b").and_then(|m| m.language());
    let mut rows = Vec::new();
    for layers in [4u32, 16, 80, 320, 1000] {
        let Some(base) = base else { continue };
        let model = LanguageModel { layers, ..base.clone() };
        let config = estimate::stack::configure(
            &plain("llama-3.1-70b", Method::Full),
            u64::from(layers),
            Task::LanguageModel,
            None,
        );
        let walk = |walk| micros(|| drop(black_box(language::step(&model, &config, walk))));
        rows.push((layers.to_string(), vec![walk(Walk::Ends), walk(Walk::Full)]));
    }
    table(&["layers", "as the page does it", "every layer"], &rows);

    let larger = tenfold(&catalog);
    println!(
        "A whole advice, µs: verdict, fixes, make-it-fit, all cards and counts, free notebooks, plans; with the catalog of \
         {} cards and {} models, and with ten times as many:\n",
        catalog.gpus.len(),
        catalog.models.len()
    );
    let mut rows = Vec::new();
    for preset in
        ["mnist", "yolo-custom", "gongbi-lora-sdxl", "wan-lora", "joke-chat-qlora", "llm-7b-full", "llm-70b-lora"]
    {
        let Some(preset) = catalog.preset(preset) else { continue };
        for gpu in ["", "rtx-4060-ti-16gb"] {
            let mut project = Project::from_preset(preset, &catalog);
            gpu.clone_into(&mut project.hardware.gpu);
            let time = |catalog: &Catalog| micros(|| drop(black_box(advise(&project, catalog))));
            let on = if gpu.is_empty() { "no card" } else { gpu };
            rows.push((format!("{}, {on}", preset.id), vec![time(&catalog), time(&larger)]));
        }
    }
    table(&["project", "native", "catalog ×10"], &rows);
}

/// What a calculator is told about a case, and how long our answer took.
struct Told<'a> {
    model: &'a LanguageModel,
    parameters: u64,
    batch: u64,
    accumulation: u64,
    sequence: u64,
    precision: &'static str,
    checkpointing: &'static str,
    micros: f64,
}

/// The case as every calculator can be asked about it: all weights of a plain decoder with AdamW, on one card.
fn told<'a>(subject: &'a Subject, catalog: &'a Catalog) -> Option<Told<'a>> {
    let dense = |model: &LanguageModel| model.kind == LanguageKind::Decoder && model.moe_experts == 0;
    match subject {
        Subject::Project { project, gpu } => {
            let row = catalog.model(&project.model)?;
            let model = row.language().filter(|model| dense(model))?;
            let all_weights = matches!(project.method, Method::Full | Method::Scratch);
            if !all_weights || project.optimizer != Optimizer::AdamW {
                return None;
            }
            Some(Told {
                model,
                parameters: row.params,
                batch: project.micro_batch,
                accumulation: project.accumulation,
                sequence: project.sequence,
                precision: project.precision.id(),
                checkpointing: project.checkpointing.id(),
                micros: micros(|| drop(black_box(estimate::memory(project, gpu.as_deref(), catalog)))),
            })
        }
        Subject::Step { model, config, .. } => {
            if !dense(model) || config.trained != Trained::All || config.optimizer != Optimizer::AdamW {
                return None;
            }
            let weights = network::language(model, config).weights;
            Some(Told {
                model,
                parameters: weights.iter().map(|w| w.numel * w.times).sum(),
                batch: config.batch,
                accumulation: config.accumulation,
                sequence: config.sequence,
                precision: match (config.weights, config.autocast) {
                    (Dtype::F32, Some(_)) => "amp-bf16",
                    (Dtype::F32, None) => "fp32",
                    _ => "bf16",
                },
                checkpointing: config.checkpointing.id(),
                micros: micros(|| drop(black_box(language::step(model, config, Walk::Ends)))),
            })
        }
    }
}

/// Measured runs and traced steps that every calculator can be asked about, with our answer.
fn cases(out: &str) -> Result<(), String> {
    let catalog = Catalog::bundled();
    let mut text = String::from(
        "kind,id,params,layers,hidden,heads,kv_heads,intermediate,vocab,gated,batch,accumulation,sequence,precision,\
         checkpointing,known,ours,ours_us\n",
    );
    for (kind, file) in [("measured", "tests/data/measured.csv"), ("traced", "tests/data/oracle.csv")] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let bytes = std::fs::read(path).map_err(|error| format!("{file}: {error}"))?;
        let (rows, _) = Table::read(&String::from_utf8_lossy(&bytes));
        for scored in scoring::score(&rows, &catalog) {
            let case = &scored.case;
            let (Ok(subject), Ok(figures), Some(known)) = (&case.subject, &scored.figures, case.peak) else { continue };
            // What a driver shows has a runtime in it that the others do not claim to know; of vague rows nobody knows
            // what was run.
            if case.domain != Domain::Llm || case.cards != 1 || case.meter == Meter::Smi || case.quality == Quality::C {
                continue;
            }
            let Some(told) = told(subject, &catalog) else { continue };
            let Told { model: m, parameters, batch, accumulation, sequence, precision, checkpointing, micros } = told;
            let _ = writeln!(
                text,
                "{kind},{},{parameters},{},{},{},{},{},{},{},{batch},{accumulation},{sequence},{precision},\
                 {checkpointing},{},{},{micros:.1}",
                case.id,
                m.layers,
                m.hidden,
                m.heads,
                m.kv_heads,
                m.intermediate,
                m.vocab,
                m.gated,
                known.0,
                figures.by(case.meter).0,
            );
        }
    }
    std::fs::write(out, text).map_err(|error| format!("{out}: {error}"))
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            times();
            Ok(())
        }
        ["--cases", out] => cases(out),
        _ => Err(String::from("usage: benchmarks [--cases FILE.csv]")),
    }
}
