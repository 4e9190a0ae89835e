//! A walk written down: what was alive after each operator, or what was asked of the allocator, in order.
//!
//! One observer for both, so that the walk is compiled once for them.

use super::allocator::Allocator;
use super::run::{Live, Observer, Phase};

/// What a walk came by.
#[derive(Default)]
pub struct Course {
    /// Phase and live bytes after each operator, scratch among the temporaries; empty where requests are kept.
    pub ticks: Vec<(Phase, Live)>,
    requests: Option<Vec<Request>>,
}

enum Request {
    Alloc(u32, u64),
    Free(u32),
    Scratch(u64),
}

impl Course {
    /// Writes down what is asked of the allocator.
    pub(super) fn of_requests() -> Self {
        Self { ticks: Vec::new(), requests: Some(Vec::new()) }
    }

    /// Asks an allocator for the same.
    pub(super) fn replay(&self, allocator: &mut Allocator) {
        for request in self.requests.iter().flatten() {
            match *request {
                Request::Alloc(storage, bytes) => allocator.alloc(storage, bytes),
                Request::Free(storage) => allocator.free(storage),
                Request::Scratch(bytes) => allocator.scratch(bytes),
            }
        }
    }

    fn ask(&mut self, request: Request) {
        if let Some(requests) = &mut self.requests {
            requests.push(request);
        }
    }
}

impl Observer for Course {
    fn alloc(&mut self, storage: u32, bytes: u64) {
        self.ask(Request::Alloc(storage, bytes));
    }

    fn free(&mut self, storage: u32) {
        self.ask(Request::Free(storage));
    }

    fn scratch(&mut self, bytes: u64) {
        self.ask(Request::Scratch(bytes));
    }

    fn tick(&mut self, phase: Phase, live: &Live, scratch: u64) {
        if self.requests.is_none() {
            let mut live = *live;
            live[super::run::Category::Temporaries as usize] += scratch;
            self.ticks.push((phase, live));
        }
    }
}
