// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that were unmapped and wait for a flush.

use core::mem;

use super::{Page, TableNumber, Unmapped};
use crate::memory::frames::Chain;
use crate::memory::tlb::{self, Flushed};

/// Blocks that some CPU may still reach at the addresses where one page table had them. Only the proof of a flush frees them;
/// what is dropped is leaked. (A share in a frame ends at once: whoever has lent it keeps the frame until the flush.)
#[derive(Debug)]
#[must_use = "its blocks have to be freed after a flush"]
pub struct Stale {
    blocks: Chain,
    /// The page table: the bits that one of the pages had in its number, and those that all had. They are told apart in the end
    /// only.
    table: (TableNumber, TableNumber),
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
        Self { blocks: Chain::new(), table: (0, TableNumber::MAX), start: usize::MAX, end: 0, before: 0 }
    }

    /// Whether some of it was shared: then every CPU has to flush, whichever page table it runs.
    pub fn was_shared(&self) -> bool {
        !self.blocks.is_empty() && self.table.0 == tlb::ALL
    }

    /// Memory that waits, in bytes.
    pub fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }

    /// Adds a page that was mapped at an address, in the same page table as the others.
    pub fn push(&mut self, va: usize, page: Page<Unmapped>) {
        let end = va + page.size().bytes();
        if let Some(table) = page.add_to(&mut self.blocks) {
            self.table = (self.table.0 | table, self.table.1 & table);
            (self.start, self.end) = (self.start.min(va), self.end.max(end));
            self.before = tlb::newest();
        }
    }

    /// Adds what waits elsewhere, of the same page table.
    pub fn join(&mut self, mut other: Self) {
        self.table = (self.table.0 | other.table.0, self.table.1 & other.table.1);
        self.blocks.join(mem::take(&mut other.blocks));
        (self.start, self.end) = (self.start.min(other.start), self.end.max(other.end));
        self.before = self.before.max(other.before);
    }

    /// The blocks, which no CPU reaches any more.
    ///
    /// # Panics
    /// If the flush does not prove that.
    pub fn flushed(self, flush: &Flushed) -> Chain {
        let (one, all) = self.table;
        // What was shared any CPU may find.
        let table = if one == all { one } else { tlb::ALL };
        let is_flushed = flush.covers(table, self.start, self.end, self.before);
        assert!(self.blocks.is_empty() || is_flushed, "no flush of the pages");
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::super::PageSize;
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
        let flush = tlb::shootdown_of(0, 0x1_0000, 0x4_1000);
        let mut chain = both.flushed(&flush);
        assert!(chain.pop().is_some() && chain.pop().is_some() && chain.pop().is_none());
    }

    #[test]
    #[should_panic(expected = "no flush")]
    fn a_flush_of_another_range_does_not() {
        let _ = stale(0x1_0000).flushed(&tlb::shootdown_of(0, 0x1_1000, 0x1000));
    }

    #[test]
    #[should_panic(expected = "no flush")]
    fn a_flush_of_another_table_does_not() {
        let _ = stale(0x1_0000).flushed(&tlb::shootdown_of(1, 0, 1 << 47));
    }

    #[test]
    #[should_panic(expected = "no flush")]
    fn pages_of_two_tables_are_not_freed_together() {
        let mut both = stale(0x1_0000);
        let block = Block::claim(host_arena(2 << 20), 0).unwrap();
        // SAFETY: the block is given away here.
        let page = unsafe { Page::from_entry(block.into_phys(), PageSize::Size4K, 1) };
        both.push(0x2_0000, page);
        let _ = both.flushed(&tlb::shootdown_of(1, 0, 1 << 47));
    }

    #[test]
    #[should_panic(expected = "no flush")]
    fn an_earlier_flush_does_not() {
        let earlier = tlb::shootdown_of(0, 0, 1 << 47);
        tlb::begin_lazy();
        let _ = stale(0x1_0000).flushed(&earlier);
    }
}
