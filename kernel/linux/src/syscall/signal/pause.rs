// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pause(2)`: waits until a signal handler has run.
//!
//! Honoured: everything.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::signal;
use crate::strace::signature;
use crate::{Errno, Result};

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    wait(call);
    Err(Errno::EINTR)
}

/// Blocks until the calling thread has a signal to take care of.
pub(super) fn wait(call: &Call<'_>) {
    let thread = call.task.thread();
    thread.note_wait(Some((&"any signal but", call.task.signals.mask().bits())));
    while !signal::interrupted(call.task, call.process) {
        hadal_sched::park(None);
    }
    thread.note_wait(None);
}
