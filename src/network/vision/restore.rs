//! Super-resolution by residual-in-residual dense blocks, as `BasicSR` and Real-ESRGAN write it (`rrdbnet_arch.py`), trained on
//! the mean of absolute differences. The side that a person names is that of the picture that comes out.

use super::{Pictures, repeated};
use crate::network::builder::Keep;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};
use crate::network::{Dtype, Slot};

/// Channels, and those that each convolution of a dense block adds.
const WIDTH: u64 = 64;
const GROWTH: u64 = 32;

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (blocks, times) = match id {
        "esrgan-rrdbnet-x4" => (23, 4),
        _ => return None,
    };
    let (height, width) = ((pictures.height / times).max(1), (pictures.width / times).max(1));
    let x = n.pictures(3, Pictures { height, width, ..pictures });
    let first = n.conv(x, Conv::new(WIDTH, 3).bias());
    n.b.put(Slot(1), first.t);
    let x = n.cut(first, false);
    let x = repeated(n, x, blocks, |n, x| {
        let y = (0..3).fold(x, |y, _| dense(n, y));
        let scaled = n.b.scale(y.t);
        Map { t: n.b.add(scaled, x.t), ..x }
    });
    let y = n.conv(x, Conv::new(WIDTH, 3).bias());
    let first = n.b.take(Slot(1));
    let mut x = Map { t: n.b.add(first, y.t), ..y };
    n.clear(Slot(1));
    for _ in 0..2 {
        x = n.enlarge(x, 2);
        x = n.conv(x, Conv::new(WIDTH, 3).bias());
        x = n.act(x, Act::Relu);
    }
    x = n.conv(x, Conv::new(WIDTH, 3).bias());
    x = n.act(x, Act::Relu);
    let out = n.conv(x, Conv::new(3, 3).bias());
    n.b.put(Slot(0), out.t);
    n.b.end_segment(false, false);
    n.b.end_group();
    let out = n.b.take(Slot(0));
    // The picture as it was comes with the batch.
    n.b.program.batch_bytes += out.numel() * Dtype::F32.bytes();
    let wide = n.b.cast(out, Dtype::F32);
    let gap = n.b.unary(wide, Keep::Input, 0);
    n.b.reduce(gap, 1, 1);
    n.b.end_segment(false, true);
    n.b.end_group();
    Some(())
}

/// Five convolutions, each on all that came before; leaky ReLU in place.
fn dense(n: &mut Layers, x: Map) -> Map {
    let mut parts = vec![x];
    for _ in 0..4 {
        let joined = if parts.len() > 1 { n.cat_maps(&parts) } else { x };
        let y = n.conv(joined, Conv::new(GROWTH, 3).bias());
        parts.push(n.act(y, Act::Relu));
    }
    let joined = n.cat_maps(&parts);
    let out = n.conv(joined, Conv::new(WIDTH, 3).bias());
    let scaled = n.b.scale(out.t);
    Map { t: n.b.add(scaled, x.t), ..x }
}
