//! Vision models: bytes per activation by kind of architecture.

use super::transformer::{Stack, VIT};
use super::{is_half, numbers, phases::Pieces, recomputes, weights};
use crate::catalog::{Model, VisionModel};
use crate::estimate::{CannotEstimate, EstimateMethod};
use crate::project::{Field, Method, Project};

/// Bytes that a step keeps per output of a convolution or linear layer, from traced steps at 224 to 1,024 pixels.
struct Kind {
    /// Ids of the catalog that begin so.
    prefixes: &'static [&'static str],
    /// fp32 and autocast, nothing computed again.
    kept: [f64; 2],
    /// fp32 and autocast, every residual block computed again.
    checkpointed: [f64; 2],
    /// fp32 and autocast, short-lived when a block is computed again.
    block: [f64; 2],
    /// fp32 and autocast, short-lived otherwise.
    transient: [f64; 2],
    /// Share of the gradients that is there when backward has just begun.
    early: f64,
    /// The kind itself was traced; others are scaled from the nearest.
    traced: bool,
}

const fn kind(
    prefixes: &'static [&'static str],
    kept: [f64; 2],
    checkpointed: [f64; 2],
    block: [f64; 2],
    transient: [f64; 2],
) -> Kind {
    Kind { prefixes, kept, checkpointed, block, transient, early: 0.05, traced: true }
}

/// The first kind whose prefix fits. The last one fits all: convolutions with batch norm and ReLU.
const KINDS: &[Kind] = &[
    // Basic blocks: no 1 x 1 convolutions between which batch norm and ReLU share their output.
    kind(&["resnet18", "resnet34"], [8.5, 4.6], [4.2, 2.5], [0.6, 0.3], [0.2, 0.1]),
    kind(
        &["resnet", "wide-resnet", "resnext", "seresnet", "regnet", "hrnet", "googlenet", "inception", "xception"],
        [7.75, 3.95],
        [2.75, 1.45],
        [0.2, 0.1],
        [0.05, 0.05],
    ),
    kind(&["efficientnet", "ghostnet"], [13.0, 6.55], [1.0, 0.55], [2.6, 1.3], [0.05, 0.05]),
    kind(
        &["mobilenet", "shufflenet", "squeezenet", "ssdlite", "lraspp"],
        [9.9, 5.0],
        [1.15, 0.65],
        [2.5, 1.25],
        [0.05, 0.05],
    ),
    kind(&["convnext"], [8.06, 4.48], [0.97, 0.9], [0.6, 0.1], [0.05, 0.02]),
    kind(&["densenet"], [18.8, 9.56], [9.0, 4.67], [0.1, 0.05], [0.05, 0.05]),
    Kind {
        early: 0.9,
        ..kind(&["vgg", "alexnet", "lenet", "mnist", "catdog"], [5.4, 3.16], [5.4, 3.16], [0.3, 0.1], [0.3, 0.1])
    },
    kind(&["unet", "nnunet", "fpn-", "unetpp"], [8.6, 4.5], [8.6, 4.5], [0.8, 0.4], [0.8, 0.4]),
    kind(&["deeplab", "fcn"], [8.15, 4.28], [8.15, 4.28], [0.32, 0.32], [0.32, 0.32]),
    // Stem and first stage frozen, batch norm fixed.
    kind(
        &["faster-rcnn", "mask-rcnn", "keypoint-rcnn", "retinanet", "fcos"],
        [7.6, 3.9],
        [7.6, 3.9],
        [0.33, 0.33],
        [0.33, 0.33],
    ),
    kind(&["swin"], [6.25, 4.1], [0.6, 0.45], [1.0, 0.6], [0.05, 0.05]),
    // SiLU keeps its input beside batch norm's, as in EfficientNet.
    Kind { traced: false, ..kind(&["yolo"], [12.6, 6.4], [12.6, 6.4], [0.6, 0.3], [0.6, 0.3]) },
    Kind { traced: false, ..kind(&["segformer"], [10.0, 7.0], [2.0, 1.5], [1.5, 1.0], [0.3, 0.2]) },
    // Leaky ReLU in place, no norm: convolution outputs and the concatenations of dense blocks.
    Kind { traced: false, ..kind(&["esrgan"], [12.0, 6.0], [4.0, 2.0], [2.0, 1.0], [0.5, 0.3]) },
    // Instance norm and ReLU beside each convolution, and both networks.
    Kind {
        traced: false,
        ..kind(&["cyclegan", "pix2pix", "stylegan", "dcgan"], [9.0, 5.0], [9.0, 5.0], [0.8, 0.4], [0.8, 0.4])
    },
    Kind { traced: false, ..kind(&[""], [8.5, 4.5], [4.0, 2.2], [0.6, 0.3], [0.4, 0.2]) },
];

/// Activations per pixel of models whose row has none, by the nearest kind: a residual network at stride 4 and up.
const ACTIVATIONS_PER_PIXEL: f64 = 220.0;

fn kind_of(id: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.prefixes.iter().any(|p| id.starts_with(p)))
}

/// Pixels of one sample over pixels of the size that the row's figures belong to.
fn scale(project: &Project, v: &VisionModel) -> f64 {
    let side = project.image_side as f64;
    let native = match v.resolution {
        // The row names the small side that goes in; people name the crop that comes out, four times as large.
        side if side > 0.0 && v.kind == "super-resolution" => 4.0 * side,
        side if side > 0.0 => side,
        _ => 224.0,
    };
    if project.frames > 1 {
        // Volumes: the row's figures are for a cube.
        let depth = project.frames as f64 / native;
        return (side / native).powi(2) * depth;
    }
    (side / native).powi(2)
}

pub(super) fn pieces(
    project: &Project,
    model: &Model,
    v: &VisionModel,
) -> Result<(Pieces, EstimateMethod), CannotEstimate> {
    if project.method.is_adapter() && v.heads.is_empty() {
        return Err(CannotEstimate::MethodDoesNotApply);
    }
    if project.image_side > 100_000 {
        return Err(CannotEstimate::OutOfRange(Field::ImageSide));
    }
    let parameters = model.params as f64;
    let batch = project.micro_batch as f64;
    let half = usize::from(is_half(project));
    let kind = kind_of(model.id).unwrap_or(&KINDS[KINDS.len() - 1]);
    let transformer = stack(project, v);
    let width = transformer.map_or(512.0, |t| t.width);
    let trained = match project.method {
        Method::Head => (width * 1000.0).min(parameters * 0.05),
        Method::Freeze => parameters * (1.0 - project.frozen_share),
        Method::Lora | Method::QLora => {
            let rank = project.lora.rank as f64;
            // Two factors beside each of four matrices of a block (attention) or six (all).
            transformer.map_or(0.0, |t| t.layers * rank * t.width * 14.0)
        }
        Method::Full | Method::Scratch => parameters,
    };
    let mut pieces = weights(project, parameters, trained, 0.98, 0.6);
    pieces.early_gradients = kind.early;
    let (kept, transient, method) = if let Some(stack) = transformer {
        let (kept, transient) = stack.kept(project);
        let traced = model.id.starts_with("vit") || model.id.starts_with("deit");
        (kept, transient, if traced { EstimateMethod::Measured } else { EstimateMethod::Extrapolated })
    } else {
        let native = v.resolution.max(1.0);
        let known = v.activations_m.map(|m| m * 1e6);
        let activations = known.unwrap_or(ACTIVATIONS_PER_PIXEL * native * native) * scale(project, v);
        let own = numbers(v.kept);
        let (kept, transient) = if recomputes(project) {
            (kind.checkpointed[half], kind.block[half])
        } else if let &[full, narrow, early] = own.as_slice() {
            pieces.early_gradients = early;
            ([full, narrow][half], 0.0)
        } else {
            (kind.kept[half], kind.transient[half])
        };
        let method = match (known, kind.traced || !own.is_empty()) {
            (Some(_), true) => EstimateMethod::Measured,
            (Some(_), false) => EstimateMethod::Extrapolated,
            (None, _) => EstimateMethod::Rough,
        };
        (kept * activations, transient * activations, method)
    };
    let trained_share = match project.method {
        // A frozen backbone keeps nothing: one layer's output at a time.
        Method::Head => 0.0,
        Method::Freeze => 1.0 - project.frozen_share,
        _ => 1.0,
    };
    pieces.saved = kept * batch * trained_share;
    pieces.transient = transient * batch;
    if trained_share == 0.0 {
        pieces.transient = kept * batch * 0.12;
    }
    let pixels = (project.image_side as f64).powi(2) * project.frames as f64;
    pieces.batch = batch * pixels * 3.0 * 4.0;
    // cuDNN workspaces on an A100, beyond the context: about a tenth of what dense 3 x 3 convolutions keep.
    if v.heads.is_empty() {
        pieces.workspace = (pieces.saved * 0.06).clamp(0.0, 2e9);
    }
    Ok((pieces, method))
}

fn stack(project: &Project, v: &VisionModel) -> Option<Stack> {
    let layers = numbers(v.layers);
    let width = numbers(v.dim);
    let patch = numbers(v.patch);
    match (layers.as_slice(), width.as_slice(), patch.first()) {
        ([layers], [width], Some(patch)) if *patch > 1.0 => {
            let side = (project.image_side as f64 / patch).floor().max(1.0);
            let frames = if project.frames > 1 { (project.frames as f64 / 2.0).max(1.0) } else { 1.0 };
            Some(Stack { block: VIT, layers: *layers, width: *width, tokens: side * side * frames + 1.0 })
        }
        _ => None,
    }
}
