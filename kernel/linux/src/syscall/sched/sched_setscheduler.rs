// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_setscheduler(2)`: sets the policy of a thread.
//!
//! Honoured: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE with priority 0 (all are one policy); SCHED_FIFO and SCHED_RR with 1 to 99
//! for programs of the superuser (46 levels; the priorities 21 to 79 share six); SCHED_RESET_ON_FORK.
//!
//! Refused: SCHED_FIFO and SCHED_RR for other users, process 1, and other users' processes for all but the superuser (EPERM);
//! unknown threads (ESRCH); SCHED_DEADLINE and others (EINVAL).

use super::target;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory, schedule};

signature!(Int, Choice(flags::POLICY), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.arg(2) == 0 || call.int(0) < 0 {
        return Err(Errno::EINVAL);
    }
    let priority: u32 = memory::read(call.arg(2))?;
    let target = target::find(call)?;
    schedule::check(call.uint(1), priority)?;
    let privileged = call.process.credentials.is_privileged();
    let policy = call.uint(1);
    target.change(call, |task| task.schedule.set(task.thread(), policy, priority, privileged)).map(|()| 0)
}
