//! `docs/accuracy.md`.

use crate::readme::percent;
use crate::scoring::case::{Domain, Quality, Scored, Verdict};
use crate::scoring::performance;
use crate::scoring::report::{Summary, median_of_sources, medians_by_source, quantile};
use crate::{Answers, histogram, name, readme};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Sources with fewer rows with a figure are put together.
const FEW: usize = 3;

/// Longest remark of a row that is quoted whole.
const LONGEST_NOTE: usize = 160;

/// The page.
pub(crate) fn page(answers: &Answers) -> String {
    let mut out = String::from(INTRODUCTION);
    out += "\n## At a glance\n\n";
    out += &readme::table(answers);
    out += OTHERS;
    out += "\n## What is bad\n\n";
    out += &bad(answers);
    out += "\n## The band\n\n";
    out += &bands(answers);
    out += "\n## Traced steps\n\n";
    out += &traced(answers);
    out += "\n### Steps drawn at random\n\n";
    out += &crate::drawn::part(&answers.drawn);
    out += "\n## Measured runs\n\n";
    out += &measured(answers);
    out += "\n## Several cards\n\n";
    out += &several(answers);
    out += "\n## Rows that are not estimated\n\n";
    out += &declined(answers);
    out += "\n## Speed\n\n";
    out += &speed(answers);
    out
}

const INTRODUCTION: &str = "# How right the estimate is

<!-- Written by `cargo run --release --example accuracy`; changes by hand are lost. -->

Every figure here comes from scoring the cases in `tests/data/` with the code beside this page:

```sh
cargo run --release --example accuracy                          # writes this page, its pictures, the README's table
cargo run --release --example score -- tests/data/measured.csv  # the same cases as text; --each prints every one
```

There are two kinds of truth, and they are never mixed in one figure.

- **Traced steps** (`tests/data/oracle.csv`): the training step of the real model class run by PyTorch on a pretended
  device, every storage followed from birth to death. No noise, no card. They show whether the mechanism is right.
- **Measured runs** (`tests/data/measured.csv`): peaks that people published, with their source, read from three
  different meters (allocated, reserved, `nvidia-smi`). Each is compared with our figure for the same meter. They scatter
  by 15 to 30 % between cards and versions for the same settings. They show whether overheads and bands are right.
  Rows of quality A (all settings known) and B (one or two assumed) count; C (vague) is listed apart and never counts.

An error is estimate over measurement, less one: −20 % means that we said too little. \"Right about fitting\" is the mean
of two rates: run-outs that we foresaw, and runs that we accepted; guessing gives 50 %.
";

const OTHERS: &str = "
The last column is not made by this command. It comes from one comparison in November 2026: fifteen public calculators on
463 measured runs of language models of the same kind as ours, not row by row the same, and the one calculator that claims
the other domains on runs of those. By method the best of the fifteen come to 7 % on plain LoRA, 21 % on QLoRA, 10 to 12 %
on full training and 14 % on several cards.
";

fn row(out: &mut String, cells: &[String]) {
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

/// Where the figures are poor, said by a rule and not by choice.
fn bad(answers: &Answers) -> String {
    let mut out = String::new();
    for domain in Domain::ALL {
        let (inside, all) = in_band(&answers.measured(domain, false));
        if all >= 5 && inside * 2 < all {
            let _ = writeln!(
                out,
                "- **{}, the band**: {inside} of {all} measured runs lie within the band that is shown for them.",
                name(domain)
            );
        }
    }
    for domain in Domain::ALL {
        let one = Summary::of(answers.measured(domain, false));
        let many = Summary::of(answers.measured(domain, true));
        for (sum, cards) in [(&one, "one card"), (&many, "several cards")] {
            let Some(median) = sum.median().filter(|_| sum.estimated >= 5) else { continue };
            let mut said = Vec::new();
            if median > 12.0 {
                said.push(format!("half of the runs are off by more than {}", percent(Some(median))));
            }
            if let Some(p90) = sum.p90().filter(|p| *p > 35.0) {
                said.push(format!("one in ten is off by more than {}", percent(Some(p90))));
            }
            if let Some(balanced) = sum.balanced().filter(|b| *b < 85.0) {
                said.push(format!("right about fitting in {} only", percent(Some(balanced))));
            }
            let missed = sum.caught.1 - sum.caught.0;
            if missed * 5 > sum.caught.1 {
                said.push(format!("{missed} of {} run-outs were not foreseen", sum.caught.1));
            }
            let declined = sum.cases - sum.estimated;
            if declined * 10 > sum.cases {
                said.push(format!("{declined} of {} rows are not estimated", sum.cases));
            }
            if !said.is_empty() {
                let _ = writeln!(out, "- **{}, {cards}**: {}.", name(domain), said.join("; "));
            }
        }
        let traced = Summary::of(answers.traced(domain));
        if let (Some(median), Some(p90)) = (traced.median(), traced.p90())
            && (median > 2.0 || p90 > 6.0)
        {
            let _ = writeln!(
                out,
                "- **{}, traced**: median {}, 90 % within {}.",
                name(domain),
                percent(Some(median)),
                percent(Some(p90))
            );
        }
    }
    if out.is_empty() {
        out += "Nothing beyond the bounds of this list.\n";
    }
    out += "\nOn this list stands a band that holds less than half of the runs, and what is above 12 % in the median, 35 % at nine in ten, or below 85 % right about fitting \
            (traced: 2 % and 6 %), and what misses more than a fifth of the run-outs or declines more than a tenth of the \
            rows.\n";
    out += "\nOne machine moves a figure: the runs of GPUMemNet are about half of vision's. Its smallest jobs (multi-layer \
            perceptrons of 3 MiB) show 1,443 MiB in nvidia-smi: a driver that loads all kernels with the context. No row says so, \
            and all are scored as on today's drivers, 0.9 GiB low; without them vision is at a median of about 4 %.\n";
    out
}

/// Runs that lie within their own band, and all that have one.
fn in_band(rows: &[&Scored]) -> (usize, usize) {
    let banded = rows.iter().filter_map(|s| Some((s.error()?.abs(), s.figures.as_ref().ok()?.band?)));
    let inside: Vec<bool> = banded.map(|(error, band)| error <= band * 100.0).collect();
    (inside.iter().filter(|inside| **inside).count(), inside.len())
}

fn bands(answers: &Answers) -> String {
    let mut out = String::from(
        "Share of the measured runs on one card whose error lies within a band, and the half-width that 90 % lie within. \
         A run's own band depends on its library \
         (`src/estimate/language.rs`) or on whether its kind of model was traced (`src/estimate/measured/phases.rs`).\n\n| domain | runs | their own band | ±8 % | ±12 % | ±20 % | \
         ±35 % | 90 % within | middle |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for domain in Domain::ALL {
        let mut errors: Vec<f64> = answers.measured(domain, false).into_iter().filter_map(Scored::error).collect();
        if errors.is_empty() {
            continue;
        }
        errors.sort_by(f64::total_cmp);
        let within = |limit: f64| {
            let inside = errors.iter().filter(|e| e.abs() <= limit).count();
            format!("{:.0} %", inside as f64 / errors.len() as f64 * 100.0)
        };
        let sum = Summary::of(answers.measured(domain, false));
        let mut cells = vec![name(domain).to_owned(), errors.len().to_string()];
        let (inside, all) = in_band(&answers.measured(domain, false));
        cells.push(format!("{inside} of {all}"));
        cells.extend([8.0, 12.0, 20.0, 35.0].map(within));
        cells.push(percent(sum.p90()));
        cells.push(format!("{:+.1} %", quantile(&errors, 0.5).unwrap_or_default()));
        row(&mut out, &cells);
    }
    out + "\nA band is what to expect when every setting is right. A published run with one setting assumed, an old \
           library or a noisy meter is often further away: the tables below show by how much.\n"
}

/// Median, nine in ten, worst.
fn spread(sum: &Summary) -> [String; 3] {
    [percent(sum.median()), percent(sum.p90()), percent(sum.worst())]
}

fn traced(answers: &Answers) -> String {
    let mut out =
        String::from("| domain | cases | estimated | median | 90 % within | worst |\n|---|--:|--:|--:|--:|--:|\n");
    for domain in Domain::ALL {
        let sum = Summary::of(answers.traced(domain));
        if sum.cases > 0 {
            let mut cells = vec![name(domain).to_owned(), sum.cases.to_string(), sum.estimated.to_string()];
            cells.extend(spread(&sum));
            row(&mut out, &cells);
        }
    }
    out += "\nBy method and precision:\n\n| domain | method, precision | cases | median | 90 % within | worst \
            |\n|---|---|--:|--:|--:|--:|\n";
    for domain in Domain::ALL {
        for (source, sum) in by_kind(answers.traced(domain)) {
            let mut cells = vec![name(domain).to_owned(), source.trim_start_matches("traced, ").to_owned()];
            cells.push(sum.cases.to_string());
            cells.extend(spread(&sum));
            row(&mut out, &cells);
        }
    }
    for domain in Domain::ALL.into_iter().filter(|d| !answers.traced(*d).is_empty()) {
        let file = histogram::file(false, domain);
        let _ = writeln!(out, "\n![Errors of traced steps, {}]({file})", name(domain));
    }
    let all: Vec<&Scored> = Domain::ALL.into_iter().flat_map(|d| answers.traced(d)).collect();
    out += "\nThe ten worst:\n\n";
    out + &worst(answers, all)
}

fn by_kind(rows: Vec<&Scored>) -> Vec<(String, Summary)> {
    let mut kinds: BTreeMap<&str, Vec<&Scored>> = BTreeMap::new();
    for scored in rows {
        kinds.entry(&scored.case.source).or_default().push(scored);
    }
    kinds.into_iter().map(|(kind, rows)| (kind.to_owned(), Summary::of(rows))).collect()
}

fn measured(answers: &Answers) -> String {
    let mut out = String::from(
        "One card, qualities A and B.\n\n| domain | cases | estimated | median | median of the sources' medians | 90 % \
         within | worst | run-outs foreseen | runs accepted |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for domain in Domain::ALL {
        let sum = Summary::of(answers.measured(domain, false));
        let sources = medians_by_source(&answers.measured, domain);
        let [median, p90, worst] = spread(&sum);
        row(
            &mut out,
            &[
                name(domain).to_owned(),
                sum.cases.to_string(),
                sum.estimated.to_string(),
                median,
                percent(median_of_sources(&sources)),
                p90,
                worst,
                format!("{} of {}", sum.caught.0, sum.caught.1),
                format!("{} of {}", sum.accepted.0, sum.accepted.1),
            ],
        );
    }
    for domain in Domain::ALL {
        let rows = answers.measured(domain, false);
        if rows.iter().any(|s| s.error().is_some()) {
            let _ = writeln!(out, "\n### Measured: {}\n", name(domain));
            let file = histogram::file(true, domain);
            let _ = writeln!(
                out,
                "![Errors of measured runs, {}; shaded: the band shown for most]({file})\n",
                name(domain)
            );
            out += &by_source(answers, domain);
            out += "\nThe ten worst:\n\n";
            out += &worst(answers, rows.clone());
            let verdicts: Vec<String> = rows
                .iter()
                .filter(|s| matches!(s.verdict(), Some(Verdict::Missed)))
                .map(|s| format!("`{}` {}", s.case.id, s.case.model))
                .collect();
            if !verdicts.is_empty() {
                let _ = writeln!(out, "\nRun-outs that were not foreseen: {}.", verdicts.join(", "));
            }
        }
    }
    out += "\n### Vague rows (quality C), not counted above\n\n| domain | cases | estimated | median | 90 % within \
            |\n|---|--:|--:|--:|--:|\n";
    for domain in Domain::ALL {
        let rows = answers.measured.iter().filter(|s| s.case.quality == Quality::C && s.case.domain == domain);
        let sum = Summary::of(rows);
        if sum.cases > 0 {
            let [median, p90, _] = spread(&sum);
            row(&mut out, &[name(domain).to_owned(), sum.cases.to_string(), sum.estimated.to_string(), median, p90]);
        }
    }
    out
}

fn by_source(answers: &Answers, domain: Domain) -> String {
    let mut out = String::from("| source | runs | median | median, signed | worst |\n|---|--:|--:|--:|--:|\n");
    let rows = answers.measured(domain, false);
    let (mut few, mut sources) = (Vec::new(), 0);
    let mut lines = Vec::new();
    for (source, sum) in medians_by_source(&answers.measured, domain) {
        let reporter = |s: &&&Scored| crate::scoring::report::reporter(&s.case.source) == source;
        let mut errors: Vec<f64> = rows.iter().filter(reporter).filter_map(|s| s.error()).collect();
        if errors.len() < FEW {
            sources += usize::from(!errors.is_empty());
            few.extend(errors);
            continue;
        }
        errors.sort_by(f64::total_cmp);
        let signed = format!("{:+.1} %", quantile(&errors, 0.5).unwrap_or_default());
        lines.push((
            sum.median(),
            [cell(&source), errors.len().to_string(), percent(sum.median()), signed, percent(sum.worst())],
        ));
    }
    // The worst source first: that is what a reader looks for.
    lines.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
    for (_, cells) in &lines {
        row(&mut out, cells);
    }
    if !few.is_empty() {
        few.sort_by(f64::total_cmp);
        let signed = format!("{:+.1} %", quantile(&few, 0.5).unwrap_or_default());
        let mut absolute: Vec<f64> = few.iter().map(|e| e.abs()).collect();
        absolute.sort_by(f64::total_cmp);
        let (median, worst) = (percent(quantile(&absolute, 0.5)), percent(absolute.last().copied()));
        row(&mut out, &[format!("{sources} sources of one or two runs"), few.len().to_string(), median, signed, worst]);
    }
    out
}

/// Text that does not break a table.
fn cell(text: &str) -> String {
    text.replace('|', "/").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

/// The ten with the largest error, and why, where it is known.
fn worst(answers: &Answers, mut rows: Vec<&Scored>) -> String {
    rows.retain(|s| s.error().is_some());
    rows.sort_by(|a, b| b.error().map_or(0.0, f64::abs).total_cmp(&a.error().map_or(0.0, f64::abs)));
    let mut out = String::from("| case | model | was | estimated | error | why |\n|---|---|--:|--:|--:|---|\n");
    for scored in rows.into_iter().take(10) {
        let case = &scored.case;
        let (Some(error), Some(was), Ok(ours)) = (scored.error(), case.peak, &scored.figures) else { continue };
        let why = match (answers.reason(scored), answers.notes.get(&case.id)) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(note)) => format!("not known. The row remarks: {}", shortened(note)),
            (None, None) => "not known".to_owned(),
        };
        row(
            &mut out,
            &[
                format!("`{}`", case.id),
                cell(&case.model),
                format!("{:.2} GiB", was.gib()),
                format!("{:.2} GiB", ours.by(case.meter).gib()),
                format!("{error:+.0} %"),
                cell(&why),
            ],
        );
    }
    out
}

fn shortened(note: &str) -> String {
    if note.chars().count() <= LONGEST_NOTE {
        return note.to_owned();
    }
    note.chars().take(LONGEST_NOTE).collect::<String>() + " …"
}

fn several(answers: &Answers) -> String {
    let mut out = String::from(
        "The first form: how weights, gradients and states are divided, what the reducer and NCCL keep. Pipelines and \
         tensor parallelism are not described.\n\n| domain | cases | estimated | median | 90 % within | worst | run-outs \
         foreseen | runs accepted |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for domain in Domain::ALL {
        let sum = Summary::of(answers.measured(domain, true));
        if sum.cases > 0 {
            let mut cells = vec![name(domain).to_owned(), sum.cases.to_string(), sum.estimated.to_string()];
            cells.extend(spread(&sum));
            cells.push(format!("{} of {}", sum.caught.0, sum.caught.1));
            cells.push(format!("{} of {}", sum.accepted.0, sum.accepted.1));
            row(&mut out, &cells);
        }
    }
    let rows = Domain::ALL.into_iter().flat_map(|d| answers.measured(d, true)).collect();
    out += "\nThe ten worst:\n\n";
    out + &worst(answers, rows)
}

fn declined(answers: &Answers) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let rows = answers.traced.iter().chain(&answers.measured).filter(|s| s.case.quality != Quality::C);
    for scored in rows {
        if let Err(why) = &scored.figures {
            *reasons.entry(format!("{} | {}", name(scored.case.domain), cell(&why.to_string()))).or_default() += 1;
        }
    }
    if reasons.is_empty() {
        return "None.\n".to_owned();
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut out = String::from("| rows | domain | why |\n|--:|---|---|\n");
    let total: usize = reasons.iter().map(|r| r.1).sum();
    for (why, count) in reasons.iter().take(20) {
        let _ = writeln!(out, "| {count} | {why} |");
    }
    if reasons.len() > 20 {
        let shown: usize = reasons.iter().take(20).map(|r| r.1).sum();
        let _ = writeln!(out, "| {} | any | {} further reasons |", total - shown, reasons.len() - 20);
    }
    out
}

fn speed(answers: &Answers) -> String {
    let estimated = answers.speeds.iter().filter(|s| s.error().is_some()).count();
    let (median, p90) = performance::errors(&answers.speeds.iter().collect::<Vec<_>>());
    format!(
        "Measured training throughput (`src/catalog/data/performance.csv`): {estimated} of {} rows estimated, median error \
         {}, 90 % within {}. The constants of the time estimate were fitted on these rows, so this is a fit and no test.\n",
        answers.speeds.len(),
        percent(median),
        percent(p90)
    )
}
