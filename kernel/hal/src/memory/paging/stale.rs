// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that were unmapped and wait for a flush.

use core::mem;

use super::{Page, Unmapped};
use crate::memory::frames::Chain;
use crate::memory::tlb::{self, Flushed};

/// Blocks that some CPU may still reach at the addresses where they were mapped. Only the proof of a flush frees them; what
/// is dropped is leaked. (A share in a frame ends at once: whoever has lent it keeps the frame until the flush.)
#[derive(Debug)]
#[must_use = "its blocks have to be freed after a flush"]
pub struct Stale {
    blocks: Chain,
    /// The addresses are in this range.
    start: usize,
    end: usize,
    /// A flush that began later has made every CPU forget them.
    before: u64,
}

impl Default for Stale {
    fn default() -> Self {
        Self::new()
    }
}

impl Stale {
    /// No pages.
    pub const fn new() -> Self {
        Self { blocks: Chain::new(), start: usize::MAX, end: 0, before: 0 }
    }

    /// Memory that waits, in bytes.
    pub fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }

    /// Adds a page that was mapped at an address.
    pub fn push(&mut self, va: usize, page: Page<Unmapped>) {
        let end = va + page.size().bytes();
        if let Some(block) = page.into_unmapped_block() {
            self.blocks.push(block);
            (self.start, self.end) = (self.start.min(va), self.end.max(end));
            self.before = tlb::newest();
        }
    }

    /// Adds what waits elsewhere.
    pub fn join(&mut self, mut other: Self) {
        self.blocks.join(mem::take(&mut other.blocks));
        (self.start, self.end) = (self.start.min(other.start), self.end.max(other.end));
        self.before = self.before.max(other.before);
    }

    /// The blocks, which no CPU reaches any more.
    ///
    /// # Panics
    /// If the flush does not prove that.
    pub fn flushed(self, flush: &Flushed) -> Chain {
        assert!(
            self.blocks.is_empty() || flush.covers(self.start, self.end, self.before),
            "no flush of the pages"
        );
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::frames::{Block, host_arena};

    fn stale(va: usize) -> Stale {
        let block = Block::claim(host_arena(2 << 20), 0).unwrap();
        let mut stale = Stale::new();
        stale.push(va, Page::from(block).as_unmapped());
        stale
    }

    #[test]
    fn a_flush_of_the_range_frees_the_pages() {
        let mut both = stale(0x1_0000);
        both.join(stale(0x5_0000));
        assert_eq!(both.bytes(), 8192);
        let flush = tlb::shootdown(0x1_0000, 0x4_1000);
        let mut chain = both.flushed(&flush);
        assert!(chain.pop().is_some() && chain.pop().is_some() && chain.pop().is_none());
    }

    #[test]
    #[should_panic(expected = "no flush")]
    fn a_flush_of_another_range_does_not() {
        let _ = stale(0x1_0000).flushed(&tlb::shootdown(0x1_1000, 0x1000));
    }

    #[test]
    #[should_panic(expected = "no flush")]
    fn an_earlier_flush_does_not() {
        let earlier = tlb::shootdown(0, 1 << 47);
        tlb::begin_lazy();
        let _ = stale(0x1_0000).flushed(&earlier);
    }
}
