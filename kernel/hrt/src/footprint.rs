// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a program has made something in the kernel that does not end with it: slots, keys, events, timers, handlers.
//!
//! A machine that runs one program takes them with it when it ends. What makes a second process, or another program of one, has
//! to ask; and where there is a second process, none can be made: handlers run on whatever CPU, which may be in the other one's
//! memory. So a machine is for one or the other, whichever comes first.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};

use crate::memory;
use crate::program::Program;
use crate::status::Status;

/// Nothing has been made, and one process at a time has run.
const UNUSED: u8 = 0;
/// Something has been made.
const MADE: u8 = 1;
/// The machine is shared by processes.
const SHARED: u8 = 2;

static USE: AtomicU8 = AtomicU8::new(UNUSED);

/// The window of the program that was alone until the machine was shared.
static FIRST: AtomicU16 = AtomicU16::new(0);

/// Decides what the machine is for unless that has been decided; returns what it is for.
fn decide(wanted: u8) -> u8 {
    match USE.compare_exchange(UNUSED, wanted, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => wanted,
        Err(already) => already,
    }
}

/// Notes that something is going to be made; fails where there are several processes. After the first time it only reads.
#[inline]
pub(crate) fn note<P: Program>() -> Result<(), Status> {
    if USE.load(Ordering::Relaxed) == MADE { Ok(()) } else { note_first::<P>() }
}

#[cold]
fn note_first<P: Program>() -> Result<(), Status> {
    if decide(MADE) == MADE {
        return Ok(());
    }
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        P::report(
            "hadal: threads, keys, events, timers and handlers of hadal/hrt.h are for a program that has its machine for itself: \
             this one has made other processes, or is one of several. Start it with `hadal run` directly\n",
        );
    }
    Err(Status::NotThere)
}

/// The calling process is about to make a second one: whether it may. From then on nothing can be made that outlives its program.
pub fn may_share<P: Program>() -> bool {
    if !is_shared() {
        FIRST.store(window::<P>(), Ordering::Relaxed);
    }
    let may = decide(SHARED) == SHARED;
    if may {
        memory::keep_records();
    }
    may
}

/// Whether the machine is shared by processes.
#[inline]
pub(crate) fn is_shared() -> bool {
    USE.load(Ordering::Acquire) == SHARED
}

/// A number for the window that the calling process runs in, as [`Program::window`] says, and 0 for the one that was there before
/// the machine was shared.
pub(crate) fn window_number<P: Program>() -> u16 {
    window::<P>() ^ FIRST.load(Ordering::Relaxed)
}

fn window<P: Program>() -> u16 {
    P::current().window()
}

/// Whether anything has been made since boot.
pub fn outlives_program() -> bool {
    USE.load(Ordering::SeqCst) == MADE
}
