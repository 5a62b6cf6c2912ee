// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Busy-waiting locks.
//!
//! [`SpinLock`] disables interrupts on its CPU while held, so that an interrupt handler may take it too.
//! [`RwSpinLock`] leaves interrupts alone: it is for process context only, where a waiter must keep answering
//! TLB shootdowns. Neither is fair; both are held for a few hundred instructions at most. No lock is held across
//! a context switch: `hadal-sync` has the sleeping ones.
//!
//! A lock has a [`Rank`], its place in the order in which locks are taken. The debug kernel checks the order, and that
//! nobody waits with a lock held (`held.rs`); in other builds ranks are neither stored nor looked at.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use crate::cpu;
use crate::interrupts::irq::{self, IrqGuard};
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub mod atomic;
#[cfg(any(all(debug_assertions, target_os = "none"), test))]
pub(crate) mod held;
mod ordered;
mod rank;

use ordered::Ordered;
pub use rank::Rank;

/// Panics in the debug kernel if the calling thread must not wait now: with a spin lock held, in an interrupt, or with
/// interrupts that the kernel has turned off.
#[inline(always)]
#[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
pub fn may_wait() {
    #[cfg(all(debug_assertions, target_os = "none"))]
    held::check_may_wait();
}

/// Panics in the debug kernel if the calling CPU must not wait for an answer of other CPUs now: they may be waiting for one
/// of this CPU.
#[inline(always)]
#[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
pub(crate) fn may_wait_for_cpus() {
    #[cfg(all(debug_assertions, target_os = "none"))]
    held::check_may_wait_for_cpus();
}

/// Panics in the debug kernel if the calling CPU holds a spin lock.
#[inline(always)]
#[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
pub(crate) fn none_held() {
    #[cfg(all(debug_assertions, target_os = "none"))]
    held::check_none();
}

/// A test-and-test-and-set lock that keeps interrupts off while it is held.
#[derive(Default)]
pub struct SpinLock<T: ?Sized> {
    order: Ordered,
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands out one `&mut T` at a time, so sharing it needs only that `T` may move between CPUs.
unsafe impl<T: ?Sized + Send> Sync for SpinLock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: ?Sized + Send> Send for SpinLock<T> {}

/// Holds a [`SpinLock`]; releases it and restores the interrupt flag on drop.
pub struct SpinLockGuard<'a, T: ?Sized> {
    lock: &'a SpinLock<T>,
    // Restored after the lock is released: fields drop after `Drop::drop`.
    _irq: IrqGuard,
}

impl<T> SpinLock<T> {
    /// Creates an unlocked lock under which no other is taken, but for those of the allocator: a [`Rank::Leaf`].
    pub const fn new(value: T) -> Self {
        Self::ranked(Rank::Leaf, value)
    }

    /// Creates an unlocked lock with a place in the order of locks.
    pub const fn ranked(rank: Rank, value: T) -> Self {
        Self { order: Ordered::new(rank), locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> SpinLock<T> {
    /// Takes the lock, waiting for it with interrupts as the caller had them.
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub fn lock(&self) -> SpinLockGuard<'_, T> {
        self.order.check_spin();
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            while self.locked.load(Ordering::Relaxed) {
                cpu::relax();
            }
        }
    }

    /// Takes the lock if it is free.
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub fn try_lock(&self) -> Option<SpinLockGuard<'_, T>> {
        let irq = irq::disable();
        if self.locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        self.order.add_spin();
        Some(SpinLockGuard { lock: self, _irq: irq })
    }
}

impl<T: ?Sized> Deref for SpinLockGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while the lock is held, so no other reference to the value does.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for SpinLockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`, and `&mut self` makes this the only path through the guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for SpinLockGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.order.remove_spin();
        self.lock.locked.store(false, Ordering::Release);
    }
}

const WRITER: u32 = 1 << 31;
const WRITER_WAITS: u32 = 1 << 30;

/// A reader-writer spin lock for process context; a waiting writer holds new readers back.
#[derive(Default)]
pub struct RwSpinLock<T: ?Sized> {
    order: Ordered,
    // WRITER | WRITER_WAITS | number of readers
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: readers share `&T` (hence `T: Sync`), a writer has the only `&mut T` (hence `T: Send`).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwSpinLock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: ?Sized + Send> Send for RwSpinLock<T> {}

/// Shared access to the value of an [`RwSpinLock`].
pub struct ReadGuard<'a, T: ?Sized>(&'a RwSpinLock<T>);
/// Exclusive access to the value of an [`RwSpinLock`].
pub struct WriteGuard<'a, T: ?Sized>(&'a RwSpinLock<T>);

impl<T> RwSpinLock<T> {
    /// Creates an unlocked lock under which no other is taken, but for those of the allocator: a [`Rank::Leaf`].
    pub const fn new(value: T) -> Self {
        Self::ranked(Rank::Leaf, value)
    }

    /// Creates an unlocked lock with a place in the order of locks.
    pub const fn ranked(rank: Rank, value: T) -> Self {
        Self { order: Ordered::new(rank), state: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> RwSpinLock<T> {
    /// Takes the lock for reading.
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub fn read(&self) -> ReadGuard<'_, T> {
        self.order.check_shared();
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state & (WRITER | WRITER_WAITS) == 0
                && self
                    .state
                    .compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                self.order.add_shared();
                return ReadGuard(self);
            }
            cpu::relax();
        }
    }

    /// Takes the lock for writing.
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub fn write(&self) -> WriteGuard<'_, T> {
        self.order.check_shared();
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state & !WRITER_WAITS == 0 {
                if self
                    .state
                    .compare_exchange_weak(state, WRITER, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
                {
                    self.order.add_shared();
                    return WriteGuard(self);
                }
            } else if state & WRITER_WAITS == 0 {
                self.state.fetch_or(WRITER_WAITS, Ordering::Relaxed);
            }
            cpu::relax();
        }
    }
}

impl<T: ?Sized> Deref for ReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: readers are counted, so no writer exists while this guard does.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        self.0.order.remove_shared();
        self.0.state.fetch_sub(1, Ordering::Release);
    }
}

impl<T: ?Sized> Deref for WriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the WRITER bit is ours, so no other guard exists.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the WRITER bit is ours, so no other guard exists.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T: ?Sized> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        self.0.order.remove_shared();
        self.0.state.fetch_and(!WRITER, Ordering::Release);
    }
}
