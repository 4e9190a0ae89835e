//! How it is trained: what matters first, the rest folded away.

use super::field::FieldRow;
use super::page::page;
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
            <For each=move || primary.get() key=|f| *f let(field)>
                <FieldRow field=field />
            </For>
            <details class="more" data-testid="more" hidden=move || folded.with(Vec::is_empty)>
                <summary>
                    {page.t(labels::MORE)}
                    <span class="count">{move || format!(" ({})", folded.with(Vec::len))}</span>
                </summary>
                <For each=move || folded.get() key=|f| *f let(field)>
                    <FieldRow field=field />
                </For>
            </details>
        </section>
    }
    .into_any()
}
