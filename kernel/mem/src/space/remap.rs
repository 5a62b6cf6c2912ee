// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Growing, shrinking and moving a mapping (`mremap`). How pages move is in `relocate.rs`.

use super::limits::Limits;
use super::mmu::Reach;
use super::pages::{Deferred, Removed};
use super::room::Room;
use super::vma::Vma;
use super::{AddressSpace, Inner, LARGE_BYTES, Mmu, PAGE_SIZE, SpaceError, WINDOW_END, window_range};

/// Whether a mapping may move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemapMode {
    /// It stays where it is, or the call fails.
    #[default]
    InPlace,
    /// It moves if it cannot grow where it is (`MREMAP_MAYMOVE`).
    MayMove,
    /// It moves here, replacing what is there (`MREMAP_FIXED`).
    Fixed(usize),
}

/// A change of place or size. `MREMAP_DONTUNMAP` and an old size of 0 are not supported.
#[derive(Clone, Copy, Debug, Default)]
pub struct RemapRequest<'a> {
    /// Address of the mapping, or of a part of it.
    pub old: usize,
    /// Size of the part, in bytes; rounded up to pages.
    pub old_len: usize,
    /// Its new size, in bytes; rounded up to pages.
    pub new_len: usize,
    /// Whether it may move.
    pub mode: RemapMode,
    /// What it may take.
    pub limits: Limits<'a>,
}

impl<M: Mmu> AddressSpace<M> {
    /// Changes size or place of a mapping and returns its address.
    pub fn remap(&self, request: RemapRequest<'_>) -> Result<usize, SpaceError> {
        let RemapRequest { old, old_len, new_len, mode, limits } = request;
        let (old, old_end) = window_range(old, old_len).ok_or(SpaceError::Invalid)?;
        let new_len =
            new_len.checked_next_multiple_of(PAGE_SIZE).filter(|&len| len > 0).ok_or(SpaceError::Invalid)?;
        let old_len = old_end - old;
        if new_len > old_len && !self.may_lock_more(old, new_len - old_len, limits.locked) {
            return Err(SpaceError::LockLimit);
        }
        match mode {
            RemapMode::Fixed(new) => self.move_to(old, old_len, new, new_len, limits),
            _ if new_len <= old_len => self.shrink(old, old_len, new_len).map(|()| old),
            RemapMode::InPlace => self.grow(old, old_len, new_len, false, limits),
            RemapMode::MayMove => match self.grow(old, old_len, new_len, true, limits) {
                // Addresses or frames in quarantine may be what is missing.
                Err(SpaceError::NoMemory) if self.reclaim() => self.grow(old, old_len, new_len, true, limits),
                result => result,
            },
        }
    }

    /// Whether a mapping may become so much longer, or is not locked.
    fn may_lock_more(&self, old: usize, bytes: usize, limit: Option<usize>) -> bool {
        let inner = self.inner.read();
        let locked = inner.map.find(old).is_some_and(|vma| vma.locked_bytes() > 0);
        !locked || inner.may_lock(bytes, limit)
    }

    fn shrink(&self, old: usize, old_len: usize, new_len: usize) -> Result<(), SpaceError> {
        single(&self.inner.read(), old, old + old_len)?;
        if new_len == old_len { Ok(()) } else { self.unmap(old + new_len, old_len - new_len) }
    }

    fn grow(
        &self,
        old: usize,
        old_len: usize,
        new_len: usize,
        may_move: bool,
        limits: Limits<'_>,
    ) -> Result<usize, SpaceError> {
        let mut inner = self.change();
        let vma = single(&inner, old, old + old_len)?;
        if !vma.has_offsets(old, new_len) {
            return Err(SpaceError::Invalid);
        }
        if !self.admits_growth(&inner) || !inner.may_map(new_len - old_len, limits, || vma.is_data()) {
            return Err(SpaceError::NoMemory);
        }
        let (from, to) = (old + old_len, old.checked_add(new_len).filter(|&end| end <= WINDOW_END));
        if let Some(to) = to
            && vma.end == from
            && inner.map.is_free(from, to)
            && inner.quarantine.busy(from, to).is_none()
        {
            let mut more = vma.clone().split_off(from);
            more.end = to;
            inner.map.insert(more);
            return Ok(old);
        }
        if !may_move {
            return Err(SpaceError::NoMemory);
        }
        let align = if new_len >= LARGE_BYTES { LARGE_BYTES } else { PAGE_SIZE };
        let room = Room { len: new_len, align, phase: old % align };
        let Inner { map, quarantine, .. } = &mut *inner;
        let new = map
            .find_room(room, &|start, end| quarantine.busy(start, end), quarantine.releases())
            .ok_or(SpaceError::NoMemory)?;
        let result = self.relocate(&mut inner, old, old_len, new, new_len);
        drop(inner);
        self.finish_move(old, old_len, new, result)
    }

    fn move_to(
        &self,
        old: usize,
        old_len: usize,
        new: usize,
        new_len: usize,
        limits: Limits<'_>,
    ) -> Result<usize, SpaceError> {
        let (new, new_end) = window_range(new, new_len).ok_or(SpaceError::Invalid)?;
        if new < old + old_len && old < new_end {
            return Err(SpaceError::Invalid);
        }
        // What is too much of the old part goes first, as on Linux.
        let kept = old_len.min(new_len);
        self.shrink(old, old_len, kept)?;
        let (removed, result) = {
            let mut inner = self.change();
            let vma = single(&inner, old, old + kept)?;
            if !vma.has_offsets(old, new_len) {
                return Err(SpaceError::Invalid);
            }
            if !inner.may_move(vma, new_len - kept, (new, new_end), limits) {
                return Err(SpaceError::NoMemory);
            }
            let mut removed = self.evict(&mut inner, new, new_end)?.unwrap_or_default();
            removed.stale |= inner.quarantine.busy(new, new_end).is_some();
            let result = self.relocate(&mut inner, old, kept, new, new_len);
            (removed, result)
        };
        self.finish_now(new, new_end, removed);
        self.finish_move(old, kept, new, result)
    }

    /// Moves mapping and pages to a free place. The lock is held for writing.
    fn relocate(
        &self,
        inner: &mut Inner,
        old: usize,
        old_len: usize,
        new: usize,
        new_len: usize,
    ) -> Result<Option<Deferred>, SpaceError> {
        if !self.admits_mappings(inner) {
            return Err(SpaceError::NoMemory);
        }
        let flags = single(inner, old, old + old_len)?.prot.page_flags();
        self.split_edges(old, old + old_len)?;
        self.move_pages(old, new, old_len, flags)?;
        // It is one mapping.
        if let Some(mut vma) = inner.map.take_first(old, old + old_len) {
            (vma.start, vma.end) = (new, new + new_len);
            inner.map.insert(vma);
        }
        // No frames have to wait, only the addresses.
        Ok(self.defer(inner, old, old + old_len, Removed { stale: true, ..Removed::default() }))
    }

    /// Makes every CPU see where the pages are now, whether they have moved or not. No lock is held.
    fn finish_move(
        &self,
        old: usize,
        len: usize,
        new: usize,
        result: Result<Option<Deferred>, SpaceError>,
    ) -> Result<usize, SpaceError> {
        self.mmu.shootdown(old, len, Reach::Table);
        match result {
            Ok(deferred) => {
                self.finish_later(deferred);
                Ok(new)
            }
            Err(error) => {
                self.mmu.shootdown(new, len, Reach::Table);
                Err(error)
            }
        }
    }
}

/// The mapping that contains all of a range.
fn single(inner: &Inner, start: usize, end: usize) -> Result<&Vma, SpaceError> {
    inner.map.find(start).filter(|vma| end <= vma.end).ok_or(SpaceError::BadAddress)
}
