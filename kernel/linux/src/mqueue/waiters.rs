// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that wait at a queue: the one of the highest priority is served first, of equals the one that has waited longest.
//!
//! Whoever serves a thread takes it out of the list and moves the message to it or from it, all under the queue's lock; so a
//! message never goes to a thread that came later.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::cmp::Reverse;

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;
use hadal_sched::Thread;

use super::queue::Message;
use crate::Result;

/// A thread that waits, with the message that it sends, or a place for the one that it gets.
pub(super) struct Waiter {
    thread: &'static Thread,
    message: SpinLock<Option<Message>>,
}

impl Waiter {
    /// Puts a message there, or takes one away.
    pub(super) fn exchange(&self, message: Option<Message>) -> Option<Message> {
        core::mem::replace(&mut *self.message.lock(), message)
    }

    /// Lets the thread go on.
    pub(super) fn wake(&self) {
        self.thread.unpark();
    }
}

/// Names a waiter and says when its turn is.
pub(super) type Turn = (Reverse<u8>, u64);

/// The threads that wait for one thing.
pub(super) struct Waiters {
    waiting: BTreeMap<Turn, Arc<Waiter>>,
    /// Threads that have waited.
    arrived: u64,
}

impl Waiters {
    pub(super) const fn new() -> Self {
        Self { waiting: BTreeMap::new(), arrived: 0 }
    }

    /// Adds a thread.
    pub(super) fn add(
        &mut self,
        thread: &'static Thread,
        message: Option<Message>,
    ) -> Result<(Turn, Arc<Waiter>)> {
        fallible::admit(fallible::SMALL_BYTES)?;
        let waiter = fallible::arc(Waiter { thread, message: SpinLock::new(message) })?;
        let turn = (Reverse(thread.priority()), self.arrived);
        self.arrived += 1;
        self.waiting.insert(turn, waiter.clone());
        Ok((turn, waiter))
    }

    /// Takes out the thread whose turn is next.
    pub(super) fn next(&mut self) -> Option<Arc<Waiter>> {
        self.waiting.pop_first().map(|(_, waiter)| waiter)
    }

    /// Takes out a thread that gives up; false if it has been served.
    pub(super) fn remove(&mut self, turn: Turn) -> bool {
        self.waiting.remove(&turn).is_some()
    }

    /// Whether a thread has not been served yet.
    pub(super) fn has(&self, turn: Turn) -> bool {
        self.waiting.contains_key(&turn)
    }
}
