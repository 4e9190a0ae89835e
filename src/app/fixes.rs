//! What can be done: each fix with its effect, one click to apply, one to take back.

use super::live::{click, focus, part, when, words};
use super::page::{Page, page};
use super::sign::sign;
use crate::advise::{self, Changes, Fix, FixKind, Verdict};
use crate::text::{self, Tone, labels};
use leptos::prelude::*;

/// Fixes shown before the rest is asked for.
const FIRST: usize = 5;

/// The list of fixes.
#[component]
pub(super) fn Fixes() -> AnyView {
    let page = page();
    let fixes = Memo::new(move |_| page.advice.with(|a| a.as_ref().map(|a| a.fixes.clone()).unwrap_or_default()));
    let needed = Memo::new(move |_| {
        page.advice
            .with(|a| a.as_ref().is_ok_and(|a| matches!(a.verdict, Verdict::RunsOut { .. } | Verdict::Tight { .. })))
    });
    let all = RwSignal::new(false);
    let title = words(move || {
        let message = if needed.get() { labels::FIXES } else { labels::FIXES_ROOM };
        message.text(page.lang.get()).to_string()
    });
    let rows = part(move || {
        let (needed, shown) = (needed.get(), if all.get() { usize::MAX } else { FIRST });
        fixes.with(|f| {
            f.iter().enumerate().take(shown).map(|(at, fix)| row(page, at, fix, needed)).collect::<Vec<_>>().into_any()
        })
    });
    view! {
        <div class="fixes" data-testid="fixes" hidden=when(move || fixes.with(Vec::is_empty) && page.changes.with(Changes::is_empty))>
            <h2 id="fixes-title" tabindex="-1" hidden=when(move || fixes.with(Vec::is_empty))>{title}</h2>
            <p class="quiet" hidden=when(move || fixes.with(Vec::is_empty))>{page.t(labels::FIXES_NOTE)}</p>
            {applied(page, "undo")}
            <ol>{rows}</ol>
            <button
                type="button"
                class="link"
                hidden=when(move || all.get() || fixes.with(Vec::len) <= FIRST)
                on:click=click(move || all.set(true))
            >
                {words(move || {
                    let left = fixes.with(Vec::len).saturating_sub(FIRST);
                    text::more_fixes(page.lang.get(), left)
                })}
            </button>
        </div>
    }
    .into_any()
}

fn row(page: Page, at: usize, fix: &Fix, needed: bool) -> AnyView {
    let lang = page.lang.get();
    let (kind, project) = (fix.kind, fix.project.clone());
    let option = advise::option(kind, &project).map(|o| view! { <code class="option">{o}</code> });
    let enough = needed.then(|| {
        let (tone, word) = match (fix.fits, fix.tight) {
            (true, _) => (Some(Tone::Good), labels::THEN_FITS),
            (_, true) => (Some(Tone::Tight), labels::THEN_TIGHT),
            _ => (None, labels::NOT_ENOUGH_ALONE),
        };
        view! { <span class="enough" data-fits=fix.fits.to_string()>{tone.map(sign)}{word.text(lang)}</span> }
    });
    let name = text::fix(lang, kind);
    // More cards are no setting: they are only counted with.
    let apply = if matches!(kind, FixKind::MoreCards { .. }) { labels::COUNT_WITH } else { labels::APPLY }.text(lang);
    let label = format!("{apply} {name}");
    let owned = page.project.with_untracked(|p| p.hardware.count);
    let price = page.advice.with_untracked(|a| text::more_cards(lang, fix, owned, a.as_ref().ok()?));
    view! {
        <li data-testid=format!("fix-{at}")>
            <div class="what">
                <b>{name}</b>
                <span class="detail">{text::fix_detail(kind).text(lang)}{lang.pick("", " ")}{price}</span>
                {option}
            </div>
            <div class="effect">
                <b class="gain">{text::gain(fix.saves)}</b>
                <span>{text::pace(lang, fix.slower)}</span>
                <span>{text::risk(fix.risk).text(lang)}</span>
                {enough}
            </div>
            <button
                type="button"
                data-testid=format!("apply-{at}")
                aria-label=label
                on:click=click(move || {
                    page.apply_fix(vec![kind], project.clone());
                    // The list is another one now: the way back is what a second key should find.
                    focus("[data-testid=undo]");
                })
            >
                {apply}
            </button>
        </li>
    }
    .into_any()
}

/// What was applied, with the way back.
pub(super) fn applied(page: Page, undo: &'static str) -> AnyView {
    let names = words(move || {
        let lang = page.lang.get();
        page.changes.with(|changes| {
            let name = |kinds: &[FixKind]| match kinds {
                [] => vec![labels::DOOR_FILLED.text(lang).to_string()],
                kinds => kinds.iter().map(|kind| text::fix(lang, *kind)).collect(),
            };
            let names: Vec<String> = changes.kinds().flat_map(name).collect();
            names.join(lang.pick("、", ", "))
        })
    });
    view! {
        <p class="applied" hidden=when(move || page.changes.with(Changes::is_empty))>
            <span>{page.t(labels::APPLIED)}{names}</span>
            <button
                type="button"
                class="link"
                data-testid=undo
                on:click=click(move || {
                    page.undo();
                    if page.changes.with_untracked(Changes::is_empty) {
                        focus("#fixes-title");
                    }
                })
            >
                {page.t(labels::UNDO)}
            </button>
        </p>
    }
    .into_any()
}
