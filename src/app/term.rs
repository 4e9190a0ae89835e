//! A term that explains itself when it is asked.

use leptos::prelude::*;

/// A word with a dotted underline; a click or Enter opens its sentence, Escape closes it.
pub(super) fn term(id: &str, name: &'static str, meaning: &'static str) -> AnyView {
    let id = format!("term-{id}");
    view! {
        <button type="button" class="term" popovertarget=id.clone()>{name}</button>
        <span popover="auto" class="meaning" id=id>{meaning}</span>
    }
    .into_any()
}
