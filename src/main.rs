//! Starts the page: panic hook, mount. Nothing else.
#![forbid(unsafe_code)]

#[cfg(target_arch = "wasm32")]
fn main() {
    console_error_panic_hook::set_once();
    enough_gpu::app::mount();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This is a page: start it with `cargo xtask serve`.");
}
