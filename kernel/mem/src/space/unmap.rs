// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Removing mappings (`munmap`).

use super::{AddressSpace, MAX_MAPPINGS, Mmu, SpaceError, window_range};

impl<M: Mmu> AddressSpace<M> {
    /// Unmaps a range; what is not mapped in it does no harm.
    pub fn unmap(&self, addr: usize, len: usize) -> Result<(), SpaceError> {
        let (start, end) = window_range(addr, len).ok_or(SpaceError::Invalid)?;
        let deferred = {
            let mut inner = self.inner.write();
            // A range in the middle of a mapping makes two of it.
            let divides = inner.map.find(start).is_some_and(|vma| vma.start < start && end < vma.end);
            if divides && inner.map.count() >= MAX_MAPPINGS {
                return Err(SpaceError::NoMemory);
            }
            let removed = self.evict(&mut inner, start, end)?;
            self.defer(&mut inner, start, end, removed)
        };
        self.finish_later(deferred);
        Ok(())
    }
}
