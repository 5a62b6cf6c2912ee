// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_tgsigqueueinfo(2)`: sends a thread a signal with a `siginfo_t` of the sender's making.
//!
//! Honoured: every code, since the program can only reach itself; `EAGAIN` at `RLIMIT_SIGPENDING`.
//!
//! Refused: other processes (`ESRCH`).

use super::target;
use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, tid) = (call.int(0), call.int(1));
    let info = target::read_info(call.arg(3), call.int(2))?;
    if pid <= 0 || tid <= 0 {
        return Err(Errno::EINVAL);
    }
    if u32::try_from(pid) != Ok(call.process.pid()) {
        return Err(Errno::ESRCH);
    }
    target::to_thread(call.process, target::thread(call.process, tid)?, info)
}
