//! The question: what do you want to train, what card do you have, what may it cost.

use super::combobox::Combobox;
use super::door::Entry;
use super::field::{control, control_id, note};
use super::page::page;
use crate::project::Field;
use crate::text::{self, labels};
use leptos::prelude::*;

/// The two questions that come first.
#[component]
pub(super) fn Ask() -> AnyView {
    let page = page();
    view! {
        <section class="ask" aria-label=page.t(labels::ASK)>
            <div class="question" data-testid="field-preset">
                <label class="big" for=control_id(Field::Preset)>{page.t(labels::ASK)}</label>
                <Combobox field=Field::Preset />
                {note(page, Field::Preset)}
            </div>
            <div class="question" data-testid="field-gpu">
                <label class="big" for=control_id(Field::Gpu)>{page.t(labels::HAVE)}</label>
                <div class="card-and-count">
                    <Combobox field=Field::Gpu />
                    <span class="times" aria-hidden="true">"×"</span>
                    <label class="unseen" for=control_id(Field::Count)>{page.t(text::field(Field::Count))}</label>
                    {control(page, Field::Count)}
                </div>
                {note(page, Field::Gpu)}
                {note(page, Field::Count)}
            </div>
            <div class="question budget">
                <div class="small" data-testid="field-budget-limit">
                    <label for=control_id(Field::BudgetLimit)>{page.t(text::field(Field::BudgetLimit))}</label>
                    {control(page, Field::BudgetLimit)}
                    <label class="unseen" for=control_id(Field::Currency)>{page.t(text::field(Field::Currency))}</label>
                    {control(page, Field::Currency)}
                </div>
                {note(page, Field::BudgetLimit)}
            </div>
            <Entry />
        </section>
    }
    .into_any()
}
