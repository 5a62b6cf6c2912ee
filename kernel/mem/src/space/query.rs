// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Questions about a window: what is mapped where, and may it be accessed.

use super::source::SourceId;
use super::vma::VmaInfo;
use super::{AddressSpace, FaultAccess, Mmu};

/// What a futex in shared memory is known by, wherever it is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedKey {
    /// The file or shared object.
    pub source: SourceId,
    /// Offset in it, in bytes.
    pub offset: u64,
}

impl<M: Mmu> AddressSpace<M> {
    /// Whether all of a range is mapped and permits `access`. An empty range does.
    pub fn check_range(&self, addr: usize, len: usize, access: FaultAccess) -> bool {
        let Some(end) = addr.checked_add(len) else { return false };
        len == 0 || self.inner.read().map.covered_until(addr, end, |vma| vma.prot.allows(access)) == end
    }

    /// The mapping that contains `addr`.
    pub fn find(&self, addr: usize) -> Option<VmaInfo> {
        self.inner.read().map.find(addr).map(|vma| vma.info())
    }

    /// Shows all mappings, by address. The lock is held: `show` must neither sleep nor touch program memory.
    pub fn vmas(&self, show: &mut dyn FnMut(&VmaInfo)) {
        for vma in self.inner.read().map.iter() {
            show(&vma.info());
        }
    }

    /// What `addr` is known by in other address spaces, if it is in a shared mapping.
    pub fn shared_key(&self, addr: usize) -> Option<SharedKey> {
        let inner = self.inner.read();
        let vma = inner.map.find(addr).filter(|vma| vma.is_shared())?;
        Some(SharedKey { source: vma.info().id, offset: vma.offset_of(addr) })
    }
}
