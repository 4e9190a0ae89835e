//! The door: what people have at hand, pasted or dropped, is read and put into the form.

mod shown;
mod source;

use super::live::{click, focus, part, when};
use super::page::{Page, page};
use crate::project::import::{Found, Hints, Reading, read, read_file};
use crate::project::{Field, Project, fields};
use crate::text::labels;
use leptos::html::Dialog;
use leptos::prelude::*;

/// Text of a file up to this length is shown, so that it can be edited.
const SHOWN: usize = 256 << 10;

/// What was brought in, and what was read from it.
#[derive(Clone, Copy)]
pub(super) struct Door {
    page: StoredValue<Page>,
    dialog: NodeRef<Dialog>,
    /// As pasted.
    text: RwSignal<String>,
    /// Name of the file it came in, or empty.
    file: RwSignal<String>,
    reading: RwSignal<Reading>,
    /// The browser was asked for its card and did not tell.
    silent: RwSignal<bool>,
}

impl Door {
    fn new(page: Page) -> Self {
        Self {
            page: StoredValue::new(page),
            dialog: NodeRef::new(),
            text: RwSignal::default(),
            file: RwSignal::default(),
            reading: RwSignal::default(),
            silent: RwSignal::default(),
        }
    }

    fn page(self) -> Page {
        self.page.get_value()
    }

    /// Shows it.
    fn open(self) {
        if let Some(dialog) = self.dialog.get_untracked().filter(|dialog| !dialog.open()) {
            let _ = dialog.show_modal();
            focus("#door-text");
        }
    }

    fn close(self) {
        if let Some(dialog) = self.dialog.get_untracked() {
            dialog.close();
        }
    }

    /// Reads a text.
    fn take(self, text: String) {
        self.silent.set(false);
        self.file.set(String::new());
        self.reading.set(read(&text, Hints::pasted(self.page().catalog)));
        self.text.set(text);
    }

    /// Reads a file, or as much of it as was brought.
    fn take_file(self, name: &str, bytes: &[u8]) {
        self.silent.set(false);
        self.reading.set(read_file(bytes, Hints { name, catalog: self.page().catalog }));
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= SHOWN && !text.contains('\0'));
        self.text.set(text.unwrap_or_default().to_string());
        self.file.set(name.to_string());
        self.open();
    }

    /// Reads what was pasted beside every field; leaves alone what nothing here knows.
    fn pasted(self, text: String) -> bool {
        let known = !read(&text, Hints::pasted(self.page().catalog)).is_empty();
        if known {
            self.take(text);
            self.open();
        }
        known
    }

    /// Asks the browser what card it draws with.
    fn ask_browser(self) {
        let told = source::renderer().unwrap_or_default();
        let silent = !self.pasted(told.clone());
        if silent {
            self.take(told);
            self.silent.set(true);
            self.open();
        }
    }

    /// Puts a changed project into the form, with the way back.
    fn fill(self, after: Project) {
        let before = self.page().project.get_untracked();
        if before != after {
            let found: Vec<Field> = self.reading.with_untracked(|r| r.found.iter().filter_map(Found::field).collect());
            let changed = found.into_iter().map(|field| (field, fields::get(&after, field)));
            let changed = changed.filter(|(field, value)| fields::get(&before, *field) != *value).collect();
            self.page().apply_fix(Vec::new(), after);
            self.page().pasted.set(changed);
        }
        self.close();
    }
}

/// The entry beside the question, and what opens behind it.
#[component]
pub(super) fn Entry() -> AnyView {
    let page = page();
    let door = Door::new(page);
    if !page.frame.with_value(|frame| frame.embed) {
        source::listen(door);
    }
    let has_card = Memo::new(move |_| page.project.with(|p| p.hardware.no_gpu || !p.hardware.gpu.is_empty()));
    let filled = Memo::new(move |_| page.changes.with(|all| all.kinds().last().is_some_and(<[_]>::is_empty)));
    view! {
        <div class="door">
            <button type="button" class="door-entry" data-testid="door" on:click=click(move || door.open())>
                <svg viewBox="0 0 20 20" aria-hidden="true">
                    <path d="M7 3.5H5.5v13h9v-13H13M7 2.500h6v2.500H7zM8 9h4M8 12h4" />
                </svg>
                <span>
                    <b>{page.t(labels::DOOR)}</b>
                    <span class="door-ways">{page.t(labels::DOOR_WAYS)}</span>
                </span>
            </button>
            <button
                type="button"
                class="link"
                data-testid="door-browser"
                hidden=when(move || has_card.get())
                on:click=click(move || door.ask_browser())
            >
                {page.t(labels::DOOR_BROWSER)}
            </button>
            <p class="applied" role="status" hidden=when(move || !filled.get())>
                <span>{page.t(labels::APPLIED)}{page.t(labels::DOOR_FILLED)}</span>
                <button type="button" class="link" data-testid="door-undo" on:click=click(move || page.undo())>
                    {page.t(labels::UNDO)}
                </button>
            </p>
        </div>
        {room(door)}
    }
    .into_any()
}

/// What opens: a place for text, and below it what was read.
fn room(door: Door) -> AnyView {
    let page = door.page();
    let named = move || door.file.get();
    view! {
        <dialog node_ref=door.dialog class="sharing door-room" data-testid="door-room" aria-labelledby="door-title">
            <div class="sharing-head">
                <h2 id="door-title">{page.t(labels::DOOR_TITLE)}</h2>
                <button type="button" data-testid="door-close" on:click=click(move || door.close())>{page.t(labels::CLOSE)}</button>
            </div>
            <label class="unseen" for="door-text">{page.t(labels::DOOR_AREA)}</label>
            <textarea
                id="door-text"
                data-testid="door-text"
                rows="7"
                spellcheck="false"
                autocomplete="off"
                placeholder=page.t(labels::DOOR)
                prop:value=door.text
                on:input=move |event| door.take(event_target_value(&event))
            ></textarea>
            <div class="door-tools">
                <label class="door-file">
                    <input type="file" class="unseen" data-testid="door-file" on:change=move |event| source::chosen(door, &event) />
                    {page.t(labels::DOOR_FILE)}
                </label>
                <button type="button" class="link" data-testid="door-clear" on:click=click(move || door.take(String::new()))>
                    {page.t(labels::DOOR_CLEAR)}
                </button>
                <span class="quiet">{page.t(labels::DOOR_PRIVACY)}</span>
                <code hidden=when(move || door.file.with(String::is_empty))>{named}</code>
            </div>
            <p class="quiet" hidden=when(move || !door.silent.get())>{page.t(labels::DOOR_SILENT)}</p>
            <div class="door-reading" data-testid="door-reading" aria-live="polite">{part(move || shown::reading(door))}</div>
        </dialog>
    }
    .into_any()
}
