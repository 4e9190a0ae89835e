//! The project in the address, in the document and in the browser's storage, so that it comes back: by a link, by the
//! back button, from a saved file, on the next visit.

use super::page::{Frame, Page, Theme, usual_currency};
use super::preferences::{browser_language, store, stored, system_theme};
use crate::project::{
    Field,
    link::{self, Link},
};
use crate::text::Lang;
use gloo::timers::callback::Timeout;
use leptos::ev;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsValue;

/// The last project, in the browser's storage.
const PROJECT_KEY: &str = "enough-gpu.project";

/// Milliseconds without a keystroke before the address follows what is being typed.
const QUIET: u32 = 200;

/// The project on screen, in the document itself: a file saved by the browser opens with it.
const IN_DOCUMENT: &str = "data-project";

/// The link of the moment.
fn link_here() -> Link {
    let location = window().location();
    Link::new(&location.search().unwrap_or_default(), &location.hash().unwrap_or_default())
}

/// What the link says of the page, before anything is drawn.
pub(super) fn settle(page: Page) {
    let link = link_here();
    let saved = saved();
    if let Some(lang) = link.lang().or(saved.lang()).and_then(Lang::from_tag) {
        page.lang.set(lang);
        page.project.update(|p| p.budget.currency = usual_currency(lang));
    }
    let frame = Frame { embed: link.embed(), locked: link.locked() };
    match link.theme() {
        Some("dark") => page.theme.set(Theme::Dark),
        Some(_) => page.theme.set(Theme::Light),
        // In another page's frame the colours are that page's.
        None if frame.embed => page.theme.set(system_theme()),
        None => {}
    }
    let embedded = frame.embed;
    page.frame.set_value(frame);
    page.unread.set(Vec::new());
    let remembered = || {
        let link = stored(PROJECT_KEY).filter(|_| !embedded).map(|text| Link::new("", &text));
        link.filter(|link| names_a_model(page, link))
    };
    let _ = open(page, &link) || open(page, &saved) || remembered().is_some_and(|link| open(page, &link));
}

/// A link that waits to be put into the address: browsers take milliseconds for that, more than a whole answer takes.
#[derive(Clone)]
struct Due {
    link: String,
    /// The field that was typed into, where that is what was done.
    typed: Option<Field>,
}

/// What the address says, and what it is going to.
#[derive(Clone, Copy)]
struct Kept {
    page: Page,
    /// The link that stands in the address.
    last: StoredValue<String>,
    /// The field whose typing made it.
    typing: StoredValue<Option<Field>>,
    due: StoredValue<Option<Due>>,
    waiting: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Kept {
    /// One step back for each thing done; a text that is being typed is one thing.
    fn is_same_step(self, due: &Due) -> bool {
        let typing = due.typed.is_some() && due.typed == self.typing.get_value();
        let same = |last: &String| project_part(&due.link) == project_part(last);
        self.page.frame.with_value(|f| f.embed) || typing || self.last.with_value(same)
    }

    /// Has the link of the moment put into the address: at once where it is a step of its own, and once typing has
    /// paused where it takes the place of the last.
    fn tell(self) {
        let due = Due { link: written(self.page), typed: self.page.typing.get_value() };
        if self.due.with_value(|d| d.as_ref().is_some_and(|d| d.typed.is_none() || d.typed != due.typed)) {
            self.write();
        }
        if self.due.with_value(Option::is_none) && self.last.with_value(|last| *last == due.link) {
            return;
        }
        let delay = if self.is_same_step(&due) { QUIET } else { 0 };
        self.due.set_value(Some(due));
        self.waiting.set_value(Some(Timeout::new(delay, move || self.write())));
    }

    /// Writes what is due.
    fn write(self) {
        let Some(due) = self.due.get_value() else { return };
        self.forget();
        if self.last.with_value(|last| *last == due.link) {
            return;
        }
        let same = self.is_same_step(&due);
        if !self.page.frame.with_value(|f| f.embed) {
            store(PROJECT_KEY, &due.link);
        }
        remember(&format!("#{}", due.link), same);
        self.typing.set_value(due.typed);
        self.last.set_value(due.link);
    }

    fn forget(self) {
        self.due.set_value(None);
        self.waiting.set_value(None);
    }
}

/// Keeps address, document and storage in step with the project, and follows the back button.
pub(super) fn follow(page: Page) {
    let first = written(page);
    let kept = Kept {
        page,
        last: StoredValue::new(first.clone()),
        typing: StoredValue::new(None),
        due: StoredValue::new(None),
        waiting: StoredValue::new_local(None),
    };
    Effect::new(move |_| {
        page.project.track();
        page.lang.track();
        page.own.written();
        if let Some(root) = document().document_element() {
            let saved = format!("{}&lang={}", project_part(&written(page)), page.lang.get_untracked().id());
            let _ = root.set_attribute(IN_DOCUMENT, &saved);
        }
        kept.tell();
    });
    // The page is left while something is due.
    std::mem::forget(window_event_listener_untyped("pagehide", move |_| kept.write()));
    let back = window_event_listener(ev::popstate, move |_| {
        kept.forget();
        let link = link_here();
        if let Some(lang) = link.lang().and_then(Lang::from_tag) {
            page.lang.set(lang);
        }
        let place = window().location().hash().unwrap_or_default();
        if !link.tells() && place.len() > 1 {
            // A place on the page, or an address that says nothing of a project: the one on screen stays.
            remember(&format!("#{}", written(page)), true);
            return;
        }
        page.unread.set(Vec::new());
        // No link is where the visit began.
        let _ = open(page, &link) || open(page, &Link::new("", &first));
        kept.last.set_value(written(page));
        kept.typing.set_value(None);
    });
    std::mem::forget(back);
}

/// The link to the project on screen, as it stands behind `#`.
pub(super) fn written(page: Page) -> String {
    let lang = page.lang.get_untracked();
    let mut text = page.project.with_untracked(|p| link::write(p, usual_currency(lang), page.catalog));
    if let Some(measured) = untrack(|| page.own.written()) {
        text.push_str(if text.is_empty() { "" } else { "&" });
        text.push_str(&measured);
    }
    // A reader's own language is better than the writer's, unless the writer chose one.
    if lang != browser_language() {
        text.push_str(if text.is_empty() { "lang=" } else { "&lang=" });
        text.push_str(lang.id());
    }
    text
}

fn project_part(link: &str) -> &str {
    link.split("&lang=").next().unwrap_or(link)
}

/// The address of this page without link; `None` where it is a file of this person's own.
pub(super) fn hosted() -> Option<String> {
    let location = window().location();
    let protocol = location.protocol().unwrap_or_default();
    let place = [location.origin(), location.pathname()].map(Result::unwrap_or_default).concat();
    protocol.starts_with("http").then_some(place)
}

/// Opens the project of a link; false where it tells of none.
fn open(page: Page, link: &Link) -> bool {
    let usual = usual_currency(page.lang.get_untracked());
    let Some((project, unread)) = link.project(usual, page.catalog) else { return false };
    page.unread.update(|all| all.extend(unread));
    if link.tells() {
        page.own.open(link);
        page.open(project);
    }
    link.tells()
}

/// What was stored by another version, or by another program, may make no project.
fn names_a_model(page: Page, link: &Link) -> bool {
    let project = link.project(usual_currency(page.lang.get_untracked()), page.catalog);
    project.is_some_and(|(p, _)| !p.model.is_empty() || p.custom.is_some() || p.network.is_some())
}

fn saved() -> Link {
    let root = document().document_element();
    Link::new("", &root.and_then(|root| root.get_attribute(IN_DOCUMENT)).unwrap_or_default())
}

/// Puts the link into the address, as a step of its own or in place of the last.
fn remember(link: &str, same: bool) {
    let Ok(history) = window().history() else { return };
    // Refused in some frames and after very many steps; the page works on without.
    let _ = if same {
        history.replace_state_with_url(&JsValue::NULL, "", Some(link))
    } else {
        history.push_state_with_url(&JsValue::NULL, "", Some(link))
    };
}
