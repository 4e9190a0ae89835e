//! What must hold between cells and between tables.

use super::Tables;
use super::table::{Broken, Row, Table};
use std::collections::BTreeMap;

/// Stops at the first row that contradicts itself or another table.
pub(crate) fn check(tables: &Tables) -> Result<(), Broken> {
    unique_models(tables)?;
    references(tables)
}

/// Share links name a model by its id alone.
fn unique_models(tables: &Tables) -> Result<(), Broken> {
    let mut seen: BTreeMap<&str, &Row> = BTreeMap::new();
    for table in [&tables.language, &tables.vision, &tables.diffusion, &tables.other] {
        for row in &table.rows {
            if let Some(first) = seen.insert(row.text("id"), row) {
                let (id, file, line) = (row.text("id"), first.file, first.line);
                return Err(row.broken(format!("the id {id:?} was used before, in {file} on line {line}")));
            }
        }
    }
    Ok(())
}

/// Offers, free tiers, measured speeds and presets name rows that exist.
fn references(tables: &Tables) -> Result<(), Broken> {
    let exists = |row: &Row, column: &str, table: &Table, what: &str| {
        let id = row.text(column);
        if id.is_empty() || table.get(id).is_some() {
            Ok(())
        } else {
            Err(row.broken(format!("{what} {id:?} is not known")))
        }
    };
    for table in [&tables.offers, &tables.free, &tables.throughput] {
        for row in &table.rows {
            exists(row, "gpu", &tables.gpus, "the card")?;
        }
    }
    for row in &tables.presets.rows {
        let table = match row.text("model_table") {
            "llm" => &tables.language,
            "vision" => &tables.vision,
            "diffusion" => &tables.diffusion,
            _ => &tables.other,
        };
        exists(row, "model_id", table, "the model")?;
    }
    Ok(())
}
