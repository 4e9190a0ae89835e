//! The documentation: figures are those of the code, links lead somewhere, a report asks for the columns of a case.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../examples/architecture/picture.rs"]
mod architecture;
#[allow(dead_code)]
#[path = "../examples/timeline/course.rs"]
mod course;
#[allow(dead_code)]
#[path = "../examples/pages/mod.rs"]
mod pages;
#[allow(dead_code)]
#[path = "../examples/score/scoring/mod.rs"]
mod scoring;
#[allow(dead_code)]
#[path = "house/source.rs"]
mod source;
#[allow(dead_code)]
#[path = "../examples/timeline/worked.rs"]
mod worked;

use enough_gpu::catalog::Catalog;
use enough_gpu::text::Lang;

const PAGES: [&str; 11] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/accuracy.md",
    "docs/how-the-number-is-made.md",
    "docs/how-the-number-is-made.zh.md",
    "docs/limits.md",
    "docs/architecture.md",
    "docs/benchmarks.md",
    "docs/mutation.md",
    "docs/robustness.md",
];

#[test]
fn the_figures_are_those_of_the_code() {
    const RENEW: &str = "is out of date: run `cargo run --release --example timeline`";
    let catalog = Catalog::bundled();
    let courses = course::all(&catalog).unwrap();
    for course in &courses {
        assert!(pages::read(&course.file()).unwrap() == course.picture(), "{} {RENEW}", course.file());
    }
    for (lang, file) in [(Lang::En, PAGES[4]), (Lang::Zh, PAGES[5])] {
        let page = pages::read(file).unwrap();
        let renewed = pages::with_part(&page, "worked example", &worked::tables(lang, &catalog).unwrap()).unwrap();
        let renewed = pages::with_part(&renewed, "courses", &course::table(lang, &courses)).unwrap();
        assert!(page == renewed, "{file} {RENEW}");
    }
}

/// Measured once, quoted twice.
#[test]
fn the_readme_quotes_the_benchmarks() {
    let [quoted, measured] = ["README.md", "docs/benchmarks.md"].map(|page| {
        let text = pages::read(page).unwrap();
        let part = text.split_once("<!-- peers -->").and_then(|(_, rest)| rest.split_once("<!-- /peers -->"));
        part.unwrap_or_else(|| panic!("{page} has no part `peers`")).0.to_owned()
    });
    assert!(quoted == measured, "README.md does not quote docs/benchmarks.md: run `cargo xtask bench`");
    let browser = pages::read("docs/benchmarks.md").unwrap();
    assert!(!browser.contains("Not measured yet"), "docs/benchmarks.md: run `cargo xtask bench`");
}

#[test]
fn the_rooms_are_those_of_the_code() {
    let drawn = pages::read(architecture::FILE).unwrap();
    assert!(drawn == architecture::picture(), "{}: run `cargo run --example architecture`", architecture::FILE);
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in PAGES {
        let text = pages::read(page).unwrap();
        let folder = page.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            // Addresses, and pages that only the host of the repository has.
            let outside = target.contains("://") || target.starts_with("../../") || target.starts_with('#');
            if !outside && !pages::path(&format!("{folder}{target}")).exists() {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Files and tests that `CONTRIBUTING.md` sends people to.
#[test]
fn contributors_find_what_is_named() {
    let text = pages::read("CONTRIBUTING.md").unwrap();
    for name in text.split('`').skip(1).step_by(2) {
        if name.starts_with("src/") || name.starts_with("tests/") || name.starts_with("examples/") {
            assert!(pages::path(name).exists(), "{name}");
        }
        if let Some(test) = name.strip_prefix("cargo test --test ") {
            assert!(pages::path(&format!("tests/{test}.rs")).exists(), "{name}");
        }
        if name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            let files =
                ["cases", "catalog", "lookup", "text"].map(|file| pages::read(&format!("tests/{file}.rs")).unwrap());
            assert!(files.iter().any(|file| file.contains(&format!("fn {name}("))), "no test is named {name}");
        }
    }
}

/// The tests that `docs/robustness.md` names are there.
#[test]
fn what_is_thrown_at_it_is_held_by_tests() {
    let mut tests = pages::read("src/advise/tests.rs").unwrap();
    for folder in ["tests", "tests/page/tests"] {
        let mut files: Vec<_> = std::fs::read_dir(pages::path(folder)).unwrap().flatten().map(|f| f.path()).collect();
        files.retain(|file| file.extension().is_some_and(|kind| kind == "rs"));
        tests.extend(files.iter().map(|file| std::fs::read_to_string(file).unwrap()));
    }
    let text = pages::read("docs/robustness.md").unwrap();
    let named = text.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 1);
    let missing: Vec<&str> = named.filter(|name| !tests.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_report_asks_for_the_columns_of_a_case() {
    let template = pages::read(".github/ISSUE_TEMPLATE/wrong-estimate.yml").unwrap();
    let asked: Vec<&str> = template.lines().filter_map(|line| line.trim().strip_prefix("id: ")).collect();
    let cases = pages::read("tests/data/measured.csv").unwrap();
    // The id is ours to give; what the page said belongs to no case.
    let columns: Vec<&str> = cases.lines().next().unwrap().split(',').skip(1).collect();
    assert_eq!(asked.first(), Some(&"estimate"));
    assert_eq!(asked[1..], columns);
}
