// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wait queues: threads that wait for a condition to become true, and [`Listener`]s that are told of each change.

use alloc::collections::{TryReserveError, VecDeque};
use alloc::sync::Arc;

use hadal_hal::sync::{Rank, SpinLock, may_wait};
use hadal_sched::{Thread, Wake, current, park};

use crate::listener::{ANYTHING, Listener, Listeners, WakeMode};
use crate::presence::Presence;

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
    waiting: SpinLock<Waiting>,
    /// Of threads and listeners.
    presence: Presence,
}

struct Waiting {
    threads: VecDeque<&'static Thread>,
    listeners: Listeners,
}

impl Default for WaitQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitQueue {
    /// A queue without waiters.
    pub const fn new() -> Self {
        let waiting = Waiting { threads: VecDeque::new(), listeners: Listeners::new() };
        Self { waiting: SpinLock::ranked(Rank::Waiters, waiting), presence: Presence::new() }
    }

    /// Looks at who waits, or changes it.
    fn with<T>(&self, then: impl FnOnce(&mut Waiting) -> T) -> T {
        let mut waiting = self.waiting.lock();
        let result = then(&mut waiting);
        self.presence.set(waiting.threads.len() + waiting.listeners.len());
        result
    }

    /// Registers a thread; for waits on several queues at once, together with [`WaitQueue::remove`] and park. Returns false
    /// when there is no memory to note it: nobody will wake the thread, which has to look again by itself.
    #[must_use = "nobody wakes a thread that is not registered"]
    pub fn add(&self, thread: &'static Thread) -> bool {
        let has_room = self.with(|waiting| {
            let has_room = waiting.threads.try_reserve(1).is_ok();
            if has_room {
                waiting.threads.push_back(thread);
            }
            has_room
        });
        self.presence.entered();
        has_room
    }

    /// Takes a thread out, if it is still in.
    pub fn remove(&self, thread: &'static Thread) {
        self.with(|waiting| waiting.threads.retain(|waiter| waiter.id() != thread.id()));
    }

    /// Registers a listener, which hears of every change until [`WaitQueue::ignore`].
    pub fn listen(&self, listener: Arc<dyn Listener>, mode: WakeMode) -> Result<(), TryReserveError> {
        let added = self.with(|waiting| waiting.listeners.add(listener, mode));
        self.presence.entered();
        added
    }

    /// Takes a listener out, if it is in. When this returns it is not being told of anything by this queue.
    pub fn ignore(&self, listener: &Arc<dyn Listener>) {
        let removed = self.with(|waiting| waiting.listeners.remove(listener));
        // Outside the lock: what it holds on to may go with it.
        drop(removed);
    }

    /// Wakes the thread that has waited longest; returns whether there was one. No listener hears of it.
    #[inline]
    pub fn wake_one(&self) -> bool {
        self.presence.anybody() && self.wake_first()
    }

    #[inline(never)]
    fn wake_first(&self) -> bool {
        let waiter = self.with(|waiting| waiting.threads.pop_front());
        waiter.map(Thread::unpark).is_some()
    }

    /// Wakes the thread that has waited longest, and tells the listeners what may have become true; returns whether there
    /// was such a thread.
    pub fn wake_one_for(&self, changes: u32) -> bool {
        if !self.presence.anybody() {
            return false;
        }
        let waiter = self.with(|waiting| {
            waiting.listeners.tell(changes);
            waiting.threads.pop_front()
        });
        waiter.map(Thread::unpark).is_some()
    }

    /// Wakes all threads, tells all listeners, and returns the number of threads.
    pub fn wake_all(&self) -> usize {
        self.wake_all_for(ANYTHING)
    }

    /// Wakes all threads and tells the listeners what may have become true, in bits that they share with the owner of the
    /// queue; 0 is nothing that a listener could wait for. Returns the number of threads.
    #[inline]
    pub fn wake_all_for(&self, changes: u32) -> usize {
        if self.presence.anybody() { self.wake_everybody(changes) } else { 0 }
    }

    #[inline(never)]
    fn wake_everybody(&self, changes: u32) -> usize {
        let threads = self.with(|waiting| {
            if changes != 0 {
                waiting.listeners.tell(changes);
            }
            core::mem::take(&mut waiting.threads)
        });
        threads.iter().for_each(|thread| thread.unpark());
        threads.len()
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
