//! A machine of one's own: a list to be ticked off, and when renting is better.

use super::fold::fold;
use super::live::{click, part};
use super::page::{Page, page};
use crate::advise::rig::{Build, build, circuits, disk, not_at_home, rig};
use crate::advise::{electricity, rent_or_buy};
use crate::catalog::Gpu;
use crate::project::CARDS_PER_MACHINE;
use crate::text::{self, Lang, rig as say};
use leptos::prelude::*;

/// What is on paper, while it is printed.
const PRINTS: &str = "data-print";

/// The machine for the cards that are owned, or for one that stands in.
#[component]
pub(super) fn Rig() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let body = part(move || {
        let lang = page.lang.get();
        open.get().then(|| drawn(page, lang)).into_any()
    });
    fold(page, "rig", say::RIG, open, view! { <div class="rig">{body}</div> }.into_any())
}

fn drawn(page: Page, lang: Lang) -> AnyView {
    page.project.with(|p| {
        let built = page.advice.with(|a| a.as_ref().ok().map(|advice| build(p, advice, page.catalog)));
        let (gpu, count) = match built {
            Some(Build::Machine(gpu, count)) => (page.catalog.gpu(gpu), count),
            Some(Build::Cluster(least)) => {
                return view! { <p data-testid="rig-rent">{say::cluster(lang, least, page.catalog)}</p> }.into_any();
            }
            None => (None, 1),
        };
        let Some(gpu) = gpu else { return ().into_any() };
        let host = page.advice.with(|a| a.as_ref().map(|a| a.memory.host).unwrap_or_default());
        let Some(found) = rig(gpu, count, host) else {
            return view! { <p>{say::UNKNOWN_POWER.text(lang)}</p> }.into_any();
        };
        // A module of a server, or several machines of them: there is no list to tick off at home.
        let alone = not_at_home(gpu, 1);
        if let Some(why) = alone.or_else(|| not_at_home(gpu, count).filter(|_| count > CARDS_PER_MACHINE)) {
            return view! { <p data-testid="rig-rent">{say::not_at_home(why).text(lang)}</p> }.into_any();
        }
        let circuit = say::circuits(lang, &found, circuits(p));
        let mut lines: Vec<(&'static str, String)> =
            found.checks.iter().chain([&disk(p, page.catalog)]).filter_map(|c| say::check(lang, c)).collect();
        if let Some(circuit) = circuit {
            // Behind the power supply and its cables.
            let at = lines.len().min(1);
            lines.insert(at, (say::WALL.text(lang), circuit));
        }
        let items: Vec<AnyView> = lines
            .into_iter()
            .map(|(name, detail)| {
                view! {
                    <li>
                        <label>
                            <input type="checkbox" />
                            <b>{name}</b>
                            <span>{detail}</span>
                        </label>
                    </li>
                }
                .into_any()
            })
            .collect();
        let stand_in = (gpu.id != p.hardware.gpu)
            .then(|| view! { <p class="quiet">{text::several::stand_in(lang, &text::card_called(lang, gpu))}</p> });
        let title = say::of(lang, count, &text::card_called(lang, gpu));
        let power = say::power(lang, &found, electricity(p), p.prices.hours_a_week);
        view! {
            {stand_in}
            <div class="rig-list" data-testid="rig-list">
                <h3>{title}</h3>
                <p>{power}</p>
                <p class="quiet">{say::LIST.text(lang)}</p>
                <ul class="checklist">{items}</ul>
            </div>
            <button type="button" data-testid="rig-print" on:click=click(print)>{say::PRINT.text(lang)}</button>
            <h3>{say::RENT_INSTEAD.text(lang)}</h3>
            <p data-testid="rig-rent">{instead(page, lang, gpu, count)}</p>
        }
        .into_any()
    })
}

/// Rent, or from when on buying pays.
fn instead(page: Page, lang: Lang, gpu: &Gpu, count: u32) -> String {
    if let Some(why) = not_at_home(gpu, count) {
        return say::not_at_home(why).text(lang).to_string();
    }
    let hours = page.advice.with(|a| a.as_ref().ok().and_then(|a| a.time).map(|t| t.run.hours()));
    let found = page.project.with(|p| rent_or_buy(p, gpu, count, hours, page.catalog));
    found.map_or_else(|| say::no_rent(lang), |r| say::rent_first(lang) + &text::break_even(lang, &r, page.catalog))
}

/// Prints the list alone.
fn print() {
    let Some(root) = document().document_element() else { return };
    let _ = root.set_attribute(PRINTS, "rig");
    let _ = window().print();
    let _ = root.remove_attribute(PRINTS);
}
