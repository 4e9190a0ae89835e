//! What the person can take away: the link, the page as a file, a frame for a page of their own.

use super::address::{hosted, written};
use super::live::{click, part, words};
use super::page::{Page, page};
use crate::text::{labels, share};
use gloo::timers::callback::Timeout;
use leptos::html::{Dialog, Textarea};
use leptos::prelude::*;
use leptos::wasm_bindgen::{JsCast, JsValue};
use leptos::web_sys::HtmlElement;
use leptos::web_sys::js_sys::{Array, Function, Reflect};
use leptos::web_sys::{Blob, HtmlAnchorElement, HtmlTextAreaElement, Url};

/// Milliseconds for which "copied" is shown.
const SHOWN: u32 = 2000;

/// Share, save, embed.
#[component]
pub(super) fn Share() -> AnyView {
    let page = page();
    let dialog = NodeRef::<Dialog>::new();
    let link = RwSignal::new(String::new());
    let show = move || {
        link.set(written(page));
        if let Some(dialog) = dialog.get_untracked() {
            let _ = dialog.show_modal();
        }
    };
    let close = move || {
        if let Some(dialog) = dialog.get_untracked() {
            dialog.close();
        }
    };
    view! {
        <div class="share">
            <button type="button" data-testid="share" title=page.t(labels::SHARE_NOTE) on:click=click(show)>
                {page.t(labels::SHARE_PAGE)}
            </button>
            <button type="button" data-testid="save" title=page.t(labels::SAVE_NOTE) on:click=click(move || save(page))>
                {page.t(labels::SAVE)}
            </button>
        </div>
        <dialog node_ref=dialog class="sharing" data-testid="sharing" aria-labelledby="share-title">
            <div class="sharing-head">
                <h2 id="share-title">{page.t(labels::SHARE_NOTE)}</h2>
                <button type="button" data-testid="share-close" on:click=click(close)>{page.t(labels::CLOSE)}</button>
            </div>
            {snippet(page, labels::LINK, "link", move || format!("{}#{}", here(), link.get()))}
            <p class="quiet" hidden=hosted().is_some()>{page.t(labels::LINK_HERE)}</p>
            <h2>{page.t(labels::EMBED_NOTE)}</h2>
            {snippet(page, labels::EMBED_FITTING, "embed-fitting", move || format!("{}\n{}", frame(page, &link.get()), share::RESIZER))}
            {snippet(page, labels::EMBED_PLAIN, "embed-plain", move || frame(page, &link.get()))}
            <p class="quiet" hidden=hosted().is_some()>{page.t(labels::EMBED_WHERE)}</p>
            <p class="quiet">{page.t(labels::EMBED_LOCK)}" "<code>{share::LOCK}</code></p>
            <dl>{part(move || hosts(page))}</dl>
        </dialog>
    }
    .into_any()
}

fn hosts(page: Page) -> AnyView {
    let lang = page.lang.get();
    let host = |(name, how): &(&'static str, crate::text::Message)| {
        view! {
            <dt>{*name}</dt>
            <dd>{how.text(lang)}</dd>
        }
        .into_any()
    };
    share::HOSTS.iter().map(host).collect::<Vec<_>>().into_any()
}

/// The address of the page, wherever it was opened from.
fn here() -> String {
    let address = window().location().href().unwrap_or_default();
    address.split(['?', '#']).next().unwrap_or_default().to_string()
}

/// The address of the page, or a place to be replaced where it was opened from a file.
fn place() -> String {
    hosted().unwrap_or_else(|| share::SOMEWHERE.to_string())
}

fn frame(page: Page, link: &str) -> String {
    let lang = page.lang.get();
    let name = page.project.with(|p| share::project_name(lang, p, page.catalog));
    share::frame(lang, &format!("{}?embed#{link}", place()), &name)
}

/// A text to copy.
fn snippet(
    page: Page,
    label: crate::text::Message,
    id: &'static str,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> AnyView {
    let area = NodeRef::<Textarea>::new();
    let area_id = format!("text-{id}");
    view! {
        <div class="snippet">
            <label for=area_id.clone()>{page.t(label)}</label>
            <textarea node_ref=area id=area_id data-testid=id readonly rows="3" spellcheck="false" prop:value=words(text)></textarea>
            {copy_button(page, id, area)}
        </div>
    }
    .into_any()
}

/// The button that copies what stands in this area, and says so for a while.
pub(super) fn copy_button(page: Page, id: &str, area: NodeRef<Textarea>) -> AnyView {
    let copied = RwSignal::new(false);
    let take = move || {
        let Some(area) = area.get_untracked() else { return };
        copy(&area);
        copied.set(true);
        Timeout::new(SHOWN, move || {
            copied.try_set(false);
        })
        .forget();
    };
    let word = words(move || {
        let message = if copied.get() { labels::COPIED } else { labels::COPY };
        message.text(page.lang.get()).to_string()
    });
    view! { <button type="button" data-testid=format!("copy-{id}") on:click=click(take)>{word}</button> }.into_any()
}

/// Copies a text that is shown, and leaves it selected, so that it can be copied by hand where copying is not allowed.
fn copy(area: &HtmlTextAreaElement) {
    area.select();
    // Looked up by name: browsers leave the clipboard out where it is not allowed.
    let clipboard = property(&window(), "navigator").and_then(|navigator| property(&navigator, "clipboard"));
    let Some(clipboard) = clipboard else { return };
    if let Some(write) = property(&clipboard, "writeText").and_then(|write| write.dyn_into::<Function>().ok()) {
        let _ = write.call1(&clipboard, &area.value().into());
    }
}

fn property(of: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(of, &name.into()).ok().filter(|value| !value.is_undefined())
}

/// Saves this document, with the project that is on screen, as one file.
fn save(page: Page) {
    let lang = page.lang.get_untracked();
    let name = page.project.with_untracked(|p| share::file_name(lang, p, page.catalog));
    let Some(root) = document().document_element() else { return };
    download(&name, &format!("<!doctype html>\n{}", root.outer_html()));
}

/// Saves a text as a file of this name.
pub(super) fn download(name: &str, text: &str) {
    let parts = Array::of1(&text.into());
    let address = Blob::new_with_str_sequence(&parts).and_then(|blob| Url::create_object_url_with_blob(&blob));
    let Ok(address) = address else { return };
    if let Some(link) = document().create_element("a").ok().and_then(|a| a.dyn_into::<HtmlAnchorElement>().ok()) {
        link.set_href(&address);
        link.set_download(name);
        link.unchecked_ref::<HtmlElement>().click();
    }
    // The download has begun by then.
    Timeout::new(SHOWN, move || {
        let _ = Url::revoke_object_url(&address);
    })
    .forget();
}

/// Parts of a link that are told one by one: a hostile one has thousands.
const MOST_UNREAD: usize = 8;

/// What a link said that was not understood.
#[component]
pub(super) fn Unread() -> AnyView {
    let page = page();
    let rows = part(move || {
        let lang = page.lang.get();
        page.unread.with(|unread| {
            let row = |part| view! { <li>{share::unread(lang, part, page.catalog)}</li> }.into_any();
            let more = unread.len().saturating_sub(MOST_UNREAD);
            let more = (more > 0).then(|| view! { <li>{share::unread_more(lang, more)}</li> }.into_any());
            unread.iter().take(MOST_UNREAD).map(row).chain(more).collect::<Vec<_>>().into_any()
        })
    });
    view! {
        <section class="unread" role="status" data-testid="unread" hidden=super::live::when(move || page.unread.with(Vec::is_empty))>
            <p>
                <b>{page.t(labels::UNREAD)}</b>
            </p>
            <ul>{rows}</ul>
            <button type="button" class="link" data-testid="unread-close" on:click=click(move || page.unread.set(Vec::new()))>
                {page.t(labels::CLOSE)}
            </button>
        </section>
    }
    .into_any()
}

/// The way from a frame to the whole page.
pub(super) fn full(page: Page) -> AnyView {
    let address = words(move || {
        page.project.track();
        page.lang.track();
        format!("{}#{}", hosted().unwrap_or_default(), written(page))
    });
    view! {
        <a class="full" data-testid="full" target="_blank" rel="noopener" href=address>{page.t(labels::OPEN_FULL)}</a>
    }
    .into_any()
}
