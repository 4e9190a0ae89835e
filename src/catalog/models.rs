//! Models as Rust sees them: what they are for, how large they are, what they are made of.

use super::language::LanguageModel;
use super::types::Source;
use crate::units::decimal;

/// What a model is for, which decides the settings that make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Language models and text encoders.
    Language,
    /// Pictures in, labels, boxes or masks out; also GANs and super-resolution.
    Vision,
    /// Image and video generation by diffusion.
    Diffusion,
    /// Speech, voice, music.
    Audio,
    /// Pictures and text in, text out.
    VisionLanguage,
    /// Tables, graphs, time series, reinforcement learning, plain multi-layer perceptrons.
    Small,
}

/// A vision model, by the columns of `vision.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct VisionModel {
    /// Task: `classification`, `detection` ...
    pub kind: &'static str,
    /// Image side the figures below belong to.
    pub resolution: f64,
    /// Slices or frames of that input: 1 for a picture, 128 for the 128 x 128 x 128 patch of a volume.
    pub depth: f64,
    /// Multiply-accumulates of one forward pass at that side, in 10^9.
    pub gmacs: Option<f64>,
    /// Outputs of convolution and linear layers for one sample, in 10^6.
    pub activations_m: Option<f64>,
    /// Bytes that a traced step holds at its peak for each of those outputs, in fp32 and under autocast, and the share of
    /// the gradients that is there by then, as printed; empty where nobody traced it.
    pub kept: &'static str,
    /// Attention heads, where it has any.
    pub heads: &'static str,
    /// Layers or stages, as printed.
    pub layers: &'static str,
    /// Width, as printed.
    pub dim: &'static str,
    /// Patch side.
    pub patch: &'static str,
}

/// A text encoder, VAE or other frozen part of a diffusion pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Name, as `T5-XXL encoder`.
    pub name: &'static str,
    /// Parameters; 0 where not stated.
    pub params: u64,
}

/// A diffusion pipeline, by the columns of `diffusion.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffusionModel {
    /// `image`, `video`, `adapter` ...
    pub kind: &'static str,
    /// Kind of denoiser: `UNet`, `MMDiT` ...
    pub denoiser: &'static str,
    /// Parameters of one denoiser: of the trained part itself where it is an adapter (ControlNet, motion module).
    pub denoiser_params: u64,
    /// Denoisers in the pipeline: 2 where one takes the noisy and one the clean steps (Wan 2.2 A14B), otherwise 1.
    pub denoisers: u32,
    /// Parameters of the VAE; 0 where not stated.
    pub vae_params: u64,
    /// Text encoders.
    pub text_encoders: &'static [Part],
    /// The frozen network that an adapter hangs on.
    pub frozen: &'static [Part],
    /// Channels of the latent.
    pub latent_channels: Option<f64>,
    /// Pixels per latent side.
    pub downscale_spatial: Option<f64>,
    /// Frames per latent frame.
    pub downscale_temporal: Option<f64>,
    /// Patch side in latents, as printed.
    pub patch: &'static str,
    /// Blocks, as printed (`19+38`).
    pub blocks: &'static str,
    /// Width, as printed.
    pub hidden: &'static str,
    /// Heads, as printed.
    pub heads: &'static str,
    /// Text tokens that the denoiser sees, of all encoders together.
    pub text_length: Option<f64>,
    /// Image side (or `width x height`) it was made for, as printed.
    pub native_resolution: &'static str,
    /// Frames it was made for.
    pub native_frames: Option<f64>,
    /// Multiply-accumulates of one denoiser pass at native size without attention products, in 10^9.
    pub gmacs: Option<f64>,
    /// Outputs of convolution and linear layers at native size for one sample, in 10^6.
    pub activations_m: Option<f64>,
}

impl DiffusionModel {
    /// Whether the text encoders can be trained along: CLIP beside a U-Net. What came later has encoders too large for that.
    pub fn learns_text(&self) -> bool {
        const CLIP: u64 = 1_000_000_000;
        let text: u64 = self.text_encoders.iter().map(|t| t.params).sum();
        self.denoiser.contains("UNet") && self.frozen.is_empty() && (1..CLIP).contains(&text)
    }

    /// Blocks as swapping them to main memory counts them: one of two streams, or two of one stream, which weigh about as
    /// much (`enable_block_swap` of sd-scripts). `None` where there are no blocks alike.
    pub fn swappable_blocks(&self) -> Option<f64> {
        if self.denoiser.contains("UNet") {
            return None;
        }
        let mut numbers = self.blocks.split(|c: char| !c.is_ascii_digit()).filter_map(decimal::read);
        let first = numbers.next()?;
        let streams = if self.blocks.contains("single") { numbers.next()? / 2.0 } else { 0.0 };
        Some(first + streams)
    }
}

/// A speech, music, vision-language, tabular ... model, by the columns of `audio_other.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherModel {
    /// Kind, as `speech recognition`.
    pub kind: &'static str,
    /// Main part and its parameters.
    pub main: Part,
    /// Second part (vision tower, discriminator) and its parameters.
    pub second: Part,
    /// What else belongs to it, in words.
    pub rest: &'static str,
    /// Layers, as printed (`4+4`).
    pub layers: &'static str,
    /// Width, as printed.
    pub hidden: &'static str,
    /// Heads, as printed.
    pub heads: &'static str,
    /// What goes in.
    pub input: &'static str,
    /// How many tokens or frames that makes.
    pub tokens_or_frames: &'static str,
}

impl OtherModel {
    /// Whether it is a voice of convolutions with critics beside it, which is shown short windows of a clip.
    pub fn has_critics(&self) -> bool {
        self.second.name.contains("discriminator") || self.main.name.contains("SoVITS")
    }
}

/// The part of a model row that differs by table.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Architecture {
    Language(LanguageModel),
    Vision(VisionModel),
    Diffusion(DiffusionModel),
    Other(OtherModel),
}

/// A model that can be trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Kebab-case id, stable: it stands in share links.
    pub id: &'static str,
    /// Name people use.
    pub name: &'static str,
    /// Hugging Face repository, or empty.
    pub repo: &'static str,
    /// Domain.
    pub domain: Domain,
    /// All parameters (of the part that is trained or its base; see `data/README.md`).
    pub params: u64,
    /// Release month, or empty.
    pub release: &'static str,
    /// Licence, or empty.
    pub licence: &'static str,
    /// What it is made of.
    pub architecture: Architecture,
    /// Where it was read.
    pub source: Source,
}

/// The row of gradient-boosted trees.
const BOOSTING: &str = "xgboost-gpu";

/// Whether this is the id of gradient-boosted trees, which no neural network's rules fit.
pub fn is_boosting(id: &str) -> bool {
    id == BOOSTING
}

impl Model {
    /// Whether its weights are published in 4 bit: gpt-oss in MXFP4 (`quantization_config` of its config.json).
    pub fn is_in_four_bit(&self) -> bool {
        self.language().is_some_and(|l| l.family == "gpt-oss")
    }

    /// Whether it looks at volumes, such as scans of a body, instead of pictures or clips.
    pub fn is_volumetric(&self) -> bool {
        matches!(&self.architecture, Architecture::Vision(v) if v.kind.starts_with("medical"))
    }

    /// Gradient-boosted trees.
    pub fn is_boosting(&self) -> bool {
        is_boosting(self.id)
    }

    /// The language architecture, if it is one.
    pub fn language(&self) -> Option<&LanguageModel> {
        if let Architecture::Language(m) = &self.architecture { Some(m) } else { None }
    }
}
