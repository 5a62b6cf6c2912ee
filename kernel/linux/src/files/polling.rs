// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting until one of several files is ready, for `poll` and `select` and their variants.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::memory::fallible;
use hadal_sched::Thread;
use hadal_sync::{Listener, WaitQueue, WakeMode};
use hadal_vfs::{OpenFile, PollEvents};
use zerocopy::{Immutable, IntoBytes};

use crate::call::Call;
use crate::restart::Restart;
use crate::{Errno, Result, clock, memory, signal};

/// What is asked about one descriptor, and the answer.
pub(crate) struct Watched {
    /// `None` for a descriptor that is not open.
    file: Option<Arc<OpenFile>>,
    /// The events that count.
    wanted: PollEvents,
    /// Those of them that were found.
    pub(crate) ready: PollEvents,
}

impl Watched {
    /// A question about an open file, or about a descriptor that is not open.
    pub(crate) fn new(file: Option<Arc<OpenFile>>, wanted: PollEvents) -> Self {
        Self { file, wanted, ready: PollEvents::empty() }
    }

    fn look(&mut self) -> bool {
        let found = match &self.file {
            // A descriptor that only names a place cannot be polled.
            Some(file) => file.file().map_or(PollEvents::INVALID, |file| file.poll()),
            None => PollEvents::INVALID,
        };
        self.ready = found & self.wanted;
        !self.ready.is_empty()
    }
}

/// A deadline that has passed.
const PASSED: u64 = 0;

/// When a time-out is over. Whoever does not wait at all needs no clock.
pub(crate) fn deadline_after(timeout_ns: u64) -> u64 {
    if timeout_ns == 0 { PASSED } else { clock::after(timeout_ns) }
}

/// Fills in all answers and counts those that are not empty.
fn look_at_all(watched: &mut [Watched]) -> usize {
    watched.iter_mut().map(|entry| usize::from(entry.look())).sum()
}

/// Wakes a thread when one of several queues changes, and remembers that it did: the wake-up itself may be used up by a lock
/// that the thread waits for while it looks.
struct Waker {
    thread: &'static Thread,
    told: AtomicBool,
}

impl Listener for Waker {
    fn notify(&self, _changes: u32) -> bool {
        self.told.store(true, Ordering::SeqCst);
        self.thread.unpark();
        true
    }
}

/// A [`Waker`] that is registered with queues until this goes.
struct Registration<'a> {
    waker: Arc<Waker>,
    queues: Vec<&'a WaitQueue>,
}

impl<'a> Registration<'a> {
    fn new(thread: &'static Thread, opened: &'a [Arc<OpenFile>]) -> Result<Self> {
        let waker = fallible::arc(Waker { thread, told: AtomicBool::new(false) })?;
        let files = opened.iter().filter_map(|file| file.file().ok());
        let all = files.flat_map(|file| file.wait_queues().into_iter().flatten());
        let mut queues: Vec<&WaitQueue> = fallible::room_for(2 * opened.len())?;
        queues.extend(all);
        queues.sort_unstable_by_key(|queue| ptr::from_ref(*queue) as usize);
        queues.dedup_by(|a, b| ptr::eq(*a, *b));
        let registration = Self { waker, queues };
        for queue in &registration.queues {
            queue.listen(registration.waker.clone(), WakeMode::Always).map_err(|_| Errno::ENOMEM)?;
        }
        Ok(registration)
    }

    /// Whether something has changed since the last time.
    fn take(&self) -> bool {
        self.waker.told.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let listener: Arc<dyn Listener> = self.waker.clone();
        self.queues.iter().for_each(|queue| queue.ignore(&listener));
    }
}

/// Waits until something is ready, and returns how many entries are; 0 when the deadline (on the monotonic clock) has
/// passed, `EINTR` when a signal is pending.
pub(crate) fn wait(call: &Call<'_>, watched: &mut [Watched], deadline_ns: Option<u64>) -> Result<usize> {
    let expired =
        || deadline_ns.is_some_and(|deadline| deadline == PASSED || hadal_time::now_ns() >= deadline);
    let count = look_at_all(watched);
    // Who does not wait need not be told of changes.
    if count > 0 || expired() {
        return Ok(count);
    }
    let thread = call.task.thread();
    let files = fallible::collected(watched.iter().filter_map(|entry| entry.file.clone()))?;
    let registration = Registration::new(thread, &files)?;
    loop {
        // Registered first and asked afterwards, so that no change is missed.
        let count = look_at_all(watched);
        let interrupted = thread.interrupted() && signal::interrupted(call.task, call.process);
        if count > 0 || expired() {
            return Ok(count);
        }
        if interrupted {
            return Err(Errno::EINTR);
        }
        if !registration.take() {
            hadal_sched::park(deadline_ns.and_then(clock::deadline));
        }
    }
}

/// How long it is until a deadline; 0 when it has passed.
pub(crate) fn remaining_ns(deadline_ns: u64) -> u64 {
    deadline_ns.saturating_sub(hadal_time::now_ns())
}

/// Stores the time left where the time-out was. One that cannot be written to is no error, but the call cannot be made again.
pub(crate) fn finish<T: IntoBytes + Immutable>(
    call: &Call<'_>,
    result: Result<usize>,
    address: usize,
    left: &T,
) -> Result<usize> {
    match (memory::write(address, left), result) {
        (Err(_), Err(Errno::EINTR)) => Err(call.interrupted_as(Restart::Never)),
        (_, result) => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_descriptor_is_an_answer() {
        let mut watched = [Watched::new(None, PollEvents::READ | PollEvents::INVALID)];
        assert_eq!(look_at_all(&mut watched), 1);
        assert_eq!(watched[0].ready, PollEvents::INVALID);
        assert_eq!(look_at_all(&mut [Watched::new(None, PollEvents::READ)]), 0);
    }
}
