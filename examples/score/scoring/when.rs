//! How old a run's software is, as far as its row tells: versions as stated, the number of the thread that reports it, a
//! date in a file's name, or a repository whose code stands still.

use super::table::Row;
use enough_gpu::project::Runtime;

/// Last threads of four times in repositories that number theirs in order: before `PyTorch` 2.0 (March 2023); before
/// bitsandbytes 0.38 (April 11th, 2023) or, in `LitGPT`, before its fused attention came back (171, June 19th), where anyone
/// depends on those; before 2024; and before transformers 4.50 (March 2025). From the dates of threads around them.
const THREADS: &[(&str, [u64; 4])] = &[
    ("huggingface/transformers", [22_100, 22_100, 28_250, 36_500]),
    ("huggingface/peft", [160, 160, 1_320, 2_410]),
    ("huggingface/trl", [220, 220, 1_150, 2_990]),
    ("huggingface/accelerate", [1_180, 1_180, 2_290, 3_420]),
    ("hiyouga/LlamaFactory", [0, 0, 2_050, 7_150]),
    ("axolotl-ai-cloud/axolotl", [0, 0, 1_030, 2_370]),
    ("unslothai/unsloth", [0, 0, 70, 1_850]),
    ("Lightning-AI/litgpt", [0, 170, 830, 1_950]),
    ("modelscope/ms-swift", [0, 0, 250, 3_330]),
    ("ultralytics/ultralytics", [640, 640, 7_250, 19_700]),
    ("pytorch/torchtitan", [0, 0, 20, 930]),
    ("facebookresearch/MetaCLIP", [0, 0, 20, 60]),
    ("tloen/alpaca-lora", [0, 320, 700, 700]),
    ("tatsu-lab/stanford_alpaca", [0, 0, 320, 330]),
];

/// Repositories whose training code dates from 2023 and stands still since.
const OF_2023: &[&str] = &["alpaca-lora", "stanford_alpaca", "lm-sys/fastchat", "lit-llama", "artidoro/qlora"];

/// The generation of software of the row: as stated, or of the run's time; `None` where nothing tells.
pub(crate) fn generation(row: &Row<'_>) -> Option<Runtime> {
    let framework = row.text("framework").to_lowercase();
    // timm's benchmarks carry the versions in the file's name (`...-pt112-cu113-rtx3090.csv`).
    let file = row.text("source").to_lowercase();
    stated(&framework, &file)
        .or_else(|| by_thread(row.text("source")))
        .or_else(|| {
            let still = OF_2023.iter().any(|w| file.contains(w) || framework.contains(w));
            still.then_some(Runtime::Early2)
        })
        .or_else(|| month(row.text("source")).map(by_month))
}

/// Versions in the words of the row, in small letters.
fn stated(framework: &str, file: &str) -> Option<Runtime> {
    let has = |words: &[&str]| words.iter().any(|w| framework.contains(w));
    let in_name = |words: &[&str]| words.iter().any(|w| file.contains(w));
    if has(&["torch 1.13"]) || in_name(&["-pt113-"]) {
        // It came for CUDA 11.6 too, which cannot wait with loading.
        let waits = !has(&["cu116", "cuda 11.6"]) && !in_name(&["-cu116"]);
        return Some(if waits { Runtime::LastOne } else { Runtime::LateOne });
    }
    if has(&["torch 1.11", "torch 1.12"]) || in_name(&["-pt111-", "-pt112-"]) {
        return Some(Runtime::LateOne);
    }
    if in_name(&["-pt18", "-pt19", "-pt110-"])
        || has(&["2018", "2019", "2020", "2021", "torch 1.", "pytorch 1.", "tensorflow"])
    {
        return Some(Runtime::One);
    }
    if has(&["torch 2.0", "torch 2.1"]) {
        return Some(Runtime::Early2);
    }
    // Releases of Liger-Kernel from August 2024 to February 2025.
    has(&["liger 0.1", "liger 0.2", "liger 0.3", "liger 0.4", "liger 0.5.0", "liger 0.5.3"]).then_some(Runtime::Mid2)
}

fn by_thread(source: &str) -> Option<Runtime> {
    let ages = |thread: u64, [before_two, first, before_2024, before_2025]: [u64; 4]| match thread {
        n if n <= before_two => Runtime::One,
        n if n <= first => Runtime::First2,
        n if n <= before_2024 => Runtime::Early2,
        n if n <= before_2025 => Runtime::Mid2,
        _ => Runtime::Current,
    };
    THREADS.iter().find_map(|(repository, limits)| {
        let (_, rest) = source.split_once(repository)?;
        let rest = [" issue ", " PR ", " pull request ", "/issues/", "/pull/", "#"]
            .iter()
            .find_map(|word| rest.strip_prefix(word))?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().map(|thread| ages(thread, *limits))
    })
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
    fn versions_as_stated_and_by_thread() {
        for (framework, source, expected) in [
            ("litgpt, torch 2.1.0+cu121", "Lightning-AI/litgpt issue 159", Some(Runtime::Early2)),
            ("", "Lightning-AI/litgpt issue 159", Some(Runtime::First2)),
            ("", "Lightning-AI/litgpt issue 240", Some(Runtime::Early2)),
            ("", "tloen/alpaca-lora issue 424", Some(Runtime::Early2)),
            ("PyTorch 1.13", "", Some(Runtime::LastOne)),
            ("PyTorch 1.13, CUDA 11.6", "", Some(Runtime::LateOne)),
            ("", "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv", Some(Runtime::LateOne)),
            ("Liger 0.4.2", "", Some(Runtime::Mid2)),
            ("PyTorch", "itu-rad/GPUMemNet data.csv", None),
        ] {
            let found = stated(&framework.to_lowercase(), &source.to_lowercase()).or_else(|| by_thread(source));
            assert_eq!(found, expected, "{framework} {source}");
        }
    }

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
