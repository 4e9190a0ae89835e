//! Which library a script is for, and what the library does where nothing is said.

use crate::project::import::{Piece, Text};
use crate::project::{Choice, Field, Framework};

/// Words of commands, imports and files that only one library has. The first that stands in the text counts.
const WORDS: &[(&str, Framework)] = &[
    ("llamafactory", Framework::LlamaFactory),
    ("llama_factory", Framework::LlamaFactory),
    ("llama-factory", Framework::LlamaFactory),
    ("finetuning_type", Framework::LlamaFactory),
    ("axolotl", Framework::Axolotl),
    ("micro_batch_size:", Framework::Axolotl),
    ("sequence_len:", Framework::Axolotl),
    ("unsloth", Framework::Unsloth),
    ("fastlanguagemodel", Framework::Unsloth),
    ("swift sft", Framework::MsSwift),
    ("swift pt", Framework::MsSwift),
    ("swift rlhf", Framework::MsSwift),
    ("ms-swift", Framework::MsSwift),
    ("from swift", Framework::MsSwift),
    ("tune run", Framework::Torchtune),
    ("torchtune", Framework::Torchtune),
    ("litgpt", Framework::Litgpt),
    ("torchtitan", Framework::Torchtitan),
    ("pretrain_gpt.py", Framework::Megatron),
    ("--tensor-model-parallel-size", Framework::Megatron),
    ("llm-foundry", Framework::LlmFoundry),
    ("composer train", Framework::LlmFoundry),
    ("sd-scripts", Framework::Kohya),
    ("train_network.py", Framework::Kohya),
    ("sdxl_train", Framework::Kohya),
    ("flux_train", Framework::Kohya),
    ("network_module", Framework::Kohya),
    ("sd3_train", Framework::Kohya),
    ("fine_tune.py", Framework::Kohya),
    ("train_db.py", Framework::Kohya),
    ("simpletuner", Framework::SimpleTuner),
    ("onetrainer", Framework::OneTrainer),
    ("ai-toolkit", Framework::AiToolkit),
    ("sd_trainer", Framework::AiToolkit),
    ("ultralytics", Framework::Ultralytics),
    ("yolo train", Framework::Ultralytics),
    ("yolo detect", Framework::Ultralytics),
    ("yolo segment", Framework::Ultralytics),
    ("yolo classify", Framework::Ultralytics),
    ("yolo task=", Framework::Ultralytics),
    ("yolo pose", Framework::Ultralytics),
    ("train_text_to_image", Framework::Diffusers),
    ("train_dreambooth", Framework::Diffusers),
    ("train_controlnet", Framework::Diffusers),
    ("textual_inversion", Framework::Diffusers),
    ("train_cogvideox", Framework::Diffusers),
    ("from diffusers", Framework::Diffusers),
    ("trainingarguments", Framework::Transformers),
    ("sftconfig", Framework::Transformers),
    ("sfttrainer", Framework::Transformers),
    ("dpotrainer", Framework::Transformers),
    ("run_clm", Framework::Transformers),
    ("run_mlm", Framework::Transformers),
    ("run_glue", Framework::Transformers),
    ("run_qa", Framework::Transformers),
    ("run_summarization", Framework::Transformers),
    ("run_translation", Framework::Transformers),
    ("run_speech_recognition", Framework::Transformers),
    ("run_image_classification", Framework::Transformers),
    ("trl sft", Framework::Transformers),
    ("trl dpo", Framework::Transformers),
    ("sft.py", Framework::Transformers),
    ("distributed_train.sh", Framework::Pytorch),
    ("per_device_train_batch_size", Framework::Transformers),
    ("get_peft_model", Framework::Transformers),
    ("from transformers", Framework::Transformers),
    ("verl.", Framework::Transformers),
    ("grpoconfig", Framework::Transformers),
    ("mmdet", Framework::OpenMmlab),
    ("mmseg", Framework::OpenMmlab),
    ("_base_/models", Framework::OpenMmlab),
    ("dist_train.sh", Framework::OpenMmlab),
    ("train.py configs/", Framework::OpenMmlab),
    ("torchrun", Framework::Pytorch),
    ("import torch", Framework::Pytorch),
];

/// Bytes that are looked through.
pub(super) const LONGEST: usize = 256 << 10;

/// The library, and where it shows.
pub(super) fn find(text: &Text) -> Option<(Framework, Piece)> {
    // No script is longer than this; a log or a table may be.
    let beginning = text.window(0, LONGEST).1;
    WORDS.iter().find_map(|(word, framework)| {
        let at = beginning.find(word)?;
        Some((*framework, text.piece_at(at)))
    })
}

/// What a library does where a script says nothing, as values of the fields.
pub(super) fn usual(framework: Framework, text: &Text) -> &'static [(Field, &'static str)] {
    match framework {
        // `disable_gradient_checkpointing` is off by default (hparams/model_args.py).
        // Its adapters have rank 8 (hparams/finetuning_args.py), its samples 2,048 tokens (hparams/data_args.py).
        Framework::LlamaFactory => &[
            (Field::Checkpointing, "on"),
            (Field::LoraDropout, "0"),
            (Field::LoraRank, "8"),
            (Field::Sequence, "2048"),
            (Field::MicroBatch, "8"),
            (Field::Epochs, "3"),
        ],
        // `use_gradient_checkpointing = "unsloth"`, `r = 16` in get_peft_model (unsloth/models/llama.py).
        Framework::Unsloth => &[
            (Field::Checkpointing, "offload"),
            (Field::LoraDropout, "0"),
            (Field::LoraRank, "16"),
            (Field::MicroBatch, "8"),
            (Field::Epochs, "3"),
        ],
        // `gradient_checkpointing: bool = True`, one sample (swift/trainers/arguments.py), rank 8 (its tuner arguments).
        Framework::MsSwift => {
            &[(Field::Checkpointing, "on"), (Field::LoraRank, "8"), (Field::MicroBatch, "1"), (Field::Epochs, "3")]
        }
        // FSDP, and checkpointing in the model (verl/trainer/config/ppo_trainer.yaml).
        Framework::Transformers if text.small().contains("verl.") => {
            &[(Field::Checkpointing, "on"), (Field::Sharding, "fsdp")]
        }
        // Configurations of TRL turn it on (trl/trainer/base_config.py); the Trainer itself does not. Both take 8
        // samples three times over (transformers/training_args.py); PEFT's adapters have rank 8 (LoraConfig).
        // So does PEFT where it prepares a packed base (`prepare_model_for_kbit_training`), and with it qlora.py.
        Framework::Transformers if halves(text) || packs(text) => {
            &[(Field::Checkpointing, "on"), (Field::LoraRank, "8"), (Field::MicroBatch, "8"), (Field::Epochs, "3")]
        }
        Framework::Transformers => {
            &[(Field::Checkpointing, "off"), (Field::LoraRank, "8"), (Field::MicroBatch, "8"), (Field::Epochs, "3")]
        }
        // A switch of every script, off unless given; rank 4 (`--rank` of diffusers' examples, `create_network` of
        // sd-scripts' networks/lora.py).
        Framework::Diffusers => &[(Field::Checkpointing, "off"), (Field::LoraDropout, "0"), (Field::LoraRank, "4")],
        Framework::Kohya => &[
            (Field::Checkpointing, "off"),
            (Field::LoraDropout, "0"),
            (Field::LoraRank, "4"),
            (Field::MicroBatch, "1"),
        ],
        // `lora_rank: 16` of the files for the largest (recipes/configs/llama3_1/70B_lora.yaml), 8 of the others; two
        // samples, once.
        Framework::Torchtune if text.small().contains("70b_") => {
            &[(Field::LoraRank, "16"), (Field::LoraDropout, "0"), (Field::MicroBatch, "2"), (Field::Epochs, "1")]
        }
        Framework::Torchtune => {
            &[(Field::LoraRank, "8"), (Field::LoraDropout, "0"), (Field::MicroBatch, "2"), (Field::Epochs, "1")]
        }
        // ultralytics/cfg/default.yaml: 16 pictures of 640 pixels under autocast.
        Framework::Ultralytics => &[
            (Field::MicroBatch, "16"),
            (Field::ImageSide, "640"),
            (Field::Precision, "amp-fp16"),
            (Field::Checkpointing, "off"),
            (Field::Epochs, "100"),
        ],
        // A loop of one's own: fp32, unless it says otherwise.
        Framework::Pytorch if text.small().contains("import torch") && !text.small().contains("autocast") => {
            &[(Field::Precision, "fp32")]
        }
        _ => &[],
    }
}

/// Whether a script is configured by TRL or verl, which train under bf16 unless told (`bf16` of
/// `trl/trainer/base_config.py`; `dtype: bfloat16` of verl's FSDP workers).
pub(super) fn halves(text: &Text) -> bool {
    const WORDS: [&str; 8] =
        ["sftconfig", "dpoconfig", "grpoconfig", "ktoconfig", "orpoconfig", "rewardconfig", "trl ", "verl."];
    WORDS.iter().any(|word| text.small().contains(word))
}

/// Whether the base of a script is prepared for training in 4 or 8 bit.
fn packs(text: &Text) -> bool {
    ["prepare_model_for_kbit_training", "prepare_model_for_int8_training", "qlora.py"]
        .iter()
        .any(|word| text.small().contains(word))
}

/// Whether a script trains from latents and texts that were encoded before it starts: those of musubi-tuner load
/// neither VAE nor text encoders (docs/wan.md, "Pre-caching").
pub(super) fn reads_caches(text: &Text) -> bool {
    const WORDS: [&str; 6] =
        ["musubi", "wan_train_network", "hv_train_network", "qwen_image_train", "fpack_train_network", "--dit "];
    WORDS.iter().any(|word| text.small().contains(word))
}

/// The id of a library.
pub(super) fn id(framework: Framework) -> &'static str {
    framework.id()
}
