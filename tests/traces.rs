//! Traced steps figure by figure: what is resident, what is there at the peak by kind, the peak of each phase. `PyTorch`
//! said them to the byte; most of ours are the same to the byte, and that stays so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../examples/score/scoring/mod.rs"]
mod scoring;

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::{Moment, Part, memory};
use enough_gpu::network;
use enough_gpu::step::{Category, Phase, Walk, run};
use scoring::case::Subject;
use scoring::oracle;
use scoring::table::{Row, Table};
use std::collections::BTreeMap;

const TRACES: &str = include_str!("data/oracle.csv");

/// What is within this share counts as the same.
const SAME: f64 = 0.0005;

/// For each figure the rows that have it, and those that are off.
#[derive(Default)]
struct Compared(BTreeMap<&'static str, (usize, Vec<String>)>);

impl Compared {
    fn figure(&mut self, name: &'static str, row: &Row<'_>, ours: u64, columns: &[&str]) {
        let Some(traced) = columns.iter().map(|column| row.count(column)).sum::<Option<u64>>() else { return };
        let (rows, off) = self.0.entry(name).or_default();
        *rows += 1;
        if (ours as f64 - traced as f64).abs() > SAME * traced as f64 {
            off.push(format!("{}: {ours} for {traced}", row.text("id")));
        }
    }

    /// So many rows have the figure, of which at most so many are off.
    fn hold(&self, bounds: &[(&str, usize, usize)]) {
        let mut broken = Vec::new();
        for (name, rows, most) in bounds {
            let (found, off) = &self.0[name];
            println!("{name}: {} of {found} are off", off.len());
            if found != rows || off.len() > *most {
                broken.push(format!("{name}: {} of {found} (at most {most} of {rows}): {off:?}", off.len()));
            }
        }
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }
}

/// Steps of language models with every switch given. Of two moments that are as high to the byte either may be the peak. Where fixed buffers belong is a matter of taste: they are in the
/// sums, and make most of what is off in single figures.
#[test]
fn steps_of_language_models_to_the_byte() {
    let catalog = Catalog::bundled();
    let table = Table::read(TRACES).0;
    let (mut compared, mut other_phase, mut rows) = (Compared::default(), 0, 0);
    for row in table.rows() {
        let Ok(Subject::Step { model, config, .. }) = oracle::case(&row, &catalog).subject else { continue };
        let r = run(&network::language(&model, &config), &config, Walk::Ends);
        let at = |category: Category| r.at_peak[category as usize];
        rows += 1;
        for (name, ours, column) in [
            ("peak", r.peak.0, "peak_bytes"),
            ("weights", r.weights.0, "param_bytes"),
            ("gradients", r.gradients.0, "grad_bytes"),
            ("optimizer", r.optimizer.0, "optim_bytes"),
            ("steady", r.steady.0, "steady_bytes"),
            ("end of forward", r.forward_end.0, "forward_end_bytes"),
            ("peak of backward", r.peaks[1].0, "peak_backward_bytes"),
            ("peak of the optimizer", r.peaks[2].0, "peak_optimizer_bytes"),
            ("gradients at the peak", at(Category::Gradients), "at_peak_grad"),
            ("copies at the peak", at(Category::WeightCopies), "at_peak_weight_cast"),
            ("activations at the peak", at(Category::Activations), "at_peak_act"),
            ("logits at the peak", at(Category::Logits), "at_peak_logits"),
        ] {
            compared.figure(name, &row, ours, &[column]);
        }
        // The loss is forward until its backward begins.
        let phase = match (r.phase, row.text("peak_phase")) {
            (Phase::Loss, "forward" | "backward") => true,
            (phase, traced) => format!("{phase:?}").eq_ignore_ascii_case(traced),
        };
        other_phase += usize::from(!phase);
    }
    compared.hold(&[
        ("peak", 144, 7),
        ("weights", 144, 34),
        ("gradients", 144, 0),
        ("optimizer", 144, 18),
        ("steady", 144, 0),
        ("end of forward", 144, 5),
        ("peak of backward", 144, 20),
        ("peak of the optimizer", 144, 0),
        ("gradients at the peak", 144, 8),
        ("copies at the peak", 144, 10),
        ("activations at the peak", 144, 53),
        ("logits at the peak", 144, 0),
    ]);
    assert_eq!(rows, 144);
    assert!(other_phase <= 8, "{other_phase}");
}

/// The others, as projects: part by part at the peak.
#[test]
fn steps_of_other_models_to_the_byte() {
    let catalog = Catalog::bundled();
    let table = Table::read(TRACES).0;
    let (mut compared, mut other_moment) = (Compared::default(), 0);
    for row in table.rows() {
        let Ok(Subject::Project { project, gpu }) = oracle::case(&row, &catalog).subject else { continue };
        let m = memory(&project, gpu.as_deref(), &catalog).unwrap();
        compared.figure("peak", &row, m.allocated.0, &["peak_bytes"]);
        let weights = ["at_peak_param", "at_peak_weight_cast", "buffer_bytes"];
        compared.figure("weights", &row, m.part(Part::Weights).0, &weights);
        compared.figure("gradients", &row, m.part(Part::Gradients).0, &["at_peak_grad"]);
        compared.figure("optimizer", &row, m.part(Part::Optimizer).0, &["at_peak_optim"]);
        let short = ["at_peak_logits", "at_peak_temp", "at_peak_kernel_internal", "at_peak_recompute"];
        compared.figure("short-lived", &row, (m.part(Part::Logits) + m.part(Part::Temporaries)).0, &short);
        let phase = match (m.moment, row.text("peak_phase")) {
            (Moment::Loss, "forward" | "backward") => true,
            (moment, traced) => format!("{moment:?}").eq_ignore_ascii_case(traced),
        };
        other_moment += usize::from(!phase);
    }
    compared.hold(&[
        ("peak", 126, 33),
        ("weights", 108, 11),
        ("gradients", 108, 5),
        ("optimizer", 108, 2),
        ("short-lived", 108, 58),
    ]);
    assert!(other_moment <= 8, "{other_moment}");
}
