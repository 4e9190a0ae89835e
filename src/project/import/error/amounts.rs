//! The amounts in a message, each with its meaning by the words beside it, in whatever order a language puts them.

use super::{MemoryError, Neighbour};
use crate::project::import::text::size;
use crate::units::Bytes;

/// What an amount is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Tried,
    Capacity,
    Free,
    Allocated,
    ReservedInTotal,
    Unused,
    InUse,
    Others,
    Allowed,
    Over,
    Neither,
}

use Meaning::{Allocated, Allowed, Capacity, Free, InUse, Neither, Others, Over, ReservedInTotal, Tried, Unused};

/// Words beside an amount. Where several stand there, the nearest counts; of equally near ones the first here.
/// `PyTorch`: `c10/cuda/CUDACachingAllocator.cpp` and `CUDAMallocAsyncAllocator.cpp` of versions 1.0 to 2.9, `MPSAllocator.mm`;
/// Paddle: `cuda_allocator.cc`; XLA: `bfc_allocator.cc`; the Chinese words are those that machine translation puts there.
const WORDS: &[(&str, Meaning)] = &[
    ("tried to allocate", Tried),
    ("trying to allocate", Tried),
    ("attempting to allocate", Tried),
    ("memory allocating", Tried),
    ("failed to allocate", Tried),
    ("cannot allocate", Tried),
    ("unable to allocate", Tried),
    ("requested", Tried),
    ("alloc size", Tried),
    ("allocating", Tried),
    ("尝试分配", Tried),
    ("试图分配", Tried),
    ("嘗試分配", Tried),
    ("无法分配", Tried),
    ("上分配", Tried),
    ("total capac", Capacity),
    ("total gpu capacity", Capacity),
    ("device limit", Capacity),
    ("max allowed", Capacity),
    ("总容量", Capacity),
    ("總容量", Capacity),
    ("已分配的内存", Neither),
    ("is free", Free),
    ("according to cuda", Free),
    ("free", Free),
    ("available memory is only", Free),
    ("可用", Free),
    ("空闲", Free),
    ("空閒", Free),
    ("剩余", Free),
    ("未分配", Unused),
    ("allocated in private pools", Neither),
    ("is allocated by", Allocated),
    ("currently allocated", Allocated),
    ("already allocated", Allocated),
    ("mps allocated", Allocated),
    ("has been allocated", Allocated),
    ("已分配", Allocated),
    ("已经分配", Allocated),
    ("已被分配", Allocated),
    ("被pytorch占用", Allocated),
    ("被 pytorch 占用", Allocated),
    ("由pytorch分配", Allocated),
    ("由 pytorch 分配", Allocated),
    ("被pytorch分配", Allocated),
    ("被 pytorch 分配", Allocated),
    ("reserved in total", ReservedInTotal),
    ("总共保留", ReservedInTotal),
    ("总计保留", ReservedInTotal),
    ("总共预留", ReservedInTotal),
    ("保留总量", ReservedInTotal),
    ("总保留", ReservedInTotal),
    ("is reserved by", Unused),
    ("cached", Unused),
    ("被pytorch保留", Unused),
    ("被 pytorch 保留", Unused),
    ("被pytorch预留", Unused),
    ("由 pytorch 保留", Unused),
    ("保留", ReservedInTotal),
    ("预留", ReservedInTotal),
    ("this process has", InUse),
    ("此进程", InUse),
    ("该进程", InUse),
    ("other allocations", Others),
    ("allowed", Allowed),
    ("capacity by", Over),
    ("current active", Neither),
    ("memory fraction", Allowed),
    ("rounded to", Neither),
];

/// Amounts beyond this are the "no limit" of an allocator.
const NO_LIMIT: u64 = 1 << 50;

/// Amounts looked at in one message: sixteen processes on one card were seen.
const MOST: usize = 80;

/// Reads the amounts of a message, given in small letters on one line.
pub(super) fn read(message: &str, error: &mut MemoryError) {
    let mut found: Vec<(usize, usize, Bytes)> = Vec::new();
    let mut from = 0;
    while let Some((bytes, end)) = message.get(from..).and_then(size) {
        let end = from + end;
        let number = message.get(from..end).unwrap_or_default();
        // The amount begins at the last digit group of what was passed over.
        let unit_free = number.trim_end_matches(|c: char| !c.is_ascii_digit());
        let digits = unit_free.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
        let sign = unit_free.get(digits.len()..).map_or(0, |run| run.len() - run.trim_start_matches(['.', ',']).len());
        found.push((from + digits.len() + sign, end, bytes));
        from = end;
        if found.len() >= MOST {
            break;
        }
    }
    let mut reserved_in_total = None;
    for (index, (start, end, bytes)) in found.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|i| found.get(i)).map_or(0, |(_, end, _)| *end);
        let next = found.get(index + 1).map_or(message.len(), |(start, ..)| *start);
        let before = cut_before(message.get(previous..*start).unwrap_or_default());
        let after = cut_after(message.get(*end..next).unwrap_or_default());
        let bytes = Some(*bytes).filter(|bytes| bytes.0 < NO_LIMIT);
        if let Some(pid) = neighbour(before, after) {
            error.neighbours.extend(bytes.map(|bytes| Neighbour { pid, bytes }));
            continue;
        }
        let place = match meaning(before, after) {
            Tried => &mut error.tried,
            Capacity => &mut error.capacity,
            Free => &mut error.free,
            Allocated => &mut error.allocated,
            Unused => &mut error.unused,
            InUse => &mut error.in_use,
            Others => &mut error.others,
            Allowed => &mut error.allowed,
            Over => &mut error.over,
            ReservedInTotal => &mut reserved_in_total,
            Neither => continue,
        };
        *place = place.or(bytes);
    }
    if let (None, Some(total), Some(allocated)) = (error.unused, reserved_in_total, error.allocated) {
        error.unused = Some(total - allocated);
    }
}

/// What stands before an amount, from the last sign that ends a part on.
fn cut_before(text: &str) -> &str {
    let start = text
        .rfind([';', '.', '(', '。', ',', '、'])
        .map_or(0, |at| at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    text.get(start..).unwrap_or_default()
}

/// What stands behind an amount, up to the first sign that ends a part.
fn cut_after(text: &str) -> &str {
    text.split([';', '.', '(', ')', '。', ',', '、']).next().unwrap_or_default()
}

/// The id of another process: `Process 250345 has 662.00 MiB memory in use`, `进程 250345 占用 …`.
fn neighbour(before: &str, after: &str) -> Option<u64> {
    if !(after.contains("memory in use") || after.contains("内存") || before.contains("has")) {
        return None;
    }
    let behind = before.rsplit_once("process ").or_else(|| before.rsplit_once("进程"))?.1.trim_start();
    let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
    behind.get(..digits)?.parse().ok()
}

fn meaning(before: &str, after: &str) -> Meaning {
    // `Device limit : 4.00 GiB`: what follows belongs to the next amount.
    let labelled = before.trim_end().ends_with(':');
    let near = |word: &str| {
        let ahead = before.rfind(word).map(|at| before.len() - at - word.len());
        let behind = after.find(word).filter(|_| !labelled);
        ahead.into_iter().chain(behind).min()
    };
    let nearest = WORDS.iter().filter_map(|(word, meaning)| Some((near(word)?, *meaning))).min_by_key(|(far, _)| *far);
    nearest.map_or(Neither, |(_, meaning)| meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mib(bytes: Option<Bytes>) -> Option<u64> {
        bytes.map(|bytes| bytes.0 >> 20)
    }

    #[test]
    fn amounts_have_the_meaning_of_the_words_beside_them() {
        let mut error = MemoryError::default();
        read(
            "tried to allocate 2.00 gib (gpu 0; 8.00 gib total capacity; 5.00 gib already allocated; 1.00 gib free; 6.50 gib \
             reserved in total by pytorch)",
            &mut error,
        );
        let all = [error.tried, error.capacity, error.allocated, error.free, error.unused].map(mib);
        assert_eq!(all, [Some(2048), Some(8192), Some(5120), Some(1024), Some(1536)]);

        let mut error = MemoryError::default();
        read(
            "tried to allocate 512.00 mib. gpu 0 has a total capacty of 16.00 gib of which 64.00 mib is free. process 77 has \
             1.00 gib memory in use. including non-pytorch memory, this process has 14.00 gib memory in use. of the allocated \
             memory 12.00 gib is allocated by pytorch, with 2.00 gib allocated in private pools (e.g., cuda graphs), and 1.00 gib \
             is reserved by pytorch but unallocated. if reserved but unallocated memory is large try",
            &mut error,
        );
        let all = [error.tried, error.capacity, error.free, error.in_use, error.allocated, error.unused].map(mib);
        assert_eq!(all, [Some(512), Some(16384), Some(64), Some(14336), Some(12288), Some(1024)]);
        assert_eq!(error.neighbours, [Neighbour { pid: 77, bytes: Bytes(1 << 30) }]);
    }

    #[test]
    fn other_orders_and_languages() {
        let mut error = MemoryError::default();
        read(
            "内存不足。尝试分配 1.00 gib(gpu 0;总容量 8.00 gib;已分配 6.00 gib;0 字节可用;pytorch 总共保留 7.00 gib)",
            &mut error,
        );
        let all = [error.tried, error.capacity, error.allocated, error.free, error.unused].map(mib);
        assert_eq!(all, [Some(1024), Some(8192), Some(6144), Some(0), Some(1024)]);

        let mut error = MemoryError::default();
        read(
            "(out of memory) currently allocated : 3.00 gib requested : 1.00 gib device limit : 4.00 gib free (according to cuda): 0 \
             bytes pytorch limit (set by user-supplied memory fraction) : 17179869184.00 gib",
            &mut error,
        );
        let all = [error.tried, error.capacity, error.allocated, error.free, error.allowed].map(mib);
        assert_eq!(all, [Some(1024), Some(4096), Some(3072), Some(0), None]);
    }
}
