//! The speed of one estimate, of its growth with layers, and of a full recommendation: `cargo bench`.
#![allow(clippy::unwrap_used, missing_docs)]

use divan::{Bencher, black_box};
use enough_gpu::advise;
use enough_gpu::catalog::{Catalog, LanguageModel};
use enough_gpu::estimate::{self, language};
use enough_gpu::project::{Checkpointing, Method, Project};
use enough_gpu::step::Walk;

fn main() {
    divan::main();
}

fn project(model: &str, method: Method) -> Project {
    Project {
        model: model.to_owned(),
        method,
        sequence: 4096,
        checkpointing: Checkpointing::PerBlock,
        ..Project::default()
    }
}

/// One estimate of a language model's step.
#[divan::bench(args = ["gpt2", "qwen2.5-7b", "llama-3.1-70b", "deepseek-v3"])]
fn full(bencher: Bencher<'_, '_>, model: &str) {
    let catalog = Catalog::bundled();
    let project = project(model, Method::Full);
    bencher.bench(|| estimate::memory(black_box(&project), None, &catalog));
}

/// The same with a 4-bit base and adapters on every linear layer.
#[divan::bench(args = ["qwen2.5-7b", "llama-3.1-70b"])]
fn qlora(bencher: Bencher<'_, '_>, model: &str) {
    let catalog = Catalog::bundled();
    let project = project(model, Method::QLora);
    bencher.bench(|| estimate::memory(black_box(&project), None, &catalog));
}

/// Growth with depth: the ends of repeated layers are walked, however many there are.
#[divan::bench(args = [4, 16, 80, 1000])]
fn by_layers(bencher: Bencher<'_, '_>, layers: u32) {
    walk(bencher, layers, Walk::Ends);
}

/// The same with every layer walked, for comparison.
#[divan::bench(args = [4, 16, 80])]
fn by_layers_walked_in_full(bencher: Bencher<'_, '_>, layers: u32) {
    walk(bencher, layers, Walk::Full);
}

fn walk(bencher: Bencher<'_, '_>, layers: u32, walk: Walk) {
    let catalog = Catalog::bundled();
    let model = catalog.model("llama-3.1-70b").and_then(|m| m.language()).unwrap();
    let model = LanguageModel { layers, ..model.clone() };
    let config = estimate::stack::configure(
        &project("llama-3.1-70b", Method::Full),
        u64::from(layers),
        enough_gpu::step::Task::LanguageModel,
        None,
    );
    bencher.bench(|| language::step(black_box(&model), &config, walk));
}

/// Everything the page shows after a change: verdict, fixes, all cards and counts, free notebooks.
#[divan::bench(args = ["mnist", "gongbi-lora-sdxl", "joke-chat-qlora", "llm-7b-full", "llm-70b-lora"])]
fn recommendation(bencher: Bencher<'_, '_>, preset: &str) {
    let catalog = Catalog::bundled();
    let mut project = Project::from_preset(catalog.preset(preset).unwrap(), &catalog);
    project.hardware.gpu = String::from("rtx-4060-ti-16gb");
    bencher.bench(|| advise::advise(black_box(&project), &catalog));
}
