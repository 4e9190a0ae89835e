//! What moves the number: a small table, worked out when it is unfolded.

use super::live::part;
use super::page::{Page, page};
use super::several::paused;
use crate::advise::Verdict;
use crate::advise::moves::{Move, Moved, moves};
use crate::project::{Choice, Field};
use crate::text::{Lang, choice, field, labels, measured as say, numbers};
use leptos::prelude::*;

/// A fold with a row for each setting.
#[component]
pub(super) fn Moves() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let project = paused(page, open);
    let found = Memo::new(move |_| {
        if !open.get() {
            return Vec::new();
        }
        project.with(|p| p.as_ref().map(|p| moves(p, page.catalog)).unwrap_or_default())
    });
    let body = part(move || {
        let lang = page.lang.get();
        found.with(|rows| rows.iter().map(|row| drawn(page, lang, row)).collect::<Vec<_>>().into_any())
    });
    let inside = view! {
        <p class="quiet">{page.t(say::MOVES_NOTE)}</p>
        <div class="moves">{body}</div>
    }
    .into_any();
    super::fold::fold(page, "moves", say::MOVES, open, inside)
}

fn drawn(page: Page, lang: Lang, row: &Move) -> AnyView {
    let which = row.field;
    let cells: Vec<AnyView> = row.values.iter().map(|value| cell(page, lang, which, value)).collect();
    let name = super::field::field_id(which);
    view! {
        <div class="move" data-testid=format!("move-{name}") role="group" aria-label=field(which).text(lang)>
            <span class="move-name">{field(which).text(lang)}</span>
            <div class="move-values">{cells}</div>
        </div>
    }
    .into_any()
}

fn cell(page: Page, lang: Lang, which: Field, moved: &Moved) -> AnyView {
    let (short, tight) = match moved.verdict {
        Some(Verdict::RunsOut { .. }) => (true, false),
        verdict => (false, matches!(verdict, Some(Verdict::Tight { .. }))),
    };
    let value = moved.value.clone();
    let act = super::live::click(move || page.choose(which, &value));
    view! {
        <button
            type="button"
            class="move-value"
            class:now=moved.now
            class:short=short
            aria-pressed=if moved.now { "true" } else { "false" }
            on:click=act
        >
            <span class="what">
                {say::setting(lang, which, &moved.value)}
                {moved.now.then(|| view! { <span class="tag">{say::NOW.text(lang)}</span> })}
            </span>
            <b>{moved.card.map_or_else(|| "–".to_string(), |card| card.to_string())}</b>
            <span class="detail">{moved.run.filter(|_| !short).map(|run| numbers::hours(lang, run.hours()))}</span>
            {moved.way.map(|way| view! { <span class="detail">{choice(lang, Field::Sharding, way.id())}</span> })}
            {tight.then(|| view! { <span class="detail">{labels::TIGHT.text(lang)}</span> })}
            {short.then(|| view! { <span class="too-much">{say::TOO_MUCH.text(lang)}</span> })}
        </button>
    }
    .into_any()
}
