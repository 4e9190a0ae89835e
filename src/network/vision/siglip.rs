//! `SigLIP`, as transformers writes it (`modeling_siglip.py`): a tower for pictures, one for texts, every pair judged by itself.

use super::Pictures;
use super::clip::normalized;
use super::vit::{self, Attention, Vit};
use crate::network::builder::{Tensor, bytes};
use crate::network::layers::{Heads, Layers, Role};
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// Pieces of words, and tokens of a text.
const WORDS: u64 = 32_000;
const TOKENS: u64 = 64;

/// The towers of pictures and of texts.
fn network(id: &str) -> Option<(Vit, Vit)> {
    let tower = |patch, width, layers, heads, mlp| Vit {
        attention: Attention::Apart,
        mlp,
        ..vit::plain(patch, width, layers, heads)
    };
    Some(match id {
        "siglip-b-16" => (tower(16, 768, 12, 12, 3072), tower(0, 768, 12, 12, 3072)),
        "siglip-so400m-14-384" => (tower(14, 1152, 27, 16, 4304), tower(0, 1152, 27, 16, 4304)),
        _ => return None,
    })
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (seen, said) = network(id)?;
    let picture = picture(n, &seen, pictures);
    n.b.put(Slot(4), picture);
    let text = text(n, &said);
    n.b.put(Slot(3), text);
    n.b.end_segment(false, false);
    n.b.end_group();
    let (text, picture) = (n.b.take(Slot(3)), n.b.take(Slot(4)));
    let [text, picture] = [text, picture].map(|t| normalized(n, t));
    let pairs = n.batch * n.batch;
    let logits = n.b.matmul(text, picture, n.batch, n.batch, 2.0 * (pairs * said.width) as f64);
    let (scale, shift) = (n.weight(1, 1), n.weight(1, 1));
    let scaled = n.b.mul(logits, scale);
    let shifted = n.b.add(scaled, shift);
    // The logarithm of a sigmoid of each pair, whose input is kept.
    let likely = n.act_tensor(shifted, Act::Gelu);
    n.b.reduce(likely, 1, 1);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

fn text(n: &mut Layers, net: &Vit) -> Tensor {
    let rows = n.batch * TOKENS;
    n.b.program.batch_bytes += bytes(rows, Dtype::I64);
    let table = n.weight(WORDS, net.width);
    let words = n.b.embedding(table, rows);
    let positions = n.weight(TOKENS, net.width);
    let t = n.b.add(words, positions);
    let x = n.cut(Map { t, channels: net.width, height: TOKENS, width: 1, depth: 1 }, false);
    let x = vit::blocks(n, x, net);
    let normed = n.channel_norm(x);
    let last = n.b.gather(normed.t, n.batch);
    n.linear(last, net.width, true, Role::Outside)
}

fn picture(n: &mut Layers, net: &Vit, pictures: Pictures) -> Tensor {
    let x = n.pictures(3, pictures);
    let patches = n.conv(x, Conv::new(net.width, net.patch).stride(net.patch).padding(0).bias());
    let count = patches.pixels();
    let positions = n.weight(count, net.width);
    let t = n.b.add(patches.t, positions);
    let x = n.cut(Map { t, channels: net.width, height: count, width: 1, depth: 1 }, false);
    let x = vit::blocks(n, x, net);
    let normed = n.channel_norm(x);
    pool(n, normed.t, net, count)
}

/// `SiglipMultiheadAttentionPoolingHead`: one learned query looks at all patches, then a feed-forward part.
fn pool(n: &mut Layers, tokens: Tensor, net: &Vit, count: u64) -> Tensor {
    let probe = n.weight(1, net.width);
    let query = n.b.gather(probe, n.batch);
    let query = n.linear(query, net.width, true, Role::Outside);
    let both = n.linear(tokens, 2 * net.width, true, Role::Outside);
    let apart = n.b.copy(both, both.rows, both.cols);
    let parts = n.b.split(apart, &[net.width; 2]);
    let &[key, value] = parts.as_slice() else { return tokens };
    let head = net.width / net.heads.max(1);
    let out = n.attention(query, key, value, Heads::dense(net.heads, head, 1, count), None);
    let out = n.linear(out, net.width, true, Role::Outside);
    let normed = n.layer_norm(out, true, true);
    let inner = n.linear(normed, net.mlp, true, Role::Outside);
    let inner = n.act_tensor(inner, Act::Gelu);
    let inner = n.linear(inner, net.width, true, Role::Outside);
    n.b.add(out, inner)
}
