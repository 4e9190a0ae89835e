//! The program: groups of segments of operators, in static single assignment.

use super::Dtype;

/// Index of a value inside its segment.
pub type Id = u16;

/// No value.
pub const NONE: Id = Id::MAX;

/// The caching allocator's smallest unit (`kMinBlockSize` in PyTorch's `CUDACachingAllocator`).
pub const BLOCK: u64 = 512;

/// A slot that carries a value from segment to segment: hidden states, rotary tables, the mask, the encoder's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub u8);

/// How many slots there are; the last holds what the caller keeps through backward.
pub const SLOTS: usize = 24;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Comes and goes with the step.
    Activation,
    /// Logits or one of their kin (log-probabilities, gradients): shown apart.
    Logits,
    /// A 16-bit copy of a weight.
    WeightCopy,
    /// A weight: resident.
    Weight {
        /// Gets a gradient and optimizer state.
        trained: bool,
    },
    /// The gradient of a weight that the forward makes itself (fused losses).
    EarlyGradient,
    /// Arrives through a slot.
    Input(Slot),
}

/// A tensor of the program.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Size in memory, rounded as the allocator rounds it.
    pub bytes: u64,
    /// Number of elements.
    pub numel: u64,
    /// Format.
    pub dtype: Dtype,
    /// What it is.
    pub kind: Kind,
    /// Whose storage it shares, or `NONE`.
    pub alias_of: Id,
    /// Whether a gradient flows to it.
    pub grad: bool,
}

/// What backward does with the gradient of an operator's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backward {
    /// Nothing flows back.
    None,
    /// The gradient goes on as it is to every input (additions, views); where formats differ it is cast.
    Pass,
    /// Parts or expansions of the gradient go on as views of it (`cat`, sums).
    Views,
    /// A new tensor for every input that wants a gradient.
    Fresh,
    /// The gradients were made in forward and saved (fused losses): they go on as they are.
    Saved,
}

/// Bit of [`Op::saves`] for the output.
pub const SAVE_OUT: u8 = 1 << 6;
/// Bit of [`Op::saves`] for the statistics beside the output (mask, log-sum-exp, mean and deviation).
pub const SAVE_AUX: u8 = 1 << 7;

/// An operator as PyTorch's autograd sees it.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Inputs.
    pub inputs: [Id; 4],
    /// First output.
    pub out: Id,
    /// Number of outputs, which follow each other (a split has several).
    pub outs: u8,
    /// Bytes beside the output: masks, statistics. Rounded.
    pub aux: u64,
    /// Bytes that only live while the kernel runs, forward.
    pub temp: u64,
    /// What is kept for backward: bit `i` for input `i`, [`SAVE_OUT`], [`SAVE_AUX`].
    pub saves: u8,
    /// What backward does.
    pub backward: Backward,
    /// Bytes that only live while backward's kernels run.
    pub back_temp: u64,
    /// Autocast keeps the output alive until it is left.
    pub cached: bool,
    /// What is kept beside the output are logits.
    pub logits_aux: bool,
    /// The second input's gradient arrives as a transposed view: autograd does not add to it in place.
    pub weight_view: bool,
    /// Where in [`Segment::drops`] those begin whose last use in forward is this operator.
    pub drops_from: u16,
    /// Selective checkpointing keeps its result.
    pub kept: bool,
    /// Floating-point operations, forward.
    pub flops: f64,
}

/// A run of operators that PyTorch checkpoints as one, or not at all.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Values.
    pub values: Vec<Value>,
    /// Operators in the order of forward.
    pub ops: Vec<Op>,
    /// Values in the order in which their last use in forward comes: see [`Op::drops_from`].
    pub drops: Vec<Id>,
    /// Values that come from slots.
    pub inputs: Vec<(Id, Slot)>,
    /// What it leaves in slots.
    pub outputs: Vec<(Slot, Id)>,
    /// Saved inputs only, computed again in backward.
    pub checkpointed: bool,
    /// It is the head and loss: shown apart.
    pub is_loss: bool,
    /// Bytes of the segment's own weights as they are stored.
    pub weight_bytes: u64,
}

/// Segments that repeat one after another.
#[derive(Clone, Debug)]
pub struct Group {
    /// Segments of one period.
    pub members: Vec<Segment>,
    /// How often.
    pub repeat: u64,
}

/// A weight of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// Elements.
    pub numel: u64,
    /// Bytes of one, rounded.
    pub stored: u64,
    /// Format (of what it stands for, where it is quantized).
    pub dtype: Dtype,
    /// Trained.
    pub trained: bool,
    /// How many alike there are.
    pub times: u64,
    /// Rows of the matrix, or 1 for vectors: what Adafactor factors.
    pub rows: u64,
    /// Elements of the two sums that stand for the second moment in Adafactor: over the last dimension and over the one
    /// before it.
    pub factors: (u64, u64),
}

impl Weight {
    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.stored.saturating_mul(self.times)
    }
}

/// A model with its loss, ready to be run.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The network in order.
    pub groups: Vec<Group>,
    /// All weights.
    pub weights: Vec<Weight>,
    /// Buffers: rotary tables, quantization scales.
    pub buffers: u64,
    /// What functions keep outside autograd's saved tensors: it lives as long as the loss does.
    pub outlasting: u64,
    /// Input and output of the largest convolution that is neither grouped nor 1 x 1: what its fast algorithms' workspaces
    /// go by. 0 where there is no convolution at all.
    pub convolution: u64,
    /// The most that a convolution takes beside its input and output where it is made of transformed tiles, bytes.
    pub transformed: u64,
    /// A loop over the steps of a sequence is written as one operator: what it keeps is many small tensors in truth, which
    /// the allocator finds room for as it does not for one large.
    pub looped: bool,
    /// The batch itself: token ids, labels.
    pub batch_bytes: u64,
    /// Values that are put into slots before the first segment runs, with their bytes.
    pub globals: Vec<(Slot, u64)>,
}

impl Program {
    /// Parameters in all; quantized ones count as what they stand for.
    pub fn parameters(&self) -> u64 {
        self.weights.iter().map(|w| w.numel.saturating_mul(w.times)).sum()
    }

    /// Floating-point operations of one forward pass.
    pub fn forward_flops(&self) -> f64 {
        self.groups
            .iter()
            .map(|g| g.repeat as f64 * g.members.iter().flat_map(|s| &s.ops).map(|o| o.flops).sum::<f64>())
            .sum()
    }
}

/// Rounded up to the allocator's unit.
pub const fn round(bytes: u64) -> u64 {
    if bytes > u64::MAX - BLOCK { u64::MAX - BLOCK } else { bytes.div_ceil(BLOCK) * BLOCK }
}
