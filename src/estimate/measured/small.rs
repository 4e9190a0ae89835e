//! Tables, graphs, time series, reinforcement learning, multi-layer perceptrons: small enough to write out.

use super::{is_half, phases::Pieces, weights};
use crate::catalog::Model;
use crate::estimate::{CannotEstimate, EstimateMethod};
use crate::project::Project;

/// Columns of a table, where nobody says: what the catalog's rows for tables assume.
pub(in crate::estimate) const TABLE_COLUMNS: f64 = 50.0;
/// Nodes, input features and edges of Cora with self-loops (Kipf and Welling's graph).
const CORA: (f64, f64, f64) = (2708.0, 1433.0, 13_264.0);
/// Outputs of the layers for one picture of 84 x 84 x 4 in the Nature network: 20 x 20 x 32 + 9 x 9 x 64 + 7 x 7 x 64 + 512.
const NATURE_ACTIVATIONS: f64 = 12_800.0 + 5_184.0 + 3_136.0 + 512.0;

/// Parameters and outputs of layers for one sample.
fn shape(project: &Project, model: &Model) -> (f64, f64) {
    let parameters = model.params as f64;
    match model.id {
        id if id.starts_with("gcn") => (parameters, CORA.1 + 2.0 * 16.0 + 14.0),
        id if id.contains("atari") => (parameters, NATURE_ACTIVATIONS),
        id if id.contains("lstm") => (parameters, project.sequence as f64 * 2.0 * 128.0 * 6.0),
        id if id.contains("informer") => (parameters, project.sequence as f64 * 3.0 * 512.0 * 17.0),
        id if id.contains("transformer") => (parameters, TABLE_COLUMNS * 3.0 * 192.0 * 17.0),
        id if id.contains("sage") => (parameters, 15.0 * 10.0 * 5.0 * (100.0 + 256.0)),
        _ => (parameters, parameters.sqrt() * 4.0),
    }
}

pub(super) fn pieces(project: &Project, model: &Model) -> Result<(Pieces, EstimateMethod), CannotEstimate> {
    if project.method.is_adapter() {
        return Err(CannotEstimate::MethodDoesNotApply);
    }
    let batch = project.micro_batch as f64;
    if model.is_boosting() {
        return Ok((boosting(project), EstimateMethod::Rough));
    }
    let (parameters, activations) = shape(project, model);
    let mut pieces = weights(project, parameters, parameters, 1.0, 0.9);
    let bytes = if is_half(project) { 6.0 } else { 8.0 };
    pieces.saved = batch * activations * bytes;
    pieces.transient = batch * activations * 4.0 * 0.25;
    if model.id.starts_with("gcn") {
        // The adjacency: two indices and a value for each edge.
        pieces.batch = CORA.0 * CORA.1 * 4.0 + CORA.2 * 20.0;
        pieces.saved = CORA.0 * (activations - CORA.1) * bytes;
    } else {
        pieces.batch = batch * TABLE_COLUMNS * 4.0;
    }
    Ok((pieces, EstimateMethod::Rough))
}

/// Gradient boosting: one byte for each binned value, gradient and hessian of each row, histograms of 256 bins.
fn boosting(project: &Project) -> Pieces {
    let rows = project.samples as f64;
    Pieces {
        // The table arrives in fp32 and is binned on the card.
        batch: rows * TABLE_COLUMNS,
        encoding: rows * TABLE_COLUMNS * 4.0,
        gradients: rows * 8.0,
        early_gradients: 1.0,
        saved: rows * 8.0,
        transient: 64.0 * TABLE_COLUMNS * 256.0 * 16.0,
        ..Pieces::default()
    }
}

pub(super) fn forward_flops(project: &Project, model: &Model) -> f64 {
    let parameters = model.params as f64;
    match model.id {
        id if id.contains("atari") => 2.0 * 9.2e6,
        id if id.contains("lstm") || id.contains("informer") => 2.0 * parameters * project.sequence as f64,
        _ => 2.0 * parameters,
    }
}
