// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changing protection (`mprotect`).

use super::limits::MappedLimits;
use super::pages::Removed;
use super::vma::Prot;
use super::{AddressSpace, Inner, Mmu, SpaceError, page_range, window_range};

impl<M: Mmu> AddressSpace<M> {
    /// Gives a range a new protection. As on Linux, the part before a hole, or before a mapping that may not have it, is
    /// changed although the call fails.
    ///
    /// Pages without access keep their content. New rights are noticed by other CPUs when they fault; rights that are gone
    /// are gone everywhere when the call returns.
    pub fn protect(&self, addr: usize, len: usize, prot: Prot) -> Result<(), SpaceError> {
        self.protect_within(addr, len, prot, None)
    }

    /// The same within limits: [`SpaceError::NoMemory`] if too much would become data.
    pub fn protect_within(
        &self,
        addr: usize,
        len: usize,
        prot: Prot,
        limits: Option<&MappedLimits>,
    ) -> Result<(), SpaceError> {
        let (start, wanted_end) = page_range(addr, len).ok_or(SpaceError::Invalid)?;
        if len == 0 {
            return Ok(());
        }
        window_range(addr, len).ok_or(SpaceError::NoMapping)?;
        let mut removed = Removed::default();
        let (end, result) = {
            let mut inner = self.change();
            if !self.admits_mappings(&inner) {
                return Err(SpaceError::NoMemory);
            }
            let mut refused = false;
            let end = inner.map.covered_until(start, wanted_end, |vma| {
                refused = !vma.max_prot.contains(prot);
                !refused
            });
            let (end, is_too_much) = match limits {
                None => (end, false),
                Some(most) => inner.protected_until((start, end), prot, most),
            };
            let result = match () {
                () if is_too_much => Err(SpaceError::NoMemory),
                () if end == wanted_end => Ok(()),
                () if refused => Err(SpaceError::Access),
                () => Err(SpaceError::NoMapping),
            };
            if end == start {
                return result;
            }
            self.split_edges(start, end)?;
            for vma in inner.map.overlapping(start, end).filter(|vma| vma.prot != prot) {
                if vma.shows_frames_privately() && prot.contains(Prot::WRITE) {
                    self.remove_pages(vma, start, end, &mut removed);
                    continue;
                }
                let (start, end) = (vma.start.max(start), vma.end.min(end));
                let flags = prot.page_flags();
                removed.stale |= !flags.contains(vma.prot.page_flags());
                if flags != vma.prot.page_flags() {
                    // Fails only to split a page, and the edges of the range are split.
                    self.mmu.protect(start, end - start, flags).map_err(|_| SpaceError::NoMemory)?;
                }
            }
            inner.map.update(start, end, |vma| {
                vma.prot = prot;
                if vma.shows_frames_privately() && prot.contains(Prot::WRITE) {
                    vma.take_copies();
                }
            });
            (end, result)
        };
        self.finish_now(start, end, removed);
        result
    }
}

impl Inner {
    /// The end of the part of a range, which is mapped without a hole, that may have a new protection within a limit of data, and
    /// whether the rest is too much.
    #[cold]
    #[inline(never)]
    fn protected_until(
        &self,
        (start, end): (usize, usize),
        prot: Prot,
        most: &MappedLimits,
    ) -> (usize, bool) {
        let Some(mut room) = self.room_for_data(most) else { return (end, false) };
        let until = self.map.covered_until(start, end, |vma| {
            let becomes_data = vma.is_data_with(prot) && !vma.is_data();
            let more = if becomes_data { vma.end.min(end) - vma.start.max(start) } else { 0 };
            let rest = room.checked_sub(more);
            room = rest.unwrap_or(0);
            rest.is_some()
        });
        (until, until < end)
    }
}
