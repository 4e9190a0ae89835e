//! Finds the message that says that memory ran out, in whatever stands around it.

use super::{Memory, MemoryError, amounts};
use crate::project::import::text::Text;
use crate::units::{self, Bytes};

/// What such messages have in them, in small letters, and whose memory it is where the words alone say so.
const SIGNS: &[(&str, Option<Memory>)] = &[
    ("out of memory", None),
    ("out_of_memory", None),
    ("outofmemory", None),
    ("oom when allocating", Some(Memory::TensorFlow)),
    ("ran out of memory trying to allocate", Some(Memory::TensorFlow)),
    ("resource_exhausted", Some(Memory::Jax)),
    ("resource exhausted", Some(Memory::Jax)),
    ("exceeded hbm capacity", Some(Memory::Jax)),
    ("would exceed allowed memory", None),
    ("dispatched on the cpu or the disk", Some(Memory::Cuda)),
    ("status_alloc_failed", None),
    ("cudaerrormemoryallocation", Some(Memory::Cuda)),
    ("el0004: failed to allocate memory", Some(Memory::Npu)),
    ("defaultcpuallocator", Some(Memory::Main)),
    ("unable to allocate", Some(Memory::Main)),
    ("memoryerror", Some(Memory::Main)),
    ("cannot allocate memory", Some(Memory::Main)),
    ("killed process", Some(Memory::Killed)),
    ("进程被杀", Some(Memory::Killed)),
    ("被 killed", Some(Memory::Killed)),
    ("一半 killed", Some(Memory::Killed)),
    ("oom-kill", Some(Memory::Killed)),
    ("oom_kill", Some(Memory::Killed)),
    ("oom killer", Some(Memory::Killed)),
    ("sigkill", Some(Memory::Killed)),
    ("exitcode: -9", Some(Memory::Killed)),
    ("exitcode : -9", Some(Memory::Killed)),
    ("exit code -9", Some(Memory::Killed)),
    ("exit code: -9", Some(Memory::Killed)),
    ("return code = -9", Some(Memory::Killed)),
    ("exit status -9", Some(Memory::Killed)),
    ("exit code 137", Some(Memory::Killed)),
    ("exit code: 137", Some(Memory::Killed)),
    ("exit status 137", Some(Memory::Killed)),
    ("status code 137", Some(Memory::Killed)),
    ("exited with code 137", Some(Memory::Killed)),
    ("oomkilled", Some(Memory::Killed)),
    ("killed by signal: bus error", Some(Memory::SharedBetweenProcesses)),
    ("out of shared memory", Some(Memory::SharedBetweenProcesses)),
    ("insufficient shared memory", Some(Memory::SharedBetweenProcesses)),
    ("using all available ram", Some(Memory::Killed)),
    ("allocate more memory than is available", Some(Memory::Killed)),
    ("exceeded job memory limit", Some(Memory::Killed)),
    ("exceeded step memory limit", Some(Memory::Killed)),
    ("std::bad_alloc", Some(Memory::Main)),
    ("memory isn't enough", Some(Memory::Npu)),
    ("winerror 1455", Some(Memory::PagingFile)),
    ("paging file is too small", Some(Memory::PagingFile)),
    ("页面文件太小", Some(Memory::PagingFile)),
    ("显存不足", None),
    ("内存不足", None),
    ("显存溢出", None),
    ("内存溢出", None),
    ("記憶體不足", None),
    ("メモリ不足", None),
];

/// How far a message reaches behind its first words: sixteen other processes were seen in one.
const LENGTH: usize = 2400;

/// How far before it the words may stand that say who speaks.
const BEFORE: usize = 120;

/// What every one of the signs has in it: few, so that a long text is gone through few times.
const STEMS: &[&str] = &[
    "memory",
    "alloc",
    "exhaust",
    "kill",
    "137",
    "-9",
    "oom",
    "hbm cap",
    "1455",
    "crashed",
    "isn't enough",
    "bad_alloc",
    "paging file",
    "dispatched on",
    "文件太小",
    "存不足",
    "体不足",
    "存溢出",
    "リ不足",
    "體不足",
];

/// Bytes of a long log that are looked at: where programs begin, and where they end.
const HEAD: usize = 64 << 10;
const TAIL: usize = 512 << 10;

/// Places looked at for each stem, from the end.
const PLACES: usize = 24;

/// Places in all that are looked at closely.
const CLOSELY: usize = 64;

/// The places of signs, each once.
fn places(text: &Text) -> Vec<(usize, &'static str, Option<Memory>)> {
    let end = text.as_str().len();
    let last = text.window(end.saturating_sub(TAIL), TAIL).1;
    let first = text.window(0, HEAD.min(end - last.len())).1;
    let mut places = Vec::new();
    for (start, part) in [(0, first), (end - last.len(), last)] {
        for stem in STEMS {
            for (inside, _) in part.rmatch_indices(stem).take(PLACES) {
                let at = start + inside;
                let line = text.line_at(at);
                let (from, near) = if line.small.len() > 2000 {
                    (at.saturating_sub(60), text.window(at.saturating_sub(60), 160).1)
                } else {
                    (line.start, text.window(line.start, line.small.len() + 8).1)
                };
                let signs = SIGNS.iter().filter_map(|(sign, memory)| Some((from + near.find(sign)?, *sign, *memory)));
                places.extend(signs);
            }
        }
    }
    units::sort(&mut places, |a, b| b.0.cmp(&a.0).then(b.1.cmp(a.1)));
    places.dedup();
    places.truncate(CLOSELY);
    places
}

/// The message with the most to say, and where it stands.
pub(super) fn find(text: &Text) -> Option<(usize, MemoryError)> {
    let mut best: Option<(usize, usize, MemoryError)> = None;
    for (at, sign, memory) in places(text) {
        let Some(error) = at_place(text, at, sign, memory) else { continue };
        let says = weight(&error);
        let better = best.as_ref().is_none_or(|(most, place, _)| (says, at) > (*most, *place));
        if better {
            best = Some((says, at, error));
        }
    }
    let found = best.map(|(_, at, error)| (at, error));
    // A line of its own, as the shell prints it.
    found.or_else(|| {
        let killed = |line: &super::super::Line<'_>| {
            let words = line.small.trim_matches(['*', '`', ' ', '>', '|']);
            matches!(words, "killed" | "已杀死" | "已终止" | "zsh: killed" | "^ckilled")
                || words.starts_with("zsh: killed")
                || (words.contains("] killed ") || words.ends_with(": killed"))
                || (words.contains(" killed ") && words.contains("line ") && words.contains(".sh"))
        };
        let line = text.lines().rev().take(400).find(killed)?;
        let error = MemoryError { memory: Memory::Killed, from: line.piece(), ..MemoryError::default() };
        Some((line.start, error))
    })
}

/// How much a message says.
fn weight(error: &MemoryError) -> usize {
    let amounts = [error.tried, error.capacity, error.free, error.allocated, error.unused, error.in_use, error.over];
    // A card's own words before the system's, which may follow from them.
    2 * amounts.iter().flatten().count() + usize::from(error.memory.is_card())
}

fn at_place(text: &Text, at: usize, sign: &str, memory: Option<Memory>) -> Option<MemoryError> {
    let start = at.saturating_sub(BEFORE);
    let line = text.line_at(at);
    let (_, around) = text.window(start, BEFORE + LENGTH);
    let lead = around.get(..at.saturating_sub(start).min(around.len())).unwrap_or_default();
    let rest = around.get(lead.len()..).unwrap_or(around);
    let message = one_line(end_of_message(rest, sign));
    // A text without line ends is no line.
    let near =
        if line.small.len() > 2000 { around.get(..lead.len() + sign.len()).unwrap_or_default() } else { line.small };
    if is_code(near, sign) || !speaks_of_error(near, &message, lead) {
        return None;
    }
    let memory = whose(memory, sign, lead, &message);
    let mut error = MemoryError { memory, from: line.piece(), ..MemoryError::default() };
    error.workspace = sign == "status_alloc_failed";
    // Amounts may stand before the sign in the same line: XLA and the kernel do so.
    let said = if memory == Memory::Metal || lead.contains("alloc") {
        one_line(&format!("{}{}", last_line(lead), message))
    } else {
        message.clone()
    };
    match memory {
        Memory::Killed => error.allocated = after(&message, "anon-rss:").and_then(first_size),
        Memory::TensorFlow => {
            amounts::read(&said, &mut error);
            error.tried = error.tried.or_else(|| tensor(&message));
        }
        Memory::Jax => {
            amounts::read(&said, &mut error);
            // `Used 19.20G of 15.48G hbm.`
            if let Some(rest) = after(&message, "used ") {
                let total =
                    rest.split_once(" of ").filter(|(_, rest)| rest.get(..16).is_none_or(|r| r.contains("hbm")));
                error.capacity = error.capacity.or_else(|| total.and_then(|(_, rest)| first_size(rest)));
            }
        }
        Memory::SharedBetweenProcesses | Memory::PagingFile => {}
        _ => amounts::read(&said, &mut error),
    }
    error.device = device(&message).or_else(|| device(lead));
    Some(error)
}

/// Where the next message, the next traceback or the next empty line begins, this one ends.
fn end_of_message<'a>(rest: &'a str, sign: &str) -> &'a str {
    let behind = rest.get(sign.len()..).unwrap_or_default();
    let ends = ["traceback (most", "\n\n", "\n  file \"", "outofmemoryerror:", "runtimeerror:", "error code"];
    let end = ends.iter().filter_map(|end| behind.find(end)).min().unwrap_or(behind.len());
    rest.get(..sign.len() + end).unwrap_or(rest)
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word.trim_matches('|'));
    }
    line
}

fn last_line(lead: &str) -> &str {
    lead.rsplit('\n').next().unwrap_or_default()
}

/// A comment or a line of a program that speaks of such errors.
fn is_code(line: &str, sign: &str) -> bool {
    let line = line.trim_start_matches(['|', ' ', '>']);
    let before = line.split(sign).next().unwrap_or_default();
    let begins = ["#", "except ", "//", "if ", "elif ", "raise ", "\"\"\"", "--"];
    let within = [" #", " //", "print(", "logger.", "logging.", "warn(", "echo ", "in str("];
    begins.iter().any(|start| line.starts_with(start)) || within.iter().any(|word| before.contains(word))
}

/// Whether somebody reports an error there, instead of talking about it.
fn speaks_of_error(line: &str, message: &str, lead: &str) -> bool {
    const REPORTS: &[&str] = &[
        "error",
        "tried to allocate",
        "trying to allocate",
        "allocating",
        "exception",
        "capacity",
        "exhausted",
        "exceed",
        "failed",
        "kill",
        "137",
        "-9",
        "错误",
        "分配",
        "报错",
        "allocate",
        "1455",
        "crashed",
        "isn't enough",
        "bad_alloc",
        "页面文件",
        "bus error",
    ];
    let lead = last_line(lead);
    let told = REPORTS.iter().any(|word| line.contains(word) || lead.contains(word));
    // Somebody who types only what they remember of it.
    let short = line.chars().count() <= 60;
    told || short || REPORTS.iter().skip(1).take(3).any(|word| message.contains(word))
}

/// Whose memory it is, by the words around.
fn whose(memory: Option<Memory>, sign: &str, lead: &str, message: &str) -> Memory {
    let lead = last_line(lead);
    let head = message.get(..message.len().min(400)).unwrap_or(message);
    let around = format!("{lead}{head}");
    let says = |word: &str| around.contains(word);
    if sign == "out of memory" || sign == "out_of_memory" {
        if says("killed process") {
            return Memory::Killed;
        }
        if says("shared memory (shm)") {
            return Memory::SharedBetweenProcesses;
        }
    }
    let by_name = [
        ("mps backend", Memory::Metal),
        ("hip out", Memory::Hip),
        ("hip error", Memory::Hip),
        ("hiperror", Memory::Hip),
        ("npu out", Memory::Npu),
        ("npu ", Memory::Npu),
        ("xpu out", Memory::Xpu),
        ("xpu ", Memory::Xpu),
        ("musa ", Memory::Musa),
        ("bfc", Memory::TensorFlow),
        ("stream_executor", Memory::TensorFlow),
        ("cuda_driver.cc", Memory::TensorFlow),
        ("hbm", Memory::Jax),
        ("paddle", Memory::Paddle),
        ("cannot allocate", Memory::Paddle),
    ];
    match memory {
        Some(Memory::Jax) if says("bfc") || says("oom when allocating") => Memory::TensorFlow,
        Some(Memory::Jax) if says("error on gpu") => Memory::Paddle,
        // Every one of them has a word for it; main memory has none.
        Some(Memory::Main) if says("cuda") || says("on gpu") => Memory::Cuda,
        Some(memory) => memory,
        None if says("resource_exhausted") || says("resource exhausted:") && !says("bfc") => Memory::Jax,
        None if says("cpu") && says("defaultcpuallocator") => Memory::Main,
        None => by_name.iter().find(|(word, _)| says(word)).map_or(Memory::Cuda, |(_, memory)| *memory),
    }
}

/// The number of the device: `GPU 0;`, `NPU 3;`, `device:GPU:1`, `Allocation on device 0`.
fn device(message: &str) -> Option<u32> {
    ["gpu:", "gpu ", "npu ", "device ", "gpu"].iter().find_map(|word| {
        let rest = after(message, word)?.trim_start();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest.get(..digits).filter(|digits| digits.len() < 3)?.parse().ok()
    })
}

/// The size of a tensor by its shape and type: `tensor with shape[64,2016,9,9] and type float`.
fn tensor(message: &str) -> Option<Bytes> {
    let rest = after(message, "shape")?.trim_start();
    let (shape, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let mut count: f64 = 1.0;
    for side in shape.split(',') {
        count *= crate::units::decimal::read(side.trim())?;
    }
    let kind = after(rest, "type ").unwrap_or("float");
    let kind = kind.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let width = match kind {
        "half" | "bfloat16" | "float16" | "int16" => 2.0,
        "double" | "int64" | "complex64" => 8.0,
        "uint8" | "int8" | "bool" => 1.0,
        _ => 4.0,
    };
    let bytes = count * width;
    (bytes.is_finite() && bytes < 1e18).then_some(Bytes(bytes as u64))
}

fn first_size(text: &str) -> Option<Bytes> {
    crate::project::import::text::size(text).map(|(bytes, _)| bytes)
}

fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.split_once(word).map(|(_, rest)| rest)
}
