//! Small weights beside frozen layers, as PEFT and `LyCORIS` write them.

use super::{Layers, Role};
use crate::network::builder::{Kernel, Tensor, bytes};
use crate::network::{Dtype, Trained};
use crate::project::{Adapter, Lora, LoraTargets};

impl Layers<'_> {
    /// What stands beside frozen weights.
    pub(crate) const fn adapter(&self) -> Option<Lora> {
        match self.config.trained {
            Trained::Adapters(lora) => Some(lora),
            _ => None,
        }
    }

    /// Whether copies of embedding and head are trained beside the adapters.
    pub(crate) fn trains_ends(&self) -> bool {
        self.adapter().is_some_and(|lora| lora.ends)
    }

    /// Whether the output head's result is scaled by trained numbers.
    pub(crate) fn scales_head(&self) -> bool {
        self.adapter().is_some_and(|lora| lora.kind == Adapter::Scales)
    }

    /// The adapter of a layer: of those that a method is for.
    pub(super) fn adapted(&self, role: Role) -> Option<Lora> {
        let lora = self.adapter()?;
        let hit = match (lora.kind, lora.targets) {
            (Adapter::Tokens | Adapter::Norms | Adapter::Prompted, _) => false,
            // `TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING` of peft/utils/constants.py.
            (Adapter::Ia3, _) => matches!(role, Role::Key | Role::Value | Role::Qkv | Role::Mlp),
            (Adapter::Scales, _) => !matches!(role, Role::Outside | Role::Head),
            (_, LoraTargets::QV) => matches!(role, Role::Query | Role::Value | Role::Qkv),
            (_, LoraTargets::Attention) => {
                matches!(role, Role::Query | Role::Key | Role::Value | Role::Qkv)
                    || (role == Role::AttentionOut && self.adapts_attention_out)
            }
            (_, LoraTargets::AllLinear) => !matches!(role, Role::Outside | Role::Head),
            (_, LoraTargets::AllLinearAndHead) => role != Role::Outside,
        };
        (hit && lora.rank > 0).then_some(lora)
    }

    /// A layer and what stands beside it.
    pub(super) fn with_adapter(&mut self, x: Tensor, out: u64, bias: bool, role: Role, lora: Lora) -> Tensor {
        match lora.kind {
            Adapter::Ia3 if role == Role::Mlp && x.cols <= out => return self.base(x, out, bias, role),
            Adapter::Ia3 if role == Role::Mlp => {
                let wide = self.b.cast(x, self.config.adapter);
                let scaled = self.ia3(wide);
                let scaled = self.b.cast(scaled, x.dtype);
                return self.base(scaled, out, bias, role);
            }
            Adapter::Oft => {
                let turned = self.oft(x, lora.rank);
                return self.base(turned, out, bias, role);
            }
            _ => {}
        }
        let base = self.base(x, out, bias, role);
        match lora.kind {
            Adapter::Ia3 => self.ia3(base),
            Adapter::Scales => {
                let (bias, scale) = (self.b.weight(out, 1, base.dtype, true), self.b.weight(out, 1, base.dtype, true));
                let sum = self.b.add(base, bias);
                self.b.mul(scale, sum)
            }
            Adapter::Kronecker => self.lokr(x, base, out, role),
            _ => self.beside(x, base, out, lora),
        }
    }

    /// PEFT's `lora.Linear` and its kin: `result + lora_B(lora_A(dropout(x))) * scaling`.
    pub(super) fn beside(&mut self, x: Tensor, base: Tensor, out: u64, lora: Lora) -> Tensor {
        let dtype = self.config.adapter;
        let (kind, rank) = (lora.kind, lora.rank);
        let input = if self.config.code.plain_adapters { x } else { self.b.cast(x, dtype) };
        let dropped = if kind == Adapter::Miss { input } else { self.b.dropout(input, lora.dropout) };
        let update = match kind {
            Adapter::Miss => {
                // `torch.sum(x.reshape(..., in / r, r), dim=-2) @ miss`.
                let low = self.b.reduce(dropped, x.rows, rank.min(x.cols));
                let w = self.b.weight(out, rank.min(x.cols), dtype, true);
                self.b.linear(low, w, None)
            }
            Adapter::Vera => {
                // Slices of the shared matrices, which autocast copies anew for each layer.
                let (d, b) = (self.b.weight(rank, 1, dtype, true), self.b.weight(out, 1, dtype, true));
                let a = self.b.zeros(rank, x.cols, dtype);
                let low = self.b.linear(dropped, a, None);
                let scaled = self.b.mul(d, low);
                let a = self.b.zeros(out, rank, dtype);
                let high = self.b.linear(scaled, a, None);
                self.b.mul(b, high)
            }
            _ => {
                let a = self.b.weight(rank, x.cols, dtype, true);
                let a = if kind == Adapter::AdaLora {
                    let e = self.b.weight(rank, 1, dtype, true);
                    self.b.mul(a, e)
                } else {
                    a
                };
                let low = self.b.linear(dropped, a, None);
                let w = self.b.weight(out, rank, dtype, true);
                let high = self.b.linear(low, w, None);
                match kind {
                    Adapter::Dora => self.dora(dropped, base, high, lora.dropout),
                    Adapter::AdaLora => {
                        // `... * scaling / ranknum`, a parameter too.
                        let count = self.b.weight(1, 1, high.dtype, true);
                        let scaled = self.b.scale(high);
                        self.b.mul(scaled, count)
                    }
                    _ => self.b.scale(high),
                }
            }
        };
        // The local variable `x` holds the cast input until the layer returns; who called it holds the input as it came.
        let sum = self.b.add(base, update);
        self.b.touch(input);
        self.b.touch(x);
        self.b.cast(sum, base.dtype)
    }

    /// `DoraLinearLayer` of peft/tuners/lora/dora.py: the length of each row of weight and update together is made anew, in
    /// the adapter's format, and the base's result scaled by it. With dropout the base is asked again for what is left.
    fn dora(&mut self, x: Tensor, base: Tensor, high: Tensor, dropout: f64) -> Tensor {
        let dtype = self.config.adapter;
        let (out, numel) = (base.cols, base.cols.saturating_mul(x.cols));
        let magnitude = self.b.weight(out, 1, dtype, true);
        let update = if self.b.autocast.is_some() { bytes(numel, dtype) } else { 0 };
        // Weight and update in the adapter's format, the update times its scale, and their sum.
        let temp = update + 3 * bytes(numel, dtype);
        let lengths = Kernel { saves: crate::network::SAVE_AUX, aux: bytes(out, dtype), temp, ..Kernel::default() };
        let scale = self.b.fused(&[magnitude], out, 1, dtype, lengths);
        let seen = if dropout > 0.0 {
            let weight = self.b.zeros(out, x.cols, dtype);
            let again = self.b.linear(x, weight, None);
            self.b.touch(weight);
            again
        } else {
            base
        };
        let less = self.b.shift(scale);
        let first = self.b.mul(less, seen);
        let second = self.b.mul(scale, high);
        let second = self.b.scale(second);
        self.b.add(first, second)
    }

    /// `result * ia3_l` in the adapter's format.
    fn ia3(&mut self, t: Tensor) -> Tensor {
        let l = self.b.weight(t.cols, 1, self.config.adapter, true);
        let product = self.b.mul(t, l);
        self.b.cast(product, t.dtype)
    }

    /// What the queries make of ten trained tokens, behind a gate of each head (`CausalSelfAttention.forward` of
    /// litgpt/adapter.py): a second attention, by the memory-efficient kernel, since it has a mask.
    pub(crate) fn prompted(&mut self, q: Tensor, context: Tensor, hidden: u64, heads: u64) -> Tensor {
        const TOKENS: u64 = 10;
        let tokens = self.b.weight(TOKENS, hidden, self.config.adapter, true);
        let both = self.b.fused(&[tokens], TOKENS, 2 * q.cols, q.dtype, Kernel::default());
        let statistics = bytes(q.rows.saturating_mul(heads), Dtype::F32);
        let saves = 0b11 | crate::network::SAVE_OUT | crate::network::SAVE_AUX;
        let kernel = Kernel { saves, aux: statistics, ..Kernel::default() };
        let seen = self.b.fused(&[q, both], q.rows, q.cols, q.dtype, kernel);
        let gate = self.b.weight(heads, 1, self.config.adapter, true);
        let gated = self.b.mul(gate, seen);
        self.b.add(context, gated)
    }

    /// `OFTRotationModule`: the input in blocks, each times a small matrix that is made of the trained ones by a series.
    fn oft(&mut self, x: Tensor, block: u64) -> Tensor {
        let dtype = self.config.adapter;
        let input = self.b.cast(x, dtype);
        let count = x.cols.div_ceil(block.max(1));
        let w = self.b.weight(count, block.saturating_mul(block.saturating_sub(1)) / 2, dtype, true);
        let square = bytes(count.saturating_mul(block).saturating_mul(block), dtype);
        let series = Kernel { saves: crate::network::SAVE_AUX, aux: 3 * square, temp: square, ..Kernel::default() };
        let rotation = self.b.fused(&[w], count.saturating_mul(block), block, dtype, series);
        let flops = 2.0 * x.numel() as f64 * block as f64;
        let turned = self.b.matmul(input, rotation, x.rows, x.cols, flops);
        self.b.touch(input);
        self.b.cast(turned, x.dtype)
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
}
