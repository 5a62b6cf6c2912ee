// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Removing mappings (`munmap`).

use super::pages::{PIECE_MAPPINGS, Removed};
use super::vma::Vma;
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
                // A range in the middle of a mapping makes two of it.
                let divides = |vma: &Vma| vma.start < at && end < vma.end;
                if inner.map.count() >= SURE_MAPPINGS
                    && inner.map.find(at).is_some_and(divides)
                    && !self.admits_mappings(&inner)
                {
                    return Err(SpaceError::NoMemory);
                }
                self.split_edges(at, end)?;
                // A few at a time: unmapping takes no memory to speak of, and others get the lock in between.
                let mut removed = Removed::default();
                let until = self.evict_some(&mut inner, at, end, PIECE_MAPPINGS, &mut removed);
                (until, self.defer(&mut inner, at, until, removed))
            };
            self.finish_later(deferred);
            at = until;
        }
        Ok(())
    }
}
