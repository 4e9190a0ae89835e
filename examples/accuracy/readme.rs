//! The short table of the README.

use crate::scoring::case::{Domain, Scored};
use crate::scoring::report::Summary;
use crate::{Answers, name};

/// A figure in percent, or a dash.
pub(crate) fn percent(value: Option<f64>) -> String {
    value.map_or_else(
        || "–".to_owned(),
        |v| match v {
            v if v < 0.995 => format!("{v:.2} %"),
            v if v < 9.95 => format!("{v:.1} %"),
            v => format!("{v:.0} %"),
        },
    )
}

/// Errors by domain, beside what other calculators come to.
///
/// The figures of the others were measured once, in November 2026: see the page's own words.
pub(crate) fn table(answers: &Answers) -> String {
    let mut out = String::from(
        "| domain | traced steps: median error (90 % of them within) | measured runs, one card: median error (90 % within) \
         | right about fitting | other calculators: median error |\n|---|--:|--:|--:|---|\n",
    );
    let line = |name: &str, traced: &[&Scored], measured: &[&Scored], others: &str| {
        let balanced = percent(Summary::of(measured.iter().copied()).balanced());
        format!("| {name} | {} | {} | {balanced} | {others} |\n", errors(traced), errors(measured))
    };
    for domain in Domain::ALL {
        out += &line(name(domain), &answers.traced(domain), &answers.measured(domain, false), others(domain));
    }
    out + &line("language, several cards", &[], &answers.measured(Domain::Llm, true), "best of fifteen: 14 %")
}

/// Median and nine in ten, over how many peaks, and how many rows are estimated.
fn errors(rows: &[&Scored]) -> String {
    let sum = Summary::of(rows.iter().copied());
    let peaks = rows.iter().filter(|s| s.error().is_some()).count();
    if peaks == 0 {
        return "–".to_owned();
    }
    let (median, p90) = (percent(sum.median()), percent(sum.p90()));
    format!("{median} ({p90}), {peaks} peaks; {} of {} rows estimated", sum.estimated, sum.cases)
}

fn others(domain: Domain) -> &'static str {
    match domain {
        Domain::Llm => "best of fifteen: 18 to 23 %; most: 35 to 120 %; right about fitting: 47 to 71 %",
        Domain::Vision => "the one that claims it: 2,394 %",
        Domain::Diffusion => "the one that claims it: 45 %",
        Domain::Audio => "the one that claims it: 419 %",
        Domain::Other => "–",
    }
}
