//! A CSV file as rows that are asked by column name. Total: a missing column or an odd value reads as "not stated".

use std::collections::HashMap;

/// The rows of a file.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: HashMap<String, usize>,
    rows: Vec<csv::StringRecord>,
}

/// One row of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    columns: &'a HashMap<String, usize>,
    fields: &'a csv::StringRecord,
}

impl Table {
    /// Reads a file's text. Rows that are no CSV are left out and counted.
    pub(crate) fn read(text: &str) -> (Self, usize) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let columns = reader
            .headers()
            .map(|h| h.iter().enumerate().map(|(i, name)| (name.trim().to_lowercase(), i)).collect())
            .unwrap_or_default();
        let (mut rows, mut bad) = (Vec::new(), 0);
        for record in reader.records() {
            match record {
                Ok(r) => rows.push(r),
                Err(_) => bad += 1,
            }
        }
        (Self { columns, rows }, bad)
    }

    /// True if there is such a column.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.contains_key(column)
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|fields| Row { columns: &self.columns, fields })
    }
}

impl<'a> Row<'a> {
    /// The trimmed text of a column, empty if there is none.
    pub(crate) fn text(&self, column: &str) -> &'a str {
        self.columns.get(column).and_then(|i| self.fields.get(*i)).map_or("", str::trim)
    }

    /// A column as a finite number of at least zero, with or without a unit behind it (`24 GB`, `7B`).
    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        let text = self.text(column);
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
        // What is no number at all (`inf`) or one in letters stays so.
        let text = if number.is_empty() { text } else { number };
        text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0)
    }

    /// A column as a whole number.
    pub(crate) fn count(&self, column: &str) -> Option<u64> {
        self.number(column).map(|v| v as u64)
    }

    /// A column as yes or no.
    pub(crate) fn flag(&self, column: &str) -> Option<bool> {
        match self.text(column).to_lowercase().as_str() {
            "yes" | "true" | "1" | "on" => Some(true),
            "no" | "false" | "0" | "off" => Some(false),
            _ => None,
        }
    }
}
