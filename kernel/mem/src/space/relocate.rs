// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moving pages from one range of the page table to another, without copying their content.
//!
//! A move that runs out of memory for page tables is taken back, and the way back needs no memory: pages are removed in pieces
//! smaller than what one table spans, so that the tables of the old range stay until the move has succeeded.

use arrayvec::ArrayVec;

use super::mmu::{BlockState, MapError, Page, PageFlags, PageSize, Unmapped};
use super::{AddressSpace, LARGE_BYTES, Mmu, PAGE_SIZE, SpaceError};

/// Pages removed at a time.
const PIECE_PAGES: usize = 32;

impl<M: Mmu> AddressSpace<M> {
    /// Moves the pages of `old..old + len`, whose edges are split, to a free range; all of them or none. The lock is held for
    /// writing, and the caller flushes both ranges.
    pub(super) fn move_pages(
        &self,
        old: usize,
        new: usize,
        len: usize,
        flags: PageFlags,
    ) -> Result<(), SpaceError> {
        let mut at = old;
        while at < old + len {
            let next = ((at & !(LARGE_BYTES - 1)) + LARGE_BYTES).min(old + len);
            if self.move_block(at, at - old + new, next - at, flags).is_err() {
                let back = self.move_small(new, old, next - old, flags);
                assert_eq!(back, Ok(()), "the tables of the old range are still there");
                return Err(SpaceError::NoMemory);
            }
            at = next;
        }
        // The tables may go now. There are no pages left to hand out and no edge to split.
        let emptied = self.mmu.unmap(old, len, &mut |_, _, _| {});
        assert_eq!(emptied, Ok(()));
        Ok(())
    }

    /// Moves the pages of one 2 MiB block, or of a part of it.
    fn move_block(&self, from: usize, to: usize, len: usize, flags: PageFlags) -> Result<(), MapError> {
        if let Some((pa, old)) = self.mmu.large(from) {
            let fits = to.is_multiple_of(LARGE_BYTES) && self.mmu.block(to) == BlockState::Empty;
            if !fits {
                self.mmu.protect(from, PAGE_SIZE, flags)?;
                self.note_split(pa, old);
            }
        }
        self.move_small(from, to, len, flags)
    }

    /// Moves pages one by one; on failure each is in one of the two places.
    fn move_small(&self, from: usize, to: usize, len: usize, flags: PageFlags) -> Result<(), MapError> {
        let mut at = from;
        while at < from + len {
            let large = matches!(self.mmu.lookup(at), Some((_, PageSize::Size2M, _)));
            let piece = if large { LARGE_BYTES } else { PIECE_PAGES * PAGE_SIZE };
            let next = ((at & !(piece - 1)) + piece).min(from + len);
            let mut pages = ArrayVec::<(usize, Page<Unmapped>, PageFlags), PIECE_PAGES>::new();
            self.mmu.unmap(at, next - at, &mut |va, page, old| pages.push((va, page, old)))?;
            let mut failed = None;
            for (va, page, old) in pages {
                // A page that was written stays to be written back.
                let flags = flags | old.intersection(PageFlags::DIRTY);
                let moved = match failed {
                    None => self.mmu.map(va - from + to, page, flags),
                    Some(error) => Err((error, page)),
                };
                if let Err((error, page)) = moved {
                    failed = Some(error);
                    // Where it comes from there still is a table, and nothing else.
                    let back = self.mmu.map(va, page, flags);
                    assert!(back.is_ok(), "a page goes back to where it was");
                }
            }
            failed.map_or(Ok(()), Err)?;
            at = next;
        }
        Ok(())
    }
}
