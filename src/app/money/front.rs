//! Time against money, as a picture.

use super::pick_id;
use super::picture::{self, Dot, HEIGHT, Mark, WIDTH};
use crate::advise::{Plans, Way};
use crate::app::geometry::tenths;
use crate::app::live::{part, when};
use crate::app::page::{Page, page};
use crate::text::{self, Lang, labels, numbers};
use crate::units::Money;
use leptos::prelude::*;

/// The front, with a dot per plan.
#[component]
pub(super) fn Front(plans: Memo<Plans>) -> AnyView {
    let page = page();
    let drawn = part(move || plans.with(|p| (p.front.len() > 1).then(|| draw(page, page.lang.get(), p)).into_any()));
    view! {
        <figure class="front" hidden=when(move || plans.with(|p| p.front.len() < 2))>
            <figcaption>
                <b>{page.t(labels::FRONT)}</b>
                <span class="quiet">{page.t(labels::FRONT_NOTE)}</span>
            </figcaption>
            {drawn}
        </figure>
    }
    .into_any()
}

fn draw(page: Page, lang: Lang, plans: &Plans) -> AnyView {
    let drawn = picture::front(plans);
    let currency = plans.front.first().map(|p| p.cost.currency).unwrap_or_default();
    let others: Vec<AnyView> = drawn.others.iter().map(|d| dot(d, "other", None, String::new())).collect();
    let front: Vec<AnyView> = drawn
        .best
        .iter()
        .map(|d| {
            let pick = plans.picks.iter().find(|(_, p)| *p == d.plan).map(|(pick, _)| *pick);
            let title = format!(
                "{} · {} · {}",
                text::plan_card(lang, &d.plan, page.catalog),
                text::plan_cost(lang, &d.plan),
                numbers::hours(lang, d.plan.wait)
            );
            dot(d, "front", pick.map(pick_id), title)
        })
        .collect();
    // A pick may lie off the line, where it is less trouble.
    let picks: Vec<AnyView> = picture::places(plans)
        .into_iter()
        .map(|(pick, d)| {
            let side = if d.x > 60.0 { "label left" } else { "label" };
            view! {
                <span class=side style=place(d.x, d.y)>{text::pick_of(pick, plans).text(lang)}</span>
            }
            .into_any()
        })
        .collect();
    view! {
        <div class="plot" role="img" aria-label=text::front_alt(lang, plans, page.catalog) data-testid="front">
            <div class="field-of-dots">
                <svg viewBox=format!("0 0 {} {}", tenths(WIDTH), tenths(HEIGHT)) preserveAspectRatio="none" aria-hidden="true">
                    {grid(&drawn.hours, &drawn.money)}
                    <path class="line" d=drawn.line.clone() />
                </svg>
                {others}
                {front}
                {picks}
            </div>
            {axes(lang, &drawn.hours, &drawn.money, currency, true)}
            <span class="axis-name x">{labels::AXIS_WAIT.text(lang)}</span>
            <span class="axis-name y">{labels::AXIS_COST.text(lang)}</span>
        </div>
    }
    .into_any()
}

/// Lines behind the picture.
pub(super) fn grid(across: &[Mark], up: &[Mark]) -> Vec<AnyView> {
    let vertical = across.iter().map(|m| {
        let x = tenths(m.at / 100.0 * WIDTH);
        view! { <line class="grid" x1=x.clone() x2=x y1="0" y2=tenths(HEIGHT) /> }.into_any()
    });
    let level = up.iter().map(|m| {
        let y = tenths(m.at / 100.0 * HEIGHT);
        view! { <line class="grid" x1="0" x2=tenths(WIDTH) y1=y.clone() y2=y /> }.into_any()
    });
    vertical.chain(level).collect()
}

/// Figures along the axes: hours across (as durations or as they are), money up.
pub(super) fn axes(
    lang: Lang,
    across: &[Mark],
    up: &[Mark],
    currency: crate::units::Currency,
    durations: bool,
) -> Vec<AnyView> {
    let hours = across.iter().map(|m| {
        let shown = if durations { numbers::hours(lang, m.value) } else { numbers::about(lang, m.value) };
        view! { <span class="mark-x" style=format!("left:{}%", tenths(m.at))>{shown}</span> }.into_any()
    });
    let money = up.iter().map(|m| {
        let shown = numbers::round_money(lang, Money { amount: m.value, currency });
        view! { <span class="mark-y" style=format!("top:{}%", tenths(m.at))>{shown}</span> }.into_any()
    });
    hours.chain(money).collect()
}

pub(super) fn place(x: f64, y: f64) -> String {
    format!("left:{}%;top:{}%", tenths(x), tenths(y))
}

fn dot(dot: &Dot, kind: &'static str, pick: Option<&'static str>, title: String) -> AnyView {
    let way = match dot.plan.way {
        Way::Processor | Way::Own => "own",
        Way::Free => "free",
        Way::Rent | Way::Spot => "rent",
        Way::New | Way::Used => "buy",
    };
    view! {
        <span
            class=format!("dot {kind} {way}")
            data-pick=pick
            style=place(dot.x, dot.y)
            title=(!title.is_empty()).then_some(title)
        ></span>
    }
    .into_any()
}
