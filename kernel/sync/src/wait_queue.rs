// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wait queues: threads that wait for a condition to become true.

use alloc::collections::VecDeque;

use hadal_hal::sync::{Rank, SpinLock, may_wait};
use hadal_sched::{Thread, Wake, current, park};

/// Whether a wait ends when the thread gets a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// A pending signal ends the wait.
    Interruptible,
    /// Only the condition or the deadline ends the wait: for waits on devices that always answer.
    Uninterruptible,
}

/// Why a wait ended without its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The deadline has passed.
    TimedOut,
    /// A signal is pending.
    Interrupted,
}

/// Threads waiting for the same thing. Wakers change the condition first and then wake; waiters register first and then
/// look at the condition, so no wake-up is lost.
pub struct WaitQueue {
    waiters: SpinLock<VecDeque<&'static Thread>>,
}

impl Default for WaitQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitQueue {
    /// A queue without waiters.
    pub const fn new() -> Self {
        Self { waiters: SpinLock::ranked(Rank::Waiters, VecDeque::new()) }
    }

    /// Registers a thread; for waits on several queues at once, together with [`WaitQueue::remove`] and park.
    pub fn add(&self, thread: &'static Thread) {
        self.waiters.lock().push_back(thread);
    }

    /// Takes a thread out, if it is still in.
    pub fn remove(&self, thread: &'static Thread) {
        self.waiters.lock().retain(|waiter| waiter.id() != thread.id());
    }

    /// Wakes the thread that has waited longest; returns whether there was one.
    pub fn wake_one(&self) -> bool {
        let waiter = self.waiters.lock().pop_front();
        waiter.map(Thread::unpark).is_some()
    }

    /// Wakes all threads and returns their number.
    pub fn wake_all(&self) -> usize {
        let waiters = core::mem::take(&mut *self.waiters.lock());
        waiters.iter().for_each(|waiter| waiter.unpark());
        waiters.len()
    }

    /// Blocks until `condition` gives a value. It is called with no lock held, before the first wait and after each
    /// wake-up.
    pub fn wait_until<T>(
        &self,
        deadline_ns: Option<u64>,
        mode: WaitMode,
        mut condition: impl FnMut() -> Option<T>,
    ) -> Result<T, WaitError> {
        may_wait();
        if let Some(value) = condition() {
            return Ok(value);
        }
        let thread = current();
        let mut timed_out = false;
        loop {
            self.add(thread);
            let outcome = condition();
            let interrupted = mode == WaitMode::Interruptible && thread.interrupted();
            if outcome.is_none() && !interrupted && !timed_out {
                timed_out = park(deadline_ns) == Wake::TimedOut;
            }
            self.remove(thread);
            if let Some(value) = outcome {
                return Ok(value);
            }
            if interrupted {
                // A wake-up that was meant for this thread goes to the next one.
                return condition().ok_or(WaitError::Interrupted);
            }
            if timed_out {
                return condition().ok_or(WaitError::TimedOut);
            }
        }
    }
}
