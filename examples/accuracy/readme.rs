//! The short table of the README.

use crate::scoring::case::Domain;
use crate::scoring::report::Summary;
use crate::{Answers, name};
use std::fmt::Write as _;

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
    for domain in Domain::ALL {
        let traced = Summary::of(answers.traced(domain));
        let measured = Summary::of(answers.measured(domain, false));
        let pair = |s: &Summary| match s.median() {
            Some(_) => format!("{} ({}), {} of {}", percent(s.median()), percent(s.p90()), s.estimated, s.cases),
            None => "–".to_owned(),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            name(domain),
            pair(&traced),
            pair(&measured),
            percent(measured.balanced()),
            others(domain)
        );
    }
    let several = Summary::of(answers.measured(Domain::Llm, true));
    let _ = writeln!(
        out,
        "| language, several cards | – | {} ({}), {} of {} | {} | best of fifteen: 14 % |",
        percent(several.median()),
        percent(several.p90()),
        several.estimated,
        several.cases,
        percent(several.balanced())
    );
    out
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
