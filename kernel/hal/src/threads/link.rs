// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links between things that live for ever: an atomic word that holds a reference or nothing.
//!
//! Control blocks that are never freed, only reused (decision 0004), can be linked by reference instead of by index: what is
//! loaded was stored, so it is valid, and following a link is one instruction. [`AtomicSomeRef`] holds a reference always.

#[cfg(not(loom))]
use crate::sync::atomic::{AtomicPtr, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicPtr, Ordering};

/// An `Option<&'static T>` that many CPUs may read and write.
#[derive(Debug)]
pub struct AtomicRef<T: 'static>(AtomicPtr<T>);

impl<T: Sync> Default for AtomicRef<T> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T: Sync> AtomicRef<T> {
    /// Nothing.
    #[cfg(not(loom))]
    pub const fn none() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Nothing.
    #[cfg(loom)]
    pub fn none() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// What is there.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> Option<&'static T> {
        reference(self.0.load(order))
    }

    /// The address of what is there, 0 for nothing: for one branch on it and other words.
    #[inline(always)]
    pub fn bits(&self, order: Ordering) -> usize {
        self.0.load(order).addr()
    }

    /// Whether it is this very thing.
    #[inline(always)]
    pub fn points_to(&self, thing: &T, order: Ordering) -> bool {
        core::ptr::eq(self.0.load(order), thing)
    }

    /// Replaces what is there.
    #[inline(always)]
    pub fn store(&self, value: Option<&'static T>, order: Ordering) {
        self.0.store(pointer(value), order);
    }

    /// Replaces what is there and returns it.
    #[inline(always)]
    pub fn swap(&self, value: Option<&'static T>, order: Ordering) -> Option<&'static T> {
        reference(self.0.swap(pointer(value), order))
    }

    /// Replaces what is there if it is `current`, or fails with what is there; may fail for no reason.
    #[inline(always)]
    pub fn compare_exchange_weak(
        &self,
        current: Option<&'static T>,
        new: Option<&'static T>,
        success: Ordering,
        failure: Ordering,
    ) -> Result<(), Option<&'static T>> {
        match self.0.compare_exchange_weak(pointer(current), pointer(new), success, failure) {
            Ok(_) => Ok(()),
            Err(found) => Err(reference(found)),
        }
    }
}

/// A `&'static T` that many CPUs may read and write.
#[derive(Debug)]
pub struct AtomicSomeRef<T: 'static>(AtomicPtr<T>);

impl<T: Sync> AtomicSomeRef<T> {
    /// A reference to a thing.
    pub fn to(value: &'static T) -> Self {
        Self(AtomicPtr::new(pointer(Some(value))))
    }

    /// What is there.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> &'static T {
        // SAFETY: the word holds what `pointer` made of a `&'static T`, from the start on; nothing else stores to it, the
        // referent lives for ever and, being `Sync`, may be used on any CPU. Only shared references are made.
        unsafe { &*self.0.load(order).cast_const() }
    }

    /// Whether it is this very thing.
    #[inline(always)]
    pub fn points_to(&self, thing: &T, order: Ordering) -> bool {
        core::ptr::eq(self.0.load(order), thing)
    }

    /// Replaces what is there and returns it.
    #[inline(always)]
    pub fn swap(&self, value: &'static T, order: Ordering) -> &'static T {
        // SAFETY: as in `load`.
        unsafe { &*self.0.swap(pointer(Some(value)), order).cast_const() }
    }
}

fn pointer<T>(value: Option<&'static T>) -> *mut T {
    value.map_or(core::ptr::null_mut(), |value| core::ptr::from_ref(value).cast_mut())
}

#[inline(always)]
fn reference<T: Sync>(pointer: *mut T) -> Option<&'static T> {
    // SAFETY: the word holds null or what `pointer` made of a `&'static T`; nothing else stores to it, the referent lives
    // for ever and, being `Sync`, may be used on any CPU. Only shared references are made.
    unsafe { pointer.cast_const().as_ref() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{AtomicRef, AtomicSomeRef};
    use core::sync::atomic::Ordering::Relaxed;

    #[test]
    fn gives_back_what_was_stored() {
        static ONE: u32 = 1;
        static TWO: u32 = 2;
        let link = AtomicRef::none();
        assert_eq!(link.load(Relaxed), None);
        link.store(Some(&ONE), Relaxed);
        assert!(link.points_to(&ONE, Relaxed) && !link.points_to(&TWO, Relaxed));
        assert_eq!(link.swap(Some(&TWO), Relaxed), Some(&ONE));
        assert_eq!(link.compare_exchange_weak(Some(&ONE), None, Relaxed, Relaxed), Err(Some(&TWO)));
        link.store(None, Relaxed);
        assert_eq!(link.load(Relaxed), None);
    }
    #[test]
    fn there_is_always_something() {
        static ONE: u32 = 1;
        static TWO: u32 = 2;
        let link = AtomicSomeRef::to(&ONE);
        assert!(link.points_to(&ONE, Relaxed) && *link.load(Relaxed) == 1);
        assert_eq!((link.swap(&TWO, Relaxed), link.load(Relaxed)), (&ONE, &TWO));
    }
}
