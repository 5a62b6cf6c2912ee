// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads.

use hadal_sched::Wake;

use crate::status::{Code, Status, code};

/// `thread_yield` and `thread_yield_full`: vector registers are kept in both.
pub(crate) extern "C" fn thread_yield() {
    hadal_sched::yield_now();
}

/// `thread_sleep_until`.
pub(crate) extern "C" fn sleep_until(deadline_ns: u64) -> Code {
    code(sleep(deadline_ns))
}

fn sleep(deadline_ns: u64) -> Result<(), Status> {
    loop {
        if hadal_sched::current().interrupted() {
            return Err(Status::Interrupted);
        }
        if hadal_sched::park(Some(deadline_ns)) == Wake::TimedOut {
            return Ok(());
        }
    }
}
