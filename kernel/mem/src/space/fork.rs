// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A copy of a window for another process (`fork`), and what becomes of a page that both have when one writes to it.
//!
//! Memory of the window's own is shared, and written by nobody: the first write makes a copy, or takes the page back if nobody else
//! has it any more. What shows files is left out: the copy's first touch finds it where the file has it. A program may say that the copy
//! has no content in a mapping, or not the mapping (`advise.rs`).
//!
//! The copy of a page takes the shared one's place under the lock, and may be read at once: both hold the same. It may be written
//! when every CPU has forgotten the shared one. So writers of different pages do not disturb each other, and only a fork lets one
//! begin anew.

use core::sync::atomic::Ordering;

use hadal_hal::memory::fallible;
use hadal_hal::memory::paging::Stale;

use super::fault::Attempt;
use super::map::VmaMap;
use super::mmu::{Growth, Page, PageFlags, PageSize, Reach, Unmapped};
use super::policy::Choice;
use super::vma::{Vma, VmaFlags};
use super::{
    AddressSpace, FaultAccess, FaultOutcome, Inner, LARGE_BYTES, Mmu, PAGE_SIZE, SpaceError, WINDOW_END,
    WINDOW_START,
};
use crate::frames::Frame;

/// What a mapping takes of kernel memory.
const MAPPING_BYTES: usize = 2 * size_of::<Vma>();

impl<M: Mmu> AddressSpace<M> {
    /// Makes another window, which is empty, a copy of this one: mappings, content, program break. Locks are not copied, nor is what
    /// [`Advice`](super::Advice) keeps from copies.
    pub fn copy_to(&self, other: &Self) -> Result<(), SpaceError> {
        other.counters.begin_anew();
        self.complete_growing();
        let (copied, forks) = {
            let mut inner = self.change();
            inner.forks += 1;
            (self.copy_locked(&inner, other), inner.forks)
        };
        // Rights to write are gone on every CPU before the copy is used.
        self.mmu.shootdown(WINDOW_START, WINDOW_END - WINDOW_START, Reach::Table);
        self.forks_flushed.fetch_max(forks, Ordering::Release);
        self.counters.copy_to(&other.counters);
        let (map, brk, first_stack, failed) = copied?;
        {
            let mut inner = other.change();
            inner.map = map;
            (inner.brk, inner.first_stack) = (brk, first_stack);
        }
        match failed {
            None => Ok(()),
            Some(error) => {
                other.clear();
                Err(error)
            }
        }
    }

    /// Fills pages that grow, which are shared as wholes. Those who change pages get the lock between two steps; what begins to grow
    /// meanwhile is filled with the lock held.
    fn complete_growing(&self) {
        let next = |from| {
            let inner = self.inner.read();
            let may_grow = |vma: &&Vma| vma.is_of_large() && vma.len() >= LARGE_BYTES;
            let mut mappings = inner.map.overlapping(from, WINDOW_END).filter(may_grow);
            mappings.find_map(|vma| self.mmu.next_growing(vma.start.max(from), vma.end))
        };
        let mut from = WINDOW_START;
        while let Some(block) = next(from) {
            let step = || {
                let _inner = self.inner.read();
                self.mmu.grow(block, true)
            };
            while step() == Growth::Partly {}
            from = block + LARGE_BYTES;
        }
    }

    /// The mappings of the copy, the break, bytes of the first stack, and why a part of the pages is not shared. The lock is held
    /// for writing.
    #[expect(clippy::type_complexity, reason = "what the caller gives to the copy, once")]
    fn copy_locked(
        &self,
        inner: &Inner,
        other: &Self,
    ) -> Result<(VmaMap, Option<(usize, usize)>, usize, Option<SpaceError>), SpaceError> {
        let bytes = inner.map.count().saturating_mul(MAPPING_BYTES);
        fallible::admit(bytes).map_err(|_| SpaceError::NoMemory)?;
        let mut map = inner.map.empty_copy();
        let mut failed = None;
        for vma in inner.map.iter() {
            if vma.flags.contains(VmaFlags::DONT_FORK) {
                continue;
            }
            let mut copy = vma.clone();
            copy.flags.remove(VmaFlags::LOCKED | VmaFlags::LOCKED_ON_FAULT);
            map.insert(copy);
            if vma.owns_frames() && !vma.flags.contains(VmaFlags::WIPE_ON_FORK) && failed.is_none() {
                let mut bytes = 0;
                let shared = self.mmu.share(&other.mmu, vma.start, vma.len(), &mut bytes);
                other.counters.add_resident(bytes, true);
                failed = shared.err().map(|_| SpaceError::NoMemory);
            }
        }
        Ok((map, inner.brk, inner.first_stack, failed))
    }

    /// Somebody writes to a page that other windows have, too: takes it back if they have left it, or plans a copy. The lock is
    /// held.
    #[inline(never)]
    pub(super) fn take_back(&self, page: usize, vma: &Vma) -> Option<Choice> {
        if self.mmu.unshare(page, vma.prot.page_flags()) {
            self.mmu.flush_local(page, PAGE_SIZE);
            return None;
        }
        Some(Choice::for_mapping(vma))
    }

    /// Gives the window a copy of a page of 4 KiB that others have, too.
    #[inline(never)]
    pub(super) fn copy_shared(&self, page: usize, choice: &Choice) -> Attempt {
        let Some(new) = choice.take(self.frames, 0, page) else { return Attempt::NoMemory };
        let forks = self.flush_forked(page);
        match self.exchange(page, new, forks) {
            Ok(Some(old)) => {
                self.finish_copy(page);
                self.end_share(page, old);
                Attempt::Over(FaultOutcome::Resolved)
            }
            Ok(None) => Attempt::Again,
            Err(SpaceError::NoMemory) => Attempt::NoMemory,
            Err(_) => Attempt::Again,
        }
    }

    /// Makes sure that nobody writes to a page by rights from before a fork, and returns the forks for which that is so.
    pub(super) fn flush_forked(&self, page: usize) -> u64 {
        let forks = self.inner.read().forks;
        if self.forks_flushed.load(Ordering::Acquire) < forks {
            self.mmu.shootdown(page, PAGE_SIZE, Reach::Table);
        }
        forks
    }

    /// Puts a copy that nobody may write to yet in the place of a shared page, which some CPU may still read; `None` if something has
    /// changed.
    pub(super) fn exchange(
        &self,
        page: usize,
        new: Frame,
        forks: u64,
    ) -> Result<Option<Page<Unmapped>>, SpaceError> {
        // Of what changes meanwhile without the lock nothing depends on this page.
        let inner = self.inner.write();
        let is_own = |vma: &&Vma| vma.owns_frames() && vma.prot.allows(FaultAccess::Write);
        let Some(vma) = inner.map.find(page).filter(is_own).filter(|_| inner.forks == forks) else {
            return Ok(None);
        };
        let size = match self.mmu.lookup(page) {
            Some((_, size, flags)) if flags.contains(PageFlags::READ | PageFlags::SHARED) => size,
            _ => return Ok(None),
        };
        if size != PageSize::Size4K {
            self.split_edges(page, page + PAGE_SIZE)?;
        }
        if !self.mmu.copy_page(page, 0, PAGE_SIZE, &new) {
            return Ok(None);
        }
        let mut old = None;
        let removed = self.mmu.unmap(page, PAGE_SIZE, &mut |_, page, _| old = Some(page));
        assert!(removed.is_ok(), "a page is removed whole");
        let flags = vma.prot.page_flags().difference(PageFlags::WRITE);
        let mapped = self.mmu.map(page, Page::from(new.into_block()), flags);
        assert!(mapped.is_ok(), "the table of the old page is still there");
        Ok(old)
    }

    /// A copy is in its place: lets the window write to it. Whoever comes first does so, and nobody waits for another.
    pub(super) fn finish_copy(&self, page: usize) {
        self.mmu.shootdown(page, PAGE_SIZE, Reach::Table);
        self.permit(page);
    }

    /// Ends the window's share in a page that no CPU reads in it any more.
    pub(super) fn end_share(&self, page: usize, old: Page<Unmapped>) {
        let mut stale = Stale::new();
        stale.push(page, old);
        if stale.bytes() > 0 {
            // The others have left it meanwhile.
            let flush = self.mmu.shootdown(page, PAGE_SIZE, Reach::of(&stale));
            self.frames.free_chain(stale.flushed(&flush));
        }
    }
}
