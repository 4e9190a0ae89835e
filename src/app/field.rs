//! One row of the form: label, control, and a line beneath for what it means or what is wrong.

use super::combobox::Combobox;
use super::live::{part, when, words};
use super::page::{Page, page};
use crate::advise;
use crate::project::{Field, Kind, choices, fields, number};
use crate::text::{self, labels};
use crate::units::decimal;
use leptos::prelude::*;

/// The field's name in ids and attributes: `micro-batch`.
pub(super) fn field_id(field: Field) -> String {
    let mut id = String::new();
    for c in format!("{field:?}").chars() {
        if c.is_ascii_uppercase() && !id.is_empty() {
            id.push('-');
        }
        id.push(c.to_ascii_lowercase());
    }
    id
}

/// The id of the field's control.
pub(super) fn control_id(field: Field) -> String {
    format!("input-{}", field_id(field))
}

/// A row of the form.
#[component]
pub(super) fn FieldRow(field: Field) -> AnyView {
    let page = page();
    let id = field_id(field);
    let test = format!("field-{id}");
    view! {
        <div class="field" data-testid=test class:wrong=when(move || page.errors.with(|e| e.contains_key(&field)))>
            <label for=control_id(field)>{page.t(text::field(field))}</label>
            {control(page, field)}
            {note(page, field)}
        </div>
    }
    .into_any()
}

/// Marks a control that is wrong.
pub(super) fn wrong(page: Page, field: Field) -> Signal<Option<&'static str>> {
    Signal::derive(move || page.errors.with(|e| e.contains_key(&field)).then_some("true"))
}

/// The control that suits the field.
pub(super) fn control(page: Page, field: Field) -> AnyView {
    match fields::kind(field) {
        Kind::Search => view! { <Combobox field=field /> }.into_any(),
        Kind::Number(_) => number_input(page, field),
        Kind::Choice => select(page, field),
        Kind::Toggle => toggle(page, field),
    }
}

/// The line beneath: what is wrong, else what was understood, else (while the row is looked at) what the field means.
pub(super) fn note(page: Page, field: Field) -> AnyView {
    let id = field_id(field);
    let error = Memo::new(move |_| page.error(field));
    let understood = Memo::new(move |_| understood(page, field));
    let pasted = Memo::new(move |_| pasted(page, field));
    let hint = Memo::new(move |_| page.project.with(|p| text::hint(page.lang.get(), field, p, page.catalog)));
    let (test, mark) = (format!("error-{id}"), format!("pasted-{id}"));
    view! {
        <p class="note" id=format!("note-{id}")>
            {part(move || match (error.get(), understood.get()) {
                (Some(wrong), _) => {
                    view! { <span class="error" data-testid=test.clone()>{wrong}</span> }.into_any()
                }
                (None, Some(value)) => view! { <span class="understood">{value}</span> }.into_any(),
                (None, None) if pasted.get() => {
                    view! { <span class="understood" data-testid=mark.clone()>{labels::DOOR_MARK.text(page.lang.get())}</span> }.into_any()
                }
                (None, None) => view! { <span class="hint">{hint.get()}</span> }.into_any(),
            })}
        </p>
    }
    .into_any()
}

/// Whether the value was read from what was pasted, and still is that.
fn pasted(page: Page, field: Field) -> bool {
    page.pasted.with(|all| all.get(&field).is_some_and(|read| page.project.with(|p| fields::get(p, field)) == *read))
}

/// `= 2,048` where something else was typed for it.
fn understood(page: Page, field: Field) -> Option<String> {
    let Kind::Number(_) = fields::kind(field) else { return None };
    let raw = page.typed.with(|t| t.get(&field).cloned())?;
    let value = page.project.with(|p| fields::get(p, field));
    let value = number::parse(&value, number::Kilo::Thousand).ok()?;
    let shown = text::numbers::plain(value);
    let same = raw.trim() == shown || decimal::read(raw.trim()) == Some(value);
    (!same).then(|| format!("= {shown}"))
}

fn number_input(page: Page, field: Field) -> AnyView {
    let id = control_id(field);
    let unit = text::unit(field);
    // An empty field of prices shows what is counted with.
    let usual = words(move || {
        let price = page.project.with(|p| advise::usual_price(p, field, page.catalog));
        price.map(text::usual_price).unwrap_or_default()
    });
    view! {
        <span class="number" class:with-unit=unit.is_some()>
            <input
                type="text"
                inputmode="decimal"
                id=id.clone()
                data-testid=id
                autocomplete="off"
                spellcheck="false"
                disabled=page.is_locked(field)
                aria-describedby=format!("note-{}", field_id(field))
                aria-invalid=wrong(page, field)
                placeholder=usual
                prop:value=words(move || page.shown(field))
                on:input=move |event| page.type_into(field, event_target_value(&event))
                on:change=move |_| page.leave()
            />
            {unit.map(|unit| view! { <span class="unit" aria-hidden="true">{page.t(unit)}</span> })}
        </span>
    }
    .into_any()
}

fn select(page: Page, field: Field) -> AnyView {
    let id = control_id(field);
    let offered = Memo::new(move |_| page.project.with(|p| choices(field, p, page.catalog)));
    let value = Memo::new(move |_| page.project.with(|p| fields::get(p, field)));
    let options = part(move || {
        let (lang, chosen) = (page.lang.get(), value.get());
        let mut ids = offered.get();
        // A setting that a preset brought stays visible even where nobody would choose it.
        let extra = (!ids.contains(&chosen.as_str())).then(|| chosen.clone());
        let mut list: Vec<AnyView> = ids
            .drain(..)
            .map(|id| {
                let name = text::choice(lang, field, id).to_string();
                view! { <option value=id selected=id == chosen>{name}</option> }.into_any()
            })
            .collect();
        if let Some(id) = extra {
            let name = text::choice(lang, field, &id).to_string();
            list.push(view! { <option value=id selected=true>{name}</option> }.into_any());
        }
        list.into_any()
    });
    view! {
        <span class="select">
            <select
                id=id.clone()
                data-testid=id
                disabled=page.is_locked(field)
                aria-describedby=format!("note-{}", field_id(field))
                prop:value=words(move || { offered.track(); page.lang.track(); value.get() })
                on:change=move |event| page.choose(field, &event_target_value(&event))
            >
                {options}
            </select>
            <span class="arrow" aria-hidden="true"></span>
        </span>
    }
    .into_any()
}

fn toggle(page: Page, field: Field) -> AnyView {
    let id = control_id(field);
    let on = Memo::new(move |_| page.project.with(|p| fields::get(p, field) == "on"));
    view! {
        <span class="toggle">
            <input
                type="checkbox"
                role="switch"
                id=id.clone()
                data-testid=id
                disabled=page.is_locked(field)
                aria-describedby=format!("note-{}", field_id(field))
                prop:checked=when(move || on.get())
                on:change=move |event| page.choose(field, if event_target_checked(&event) { "on" } else { "off" })
            />
            <span aria-hidden="true">{words(move || {
                let word = if on.get() { text::labels::ON } else { text::labels::OFF };
                word.text(page.lang.get()).to_string()
            })}</span>
        </span>
    }
    .into_any()
}
