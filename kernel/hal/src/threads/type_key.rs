// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Untyped words of this layer that hold references to a higher layer's types ([`super::running`], [`super::companion`]).
//!
//! Beside such words lies a key: the address of the one static that may use them. The static is generic over the types, so
//! whoever finds its own address in the key knows what the words hold. Once a key is set no other static takes its place.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

/// Part of a static: its address stands for `T`.
pub(super) struct TypeKey<T: 'static> {
    of: PhantomData<&'static T>,
    /// Gives every instance an address of its own: what can be changed is never merged with what looks the same.
    _place: AtomicU16,
}

impl<T> TypeKey<T> {
    pub(super) const fn new() -> Self {
        Self { of: PhantomData, _place: AtomicU16::new(0) }
    }

    /// The address, which is even and not 0.
    #[inline(always)]
    pub(super) fn address(&'static self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// Whether the words beside this key hold `T`.
    #[inline(always)]
    pub(super) fn fits(&'static self, key: &AtomicUsize, order: Ordering) -> bool {
        key.load(order) == self.address()
    }
}
