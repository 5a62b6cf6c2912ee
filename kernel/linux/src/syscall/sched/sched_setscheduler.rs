// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_setscheduler(2)`: sets the policy of a thread.
//!
//! Honoured: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE with priority 0 (all are one policy); SCHED_FIFO and SCHED_RR with 1 to 99
//! for programs of the superuser (46 levels; the priorities 21 to 79 share six); SCHED_RESET_ON_FORK.
//!
//! Refused: SCHED_FIFO and SCHED_RR for other users (EPERM), SCHED_DEADLINE and others (EINVAL).

use super::target::target;
use crate::call::Call;
use crate::{Result, memory};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let task = target(call)?;
    let priority: u32 = memory::read(call.arg(2))?;
    let privileged = call.process.credentials.is_privileged();
    task.schedule.set(task.thread(), call.uint(1), priority, privileged).map(|()| 0)
}
