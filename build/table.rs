//! Reading one CSV file by its schema: every cell is checked before anything else looks at it.

use super::schema::{Cell, Column, Schema};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

/// What is wrong with a row, in one sentence that names file, line and reason.
#[derive(Debug)]
pub(crate) struct Broken {
    file: &'static str,
    line: u64,
    reason: String,
}

impl Broken {
    pub(crate) fn new(file: &'static str, line: u64, reason: impl Into<String>) -> Self {
        Self { file, line, reason: reason.into() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "src/catalog/data/{}, line {}: {}.", self.file, self.line, self.reason)
    }
}

/// A file whose cells all have the form that its schema asks for.
pub(crate) struct Table {
    pub(crate) file: &'static str,
    pub(crate) rows: Vec<Row>,
    ids: BTreeMap<&'static str, usize>,
}

/// One line of a table.
pub(crate) struct Row {
    pub(crate) file: &'static str,
    pub(crate) line: u64,
    columns: &'static [Column],
    cells: Vec<&'static str>,
}

impl Table {
    /// Reads `text` by `schema`.
    pub(crate) fn read(schema: &'static Schema, text: &str) -> Result<Self, Broken> {
        let broken = |line, reason: String| Broken::new(schema.file, line, reason);
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|e| broken(1, format!("the header cannot be read: {e}")))?.clone();
        for (place, column) in schema.columns.iter().enumerate() {
            match header.get(place) {
                Some(name) if name == column.name => {}
                Some(name) => {
                    return Err(broken(
                        1,
                        format!("column {} is called {name:?} instead of {:?}", place + 1, column.name),
                    ));
                }
                None => return Err(broken(1, format!("the column {:?} is missing", column.name))),
            }
        }
        if let Some(extra) = header.get(schema.columns.len()) {
            return Err(broken(1, format!("the column {extra:?} is not known")));
        }

        let mut table = Self { file: schema.file, rows: Vec::new(), ids: BTreeMap::new() };
        for record in reader.records() {
            let record = record.map_err(|e| broken(e.position().map_or(0, csv::Position::line), e.to_string()))?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != schema.columns.len() {
                let (has, needs) = (record.len(), schema.columns.len());
                return Err(broken(line, format!("the row has {has} cells and needs {needs}")));
            }
            // The tables live as long as the build, so that rows can be held as the catalog's own types.
            let cells: Vec<&'static str> = record.iter().map(|cell| &*String::leak(cell.to_owned())).collect();
            for (column, cell) in schema.columns.iter().zip(&cells) {
                column.check(cell).map_err(|reason| broken(line, reason))?;
            }
            let row = Row { file: schema.file, line, columns: schema.columns, cells };
            if let Some(id) = row.id()
                && let Some(first) = table.ids.insert(id, table.rows.len())
            {
                let first = table.rows[first].line;
                return Err(row.broken(format!("the id {id:?} was used before, on line {first}")));
            }
            table.rows.push(row);
        }
        Ok(table)
    }

    /// The row with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&Row> {
        self.ids.get(id).map(|place| &self.rows[*place])
    }
}

impl Row {
    /// A sentence about this row.
    pub(crate) fn broken(&self, reason: impl Into<String>) -> Broken {
        Broken::new(self.file, self.line, reason)
    }

    /// The row's id, in tables that have one.
    pub(crate) fn id(&self) -> Option<&'static str> {
        (self.columns.first()?.cell == Cell::Id).then(|| self.cells[0])
    }

    /// A cell as printed. The schema names every column that the build asks for.
    pub(crate) fn text(&self, column: &str) -> &'static str {
        let place = self.columns.iter().position(|c| c.name == column);
        assert!(place.is_some(), "{} has no column {column}", self.file);
        place.map_or("", |place| self.cells[place])
    }

    /// A number, a sum of numbers (`30.37 + 29.01`) or none.
    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        sum(self.text(column))
    }

    /// A whole number, 0 where the cell is empty.
    pub(crate) fn count(&self, column: &str) -> u64 {
        self.number(column).map_or(0, |n| n.round() as u64)
    }
}

/// The value of a number or of a sum of products: `12`, `30.37 + 29.01`, `2 x 11.378 + 2 x 2.765`.
pub(crate) fn sum(text: &str) -> Option<f64> {
    let mut total = 0.0;
    for term in text.split(" + ") {
        let mut product = 1.0;
        for factor in term.split(" x ") {
            product *= factor.parse::<f64>().ok().filter(|n| n.is_finite())?;
        }
        total += product;
    }
    Some(total)
}

/// A month as `2026-09`.
pub(crate) fn is_month(text: &str) -> bool {
    let parsed = text.split_once('-').and_then(|(year, month)| {
        (text.len() == 7 && year.len() == 4).then_some(())?;
        Some((year.parse::<u32>().ok()?, month.parse::<u32>().ok()?))
    });
    parsed.is_some_and(|(year, month)| (2000..2100).contains(&year) && (1..=12).contains(&month))
}

impl Column {
    /// Says what is wrong with a cell of this column.
    fn check(&self, cell: &str) -> Result<(), String> {
        let name = self.name;
        if cell != cell.trim() {
            return Err(format!("{name} {cell:?} begins or ends with a space"));
        }
        if cell.contains(char::is_control) {
            return Err(format!("{name} {cell:?} holds a tab, a line break or another control character"));
        }
        if cell.is_empty() {
            return if self.required { Err(format!("{name} is empty")) } else { Ok(()) };
        }
        let within = |range: &RangeInclusive<f64>, value: Option<f64>| match value {
            Some(value) if range.contains(&value) => Ok(()),
            Some(_) => Err(format!("{name} is {cell}, outside {} to {}", range.start(), range.end())),
            None => Err(format!("{name} must be a plain number, not {cell:?}")),
        };
        match &self.cell {
            Cell::Text => Ok(()),
            Cell::Id | Cell::Reference if is_id(cell) => Ok(()),
            Cell::Id | Cell::Reference => {
                Err(format!("{name} {cell:?} is not of the form rtx-4090 (small letters, digits, . and -)"))
            }
            Cell::Month if is_month(cell) => Ok(()),
            Cell::Month => Err(format!("{name} {cell:?} is not a month of the form 2026-09")),
            Cell::Number(range) => within(range, cell.parse::<f64>().ok().filter(|n| n.is_finite())),
            Cell::Whole(range) => match cell.parse::<u64>() {
                Ok(value) => within(range, Some(value as f64)),
                Err(_) => Err(format!("{name} must be a whole number, not {cell:?}")),
            },
            Cell::Sum(range) => within(range, sum(cell)),
            Cell::OneOf(choices) if choices.contains(&cell) => Ok(()),
            Cell::OneOf(choices) => Err(format!("{name} {cell:?} is none of {}", choices.join(", "))),
        }
    }
}

fn is_id(text: &str) -> bool {
    text.split(['-', '.'])
        .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
}
