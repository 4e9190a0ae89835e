//! Layers on feature maps, as torchvision and timm write them, on top of the operators of [`super::builder`].

mod conv;
mod join;
mod norm;
mod pool;

use super::builder::{BLANK, Tensor, bytes, promote};
use super::layers::Layers;
use super::vision::Pictures;
use super::{Backward, Dtype, Kind, NONE, Op, SAVE_AUX, SAVE_OUT, Slot};
use crate::project::Checkpointing;
pub(crate) use conv::Conv;
pub(crate) use norm::Act;

/// Feature maps of a batch: a tensor with its channels and its extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    pub(crate) t: Tensor,
    pub(crate) channels: u64,
    pub(crate) height: u64,
    pub(crate) width: u64,
    /// Slices of a volume; 1 for pictures.
    pub(crate) depth: u64,
}

impl Map {
    pub(crate) const fn pixels(self) -> u64 {
        self.height.saturating_mul(self.width).saturating_mul(self.depth)
    }
}

/// The same extent with other contents.
const fn like(map: Map, t: Tensor) -> Map {
    Map { t, channels: t.cols, ..map }
}

impl Layers<'_> {
    /// The pictures of the batch: resident, counted with the batch.
    pub(crate) fn pictures(&mut self, channels: u64, pictures: Pictures) -> Map {
        let Pictures { height, width, depth, .. } = pictures;
        let dtype = if self.b.autocast.is_some() { Dtype::F32 } else { self.config.weights };
        let pixels = height.saturating_mul(width).saturating_mul(depth);
        let rows = self.batch.saturating_mul(pixels);
        self.b.program.batch_bytes += bytes(rows.saturating_mul(channels), dtype);
        let t = self.b.value(rows, channels, dtype, Kind::Weight { trained: false }, NONE, false);
        Map { t, channels, height, width, depth }
    }

    /// Something is computed aside, without gradients, in this many bytes that go again.
    pub(crate) fn aside(&mut self, bytes: u64) {
        self.b.emit(&[], 0, 0, Dtype::U8, Op { temp: bytes, ..BLANK });
    }

    /// A constant that the step makes for itself.
    pub(crate) fn constant(&mut self, rows: u64, cols: u64, dtype: Dtype) -> Tensor {
        self.b.emit(&[], rows, cols, dtype, BLANK)
    }

    /// `cat` of learned tokens, expanded to the batch, and the batch's own.
    pub(crate) fn join_tokens(&mut self, learned: Tensor, own: Tensor, rows: u64) -> Tensor {
        let dtype = promote(learned.dtype, own.dtype);
        let op = Op { backward: Backward::Views, ..BLANK };
        self.b.emit(&[learned, own], rows, own.cols, dtype, op)
    }

    /// The first token of each sample: a view whose backward fills a tensor of the full size.
    pub(crate) fn first_rows(&mut self, t: Tensor) -> Tensor {
        let op = Op { backward: Backward::Fresh, ..BLANK };
        let out = Some((self.batch, t.cols, t.dtype, Kind::Activation, true));
        self.b.push(&[t], out, op).unwrap_or(t)
    }

    /// The mean of each sample's tokens.
    pub(crate) fn average_rows(&mut self, t: Tensor) -> Tensor {
        self.b.emit(&[t], self.batch, t.cols, t.dtype, Op { backward: Backward::Fresh, ..BLANK })
    }

    /// `nn.RMSNorm` on every head of a query or key: fp32 under autocast; keeps its input and one number a head.
    pub(crate) fn head_norm(&mut self, t: Tensor, head: u64) -> Tensor {
        let w = self.weight(head, 1);
        let wide = self.b.autocast.is_some();
        let (x, w) = if wide { (self.b.cast(t, Dtype::F32), self.b.cast(w, Dtype::F32)) } else { (t, w) };
        let aux = bytes(x.numel() / head.max(1), Dtype::F32);
        let op = Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux, ..BLANK };
        self.b.emit(&[x, w], x.rows, x.cols, x.dtype, op)
    }

    /// Rotary embedding of neighbouring pairs in fp32, as diffusers writes it.
    pub(crate) fn rotate_pairs(&mut self, t: Tensor, cos: Tensor, sin: Tensor) -> Tensor {
        let half = t.cols / 2;
        let parts = self.b.split(t, &[half, half]);
        let &[even, odd] = parts.as_slice() else { return t };
        let negated = self.b.scale(odd);
        let turned = self.b.cat(&[negated, even]);
        let wide = self.b.cast(t, Dtype::F32);
        let straight = self.b.mul(wide, cos);
        let turned_wide = self.b.cast(turned, Dtype::F32);
        let crossed = self.b.mul(turned_wide, sin);
        let sum = self.b.add(straight, crossed);
        self.b.touch(turned);
        self.b.cast(sum, t.dtype)
    }

    /// Mean squared error: keeps both.
    pub(crate) fn mean_squared_error(&mut self, a: Tensor, b: Tensor) -> Tensor {
        let op = Op { backward: Backward::Fresh, saves: 0b11, ..BLANK };
        self.b.emit(&[a, b], 1, 1, Dtype::F32, op)
    }

    /// Weights that lie on the card and are not trained.
    pub(crate) fn frozen_weights(&mut self, numel: u64, dtype: Dtype) {
        if numel > 0 {
            self.b.weight(numel, 1, dtype, false);
        }
    }

    /// Writes operators of a part that is run without gradients and whose weights are counted elsewhere.
    pub(crate) fn untrained(&mut self, write: impl FnOnce(&mut Self)) {
        let trained = std::mem::replace(&mut self.trained, false);
        let autocast = self.b.autocast.take();
        let counted = self.b.program.weights.len();
        write(self);
        self.b.program.weights.truncate(counted + 1);
        self.b.autocast = autocast;
        self.trained = trained;
    }

    /// Samples of maps at given places (`roi_align`, deformable convolutions): backward fills maps of the full size.
    pub(crate) fn sample(&mut self, t: Tensor, rows: u64) -> Tensor {
        self.b.emit(&[t], rows, t.cols, t.dtype, Op { backward: Backward::Fresh, ..BLANK })
    }

    /// `torch.gather` of rows: keeps what it takes them from, and an index for every element.
    pub(crate) fn pick(&mut self, t: Tensor, rows: u64) -> Tensor {
        let aux = bytes(rows * t.cols, Dtype::I64);
        let op = Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux, ..BLANK };
        self.b.emit(&[t], rows, t.cols, t.dtype, op)
    }

    /// `grid_sample`: keeps maps and places, in fp32 under autocast.
    pub(crate) fn grid_sample(&mut self, t: Tensor, at: Tensor, rows: u64, cols: u64) -> Tensor {
        let wide = |n: &mut Self, t: Tensor| if n.b.autocast.is_some() { n.b.cast(t, Dtype::F32) } else { t };
        let (t, at) = (wide(self, t), wide(self, at));
        let op = Op { backward: Backward::Fresh, saves: 0b11, ..BLANK };
        self.b.emit(&[t, at], rows, cols, t.dtype, op)
    }

    /// Lets go of what lies in a slot.
    pub(crate) fn clear(&mut self, slot: Slot) {
        let nothing = self.b.value(0, 0, Dtype::U8, Kind::Activation, NONE, false);
        self.b.put(slot, nothing);
    }

    /// Closes the segment under way inside a group of several.
    pub(crate) fn cut_member(&mut self, x: Map) -> Map {
        let checkpointed = self.config.checkpointing != Checkpointing::Off;
        self.b.put(Slot(0), x.t);
        self.b.end_segment(checkpointed, false);
        let t = self.b.take(Slot(0));
        Map { t, ..x }
    }

    /// Closes the segment under way and starts the next with the same maps.
    pub(crate) fn cut(&mut self, x: Map, checkpointed: bool) -> Map {
        self.b.put(Slot(0), x.t);
        self.b.end_segment(checkpointed, false);
        self.b.end_group();
        let t = self.b.take(Slot(0));
        Map { t, ..x }
    }

    /// A linear layer on one vector for each sample.
    pub(crate) fn fully_connected(&mut self, x: Tensor, out: u64) -> Tensor {
        let w = self.weight(out, x.cols);
        let b = self.weight(out, 1);
        self.b.linear(x, w, Some(b))
    }

    /// The maps of each sample as one vector.
    pub(crate) fn flatten(&mut self, x: Map) -> Tensor {
        self.b.view(x.t, self.batch, x.channels * x.pixels())
    }

    /// Cross-entropy on logits: log-probabilities as they come, the likelihood in fp32 under autocast; both are kept.
    pub(crate) fn cross_entropy(&mut self, logits: Tensor) -> Tensor {
        let op = Op { backward: Backward::Fresh, saves: SAVE_OUT, ..BLANK };
        let mut log = self.b.emit_kind(&[logits], logits.rows, logits.cols, logits.dtype, Kind::Logits, op);
        if self.b.autocast.is_some() {
            let wide = self.b.cast(log, Dtype::F32);
            log = self.b.as_logits(wide);
        }
        let op = Op { backward: Backward::Fresh, saves: 1, ..BLANK };
        self.b.emit(&[log], 1, 1, Dtype::F32, op)
    }
}
