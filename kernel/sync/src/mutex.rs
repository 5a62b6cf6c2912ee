// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A mutex whose waiters sleep: for state that is held across device requests.

use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::sync::{SpinLock, SpinLockGuard};

use crate::{WaitMode, WaitQueue};

/// A sleeping mutual-exclusion lock. Not for interrupt handlers.
pub struct Mutex<T> {
    held: AtomicBool,
    waiters: WaitQueue,
    // Taken only by the holder of `held`, so it never spins; it gives `&mut T` without unsafe code.
    value: SpinCell<T>,
}

/// A value that one thread at a time takes out and puts back.
struct SpinCell<T>(SpinLock<Option<T>>);

impl<T> SpinCell<T> {
    fn lock(&self) -> SpinLockGuard<'_, Option<T>> {
        self.0.lock()
    }
}

/// Holds a [`Mutex`]; the value lives in the guard meanwhile, so no spin lock is held.
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    value: Option<T>,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            waiters: WaitQueue::new(),
            value: SpinCell(SpinLock::new(Some(value))),
        }
    }

    /// Takes the mutex; sleeps while another thread holds it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let taken =
            self.waiters.wait_until(None, WaitMode::Uninterruptible, || self.try_hold().then_some(()));
        debug_assert!(taken.is_ok(), "an uninterruptible wait without deadline ends with its condition");
        MutexGuard { mutex: self, value: self.value.lock().take() }
    }

    fn try_hold(&self) -> bool {
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect("the guard holds the value")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("the guard holds the value")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        *self.mutex.value.lock() = self.value.take();
        self.mutex.held.store(false, Ordering::Release);
        self.mutex.waiters.wake_one();
    }
}

#[cfg(test)]
mod tests {
    use super::Mutex;

    #[test]
    fn gives_the_value_back() {
        let mutex = Mutex::new(vec![1]);
        mutex.lock().push(2);
        assert_eq!(*mutex.lock(), [1, 2]);
    }
}
