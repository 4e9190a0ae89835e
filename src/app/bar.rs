//! The memory bar and its table.

use super::geometry::{WIDTH, bar, percent, tenths};
use super::live::{part as live, when};
use super::page::{Page, page};
use super::term::term;
use crate::estimate::{MemoryEstimate, Part};
use crate::text::{self, Lang, labels, numbers};
use crate::units::Bytes;
use leptos::prelude::*;

/// Where the memory goes, as a picture and as a table.
#[component]
pub(super) fn MemoryBar() -> AnyView {
    let page = page();
    let memory = Memo::new(move |_| page.advice.with(|a| a.as_ref().ok().map(|a| (a.memory.clone(), a.capacity))));
    view! {
        <figure class="memory" hidden=when(move || memory.with(Option::is_none))>
            <figcaption class="unseen">{page.t(labels::MEMORY_BAR)}</figcaption>
            {live(move || memory.with(|m| m.as_ref().map(|(m, capacity)| picture(page, m, *capacity)).into_any()))}
            {live(move || memory.with(|m| m.as_ref().map(|(m, _)| table(page.lang.get(), m)).into_any()))}
        </figure>
    }
    .into_any()
}

fn picture(page: Page, memory: &MemoryEstimate, capacity: Option<Bytes>) -> AnyView {
    let lang = page.lang.get();
    let bar = bar(memory, capacity);
    let segments: Vec<AnyView> = bar
        .segments
        .iter()
        .map(|s| {
            view! { <rect class=format!("part {}", s.part.id()) x=tenths(s.x) y="0" width=tenths(s.width) height="28" /> }
                .into_any()
        })
        .collect();
    let over = bar.beyond.map(|(from, width)| {
        view! { <div class="over" style=format!("left:{}%;width:{}%", tenths(from), tenths(width))></div> }
    });
    let needed = memory.card;
    let limit = capacity.zip(bar.limit).map(|(bytes, x)| {
        let side = if percent(x) > 50.0 { "mark limit left" } else { "mark limit" };
        view! {
            <span class=side style=format!("left:{}%", tenths(percent(x)))>
                <span class="what">{labels::YOUR_CARD.text(lang)}</span>
                <b>{bytes.to_string()}</b>
            </span>
        }
    });
    let peak_side = if percent(bar.end) > 50.0 { "mark peak left" } else { "mark peak" };
    view! {
        <div class="bar" data-testid="memory-bar">
            <div class="above">{limit}</div>
            <div class="track">
            <svg viewBox=format!("0 0 {} 28", tenths(WIDTH)) preserveAspectRatio="none" aria-hidden="true">
                <rect class="ground" x="0" y="0" width=tenths(WIDTH) height="28" />
                {segments}
                <path class="band" d=bar.whisker />
                {bar.limit.map(|x| view! { <line class="limit" x1=tenths(x) x2=tenths(x) y1="0" y2="28" /> })}
            </svg>
            {over}
            </div>
            <div class="below">
                <span class=peak_side style=format!("left:{}%", tenths(percent(bar.end)))>
                    <span class="what">{labels::PEAK.text(lang)}</span>
                    <b>{needed.to_string()}</b>
                    <span class="band-word">{numbers::band(memory.band)}</span>
                </span>
            </div>
        </div>
    }
    .into_any()
}

fn table(lang: Lang, memory: &MemoryEstimate) -> AnyView {
    let total = memory.card.0.max(1) as f64;
    let rows: Vec<AnyView> = Part::ALL
        .into_iter()
        .filter(|part| memory.part(*part) > Bytes::ZERO)
        .map(|part| {
            let bytes = memory.part(part);
            let id = part.id();
            view! {
                <tr data-testid=format!("part-{id}")>
                    <th scope="row">
                        <span class=format!("swatch {id}") aria-hidden="true"></span>
                        {term(id, text::part(part).text(lang), text::part_detail(part).text(lang))}
                    </th>
                    <td>{bytes.to_string()}</td>
                    <td class="share">{numbers::percent(bytes.0 as f64 / total)}</td>
                </tr>
            }
            .into_any()
        })
        .collect();
    view! {
        <table class="parts" data-testid="memory-table">
            <thead class="unseen">
                <tr>
                    <th scope="col">{labels::PART.text(lang)}</th>
                    <th scope="col">{labels::AMOUNT.text(lang)}</th>
                    <th scope="col">{labels::SHARE.text(lang)}</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}
