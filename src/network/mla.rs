//! Multi-head latent attention.
use super::builder::Tensor;
use super::layers::Layers;
use super::style::Style;
use crate::catalog::LanguageModel;

pub(crate) fn attention(_n: &mut Layers, _model: &LanguageModel, _style: &Style, x: Tensor) -> Tensor {
    x
}
