//! The project's only automation: `cargo xtask serve | build | test`.
fn main() {}
