//! What the person knows better: rate, electricity, hours of use, prices of single cards.

use crate::app::field::FieldRow;
use crate::app::live::when;
use crate::app::page::page;
use crate::project::Field;
use crate::text::labels;
use leptos::prelude::*;

/// The folded form.
#[component]
pub(super) fn Prices() -> AnyView {
    let page = page();
    let edited = move || page.project.with(|p| p.prices.edited());
    view! {
        <details class="fold prices" data-testid="prices">
            <summary>
                {page.t(labels::PRICES)}
                <span class="tag" hidden=when(move || !edited())>{page.t(labels::PRICES_EDITED)}</span>
            </summary>
            <p class="quiet">{page.t(labels::PRICES_NOTE)}</p>
            <div class="price-fields">
                <div>
                    <FieldRow field=Field::PriceCard />
                    <FieldRow field=Field::PriceRent />
                    <FieldRow field=Field::PriceNew />
                    <FieldRow field=Field::PriceUsed />
                </div>
                <div>
                    <FieldRow field=Field::HoursAWeek />
                    <FieldRow field=Field::Place />
                    <FieldRow field=Field::Electricity />
                    <FieldRow field=Field::ExchangeRate />
                </div>
            </div>
        </details>
    }
    .into_any()
}
