//! The YOLO family as ultralytics and yolov5 write it: a stem, four stages, pooling, four stages of the neck, a head.
//!
//! Versions differ by the block that stands at these eight places, by how maps are halved, and by the head
//! (`ultralytics/cfg/models`, `nn/modules/block.py`, `head.py`, `utils/loss.py`; `yolov5/models`).

mod blocks;
mod head;
mod versions;

use super::Pictures;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use blocks::{Block, Halve, halve};
pub(super) use head::Head;

/// What comes behind the last stage of the backbone.
#[derive(Clone, Copy, Debug)]
enum Pool {
    /// `SPPF`: three poolings one after another; with or without an activation in front, plus its input or not.
    Fast {
        act: bool,
        add: bool,
    },
    /// `SPPELAN` of this inner width.
    Elan(u64),
    None,
}

/// Self-attention on the coarsest maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attention {
    None,
    /// `C2PSA` with so many blocks; `PSA` is one.
    Partial(u64),
}

/// A network.
#[derive(Clone, Copy, Debug)]
struct Net {
    /// Kernel of the first convolution: 3, or 6 in `YOLOv5`.
    first: u64,
    /// Channels of the first two convolutions.
    stem: [u64; 2],
    /// Block and channels of the stages.
    stages: [(Block, u64); 4],
    /// How maps are halved before the second, third and fourth stage, and to how many channels.
    halves: [(Halve, u64); 3],
    pool: Pool,
    attention: Attention,
    /// The four stages of the neck: down to 1/16 and 1/8, up to 1/16 and 1/32.
    neck: [(Block, u64); 4],
    neck_halves: [(Halve, u64); 2],
    /// 1 x 1 convolutions before maps are enlarged (`YOLOv5`).
    squeezes: bool,
    head: Head,
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let net = versions::network(id)?;
    let x = n.pictures(3, pictures);
    let levels = features(n, x, &net);
    // COCO's classes where nobody says how many.
    // Four pictures make a mosaic: the fullest and three of the usual, which makes 115 for 93 in COCO and 1,064 for 902 in
    // VisDrone.
    let objects = pictures.objects.saturating_add(pictures.objects / 5);
    let labels = head::Labels { classes: pictures.classes_or(80), objects };
    head::write(n, &levels, &net.head, labels);
    Some(())
}

/// Convolution, batch norm, `SiLU`.
fn conv(n: &mut Layers, x: Map, out: u64, kernel: u64, stride: u64) -> Map {
    n.conv_norm(x, Conv::new(out, kernel).stride(stride), Act::Silu)
}

/// The three levels that the head is fed.
fn features(n: &mut Layers, x: Map, net: &Net) -> [Map; 3] {
    let first = Conv::new(net.stem[0], net.first).stride(2).padding(if net.first == 6 { 2 } else { 1 });
    let x = n.conv_norm(x, first, Act::Silu);
    let mut x = conv(n, x, net.stem[1], 3, 2);
    let mut stages = [x; 4];
    for (k, &(block, width)) in net.stages.iter().enumerate() {
        if let Some(&(kind, channels)) = k.checked_sub(1).and_then(|k| net.halves.get(k)) {
            x = halve(n, x, kind, channels);
        }
        x = blocks::write(n, x, block, width);
        stages[k] = x;
    }
    x = pool(n, x, net.pool, net.stages[3].1);
    if let Attention::Partial(times) = net.attention {
        x = blocks::partial_attention(n, x, times);
    }
    // The way down keeps what the way up is joined with.
    let mut kept = Vec::new();
    for (&(block, width), fine) in net.neck.iter().zip([stages[2], stages[1]]) {
        if net.squeezes {
            x = conv(n, x, fine.channels, 1, 1);
        }
        kept.push(x);
        let enlarged = n.enlarge(x, 2);
        let joined = n.cat_maps(&[enlarged, fine]);
        x = blocks::write(n, joined, block, width);
    }
    let mut levels = [x; 3];
    for (k, (&(block, width), &(kind, channels))) in net.neck[2..].iter().zip(&net.neck_halves).enumerate() {
        let down = halve(n, x, kind, channels);
        let Some(same) = kept.pop() else { break };
        let joined = n.cat_maps(&[down, same]);
        x = blocks::write(n, joined, block, width);
        levels[k + 1] = x;
    }
    levels
}

fn pool(n: &mut Layers, x: Map, pool: Pool, out: u64) -> Map {
    let (inner, act) = match pool {
        Pool::Fast { act, .. } => (x.channels / 2, act),
        Pool::Elan(inner) => (inner, true),
        Pool::None => return x,
    };
    let mut parts = vec![n.conv_norm(x, Conv::new(inner, 1), if act { Act::Silu } else { Act::None })];
    for k in 0..3 {
        parts.push(n.max_pool(parts[k], 5, 1, 2));
    }
    let joined = n.cat_maps(&parts);
    let y = conv(n, joined, out, 1, 1);
    match pool {
        Pool::Fast { add: true, .. } => n.add_maps(y, x),
        _ => y,
    }
}
