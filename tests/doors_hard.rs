//! No text and no file breaks a reader, and none takes long.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dice;

use dice::Dice;
use enough_gpu::catalog::Catalog;
use enough_gpu::estimate;
use enough_gpu::project::Project;
use enough_gpu::project::import::{Hints, read, read_file};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    "=",
    "--",
    "\n",
    " ",
    "  ",
    "\"",
    "'",
    "#",
    "\\",
    "|",
    "-",
    "/",
    ".",
    "0",
    "1",
    "7",
    "1024",
    "1e308",
    "-1",
    "NaN",
    "999999999999999999999",
    "true",
    "None",
    "显存",
    "é",
    "\u{0}",
    "\u{1b}[0m",
    "\u{feff}",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
    "model_type",
    "llama",
    "qwen3_moe",
    "num_experts",
    "head_dim",
    "intermediate_size",
    "quantization_config",
    "text_config",
    "vision_config",
    "_class_name",
    "UNet2DConditionModel",
    "weight_map",
    "metadata",
    "total_size",
    "dtype",
    "shape",
    "model.layers.3.mlp",
    "Layer (type:depth-idx) Output Shape Param #",
    "[1, 64, 7]",
    "(None, 3, 4)",
    "Conv2d: 2-1",
    "Total params: ",
    "Total mult-adds (G): ",
    "--per_device_train_batch_size",
    "--lora_rank",
    "r=",
    "bf16",
    "deepspeed",
    "zero3",
    "gradient_checkpointing",
    "from_pretrained(\"Qwen/Qwen2.5-7B\")",
    "yolo train model=yolo11n.pt",
    "imgsz=",
    "Qwen/Qwen2.5-7B-Instruct",
    "huggingface.co/",
    "num_processes",
    "cutoff_len: ",
    "target_modules = [",
    "finetuning_type: lora",
    "https://",
    "CUDA_VISIBLE_DEVICES=0,1",
];

#[test]
fn no_text_breaks_a_reader() {
    let catalog = Catalog::bundled();
    let hints = Hints::pasted(&catalog);
    let mut dice = Dice(11);
    for _ in 0..2000 {
        let text: String = (0..dice.below(60)).map(|_| PIECES[dice.below(PIECES.len())]).collect();
        let reading = read(&text, hints);
        let (project, _) = reading.apply(&Project { model: "qwen2.5-0.5b".into(), ..Project::default() }, &catalog);
        let _ = estimate::memory(&project, None, &catalog);
        let bytes: Vec<u8> = (0..dice.below(80)).map(|_| dice.below(256) as u8).collect();
        for magic in [&b"GGUF\x03\0\0\0"[..], b"\x40\0\0\0\0\0\0\0{", b""] {
            read_file(&[magic, &bytes].concat(), hints);
        }
    }
}

/// A megabyte of what is hardest.
#[test]
fn a_megabyte_is_read_at_once() {
    let catalog = Catalog::bundled();
    let hints = Hints::pasted(&catalog);
    let filled = |piece: &str| piece.repeat((1 << 20) / piece.len());
    let texts: Vec<String> = [
        "a",
        " ",
        "\n",
        "{",
        "[",
        "(",
        "\"",
        "'",
        "--",
        "--a ",
        "--a=b\n",
        "a=b ",
        "a=",
        "=",
        "= ",
        "a: b\n",
        "- ",
        "a:\n ",
        "{\"a\":",
        "{\"a\":1},",
        "[1,2],",
        "显",
        "--per_device_train_batch_size 2 \\\n",
        "from_pretrained(\"x\") ",
        "litgpt a/b ",
        "r = [\n",
        "[1, 2, 3] ",
        "models.a",
        "\"hidden_size\": 4096,\n",
        "#\n",
        "|",
        "│ ",
        "Layer (type:depth-idx) Output Shape Param #\n",
        "├─Conv2d: 1-1 [1, 2, 3] 5\n",
        "model.layers.1.",
        "a.",
        "x = x\n",
    ]
    .iter()
    .map(|piece| filled(piece))
    .chain([
        format!("{{\"weight_map\": {{{}", filled("\"model.layers.1.mlp.weight\": \"a\", ")),
        format!("Layer (type:depth-idx) Output Shape Param #\n{}", filled("├─Conv2d: 1-1 [1, 2, 3] 5\n")),
        (0..60_000).map(|n| format!("a{n} = a{}\n", n + 1)).collect::<Vec<_>>().concat(),
        (0..60_000).map(|n| format!("a{n}: 1\n")).collect::<Vec<_>>().concat(),
    ])
    .collect();
    // A build for tests is not the page's; the limit itself holds for a release.
    let limit = if cfg!(debug_assertions) { Duration::from_millis(1500) } else { Duration::from_millis(50) };
    let mut slow = String::new();
    for text in &texts {
        let start = Instant::now();
        let _ = read(text, hints);
        let took = start.elapsed();
        println!("{took:>9.1?}  {:?}", text.chars().take(30).collect::<String>());
        if took > limit {
            let _ = writeln!(slow, "{:?}...: {took:?}", text.chars().take(30).collect::<String>());
        }
    }
    assert!(slow.is_empty(), "{slow}");
}
