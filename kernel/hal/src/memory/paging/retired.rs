// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables that were taken out, until no CPU can be walking them.

use core::sync::atomic::Ordering;

use super::tables::table;

/// Table pages taken out, the oldest first: a list through the pages themselves, so that taking one out needs no memory.
pub(super) struct Retired {
    first: u64,
    last: u64,
}

/// Entry of a retired table that holds the next one's address; 0 at the end. No CPU takes it for a page.
const NEXT: usize = 0;
/// Entry of a retired table that holds the flush after which nobody can be walking it, in bits above that for presence.
const FLUSH: usize = 1;

impl Retired {
    pub(super) const fn new() -> Self {
        Self { first: 0, last: 0 }
    }

    pub(super) fn push(&mut self, pa: u64, flush: u64) {
        table(pa)[NEXT].store(0, Ordering::Relaxed);
        table(pa)[FLUSH].store(flush << 1, Ordering::Relaxed);
        match self.last {
            0 => self.first = pa,
            last => table(last)[NEXT].store(pa, Ordering::Relaxed),
        }
        self.last = pa;
    }

    /// Takes out the oldest if its flush is `completed`.
    pub(super) fn pop(&mut self, completed: u64) -> Option<u64> {
        let oldest = self.first;
        if oldest == 0 || table(oldest)[FLUSH].load(Ordering::Relaxed) >> 1 > completed {
            return None;
        }
        self.first = table(oldest)[NEXT].load(Ordering::Relaxed);
        if self.first == 0 {
            self.last = 0;
        }
        Some(oldest)
    }
}
