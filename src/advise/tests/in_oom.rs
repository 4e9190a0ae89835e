//! What is free, what is missing and what others hold, added up by hand in gibibytes.

use super::*;
use crate::project::import::error::Neighbour;

/// As a message says it.
#[allow(clippy::unnecessary_wraps)]
const fn gib(n: u64) -> Option<Bytes> {
    Some(Bytes(n << 30))
}

fn error() -> MemoryError {
    MemoryError { memory: Memory::Cuda, ..MemoryError::default() }
}

#[test]
fn what_is_free_is_told_or_is_the_rest() {
    let told = MemoryError { capacity: gib(24), allocated: gib(20), ..error() };
    assert_eq!(free(&told), gib(4));
    assert_eq!(free(&MemoryError { unused: gib(1), others: gib(2), ..told.clone() }), gib(1));
    assert_eq!(free(&MemoryError { free: gib(3), others: gib(2), ..told.clone() }), gib(3));
    assert_eq!(free(&MemoryError { allocated: None, ..told.clone() }), None);
    assert_eq!(free(&MemoryError { capacity: None, ..told.clone() }), None);
    // Asked for less what is free; where there was enough, nothing is missing.
    let tried = MemoryError { tried: gib(6), ..told };
    assert_eq!(missing(&tried), gib(2));
    assert_eq!(missing(&MemoryError { tried: gib(4), ..tried.clone() }), None);
    assert_eq!(missing(&MemoryError { over: gib(7), ..tried.clone() }), gib(7));
    assert_eq!(missing(&MemoryError { memory: Memory::Main, ..tried }), None);
}

fn others_of(error: &MemoryError) -> Option<(bool, u64, usize)> {
    others(error).map(|(cause, bytes)| match cause {
        Cause::Others { bytes: b, named } => {
            assert_eq!(b, bytes);
            (true, bytes.0, named)
        }
        Cause::Desktop { bytes: b } => {
            assert_eq!(b, bytes);
            (false, bytes.0, 0)
        }
        cause => unreachable!("{cause:?}"),
    })
}

#[test]
fn others_hold_what_is_named_or_what_is_left_over() {
    let small = WORTH_A_WORD.0;
    // Named neighbours, where they are worth a word.
    let named = |bytes: &[u64]| {
        let neighbours = bytes.iter().map(|n| Neighbour { pid: 1, bytes: Bytes(*n) }).collect();
        others_of(&MemoryError { neighbours, ..error() })
    };
    assert_eq!(named(&[small, 1]), Some((true, small + 1, 2)));
    assert_eq!(named(&[small]), None);
    // What the message says of others, from two gibibytes on.
    let said = |bytes| others_of(&MemoryError { others: Some(Bytes(bytes)), ..error() });
    assert_eq!((said(2 * GIB), said(2 * GIB + 1)), (None, Some((true, 2 * GIB + 1, 0))));
    // The card's use less this process's.
    let used = |in_use: u64| {
        others_of(&MemoryError { capacity: gib(24), free: gib(4), in_use: Some(Bytes(in_use)), ..error() })
    };
    let taken = 20 * GIB;
    assert_eq!(used(taken - CONTEXT.0 - 1), Some((true, CONTEXT.0 + 1, 0)));
    assert_eq!(used(taken - CONTEXT.0), Some((false, CONTEXT.0, 0)));
    assert_eq!(used(taken - small - 1), Some((false, small + 1, 0)));
    assert_eq!(used(taken - small), None);
    // Or less what its allocator holds; its own context is among that.
    let held = |rest: u64, memory, windows| {
        let allocated = Some(Bytes(taken - rest - GIB));
        others_of(&MemoryError {
            memory,
            windows,
            capacity: gib(24),
            free: gib(4),
            allocated,
            unused: gib(1),
            ..error()
        })
    };
    let many = CONTEXT.0 + GIB;
    assert_eq!(held(many + 1, Memory::Cuda, false), Some((true, GIB + 1, 0)));
    assert_eq!(held(many, Memory::Cuda, false), Some((false, many - OWN_CONTEXT.0, 0)));
    assert_eq!(held(many, Memory::Npu, false), None);
    assert_eq!(held(GIB + 1, Memory::Cuda, false), Some((false, GIB + 1 - OWN_CONTEXT.0, 0)));
    assert_eq!(held(GIB, Memory::Cuda, false), None);
    assert_eq!(held(GIB, Memory::Cuda, true), Some((false, GIB - OWN_CONTEXT.0, 0)));
    assert_eq!(held(GIB / 2, Memory::Cuda, true), None);
}
