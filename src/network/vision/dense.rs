//! DenseNet.

use super::checkpointed;
use crate::network::Slot;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// Growth, first channels and layers of the four blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dense {
    growth: u64,
    first: u64,
    blocks: [u64; 4],
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<Dense> {
    let plain = |blocks| Dense { growth: 32, first: 64, blocks };
    Some(match id {
        "densenet-121" => plain([6, 12, 24, 16]),
        "densenet-161" => Dense { growth: 48, first: 96, blocks: [6, 12, 36, 24] },
        "densenet-169" => plain([6, 12, 32, 32]),
        "densenet-201" => plain([6, 12, 48, 32]),
        _ => return None,
    })
}

/// All layers up to the last ReLU.
pub(super) fn features(n: &mut Layers, x: Map, net: &Dense) -> Map {
    let x = n.conv_norm(x, Conv::new(net.first, 7).stride(2), Act::Relu);
    let mut x = n.max_pool(x, 3, 2, 1);
    x = n.cut(x, false);
    for (stage, &layers) in net.blocks.iter().enumerate() {
        x = if checkpointed(n) { block_again(n, x, net.growth, layers) } else { block(n, x, net.growth, layers) };
        if stage + 1 < net.blocks.len() {
            let y = n.batch_norm(x);
            let y = n.act(y, Act::Relu);
            let y = n.conv(y, Conv::new(x.channels / 2, 1));
            x = n.avg_pool(y, 2, 2, 0);
            x = n.cut(x, false);
        }
    }
    let x = n.batch_norm(x);
    n.act(x, Act::Relu)
}

/// Every layer sees all features before it, concatenated anew: the concatenations are what a DenseNet keeps.
fn block(n: &mut Layers, x: Map, growth: u64, layers: u64) -> Map {
    // The first concatenation has one part and still copies.
    let mut all = n.cat_maps(&[x]);
    for _ in 0..layers {
        let inner = bottleneck(n, all, growth);
        let new = grow(n, inner, growth);
        all = n.cat_maps(&[all, new]);
    }
    all
}

/// torchvision's memory-efficient form: concatenation and bottleneck are computed again, the features are kept.
fn block_again(n: &mut Layers, x: Map, growth: u64, layers: u64) -> Map {
    // One store that the layers fill, as large as all of their features.
    let mut store = n.widen(x, x.channels + layers * growth);
    for layer in 0..layers {
        store = n.cut(store, false);
        let seen = n.narrow_copy(store, x.channels + layer * growth);
        let inner = bottleneck(n, seen, growth);
        n.b.put(Slot(1), inner.t);
        n.b.end_segment(true, false);
        n.b.end_group();
        let t = n.b.take(Slot(1));
        let new = grow(n, Map { t, ..inner }, growth);
        let t = n.b.take(Slot(0));
        store = n.fill(Map { t, ..store }, new);
    }
    n.narrow_copy(store, store.channels)
}

fn bottleneck(n: &mut Layers, all: Map, growth: u64) -> Map {
    let y = n.batch_norm(all);
    let y = n.act(y, Act::Relu);
    n.conv(y, Conv::new(4 * growth, 1))
}

fn grow(n: &mut Layers, inner: Map, growth: u64) -> Map {
    let y = n.batch_norm(inner);
    let y = n.act(y, Act::Relu);
    n.conv(y, Conv::new(growth, 3))
}
