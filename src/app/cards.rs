//! Card by card, ranked.

use super::live::{click, part, when, words};
use super::page::{Page, page};
use super::sign::sign;
use crate::advise::CardChoice;
use crate::project::Precision;
use crate::text::{self, Lang, Tone, labels, numbers};
use leptos::prelude::*;

/// The ranked cards.
#[component]
pub(super) fn Cards() -> AnyView {
    let page = page();
    let all = RwSignal::new(false);
    let there = Memo::new(move |_| page.advice.with(|a| a.as_ref().is_ok_and(|a| !a.cards.is_empty())));
    let rows = part(move || {
        let (lang, all) = (page.lang.get(), all.get());
        let (chosen, count) = page.project.with(|p| (p.hardware.gpu.clone(), p.hardware.count));
        page.advice.with(|a| {
            let cards = a.as_ref().map(|a| a.cards.as_slice()).unwrap_or_default();
            cards
                .iter()
                .filter(|c| all || c.short_list || c.pick.is_some() || c.gpu == chosen)
                .map(|c| row(page, lang, c, c.gpu == chosen && c.count == count))
                .collect::<Vec<_>>()
                .into_any()
        })
    });
    let head = move |message: text::Message| view! { <th scope="col">{page.t(message)}</th> };
    view! {
        <section class="cards" aria-labelledby="cards-title" hidden=when(move || !there.get())>
            <h2 id="cards-title">{page.t(labels::CARDS)}</h2>
            <p class="quiet">{page.t(labels::CARDS_NOTE)}</p>
            <div class="frame" tabindex="0" role="region" aria-labelledby="cards-title">
                <table data-testid="cards">
                    <thead>
                        <tr>
                            {head(labels::CARD)}
                            {head(labels::FIT)}
                            {head(labels::HEADROOM)}
                            {head(labels::HOURS)}
                            {head(labels::RENT_RUN)}
                            {head(labels::BUY)}
                            <th><span class="unseen">{page.t(labels::CHOOSE)}</span></th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <button type="button" class="link" data-testid="cards-all" on:click=click(move || all.update(|a| *a = !*a))>
                {words(move || if all.get() { labels::FEWER_CARDS } else { labels::ALL_CARDS }.text(page.lang.get()).to_string())}
            </button>
        </section>
    }
    .into_any()
}

fn name(page: Page, choice: &CardChoice) -> String {
    let gpu = page.catalog.gpu(choice.gpu);
    let name = gpu.map_or_else(|| choice.gpu.to_string(), |g| text::card_called(page.lang.get(), g));
    if choice.count > 1 { format!("{name} × {}", choice.count) } else { name }
}

fn row(page: Page, lang: Lang, choice: &CardChoice, chosen: bool) -> AnyView {
    let (tone, word) = if choice.fits {
        (Tone::Good, labels::FITS)
    } else if choice.tight {
        (Tone::Tight, labels::TIGHT)
    } else {
        (Tone::Bad, labels::RUNS_OUT)
    };
    let key = format!("{}-{}", choice.gpu, choice.count);
    let name = name(page, choice);
    let room = if choice.spare.0 > 0 { choice.spare.to_string() } else { String::new() };
    // What does not fit takes no time and no money.
    let runs = choice.fits || choice.tight;
    let time = choice.time.filter(|_| runs).map(|t| numbers::hours(lang, t.run.hours())).unwrap_or_default();
    let budget = page.project.with(|p| p.budget);
    let over = |yes: bool| yes.then(|| view! { <span class="tag">{labels::OVER_BUDGET.text(lang)}</span> });
    let dated = |words, as_of| view! { {two_lines(words)}{page.old_price(lang, as_of)} };
    let poor = (runs && choice.overpriced).then(|| {
        view! { <span class="tag" title=labels::OVERPRICED_WHY.text(lang)>{labels::OVERPRICED.text(lang)}</span> }
    });
    let rent = choice
        .rent
        .filter(|_| runs)
        .map(|r| (dated(text::rent(lang, &r), r.as_of), over(text::rent_over(&budget, &r))));
    // What somebody owns is not bought again.
    let buy = choice
        .buy
        .and_then(|b| Some((dated(text::buy(lang, &b)?, b.as_of), over(!chosen && text::buy_over(&budget, &b)))));
    let (gpu, count) = (choice.gpu, choice.count);
    let action = if chosen {
        view! { <span class="chosen">{labels::CHOSEN.text(lang)}</span> }.into_any()
    } else {
        let label = format!("{} {name}", labels::CHOOSE.text(lang));
        view! {
            <button
                type="button"
                data-testid=format!("choose-{key}")
                aria-label=label
                on:click=click(move || page.choose_card(gpu, count))
            >
                {labels::CHOOSE.text(lang)}
            </button>
        }
        .into_any()
    };
    view! {
        <tr data-testid=format!("card-{key}") class:chosen-row=chosen>
            <th scope="row">
                {name}
                {choice.instead_of_bf16.map(|precision| {
                    let set = if precision == Precision::Fp32 { labels::FP32_INSTEAD } else { labels::FP16_INSTEAD };
                    view! { <span class="tag">{set.text(lang)}</span> }
                })}
                {choice.pick.map(|p| view! { <span class="pick">{text::rental_pick(p).text(lang)}</span> })}
            </th>
            <td class="fit" data-tone=super::sign::tone_id(tone)>{sign(tone)}{word.text(lang)}</td>
            <td class="figure" data-label=labels::HEADROOM.text(lang)>{room}</td>
            <td class="figure" data-label=labels::HOURS.text(lang)>{time}</td>
            <td class="figure" data-label=labels::RENT_RUN.text(lang)>{rent}{poor}</td>
            <td class="figure" data-label=labels::BUY.text(lang)>{buy}</td>
            <td class="action">{action}</td>
        </tr>
    }
    .into_any()
}

fn two_lines((first, second): (String, String)) -> AnyView {
    view! { {first}<span class="detail">{second}</span> }.into_any()
}
