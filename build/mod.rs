//! The catalog's compiler: CSV in, checked, Rust tables out. `build.rs` runs it; the tests feed it broken rows.

mod checks;
mod pack;
mod rows;
mod schema;
mod table;
mod usable;

// What the library and its compiler share.
#[allow(dead_code, unreachable_pub)]
#[path = "../src/catalog/grammar.rs"]
mod grammar;
#[allow(dead_code, unreachable_pub)]
#[path = "../src/catalog/language.rs"]
mod language;
#[allow(unreachable_pub)]
#[path = "../src/catalog/params.rs"]
mod params;

pub(crate) use pack::Cells;
#[allow(unused_imports)] // For the tests.
pub(crate) use pack::NOT_ON_THE_PAGE;
use table::{Broken, Table};

/// All tables, each checked by its schema.
pub(crate) struct Tables {
    pub(crate) gpus: Table,
    pub(crate) usable: Table,
    pub(crate) offers: Table,
    pub(crate) billing: Table,
    pub(crate) free: Table,
    pub(crate) language: Table,
    pub(crate) published: Table,
    pub(crate) vision: Table,
    pub(crate) diffusion: Table,
    pub(crate) other: Table,
    pub(crate) presets: Table,
    pub(crate) throughput: Table,
    pub(crate) aliases: Table,
    pub(crate) runs: Table,
}

impl Tables {
    /// The tables whose rows are models.
    pub(crate) fn models(&self) -> [&Table; 4] {
        [&self.language, &self.vision, &self.diffusion, &self.other]
    }
}

/// Reads every file with `read`, checks it and returns the Rust source of the tables, or one sentence.
pub(crate) fn compile(cells: Cells, read: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let table = |schema: &'static schema::Schema| {
        Table::read(schema, &read(schema.file)?).map_err(|broken: Broken| broken.to_string())
    };
    let tables = Tables {
        gpus: table(&schema::GPUS)?,
        usable: table(&schema::USABLE)?,
        offers: table(&schema::CLOUD)?,
        billing: table(&schema::BILLING)?,
        free: table(&schema::FREE)?,
        language: table(&schema::LLM)?,
        published: table(&schema::PUBLISHED)?,
        vision: table(&schema::VISION)?,
        diffusion: table(&schema::DIFFUSION)?,
        other: table(&schema::OTHER)?,
        presets: table(&schema::TASKS)?,
        throughput: table(&schema::PERFORMANCE)?,
        aliases: table(&schema::ALIASES)?,
        runs: table(&schema::RUNS)?,
    };
    checks::check(&tables).map_err(|broken| broken.to_string())?;
    Ok(pack::pack(&tables, cells))
}
