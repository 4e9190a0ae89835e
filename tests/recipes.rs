//! Ready files for projects: what stands in them follows the project.
#![allow(clippy::unwrap_used)]

use enough_gpu::advise::recipe::{Recipe, recipes};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::{
    Checkpointing, Framework, Hardware, LoraTargets, Method, Offload, Optimizer, Project, Sharding,
};

fn of(project: &Project) -> Vec<Recipe> {
    recipes(project, &Catalog::bundled())
}

fn text<'a>(found: &'a [Recipe], file: &str) -> &'a str {
    found.iter().find(|r| r.file == file).map_or("", |r| r.text.as_str())
}

fn language(framework: Framework, sharding: Sharding, count: u32) -> Project {
    Project {
        model: "llama-3.1-8b".to_owned(),
        method: Method::QLora,
        checkpointing: Checkpointing::PerBlock,
        framework,
        micro_batch: 2,
        accumulation: 8,
        sequence: 4096,
        hardware: Hardware { count, sharding, ..Hardware::default() },
        ..Project::default()
    }
}

#[test]
fn experts_are_packed_where_the_library_can() {
    let project = Project { model: "qwen3-30b-a3b".to_owned(), ..language(Framework::Axolotl, Sharding::Auto, 1) };
    assert!(text(&of(&project), "train.yaml").contains("quantize_moe_experts: true"));
    let dense = language(Framework::Axolotl, Sharding::Auto, 1);
    assert!(!text(&of(&dense), "train.yaml").contains("quantize_moe_experts"));
}

#[test]
fn each_library_gets_its_files() {
    for (framework, sharding, count, files) in [
        (Framework::Transformers, Sharding::Auto, 1, &["run.sh", "train.py"][..]),
        (Framework::Transformers, Sharding::Zero3, 4, &["run.sh", "train.py", "ds_config.json"]),
        (Framework::Transformers, Sharding::Fsdp2, 4, &["run.sh", "train.py", "accelerate.yaml"]),
        (Framework::LlamaFactory, Sharding::Zero2, 2, &["run.sh", "train.yaml", "ds_config.json"]),
        (Framework::Axolotl, Sharding::Auto, 1, &["run.sh", "train.yaml"]),
        (Framework::Unsloth, Sharding::Auto, 1, &["train.py"]),
    ] {
        let found = of(&language(framework, sharding, count));
        assert_eq!(found.iter().map(|r| r.file).collect::<Vec<_>>(), files, "{framework:?} {sharding:?}");
    }
}

#[test]
fn the_project_stands_in_them() {
    let found = of(&language(Framework::LlamaFactory, Sharding::Zero2, 2));
    let yaml = text(&found, "train.yaml");
    for line in [
        "finetuning_type: lora",
        "quantization_bit: 4",
        "lora_rank: 16",
        "cutoff_len: 4096",
        "per_device_train_batch_size: 2",
        "gradient_accumulation_steps: 8",
        "disable_gradient_checkpointing: false",
        "deepspeed: ds_config.json",
        "bf16: true",
    ] {
        assert!(yaml.lines().any(|l| l == line), "{line}\n{yaml}");
    }
    assert!(text(&found, "run.sh").starts_with("FORCE_TORCHRUN=1 llamafactory-cli train"));

    let mut project = language(Framework::Transformers, Sharding::Zero3, 16);
    project.offload = Offload::All;
    project.optimizer = Optimizer::PagedAdamW8bit;
    let found = of(&project);
    assert!(text(&found, "run.sh").contains("--nnodes=2 --nproc_per_node=8"));
    assert!(text(&found, "train.py").contains("optim=\"paged_adamw_8bit\""));
    let json = text(&found, "ds_config.json");
    for part in ["\"stage\": 3", "\"offload_param\"", "\"offload_optimizer\"", "\"train_batch_size\": \"auto\""] {
        assert!(json.contains(part), "{part}\n{json}");
    }
    // Braces close and no comma stands before them.
    assert_eq!(json.matches('{').count(), json.matches('}').count());
    assert!(!json.replace(char::is_whitespace, "").contains(",}"));

    let found = of(&language(Framework::Transformers, Sharding::FsdpHybrid, 16));
    assert!(text(&found, "accelerate.yaml").contains("fsdp_sharding_strategy: HYBRID_SHARD"));
}

#[test]
fn adapters_sit_where_the_project_says() {
    let of_library = |framework, targets| {
        let mut project = language(framework, Sharding::Auto, 1);
        project.lora.targets = targets;
        project.lora.rank = 24;
        of(&project)
    };
    for (framework, file, qv, attention, all, alpha) in [
        (
            Framework::Transformers,
            "train.py",
            "target_modules=[\"q_proj\", \"v_proj\"],",
            "target_modules=[\"q_proj\", \"v_proj\", \"k_proj\", \"o_proj\"],",
            "target_modules=\"all-linear\",",
            "lora_alpha=48,",
        ),
        (
            Framework::LlamaFactory,
            "train.yaml",
            "lora_target: q_proj,v_proj",
            "lora_target: q_proj,v_proj,k_proj,o_proj",
            "lora_target: all",
            "lora_alpha: 48",
        ),
        (
            Framework::Axolotl,
            "train.yaml",
            "lora_target_modules: [q_proj, v_proj]",
            "lora_target_modules: [q_proj, v_proj, k_proj, o_proj]",
            "lora_target_linear: true",
            "lora_alpha: 48",
        ),
        (
            Framework::Unsloth,
            "train.py",
            "target_modules=[\"q_proj\", \"v_proj\"],",
            "target_modules=[\"q_proj\", \"v_proj\", \"k_proj\", \"o_proj\"],",
            "target_modules=[\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\", \"gate_proj\", \"up_proj\", \"down_proj\"],",
            "lora_alpha=48,",
        ),
    ] {
        for (targets, line) in
            [(LoraTargets::QV, qv), (LoraTargets::Attention, attention), (LoraTargets::AllLinear, all)]
        {
            let found = of_library(framework, targets);
            let written = text(&found, file);
            for line in [line, alpha] {
                assert!(written.lines().any(|l| l.trim() == line), "{framework:?} {line}\n{written}");
            }
        }
    }
    // Other families call them otherwise.
    for (model, names) in [("gpt2", "[\"c_attn\"]"), ("bert-base-uncased", "[\"query\", \"value\"]")] {
        let mut project = language(Framework::Transformers, Sharding::Auto, 1);
        project.model = model.to_owned();
        project.lora.targets = LoraTargets::QV;
        assert!(text(&of(&project), "train.py").contains(names), "{model}");
    }
}

#[test]
fn what_is_off_stays_off() {
    let mut project = language(Framework::Transformers, Sharding::Auto, 1);
    assert!(text(&of(&project), "train.py").contains("(model, use_gradient_checkpointing=True, "));
    project.checkpointing = Checkpointing::Off;
    let found = of(&project);
    let script = text(&found, "train.py");
    assert!(script.contains("prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)"), "{script}");
}

#[test]
fn pictures() {
    let project = Project {
        model: "sdxl-base-1.0".to_owned(),
        method: Method::Lora,
        framework: Framework::Diffusers,
        checkpointing: Checkpointing::PerBlock,
        optimizer: Optimizer::AdamW8bit,
        image_side: 1024,
        ..Project::default()
    };
    let catalog = Catalog::bundled();
    let sdxl = catalog.models.iter().find(|m| m.id.contains("sdxl")).unwrap();
    let mut project = Project { model: sdxl.id.to_owned(), ..project };
    let found = of(&project);
    let line = text(&found, "run.sh");
    for part in ["train_text_to_image_lora_sdxl.py", "--resolution=1024", "--gradient_checkpointing", "--use_8bit_adam"]
    {
        assert!(line.contains(part), "{part}\n{line}");
    }
    project.framework = Framework::Kohya;
    assert!(text(&of(&project), "run.sh").contains("sdxl_train_network.py"));
}

#[test]
fn flux_swaps_blocks_where_the_script_can() {
    let mut project = Project {
        model: "flux.1-dev".to_owned(),
        method: Method::Lora,
        framework: Framework::Diffusers,
        checkpointing: Checkpointing::PerBlock,
        cached_latents: true,
        ..Project::default()
    };
    let libraries = |project: &Project| enough_gpu::advise::recipe::libraries(project, &Catalog::bundled());
    assert_eq!(libraries(&project), [Framework::Diffusers, Framework::Kohya]);
    project.block_swap = 0.25;
    assert_eq!(libraries(&project), [Framework::Kohya]);
    project.framework = Framework::Kohya;
    let found = of(&project);
    let line = text(&found, "run.sh");
    for part in [
        "--blocks_to_swap=10",
        "--cache_text_encoder_outputs",
        "--network_train_unet_only",
        "--guidance_scale=1.0",
        "--gradient_checkpointing",
    ] {
        assert!(line.contains(part), "{part}\n{line}");
    }
    project.cached_latents = false;
    assert!(!text(&of(&project), "run.sh").contains("--cache"));
    project.block_swap = 1.0;
    assert!(of(&project).is_empty());
}

#[test]
fn only_its_own_models_are_ultralytics() {
    let mut project = Project {
        model: "resnet50".to_owned(),
        method: Method::Scratch,
        framework: Framework::Ultralytics,
        checkpointing: Checkpointing::Off,
        micro_batch: 16,
        accumulation: 2,
        ..Project::default()
    };
    assert!(of(&project).is_empty());
    for (model, method, words) in [
        ("yolo11n", Method::Full, "yolo detect train model=yolo11n.pt data=data.yaml "),
        ("yolo11n", Method::Scratch, "yolo detect train model=yolo11n.yaml "),
        ("yolo11m-seg", Method::Full, "yolo segment train model=yolo11m-seg.pt "),
        ("yolo12n-seg", Method::Full, "model=yolo12n-seg.yaml pretrained=yolo12n.pt "),
        ("yolov5n", Method::Full, "model=yolov5nu.pt "),
    ] {
        (project.model, project.method) = (model.to_owned(), method);
        let found = of(&project);
        let line = text(&found, "run.sh");
        for part in [words, "batch=16 nbs=32 ", "optimizer=AdamW "] {
            assert!(line.contains(part), "{part}\n{line}");
        }
    }
    project.optimizer = Optimizer::Lion;
    assert!(of(&project).is_empty());
}

#[test]
fn checkpointing_that_a_library_lacks_is_not_written_as_another() {
    for framework in [Framework::Transformers, Framework::LlamaFactory, Framework::Axolotl, Framework::Unsloth] {
        let mut project = language(framework, Sharding::Auto, 1);
        project.checkpointing = Checkpointing::Selective;
        assert!(of(&project).is_empty(), "{framework:?}");
    }
}

#[test]
fn one_process_is_not_given_for_many_cards() {
    for (count, there) in [(1, true), (8, false)] {
        assert_eq!(!of(&language(Framework::Unsloth, Sharding::Zero3, count)).is_empty(), there);
    }
}

#[test]
fn megatron_is_for_training_from_nothing_as_it_divides() {
    let mut project = language(Framework::Megatron, Sharding::Zero1, 8);
    project.method = Method::Full;
    assert!(of(&project).is_empty());
    project.method = Method::Scratch;
    assert!(text(&of(&project), "run.sh").contains("--rotary-base 500000"));
    project.hardware.sharding = Sharding::Zero3;
    assert!(of(&project).is_empty());
}

#[test]
fn nothing_panics() {
    let catalog = Catalog::bundled();
    for model in catalog.models.iter() {
        for framework in [Framework::Transformers, Framework::Kohya, Framework::Ultralytics, Framework::Megatron] {
            let mut project = language(framework, Sharding::Auto, u32::MAX);
            project.model = model.id.to_owned();
            project.lora.rank = 1 << 20;
            let _ = recipes(&project, &catalog);
        }
    }
    assert!(of(&Project::default()).is_empty());
}

/// Data that is written as a chat goes to the model that has learned to chat; a training from nothing has none.
#[test]
fn a_chat_begins_with_a_model_that_chats() {
    let of_model = |model: &str, framework| {
        let project = Project { model: model.to_owned(), ..language(framework, Sharding::Auto, 1) };
        of(&project).iter().map(|r| r.text.clone()).collect::<String>()
    };
    for framework in [Framework::LlamaFactory, Framework::Unsloth] {
        assert!(of_model("qwen2.5-7b", framework).contains("Qwen/Qwen2.5-7B-Instruct"), "{framework:?}");
        assert!(of_model("llama-3.1-8b", framework).contains("meta-llama/Llama-3.1-8B-Instruct"), "{framework:?}");
        assert!(!of_model("llama-3.3-70b", framework).contains("Instruct-Instruct"));
        assert!(!of_model("qwen3-8b", framework).contains("Instruct"), "it chats already");
    }
    // Rows of plain text want no chat.
    assert!(!of_model("qwen2.5-7b", Framework::Transformers).contains("Instruct"));
}

/// The text encoder that is brought to the card before the run begins must fit as well.
#[test]
fn a_small_card_gets_the_small_text_encoder() {
    let catalog = Catalog::bundled();
    let on = |gpu: &str| {
        let mut project = Project::from_preset(catalog.preset("gongbi-lora-flux").unwrap(), &catalog);
        project.hardware.gpu = gpu.to_owned();
        text(&of(&project), "run.sh").to_owned()
    };
    assert!(on("rtx-4060").contains("--t5xxl=t5xxl_fp8_e4m3fn.safetensors"), "{}", on("rtx-4060"));
    assert!(on("rtx-4060").contains("--fp8_base"));
    assert!(on("rtx-4090").contains("--t5xxl=t5xxl_fp16.safetensors"));
}
