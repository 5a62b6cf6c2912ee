// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a program has made something in the kernel that does not end with it: slots, keys, events, timers, handlers.
//!
//! A machine that runs one program takes them with it when it ends. One that could run another (the shell) has to know.

use core::sync::atomic::{AtomicBool, Ordering};

static LEFT: AtomicBool = AtomicBool::new(false);

/// Notes that something has been made. After the first time it only reads.
pub(crate) fn note() {
    if !LEFT.load(Ordering::Relaxed) {
        LEFT.store(true, Ordering::Relaxed);
    }
}

/// Whether anything has been made since boot.
pub fn outlives_program() -> bool {
    LEFT.load(Ordering::Relaxed)
}
