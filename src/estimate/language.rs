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
