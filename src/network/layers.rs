//! Layers as transformers and PEFT write them, on top of the operators of [`super::builder`].

use super::builder::{Builder, Keep, Kernel, Tensor, bytes};
use super::{Dtype, SAVE_AUX, StepConfig, Trained};
use crate::project::{Adapter, Checkpointing, LoraTargets};

mod adapters;
mod attention;
mod quantized;
pub(crate) use attention::Heads;

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
    /// The layers under way look at trained tokens too.
    pub(crate) prompted: bool,
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
            prompted: false,
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

    /// The weight of a norm: trained where adapters are nothing else.
    pub(crate) fn norm_weight(&mut self, cols: u64) -> Tensor {
        match self.adapter() {
            Some(lora) if matches!(lora.kind, Adapter::Norms | Adapter::Scales) => {
                self.b.weight(cols, 1, self.plain(), true)
            }
            _ => self.weight(cols, 1),
        }
    }

    pub(crate) fn weight(&mut self, rows: u64, cols: u64) -> Tensor {
        let dtype = self.frozen.filter(|_| !self.trained).unwrap_or(self.plain());
        self.b.weight(rows, cols, dtype, self.trained)
    }

    /// `nn.Linear`, plain, quantized, with an adapter or not.
    pub(crate) fn linear(&mut self, x: Tensor, out: u64, bias: bool, role: Role) -> Tensor {
        match self.adapted(role) {
            Some(lora) if self.config.code.fused_adapters => self.fused_adapter(x, out, bias, role, lora.rank),
            Some(lora) => self.with_adapter(x, out, bias, role, lora),
            None => self.base(x, out, bias, role),
        }
    }

    /// The output head's result, with its adapter where it carries one.
    pub(crate) fn head(&mut self, x: Tensor, logits: Tensor) -> Tensor {
        match self.adapted(Role::Head) {
            Some(lora) => self.beside(x, logits, logits.cols, lora),
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
        let (temp, back_temp) = if self.config.code.adds_updates {
            (scratch.saturating_add(bytes(x.rows.saturating_mul(out), x.dtype)), scratch.saturating_add(x.bytes()))
        } else {
            (scratch, scratch)
        };
        let kernel = Kernel { saves: 0b111, temp, back_temp, flops, ..Kernel::default() };
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
        let temp = if self.config.code.adds_updates { 2 * inner } else { inner }.saturating_add(scratch);
        let kernel = Kernel {
            saves: 0b111 | SAVE_AUX,
            aux: 2 * inner,
            temp,
            back_temp: temp,
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
        self.adapted(Role::Mlp).map(|lora| lora.rank)
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
            Trained::Adapters(lora)
                if self.config.code.copies_adapter_parts
                    && lora.targets == LoraTargets::QV
                    && lora.kind == Adapter::Lora =>
            {
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

    /// `LlamaRMSNorm`: fp32 inside, the weight applied in the input's format.
    pub(crate) fn rms_norm(&mut self, x: Tensor) -> Tensor {
        let w = self.norm_weight(x.cols);
        let wide = self.b.cast(x, Dtype::F32);
        let normed = self.normalize(wide);
        if self.config.code.wide_norms {
            let product = self.b.mul(w, normed);
            return self.b.cast(product, x.dtype);
        }
        let narrow = self.b.cast(normed, x.dtype);
        self.b.mul(w, narrow)
    }

    /// `Gemma2RMSNorm`: fp32 to the end, weight plus one.
    pub(crate) fn gemma_norm(&mut self, x: Tensor) -> Tensor {
        let w = self.norm_weight(x.cols);
        let wide = self.b.cast(x, Dtype::F32);
        let normed = self.normalize(wide);
        let w = self.b.cast(w, Dtype::F32);
        let one_plus = self.b.shift(w);
        let out = self.b.mul(normed, one_plus);
        self.b.cast(out, x.dtype)
    }

    /// `T5LayerNorm`: the variance in fp32, the product in the wider format.
    pub(crate) fn t5_norm(&mut self, x: Tensor) -> Tensor {
        let w = self.norm_weight(x.cols);
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
        let w = weight.then(|| self.norm_weight(x.cols));
        let b = bias.then(|| self.norm_weight(x.cols));
        self.b.layer_norm(x, w, b)
    }
}
