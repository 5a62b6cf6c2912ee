// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables that were taken out, until no CPU can be walking them, and some of them longer: a table of which everything was
//! removed is full of zeros, and one that is needed next is that.

use core::sync::atomic::Ordering;

use super::TableNumber;
use super::tables::table;
use crate::memory::frames::ledger;
use crate::memory::tlb;

/// Table pages taken out, the oldest first: a list through the pages themselves, so that taking one out needs no memory.
pub(super) struct Retired {
    /// What they were taken out of.
    of: TableNumber,
    first: u64,
    last: u64,
    count: usize,
    /// A flush that is known to be over on every CPU.
    completed: u64,
}

/// What is in a table that was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing.
    Zeros,
    /// Entries that were not removed one by one.
    Arbitrary,
}

/// Tables of zeros that are kept, 256 KiB: about as many as are taken out between two flushes that the address space begins.
const KEPT: usize = 64;

/// Entry of a retired table that holds the next one's address; 0 at the end. No CPU takes it for a page.
const NEXT: usize = 0;
/// Entry of a retired table that holds the flush after which nobody can be walking it, in bits above that for presence and
/// [`ARBITRARY`].
const FLUSH: usize = 1;
/// Bit of that entry: the rest is not zeros.
const ARBITRARY: u64 = 1 << 1;
const FLUSH_AT: u32 = 2;

impl Retired {
    pub(super) const fn new(of: TableNumber) -> Self {
        Self { of, first: 0, last: 0, count: 0, completed: 0 }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, pa: u64, flush: u64, content: Content) {
        let arbitrary = if content == Content::Arbitrary { ARBITRARY } else { 0 };
        table(pa)[NEXT].store(0, Ordering::Relaxed);
        table(pa)[FLUSH].store(flush << FLUSH_AT | arbitrary, Ordering::Relaxed);
        match self.last {
            0 => self.first = pa,
            last => table(last)[NEXT].store(pa, Ordering::Relaxed),
        }
        self.last = pa;
        self.count += 1;
    }

    /// Takes out the oldest if its flush is over.
    pub(super) fn pop(&mut self) -> Option<u64> {
        self.pop_if(|_, _| true)
    }

    /// The same, if it need not be kept.
    pub(super) fn pop_surplus(&mut self) -> Option<u64> {
        self.pop_if(|count, content| count > KEPT || content == Content::Arbitrary)
    }

    /// The same, if it is full of zeros but for the words of this list: makes it a table that is.
    pub(super) fn pop_zeros(&mut self) -> Option<u64> {
        let pa = self.pop_if(|_, content| content == Content::Zeros)?;
        table(pa)[NEXT].store(0, Ordering::Relaxed);
        table(pa)[FLUSH].store(0, Ordering::Relaxed);
        // As a new one has.
        ledger::users(pa).store(0, Ordering::Relaxed);
        debug_assert!(table(pa).iter().all(|entry| entry.load(Ordering::Relaxed) == 0));
        Some(pa)
    }

    fn pop_if(&mut self, is_wanted: impl FnOnce(usize, Content) -> bool) -> Option<u64> {
        let oldest = self.first;
        if oldest == 0 {
            return None;
        }
        let word = table(oldest)[FLUSH].load(Ordering::Relaxed);
        let content = if word & ARBITRARY == 0 { Content::Zeros } else { Content::Arbitrary };
        if !is_wanted(self.count, content) || !self.is_over(word >> FLUSH_AT) {
            return None;
        }
        self.first = table(oldest)[NEXT].load(Ordering::Relaxed);
        if self.first == 0 {
            self.last = 0;
        }
        self.count -= 1;
        Some(oldest)
    }

    fn is_over(&mut self, flush: u64) -> bool {
        if flush > self.completed {
            self.completed = tlb::completed_of(self.of).through();
        }
        flush <= self.completed
    }
}
