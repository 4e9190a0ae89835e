//! A fold: what is in it is worked out when it is unfolded.

use super::live::when;
use super::page::Page;
use crate::text::Message;
use leptos::prelude::*;
use leptos::web_sys::HtmlDetailsElement;

/// A fold with its title; `open` follows it, and opens it.
pub(super) fn fold(page: Page, test: &'static str, title: Message, open: RwSignal<bool>, body: AnyView) -> AnyView {
    view! {
        <details
            class="fold"
            data-testid=test
            prop:open=when(move || open.get())
            on:toggle=move |event| open.set(event_target::<HtmlDetailsElement>(&event).open())
        >
            <summary>{page.t(title)}</summary>
            {body}
        </details>
    }
    .into_any()
}
