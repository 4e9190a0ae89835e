//! PyTorch's caching allocator, as far as its size is concerned: segments, best fit, splitting, coalescing.
//!
//! Sizes are those of `c10/cuda/CUDACachingAllocator.cpp`: requests up to 1 MiB come from segments of 2 MiB, requests
//! below 10 MiB from segments of 20 MiB, larger ones get a segment of their own rounded up to 2 MiB. Nothing is ever
//! given back, so on a full card the real allocator, which frees unused segments before it gives up, holds less.

use super::run::Observer;
use crate::network::round;
use std::collections::BTreeSet;

const SMALL: u64 = 1 << 20;
const SMALL_SEGMENT: u64 = 2 << 20;
const LARGE_SEGMENT: u64 = 20 << 20;
const MIN_LARGE: u64 = 10 << 20;
const ROUND_LARGE: u64 = 2 << 20;
const MIN_SPLIT: u64 = 512;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Block {
    size: u64,
    previous: u32,
    next: u32,
    small: bool,
    free: bool,
}

/// The simulated allocator; feed it as an [`Observer`].
#[derive(Default)]
pub struct Allocator {
    reserved: u64,
    peak: u64,
    live: u64,
    live_peak: u64,
    /// What there is to reserve from.
    capacity: Option<u64>,
    failed: bool,
    blocks: Vec<Block>,
    /// Free blocks by size: small segments, large segments.
    free: [BTreeSet<(u64, u32)>; 2],
    /// Block of each storage.
    owner: Vec<u32>,
}

impl Allocator {
    /// One that has no more than this to hold: it gives back what it only caches before it fails.
    pub fn of(capacity: u64) -> Self {
        Self { capacity: Some(capacity), ..Self::default() }
    }

    /// Whether a request found no room.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// What it holds at the most.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Most that was in use.
    pub fn live_peak(&self) -> u64 {
        self.live_peak
    }

    fn block(&mut self, size: u64, previous: u32, next: u32, small: bool) -> u32 {
        self.blocks.push(Block { size, previous, next, small, free: false });
        self.blocks.len() as u32 - 1
    }

    fn take(&mut self, bytes: u64) -> u32 {
        let size = round(bytes.max(1));
        let small = size <= SMALL;
        let pool = usize::from(!small);
        let found = self.free[pool].range((size, 0)..).next().copied();
        let id = if let Some(key) = found {
            self.free[pool].remove(&key);
            key.1
        } else {
            let segment = if small {
                SMALL_SEGMENT
            } else if size < MIN_LARGE {
                LARGE_SEGMENT
            } else {
                size.div_ceil(ROUND_LARGE) * ROUND_LARGE
            };
            if self.capacity.is_some_and(|capacity| self.reserved + segment > capacity) {
                self.flush();
                self.failed |= self.capacity.is_some_and(|capacity| self.reserved + segment > capacity);
            }
            self.reserved += segment;
            self.peak = self.peak.max(self.reserved);
            self.block(segment, NONE, NONE, small)
        };
        let at = id as usize;
        self.blocks[at].free = false;
        let rest = self.blocks[at].size - size;
        if if small { rest >= MIN_SPLIT } else { rest > SMALL } {
            let next = self.blocks[at].next;
            let remainder = self.block(rest, id, next, small);
            if next != NONE {
                self.blocks[next as usize].previous = remainder;
            }
            self.blocks[at].next = remainder;
            self.blocks[at].size = size;
            self.blocks[remainder as usize].free = true;
            self.free[pool].insert((rest, remainder));
        }
        self.live += self.blocks[at].size;
        self.live_peak = self.live_peak.max(self.live);
        id
    }

    /// Gives back every segment of which nothing is in use (`release_cached_blocks`).
    fn flush(&mut self) {
        for pool in 0..self.free.len() {
            let blocks = &self.blocks;
            let whole: Vec<(u64, u32)> = self.free[pool]
                .iter()
                .filter(|(_, id)| {
                    let block = blocks[*id as usize];
                    block.previous == NONE && block.next == NONE
                })
                .copied()
                .collect();
            for key in whole {
                self.free[pool].remove(&key);
                self.reserved -= key.0;
            }
        }
    }

    fn give(&mut self, id: u32) {
        let at = id as usize;
        self.live = self.live.saturating_sub(self.blocks[at].size);
        let pool = usize::from(!self.blocks[at].small);
        let next = self.blocks[at].next;
        if next != NONE && self.blocks[next as usize].free {
            let after = self.blocks[next as usize];
            self.free[pool].remove(&(after.size, next));
            self.blocks[at].size += after.size;
            self.blocks[at].next = after.next;
            if after.next != NONE {
                self.blocks[after.next as usize].previous = id;
            }
        }
        let previous = self.blocks[at].previous;
        if previous != NONE && self.blocks[previous as usize].free {
            let here = self.blocks[at];
            let before = self.blocks[previous as usize];
            self.free[pool].remove(&(before.size, previous));
            self.blocks[previous as usize].size += here.size;
            self.blocks[previous as usize].next = here.next;
            if here.next != NONE {
                self.blocks[here.next as usize].previous = previous;
            }
            self.free[pool].insert((self.blocks[previous as usize].size, previous));
            return;
        }
        self.blocks[at].free = true;
        self.free[pool].insert((self.blocks[at].size, id));
    }

    /// Memory that stays for good: weights, optimizer state.
    pub fn resident(&mut self, bytes: u64) {
        self.take(bytes);
    }

    /// Memory that stays until it is given back.
    pub(super) fn hold(&mut self, bytes: u64) -> u32 {
        self.take(bytes)
    }

    /// Pieces that are all there before the first of them goes.
    pub(super) fn together(&mut self, sizes: &[u64]) {
        let blocks: Vec<u32> = sizes.iter().map(|&bytes| self.take(bytes)).collect();
        for id in blocks {
            self.give(id);
        }
    }

    /// What the run that was watched has left: its gradients. The next run counts its storages anew.
    pub(super) fn left(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.owner).into_iter().filter(|&id| id != NONE).collect()
    }

    /// Gives back what a run had left, or what was held.
    pub(super) fn drop_left(&mut self, left: Vec<u32>) {
        for id in left {
            self.give(id);
        }
    }
}

impl Observer for Allocator {
    fn alloc(&mut self, storage: u32, bytes: u64) {
        let id = if bytes == 0 { NONE } else { self.take(bytes) };
        let at = storage as usize;
        if self.owner.len() <= at {
            self.owner.resize(at + 1, NONE);
        }
        self.owner[at] = id;
    }

    fn free(&mut self, storage: u32) {
        if let Some(id) = self.owner.get_mut(storage as usize) {
            let id = std::mem::replace(id, NONE);
            if id != NONE {
                self.give(id);
            }
        }
    }

    fn scratch(&mut self, bytes: u64) {
        let id = self.take(bytes);
        self.give(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_pytorchs_sizes() {
        // Request, reserved afterwards.
        for (bytes, reserved) in [
            (1, 2 << 20),
            (1 << 20, 2 << 20),
            ((1 << 20) + 1, 20 << 20),
            ((10 << 20) - 512, 20 << 20),
            (10 << 20, 10 << 20),
            ((11 << 20) + 1, 12 << 20),
        ] {
            let mut a = Allocator::default();
            a.alloc(0, bytes);
            assert_eq!(a.peak(), reserved, "{bytes}");
        }
    }

    #[test]
    fn freed_neighbours_join() {
        let mut a = Allocator::default();
        a.alloc(0, 6 << 20);
        a.alloc(1, 6 << 20);
        a.alloc(2, 6 << 20);
        a.free(0);
        a.free(2);
        a.free(1);
        a.alloc(3, 19 << 20);
        assert_eq!(a.peak(), 20 << 20);
    }
}
