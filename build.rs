//! Turns the catalog's CSV files into Rust tables, or stops with a sentence that says what is wrong with them.

#[path = "build/mod.rs"]
mod build;

use std::path::Path;
use std::{env, fs, process};

fn main() {
    let data = Path::new("src/catalog/data");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/catalog/data");
    for shared in ["grammar", "language", "params"] {
        println!("cargo::rerun-if-changed=src/catalog/{shared}.rs");
    }
    let page = env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm");
    let cells = if page { build::Cells::OfThePage } else { build::Cells::All };
    let read = |file: &str| fs::read_to_string(data.join(file)).map_err(|e| format!("src/catalog/data/{file}: {e}"));
    let written = build::compile(cells, read).and_then(|tables| {
        let out = env::var("OUT_DIR").map_err(|e| e.to_string())?;
        fs::write(Path::new(&out).join("catalog.rs"), tables).map_err(|e| e.to_string())
    });
    if let Err(sentence) = written {
        println!("cargo::error={sentence}");
        process::exit(1);
    }
}
