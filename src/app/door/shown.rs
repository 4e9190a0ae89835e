//! What was read, for the person to look at before it goes into the form.

use super::Door;
use crate::advise::oom;
use crate::app::live::click;
use crate::project::import::error::MemoryError;
use crate::project::import::{Basis, Found, Note, Reading, TextKind};
use crate::project::{Field, fields};
use crate::text::{self, Lang, doors, explained, labels, share};
use leptos::prelude::*;

/// Pieces that were not understood and are listed.
const MOST_UNKNOWN: usize = 40;

/// The reading of the moment.
pub(super) fn reading(door: Door) -> AnyView {
    let lang = door.page().lang.get();
    door.reading.with(|reading| {
        let nothing = reading.is_empty() && reading.unknown.is_empty();
        if nothing && door.text.with(|text| text.trim().is_empty()) && door.file.with(String::is_empty) {
            return view! { <p class="quiet">{labels::DOOR_NOTHING.text(lang)}</p> }.into_any();
        }
        let kind = doors::text_kind(reading.kind).text(lang);
        let what = reading.error.as_ref().map(|error| explained::what_ran_out(error.memory).text(lang));
        view! {
            <h3 data-testid="door-kind">{kind}{what.map(|what| lang.pick("：", ": ").to_string() + what)}</h3>
            {(reading.kind == TextKind::Unknown).then(|| view! { <p class="quiet">{labels::DOOR_NOTHING.text(lang)}</p> })}
            {reading.error.as_ref().map(|error| error_view(door, lang, error))}
            {lines(doors::cards(lang, &reading.cards, door.page().catalog))}
            {notes(door, lang, reading)}
            {settings(door, lang, reading)}
            {unknown(lang, reading)}
        }
        .into_any()
    })
}

fn lines(lines: Vec<String>) -> AnyView {
    lines.into_iter().map(|line| view! { <p>{line}</p> }.into_any()).collect::<Vec<_>>().into_any()
}

/// The explanation of an error.
fn error_view(door: Door, lang: Lang, error: &MemoryError) -> AnyView {
    let explained = door.page().project.with(|project| oom::explain(error, project, door.page().catalog));
    let causes =
        explained::causes(lang, &explained.causes).into_iter().map(|cause| view! { <li>{cause}</li> }.into_any());
    let first = explained.first.iter().map(|first| {
        let (what, code) = explained::first(*first);
        view! { <li>{what.text(lang)}{code.map(|code| view! { " "<code>{code}</code> })}</li> }.into_any()
    });
    let own = explained.is_own.map(|is_own| {
        let message = if is_own { labels::DOOR_OWN } else { labels::DOOR_NOT_OWN };
        view! { <p>{message.text(lang)}{lang.pick("。", ".")}</p> }
    });
    let which = (explained.is_own != Some(true) && !explained.cards.is_empty())
        .then(|| choices(door, lang, labels::DOOR_WHICH.text(lang), &explained.cards));
    view! {
        <div class="door-error" data-testid="door-error">
            {lines(explained::amounts(lang, error, &explained))}
            {own}
            {which}
            <ul class="door-causes" data-testid="door-causes">{causes.collect::<Vec<_>>()}</ul>
            <h4>{labels::DOOR_FIRST.text(lang)}</h4>
            <ol class="door-first" data-testid="door-first">{first.collect::<Vec<_>>()}</ol>
        </div>
    }
    .into_any()
}

/// Cards to choose from, each a click.
fn choices(door: Door, lang: Lang, title: &str, ids: &[impl AsRef<str>]) -> AnyView {
    let catalog = door.page().catalog;
    let button = |id: &str| {
        let gpu = catalog.gpu(id)?;
        let id = gpu.id;
        let choose = move || {
            let mut after = door.page().project.get_untracked();
            if fields::set(&mut after, Field::Gpu, id, catalog).is_ok() {
                door.page().apply_fix(Vec::new(), after);
            }
        };
        let name = text::card_called(lang, gpu);
        Some(view! { <button type="button" data-testid=format!("door-card-{id}") on:click=click(choose)>{name}</button> }.into_any())
    };
    let buttons: Vec<AnyView> = ids.iter().filter_map(|id| button(id.as_ref())).collect();
    view! {
        <p class="quiet">{title.to_string()}</p>
        <p class="door-cards" data-testid="door-cards">{buttons}</p>
    }
    .into_any()
}

fn notes(door: Door, lang: Lang, reading: &Reading) -> AnyView {
    let note = |note: &Note| {
        let sentence = doors::note(lang, note, door.page().catalog);
        match note {
            Note::OneOf(_, ids) => choices(door, lang, &sentence, ids),
            _ => view! { <p>{sentence}</p> }.into_any(),
        }
    };
    let mut notes: Vec<AnyView> = reading.notes.iter().map(note).collect();
    let sized = reading.kind != TextKind::Script || reading.value(Field::Samples).is_some();
    if !sized && !reading.found.is_empty() {
        let (after, _) = door.page().project.with(|project| reading.apply(project, door.page().catalog));
        let sentence = doors::no_samples(lang, after.samples, reading.steps().map(|_| after.epochs));
        notes.push(view! { <p>{sentence}</p> }.into_any());
    }
    view! { <div class="door-notes" data-testid="door-notes">{notes}</div> }.into_any()
}

/// The settings that were read, and the button that fills them in.
fn settings(door: Door, lang: Lang, reading: &Reading) -> AnyView {
    if reading.found.is_empty() {
        return ().into_any();
    }
    let page = door.page();
    let before = page.project.get();
    let (after, refused) = reading.apply(&before, page.catalog);
    let row = |found: &Found| {
        let likely = (found.basis == Basis::Implied)
            .then(|| view! { <span class="tag">{labels::DOOR_LIKELY.text(lang)}</span> });
        let line = (found.from.line > 0)
            .then(|| view! { <span class="quiet">{doors::place(lang, found.from.line)}</span>" " });
        view! {
            <tr data-testid=format!("door-found-{}", found.key)>
                <th scope="row">{doors::found_name(lang, found)}</th>
                <td>{doors::found_value(lang, found, page.catalog)}{likely}</td>
                <td class="door-from">{line}<code>{found.from.text.clone()}</code></td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<AnyView> = reading.found.iter().map(row).collect();
    let count = rows.len().saturating_sub(refused.len());
    let same = after == before;
    let button = if same {
        view! { <p class="quiet">{labels::DOOR_SAME.text(lang)}</p> }.into_any()
    } else {
        let fill = move || door.fill(after.clone());
        view! { <button type="button" class="primary door-fill" data-testid="door-fill" on:click=click(fill)>{doors::fill(lang, count)}</button> }
            .into_any()
    };
    let refused = (!refused.is_empty()).then(|| {
        let sentences: Vec<AnyView> = refused
            .iter()
            .map(|part| view! { <li>{share::unread(lang, part, page.catalog)}</li> }.into_any())
            .collect();
        view! {
            <p class="quiet">{labels::DOOR_REFUSED.text(lang)}</p>
            <ul>{sentences}</ul>
        }
    });
    view! {
        <table class="door-found" data-testid="door-found">
            <thead>
                <tr>
                    <th scope="col">{labels::DOOR_SETTING.text(lang)}</th>
                    <th scope="col">{labels::DOOR_VALUE.text(lang)}</th>
                    <th scope="col">{labels::DOOR_FROM.text(lang)}</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        {refused}
        <p class="door-do">{button}</p>
    }
    .into_any()
}

/// What was seen and not understood.
fn unknown(lang: Lang, reading: &Reading) -> AnyView {
    if reading.unknown.is_empty() {
        return ().into_any();
    }
    let pieces = reading
        .unknown
        .iter()
        .take(MOST_UNKNOWN)
        .map(|piece| view! { <li><code>{piece.text.clone()}</code></li> }.into_any());
    let pieces: Vec<AnyView> = pieces.collect();
    view! {
        <details class="door-unknown" data-testid="door-unknown">
            <summary>{labels::DOOR_UNKNOWN.text(lang)}{format!(" ({})", reading.unknown.len())}</summary>
            <ul>{pieces}</ul>
        </details>
    }
    .into_any()
}
