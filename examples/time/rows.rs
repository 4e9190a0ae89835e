//! Measured training speeds as projects: what each row was run with, and our figure beside it.

use enough_gpu::catalog::{Catalog, Throughput, measured_throughput};
use enough_gpu::estimate::time::{Workload, has_flash};
use enough_gpu::project::{
    Attention, Checkpointing, CustomModel, Framework, LossKernel, Method, Optimizer, Precision, Project, Sharding,
};

/// `d_model`, layers, heads of the MPT family (mosaicml/llm-foundry `scripts/train/yamls/pretrain`).
const MPT: [(&str, u64, u64, u64); 9] = [
    ("125m", 768, 12, 12),
    ("350m", 1024, 24, 16),
    ("760m", 1536, 24, 12),
    ("1b", 2048, 24, 16),
    ("3b", 2560, 32, 20),
    ("7b", 4096, 32, 32),
    ("13b", 5120, 40, 40),
    ("30b", 7168, 48, 56),
    ("70b", 8192, 80, 64),
];

/// What a row was run with, as far as it says; `None` where the project cannot express it (fp8, inference, matmul).
pub(crate) fn project(row: &Throughput, memory_gib: f64) -> Option<(Project, bool)> {
    let precision = match row.precision {
        "fp16 AMP" | "AMP" | "fp16 AMP channels-last" => Precision::AmpFp16,
        "bf16" => Precision::PureBf16,
        "fp32" | "tf32" | "fp32/tf32" => Precision::Fp32,
        _ => return None,
    };
    let half = precision != Precision::Fp32;
    let mut p =
        Project { precision, samples: 1 << 20, epochs: 1.0, framework: Framework::Pytorch, ..Project::default() };
    let word = row.workload.split(' ').next()?;
    // These benchmarks size their batch to the card.
    let fill =
        |base: f64, each: f64| ((memory_gib - base) / each / if half { 1.0 } else { 1.7 }).floor().max(1.0) as u64;
    if let Some(size) = word.strip_prefix("MPT-") {
        let (_, hidden, layers, heads) = *MPT.iter().find(|m| m.0 == size)?;
        p.custom = Some(CustomModel {
            layers,
            hidden,
            // a plain MLP of 4 h as a gated one of the same size
            intermediate: hidden * 8 / 3,
            heads,
            kv_heads: heads,
            vocab: 50_432,
            tied_embeddings: true,
            ..CustomModel::default()
        });
        p.method = Method::Scratch;
        p.sequence = row.sequence? as u64;
        p.checkpointing = if row.setup.contains("True") { Checkpointing::PerBlock } else { Checkpointing::Off };
        p.attention = Attention::Flash;
        p.loss = LossKernel::Fused;
        p.hardware.sharding = Sharding::Zero3;
        p.optimizer_impl = enough_gpu::project::OptimizerImpl::Fused;
        p.framework = Framework::LlmFoundry;
        // About 16,000 tokens in a micro-batch, as in the recipes.
        let micro = (16_384 / p.sequence).max(1);
        let global = row.batch? as u64;
        p.micro_batch = micro.min((global / u64::from(row.gpus)).max(1));
        p.accumulation = (global / (p.micro_batch * u64::from(row.gpus))).max(1);
    } else if word == "BERT-large" {
        p.model = "bert-large-uncased".into();
        let pretraining = row.workload.contains("pretraining");
        p.method = if pretraining { Method::Scratch } else { Method::Full };
        p.sequence = if pretraining { 512 } else { 384 };
        p.micro_batch = fill(6.0, 0.8);
        p.accumulation = if pretraining { 32 } else { 1 };
    } else {
        p.model = match word {
            "ResNet-50" => "resnet50".into(),
            "SSD300" => "ssd300-vgg16".into(),
            "timm" if !row.workload.contains("INFERENCE") => match row.workload.split(' ').nth(1)? {
                "resnet18" => "resnet18".into(),
                "mobilenetv3_large_100" => "mobilenet-v3-large".into(),
                "efficientnet_b0" => "efficientnet-b0".into(),
                "resnet50" => "resnet50".into(),
                "vit_small_patch16_224" => "vit-s-16".into(),
                "convnext_tiny" => "convnext-tiny".into(),
                "vit_base_patch16_224" => "vit-b-16".into(),
                "convnext_base" => "convnext-base".into(),
                "swin_base_patch4_window7_224" => "swin-b".into(),
                "vit_large_patch16_224" => "vit-l-16".into(),
                _ => return None,
            },
            _ => return None,
        };
        p.optimizer = Optimizer::SgdMomentum;
        p.image_side = if word == "SSD300" { 300 } else { 224 };
        p.micro_batch = row.batch.map_or_else(|| fill(2.0, 0.09), |b| b as u64).clamp(1, 512);
    }
    Some((p, !half))
}

/// A row with our figure beside it, in the row's unit.
pub(crate) struct Compared {
    /// The measurement.
    pub(crate) row: &'static Throughput,
    /// What it says, per second.
    pub(crate) measured: f64,
    /// What we say, per second.
    pub(crate) ours: f64,
}

impl Compared {
    /// Ours over measured, less one.
    pub(crate) fn error(&self) -> f64 {
        self.ours / self.measured - 1.0
    }
}

/// All rows of training, and those of them that a project can express.
pub(crate) fn compare(catalog: &Catalog) -> (usize, Vec<Compared>) {
    let (mut training, mut compared) = (0, Vec::new());
    for row in measured_throughput() {
        let per_second = row.tokens_s.or(row.images_s).or((row.unit == "sequences/s").then_some(row.value));
        let Some(measured) = per_second.filter(|_| !row.workload.contains("INFERENCE")) else { continue };
        training += 1;
        let Some(gpu) = catalog.gpu(row.gpu) else { continue };
        let Some((project, tf32)) = project(row, gpu.memory.gib()) else { continue };
        let Ok(mut load) = Workload::new(&project, has_flash(gpu), catalog) else { continue };
        // Benchmarks read pictures from a machine made for it, or from memory.
        load.input *= if row.workload.starts_with("timm") { 0.0 } else { 1.0 };
        let load = if tf32 { load.with_tf32() } else { load };
        let Ok(time) = load.on(gpu, row.gpus, project.hardware.sharding) else { continue };
        let samples = (project.micro_batch * project.accumulation * u64::from(row.gpus)) as f64 / time.step.0;
        let ours = if row.tokens_s.is_some() { samples * project.sequence as f64 } else { samples };
        compared.push(Compared { row, measured, ours });
    }
    (training, compared)
}

/// A share of the errors lies below this one; `errors` is sorted.
pub(crate) fn at(errors: &[f64], share: f64) -> f64 {
    let index = ((errors.len() as f64 * share).ceil() as usize).clamp(1, errors.len().max(1)) - 1;
    errors.get(index).copied().unwrap_or(f64::NAN)
}
