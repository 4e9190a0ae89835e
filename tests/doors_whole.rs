//! What becomes of a project when a whole script is pasted: what it leaves out, derives, and cannot know.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::project::import::{Hints, Note, read};
use enough_gpu::project::{Checkpointing, Method, OptimizerImpl, Parallel, Precision, Project, Sharding};

#[test]
fn what_is_missing_is_said() {
    let catalog = Catalog::bundled();
    let notes = |text: &str| read(text, Hints::pasted(&catalog)).notes;
    let nameless = "per_device_train_batch_size: 2\nbf16: true\nlearning_rate: 1e-4\ngradient_accumulation_steps: 4\n";
    assert!(notes(nameless).contains(&Note::NoModel), "{:?}", notes(nameless));
    let grpo = "from trl import GRPOConfig\nGRPOConfig(per_device_train_batch_size=8, num_generations=8)\nmodel=\"Qwen/Qwen2.5-3B\"";
    assert!(notes(grpo).contains(&Note::Sampling), "{:?}", notes(grpo));
    let sft = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2";
    assert!(!notes(sft).contains(&Note::Sampling) && !notes(sft).contains(&Note::NoModel));
}

/// What a whole script leaves out is what its library does, whatever stood in the form; what it cannot know stays.
#[test]
fn nothing_of_the_old_project_gets_into_a_script() {
    let catalog = Catalog::bundled();
    let preset = |id: &str| Project::from_preset(catalog.preset(id).unwrap(), &catalog);
    let onto = |base: &Project, text: &str| read(text, Hints::pasted(&catalog)).apply(base, &catalog).0;
    let mut cut = preset("joke-chat-qlora");
    (cut.hardware.gpu, cut.hardware.count) = ("rtx-4090".into(), 2);
    (cut.hardware.parallel.tensor, cut.hardware.sharding, cut.ema) = (2, Sharding::Zero1, true);
    for base in [&preset("joke-chat-qlora"), &preset("gongbi-lora-sdxl"), &cut] {
        let kohya = onto(
            base,
            "accelerate launch sdxl_train_network.py --pretrained_model_name_or_path=sd_xl_base_1.0.safetensors \
             --network_module=networks.lora --train_batch_size=2 --max_train_steps=3000 --mixed_precision=bf16",
        );
        assert_eq!((kohya.accumulation, kohya.lora.rank, kohya.ema), (1, 4, false));
        let hardware = &kohya.hardware;
        assert_eq!((hardware.parallel, hardware.sharding), (Parallel::default(), Sharding::Auto));
        assert_eq!((hardware.gpu.as_str(), hardware.count), (base.hardware.gpu.as_str(), base.hardware.count));
        // 3,000 steps of two, over the pictures of the form: 109 passes over 55.
        let passes = 3000.0 * 2.0 * f64::from(hardware.count) / kohya.samples as f64;
        assert!((kohya.epochs - passes).abs() < 1e-3, "{} {passes}", kohya.epochs);
        assert_eq!(kohya.samples, 55);
        // Its own 1,600 where nothing is said.
        let wan = onto(
            base,
            "python src/musubi_tuner/wan_train_network.py --task t2v-14B --dit wan14b.safetensors --dataset_config ds.toml \
             --network_module networks.lora_wan --network_dim 32 --blocks_to_swap 20 --fp8_base --gradient_checkpointing \
             --mixed_precision bf16 --optimizer_type adamw8bit",
        );
        assert!(wan.cached_latents && !wan.text_on_card(), "musubi-tuner trains from what it has encoded before");
        assert_eq!((wan.lora.rank, wan.accumulation), (32, 1));
        assert!((wan.epochs * wan.samples as f64 / f64::from(hardware.count) - 1600.0).abs() < 1.0, "{}", wan.epochs);
        // A command of a library that is not known.
        let plain = onto(
            &wan,
            "accelerate launch examples/wanvideo/train.py --model_id Wan-AI/Wan2.1-T2V-14B --num_frames 49 --lora_rank 32",
        );
        assert_eq!((plain.lora.rank, plain.frames, plain.block_swap), (32, 49, 0.0));
        assert_eq!((plain.base, plain.optimizer), (Project::default().base, Project::default().optimizer));
        let yolo = onto(
            base,
            "from ultralytics import YOLO\nYOLO(\"yolo11x.pt\").train(data=\"coco.yaml\", imgsz=640, batch=64)",
        );
        assert_eq!((yolo.accumulation, yolo.epochs, yolo.method), (1, 100.0, Method::Full));
        let cards = onto(
            base,
            "from ultralytics import YOLO\nYOLO(\"yolo11x.pt\").train(data=\"coco.yaml\", batch=64, device=[0,1,2,3])",
        );
        assert_eq!((cards.micro_batch, cards.hardware.count), (16, 4));
        let sft = onto(base, "SFTConfig(per_device_train_batch_size=4, max_length=2048)\nLoraConfig(r=16)");
        assert_eq!((sft.accumulation, sft.lora.rank, sft.model.as_str()), (1, 16, base.model.as_str()));
        let tune = onto(base, "tune run --nproc_per_node 8 lora_finetune_distributed --config llama3_1/70B_lora");
        assert_eq!((tune.accumulation, tune.lora.rank, tune.micro_batch), (1, 16, 2));
        let swift = onto(
            base,
            "CUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type lora --per_device_train_batch_size 2",
        );
        assert_eq!((swift.accumulation, swift.lora.rank), (4, 8));
        let grpo = onto(base, "GRPOTrainer(model=\"Qwen/Qwen2.5-3B\", args=GRPOConfig(per_device_train_batch_size=8))");
        assert_eq!((grpo.checkpointing, grpo.precision), (Checkpointing::PerBlock, Precision::AmpBf16));
        let verl = onto(
            base,
            "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct trainer.n_gpus_per_node=8",
        );
        assert_eq!((verl.checkpointing, verl.precision), (Checkpointing::PerBlock, Precision::AmpBf16));
        assert_eq!(verl.hardware.sharding, Sharding::Fsdp);
    }
    let bwd = "model:\n  _component_: torchtune.models.llama3_2.llama3_2_3b\noptimizer_in_bwd: True\nbatch_size: 4\n";
    let reading = read(bwd, Hints::pasted(&catalog));
    assert!(reading.unknown.is_empty(), "{:?}", reading.unknown);
    assert_eq!(reading.apply(&cut, &catalog).0.optimizer_impl, OptimizerImpl::InBackward);
    // A part of a configuration leaves the rest alone.
    let zero = read(
        "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": true}, \"gradient_clipping\": 1.0}",
        Hints::pasted(&catalog),
    );
    assert_eq!(zero.apply(&cut, &catalog).0.accumulation, 8);
}

/// Megatron's own defaults stand for the sizes that its command leaves out: GPT-3 is GPT-3.
#[test]
fn sizes_that_megatron_derives_are_derived() {
    let catalog = Catalog::bundled();
    let text = "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 \
        --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --micro-batch-size 1 --global-batch-size 1536 \
        --bf16 --use-distributed-optimizer --recompute-activations";
    let reading = read(text, Hints::pasted(&catalog));
    let project = reading.apply(&Project::default(), &catalog).0;
    let custom = project.custom.as_ref().unwrap();
    assert_eq!((custom.intermediate, custom.kv_heads, custom.vocab), (49_152, 96, 50_257));
    let parameters = project.parameters(&catalog) as f64;
    assert!((parameters / 174.6e9 - 1.0).abs() < 0.01, "{parameters}");
    assert!(
        reading.notes.iter().any(|note| matches!(note, Note::Assumed(names) if names.len() == 3)),
        "{:?}",
        reading.notes
    );
    let gated = read(&text.replace("--bf16", "--bf16 --swiglu"), Hints::pasted(&catalog))
        .apply(&Project::default(), &catalog)
        .0;
    assert_eq!(gated.custom.unwrap().intermediate, 32_768);
}

#[test]
fn what_is_not_known_is_listed() {
    let catalog = Catalog::bundled();
    let text = "accelerate launch train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --my_own_switch 7 --learning_rate 1e-4 --max_steps 100";
    let reading = read(text, Hints::pasted(&catalog));
    assert_eq!(reading.unknown.len(), 1, "{:?}", reading.unknown);
    assert!(reading.unknown[0].text.contains("my_own_switch"));
    assert!(reading.notes.contains(&Note::Steps(100)), "{:?}", reading.notes);
    let other = "per_device_train_batch_size: 2\nmodel_name_or_path: someone/private-llm\nbf16: true\n";
    let reading = read(other, Hints::pasted(&catalog));
    assert!(reading.notes.contains(&Note::UnknownModel("someone/private-llm".into())));
}
