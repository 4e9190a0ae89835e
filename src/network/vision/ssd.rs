//! SSD on a residual backbone, as NVIDIA's `DeepLearningExamples` writes it (`PyTorch/Detection/SSD/ssd/model.py`).

use super::{Pictures, residual};
use crate::network::builder::bytes;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// COCO's 80 and the background.
const CLASSES: u64 = 81;
/// Channels of the layers behind the backbone: squeezed, out, and whether they halve the maps.
const BEHIND: [(u64, u64, bool); 5] =
    [(256, 512, true), (256, 512, true), (128, 256, true), (128, 256, false), (128, 256, false)];
/// Default boxes of a place, for the backbone's maps and each layer behind it.
const BOXES: [u64; 6] = [4, 6, 6, 6, 4, 4];

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let net = residual::network(match id {
        "ssd300-r18" => "resnet18",
        "ssd300-r34" => "resnet34",
        "ssd300-r50" => "resnet50",
        "ssd300-r101" => "resnet101",
        _ => return None,
    })?;
    let x = n.pictures(3, pictures);
    let mut x = residual::three_stages(n, x, &net);
    let mut maps = vec![x];
    for (squeezed, out, halves) in BEHIND {
        let y = n.conv_norm(x, Conv::new(squeezed, 1), Act::Relu);
        let last = Conv::new(out, 3);
        x = n.conv_norm(y, if halves { last.stride(2) } else { last.padding(0) }, Act::Relu);
        maps.push(x);
    }
    let [places, classes] = [4, CLASSES].map(|outputs| {
        let parts: Vec<Map> =
            maps.iter().zip(BOXES).map(|(&m, boxes)| n.conv(m, Conv::new(boxes * outputs, 3).bias())).collect();
        // One row for each default box.
        let views: Vec<_> = parts.iter().map(|p| n.b.view(p.t, p.t.numel() / outputs, outputs)).collect();
        n.join_all(&views)
    });
    n.b.put(Slot(0), classes);
    n.b.put(Slot(1), places);
    n.b.end_segment(false, false);
    n.b.end_group();
    let classes = n.b.take(Slot(0));
    let places = n.b.take(Slot(1));
    // Where every box lies and what it holds comes with the batch.
    n.b.program.batch_bytes += bytes(places.numel(), Dtype::F32) + bytes(places.rows, Dtype::I64);
    let wide = n.b.cast(places, Dtype::F32);
    let target = n.constant(wide.rows, wide.cols, Dtype::F32);
    let smooth = n.mean_squared_error(wide, target);
    let entropy = n.cross_entropy(classes);
    let total = n.b.add(smooth, entropy);
    n.b.scale(total);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}
