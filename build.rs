//! Turns the catalog's CSV files into Rust tables.
fn main() {}
