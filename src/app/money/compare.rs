//! Why not this card; cards side by side; the project grown. All worked out when they are unfolded.

use super::select;
use crate::advise::{growth, side_by_side, usual_sides, why_not};
use crate::app::fold::fold;
use crate::app::live::{click, part, when, words};
use crate::app::page::page;
use crate::text::{self, labels};
use leptos::prelude::*;

/// Most cards that stand side by side.
const MOST: usize = 4;
/// The steps of growth.
const STEPS: [u32; 2] = [2, 10];

/// A question about one card.
#[component]
pub(super) fn WhyNot() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let asked = RwSignal::new("rtx-5090".to_string());
    let answer = words(move || {
        if !open.get() {
            return String::new();
        }
        let (lang, id) = (page.lang.get(), asked.get());
        let Some(gpu) = page.catalog.gpu(&id) else { return String::new() };
        page.advice.with(|a| {
            let reasons = a.as_ref().map(|a| page.project.with(|p| why_not(p, gpu, a))).unwrap_or_default();
            text::why_not(lang, gpu, &reasons, page.catalog)
        })
    });
    let list = part(move || {
        open.get().then(|| select::cards(page, "why-not-card", asked.into(), move |id| asked.set(id))).into_any()
    });
    let body = view! {
        <div class="why-not">
            <label for="why-not-card">{page.t(labels::WHY_NOT_CARD)}</label>
            {list}
            <p role="status" data-testid="why-not-answer">{answer}</p>
        </div>
    };
    fold(page, "why-not", labels::WHY_NOT, open, body.into_any())
}

/// Two to four cards side by side.
#[component]
pub(super) fn Sides() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let chosen = RwSignal::new(None::<Vec<String>>);
    let shown = Memo::new(move |_| {
        if !open.get() {
            return Vec::new();
        }
        chosen.get().unwrap_or_else(|| {
            page.advice.with(|a| {
                let usual = a.as_ref().map(|a| page.project.with(|p| usual_sides(p, a, page.catalog)));
                usual.unwrap_or_default().into_iter().map(str::to_string).collect()
            })
        })
    });
    let remove = move |at: usize| {
        let mut left = shown.get_untracked();
        if at < left.len() {
            left.remove(at);
        }
        chosen.set(Some(left));
    };
    let table = part(move || {
        let (lang, ids) = (page.lang.get(), shown.get());
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let sides = page.advice.with(|a| {
            a.as_ref().map(|a| page.project.with(|p| side_by_side(p, &ids, a, page.catalog))).unwrap_or_default()
        });
        let several = sides.len() > 2;
        let any = sides.iter().any(|side| side.count > 1);
        let heads: Vec<AnyView> = sides
            .iter()
            .enumerate()
            .map(|(at, side)| {
                let name = page.catalog.gpu(side.gpu);
                let name = name.map_or_else(|| side.gpu.to_string(), |g| text::card_called(lang, g));
                let name = if any { format!("{name} × {}", side.count) } else { name };
                let label = format!("{} {name}", labels::SIDES_REMOVE.text(lang));
                let button = several.then(|| {
                    view! {
                        <button type="button" class="link" aria-label=label on:click=click(move || remove(at))>"×"</button>
                    }
                });
                view! { <th scope="col">{name}{button}</th> }.into_any()
            })
            .collect();
        let rows: Vec<AnyView> = text::side_lines(lang, &sides, page.catalog)
            .into_iter()
            .map(|line| {
                let cells: Vec<AnyView> = line.cells.into_iter().map(|c| view! { <td>{c}</td> }.into_any()).collect();
                view! { <tr><th scope="row">{line.name}</th>{cells}</tr> }.into_any()
            })
            .collect();
        view! {
            <table data-testid="sides-table">
                <thead><tr><td></td>{heads}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        }
        .into_any()
    });
    let add = part(move || {
        let nothing = Signal::derive(String::new);
        open.get()
            .then(|| {
                select::cards(page, "sides-add", nothing, move |id| {
                    let mut all = shown.get_untracked();
                    if !all.contains(&id) {
                        all.truncate(MOST - 1);
                        all.push(id);
                        chosen.set(Some(all));
                    }
                })
            })
            .into_any()
    });
    let body = view! {
        <div class="sides">
            <div class="frame" tabindex="0" role="region" aria-label=page.t(labels::SIDES)>{table}</div>
            <p class="add" hidden=when(move || shown.with(Vec::len) > MOST)>
                <label for="sides-add">{page.t(labels::SIDES_ADD)}</label>
                {add}
            </p>
        </div>
    };
    fold(page, "sides", labels::SIDES, open, body.into_any())
}

/// What the project takes when it grows.
#[component]
pub(super) fn Grows() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let steps = Memo::new(move |_| {
        if !open.get() {
            return Vec::new();
        }
        page.project.with(|p| STEPS.iter().filter_map(|times| growth(p, *times, page.catalog)).collect::<Vec<_>>())
    });
    let rows = part(move || {
        let lang = page.lang.get();
        steps.with(|s| {
            s.iter()
                .map(|step| view! { <li>{text::growth(lang, step, page.catalog)}</li> }.into_any())
                .collect::<Vec<_>>()
                .into_any()
        })
    });
    let body = view! {
        <p class="quiet">{page.t(labels::GROWTH_NOTE)}</p>
        <ol class="steps" data-testid="growth-steps">{rows}</ol>
    };
    fold(page, "growth", labels::GROWTH, open, body.into_any())
}
