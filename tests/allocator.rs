//! The simulated allocator beside a plain one: lists instead of links, written from the description of
//! `c10/cuda/CUDACachingAllocator.cpp`; and what must hold for any allocator.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dice;

use dice::Dice;
use enough_gpu::step::{Allocator, Observer};

const MIB: u64 = 1 << 20;

/// A piece of a segment; `owner` is the storage that uses it.
#[derive(Clone, Debug)]
struct Piece {
    born: u32,
    size: u64,
    owner: Option<u32>,
}

/// Segments in the order in which they were reserved, each cut into pieces.
#[derive(Default)]
struct Plain {
    segments: Vec<(bool, Vec<Piece>)>,
    capacity: Option<u64>,
    born: u32,
    peak: u64,
    live_peak: u64,
    failed: bool,
}

impl Plain {
    fn reserved(&self) -> u64 {
        self.segments.iter().flat_map(|(_, pieces)| pieces).map(|piece| piece.size).sum()
    }

    fn live(&self) -> u64 {
        let pieces = self.segments.iter().flat_map(|(_, pieces)| pieces);
        pieces.filter(|piece| piece.owner.is_some()).map(|piece| piece.size).sum()
    }

    fn birth(&mut self) -> u32 {
        self.born += 1;
        self.born - 1
    }

    fn take(&mut self, storage: u32, bytes: u64) {
        // Sizes are multiples of 512 bytes; up to 1 MiB they are small.
        let size = bytes.max(1).div_ceil(512) * 512;
        let small = size <= MIB;
        // The smallest free piece that is large enough; the older of equals.
        let mut best: Option<(u64, u32, usize, usize)> = None;
        for (s, (kind, pieces)) in self.segments.iter().enumerate() {
            for (p, piece) in pieces.iter().enumerate() {
                let candidate = (piece.size, piece.born, s, p);
                let fits = *kind == small && piece.owner.is_none() && piece.size >= size;
                if fits && best.is_none_or(|b| (candidate.0, candidate.1) < (b.0, b.1)) {
                    best = Some(candidate);
                }
            }
        }
        let (s, p) = best.map_or_else(
            || {
                // 2 MiB for small ones, 20 MiB for those below 10, else the size itself in steps of 2 MiB.
                let segment = match size {
                    _ if small => 2 * MIB,
                    _ if size < 10 * MIB => 20 * MIB,
                    _ => size.div_ceil(2 * MIB) * 2 * MIB,
                };
                let full = |plain: &Self| plain.capacity.is_some_and(|most| plain.reserved() + segment > most);
                if full(self) {
                    self.segments.retain(|(_, pieces)| pieces.len() > 1 || pieces[0].owner.is_some());
                    self.failed |= full(self);
                }
                let born = self.birth();
                self.segments.push((small, vec![Piece { born, size: segment, owner: None }]));
                (self.segments.len() - 1, 0)
            },
            |(_, _, s, p)| (s, p),
        );
        // What is left over is cut off where it is of use: 512 bytes of small ones, more than 1 MiB of the others.
        let rest = self.segments[s].1[p].size - size;
        if (small && rest >= 512) || rest > MIB {
            let born = self.birth();
            self.segments[s].1[p].size = size;
            self.segments[s].1.insert(p + 1, Piece { born, size: rest, owner: None });
        }
        self.segments[s].1[p].owner = Some(storage);
        self.peak = self.peak.max(self.reserved());
        self.live_peak = self.live_peak.max(self.live());
    }

    fn give(&mut self, storage: u32) {
        for (_, pieces) in &mut self.segments {
            let Some(p) = pieces.iter().position(|piece| piece.owner == Some(storage)) else { continue };
            pieces[p].owner = None;
            // Free neighbours become one.
            if pieces.get(p + 1).is_some_and(|next| next.owner.is_none()) {
                pieces[p].size += pieces.remove(p + 1).size;
            }
            if p > 0 && pieces[p - 1].owner.is_none() {
                pieces[p - 1].size += pieces.remove(p).size;
            }
        }
    }
}

/// Sizes around every bound of large blocks, and between them.
fn size(dice: &mut Dice) -> u64 {
    let around = *dice.of(&[MIB, 2 * MIB, 5 * MIB, 10 * MIB, 12 * MIB, 19 * MIB, 20 * MIB, 40 * MIB]);
    let size = match dice.below(4) {
        0 => around,
        1 => around + 1 + dice.below(600) as u64,
        2 => around - 1 - dice.below(500) as u64,
        _ => 1 + (dice.part() * around as f64) as u64,
    };
    size.max(MIB + 1)
}

/// Frees any of what is alive, in both.
fn free_one(alive: &mut Vec<u32>, simulated: &mut Allocator, plain: &mut Plain, dice: &mut Dice) {
    let storage = alive.swap_remove(dice.below(alive.len()));
    simulated.free(storage);
    plain.give(storage);
}

#[test]
fn it_does_what_a_plain_one_does() {
    let mut dice = Dice(41);
    for round in 0..400 {
        let capacity = (round % 2 == 1).then(|| (40 + dice.below(400) as u64) * MIB);
        let mut simulated = capacity.map_or_else(Allocator::default, Allocator::of);
        let mut plain = Plain { capacity, ..Plain::default() };
        let mut alive: Vec<u32> = Vec::new();
        for storage in 0..60 {
            if dice.below(5) < 3 || alive.is_empty() {
                let bytes = size(&mut dice);
                if dice.below(8) == 0 {
                    simulated.scratch(bytes);
                    plain.take(storage, bytes);
                    plain.give(storage);
                } else {
                    simulated.alloc(storage, bytes);
                    plain.take(storage, bytes);
                    alive.push(storage);
                }
            } else {
                free_one(&mut alive, &mut simulated, &mut plain, &mut dice);
            }
            let told = (simulated.peak(), simulated.live_peak(), simulated.failed());
            assert_eq!(told, (plain.peak, plain.live_peak, plain.failed), "round {round}, storage {storage}");
        }
    }
}

/// Small blocks are a sum here, as if they filled their segments without gaps: what is in use is exact, what is reserved
/// for them is the least that it can be.
#[test]
fn small_blocks_take_no_less_than_their_sum() {
    let mut dice = Dice(43);
    for round in 0..200 {
        let (mut simulated, mut plain) = (Allocator::default(), Plain::default());
        let mut alive: Vec<u32> = Vec::new();
        for storage in 0..200 {
            if dice.below(5) < 3 || alive.is_empty() {
                let bytes = 1 + dice.below(MIB as usize) as u64;
                simulated.alloc(storage, bytes);
                plain.take(storage, bytes);
                alive.push(storage);
            } else {
                free_one(&mut alive, &mut simulated, &mut plain, &mut dice);
            }
            assert_eq!(simulated.live_peak(), plain.live_peak, "round {round}, storage {storage}");
            let sum = plain.live_peak.div_ceil(2 * MIB) * 2 * MIB;
            assert_eq!(simulated.peak(), sum, "round {round}, storage {storage}");
            assert!(simulated.peak() <= plain.peak, "round {round}, storage {storage}");
        }
    }
}

/// On a card of its own peak nothing fails; what was only kept in store is given back before anything fails.
#[test]
fn a_full_card_gives_back_what_it_keeps_in_store() {
    let mut a = Allocator::of(50 * MIB);
    a.alloc(0, 30 * MIB);
    a.free(0);
    a.alloc(1, 40 * MIB);
    assert_eq!((a.peak(), a.failed()), (40 * MIB, false));
    a.alloc(2, 12 * MIB);
    assert!(a.failed(), "12 MiB are not there beside 40 of 50");
    // To the last byte.
    let mut exact = Allocator::of(40 * MIB);
    exact.alloc(0, 40 * MIB);
    assert!(!exact.failed());
    // Nothing is nothing.
    let mut none = Allocator::default();
    none.alloc(7, 0);
    none.free(7);
    none.free(99);
    assert_eq!((none.peak(), none.live_peak()), (0, 0));
}
