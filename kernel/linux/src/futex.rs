// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting on words of program memory (futex(2)): [`hadal_sync::words`] with Linux's rules.

use core::sync::atomic::Ordering;

use hadal_hal::memory::fallible::OutOfMemory;
use hadal_hal::memory::{layout, user};
use hadal_hal::threads::link::AtomicRef;
use hadal_sched::{Kick, Thread, thread, wake_all};
use hadal_sync::words::{self, BadWord, Bucket, Counts, Nodes, Words, with_word};
use hadal_sync::{AllThreads, WaitError};

pub use hadal_sync::words::{ANY, Key};

use crate::memory::efault;
use crate::process::Process;
use crate::{Errno, Result};

mod pi;
mod robust;

pub use pi::{lock_pi, try_lock_pi, unlock_pi};
pub use robust::exit_robust_list;

const BUCKETS: usize = 256;
/// In the place of a device, for words of the direct map: memory that all processes share (`hrt_alloc`).
const DIRECT: u64 = u64::MAX - 1;

/// The key of an aligned word. `private` is the program's promise that no other process uses it, and spares the look at the
/// mapping; memory that is not a shared file's has the same key either way.
pub fn key(process: &Process, address: usize, private: bool) -> Result<Key> {
    check(address)?;
    Ok(key_of(process, address, private))
}

/// Whether threads may wait on the word at `address`.
#[inline]
pub fn check(address: usize) -> Result<()> {
    words::check_word(address).map_err(|bad| match bad {
        BadWord::Unaligned => Errno::EINVAL,
        BadWord::Outside => Errno::EFAULT,
    })
}

/// [`key`] of a word that was checked.
pub fn key_of(process: &Process, address: usize, private: bool) -> Key {
    private_key(process, address, private).unwrap_or_else(|| match process.space().shared_key(address) {
        Some(key) => Key::shared((key.source.dev, key.source.ino), key.offset),
        None if !layout::is_program(address as u64) => Key::shared((DIRECT, 0), address as u64),
        None => Key::private(address),
    })
}

/// The same if it takes no look at the mapping: most programs share nothing, and wait on words all the time.
#[inline(always)]
pub fn private_key(process: &Process, address: usize, private: bool) -> Option<Key> {
    let has_own = private || (!process.space().has_shared() && layout::is_program(address as u64));
    has_own.then(|| Key::private(address))
}

/// Where the threads of a process wait: on words of the window that it runs in, which others may share.
pub struct Futexes {
    of_window: AtomicRef<Buckets>,
}

/// Threads that wait on words of a window's own memory.
pub(crate) type Buckets = [Bucket; BUCKETS];

/// Threads that wait on words of memory that processes share.
static SHARED: Buckets = [const { Bucket::new() }; BUCKETS];

/// No waiters.
pub(crate) fn make_buckets() -> core::result::Result<&'static Buckets, OutOfMemory> {
    Words::allocate().map(|words| words.buckets())
}

impl Futexes {
    /// Those of a process that runs in a window.
    pub(crate) fn new(of_window: &'static Buckets) -> Self {
        let futexes = Self { of_window: AtomicRef::none() };
        futexes.change_window(of_window);
        futexes
    }

    /// The process, of which no thread waits, runs in another window.
    pub(crate) fn change_window(&self, of_window: &'static Buckets) {
        self.of_window.store(Some(of_window), Ordering::Relaxed);
    }

    /// Where those are who wait on a word.
    #[inline(always)]
    fn of(&self, key: &Key) -> Words<BUCKETS> {
        let of_window = || self.of_window.load(Ordering::Relaxed).expect("a process has a window");
        Words::new(if key.is_private() { of_window() } else { &SHARED })
    }

    /// Takes up to `count` waiters whose bits meet `bitset` out and wakes them; returns how many.
    #[inline(always)]
    pub fn wake(&self, key: &Key, count: usize, bitset: u32) -> usize {
        if count == 1 {
            let Some(index) = self.of(key).take_one(&AllThreads, (key, bitset)) else { return 0 };
            unpark(index);
            return 1;
        }
        self.of(key).wake(&AllThreads, (key, bitset), count, |batch| wake_all(batch, Kick::Yes))
    }
}

#[inline]
fn unpark(index: u32) {
    thread(index).unpark();
}

/// Waits while the word at `address` is `expected`, until woken with a matching bit or `deadline_ns`. `EAGAIN` when the
/// word differs, `ETIMEDOUT`, `EINTR`.
#[inline(always)]
pub fn wait(
    process: &Process,
    address: usize,
    key: Key,
    expected: u32,
    deadline_ns: Option<u64>,
    bitset: u32,
) -> Result<()> {
    let thread = hadal_sched::current();
    let words = process.futexes.of(&key);
    let node = AllThreads.node(thread.id());
    let look = || user::load_u32(address).map(|value| value == expected);
    let joined = loop {
        match words.join_by(&AllThreads, (thread.id(), node), (&key, bitset), look) {
            Ok(joined) => break joined,
            // Under the lock its page cannot be brought in. It may be gone again at the next look.
            Err(_) => user::load_u32(address).map_err(efault)?,
        };
    };
    if !joined {
        return Err(Errno::EAGAIN);
    }
    thread.note_wait(Some((&"futex", address as u64)));
    let outcome = sleep(thread, deadline_ns, || !node.is_waiting());
    thread.note_wait(None);
    match outcome {
        Ok(()) => Ok(()),
        // Woken after all, between the end of the wait and leaving the bucket.
        Err(_) if !words.leave(&AllThreads, thread.id()) => Ok(()),
        Err(WaitError::TimedOut) => Err(Errno::ETIMEDOUT),
        Err(WaitError::Interrupted) => Err(Errno::EINTR),
    }
}

/// Parks until `done`, a deadline, or a signal. An unpark that came first ends the first park.
#[inline]
fn sleep(
    thread: &'static Thread,
    deadline_ns: Option<u64>,
    done: impl Fn() -> bool,
) -> core::result::Result<(), WaitError> {
    loop {
        if thread.interrupted() {
            return Err(WaitError::Interrupted);
        }
        let wake = hadal_sched::park(deadline_ns);
        if done() {
            return Ok(());
        }
        if wake == hadal_sched::Wake::TimedOut {
            return Err(WaitError::TimedOut);
        }
    }
}

/// Wakes up to `count` waiters on one word, by address: for the kernel's own wake-ups, of memory that may be gone already.
pub fn wake_address(process: &Process, address: usize, count: usize) -> usize {
    if check(address).is_err() {
        return 0;
    }
    match private_key(process, address, false) {
        Some(key) => process.futexes.wake(&key, count, ANY),
        None => process.futexes.wake(&key_of(process, address, false), count, ANY),
    }
}

/// Writes 0 to the word where somebody waits for a thread to leave, and wakes one waiter; there is no word at 0.
#[inline(always)]
pub(crate) fn clear_and_wake(process: &Process, address: usize) {
    if address != 0 && user::store_u32(address, 0).is_ok() {
        wake_address(process, address, 1);
    }
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
    let most = Counts { woken: wake, moved: requeue };
    if from.is_private() != to.is_private() {
        // Who waits in one place does not wait in another: all wake, and look again.
        let look = expected.map(|_| user::load_u32(address)).transpose().map_err(efault)?;
        if look != expected {
            return Err(Errno::EAGAIN);
        }
        return Ok((process.futexes.wake(&from, wake.saturating_add(requeue), ANY), 0));
    }
    let words = process.futexes.of(&from);
    let look = || match expected {
        Some(expected) => user::load_u32(address).map(|value| value == expected),
        None => Ok(true),
    };
    let requeue = || words.requeue(&AllThreads, (&from, &to), most, look, |batch| wake_all(batch, Kick::Yes));
    let done = match expected {
        Some(_) => with_word(address, requeue),
        None => requeue(),
    };
    done.map_err(efault)?.map(|counts| (counts.woken, counts.moved)).ok_or(Errno::EAGAIN)
}
