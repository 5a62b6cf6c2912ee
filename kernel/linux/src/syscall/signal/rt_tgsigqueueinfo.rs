// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_tgsigqueueinfo(2)`: sends a thread a signal with a `siginfo_t` of the sender's making.
//!
//! Honoured: every code to the calling process's first thread; `EAGAIN` at `RLIMIT_SIGPENDING`. Process 1 ignores what the
//! superuser sends.
//!
//! Refused: process 1 for other users, and codes of the kernel's to any id but the process's own (`EPERM`); other processes
//! and their threads (`ESRCH`), ids that are not positive (`EINVAL`).

use super::target::{self, Enclosed};
use crate::call::Call;
use crate::first::{self, Named};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int, Signal, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, tid, signal) = (call.int(0), call.int(1), call.int(2));
    let enclosed = Enclosed::read(call.arg(3))?;
    if pid <= 0 || tid <= 0 {
        return Err(Errno::EINVAL);
    }
    let process = call.process;
    if enclosed.pretends() && u32::try_from(tid) != Ok(process.pid()) {
        return Err(Errno::EPERM);
    }
    let Ok(named) = first::named(process, tid) else {
        let other = target::other(call, tid, signal)?;
        if u32::try_from(pid) != Ok(other.pid()) {
            return Err(Errno::ESRCH);
        }
        return target::to_thread(other.process(), tid, enclosed.with(signal));
    };
    let leader = if named == Named::First { first::PID } else { process.pid() };
    if u32::try_from(pid) != Ok(leader) {
        return Err(Errno::ESRCH);
    }
    match named {
        Named::First => target::to_first(process, signal),
        Named::Own => target::to_thread(process, tid, enclosed.with(signal)),
    }
}
