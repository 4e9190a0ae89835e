//! When a run was made, as far as its row tells: the number of the thread that reports it, or a date in a file's name.

use super::table::Row;
use enough_gpu::project::Runtime;

/// Last threads of three times in repositories that number theirs in order: before `PyTorch` 2.0 (March 2023), before 2024,
/// and before transformers 4.50 (March 2025). From the dates of threads around them.
const THREADS: &[(&str, [u64; 3])] = &[
    ("huggingface/transformers", [22_100, 28_250, 36_500]),
    ("huggingface/peft", [160, 1_320, 2_410]),
    ("huggingface/trl", [220, 1_150, 2_990]),
    ("huggingface/accelerate", [1_180, 2_290, 3_420]),
    ("hiyouga/LlamaFactory", [0, 2_050, 7_150]),
    ("axolotl-ai-cloud/axolotl", [0, 1_030, 2_370]),
    ("unslothai/unsloth", [0, 70, 1_850]),
    ("Lightning-AI/litgpt", [0, 830, 1_950]),
    ("modelscope/ms-swift", [0, 250, 3_330]),
    ("ultralytics/ultralytics", [640, 7_250, 19_700]),
    ("pytorch/torchtitan", [0, 20, 930]),
    ("facebookresearch/MetaCLIP", [0, 20, 60]),
    ("tloen/alpaca-lora", [0, 700, 700]),
    ("tatsu-lab/stanford_alpaca", [0, 320, 330]),
];

/// The generation of software of the row's time; `None` where it does not tell one.
pub(crate) fn generation(row: &Row<'_>) -> Option<Runtime> {
    let source = row.text("source");
    let ages = |thread: u64, [before_two, before_2024, before_2025]: [u64; 3]| match thread {
        n if n <= before_two => Runtime::One,
        n if n <= before_2024 => Runtime::Early2,
        n if n <= before_2025 => Runtime::Mid2,
        _ => Runtime::Current,
    };
    let by_thread = THREADS.iter().find_map(|(repository, limits)| {
        let (_, rest) = source.split_once(repository)?;
        let rest = [" issue ", " PR ", " pull request ", "/issues/", "/pull/", "#"]
            .iter()
            .find_map(|word| rest.strip_prefix(word))?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().map(|thread| ages(thread, *limits))
    });
    by_thread.or_else(|| month(source).map(by_month))
}

const fn by_month((year, month): (u64, u64)) -> Runtime {
    match year * 12 + month {
        m if m < 2023 * 12 + 3 => Runtime::One,
        m if m <= 2023 * 12 + 12 => Runtime::Early2,
        m if m < 2025 * 12 + 3 => Runtime::Mid2,
        _ => Runtime::Current,
    }
}

/// A year and a month side by side in a file's name: `benchmarks_03_2024.md`, `2024-03`, `202403`.
fn month(text: &str) -> Option<(u64, u64)> {
    let numbers: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty()).collect();
    let date = |year: &str, month: &str| {
        let (year, month) = (year.parse::<u64>().ok()?, month.parse::<u64>().ok()?);
        ((2018..2030).contains(&year) && (1..=12).contains(&month)).then_some((year, month))
    };
    let pairs = numbers.windows(2).find_map(|pair| match pair {
        [year, month] | [month, year] if year.len() == 4 && month.len() == 2 => date(year, month),
        _ => None,
    });
    pairs.or_else(|| numbers.iter().filter(|n| n.len() == 6).find_map(|n| date(n.get(..4)?, n.get(4..)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_as_written() {
        for (text, expected) in [
            ("a/b benchmarks_03_2024.md", Some((2024, 3))),
            ("a/b results 2023-11", Some((2023, 11))),
            ("benchmarks/llama3_h100_202412_torchtitan.md", Some((2024, 12))),
            ("issue 2024", None),
            ("", None),
        ] {
            assert_eq!(month(text), expected, "{text}");
        }
    }
}
