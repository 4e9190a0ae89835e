//! Writes the ready files of a range of projects, each into a folder of its own, for the real tools to read.
//!
//! ```sh
//! cargo run --example recipes -- FOLDER
//! ```
//!
//! `cargo xtask recipes` does so and lets accelerate, transformers, PEFT, TRL, DeepSpeed, LLaMA-Factory, Axolotl and
//! Ultralytics check them. A folder is called `LIBRARY--WHAT`.

use enough_gpu::advise::recipe::recipes;
use enough_gpu::catalog::{Catalog, Domain};
use enough_gpu::project::{
    Attention, BaseFormat, Checkpointing, Choice, Framework, LossKernel, Method, Objective, Offload, Optimizer,
    Parallel, Precision, Project, Sharding,
};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("cargo run --example recipes -- FOLDER");
        return Ok(());
    };
    let catalog = Catalog::bundled();
    let mut files = 0;
    for (name, project) in projects() {
        let there = Path::new(&folder).join(format!("{}--{name}", project.framework.id()));
        for recipe in recipes(&project, &catalog) {
            std::fs::create_dir_all(&there)?;
            std::fs::write(there.join(recipe.file), &recipe.text)?;
            files += 1;
        }
    }
    println!("wrote {files} files to {folder}");
    Ok(())
}

/// Every setting that stands in a file takes each of its values at least once.
fn projects() -> Vec<(String, Project)> {
    let mut all = language();
    all.extend(pictures());
    all
}

fn language() -> Vec<(String, Project)> {
    let plain = Project {
        model: "llama-3.1-8b".to_owned(),
        method: Method::QLora,
        checkpointing: Checkpointing::PerBlock,
        micro_batch: 2,
        accumulation: 8,
        sequence: 4096,
        epochs: 2.5,
        ..Project::default()
    };
    let mut all = Vec::new();
    for framework in [Framework::Transformers, Framework::LlamaFactory, Framework::Axolotl, Framework::Unsloth] {
        for method in [Method::QLora, Method::Lora, Method::Full] {
            all.push((method.id().to_owned(), Project { framework, method, ..plain.clone() }));
        }
        for optimizer in Optimizer::ALL {
            all.push((
                format!("optimizer-{}", optimizer.id()),
                Project { framework, method: Method::Full, optimizer: *optimizer, ..plain.clone() },
            ));
        }
        for precision in Precision::ALL {
            all.push((
                format!("precision-{}", precision.id()),
                Project { framework, method: Method::Full, precision: *precision, ..plain.clone() },
            ));
        }
        for attention in Attention::ALL {
            let name = format!("attention-{}", attention.id());
            all.push((name, Project { framework, attention: *attention, ..plain.clone() }));
        }
        for objective in Objective::ALL {
            let name = format!("objective-{}", objective.id());
            all.push((name, Project { framework, objective: *objective, method: Method::Lora, ..plain.clone() }));
        }
        let fused = Project { framework, loss: LossKernel::Fused, base: BaseFormat::Nf4, ..plain.clone() };
        all.push(("fused".to_owned(), fused));
        if framework == Framework::Unsloth {
            continue;
        }
        for sharding in Sharding::ALL {
            for (offload, count) in [(Offload::None, 4), (Offload::Nvme, 8), (Offload::All, 16)] {
                let mut project = Project { framework, method: Method::Lora, offload, ..plain.clone() };
                (project.hardware.count, project.hardware.sharding) = (count, *sharding);
                all.push((format!("{}-{count}", sharding.id()), project));
            }
        }
    }
    for (model, name) in [("bert-base-uncased", "encoder"), ("t5-base", "encoder-decoder")] {
        all.push((name.to_owned(), Project { model: model.to_owned(), method: Method::Full, ..plain.clone() }));
    }
    // Chats of every family that LLaMA-Factory has a way to write for.
    for model in
        Catalog::bundled().models.iter().filter(|m| matches!(m.domain, Domain::Language | Domain::VisionLanguage))
    {
        let framework = Framework::LlamaFactory;
        all.push((format!("of-{}", model.id), Project { model: model.id.to_owned(), framework, ..plain.clone() }));
    }
    let mut cut = Project {
        model: "llama-3.1-405b".to_owned(),
        method: Method::Scratch,
        framework: Framework::Megatron,
        precision: Precision::MasterBf16,
        ..plain.clone()
    };
    cut.hardware.count = 1024;
    cut.hardware.sharding = Sharding::Zero1;
    cut.hardware.parallel = Parallel { tensor: 8, pipeline: 16, chunks: 2, ..Parallel::default() };
    all.push(("cut".to_owned(), cut));
    all.push(("scratch".to_owned(), Project { method: Method::Scratch, ..plain }));
    all
}

fn pictures() -> Vec<(String, Project)> {
    let mut all = Vec::new();
    for framework in [Framework::Diffusers, Framework::Kohya] {
        for model in ["sd1.5", "sdxl", "sd3-medium", "flux.1-dev", "z-image"] {
            for method in [Method::Lora, Method::Full] {
                let optimizer = if method == Method::Lora { Optimizer::AdamW8bit } else { Optimizer::Adafactor };
                let project = Project {
                    model: model.to_owned(),
                    framework,
                    method,
                    optimizer,
                    checkpointing: Checkpointing::PerBlock,
                    image_side: 1024,
                    block_swap: 0.5,
                    epochs: 10.0,
                    ..Project::default()
                };
                all.push((format!("{model}-{}", method.id()), project));
            }
        }
    }
    for (model, precision) in [("yolo11n", Precision::AmpFp16), ("yolov8s-seg", Precision::Fp32)] {
        let mut project = Project {
            model: model.to_owned(),
            framework: Framework::Ultralytics,
            precision,
            image_side: 640,
            micro_batch: 16,
            epochs: 100.0,
            ..Project::default()
        };
        project.hardware.count = 2;
        all.push((model.to_owned(), project));
    }
    all
}
