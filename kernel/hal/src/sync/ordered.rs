// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A lock's place in the order of locks: kept and checked by the debug kernel, and nothing at all in other builds.

use super::Rank;
#[cfg(all(debug_assertions, target_os = "none"))]
use super::held;

/// A field of every lock.
#[derive(Default)]
pub(super) struct Ordered {
    #[cfg(all(debug_assertions, target_os = "none"))]
    rank: Rank,
}

impl Ordered {
    pub(super) const fn new(rank: Rank) -> Self {
        // A rank that is not kept.
        let _ = rank;
        Self {
            #[cfg(all(debug_assertions, target_os = "none"))]
            rank,
        }
    }

    #[cfg(all(debug_assertions, target_os = "none"))]
    fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// Before a lock that spins with interrupts off is waited for.
    #[inline(always)]
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub(super) fn check_spin(&self) {
        #[cfg(all(debug_assertions, target_os = "none"))]
        held::check_spin(self.rank, self.address());
    }

    /// It was taken.
    #[inline(always)]
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub(super) fn add_spin(&self) {
        #[cfg(all(debug_assertions, target_os = "none"))]
        held::add_spin(self.rank, self.address(), core::panic::Location::caller());
    }

    /// It is about to be released.
    #[inline(always)]
    pub(super) fn remove_spin(&self) {
        #[cfg(all(debug_assertions, target_os = "none"))]
        held::remove_spin(self.address());
    }

    /// Before a reader-writer lock is waited for.
    #[inline(always)]
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub(super) fn check_shared(&self) {
        #[cfg(all(debug_assertions, target_os = "none"))]
        held::check_shared(self.rank, self.address());
    }

    /// It was taken.
    #[inline(always)]
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub(super) fn add_shared(&self) {
        #[cfg(all(debug_assertions, target_os = "none"))]
        held::add_shared(self.rank, self.address(), core::panic::Location::caller());
    }

    /// It is about to be released.
    #[inline(always)]
    pub(super) fn remove_shared(&self) {
        #[cfg(all(debug_assertions, target_os = "none"))]
        held::remove_shared(self.address());
    }
}
