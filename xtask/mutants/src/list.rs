//! Which changes there are (from cargo-mutants), and which of them are tried.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A place in a file: both count from one.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Span {
    pub start: Place,
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// One change of one place, as `cargo mutants --list --json` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Mutant {
    pub file: String,
    pub genre: Genre,
    pub name: String,
    pub replacement: String,
    pub span: Span,
}

impl Mutant {
    /// The module of the core that it is in: `step`.
    pub fn module(&self) -> &str {
        let path = self.file.strip_prefix("src/").unwrap_or(&self.file);
        path.split(['/', '.']).next().unwrap_or(path)
    }
}

/// A small generator of numbers (Knuth's MMIX constants).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }
}

/// So many of them, drawn by dice, each module with its share; all where that is more than there are.
pub fn sample(all: Vec<Mutant>, size: usize, seed: u64) -> Vec<Mutant> {
    if size >= all.len() {
        return all;
    }
    let (mut dice, total) = (Dice(seed), all.len());
    let mut modules: BTreeMap<String, Vec<Mutant>> = BTreeMap::new();
    for mutant in all {
        modules.entry(mutant.module().to_owned()).or_default().push(mutant);
    }
    let mut drawn = Vec::new();
    for mut module in modules.into_values() {
        let share = (module.len() * size + total / 2) / total;
        for _ in 0..share.max(1) {
            drawn.push(module.swap_remove(dice.below(module.len())));
        }
    }
    drawn.sort_by(|a, b| (&a.file, a.span.start, &a.replacement).cmp(&(&b.file, b.span.start, &b.replacement)));
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_has_its_share() {
        let mutant = |n: usize| Mutant {
            file: ["src/step/run.rs", "src/units.rs", "src/step/mod.rs"][n % 3].to_owned(),
            genre: Genre::FnValue,
            name: n.to_string(),
            replacement: String::new(),
            span: Span { start: Place { line: n, column: 1 } },
        };
        let all: Vec<Mutant> = (0..300).map(mutant).collect();
        let drawn = sample(all.clone(), 30, 1);
        assert_eq!(drawn.len(), 30);
        assert_eq!(drawn.iter().filter(|m| m.module() == "units").count(), 10);
        let names = |drawn: Vec<Mutant>| drawn.into_iter().map(|m| m.name).collect::<Vec<_>>();
        assert_eq!(names(sample(all.clone(), 30, 1)), names(drawn));
        assert_eq!(sample(all, 1000, 1).len(), 300);
    }
}
