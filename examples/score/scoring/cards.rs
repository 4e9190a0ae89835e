//! How several cards shared a run, in the words of the rows: `FSDP4+TP8`, `FSDP8 TP8 PP8 interleaved 1F1B`, `FSDP4 CP2`,
//! `DDP 2 x device_map 2`, `Megatron TP2`.

use super::table::Row;
use super::words;
use enough_gpu::project::{Framework, Hardware, Parallel, Sharding};

/// Piece of an interleaved pipeline on each card where the row does not say how many: the fewest there are.
const CHUNKS: u32 = 2;

/// The cards of a row, and the micro-batches that its pipeline cuts the batch into.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cards {
    pub(crate) hardware: Hardware,
    pub(crate) micro_batches: u64,
}

impl Cards {
    pub(crate) fn of(row: &Row<'_>, framework: Framework, gpu: &str) -> Self {
        let text = row.text("sharding").to_lowercase();
        let stated = row.count("gpus").map_or(1, |n| u32::try_from(n).unwrap_or(u32::MAX)).max(1);
        // A configuration file that a note quotes wins over the table around it.
        let note = row.text("note").to_lowercase();
        let mut count = degree(&note, &["devices="]).unwrap_or(stated).max(1);
        let mut sharding = words::sharding(&text, row.text("offload"));
        let tensor = degree(&text, &["tp", "tensor parallel "]).unwrap_or(1);
        let pipeline = degree(&text, &["pp", "pipeline "]).unwrap_or(1);
        let mut context = degree(&text, &["cp", "ulysses", "sp"]).unwrap_or(1);
        let expert = degree(&text, &["ep"]).unwrap_or(1);
        if context == 1 && (text.contains("context") || row.text("source").contains("sequence_parallel")) {
            context = count / tensor.max(1) / pipeline.max(1);
        }
        let chunks = if pipeline > 1 && text.contains("interleaved") { CHUNKS } else { 1 };
        if sharding == Sharding::DeviceMap && text.contains("ddp") {
            count = degree(&text, &["device_map "]).unwrap_or(count);
        }
        if sharding == Sharding::Auto && count > 1 && replicates(framework) {
            sharding = Sharding::Ddp;
        }
        let parallel = Parallel {
            tensor,
            pipeline,
            chunks,
            context: context.max(1),
            expert: if text.contains("ep") && expert == 1 && text.contains("megatron ep") { count } else { expert },
            group: u32::from(text.contains("ddp mode")),
        };
        let hardware = Hardware { gpu: gpu.to_owned(), count, sharding, parallel, ..Hardware::default() };
        Self { hardware, micro_batches: u64::from(pipeline.max(1)) * u64::from(chunks) }
    }
}

/// Libraries around the Hugging Face Trainer and kohya's scripts: started on several cards with nothing said they run DDP.
fn replicates(framework: Framework) -> bool {
    !matches!(
        framework,
        Framework::Torchtitan | Framework::Torchtune | Framework::Litgpt | Framework::LlmFoundry | Framework::Megatron
    )
}

/// The number right behind one of the words, where the word stands at a word's beginning: `tp8`, `tp 8`, `tp=8`.
fn degree(text: &str, words: &[&str]) -> Option<u32> {
    words.iter().find_map(|word| {
        text.match_indices(word).find_map(|(at, _)| {
            let before = text.get(..at)?.chars().next_back();
            if before.is_some_and(char::is_alphabetic) {
                return None;
            }
            let rest = text.get(at + word.len()..)?.trim_start_matches([' ', '=', '-', ':']);
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|n| *n > 0)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_as_written() {
        for (text, words, expected) in [
            ("fsdp4+tp8", "tp", Some(8)),
            ("fsdp8 tp8 pp8 1f1b", "pp", Some(8)),
            ("fsdp4 cp2", "cp", Some(2)),
            ("cp8 (weights sharded over the cp group)", "cp", Some(8)),
            ("megatron tp2", "tp", Some(2)),
            ("tp=4", "tp", Some(4)),
            ("http 4", "tp", None),
            ("zero3", "tp", None),
        ] {
            assert_eq!(degree(text, &[words]), expected, "{text}");
        }
    }
}
