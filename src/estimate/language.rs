//! Language models: the step run symbolically.

use crate::catalog::LanguageModel;
use crate::network;
use crate::step::{self, StepConfig, StepResult, Walk};

/// One training step of a language model, every switch given.
pub fn step(model: &LanguageModel, config: &StepConfig) -> StepResult {
    step::run(&network::language(model, config), config, Walk::Ends)
}

/// The same with every layer walked: slower, for checking.
pub fn step_in_full(model: &LanguageModel, config: &StepConfig) -> StepResult {
    step::run(&network::language(model, config), config, Walk::Full)
}

/// Reserved memory of a step by simulating the caching allocator over the full walk.
pub fn reserved(model: &LanguageModel, config: &StepConfig) -> u64 {
    let program = network::language(model, config);
    let mut allocator = step::Allocator::default();
    step::lay_out(&program, config, &mut allocator);
    step::run_observed(&program, config, Walk::Full, &mut allocator);
    allocator.peak()
}
