//! Files ready to run, for each library that trains such a model.

use super::fold::fold;
use super::live::{click, part, words};
use super::page::{Page, page};
use super::share::{copy_button, download};
use crate::advise::recipe::{Recipe, libraries, recipes};
use crate::estimate::memory;
use crate::project::{Choice, Field, Framework, Project, Sharding, TextEncoders};
use crate::text::{self, Lang, recipes as say};
use leptos::html::Textarea;
use leptos::prelude::*;

/// The files, with a tab for each library.
#[component]
pub(super) fn Recipes() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let asked = RwSignal::new(None::<Framework>);
    let offered =
        Memo::new(move |_| if open.get() { page.project.with(|p| libraries(p, page.catalog)) } else { Vec::new() });
    // The library that was asked for, the project's own, or the usual one.
    let chosen = Memo::new(move |_| {
        let own = page.project.with(|p| p.framework);
        let wanted = asked.get();
        offered.with(|all| [wanted, Some(own)].into_iter().flatten().find(|f| all.contains(f)).or(all.first().copied()))
    });
    let files = Memo::new(move |_| {
        let framework = chosen.get()?;
        let mut project = page.project.with(|p| Project { framework, ..p.clone() });
        if project.hardware.sharding == Sharding::Auto {
            // What "automatic" came to, as the figures have it.
            let resolved = page.advice.with(|a| a.as_ref().ok().map(|a| a.memory.resolved.sharding));
            project.hardware.sharding = resolved.unwrap_or_default();
        }
        Some(recipes(&project, page.catalog))
    });
    let tabs = part(move || {
        let (lang, chosen) = (page.lang.get(), chosen.get());
        let tab = |framework: &Framework| {
            let framework = *framework;
            view! {
                <button
                    type="button"
                    data-testid=format!("library-{}", framework.id())
                    aria-pressed=(chosen == Some(framework)).to_string()
                    on:click=click(move || asked.set(Some(framework)))
                >
                    {text::choice(lang, Field::Framework, framework.id()).to_string()}
                </button>
            }
            .into_any()
        };
        offered.with(|all| all.iter().map(tab).collect::<Vec<_>>().into_any())
    });
    let note = words(move || {
        let (lang, own) = (page.lang.get(), page.project.with(|p| p.framework));
        match chosen.get() {
            None => say::NONE.text(lang).to_string(),
            Some(library) if library != own => say::other(lang, text::choice(lang, Field::Framework, own.id())),
            Some(_) => String::new(),
        }
    });
    let about = part(move || {
        let (lang, library) = (page.lang.get(), chosen.get());
        let mut lines: Vec<String> =
            library.and_then(say::data).map(|line| line.text(lang).into()).into_iter().collect();
        if files.with(|f| f.iter().flatten().any(|file| file.text.contains("--t5xxl"))) {
            lines.push(say::T5.text(lang).to_string());
        }
        // Its scripts know no cache of texts.
        let there = page.project.with(|p| {
            let framework = library.filter(|l| *l == Framework::Diffusers && p.cached_latents && !p.text_on_card())?;
            Some(Project { framework, cached_latents: false, text_encoders: TextEncoders::Resident, ..p.clone() })
        });
        if let Some(there) = there {
            let gpu = page.catalog.gpu(&there.hardware.gpu);
            if let Ok(memory) = memory(&there, gpu, page.catalog) {
                lines.push(say::encoders(lang, memory.card, gpu.is_none_or(|gpu| memory.card <= gpu.usable)));
            }
        }
        lines.into_iter().map(|line| view! { <p class="quiet">{line}</p> }.into_any()).collect::<Vec<_>>().into_any()
    });
    let shown = part(move || {
        let lang = page.lang.get();
        files.with(|f| f.iter().flatten().map(|r| file(page, lang, r)).collect::<Vec<_>>().into_any())
    });
    let body = view! {
        <div class="recipes">
            <p class="quiet">{page.t(say::NOTE)}</p>
            <div class="tabs" role="group" aria-label=page.t(say::LIBRARY)>{tabs}</div>
            <p class="quiet">{note}</p>
            {about}
            {shown}
        </div>
    };
    fold(page, "recipes", say::RECIPES, open, body.into_any())
}

fn file(page: Page, lang: Lang, recipe: &Recipe) -> AnyView {
    let (name, text) = (recipe.file, recipe.text.clone());
    let area = NodeRef::<Textarea>::new();
    let lines = text.lines().count().clamp(2, 24);
    let id = format!("file-{name}");
    let saved = text.clone();
    view! {
        <div class="recipe">
            <div class="recipe-head">
                <label for=id.clone()><code>{name}</code></label>
                <span class="quiet">{say::purpose(name).text(lang)}</span>
                {copy_button(page, &id, area)}
                <button
                    type="button"
                    data-testid=format!("download-{name}")
                    on:click=click(move || download(name, &saved))
                >
                    {say::DOWNLOAD.text(lang)}
                </button>
            </div>
            <textarea
                node_ref=area
                id=id.clone()
                data-testid=id
                readonly
                rows=lines.to_string()
                spellcheck="false"
                wrap="off"
                prop:value=text
            ></textarea>
        </div>
    }
    .into_any()
}
