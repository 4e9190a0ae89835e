//! A plain list of all cards, for questions that change nothing about the project.

use crate::app::page::Page;
use crate::text;
use leptos::prelude::*;

/// A native list of the cards in their groups; `choose` takes the id.
pub(super) fn cards(
    page: Page,
    id: &'static str,
    chosen: Signal<String>,
    choose: impl Fn(String) + 'static,
) -> AnyView {
    let options = super::part(move || {
        let (lang, chosen) = (page.lang.get(), chosen.get());
        let mut groups: Vec<(&'static str, Vec<AnyView>)> = Vec::new();
        for gpu in page.catalog.gpus.iter() {
            let group = text::accelerator_family(gpu).text(lang);
            let option =
                view! { <option value=gpu.id selected=gpu.id == chosen>{text::card_called(lang, gpu)}</option> }
                    .into_any();
            match groups.iter_mut().find(|(name, _)| *name == group) {
                Some((_, options)) => options.push(option),
                None => groups.push((group, vec![option])),
            }
        }
        groups
            .into_iter()
            .map(|(name, options)| view! { <optgroup label=name>{options}</optgroup> }.into_any())
            .collect::<Vec<_>>()
            .into_any()
    });
    view! {
        <span class="select">
            <select id=id data-testid=id on:change=move |event| choose(event_target_value(&event))>
                {options}
            </select>
            <span class="arrow" aria-hidden="true"></span>
        </span>
    }
    .into_any()
}
