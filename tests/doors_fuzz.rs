//! Whatever is pasted: no panic, and a megabyte is read at once.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dice;

use dice::Dice;
use std::time::{Duration, Instant};

use enough_gpu::advise::oom::explain;
use enough_gpu::catalog::Catalog;
use enough_gpu::project::Project;
use enough_gpu::project::import::{Hints, Reading, read, read_file};

/// Everything that the other tests of doors read, as material.
fn material() -> Vec<char> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|file| file.path()).collect();
    names.sort();
    let doors = names.iter().filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("doors_")));
    doors
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|text| text.chars().collect::<Vec<_>>())
        .collect()
}

const SIGNS: &[&str] = &[
    "\u{0}",
    "\u{1b}[31m",
    "\u{feff}",
    "\r",
    "\n",
    "GiB",
    "0 bytes",
    "18446744073709551616 GiB",
    "1e309",
    "-",
    "(",
    "[",
    "{",
    "\"",
    "\\",
    "<script>alert(1)</script>",
    "显存",
    "１２",
    "🦀",
    "\u{301}",
    "/",
    ";",
    "=",
    ":",
    "|",
    "out of memory",
    "tried to allocate",
    "models--",
    "Processes:",
    "total_memory=",
    "shape[",
    "NVIDIA ",
    "...",
    "%",
    "&",
    "#",
    "\t",
    "None",
    "null",
];

/// A text made of pieces of the material, pieces of others put in, signs put between, some doubled.
fn something(material: &[char], dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..=dice.below(6) {
        let from = dice.below(material.len());
        let length = dice.below(400);
        for sign in material.iter().skip(from).take(length) {
            match dice.below(160) {
                0 => {}
                1 => text.push_str(SIGNS[dice.below(SIGNS.len())]),
                2 => text.push(char::from_u32(dice.below(0x11_0000) as u32).unwrap_or('?')),
                _ => text.push(*sign),
            }
        }
        if dice.below(4) == 0 {
            text.push_str(SIGNS[dice.below(SIGNS.len())]);
        }
    }
    text
}

/// Does with a reading what the page does.
fn use_it(reading: &Reading, catalog: &Catalog) {
    let (project, _) = reading.apply(&Project::default(), catalog);
    if let Some(error) = &reading.error {
        let _ = explain(error, &project, catalog);
    }
}

#[test]
fn anything_at_all_is_read() {
    let (catalog, material) = (Catalog::bundled(), material());
    let rounds = std::env::var("DOORS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    let mut dice = Dice(20_261_130);
    let start = Instant::now();
    for _ in 0..rounds {
        let text = something(&material, &mut dice);
        use_it(&read(&text, Hints::pasted(&catalog)), &catalog);
        let mut bytes = text.into_bytes();
        for _ in 0..dice.below(8) {
            let (place, byte) = (dice.below(bytes.len()), dice.below(256) as u8);
            if let Some(old) = bytes.get_mut(place) {
                *old = byte;
            }
        }
        use_it(&read_file(&bytes, Hints { name: "log.txt", catalog: &catalog }), &catalog);
    }
    println!("{rounds} rounds in {:.1?}", start.elapsed());
}

/// The time that this thread has had of a processor, where the system tells it: a machine does other things, too.
fn busy(start: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split_whitespace().next().and_then(|n| n.parse().ok()));
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// What a megabyte may take: the limit itself where code is fast, more where it is compiled to be debugged.
const LIMIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 50 });

#[test]
fn a_megabyte_is_read_at_once() {
    let catalog = Catalog::bundled();
    let pieces = [
        "a",
        " ",
        "\n",
        "1",
        "(",
        "[",
        "{\"a\":",
        "<b>",
        "0 GiB ",
        "1/2 MiB|",
        "显存不足 ",
        "out of memory\n",
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; ",
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB. Process 1 has 1.00 GiB memory in use. ",
        "Killed\n",
        "  File \"/env/lib/python3.10/site-packages/torch/nn/modules/module.py\", line 1130, in _call_impl\n",
        "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\n",
        "|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0 Off |\n|  0%  |  5MiB / 24576MiB |\n",
        "models--a--b-7b/ from_pretrained(\"a/b-7b\")\n",
        "--batch_size 4 --lr 1e-4 ",
        "key: value\n",
        "  - item: [1, 2]\n",
        "10%|# | 1/10 [00:01<00:09]\r",
        "batch size per device = 2\n",
        "\u{1b}[31m",
        "，。",
        "ResourceExhaustedError: OOM when allocating tensor with shape[1,",
        "nvidia nvidia1 ",
        "RTX ",
        ", ",
        "=",
    ];
    let (mut slow, start) = (Vec::new(), Instant::now());
    // The catalog unpacks itself once.
    let _ = read("RTX 4090", Hints::pasted(&catalog));
    for piece in pieces {
        let text = piece.repeat((1 << 20) / piece.len());
        let best = (0..3)
            .map(|_| {
                let before = busy(start);
                let _ = read(&text, Hints::pasted(&catalog));
                busy(start).saturating_sub(before)
            })
            .min()
            .unwrap();
        println!("{best:>9.1?}  {piece:?}");
        if best > LIMIT {
            slow.push(format!("{piece:?}: {best:.1?}"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
