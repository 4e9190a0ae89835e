//! Rent or buy, as a curve over hours of use.

use super::front::{axes, grid, place};
use super::picture::{self, HEIGHT, WIDTH};
use super::select;
use crate::advise::{Advice, RentOrBuy, Way, owned_count, rent_or_buy, usual_purchase};
use crate::app::geometry::tenths;
use crate::app::live::{part, when, words};
use crate::app::page::{Page, page};
use crate::text::{self, Lang, labels};
use leptos::prelude::*;

/// The curve of a card, which can be chosen; at first one on which the run goes.
#[component]
pub(super) fn Curve() -> AnyView {
    let page = page();
    let chosen = RwSignal::new(None::<String>);
    let usual = Memo::new(move |_| {
        page.advice.with(|a| {
            let a = a.as_ref().ok()?;
            page.project.with(|p| usual_purchase(p, a, page.catalog))
        })
    });
    let shown = Signal::derive(move || {
        let own = || page.project.with(|p| p.hardware.gpu.clone());
        chosen.get().unwrap_or_else(|| usual.get().map_or_else(own, |(id, _)| id.to_string()))
    });
    let case = Memo::new(move |_| {
        let id = shown.get();
        page.advice.with(|a| a.as_ref().ok().and_then(|a| of(page, a, &id, usual.get())))
    });
    let said = move |line: fn(Lang, &RentOrBuy, Page) -> String| {
        words(move || {
            let lang = page.lang.get();
            case.with(|c| c.as_ref().map(|c| line(lang, c, page)).unwrap_or_default())
        })
    };
    let drawn = part(move || case.with(|c| c.as_ref().map(|c| draw(page, page.lang.get(), c)).into_any()));
    view! {
        <figure class="curve">
            <figcaption>
                <b>{page.t(labels::CURVE)}</b>
                <label for="curve-card" class="unseen">{page.t(labels::CURVE_CARD)}</label>
                {select::cards(page, "curve-card", shown, move |id| chosen.set(Some(id)))}
            </figcaption>
            {drawn}
            <p class="empty" hidden=when(move || case.with(Option::is_some))>{page.t(labels::CURVE_NONE)}</p>
            <div class="said" hidden=when(move || case.with(Option::is_none))>
                <p class="lead" data-testid="break-even">{said(|lang, c, page| text::break_even(lang, c, page.catalog))}</p>
                <p data-testid="one-project">{said(|lang, c, _| text::one_project(lang, c).unwrap_or_default())}</p>
                <p data-testid="two-years">{said(|lang, c, _| text::two_years(lang, c))}</p>
                <p class="quiet">{said(|lang, c, _| text::curve_terms(lang, c))}</p>
            </div>
        </figure>
    }
    .into_any()
}

fn of(page: Page, advice: &Advice, id: &str, usual: Option<(&str, u32)>) -> Option<RentOrBuy> {
    let gpu = page.catalog.gpu(id)?;
    let count = usual.filter(|(usual, _)| *usual == id).map_or_else(|| owned_count(gpu, advice), |(_, count)| count);
    let there = advice.cards.iter().find(|c| c.gpu == gpu.id && c.count == count && (c.fits || c.tight));
    let hours = there.and_then(|c| c.time).map(|t| t.run.hours());
    page.project.with(|p| rent_or_buy(p, gpu, count, hours, page.catalog))
}

const fn way_id(way: Way) -> &'static str {
    match way {
        Way::New => "new",
        Way::Used => "used",
        _ => "rent",
    }
}

fn draw(page: Page, lang: Lang, case: &RentOrBuy) -> AnyView {
    let drawn = picture::curve(case);
    let lines: Vec<AnyView> = drawn
        .lines
        .iter()
        .map(|(way, points)| {
            view! { <polyline class=format!("line {}", way_id(*way)) points=points.clone() /> }.into_any()
        })
        .collect();
    let key: Vec<AnyView> = drawn
        .lines
        .iter()
        .map(|(way, _)| {
            let word = match way {
                Way::New => labels::LINE_NEW,
                Way::Used => labels::LINE_USED,
                _ => labels::LINE_RENT,
            };
            view! { <li class=way_id(*way)>{word.text(lang)}</li> }.into_any()
        })
        .collect();
    let crossing = drawn.crossing.map(|(x, y)| view! { <span class="dot crossing" style=place(x, y)></span> });
    view! {
        <ul class="key" aria-hidden="true">{key}</ul>
        <div class="plot" role="img" aria-label=text::curve_alt(lang, case, page.catalog) data-testid="curve">
            <div class="field-of-dots">
                <svg viewBox=format!("0 0 {} {}", tenths(WIDTH), tenths(HEIGHT)) preserveAspectRatio="none" aria-hidden="true">
                    {grid(&drawn.hours, &drawn.money)}
                    {lines}
                </svg>
                {crossing}
            </div>
            {axes(lang, &drawn.hours, &drawn.money, case.rent_hour.currency, false)}
            <span class="axis-name x">{labels::AXIS_HOURS.text(lang)}</span>
            <span class="axis-name y">{labels::AXIS_COST.text(lang)}</span>
        </div>
    }
    .into_any()
}
