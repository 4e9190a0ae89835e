//! How it is trained: what matters first, the rest folded away.

use super::field::FieldRow;
use super::live::{when, words};
use super::page::page;
use crate::project::Field;
use crate::text::labels;
use leptos::prelude::*;

/// The fields that matter for this project.
#[component]
pub(super) fn Settings() -> AnyView {
    let page = page();
    let primary = Memo::new(move |_| page.relevant.with(|r| r.primary.clone()));
    let folded = Memo::new(move |_| page.relevant.with(|r| r.folded.clone()));
    view! {
        <section class="settings" aria-labelledby="settings-title">
            <h2 id="settings-title">{page.t(labels::SETTINGS)}</h2>
            {rows(primary)}
            <details class="more" data-testid="more" hidden=when(move || folded.with(Vec::is_empty))>
                <summary>
                    {page.t(labels::MORE)}
                    <span class="count">{words(move || format!(" ({})", folded.with(Vec::len)))}</span>
                </summary>
                {rows(folded)}
            </details>
        </section>
    }
    .into_any()
}

/// A row per field; rows that stay keep their focus when others come and go.
fn rows(fields: Memo<Vec<Field>>) -> AnyView {
    view! {
        <For each=move || fields.get() key=|f| *f let(field)>
            <FieldRow field=field />
        </For>
    }
    .into_any()
}
