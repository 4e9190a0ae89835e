//! Vision networks as programs, by their ids in the catalog.

mod clip;
mod dense;
mod detection;
mod detr;
mod gan;
mod hgnet;
mod inception;
mod masked;
mod maxvit;
mod mixer;
mod mobile;
mod next;
mod plain;
mod regnet;
mod residual;
mod restore;
mod rtdetr;
mod sam;
mod segmentation;
mod siglip;
mod ssd;
mod swin;
mod swin_two;
mod vit;
mod yolo;

pub(super) use clip::text_tower;

use super::builder::{Tensor, bytes};
use super::layers::Layers;
use super::maps::Map;
use super::{Dtype, Program, Slot, StepConfig, Trained};
use crate::project::Checkpointing;

/// What goes into a vision model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pictures {
    /// Height in pixels.
    pub height: u64,
    /// Width in pixels.
    pub width: u64,
    /// Slices of a volume or frames of a clip; 1 for pictures.
    pub depth: u64,
    /// Classes to tell apart; 0: as many as the model was made for.
    pub classes: u64,
    /// Starts from pretrained weights: detectors then keep their backbone's batch norms fixed and its first stage frozen.
    pub pretrained: bool,
    /// Fixed batch norms are the usual ones in evaluation mode (mmdetection's `norm_eval`), which keep their input, rather
    /// than a product and a sum with constants (torchvision's and detectron2's `FrozenBatchNorm2d`).
    pub evaluated: bool,
    /// Objects in the fullest picture: each is compared with every place where one could be found.
    pub objects: u64,
}

/// How the batch norms of a detector's backbone take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Norms {
    Trained,
    /// A product and a sum with constants.
    Constant,
    /// Batch norms in evaluation mode.
    Evaluated,
}

/// Objects in the fullest picture where nobody says how many: COCO's training pictures hold 7 on average and up to 93.
pub const OBJECTS: u64 = 93;

impl Pictures {
    /// Square pictures, the model's usual classes.
    pub const fn square(side: u64) -> Self {
        Self { height: side, width: side, depth: 1, classes: 0, pretrained: true, evaluated: false, objects: OBJECTS }
    }

    /// The classes, or the usual number.
    const fn classes_or(self, usual: u64) -> u64 {
        if self.classes == 0 { usual } else { self.classes }
    }

    const fn norms(self) -> Norms {
        match (self.pretrained, self.evaluated) {
            (false, _) => Norms::Trained,
            (true, false) => Norms::Constant,
            (true, true) => Norms::Evaluated,
        }
    }
}

/// The training program of a vision model of the catalog, or `None` where there is no program for it.
pub fn vision(id: &str, pictures: Pictures, config: &StepConfig) -> Option<Program> {
    let mut n = Layers::new(config);
    n.trained = !matches!(config.trained, Trained::Adapters(_) | Trained::Head);
    let whole = [
        plain::write,
        segmentation::write,
        detection::write,
        ssd::write,
        yolo::write,
        inception::write,
        sam::write,
        clip::write,
        siglip::write,
        masked::write,
        restore::write,
        detr::write,
        rtdetr::write,
        gan::write,
    ];
    let written = whole.iter().find_map(|write| write(&mut n, id, pictures)).or_else(|| {
        let classes = pictures.classes_or(1000);
        if let Some(net) = residual::network(id) {
            let x = n.pictures(3, pictures);
            let features = residual::features(&mut n, x, &net);
            classifier(&mut n, features, classes);
        } else if let Some(net) = regnet::network(id) {
            let x = n.pictures(3, pictures);
            let features = regnet::features(&mut n, x, &net);
            classifier(&mut n, features, classes);
        } else if let Some(net) = dense::network(id) {
            let x = n.pictures(3, pictures);
            let features = dense::features(&mut n, x, &net);
            classifier(&mut n, features, classes);
        } else if let Some(net) = mobile::network(id) {
            let x = n.pictures(3, pictures);
            let features = mobile::features(&mut n, x, &net);
            mobile::head(&mut n, features, &net, classes);
        } else if let Some(net) = next::network(id) {
            let x = n.pictures(3, pictures);
            let features = next::features(&mut n, x, &net);
            next::head(&mut n, features, classes);
        } else if let Some(net) = swin::network(id) {
            let x = n.pictures(3, pictures);
            let features = swin::features(&mut n, x, &net);
            classifier(&mut n, features, classes);
        } else if let Some(net) = swin_two::network(id) {
            let x = n.pictures(3, pictures);
            let features = swin_two::features(&mut n, x, &net);
            classifier(&mut n, features, classes);
        } else if let Some(net) = maxvit::network(id) {
            let x = n.pictures(3, pictures);
            maxvit::write(&mut n, x, &net, classes);
        } else if let Some(net) = mixer::network(id) {
            let x = n.pictures(3, pictures);
            mixer::write(&mut n, x, net, classes);
        } else if let Some(net) = vit::network(id) {
            let x = n.pictures(3, pictures);
            let tokens = vit::tokens(&mut n, x, &net);
            vit::head(&mut n, tokens, &net, pictures);
        } else {
            return None;
        }
        Some(())
    });
    written.map(|()| n.b.program)
}

fn checkpointed(n: &Layers) -> bool {
    n.config.checkpointing != Checkpointing::Off
}

/// Blocks of one shape, one after another. The first is written by itself: it may find its input in another format than
/// it leaves it in.
fn repeated(n: &mut Layers, mut x: Map, times: u64, mut block: impl FnMut(&mut Layers, Map) -> Map) -> Map {
    for times in [times.min(1), times.saturating_sub(1)] {
        if times > 0 {
            n.b.repeat(times);
            x = block(n, x);
            x = n.cut(x, checkpointed(n));
        }
    }
    x
}

/// Whether the classifying layer is trained.
fn trains_head(n: &Layers) -> bool {
    !matches!(n.config.trained, Trained::Adapters(_))
}

/// Pooling, one linear layer, cross-entropy.
fn classifier(n: &mut Layers, features: Map, classes: u64) {
    let pooled = n.global_pool(features);
    n.trained = trains_head(n);
    let logits = n.fully_connected(pooled.t, classes);
    finish(n, logits);
}

/// Cross-entropy and the end of the program.
fn finish(n: &mut Layers, logits: Tensor) {
    n.b.put(Slot(0), logits);
    n.b.end_segment(false, false);
    n.b.end_group();
    let logits = n.b.take(Slot(0));
    n.cross_entropy(logits);
    n.b.program.batch_bytes += bytes(logits.rows, Dtype::I64);
    n.b.end_segment(false, true);
    n.b.end_group();
}
