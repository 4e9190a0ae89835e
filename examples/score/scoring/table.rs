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
                Ok(r) => rows.push(plainly(&r, &columns)),
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

/// Names of number formats as other people write them.
const FORMATS: &[(&str, &str)] = &[
    ("bfloat16", "bf16"),
    ("float32", "fp32"),
    ("float16", "fp16"),
    ("float8", "fp8"),
    ("32-bit", "fp32"),
    ("16-bit", "fp16"),
    ("half", "fp16"),
    ("mixed precision", "amp"),
    ("mixed-precision", "amp"),
    ("full precision", "fp32"),
];

/// A row with formats and sizes in the spelling that the readers know.
fn plainly(record: &csv::StringRecord, columns: &HashMap<String, usize>) -> csv::StringRecord {
    let named = |names: &[&str], at: usize| names.iter().any(|name| columns.get(*name) == Some(&at));
    let field = |(at, field): (usize, &str)| {
        if named(&["weight_dtype", "compute_dtype"], at) {
            FORMATS.iter().fold(field.to_lowercase(), |text, (said, known)| text.replace(said, known))
        } else if named(&["seq_or_res"], at) {
            crossed(field)
        } else {
            field.to_owned()
        }
    };
    record.iter().enumerate().map(field).collect()
}

/// `512 x 512`, `512*512` and `512 × 512` as `512x512`; what stands between other words stays.
fn crossed(text: &str) -> String {
    let digit = |c: char| c.is_ascii_digit();
    let mut joined = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.as_str().trim_start();
        if matches!(c, 'x' | 'X' | '*' | '\u{d7}') && joined.trim_end().ends_with(digit) && after.starts_with(digit) {
            joined.truncate(joined.trim_end().len());
            joined.push('x');
            rest = after.chars();
        } else {
            joined.push(c);
        }
    }
    joined
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_formats_in_other_spellings() {
        for (text, expected) in [
            ("512 x 512", "512x512"),
            ("49*480 X 720", "49x480x720"),
            ("1333 \u{d7} 800", "1333x800"),
            ("max 1333 px", "max 1333 px"),
            ("512x512 (page: 1024x1024)", "512x512 (page: 1024x1024)"),
        ] {
            assert_eq!(crossed(text), expected);
        }
        let (table, bad) = Table::read("weight_dtype,compute_dtype\nfloat32,Half\nbfloat16,float16 amp\n");
        let rows: Vec<_> = table.rows().map(|r| (r.text("weight_dtype"), r.text("compute_dtype"))).collect();
        assert_eq!((rows, bad), (vec![("fp32", "fp16"), ("bf16", "fp16 amp")], 0));
    }
}
