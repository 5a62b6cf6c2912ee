// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Questions about a window: what is mapped where, and may it be accessed.

use super::source::SourceId;
use super::vma::VmaInfo;
use super::{AddressSpace, FaultAccess, Mmu, PAGE_SIZE, PageFlags, WINDOW_END, page_start};

/// What a futex in shared memory is known by, wherever it is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedKey {
    /// The file or shared object.
    pub source: SourceId,
    /// Offset in it, in bytes.
    pub offset: u64,
}

/// Pages that are looked up one by one before the mappings are.
const FEW_PAGES: usize = 4;

impl<M: Mmu> AddressSpace<M> {
    /// Whether all of a range is mapped and permits `access`. An empty range does.
    pub fn check_range(&self, addr: usize, len: usize, access: FaultAccess) -> bool {
        let Some(end) = addr.checked_add(len) else { return false };
        // What the page table lets happen the mapping does, and most ranges lie in a few pages that are there.
        let first = page_start(addr);
        let permitted =
            |page: usize| self.mmu.lookup(page).is_some_and(|(_, _, flags)| permits(flags, access));
        if len > 0
            && end - first <= FEW_PAGES * PAGE_SIZE
            && end <= WINDOW_END
            && (first..end).step_by(PAGE_SIZE).all(permitted)
        {
            return true;
        }
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

    /// Whether there may be a shared mapping: if not, nothing has a [`AddressSpace::shared_key`].
    #[inline]
    pub fn has_shared(&self) -> bool {
        self.counters.has_shared()
    }

    /// What `addr` is known by in other address spaces, if it is in a shared mapping.
    pub fn shared_key(&self, addr: usize) -> Option<SharedKey> {
        let inner = self.inner.read();
        let vma = inner.map.find(addr).filter(|vma| vma.is_shared())?;
        Some(SharedKey { source: vma.info().id, offset: vma.offset_of(addr) })
    }
}

/// Whether a page with these flags can be accessed in a way.
fn permits(flags: PageFlags, access: FaultAccess) -> bool {
    flags.contains(match access {
        FaultAccess::Read => PageFlags::READ,
        FaultAccess::Write => PageFlags::READ | PageFlags::WRITE,
        FaultAccess::Exec => PageFlags::READ | PageFlags::EXEC,
    })
}
