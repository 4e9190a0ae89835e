//! PyTorch's caching allocator, as far as its size is concerned: segments, best fit, splitting, coalescing.
//!
//! Sizes are those of `c10/cuda/CUDACachingAllocator.cpp`: requests up to 1 MiB come from segments of 2 MiB, requests
//! below 10 MiB from segments of 20 MiB, larger ones get a segment of their own rounded up to 2 MiB. Without a capacity
//! nothing is ever given back; with one, unused segments are, before it gives up.

use super::run::Observer;
use crate::network::round;

const SMALL: u64 = 1 << 20;
const SMALL_SEGMENT: u64 = 2 << 20;
const LARGE_SEGMENT: u64 = 20 << 20;
const MIN_LARGE: u64 = 10 << 20;
const ROUND_LARGE: u64 = 2 << 20;
const NONE: u32 = u32::MAX;

/// What the driver is asked for, bytes, where a tensor of this size finds no room in what is held already.
pub const fn allocation(size: u64) -> u64 {
    if size <= SMALL { SMALL_SEGMENT } else { segment(size) }
}

/// What is asked of the card for a large block.
const fn segment(size: u64) -> u64 {
    if size < MIN_LARGE { LARGE_SEGMENT } else { size.div_ceil(ROUND_LARGE).saturating_mul(ROUND_LARGE) }
}

#[derive(Clone, Copy)]
struct Block {
    size: u64,
    previous: u32,
    next: u32,
    small: bool,
    free: bool,
    /// When it came to be: of blocks of one size the older is taken.
    born: u32,
}

/// Free blocks by size and age, with their place, the smallest and oldest first; there are few, so that they lie in a row.
#[derive(Default)]
struct Free(Vec<(u64, u32, u32)>);

impl Free {
    fn place(&self, size: u64, born: u32) -> usize {
        self.0.partition_point(|(other, age, _)| (*other, *age) < (size, born))
    }

    /// Size of the smallest block that `size` fits into.
    fn smallest(&self, size: u64) -> Option<u64> {
        self.0.get(self.place(size, 0)).map(|(size, ..)| *size)
    }

    /// The smallest block that `size` fits into.
    fn take(&mut self, size: u64) -> Option<u32> {
        let at = self.place(size, 0);
        (at < self.0.len()).then(|| self.0.remove(at).2)
    }

    fn insert(&mut self, block: &Block, id: u32) {
        self.0.insert(self.place(block.size, block.born), (block.size, block.born, id));
    }

    fn remove(&mut self, block: &Block) {
        let at = self.place(block.size, block.born);
        if self.0.get(at).is_some_and(|(size, born, _)| (*size, *born) == (block.size, block.born)) {
            self.0.remove(at);
        }
    }
}

/// The simulated allocator; feed it as an [`Observer`].
#[derive(Default)]
pub struct Allocator {
    /// Segments of the large pool, and those of the small one.
    large: u64,
    small: u64,
    peak: u64,
    live: u64,
    live_peak: u64,
    /// What is in use of the small pool.
    small_live: u64,
    /// What there is to reserve from.
    capacity: Option<u64>,
    failed: bool,
    blocks: Vec<Block>,
    /// Blocks that there were.
    born: u32,
    /// Places of blocks that are no more.
    unused: Vec<u32>,
    free: Free,
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
        self.born += 1;
        let block = Block { size, previous, next, small, free: false, born: self.born };
        if let Some(id) = self.unused.pop() {
            self.blocks[id as usize] = block;
            return id;
        }
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    fn use_more(&mut self, bytes: u64) {
        self.live += bytes;
        self.live_peak = self.live_peak.max(self.live);
    }

    fn take(&mut self, bytes: u64) -> u32 {
        let size = round(bytes.max(1));
        if size <= SMALL {
            return self.take_small(size);
        }
        let id = if let Some(id) = self.free.take(size) {
            id
        } else {
            let segment = segment(size);
            self.make_room(segment);
            self.large += segment;
            self.peak = self.peak.max(self.large + self.small);
            self.block(segment, NONE, NONE, false)
        };
        let at = id as usize;
        self.blocks[at].free = false;
        let rest = self.blocks[at].size - size;
        if rest > SMALL {
            let next = self.blocks[at].next;
            let remainder = self.block(rest, id, next, false);
            if next != NONE {
                self.blocks[next as usize].previous = remainder;
            }
            self.blocks[at].next = remainder;
            self.blocks[at].size = size;
            self.blocks[remainder as usize].free = true;
            self.free.insert(&self.blocks[remainder as usize], remainder);
        }
        self.use_more(self.blocks[at].size);
        id
    }

    /// Small blocks fill their segments without gaps here: all of them together are little.
    fn take_small(&mut self, size: u64) -> u32 {
        self.small_live += size;
        let segments = self.small_live.div_ceil(SMALL_SEGMENT) * SMALL_SEGMENT;
        if segments > self.small {
            self.make_room(segments - self.small);
            self.small = segments;
            self.peak = self.peak.max(self.large + self.small);
        }
        self.use_more(size);
        self.block(size, NONE, NONE, true)
    }

    /// Before a new segment is asked for.
    fn make_room(&mut self, segment: u64) {
        let Some(capacity) = self.capacity else { return };
        if self.large + self.small + segment > capacity {
            self.flush();
            self.failed |= self.large + self.small + segment > capacity;
        }
    }

    /// Gives back every large segment of which nothing is in use (`release_cached_blocks`).
    fn flush(&mut self) {
        let (blocks, unused, large) = (&self.blocks, &mut self.unused, &mut self.large);
        self.free.0.retain(|&(size, _, id)| {
            let block = &blocks[id as usize];
            let whole = block.previous == NONE && block.next == NONE;
            if whole {
                unused.push(id);
                *large -= size;
            }
            !whole
        });
    }

    fn give(&mut self, id: u32) {
        let at = id as usize;
        let block = self.blocks[at];
        self.live = self.live.saturating_sub(block.size);
        if block.small {
            self.small_live = self.small_live.saturating_sub(block.size);
            self.unused.push(id);
            return;
        }
        let next = block.next;
        if next != NONE && self.blocks[next as usize].free {
            let after = self.blocks[next as usize];
            self.free.remove(&after);
            self.unused.push(next);
            self.blocks[at].size += after.size;
            self.blocks[at].next = after.next;
            if after.next != NONE {
                self.blocks[after.next as usize].previous = id;
            }
        }
        let previous = block.previous;
        if previous != NONE && self.blocks[previous as usize].free {
            let here = self.blocks[at];
            let before = self.blocks[previous as usize];
            self.free.remove(&before);
            self.unused.push(id);
            self.blocks[previous as usize].size += here.size;
            self.blocks[previous as usize].next = here.next;
            if here.next != NONE {
                self.blocks[here.next as usize].previous = previous;
            }
            self.free.insert(&self.blocks[previous as usize], previous);
            return;
        }
        self.blocks[at].free = true;
        self.free.insert(&self.blocks[at], id);
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
        let size = round(bytes.max(1));
        if size > SMALL
            && let Some(whole) = self.free.smallest(size)
        {
            // It leaves everything as it was. What is too little to be cut off is in use with it.
            let used = if whole - size > SMALL { size } else { whole };
            self.live_peak = self.live_peak.max(self.live + used);
            return;
        }
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
