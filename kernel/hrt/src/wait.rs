// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting on words of program memory, as everything in `hrt/sync.h` does when it has to.

use core::sync::atomic::Ordering;

use hadal_hal::memory::{layout, user};
use hadal_hrt_abi::sync::{WAIT_NO_INTR, WAKE_NO_KICK};
use hadal_sched::{Kick, Thread, Wake, wake_all};
use hadal_sync::AllThreads;
use hadal_sync::words::{ANY, BadWord, Bucket, Counts, Key, Words, check_word, with_word};

use crate::footprint;
use crate::join::deadline;
use crate::program::Program;
use crate::record;
use crate::status::{Code, Status, code};

/// [`record::Record::waits_for`], with the word's address, a multiple of 4.
pub(crate) const WAITS_FOR_WORD: u64 = 2;

static WORDS: Words<1024> = Words::new(&BUCKETS);
static BUCKETS: [Bucket; 1024] = [const { Bucket::new() }; 1024];

/// The key of a word. Where processes share the machine each has its own words, but for those in memory of `alloc`, which all
/// share: the number of its window is in the bits that are 0 in a program's addresses.
#[inline(always)]
fn key_of<P: Program>(word: usize) -> Key {
    Key::private(if footprint::is_shared() { place_among_all::<P>(word) } else { word })
}

#[cold]
#[inline(never)]
fn place_among_all<P: Program>(word: usize) -> usize {
    match check_word(word) {
        Ok(()) if layout::is_program(word as u64) => {
            word | usize::from(footprint::window_number::<P>()) << layout::PROGRAM_BITS
        }
        Ok(()) => word,
        // Nobody waits there.
        Err(_) => 0,
    }
}

/// The key of an aligned word of the program's.
fn checked<P: Program>(word: usize) -> Result<Key, Status> {
    check_word(word).map_err(|bad| match bad {
        BadWord::Unaligned => Status::Invalid,
        BadWord::Outside => Status::BadAddress,
    })?;
    Ok(key_of::<P>(word))
}

fn wait_for<P: Program>(word: usize, expected: u32, deadline_ns: u64, flags: u32) -> Result<(), Status> {
    let key = checked::<P>(word)?;
    if flags & !WAIT_NO_INTR != 0 {
        return Err(Status::Invalid);
    }
    let own = hadal_sched::current();
    let look = || user::load_u32(word).map(|value| value == expected);
    if !with_word(word, || WORDS.join(&AllThreads, own.id(), (&key, ANY), look))? {
        return Err(Status::TryAgain);
    }
    let note = &record::own().waits_for;
    note.store(WAITS_FOR_WORD | word as u64, Ordering::Relaxed);
    let failed = if flags & WAIT_NO_INTR == 0 {
        sleep(own, deadline_ns, || own.interrupted())
    } else {
        let program = P::current();
        program.rest();
        let failed = sleep(own, deadline_ns, || program.must_leave());
        program.resume();
        failed
    };
    note.store(0, Ordering::Relaxed);
    match failed {
        // Woken after all if the bucket was left already.
        Some(status) if WORDS.leave(&AllThreads, own.id()) => Err(status),
        _ => Ok(()),
    }
}

/// Parks until woken, or for a reason not to wait any longer.
fn sleep(own: &'static Thread, deadline_ns: u64, interrupted: impl Fn() -> bool) -> Option<Status> {
    while WORDS.is_waiting(&AllThreads, own.id()) {
        if interrupted() {
            return Some(Status::Interrupted);
        }
        if hadal_sched::park_call(deadline(deadline_ns)) == Wake::TimedOut {
            return Some(Status::TimedOut);
        }
    }
    None
}

/// `wait`.
pub(crate) extern "C" fn wait<P: Program>(word: usize, expected: u32, deadline_ns: u64, flags: u32) -> Code {
    code(wait_for::<P>(word, expected, deadline_ns, flags))
}

/// `wake`: no word is read, so any address will do.
pub(crate) extern "C" fn wake<P: Program>(word: usize, count: u32, flags: u32) -> u32 {
    let kick = if flags & WAKE_NO_KICK != 0 { Kick::No } else { Kick::Yes };
    let wake = |batch: &[u32]| wake_all(batch, kick);
    WORDS.wake(&AllThreads, (&key_of::<P>(word), ANY), count as usize, wake) as u32
}

fn move_waiters<P: Program>(word: usize, expected: u32, count: u32, target: usize) -> Result<(), Status> {
    let (from, to) = (checked::<P>(word)?, checked::<P>(target)?);
    let most = Counts { woken: count as usize, moved: usize::MAX };
    let look = || user::load_u32(word).map(|value| value == expected);
    let wake = |batch: &[u32]| wake_all(batch, Kick::Yes);
    let done = with_word(word, || WORDS.requeue(&AllThreads, (&from, &to), most, look, wake))?;
    done.map(drop).ok_or(Status::TryAgain)
}

/// `requeue`.
pub(crate) extern "C" fn requeue<P: Program>(word: usize, expected: u32, count: u32, target: usize) -> Code {
    code(move_waiters::<P>(word, expected, count, target))
}
