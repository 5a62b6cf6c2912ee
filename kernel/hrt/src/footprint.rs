// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a program has made something in the kernel that does not end with it: slots, keys, events, timers, handlers.
//!
//! A machine that runs one program takes them with it when it ends. What makes a second process, or another program of one, has
//! to know; and where there is a second process, none can be made: handlers run on whatever CPU, which may be in the other one's
//! memory.

use core::sync::atomic::{AtomicBool, Ordering};

use hadal_linux::{family, machine};

use crate::status::Status;

static LEFT: AtomicBool = AtomicBool::new(false);

/// Notes that something is going to be made; fails where there are several processes. After the first time it only reads.
#[inline]
pub(crate) fn note() -> Result<(), Status> {
    if LEFT.load(Ordering::Relaxed) { Ok(()) } else { note_first() }
}

#[cold]
fn note_first() -> Result<(), Status> {
    // Whoever makes a process looks here after he has said so.
    LEFT.store(true, Ordering::SeqCst);
    if !family::are_several() {
        return Ok(());
    }
    LEFT.store(false, Ordering::SeqCst);
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        machine::get().report(
            "hadal: threads, keys, events, timers and handlers of hadal/hrt.h are for a program that has its machine for itself: \
             this one has made other processes, or is one of several. Start it with `hadal run` directly\n",
        );
    }
    Err(Status::NotThere)
}

/// Whether anything has been made since boot.
pub fn outlives_program() -> bool {
    LEFT.load(Ordering::SeqCst)
}
