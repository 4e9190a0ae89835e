//! Layers on feature maps, as torchvision and timm write them, on top of the operators of [`super::builder`].

use super::builder::{BLANK, Keep, Tensor, bytes, promote};
use super::layers::Layers;
use super::vision::Pictures;
use super::{Backward, Dtype, Kind, NONE, Op, SAVE_AUX, SAVE_OUT, Slot};
use crate::project::Checkpointing;

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

/// What follows a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    None,
    /// In place: shares the storage of its input and keeps it.
    Relu,
    /// `nn.ReLU()` as written without `inplace`.
    ReluCopy,
    Relu6,
    Silu,
    Hardswish,
    Gelu,
    Sigmoid,
    Hardsigmoid,
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
        if let Some(weight) = self.b.program.weights.last_mut() {
            // A kernel is factored over its last two dimensions only.
            weight.factors = (weight.numel / conv.kernel.1, weight.numel / conv.kernel.0);
        }
        (w, conv.bias.then(|| self.weight(conv.out, 1)))
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
        let scratch = if tiled && self.config.code.transforms_convolutions {
            // Boxes that lie one below the other are tiled each by itself: 4 x 4 tiles of a width, and as many rows.
            let tiles = (rows / width.max(1)).div_ceil(4) * width.div_ceil(4);
            36 * Dtype::F32.bytes() * (tiles * (x.channels + conv.out) + x.channels * conv.out)
        } else {
            0
        };
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

    /// Batch norm in training: keeps its input, and mean and deviation per channel. Autocast leaves its format.
    pub(crate) fn batch_norm(&mut self, x: Map) -> Map {
        let dtype = self.plain();
        let w = self.weight(x.channels, 1);
        let b = self.weight(x.channels, 1);
        self.b.program.buffers += 2 * bytes(x.channels, dtype) + bytes(1, Dtype::I64);
        let aux = 2 * bytes(x.channels, Dtype::F32);
        let op = Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux, ..BLANK };
        let t = self.b.emit(&[x.t, w, b], x.t.rows, x.t.cols, x.t.dtype, op);
        like(x, t)
    }

    /// Batch norm whose numbers are fixed (detection backbones): a product and a sum with constants.
    pub(crate) fn frozen_batch_norm(&mut self, x: Map) -> Map {
        self.b.program.buffers += 4 * bytes(x.channels, Dtype::F32);
        let dtype = promote(x.t.dtype, Dtype::F32);
        let scaled = self.b.emit(&[x.t], x.t.rows, x.t.cols, dtype, Op { backward: Backward::Fresh, ..BLANK });
        let shifted = self.b.shift(scaled);
        like(x, shifted)
    }

    /// Group norm (or instance norm): keeps its input, and mean and deviation per group. Autocast runs it in fp32.
    pub(crate) fn group_norm(&mut self, x: Map, groups: u64, affine: bool) -> Map {
        let t = if self.b.autocast.is_some() { self.b.cast(x.t, Dtype::F32) } else { x.t };
        let mut inputs = vec![t];
        if affine {
            for _ in 0..2 {
                let v = self.weight(x.channels, 1);
                inputs.push(if self.b.autocast.is_some() { self.b.cast(v, Dtype::F32) } else { v });
            }
        }
        let aux = 2 * bytes(self.batch * groups, t.dtype);
        let op = Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux, ..BLANK };
        let t = self.b.emit(&inputs, t.rows, t.cols, t.dtype, op);
        like(x, t)
    }

    /// Instance norm: a batch norm with the samples' channels side by side, so autocast leaves its format.
    pub(crate) fn instance_norm(&mut self, x: Map) -> Map {
        let w = self.weight(x.channels, 1);
        let b = self.weight(x.channels, 1);
        let aux = 2 * bytes(self.batch * x.channels, Dtype::F32);
        let op = Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux, ..BLANK };
        let t = self.b.emit(&[x.t, w, b], x.t.rows, x.t.cols, x.t.dtype, op);
        like(x, t)
    }

    /// Layer norm over the channels.
    pub(crate) fn channel_norm(&mut self, x: Map) -> Map {
        let t = self.layer_norm(x.t, true, true);
        like(x, t)
    }

    /// An activation function.
    pub(crate) fn act(&mut self, x: Map, act: Act) -> Map {
        let t = self.act_tensor(x.t, act);
        like(x, t)
    }

    /// An activation function on a tensor.
    pub(crate) fn act_tensor(&mut self, t: Tensor, act: Act) -> Tensor {
        match act {
            Act::None => t,
            Act::Relu => self.in_place(t),
            Act::ReluCopy | Act::Sigmoid => self.b.unary(t, Keep::Output, 0),
            // Written in place these copy their input first, because backward needs it: the same two tensors.
            Act::Relu6 | Act::Silu | Act::Hardswish | Act::Gelu | Act::Hardsigmoid => self.b.unary(t, Keep::Input, 0),
        }
    }

    /// ReLU or leaky ReLU in place on a view (the result of an instance norm): autograd first copies the gradient of what
    /// the view is of, and then the view's (`CopySlices` in `torch/csrc/autograd/functions/tensor.cpp`).
    pub(crate) fn act_on_view(&mut self, x: Map) -> Map {
        let op = Op { backward: Backward::Fresh, saves: SAVE_OUT, back_temp: 2 * x.t.bytes(), ..BLANK };
        let out = Some((x.t.rows, x.t.cols, x.t.dtype, Kind::Activation, true));
        let t = self.b.push(&[x.t], out, op).unwrap_or(x.t);
        like(x, t)
    }

    /// An operator that overwrites its input and needs only its result for backward.
    fn in_place(&mut self, t: Tensor) -> Tensor {
        let op = Op { backward: Backward::Fresh, saves: SAVE_OUT, ..BLANK };
        self.b.push(&[t], Some((t.rows, t.cols, t.dtype, Kind::Activation, true)), op).unwrap_or(t)
    }

    /// Convolution, batch norm, activation.
    pub(crate) fn conv_norm(&mut self, x: Map, conv: Conv, act: Act) -> Map {
        let y = self.conv(x, conv);
        let y = self.batch_norm(y);
        self.act(y, act)
    }

    /// `a += b`: in place where the formats agree.
    pub(crate) fn add_in_place(&mut self, a: Map, b: Map) -> Map {
        let op = Op { backward: Backward::Pass, ..BLANK };
        let out = Some((a.t.rows, a.t.cols, a.t.dtype, Kind::Activation, true));
        let t = self.b.push(&[a.t, b.t], out, op).unwrap_or(a.t);
        like(a, t)
    }

    /// Enlarged to the nearest, in the format it is given.
    pub(crate) fn enlarge(&mut self, x: Map, times: u64) -> Map {
        let t = self.sample(x.t, x.t.rows * times * times);
        Map { t, height: x.height * times, width: x.width * times, ..x }
    }

    /// `a + b`.
    pub(crate) fn add_maps(&mut self, a: Map, b: Map) -> Map {
        let t = self.b.add(a.t, b.t);
        like(a, t)
    }

    /// `cat` along the channels. An operator here has four inputs at most: further parts are put into the same result.
    pub(crate) fn cat_maps(&mut self, parts: &[Map]) -> Map {
        let tensors: Vec<Tensor> = parts.iter().map(|m| m.t).collect();
        let Some(&first) = parts.first() else {
            return Map { t: self.b.cat(&[]), channels: 0, height: 0, width: 0, depth: 1 };
        };
        let (one, rest) = tensors.split_at(tensors.len().min(4));
        if rest.is_empty() {
            return like(first, self.b.cat(&tensors));
        }
        let dtype = tensors.iter().map(|t| t.dtype).reduce(promote).unwrap_or(Dtype::F32);
        let cols = tensors.iter().map(|t| t.cols).sum();
        let op = Op { backward: Backward::Views, ..BLANK };
        let t = self.b.emit(one, first.t.rows, cols, dtype, op);
        rest.iter().fold(like(first, t), |store, &t| self.fill(store, Map { t, ..first }))
    }

    /// `cat` along the rows of any number of parts; what is past an operator's four inputs is put into the same result.
    pub(crate) fn join_all(&mut self, parts: &[Tensor]) -> Tensor {
        let (one, rest) = parts.split_at(parts.len().min(4));
        if rest.is_empty() {
            return self.b.join(parts);
        }
        let dtype = parts.iter().map(|t| t.dtype).reduce(promote).unwrap_or(Dtype::F32);
        let rows = parts.iter().map(|t| t.rows).sum();
        let cols = parts.first().map_or(0, |t| t.cols);
        let op = Op { backward: Backward::Views, ..BLANK };
        let mut store = self.b.emit(one, rows, cols, dtype, op);
        for &part in rest {
            let out = Some((rows, cols, dtype, Kind::Activation, true));
            store = self.b.push(&[store, part], out, op).unwrap_or(store);
        }
        store
    }

    /// A store of more channels that begins with these maps.
    pub(crate) fn widen(&mut self, x: Map, channels: u64) -> Map {
        let op = Op { backward: Backward::Views, ..BLANK };
        let t = self.b.emit(&[x.t], x.t.rows, channels, x.t.dtype, op);
        like(x, t)
    }

    /// A copy of the first channels of a store.
    pub(crate) fn narrow_copy(&mut self, x: Map, channels: u64) -> Map {
        let op = Op { backward: Backward::Views, ..BLANK };
        let t = self.b.emit(&[x.t], x.t.rows, channels, x.t.dtype, op);
        like(x, t)
    }

    /// Puts new channels into a store.
    pub(crate) fn fill(&mut self, store: Map, new: Map) -> Map {
        let op = Op { backward: Backward::Views, ..BLANK };
        let out = Some((store.t.rows, store.t.cols, store.t.dtype, Kind::Activation, true));
        let t = self.b.push(&[store.t, new.t], out, op).unwrap_or(store.t);
        like(store, t)
    }

    /// `ConvNeXt` V2's global response normalisation on channels-last maps.
    pub(crate) fn response_norm(&mut self, t: Tensor) -> Tensor {
        let w = self.weight(t.cols, 1);
        let b = self.weight(t.cols, 1);
        // The norm over all pixels keeps its input; the rest is one vector for each sample.
        let op = Op { backward: Backward::Fresh, saves: 1, ..BLANK };
        let norm = self.b.emit(&[t], self.batch, t.cols, Dtype::F32, op);
        let mean = self.b.mean(norm);
        let shifted = self.b.shift(mean);
        let ratio = self.b.mul(norm, shifted);
        let scaled = self.b.mul(t, ratio);
        // `torch.addcmul(bias, weight, x * ratio)` keeps both factors.
        let weighted = self.b.mul(scaled, w);
        let sum = self.b.add(weighted, b);
        self.b.add(t, sum)
    }

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

    /// Squeeze and excitation: pool, two 1 x 1 convolutions with biases, gate.
    pub(crate) fn squeeze_excite(&mut self, x: Map, squeezed: u64, inner: Act, gate: Act) -> Map {
        let s = self.global_pool(x);
        let s = self.conv(s, Conv::new(squeezed, 1).bias());
        let s = self.act(s, inner);
        let s = self.conv(s, Conv::new(x.channels, 1).bias());
        let s = self.act(s, gate);
        let t = self.b.mul(s.t, x.t);
        like(x, t)
    }

    /// `StochasticDepth` by rows: the branch times one number for each sample; nothing for probability 0.
    pub(crate) fn stochastic_depth(&mut self, x: Map, probability: f64) -> Map {
        if probability <= 0.0 {
            return x;
        }
        let op = Op { backward: Backward::Fresh, aux: bytes(self.batch, x.t.dtype), saves: SAVE_AUX, ..BLANK };
        let t = self.b.emit(&[x.t], x.t.rows, x.t.cols, x.t.dtype, op);
        like(x, t)
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
