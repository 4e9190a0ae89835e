//! People's own words, pasted: what they want to train on what, and prose that says nothing of it.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::project::Project;
use enough_gpu::project::import::{Hints, Note, Text, TextKind, read};

/// Sentences in people's own words.
#[test]
fn a_sentence_is_read() {
    let catalog = Catalog::bundled();
    for (text, wanted) in [
        (
            "我有一张 3060 12G，想用 QLoRA 微调 Qwen2.5-7B，序列 2048",
            "have=rtx-3060-12gb model=qwen2.5-7b method=qlora seq=2048",
        ),
        (
            "can i train llama 3.1 8b with lora on a 4090? batch 2",
            "have=rtx-4090 model=llama-3.1-8b method=lora batch=2",
        ),
        ("显存不够怎么办？我有一张 4090。", "have=rtx-4090"),
        (
            "I have two RTX 3090s and want to do full fine-tuning of Llama-3.1-8B",
            "have=rtx-3090 count=2 model=llama-3.1-8b method=full",
        ),
        (
            "两张4090，微调 Qwen3-8B，LoRA，batch 4，长度 4096，预算 500 元",
            "have=rtx-4090 count=2 model=qwen3-8b method=lora batch=4 seq=4096 budget=500",
        ),
        ("RX 7900 XTX 能训练 whisper-small 吗", "have=rx-7900-xtx model=whisper-small"),
        ("two T4 on Kaggle, qwen2.5-1.5b full fine-tuning", "have=t4 model=qwen2.5-1.5b method=full"),
        ("RTX 4060 Ti 16GB 能不能跑 SDXL LoRA，分辨率 1024", "have=rtx-4060-ti-16gb method=lora side=1024"),
    ] {
        let reading = read(text, Hints::pasted(&catalog));
        let found: Vec<String> = reading.found.iter().map(|f| format!("{}={}", f.key, f.value)).collect();
        let missing: Vec<&str> = wanted.split_whitespace().filter(|pair| !found.iter().any(|f| f == pair)).collect();
        assert!(missing.is_empty() && reading.kind == TextKind::Sentence, "{text}: {missing:?} in {found:?}");
    }
    // With the name of a project, a bare size, a count of samples; what was not understood is listed.
    for (text, wanted, not) in [
        (
            "实验室有 4 张 4090，想做 14B LoRA，用 DeepSpeed ZeRO-3",
            "have=rtx-4090 count=4 model=qwen2.5-14b method=lora sharding=zero3",
            "",
        ),
        (
            "画手，RTX 4060 8G，想用三百张工笔画训练 FLUX 的 LoRA",
            "have=rtx-4060 count=1 model=flux.1-dev method=lora samples=300 preset=gongbi-lora-flux",
            "",
        ),
        (
            "我想用 8GB 的 4060 训练一个讲冷笑话的中文聊天模型，大概 2000 条数据",
            "have=rtx-4060 preset=joke-chat-qlora samples=2000",
            "",
        ),
        (
            "我想微调 Whisper small，卡是 3060 12G，大概 50 小时录音",
            "have=rtx-3060-12gb model=whisper-small samples=6000",
            "",
        ),
        ("大一学生，笔记本没有独显，想学 MNIST 和猫狗分类", "have=none preset=mnist", "猫狗"),
        ("预算三千，想买张卡跑 Stable Diffusion 的 LoRA", "model=sd1.5 method=lora budget=3000", ""),
        ("两张 4090 微调 Qwen3-8B，24 张照片不算", "have=rtx-4090 count=2 model=qwen3-8b samples=24", ""),
        (
            "I want to fine-tune Qwen3-14B with FSDP on four RTX 4090, 5000 samples and XYZ9",
            "have=rtx-4090 count=4 model=qwen3-14b sharding=fsdp samples=5000",
            "XYZ9",
        ),
        (
            "I want to fine-tune Mistral 7B with LoRA on a single RTX 3090",
            "have=rtx-3090 count=1 model=mistral-7b-v0.3 method=lora",
            "",
        ),
        (
            "I have an M3 Max with 64GB, can I fine-tune Gemma 9B with MLX LoRA?",
            "have=apple-m3-max-64gb model=gemma-2-9b method=lora",
            "MLX",
        ),
        (
            "Llama 3.1 8B with QLoRA on dual 3090, 4k context",
            "have=rtx-3090 count=2 model=llama-3.1-8b method=qlora seq=4096",
            "",
        ),
        (
            "full fine-tune of Llama-3.1-8B on a p4d.24xlarge",
            "have=a100-sxm-40gb count=8 model=llama-3.1-8b method=full",
            "",
        ),
        ("AWS g5.12xlarge", "have=a10g count=4", "AWS"),
        ("SDXL LoRA on Standard_NC24ads_A100_v4", "have=a100-pcie-80gb count=1 method=lora", ""),
        ("wan 2.1 lora on 4090, two clips", "have=rtx-4090 model=wan2.1-t2v-14b method=lora", ""),
        ("train nnU-Net on a 3090", "have=rtx-3090 model=nnunet-3d", ""),
        ("How many H100s to pretrain a 7B model?", "have=h100-sxm model=qwen2.5-7b method=scratch", ""),
        // Scales behind a space, numbers in front of their word, machines of several cards, a second card.
        (
            "预算 5 万，公司想微调 32B 的 Qwen，数据两万条，训练 3 个 epoch，上下文 8k",
            "budget=50000 model=qwen2.5-32b samples=20000 epochs=3 seq=8192",
            "",
        ),
        ("3k 预算，SDXL 的 LoRA，20k images", "budget=3000 model=sdxl method=lora samples=20000", ""),
        (
            "我有两台机器，每台 8 张 A100 80G，微调 70B，5 万条数据",
            "have=a100-sxm-80gb count=16 model=llama-3.1-70b samples=50000",
            "",
        ),
        ("我现在用的是 tesla p100 和一张 1080ti 混插", "have=p100-pcie-16gb", "1080ti"),
        ("A卡 6700xt 跑 sd1.5 lora", "have=rx-6700-xt model=sd1.5 method=lora", ""),
        ("秋叶 lora 训练 3070 8g 二次元 30 张图", "have=rtx-3070 preset=gongbi-lora-sdxl method=lora samples=30", ""),
        (
            "用 yolov8n 训练 1280 分辨率的图，2080ti 22g，batch 16，300 轮",
            "have=rtx-2080-ti-22gb-mod model=yolov8n side=1280 batch=16 epochs=300",
            "",
        ),
        ("双路 3090 微调 qwen2.5-14b qlora，一批新数据", "have=rtx-3090 count=2 model=qwen2.5-14b method=qlora", ""),
        ("预算五千块，想做 nnU-Net，没有显卡", "budget=5000 have=none", ""),
        ("十万条对话，双卡 3090，全量微调 7B", "have=rtx-3090 count=2 model=qwen2.5-7b method=full samples=100000", ""),
    ] {
        let reading = read(text, Hints::pasted(&catalog));
        let found: Vec<String> = reading.found.iter().map(|f| format!("{}={}", f.key, f.value)).collect();
        let missing: Vec<&str> = wanted.split_whitespace().filter(|pair| !found.iter().any(|f| f == pair)).collect();
        assert!(
            missing.is_empty() && reading.kind == TextKind::Sentence,
            "{text}: {missing:?} in {found:?} {:?}",
            reading.kind
        );
        let unknown: Vec<&str> = reading.unknown.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(unknown.join(" "), not, "{text}");
        assert!(reading.apply(&Project::default(), &catalog).1.is_empty(), "{text}");
    }
    assert_eq!(read("GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-0)", Hints::pasted(&catalog)).kind, TextKind::Cards);
    assert!(Text::new("画手，RTX 4060，batch=2").as_str().contains("画手，RTX"));
    let shared = read("共享GPU内存占了 9GB，速度特别慢", Hints::pasted(&catalog));
    assert!(shared.notes.contains(&Note::SharedMemory) && shared.kind != TextKind::Unknown, "{shared:?}");
    let prose = read("I went to the market in 2024 and bought 3 apples for 12 dollars.", Hints::pasted(&catalog));
    assert!(prose.is_empty(), "{prose:?}");
}

/// What is no script stays unknown.
#[test]
fn prose_is_no_script() {
    let catalog = Catalog::bundled();
    for text in [
        "I set the batch to 4 and it still fails.",
        "Note: this is fine.\nBut: this is not.\nepochs: many",
        "a = 1\nb = 2\nprint(a + b)\n",
        "显存不够怎么办？",
        "key: value\nother: thing\n",
        "SELECT * FROM runs WHERE batch = 3",
    ] {
        let reading = read(text, Hints::pasted(&catalog));
        assert_eq!(reading.kind, TextKind::Unknown, "{text}: {:?}", reading.found);
        assert!(reading.found.is_empty());
    }
}
