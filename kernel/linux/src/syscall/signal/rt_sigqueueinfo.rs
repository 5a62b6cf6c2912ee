// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigqueueinfo(2)`: sends a process a signal with a `siginfo_t` of the sender's making.
//!
//! Honoured: every code to the program itself; `EAGAIN` at `RLIMIT_SIGPENDING` or 16384, for each thread's queue and the
//! process's. Process 1 ignores what the superuser sends.
//!
//! Refused: process 1 for other users, and codes of the kernel's to any id but the process's own (`EPERM`); other processes
//! (`ESRCH`).

use super::target::{self, Enclosed};
use crate::call::Call;
use crate::first::{self, Named};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Signal, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, signal) = (call.int(0), call.int(1));
    let enclosed = Enclosed::read(call.arg(2))?;
    if enclosed.pretends() && u32::try_from(pid) != Ok(call.process.pid()) {
        return Err(Errno::EPERM);
    }
    match first::named(call.process, pid) {
        Ok(Named::First) => target::to_first(call.process, signal),
        Ok(Named::Own) => target::to_process(call.process, enclosed.with(signal)?),
        Err(_) => {
            let other = target::other(call, pid, signal)?;
            target::to_process(other.process(), enclosed.with(signal)?)
        }
    }
}
