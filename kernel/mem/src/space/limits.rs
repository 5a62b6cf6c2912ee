// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a process may have of a window (`RLIMIT_AS`, `RLIMIT_MEMLOCK`). Several processes may run in one, so the limits come with
//! each call.

use super::create::{MapRequest, Placement};
use super::vma::Vma;
use super::{AddressSpace, Inner, Mmu};

/// Most bytes of each kind; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of addresses.
    pub mapped: Option<usize>,
    /// Of locked memory.
    pub locked: Option<usize>,
}

impl Limits {
    /// A limit of locked memory only.
    #[must_use]
    pub fn locked(bytes: usize) -> Self {
        Self { locked: Some(bytes), ..Self::default() }
    }

    /// A limit of addresses only.
    #[must_use]
    pub fn mapped(bytes: usize) -> Self {
        Self { mapped: Some(bytes), ..Self::default() }
    }
}

impl Inner {
    /// Whether so many more bytes may be mapped. The first stack is mapped whole, where Linux's grows: it does not count.
    #[inline]
    pub(super) fn may_map(&self, bytes: usize, limits: Limits) -> bool {
        let counted = || self.map.mapped_bytes().0.saturating_sub(self.first_stack);
        limits.mapped.is_none_or(|limit| counted().saturating_add(bytes) <= limit)
    }

    /// Whether a new mapping may be made, which may replace others.
    #[inline]
    pub(super) fn may_add(&self, request: &MapRequest, limits: Limits) -> bool {
        self.may_map(request.len, limits) || self.may_replace(request, limits)
    }

    #[cold]
    fn may_replace(&self, request: &MapRequest, limits: Limits) -> bool {
        let Placement::Fixed(start) = request.placement else { return false };
        self.may_map(request.len - self.mapped_in(start, start + request.len), limits)
    }

    /// Bytes that are mapped in a range.
    pub(super) fn mapped_in(&self, start: usize, end: usize) -> usize {
        let part = |vma: &Vma| vma.end.min(end) - vma.start.max(start);
        self.map.overlapping(start, end).map(part).sum()
    }
}

impl<M: Mmu> AddressSpace<M> {
    /// Says how much of what is mapped is the first stack.
    pub fn set_first_stack(&self, bytes: usize) {
        self.change().first_stack = bytes;
    }
}
