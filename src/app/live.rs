//! What changes on the page, in as few types as possible: a closure of its own type for every place on the page would
//! bring the framework's code along each time, and the page is downloaded before it answers.

use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use leptos::web_sys::HtmlElement;

/// A piece of the page that is drawn again when what it reads changes.
pub(super) type Part = Box<dyn FnMut() -> AnyView + Send>;

/// A text that changes.
pub(super) fn words(text: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    Signal::derive(text)
}

/// A state that changes: hidden, wrong, open.
pub(super) fn when(state: impl Fn() -> bool + Send + Sync + 'static) -> Signal<bool> {
    Signal::derive(state)
}

/// A piece of the page that changes.
pub(super) fn part(view: impl FnMut() -> AnyView + Send + 'static) -> Part {
    Box::new(view)
}

/// What a click does.
pub(super) fn click(act: impl Fn() + 'static) -> Box<dyn FnMut(leptos::ev::MouseEvent)> {
    Box::new(move |_| act())
}

/// Puts the focus where the next key should go, once the page is drawn anew.
pub(super) fn focus(selector: &'static str) {
    request_animation_frame(move || {
        let found = document().query_selector(selector).ok().flatten();
        if let Some(element) = found.and_then(|e| e.dyn_into::<HtmlElement>().ok()) {
            let _ = element.focus();
        }
    });
}
