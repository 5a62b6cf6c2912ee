// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue: messages by priority, of equals the oldest first.
//!
//! A message goes straight to a thread that waits for one, and a thread that waits for room leaves its message to whoever
//! makes room; so nobody who comes later is served before.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_sched::{Wake, current, park};
use hadal_sync::WaitQueue;
use hadal_vfs::{Blocking, PollEvents};

use super::charge::{Bounds, Charge};
use super::notice::Notice;
use super::waiters::{Turn, Waiters};
use crate::process::Process;
use crate::{Errno, Result};

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Higher ones are received first.
    pub(crate) priority: u32,
    /// The content.
    pub(crate) data: Vec<u8>,
}

/// Whether anybody has ever registered: who ends need not look for registrations otherwise.
static HAS_NOTICE: AtomicBool = AtomicBool::new(false);

pub(super) fn has_been_registered_with() -> bool {
    HAS_NOTICE.load(Ordering::Relaxed)
}

/// A queue.
pub(crate) struct Queue {
    /// Its size.
    pub(crate) bounds: Bounds,
    state: SpinLock<State>,
    /// Where `poll` waits.
    changed: WaitQueue,
    _charge: Charge,
}

struct State {
    messages: BTreeMap<(Reverse<u32>, u64), Vec<u8>>,
    /// Messages that have been put in.
    arrived: u64,
    /// Bytes of all messages.
    bytes: usize,
    senders: Waiters,
    receivers: Waiters,
    notice: Option<Notice>,
}

impl State {
    fn put(&mut self, message: Message) {
        self.bytes += message.data.len();
        self.messages.insert((Reverse(message.priority), self.arrived), message.data);
        self.arrived += 1;
    }

    fn take(&mut self) -> Option<Message> {
        let ((Reverse(priority), _), data) = self.messages.pop_first()?;
        self.bytes -= data.len();
        Some(Message { priority, data })
    }
}

/// The list of waiters that a thread is in.
type Side = fn(&mut State) -> &mut Waiters;

impl Queue {
    /// Makes an empty queue: `ENOSPC` and `EMFILE` when the program has too much of them.
    pub(super) fn new(process: &Process, bounds: Bounds) -> Result<Self> {
        let state = State {
            messages: BTreeMap::new(),
            arrived: 0,
            bytes: 0,
            senders: Waiters::new(),
            receivers: Waiters::new(),
            notice: None,
        };
        let charge = Charge::new(process, bounds)?;
        Ok(Self {
            bounds,
            state: SpinLock::ranked(Rank::Files, state),
            changed: WaitQueue::new(),
            _charge: charge,
        })
    }

    /// Sends a message, and waits for room until a monotonic time. `EAGAIN` when there is none, `ETIMEDOUT`, `EINTR`. Returns
    /// whom to tell of it.
    pub(crate) fn send(
        &self,
        message: Message,
        blocking: Blocking,
        deadline_ns: Option<u64>,
    ) -> Result<Option<Notice>> {
        let mut state = self.state.lock();
        if state.messages.len() == self.bounds.messages {
            if blocking == Blocking::Never {
                return Err(Errno::EAGAIN);
            }
            let (turn, _) = state.senders.add(current(), Some(message))?;
            drop(state);
            return self.wait(|state| &mut state.senders, turn, deadline_ns).map(|()| None);
        }
        if let Some(receiver) = state.receivers.next() {
            receiver.exchange(Some(message));
            drop(state);
            receiver.wake();
            return Ok(None);
        }
        fallible::admit(fallible::SMALL_BYTES)?;
        state.put(message);
        let notice = if state.messages.len() == 1 { state.notice.take() } else { None };
        drop(state);
        self.changed.wake_all_for(PollEvents::READABLE.changes());
        Ok(notice)
    }

    /// Takes the first message, and waits for one until a monotonic time. `EAGAIN`, `ETIMEDOUT`, `EINTR`.
    pub(crate) fn receive(&self, blocking: Blocking, deadline_ns: Option<u64>) -> Result<Message> {
        let mut state = self.state.lock();
        let Some(message) = state.take() else {
            if blocking == Blocking::Never {
                return Err(Errno::EAGAIN);
            }
            let (turn, waiter) = state.receivers.add(current(), None)?;
            drop(state);
            self.wait(|state| &mut state.receivers, turn, deadline_ns)?;
            return Ok(waiter.exchange(None).expect("who serves a receiver gives it a message"));
        };
        let sender = state.senders.next();
        if let Some(message) = sender.as_ref().and_then(|sender| sender.exchange(None)) {
            // In the place of the one that was taken.
            state.put(message);
        }
        drop(state);
        match sender {
            Some(sender) => sender.wake(),
            None => {
                self.changed.wake_all_for(PollEvents::WRITABLE.changes());
            }
        }
        Ok(message)
    }

    /// Waits until the calling thread has been served.
    fn wait(&self, side: Side, turn: Turn, deadline_ns: Option<u64>) -> Result<()> {
        let thread = current();
        thread.note_wait(Some((&"message queue", core::ptr::from_ref(self) as u64)));
        let mut timed_out = false;
        let result = loop {
            let given_up =
                if thread.interrupted() { Some(Errno::EINTR) } else { timed_out.then_some(Errno::ETIMEDOUT) };
            let mut state = self.state.lock();
            match given_up {
                Some(error) => break if side(&mut state).remove(turn) { Err(error) } else { Ok(()) },
                None if !side(&mut state).has(turn) => break Ok(()),
                None => {}
            }
            drop(state);
            timed_out = park(deadline_ns) == Wake::TimedOut;
        };
        thread.note_wait(None);
        result
    }

    /// Registers who is told; `EBUSY` if somebody has registered.
    pub(crate) fn register(&self, notice: Notice) -> Result<()> {
        let mut state = self.state.lock();
        if state.notice.is_some() {
            drop(state);
            return Err(Errno::EBUSY);
        }
        HAS_NOTICE.store(true, Ordering::Relaxed);
        state.notice = Some(notice);
        Ok(())
    }

    /// Ends the registration, if it is that of a process.
    pub(crate) fn unregister(&self, process: &Process) {
        let notice = self.state.lock().notice.take_if(|notice| notice.is_of(process));
        if let Some(notice) = notice {
            notice.cancel();
        }
    }

    /// Number of messages.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().messages.len()
    }

    /// Bytes of all messages, and who is told, as [`Notice::shown`].
    pub(super) fn shown(&self) -> (usize, (u32, u8, u32)) {
        let state = self.state.lock();
        (state.bytes, state.notice.as_ref().map_or((0, 0, 0), Notice::shown))
    }

    pub(super) fn poll(&self) -> PollEvents {
        let len = self.len();
        let mut events = PollEvents::empty();
        events.set(PollEvents::READABLE, len > 0);
        events.set(PollEvents::WRITABLE, len < self.bounds.messages);
        events
    }

    pub(super) fn changed(&self) -> &WaitQueue {
        &self.changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_priorities_come_first_and_equals_in_order() {
        let mut state = State {
            messages: BTreeMap::new(),
            arrived: 0,
            bytes: 0,
            senders: Waiters::new(),
            receivers: Waiters::new(),
            notice: None,
        };
        let message = |priority, byte| Message { priority, data: alloc::vec![byte] };
        for (priority, byte) in [(0, 1), (7, 2), (0, 3), (32767, 4), (7, 5)] {
            state.put(message(priority, byte));
        }
        assert_eq!(state.bytes, 5);
        let taken: Vec<Message> = core::iter::from_fn(|| state.take()).collect();
        let expected = [(32767, 4), (7, 2), (7, 5), (0, 1), (0, 3)];
        assert_eq!(taken, expected.map(|(priority, byte)| message(priority, byte)));
        assert_eq!(state.bytes, 0);
    }
}
