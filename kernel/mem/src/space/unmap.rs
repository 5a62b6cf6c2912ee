// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Removing mappings (`munmap`).

use super::pages::PIECE_MAPPINGS;
use super::{AddressSpace, Mmu, SpaceError, window_range};

/// A program that is short of memory may make so many mappings by cutting holes into others, to give memory back.
const SURE_MAPPINGS: usize = 1000;

impl<M: Mmu> AddressSpace<M> {
    /// Unmaps a range; what is not mapped in it does no harm.
    pub fn unmap(&self, addr: usize, len: usize) -> Result<(), SpaceError> {
        let (start, end) = window_range(addr, len).ok_or(SpaceError::Invalid)?;
        let mut at = start;
        while at < end {
            let (until, deferred) = {
                let mut inner = self.change();
                let (divides, until) = {
                    let mut overlapping = inner.map.overlapping(at, end);
                    // A range in the middle of a mapping makes two of it.
                    let divides = overlapping.next().is_some_and(|vma| vma.start < at && end < vma.end);
                    // A few at a time: unmapping takes no memory to speak of, and others get the lock in between.
                    (divides, overlapping.nth(PIECE_MAPPINGS - 1).map_or(end, |vma| vma.start))
                };
                if divides && inner.map.count() >= SURE_MAPPINGS && !self.admits_mappings(&inner) {
                    return Err(SpaceError::NoMemory);
                }
                let removed = self.evict(&mut inner, at, until)?;
                (until, self.defer(&mut inner, at, until, removed))
            };
            self.finish_later(deferred);
            at = until;
        }
        Ok(())
    }
}
