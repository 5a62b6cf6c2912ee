// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getparam(2)`: the real-time priority of a thread.
//!
//! Honoured: the call; 0 for a thread that is not SCHED_FIFO or SCHED_RR.
//!
//! Refused: unknown threads (ESRCH).

use super::target;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.arg(1) == 0 {
        return Err(Errno::EINVAL);
    }
    let priority = target::find_positive(call)?.task().map_or(0, |task| task.schedule.priority());
    memory::write(call.arg(1), &priority)?;
    Ok(0)
}
