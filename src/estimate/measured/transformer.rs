//! Bytes that a stack of transformer blocks keeps for backward.

use super::{is_half, recomputes};
use crate::project::Project;

/// What a kind of transformer block keeps for each token, in multiples of its width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Under autocast, all weights trained.
    pub(super) half: f64,
    /// In fp32, all weights trained.
    pub(super) full: f64,
    /// Under autocast, adapters only.
    pub(super) adapters: f64,
}

/// Encoder block of a vision transformer: traced ViT-B/16 and ViT-L/16 of torchvision.
pub(super) const VIT: Block = Block { half: 36.6, full: 68.6, adapters: 24.0 };
/// Encoder block of Whisper, traced tiny to large-v3.
pub(super) const SPEECH_ENCODER: Block = Block { half: 50.5, full: 73.5, adapters: 36.0 };
/// Decoder block of Whisper, self-attention and cross-attention.
pub(super) const SPEECH_DECODER: Block = Block { half: 55.0, full: 82.0, adapters: 40.0 };
/// Joint and single-stream blocks of SD3 and FLUX.
pub(super) const DIT: Block = Block { half: 55.0, full: 95.0, adapters: 34.0 };
/// Blocks with cross-attention to the text beside self-attention (`PixArt`, Hunyuan-DiT, Wan).
pub(super) const CROSS_DIT: Block = Block { half: 70.0, full: 120.0, adapters: 52.0 };
/// Decoder block with gated MLP: traced Llama and Qwen families.
pub(super) const DECODER: Block = Block { half: 62.0, full: 100.0, adapters: 62.6 };

/// Tokens going through blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    pub(super) block: Block,
    pub(super) layers: f64,
    pub(super) width: f64,
    pub(super) tokens: f64,
}

impl Stack {
    fn bytes_per_block(&self, project: &Project) -> f64 {
        let multiple = if project.method.is_adapter() && is_half(project) {
            self.block.adapters
        } else if is_half(project) {
            self.block.half
        } else {
            self.block.full
        };
        multiple * self.width * self.tokens
    }

    /// Saved for backward and short-lived bytes, for one sample.
    pub(super) fn kept(&self, project: &Project) -> (f64, f64) {
        let block = self.bytes_per_block(project);
        if recomputes(project) {
            // The input of each block: 16 bit in adapters' bases, fp32 where norms hand it on in fp32.
            let element = if is_half(project) { 2.4 } else { 4.2 };
            (element * self.width * self.tokens * self.layers, block * 1.3)
        } else {
            (block * self.layers, block / self.block.half * 8.0)
        }
    }

    /// Forward operations of one sample: two per weight and token, and the attention products.
    pub(super) fn forward_flops(&self, weights_per_layer: f64) -> f64 {
        let products = 4.0 * self.tokens * self.tokens * self.width;
        self.layers * (2.0 * weights_per_layer * self.tokens + products)
    }
}
