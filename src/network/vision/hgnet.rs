//! `HGNetV2` as ultralytics writes it (`HGStem`, `HGBlock`, `LightConv` in `nn/modules/block.py`): each block joins the
//! results of six convolutions.

use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// Channels of the stem and of a block's convolutions in the first stage, blocks of the four stages.
pub(super) struct HgNet {
    width: u64,
    blocks: [u64; 4],
}

/// The larger or the smaller of the two that RT-DETR takes (`cfg/models/rt-detr`).
pub(super) const fn network(large: bool) -> HgNet {
    if large { HgNet { width: 64, blocks: [1, 2, 5, 2] } } else { HgNet { width: 48, blocks: [1, 1, 3, 1] } }
}

/// A row and a column more at two sides, which is a copy.
fn padded(n: &mut Layers, x: Map) -> Map {
    let t = n.b.copy(x.t, n.batch * (x.height + 1) * (x.width + 1), x.channels);
    Map { t, height: x.height + 1, width: x.width + 1, ..x }
}

/// The maps of all four stages.
pub(super) fn stages(n: &mut Layers, x: Map, net: &HgNet) -> [Map; 4] {
    let x = n.conv_norm(x, Conv::new(32, 3).stride(2), Act::Relu);
    let x = padded(n, x);
    let y = n.conv_norm(x, Conv::new(16, 2).padding(0), Act::Relu);
    let y = padded(n, y);
    let y = n.conv_norm(y, Conv::new(32, 2).padding(0), Act::Relu);
    let pooled = n.max_pool(x, 2, 1, 0);
    let x = n.cat_maps(&[pooled, y]);
    let x = n.conv_norm(x, Conv::new(32, 3).stride(2), Act::Relu);
    let mut x = n.conv_norm(x, Conv::new(net.width, 1), Act::Relu);
    let mut stages = [x; 4];
    for (stage, (kept, &blocks)) in stages.iter_mut().zip(&net.blocks).enumerate() {
        if stage > 0 {
            x = n.conv_norm(x, Conv::new(x.channels, 3).stride(2).groups(x.channels), Act::None);
        }
        let out = if stage == 0 { 128 } else { 256 << stage };
        for index in 0..blocks {
            x = block(n, x, net.width << stage, out, stage > 1, index > 0);
        }
        *kept = x;
    }
    stages
}

fn block(n: &mut Layers, x: Map, inside: u64, out: u64, light: bool, adds: bool) -> Map {
    let mut parts = vec![x];
    let mut y = x;
    for _ in 0..6 {
        y = if light {
            let mixed = n.conv_norm(y, Conv::new(inside, 1), Act::None);
            n.conv_norm(mixed, Conv::new(inside, 5).groups(inside), Act::Relu)
        } else {
            n.conv_norm(y, Conv::new(inside, 3), Act::Relu)
        };
        parts.push(y);
    }
    let joined = n.cat_maps(&parts);
    let y = n.conv_norm(joined, Conv::new(out / 2, 1), Act::Relu);
    let y = n.conv_norm(y, Conv::new(out, 1), Act::Relu);
    if adds { n.add_maps(y, x) } else { y }
}
