//! Which fields and choices make sense for a project: nobody is asked for a sequence length for YOLO.

use super::{
    Attention, BaseFormat, Checkpointing, Choice, Field, Framework, Interconnect, LanguageTask, LoraTargets,
    LossKernel, Method, Network, Objective, Offload, Optimizer, OptimizerImpl, Parallel, Place, Precision, Project,
    Sharding, TextEncoders,
};
use crate::catalog::{Architecture, Catalog, Domain, LanguageKind, Model};

/// The fields of a project in the order they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relevant {
    /// What matters first.
    pub primary: Vec<Field>,
    /// What is folded away.
    pub folded: Vec<Field>,
    /// How several cards are joined and share the model.
    pub several: Vec<Field>,
}

impl Relevant {
    /// True where the field is shown at all.
    pub fn contains(&self, field: Field) -> bool {
        [&self.primary, &self.folded, &self.several].iter().any(|fields| fields.contains(&field))
    }
}

/// What of a model decides which settings make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) domain: Domain,
    /// Predicts tokens over a vocabulary.
    vocabulary: bool,
    attention: bool,
    video: bool,
    /// Finds objects and draws boxes around them.
    boxes: bool,
    /// Tells classes apart.
    classes: bool,
    /// Trees: neither layers nor precision.
    trees: bool,
}

pub(super) fn shape(project: &Project, catalog: &Catalog) -> Option<Shape> {
    let blank = Shape {
        domain: Domain::Language,
        vocabulary: true,
        attention: true,
        video: false,
        boxes: false,
        classes: false,
        trees: false,
    };
    if let Some(custom) = &project.custom {
        let like = catalog.model(&custom.like).and_then(Model::language);
        return Some(Shape { vocabulary: like.is_none_or(|l| l.kind != LanguageKind::Encoder), ..blank });
    }
    if project.network.is_some() {
        return Some(Shape { domain: Domain::Small, vocabulary: false, attention: false, ..blank });
    }
    let model = catalog.model(&project.model)?;
    let shape = Shape { domain: model.domain, ..blank };
    Some(match &model.architecture {
        Architecture::Language(l) => Shape { vocabulary: l.kind != LanguageKind::Encoder, ..shape },
        Architecture::Vision(v) => Shape {
            vocabulary: false,
            attention: !v.heads.is_empty(),
            boxes: matches!(v.kind, "detection" | "instance segmentation" | "keypoints"),
            classes: !matches!(v.kind, "GAN" | "image translation GAN" | "super-resolution" | "depth" | "captioning")
                && !v.kind.starts_with("self-supervised")
                && !v.kind.starts_with("image-text"),
            ..shape
        },
        Architecture::Diffusion(d) => Shape {
            vocabulary: false,
            video: d.kind.contains("video") || d.native_frames.is_some_and(|f| f > 1.0),
            ..shape
        },
        Architecture::Other(o) => Shape {
            vocabulary: matches!(model.domain, Domain::VisionLanguage),
            attention: !o.heads.is_empty() && model.domain != Domain::Small,
            trees: o.kind == "tabular" && model.params == 0,
            ..shape
        },
    })
}

/// The fields that matter for this project.
pub fn relevant(project: &Project, catalog: &Catalog) -> Relevant {
    let mut shown = Relevant::default();
    let Some(shape) = shape(project, catalog) else {
        shown.primary = vec![Field::Model];
        return shown;
    };
    let (first, folded) = (&mut shown.primary, &mut shown.folded);
    first.push(Field::Model);
    if project.custom.is_some() {
        first.extend([
            Field::CustomLayers,
            Field::CustomHidden,
            Field::CustomHeads,
            Field::CustomKvHeads,
            Field::CustomIntermediate,
            Field::CustomVocab,
        ]);
    }
    if project.network.is_some() {
        first.extend([Field::NetworkParams, Field::NetworkOutputs]);
    }
    if shape.trees {
        first.extend([Field::Samples, Field::Epochs]);
        return shown;
    }
    first.push(Field::Method);
    match project.method {
        Method::Lora | Method::QLora => {
            first.push(Field::LoraRank);
            folded.extend([Field::LoraTargets, Field::LoraDropout]);
            folded.push(Field::Base);
        }
        Method::Freeze => first.push(Field::FrozenShare),
        _ => {}
    }
    match shape.domain {
        Domain::Language => first.push(Field::Sequence),
        Domain::VisionLanguage => first.extend([Field::Sequence, Field::ImageSide]),
        Domain::Vision => {
            first.push(Field::ImageSide);
            if shape.classes {
                folded.push(Field::Classes);
            }
            if shape.boxes {
                folded.push(Field::Objects);
            }
        }
        Domain::Diffusion => {
            first.push(Field::ImageSide);
            if shape.video {
                first.push(Field::Frames);
            }
        }
        Domain::Audio => first.push(Field::AudioSeconds),
        Domain::Small => {}
    }
    first.push(Field::MicroBatch);
    folded.push(Field::Accumulation);
    if shape.domain == Domain::Small {
        folded.push(Field::Precision);
    } else {
        first.push(Field::Precision);
        let checkpointing = if shape.attention { &mut *first } else { &mut *folded };
        checkpointing.push(Field::Checkpointing);
    }
    first.extend([Field::Samples, Field::Epochs]);
    folded.extend([Field::Optimizer, Field::OptimizerImpl]);
    if shape.attention && shape.domain != Domain::Vision {
        folded.push(Field::Attention);
    }
    if shape.domain == Domain::Language {
        folded.push(Field::Task);
    }
    if shape.vocabulary {
        folded.push(Field::Loss);
        folded.push(Field::Objective);
    }
    if shape.domain == Domain::Diffusion {
        folded.extend([Field::CachedLatents, Field::TextEncoders, Field::BlockSwap]);
    }
    if matches!(shape.domain, Domain::Diffusion | Domain::Vision) {
        folded.push(Field::Ema);
    }
    if choices(Field::Framework, project, catalog).len() > 1 {
        folded.push(Field::Framework);
    }
    if shape.domain != Domain::Small {
        folded.push(Field::Offload);
    }
    if !project.hardware.gpu.is_empty() {
        folded.push(Field::Desktop);
        if project.hardware.count > 1 {
            folded.push(Field::Sharding);
            shown.several = joined(project, shape, catalog);
        }
    }
    shown
}

/// What may be said about several cards.
fn joined(project: &Project, shape: Shape, catalog: &Catalog) -> Vec<Field> {
    let hardware = &project.hardware;
    let cut = hardware.parallel;
    let mut fields = vec![Field::Interconnect, Field::Machines];
    if hardware.count > hardware.per_machine() {
        fields.push(Field::Network);
    }
    // Adapters and pictures are hardly ever cut; a link may say so all the same.
    if shape.domain == Domain::Language && (!project.method.is_adapter() || cut != Parallel::default()) {
        fields.extend([Field::Tensor, Field::Pipeline]);
        if cut.pipeline > 1 {
            fields.push(Field::Chunks);
        }
        fields.push(Field::Context);
        let experts = project.language(catalog).is_some_and(|m| m.moe_experts > 0);
        if experts || cut.expert > 1 {
            fields.push(Field::Expert);
        }
    }
    if hardware.sharding == Sharding::FsdpHybrid || cut.group > 0 {
        fields.push(Field::Group);
    }
    fields
}

fn ids<C: Choice>(keep: impl Fn(C) -> bool) -> Vec<&'static str> {
    C::ALL.iter().copied().filter(|c| keep(*c)).map(C::id).collect()
}

/// The ids of the choices of a field that make sense for this project, in the order they are shown.
pub fn choices(field: Field, project: &Project, catalog: &Catalog) -> Vec<&'static str> {
    let shape = shape(project, catalog);
    let domain = shape.map(|s| s.domain);
    let texts = matches!(domain, Some(Domain::Language | Domain::VisionLanguage) | None);
    match field {
        Field::Method => ids(|m: Method| match m {
            Method::Full | Method::Scratch => true,
            Method::Freeze | Method::Head => domain != Some(Domain::Diffusion) && domain != Some(Domain::Small),
            Method::Lora => domain != Some(Domain::Small) && shape.is_none_or(|s| s.attention),
            Method::QLora => texts,
        }),
        Field::LoraTargets => {
            ids(|t: LoraTargets| t != LoraTargets::AllLinearAndHead || domain == Some(Domain::Language))
        }
        // torchtune's recipes refuse fp16.
        Field::Precision => ids(|p: Precision| p != Precision::AmpFp16 || project.framework != Framework::Torchtune),
        Field::Base => ids(|b: BaseFormat| match b {
            BaseFormat::Nf4 => texts || domain == Some(Domain::Diffusion),
            BaseFormat::Nf4Double | BaseFormat::Int4 => texts,
            BaseFormat::Fp8Dynamic => domain == Some(Domain::Diffusion),
            _ => true,
        }),
        Field::Optimizer => ids(|_: Optimizer| true),
        Field::OptimizerImpl => ids(|_: OptimizerImpl| true),
        Field::Checkpointing => ids(|c: Checkpointing| match c {
            Checkpointing::Selective | Checkpointing::Offloaded => domain == Some(Domain::Language),
            Checkpointing::Pairs => domain == Some(Domain::Diffusion),
            Checkpointing::Off | Checkpointing::PerBlock => true,
        }),
        Field::Attention => ids(|_: Attention| true),
        Field::Loss => ids(|_: LossKernel| true),
        Field::Framework => ids(|f: Framework| domain.is_none_or(|d| trains(f, d))),
        // DeepSpeed's, in the libraries that take its files.
        Field::Offload => ids(|o: Offload| o != Offload::Nvme || (texts && project.framework.takes_deepspeed())),
        Field::Objective => ids(|_: Objective| true),
        // CLIP learns along with the U-Nets of Stable Diffusion; what came later has text encoders too large for that.
        Field::TextEncoders => ids(|t: TextEncoders| t != TextEncoders::Trained || learns_text(project, catalog)),
        Field::Task => ids(|_: LanguageTask| true),
        Field::Sharding => ids(|_: Sharding| true),
        Field::Interconnect => ids(|_: Interconnect| true),
        Field::Network => ids(|_: Network| true),
        Field::Currency => vec!["cny", "usd"],
        Field::Place => ids(|_: Place| true),
        _ => Vec::new(),
    }
}

/// Whether the model's text encoders can be trained along.
fn learns_text(project: &Project, catalog: &Catalog) -> bool {
    catalog
        .model(&project.model)
        .is_some_and(|m| matches!(&m.architecture, Architecture::Diffusion(d) if d.learns_text()))
}

/// Which libraries train what.
pub(super) fn trains(framework: Framework, domain: Domain) -> bool {
    match framework {
        Framework::Pytorch => true,
        Framework::Transformers => !matches!(domain, Domain::Diffusion | Domain::Small),
        Framework::LlamaFactory | Framework::MsSwift | Framework::Unsloth | Framework::Axolotl => {
            matches!(domain, Domain::Language | Domain::VisionLanguage)
        }
        Framework::Torchtune
        | Framework::Litgpt
        | Framework::Torchtitan
        | Framework::Megatron
        | Framework::LlmFoundry => domain == Domain::Language,
        Framework::Diffusers
        | Framework::Kohya
        | Framework::SimpleTuner
        | Framework::OneTrainer
        | Framework::AiToolkit => domain == Domain::Diffusion,
        Framework::Ultralytics | Framework::OpenMmlab => domain == Domain::Vision,
    }
}
