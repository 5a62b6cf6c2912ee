// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_setparam(2)`: sets the real-time priority of a thread.
//!
//! Honoured: what `sched_setscheduler` takes with the policy that the thread has.
//!
//! Refused: others (EINVAL), process 1 and other users' processes (EPERM), unknown threads (ESRCH).

use linux_raw_sys::general::SCHED_NORMAL;

use super::target::{self, Target};
use crate::call::Call;
use crate::strace::signature;
use crate::task::Task;
use crate::{Errno, Result, memory, schedule};

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.arg(1) == 0 || call.int(0) < 0 {
        return Err(Errno::EINVAL);
    }
    let priority: u32 = memory::read(call.arg(1))?;
    let target = target::find(call)?;
    if let Target::First = target {
        schedule::check(SCHED_NORMAL, priority)?;
    }
    let privileged = call.process.credentials.is_privileged();
    let set =
        |task: &'static Task| task.schedule.set(task.thread(), task.schedule.policy(), priority, privileged);
    target.change(call, set).map(|()| 0)
}
