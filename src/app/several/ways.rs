//! Every way to share the project, in a table.

use super::{card, laid_out};
use crate::advise::several::{Several, Sharing, several};
use crate::app::live::{click, part, words};
use crate::app::page::Page;
use crate::app::sign::{sign, tone_id};
use crate::project::{Choice, Field, Project};
use crate::text::{self, Lang, Tone, labels, numbers, several as say};
use crate::units::sort;
use leptos::prelude::*;

/// Numbers of cards that are offered beside the person's own.
const COUNTS: [u32; 16] = [2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];

/// How many cards are looked at: asked for, owned, or two.
pub(super) fn looked_at(project: &Project, asked: Option<u32>) -> u32 {
    asked.unwrap_or(if project.hardware.count > 1 { project.hardware.count } else { 2 })
}

/// The question and the table.
pub(super) fn ways(page: Page, project: RwSignal<Option<Project>>, asked: RwSignal<Option<u32>>) -> AnyView {
    // Another number of cards of one's own answers the question anew.
    let own = Memo::new(move |before| {
        let now = page.project.with(|p| p.hardware.count);
        if before.is_some_and(|before| *before != now) {
            asked.set(None);
        }
        now
    });
    let found = Memo::new(move |_| {
        let asked = asked.get();
        project.with(|p| {
            let p = p.as_ref()?;
            let gpu = card(p, page.catalog)?;
            several(p, gpu, looked_at(p, asked), page.catalog).ok()
        })
    });
    let lead = words(move || {
        let lang = page.lang.get();
        found.with(|f| {
            let Some(found) = f else { return String::new() };
            page.project.with(|p| {
                let Some(gpu) = card(p, page.catalog) else { return String::new() };
                let library = text::choice(lang, Field::Framework, p.framework.id());
                let lead = say::lead(lang, found, gpu, found.copies_only.then_some(library));
                let stand_in = if gpu.id == p.hardware.gpu {
                    String::new()
                } else {
                    say::stand_in(lang, &text::card_called(lang, gpu))
                };
                [stand_in, lead, say::idle(lang, found).unwrap_or_default()].concat()
            })
        })
    });
    let counts = part(move || {
        let count = page.project.with(|p| looked_at(p, asked.get()));
        let mut all: Vec<u32> = COUNTS.into_iter().chain([own.get(), count]).filter(|n| *n > 1).collect();
        sort(&mut all, u32::cmp);
        all.dedup();
        all.into_iter()
            .map(|n| view! { <option value=n.to_string() selected=n == count>{n.to_string()}</option> }.into_any())
            .collect::<Vec<_>>()
            .into_any()
    });
    let table = part(move || {
        let lang = page.lang.get();
        found.with(|f| f.as_ref().map(|found| table(page, lang, found)).into_any())
    });
    view! {
        <p data-testid="several-lead">{lead}</p>
        <p class="look-at">
            <label for="look-at">{page.t(say::LOOK_AT)}</label>
            <span class="select">
                <select
                    id="look-at"
                    data-testid="look-at"
                    on:change=move |event| asked.set(event_target_value(&event).parse().ok())
                >
                    {counts}
                </select>
                <span class="arrow" aria-hidden="true"></span>
            </span>
        </p>
        {table}
    }
    .into_any()
}

fn table(page: Page, lang: Lang, found: &Several) -> AnyView {
    let heads: Vec<AnyView> =
        say::HEADS.iter().map(|head| view! { <th scope="col">{head.text(lang)}</th> }.into_any()).collect();
    let rows: Vec<AnyView> = found.sharings.iter().map(|way| row(page, lang, way)).collect();
    view! {
        <div class="cards frame" tabindex="0" role="region" aria-label=say::SEVERAL.text(lang)>
            <table class="ways" data-testid="ways">
                <thead>
                    <tr>
                        {heads}
                        <th><span class="unseen">{labels::APPLY.text(lang)}</span></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="quiet">{say::HEADS_NOTE.text(lang)}</p>
    }
    .into_any()
}

fn row(page: Page, lang: Lang, way: &Sharing) -> AnyView {
    let (tone, word) = match (way.fits, way.tight) {
        (true, _) => (Tone::Good, labels::FITS),
        (_, true) => (Tone::Tight, labels::TIGHT),
        _ => (Tone::Bad, labels::RUNS_OUT),
    };
    let runs = way.fits || way.tight;
    let name = say::sharing(lang, way);
    let id = way.sharding.id();
    let time = way.time.filter(|_| runs).map(|t| numbers::hours(lang, t.run.hours())).unwrap_or_default();
    let efficiency = way.efficiency.filter(|_| runs).map(numbers::percent).unwrap_or_default();
    let waiting = if runs { say::waiting(way) } else { String::new() };
    let project = way.project.clone();
    let action = if way.chosen {
        view! { <span class="chosen">{say::IN_USE.text(lang)}</span> }.into_any()
    } else {
        let label = format!("{} {name}", labels::APPLY.text(lang));
        view! {
            <button
                type="button"
                data-testid=format!("use-{id}")
                aria-label=label
                on:click=click(move || page.apply_fix(page.project.with_untracked(|now| laid_out(now, &project)), project.clone()))
            >
                {labels::APPLY.text(lang)}
            </button>
        }
        .into_any()
    };
    let [_, _, card, host, hours, speed, wait] = say::HEADS.map(|head| head.text(lang));
    view! {
        <tr data-testid=format!("way-{id}") class:chosen-row=way.chosen>
            <th scope="row">{name}</th>
            <td class="fit" data-tone=tone_id(tone)>{sign(tone)}{word.text(lang)}</td>
            <td class="figure" data-label=card>{way.card.to_string()}</td>
            <td class="figure" data-label=host>{way.host.to_string()}</td>
            <td class="figure" data-label=hours>{time}</td>
            <td class="figure" data-label=speed>{efficiency}</td>
            <td class="figure" data-label=wait>{waiting}</td>
            <td class="action">{action}</td>
        </tr>
    }
    .into_any()
}
