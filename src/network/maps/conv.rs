//! Convolutions.

use super::super::builder::{BLANK, Tensor};
use super::super::layers::Layers;
use super::super::{Backward, Dtype, Op};
use super::Map;

/// A convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv {
    out: u64,
    kernel: (u64, u64),
    stride: u64,
    padding: (u64, u64),
    dilation: u64,
    groups: u64,
    bias: bool,
    /// Convolves through the slices too, with this kernel and stride.
    through: Option<(u64, u64)>,
}

impl Conv {
    /// A square kernel, padded so that stride 1 keeps the size; no bias.
    pub(crate) const fn new(out: u64, kernel: u64) -> Self {
        let half = kernel / 2;
        Self {
            out,
            kernel: (kernel, kernel),
            stride: 1,
            padding: (half, half),
            dilation: 1,
            groups: 1,
            bias: false,
            through: None,
        }
    }

    pub(crate) const fn stride(self, stride: u64) -> Self {
        Self { stride, ..self }
    }

    pub(crate) const fn groups(self, groups: u64) -> Self {
        Self { groups, ..self }
    }

    pub(crate) const fn bias(self) -> Self {
        Self { bias: true, ..self }
    }

    pub(crate) const fn padding(self, padding: u64) -> Self {
        Self { padding: (padding, padding), ..self }
    }

    /// Through the slices of a volume as well.
    pub(crate) const fn volume(self) -> Self {
        Self { through: Some((self.kernel.0, self.stride)), ..self }
    }

    /// Rectangular kernels (Inception's 1 x 7), padded to keep the size.
    pub(crate) const fn rectangle(self, height: u64, width: u64) -> Self {
        Self { kernel: (height, width), padding: (height / 2, width / 2), ..self }
    }

    /// Atrous convolution, padded to keep the size.
    pub(crate) const fn dilation(self, dilation: u64) -> Self {
        let (h, w) = self.padding;
        Self { dilation, padding: (h * dilation, w * dilation), ..self }
    }
}

impl Layers<'_> {
    /// A convolution without norm.
    pub(crate) fn conv(&mut self, x: Map, conv: Conv) -> Map {
        let weights = self.conv_weights(x.channels, conv);
        self.conv_with(x, conv, weights)
    }

    /// The weights of a convolution that is used more than once.
    pub(crate) fn conv_weights(&mut self, channels: u64, conv: Conv) -> (Tensor, Option<Tensor>) {
        let taps = conv.kernel.0 * conv.kernel.1 * conv.through.map_or(1, |(k, _)| k);
        let input = channels / conv.groups.max(1);
        let w = self.weight(conv.out, input * taps);
        self.factored_over(conv.kernel.1, conv.kernel.0);
        (w, conv.bias.then(|| self.weight(conv.out, 1)))
    }

    /// A kernel is factored over its last two dimensions only (Adafactor).
    fn factored_over(&mut self, last: u64, before: u64) {
        if let Some(weight) = self.b.program.weights.last_mut() {
            weight.factors = (weight.numel / last.max(1), weight.numel / before.max(1));
        }
    }

    /// A convolution with these weights.
    pub(crate) fn conv_with(&mut self, x: Map, conv: Conv, (w, b): (Tensor, Option<Tensor>)) -> Map {
        let size = |n: u64, k: u64, p: u64, s: u64, d: u64| (n + 2 * p).saturating_sub(d * (k - 1) + 1) / s + 1;
        let (kernel, padding, stride, dilation) = (conv.kernel, conv.padding, conv.stride, conv.dilation);
        let height = size(x.height, kernel.0, padding.0, stride, dilation);
        let width = size(x.width, kernel.1, padding.1, stride, dilation);
        let depth = conv.through.map_or(x.depth, |(k, s)| size(x.depth, k, k / 2, s, 1));
        // Rows of maps that lie one below the other (boxes of a picture) keep their count.
        let rows = if height == x.height && width == x.width && depth == x.depth {
            x.t.rows
        } else {
            self.batch * height * width * depth
        };
        let flops = 2.0 * rows as f64 * w.numel() as f64;
        let dense = conv.groups == 1 && kernel != (1, 1) && kernel.0 != stride;
        let tiled = dense && kernel == (3, 3) && stride == 1 && dilation == 1 && conv.through.is_none();
        let transformed = if tiled {
            // Boxes that lie one below the other are tiled each by itself: 4 x 4 tiles of a width, and as many rows.
            let tiles = (rows / width.max(1)).div_ceil(4) * width.div_ceil(4);
            36 * Dtype::F32.bytes() * (tiles * (x.channels + conv.out) + x.channels * conv.out)
        } else {
            0
        };
        self.b.program.transformed = self.b.program.transformed.max(transformed);
        let scratch = if self.config.code.transforms_convolutions { transformed } else { 0 };
        let t = self.convolve_in(scratch, x.t, (w, b), (conv.out, rows), flops);
        let ends = if dense { x.t.bytes() + t.bytes() } else { 1 };
        self.b.program.convolution = self.b.program.convolution.max(ends);
        Map { t, channels: conv.out, height, width, depth }
    }

    /// A convolution over a line, three wide, that takes every second place.
    pub(crate) fn conv_halved(&mut self, x: Map, out: u64) -> Map {
        self.line(x, out, (3, 2, 1), true)
    }

    /// A convolution over a line, this wide and without bias, that takes every second place.
    pub(crate) fn conv_halved_wide(&mut self, x: Map, out: u64, kernel: u64) -> Map {
        self.line(x, out, (kernel, 2, kernel / 2), false)
    }

    /// A convolution over a line without padding.
    pub(crate) fn conv_line(&mut self, x: Map, out: u64, kernel: u64, stride: u64, bias: bool) -> Map {
        self.line(x, out, (kernel, stride, 0), bias)
    }

    fn line(&mut self, x: Map, out: u64, (kernel, stride, padding): (u64, u64, u64), bias: bool) -> Map {
        let w = self.weight(out, x.channels * kernel);
        self.factored_over(kernel, x.channels);
        let b = bias.then(|| self.weight(out, 1));
        let width = (x.width + 2 * padding).saturating_sub(kernel) / stride + 1;
        let rows = self.batch * width;
        let t = self.convolve(x.t, w, b, out, rows, 2.0 * rows as f64 * w.numel() as f64);
        Map { t, channels: out, width, ..x }
    }

    /// A transposed convolution that enlarges by its stride.
    pub(crate) fn conv_transpose(&mut self, x: Map, out: u64, kernel: u64, stride: u64, bias: bool) -> Map {
        let volume = x.depth > 1;
        let taps = kernel * kernel * if volume { kernel } else { 1 };
        let w = self.weight(x.channels, out * taps);
        self.factored_over(kernel, kernel);
        let depth = if volume { x.depth * stride } else { 1 };
        let (height, width) = (x.height * stride, x.width * stride);
        let rows = self.batch * height * width * depth;
        let flops = 2.0 * x.t.rows as f64 * w.numel() as f64;
        let b = bias.then(|| self.weight(out, 1));
        let t = self.convolve(x.t, w, b, out, rows, flops);
        Map { t, channels: out, height, width, depth }
    }

    /// `convolution`: keeps input and weight, even where only one of them wants a gradient, because backward makes all
    /// three in one kernel.
    pub(crate) fn convolve(
        &mut self,
        x: Tensor,
        w: Tensor,
        b: Option<Tensor>,
        out: u64,
        rows: u64,
        flops: f64,
    ) -> Tensor {
        self.convolve_in(0, x, (w, b), (out, rows), flops)
    }

    /// The same with a workspace of this size.
    fn convolve_in(
        &mut self,
        scratch: u64,
        x: Tensor,
        (w, b): (Tensor, Option<Tensor>),
        (out, rows): (u64, u64),
        flops: f64,
    ) -> Tensor {
        let x = self.b.autocast_input(x);
        let w = self.b.autocast_weight(w);
        let b = b.map(|b| self.b.autocast_weight(b));
        let op = Op { backward: Backward::Fresh, saves: 0b11, temp: scratch, back_temp: scratch, flops, ..BLANK };
        match b {
            Some(b) => self.b.emit(&[x, w, b], rows, out, x.dtype, op),
            None => self.b.emit(&[x, w], rows, out, x.dtype, op),
        }
    }
}
