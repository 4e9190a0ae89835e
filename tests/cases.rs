//! The scoring of known cases: the readers take every row of both files and survive anything else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../examples/score/scoring/mod.rs"]
mod scoring;

use enough_gpu::catalog::Catalog;
use scoring::case::Scored;
use scoring::case::{Domain, Quality, Subject, Verdict};
use scoring::table::Table;
use scoring::{gpus, models, performance, report};
use std::sync::LazyLock;

const ORACLE: &str = include_str!("data/oracle.csv");
const MEASURED: &str = include_str!("data/measured.csv");
const SPEEDS: &str = include_str!("../src/catalog/data/performance.csv");

/// Both files, scored once for all tests.
static TRACED: LazyLock<Vec<Scored>> = LazyLock::new(|| score(ORACLE, &Catalog::bundled()));
static MEASURED_RUNS: LazyLock<Vec<Scored>> = LazyLock::new(|| score(MEASURED, &Catalog::bundled()));

fn score(text: &str, catalog: &Catalog) -> Vec<Scored> {
    scoring::score(&Table::read(text).0, catalog)
}

#[test]
fn every_row_is_read() {
    let traced = &*TRACED;
    assert_eq!(traced.len(), 270);
    assert_eq!(traced.iter().filter(|s| s.case.domain == Domain::Llm).count(), 144);
    for s in traced.iter().filter(|s| s.case.domain == Domain::Llm) {
        assert!(matches!(s.case.subject, Ok(Subject::Step { .. })), "{}: {:?}", s.case.id, s.case.subject);
        assert!(s.case.peak.is_some());
    }
    let measured = &*MEASURED_RUNS;
    assert_eq!(measured.len(), 1346);
    let counted = measured.iter().filter(|s| s.case.quality != Quality::C);
    assert_eq!(counted.clone().count(), 1215);
    assert_eq!(counted.filter(|s| s.case.domain == Domain::Llm && s.case.cards == 1).count(), 315);
}

/// The columns of both files, each with a value that makes no sense there.
#[test]
fn nonsense_is_survived() {
    let catalog = Catalog::bundled();
    let words =
        ["", "x", "-1", "0", "NaN", "1e300", "99999999999999999999", "yes", "\"a,b\"", "(", "+", "量", "1x", "x1"];
    for file in [ORACLE, MEASURED, SPEEDS] {
        let header = file.lines().next().unwrap();
        let columns = header.split(',').count();
        let mut text = header.to_owned() + "\n";
        for (i, word) in words.iter().enumerate() {
            let row: Vec<&str> = (0..columns).map(|c| words[(i * c) % words.len()]).collect();
            text += &(row.join(",") + "\n");
            text += &(vec![*word; columns].join(",") + "\n");
            text += word;
            text += "\n";
        }
        let scored = score(&text, &catalog);
        assert!(scored.len() > words.len());
        let speeds = performance::score(&Table::read(&text).0, &catalog);
        assert!(performance::closing(&speeds).starts_with("time: "));
        assert!(!report::each(&scored).is_empty());
        assert!(report::closing(&scored).lines().count() == 11);
        // A real row with one column spoilt at a time.
        let row: Vec<&str> = file.lines().nth(1).unwrap().split(',').collect();
        for column in 0..columns.min(row.len()) {
            for word in words {
                let mut spoilt = row.clone();
                spoilt[column] = word;
                let text = format!("{header}\n{}\n", spoilt.join(","));
                assert_eq!(score(&text, &catalog).len(), 1);
                performance::score(&Table::read(&text).0, &catalog);
            }
        }
    }
    assert!(score("", &catalog).is_empty());
    assert!(score("\u{feff}id\n", &catalog).is_empty());
    assert_eq!(score("unknown column\nvalue\n", &catalog).len(), 1);
}

#[test]
fn cards_by_the_names_people_write() {
    let catalog = Catalog::bundled();
    let cases = [
        ("A100-SXM4-40GB", Some(40.0), Some("a100-sxm-40gb")),
        ("A100", Some(80.0), Some("a100-sxm-80gb")),
        ("A100-80GB PCIe", Some(80.0), Some("a100-pcie-80gb")),
        ("H100", Some(80.0), Some("h100-sxm")),
        ("V100-16GB (p3.2xlarge)", Some(16.0), Some("v100-sxm2-16gb")),
        ("V100", Some(32.0), Some("v100-sxm2-32gb")),
        ("RTX 4060 Ti 16GB", Some(16.0), Some("rtx-4060-ti-16gb")),
        ("RTX 3080 Max-Q", Some(16.0), Some("rtx-3080-laptop-16gb")),
        ("RTX 3080", Some(10.0), Some("rtx-3080-10gb")),
        ("RTX 3060 Laptop", Some(6.0), Some("rtx-3060-laptop")),
        ("A5000", Some(24.0), Some("rtx-a5000")),
        ("RTX A6000", None, Some("rtx-a6000")),
        ("RTX 6000 Ada", None, Some("rtx-6000-ada")),
        ("Quadro RTX 6000", None, Some("quadro-rtx-6000")),
        ("TITAN RTX", None, Some("titan-rtx")),
        ("TITAN X", Some(12.0), None),
        ("L4", None, Some("l4")),
        ("L40S", None, Some("l40s")),
        ("A10G", None, Some("a10g")),
        ("48 GB card", Some(48.0), None),
        ("", None, None),
    ];
    for (name, gb, id) in cases {
        assert_eq!(gpus::find(&catalog, name, gb).map(|g| g.id), id, "{name}");
    }
}

#[test]
fn models_by_the_names_people_write() {
    let catalog = Catalog::bundled();
    let cases = [
        ("Qwen2.5-7B-Instruct", Some(7.0), Some("qwen2.5-7b")),
        ("Qwen/Qwen2.5-7B-Instruct", None, Some("qwen2.5-7b")),
        ("bert-large-uncased (sequence classification)", Some(0.335), Some("bert-large-uncased")),
        ("BERT-Base SQuAD", Some(0.11), Some("bert-base-uncased")),
        ("Llama-3.3-70B AWQ", Some(70.6), Some("llama-3.3-70b")),
        ("Qwen2.5-VL-72B-Instruct-GPTQ-Int4", Some(72.0), Some("qwen2.5-vl-72b")),
        ("MPT-13b", Some(13.011), Some("mpt-13b")),
        ("resnet50 (timm)", Some(0.0256), Some("resnet50")),
        ("vit_base_patch16_224 (timm)", Some(0.0866), Some("vit-b-16")),
        ("no such model", None, None),
        ("", None, None),
    ];
    for (name, params, id) in cases {
        assert_eq!(models::by_name(&catalog, name, params).map(|m| m.id), id, "{name}");
    }
    let families = [("Qwen3-VL-Reranker-8B", 8.0, "qwen3-vl-8b"), ("GPT-2 345M", 0.355, "gpt2-medium")];
    for (name, params, id) in families {
        assert_eq!(models::by_family_and_size(&catalog, name, Some(params)).map(|m| m.id), Some(id), "{name}");
    }
}

#[test]
fn speeds_within_the_bounds() {
    let speeds = performance::score(&Table::read(SPEEDS).0, &Catalog::bundled());
    let estimated = speeds.iter().filter(|s| s.estimated.is_ok()).count();
    assert!(speeds.len() == 170 && estimated >= 140, "{estimated} of {}", speeds.len());
    let all: Vec<_> = speeds.iter().collect();
    let (median, p90) = performance::errors(&all);
    assert!(median.unwrap() <= 20.0 && p90.unwrap() <= 45.0, "{}", performance::closing(&speeds));
}

#[test]
fn speeds_of_several_cards_within_the_bound() {
    let speeds = performance::score(&Table::read(SPEEDS).0, &Catalog::bundled());
    let several = performance::several(&speeds);
    let estimated = several.iter().filter(|s| s.estimated.is_ok()).count();
    assert!(several.len() >= 50 && estimated * 10 >= several.len() * 9, "{estimated} of {}", several.len());
    let (median, _) = performance::errors(&several);
    assert!(median.unwrap() <= 20.0, "{}", performance::closing(&speeds));
}

/// MosaicML's table of what it trained on which cards, with which sharding and micro-batch: all of it ran.
#[test]
fn what_mosaicml_trained_fits() {
    let measured = &*MEASURED_RUNS;
    let of_the_table = |s: &&Scored| s.case.source.contains("llm-foundry") && s.case.cards > 1;
    let verdicts: Vec<_> = measured.iter().filter(of_the_table).map(|s| (&s.case.id, s.verdict())).collect();
    let accepted = verdicts.iter().filter(|(_, v)| *v == Some(Verdict::Accepted)).count();
    let others: Vec<_> = verdicts.iter().filter(|(_, v)| *v != Some(Verdict::Accepted)).collect();
    println!("MosaicML: {accepted} of {} fit; others: {others:?}", verdicts.len());
    assert!(verdicts.len() > 100 && accepted * 100 >= verdicts.len() * 95, "{others:?}");
}

/// `nvidia-smi` of one job with nine sets of switches on a V100 and `PyTorch` before 1.11: softmax keeps its input,
/// gradients are kept between steps, the optimizer's states are cut out of cached blocks.
#[test]
fn nine_switches_on_one_card() {
    let measured = &*MEASURED_RUNS;
    let rows: Vec<_> = measured.iter().filter(|s| s.case.source.contains("perf_train_gpu_one")).collect();
    let errors: Vec<f64> = rows.iter().filter(|s| s.case.quality == Quality::A).filter_map(|s| s.error()).collect();
    assert_eq!(errors.len(), 9);
    assert!(errors.iter().all(|e| e.abs() < 3.0), "{errors:?}");
}

/// The flat slack of the estimate is the middle of what the simulated allocator wastes; batches as long as their longest
/// sample waste about twice as much (docs/limits.md).
#[test]
fn the_slack_is_the_middle_of_what_is_wasted() {
    let catalog = Catalog::bundled();
    let runs = MEASURED_RUNS.iter().filter(|s| s.case.domain == Domain::Llm && s.case.cards == 1);
    let middle = |varied: bool, every: usize| {
        let wasted = runs.clone().step_by(every).filter_map(|s| {
            let Ok(Subject::Project { project, gpu }) = &s.case.subject else { return None };
            let model = catalog.model(&project.model)?.language()?;
            enough_gpu::estimate::language::wasted(project, model, gpu.as_deref(), varied)
        });
        let mut wasted: Vec<f64> = wasted.collect();
        wasted.sort_by(f64::total_cmp);
        println!(
            "varied {varied}: {} runs, middle {:.3}, nine in ten below {:.3}",
            wasted.len(),
            wasted[wasted.len() / 2],
            wasted[wasted.len() * 9 / 10]
        );
        wasted[wasted.len() / 2]
    };
    let (fixed, varied) = (middle(false, 3), middle(true, 15));
    assert!((0.02..0.04).contains(&fixed), "{fixed}");
    assert!(varied > 1.3 * fixed, "{varied} of {fixed}");
}

/// What is held to a bound. All measures of the report can be; a line below is all it takes.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// Share of the cases that have an estimate, percent, at least.
    Estimated,
    /// Median absolute error, percent, at most.
    Median,
    /// Ninetieth percentile of the absolute error, percent, at most.
    P90,
    /// Largest absolute error, percent, at most.
    Worst,
    /// Median of the medians by source, percent, at most.
    BySource,
    /// Mean of the two rates of right verdicts, percent, at least.
    Balanced,
}

impl Measure {
    /// The value for a domain's single-card rows; rows of quality C do not count.
    fn of(self, scored: &[Scored], domain: Domain) -> f64 {
        let counted = scored.iter().filter(|s| s.case.domain == domain && s.case.cards == 1);
        let sum = report::Summary::of(counted.filter(|s| s.case.quality != Quality::C));
        let value = match self {
            Self::Estimated => Some(sum.estimated as f64 / sum.cases as f64 * 100.0),
            Self::Median => sum.median(),
            Self::P90 => sum.p90(),
            Self::Worst => sum.worst(),
            Self::BySource => report::median_of_sources(&report::medians_by_source(scored, domain)),
            Self::Balanced => sum.balanced(),
        };
        value.unwrap()
    }

    /// Whether more is better.
    fn is_rate(self) -> bool {
        matches!(self, Self::Estimated | Self::Balanced)
    }
}

/// The bounds that the estimates are held to, single-card rows of quality A and B.
const BOUNDS: &[(&str, Domain, Measure, f64)] = &[
    ("traced", Domain::Llm, Measure::Estimated, 100.0),
    ("traced", Domain::Llm, Measure::Median, 0.01),
    ("traced", Domain::Llm, Measure::P90, 0.05),
    ("traced", Domain::Llm, Measure::Worst, 0.6),
    ("traced", Domain::Vision, Measure::Estimated, 100.0),
    ("traced", Domain::Vision, Measure::Median, 0.01),
    ("traced", Domain::Vision, Measure::P90, 0.05),
    ("traced", Domain::Diffusion, Measure::Estimated, 100.0),
    ("traced", Domain::Diffusion, Measure::Median, 0.05),
    ("traced", Domain::Diffusion, Measure::P90, 0.25),
    ("traced", Domain::Audio, Measure::Estimated, 100.0),
    ("traced", Domain::Audio, Measure::Median, 0.01),
    ("traced", Domain::Audio, Measure::P90, 0.05),
    ("drawn", Domain::Llm, Measure::Estimated, 100.0),
    ("drawn", Domain::Llm, Measure::Median, 0.01),
    ("drawn", Domain::Llm, Measure::P90, 0.05),
    ("drawn", Domain::Llm, Measure::Worst, 0.6),
    ("adapters", Domain::Llm, Measure::Estimated, 100.0),
    ("adapters", Domain::Llm, Measure::Median, 0.01),
    ("adapters", Domain::Llm, Measure::P90, 0.07),
    ("adapters", Domain::Llm, Measure::Worst, 0.6),
    ("drawn", Domain::Vision, Measure::Estimated, 100.0),
    ("drawn", Domain::Vision, Measure::Median, 0.05),
    ("drawn", Domain::Vision, Measure::P90, 4.5),
    ("drawn", Domain::Vision, Measure::Worst, 11.5),
    ("drawn", Domain::Diffusion, Measure::Estimated, 100.0),
    ("drawn", Domain::Diffusion, Measure::Median, 0.05),
    ("drawn", Domain::Diffusion, Measure::P90, 0.2),
    ("drawn", Domain::Diffusion, Measure::Worst, 0.3),
    ("drawn", Domain::Audio, Measure::Estimated, 100.0),
    ("drawn", Domain::Audio, Measure::Median, 0.02),
    ("drawn", Domain::Audio, Measure::P90, 0.15),
    ("drawn", Domain::Audio, Measure::Worst, 0.3),
    ("measured", Domain::Llm, Measure::Estimated, 95.0),
    // Goals: 8, 25, 10 and 88 %.
    ("measured", Domain::Llm, Measure::Median, 3.3),
    ("measured", Domain::Llm, Measure::P90, 16.0),
    ("measured", Domain::Llm, Measure::BySource, 9.5),
    ("measured", Domain::Llm, Measure::Balanced, 84.0),
    // Goals: 90, 12, 35 and 85 %.
    ("measured", Domain::Vision, Measure::Estimated, 90.0),
    ("measured", Domain::Vision, Measure::Median, 8.5),
    ("measured", Domain::Vision, Measure::P90, 29.0),
    ("measured", Domain::Vision, Measure::Balanced, 80.5),
    ("measured", Domain::Diffusion, Measure::Estimated, 95.0),
    ("measured", Domain::Diffusion, Measure::Median, 5.5),
    ("measured", Domain::Diffusion, Measure::P90, 27.0),
    ("measured", Domain::Diffusion, Measure::Balanced, 89.0),
    ("measured", Domain::Audio, Measure::Estimated, 90.0),
    ("measured", Domain::Audio, Measure::Median, 2.5),
    ("measured", Domain::Audio, Measure::P90, 9.0),
    ("measured", Domain::Audio, Measure::Balanced, 71.5),
    ("measured", Domain::Other, Measure::Estimated, 100.0),
    ("measured", Domain::Other, Measure::Median, 12.0),
];

fn within_the_bounds(file: &str, scored: &[Scored]) {
    let mut broken = Vec::new();
    for &(_, domain, measure, bound) in BOUNDS.iter().filter(|(of, ..)| *of == file) {
        let value = measure.of(scored, domain);
        let held = if measure.is_rate() { value >= bound } else { value <= bound };
        if !held {
            broken.push(format!("{file} {} {measure:?}: {value:.2} %, bound {bound} %", domain.name()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn traced_steps_within_the_bounds() {
    within_the_bounds("traced", &TRACED);
}

/// Steps that nobody had looked at when they were traced: every switch of the tracer drawn at random (ids with `x` and
/// `z`), and networks of torchvision and timm beyond the given ones (`y`), of which some are only scaled.
#[test]
fn drawn_steps_within_the_bounds() {
    let scored = score(include_str!("data/drawn.csv"), &Catalog::bundled());
    assert_eq!(scored.len(), 349);
    within_the_bounds("drawn", &scored);
    let off = |s: &&Scored| !s.case.id.starts_with('y') && s.error().is_none_or(|e| e.abs() > 1.0);
    let off: Vec<_> = scored.iter().filter(off).map(|s| (&s.case.id, s.error())).collect();
    assert!(off.is_empty(), "{off:?}");
}

/// Other adapters of PEFT than plain ones, and embedding and head trained beside them.
#[test]
fn traced_adapters_within_the_bounds() {
    let scored = score(include_str!("data/adapters.csv"), &Catalog::bundled());
    assert_eq!(scored.len(), 62);
    within_the_bounds("adapters", &scored);
}

/// LitGPT's adapters of both versions, written from its code, in 16 and 4 bit.
#[test]
fn litgpts_adapters_are_right_within_half_a_per_cent() {
    let adapters = MEASURED_RUNS.iter().filter(|s| ("L0024"..="L0035").contains(&s.case.id.as_str()));
    let errors: Vec<f64> = adapters.filter_map(Scored::error).collect();
    assert_eq!(errors.len(), 12);
    assert!(errors.iter().all(|e| e.abs() < 0.5), "{errors:?}");
}

#[test]
fn measured_runs_within_the_bounds() {
    within_the_bounds("measured", &MEASURED_RUNS);
}

/// LitGPT's recipes are told in full, and measured without rounding: what differs there is a mechanism. Among them are
/// peaks while the head makes its matrix, beside what the step before has left in the loop's variables.
#[test]
fn litgpts_recipes_are_right_within_a_few_per_cent() {
    let recipes = MEASURED_RUNS
        .iter()
        .filter(|s| s.case.source.contains("litgpt config_hub") && s.case.cards == 1 && s.case.quality == Quality::A);
    let mut errors: Vec<f64> = recipes.filter_map(|s| s.error().map(f64::abs)).collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors.len() > 25, "{}", errors.len());
    assert!(errors[errors.len() / 2] < 0.6 && errors[errors.len() - 1] < 5.5, "{errors:?}");
}

/// NVIDIA's scripts of 2020 in their own container: written-out formulas, scripts that hold what they were given, data on
/// the card. What is left is on the low side.
#[test]
fn scripts_of_2020_are_right_within_eight_per_cent() {
    let runs = MEASURED_RUNS.iter().filter(|s| {
        s.case.source.contains("lambdal/deeplearning-benchmark") && s.case.domain == Domain::Llm && s.case.cards == 1
    });
    let mut errors: Vec<f64> = runs.filter_map(|s| s.error().map(f64::abs)).collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors.len() > 50, "{}", errors.len());
    assert!(errors[errors.len() / 2] < 6.5 && errors[errors.len() * 9 / 10] < 11.0, "{errors:?}");
}

/// The page says of a card what the score counts: the same runs fit.
#[test]
fn the_verdict_shown_is_the_verdict_scored() {
    use enough_gpu::advise::{self, Verdict as Shown};
    let catalog = Catalog::bundled();
    let mut compared = 0;
    for s in MEASURED_RUNS.iter() {
        let (Some(verdict), Ok(Subject::Project { project, gpu: Some(gpu) })) = (s.verdict(), &s.case.subject) else {
            continue;
        };
        // Rows on a namesake of the catalog's card with other memory are about no card that the page knows.
        if s.case.usable != Some(gpu.usable) || catalog.gpu(gpu.id).is_none() {
            continue;
        }
        // The page looks for the sharding where the row leaves it open; a card that PyTorch has no code for ends there.
        let mut asked = project.as_ref().clone();
        gpu.id.clone_into(&mut asked.hardware.gpu);
        if asked.hardware.count > 1 || advise::card_bar(&asked, gpu).is_some() {
            continue;
        }
        let Ok(advice) = advise::advise(&asked, &catalog) else { panic!("{}: no advice", s.case.id) };
        // Of other models the score asks the simulated allocator everywhere, the page where it is a near thing.
        if s.case.domain == Domain::Llm {
            assert_eq!(advice.memory.card, s.figures.as_ref().unwrap().card, "{}", s.case.id);
        }
        let counted = matches!(verdict, Verdict::Caught | Verdict::Refused);
        match advice.verdict {
            Shown::Fits { .. } => assert!(!counted, "{}", s.case.id),
            Shown::Tight { missing, .. } => {
                assert_eq!(missing.0 > 0, counted, "{}", s.case.id);
            }
            Shown::RunsOut { missing } => assert!(counted && missing.0 > 0, "{}: {missing:?}", s.case.id),
            ref other => panic!("{}: {other:?}", s.case.id),
        }
        compared += 1;
    }
    assert!(compared > 700, "{compared}");
}

/// Rows of quality A and B by how far off they are: the mean error, in percent, and how many are off by more than a
/// quarter. A median does not see a few that go astray.
fn astray<'a>(rows: impl Iterator<Item = &'a Scored>) -> (f64, usize) {
    let errors: Vec<f64> = rows.filter(|s| s.case.quality != Quality::C).filter_map(Scored::error).collect();
    let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64;
    (mean, errors.iter().filter(|e| e.abs() > 25.0).count())
}

#[test]
fn few_measured_runs_go_astray() {
    let mut broken = Vec::new();
    // Domain, several cards, mean error in percent, rows off by more than a quarter: each at most.
    for (domain, several, mean_bound, far_bound) in [
        (Domain::Llm, false, 8.5, 10),
        (Domain::Llm, true, 20.0, 27),
        // Half of vision and most of "other" ran on one machine (GPUMemNet) whose driver loads all kernels at once, as its
        // smallest jobs show; no row says so, and its 0.9 GiB stay an error.
        (Domain::Vision, false, 12.2, 27),
        (Domain::Vision, true, 11.5, 10),
        (Domain::Diffusion, false, 12.5, 18),
        (Domain::Diffusion, true, 8.0, 1),
        (Domain::Audio, false, 5.5, 1),
        (Domain::Other, false, 24.0, 8),
    ] {
        let rows = MEASURED_RUNS.iter().filter(|s| s.case.domain == domain && (s.case.cards > 1) == several);
        let (mean, far) = astray(rows);
        println!("{} several {several}: mean error {mean:.2} %, {far} off by more than a quarter", domain.name());
        if mean > mean_bound || far > far_bound {
            broken.push(format!("{} {several}: {mean:.2} %, {far}", domain.name()));
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn few_speeds_go_astray() {
    let speeds = performance::score(&Table::read(SPEEDS).0, &Catalog::bundled());
    let errors: Vec<f64> = speeds.iter().filter_map(performance::Speed::error).map(f64::abs).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let far = errors.iter().filter(|e| **e > 40.0).count();
    println!("speeds: mean error {mean:.2} %, {far} off by more than 40 %");
    assert!(mean <= 12.5 && far <= 7, "{mean:.2} %, {far}");
}
