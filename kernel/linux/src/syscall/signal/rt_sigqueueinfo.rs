// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigqueueinfo(2)`: sends a process a signal with a `siginfo_t` of the sender's making.
//!
//! Honoured: every code, since the program can only reach itself; `EAGAIN` at `RLIMIT_SIGPENDING` or 16384, for each thread's
//! queue and the process's.
//!
//! Refused: other processes (`ESRCH`).

use super::target;
use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let info = target::read_info(call.arg(2), call.int(1))?;
    if !target::is_own(call.process, call.int(0)) {
        return Err(Errno::ESRCH);
    }
    target::to_process(call.process, info)
}
