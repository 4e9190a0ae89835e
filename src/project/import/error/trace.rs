//! What the traceback above a message tells: what was going on, and of the settings what its files and functions show.

use super::{MemoryError, log};
use crate::project::import::{Basis, Hints, Line, Reading, Text};
use crate::project::{Choice, Field, Framework};

/// What a program was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The model was brought to the card.
    Loading,
    /// Pictures or texts were encoded once, before the training.
    Encoding,
    /// Through the model.
    Forward,
    /// The loss over the vocabulary.
    Loss,
    /// Back through the model.
    Backward,
    /// The optimizer's step.
    Optimizer,
    /// Evaluation between the steps.
    Evaluation,
    /// Sample pictures or texts between the steps, or use without training.
    Generation,
    /// A checkpoint or the merged model was written.
    Saving,
}

/// Lines of a traceback that are looked at, from its end.
const MOST: usize = 600;

/// Frames that decide whatever stands further in, first those that decide most.
const OUTER: &[(&str, Stage)] = &[
    ("merge_and_unload", Stage::Saving),
    ("in save_model", Stage::Saving),
    ("in _save_checkpoint", Stage::Saving),
    ("in save_checkpoint", Stage::Saving),
    ("in save_pretrained", Stage::Saving),
    ("in get_state_dict", Stage::Saving),
    ("_consolidated_16bit_state_dict", Stage::Saving),
    ("in torch_save", Stage::Saving),
    ("evaluation_loop", Stage::Evaluation),
    ("in evaluate", Stage::Evaluation),
    ("in _evaluate", Stage::Evaluation),
    ("in validate", Stage::Evaluation),
    ("validation_step", Stage::Evaluation),
    ("prediction_step", Stage::Evaluation),
    ("nested_concat", Stage::Evaluation),
    ("validator.py", Stage::Evaluation),
    ("in log_validation", Stage::Evaluation),
    ("in sample_images", Stage::Generation),
    ("in generate", Stage::Generation),
    ("diffusers/pipelines/", Stage::Generation),
    ("in common_ksampler", Stage::Generation),
    ("comfy/sample", Stage::Generation),
    ("in txt2img", Stage::Generation),
    ("cache_latents", Stage::Encoding),
    ("cache_text_encoder", Stage::Encoding),
    ("in encode_prompt", Stage::Encoding),
    ("vae.encode", Stage::Encoding),
    ("autoencoder_kl", Stage::Encoding),
    ("dispatched on the cpu or the disk", Stage::Loading),
    ("in from_pretrained", Stage::Loading),
    ("load_checkpoint", Stage::Loading),
    ("load_state_dict", Stage::Loading),
    ("_load_pretrained_model", Stage::Loading),
    ("load_model", Stage::Loading),
    ("in prepare_model", Stage::Loading),
    ("in _move_model_to_device", Stage::Loading),
    ("deepspeed/__init__.py", Stage::Loading),
    ("in get_peft_model", Stage::Loading),
    ("in load_target_model", Stage::Loading),
];

/// Frames that tell the part of a step, first those that decide most.
const INNER: &[(&str, Stage)] = &[
    ("torch/optim/", Stage::Optimizer),
    ("bitsandbytes/optim", Stage::Optimizer),
    ("optimizer.step(", Stage::Optimizer),
    ("in optimizer_step", Stage::Optimizer),
    ("_init_group", Stage::Optimizer),
    ("transformers/optimization", Stage::Optimizer),
    ("run_backward", Stage::Backward),
    (".backward(", Stage::Backward),
    ("in backward", Stage::Backward),
    ("cross_entropy", Stage::Loss),
    ("log_softmax", Stage::Loss),
    ("loss_function", Stage::Loss),
    ("logits.float()", Stage::Loss),
    ("logits = self.lm_head", Stage::Loss),
    ("in forward", Stage::Forward),
    ("forward_call(", Stage::Forward),
    ("_call_impl", Stage::Forward),
    ("in _apply", Stage::Loading),
    (".to(device", Stage::Loading),
    (".cuda()", Stage::Loading),
    ("in cuda", Stage::Loading),
    ("in to", Stage::Loading),
];

/// Folders and files of training libraries, the more special first.
const LIBRARIES: &[(&str, Framework)] = &[
    ("llamafactory", Framework::LlamaFactory),
    ("llama-factory", Framework::LlamaFactory),
    ("llama_factory", Framework::LlamaFactory),
    ("axolotl", Framework::Axolotl),
    ("unsloth", Framework::Unsloth),
    ("site-packages/swift/", Framework::MsSwift),
    ("ms-swift", Framework::MsSwift),
    ("ms_swift", Framework::MsSwift),
    ("torchtune", Framework::Torchtune),
    ("litgpt", Framework::Litgpt),
    ("torchtitan", Framework::Torchtitan),
    ("megatron", Framework::Megatron),
    ("llm-foundry", Framework::LlmFoundry),
    ("llmfoundry", Framework::LlmFoundry),
    ("simpletuner", Framework::SimpleTuner),
    ("onetrainer", Framework::OneTrainer),
    ("ai-toolkit", Framework::AiToolkit),
    ("sd-scripts", Framework::Kohya),
    ("kohya", Framework::Kohya),
    ("fluxgym", Framework::Kohya),
    ("sdxl_train", Framework::Kohya),
    ("flux_train", Framework::Kohya),
    ("train_network.py", Framework::Kohya),
    ("train_db.py", Framework::Kohya),
    ("ultralytics", Framework::Ultralytics),
    ("train_text_to_image", Framework::Diffusers),
    ("train_dreambooth", Framework::Diffusers),
    ("train_controlnet", Framework::Diffusers),
    ("transformers/trainer.py", Framework::Transformers),
    ("trl/trainer", Framework::Transformers),
];

/// What a file or function in a traceback shows of a setting.
const SETTINGS: &[(&str, Field, &str)] = &[
    ("unsloth_offloaded_gradient_checkpoint", Field::Checkpointing, "offload"),
    ("utils/checkpoint.py", Field::Checkpointing, "on"),
    ("_gradient_checkpointing_func", Field::Checkpointing, "on"),
    ("checkpointfunction", Field::Checkpointing, "on"),
    ("flash_attn", Field::Attention, "flash"),
    ("xformers", Field::Attention, "efficient"),
    ("eager_attention_forward", Field::Attention, "eager"),
    ("linear4bit", Field::Method, "qlora"),
    ("matmul_4bit", Field::Method, "qlora"),
    ("peft/tuners/lora", Field::Method, "lora"),
    ("peft/peft_model", Field::Method, "lora"),
    ("networks/lora", Field::Method, "lora"),
    ("train_network.py", Field::Method, "lora"),
    ("_lora.py", Field::Method, "lora"),
    ("train_dreambooth_lora", Field::Method, "lora"),
    ("_multi_tensor_adamw", Field::OptimizerImpl, "foreach"),
    ("_multi_tensor_adam", Field::OptimizerImpl, "foreach"),
    ("_single_tensor_adam", Field::OptimizerImpl, "loop"),
    ("_fused_adam", Field::OptimizerImpl, "fused"),
    ("torch/optim/adamw.py", Field::Optimizer, "adamw"),
    ("torch/optim/adam.py", Field::Optimizer, "adamw"),
    ("torch/optim/sgd.py", Field::Optimizer, "sgd-momentum"),
    ("adafactor", Field::Optimizer, "adafactor"),
    ("bitsandbytes/optim", Field::Optimizer, "adamw8bit"),
    ("deepspeed/runtime/zero/stage3", Field::Sharding, "zero3"),
    ("deepspeed/runtime/zero/partition_parameters", Field::Sharding, "zero3"),
    ("deepspeed/runtime/zero/stage_1_and_2", Field::Sharding, "zero2"),
    ("deepspeed/runtime/zero/stage2", Field::Sharding, "zero2"),
    ("fsdp/_fully_shard", Field::Sharding, "fsdp2"),
    ("fully_sharded_data_parallel", Field::Sharding, "fsdp"),
    ("nn/parallel/distributed.py", Field::Sharding, "ddp"),
];

/// Reads what stands around a message: the frames above it, or below it as debuggers print them.
pub(super) fn read(text: &Text, at: usize, hints: Hints<'_>, error: &mut MemoryError, reading: &mut Reading) {
    let number = text.line_at(at).number;
    let first = number.saturating_sub(MOST).max(1);
    let lines: Vec<(Line<'_>, String)> = (first..=(number + MOST / 4).min(text.len()))
        .filter_map(|number| text.line(number))
        .filter(|line| line.number != number && line.small.len() < 2000)
        .map(|line| (line, line.small.replace('\\', "/")))
        .collect();
    let frames: Vec<&(Line<'_>, String)> = lines.iter().filter(|(_, small)| is_frame(small)).collect();
    error.windows = lines.iter().any(|(line, _)| on_windows(line.small));
    error.stage = stage(&lines, number);
    for (library, framework) in LIBRARIES {
        if let Some((line, _)) = frames.iter().rev().find(|(_, small)| small.contains(library)) {
            reading.add(Field::Framework, framework.id(), Basis::Implied, line.piece());
            break;
        }
    }
    for (sign, field, value) in SETTINGS {
        // What stands nearest to the message is what ran.
        if let Some((line, _)) = lines.iter().rev().find(|(_, small)| small.contains(sign)) {
            reading.add(*field, *value, Basis::Implied, line.piece());
        }
    }
    log::model(text, number, hints, reading);
}

/// `File "...", line 12, in forward`, or what notebooks, Rich and debuggers make of it.
fn is_frame(line: &str) -> bool {
    line.contains(".py")
        && (line.contains("file \"") || line.contains(" line ") || line.contains(" in ") || line.contains(".py:"))
}

fn on_windows(line: &str) -> bool {
    let drive = |at: usize| line.as_bytes().get(at.wrapping_sub(1)).is_some_and(u8::is_ascii_alphabetic);
    line.find(":\\").is_some_and(drive) || line.contains("\\site-packages\\")
}

fn stage(lines: &[(Line<'_>, String)], message: usize) -> Option<Stage> {
    // Only the traceback that ends in the message, with the lines of program in it.
    let above = lines.iter().take_while(|(line, _)| line.number < message);
    let start = above.clone().rposition_of(|small| small.contains("traceback (most recent"));
    let trace: Vec<&str> = lines.iter().skip(start.unwrap_or(0)).map(|(_, small)| small.as_str()).collect();
    if start.is_none() && !trace.iter().any(|line| is_frame(line)) {
        return None;
    }
    let find = |signs: &[(&str, Stage)]| {
        signs.iter().find(|(sign, _)| trace.iter().any(|line| holds(line, sign))).map(|(_, stage)| *stage)
    };
    find(OUTER).or_else(|| find(INNER))
}

/// Whether a line has the sign in it, and not as the beginning of a longer name where the sign is a function's.
fn holds(line: &str, sign: &str) -> bool {
    let Some(at) = line.find(sign) else { return false };
    let next = line.get(at + sign.len()..).and_then(|rest| rest.chars().next());
    !sign.starts_with("in ") || !next.is_some_and(|c| c.is_ascii_alphanumeric() || !c.is_ascii() || c == '_')
}

/// The place of the last line that is so.
trait Last<'a> {
    fn rposition_of(self, is: impl Fn(&str) -> bool) -> Option<usize>;
}

impl<'a, I: Iterator<Item = &'a (Line<'a>, String)>> Last<'a> for I {
    fn rposition_of(self, is: impl Fn(&str) -> bool) -> Option<usize> {
        self.enumerate().filter(|(_, (_, small))| is(small)).map(|(place, _)| place).last()
    }
}
