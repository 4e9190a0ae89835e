//! Pooling and enlarging.

use super::super::builder::{BLANK, bytes};
use super::super::layers::Layers;
use super::super::{Backward, Dtype, Op, SAVE_AUX};
use super::Map;

impl Layers<'_> {
    /// Max pooling: keeps its input and 64-bit indices.
    pub(crate) fn max_pool(&mut self, x: Map, kernel: u64, stride: u64, padding: u64) -> Map {
        let y = Self::pooled(x, kernel, stride, padding);
        let rows = self.batch * y.pixels();
        let op =
            Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux: bytes(rows * x.channels, Dtype::I64), ..BLANK };
        let t = self.b.emit(&[x.t], rows, x.channels, x.t.dtype, op);
        Map { t, ..y }
    }

    /// Average pooling: keeps its input (`avg_pool2d` hands it to backward for its shape).
    pub(crate) fn avg_pool(&mut self, x: Map, kernel: u64, stride: u64, padding: u64) -> Map {
        let y = Self::pooled(x, kernel, stride, padding);
        let rows = self.batch * y.pixels();
        let op = Op { backward: Backward::Fresh, saves: 1, ..BLANK };
        let t = self.b.emit(&[x.t], rows, x.channels, x.t.dtype, op);
        Map { t, ..y }
    }

    fn pooled(x: Map, kernel: u64, stride: u64, padding: u64) -> Map {
        let size = |n: u64| (n + 2 * padding).saturating_sub(kernel) / stride.max(1) + 1;
        let depth = if x.depth > 1 { size(x.depth) } else { x.depth };
        Map { height: size(x.height), width: size(x.width), depth, ..x }
    }

    /// The mean over all pixels (adaptive average pooling to 1 x 1).
    pub(crate) fn global_pool(&mut self, x: Map) -> Map {
        let op = Op { backward: Backward::Fresh, ..BLANK };
        let t = self.b.emit(&[x.t], self.batch, x.channels, x.t.dtype, op);
        Map { t, channels: x.channels, height: 1, width: 1, depth: 1 }
    }

    /// Adaptive pooling to a given side: keeps its input.
    pub(crate) fn adaptive_pool(&mut self, x: Map, side: u64) -> Map {
        let rows = self.batch * side * side;
        let op = Op { backward: Backward::Fresh, saves: 1, ..BLANK };
        let t = self.b.emit(&[x.t], rows, x.channels, x.t.dtype, op);
        Map { t, channels: x.channels, height: side, width: side, depth: 1 }
    }

    /// Interpolation to a size; autocast runs it in fp32.
    pub(crate) fn resize(&mut self, x: Map, height: u64, width: u64) -> Map {
        let x = if self.b.autocast.is_some() { Map { t: self.b.cast(x.t, Dtype::F32), ..x } } else { x };
        let rows = self.batch * height * width * x.depth;
        let op = Op { backward: Backward::Fresh, ..BLANK };
        let t = self.b.emit(&[x.t], rows, x.channels, x.t.dtype, op);
        Map { t, height, width, ..x }
    }
}
