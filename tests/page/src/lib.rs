//! Opens the built page in a real browser and uses it as a person does: by eye (text, pictures) and hand (keys, clicks).
//!
//! Every function panics with a sentence when the page is not as it should be, after taking a picture of it. A test is
//!
//! ```no_run
//! use page_tests::{Language, Page, Window};
//!
//! // #[test]
//! // #[ignore = "needs the built page: cargo xtask test"]
//! fn greets() {
//!     let page = Page::open("greets", Language::English, Window::PHONE);
//!     page.wait_for_text("h1", "Enough GPU");
//!     page.picture("greets-phone");
//!     page.was_quiet();
//! }
//! ```
#![cfg(not(target_arch = "wasm32"))]
#![forbid(unsafe_code)]

mod driver;
mod page;
mod server;

pub use page::{Language, Page, Window, built, sheets};
pub use server::serve;
