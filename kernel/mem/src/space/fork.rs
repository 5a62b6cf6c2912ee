// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A copy of a window for another process (`fork`), and what becomes of a page that both have when one writes to it.
//!
//! Memory of the window's own is shared, and written by nobody: the first write makes a copy, as a page that moves gets another
//! frame (`migrate.rs`), or takes the page back if nobody else has it any more. What shows files is left out: the copy's first
//! touch finds it where the file has it.

use hadal_hal::memory::fallible;

use super::fault::Attempt;
use super::map::VmaMap;
use super::mmu::{PageSize, Reach};
use super::policy::Choice;
use super::vma::{Vma, VmaFlags};
use super::{AddressSpace, FaultOutcome, Inner, Mmu, PAGE_SIZE, SpaceError, WINDOW_END, WINDOW_START};

/// What a mapping takes of kernel memory.
const MAPPING_BYTES: usize = 2 * size_of::<Vma>();

impl<M: Mmu> AddressSpace<M> {
    /// Makes another window, which is empty, a copy of this one: mappings, content, program break. Locks are not copied.
    pub fn copy_to(&self, other: &Self) -> Result<(), SpaceError> {
        let copied = {
            let inner = self.change();
            self.copy_locked(&inner, other)
        };
        // Rights to write are gone on every CPU before the copy is used.
        self.mmu.shootdown(WINDOW_START, WINDOW_END - WINDOW_START, Reach::Table);
        self.counters.copy_to(&other.counters);
        let (map, brk, failed) = copied?;
        {
            let mut inner = other.change();
            inner.map = map;
            inner.brk = brk;
        }
        match failed {
            None => Ok(()),
            Some(error) => {
                other.clear();
                Err(error)
            }
        }
    }

    /// The mappings of the copy, the break, and why a part of the pages is not shared. The lock is held for writing.
    #[expect(clippy::type_complexity, reason = "what the caller gives to the copy, once")]
    fn copy_locked(
        &self,
        inner: &Inner,
        other: &Self,
    ) -> Result<(VmaMap, Option<(usize, usize)>, Option<SpaceError>), SpaceError> {
        let bytes = inner.map.count().saturating_mul(MAPPING_BYTES);
        fallible::admit(bytes).map_err(|_| SpaceError::NoMemory)?;
        let mut map = inner.map.empty_copy();
        let mut failed = None;
        for vma in inner.map.iter() {
            let mut copy = vma.clone();
            copy.flags.remove(VmaFlags::LOCKED | VmaFlags::LOCKED_ON_FAULT);
            map.insert(copy);
            if vma.owns_frames() && failed.is_none() {
                let mut bytes = 0;
                let shared = self.mmu.share(&other.mmu, vma.start, vma.len(), &mut bytes);
                other.counters.add_resident(bytes, true);
                failed = shared.err().map(|_| SpaceError::NoMemory);
            }
        }
        Ok((map, inner.brk, failed))
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
        let moving = match self.begin_move(page, PageSize::Size4K) {
            Ok(Some(moving)) => moving,
            Ok(None) => return Attempt::Again,
            Err(super::Moved::NoMemory) => return Attempt::NoMemory,
            Err(_) => return Attempt::Again,
        };
        self.flush_moving(&moving);
        let copied = self.copy_moving(&moving, &new);
        match copied.then(|| self.end_move(&moving, new)).flatten() {
            Some(old) => {
                self.free_moved(&moving, old);
                Attempt::Over(FaultOutcome::Resolved)
            }
            None => {
                self.restore(page);
                Attempt::Again
            }
        }
    }
}
