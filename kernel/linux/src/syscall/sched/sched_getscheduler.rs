// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getscheduler(2)`: the policy of a thread.
//!
//! Honoured: the call, with SCHED_RESET_ON_FORK.
//!
//! Refused: unknown threads (ESRCH).

use linux_raw_sys::general::SCHED_NORMAL;

use super::target;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let task = target::find_positive(call)?.task();
    Ok(task.map_or(SCHED_NORMAL, |task| task.schedule.policy()) as usize)
}
