//! Pre-training on many cards: how many days, what it costs, what breaks.

use super::{card, laid_out, paused};
use crate::advise::plan::{MOST_CARDS, Plan};
use crate::advise::pretraining::{gpu_hour, pretraining, published_batch, tokens, usual_plan};
use crate::advise::several::NoPlan;
use crate::app::fold::fold;
use crate::app::live::{click, part, when, words};
use crate::app::page::{Page, page};
use crate::project::number::{Kilo, parse};
use crate::project::{Method, Project};
use crate::text::{Lang, Message, labels, numbers, several as say};
use leptos::prelude::*;

/// Most tokens that anything is asked about: a hundred times the largest public run.
const MOST_TOKENS: f64 = 2e15;
/// Tokens from which on training on with all weights is asked about like pre-training.
const CONTINUED: f64 = 1e9;
/// Cards where the person owns no more than a few.
const USUAL_CARDS: u32 = 1024;

/// A question of how many.
fn number(text: &str, most: f64) -> Option<f64> {
    parse(text, Kilo::Thousand).ok().filter(|n| (1.0..=most).contains(n))
}

/// Tokens and cards in, days and money out.
#[component]
pub(super) fn Cluster() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    // Nobody pre-trains adapters, or pictures by tokens; a fine-tune of a few million tokens is none.
    let there = Memo::new(move |_| {
        page.project.with(|p| {
            let large = p.method == Method::Full && tokens(p) >= CONTINUED;
            p.language(page.catalog).is_some() && (p.method == Method::Scratch || large)
        })
    });
    let project = paused(page, open);
    let tokens_typed = RwSignal::new(None::<String>);
    let cards_typed = RwSignal::new(None::<String>);
    let tokens_shown = Signal::derive(move || {
        tokens_typed.get().unwrap_or_else(|| page.project.with(|p| numbers::about(page.lang.get(), tokens(p))))
    });
    let cards_shown = Signal::derive(move || {
        let own = page.project.with(|p| p.hardware.count);
        cards_typed.get().unwrap_or_else(|| if own > 8 { own } else { USUAL_CARDS }.to_string())
    });
    let found = Memo::new(move |_| {
        let cards = number(&cards_shown.get(), f64::from(MOST_CARDS))? as u32;
        project.with(|p| {
            let p = p.as_ref()?;
            let gpu = card(p, page.catalog)?;
            Some(usual_plan(p, gpu, cards, page.catalog))
        })
    });
    let answer = part(move || {
        let lang = page.lang.get();
        let tokens = number(&tokens_shown.get(), MOST_TOKENS);
        found.with(|f| match (f, tokens) {
            (Some(Some(found)), Some(tokens)) => drawn(page, lang, found, tokens),
            (Some(None), _) => view! { <p>{say::no_plan(NoPlan::TooLarge).text(lang)}</p> }.into_any(),
            _ => ().into_any(),
        })
    });
    let body = view! {
        <div class="cluster">
            <p class="quiet">{page.t(say::CLUSTER_NOTE)}</p>
            <div class="price-fields">
                {question(page, "cluster-tokens", say::TOKENS, tokens_shown, tokens_typed, MOST_TOKENS)}
                {question(page, "cluster-cards", say::CARDS, cards_shown, cards_typed, f64::from(MOST_CARDS))}
            </div>
            <div data-testid="cluster-answer">{answer}</div>
        </div>
    };
    view! { <div hidden=when(move || !there.get())>{fold(page, "cluster", say::CLUSTER, open, body.into_any())}</div> }
        .into_any()
}

fn question(
    page: Page,
    id: &'static str,
    label: Message,
    shown: Signal<String>,
    typed: RwSignal<Option<String>>,
    most: f64,
) -> AnyView {
    let wrong = when(move || number(&shown.get(), most).is_none());
    let note = words(move || if wrong.get() { say::cluster_error(page.lang.get(), most) } else { String::new() });
    view! {
        <div class="field" class:wrong=wrong>
            <label for=id>{page.t(label)}</label>
            <span class="number">
                <input
                    type="text"
                    inputmode="decimal"
                    id=id
                    data-testid=id
                    autocomplete="off"
                    spellcheck="false"
                    prop:value=shown
                    on:input=move |event| typed.set(Some(event_target_value(&event)))
                />
            </span>
            <p class="note" hidden=when(move || !wrong.get())><span class="error">{note}</span></p>
        </div>
    }
    .into_any()
}

fn drawn(page: Page, lang: Lang, found: &Plan, tokens: f64) -> AnyView {
    let p = &found.project;
    let price = card(p, page.catalog).and_then(|gpu| gpu_hour(p, gpu, page.catalog));
    let run = pretraining(found, tokens, price.map_or(0.0, |(hour, _)| hour.amount));
    let price = price.map(|(hour, rent)| (hour, rent.provider, rent.as_of));
    let values = say::cluster(lang, &run, found, price, published_batch(p, page.catalog));
    let rows: Vec<AnyView> = say::CLUSTER_LINES
        .iter()
        .zip(values)
        .map(|(name, value)| view! { <dt>{name.text(lang)}</dt><dd>{value}</dd> }.into_any())
        .collect();
    let samples = (tokens / p.sequence.max(1) as f64).ceil().min(1e13) as u64;
    let after = Project { samples, epochs: 1.0, ..p.clone() };
    view! {
        <dl class="facts">{rows}</dl>
        <button
            type="button"
            class="primary"
            data-testid="cluster-apply"
            on:click=click(move || {
                page.apply_fix(page.project.with_untracked(|now| laid_out(now, &after)), after.clone());
            })
        >
            {labels::APPLY.text(lang)}
        </button>
    }
    .into_any()
}
