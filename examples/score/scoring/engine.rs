//! Asks the calculator.

use super::case::{Figures, Reason, Subject};
use enough_gpu::catalog::{Catalog, LanguageModel};
use enough_gpu::estimate::{self, CannotEstimate};
use enough_gpu::step::{StepConfig, Walk};
use enough_gpu::units::Bytes;

/// Our figures for what was run; what a card needs is looked into where it is `judged`.
pub(crate) fn figures(subject: &Subject, catalog: &Catalog, judged: bool) -> Result<Figures, Reason> {
    match subject {
        Subject::Step { model, config, outside } => step(model, config, *outside),
        Subject::Project { project, gpu } => {
            let found = estimate::memory(project, gpu.as_deref(), catalog).map_err(|why| declined(&why))?;
            let reserved = estimate::reserved(project, gpu.as_deref(), catalog).map_err(|why| declined(&why))?;
            // `max_memory_allocated` counts cuBLAS' workspaces, which come from PyTorch's allocator.
            let workspaces = gpu.as_deref().map_or(Bytes::ZERO, |g| estimate::overhead::workspaces(Some(g)));
            Ok(Figures {
                allocated: found.allocated + workspaces,
                reserved,
                smi: reserved + (found.card - found.reserved),
                band: Some(found.band),
                card: if judged {
                    estimate::needed(project, gpu.as_deref(), catalog).map_err(|why| declined(&why))?
                } else {
                    found.card
                },
                forward_end: None,
                steady: None,
            })
        }
    }
}

fn declined(why: &CannotEstimate) -> Reason {
    Reason::Declined(match why {
        CannotEstimate::UnknownModel(id) => format!("unknown model {id}"),
        other => format!("{other:?}"),
    })
}

fn step(model: &LanguageModel, config: &StepConfig, outside: Bytes) -> Result<Figures, Reason> {
    let found = estimate::language::step(model, config, Walk::Ends).map_err(|why| declined(&why))?;
    let reserved = estimate::language::reserved(model, config).map_err(|why| declined(&why))?;
    Ok(Figures {
        allocated: found.peak,
        reserved,
        smi: reserved + outside,
        card: if outside == Bytes::ZERO { found.peak } else { reserved + outside },
        band: None,
        forward_end: Some(found.forward_end),
        steady: Some(found.steady),
    })
}
