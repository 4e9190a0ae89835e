//! Masked autoencoders, as transformers writes them (`modeling_vit_mae.py`): an encoder that sees a quarter of the patches, a
//! small decoder that paints the others.

use super::Pictures;
use super::vit::{self, Attention, Vit};
use crate::network::builder::{Kernel, Tensor};
use crate::network::layers::{Layers, Role};
use crate::network::maps::{Conv, Map};
use crate::network::{Dtype, Slot};

/// Columns, layers and heads of the decoder.
const DECODER: (u64, u64, u64) = (512, 8, 16);

/// The encoder with this id.
fn network(id: &str) -> Option<Vit> {
    let net = match id {
        "mae-b" => vit::plain(16, 768, 12, 12),
        "mae-l" => vit::plain(16, 1024, 24, 16),
        "mae-h" => vit::plain(14, 1280, 32, 16),
        _ => return None,
    };
    Some(Vit { attention: Attention::Apart, ..net })
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let net = network(id)?;
    let x = n.pictures(3, pictures);
    let patches = n.conv(x, Conv::new(net.width, net.patch).stride(net.patch).padding(0).bias());
    let count = patches.pixels();
    let kept = (count / 4).max(1);
    let batch = n.batch;
    // Positions are sines, which nobody trains.
    let positions = fixed(n, count + 1, net.width);
    let placed = n.b.add(patches.t, positions);
    let seen = chosen(n, placed, batch * kept);
    let class = n.weight(1, net.width);
    let t = n.join_tokens(class, seen, batch * (kept + 1));
    let tokens = |t, channels, height| Map { t, channels, height, width: 1, depth: 1 };
    let x = n.cut(tokens(t, net.width, kept + 1), false);
    let x = vit::blocks(n, x, &net);
    let normed = n.channel_norm(x);
    let (width, layers, heads) = DECODER;
    let t = n.linear(normed.t, width, true, Role::Outside);
    // Mask tokens fill up to all places, which are then put in order.
    let mask = n.weight(1, width);
    let filled = n.join_tokens(mask, t, batch * count);
    let ordered = chosen(n, filled, batch * count);
    let all = n.join_tokens(t, ordered, batch * (count + 1));
    let positions = fixed(n, count + 1, width);
    let placed = n.b.add(all, positions);
    let x = n.cut(tokens(placed, width, count + 1), false);
    let decoder = Vit { attention: Attention::Apart, ..vit::plain(net.patch, width, layers, heads) };
    let x = vit::blocks(n, x, &decoder);
    let normed = n.channel_norm(x);
    let pixels = net.patch * net.patch * 3;
    let out = n.linear(normed.t, pixels, true, Role::Outside);
    n.b.put(Slot(0), out);
    n.b.end_segment(false, false);
    n.b.end_group();
    let out = n.b.take(Slot(0));
    let painted = n.b.slice(out, pixels);
    // The pictures cut into patches, a copy.
    let target = n.constant(out.rows, pixels, Dtype::F32);
    let gap = n.b.add(painted, target);
    // The mean's gradient is written out for every pixel, and twice the gap beside it.
    let kernel = Kernel { saves: 1, back_temp: 3 * gap.bytes(), ..Kernel::default() };
    let square = n.b.fused(&[gap], gap.rows, gap.cols, gap.dtype, kernel);
    let each = n.b.reduce(square, square.rows, 1);
    n.b.scale(each);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

/// A table of positions that is a frozen weight.
fn fixed(n: &mut Layers, rows: u64, width: u64) -> Tensor {
    let trained = std::mem::replace(&mut n.trained, false);
    let table = n.weight(rows, width);
    n.trained = trained;
    table
}

/// `torch.gather` of whole rows by an index that is written out for every column: both are kept, and the gradient fills all
/// places.
fn chosen(n: &mut Layers, t: Tensor, rows: u64) -> Tensor {
    let index = n.constant(rows, t.cols, Dtype::I64);
    let kernel = Kernel { saves: 0b11, ..Kernel::default() };
    n.b.fused(&[t, index], rows, t.cols, t.dtype, kernel)
}
