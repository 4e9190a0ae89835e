//! Free notebooks that can do it, and what to know about the chosen card.

use super::live::{click, part, when};
use super::page::page;
use crate::advise::{FreeChoice, Verdict};
use crate::text::{self, labels};
use leptos::prelude::*;

/// Free notebooks shown before the rest is asked for.
const FIRST: usize = 6;

/// Free notebooks and warnings.
#[component]
pub(super) fn Notices() -> AnyView {
    let page = page();
    let free = Memo::new(move |_| page.advice.with(|a| a.as_ref().map(|a| a.free.clone()).unwrap_or_default()));
    let warnings = Memo::new(move |_| page.advice.with(|a| a.as_ref().map(|a| a.warnings.clone()).unwrap_or_default()));
    let all = RwSignal::new(false);
    // Where a free notebook is the answer, it does not come last.
    let enough = Memo::new(move |_| {
        let answer = page.advice.with(|a| a.as_ref().is_ok_and(|a| a.verdict == Verdict::NoCard));
        answer && free.with(|f| f.iter().any(FreeChoice::is_enough))
    });
    let free_rows = part(move || {
        let (lang, shown) = (page.lang.get(), if all.get() { usize::MAX } else { FIRST });
        free.with(|f| {
            f.iter()
                .take(shown)
                .map(|choice| {
                    let tight = choice.tight.then(|| labels::TIGHT.text(lang));
                    let restricted = choice.restriction.map(|r| text::restriction(r).text(lang));
                    view! {
                        <li>
                            <b>{text::free_choice(lang, choice)}</b>
                            <span class="detail">{text::free_card(lang, choice, page.catalog)}</span>
                            <span class="detail">{text::free_limits(lang, choice)}</span>
                            {tight.map(|word| view! { <span class="tag">{word}</span> })}
                            {restricted.map(|words| view! { <span class="tag">{words}</span> })}
                            <span class="date">{text::dated(lang, choice.as_of, choice.rough)}</span>
                        </li>
                    }
                    .into_any()
                })
                .collect::<Vec<_>>()
                .into_any()
        })
    });
    let warning_rows = part(move || {
        let lang = page.lang.get();
        warnings.with(|w| {
            w.iter()
                .map(|warning| {
                    view! {
                        <li>
                            <b>{text::warning(*warning).text(lang)}</b>
                            <span class="detail">{text::warning_detail(*warning).text(lang)}</span>
                        </li>
                    }
                    .into_any()
                })
                .collect::<Vec<_>>()
                .into_any()
        })
    });
    view! {
        <section class="notices warnings" aria-labelledby="warnings-title" hidden=when(move || warnings.with(Vec::is_empty))>
            <h2 id="warnings-title">{page.t(labels::WARNINGS)}</h2>
            <ul data-testid="warnings">{warning_rows}</ul>
        </section>
        <section class="notices free" class:enough=when(move || enough.get()) aria-labelledby="free-title" hidden=when(move || free.with(Vec::is_empty))>
            <h2 id="free-title">{page.t(labels::FREE)}</h2>
            <p class="quiet">{page.t(labels::FREE_NOTE)}</p>
            <ul data-testid="free">{free_rows}</ul>
            <button
                type="button"
                class="link"
                hidden=when(move || all.get() || free.with(Vec::len) <= FIRST)
                on:click=click(move || all.set(true))
            >
                {page.t(labels::FREE_MORE)}
            </button>
        </section>
    }
    .into_any()
}
