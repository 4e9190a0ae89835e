//! Where texts come from: the clipboard, dropped and chosen files, the browser's own word on its card.
//!
//! Looked up by name, so that the page works where a browser leaves one of them out.

use super::Door;
use leptos::ev;
use leptos::prelude::*;
use leptos::wasm_bindgen::closure::Closure;
use leptos::wasm_bindgen::{JsCast, JsValue};
use leptos::web_sys::js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use leptos::web_sys::{Element, Event};

/// Bytes of a file that are read: headers of weights lie at its beginning.
const LONGEST: f64 = 16_777_216.0;

/// The card's name in WebGL: `UNMASKED_RENDERER_WEBGL` of `WEBGL_debug_renderer_info`, and `RENDERER` where browsers
/// tell it without.
const UNMASKED: f64 = 37_446.0;
const RENDERER: f64 = 7_937.0;

/// Listens for pastes beside the fields and for dropped files, as long as the page stands.
pub(super) fn listen(door: Door) {
    let paste = window_event_listener(ev::paste, move |event| {
        if is_field(event.as_ref()) {
            return;
        }
        let Some(data) = property(event.as_ref(), "clipboardData") else { return };
        let text = call(&data, "getData", &["text".into()]).and_then(|text| text.as_string()).unwrap_or_default();
        if text.trim().is_empty() {
            first_file(door, &data);
        } else if door.pasted(text) {
            event.prevent_default();
        }
    });
    let over = window_event_listener(ev::dragover, move |event| {
        if carries_files(event.as_ref()) {
            event.prevent_default();
        }
    });
    let drop = window_event_listener(ev::drop, move |event| {
        // Otherwise the browser would leave the page for the file.
        if carries_files(event.as_ref()) {
            event.prevent_default();
            if let Some(data) = property(event.as_ref(), "dataTransfer") {
                first_file(door, &data);
            }
        }
    });
    on_cleanup(move || {
        paste.remove();
        over.remove();
        drop.remove();
    });
}

/// Reads the file that was chosen.
pub(super) fn chosen(door: Door, event: &Event) {
    let Some(input) = event.target() else { return };
    first_file(door, input.as_ref());
    // The same file may be chosen again.
    let _ = Reflect::set(&input, &"value".into(), &"".into());
}

/// What the browser says that it draws with, such as `ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 ...)`.
pub(super) fn renderer() -> Option<String> {
    let canvas = document().create_element("canvas").ok()?;
    let gl = call(canvas.as_ref(), "getContext", &["webgl".into()]).filter(JsValue::is_object)?;
    let more = call(&gl, "getExtension", &["WEBGL_debug_renderer_info".into()]).is_some_and(|value| value.is_object());
    let name = if more { UNMASKED } else { RENDERER };
    call(&gl, "getParameter", &[name.into()])?.as_string()
}

fn first_file(door: Door, of: &JsValue) {
    let file = property(of, "files").and_then(|files| property(&files, "0"));
    let Some(file) = file.filter(JsValue::is_object) else { return };
    let name = property(&file, "name").and_then(|name| name.as_string()).unwrap_or_default();
    let start = call(&file, "slice", &[0.into(), LONGEST.into()]);
    let bytes = start.and_then(|part| call(&part, "arrayBuffer", &[]));
    let Some(bytes) = bytes.and_then(|bytes| bytes.dyn_into::<Promise>().ok()) else { return };
    let read = Closure::once(move |bytes: JsValue| door.take_file(&name, &Uint8Array::new(&bytes).to_vec()));
    let _ = bytes.then(&read);
    read.forget();
}

fn carries_files(event: &JsValue) -> bool {
    let types = property(event, "dataTransfer").and_then(|data| property(&data, "types"));
    types.is_some_and(|types| Array::from(&types).includes(&"Files".into(), 0))
}

/// Whether an event belongs to something that takes text itself.
fn is_field(event: &Event) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    target.is_some_and(|target| target.closest("input, textarea, select, [contenteditable]").ok().flatten().is_some())
}

fn property(of: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(of, &name.into()).ok().filter(|value| !value.is_undefined() && !value.is_null())
}

fn call(of: &JsValue, name: &str, arguments: &[JsValue]) -> Option<JsValue> {
    let function: Function = property(of, name)?.dyn_into().ok()?;
    function.apply(of, &arguments.iter().collect::<Array>()).ok()
}
