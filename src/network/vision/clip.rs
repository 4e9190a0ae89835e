//! CLIP, as transformers writes it: a tower for pictures, one for texts, and every picture compared with every text.

use super::Pictures;
use super::vit::{self, Attention, Vit};
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Layers, Role};
use crate::network::maps::{Conv, Map};
use crate::network::{Dtype, Slot};

/// Byte pairs, and tokens of a text.
const WORDS: u64 = 49_408;
const TOKENS: u64 = 77;

/// The towers of pictures and of texts, and the width in which they meet.
fn network(id: &str) -> Option<(Vit, Vit, u64)> {
    let tower = |patch, width, layers, heads| Vit { quick_gelu: true, ..vit::plain(patch, width, layers, heads) };
    let small = tower(0, 512, 12, 8);
    Some(match id {
        "clip-b-32" => (tower(32, 768, 12, 12), small, 512),
        "clip-b-16" => (tower(16, 768, 12, 12), small, 512),
        "clip-l-14" | "clip-l-14-336" => (tower(14, 1024, 24, 16), tower(0, 768, 12, 12), 768),
        "clip-h-14" => (vit::plain(14, 1280, 32, 16), vit::plain(0, 1024, 24, 16), 1024),
        "clip-bigg-14" => {
            let pictures = Vit { mlp: 8192, ..vit::plain(14, 1664, 48, 16) };
            (pictures, vit::plain(0, 1280, 32, 20), 1280)
        }
        _ => return None,
    })
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (seen, said, width) = network(id)?;
    let (seen, said) = (Vit { attention: Attention::Apart, ..seen }, Vit { attention: Attention::Apart, ..said });
    let picture = picture(n, &seen, width, pictures);
    n.b.put(Slot(4), picture);
    let text = texts(n, &Vit { causal: true, ..said }, width);
    n.b.put(Slot(3), text);
    n.b.end_segment(false, false);
    n.b.end_group();
    let (text, picture) = (n.b.take(Slot(3)), n.b.take(Slot(4)));
    let [text, picture] = [text, picture].map(|t| normalized(n, t));
    let scale = n.weight(1, 1);
    let flops = 2.0 * (n.batch * n.batch * width) as f64;
    let pairs = n.b.matmul(text, picture, n.batch, n.batch, flops);
    let pairs = n.b.mul(pairs, scale);
    let by_text = n.cross_entropy(pairs);
    let turned = n.b.view(pairs, pairs.rows, pairs.cols);
    let by_picture = n.cross_entropy(turned);
    let sum = n.b.add(by_text, by_picture);
    n.b.scale(sum);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

/// Divided by its length.
pub(super) fn normalized(n: &mut Layers, t: Tensor) -> Tensor {
    let square = n.b.pow(t);
    let length = n.b.mean(square);
    n.b.mul(t, length)
}

/// The text tower of a CLIP with so many columns, layers and heads, up to its last norm: a row for each token.
pub(in crate::network) fn text_tower(n: &mut Layers, width: u64, layers: u64, heads: u64, quick_gelu: bool) -> Tensor {
    let net = Vit { attention: Attention::Apart, causal: true, quick_gelu, ..vit::plain(0, width, layers, heads) };
    tokens(n, &net)
}

fn texts(n: &mut Layers, net: &Vit, width: u64) -> Tensor {
    let normed = tokens(n, net);
    // The token that ends a text stands for it.
    let last = n.b.gather(normed, n.batch);
    n.linear(last, width, false, Role::Outside)
}

/// Words and positions, all blocks, the last norm.
fn tokens(n: &mut Layers, net: &Vit) -> Tensor {
    let rows = n.batch * TOKENS;
    n.b.program.batch_bytes += bytes(rows, Dtype::I64);
    let table = n.weight(WORDS, net.width);
    let words = n.b.embedding(table, rows);
    let positions = n.weight(TOKENS, net.width);
    let t = n.b.add(words, positions);
    let x = Map { t, channels: net.width, height: TOKENS, width: 1, depth: 1 };
    let x = n.cut(x, false);
    let x = vit::blocks(n, x, net);
    n.channel_norm(x).t
}

fn picture(n: &mut Layers, net: &Vit, width: u64, pictures: Pictures) -> Tensor {
    let x = n.pictures(3, pictures);
    let patches = n.conv(x, Conv::new(net.width, net.patch).stride(net.patch).padding(0));
    let count = patches.pixels() + 1;
    let class = n.weight(1, net.width);
    let t = n.join_tokens(class, patches.t, n.batch * count);
    let positions = n.weight(count, net.width);
    let t = n.b.add(t, positions);
    let x = n.channel_norm(Map { t, channels: net.width, height: count, width: 1, depth: 1 });
    let x = n.cut(x, false);
    let x = vit::blocks(n, x, net);
    let first = n.first_rows(x.t);
    let normed = n.layer_norm(first, true, true);
    n.linear(normed, width, false, Role::Outside)
}
