//! Language and colours: as the browser says at first, as the person says from then on.

use super::page::{Page, Theme, usual_currency};
use crate::text::{Lang, labels};
use leptos::prelude::*;
use web_sys::Storage;

const LANG_KEY: &str = "enough-gpu.lang";
const THEME_KEY: &str = "enough-gpu.theme";

/// Sets language and colours as they were chosen before, else as the browser says.
pub(super) fn settle(page: Page) {
    let lang = stored(LANG_KEY).and_then(|tag| Lang::from_tag(&tag)).unwrap_or_else(browser_language);
    page.lang.set(lang);
    page.project.update(|p| p.budget.currency = usual_currency(lang));
    let theme = stored(THEME_KEY).map_or_else(system_theme, |id| if id == "dark" { Theme::Dark } else { Theme::Light });
    page.theme.set(theme);
}

/// Keeps the document in step with language and colours.
pub(super) fn follow(page: Page) {
    Effect::new(move |_| {
        let lang = page.lang.get();
        if let Some(root) = document().document_element() {
            let _ = root.set_attribute("lang", lang.tag());
        }
        document().set_title(labels::PAGE_TITLE.text(lang));
    });
    Effect::new(move |_| {
        if let Some(root) = document().document_element() {
            let _ = root.set_attribute("data-theme", theme_id(page.theme.get()));
        }
    });
}

/// Changes the language, for good.
pub(super) fn set_language(page: Page, lang: Lang) {
    let before = page.lang.get_untracked();
    page.lang.set(lang);
    store(LANG_KEY, lang.id());
    // A currency that nobody chose goes with the language.
    if page.project.with_untracked(|p| p.budget.limit.is_none() && p.budget.currency == usual_currency(before)) {
        page.project.update(|p| p.budget.currency = usual_currency(lang));
    }
}

/// Changes the colours, for good.
pub(super) fn toggle_theme(page: Page) {
    page.theme.update(|t| *t = if *t == Theme::Dark { Theme::Light } else { Theme::Dark });
    store(THEME_KEY, theme_id(page.theme.get_untracked()));
}

const fn theme_id(theme: Theme) -> &'static str {
    match theme {
        Theme::Light => "light",
        Theme::Dark => "dark",
    }
}

/// The browser's storage, where it is allowed: not in private windows, nor in sandboxed frames.
fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

pub(super) fn stored(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

pub(super) fn store(key: &str, value: &str) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(key, value);
    }
}

/// The first of the browser's languages that the page speaks; English for readers of neither.
pub(super) fn browser_language() -> Lang {
    let languages = window().navigator().languages();
    languages.iter().filter_map(|l| l.as_string()).find_map(|tag| Lang::from_tag(&tag)).unwrap_or(Lang::En)
}

pub(super) fn system_theme() -> Theme {
    let dark = window().match_media("(prefers-color-scheme: dark)").ok().flatten().is_some_and(|m| m.matches());
    if dark { Theme::Dark } else { Theme::Light }
}
