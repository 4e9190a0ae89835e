//! What goes deeper, folded: several cards, pre-training on many, a machine of one's own, files ready to run.

mod cluster;
mod plan;
mod ways;

use super::fixes::applied;
use super::fold::fold;
use super::live::{part, when};
use super::page::{Page, page};
use super::{recipes, rig};
use crate::advise::several::{laid_out, wants_several};
use crate::catalog::{Catalog, Gpu, is_boosting};
use crate::project::Project;
use crate::text::several as say;
use gloo::timers::callback::Timeout;
use leptos::prelude::*;

/// Milliseconds without a change before anything that searches is worked out again.
const QUIET: u32 = 250;

/// The card that stands in where none is chosen.
const STAND_IN: &str = "rtx-4090";

/// The folds.
#[component]
pub(super) fn Deeper() -> AnyView {
    let page = page();
    let there = Memo::new(move |_| page.advice.with(Result::is_ok));
    view! {
        <section class="deeper" data-testid="deeper" hidden=when(move || !there.get())>
            <Several />
            <cluster::Cluster />
            <rig::Rig />
            <recipes::Recipes />
        </section>
    }
    .into_any()
}

/// The project on screen once typing has paused, while a fold is open: what takes a search is not done at each keystroke.
pub(super) fn paused(page: Page, open: RwSignal<bool>) -> RwSignal<Option<Project>> {
    let calm = RwSignal::new(None);
    let waiting = StoredValue::new_local(None::<Timeout>);
    Effect::new(move |_| {
        if !open.get() {
            return;
        }
        let project = page.project.get();
        let delay = if calm.with_untracked(Option::is_none) { 0 } else { QUIET };
        waiting.set_value(Some(Timeout::new(delay, move || {
            if calm.try_with_untracked(|c| c.as_ref() != Some(&project)) == Some(true) {
                calm.set(Some(project));
            }
        })));
    });
    calm
}

/// The card that is talked about: the person's own, or one that many rent.
pub(super) fn card<'a>(project: &Project, catalog: &'a Catalog) -> Option<&'a Gpu> {
    catalog.gpu(&project.hardware.gpu).or_else(|| catalog.gpu(STAND_IN))
}

/// Several cards for the project.
#[component]
fn Several() -> AnyView {
    let page = page();
    let open = RwSignal::new(false);
    let wanted =
        Memo::new(move |_| page.advice.with(|a| a.as_ref().is_ok_and(|a| page.project.with(|p| wants_several(p, a)))));
    Effect::new(move |_| {
        if wanted.get() {
            open.set(true);
        }
    });
    let project = paused(page, open);
    let asked = RwSignal::new(None::<u32>);
    let body = part(move || {
        open.get()
            .then(|| {
                view! {
                    <p class="lead">{page.t(say::NOT_POOLED)}</p>
                    {ways::ways(page, project, asked)}
                    {applied(page, "plan-undo")}
                    {plan::plan(page, project, asked)}
                    {plan::joined(page)}
                }
                .into_any()
            })
            .into_any()
    });
    // Trees are grown on one card.
    let trees = Memo::new(move |_| page.project.with(|p| is_boosting(&p.model)));
    let fold = fold(page, "several", say::SEVERAL, open, view! { <div class="several">{body}</div> }.into_any());
    view! { <div hidden=move || trees.get()>{fold}</div> }.into_any()
}
