//! Draws the rooms of the code: `cargo run --example architecture` renews `docs/architecture.svg`.

#[allow(dead_code)]
#[path = "../pages/mod.rs"]
mod pages;
mod picture;
#[allow(dead_code, clippy::expect_used, clippy::panic)]
#[path = "../../tests/house/source.rs"]
mod source;

fn main() -> Result<(), String> {
    pages::write(picture::FILE, &picture::picture())
}
