// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_setparam(2)`: sets the real-time priority of a thread.
//!
//! Honoured: what `sched_setscheduler` takes with the policy that the thread has.
//!
//! Refused: others (EINVAL).

use super::target::target;
use crate::call::Call;
use crate::{Result, memory};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let task = target(call)?;
    let priority: u32 = memory::read(call.arg(1))?;
    let privileged = call.process.credentials.is_privileged();
    task.schedule.set(task.thread(), task.schedule.policy(), priority, privileged).map(|()| 0)
}
