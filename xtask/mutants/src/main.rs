//! Mutation tests: `cargo xtask mutants`. cargo-mutants lists the changes; here they are all compiled at once, each behind
//! a switch, so that trying one takes the time of the tests that come by it, not that of a build.

mod judge;
mod list;
mod tree;
mod weave;

use judge::{Fate, Judge};
use list::Mutant;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tree::Tree;

/// Changes that are tried at once.
const AT_ONCE: usize = 3;

fn main() -> ExitCode {
    match run() {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// `mutants ROOT FOLDER LIST SAMPLE SEED MINUTES`: the crate, the folder of its copy, the list of cargo-mutants, how many
/// of them to draw, what the dice begin with, and the time after which no more are tried.
fn run() -> Result<String, String> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [root, folder, list, size, seed, minutes] = given.as_slice() else {
        return Err("this is run by `cargo xtask mutants`.".to_owned());
    };
    let text = std::fs::read_to_string(list).map_err(|error| format!("{list}: {error}."))?;
    let all: Vec<Mutant> = serde_json::from_str(&text).map_err(|error| format!("{list}: {error}."))?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number."));
    let (known, seed) = (all.len(), number(seed)?);
    let (start, patience) = (Instant::now(), Duration::from_secs(60 * number(minutes)?));
    let mutants = list::sample(all, usize::try_from(number(size)?).unwrap_or(usize::MAX), seed);
    let tree = Tree::of(Path::new(root), Path::new(folder))?;
    eprintln!("{} of {known} changes are compiled into one program", mutants.len());
    let built = tree.build(&mutants)?;
    let judge = Judge::new(&built.program, tree.folder(), mutants.len())?;
    eprintln!("{} changes, {} tests: the quick ones first", built.tried.len(), judge.tests());
    // In no order of files: those that the time is enough for are a sample like any other.
    let mut order = built.tried;
    order.sort_by_key(|id| id.wrapping_mul(2_654_435_761) % (1 << 32));
    let mut fates: Vec<(usize, Option<Fate>)> = order.into_iter().map(|id| (id, None)).collect();
    // Each has the whole of its judgement before the next begins: those that the time is enough for are judged to the end.
    let left = std::sync::Mutex::new(fates.iter_mut());
    let work = || {
        while start.elapsed() < patience {
            let next = left.lock().ok().and_then(|mut left| left.next());
            let Some((id, fate)) = next else { break };
            let found = match judge.quickly(*id) {
                Fate::Survived => judge.thoroughly(*id),
                quickly => quickly,
            };
            if let Some(mutant) = mutants.get(*id) {
                eprintln!("{:.0} s {found:?}: {}", start.elapsed().as_secs_f64(), mutant.name);
            }
            *fate = Some(found);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let mut fates: Vec<(usize, Fate)> = fates.into_iter().filter_map(|(id, fate)| Some((id, fate?))).collect();
    fates.sort_by_key(|(id, _)| *id);
    let fates: Vec<(&Mutant, Fate)> =
        fates.into_iter().filter_map(|(id, fate)| Some((mutants.get(id)?, fate))).collect();
    let left_out = |ids: &mut dyn Iterator<Item = &usize>| {
        ids.filter_map(|id| mutants.get(*id)).map(|mutant| mutant.name.as_str()).collect::<Vec<_>>()
    };
    let refused = left_out(&mut built.refused.iter());
    let unplaced = left_out(&mut built.unplaced.iter());
    Ok(report(known, seed, &fates, &refused, &unplaced))
}

/// Killed and all, by module, with what 95 of 100 samples would say.
fn report(known: usize, seed: u64, fates: &[(&Mutant, Fate)], refused: &[&str], unplaced: &[&str]) -> String {
    let killed = |fate: &Fate| matches!(fate, Fate::Killed(_) | Fate::Endless);
    let mut rows: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (mutant, fate) in fates {
        for name in [mutant.module(), "together"] {
            let row = rows.entry(name).or_default();
            row.0 += usize::from(killed(fate));
            row.1 += 1;
        }
    }
    let mut text = format!(
        "{} of {known} changes, drawn with the dice at {seed}; {} more did not compile, {} stand where no switch can.\n\n\
         | module | tried | killed | share | 95 % interval |\n|---|--:|--:|--:|---|\n",
        fates.len(),
        refused.len(),
        unplaced.len()
    );
    let order = ["units", "step", "estimate", "advise", "together"];
    for (name, (killed, all)) in order.iter().filter_map(|name| Some((name, rows.get(name)?))) {
        let (low, high) = interval(*killed, *all);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {all} | {killed} | {:.1} % | {low:.0} to {high:.0} % |",
            100.0 * count(*killed) / count(*all)
        );
    }
    let survivors: Vec<String> = fates
        .iter()
        .filter(|(_, fate)| !killed(fate))
        .map(|(mutant, fate)| {
            format!("- {}{}", mutant.name, if *fate == Fate::Unseen { " (no test comes by)" } else { "" })
        })
        .collect();
    let _ = write!(text, "\nSurvivors:\n\n{}\n", survivors.join("\n"));
    text
}

fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from)
}

/// Wilson's interval for a share, in percent.
fn interval(hits: usize, all: usize) -> (f64, f64) {
    const Z: f64 = 1.96;
    let (n, p) = (count(all), count(hits) / count(all).max(1.0));
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let wide = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (100.0 * (middle - wide), 100.0 * (middle + wide))
}

#[cfg(test)]
mod tests {
    use super::interval;

    #[test]
    fn the_interval_is_wilsons() {
        let (low, high) = interval(90, 100);
        assert!((low - 82.56).abs() < 0.01 && (high - 94.48).abs() < 0.01, "{low} {high}");
    }
}
