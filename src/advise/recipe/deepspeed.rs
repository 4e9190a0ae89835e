//! DeepSpeed's configuration, with what the Hugging Face integration fills in left to it.

use super::{Job, Lines, Recipe};
use crate::project::{Offload, Sharding};

/// `ds_config.json` (deepspeed.ai, "DeepSpeed Configuration JSON"; transformers, "DeepSpeed").
pub(super) fn config(job: &Job<'_>) -> Recipe {
    const CPU: &str = r#"{ "device": "cpu", "pin_memory": true }"#;
    const NVME: &str = r#"{ "device": "nvme", "nvme_path": "/local_nvme", "pin_memory": true }"#;
    const AUTO: &str = r#""auto""#;
    let stage = job.stage().unwrap_or(2);
    let project = job.project;
    let all = project.hardware.sharding == Sharding::Zero3Offload;
    let number = stage.to_string();
    let mut zero = vec![
        ("stage", number.as_str()),
        ("overlap_comm", "true"),
        ("contiguous_gradients", "true"),
        ("reduce_bucket_size", AUTO),
    ];
    if stage == 3 {
        zero.extend([
            ("stage3_prefetch_bucket_size", AUTO),
            ("stage3_param_persistence_threshold", AUTO),
            ("stage3_max_live_parameters", "1e9"),
            ("stage3_max_reuse_distance", "1e9"),
            ("stage3_gather_16bit_weights_on_model_save", "true"),
        ]);
    }
    let (weights, states) = project.offload.parts();
    let place = if project.offload == Offload::Nvme { NVME } else { CPU };
    if all || states {
        zero.push(("offload_optimizer", place));
    }
    if stage == 3 && (all || weights) {
        zero.push(("offload_param", place));
    }
    let mut out = Lines::default();
    out.line("{");
    for format in ["bf16", "fp16"] {
        out.line(format!("  \"{format}\": {{ \"enabled\": {} }},", job.precision() == format));
    }
    out.line("  \"zero_optimization\": {");
    let last = zero.len() - 1;
    for (k, (key, value)) in zero.into_iter().enumerate() {
        out.line(format!("    \"{key}\": {value}{}", if k == last { "" } else { "," }));
    }
    out.line("  },");
    for key in ["gradient_accumulation_steps", "gradient_clipping", "train_batch_size"] {
        out.line(format!("  \"{key}\": {AUTO},"));
    }
    out.line(format!("  \"train_micro_batch_size_per_gpu\": {AUTO}")).line("}");
    out.file("ds_config.json")
}
