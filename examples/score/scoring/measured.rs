//! Runs that people measured: the settings as words, to be read as a person would enter them into the page.

use super::alone::{forward_only, loss_head};
use super::cards::Cards;
use super::case::{Case, Domain, Meter, Outcome, Quality, Reason, Subject};
use super::defaults::{
    accumulates, caches_latents, clip_tokens, default_batch, default_checkpointing, default_dropout, default_rank,
    frozen_share, lora_targets, sequence,
};
use super::table::Row;
use super::{gpus, models, nearest, sizes, when, words};
use enough_gpu::catalog::{Architecture, Catalog, Gpu, LanguageKind, Model};
use enough_gpu::estimate::overhead;
use enough_gpu::project::{
    Adapter, Attention, BaseFormat, Checkpointing, CustomNetwork, Framework, Habits, LanguageTask, Lora, LossKernel,
    Method, Objective, Offload, Project, Runtime, TextEncoders,
};
use enough_gpu::units::Bytes;

/// The case of a row.
pub(crate) fn case(row: &Row<'_>, catalog: &Catalog) -> Case {
    let domain = Domain::from_text(row.text("domain"));
    let gb = row.number("gpu_gb");
    let gpu = gpus::find(catalog, row.text("gpu_model"), gb);
    let usable = match (gpu, gb) {
        // The row's size wins over a namesake of another size.
        (Some(g), Some(gb)) if (g.memory.gib() - gb).abs() > 1.5 => Some(gpus::usable(catalog, gb)),
        (Some(g), _) => Some(g.usable),
        (None, Some(gb)) => Some(gpus::usable(catalog, gb)),
        (None, None) => None,
    };
    let outcome = match row.text("outcome").to_lowercase().as_str() {
        "fits" => Some(Outcome::Fits),
        "oom" => Some(Outcome::RanOut),
        _ => None,
    };
    // Axolotl logs what is allocated when a step has ended, and what the allocator holds beside it since the peak
    // (`log_gpu_memory_usage`): "13.27 GB allocated plus 56 GB cache".
    let note = row.text("note");
    let cache = note.split_once("GB allocated plus").filter(|(_, rest)| rest.contains("GB cache"));
    let cache = cache.and_then(|(_, rest)| sizes::tokens(rest)).map(|gb| gb as f64);
    // What was in use when a run failed is no peak.
    let peak = if outcome == Some(Outcome::Fits) { row.number("measured_gb") } else { None };
    Case {
        id: row.text("id").to_owned(),
        domain,
        model: row.text("model").to_owned(),
        cards: row.count("gpus").map_or(1, |n| u32::try_from(n).unwrap_or(u32::MAX)).max(1),
        source: row.text("source").to_owned(),
        quality: match row.text("quality") {
            "A" => Quality::A,
            "C" => Quality::C,
            _ => Quality::B,
        },
        meter: match row.text("measure_kind").to_lowercase().as_str() {
            _ if cache.is_some() => Meter::Reserved,
            "allocated" | "active" => Meter::Allocated,
            "reserved" => Meter::Reserved,
            "smi" => Meter::Smi,
            // Whoever writes "needs 22 GB" has read it somewhere: from the training log where the library prints memory
            // there (ms-swift and torchtune print `max_memory_reserved`), or else from the card.
            _ => match words::framework(row.text("framework")).or_else(|| words::framework(row.text("source"))) {
                Some(Framework::MsSwift | Framework::Torchtune) => Meter::Reserved,
                _ => Meter::Smi,
            },
        },
        peak: peak.map(|gib| gib + cache.unwrap_or(0.0) - earlier(note)).filter(|gib| *gib > 0.0).map(Bytes::from_gib),
        outcome,
        usable,
        subject: subject(row, domain, gpu, catalog),
        trace: None,
    }
}

/// GiB that were on the card before the run, where the note says so: "1141.6 MiB of a previous model was still resident".
fn earlier(note: &str) -> f64 {
    let told = note
        .split(';')
        .find(|part| part.contains("resident") && (part.contains("previous") || part.contains("earlier")));
    let amount = told.and_then(|part| part.split_once(" MiB")).and_then(|(before, _)| before.split_whitespace().last());
    amount.and_then(|mib| mib.parse::<f64>().ok()).filter(|mib| mib.is_finite() && *mib > 0.0).unwrap_or(0.0) / 1024.0
}

fn subject(row: &Row<'_>, domain: Domain, gpu: Option<&Gpu>, catalog: &Catalog) -> Result<Subject, Reason> {
    let name = row.text("model");
    let params = row.number("params_b").filter(|p| *p > 0.0).or_else(|| {
        // The sizes of other networks are no sizes of language models.
        (domain == Domain::Llm).then(|| models::size_in_name(name)).flatten()
    });
    if row.text("method").contains("kernel benchmark") {
        return loss_head(row);
    }
    if let Some(network) = perceptron(name, params) {
        let (method, objective) = (Method::Scratch, Objective::Likelihood);
        let plain = project(row, domain, None, method, objective, gpu);
        let project = Project { model: String::new(), network: Some(network), ..plain };
        return Ok(Subject::Project { project: Box::new(project), gpu: gpu.cloned().map(Box::new) });
    }
    let model = models::by_name(catalog, name, params)
        .or_else(|| models::by_family_and_size(catalog, name, params).filter(|_| domain == Domain::Llm))
        .or_else(|| {
            let clips = row.text("seq_or_res").contains("frame") || name.to_lowercase().contains("video");
            models::denoiser_by_size(catalog, params, clips).filter(|_| domain == Domain::Diffusion)
        })
        .ok_or_else(|| Reason::UnknownModel(name.to_owned()))?;
    let Some((method, objective)) = words::method(row.text("method"), row.text("weight_dtype")) else {
        let model = model.language().ok_or_else(|| Reason::NotTraining(row.text("method").to_owned()))?;
        let config = forward_only(row);
        let outside = overhead::context(gpu) + overhead::workspaces(gpu);
        return Subject::step(model.clone(), config, outside);
    };
    // Detection "from scratch" starts from a backbone that has learned ImageNet, fixed batch norms and frozen stem, in every
    // recipe that does not say otherwise in the model's name (NVIDIA's Mask R-CNN: `e2e_mask_rcnn_R_50_FPN_1x.yaml`).
    let detects = matches!(&model.architecture, Architecture::Vision(v) if v.kind != "classification");
    let two_stage = model.id.contains("rcnn");
    // Norms that are trained come with a backbone that nothing is frozen in (detectron2's configs/Misc and new_baselines,
    // whose large-scale jitter, "LSJ", goes with them).
    let lower = name.to_lowercase().replace('_', " ");
    let trained_norms = ["scratch", " gn", "syncbn", "lsj"].iter().any(|word| lower.contains(word));
    let method = match method {
        Method::Scratch if detects && two_stage && !trained_norms => Method::Full,
        Method::Full if detects && two_stage && trained_norms => Method::Scratch,
        method => method,
    };
    let project = project(row, domain, Some(model), method, objective, gpu);
    Ok(Subject::Project { project: Box::new(project), gpu: gpu.cloned().map(Box::new) })
}

/// A multi-layer perceptron by what its name says (`MLP input 155 output 20 depth 7 (uniform)`, `FC on MNIST: 441 layers x
/// 101 neurons`): parameters as stated or counted, and the outputs of layers of one width.
fn perceptron(name: &str, params: Option<f64>) -> Option<CustomNetwork> {
    let name = name.to_lowercase().replace('_', " ");
    let after = |word: &str| name.split_once(word).and_then(|(_, rest)| sizes::tokens(rest));
    let (params, outputs) = if let (true, Some(depth)) = (name.starts_with("mlp"), after("depth ")) {
        let params = params? * 1e9;
        (params as u64, depth * (params / depth as f64).sqrt() as u64)
    } else {
        // Pictures of 28 x 28 pixels in, ten classes out.
        const PIXELS: u64 = 784;
        const CLASSES: u64 = 10;
        let (_, size) = name.strip_prefix("fc on mnist").and_then(|rest| rest.split_once(' '))?;
        let (layers, width) = size.split_once(" layers x ")?;
        let (layers, width) = (sizes::tokens(layers)?, sizes::tokens(width)?);
        let inner = (layers - 1).checked_mul(width.checked_mul(width + 1)?)?;
        ((PIXELS + 1) * width + inner + (width + 1) * CLASSES, layers * width)
    };
    Some(CustomNetwork { params: params.max(1), outputs: outputs.max(1), trained: 0, widest: 0, macs: 0 })
}

fn project(
    row: &Row<'_>,
    domain: Domain,
    model: Option<&Model>,
    method: Method,
    objective: Objective,
    gpu: Option<&Gpu>,
) -> Project {
    let framework = words::framework(row.text("framework")).or_else(|| words::framework(row.text("source"))).unwrap_or(
        match domain {
            Domain::Llm => Framework::Transformers,
            Domain::Diffusion => Framework::Diffusers,
            _ => Framework::Pytorch,
        },
    );
    let (weights, compute) = (row.text("weight_dtype"), row.text("compute_dtype"));
    let (optimizer, mut optimizer_impl) = match row.text("optimizer") {
        // Every notebook has `optim = "adamw_8bit"`, and the benchmarks run both sides with the same arguments.
        "" if framework == Framework::Unsloth || row.text("source").starts_with("unsloth") => {
            words::optimizer("adamw_8bit")
        }
        stated => words::optimizer(stated),
    };
    if row.text("note").contains("optimizer in bwd") {
        optimizer_impl = enough_gpu::project::OptimizerImpl::InBackward;
    }
    let offload = row.text("offload");
    let cards = Cards::of(row, framework, gpu.map(|g| g.id).unwrap_or_default());
    let size = row.text("seq_or_res");
    // nnU-Net's planner chooses the patch: 128 x 128 x 128 for most data sets (`default_experiment_planner.py`), larger ones
    // where it plans for larger cards.
    let own = model.and_then(|m| match &m.architecture {
        Architecture::Vision(v) if v.depth > 1.0 => Some(v.resolution as u64),
        _ => None,
    });
    let patch = own.unwrap_or(128);
    let planned = size.contains("planner").then_some(sizes::Picture { side: patch, frames: patch });
    let picture = sizes::picture(size).filter(|_| planned.is_none()).or(planned);
    let blocks_away = if offload.contains("streamed") { 1.0 } else { block_swap(offload, model) };
    let targets = row.text("lora_targets");
    let runtime = runtime(row, method, gpu);
    Project {
        model: model.map_or_else(String::new, |m| m.id.to_owned()),
        method,
        lora: Lora {
            rank: row.count("lora_rank").filter(|r| *r > 0).unwrap_or(default_rank(framework, row.text("method"))),
            targets: lora_targets(targets, framework, domain),
            dropout: default_dropout(framework, row.text("method")),
            ..litgpts(words::adapter(row.text("method")), row.text("method"), framework)
        },
        precision: words::precision(weights, compute, framework, method),
        base: match words::base(weights) {
            // The methods and formats that say the same already.
            BaseFormat::Fp32 if !method.is_adapter() => BaseFormat::AsPrecision,
            // What is trained in fp16 is fp32 in diffusers' scripts and their kin (`if args.mixed_precision == "fp16":
            // cast_training_params(...)`), DeepSpeed's engine apart.
            BaseFormat::Bf16
                if framework == Framework::Diffusers
                    && !method.is_adapter()
                    && compute.contains("fp16")
                    && !row.text("sharding").to_lowercase().contains("zero") =>
            {
                BaseFormat::AsPrecision
            }
            // Only LitGPT's names tell the two apart. Double quantization is what the others do unless told otherwise:
            // `double_quantization` of LLaMA-Factory, `bnb_4bit_use_double_quant` of ms-swift, Axolotl and Unsloth, the
            // scales of torchtune's `NF4Tensor`, and the examples of PEFT and TRL.
            BaseFormat::Nf4 if framework != Framework::Litgpt => BaseFormat::Nf4Double,
            base => base,
        },
        optimizer,
        optimizer_impl,
        checkpointing: without_effect(row)
            .or_else(|| words::checkpointing(row.text("grad_checkpointing"), offload))
            .or_else(|| without_checkpointing(row.text("note")))
            .unwrap_or_else(|| default_checkpointing(framework, method, domain, words::base(weights))),
        attention: attention(row, runtime),
        loss: match words::loss(row.text("loss_kernel")) {
            // torchtune's models return fp32 logits unless a chunked loss is asked for.
            LossKernel::Auto if framework == Framework::Torchtune => LossKernel::Upcast,
            loss => loss,
        },
        micro_batch: measured_batch(row.text("note"))
            .or_else(|| sizes::tokens(row.text("micro_batch")))
            .map_or(default_batch(row, framework, domain), |batch| (batch / cards.micro_batches).max(1)),
        accumulation: accumulation(row).max(accumulates(framework, &cards)),
        frozen_share: frozen_share(row.text("method")),
        sequence: sequence(row, model, framework, (method, objective)),
        task: task(row, model, method),
        image_side: picture.map_or_else(|| usual_side(model), |p| p.side),
        frames: picture.map_or(1, |p| p.frames),
        objects: objects(row),
        classes: scene_classes(row, model),
        audio_seconds: sizes::seconds(size).unwrap_or(10.0),
        cached_latents: caches_latents(row, framework),
        text_encoders: text_encoders(row),
        block_swap: blocks_away,
        offload: if blocks_away > 0.0 { Offload::None } else { words::offload(offload) },
        objective,
        framework,
        runtime,
        habits: habits(row),
        hardware: cards.hardware,
        ..Project::default()
    }
}

/// What `LitGPT` means by an adapter.
fn litgpts(lora: Lora, method: &str, framework: Framework) -> Lora {
    let kind = match framework {
        Framework::Litgpt if method.starts_with("adapter-v2") => Adapter::Scales,
        Framework::Litgpt if method.starts_with("adapter") => Adapter::Prompted,
        _ => lora.kind,
    };
    Lora { kind, ..lora }
}

/// Objects in the fullest picture, where the row says how many there are or in which data.
fn objects(row: &Row<'_>) -> u64 {
    // VisDrone2019-DET: 54 boxes a picture, up to 902 (Zhu et al., "Detection and Tracking Meet Drones Challenge").
    const VISDRONE: u64 = 902;
    // `profile_ops` of ultralytics runs a model on noise, without labels.
    if row.text("method").starts_with("profile") {
        return 1;
    }
    let note = row.text("note");
    let stated = note
        .split_once(" objects per image")
        .and_then(|(before, _)| before.rsplit(' ').next().and_then(|number| number.parse().ok()));
    let usual = if note.contains("VisDrone") { VISDRONE } else { Project::default().objects };
    stated.unwrap_or(usual).max(1)
}

/// The side of a picture where the row does not tell: the model's own, or what most are trained at.
fn usual_side(model: Option<&Model>) -> u64 {
    match model.map(|m| &m.architecture) {
        Some(Architecture::Diffusion(_)) => 512,
        Some(Architecture::Vision(v)) if v.resolution >= 1.0 => v.resolution as u64,
        _ => 224,
    }
}

/// Classes of a network for scenes, where the row's words tell the data set.
fn scene_classes(row: &Row<'_>, model: Option<&Model>) -> Option<u64> {
    let scenes = model.is_some_and(
        |m| matches!(&m.architecture, Architecture::Vision(v) if v.kind.ends_with("segmentation") && v.kind != "instance segmentation"),
    );
    let words = ["model", "seq_or_res", "note", "source"].map(|column| row.text(column).to_lowercase()).join(" ");
    nearest::scene_classes(&words).filter(|_| scenes)
}

/// How old the software was: as the row tells, or else by the card, which nobody trains on with software of today unless it
/// is for a method that came later.
fn runtime(row: &Row<'_>, method: Method, gpu: Option<&Gpu>) -> Runtime {
    if let Some(generation) = when::generation(row) {
        return generation;
    }
    // Volta and Pascal, in works older than adapters on 4-bit weights.
    let old = gpu.and_then(|g| g.compute_capability).is_some_and(|c| c < 7.5);
    if old && !method.is_adapter() { Runtime::One } else { Runtime::Current }
}

/// The kernel as stated. "Eager" is what transformers' models had before `scaled_dot_product_attention`, and what the column
/// says for scripts of today that choose nothing: those get the library's kernel unless a remark confirms it.
fn attention(row: &Row<'_>, runtime: Runtime) -> Attention {
    let stated = words::attention(row.text("attention"));
    let source = row.text("source").to_lowercase();
    // The tables of these two scripts date from before diffusers 0.13 of February 2023, which brought
    // `scaled_dot_product_attention`: scores were written out unless xformers was asked for.
    let early = ["diffusers examples/controlnet/readme.md", "diffusers examples/dreambooth/readme*.md"];
    if stated == Attention::Auto && early.iter().any(|e| source.contains(e)) {
        return Attention::Eager;
    }
    let note = row.text("note").to_lowercase();
    // A repository's own models write their scores out; so does XLNet, which has no other code.
    let own = row.text("source").contains("DeepLearningExamples") || row.text("model").starts_with("XLNet");
    let confirmed = own || note.contains("eager") || note.contains("attention");
    let today = matches!(runtime, Runtime::Current | Runtime::Mid2);
    if stated == Attention::Eager && today && !confirmed { Attention::Auto } else { stated }
}

/// What the run does that no column asks for.
fn habits(row: &Row<'_>) -> Habits {
    let source = row.text("source").to_lowercase();
    let words = ["framework", "compute_dtype", "note"].map(|column| row.text(column).to_lowercase()).join(" ");
    let all = format!("{words} {}", row.text("method").to_lowercase());
    let has = |words: &[&str]| words.iter().any(|w| source.contains(w));
    // Training scripts that compile their model unless told otherwise (`compile = True` in train.py,
    // `torch.compile(model)` in base_train.py).
    let compiles = has(&["nanogpt", "nanochat", "autoresearch"]);
    // torchtitan's float8 is for compiled models (docs/float8.md).
    let float8 = source.contains("torchtitan") && row.text("compute_dtype").contains("fp8");
    let told = words.contains("compile") && !words.contains("compile off") && !words.contains("no compile");
    Habits {
        compiled: (compiles || told || float8) && !words.contains("eager"),
        // Loops of one's own: fsdp_qlora's train.py has `output = model(...)`, as PyTorch's own examples have.
        own_loop: words.contains("fsdp_qlora"),
        renews: row.text("optimizer").to_lowercase().contains("jitlamb"),
        trains_tower: ["freeze_vit false", "full vit", "vision tower trained"].iter().any(|w| all.contains(w)),
        tower_recomputed: row
            .text("grad_checkpointing")
            .to_lowercase()
            .split_once("vit ")
            .map(|(_, s)| !s.starts_with("no")),
        patches: clip_tokens(row.text("seq_or_res")).map_or(0, |tokens| 4 * tokens),
    }
}

/// What sits on top of a language model, from the words of the row.
fn task(row: &Row<'_>, model: Option<&Model>, method: Method) -> LanguageTask {
    let text = ["model", "method", "source", "note"].map(|column| row.text(column).to_lowercase()).join(" ");
    let has = |w: &str| text.contains(w);
    let encoder = model.and_then(Model::language).is_some_and(|l| l.kind == LanguageKind::Encoder);
    if has("seq_cls") || has("classification") || has("regression head") || (has("rerank") && !has("generative")) {
        LanguageTask::Classification
    } else if has("/embedding/") || row.text("method") == "embedding" {
        LanguageTask::Embedding
    } else if encoder && method == Method::Scratch {
        LanguageTask::Masked
    } else {
        LanguageTask::Auto
    }
}

/// The batch that a figure was read at, where the row gives the largest one and its note the script's.
fn measured_batch(note: &str) -> Option<u64> {
    note.split_once("script uses batch ").and_then(|(_, rest)| sizes::tokens(rest))
}

/// Micro-batches that a note gives as "grad accumulation 4"; where it says that small batches were added up to the total
/// of the largest, those of up to four samples.
fn accumulation(row: &Row<'_>) -> u64 {
    let note = row.text("note");
    if note.contains("total batch kept by accumulation")
        && sizes::tokens(row.text("micro_batch")).is_some_and(|batch| batch <= 4)
    {
        return 2;
    }
    note.split_once("grad accumulation").and_then(|(_, rest)| sizes::tokens(rest)).unwrap_or(1).clamp(1, 1 << 20)
}

/// Share of the blocks in `22 blocks swapped to CPU`; half where nobody says how many.
fn block_swap(offload: &str, model: Option<&Model>) -> f64 {
    if !offload.contains("swapped") {
        return 0.0;
    }
    let all = model.and_then(|m| match &m.architecture {
        Architecture::Diffusion(d) => d.swappable_blocks(),
        _ => None,
    });
    sizes::tokens(offload).zip(all).map_or(0.5, |(n, all)| (n as f64 / all).min(1.0))
}

/// Checkpointing that a note says to be off, or on but without effect.
fn without_checkpointing(note: &str) -> Option<Checkpointing> {
    let note = note.to_lowercase();
    ["checkpointing off", "checkpointing silently inactive"]
        .iter()
        .any(|words| note.contains(words))
        .then_some(Checkpointing::Off)
}

/// Checkpointing that is asked for and does nothing.
fn without_effect(row: &Row<'_>) -> Option<Checkpointing> {
    row.text("note").to_lowercase().contains("checkpointing shows no effect").then_some(Checkpointing::Off)
}

/// Where the text encoders are, where the row says so.
fn text_encoders(row: &Row<'_>) -> TextEncoders {
    if row.text("model").to_lowercase().replace('_', " ").contains("+ text encoder") {
        TextEncoders::Trained
    } else if row.text("note").contains("encoders resident") {
        TextEncoders::Resident
    } else {
        TextEncoders::Auto
    }
}
