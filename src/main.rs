//! Starts the page: panic hook, mount. Nothing else.
#![forbid(unsafe_code)]

#[cfg(target_arch = "wasm32")]
fn main() {
    // The page as people load it says nothing more where it stops: see xtask/src/bundle/tidy.rs.
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    enough_gpu::app::mount();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This is a page: start it with `cargo xtask serve`.");
}
