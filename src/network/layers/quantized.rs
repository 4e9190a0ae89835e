//! Linear layers whose weights are stored in few bits.

use super::{Layers, Role};
use crate::network::builder::{Keep, Kernel, Tensor, bytes};
use crate::network::{Dtype, Quantization, SAVE_AUX, SAVE_OUT};

impl Layers<'_> {
    pub(super) fn is_quantized(&self, role: Role) -> bool {
        match role {
            _ if self.quantizes_all => true,
            Role::Outside => false,
            Role::Head => self.config.code.quantizes_head,
            _ => true,
        }
    }

    /// The output head's matrix, and the bytes that making it takes where it is stored in few bits.
    pub(crate) fn head_weight(&mut self, x: Tensor, vocab: u64) -> (Tensor, Option<u64>) {
        match self.config.quantization {
            Some(q) if self.is_quantized(Role::Head) => {
                let compute = self.config.autocast.unwrap_or(Dtype::Bf16);
                let (stored, scratch) = self.stored(x, vocab, q, compute);
                (self.b.stored_weight(vocab, x.cols, compute, false, stored), Some(scratch))
            }
            _ => (self.weight(vocab, x.cols), None),
        }
    }

    /// Bytes of a matrix stored in few bits, and those that a product with `x` takes while it runs.
    pub(super) fn stored(&self, x: Tensor, out: u64, quantization: Quantization, compute: Dtype) -> (u64, u64) {
        let numel = out.saturating_mul(x.cols);
        let cast = if self.config.code.casts_dequantized { bytes(numel, compute) } else { 0 };
        // The 16-bit matrix a product works on, and the fp32 scales it is made with.
        match quantization {
            Quantization::Nf4 { double } => {
                let blocks = numel.div_ceil(64);
                let scales = if double {
                    bytes(blocks, Dtype::U8) + bytes(blocks.div_ceil(256), Dtype::F32) + bytes(256, Dtype::F32) + 512
                } else {
                    bytes(blocks, Dtype::F32)
                };
                let packed = bytes(numel.div_ceil(2), Dtype::U8);
                let temporary = bytes(numel, compute) + cast + if double { bytes(blocks, Dtype::F32) } else { 0 };
                (packed + scales + bytes(16, Dtype::F32), temporary)
            }
            // Half a byte a weight, a 16-bit scale and a 4-bit zero per group of 128.
            Quantization::Int4 => (
                bytes(numel.div_ceil(2), Dtype::U8)
                    + bytes(numel.div_ceil(128), Dtype::F16)
                    + bytes(numel.div_ceil(256), Dtype::U8),
                bytes(numel, compute),
            ),
            // int8 weights with a scale per row; the product works on int8 activations and an int32 result.
            Quantization::Int8 => (
                bytes(numel, Dtype::U8) + bytes(out, Dtype::F32),
                bytes(x.numel(), Dtype::U8) + bytes(x.rows * out, Dtype::F32),
            ),
            Quantization::Fp8 | Quantization::Fp8Dynamic => {
                (bytes(numel, Dtype::U8) + bytes(out, Dtype::F32), bytes(numel, compute))
            }
        }
    }

    /// A frozen layer stored in few bits: bitsandbytes' `Linear4bit` and `LLM.int8`, torchao's int8 and fp8.
    pub(super) fn quantized(&mut self, x: Tensor, out: u64, bias: bool, quantization: Quantization) -> Tensor {
        let compute = self.config.autocast.unwrap_or(Dtype::Bf16);
        let (stored, scratch) = self.stored(x, out, quantization, compute);
        let w = self.b.stored_weight(out, x.cols, compute, false, stored);
        if bias {
            let dtype = self.plain();
            self.b.weight(out, 1, dtype, false);
        }
        let code = self.config.code;
        match quantization {
            Quantization::Int8 if code.int8_for_training => return self.own_function(x, w, out, compute),
            Quantization::Fp8 => return self.fp8_weights(x, w, out, compute),
            Quantization::Int4 => return self.unpacked(x, w, out, compute),
            _ => {}
        }
        let input = self.b.cast(x, compute);
        if quantization == Quantization::Fp8Dynamic {
            let input = self.dynamic_fp8(input);
            let flops = 2.0 * x.numel() as f64 * out as f64;
            return self.b.fused(&[input, w], x.rows, out, compute, Kernel { flops, ..Kernel::default() });
        }
        let keeps_input = code.quantized_saves_input || code.int8_saves_input && quantization == Quantization::Int8;
        let y = self.b.dequantized_linear(input, w, out, scratch, keeps_input);
        let y = self.b.cast(y, x.dtype);
        // bitsandbytes' PEFT layer clones the result before it adds to it. Who called the layer holds its input.
        let y = self.b.copy(y, y.rows, y.cols);
        self.b.touch(x);
        y
    }

    /// `QuantLinear.forward` of `AutoGPTQ`'s `qlinear_cuda_old.py`, which trains without its kernels: shifted out as int32, cut
    /// to int8, scaled; autograd keeps the 16-bit matrix that the product works on.
    fn unpacked(&mut self, x: Tensor, w: Tensor, out: u64, compute: Dtype) -> Tensor {
        let input = self.b.cast(x, compute);
        let kernel = Kernel { temp: bytes(w.numel(), Dtype::F32) + bytes(w.numel(), Dtype::U8), ..Kernel::default() };
        let made = self.b.fused(&[w], out, x.cols, compute, kernel);
        let y = self.b.linear(input, made, None);
        self.b.touch(x);
        self.b.cast(y, x.dtype)
    }

    /// A frozen linear layer as an autograd function of a library's own that keeps its input as it came. The 16-bit
    /// matrix and the product before it is scaled are there while it runs, backward the matrix' gradient as well.
    pub(super) fn own_function(&mut self, x: Tensor, w: Tensor, out: u64, compute: Dtype) -> Tensor {
        let (input, result) = (bytes(x.numel(), compute), bytes(x.rows.saturating_mul(out), compute));
        let matrix = bytes(out.saturating_mul(x.cols), compute);
        let cast = if x.dtype == compute { 0 } else { input };
        let kernel = Kernel {
            saves: 0b1,
            temp: matrix + result.max(cast),
            back_temp: matrix + result.max(matrix + cast),
            flops: 2.0 * x.numel() as f64 * out as f64,
            ..Kernel::default()
        };
        self.b.fused(&[x, w], x.rows, out, compute, kernel)
    }

    /// `F.linear(input, weight.dequantize(), bias)` where autograd sees it: the dequantized matrix is kept for the
    /// input's gradient, made by way of fp32.
    fn fp8_weights(&mut self, x: Tensor, w: Tensor, out: u64, compute: Dtype) -> Tensor {
        let input = self.b.cast(x, compute);
        let numel = out.saturating_mul(x.cols);
        let kernel = Kernel {
            saves: SAVE_AUX,
            aux: bytes(numel, compute),
            temp: bytes(numel, Dtype::F32),
            flops: 2.0 * x.numel() as f64 * out as f64,
            ..Kernel::default()
        };
        self.b.fused(&[input, w], x.rows, out, compute, kernel)
    }

    /// `_choose_scale_float8` and `_quantize_affine_float8` of torchao: the largest absolute value of each row, the
    /// quotient in fp32, cut off at the format's limits, and the fp8 copy. Autograd keeps what each of them needs.
    fn dynamic_fp8(&mut self, x: Tensor) -> Tensor {
        let absolute = self.b.unary(x, Keep::Input, 0);
        let largest = self.b.unary(absolute, Keep::Input, 0);
        let scale = self.b.reduce(largest, x.rows, 1);
        let wide = self.b.cast(x, Dtype::F32);
        let quotient = self.b.mul(wide, scale);
        let cut = self.b.unary(quotient, Keep::Input, 0);
        let kernel = Kernel { saves: SAVE_OUT, ..Kernel::default() };
        self.b.fused(&[cut], x.rows, x.cols, Dtype::U8, kernel)
    }
}
