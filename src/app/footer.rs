//! The foot of the page: what the band means, where the figures come from, and that nothing leaves the page.

use super::page::page;
use crate::text::{Message, labels};
use leptos::prelude::*;

/// Notes that hold for every answer.
#[component]
pub(super) fn Footer() -> AnyView {
    let page = page();
    let item = move |title: Message, body: Message| {
        view! {
            <div>
                <h2>{page.t(title)}</h2>
                <p>{page.t(body)}</p>
            </div>
        }
    };
    view! {
        <footer class="foot">
            {item(labels::BAND_TITLE, labels::BAND)}
            {item(labels::SOURCES_TITLE, labels::SOURCES)}
            {item(labels::GIB_TITLE, labels::GIB)}
            {item(labels::PRIVATE_TITLE, labels::PRIVATE)}
        </footer>
    }
    .into_any()
}
