// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Locked memory (`mlock`). Nothing is ever swapped out, so what a lock does is to be counted, to keep `madvise` from throwing
//! pages away, and to say which pages are filled before they are touched; the filling is the caller's.

use super::vma::{Name, Vma, VmaFlags};
use super::{AddressSpace, Inner, Mmu, SpaceError, VmaInfo, WINDOW_END, WINDOW_START};

/// How memory is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// All pages are there.
    Full,
    /// Each page from its first touch on (`MLOCK_ONFAULT`).
    OnFault,
}

/// The flags of both kinds.
const FLAGS: VmaFlags = VmaFlags::LOCKED.union(VmaFlags::LOCKED_ON_FAULT);

impl Lock {
    pub(super) fn flags(self) -> VmaFlags {
        match self {
            Self::Full => VmaFlags::LOCKED,
            Self::OnFault => FLAGS,
        }
    }
}

impl VmaInfo {
    /// How it is locked, if it is.
    pub fn lock(&self) -> Option<Lock> {
        match self.flags & FLAGS {
            VmaFlags::LOCKED => Some(Lock::Full),
            flags if flags.is_empty() => None,
            _ => Some(Lock::OnFault),
        }
    }
}

impl Vma {
    /// Bytes that count as locked.
    pub(super) fn locked_bytes(&self) -> usize {
        if self.flags.contains(VmaFlags::LOCKED) { self.len() } else { 0 }
    }

    /// Whether it can be locked: pages of the kernel's own cannot.
    pub(super) fn is_lockable(&self) -> bool {
        !matches!(self.name, Name::Static("[vdso]" | "[vvar]"))
    }
}

impl Inner {
    /// Whether so many more bytes may be locked.
    pub(super) fn may_lock(&self, bytes: usize, limit: Option<usize>) -> bool {
        limit.is_none_or(|limit| self.map.locked_bytes().saturating_add(bytes) <= limit)
    }
}

impl<M: Mmu> AddressSpace<M> {
    /// Locks the mappings of a range of whole pages, or with `None` unlocks them. [`SpaceError::NoMemory`] if more than
    /// `limit` bytes would be locked; [`SpaceError::NoMapping`] at a hole, after what is before it.
    pub fn lock(
        &self,
        start: usize,
        end: usize,
        lock: Option<Lock>,
        limit: Option<usize>,
    ) -> Result<(), SpaceError> {
        let mut inner = self.change();
        if lock.is_some() {
            let counted: usize = inner
                .map
                .overlapping(start, end)
                .filter(|vma| vma.flags.contains(VmaFlags::LOCKED))
                .map(|vma| vma.end.min(end) - vma.start.max(start))
                .sum();
            if !inner.may_lock((end - start).saturating_sub(counted), limit) {
                return Err(SpaceError::NoMemory);
            }
            self.counters.note_lock();
        }
        if !self.admits_mappings(&inner) {
            return Err(SpaceError::NoMemory);
        }
        let covered = inner.map.covered_until(start, end, |_| true);
        if covered > start {
            self.split_edges(start, covered)?;
            inner.map.lock(start, covered, |vma| vma.is_lockable().then(|| flags_of(lock)));
        }
        if covered == end { Ok(()) } else { Err(SpaceError::NoMapping) }
    }

    /// Locks everything that is mapped (`current`), and everything that will be (`future`); `None` unlocks, or ends that.
    /// [`SpaceError::NoMemory`] if more than `limit` bytes are mapped, and then nothing has changed. The first stack is mapped
    /// whole, where Linux's grows: it is left out.
    pub fn lock_all(
        &self,
        current: Option<Option<Lock>>,
        future: Option<Lock>,
        limit: Option<usize>,
    ) -> Result<(), SpaceError> {
        let mut inner = self.change();
        if let Some(Some(_)) = current {
            let stack: usize = inner.map.iter().filter(|vma| vma.is_first_stack()).map(Vma::len).sum();
            if limit.is_some_and(|limit| inner.map.mapped_bytes().0 - stack > limit) {
                return Err(SpaceError::NoMemory);
            }
        }
        self.counters.note_lock();
        inner.future = future;
        if let Some(lock) = current {
            inner.map.lock(WINDOW_START, WINDOW_END, |vma| match lock {
                Some(_) if vma.is_first_stack() || !vma.is_lockable() => None,
                _ => Some(flags_of(lock)),
            });
        }
        Ok(())
    }

    /// The flags of a new mapping that is locked as asked for, or as all are.
    #[cold]
    pub(super) fn lock_new(
        &self,
        inner: &Inner,
        bytes: usize,
        lock: Option<Lock>,
        limit: Option<usize>,
    ) -> Result<VmaFlags, SpaceError> {
        let Some(lock) = lock.or(inner.future) else { return Ok(VmaFlags::empty()) };
        if !inner.may_lock(bytes, limit) {
            return Err(SpaceError::LockLimit);
        }
        self.counters.note_lock();
        Ok(lock.flags())
    }

    /// Whether anything has been locked so far, or will be when it is mapped.
    pub fn uses_locks(&self) -> bool {
        self.counters.has_locks()
    }

    /// Bytes that are locked.
    pub fn locked_bytes(&self) -> usize {
        self.inner.read().map.locked_bytes()
    }

    /// The first mapping that ends above `addr`.
    pub fn next_mapping(&self, addr: usize) -> Option<VmaInfo> {
        self.inner.read().map.overlapping(addr, WINDOW_END).next().map(Vma::info)
    }
}

fn flags_of(lock: Option<Lock>) -> VmaFlags {
    lock.map_or(VmaFlags::empty(), Lock::flags)
}
