// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getscheduler(2)`: the policy of a thread.
//!
//! Honoured: the call, with SCHED_RESET_ON_FORK.
//!
//! Refused: unknown threads (ESRCH).

use linux_raw_sys::general::SCHED_NORMAL;

use super::target::{self, Target};
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    match target::find_positive(call)? {
        Target::Own(task) => Ok(task.schedule.policy() as usize),
        Target::First => Ok(SCHED_NORMAL as usize),
    }
}
