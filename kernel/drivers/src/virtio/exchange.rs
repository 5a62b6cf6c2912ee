// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests and answers: a queue on which each chain is one exchange that a thread waits for.
//!
//! Any number of threads may have an exchange under way, up to the entries of the queue. Each sleeps until the interrupt
//! handler marks its slot: a processor that sleeps lets the host work on the answer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hadal_hal::cpu::hold;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_sched::{Noun, current, park, thread};
use hadal_sync::{WaitMode, WaitQueue};

use super::device::{Doorbell, Driver, Failure, Queue};
use super::memory::Segment;
use super::ring::MAX_SIZE;
use crate::Closed;

/// Values of [`Slot::done`]; anything else is one more than the number of bytes written.
const PENDING: u64 = 0;
const CLOSED: u64 = u64::MAX;

/// An exchange under way.
struct Slot {
    /// Index of the thread that waits.
    thread: AtomicU32,
    done: AtomicU64,
}

struct State {
    queue: Queue,
    free_slots: Vec<u16>,
}

/// A queue of exchanges.
pub(crate) struct Exchange {
    /// What a thread waits for, in reports.
    what: Noun,
    state: SpinLock<State>,
    slots: Box<[Slot]>,
    /// Threads that wait for free entries.
    space: WaitQueue,
    failure: Failure,
    requests: AtomicU64,
}

impl Exchange {
    /// Takes the queue over; `what` names its exchanges in reports.
    pub(crate) fn new(mut queue: Queue, what: Noun) -> Self {
        // It is asked for again after each one: from here on every completion raises one.
        queue.enable_interrupt();
        let slots =
            (0..MAX_SIZE).map(|_| Slot { thread: AtomicU32::new(0), done: AtomicU64::new(CLOSED) }).collect();
        Self {
            what,
            state: SpinLock::ranked(
                Rank::DeviceQueue,
                State { queue, free_slots: (0..MAX_SIZE).rev().collect() },
            ),
            slots,
            space: WaitQueue::new(),
            failure: Failure::default(),
            requests: AtomicU64::new(0),
        }
    }

    /// Number of exchanges begun.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Gives a few segments to the device and sleeps until it has finished with them. Returns the number of bytes that
    /// it says it wrote.
    pub(crate) fn run(&self, segments: &[Segment]) -> Result<u64, Closed> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        // Nothing but the condition ends this wait.
        let begun = self.space.wait_until(None, WaitMode::Uninterruptible, || self.begin(segments));
        let (slot, doorbell) = begun.unwrap_or(Err(Closed))?;
        let ring = || doorbell.into_iter().for_each(Doorbell::ring);
        if hold::is_wanted() {
            hold::until_answered(ring, || {
                self.slots[usize::from(slot)].done.load(Ordering::Acquire) != PENDING
            });
        } else {
            ring();
        }
        let me = current();
        let reported = me.waits_for();
        me.note_wait(Some((self.what, u64::from(slot))));
        let done = loop {
            match self.slots[usize::from(slot)].done.load(Ordering::Acquire) {
                PENDING => park(None),
                done => break done,
            };
        };
        me.note_wait(reported);
        self.state.lock().free_slots.push(slot);
        self.space.wake_one();
        if done == CLOSED { Err(Closed) } else { Ok(done - 1) }
    }

    /// Starts an exchange for the calling thread, which rings the doorbell, if it is due; `None` when the queue is full.
    fn begin(&self, segments: &[Segment]) -> Option<Result<(u16, Option<Doorbell>), Closed>> {
        let mut state = self.state.lock();
        if self.failure.is_set() {
            return Some(Err(Closed));
        }
        let slot = state.free_slots.pop()?;
        let entry = &self.slots[usize::from(slot)];
        entry.thread.store(current().id(), Ordering::Relaxed);
        entry.done.store(PENDING, Ordering::Relaxed);
        if state.queue.add(segments, slot) {
            // The completion interrupt takes the lock, too, and must not wait while the host answers the doorbell: it is
            // for the caller.
            return Some(Ok((slot, state.queue.due_doorbell())));
        }
        entry.done.store(CLOSED, Ordering::Relaxed);
        state.free_slots.push(slot);
        None
    }

    fn finish(&self, slot: usize, done: u64) {
        let entry = &self.slots[slot];
        // The slot is the waiting thread's to reuse as soon as it is done.
        let waiting = entry.thread.load(Ordering::Relaxed);
        if entry.done.compare_exchange(PENDING, done, Ordering::Release, Ordering::Relaxed).is_ok() {
            thread(waiting).unpark();
        }
    }
}

impl Driver for Exchange {
    fn on_queue_interrupt(&self) {
        let mut state = self.state.lock();
        loop {
            while let Some(completion) = state.queue.take_completion() {
                self.finish(usize::from(completion.token), u64::from(completion.written) + 1);
            }
            if !state.queue.enable_interrupt() {
                return;
            }
        }
    }

    fn on_failure(&self) {
        {
            let _begin_sees_it = self.state.lock();
            self.failure.set();
        }
        (0..self.slots.len()).for_each(|slot| self.finish(slot, CLOSED));
        self.space.wake_all();
    }
}
