// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tgkill(2)`: sends a signal to one thread of a process.
//!
//! Honoured: threads of the program; signal 0 only asks. Process 1 ignores what the superuser sends.
//!
//! Refused: process 1 for other users (`EPERM`), other processes and their threads (`ESRCH`), ids that are not positive
//! (`EINVAL`).

use super::target;
use crate::call::Call;
use crate::first::{self, Named};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int, Signal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, tid) = (call.int(0), call.int(1));
    if pid <= 0 || tid <= 0 {
        return Err(Errno::EINVAL);
    }
    let Ok(named) = first::named(call.process, tid) else {
        return target::kill_other_thread(call, Some(pid), tid, call.int(2));
    };
    let leader = if named == Named::First { first::PID } else { call.process.pid() };
    if u32::try_from(pid) != Ok(leader) {
        return Err(Errno::ESRCH);
    }
    match named {
        Named::First => target::to_first(call.process, call.int(2)),
        Named::Own => target::kill_own_thread(call, tid, call.int(2)),
    }
}
