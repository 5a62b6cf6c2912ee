// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hints, and what is more than a hint: content that is thrown away, and what copies of the window have (`madvise`).

use super::pages::Removed;
use super::vma::{Vma, VmaFlags};
use super::{AddressSpace, Inner, Mmu, SpaceError, page_range, window_range};

/// What a program says about a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The content is not needed: anonymous memory reads as zero afterwards, private files as the file (`MADV_DONTNEED`).
    DontNeed,
    /// The same for locked memory, too (`MADV_DONTNEED_LOCKED`).
    DontNeedLocked,
    /// As [`Advice::DontNeed`], for private anonymous memory only (`MADV_FREE`).
    Free,
    /// Use 2 MiB pages again (`MADV_HUGEPAGE`).
    Huge,
    /// Use 4 KiB pages only (`MADV_NOHUGEPAGE`).
    NoHuge,
    /// A copy of the window does not have it (`MADV_DONTFORK`).
    DontFork,
    /// A copy of the window has it again (`MADV_DOFORK`).
    DoFork,
    /// A copy of the window has it, and reads zeros there; for private anonymous memory only (`MADV_WIPEONFORK`).
    WipeOnFork,
    /// A copy of the window has its content again (`MADV_KEEPONFORK`).
    KeepOnFork,
    /// Any hint that changes nothing here: `MADV_NORMAL`, `RANDOM`, `SEQUENTIAL`, `WILLNEED`, `DONTDUMP`, `DODUMP`,
    /// `MERGEABLE`, `UNMERGEABLE`.
    Other,
    /// Another such hint, which is an error for locked memory: `COLD`, `PAGEOUT`.
    Unlocked,
}

/// What says which pages a mapping may have.
const SIZES: VmaFlags = VmaFlags::HUGE.union(VmaFlags::NO_HUGE);

impl<M: Mmu> AddressSpace<M> {
    /// Takes advice about a range. Holes are an error, after the mapped parts have been dealt with.
    pub fn advise(&self, addr: usize, len: usize, advice: Advice) -> Result<(), SpaceError> {
        let (start, end) = page_range(addr, len).ok_or(SpaceError::Invalid)?;
        if start == end {
            return Ok(());
        }
        window_range(addr, len).ok_or(SpaceError::NoMapping)?;
        let whole = match advice {
            Advice::DontNeed => {
                let locked = self.unlocked_until(start, end);
                let whole = self.discard(start, locked, false)?;
                if locked < end {
                    return Err(SpaceError::Invalid);
                }
                whole
            }
            Advice::DontNeedLocked => self.discard(start, end, false)?,
            Advice::Free if self.unlocked_until(start, end) < end => return Err(SpaceError::Invalid),
            Advice::Free => self.discard(start, end, true)?,
            Advice::Unlocked if self.unlocked_until(start, end) < end => return Err(SpaceError::Invalid),
            Advice::Huge => self.set_flag(start, end, SIZES, VmaFlags::HUGE)?,
            Advice::NoHuge => self.set_flag(start, end, SIZES, VmaFlags::NO_HUGE)?,
            Advice::DontFork => self.set_flag(start, end, VmaFlags::DONT_FORK, VmaFlags::DONT_FORK)?,
            Advice::DoFork => self.set_flag(start, end, VmaFlags::DONT_FORK, VmaFlags::empty())?,
            Advice::WipeOnFork => self.wipe_on_fork(start, end)?,
            Advice::KeepOnFork => self.set_flag(start, end, VmaFlags::WIPE_ON_FORK, VmaFlags::empty())?,
            Advice::Unlocked | Advice::Other => {
                self.inner.read().map.covered_until(start, end, |_| true) == end
            }
        };
        if whole { Ok(()) } else { Err(SpaceError::NoMapping) }
    }

    /// Where the first locked mapping of a range begins; the end of the range if none is locked.
    #[inline]
    fn unlocked_until(&self, start: usize, end: usize) -> usize {
        if self.uses_locks() { self.find_locked(start, end) } else { end }
    }

    fn find_locked(&self, start: usize, end: usize) -> usize {
        let inner = self.inner.read();
        let locked = inner.map.overlapping(start, end).find(|vma| vma.locked_bytes() > 0);
        locked.map_or(end, |vma| vma.start.max(start))
    }

    /// Throws the pages of a range away; whether it is mapped without a hole.
    fn discard(&self, start: usize, end: usize, anonymous_only: bool) -> Result<bool, SpaceError> {
        if start == end || self.is_private_and_empty(start, end) {
            return Ok(true);
        }
        let mut removed = Removed::default();
        let inner = self.change();
        if anonymous_only && inner.map.overlapping(start, end).any(|vma| !vma.is_private_memory()) {
            return Err(SpaceError::Invalid);
        }
        let discarded = self.discard_parts(&inner, start, end, &mut removed);
        drop(inner);
        self.finish_now(start, end, removed);
        discarded
    }

    /// Whether a range is private memory without a hole that nobody has touched: most of what C libraries throw away of the stacks
    /// of threads that end. Who touches it now does so afterwards, and finds zeros.
    fn is_private_and_empty(&self, start: usize, end: usize) -> bool {
        // A page that moves to another range or another zone does so with the lock held for writing.
        let inner = self.inner.read();
        !self.mmu.may_have_pages(start, end - start)
            && inner.map.covered_until(start, end, Vma::is_private_memory) == end
    }

    /// Removes the pages of the mappings in a range, one after the other until a large page cannot be split; whether there is no
    /// hole. The lock is held for writing.
    fn discard_parts(
        &self,
        inner: &Inner,
        start: usize,
        end: usize,
        removed: &mut Removed,
    ) -> Result<bool, SpaceError> {
        let mut until = start;
        // Private memory side by side, as a stack with its guard, is one range of the page table.
        let mut private = start..start;
        let mut split = Ok(());
        for vma in inner.map.overlapping(start, end) {
            split = self.split_edges_in(vma, start, end);
            if split.is_err() {
                break;
            }
            if vma.start <= until {
                until = vma.end;
            }
            if vma.is_private_memory() {
                if private.end < vma.start {
                    self.remove_own_pages(private.start, private.end, removed);
                    private.start = vma.start;
                }
                private.end = vma.end.min(end);
            } else if !vma.is_anonymous() {
                // The content of shared anonymous memory is not this mapping's to throw away.
                self.remove_pages(vma, start, end, removed);
            }
        }
        self.remove_own_pages(private.start, private.end, removed);
        split.map(|()| until >= end)
    }

    /// Gives the mappings of a range one of several flags, or none of them; whether it is mapped without a hole.
    fn set_flag(
        &self,
        start: usize,
        end: usize,
        among: VmaFlags,
        flag: VmaFlags,
    ) -> Result<bool, SpaceError> {
        let mut inner = self.change();
        self.set_flag_in(&mut inner, start, end, among, flag)?;
        Ok(inner.map.covered_until(start, end, |_| true) == end)
    }

    /// The same with the lock held for writing.
    fn set_flag_in(
        &self,
        inner: &mut Inner,
        start: usize,
        end: usize,
        among: VmaFlags,
        flag: VmaFlags,
    ) -> Result<(), SpaceError> {
        if !self.admits_mappings(inner) {
            return Err(SpaceError::NoMemory);
        }
        self.split_edges(start, end)?;
        inner.map.update(start, end, |vma| {
            vma.flags.remove(among);
            vma.flags.insert(flag);
        });
        Ok(())
    }

    /// Copies of the window will read zeros in a range; whether it is mapped without a hole. As on Linux, what comes before a mapping
    /// that cannot be like that has become so.
    fn wipe_on_fork(&self, start: usize, end: usize) -> Result<bool, SpaceError> {
        let mut inner = self.change();
        let other = inner.map.overlapping(start, end).find(|vma| !vma.is_private_memory());
        let until = other.map(|vma| vma.start.max(start));
        let (flag, stop) = (VmaFlags::WIPE_ON_FORK, until.unwrap_or(end));
        if start < stop {
            self.set_flag_in(&mut inner, start, stop, flag, flag)?;
        }
        match until {
            None => Ok(inner.map.covered_until(start, end, |_| true) == end),
            Some(_) => Err(SpaceError::Invalid),
        }
    }
}
