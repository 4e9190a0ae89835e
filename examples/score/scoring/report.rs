//! The tables and the closing lines.

use super::case::{Domain, Figures, Quality, Scored, Verdict, percent};
use enough_gpu::units::Bytes;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a group of cases comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// Cases.
    pub(crate) cases: usize,
    /// Of them estimated.
    pub(crate) estimated: usize,
    /// Absolute errors in percent, ascending.
    errors: Vec<f64>,
    /// Signed errors in percent, ascending.
    signed: Vec<f64>,
    /// Run-outs that were foreseen, and all.
    pub(crate) caught: (usize, usize),
    /// Runs that were accepted, and all.
    pub(crate) accepted: (usize, usize),
}

impl Summary {
    /// Of these cases.
    pub(crate) fn of<'a>(cases: impl IntoIterator<Item = &'a Scored>) -> Self {
        let mut sum = Self::default();
        for scored in cases {
            sum.cases += 1;
            sum.estimated += usize::from(scored.figures.is_ok());
            sum.signed.extend(scored.error());
            match scored.verdict() {
                Some(Verdict::Caught) => sum.caught = (sum.caught.0 + 1, sum.caught.1 + 1),
                Some(Verdict::Missed) => sum.caught.1 += 1,
                Some(Verdict::Accepted) => sum.accepted = (sum.accepted.0 + 1, sum.accepted.1 + 1),
                Some(Verdict::Refused) => sum.accepted.1 += 1,
                None => {}
            }
        }
        sum.errors = sum.signed.iter().map(|e| e.abs()).collect();
        sum.errors.sort_by(f64::total_cmp);
        sum.signed.sort_by(f64::total_cmp);
        sum
    }

    /// Median absolute error in percent.
    pub(crate) fn median(&self) -> Option<f64> {
        quantile(&self.errors, 0.5)
    }

    /// Ninetieth percentile of the absolute error.
    pub(crate) fn p90(&self) -> Option<f64> {
        quantile(&self.errors, 0.9)
    }

    /// Largest absolute error.
    pub(crate) fn worst(&self) -> Option<f64> {
        self.errors.last().copied()
    }

    /// Mean of the two rates of right verdicts, in percent.
    pub(crate) fn balanced(&self) -> Option<f64> {
        let rate = |(a, b): (usize, usize)| (b > 0).then(|| a as f64 / b as f64 * 100.0);
        Some(f64::midpoint(rate(self.caught)?, rate(self.accepted)?))
    }

    /// The closing line.
    fn line(&self, name: &str) -> String {
        format!(
            "{name}: {} cases, {} estimated, median |error| {} %, p90 {} %, worst {} %; run-outs caught {} of {}, runs \
             accepted {} of {}, balanced {} %",
            self.cases,
            self.estimated,
            shown(self.median()),
            shown(self.p90()),
            shown(self.worst()),
            self.caught.0,
            self.caught.1,
            self.accepted.0,
            self.accepted.1,
            shown(self.balanced()),
        )
    }
}

/// A value between the sorted values, interpolated as `NumPy` does.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = share * (sorted.len().checked_sub(1)?) as f64;
    let (low, high) = (sorted.get(at.floor() as usize)?, sorted.get(at.ceil() as usize)?);
    Some(low + (high - low) * at.fract())
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "n/a".to_owned(), |v| format!("{v:.2}"))
}

/// A line per case.
pub(crate) fn each(scored: &[Scored]) -> String {
    let mut out = String::new();
    for s in scored {
        let case = &s.case;
        let gib = |b: Option<Bytes>| b.map_or_else(|| "-".to_owned(), |b| format!("{:.3}", b.gib()));
        let ours = s.figures.as_ref().ok();
        let error = s.error().map_or_else(|| "-".to_owned(), |e| format!("{e:+.2}"));
        let _ = write!(
            out,
            "{:10} {:>9} GiB measured {:>9} GiB estimated {:>8} % {:15} {:?} {} x{} {} -> {}",
            case.id,
            gib(case.peak),
            gib(ours.map(|f| f.by(case.meter))),
            error,
            s.verdict().map_or("", Verdict::name),
            case.quality,
            case.domain.name(),
            case.cards,
            case.model,
            case.subject.as_ref().map_or("?", |subject| subject.taken_for()),
        );
        if let (Some(_), Some(usable), Some(ours)) = (s.verdict(), case.usable, ours) {
            let _ = write!(out, " | needs {:.3} of {:.3} GiB", ours.card.gib(), usable.gib());
        }
        if let (Some(trace), Some(ours)) = (case.trace, ours) {
            let part = |ours: Option<Bytes>, theirs: Option<Bytes>| match (ours, theirs) {
                (Some(o), Some(t)) => percent(o, t).map_or_else(|| "-".to_owned(), |e| format!("{e:+.2}")),
                _ => "-".to_owned(),
            };
            let _ = write!(
                out,
                " | forward end {} %, between steps {} %, reserved {} %",
                part(ours.forward_end, trace.forward_end),
                part(ours.steady, trace.steady),
                part(Some(ours.reserved), trace.reserved),
            );
        }
        if let Err(why) = &s.figures {
            let _ = write!(out, " | cannot estimate: {why}");
        }
        out.push('\n');
    }
    out
}

/// Why cases have no estimate, with how many each.
pub(crate) fn declined(scored: &[Scored]) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for s in scored {
        if let Err(why) = &s.figures {
            *reasons.entry(format!("{} {why}", s.case.domain.name())).or_default() += 1;
        }
    }
    let mut out = String::new();
    if !reasons.is_empty() {
        out.push_str("Cannot estimate:\n");
        for (why, n) in reasons {
            let _ = writeln!(out, "{n:5}  {why}");
        }
        out.push('\n');
    }
    out
}

/// Who reported a run: the repository for rows that name one and a page in it (`owner/name docs/page.md`), else the whole
/// text up to a remark. Rows of one report share their habits, so a report counts once.
pub(crate) fn reporter(source: &str) -> &str {
    let first = source.split([' ', ',', ';']).next().unwrap_or_default();
    if first.contains('/') { first } else { source.split(['(', ':', ';']).next().unwrap_or_default().trim() }
}

/// The medians of single-card cases of a domain by who reported them, in the order of the names.
pub(crate) fn medians_by_source(scored: &[Scored], domain: Domain) -> Vec<(String, Summary)> {
    let mut groups: BTreeMap<&str, Vec<&Scored>> = BTreeMap::new();
    for s in scored {
        if s.case.quality != Quality::C && s.case.domain == domain && s.case.cards == 1 {
            groups.entry(reporter(&s.case.source)).or_default().push(s);
        }
    }
    groups.into_iter().map(|(name, rows)| (name.to_owned(), Summary::of(rows))).collect()
}

/// The median of the medians by source.
pub(crate) fn median_of_sources(groups: &[(String, Summary)]) -> Option<f64> {
    let mut medians: Vec<f64> = groups.iter().filter_map(|(_, sum)| sum.median()).collect();
    medians.sort_by(f64::total_cmp);
    quantile(&medians, 0.5)
}

/// The median by source, single-card rows, and the median of these medians.
pub(crate) fn by_source(scored: &[Scored]) -> String {
    let mut out = String::from("By source, single card: cases, with error, median |error| %, median error %\n");
    for domain in Domain::ALL {
        let groups = medians_by_source(scored, domain);
        for (source, sum) in &groups {
            let Some(median) = sum.median() else { continue };
            let _ = writeln!(
                out,
                "{:9} {:5} {:5} {:8.2} {:+8.2}  {source}",
                domain.name(),
                sum.cases,
                sum.errors.len(),
                median,
                quantile(&sum.signed, 0.5).unwrap_or_default(),
            );
        }
        if let Some(middle) = median_of_sources(&groups) {
            let known = groups.iter().filter(|(_, sum)| sum.median().is_some()).count();
            let _ = writeln!(out, "{:9} median of {known} sources' medians: {middle:.2} %", domain.name());
        }
    }
    out.push('\n');
    out
}

/// The rows of quality C, which count nowhere else.
pub(crate) fn vague(scored: &[Scored]) -> String {
    let rows: Vec<&Scored> = scored.iter().filter(|s| s.case.quality == Quality::C).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut out = String::from("Rows of quality C, not counted below:\n");
    for domain in Domain::ALL {
        let sum = Summary::of(rows.iter().copied().filter(|s| s.case.domain == domain));
        if sum.cases > 0 {
            let _ = writeln!(out, "{}", sum.line(&format!("C {}", domain.name())));
        }
    }
    out.push('\n');
    out
}

/// The closing lines: each domain on one card, each on several, and all.
pub(crate) fn closing(scored: &[Scored]) -> String {
    let counted: Vec<&Scored> = scored.iter().filter(|s| s.case.quality != Quality::C).collect();
    let mut out = String::new();
    for several in [false, true] {
        for domain in Domain::ALL {
            let rows = counted.iter().copied().filter(|s| s.case.domain == domain && (s.case.cards > 1) == several);
            let name = domain.name().to_owned() + if several { " multi-card" } else { "" };
            let _ = writeln!(out, "{}", Summary::of(rows).line(&name));
        }
    }
    let _ = writeln!(out, "{}", Summary::of(counted).line("all"));
    out
}

/// Our figures of every estimated case, as CSV.
pub(crate) fn csv(scored: &[Scored]) -> String {
    let mut out = String::from("case_id,allocated_gib,reserved_gib,card_gib\n");
    for s in scored {
        if let Ok(Figures { allocated, reserved, smi, .. }) = &s.figures {
            let id = if s.case.id.contains([',', '"', '\n']) {
                format!("\"{}\"", s.case.id.replace('"', "\"\""))
            } else {
                s.case.id.clone()
            };
            let _ = writeln!(out, "{id},{:.4},{:.4},{:.4}", allocated.gib(), reserved.gib(), smi.gib());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_as_numpy() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.9), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(quantile(&[0.0, 10.0, 20.0, 30.0, 40.0], 0.9), Some(36.0));
    }
}
