// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Steps that several operations share: removing the pages of a range, and letting go of what was removed.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_hal::memory::paging::Stale;

use super::mmu::{MapError, PageFlags, Reach};
use super::quarantine::{Held, Released};
use super::source::PageSource;
use super::vma::Vma;
use super::{AddressSpace, Inner, LARGE_BYTES, LARGE_ORDER, Mmu, PAGE_SIZE, SpaceError};

/// Mappings that are removed at a time where it need not be all at once. For so many there is always memory.
pub(super) const PIECE_MAPPINGS: usize = 32;

/// What part of the free memory may wait in quarantine before it is flushed for at once.
const MISSED_PART: u64 = 4;

/// What was removed from the page table, to be dealt with after the lock is released.
#[derive(Default)]
#[must_use = "its frames have to be freed"]
pub(super) struct Removed {
    /// Whether some CPU may have a translation that is no longer true.
    pub(super) stale: bool,
    pub(super) frames: Stale,
    /// Mappings of files that are gone; dropped late, since their files may sleep.
    pub(super) mappings: Vec<Vma>,
    /// Files that have been written through the pages. They are brought up to date when no CPU can write there any more.
    pub(super) written: Vec<Arc<dyn PageSource>>,
}

impl<M: Mmu> AddressSpace<M> {
    /// Makes the borders of a range borders between pages too, splitting the large pages that stick out. On failure nothing
    /// has changed for the program.
    pub(super) fn split_edges(&self, start: usize, end: usize) -> Result<(), SpaceError> {
        [start, end].into_iter().try_for_each(|edge| self.split_at(edge))
    }

    /// The same for the part of the range that a mapping has.
    pub(super) fn split_edges_in(&self, vma: &Vma, start: usize, end: usize) -> Result<(), SpaceError> {
        for edge in [start, end] {
            if vma.may_have_large(edge & !(LARGE_BYTES - 1)) {
                self.split_at(edge)?;
            }
        }
        Ok(())
    }

    fn split_at(&self, edge: usize) -> Result<(), SpaceError> {
        if edge.is_multiple_of(LARGE_BYTES) {
            return Ok(());
        }
        let Some((pa, flags)) = self.mmu.large(edge) else { return Ok(()) };
        // Giving one small page the flags that it has splits the large one.
        self.mmu.protect(edge, PAGE_SIZE, flags).map_err(|_| SpaceError::NoMemory)?;
        self.note_split(pa, flags);
        Ok(())
    }

    /// A large page with these flags was split. Of one that is shared the others may have done that before.
    pub(super) fn note_split(&self, pa: u64, flags: PageFlags) {
        if !flags.contains(PageFlags::SHARED) {
            self.frames.split(pa, LARGE_ORDER);
        }
    }

    /// Removes the pages that a mapping has in a range that [`Self::split_edges`] has prepared. The lock is held for writing.
    #[inline]
    pub(super) fn remove_pages(&self, vma: &Vma, start: usize, end: usize, removed: &mut Removed) {
        let (start, end) = (vma.start.max(start), vma.end.min(end));
        let Some(file) = vma.shown_file() else { return self.remove_own_pages(start, end, removed) };
        let (mut bytes, mut written) = (0, false);
        let result = self.mmu.unmap(start, end - start, &mut |va, page, flags| {
            bytes += page.size().bytes();
            // Of a frame that is lent only the share goes: the mapping, which goes later, keeps the file, and that the frame.
            removed.frames.push(va, page);
            if flags.contains(PageFlags::DIRTY) {
                file.mark_written(vma.offset_of(va) / PAGE_SIZE as u64);
                written = true;
            }
        });
        removed.written.extend(written.then(|| file.clone()));
        self.note_removed(result, bytes, false, removed);
    }

    /// Removes the pages of a range where mappings have frames of the window's own, prepared in the same way. The lock is held for
    /// writing.
    pub(super) fn remove_own_pages(&self, start: usize, end: usize, removed: &mut Removed) {
        if start == end {
            return;
        }
        let mut bytes = 0;
        let result = self.mmu.unmap(start, end - start, &mut |va, page, _| {
            bytes += page.size().bytes();
            removed.frames.push(va, page);
        });
        self.note_removed(result, bytes, true, removed);
    }

    fn note_removed(&self, result: Result<(), MapError>, bytes: usize, own: bool, removed: &mut Removed) {
        assert_eq!(result, Ok(()), "no page sticks out of a range with split edges");
        if bytes > 0 {
            removed.stale = true;
            self.counters.sub_resident(bytes, own);
        }
    }

    /// Removes mappings and pages of a range, if there are any. The lock is held for writing.
    pub(super) fn evict(
        &self,
        inner: &mut Inner,
        start: usize,
        end: usize,
    ) -> Result<Option<Removed>, SpaceError> {
        if inner.map.is_free(start, end) {
            return Ok(None);
        }
        let mut removed = Removed::default();
        self.split_edges(start, end)?;
        let files = inner.map.overlapping(start, end).filter(|vma| !vma.is_anonymous()).count();
        if files > PIECE_MAPPINGS {
            removed.mappings = fallible::room_for(files).map_err(|_| SpaceError::NoMemory)?;
        }
        self.evict_some(inner, start, end, usize::MAX, &mut removed);
        Ok(Some(removed))
    }

    /// Removes the first `limit` mappings of a range whose edges are split, and their pages; returns where they end, or the
    /// end of the range. The lock is held for writing.
    pub(super) fn evict_some(
        &self,
        inner: &mut Inner,
        start: usize,
        end: usize,
        limit: usize,
        removed: &mut Removed,
    ) -> usize {
        let mut at = start;
        for _ in 0..limit {
            let Some(mut vma) = inner.map.take_first(at, end) else { return end };
            self.remove_pages(&vma, start, end, removed);
            at = vma.end;
            if !vma.is_anonymous() {
                vma.leave();
                removed.mappings.push(vma);
            }
        }
        at
    }

    /// Flushes a range on every CPU if need be, then frees what was removed from it. No lock is held.
    pub(super) fn finish_now(&self, start: usize, end: usize, removed: Removed) {
        if removed.stale {
            let flush = self.mmu.shootdown(start, end - start, Reach::of(&removed.frames));
            self.frames.free_chain(removed.frames.flushed(&flush));
        }
        bring_up_to_date(&removed.written);
        drop(removed.mappings);
    }

    /// Puts what was removed into quarantine. The lock is held for writing; what is returned, if something is left to be done,
    /// goes to [`Self::finish_later`] after it is released.
    #[inline]
    pub(super) fn defer(
        &self,
        inner: &mut Inner,
        start: usize,
        end: usize,
        removed: Removed,
    ) -> Option<Deferred> {
        // What is not stale had no pages, and nothing was written through it.
        let is_nothing = !removed.stale && removed.mappings.is_empty() && !inner.quarantine.has_sealed();
        if is_nothing { None } else { Some(self.defer_removed(inner, start, end, removed)) }
    }

    #[inline(never)]
    fn defer_removed(&self, inner: &mut Inner, start: usize, end: usize, removed: Removed) -> Deferred {
        let Removed { stale, frames, mut mappings, written } = removed;
        let mut over = Released::default();
        let mut kick = false;
        if stale {
            // At least the CPU that unmaps finds nothing there any more.
            self.mmu.flush_local(start, end - start);
            if !mappings.is_empty() {
                (mappings, over.mappings) = mappings.into_iter().partition(|vma| !vma.owns_frames());
            }
            kick = inner.quarantine.add(start, end, Held { frames, mappings });
            if kick {
                inner.quarantine.seal(|| self.mmu.begin_lazy());
            }
        } else {
            over.mappings = mappings;
        }
        if inner.quarantine.has_sealed() {
            let completed = self.mmu.completed(inner.quarantine.reach());
            over.join(inner.quarantine.release_completed(&completed));
        }
        // If nothing has come, there is no more than the last time that something did.
        let crowded = stale && (inner.quarantine.is_crowded() || self.is_missed(inner.quarantine.bytes()));
        Deferred { over, written, range: (start, end), kick, crowded }
    }

    /// Whether so much memory in quarantine is more than may be kept from others, who do not know of it.
    fn is_missed(&self, bytes: u64) -> bool {
        !self.frames.has_free_bytes(bytes.saturating_mul(MISSED_PART))
    }

    /// The part of [`Self::defer`] that needs no lock.
    #[inline]
    pub(super) fn finish_later(&self, deferred: Option<Deferred>) {
        if let Some(deferred) = deferred {
            self.finish_deferred(deferred);
        }
    }

    #[inline(never)]
    fn finish_deferred(&self, deferred: Deferred) {
        if deferred.kick {
            self.mmu.kick();
        }
        self.frames.free_chain(deferred.over.frames);
        if !deferred.written.is_empty() {
            let (start, end) = deferred.range;
            self.mmu.shootdown(start, end - start, Reach::Table);
            bring_up_to_date(&deferred.written);
        }
        drop(deferred.over.mappings);
        if deferred.crowded {
            self.reclaim();
        }
    }

    /// Frees everything that waits for TLB flushes, flushing on every CPU now. Returns whether there was anything.
    pub fn reclaim(&self) -> bool {
        let span = {
            let mut inner = self.change();
            // Nobody else may release it before the flush below is over.
            inner.quarantine.seal(|| u64::MAX);
            let reach = inner.quarantine.reach();
            inner.quarantine.span().map(|span| (span, reach))
        };
        let Some(((start, end, ticket), reach)) = span else { return false };
        let flush = self.mmu.shootdown(start, end - start, reach);
        let released = self.change().quarantine.release_through(ticket, &flush);
        self.frames.free_chain(released.frames);
        drop(released.mappings);
        true
    }

    /// Frees what has become safe to free since the last change. Unmapping does this by itself; calling it while idle or
    /// when a thread ends gives memory back sooner.
    pub fn tidy(&self) {
        let released = {
            let mut inner = self.change();
            if inner.quarantine.is_empty() {
                return;
            }
            let completed = self.mmu.completed(inner.quarantine.reach());
            inner.quarantine.release_completed(&completed)
        };
        self.frames.free_chain(released.frames);
        drop(released.mappings);
    }

    /// Empties the window: everything is unmapped and freed, the break forgotten, and new mappings are not locked.
    pub fn clear(&self) {
        let (start, end) = (super::WINDOW_START, super::WINDOW_END);
        {
            let mut inner = self.change();
            (inner.brk, inner.first_stack, inner.future) = (None, 0, None);
            inner.map.forget_data();
        }
        // The window's borders are no page's middle, so nothing has to be split, and this cannot fail.
        let _ = self.unmap(start, end - start);
        self.reclaim();
    }
}

/// What [`AddressSpace::defer`] leaves to be done.
#[must_use]
pub(super) struct Deferred {
    over: Released,
    /// Files to be brought up to date, after a flush of the range.
    written: Vec<Arc<dyn PageSource>>,
    range: (usize, usize),
    kick: bool,
    crowded: bool,
}

/// Writes back what was written to files through pages that are gone. As on Linux nobody is told of a failure: a program that
/// wants to know calls `msync` before.
fn bring_up_to_date(files: &[Arc<dyn PageSource>]) {
    for file in files {
        let _ = file.sync(0, u64::MAX);
    }
}
