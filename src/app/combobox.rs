//! A text input with a searchable list, by the ARIA combobox pattern: arrows, Home, End, Page keys, Enter, Escape.

use super::field::{control_id, field_id};
use super::live::{click, part, when, words};
use super::options::{self, Group, Item};
use super::page::{Page, page};
use crate::project::{Field, fields};
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use leptos::web_sys::{HtmlElement, HtmlInputElement};

/// Rows that Page Up and Page Down move by.
const PAGE: usize = 8;

/// The state of one combobox.
#[derive(Clone, Copy)]
struct Combo {
    page: Page,
    field: Field,
    open: RwSignal<bool>,
    /// What is being typed; `None` while the field shows what is chosen.
    query: RwSignal<Option<String>>,
    active: RwSignal<usize>,
    groups: Memo<Vec<Group>>,
}

impl Combo {
    fn new(page: Page, field: Field) -> Self {
        let open = RwSignal::new(false);
        let query = RwSignal::new(None::<String>);
        let groups = Memo::new(move |_| {
            if !open.get() {
                return Vec::new();
            }
            let unknown = || page.typed.with(|t| t.get(&field).cloned());
            let typed = query.get().or_else(unknown).unwrap_or_default();
            options::groups(page.lang.get(), field, &typed, page.catalog)
        });
        Self { page, field, open, query, active: RwSignal::new(0), groups }
    }

    fn chosen_id(self) -> String {
        self.page.project.with(|p| fields::get(p, self.field))
    }

    /// What the input shows: the text being typed, a text that named nothing, or the name of what is chosen.
    fn shown(self) -> String {
        let unknown = self.page.typed.with(|t| t.get(&self.field).cloned());
        self.query
            .get()
            .or(unknown)
            .unwrap_or_else(|| options::chosen(self.page.lang.get(), self.field, &self.chosen_id(), self.page.catalog))
    }

    fn count(self) -> usize {
        self.groups.with(|g| g.iter().map(|g| g.items.len()).sum())
    }

    fn item(self, at: usize) -> Option<Item> {
        self.groups.with(|g| g.iter().flat_map(|g| &g.items).nth(at).cloned())
    }

    fn show(self) {
        if self.open.get_untracked() {
            return;
        }
        self.open.set(true);
        let chosen = untrack(|| self.chosen_id());
        let at = self.groups.with_untracked(|g| g.iter().flat_map(|g| &g.items).position(|i| i.id == chosen));
        self.active.set(at.unwrap_or(0));
    }

    fn pick(self, id: &str) {
        self.open.set(false);
        self.query.set(None);
        self.page.choose(self.field, id);
    }

    fn search(self, text: String) {
        self.query.set(Some(text));
        self.open.set(true);
        self.active.set(0);
    }

    /// Leaves the field: a text that names nothing stays, with a sentence beside it.
    fn leave(self) {
        self.open.set(false);
        let Some(text) = self.query.get_untracked() else { return };
        self.query.set(None);
        let name = untrack(|| options::chosen(self.page.lang.get(), self.field, &self.chosen_id(), self.page.catalog));
        if text.trim() == name {
            return;
        }
        self.page.choose(self.field, options::meant(self.field, text.trim()));
    }

    fn step(self, forward: bool, by: usize) {
        if !self.open.get_untracked() {
            self.show();
            return;
        }
        let last = untrack(|| self.count()).saturating_sub(1);
        self.active.update(|at| {
            *at = match (forward, by) {
                (true, 1) if *at >= last => 0,
                (false, 1) if *at == 0 => last,
                (true, n) => (*at + n).min(last),
                (false, n) => at.saturating_sub(n),
            };
        });
    }

    /// The row that Enter means: the marked one, but nothing for a text that found nothing or was taken away.
    fn meant(self) -> Option<Item> {
        let item = untrack(|| self.item(self.active.get()))?;
        let typed = self.query.get_untracked();
        let untouched = self.active.get_untracked() == 0;
        let found_nothing = typed.is_some() && item.id == fields::CUSTOM_MODEL;
        let taken_away = typed.is_some_and(|text| text.trim().is_empty());
        (!untouched || !(found_nothing || taken_away)).then_some(item)
    }

    fn key(self, event: &KeyboardEvent) {
        let open = self.open.get_untracked();
        match event.key().as_str() {
            "ArrowDown" => self.step(true, 1),
            "ArrowUp" if event.alt_key() => self.open.set(false),
            "ArrowUp" => self.step(false, 1),
            "PageDown" if open => self.step(true, PAGE),
            "PageUp" if open => self.step(false, PAGE),
            "Home" if open && self.query.with_untracked(Option::is_none) => self.active.set(0),
            "End" if open && self.query.with_untracked(Option::is_none) => self.step(true, usize::MAX / 2),
            // While an input method composes, Enter belongs to it.
            "Enter" if open && !event.is_composing() => match self.meant() {
                Some(item) => self.pick(&item.id),
                None => self.leave(),
            },
            "Escape" if open => self.open.set(false),
            "Escape" => self.query.set(None),
            _ => return,
        }
        event.prevent_default();
    }
}

/// A combobox for a field that names a row of the catalog.
#[component]
pub(super) fn Combobox(field: Field) -> impl IntoView {
    let page = page();
    let combo = Combo::new(page, field);
    let id = control_id(field);
    let list_id = format!("list-{}", field_id(field));
    let note_id = format!("note-{}", field_id(field));
    let option_id = {
        let list_id = list_id.clone();
        move |at: usize| format!("{list_id}-{at}")
    };
    let active_id = {
        let option_id = option_id.clone();
        move || combo.open.get().then(|| option_id(combo.active.get()))
    };
    Effect::new({
        let option_id = option_id.clone();
        move |_| {
            let at = combo.active.get();
            if combo.open.get() {
                reveal(&option_id(at));
            }
        }
    });
    let list = {
        let (list_id, option_id) = (list_id.clone(), option_id.clone());
        part(move || {
            let open = combo.open.get().then(|| {
                let groups = combo.groups.get();
                listbox(&combo, &list_id, &groups, &option_id)
            });
            open.into_any()
        })
    };
    view! {
        <div class="combo" class:open=when(move || combo.open.get())>
            <input
                type="text"
                id=id.clone()
                data-testid=id.clone()
                role="combobox"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                disabled=page.is_locked(field)
                aria-autocomplete="list"
                aria-expanded=words(move || combo.open.get().to_string())
                aria-controls=list_id
                aria-activedescendant=active_id
                aria-describedby=note_id
                aria-invalid=super::field::wrong(page, field)
                placeholder=page.t(crate::text::labels::TYPE_TO_SEARCH)
                prop:value=words(move || combo.shown())
                on:focus=move |event| select_all(&event)
                on:click=click(move || combo.show())
                on:input=move |event| combo.search(event_target_value(&event))
                on:keydown=move |event| combo.key(&event)
                on:blur=move |_| combo.leave()
            />
            <span class="arrow" aria-hidden="true"></span>
            {list}
        </div>
    }
}

fn listbox(combo: &Combo, list_id: &str, groups: &[Group], option_id: &impl Fn(usize) -> String) -> AnyView {
    let lang = combo.page.lang.get_untracked();
    let label = crate::text::field(combo.field).text(lang);
    if groups.is_empty() {
        let nothing = match combo.field {
            Field::Preset => crate::text::labels::NO_PROJECT,
            _ => crate::text::labels::NOTHING_FOUND,
        };
        let nothing = nothing.text(lang);
        return view! {
            <div class="list" id=list_id.to_string() role="listbox" aria-label=label>
                <p class="nothing">{nothing}</p>
            </div>
        }
        .into_any();
    }
    let mut at = 0;
    let mut rows: Vec<AnyView> = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let heading = format!("{list_id}-g{number}");
        let labelled = heading.clone();
        let items: Vec<AnyView> = group
            .items
            .iter()
            .map(|item| {
                let view = option(combo, item, at, option_id(at));
                at += 1;
                view
            })
            .collect();
        rows.push(
            view! {
                <div role="group" aria-labelledby=labelled>
                    <div class="heading" id=heading role="presentation">{group.name.clone()}</div>
                    {items}
                </div>
            }
            .into_any(),
        );
    }
    view! {
        // Keeps the focus in the input while the list is clicked.
        <div
            class="list"
            id=list_id.to_string()
            data-testid=list_id.to_string()
            role="listbox"
            aria-label=label
            on:mousedown=|event| event.prevent_default()
        >
            {rows}
        </div>
    }
    .into_any()
}

fn option(combo: &Combo, item: &Item, at: usize, id: String) -> AnyView {
    let (combo, chosen) = (*combo, item.id.clone());
    let test = format!("option-{}", if item.id.is_empty() { "unset" } else { &item.id });
    let selected = untrack(|| combo.chosen_id()) == item.id;
    view! {
        <div
            class="option"
            class:active=when(move || combo.active.get() == at)
            id=id
            data-testid=test
            role="option"
            aria-selected=selected.to_string()
            on:click=click(move || combo.pick(&chosen))
        >
            <span class="name">{item.name.clone()}</span>
            <span class="detail">{item.detail.clone()}</span>
        </div>
    }
    .into_any()
}

/// Scrolls an option into the visible part of its list.
fn reveal(id: &str) {
    let Some(option) = document().get_element_by_id(id).and_then(|e| e.dyn_into::<HtmlElement>().ok()) else { return };
    let Some(list) = option.closest(".list").ok().flatten() else { return };
    let (top, height) = (option.offset_top(), option.offset_height());
    if top < list.scroll_top() + height {
        list.set_scroll_top((top - height).max(0));
    } else if top + height > list.scroll_top() + list.client_height() {
        list.set_scroll_top(top + height - list.client_height());
    }
}

fn select_all(event: &leptos::ev::FocusEvent) {
    if let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok()) {
        input.select();
    }
}
