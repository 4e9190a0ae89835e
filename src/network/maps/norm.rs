//! Norms and activation functions.

use super::super::builder::{BLANK, Keep, Tensor, bytes, promote};
use super::super::layers::Layers;
use super::super::{Backward, Dtype, Kind, Op, SAVE_AUX, SAVE_OUT};
use super::{Conv, Map, like};

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
    pub(crate) fn instance_norm(&mut self, x: Map, affine: bool) -> Map {
        let mut inputs = vec![x.t];
        if affine {
            inputs.extend([self.weight(x.channels, 1), self.weight(x.channels, 1)]);
        }
        let aux = 2 * bytes(self.batch * x.channels, Dtype::F32);
        let op = Op { backward: Backward::Fresh, saves: 1 | SAVE_AUX, aux, ..BLANK };
        let t = self.b.emit(&inputs, x.t.rows, x.t.cols, x.t.dtype, op);
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
            Act::ReluCopy if self.config.code.keeps_relu_input => self.b.unary(t, Keep::Input, 0),
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

    /// `ConvNeXt` V2's global response normalisation on channels-last maps.
    pub(crate) fn response_norm(&mut self, t: Tensor) -> Tensor {
        let w = self.weight(t.cols, 1);
        let b = self.weight(t.cols, 1);
        // The norm over all pixels keeps its input; the rest is one vector for each sample.
        let op = Op { backward: Backward::Fresh, saves: 1, ..BLANK };
        let dtype = if self.b.autocast.is_some() { Dtype::F32 } else { t.dtype };
        let norm = self.b.emit(&[t], self.batch, t.cols, dtype, op);
        let mean = self.b.mean(norm);
        let shifted = self.b.shift(mean);
        let ratio = self.b.mul(norm, shifted);
        let scaled = self.b.mul(t, ratio);
        // `torch.addcmul(bias, weight, x * ratio)` keeps both factors.
        let weighted = self.b.mul(scaled, w);
        let sum = self.b.add(weighted, b);
        self.b.add(t, sum)
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
}
