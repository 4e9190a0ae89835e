//! The head of the page: its name, the language and the colours.

use super::live::{click, words};
use super::page::{Theme, page};
use super::preferences::{set_language, toggle_theme};
use super::share::{Share, full};
use crate::text::{Lang, labels};
use leptos::prelude::*;

/// Name and switches.
#[component]
pub(super) fn Header() -> AnyView {
    let page = page();
    let language = move |lang: Lang, name: &'static str| {
        view! {
            <button
                type="button"
                lang=lang.tag()
                data-testid=format!("lang-{}", lang.id())
                aria-pressed=words(move || (page.lang.get() == lang).to_string())
                on:click=click(move || set_language(page, lang))
            >
                {name}
            </button>
        }
    };
    let theme_label = words(move || {
        let dark = page.theme.get() == Theme::Dark;
        if dark { labels::TO_LIGHT } else { labels::TO_DARK }.text(page.lang.get()).to_string()
    });
    view! {
        <header class="head">
            <h1>
                <span lang="zh-CN">"显卡够用吗"</span>
                <span class="joint" aria-hidden="true">"·"</span>
                <span lang="en">"Enough GPU"</span>
            </h1>
            <p class="tagline">{page.t(labels::TAGLINE)}</p>
            <div class="switches">
                {if page.frame.with_value(|f| f.embed) { full(page) } else { view! { <Share /> }.into_any() }}
                <div class="languages" role="group" aria-label=page.t(labels::LANGUAGE)>
                    {language(Lang::Zh, "中文")}
                    {language(Lang::En, "English")}
                </div>
                <button
                    type="button"
                    class="theme"
                    data-testid="theme"
                    aria-label=theme_label
                    title=theme_label
                    on:click=click(move || toggle_theme(page))
                >
                    <svg viewBox="0 0 20 20" aria-hidden="true">
                        <circle cx="10" cy="10" r="7.2" class="ring" />
                        <path d="M10 2.8a7.2 7.2 0 0 1 0 14.4z" />
                    </svg>
                </button>
            </div>
        </header>
    }
    .into_any()
}
