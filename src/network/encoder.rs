//! Placeholder module.
use super::style::Style;
use super::{Program, StepConfig};
use crate::catalog::LanguageModel;

pub(crate) fn encoder(_model: &LanguageModel, _style: &Style, _config: &StepConfig) -> Program {
    Program::default()
}
