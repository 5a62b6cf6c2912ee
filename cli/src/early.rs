// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which standard streams were closed when the command started.
//!
//! Rust's run-time opens `/dev/null` in the place of closed ones before `main`, so this looks before that. The one unsafe
//! thing is the attribute that puts a function into the list of what runs first.

use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each descriptor that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Runs before everything else: nothing of the run-time may be used, and system calls are all it does.
extern "C" fn look() {
    let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    for (descriptor, fd) in streams.into_iter().enumerate() {
        if rustix::io::fcntl_getfd(fd).is_err() {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
}

// SAFETY: `.init_array` is an array of functions that are called once each, with arguments that this one ignores, as the C
// ABI allows.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Whether a descriptor from 0 to 2 was closed.
pub(crate) fn was_closed(descriptor: usize) -> bool {
    CLOSED.load(Ordering::Relaxed) & 1 << descriptor != 0
}
