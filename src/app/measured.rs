//! What was really measured: runs of others beside the estimate, and the person's own.

use super::live::{click, part, when, words};
use super::page::{Page, page};
use super::preferences::{store, stored};
use super::share::download;
use crate::advise::measured::{Compared, Difference, compare, csv};
use crate::advise::nearest::{NearRun, address, nearest};
use crate::catalog::measured_runs;
use crate::project::link::{self, Link, write_measurement};
use crate::project::{Choice, Measurement, Meter, Project, fields};
use crate::text::{Lang, measured as say};
use crate::units::{Currency, decimal};
use leptos::prelude::*;

/// Runs of others that are shown.
const MOST: usize = 3;

/// Measurements that were kept, in the browser's storage: a link a line.
const KEPT_KEY: &str = "enough-gpu.measured";

/// Currency in which the links of kept measurements are written.
const USUAL: Currency = Currency::Usd;

/// The person's own measurement of the project on screen, and those that were kept.
#[derive(Clone, Copy)]
pub struct Own {
    /// As typed.
    typed: RwSignal<String>,
    meter: RwSignal<Meter>,
    /// It goes into the link.
    shared: RwSignal<bool>,
    kept: RwSignal<Vec<(Project, Measurement)>>,
}

impl Own {
    pub(super) fn new() -> Self {
        Self {
            typed: RwSignal::default(),
            meter: RwSignal::default(),
            shared: RwSignal::new(false),
            kept: RwSignal::default(),
        }
    }

    /// What was typed, where it is an amount.
    fn measurement(self) -> Option<Measurement> {
        let meter = self.meter.get();
        self.typed.with(|typed| Measurement::read(typed, meter))
    }

    /// The part of the link that tells of it.
    pub(super) fn written(self) -> Option<String> {
        let measurement = self.measurement().filter(|_| self.shared.get())?;
        Some(write_measurement(&measurement))
    }

    /// Takes what a link tells.
    pub(super) fn open(self, link: &Link) {
        let Some(measurement) = link.measurement() else { return };
        self.typed.set(decimal::short(measurement.gib()));
        self.meter.set(measurement.meter);
        self.shared.set(true);
    }

    fn keep(self, page: Page) {
        let Some(measurement) = untrack(move || self.measurement()) else { return };
        let project = page.project.get_untracked();
        self.kept.update(|kept| {
            kept.retain(|known| *known != (project.clone(), measurement));
            kept.push((project, measurement));
        });
        self.store(page);
    }

    fn forget(self, at: usize, page: Page) {
        self.kept.update(|kept| {
            if at < kept.len() {
                kept.remove(at);
            }
        });
        self.store(page);
    }

    fn store(self, page: Page) {
        let lines = self.kept.with_untracked(|kept| {
            let line = |(project, measurement): &(Project, Measurement)| {
                format!("{}&{}", link::write(project, USUAL, page.catalog), write_measurement(measurement))
            };
            kept.iter().map(line).collect::<Vec<_>>().join("\n")
        });
        store(KEPT_KEY, &lines);
    }

    fn recall(self, page: Page) {
        let lines = stored(KEPT_KEY).unwrap_or_default();
        let read = |line: &str| {
            let link = Link::new("", line);
            Some((link.project(USUAL, page.catalog)?.0, link.measurement()?))
        };
        self.kept.set(lines.lines().filter_map(read).collect());
    }
}

/// Measured runs, and a place for one's own.
#[component]
pub(super) fn Measured() -> AnyView {
    let page = page();
    page.own.recall(page);
    let runs = Memo::new(move |_| {
        let there = page.advice.with(Result::is_ok);
        if there { page.project.with(|p| nearest(p, page.catalog, MOST)) } else { Vec::new() }
    });
    let rows = part(move || {
        let lang = page.lang.get();
        runs.with(|runs| {
            runs.iter().enumerate().map(|(at, near)| row(page, lang, at, near)).collect::<Vec<_>>().into_any()
        })
    });
    view! {
        <div class="measured" hidden=when(move || page.advice.with(Result::is_err))>
            <div class="runs" data-testid="runs" hidden=when(move || runs.with(Vec::is_empty))>
                <h3>{page.t(say::RUNS)}</h3>
                <ul>{rows}</ul>
                <p class="quiet">{words(move || say::runs_note(page.lang.get(), measured_runs().len()))}</p>
            </div>
            <Mine />
        </div>
    }
    .into_any()
}

fn row(page: Page, lang: Lang, at: usize, near: &NearRun) -> AnyView {
    let source = near.run.source;
    let place = match address(source) {
        Some(address) => {
            view! { <a href=address target="_blank" rel="noopener" title=source>{say::SOURCE.text(lang)}</a> }
                .into_any()
        }
        None => view! { <span title=source>{source}</span> }.into_any(),
    };
    view! {
        <li data-testid=format!("run-{at}")>
            <span>{say::near_run(lang, near, page.catalog)}</span>
            <b>{near.run.peak.to_string()}</b>
            <span class="detail">{say::near_detail(lang, near, page.catalog)}" · "{place}</span>
        </li>
    }
    .into_any()
}

/// The person's own measurement.
#[component]
fn Mine() -> AnyView {
    let page = page();
    let own = page.own;
    let compared = Memo::new(move |_| {
        let measurement = own.measurement()?;
        page.project.with(|p| compare(p, &measurement, page.catalog)).map(|compared| (compared, measurement))
    });
    let wrong = Memo::new(move |_| own.measurement().is_none() && own.typed.with(|t| !t.trim().is_empty()));
    let opened = own.typed.with_untracked(|typed| !typed.is_empty());
    let meters: Vec<AnyView> = Meter::ALL
        .iter()
        .map(|meter| {
            let chosen = when(move || own.meter.get() == *meter);
            view! { <option value=meter.id() selected=chosen>{page.t(say::meter(*meter))}</option> }.into_any()
        })
        .collect();
    let verdict = part(move || {
        compared.with(|c| c.as_ref().map(|(compared, measurement)| shown(page, compared, measurement)).into_any())
    });
    view! {
        <details class="mine" data-testid="mine" open=opened>
            <summary>{page.t(say::OWN)}</summary>
            <div class="mine-row">
                <label for="own-peak">{page.t(say::PEAK)}</label>
                <input
                    type="text"
                    id="own-peak"
                    data-testid="own-peak"
                    autocomplete="off"
                    placeholder=page.t(say::PEAK_HINT)
                    aria-invalid=Signal::derive(move || wrong.get().then_some("true"))
                    prop:value=words(move || own.typed.get())
                    on:input=move |event| own.typed.set(event_target_value(&event))
                />
                <label for="own-meter">{page.t(say::METER)}</label>
                <span class="select">
                    <select
                        id="own-meter"
                        data-testid="own-meter"
                        on:change=move |event| own.meter.set(Meter::from_id(&event_target_value(&event)).unwrap_or_default())
                    >
                        {meters}
                    </select>
                    <span class="arrow" aria-hidden="true"></span>
                </span>
            </div>
            <p class="error" data-testid="own-error" hidden=when(move || !wrong.get())>{page.t(say::UNREADABLE)}</p>
            <div data-testid="own-compared" role="status">{verdict}</div>
            <div class="mine-row" hidden=when(move || compared.with(Option::is_none))>
                <label class="check">
                    <input
                        type="checkbox"
                        data-testid="own-shared"
                        prop:checked=when(move || own.shared.get())
                        on:change=move |event| own.shared.set(event_target_checked(&event))
                    />
                    {page.t(say::SHARED)}
                </label>
                <button type="button" data-testid="own-keep" on:click=click(move || own.keep(page))>{page.t(say::KEEP)}</button>
            </div>
            {kept(page)}
        </details>
    }
    .into_any()
}

/// The measurement beside the estimate, and what can explain the difference.
fn shown(page: Page, compared: &Compared, measurement: &Measurement) -> AnyView {
    let lang = page.lang.get();
    let reasons: Vec<AnyView> = compared
        .reasons
        .iter()
        .map(|reason| {
            let set = match reason {
                Difference::Setting { field, value, .. } => Some((*field, value.clone())),
                _ => None,
            };
            let button = set.map(|(field, value)| {
                let act = click(move || {
                    let mut after = page.project.get_untracked();
                    if fields::set(&mut after, field, &value, page.catalog).is_ok() {
                        page.apply_fix(Vec::new(), after);
                    }
                });
                view! { <button type="button" class="link" on:click=act>{say::TRY.text(lang)}</button> }
            });
            view! { <li>{say::difference(lang, reason)}{button}</li> }.into_any()
        })
        .collect();
    view! {
        <p>{say::compared(lang, compared, measurement)}</p>
        <ul class="likely">{reasons}</ul>
    }
    .into_any()
}

/// Those that were kept, and the way to take them along.
fn kept(page: Page) -> AnyView {
    let own = page.own;
    let rows = part(move || {
        let lang = page.lang.get();
        own.kept.with(|kept| {
            kept.iter()
                .enumerate()
                .map(|(at, (project, measurement))| {
                    view! {
                        <li>
                            <span>{say::kept(lang, project, measurement, page.catalog)}</span>
                            <button type="button" class="link" on:click=click(move || own.forget(at, page))>
                                {say::FORGET.text(lang)}
                            </button>
                        </li>
                    }
                    .into_any()
                })
                .collect::<Vec<_>>()
                .into_any()
        })
    });
    let export = move || {
        let text = own.kept.with_untracked(|kept| csv(kept.iter().map(|(p, m)| (p, *m)), page.catalog));
        download(say::FILE, &text);
    };
    view! {
        <div class="kept" data-testid="own-kept" hidden=when(move || own.kept.with(Vec::is_empty))>
            <h3>{page.t(say::KEPT)}</h3>
            <ul>{rows}</ul>
            <button type="button" data-testid="own-export" on:click=click(export)>{page.t(say::EXPORT)}</button>
        </div>
    }
    .into_any()
}
