// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moving a page's content to a frame of another zone, while the program runs.
//!
//! The page stays in the table but cannot be touched, and every CPU flushes it: from then on its content stands still. It is
//! copied; then the new block takes its place, if nothing has changed in the window meanwhile (`Inner::generation`). So no
//! CPU can ever read the old page while another writes to the new one. Who touches the page in between waits for a moment and
//! then takes the rights back, so that nobody ever waits for a thread that does not run; the move begins anew then.

use core::sync::atomic::Ordering;

use hadal_hal::memory::frames::Block;
use hadal_hal::memory::paging::Stale;

use super::mmu::{Page, PageFlags, PageSize, Reach};
use super::{AddressSpace, Inner, LARGE_BYTES, Mmu, PAGE_SIZE, page_start};
use crate::frames::{Frame, ZoneId, ZonePolicy};

/// What came of moving a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is in the zone now, or was before.
    There,
    /// Nothing is mapped at the address.
    NoMapping,
    /// No page is there yet.
    Absent,
    /// It is a file's.
    Fixed,
    /// The zone has no frame.
    NoMemory,
    /// It is changed all the time.
    Busy,
}

/// Attempts to move a page that others change.
const TRIES: u32 = 16;
/// How often who touches a page that is being moved looks at it, and sees no progress, before it takes it back.
const LOOKS: u32 = 20_000;
/// Bytes copied at a time. Who waits for the lock to change something waits for one such piece.
const PIECE_BYTES: usize = 16 * PAGE_SIZE;
/// Pieces of the largest page that is moved.
const MOST_PIECES: usize = LARGE_BYTES / PIECE_BYTES;

/// A page that is being moved.
pub(super) struct Moving {
    va: usize,
    size: PageSize,
    flags: PageFlags,
    generation: u64,
}

impl<M: Mmu> AddressSpace<M> {
    /// Moves the page at `addr` to a zone.
    pub fn move_page(&self, addr: usize, zone: ZoneId) -> Moved {
        let page = page_start(addr);
        for _ in 0..TRIES {
            let found = match self.inner.read().map.find(page).map(|_| self.whole_page(page)) {
                None => return Moved::NoMapping,
                Some(None) => return Moved::Absent,
                Some(Some((pa, ..))) if self.frames.zone_of(pa) == Some(zone) => return Moved::There,
                Some(Some((_, size, _))) => size,
            };
            // If there is no large block in the zone, there may be small ones.
            let take = |size: PageSize| self.frames.alloc_program(size.order(), ZonePolicy::Only(zone));
            let (size, new) = match (take(found), found) {
                (Some(frame), size) => (size, frame),
                (None, PageSize::Size4K) => return Moved::NoMemory,
                (None, _) => match take(PageSize::Size4K) {
                    Some(frame) => (PageSize::Size4K, frame),
                    None => return Moved::NoMemory,
                },
            };
            let moving = match self.begin_move(page, size) {
                Ok(Some(moving)) => moving,
                Ok(None) => continue,
                Err(outcome) => return outcome,
            };
            self.flush_moving(&moving);
            let copied = self.copy_moving(&moving, &new);
            if let Some(old) = copied.then(|| self.end_move(&moving, new)).flatten() {
                self.free_moved(&moving, old);
                return Moved::There;
            }
            self.restore(page);
        }
        Moved::Busy
    }

    /// Frees the old block of a page that was moved, or ends the share in it.
    pub(super) fn free_moved(&self, moving: &Moving, old: Stale) {
        let flush = self.mmu.shootdown(moving.va, moving.size.bytes(), Reach::of(&old));
        self.frames.free_chain(old.flushed(&flush));
    }

    /// Makes every CPU forget a page that begins to move.
    pub(super) fn flush_moving(&self, moving: &Moving) {
        self.mmu.shootdown(moving.va, moving.size.bytes(), Reach::Table);
    }

    /// The page at an address, whole if it is one that grows. The lock is held.
    fn whole_page(&self, page: usize) -> Option<(u64, PageSize, PageFlags)> {
        self.mmu.complete(page);
        self.mmu.lookup(page)
    }

    /// Takes all rights to a page away, until the move ends or somebody takes them back; `None` if the page is not of the
    /// size any more. The caller flushes.
    pub(super) fn begin_move(&self, page: usize, size: PageSize) -> Result<Option<Moving>, Moved> {
        let inner = self.change();
        let vma = inner.map.find(page).ok_or(Moved::NoMapping)?;
        if !vma.owns_frames() {
            return Err(Moved::Fixed);
        }
        let (_, found, _) = self.whole_page(page).ok_or(Moved::Absent)?;
        if found > size {
            self.split_edges(page, page + PAGE_SIZE).map_err(|_| Moved::NoMemory)?;
        } else if found != size {
            return Ok(None);
        }
        let va = page & !(size.bytes() - 1);
        let untouchable = self.mmu.protect(va, size.bytes(), PageFlags::empty());
        untouchable.map_err(|_| Moved::NoMemory)?;
        Ok(Some(Moving { va, size, flags: vma.prot.page_flags(), generation: inner.generation }))
    }

    /// Copies a page that nobody can touch; false if something has changed.
    pub(super) fn copy_moving(&self, moving: &Moving, new: &Block) -> bool {
        let len = PIECE_BYTES.min(moving.size.bytes());
        (0..moving.size.bytes()).step_by(len).all(|offset| {
            // As long as the lock is held the page stays in the table.
            let inner = self.inner.read();
            self.pieces_copied.fetch_add(1, Ordering::Relaxed);
            inner.generation == moving.generation && self.mmu.copy_page(moving.va, offset, len, new)
        })
    }

    /// Puts the new block in the place of the old one, which the caller frees; `None` if something has changed.
    pub(super) fn end_move(&self, moving: &Moving, new: Frame) -> Option<Stale> {
        let mut inner = self.inner.write();
        if inner.generation != moving.generation {
            return None;
        }
        inner.generation += 1;
        let mut old = Stale::new();
        let removed = self.mmu.unmap(moving.va, moving.size.bytes(), &mut |va, page, _| old.push(va, page));
        assert!(removed.is_ok(), "a page is removed whole");
        let mapped = self.mmu.map(moving.va, Page::from(new.into_block()), moving.flags);
        assert!(mapped.is_ok(), "the table of the old page is still there");
        Some(old)
    }

    /// Gives a page the rights that its mapping has.
    pub(super) fn restore(&self, page: usize) {
        let inner = self.change();
        self.give_rights(&inner, page);
    }

    /// The same if it is not being moved.
    pub(super) fn permit(&self, page: usize) {
        let inner = self.inner.write();
        if self.mmu.lookup(page).is_some_and(|(_, _, flags)| flags.contains(PageFlags::READ)) {
            self.give_rights(&inner, page);
        }
    }

    /// Gives a page the rights that its mapping has. The lock is held for writing.
    fn give_rights(&self, inner: &Inner, page: usize) {
        let Some(vma) = inner.map.find(page) else { return };
        let Some((_, size, flags)) = self.mmu.lookup(page) else { return };
        let mut wanted = vma.prot.page_flags();
        wanted.set(PageFlags::WRITE, wanted.contains(PageFlags::WRITE) && !flags.contains(PageFlags::SHARED));
        if !flags.contains(wanted) {
            // Fails only to split a page, and this is a whole one.
            let _ = self.mmu.protect(page & !(size.bytes() - 1), size.bytes(), wanted);
        }
    }

    /// Somebody touches a page that is being moved: waits for a moment, and on while it is being copied, then ends the move.
    pub(super) fn wait_for_move(&self, page: usize) {
        for _ in 0..=MOST_PIECES {
            let copied = self.pieces_copied.load(Ordering::Relaxed);
            for _ in 0..LOOKS {
                if self.mmu.lookup(page).is_none_or(|(_, _, flags)| flags.contains(PageFlags::READ)) {
                    return;
                }
                core::hint::spin_loop();
            }
            if self.pieces_copied.load(Ordering::Relaxed) == copied {
                break;
            }
        }
        self.restore(page);
    }
}
