//! The course of one training step.

use super::bar::part_id;
use super::geometry::{HEIGHT, WIDTH, percent, timeline};
use super::page::{Page, page};
use crate::advise::Advice;
use crate::text::{self, labels};
use leptos::prelude::*;

/// A folded picture of memory over the step.
#[component]
pub(super) fn Timeline() -> AnyView {
    let page = page();
    let there = Memo::new(move |_| page.advice.with(|a| a.as_ref().is_ok_and(|a| a.memory.timeline.len() > 1)));
    view! {
        <details class="timeline" data-testid="timeline" hidden=move || !there.get()>
            <summary>{page.t(labels::TIMELINE)}</summary>
            {move || page.advice.with(|a| a.as_ref().ok().map(|a| picture(page, a)))}
        </details>
    }
    .into_any()
}

fn picture(page: Page, advice: &Advice) -> AnyView {
    let lang = page.lang.get();
    let drawn = timeline(&advice.memory.timeline, advice.capacity);
    let areas: Vec<AnyView> = drawn
        .areas
        .iter()
        .map(|(part, points)| {
            view! { <polygon class=format!("part {}", part_id(*part)) points=points.clone() /> }.into_any()
        })
        .collect();
    let bounds: Vec<AnyView> = drawn
        .phases
        .iter()
        .skip(1)
        .map(|p| view! { <line class="bound" x1=p.from x2=p.from y1="0" y2=HEIGHT /> }.into_any())
        .collect();
    let names: Vec<AnyView> = drawn
        .phases
        .iter()
        .filter(|p| p.to - p.from > WIDTH * 0.06)
        .map(|p| {
            let style = format!("left:{:.2}%;width:{:.2}%", percent(p.from), percent(p.to - p.from));
            view! { <span style=style>{text::moment(p.moment).text(lang)}</span> }.into_any()
        })
        .collect();
    let summary = text::timeline_summary(lang, &advice.memory);
    view! {
        <figure>
            <svg
                viewBox=format!("0 0 {WIDTH} {HEIGHT}")
                preserveAspectRatio="none"
                role="img"
                aria-label=summary.clone()
            >
                {areas}
                {bounds}
                {drawn.limit.map(|y| view! { <line class="limit" x1="0" x2=WIDTH y1=y y2=y /> })}
            </svg>
            <div class="phases" aria-hidden="true">{names}</div>
            <figcaption>{summary}</figcaption>
        </figure>
    }
    .into_any()
}
