//! The work of everything that is not a language model: from multiply-accumulates and activation counts where the
//! catalog has them, from parameters where it has not.

use super::workload::{Backward, Workload, arithmetic, traffic_of};
use crate::catalog::{DiffusionModel, Domain, Model, OtherModel, VisionModel};
use crate::estimate::measured::{self, TABLE_COLUMNS, is_voice, rate, text_on_card};
use crate::project::{BaseFormat, Checkpointing, CustomNetwork, Method, Precision, Project, TextEncoders};
use crate::units::decimal;

/// Bytes moved for each output of a convolution, forward and backward with its norm and activation (16 bit; fitted).
const CONVOLUTION_BYTES: f64 = 86.0;
/// The same for linear layers and attention of vision transformers.
const TRANSFORMER_BYTES: f64 = 49.0;

/// Convolutions run faster than their plain operation count says (Winograd, implicit products; fitted).
const CONVOLUTION_SPEED: f64 = 1.35;
/// Convolutions through the slices of a volume have no such algorithms, and their maps lie the wrong way round for tensor
/// cores. Set by the 250,000 steps and 50,000 validations of nnU-Net on an A100: 9 hours with the plain network, 12, 35 and
/// 66 with the residual encoders M, L and XL (MIC-DKFZ/nnUNet `documentation/resenc_presets.md`).
const VOLUME_SPEED: f64 = 0.42;

/// Reading, decoding and augmenting one picture of 224 pixels on a data-center machine: ResNet-50 stops at 3,080
/// pictures a second and card on H200 and B200 alike (lambdal/deeplearning-benchmark).
const PICTURE_SECONDS: f64 = 1.0 / 3080.0;
/// Side of the file that such a picture is cut from: `ImageNet`'s are 469 x 387 pixels on average. Decoding costs what the
/// file's pixels cost, so larger crops cost no more until the files themselves are larger. `YOLOv5n` on COCO at 640 pixels,
/// a day for 300 epochs on a V100 with eight workers (ultralytics/yolov5 README): 410 a second, here 410 as well.
const FILE_SIDE: f64 = 426.0;
/// The least that the Python side of a data loader takes for a sample.
const SAMPLE_SECONDS: f64 = 15e-6;

/// Kernels of a step of a mid-sized convolutional network (`ResNet-50`: 161 layers, three kernels each, both ways).
const NETWORK_KERNELS: f64 = 1000.0;
/// Kernels of a step of a UNet denoiser: SD 1.5 in eager mode is bound by the processor at about 40 ms forward and 60 ms
/// backward, whatever the card.
const UNET_KERNELS: f64 = 14_000.0;
/// Kernels for each block of a diffusion transformer, both ways.
const DIT_BLOCK_KERNELS: f64 = 200.0;
/// Denoisers see one or a few samples: small products, group norms in fp32. Set so that SDXL adapters at 1,024 pixels
/// take 0.55 s a step on an RTX 4090, 1.0 s on a 3090 and 2.8 s on a 3060, as users report.
const DENOISER_SPEED: f64 = 0.6;
/// Bytes moved for each output in a UNet, forward and backward (see [`DENOISER_SPEED`]).
const UNET_BYTES: f64 = 112.0;
/// Kernels of a step of a voice of convolutions and its critics: 180 convolutions forward in encoder, flow and generator
/// and 55 in the critics four times over, each with a norm of its weights, and back (the networks of RVC v2, GPT-SoVITS and
/// VITS, traced: 7,600 to 10,700 operators).
const VOICE_KERNELS: f64 = 8_000.0;
/// Bytes that such a step moves for each sample of sound in 16 bit (the same networks: 0.45 to 0.9 million in fp32).
const VOICE_BYTES: f64 = 3e5;
/// Kernels of a step of a small network.
const SMALL_KERNELS: f64 = 120.0;

/// Levels of a tree (`max_depth` of `XGBoost`, default).
const TREE_LEVELS: f64 = 6.0;
/// Kernel starts that a level of a tree is worth, with its copies and waits: about 2 ms, on which small tables are stuck
/// (100,000 rows, 100 trees of ten levels: 3.3 s on V100, szilard/GBM-perf; 400,000 rows of 30 columns, 200 trees of
/// eight levels: 3.3 s, `DestinE` Data Lake gallery).
const LEVEL_KERNELS: f64 = 285.0;

/// Multiply-accumulates for each weight and picture of 224 pixels where the catalog has no count (`ResNet-50`:
/// 4.1 GMAC, 25.6 M weights).
const MACS_PER_WEIGHT: f64 = 160.0;
/// Outputs for each multiply-accumulate where the catalog has no count (`ResNet-50`: 11.1 M for 4.1 GMAC).
const OUTPUTS_PER_MAC: f64 = 2.7e-3;

/// Self-attention of a UNet over its other operations at native size (SD 1.5: five layers of 4,096 tokens and width
/// 320 are 16 %, SDXL 12 %).
const UNET_ATTENTION: f64 = 0.14;

/// Multiply-accumulates for each weight of a UNet at 512 pixels (SD 1.5: 338.6 GMAC, 860 M weights).
const MACS_PER_UNET_WEIGHT: f64 = 394.0;

/// The frozen network that a trained copy hangs on, in copies (`ControlNet`'s encoder copy in SD 1.5 and SDXL).
const FROZEN_OVER_COPY: f64 = 2.2;

/// Decoding a clip of sound or a picture with its text on a data-center machine (judgement).
const CLIP_SECONDS: f64 = 2e-3;

/// Bytes moved for each element of the residual stream and layer, forward and backward (as in language models).
const LAYER_BYTES: f64 = 420.0;

/// First number in a printed cell (`19+38`, `320-640`, `1,500 encoder frames`).
fn first(cell: &str) -> Option<f64> {
    let start = cell.find(|c: char| c.is_ascii_digit())?;
    let digits: String = cell[start..]
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',' || *c == '.')
        .filter(|c| *c != ',')
        .collect();
    decimal::read(digits.trim_end_matches('.'))
}

/// Sum of the numbers in a cell like `19+38`.
fn sum(cell: &str) -> Option<f64> {
    let total: f64 = cell.split('+').filter_map(first).sum();
    (total > 0.0).then_some(total)
}

/// Pixels of a printed size: `512` or `480 x 720`.
fn pixels(cell: &str) -> Option<f64> {
    let (w, h) = cell.split_once('x').unwrap_or((cell, cell));
    Some(first(w)? * first(h)?)
}

/// Spatial side of a patch printed as `2`, `2 (packed 2 x 2)` or `1x2x2`.
fn patch_side(cell: &str) -> f64 {
    let plain = cell.split('(').next().unwrap_or("");
    plain.rsplit('x').find_map(first).unwrap_or(1.0).max(1.0)
}

/// One forward pass over one sample.
struct Pass {
    /// Operations of products.
    products: f64,
    /// Operations of attention not in `products`.
    attention: f64,
    /// Bytes moved forward and backward together.
    traffic: f64,
    weights: f64,
    kernels: f64,
    input: f64,
    speed: f64,
    band: f64,
}

fn run(project: &Project, pass: &Pass) -> Workload {
    let batch = project.micro_batch as f64;
    let adapter_share = adapters(project, pass.weights);
    let back = Backward::of(project, adapter_share);
    let recompute = match project.checkpointing {
        Checkpointing::Off => 0.0,
        Checkpointing::Selective => 0.1,
        Checkpointing::PerBlock | Checkpointing::Pairs | Checkpointing::Offloaded => 1.0,
    };
    let model =
        batch * (pass.products * (1.0 + back.weights + back.inputs) + pass.attention * (1.0 + 2.0 * back.inputs));
    let directions = (1.0 + 2.0 * back.inputs + recompute) / 3.0;
    let passes = 1.0 + back.inputs + recompute;
    let adapter = if project.method.is_adapter() { 1.3 } else { 1.0 };
    let half = project.precision != Precision::Fp32;
    let cast = if half && !matches!(project.precision, Precision::PureBf16) { 6.0 } else { 0.0 };
    let frozen_16 = project.method.is_adapter();
    let weight_bytes = match project.base {
        BaseFormat::Nf4 | BaseFormat::Nf4Double | BaseFormat::Int4 => 0.55,
        BaseFormat::Int8 | BaseFormat::Fp8 | BaseFormat::Fp8Dynamic => 1.0,
        BaseFormat::Bf16 => 2.0,
        BaseFormat::AsPrecision if half && frozen_16 => 2.0,
        BaseFormat::Fp32 | BaseFormat::AsPrecision => 4.0,
    };
    Workload {
        products: model + batch * pass.products * recompute,
        attention: batch * pass.attention * recompute,
        product_speed: pass.speed,
        traffic: batch * pass.traffic * directions * adapter * traffic_of(project.precision)
            + pass.weights * (2.0 * passes + cast + 10.0 * back.weights.min(1.0)),
        kernels: pass.kernels * (0.35 * (1.0 + recompute) + 0.65 * back.inputs) * adapter,
        input: batch * pass.input,
        model,
        optimizer: 0.0,
        weights: pass.weights,
        trained: pass.weights * back.trained.min(1.0),
        weight_bytes,
        gradient_bytes: if matches!(project.precision, Precision::PureBf16 | Precision::MasterBf16) {
            2.0
        } else {
            4.0
        },
        passes,
        arithmetic: arithmetic(project, true),
        micro_batch: batch,
        accumulation: project.accumulation as f64,
        samples: project.samples as f64 * project.epochs,
        histogram: 0.0,
        host_step: false,
        paged: 0.0,
        from_host: 0.0,
        from_disk: 0.0,
        model_parallel: false,
        band: pass.band,
        cut: None,
        wires: (crate::project::Wires::default(), ""),
    }
}

/// Adapter weights over base weights: a few thousandths for each 16 of rank (SDXL at rank 32: 0.9 %).
fn adapters(project: &Project, _weights: f64) -> f64 {
    if project.method.is_adapter() { (0.0045 * project.lora.rank as f64 / 16.0).min(1.0) } else { 0.0 }
}

pub(super) fn vision(project: &Project, params: f64, v: &VisionModel) -> Workload {
    let side = project.image_side.max(1) as f64;
    let reference = if v.resolution > 0.0 { v.resolution } else { 224.0 };
    // A volume keeps its depth unless the project says otherwise.
    let depth = v.depth.max(1.0);
    let frames = if depth > 1.0 && project.frames <= 1 { depth } else { project.frames.max(1) as f64 };
    let scale = (side / reference).powi(2) * frames / depth;
    let (gmacs, known) = match v.gmacs {
        Some(g) => (g, true),
        None => (params * MACS_PER_WEIGHT * (reference / 224.0).powi(2) / 1e9, false),
    };
    let outputs = v.activations_m.map_or(gmacs * 1e9 * OUTPUTS_PER_MAC, |a| a * 1e6);
    let transformer = !v.heads.is_empty();
    let small = params < 2e6;
    run(
        project,
        &Pass {
            products: 2e9 * gmacs * scale,
            attention: 0.0,
            traffic: outputs * scale * if transformer { TRANSFORMER_BYTES } else { CONVOLUTION_BYTES },
            weights: params,
            kernels: if small { SMALL_KERNELS } else { NETWORK_KERNELS },
            input: SAMPLE_SECONDS + PICTURE_SECONDS * (side / 224.0).min(1.0).max(side / FILE_SIDE).powi(2),
            speed: match transformer {
                true => 1.0,
                false if depth > 1.0 => VOLUME_SPEED,
                false => CONVOLUTION_SPEED,
            },
            band: if known { 0.35 } else { 0.7 },
        },
    )
}

/// A network of which a summary is known: as convolutions, which move more bytes for each output than anything else.
pub(super) fn network(project: &Project, n: &CustomNetwork) -> Workload {
    let params = n.params as f64;
    let known = n.macs > 0;
    let macs = if known { n.macs as f64 } else { params.max(n.outputs as f64 / OUTPUTS_PER_MAC) };
    let small = params < 2e6;
    run(
        project,
        &Pass {
            products: 2.0 * macs,
            attention: 0.0,
            traffic: n.outputs as f64 * CONVOLUTION_BYTES / 2.0,
            weights: params,
            kernels: if small { SMALL_KERNELS } else { NETWORK_KERNELS },
            input: SAMPLE_SECONDS,
            speed: 1.0,
            band: if known { 0.5 } else { 0.7 },
        },
    )
}

pub(super) fn diffusion(project: &Project, d: &DiffusionModel) -> Workload {
    let side = project.image_side.max(1) as f64;
    let native = pixels(d.native_resolution).unwrap_or(512.0 * 512.0).max(1.0);
    let temporal = d.downscale_temporal.unwrap_or(1.0).max(1.0);
    let latent_frames = |frames: f64| ((frames - 1.0) / temporal).floor() + 1.0;
    let frames = latent_frames(project.frames.max(1) as f64);
    let native_frames = latent_frames(d.native_frames.unwrap_or(1.0).max(1.0));
    let scale = side * side / native * frames / native_frames;
    let params = d.denoiser_params as f64;
    let down = d.downscale_spatial.unwrap_or(8.0).max(1.0);
    let patch = patch_side(d.patch);
    let unet = d.denoiser.contains("UNet") || first(d.hidden).is_none() || sum(d.blocks).is_none();
    let image_tokens = (side / down / patch).powi(2) * frames;
    let tokens = image_tokens + d.text_length.unwrap_or(0.0);
    let (products, known) = match d.gmacs {
        Some(g) => (2e9 * g * scale, true),
        None if unet => (2.0 * params * MACS_PER_UNET_WEIGHT * side * side / (512.0 * 512.0) * frames, false),
        None => (2.0 * params * tokens, false),
    };
    let attention = if unet {
        UNET_ATTENTION * products * scale
    } else {
        4.0 * tokens * tokens * first(d.hidden).unwrap_or(0.0) * sum(d.blocks).unwrap_or(0.0)
    };
    let outputs = match d.activations_m {
        Some(a) => a * 1e6 * scale,
        None => tokens * first(d.hidden).unwrap_or(1280.0) * sum(d.blocks).unwrap_or(40.0) * 12.0,
    };
    // Encoders run in every step unless their outputs were kept: one forward pass of the VAE (about 1.1 TMAC for
    // 1,024 pixels) and of the text encoders.
    let pictures = if project.cached_latents {
        0.0
    } else {
        2.2e12 * side * side / (1024.0 * 1024.0) * project.frames.max(1) as f64
    };
    // Backward is two products per product of forward.
    let passes = if project.text_encoders == TextEncoders::Trained { 3.0 } else { 1.0 };
    let text = text_on_card(project, d) as f64;
    let encoders = pictures + passes * 2.0 * text * d.text_length.unwrap_or(77.0);
    let mut load = run(
        project,
        &Pass {
            products,
            attention,
            traffic: outputs * if unet { UNET_BYTES } else { TRANSFORMER_BYTES },
            weights: params,
            kernels: if unet { UNET_KERNELS } else { sum(d.blocks).unwrap_or(40.0) * DIT_BLOCK_KERNELS },
            input: SAMPLE_SECONDS,
            speed: DENOISER_SPEED,
            band: if known { 0.45 } else { 0.8 },
        },
    );
    load.products += encoders * project.micro_batch as f64;
    if !d.frozen.is_empty() {
        // Forward through the frozen network, and backward to where the copy joins it.
        load.products += 2.0 * FROZEN_OVER_COPY * products * project.micro_batch as f64;
    }
    load
}

/// Gradient boosting: every tree walks the whole table once for each of its levels. The table is read once, before the
/// first tree, whatever batch the project names.
fn boosting(project: &Project) -> Workload {
    let pass = Pass {
        products: 0.0,
        attention: 0.0,
        traffic: 0.0,
        weights: 0.0,
        kernels: TREE_LEVELS * LEVEL_KERNELS,
        input: 0.0,
        speed: 1.0,
        band: 0.7,
    };
    let rows = project.samples as f64;
    let load = run(&Project { method: Method::Full, checkpointing: Checkpointing::Off, ..project.clone() }, &pass);
    Workload { micro_batch: rows, accumulation: 1.0, histogram: rows * TABLE_COLUMNS * TREE_LEVELS, ..load }
}

pub(super) fn other(project: &Project, model: &Model, o: &OtherModel) -> Workload {
    if model.is_boosting() {
        return boosting(project);
    }
    let small = model.domain == Domain::Small;
    let params = model.params as f64;
    let plain = Project { method: Method::Full, checkpointing: Checkpointing::Off, ..project.clone() };
    let forward = measured::forward_flops(&plain, model, o);
    let tokens = (forward / (2.0 * params.max(1.0))).max(1.0);
    let layers = sum(o.layers).unwrap_or(if small { 4.0 } else { 24.0 });
    let hidden = first(o.hidden).unwrap_or_else(|| (params / layers.max(1.0) / 12.0).sqrt());
    let input = SAMPLE_SECONDS + if small { 0.0 } else { CLIP_SECONDS };
    let voice = !small && is_voice(o);
    let (traffic, kernels) = match (small, voice) {
        (true, _) => (tokens * hidden * layers * LAYER_BYTES, SMALL_KERNELS),
        (_, true) => (project.audio_seconds * rate(o) * VOICE_BYTES, VOICE_KERNELS),
        _ => (tokens * hidden * layers * LAYER_BYTES, layers * 60.0 + 100.0),
    };
    let mut load = run(
        project,
        &Pass { products: forward, attention: 0.0, traffic, weights: params, kernels, input, speed: 1.0, band: 0.7 },
    );
    if project.method == Method::QLora {
        // unpacking 4-bit weights for every pass
        load.traffic += params * 4.75 * load.passes;
        load.weight_bytes = 0.55;
    }
    load
}
