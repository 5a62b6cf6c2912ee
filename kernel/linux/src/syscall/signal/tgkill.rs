// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tgkill(2)`: sends a signal to one thread of a process.
//!
//! Honoured: threads of the program; signal 0 only asks.
//!
//! Refused: other processes, threads of others (`ESRCH`).

use super::target;
use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, tid) = (call.int(0), call.int(1));
    if pid <= 0 || tid <= 0 {
        return Err(Errno::EINVAL);
    }
    if u32::try_from(pid) != Ok(call.process.pid()) {
        return Err(Errno::ESRCH);
    }
    target::kill_thread(call.process, tid, call.int(2))
}
