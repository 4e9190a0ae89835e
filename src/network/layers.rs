//! Layers as transformers and PEFT write them, on top of the operators of [`super::builder`].

use super::builder::{Builder, Keep, Kernel, Tensor, bytes};
use super::{AttentionKernel, Dtype, Quantization, SAVE_AUX, SAVE_OUT, StepConfig, Trained, round};
use crate::project::{Checkpointing, LoraTargets};

/// What a linear layer is for: decides whether it carries an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Query,
    Key,
    Value,
    /// Query, key and value in one matrix.
    Qkv,
    AttentionOut,
    Mlp,
    /// The output head: never quantized.
    Head,
    /// Never adapted, never quantized: heads, routers.
    Outside,
}

/// Writes layers with the switches of a step.
pub(crate) struct Layers<'c> {
    pub(crate) b: Builder,
    pub(crate) config: &'c StepConfig,
    /// Weights of the segment under way are trained.
    pub(crate) trained: bool,
    /// "Attention" targets take the output projection in (not where its name is the MLP's too, as in GPT-2).
    pub(crate) adapts_attention_out: bool,
    /// Embedding and output layers are quantized with the rest (denoisers).
    pub(crate) quantizes_all: bool,
    /// Format of frozen weights where the rest is trained in another.
    pub(crate) frozen: Option<Dtype>,
    /// Matrix products so far.
    products: u64,
    /// The model's own loss does not cast logits to fp32 (encoders, T5).
    pub(crate) plain_loss: bool,
    pub(crate) batch: u64,
    pub(crate) sequence: u64,
}

impl<'c> Layers<'c> {
    pub(crate) fn new(config: &'c StepConfig) -> Self {
        let mut b = Builder::new(config.autocast);
        b.keeps_softmax_input = config.code.keeps_softmax_input;
        b.compiled = config.code.compiled;
        Self {
            b,
            config,
            trained: matches!(config.trained, Trained::All),
            adapts_attention_out: true,
            quantizes_all: false,
            frozen: None,
            products: 0,
            plain_loss: false,
            batch: config.batch,
            sequence: config.sequence,
        }
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.batch.saturating_mul(self.sequence)
    }

    /// Whether selective checkpointing keeps the results of products.
    pub(crate) fn keeps_products(&self) -> bool {
        self.config.checkpointing == Checkpointing::Selective && self.config.code.keeps_products
    }

    /// Whether the layers under way carry anything that is trained.
    pub(crate) fn trains(&self) -> bool {
        self.trained || matches!(self.config.trained, Trained::Adapters(_))
    }

    /// Format of weights that are not quantized: PEFT's k-bit preparation makes them fp32.
    pub(crate) fn plain(&self) -> Dtype {
        if self.config.quantization.is_some() && self.config.kbit_prepare { Dtype::F32 } else { self.config.weights }
    }

    pub(crate) fn weight(&mut self, rows: u64, cols: u64) -> Tensor {
        let dtype = self.frozen.filter(|_| !self.trained).unwrap_or(self.plain());
        self.b.weight(rows, cols, dtype, self.trained)
    }

    fn adapted(&self, role: Role) -> Option<(u64, f64)> {
        let Trained::Adapters(lora) = self.config.trained else { return None };
        let hit = match lora.targets {
            LoraTargets::QV => matches!(role, Role::Query | Role::Value | Role::Qkv),
            LoraTargets::Attention => {
                matches!(role, Role::Query | Role::Key | Role::Value | Role::Qkv)
                    || (role == Role::AttentionOut && self.adapts_attention_out)
            }
            LoraTargets::AllLinear => !matches!(role, Role::Outside | Role::Head),
            LoraTargets::AllLinearAndHead => role != Role::Outside,
        };
        (hit && lora.rank > 0).then_some((lora.rank, lora.dropout))
    }

    /// `nn.Linear`, plain, quantized, with an adapter or not.
    pub(crate) fn linear(&mut self, x: Tensor, out: u64, bias: bool, role: Role) -> Tensor {
        let adapter = self.adapted(role);
        if let Some((rank, _)) = adapter
            && self.config.code.fused_adapters
        {
            return self.fused_adapter(x, out, bias, role, rank);
        }
        let base = self.base(x, out, bias, role);
        match adapter {
            Some(_) if self.kronecker() => self.lokr(x, base, out, role),
            Some((rank, dropout)) => self.lora(x, base, out, rank, dropout),
            None => base,
        }
    }

    fn kronecker(&self) -> bool {
        matches!(self.config.trained, Trained::Adapters(lora) if lora.kronecker)
    }

    /// `LyCORIS`' `LokrModule.bypass_forward_diff` with full matrices: the input, cut into as many groups as the factor,
    /// times the large matrix; the groups come to the end (a copy) and are multiplied by the small one. The factor is 2 in
    /// attention and 4 in feed-forward layers in `SimpleTuner`'s examples (`lycoris_config.json`).
    fn lokr(&mut self, x: Tensor, base: Tensor, out: u64, role: Role) -> Tensor {
        let factor = if role == Role::Mlp { 4 } else { 2 };
        // `LokrModule` makes them in PyTorch's own format; autocast brings them and the input to 16 bit.
        let dtype = if self.config.autocast.is_some() { Dtype::F32 } else { self.config.adapter };
        let input = x;
        let grouped = self.b.view(input, x.rows * factor, x.cols / factor);
        let large = self.b.weight(out / factor, x.cols / factor, dtype, true);
        let groups = self.b.linear(grouped, large, None);
        let turned = self.b.copy(groups, x.rows * (out / factor), factor);
        let small = self.b.weight(factor, factor, dtype, true);
        let mixed = self.b.linear(turned, small, None);
        let laid = self.b.copy(mixed, x.rows, out);
        let scaled = self.b.scale(laid);
        let sum = self.b.add(base, scaled);
        self.b.touch(input);
        self.b.cast(sum, base.dtype)
    }

    /// The output head's result, with its adapter where it carries one.
    pub(crate) fn head(&mut self, x: Tensor, logits: Tensor) -> Tensor {
        match self.adapted(Role::Head) {
            Some((rank, dropout)) => self.lora(x, logits, logits.cols, rank, dropout),
            None => logits,
        }
    }

    /// Whether gated MLPs, norms and rotary embedding are functions of the library's own.
    pub(crate) fn is_fused(&self) -> bool {
        self.config.code.fused_adapters && matches!(self.config.trained, Trained::Adapters(_))
    }

    /// A frozen matrix that is there without being used.
    pub(crate) fn idle_weight(&mut self, x: Tensor, out: u64, role: Role) {
        let trained = std::mem::replace(&mut self.trained, false);
        self.frozen(x, out, role);
        self.trained = trained;
    }

    /// A frozen matrix as it is stored; the bytes that making it takes for a product.
    fn frozen(&mut self, x: Tensor, out: u64, role: Role) -> u64 {
        match self.config.quantization {
            Some(q) if self.is_quantized(role) => {
                let compute = self.config.autocast.unwrap_or(Dtype::Bf16);
                let (stored, scratch) = self.stored(x, out, q, compute);
                self.b.stored_weight(out, x.cols, compute, false, stored);
                scratch
            }
            _ => {
                self.weight(out, x.cols);
                0
            }
        }
    }

    /// `LoRA_W` and each part of `LoRA_QKV` in `unsloth/kernels/fast_lora.py`: keeps the input alone.
    fn fused_adapter(&mut self, x: Tensor, out: u64, bias: bool, role: Role, rank: u64) -> Tensor {
        let scratch = self.frozen(x, out, role);
        if bias {
            self.weight(out, 1);
        }
        let a = self.b.weight(rank, x.cols, self.config.adapter, true);
        let b = self.b.weight(out, rank, self.config.adapter, true);
        let x = self.b.autocast_input(x);
        let flops = 2.0 * x.numel() as f64 * out as f64;
        let kernel = Kernel { saves: 0b111, temp: scratch, back_temp: scratch, flops, ..Kernel::default() };
        self.b.fused(&[x, a, b], x.rows, out, x.dtype, kernel)
    }

    /// `LoRA_MLP`: keeps its input, gate and up; the product of the two is made again in backward, in place.
    pub(crate) fn fused_mlp(&mut self, x: Tensor, width: u64, rank: u64) -> Tensor {
        let x = self.b.autocast_input(x);
        let wide = Tensor { cols: width, ..x };
        let scratch = self.frozen(x, width, Role::Mlp);
        let scratch = scratch.max(self.frozen(x, width, Role::Mlp));
        let scratch = scratch.max(self.frozen(wide, x.cols, Role::Mlp));
        let a = self.b.weight(rank, 2 * x.cols + width, self.config.adapter, true);
        let b = self.b.weight(2 * width + x.cols, rank, self.config.adapter, true);
        let inner = bytes(x.rows.saturating_mul(width), x.dtype);
        let kernel = Kernel {
            saves: 0b111 | SAVE_AUX,
            aux: 2 * inner,
            temp: inner.saturating_add(scratch),
            back_temp: inner.saturating_add(scratch),
            flops: 6.0 * x.numel() as f64 * width as f64,
            ..Kernel::default()
        };
        self.b.fused(&[x, a, b], x.rows, x.cols, x.dtype, kernel)
    }

    /// `Fast_RMS_Layernorm`: keeps its input and one number a row.
    pub(crate) fn fused_rms_norm(&mut self, x: Tensor) -> Tensor {
        let w = self.weight(x.cols, 1);
        let kernel = Kernel { saves: 0b11 | SAVE_AUX, aux: bytes(x.rows, Dtype::F32), ..Kernel::default() };
        self.b.fused(&[x, w], x.rows, x.cols, x.dtype, kernel)
    }

    /// A norm in compiled code: one kernel, whose result is in the format that the products after it want. It keeps one or
    /// two numbers a row and `kept`, from which its input can be made again.
    pub(crate) fn compiled_norm(&mut self, x: Tensor, kept: Tensor, weight: bool, bias: bool) -> Tensor {
        let mut inputs = vec![kept, x];
        if weight {
            inputs.push(self.weight(x.cols, 1));
        }
        if bias {
            inputs.push(self.weight(x.cols, 1));
        }
        let dtype = self.config.autocast.unwrap_or(x.dtype);
        let kernel = Kernel { saves: 1 | SAVE_AUX, aux: 2 * bytes(x.rows, Dtype::F32), ..Kernel::default() };
        if kept.id == x.id {
            inputs.remove(0);
        }
        self.b.fused(&inputs, x.rows, x.cols, dtype, kernel)
    }

    /// The rank of the MLP's adapters where all of its matrices have one.
    pub(crate) fn mlp_rank(&self) -> Option<u64> {
        self.adapted(Role::Mlp).map(|(rank, _)| rank)
    }

    /// The layer without its adapter.
    fn base(&mut self, x: Tensor, out: u64, bias: bool, role: Role) -> Tensor {
        match self.config.quantization {
            Some(q) if self.is_quantized(role) && !self.config.code.streamed_linears => self.quantized(x, out, bias, q),
            _ if self.config.code.streamed_linears && !self.trained => {
                let w = self.weight(out, x.cols);
                if bias {
                    self.weight(out, 1);
                }
                let compute = self.b.autocast.unwrap_or(w.dtype);
                self.own_function(x, w, out, compute)
            }
            _ => {
                let w = self.weight(out, x.cols);
                let b = bias.then(|| self.weight(out, 1));
                let y = match self.gathers(x) {
                    0 | 1 => self.b.linear(x, w, b),
                    cards => self.b.gathered_linear(x, w, b, cards),
                };
                self.products += 1;
                if self.keeps_products() && self.products % 2 == 1 {
                    self.b.keep_last();
                }
                y
            }
        }
    }

    /// Query, key and value in one matrix.
    pub(crate) fn joint_qkv(&mut self, x: Tensor, query: u64, key: u64, bias: bool) -> Tensor {
        let out = query + 2 * key;
        match self.config.trained {
            Trained::Adapters(lora) if self.config.code.copies_adapter_parts && lora.targets == LoraTargets::QV => {
                let base = self.base(x, out, bias, Role::Qkv);
                self.partial_lora(x, base, query + key, 2 * lora.rank, lora.dropout)
            }
            _ => self.linear(x, out, bias, Role::Qkv),
        }
    }

    /// `LoRAQKVLinear` of litgpt/lora.py where not all three parts have an adapter: the update of those that have is
    /// copied into zeros of the full width, and kept by the copy.
    fn partial_lora(&mut self, x: Tensor, base: Tensor, width: u64, rank: u64, dropout: f64) -> Tensor {
        let dtype = self.config.adapter;
        let input = self.b.cast(x, dtype);
        let dropped = self.b.dropout(input, dropout);
        let a = self.b.weight(rank, x.cols, dtype, true);
        let low = self.b.linear(dropped, a, None);
        let w = self.b.weight(width, rank / 2, dtype, true);
        let kernel = Kernel { saves: 0b11, ..Kernel::default() };
        let high = self.b.fused(&[low, w], x.rows, width, dtype, kernel);
        let zeros = self.b.zeros(x.rows, base.cols, dtype);
        let kernel = Kernel { saves: 0b1, ..Kernel::default() };
        let padded = self.b.fused(&[high, zeros], x.rows, base.cols, dtype, kernel);
        let scaled = self.b.scale(padded);
        let sum = self.b.add(base, scaled);
        self.b.cast(sum, base.dtype)
    }

    /// PEFT's `lora.Linear`: `result + lora_B(lora_A(dropout(x))) * scaling`.
    fn lora(&mut self, x: Tensor, base: Tensor, out: u64, rank: u64, dropout: f64) -> Tensor {
        let dtype = self.config.adapter;
        let input = if self.config.code.plain_adapters { x } else { self.b.cast(x, dtype) };
        let dropped = self.b.dropout(input, dropout);
        let a = self.b.weight(rank, x.cols, dtype, true);
        let low = self.b.linear(dropped, a, None);
        let w = self.b.weight(out, rank, dtype, true);
        let high = self.b.linear(low, w, None);
        let scaled = self.b.scale(high);
        // The local variable `x` holds the cast input until the layer returns.
        let sum = self.b.add(base, scaled);
        self.b.touch(input);
        self.b.cast(sum, base.dtype)
    }

    fn is_quantized(&self, role: Role) -> bool {
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
    fn stored(&self, x: Tensor, out: u64, quantization: Quantization, compute: Dtype) -> (u64, u64) {
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
    fn quantized(&mut self, x: Tensor, out: u64, bias: bool, quantization: Quantization) -> Tensor {
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
        // bitsandbytes' PEFT layer clones the result before it adds to it.
        self.b.copy(y, y.rows, y.cols)
    }

    /// A frozen linear layer as an autograd function of a library's own that keeps its input as it came. The 16-bit
    /// matrix and the product before it is scaled are there while it runs, backward the matrix' gradient as well.
    fn own_function(&mut self, x: Tensor, w: Tensor, out: u64, compute: Dtype) -> Tensor {
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

    /// `LlamaRMSNorm`: fp32 inside, the weight applied in the input's format.
    pub(crate) fn rms_norm(&mut self, x: Tensor) -> Tensor {
        let w = self.weight(x.cols, 1);
        let wide = self.b.cast(x, Dtype::F32);
        let normed = self.normalize(wide);
        let narrow = self.b.cast(normed, x.dtype);
        self.b.mul(w, narrow)
    }

    /// `Gemma2RMSNorm`: fp32 to the end, weight plus one.
    pub(crate) fn gemma_norm(&mut self, x: Tensor) -> Tensor {
        let w = self.weight(x.cols, 1);
        let wide = self.b.cast(x, Dtype::F32);
        let normed = self.normalize(wide);
        let w = self.b.cast(w, Dtype::F32);
        let one_plus = self.b.shift(w);
        let out = self.b.mul(normed, one_plus);
        self.b.cast(out, x.dtype)
    }

    /// `T5LayerNorm`: the variance in fp32, the product in the wider format.
    pub(crate) fn t5_norm(&mut self, x: Tensor) -> Tensor {
        let w = self.weight(x.cols, 1);
        let wide = self.b.cast(x, Dtype::F32);
        let square = self.b.pow(wide);
        let variance = self.b.mean(square);
        let shifted = self.b.shift(variance);
        let deviation = self.b.unary(shifted, Keep::Output, 1);
        let normed = self.b.mul(x, deviation);
        let normed = if w.dtype.is_half() { self.b.cast(normed, w.dtype) } else { normed };
        self.b.mul(w, normed)
    }

    fn normalize(&mut self, wide: Tensor) -> Tensor {
        let square = self.b.pow(wide);
        let variance = self.b.mean(square);
        let shifted = self.b.shift(variance);
        let deviation = self.b.unary(shifted, Keep::Output, 1);
        self.b.mul(wide, deviation)
    }

    /// `nn.LayerNorm`.
    pub(crate) fn layer_norm(&mut self, x: Tensor, weight: bool, bias: bool) -> Tensor {
        let w = weight.then(|| self.weight(x.cols, 1));
        let b = bias.then(|| self.weight(x.cols, 1));
        self.b.layer_norm(x, w, b)
    }

    /// Rotary embedding of one tensor: `x * cos + rotate_half(x) * sin` on `rotary` of its `head` columns.
    pub(crate) fn rotary(&mut self, x: Tensor, cos: Tensor, sin: Tensor, head: u64, rotary: u64, cat: bool) -> Tensor {
        let share = |cols: u64| cols.saturating_mul(rotary) / head.max(1);
        let partial = rotary < head || cat;
        let (rot, pass) = if partial {
            let r = self.b.slice(x, share(x.cols));
            let p = self.b.slice(x, x.cols - share(x.cols));
            (r, Some(p))
        } else {
            (x, None)
        };
        let a = self.b.mul(rot, cos);
        let x1 = self.b.slice(rot, rot.cols / 2);
        let x2 = self.b.slice(rot, rot.cols / 2);
        let negated = self.b.scale(x2);
        let rotated = self.b.cat(&[negated, x1]);
        let c = self.b.mul(rotated, sin);
        let sum = self.b.add(a, c);
        match pass {
            Some(p) => self.b.cat(&[sum, p]),
            None => sum,
        }
    }

    /// The attention core: query, key, value to context.
    pub(crate) fn attention(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let kernel = self.choose(q, k, v, shape, mask.is_some());
        match kernel {
            AttentionKernel::Eager => self.eager(q, k, v, shape, mask),
            AttentionKernel::Math | AttentionKernel::Sdpa => self.math(q, k, v, shape, mask),
            AttentionKernel::Efficient => self.efficient(q, k, v, shape, mask),
            AttentionKernel::Flash => self.flash(q, k, v, shape),
        }
    }

    /// The kernel that `scaled_dot_product_attention` takes on a card of Ampere or newer.
    fn choose(&self, q: Tensor, _k: Tensor, _v: Tensor, shape: Heads, mask: bool) -> AttentionKernel {
        let dtype = self.b.autocast.unwrap_or(q.dtype);
        let grouped = shape.key_count != shape.count;
        let fits = shape.head <= 256;
        match self.config.attention {
            AttentionKernel::Eager => AttentionKernel::Eager,
            AttentionKernel::Math => AttentionKernel::Math,
            AttentionKernel::Efficient if grouped && !mask => AttentionKernel::Math,
            AttentionKernel::Efficient => AttentionKernel::Efficient,
            AttentionKernel::Flash if dtype.is_half() && fits => AttentionKernel::Flash,
            // With a mask transformers repeats keys and values itself, so heads are no longer grouped.
            _ if dtype.is_half() && !mask && fits && shape.value_head == shape.head => AttentionKernel::Flash,
            _ if !grouped || mask => AttentionKernel::Efficient,
            _ => AttentionKernel::Math,
        }
    }

    fn flops(&self, shape: Heads, causal: bool) -> f64 {
        let pairs = self.batch as f64 * shape.count as f64 * shape.queries as f64 * shape.keys as f64;
        2.0 * pairs * (shape.head + shape.value_head) as f64 * if causal && shape.causal { 0.5 } else { 1.0 }
    }

    fn flash(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads) -> Tensor {
        let (q, k, v) = (self.b.autocast_input(q), self.b.autocast_input(k), self.b.autocast_input(v));
        // The kernel wants one head size for all three (and a multiple of eight).
        let v = if shape.value_head < shape.head { self.b.copy(v, v.rows, shape.key_count * shape.head) } else { v };
        let head = shape.head.next_multiple_of(8);
        let [q, k, v] =
            [q, k, v].map(|t| if head == shape.head { t } else { self.b.copy(t, t.rows, t.cols / shape.head * head) });
        let (queries, keys) = (q.rows, k.rows);
        let padded = self.batch * shape.queries.next_multiple_of(128);
        let head_r = if head <= 192 { head.next_multiple_of(32) } else { 256 };
        // Backward: fp32 accumulator of the query's gradient and one fp32 a row; for grouped heads, gradients of keys and
        // values for every query head before they are summed (`flash_api.cpp`).
        let mut back_temp = padded * shape.count * (head_r + 1) * 4;
        if shape.key_count != shape.count {
            back_temp += 2 * keys * shape.count * head * q.dtype.bytes();
        }
        let kernel = Kernel {
            saves: 0b111 | SAVE_OUT | SAVE_AUX,
            // log-sum-exp, and the two words of the random state.
            aux: round(4 * queries * shape.count) + 2 * 512,
            back_temp,
            flops: self.flops(shape, true),
            ..Kernel::default()
        };
        let out = self.b.fused(&[q, k, v], queries, shape.count * head, q.dtype, kernel);
        if self.keeps_products() {
            self.b.keep_last();
        }
        let out = if head == shape.head { out } else { self.b.slice(out, shape.count * shape.head) };
        if shape.value_head < shape.head {
            let cut = self.b.slice(out, shape.count * shape.value_head);
            return self.b.copy(cut, cut.rows, cut.cols);
        }
        if shape.by_head { self.b.copy(out, out.rows, out.cols) } else { out }
    }

    fn efficient(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let (q, k, v) = (self.b.autocast_input(q), self.b.autocast_input(k), self.b.autocast_input(v));
        let (k, v) = if shape.key_count == shape.count { (k, v) } else { self.repeat_kv(k, v, shape) };
        let rows = self.batch * shape.count * shape.queries;
        let mut back_temp = 4 * rows;
        if q.dtype.is_half() {
            back_temp +=
                self.batch * shape.count * shape.queries.next_multiple_of(64) * shape.head.next_multiple_of(64) * 4;
        }
        let kernel = Kernel {
            saves: 0b111 | SAVE_OUT | SAVE_AUX,
            aux: round(4 * self.batch * shape.count * shape.queries.next_multiple_of(32)) + 2 * 512,
            back_temp,
            flops: self.flops(shape, false),
            ..Kernel::default()
        };
        let columns = shape.count * shape.value_head;
        match mask {
            Some(m) => {
                // A boolean mask becomes an additive one in the query's format, anew in every layer.
                let m = if m.dtype == Dtype::U8 { self.b.converted(m, q.dtype) } else { self.b.cast(m, q.dtype) };
                let kernel = Kernel { saves: kernel.saves | 0b1000, ..kernel };
                self.b.fused(&[q, k, v, m], q.rows, columns, q.dtype, kernel)
            }
            None => self.b.fused(&[q, k, v], q.rows, columns, q.dtype, kernel),
        }
    }

    fn repeat_kv(&mut self, k: Tensor, v: Tensor, shape: Heads) -> (Tensor, Tensor) {
        let times = shape.count / shape.key_count.max(1);
        (self.b.copy(k, k.rows, k.cols * times), self.b.copy(v, v.rows, v.cols * times))
    }

    /// `eager_attention_forward`.
    fn eager(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let (k, v) = if shape.key_count == shape.count { (k, v) } else { self.repeat_kv(k, v, shape) };
        let rows = self.batch * shape.count * shape.queries;
        let half = self.flops(shape, false) / 2.0;
        let scores = self.b.matmul(q, k, rows, shape.keys, half);
        let scaled = self.b.scale(scores);
        let scaled = if shape.softcap {
            let divided = self.b.scale(scaled);
            let squashed = self.b.unary(divided, Keep::Output, 0);
            self.b.scale(squashed)
        } else {
            scaled
        };
        let masked = match mask {
            Some(m) => self.b.add(scaled, m),
            None => scaled,
        };
        let probabilities = self.b.softmax(masked, shape.upcast_softmax);
        let narrow = self.b.cast(probabilities, v.dtype);
        let dropped = self.b.dropout(narrow, shape.dropout);
        let context = self.b.matmul(dropped, v, q.rows, shape.count * shape.value_head, half);
        self.b.copy(context, context.rows, context.cols)
    }

    /// T5's eager attention: scores, bias, mask, softmax.
    pub(crate) fn eager_with_bias(
        &mut self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        shape: Heads,
        bias: Tensor,
        mask: Option<Tensor>,
    ) -> Tensor {
        let rows = self.batch * shape.count * shape.queries;
        let half = self.flops(shape, false) / 2.0;
        let scores = self.b.matmul(q, k, rows, shape.keys, half);
        let scaled = self.b.scale(scores);
        let biased = self.b.add(scaled, bias);
        let masked = match mask {
            Some(m) => self.b.add(biased, m),
            None => biased,
        };
        let probabilities = self.b.softmax(masked, false);
        let dropped = self.b.dropout(probabilities, shape.dropout);
        let context = self.b.matmul(dropped, v, q.rows, shape.count * shape.value_head, half);
        self.b.copy(context, context.rows, context.cols)
    }

    /// `_scaled_dot_product_attention_math`: in fp32 inside, whatever comes in, and outside autocast.
    fn math(&mut self, q: Tensor, k: Tensor, v: Tensor, shape: Heads, mask: Option<Tensor>) -> Tensor {
        let (q, k, v) = (self.b.autocast_input(q), self.b.autocast_input(k), self.b.autocast_input(v));
        let narrow = q.dtype;
        let autocast = self.b.autocast.take();
        let wide = if self.config.code.narrow_math { narrow } else { Dtype::F32 };
        let [q, k, v] = [q, k, v].map(|t| self.b.cast(t, wide));
        let (k, v) = if shape.key_count == shape.count { (k, v) } else { self.repeat_kv(k, v, shape) };
        let q = self.b.scale(q);
        let k = self.b.scale(k);
        let rows = self.batch * shape.count * shape.queries;
        let half = self.flops(shape, false) / 2.0;
        let scores = self.b.matmul(q, k, rows, shape.keys, half);
        let masked = match mask {
            Some(m) => self.b.add(scores, m),
            None => scores,
        };
        let probabilities = self.b.unary(masked, Keep::Output, 0);
        let dropped = self.b.dropout(probabilities, shape.dropout);
        let out = self.b.matmul(dropped, v, q.rows, shape.count * shape.value_head, half);
        let out = self.b.cast(out, narrow);
        self.b.autocast = autocast;
        if shape.by_head { self.b.copy(out, out.rows, out.cols) } else { out }
    }
}

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) count: u64,
    pub(crate) key_count: u64,
    pub(crate) head: u64,
    pub(crate) value_head: u64,
    /// Queries of a sample.
    pub(crate) queries: u64,
    /// Keys a query sees (sequence of the other side in cross-attention).
    pub(crate) keys: u64,
    /// Query and key are laid out head by head (after a `cat`), so the context has to be copied back token by token.
    pub(crate) by_head: bool,
    pub(crate) causal: bool,
    pub(crate) dropout: f64,
    /// Scores squashed by tanh (Gemma 2), in eager code.
    pub(crate) softcap: bool,
    /// `softmax(..., dtype=float32)`.
    pub(crate) upcast_softmax: bool,
}

impl Heads {
    /// As many keys as queries have heads, laid out token by token, nothing masked, dropped or capped.
    pub(crate) const fn dense(count: u64, head: u64, queries: u64, keys: u64) -> Self {
        Self {
            count,
            key_count: count,
            head,
            value_head: head,
            queries,
            keys,
            by_head: false,
            causal: false,
            dropout: 0.0,
            softcap: false,
            upcast_softmax: false,
        }
    }
}
