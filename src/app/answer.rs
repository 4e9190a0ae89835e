//! The answer: headline, bar, reason, next step, and the message that `PyTorch` would print.

use super::bar::MemoryBar;
use super::fixes::Fixes;
use super::live::{click, focus, part, when, words};
use super::measured::Measured;
use super::moves::Moves;
use super::page::{Page, page};
use super::sign::{sign, tone_id};
use super::timeline::Timeline;
use crate::advise::{Advice, FitPlan, FixKind};
use crate::catalog::Vendor;
use crate::project::{Field, Precision, Project};
use crate::text::{self, Action, labels};
use gloo::timers::callback::Timeout;
use leptos::prelude::*;

/// Milliseconds without a keystroke before a screen reader is told the new answer.
const QUIET: u32 = 700;

/// The verdict card and what belongs to it.
#[component]
pub(super) fn Answer() -> AnyView {
    let page = page();
    let tone = Memo::new(move |_| page.answer.with(|a| a.tone));
    view! {
        <section class="answer" id="answer" tabindex="-1" aria-label=page.t(labels::ANSWER)>
            <div class="verdict" data-testid="answer" data-tone=words(move || tone_id(tone.get()).to_string())>
                <p class="verdict-head">
                    {part(move || sign(tone.get()))}
                    <strong data-testid="answer-head">{words(move || page.answer.with(|a| a.head.clone()))}</strong>
                </p>
                <p class="verdict-detail" data-testid="answer-detail">
                    {words(move || page.answer.with(|a| a.detail.clone()))}
                </p>
            </div>
            <div class="reasons">
                <MemoryBar />
                <p class="why" hidden=when(move || page.answer.with(|a| a.why.is_none()))>
                    <b>{page.t(labels::WHY)}</b>
                    <span data-testid="answer-why">
                        {words(move || page.answer.with(|a| a.why.clone().unwrap_or_default()))}
                    </span>
                </p>
                <NextStep />
                <OutOfMemory />
                <Fixes />
                <Timeline />
                <Moves />
                <Measured />
            </div>
            {live(page)}
        </section>
    }
    .into_any()
}

#[component]
fn NextStep() -> AnyView {
    let page = page();
    let next = Memo::new(move |_| page.answer.with(|a| a.next.clone()));
    let act = move || match next.get_untracked().action {
        Action::None => {}
        Action::Fp16 => {
            let after = page.project.with_untracked(|p| Project { precision: Precision::AmpFp16, ..p.clone() });
            page.apply_fix(vec![FixKind::Fp16], after);
        }
        Action::Card(id) => page.choose_card(&id, 1),
        Action::UseFully { micro_batch, accumulation } => {
            let after = page.project.with_untracked(|p| Project { micro_batch, accumulation, ..p.clone() });
            page.apply_fix(vec![FixKind::LargerMicroBatch { micro_batch, accumulation }], after);
        }
        Action::SmallerStep { micro_batch, accumulation } => {
            let after = page.project.with_untracked(|p| Project { micro_batch, accumulation, ..p.clone() });
            page.apply_fix(vec![FixKind::SmallerMicroBatch { micro_batch, accumulation }], after);
        }
        action @ (Action::MakeItFit | Action::Sooner) => {
            let plan = page.advice.with_untracked(|a| a.as_ref().ok().and_then(|a| plan_of(a, &action).cloned()));
            if let Some(plan) = plan {
                page.apply_fix(plan.fixes, plan.project);
                // The button goes: the way back is what a second key should find.
                focus("[data-testid=undo]");
            }
        }
    };
    let word = words(move || {
        let message = match next.with(|n| n.action.clone()) {
            Action::MakeItFit => labels::APPLY_ALL,
            Action::Card(_) => labels::CHOOSE,
            Action::UseFully { .. } => labels::USE_FULLY,
            _ => labels::APPLY,
        };
        message.text(page.lang.get()).to_string()
    });
    view! {
        <div class="next">
            <p>
                <b>{page.t(labels::NEXT)}</b>
                <span data-testid="answer-next">{words(move || next.with(|n| n.sentence.clone()))}</span>
            </p>
            <button
                type="button"
                class="primary"
                data-testid="next-apply"
                hidden=when(move || next.with(|n| !allowed(page, &n.action)))
                on:click=click(act)
            >
                {word}
            </button>
        </div>
    }
    .into_any()
}

/// The changes that a click makes.
fn plan_of<'a>(advice: &'a Advice, action: &Action) -> Option<&'a FitPlan> {
    if *action == Action::Sooner { advice.sooner.as_ref() } else { advice.make_it_fit.as_ref() }
}

/// Whether there is something to do, and it leaves locked fields alone.
fn allowed(page: Page, action: &Action) -> bool {
    let allows = |project: Option<&Project>| project.is_some_and(|project| page.allows(project));
    page.advice.with(|advice| match (action, advice) {
        (Action::Card(_), _) => !page.is_locked(Field::Gpu),
        (Action::Fp16, _) => !page.is_locked(Field::Precision),
        (Action::UseFully { .. } | Action::SmallerStep { .. }, _) => {
            !page.is_locked(Field::MicroBatch) && !page.is_locked(Field::Accumulation)
        }
        (Action::MakeItFit | Action::Sooner, Ok(advice)) => allows(plan_of(advice, action).map(|plan| &plan.project)),
        _ => false,
    })
}

/// The message people know, with the numbers of this project.
#[component]
fn OutOfMemory() -> AnyView {
    let page = page();
    let message = Memo::new(move |_| {
        let oom = page.advice.with(|a| a.as_ref().ok().and_then(|a| a.out_of_memory))?;
        let vendor = page.project.with(|p| page.catalog.gpu(&p.hardware.gpu).map_or(Vendor::Nvidia, |g| g.vendor));
        Some(text::out_of_memory(vendor, &oom))
    });
    let intro = words(move || {
        let verdict = page.advice.with(|a| a.as_ref().ok().map(|a| a.verdict));
        verdict.map(|verdict| text::out_of_memory_intro(page.lang.get(), &verdict)).unwrap_or_default()
    });
    view! {
        <div class="oom" hidden=when(move || message.with(Option::is_none))>
            <p>{intro}</p>
            <pre data-testid="oom" lang="en" tabindex="0"><code>{words(move || message.get().unwrap_or_default())}</code></pre>
        </div>
    }
    .into_any()
}

/// Tells the answer to a screen reader once typing has paused.
fn live(page: Page) -> AnyView {
    let said = RwSignal::new(String::new());
    let waiting = StoredValue::new_local(None::<Timeout>);
    Effect::new(move |_| {
        let spoken = page.answer.with(text::Answer::spoken);
        waiting.set_value(Some(Timeout::new(QUIET, move || {
            said.try_set(spoken);
        })));
    });
    view! { <p class="unseen" role="status" data-testid="live">{said}</p> }.into_any()
}
