//! What the user said: the project, its validation, its presets its share link, and what people paste into it.

mod check;
pub mod custom;
pub mod fields;
pub mod import;
pub mod link;
mod measurement;
pub mod number;
mod parallel;
mod percent;
mod preset;
mod prices;
mod relevant;
mod runtime;
pub mod search;
mod settings;
mod usual;
pub use check::{Applied, Typed, apply};
pub use custom::{CustomModel, CustomNetwork};
pub use fields::{FieldError, Kind, Range};
pub use measurement::Measurement;
pub use parallel::{CARDS_PER_MACHINE, Parallel, Wires};
pub use prices::{CNY_PER_USD, CardPrice, PriceKind, Prices, place, priced_card};
pub use relevant::{Relevant, choices, relevant};
pub use runtime::{Habits, Runtime};
pub use settings::*;
pub use usual::Begun;

use serde::{Deserialize, Serialize};

/// A training project and what the person has to run it on. Plain values only: everything else is derived from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Project {
    /// Id of the preset it started from, or empty.
    pub preset: String,
    /// The preset that it began with, where it has become a project of its own.
    #[serde(skip)]
    pub begun: Begun,
    /// Id of a catalog model, or empty when `custom` or `network` is used.
    pub model: String,
    /// A language model given by its numbers instead of by name.
    pub custom: Option<CustomModel>,
    /// A network given by its printed summary.
    pub network: Option<CustomNetwork>,
    /// What is trained.
    pub method: Method,
    /// LoRA settings; used by `Method::Lora` and `Method::QLora`.
    pub lora: Lora,
    /// Share of the layers that stay frozen with `Method::Freeze`, 0 to 1.
    pub frozen_share: f64,
    /// Number format of weights and arithmetic.
    pub precision: Precision,
    /// Format in which the weights are loaded, where it differs from what method and precision imply.
    pub base: BaseFormat,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// How the optimizer's step is carried out.
    pub optimizer_impl: OptimizerImpl,
    /// Gradient (activation) checkpointing.
    pub checkpointing: Checkpointing,
    /// Attention kernel.
    pub attention: Attention,
    /// How logits and loss are computed.
    pub loss: LossKernel,
    /// Samples per card and forward pass (micro-batch).
    pub micro_batch: u64,
    /// Gradient accumulation: micro-batches per optimizer step.
    pub accumulation: u64,
    /// Tokens per sample (language, vision-language).
    pub sequence: u64,
    /// Image side in pixels (vision, diffusion).
    pub image_side: u64,
    /// Frames per clip (video), 1 for images.
    pub frames: u64,
    /// Objects in the fullest picture (detection).
    pub objects: u64,
    /// Classes to tell apart (vision); `None`: as many as the model was made for.
    pub classes: Option<u64>,
    /// Seconds of sound per sample (audio).
    pub audio_seconds: f64,
    /// Diffusion: latents and text embeddings computed beforehand, so that VAE and text encoders are not on the card.
    pub cached_latents: bool,
    /// Diffusion: where the text encoders are.
    pub text_encoders: TextEncoders,
    /// Diffusion: share of the denoiser's blocks that wait in main memory and are brought to the card in turn, 0 to 1.
    pub block_swap: f64,
    /// A moving average of the trained weights is kept on the card.
    pub ema: bool,
    /// What waits in main memory.
    pub offload: Offload,
    /// What one sample of the loss is.
    pub objective: Objective,
    /// What sits on top of a language model.
    pub task: LanguageTask,
    /// The training library, a named set of switches.
    pub framework: Framework,
    /// How old the software is; never asked.
    #[serde(skip)]
    pub runtime: Runtime,
    /// What it does besides; never asked.
    #[serde(skip)]
    pub habits: Habits,
    /// Samples in the data set.
    pub samples: u64,
    /// Passes over it.
    pub epochs: f64,
    /// What they own.
    pub hardware: Hardware,
    /// What they can spend.
    pub budget: Budget,
    /// What they know better than the catalog about prices.
    pub prices: Prices,
}

/// The cards on the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hardware {
    /// Id of the card, or empty: none chosen (see `no_gpu`).
    pub gpu: String,
    /// The person said that they have no GPU.
    pub no_gpu: bool,
    /// How many of it.
    pub count: u32,
    /// A screen hangs on the card.
    pub desktop: bool,
    /// How several cards share the work.
    pub sharding: Sharding,
    /// How the model itself is cut over them.
    pub parallel: Parallel,
    /// What joins them.
    pub wires: Wires,
}

impl Hardware {
    /// Cards in each machine.
    pub fn per_machine(&self) -> u32 {
        self.wires.per_machine(self.count)
    }
}

/// What may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Limit, in `currency`; `None` = not said.
    pub limit: Option<f64>,
    /// Currency that prices are shown in.
    pub currency: crate::units::Currency,
}

impl Default for Hardware {
    fn default() -> Self {
        Self {
            gpu: String::new(),
            no_gpu: false,
            count: 1,
            desktop: false,
            sharding: Sharding::Auto,
            parallel: Parallel::default(),
            wires: Wires::default(),
        }
    }
}

impl Default for Project {
    fn default() -> Self {
        Self {
            preset: String::new(),
            begun: Begun::default(),
            model: String::new(),
            custom: None,
            network: None,
            method: Method::Full,
            lora: Lora::default(),
            frozen_share: 0.5,
            precision: Precision::AmpBf16,
            base: BaseFormat::AsPrecision,
            optimizer: Optimizer::AdamW,
            optimizer_impl: OptimizerImpl::Auto,
            checkpointing: Checkpointing::Off,
            attention: Attention::Auto,
            loss: LossKernel::Auto,
            micro_batch: 1,
            accumulation: 1,
            sequence: 1024,
            image_side: 224,
            frames: 1,
            objects: 93,
            classes: None,
            audio_seconds: 30.0,
            cached_latents: true,
            text_encoders: TextEncoders::Auto,
            block_swap: 0.0,
            ema: false,
            offload: Offload::None,
            objective: Objective::Likelihood,
            task: LanguageTask::Auto,
            framework: Framework::Transformers,
            runtime: Runtime::Current,
            habits: Habits::default(),
            samples: 1000,
            epochs: 3.0,
            hardware: Hardware::default(),
            budget: Budget::default(),
            prices: Prices::default(),
        }
    }
}

impl Project {
    /// Whether the text encoders of a diffusion model are on the card while it is trained.
    pub fn text_on_card(&self) -> bool {
        match self.text_encoders {
            TextEncoders::Auto => !self.cached_latents,
            TextEncoders::Cached => false,
            TextEncoders::Resident | TextEncoders::Trained => true,
        }
    }
}

/// A field of the form; errors and fixes name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Field {
    Preset,
    Model,
    CustomLayers,
    CustomHidden,
    CustomIntermediate,
    CustomHeads,
    CustomKvHeads,
    CustomVocab,
    NetworkParams,
    NetworkOutputs,
    Method,
    LoraRank,
    LoraTargets,
    LoraDropout,
    FrozenShare,
    Precision,
    Base,
    Optimizer,
    OptimizerImpl,
    Checkpointing,
    Attention,
    Loss,
    MicroBatch,
    Accumulation,
    Sequence,
    ImageSide,
    Frames,
    Objects,
    Classes,
    AudioSeconds,
    CachedLatents,
    TextEncoders,
    BlockSwap,
    Ema,
    Offload,
    Objective,
    Task,
    Framework,
    Samples,
    Epochs,
    Gpu,
    Count,
    Desktop,
    Sharding,
    Interconnect,
    Machines,
    Network,
    Tensor,
    Pipeline,
    Chunks,
    Context,
    Expert,
    Group,
    BudgetLimit,
    Currency,
    Place,
    Electricity,
    ExchangeRate,
    HoursAWeek,
    PriceCard,
    PriceRent,
    PriceNew,
    PriceUsed,
}
