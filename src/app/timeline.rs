//! The course of one training step.

use super::geometry::{HEIGHT, WIDTH, percent, tenths, timeline};
use super::live::{part, when};
use super::page::{Page, page};
use crate::advise::Advice;
use crate::estimate::{self, TimelinePoint};
use crate::text::{self, labels};
use leptos::prelude::*;
use leptos::web_sys::HtmlDetailsElement;

/// Points of the curve: more than anyone can tell apart.
const POINTS: usize = 240;

/// A folded picture of memory over the step; it is worked out when it is unfolded.
#[component]
pub(super) fn Timeline() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let there = Memo::new(move |_| {
        let language = page
            .project
            .with(|p| p.custom.is_some() || page.catalog.model(&p.model).is_some_and(|m| m.language().is_some()));
        page.advice.with(|a| a.as_ref().is_ok_and(|a| language || a.memory.timeline.len() > 1))
    });
    let points = Memo::new(move |_| {
        if !open.get() || !there.get() {
            return Vec::new();
        }
        page.project.with(|p| estimate::timeline(p, page.catalog.gpu(&p.hardware.gpu), page.catalog, POINTS))
    });
    view! {
        <details
            class="timeline"
            data-testid="timeline"
            hidden=when(move || !there.get())
            on:toggle=move |event| open.set(event_target::<HtmlDetailsElement>(&event).open())
        >
            <summary>{page.t(labels::TIMELINE)}</summary>
            {part(move || {
                let points = points.get();
                page.advice.with(|a| a.as_ref().ok().filter(|_| points.len() > 1).map(|a| picture(page, a, &points)).into_any())
            })}
        </details>
    }
    .into_any()
}

fn picture(page: Page, advice: &Advice, points: &[TimelinePoint]) -> AnyView {
    let lang = page.lang.get();
    let drawn = timeline(points, advice.capacity);
    let areas: Vec<AnyView> = drawn
        .areas
        .iter()
        .map(|(part, points)| {
            view! { <polygon class=format!("part {}", part.id()) points=points.clone() /> }.into_any()
        })
        .collect();
    let bounds: Vec<AnyView> = drawn
        .phases
        .iter()
        .skip(1)
        .map(|p| {
            view! { <line class="bound" x1=tenths(p.from) x2=tenths(p.from) y1="0" y2=tenths(HEIGHT) /> }.into_any()
        })
        .collect();
    let names: Vec<AnyView> = drawn
        .phases
        .iter()
        .filter(|p| p.to - p.from > WIDTH * 0.06)
        .map(|p| {
            let style = format!("left:{}%;width:{}%", tenths(percent(p.from)), tenths(percent(p.to - p.from)));
            view! { <span style=style>{text::moment(p.moment).text(lang)}</span> }.into_any()
        })
        .collect();
    let summary = text::timeline_summary(lang, &advice.memory);
    view! {
        <figure>
            <svg
                viewBox=format!("0 0 {} {}", tenths(WIDTH), tenths(HEIGHT))
                preserveAspectRatio="none"
                role="img"
                aria-label=summary.clone()
            >
                {areas}
                {bounds}
                {drawn.limit.map(|y| view! { <line class="limit" x1="0" x2=tenths(WIDTH) y1=tenths(y) y2=tenths(y) /> })}
            </svg>
            <div class="phases" aria-hidden="true">{names}</div>
            <figcaption>{summary}</figcaption>
        </figure>
    }
    .into_any()
}
