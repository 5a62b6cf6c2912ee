// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting on words of program memory (futex(2)).
//!
//! A word's waiters hang in one of many buckets, by its [`Key`]. Comparing the word and joining the bucket happen under the
//! bucket's lock, and so does waking, so no wake-up is lost. The lock keeps interrupts off and program memory must not fault
//! then: the word is read once before, which brings its page in, and again under the lock; if that fails the page has gone
//! again and everything starts over.

use alloc::collections::VecDeque;

use hadal_hal::sync::SpinLock;
use hadal_hal::user;
use hadal_sched::Thread;
use hadal_sync::WaitError;

use crate::memory::efault;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

mod pi;
mod robust;

pub use pi::{lock_pi, try_lock_pi, unlock_pi};
pub use robust::exit_robust_list;

const BUCKETS: usize = 256;
/// Matches every waiter (`FUTEX_BITSET_MATCH_ANY`).
pub const ANY: u32 = u32::MAX;

/// What identifies a word: its address, or for a shared file mapping the file and the offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    source: (u64, u64),
    offset: u64,
}

impl Key {
    /// The key of an aligned word. `private` is the program's promise that no other process uses it, and spares the look at
    /// the mapping; memory that is not a shared file's has the same key either way.
    pub fn new(process: &Process, address: usize, private: bool) -> Result<Self> {
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        if !user::in_window(address, 4) {
            return Err(Errno::EFAULT);
        }
        let shared = if private { None } else { process.space.shared_key(address) };
        Ok(match shared {
            Some(key) => Self { source: (key.source.dev, key.source.ino), offset: key.offset },
            None => Self { source: (u64::MAX, 0), offset: address as u64 },
        })
    }

    fn bucket(&self) -> usize {
        let mixed = (self.offset >> 2 ^ self.source.1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 56) as usize % BUCKETS
    }
}

struct Waiter {
    thread: &'static Thread,
    key: Key,
    bitset: u32,
}

/// The waiters of a process.
pub struct Futexes {
    buckets: [SpinLock<VecDeque<Waiter>>; BUCKETS],
}

impl Default for Futexes {
    fn default() -> Self {
        Self::new()
    }
}

impl Futexes {
    /// No waiters.
    pub const fn new() -> Self {
        Self { buckets: [const { SpinLock::new(VecDeque::new()) }; BUCKETS] }
    }

    fn bucket(&self, key: &Key) -> &SpinLock<VecDeque<Waiter>> {
        &self.buckets[key.bucket()]
    }

    /// Takes a thread out of the bucket it waits in, wherever it was moved to; `false` if a waker has done so.
    fn leave(&self, thread: &'static Thread) -> bool {
        let task = Task::of(thread);
        loop {
            let Some(key) = *task.futex_key.lock() else { return false };
            let mut waiters = self.bucket(&key).lock();
            // A requeue may have moved the thread to another bucket before this one was locked.
            if let Some(at) = waiters.iter().position(|waiter| waiter.thread.id() == thread.id()) {
                waiters.remove(at);
                *task.futex_key.lock() = None;
                return true;
            }
        }
    }

    /// Takes up to `count` waiters whose bits meet `bitset` out and wakes them; returns how many.
    pub fn wake(&self, key: &Key, count: usize, bitset: u32) -> usize {
        let mut woken = 0;
        let mut waiters = self.bucket(key).lock();
        let mut at = 0;
        while woken < count && at < waiters.len() {
            if waiters[at].key == *key && waiters[at].bitset & bitset != 0 {
                if let Some(waiter) = waiters.remove(at) {
                    *Task::of(waiter.thread).futex_key.lock() = None;
                    waiter.thread.unpark();
                    woken += 1;
                }
            } else {
                at += 1;
            }
        }
        woken
    }
}

/// Reads the word at `address` under `bucket`'s lock and hands both to `act`; retries while its page comes and goes.
fn with_word<R>(
    bucket: &SpinLock<VecDeque<Waiter>>,
    address: usize,
    mut act: impl FnMut(u32, &mut VecDeque<Waiter>) -> R,
) -> Result<R> {
    loop {
        user::load_u32(address).map_err(efault)?;
        let mut waiters = bucket.lock();
        if let Ok(value) = user::load_u32(address) {
            return Ok(act(value, &mut waiters));
        }
    }
}

/// Waits while the word at `address` is `expected`, until woken with a matching bit or `deadline_ns`. `EAGAIN` when the
/// word differs, `ETIMEDOUT`, `EINTR`.
pub fn wait(
    process: &Process,
    address: usize,
    key: Key,
    expected: u32,
    deadline_ns: Option<u64>,
    bitset: u32,
) -> Result<()> {
    let thread = hadal_sched::current();
    let task = Task::of(thread);
    let joined = with_word(process.futexes.bucket(&key), address, |value, waiters| {
        if value != expected {
            return false;
        }
        *task.futex_key.lock() = Some(key);
        waiters.push_back(Waiter { thread, key, bitset });
        true
    })?;
    if !joined {
        return Err(Errno::EAGAIN);
    }
    thread.note_wait(Some(("futex", address as u64)));
    let outcome = sleep(thread, deadline_ns, || task.futex_key.lock().is_none());
    thread.note_wait(None);
    match outcome {
        Ok(()) => Ok(()),
        // Woken after all, between the end of the wait and leaving the bucket.
        Err(_) if !process.futexes.leave(thread) => Ok(()),
        Err(WaitError::TimedOut) => Err(Errno::ETIMEDOUT),
        Err(WaitError::Interrupted) => Err(Errno::EINTR),
    }
}

/// Parks until `done`, a deadline, or a signal.
fn sleep(
    thread: &'static Thread,
    deadline_ns: Option<u64>,
    done: impl Fn() -> bool,
) -> core::result::Result<(), WaitError> {
    loop {
        if done() {
            return Ok(());
        }
        if thread.interrupted() {
            return Err(WaitError::Interrupted);
        }
        if hadal_sched::park(deadline_ns) == hadal_sched::Wake::TimedOut {
            return if done() { Ok(()) } else { Err(WaitError::TimedOut) };
        }
    }
}

/// Wakes up to `count` waiters on one word, by address: for the kernel's own wake-ups, of memory that may be gone already.
pub fn wake_address(process: &Process, address: usize, count: usize) -> usize {
    let Ok(key) = Key::new(process, address, false) else { return 0 };
    process.futexes.wake(&key, count, ANY)
}

/// Wakes up to `wake` waiters on `from` and moves up to `requeue` others to `to`; with `expected`, only if the word at
/// `address` still holds that (`EAGAIN`). Returns (woken, moved).
pub fn requeue(
    process: &Process,
    address: usize,
    (from, to): (Key, Key),
    (wake, requeue): (usize, usize),
    expected: Option<u32>,
) -> Result<(usize, usize)> {
    let (source, target) = (from.bucket(), to.bucket());
    loop {
        if expected.is_some() {
            user::load_u32(address).map_err(efault)?;
        }
        // Both locks at once, the lower bucket's first: a wake-up on `to` must not slip in between.
        let mut low = process.futexes.buckets[source.min(target)].lock();
        let mut high = (source != target).then(|| process.futexes.buckets[source.max(target)].lock());
        if let Some(expected) = expected {
            match user::load_u32(address) {
                Ok(value) if value == expected => {}
                Ok(_) => return Err(Errno::EAGAIN),
                Err(_) => continue,
            }
        }
        return Ok(match (&mut high, source < target) {
            (None, _) => move_waiters(&mut low, None, (from, to), (wake, requeue)),
            (Some(high), true) => move_waiters(&mut low, Some(high), (from, to), (wake, requeue)),
            (Some(high), false) => move_waiters(high, Some(&mut low), (from, to), (wake, requeue)),
        });
    }
}

/// Wakes and moves within or between locked buckets; `target` is `None` when it is the source.
fn move_waiters(
    source: &mut VecDeque<Waiter>,
    mut target: Option<&mut VecDeque<Waiter>>,
    (from, to): (Key, Key),
    (wake, requeue): (usize, usize),
) -> (usize, usize) {
    let (mut woken, mut moved) = (0, 0);
    let mut at = 0;
    while at < source.len() && (woken < wake || moved < requeue) {
        if source[at].key != from {
            at += 1;
            continue;
        }
        if woken < wake {
            if let Some(waiter) = source.remove(at) {
                *Task::of(waiter.thread).futex_key.lock() = None;
                waiter.thread.unpark();
                woken += 1;
            }
            continue;
        }
        *Task::of(source[at].thread).futex_key.lock() = Some(to);
        source[at].key = to;
        moved += 1;
        match &mut target {
            Some(target) => target.extend(source.remove(at)),
            None => at += 1,
        }
    }
    (woken, moved)
}
