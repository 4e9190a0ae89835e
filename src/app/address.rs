//! The project in the address, in the document and in the browser's storage, so that it comes back: by a link, by the
//! back button, from a saved file, on the next visit.

use super::page::{Frame, Page, Theme, usual_currency};
use super::preferences::{browser_language, store, stored, system_theme};
use crate::project::{
    Field,
    link::{self, Link},
};
use crate::text::Lang;
use leptos::ev;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsValue;

/// The last project, in the browser's storage.
const PROJECT_KEY: &str = "enough-gpu.project";

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

/// Keeps address, document and storage in step with the project, and follows the back button.
pub(super) fn follow(page: Page) {
    let first = written(page);
    let last = StoredValue::new(first.clone());
    let typing = StoredValue::new(None::<Field>);
    Effect::new(move |_| {
        page.project.track();
        page.lang.track();
        page.own.written();
        let (now, before) = (written(page), last.get_value());
        if let Some(root) = document().document_element() {
            let saved = format!("{}&lang={}", project_part(&now), page.lang.get_untracked().id());
            let _ = root.set_attribute(IN_DOCUMENT, &saved);
        }
        let typed = page.typing.get_value();
        if now == before {
            return;
        }
        let embed = page.frame.with_value(|f| f.embed);
        if !embed {
            store(PROJECT_KEY, &now);
        }
        // One step back for each thing done; a text that is being typed is one thing.
        let same =
            embed || project_part(&now) == project_part(&before) || (typed.is_some() && typed == typing.get_value());
        typing.set_value(typed);
        last.set_value(now.clone());
        remember(&format!("#{now}"), same);
    });
    let back = window_event_listener(ev::popstate, move |_| {
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
        last.set_value(written(page));
        typing.set_value(None);
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
