// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getscheduler(2)`: the policy of a thread.
//!
//! Honoured: the call, with SCHED_RESET_ON_FORK.
//!
//! Refused: unknown threads (ESRCH).

use super::target::target;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(target(call)?.schedule.policy() as usize)
}
