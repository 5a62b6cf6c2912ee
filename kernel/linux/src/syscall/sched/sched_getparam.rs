// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getparam(2)`: the real-time priority of a thread.
//!
//! Honoured: the call; 0 for a thread that is not SCHED_FIFO or SCHED_RR.
//!
//! Refused: unknown threads (ESRCH).

use super::target::target;
use crate::Result;
use crate::call::Call;
use crate::memory;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let task = target(call)?;
    memory::write(call.arg(1), &task.schedule.priority())?;
    Ok(0)
}
