//! Buy, rent, or free: the picks, the picture of time against money, the curve, and what the person knows better.

mod compare;
mod curve;
mod front;
mod picture;
mod prices;
mod select;
mod today;

pub(super) use today::today;

use super::live::{part, when, words};
use super::page::{Page, page};
use crate::advise::{AtHome, Pick, Plan, Plans};
use crate::project::Objective;
use crate::text::{self, Lang, labels, numbers};
use leptos::prelude::*;

/// The section about money.
#[component]
pub(super) fn Money() -> AnyView {
    let page = page();
    let plans = Memo::new(move |_| page.advice.with(|a| a.as_ref().map(|a| a.plans.clone()).unwrap_or_default()));
    let picks = part(move || {
        let lang = page.lang.get();
        plans.with(|p| {
            let own = p.at_home.iter().map(|own| at_home(page, lang, own));
            own.chain(p.picks.iter().map(|(pick, plan)| picked(page, lang, *pick, plan, p)))
                .collect::<Vec<_>>()
                .into_any()
        })
    });
    let afford = words(move || {
        let lang = page.lang.get();
        let said = plans.with(|p| page.project.with(|project| text::afford(lang, project, p, page.catalog)));
        said.unwrap_or_else(|| labels::BUDGET_ASK.text(lang).to_string())
    });
    let also = words(move || {
        let lang = page.lang.get();
        plans.with(|p| text::beside_afford(lang, p, page.catalog))
    });
    let sampling = words(move || {
        let lang = page.lang.get();
        let sampled = page.project.with(|p| p.objective == Objective::Sampled);
        if sampled { labels::SAMPLING.text(lang).to_string() } else { String::new() }
    });
    let step = words(move || {
        let lang = page.lang.get();
        plans.with(|p| p.step_up.map(|s| text::step_up(lang, &s, page.catalog)).unwrap_or_default())
    });
    view! {
        <section class="money" aria-labelledby="money-title" data-testid="money" hidden=when(move || plans.with(|p| p.picks.is_empty()))>
            <h2 id="money-title">{page.t(labels::MONEY)}</h2>
            <p class="quiet">{page.t(labels::MONEY_NOTE)}{sampling}</p>
            <p class="afford" data-testid="afford">{afford}{also}</p>
            <ol class="picks" data-testid="picks" aria-label=page.t(labels::PICKS)>{picks}</ol>
            <p class="step-up" data-testid="step-up" hidden=when(move || plans.with(|p| p.step_up.is_none()))>{step}</p>
            <div class="pictures">
                <front::Front plans=plans />
                <curve::Curve />
            </div>
            <div class="folds">
                <prices::Prices />
                <compare::WhyNot />
                <compare::Sides />
                <compare::Grows />
            </div>
        </section>
    }
    .into_any()
}

/// The id of a pick, as it stands in attributes.
const fn pick_id(pick: Pick) -> &'static str {
    match pick {
        Pick::Cheapest => "cheapest",
        Pick::Balanced => "balanced",
        Pick::Fastest => "fastest",
    }
}

/// Which card, in which way, for how much and how long.
fn what(page: Page, lang: Lang, plan: &Plan) -> AnyView {
    view! {
            <b class="name">{text::plan_card(lang, plan, page.catalog)}</b>
            <span class="way">{text::plan_way(lang, plan)}</span>
            <span class="figures">
                <b>{text::plan_cost(lang, plan)}</b>
                <span>{numbers::hours(lang, plan.wait)}</span>
            </span>
    }
    .into_any()
}

/// The person's own cards, where no pick names them.
fn at_home(page: Page, lang: Lang, own: &AtHome) -> AnyView {
    let plan = &own.plan;
    view! {
        <li data-testid="pick-own">
            <span class="pick">{labels::AT_HOME.text(lang)}</span>
            {what(page, lang, plan)}
            <span class="reason">{text::at_home(lang, own)}</span>
        </li>
    }
    .into_any()
}

fn picked(page: Page, lang: Lang, pick: Pick, plan: &Plan, plans: &Plans) -> AnyView {
    let old = page.old_price(lang, plan.as_of);
    view! {
        <li data-testid=format!("pick-{}", pick_id(pick))>
            <span class="pick">{text::pick_of(pick, plans).text(lang)}</span>
            {what(page, lang, plan)}
            <span class="reason">{text::pick_reason(lang, pick, plan, plans, page.catalog)}</span>
            <span class="detail">{text::plan_detail(lang, plan)}{old}</span>
        </li>
    }
    .into_any()
}
