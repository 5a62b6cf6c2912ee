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

/// How often a thread that nobody can wake looks at its condition.
const LOOK_NS: u64 = 1_000_000;

/// Parks the calling thread until it is woken; one that could not be registered everywhere looks again in a moment.
pub fn park_as(is_registered: bool, deadline_ns: Option<u64>) -> Wake {
    if is_registered {
        return park(deadline_ns);
    }
    let look_ns = hadal_time::now_ns() + LOOK_NS;
    match deadline_ns {
        Some(deadline_ns) if deadline_ns <= look_ns => park(Some(deadline_ns)),
        _ => {
            park(Some(look_ns));
            Wake::Unparked
        }
    }
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

    /// Registers a thread; for waits on several queues at once, together with [`WaitQueue::remove`] and park. Returns false
    /// when there is no memory to note it: nobody will wake the thread, which has to look again by itself.
    #[must_use = "nobody wakes a thread that is not registered"]
    pub fn add(&self, thread: &'static Thread) -> bool {
        let mut waiters = self.waiters.lock();
        let has_room = waiters.try_reserve(1).is_ok();
        if has_room {
            waiters.push_back(thread);
        }
        has_room
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
            let is_registered = self.add(thread);
            let outcome = condition();
            let interrupted = mode == WaitMode::Interruptible && thread.interrupted();
            if outcome.is_none() && !interrupted && !timed_out {
                timed_out = park_as(is_registered, deadline_ns) == Wake::TimedOut;
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
