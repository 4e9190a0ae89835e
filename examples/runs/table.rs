//! The measured runs as the page carries them: what tells one from another, the peak, and where it was read.

use super::pages;
use super::scoring::case::{Meter, Outcome, Quality, Subject};
use super::scoring::measured;
use super::scoring::table::Table;
use enough_gpu::catalog::{Catalog, Domain};
use enough_gpu::project::{Choice, Offload, Project, Sharding};

/// Where the runs stand, and where the page's table of them is written to.
pub(crate) const FROM: &str = "tests/data/measured.csv";
/// See [`FROM`].
pub(crate) const TO: &str = "src/catalog/data/runs.csv";

const HEAD: &str = "model,method,precision,offload,sharding,batch,size,frames,checkpointing,cards,gpu,framework,peak_mib,meter,source\n";

/// The table: runs of quality A and B that got through and whose peak is known, of models of the catalog.
pub(crate) fn table(catalog: &Catalog) -> Result<String, String> {
    let (rows, _) = Table::read(&pages::read(FROM)?);
    let mut lines: Vec<String> = rows.rows().filter_map(|row| line(&measured::case(&row, catalog), catalog)).collect();
    lines.dedup();
    Ok(HEAD.to_owned() + &lines.concat())
}

fn line(case: &super::scoring::case::Case, catalog: &Catalog) -> Option<String> {
    if case.quality == Quality::C || case.outcome != Some(Outcome::Fits) {
        return None;
    }
    let Ok(Subject::Project { project, .. }) = &case.subject else { return None };
    let model = catalog.model(&project.model)?;
    let (size, frames) = size(project, model.domain);
    let cells = [
        model.id.to_owned(),
        project.method.id().to_owned(),
        project.precision.id().to_owned(),
        unless(project.offload.id(), Offload::None.id()),
        unless(project.hardware.sharding.id(), Sharding::Auto.id()),
        project.micro_batch.to_string(),
        size,
        frames,
        project.checkpointing.id().to_owned(),
        project.hardware.count.to_string(),
        project.hardware.gpu.clone(),
        project.framework.id().to_owned(),
        // Three digits are what a person reads; the third place of a large figure is noise.
        rounded(case.peak?.0 >> 20).to_string(),
        match case.meter {
            Meter::Allocated => "allocated",
            Meter::Reserved => "reserved",
            Meter::Smi => "smi",
        }
        .to_owned(),
        place(&case.source),
    ];
    Some(cells.join(",") + "\n")
}

/// An id, or nothing where it is the usual one.
fn unless(id: &str, usual: &str) -> String {
    if id == usual { String::new() } else { id.to_owned() }
}

/// Tokens, side in pixels or seconds; frames where they are more than one.
fn size(project: &Project, domain: Domain) -> (String, String) {
    match domain {
        Domain::Language | Domain::VisionLanguage => (project.sequence.to_string(), String::new()),
        Domain::Audio => (project.audio_seconds.round().max(1.0).to_string(), String::new()),
        Domain::Small => (String::new(), String::new()),
        Domain::Vision | Domain::Diffusion => (
            project.image_side.to_string(),
            if project.frames > 1 { project.frames.to_string() } else { String::new() },
        ),
    }
}

fn rounded(mib: u64) -> u64 {
    let step = match mib {
        0..=999 => 1,
        1000..=9999 => 10,
        _ => 100,
    };
    (mib + step / 2) / step * step
}

/// The first place of a source: a repository with a file or a thread, a publication. Never a comma: cells are not quoted.
fn place(source: &str) -> String {
    let end =
        [" ; ", "; ", ", ", " (", " + "].iter().filter_map(|mark| source.find(mark)).min().unwrap_or(source.len());
    source[..end].replace([',', '"'], " ").trim().to_owned()
}
