// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A mutex whose waiters sleep: for state that is held across device requests.

use core::ops::{Deref, DerefMut};

use hadal_hal::sync::may_wait;
use spin::mutex::{SpinMutex, SpinMutexGuard};

use crate::{WaitMode, WaitQueue};

/// A sleeping mutual-exclusion lock. Not for interrupt handlers.
pub struct Mutex<T> {
    // Only tried, never spun on.
    value: SpinMutex<T>,
    waiters: WaitQueue,
}

/// Holds a [`Mutex`].
pub struct MutexGuard<'a, T> {
    // Goes first, so that who is woken finds the mutex free.
    value: SpinMutexGuard<'a, T>,
    _wake: Wake<'a>,
}

/// Wakes one waiter when it goes.
struct Wake<'a>(&'a WaitQueue);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self { value: SpinMutex::new(value), waiters: WaitQueue::new() }
    }

    /// Takes the mutex; sleeps while another thread holds it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        may_wait();
        let value = self.value.try_lock().unwrap_or_else(|| self.wait());
        MutexGuard { value, _wake: Wake(&self.waiters) }
    }

    #[cold]
    fn wait(&self) -> SpinMutexGuard<'_, T> {
        let taken = self.waiters.wait_until(None, WaitMode::Uninterruptible, || self.value.try_lock());
        // Whoever takes a mutex to look at what it waits for may have been woken for that meanwhile, and is on no queue any more:
        // it must not sleep before it has looked again.
        hadal_sched::current().unpark();
        taken.unwrap_or_else(|_| unreachable!("such a wait without deadline ends with its condition"))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl Drop for Wake<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.wake_one();
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
