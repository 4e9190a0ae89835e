//! MLP-Mixer, as timm writes it (`mlp_mixer.py`).

use super::{finish, repeated, trains_head};
use crate::network::layers::{Layers, Role};
use crate::network::maps::{Act, Conv, Map};

/// Width, layers, inner widths over places and over channels.
pub(super) fn network(id: &str) -> Option<(u64, u64, u64, u64)> {
    (id == "mixer-b-16").then_some((768, 12, 384, 3072))
}

/// Patches, blocks, norm, mean, classifier, loss.
pub(super) fn write(n: &mut Layers, x: Map, net: (u64, u64, u64, u64), classes: u64) {
    let (width, layers, over_places, over_channels) = net;
    let mut x = n.conv(x, Conv::new(width, 16).stride(16).padding(0).bias());
    x = n.cut(x, false);
    x = repeated(n, x, layers, |n, x| {
        let places = x.pixels();
        let normed = n.channel_norm(x);
        // Places and channels change sides, by a copy that the product makes for itself.
        let turned = n.b.copy(normed.t, n.batch * width, places);
        let inner = n.linear(turned, over_places, true, Role::Mlp);
        let inner = n.act_tensor(inner, Act::Gelu);
        let mixed = n.linear(inner, places, true, Role::Mlp);
        let back = n.b.view(mixed, x.t.rows, width);
        let sum = n.b.add(x.t, back);
        let normed = n.layer_norm(sum, true, true);
        let inner = n.linear(normed, over_channels, true, Role::Mlp);
        let inner = n.act_tensor(inner, Act::Gelu);
        let out = n.linear(inner, width, true, Role::Mlp);
        let t = n.b.add(sum, out);
        Map { t, ..x }
    });
    let x = n.channel_norm(x);
    let mean = n.average_rows(x.t);
    n.trained = trains_head(n);
    let logits = n.fully_connected(mean, classes);
    finish(n, logits);
}
