// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a process may have of a window (`RLIMIT_AS`, `RLIMIT_DATA`, `RLIMIT_MEMLOCK`). Several processes may run in one, so the
//! limits come with each call.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::create::{MapBacking, MapRequest, Placement};
use super::vma::{Prot, Vma};
use super::{AddressSpace, Inner, Mmu};

/// Most bytes of each kind; `None` is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// Of what is mapped.
    pub mapped: Option<&'a MappedLimits>,
    /// Of locked memory.
    pub locked: Option<usize>,
}

/// Most bytes that may be mapped; [`usize::MAX`] is no limit. They may change at any time.
#[derive(Debug)]
pub struct MappedLimits {
    /// Of addresses.
    pub all: AtomicUsize,
    /// Of data: private memory that may be written. The first stack is none.
    pub data: AtomicUsize,
    /// Of the heap that ends at the program break.
    pub heap: AtomicUsize,
}

impl MappedLimits {
    /// No limits.
    pub const fn none() -> Self {
        let [all, data, heap] = [const { AtomicUsize::new(usize::MAX) }; 3];
        Self { all, data, heap }
    }
}

impl<'a> Limits<'a> {
    /// A limit of locked memory only.
    #[must_use]
    pub fn locked(bytes: usize) -> Self {
        Self { locked: Some(bytes), ..Self::default() }
    }

    /// Limits of what is mapped only.
    #[must_use]
    pub fn mapped(most: Option<&'a MappedLimits>) -> Self {
        Self { mapped: most, ..Self::default() }
    }
}

/// What a window gets and loses.
struct Exchange {
    /// Bytes that are mapped.
    more: usize,
    /// They are data.
    is_data: bool,
    /// Bytes that were mapped and are not any more.
    less: usize,
    /// Bytes of data among them.
    less_data: usize,
}

impl Inner {
    /// Whether so many more bytes may be mapped.
    #[inline]
    pub(super) fn may_map(&self, bytes: usize, limits: Limits<'_>, is_data: impl FnOnce() -> bool) -> bool {
        let Some(most) = limits.mapped else { return true };
        self.fits(&Exchange { more: bytes, is_data: is_data(), less: 0, less_data: 0 }, most)
    }

    /// The first stack is mapped whole, where Linux's grows: it does not count.
    #[cold]
    fn fits(&self, exchange: &Exchange, most: &MappedLimits) -> bool {
        let Exchange { more, is_data, less, less_data } = *exchange;
        let fits = |counted: usize, less, most| counted.saturating_sub(less).saturating_add(more) <= most;
        let (all, data) = (most.all.load(Ordering::Relaxed), most.data.load(Ordering::Relaxed));
        fits(self.map.mapped_bytes().0.saturating_sub(self.first_stack), less, all)
            && (!is_data || data == usize::MAX || fits(self.map.data_bytes(), less_data, data))
    }

    /// Whether a new mapping may be made, which may replace others.
    #[inline]
    pub(super) fn may_add(&self, request: &MapRequest, limits: Limits<'_>) -> bool {
        let is_private = || !matches!(request.backing, MapBacking::File { shared: true, .. });
        let is_data = || request.prot.contains(Prot::WRITE) && is_private();
        self.may_map(request.len, limits, is_data) || self.may_replace(request, is_data(), limits)
    }

    /// As on Linux, what is replaced counts for as much data as the new mapping is, whatever it was.
    #[cold]
    fn may_replace(&self, request: &MapRequest, is_data: bool, limits: Limits<'_>) -> bool {
        let (Placement::Fixed(start), Some(most)) = (request.placement, limits.mapped) else { return false };
        let less = self.bytes_in(start, start + request.len, |_| true);
        self.fits(&Exchange { more: request.len, is_data, less, less_data: less }, most)
    }

    /// Whether a mapping may become so much longer where it moves to and replaces others.
    pub(super) fn may_move(
        &self,
        vma: &Vma,
        more: usize,
        (start, end): (usize, usize),
        limits: Limits<'_>,
    ) -> bool {
        let Some(most) = limits.mapped.filter(|_| more > 0) else { return true };
        let less = self.bytes_in(start, end, |_| true);
        let less_data = self.bytes_in(start, end, Vma::is_data);
        self.fits(&Exchange { more, is_data: vma.is_data(), less, less_data }, most)
    }

    /// Bytes of data that there may be beside those that there are, if there is a limit.
    pub(super) fn room_for_data(&self, most: &MappedLimits) -> Option<usize> {
        let most = most.data.load(Ordering::Relaxed);
        (most != usize::MAX).then(|| most.saturating_sub(self.map.data_bytes()))
    }

    /// Bytes in a range of the mappings that are `counted`.
    fn bytes_in(&self, start: usize, end: usize, counted: impl Fn(&Vma) -> bool) -> usize {
        let part = |vma: &Vma| vma.end.min(end) - vma.start.max(start);
        self.map.overlapping(start, end).filter(|vma| counted(vma)).map(part).sum()
    }
}

impl<M: Mmu> AddressSpace<M> {
    /// Says how much of what is mapped is the first stack.
    pub fn set_first_stack(&self, bytes: usize) {
        self.change().first_stack = bytes;
    }
}
