// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting on words of program memory (futex(2)): [`hadal_sync::words`] with Linux's rules.

use alloc::boxed::Box;

use hadal_hal::memory::user;
use hadal_sched::{Kick, Thread, thread, wake_all};
use hadal_sync::words::{self, BadWord, Counts, Words, with_word};
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

/// The key of an aligned word. `private` is the program's promise that no other process uses it, and spares the look at the
/// mapping; memory that is not a shared file's has the same key either way.
#[inline]
pub fn key(process: &Process, address: usize, private: bool) -> Result<Key> {
    words::check_word(address).map_err(|bad| match bad {
        BadWord::Unaligned => Errno::EINVAL,
        BadWord::Outside => Errno::EFAULT,
    })?;
    Ok(if private { Key::private(address) } else { key_of_any(process, address) })
}

fn key_of_any(process: &Process, address: usize) -> Key {
    match process.space.shared_key(address) {
        Some(key) => Key::shared((key.source.dev, key.source.ino), key.offset),
        None => Key::private(address),
    }
}

/// The waiters of a process; none at first.
pub struct Futexes {
    /// Apart, because it is too large to be built on a kernel stack together with the rest of a process.
    words: Box<Words<BUCKETS>>,
}

impl Default for Futexes {
    /// Not inline: what is to be boxed is 16 KiB of the stack, which should not be those of the caller.
    #[inline(never)]
    fn default() -> Self {
        Self { words: Box::default() }
    }
}

impl Futexes {
    /// Takes up to `count` waiters whose bits meet `bitset` out and wakes them; returns how many.
    #[inline]
    pub fn wake(&self, key: &Key, count: usize, bitset: u32) -> usize {
        self.words.wake(&AllThreads, (key, bitset), count, |batch| wake_all(batch, Kick::Yes))
    }
}

fn unpark(index: u32) {
    thread(index).unpark();
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
    let words = &process.futexes.words;
    let look = || user::load_u32(address).map(|value| value == expected);
    let joined =
        with_word(address, || words.join(&AllThreads, thread.id(), (&key, bitset), look)).map_err(efault)?;
    if !joined {
        return Err(Errno::EAGAIN);
    }
    thread.note_wait(Some((&"futex", address as u64)));
    let outcome = sleep(thread, deadline_ns, || !words.is_waiting(&AllThreads, thread.id()));
    thread.note_wait(None);
    match outcome {
        Ok(()) => Ok(()),
        // Woken after all, between the end of the wait and leaving the bucket.
        Err(_) if !words.leave(&AllThreads, thread.id()) => Ok(()),
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
    let Ok(key) = key(process, address, false) else { return 0 };
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
    let most = Counts { woken: wake, moved: requeue };
    let words = &process.futexes.words;
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
