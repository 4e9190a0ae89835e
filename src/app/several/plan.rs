//! The best plan for the cards that are looked at, and how the person's own are joined and cut.

use super::ways::looked_at;
use super::{card, laid_out};
use crate::advise::plan::{Plan, safe_plan, samples_per_step};
use crate::advise::several::{NoPlan, several};
use crate::app::field::FieldRow;
use crate::app::live::{click, part, when};
use crate::app::page::Page;
use crate::project::Project;
use crate::text::{Lang, labels, several as say};
use leptos::prelude::*;

/// The fastest plan with its reasons.
pub(super) fn plan(page: Page, project: RwSignal<Option<Project>>, asked: RwSignal<Option<u32>>) -> AnyView {
    let found = Memo::new(move |_| {
        let asked = asked.get();
        project.with(|p| {
            let p = p.as_ref()?;
            let (gpu, count) = (card(p, page.catalog)?, looked_at(p, asked));
            // Every card sees a sample at the least.
            let samples = samples_per_step(p).max(u64::from(count));
            Some(safe_plan(p, gpu, count, samples, page.catalog).ok_or_else(|| {
                several(p, gpu, count, page.catalog).map_or(NoPlan::TooLarge, |several| several.no_plan())
            }))
        })
    });
    let body = part(move || {
        let lang = page.lang.get();
        found.with(|f| {
            let Some(found) = f else { return ().into_any() };
            match found {
                Ok(found) => drawn(page, lang, found),
                Err(why) => view! { <p>{say::no_plan(*why).text(lang)}</p> }.into_any(),
            }
        })
    });
    view! {
        <div class="plan" data-testid="plan">
            <h3>{page.t(say::PLAN)}</h3>
            {body}
        </div>
    }
    .into_any()
}

fn drawn(page: Page, lang: Lang, found: &Plan) -> AnyView {
    let reasons: Vec<AnyView> =
        found.reasons.iter().map(|r| view! { <li>{say::reason(lang, r)}</li> }.into_any()).collect();
    let project = found.project.clone();
    let same = project.clone();
    let set = when(move || page.project.with(|p| *p == same));
    view! {
        <p class="lead" data-testid="plan-line">{say::plan(lang, found)}</p>
        <p>{say::plan_figures(lang, found)}</p>
        <ul class="reasons-why">{reasons}</ul>
        <button
            type="button"
            class="primary"
            data-testid="plan-apply"
            disabled=set
            on:click=click(move || {
                page.apply_fix(page.project.with_untracked(|now| laid_out(now, &project)), project.clone());
            })
        >
            {labels::APPLY.text(lang)}
        </button>
    }
    .into_any()
}

/// The settings about how the cards are joined and the model is cut.
pub(super) fn joined(page: Page) -> AnyView {
    let fields = Memo::new(move |_| page.relevant.with(|r| r.several.clone()));
    view! {
        <div class="joined" data-testid="joined">
            <h3>{page.t(say::JOINED)}</h3>
            <p class="quiet" hidden=when(move || fields.with(|f| !f.is_empty()))>{page.t(say::JOINED_NOTE)}</p>
            <div class="price-fields">
                <For each=move || fields.get() key=|f| *f let(field)>
                    <FieldRow field=field />
                </For>
            </div>
        </div>
    }
    .into_any()
}
